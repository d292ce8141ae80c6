//! `longhaul -p PROMPT`: one turn of a conversation with a model, recorded and resumable.

mod json;
mod open;
mod report;
mod system;
mod told;
mod words;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use longhaul_agent::{
    Agent, AgentError, Host, LimitOf, Limits, ModelProfile, Settings as AgentSettings, Surroundings, TurnEnd,
};
use longhaul_context::{BudgetSettings, Estimator};
use longhaul_conversation::{FinishReason, Message, ModelError, Request, TokenCount};
use longhaul_engine::{BoxFuture, CalibrationFile, Counter, EngineError, Folder, Offline, Summariser};
use longhaul_hooks::{EndReason, SessionSource};
use longhaul_providers::HttpModel;
use longhaul_session::LogHealth;
use longhaul_workspace::Home;
use tokio_util::sync::CancellationToken;

use crate::args::Color;
use crate::clock::now;
use crate::commands::sessions::import::new_id;
use crate::equipment::{Attendance, Equipment, WorkOptions};
use crate::failure::hinted;
use crate::models::{Chosen, Models, compaction_model, priced};
use crate::output::{Screen, thousands, visible};
use crate::project::log_failure;
use crate::running::{Interrupted, until_interrupted};
use crate::settings::Settings;
use crate::{environment, output};

use self::open::Found;
use self::report::Reporter;
use self::words::Silence;

#[derive(Debug, Default, Args)]
pub(crate) struct TalkOptions {
    /// Asks a model this and prints its answer; what comes on standard input stands before it.
    #[arg(short, long, value_name = "PROMPT")]
    prompt: Option<String>,
    /// The model to talk to: a name, provider/name, or auto, pro, flash or flash-lite.
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
    /// Goes on with a session of this folder: latest, its number in `sessions list`, its id; or with one in a file.
    #[arg(long, value_name = "SESSION", num_args = 0..=1, default_missing_value = "latest")]
    resume: Option<PathBuf>,
    /// With --resume: goes on in a copy of the session, which stays as it is; another program may be writing it.
    #[arg(long, requires = "resume")]
    fork: bool,
    /// How the answer is printed [default: text].
    #[arg(long, value_name = "FORMAT")]
    output_format: Option<OutputFormat>,
    /// A file of certificates to trust beside the system's.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    #[command(flatten)]
    work: WorkOptions,
}

/// How an answer is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The text, as it arrives.
    #[default]
    Text,
    /// One JSON object when everything is over.
    Json,
    /// One JSON object a line, as things happen.
    StreamJson,
}

impl TalkOptions {
    /// Whether nothing of all this was given.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { prompt, model, resume, fork, output_format, ca_file, work } = self;
        prompt.is_none()
            && model.is_none()
            && resume.is_none()
            && !fork
            && output_format.is_none()
            && ca_file.is_none()
            && work.is_empty()
    }

    /// What to say to the model: standard input, then the prompt; nothing if both are empty.
    pub(crate) fn words(&self) -> anyhow::Result<Option<String>> {
        let silence = if self.is_empty() { Silence::IsTheEnd } else { Silence::IsWaitedFor };
        words::compose(self.prompt.as_deref(), silence)
    }
}

/// Says something to a model and prints what it answers.
pub(crate) fn run(
    options: &TalkOptions,
    words: &str,
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

fn talk(options: &TalkOptions, words: &str, settings: &Settings, reporter: &Reporter) -> anyhow::Result<()> {
    let started = Instant::now();
    let surroundings = environment::of_process();
    let home = Home::resolve(&surroundings)?;
    let models =
        Models::load(settings, options.ca_file.as_deref(), reporter.color(), |text| reporter.warn(text))?;
    let found = options.resume.as_deref().map(|given| open::find(given, options.fork)).transpose()?;
    let session_model = found.as_ref().and_then(Found::model);
    let chosen = models.choose_for_talk(options.model.as_deref(), session_model.as_deref())?;
    if chosen.is_window_assumed {
        let (name, window) = (&chosen.name, thousands(chosen.window.0));
        reporter.warn(&format!(
            "the window of {name} is not known, {window} tokens are assumed; state it in longhaul.windows"
        ));
    }
    let compressor = compressor(&models, settings, &chosen, reporter);
    let attendance = Attendance::Unattended;
    let (equipment, memory) = Equipment::load(&options.work, settings, &home, attendance)?;
    let tools = equipment.tool_names();
    let variable = |name: &str| std::env::var(name).ok();
    let skills = equipment.skill_list();
    let system = system::prompt(variable, surroundings.user_home.as_deref(), tools, skills)?;
    // From here on there is a session: whatever can be wrong with arguments and settings was found before.
    let opened = match found {
        Some(found) => found.open(reporter)?,
        None => open::begin(reporter)?,
    };
    let calibration = CalibrationFile::at(home.root().join("longhaul").join("calibration.json"));
    let estimator = estimator(settings, &calibration, &chosen);
    equipment.notes.iter().for_each(|note| reporter.note(note));
    equipment.warnings.iter().for_each(|warning| reporter.warn(warning));
    let place = open::surroundings(&opened.project, &equipment.folders, settings);
    let agent_settings = AgentSettings {
        permissions: equipment.permissions.clone(),
        limits: Limits {
            turn: options.work.max_turns().unwrap_or(Limits::default().turn),
            ..settings.limits()
        },
        ..agent_settings(settings, &chosen, system, place, estimator)
    };
    let files = Folder::new(opened.project.home.root());
    let is_recorded = *opened.log.health() == LogHealth::Recording;
    reporter.begin(&opened, &chosen)?;
    let source = if options.resume.is_some() { SessionSource::Resume } else { SessionSource::Startup };
    let mut agent = Agent::on(opened.log, agent_settings).with_memory(memory);
    let summariser: Box<dyn Summariser + '_> = match &compressor {
        Some(compressor) => Box::new(priced(compressor)),
        None => Box::new(Offline),
    };
    let counter = ProviderCounter { http: &chosen.http, model: &chosen.name };
    let telemetry = settings.telemetry_file(home.root());
    let end = until_interrupted(async |cancel| {
        reporter.stop_with(cancel);
        let host = Host {
            summariser: summariser.as_ref(),
            counter: Some(&counter),
            telemetry: telemetry.as_deref(),
            // Where the session cannot be kept, neither can what it teaches.
            calibration: is_recorded.then_some(&calibration),
            tools: &equipment.tools,
            hooks: Some(equipment.hook_points()),
            jobs: &|| equipment.running(),
            skills: &|| equipment.active_skills.names(),
            events: &|event| reporter.hear(event),
            ..Host::new(&chosen.http, &files, &now, &new_id)
        };
        agent.begin_session(source, &host, cancel).await?;
        let end = agent.run_turn(words, &host, cancel).await;
        equipment.jobs.stop_all().await;
        agent.end_session(EndReason::Exit, &host, &CancellationToken::new()).await;
        end
    })?;
    let end = end.map_err(|AgentError::Session(error)| match error {
        EngineError::Log(error) => log_failure(error),
        other => other.into(),
    })?;
    reporter.conclude(&end, &chosen, started.elapsed())?;
    into_result(end, reporter)
}

/// How the agent works.
fn agent_settings(
    settings: &Settings,
    chosen: &Chosen,
    system: String,
    surroundings: Surroundings,
    estimator: Estimator,
) -> AgentSettings {
    let model = ModelProfile {
        name: chosen.name.clone(),
        recorded_as: chosen.full_name.clone(),
        window: chosen.window,
        output_reserve: chosen.output_reserve,
    };
    AgentSettings {
        system,
        budget: BudgetSettings {
            threshold: settings.threshold(Some(&chosen.full_name)).map(|(threshold, _)| threshold),
            target: settings.target(),
            snapshot: settings.snapshot_budget(),
            ..BudgetSettings::default()
        },
        keep: settings.keep(),
        compaction: settings.engine(),
        estimator,
        outputs: settings.outputs(),
        watches_loops: settings.watches_loops(),
        ..AgentSettings::new(model, surroundings)
    }
}

/// The model that writes snapshots; none where Longhaul does so itself.
fn compressor(
    models: &Models<'_>,
    settings: &Settings,
    chosen: &Chosen,
    reporter: &Reporter,
) -> Option<Chosen> {
    if !settings.is_compacted_by_model() {
        return None;
    }
    match compaction_model(models, None, Some(&chosen.full_name)) {
        Ok(compressor) => Some(compressor),
        Err(error) => {
            reporter.warn(&format!("snapshots are written offline: {error:#}"));
            None
        }
    }
}

/// What was learned about the model, else what the settings say.
fn estimator(settings: &Settings, calibration: &CalibrationFile, chosen: &Chosen) -> Estimator {
    match calibration.load() {
        Ok(known) if known.knows(&chosen.name) => known.estimator(&chosen.name),
        _ => settings.estimator(),
    }
}

/// Whether the program succeeds.
fn into_result(end: TurnEnd, reporter: &Reporter) -> anyhow::Result<()> {
    let recorded = reporter.recorded();
    match end {
        TurnEnd::Finished(FinishReason::Filtered) => {
            let error = anyhow!("the provider withheld the answer");
            Err(hinted(error, "ask in other words, or another model"))
        }
        TurnEnd::Finished(_) => Ok(()),
        TurnEnd::Overflow(overflow) => {
            let error = anyhow!(
                "the message does not fit: it takes about {} tokens, and {} of {} are left",
                thousands(overflow.request.0),
                thousands(overflow.remaining.0),
                thousands(overflow.window.0),
            );
            let kept = recorded.map(|session| format!("; it is kept in session {}", visible(&session)));
            let hint = "shorten it, or use a model with a larger window";
            Err(hinted(error, format!("{hint}{}", kept.unwrap_or_default())))
        }
        TurnEnd::Failed(error) => Err(hinted(error.clone(), reporter.hint(&error))),
        TurnEnd::Cancelled => Err(Interrupted.into()),
        TurnEnd::Stopped { reason } => Err(anyhow!("a hook stopped the turn: {}", visible(&reason))),
        TurnEnd::Blocked { reason } => {
            let error = anyhow!("a hook did not let the prompt pass: {}", visible(&reason));
            Err(hinted(error, "it is not in the session; the hooks are in settings.json, under \"hooks\""))
        }
        TurnEnd::Looped { detail } => {
            let error =
                anyhow!("the model went round in circles, although it was told: {}", visible(&detail));
            let hint =
                "ask in other words; \"model.disableLoopDetection\" in settings.json switches this off";
            Err(hinted(error, hint))
        }
        TurnEnd::LimitReached { limit, of } => {
            let (scope, hint) = match of {
                LimitOf::Turn => ("this turn", "--max-turns allows more; --resume goes on where it stopped"),
                LimitOf::Session => {
                    ("this session", "\"model.maxSessionTurns\" in settings.json allows more")
                }
            };
            Err(hinted(anyhow!("the model was asked {limit} times in {scope}, which is the limit"), hint))
        }
    }
}

/// A note on standard error.
fn note(text: &str, color: Color) {
    let label = Screen::of_stderr(color).faint("note:");
    output::print_aside(&format!("{label} {}\n", visible(text)));
}

/// Counts a conversation as its provider does.
struct ProviderCounter<'a> {
    http: &'a HttpModel,
    model: &'a str,
}

impl Counter for ProviderCounter<'_> {
    fn count<'a>(&'a self, messages: &'a [Message]) -> BoxFuture<'a, Result<TokenCount, ModelError>> {
        let request =
            Request { model: self.model.to_string(), messages: messages.to_vec(), ..Request::default() };
        Box::pin(async move {
            let reason = "this provider has no way to count".to_string();
            self.http.count(request).await?.ok_or(ModelError::Refused { reason })
        })
    }
}
