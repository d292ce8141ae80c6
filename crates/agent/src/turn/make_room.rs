//! Makes room before a request: the compactions that are due, and the guard that what is sent fits.

use std::time::Duration;

use longhaul_compaction::{PlanOptions, Status, Trigger};
use longhaul_conversation::{TokenCount, grouped};
use longhaul_engine::{BoxFuture, CompactionDeps, Fallback, PassOutcome, PreCompress, telemetry_records};
use longhaul_hooks::EventName;
use tokio_util::sync::CancellationToken;

use super::ahead::{await_draft, settle_draft};
use super::instructions::restore_instructions;
use super::session::AgentSession;
use super::state::TurnState;
use super::window::RequestWindow;
use crate::approval::UserQuestion;
use crate::deps::AgentDeps;
use crate::error::AgentError;
use crate::event::{Event, Overflow, OverflowCause, TurnEnd};
use crate::hooks::HookRunner;
use crate::settings::Settings;

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
    settle_draft(session, deps);
    let options = options_now(session, turn, Trigger::Automatic);
    let prepared = match may_compact(session, turn, &options, deps, cancel).await {
        true => compact_if_due(session, turn, &options, deps, cancel).await?,
        false => None,
    };
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
    await_draft(session, &options, deps, cancel).await;
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

/// The answers to the question before an automatic compaction.
const COMPACT: &str = "Compact now";
const LATER: &str = "Not now";
const ALWAYS: &str = "Always in this session";

/// Asks the user whether an automatic compaction that is due may run, where a setting wants that and somebody is there. Who
/// declines is asked again once the request has grown; what would not fit is shortened in any case.
async fn may_compact(
    session: &mut AgentSession,
    turn: &TurnState,
    options: &PlanOptions,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> bool {
    let Settings { asks_before_compaction, permissions, compaction, .. } = &session.settings;
    if !asks_before_compaction || !permissions.situation.is_interactive || session.is_subagent() {
        return true;
    }
    let Some(plan) = session.conversation.due(options, compaction) else { return true };
    let window = options.budget.window;
    let growth = TokenCount((window.0 as f64 * compaction.growth) as u64);
    if session.declined_at.is_some_and(|declined| plan.before < declined + growth) {
        return false;
    }
    if plan.before > window {
        return true;
    }
    let due = options.budget.threshold.tokens(window).unwrap_or(window);
    let text = format!(
        "A compaction is due: about {} of {} tokens are used, and the threshold is {}. Compact now?",
        grouped(plan.before.0),
        grouped(window.0),
        grouped(due.0)
    );
    let question = UserQuestion { text, options: [COMPACT, LATER, ALWAYS].map(str::to_string).to_vec() };
    let asked = async {
        let _lock = turn.approvals.lock().await;
        deps.approver.answer(&question).await
    };
    match cancel.run_until_cancelled(asked).await.flatten().as_deref() {
        Some(COMPACT) => true,
        Some(ALWAYS) => {
            session.settings.asks_before_compaction = false;
            true
        }
        _ => {
            session.declined_at = Some(plan.before);
            false
        }
    }
}

/// Shortens the conversation if that is due.
async fn compact_if_due(
    session: &mut AgentSession,
    turn: &TurnState,
    options: &PlanOptions,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Result<Option<Status>, AgentError> {
    await_draft(session, options, deps, cancel).await;
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
        session.declined_at = None;
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
