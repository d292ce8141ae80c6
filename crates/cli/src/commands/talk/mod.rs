//! `longhaul -p PROMPT`: one turn of a conversation with a model, recorded and resumable.

mod event_lines;
mod json;
mod report;
mod words;

use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use longhaul_agent::{
    AgentDeps, AgentError, Attachments, CommandPiece, FilledCommand, LimitOf, TurnEnd, attach_files,
};
use longhaul_app::agent::{AgentResources, Attendance, HelperModels, SessionSummariser};
use longhaul_app::commands::CustomCommands;
use longhaul_app::environment;
use longhaul_app::failure::hinted;
use longhaul_app::models::Models;
use longhaul_app::project::log_failure;
use longhaul_app::sessions::{self, FoundSession};
use longhaul_app::settings::Settings;
use longhaul_conversation::{FinishReason, ModelError, Origin, Part, Usage, quote_in_tag};
use longhaul_engine::EngineError;
use longhaul_hooks::{EndReason, SessionSource};
use longhaul_mcp_client::ServerStatus;
use longhaul_sessions::{LogError, load_metadata};
use longhaul_tools::{ToolOutcome, ToolSource};
use longhaul_workspace::Home;
use tokio_util::sync::CancellationToken;

use self::report::Reporter;
use self::words::Silence;
use crate::input;
use crate::options::TalkOptions;
use crate::output::{Color, tell_notes, thousands, visible};
use crate::running::{Interrupted, until_interrupted};

/// The message for the model: what was piped, then the prompt; nothing if both are empty.
pub(crate) fn words(options: &TalkOptions) -> anyhow::Result<Option<Vec<Part>>> {
    let silence = if options.is_empty() { Silence::IsTheEnd } else { Silence::IsWaitedFor };
    words::compose(options.first_prompt(), silence)
}

/// Sends a prompt to a model and prints the answer.
pub(crate) fn run(
    options: &TalkOptions,
    words: Vec<Part>,
    load_settings: impl FnOnce() -> anyhow::Result<Settings>,
    color: Color,
) -> anyhow::Result<()> {
    let reporter = Reporter::new(options.output_format.unwrap_or_default(), color);
    let talked = load_settings().and_then(|settings| talk(options, words, &settings, &reporter));
    // Whoever reads JSON reads there, too, what went wrong before anything could begin.
    if let Err(error) = &talked {
        reporter.conclude_failed(error);
    }
    talked
}

/// The failed action when standard output rejects the answer.
const NOT_WRITTEN: &str = "could not write the answer to standard output";

/// The longest wait for MCP servers before the first request; those that come later can be called then.
const SERVER_WAIT: Duration = Duration::from_secs(15);

fn talk(
    options: &TalkOptions,
    words: Vec<Part>,
    settings: &Settings,
    reporter: &Reporter,
) -> anyhow::Result<()> {
    let started = Instant::now();
    let home = Home::resolve(&environment::of_process())?;
    let models = Models::load(settings, options.ca_file.as_deref(), tell_notes(reporter.color()), |text| {
        reporter.warn(text);
    })?;
    let found = options
        .resume()
        .map(|given| sessions::find(given, options.fork, &input::showing_progress))
        .transpose()?;
    let session_models = found.as_ref().map(FoundSession::models).unwrap_or_default();
    let mut chosen = models.choose_for_talk(options.model.as_deref(), &session_models)?;
    match options.window {
        Some(window) => chosen.set_window(window),
        None => models.ask_window(&mut chosen),
    }
    if chosen.is_window_assumed {
        let (name, window) = (&chosen.name, thousands(chosen.window.0));
        reporter.warn(&format!(
            "the window of {name} is unknown; assuming {window} tokens (set it with --window or in longhaul.windows)"
        ));
    }
    let named = models.name_for_talk(options.model.as_deref(), &session_models);
    let helpers = HelperModels::load(&models, settings, &chosen, named, |text| reporter.warn(text));
    let (work, attendance) = (options.work.to_agent_options(), Attendance::Unattended);
    let parts = (chosen, helpers);
    let (mut deps, memory) =
        AgentResources::load(work, settings, home, attendance, models, parts, |text| reporter.warn(text))?;
    let command = custom_command(&typed_text(&words), &deps.custom_commands())?;
    // From here on there is a session: whatever can be wrong with arguments and settings was found before.
    let opened = match found {
        Some(found) => found.open()?,
        None => sessions::begin()?,
    };
    opened.notes.iter().for_each(|note| reporter.note(note));
    opened.warnings.iter().for_each(|warning| reporter.warn(warning));
    deps.toolkit.notes.iter().for_each(|note| reporter.note(note));
    deps.toolkit.warnings.iter().for_each(|warning| reporter.warn(warning));
    let summaries = SessionSummariser::new(settings, &opened.project);
    let session = opened.id.clone();
    reporter.begin(&opened, &deps.model).context(NOT_WRITTEN)?;
    let source = if options.resume().is_some() { SessionSource::Resume } else { SessionSource::Startup };
    let mut agent = deps.open_agent(opened, memory);
    let mut closing_notes = None;
    let end = until_interrupted(async |cancel| {
        reporter.stop_with(cancel);
        let host = AgentDeps { events: &|event| reporter.observe(event), ..deps.host() };
        agent.begin_session(source, &host, cancel).await?;
        // Nobody types meanwhile, and the first request is to know their tools.
        cancel.run_until_cancelled(deps.toolkit.servers.settle(SERVER_WAIT)).await;
        for report in deps.toolkit.servers.reports() {
            if let ServerStatus::Failed(reason) = &report.status {
                reporter.warn(&format!("MCP server {} is not available: {reason}", report.name));
            }
        }
        let found = attach_files(
            &typed_text(&words),
            &environment::current_folder(),
            host.tools,
            host.servers,
            cancel,
        )
        .await;
        found.describe_as_text().into_iter().for_each(|text| reporter.note(text.trim_end_matches('.')));
        let Attachments { parts, problems, .. } = found;
        problems.iter().for_each(|problem| reporter.warn(problem.trim_end_matches('.')));
        // The bare name of a prompt or command says nothing to a model.
        let filled = match &command {
            Some((name, pieces)) => {
                let filled =
                    agent.fill_in_command(pieces, &environment::current_folder(), &host, cancel).await;
                filled
                    .map(|filled| command_parts(name, filled))
                    .map_err(|reason| format!("/{name} was not sent: {}", visible(&reason)))
            }
            None => filled_in_prompt(&typed_text(&words), host.servers, cancel).await,
        };
        let end = match filled {
            Ok(filled) => {
                let words = words.into_iter().chain(parts).chain(filled).collect();
                agent.run_turn_with(words, &host, cancel).await.map(Ok)
            }
            Err(reason) => Ok(Err(reason)),
        };
        deps.toolkit.jobs.stop_all().await;
        agent.end_session(EndReason::Exit, &host, &CancellationToken::new()).await;
        // There may be room again; and of what is not recorded nothing is sent, not even for a summary.
        let recorded = agent.record_pending(&host);
        if recorded.is_ok() && matches!(end, Ok(Ok(_))) {
            closing_notes = summaries
                .closing_notes(agent.conversation(), deps.helpers.summariser(&deps.model), cancel)
                .await;
        }
        end
    })?;
    let mut asides = agent.statistics().side_calls.clone();
    asides.add(&summaries.asides());
    let price = |name: &str, usage: &Usage| deps.helpers.asked(name, &deps.model)?.cost(usage);
    reporter.count(agent.statistics(), json::asides(&asides, price));
    let file = agent.conversation().log().path().to_path_buf();
    if let Some(closing_notes) = closing_notes {
        drop(agent);
        if let Err(error) = closing_notes.write(&file) {
            reporter.warn(&format!("could not write the session's summary: {error}"));
        }
    }
    let end = end.map_err(|AgentError::Session(error)| match error {
        EngineError::Log(error @ (LogError::Io { .. } | LogError::Workspace(_))) => {
            let is_kept =
                load_metadata(&file).ok().flatten().is_some_and(|known| known.has_resumable_content);
            let next = match is_kept {
                true => format!("continue with --resume {session}"),
                false => "try again".to_string(),
            };
            let hint = format!("nothing unrecorded was sent; free some disk space, then {next}");
            hinted(
                anyhow::Error::from(error).context("the turn stopped because it could not be recorded"),
                hint,
            )
        }
        EngineError::Log(error) => log_failure(error),
        other => other.into(),
    })?;
    let end = end.map_err(anyhow::Error::msg)?;
    let routed = reporter.routed().and_then(|model| deps.helpers.routed(&model));
    let answered = routed.unwrap_or(&deps.model);
    let cost = |subagent: Option<&str>, usage: &Usage| match subagent {
        Some(name) => deps.subagent_models.cost(name, usage, answered),
        None => answered.cost(usage),
    };
    reporter.conclude(&end, answered, cost, started.elapsed()).context(NOT_WRITTEN)?;
    into_result(end, reporter)
}

/// The texts that the user typed.
fn typed_text(words: &[Part]) -> String {
    let typed = words.iter().filter(|part| part.origin == Origin::User);
    typed.filter_map(Part::as_text).collect::<Vec<_>>().join("\n")
}

/// The result of the program for the end of a turn.
fn into_result(end: TurnEnd, reporter: &Reporter) -> anyhow::Result<()> {
    match end {
        TurnEnd::Finished(FinishReason::Filtered) => {
            let error = anyhow!("the provider withheld the answer");
            Err(hinted(error, "rephrase the prompt, or use another model"))
        }
        TurnEnd::Finished(_) => Ok(()),
        TurnEnd::Overflow(overflow) => {
            let error = anyhow!(
                "the message does not fit: it needs about {} tokens, and {} of {} are left",
                thousands(overflow.request.0),
                thousands(overflow.remaining.0),
                thousands(overflow.window.0),
            );
            let shorten = || "shorten it, or use a model with a larger window".to_string();
            let hint = overflow.remedy().unwrap_or_else(shorten);
            Err(hinted(error, format!("{hint}{}", reporter.after_refusal())))
        }
        TurnEnd::Failed(error @ ModelError::TooLong) => {
            Err(hinted(error.clone(), format!("{}{}", reporter.hint(&error), reporter.after_refusal())))
        }
        TurnEnd::Failed(error) => Err(hinted(error.clone(), reporter.hint(&error))),
        TurnEnd::Cancelled => Err(Interrupted.into()),
        TurnEnd::Stopped { reason } => Err(anyhow!("a hook stopped the turn: {}", visible(&reason))),
        TurnEnd::Blocked { reason } => {
            let error = anyhow!("a hook blocked the prompt: {}", visible(&reason));
            Err(hinted(
                error,
                "the prompt is not in the session; hooks are set in settings.json under \"hooks\"",
            ))
        }
        TurnEnd::Looped { detail } => {
            let error = anyhow!("the model kept looping after a warning: {}", visible(&detail));
            let hint =
                "rephrase the prompt; \"model.disableLoopDetection\" in settings.json turns this check off";
            Err(hinted(error, hint))
        }
        TurnEnd::LimitReached { limit, of } => {
            let (scope, hint) = match of {
                LimitOf::Turn => ("this turn", "raise --max-turns, or continue with --resume"),
                LimitOf::Session => ("this session", "raise \"model.maxSessionTurns\" in settings.json"),
            };
            Err(hinted(anyhow!("reached the limit of {limit} model calls in {scope}"), hint))
        }
    }
}

/// The custom command that a text such as `/git:commit now` names, with its pieces.
fn custom_command(
    typed: &str,
    commands: &CustomCommands,
) -> anyhow::Result<Option<(String, Vec<CommandPiece>)>> {
    let Some(typed) = typed.trim().strip_prefix('/') else { return Ok(None) };
    let (name, arguments) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    if !commands.has(name) {
        return Ok(None);
    }
    Ok(Some((name.to_string(), commands.fill(name, arguments.trim())?)))
}

/// The parts of a message for a custom command. What its file says is not what the user typed.
fn command_parts(name: &str, filled: FilledCommand) -> Vec<Part> {
    let text = quote_in_tag("custom_command", "name", name, &filled.text);
    std::iter::once(Part::text(Origin::Hook, text)).chain(filled.media).collect()
}

/// The prompt of an MCP server that a text such as `/review --lang=rust` names, filled in; nothing if it names none. An error says
/// why it cannot be filled in.
async fn filled_in_prompt(
    typed: &str,
    servers: Option<&dyn ToolSource>,
    cancel: &CancellationToken,
) -> Result<Vec<Part>, String> {
    let Some((servers, typed)) = servers.zip(typed.trim().strip_prefix('/')) else { return Ok(Vec::new()) };
    let (name, words) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    let Some(answer) = servers.fill_in_prompt(name, words, cancel).await else { return Ok(Vec::new()) };
    match answer.outcome {
        ToolOutcome::Succeeded(text) => {
            let text = quote_in_tag("mcp_prompt", "name", name, &text);
            Ok(std::iter::once(Part::text(Origin::Hook, text)).chain(answer.media).collect())
        }
        ToolOutcome::Failed(reason) => Err(reason.trim_end_matches('.').to_string()),
        // The turn ends in the same way.
        ToolOutcome::Cancelled(_) => Ok(Vec::new()),
    }
}
