//! A model's summary for the next compaction, written beside the turn and between turns, so that the compaction takes no time.

use std::sync::Arc;
use std::time::Instant;

use longhaul_compaction::{PlanOptions, Trigger};
use longhaul_conversation::SpendMeter;
use longhaul_engine::{Event as Compaction, PreparedDraft, Spend, SummaryError};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::draft_ahead::RunningDraft;
use super::session::AgentSession;
use super::state::TurnState;
use super::window::RequestWindow;
use crate::deps::AgentDeps;
use crate::event::Event;

/// Has a draft written if the conversation has come close to the next compaction. Returns at once.
pub(super) fn begin_draft(session: &mut AgentSession, turn: &TurnState, deps: &AgentDeps<'_>) {
    let generation = session.conversation.generation();
    let ahead = &session.draft_ahead;
    if session.is_subagent() || ahead.running.is_some() || ahead.failed_at == Some(generation) {
        return;
    }
    let Some(summariser) = deps.summariser.detached() else { return };
    let Ok(runtime) = Handle::try_current() else { return };
    let window = RequestWindow::of(session, turn);
    let options = window.compaction_options(window.input_limit(), Trigger::Automatic);
    let settings = &session.settings.compaction;
    let Some(order) = session.conversation.draft_order(&options, settings, summariser.as_ref()) else {
        return;
    };
    let (meter, since, messages) = (SpendMeter::default(), Instant::now(), order.covered());
    let mut task = JoinSet::new();
    let (own, counted) = (Arc::clone(&summariser), meter.clone());
    let write = async move { order.write(own.as_ref(), &counted, &|| since.elapsed()).await };
    task.spawn_on(write, &runtime);
    let running = RunningDraft { task, summariser, meter, generation, messages, since };
    session.draft_ahead.running = Some(Box::new(running));
}

/// Takes over a draft that is finished, and stops one that the conversation has left behind. Waits for nothing.
pub(super) fn settle_draft(session: &mut AgentSession, deps: &AgentDeps<'_>) {
    let generation = session.conversation.generation();
    let Some(running) = &mut session.draft_ahead.running else { return };
    if running.generation != generation {
        return stop_draft(session, "the conversation was changed", deps);
    }
    if let Some(ended) = running.task.try_join_next() {
        take_draft(session, ended.ok(), deps);
    }
}

/// Waits for the draft that is being written, if a compaction with these options is due and nothing else would be quicker: it was
/// begun earlier than any other could be now.
pub(super) async fn await_draft(
    session: &mut AgentSession,
    options: &PlanOptions,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) {
    settle_draft(session, deps);
    let is_due = |session: &AgentSession| {
        options.trigger == Trigger::Forced
            || session.conversation.due(options, &session.settings.compaction).is_some()
    };
    if options.focus.is_some() || session.draft_ahead.running.is_none() || !is_due(session) {
        return;
    }
    let Some(running) = &mut session.draft_ahead.running else { return };
    if let Some(Some(ended)) = cancel.run_until_cancelled(running.task.join_next()).await {
        take_draft(session, ended.ok(), deps);
    }
}

/// Stops the draft that is being written, if any: nothing is kept of it but what was spent.
pub(crate) fn stop_draft(session: &mut AgentSession, reason: &str, deps: &AgentDeps<'_>) {
    let Some(running) = session.draft_ahead.running.take() else { return };
    let spend = running.spend();
    drop(running);
    drop_draft(session, reason.to_string(), spend, deps);
}

/// Takes over what came of a draft; nothing came of it where its task was ended from outside.
fn take_draft(
    session: &mut AgentSession,
    ended: Option<Result<PreparedDraft, SummaryError>>,
    deps: &AgentDeps<'_>,
) {
    let Some(running) = session.draft_ahead.running.take() else { return };
    let (spend, duration) = (running.spend(), running.since.elapsed());
    let draft = match ended {
        Some(Ok(draft)) => draft,
        Some(Err(error)) => {
            session.draft_ahead.failed_at = Some(running.generation);
            return drop_draft(session, error.to_string(), spend, deps);
        }
        None => return drop_draft(session, "it was stopped".to_string(), spend, deps),
    };
    if !session.conversation.keep_draft(draft) {
        return drop_draft(session, "the conversation was changed".to_string(), spend, deps);
    }
    count(session, spend, deps);
    emit(Compaction::DraftWritten { messages: running.messages, duration, spend }, deps);
}

fn drop_draft(session: &mut AgentSession, reason: String, spend: Spend, deps: &AgentDeps<'_>) {
    count(session, spend, deps);
    emit(Compaction::DraftDropped { reason, spend }, deps);
}

/// Counts what was spent among the session's compactions.
fn count(session: &mut AgentSession, spend: Spend, deps: &AgentDeps<'_>) {
    if let Err(error) = session.conversation.add_spend(spend, (deps.now)()) {
        deps.warn(format!("could not save the cost of a summary: {error}"));
    }
}

fn emit(event: Compaction, deps: &AgentDeps<'_>) {
    deps.emit(Event::Compaction(event));
}
