//! The turn: from what the user says, over as many steps as the model takes, to its last answer.
//!
//! ```text
//! run_turn
//!   record_prompt       on the disk before anything is sent
//!   take_steps
//!     make_room         compactions that are due; the guard
//!     check_course      is the work stuck in a loop? which model answers?
//!     ask_model         stream the answer, record it
//!     run_tool_calls    hooks, rules and the user decide; run, shorten, record
//!   take_back_prompt    where it was too much for the window
//!   finish_turn
//! ```
//!
//! Each function takes what it needs of three structs: the [`AgentSession`] is recorded and outlives the turn, the
//! [`TurnState`] lives as long as the turn, [`AgentDeps`] is brought by the application.

mod ahead;
mod ask_model;
mod draft_ahead;
mod fill_in;
mod instructions;
mod loop_check;
mod make_room;
mod own_calls;
mod permission;
mod record_prompt;
mod rereads;
mod routing;
mod session;
mod state;
#[cfg(test)]
mod tests;
mod tool_calls;
mod tool_output;
mod toolbox;
mod view;
mod window;

use longhaul_compaction::Loop;
use longhaul_conversation::{Message, ModelError, Origin, Part, Role, ToolCall};
use longhaul_hooks::HookEvent;
use longhaul_policy::AGENT_TOOL;
use longhaul_tools::ToolOutcome;
use tokio_util::sync::CancellationToken;

pub(crate) use self::ahead::stop_draft;
pub(crate) use self::fill_in::fill_in;
pub(crate) use self::instructions::list_instructions;
pub(crate) use self::make_room::compact_on_request;
pub(crate) use self::record_prompt::{introduce, record_context};
pub(crate) use self::session::{AgentSession, Lineage};
pub(crate) use self::state::TurnState;
pub(crate) use self::tool_output::truncate;
pub use self::view::AgentView;
pub(crate) use self::window::RequestWindow;

use self::ahead::{begin_draft, settle_draft};
use self::ask_model::{StepOutcome, ask_model};
use self::loop_check::find_standstill;
use self::make_room::{Newest, make_room};
use self::record_prompt::{record_prompt, split_prompt, take_back_prompt, typed_text};
use self::routing::choose_model;
use self::tool_calls::{Flow, refuse_calls, run_tool_calls};
use self::toolbox::DeclaredTools;
use crate::delegation::BackgroundResult;
use crate::deps::AgentDeps;
use crate::error::AgentError;
use crate::event::{Event, LimitOf, TurnEnd};
use crate::prompt::has_session_context;
use crate::statistics::Activity;

/// The debt of a turn that was cut off.
enum Owed {
    /// The model has yet to answer.
    Answer,
    /// The model waits for the results of these calls.
    Results(Vec<ToolCall>),
}

/// A prompt as hooks leave it.
enum HookedPrompt {
    /// Passes, with the context that they add.
    Passes(Option<String>),
    /// Is recorded, and the turn ends.
    Stopped(String),
    /// Is not even recorded.
    Blocked(String),
}

/// The last answer of a turn as hooks leave it.
enum HookedEnd {
    Accepted,
    Stopped(String),
    /// The model is to go on with this.
    Continued(String),
}

/// Carries out one turn that begins with these parts, of which the user's texts are the prompt.
pub(crate) async fn run_turn(
    session: &mut AgentSession,
    turn: &mut TurnState,
    parts: Vec<Part>,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Result<TurnEnd, AgentError> {
    declare_tools(session, turn, deps);
    session.note(Activity::UserInput, deps);
    let background = turn.background.clone();
    let end = background.beside(answer_prompt(session, turn, parts, deps, cancel), deps, cancel).await?;
    finish_turn(session, turn, end, deps)
}

/// Records what is pending, and continues the turn that ended because it could not be recorded; `None` where no answer is
/// owed.
pub(crate) async fn resume_turn(
    session: &mut AgentSession,
    turn: &mut TurnState,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Result<Option<TurnEnd>, AgentError> {
    session.record_pending(deps)?;
    let messages = session.conversation.transcript().messages();
    let Some(owed) = find_owed(messages) else { return Ok(None) };
    let mut prompts = messages.iter().rev().map(|message| typed_text(&message.parts));
    let prompt = prompts.find(|text| !text.is_empty()).unwrap_or_default();
    declare_tools(session, turn, deps);
    turn.restart();
    turn.prompt = prompt;
    let background = turn.background.clone();
    let end = background.beside(answer_owed(session, turn, owed, deps, cancel), deps, cancel).await?;
    finish_turn(session, turn, end, deps).map(Some)
}

/// Finds the tools to declare to the model from now on.
pub(crate) fn declare_tools(session: &AgentSession, turn: &mut TurnState, deps: &AgentDeps<'_>) {
    turn.tools = DeclaredTools::declare(session, deps);
}

/// Records a prompt that hooks let pass, and works on it.
async fn answer_prompt(
    session: &mut AgentSession,
    turn: &mut TurnState,
    parts: Vec<Part>,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Result<TurnEnd, AgentError> {
    session.record_pending(deps)?;
    turn.restart();
    let mut parts = split_prompt(parts);
    turn.prompt = typed_text(&parts);
    match run_prompt_hooks(session, &turn.prompt, deps, cancel).await {
        HookedPrompt::Passes(context) => parts.extend(context.map(|text| Part::text(Origin::Hook, text))),
        HookedPrompt::Stopped(reason) => {
            record_prompt(session, parts, deps)?;
            return Ok(TurnEnd::Stopped { reason });
        }
        HookedPrompt::Blocked(reason) => return Ok(TurnEnd::Blocked { reason }),
    }
    // The choice for the prompt before holds no longer.
    turn.route = None;
    let prompt = record_prompt(session, parts, deps)?;
    let end = work_until_done(session, turn, deps, cancel).await?;
    if matches!(end, TurnEnd::Overflow(_) | TurnEnd::Failed(ModelError::TooLong)) {
        take_back_prompt(session, &prompt, deps)?;
    }
    Ok(end)
}

/// Goes on with a turn that was cut off.
async fn answer_owed(
    session: &mut AgentSession,
    turn: &mut TurnState,
    owed: Owed,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Result<TurnEnd, AgentError> {
    if let Owed::Results(calls) = owed
        && let Flow::Ends(end) = run_new_calls(session, turn, calls, deps, cancel).await?
    {
        return Ok(end);
    }
    work_until_done(session, turn, deps, cancel).await
}

/// Records the results of sub-agents that had to stop with the turn, and whatever waits, and reports the end.
fn finish_turn(
    session: &mut AgentSession,
    turn: &mut TurnState,
    end: TurnEnd,
    deps: &AgentDeps<'_>,
) -> Result<TurnEnd, AgentError> {
    record_background_results(session, turn, deps)?;
    session.record_pending(deps)?;
    settle_draft(session, deps);
    if session.settings.permissions.situation.is_interactive {
        // The user reads and types: a good time for a summary.
        begin_draft(session, turn, deps);
    }
    deps.emit(Event::Ended(end.clone()));
    Ok(end)
}

/// Takes steps until the model is done, sub-agents in the background have reported, and no hook objects.
async fn work_until_done(
    session: &mut AgentSession,
    turn: &mut TurnState,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Result<TurnEnd, AgentError> {
    let mut is_continued = false;
    loop {
        let end = take_steps(session, turn, deps, cancel).await?;
        let TurnEnd::Finished(_) = end else { return Ok(end) };
        if turn.ending.is_none() && turn.background.is_busy() {
            match cancel.run_until_cancelled(turn.background.wait()).await {
                Some(()) => continue,
                None => return Ok(TurnEnd::Cancelled),
            }
        }
        match run_end_hooks(session, &turn.prompt, is_continued, deps, cancel).await {
            HookedEnd::Accepted => return Ok(end),
            HookedEnd::Stopped(reason) => return Ok(TurnEnd::Stopped { reason }),
            HookedEnd::Continued(reason) => {
                is_continued = true;
                // On the heap, as sub-agents run turns inside turns.
                if let Some(end) = Box::pin(continue_with(session, reason, deps, cancel)).await? {
                    return Ok(end);
                }
            }
        }
    }
}

/// Records the reason of a hook that does not accept the answer, which is the next prompt: hooks see it first, and end the
/// turn where they object.
async fn continue_with(
    session: &mut AgentSession,
    reason: String,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Result<Option<TurnEnd>, AgentError> {
    let hooked = run_prompt_hooks(session, &reason, deps, cancel).await;
    let mut parts = vec![Part::text(Origin::Hook, reason)];
    match hooked {
        HookedPrompt::Passes(context) => parts.extend(context.map(|text| Part::text(Origin::Hook, text))),
        HookedPrompt::Stopped(reason) => {
            session.append(&deps.message(Role::User, parts), deps)?;
            return Ok(Some(TurnEnd::Stopped { reason }));
        }
        // The user's own prompt is answered and stays.
        HookedPrompt::Blocked(reason) => return Ok(Some(TurnEnd::Stopped { reason })),
    }
    session.append(&deps.message(Role::User, parts), deps)?;
    Ok(None)
}

/// Asks the model and runs the tools that it calls, until it calls none.
async fn take_steps(
    session: &mut AgentSession,
    turn: &mut TurnState,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Result<TurnEnd, AgentError> {
    let mut newest = Newest::Prompt;
    loop {
        if let Some(end) = limit_reached(session, turn) {
            return Ok(end);
        }
        if let Some(end) = record_background_results(session, turn, deps)? {
            return Ok(end);
        }
        turn.steps += 1;
        session.steps += 1;
        if deps.servers.is_some() {
            // Servers may have connected, and tools may have been asked for.
            declare_tools(session, turn, deps);
        }
        // On the heap, as sub-agents run turns inside turns.
        if let Some(end) = Box::pin(make_room(session, turn, newest, deps, cancel)).await? {
            return Ok(end);
        }
        if let Some(end) = check_course(session, turn, newest, deps, cancel).await? {
            return Ok(end);
        }
        begin_draft(session, turn, deps);
        (deps.observer)(AgentView { session, turn });
        deps.emit(Event::StepBegan { step: turn.steps });
        newest = Newest::Results;
        match ask_model(session, turn, deps, cancel).await? {
            StepOutcome::Ended(end) => return Ok(end),
            StepOutcome::Calls(calls) => {
                if let Flow::Ends(end) = run_new_calls(session, turn, calls, deps, cancel).await? {
                    return Ok(end);
                }
            }
            StepOutcome::Looping(found) => {
                if let Some(end) = warn_of_loop(session, turn, describe_loop(&found), deps)? {
                    return Ok(end);
                }
            }
        }
    }
}

/// Checks, now that there is room, that the work makes progress and, for a new prompt, chooses the model that answers. Makes
/// room once more where that takes it.
async fn check_course(
    session: &mut AgentSession,
    turn: &mut TurnState,
    newest: Newest,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Result<Option<TurnEnd>, AgentError> {
    let limit = RequestWindow::of(session, turn).input_limit();
    let standstill = find_standstill(session, &mut turn.judges, &turn.prompt, deps, cancel).await;
    let is_warned = standstill.is_some();
    if let Some(detail) = standstill
        && let Some(end) = warn_of_loop(session, turn, detail, deps)?
    {
        return Ok(Some(end));
    }
    if turn.steps == 1
        && let Some(route) = choose_model(session, deps, cancel).await
    {
        turn.route = Some(route);
    }
    if cancel.is_cancelled() {
        return Ok(Some(TurnEnd::Cancelled));
    }
    match is_warned || RequestWindow::of(session, turn).input_limit() < limit {
        true => Box::pin(make_room(session, turn, newest, deps, cancel)).await,
        false => Ok(None),
    }
}

/// Runs the calls of a step, unless they only repeat earlier ones.
async fn run_new_calls(
    session: &mut AgentSession,
    turn: &mut TurnState,
    calls: Vec<ToolCall>,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Result<Flow, AgentError> {
    let watched = if session.settings.watches_loops { calls.as_slice() } else { &[] };
    let found = watched.iter().filter_map(|call| turn.loops.observe_call(call)).last();
    let Some(found) = found else { return run_tool_calls(session, turn, calls, deps, cancel).await };
    refuse_calls(session, &calls, "This call was not run, because it only repeats earlier ones.", deps)?;
    Ok(warn_of_loop(session, turn, describe_loop(&found), deps)?.map_or(Flow::GoesOn, Flow::Ends))
}

/// Warns the model that it is stuck in a loop; the second time, the turn ends.
fn warn_of_loop(
    session: &mut AgentSession,
    turn: &mut TurnState,
    detail: String,
    deps: &AgentDeps<'_>,
) -> Result<Option<TurnEnd>, AgentError> {
    turn.loop_warnings += 1;
    deps.emit(Event::Looping { detail: detail.clone() });
    if turn.loop_warnings > 1 {
        return Ok(Some(TurnEnd::Looped { detail }));
    }
    turn.loops.reset();
    let advice = include_str!("../prompts/step_back.md").trim().replace("{{detail}}", &detail);
    record_context(session, advice, deps)?;
    Ok(None)
}

/// Records the results of sub-agents in the background; returns the end of the turn where one of them brought it.
fn record_background_results(
    session: &mut AgentSession,
    turn: &mut TurnState,
    deps: &AgentDeps<'_>,
) -> Result<Option<TurnEnd>, AgentError> {
    let results = turn.background.take_results();
    if results.is_empty() {
        return Ok(None);
    }
    let mut parts = Vec::new();
    for BackgroundResult { call, job, result } in results {
        let call = ToolCall::new(call, AGENT_TOOL);
        let (outcome, left_out) = (&result.answer.outcome, result.answer.left_out);
        let (text, _) = truncate(session, turn, &call, outcome.text(), left_out, deps);
        let status = match outcome {
            ToolOutcome::Succeeded(_) => "completed",
            ToolOutcome::Failed(_) => "failed",
            ToolOutcome::Cancelled(_) => "stopped",
        };
        // No result ends the block it stands in.
        let text = text.replace("</subagent_result", "<\u{2215}subagent_result");
        let name = job.name;
        let text =
            format!("<subagent_result name=\"{name}\" status=\"{status}\">\n{text}\n</subagent_result>");
        parts.push(Part::text(Origin::Tool, text));
        result.report.apply(session, turn, deps);
    }
    session.append(&deps.message(Role::User, parts), deps)?;
    Ok(turn.ending.clone())
}

/// The end of a turn that has taken all its steps.
fn limit_reached(session: &AgentSession, turn: &TurnState) -> Option<TurnEnd> {
    let limits = session.settings.limits;
    if let Some(limit) = limits.session.filter(|limit| session.steps >= *limit) {
        return Some(TurnEnd::LimitReached { limit, of: LimitOf::Session });
    }
    (turn.steps >= limits.turn).then_some(TurnEnd::LimitReached { limit: limits.turn, of: LimitOf::Turn })
}

/// Runs hooks on a prompt.
async fn run_prompt_hooks(
    session: &AgentSession,
    prompt: &str,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> HookedPrompt {
    let event = HookEvent::BeforeAgent { prompt: prompt.to_string() };
    let Some(outcome) = session.run_hooks(event, deps, cancel).await else {
        return HookedPrompt::Passes(None);
    };
    if let Some(reason) = outcome.stop() {
        return HookedPrompt::Stopped(reason.to_string());
    }
    match outcome.block() {
        Some(reason) => HookedPrompt::Blocked(reason.to_string()),
        None => HookedPrompt::Passes(outcome.context()),
    }
}

/// Runs hooks on the last answer.
async fn run_end_hooks(
    session: &mut AgentSession,
    prompt: &str,
    is_continued: bool,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> HookedEnd {
    let last = session.conversation.transcript().messages().last();
    let answer = last.map(|message| message.parts.iter().filter_map(Part::as_text).collect());
    let event = HookEvent::AfterAgent {
        prompt: prompt.to_string(),
        prompt_response: answer.unwrap_or_default(),
        stop_hook_active: is_continued,
    };
    let Some(outcome) = session.run_hooks(event, deps, cancel).await else { return HookedEnd::Accepted };
    if outcome.clears_context()
        && let Err(error) = session.clear(deps)
    {
        deps.warn(error.to_string());
    }
    if let Some(reason) = outcome.stop() {
        return HookedEnd::Stopped(reason.to_string());
    }
    match outcome.block() {
        Some(reason) if !cancel.is_cancelled() => HookedEnd::Continued(reason.to_string()),
        _ => HookedEnd::Accepted,
    }
}

/// The answer or the results that are owed after these messages.
fn find_owed(messages: &[Message]) -> Option<Owed> {
    let newest = messages.last()?;
    match newest.role {
        Role::Model => {
            let calls: Vec<ToolCall> = newest.calls().cloned().collect();
            (!calls.is_empty()).then_some(Owed::Results(calls))
        }
        _ => (!has_session_context(newest) || !typed_text(&newest.parts).is_empty()).then_some(Owed::Answer),
    }
}

fn describe_loop(found: &Loop) -> String {
    match found {
        Loop::Calls { tools } if tools.len() == 1 => format!("repeated calls to {}", tools[0]),
        Loop::Calls { tools } => format!("a repeated round of calls: {}", tools.join(", ")),
        Loop::Words { text } => format!("repeated text: {:?}", text.trim()),
    }
}
