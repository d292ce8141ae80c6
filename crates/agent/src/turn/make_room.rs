//! Makes room before a request: the compactions that are due, and the guard that what is sent fits.

use std::time::Duration;

use longhaul_compaction::{PlanOptions, Status, Trigger};
use longhaul_engine::{BoxFuture, CompactionDeps, Fallback, PassOutcome, PreCompress, telemetry_records};
use longhaul_hooks::EventName;
use tokio_util::sync::CancellationToken;

use super::instructions::restore_instructions;
use super::session::AgentSession;
use super::state::TurnState;
use super::window::RequestWindow;
use crate::deps::AgentDeps;
use crate::error::AgentError;
use crate::event::{Event, Overflow, OverflowCause, TurnEnd};
use crate::hooks::HookRunner;

/// The newest message of a transcript: the user's own words or the results of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Newest {
    /// Words, which are not shortened behind the user's back.
    Prompt,
    /// Results, of which less will do.
    Results,
}

/// Shortens the conversation if that is due or if the request would not fit; returns the end of the turn if it still
/// would not.
pub(super) async fn make_room(
    session: &mut AgentSession,
    turn: &TurnState,
    newest: Newest,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Result<Option<TurnEnd>, AgentError> {
    // No compaction helps where the new words alone are too many.
    if newest == Newest::Prompt
        && let Some(overflow) = RequestWindow::of(session, turn).overflow_of_prompt()
    {
        return Ok(Some(end_with(overflow, deps)));
    }
    session.record_host_state(turn.jobs(), deps)?;
    if let Some(request) = session.compaction_request.take() {
        let options = PlanOptions { focus: request.focus, ..options_now(session, turn, Trigger::Forced) };
        compact(session, turn, options, deps, cancel).await?;
    }
    let options = options_now(session, turn, Trigger::Automatic);
    let prepared = compact_if_due(session, turn, &options, deps, cancel).await?;
    if prepared.is_some_and(|status| status == Status::Cancelled) || cancel.is_cancelled() {
        return Ok(Some(TurnEnd::Cancelled));
    }
    let window = RequestWindow::of(session, turn);
    if window.overflow().is_none() {
        return Ok(None);
    }
    let options = window.options_for_guard();
    let status = compact(session, turn, options, deps, cancel).await?.result.status;
    if status == Status::Cancelled {
        return Ok(Some(TurnEnd::Cancelled));
    }
    let cause = if lacks_summary(session, status) { OverflowCause::NoSummary } else { OverflowCause::Size };
    let overflow = RequestWindow::of(session, turn).overflow();
    Ok(overflow.map(|overflow| end_with(Overflow { cause, ..overflow }, deps)))
}

/// Returns true if a compaction with this status failed because settings allow no summary but a model's.
pub(super) fn lacks_summary(session: &AgentSession, status: Status) -> bool {
    let is_failed = !status.is_change() && !matches!(status, Status::Cancelled | Status::DoesNotFit);
    is_failed && session.settings.compaction.fallback == Fallback::Off
}

/// Shortens the conversation because the user wants it, with the topic that the snapshot is to keep more about.
pub(crate) async fn compact_on_request(
    session: &mut AgentSession,
    turn: &TurnState,
    focus: Option<String>,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Result<PassOutcome, AgentError> {
    session.record_host_state(turn.jobs(), deps)?;
    let options = PlanOptions { focus, ..options_now(session, turn, Trigger::Forced) };
    compact(session, turn, options, deps, cancel).await
}

/// Shortens the conversation as these options say.
pub(super) async fn compact(
    session: &mut AgentSession,
    turn: &TurnState,
    options: PlanOptions,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Result<PassOutcome, AgentError> {
    let hook = PreCompressHook { runner: session.hook_runner(deps), cancel };
    let events = |event| deps.emit(Event::Compaction(event));
    let clock = || deps.clock();
    let engine_deps = compaction_deps(deps, &hook, &events, &clock);
    session.scale = Some(shown_scale(session, turn));
    let settings = &session.settings.compaction;
    let outcome =
        session.conversation.compact(&options, settings, &engine_deps, deps.stamp(), cancel).await?;
    finish_compaction(session, turn, &outcome, deps);
    Ok(outcome)
}

/// Shortens the conversation if that is due.
async fn compact_if_due(
    session: &mut AgentSession,
    turn: &TurnState,
    options: &PlanOptions,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Result<Option<Status>, AgentError> {
    let hook = PreCompressHook { runner: session.hook_runner(deps), cancel };
    let events = |event| deps.emit(Event::Compaction(event));
    let clock = || deps.clock();
    let engine_deps = compaction_deps(deps, &hook, &events, &clock);
    session.scale = Some(shown_scale(session, turn));
    let settings = &session.settings.compaction;
    let prepared =
        session.conversation.prepare(options, settings, &engine_deps, deps.stamp(), cancel).await?;
    Ok(prepared.map(|outcome| {
        finish_compaction(session, turn, &outcome, deps);
        outcome.result.status
    }))
}

/// The measure of the size that is shown now, and the model that it holds for.
fn shown_scale(session: &AgentSession, turn: &TurnState) -> (String, f64) {
    (turn.model(&session.settings).name.clone(), RequestWindow::of(session, turn).scale())
}

/// Puts instructions back that a compaction left out, and reports what came of it.
fn finish_compaction(
    session: &mut AgentSession,
    turn: &TurnState,
    outcome: &PassOutcome,
    deps: &AgentDeps<'_>,
) {
    if outcome.messages().is_some() {
        // The provider counted another request than the one that will be sent.
        session.forget_latest_request();
        restore_instructions(session, turn, deps);
    }
    for warning in &outcome.result.warnings {
        deps.warn(warning.clone());
    }
    deps.write_telemetry(&telemetry_records(outcome, (deps.now)()));
    session.pass_on_warnings(deps);
}

/// The options of a compaction within the usual limit.
fn options_now(session: &AgentSession, turn: &TurnState, trigger: Trigger) -> PlanOptions {
    let window = RequestWindow::of(session, turn);
    window.compaction_options(window.input_limit(), trigger)
}

/// The user's hooks before a compaction.
struct PreCompressHook<'a> {
    runner: Option<HookRunner<'a>>,
    cancel: &'a CancellationToken,
}

impl PreCompress for PreCompressHook<'_> {
    fn run(&self, trigger: Trigger) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(runner) = &self.runner {
                runner.run(longhaul_hooks::HookEvent::PreCompress { trigger }, self.cancel).await;
            }
        })
    }
}

/// The dependencies of the engine.
fn compaction_deps<'a>(
    deps: &AgentDeps<'a>,
    hook: &'a PreCompressHook<'a>,
    events: &'a (dyn Fn(longhaul_engine::Event) + Send + Sync),
    clock: &'a (dyn Fn() -> Duration + Send + Sync),
) -> CompactionDeps<'a> {
    let has_hook = hook.runner.as_ref().is_some_and(|runner| runner.has(EventName::PreCompress));
    CompactionDeps {
        summariser: deps.summariser,
        files: deps.files,
        counter: deps.counter,
        pre_compress: has_hook.then_some(hook as &dyn PreCompress),
        events,
        clock,
    }
}

fn end_with(overflow: Overflow, deps: &AgentDeps<'_>) -> TurnEnd {
    deps.emit(Event::Overflow(overflow));
    TurnEnd::Overflow(overflow)
}
