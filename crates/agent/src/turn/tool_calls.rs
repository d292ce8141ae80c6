//! Runs the calls of a step: hooks, policy and the user decide, tools answer, and the answers are recorded.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use longhaul_conversation::{
    CallId, Message, OUTPUT_END_NOTE, Part, Role, ToolCall, ToolResult, ToolStatus, imitates_memory,
    neutralise_snapshots,
};
use longhaul_hooks::HookEvent;
use longhaul_policy::Decision;
use longhaul_tools::{BoxFuture, Tool, ToolAnswer, ToolDisplay, ToolInvocation, ToolOutcome};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::instructions::bring_in_memory;
use super::own_calls::run_own_tool;
use super::permission::{
    PreparedCall, ReadyCall, ask_approval, decide, offer_always, prepare_call, tool_use,
};
use super::rereads::{REREAD_NOTE, Read, WORTH_A_NOTE, unchanged_note};
use super::session::AgentSession;
use super::state::TurnState;
use super::tool_output::{cut_lines, summarise, truncate};
use super::toolbox::ToolTarget;
use crate::approval::{Approval, ApprovalRequest};
use crate::delegation::{SubagentReport, SubagentTask};
use crate::deps::AgentDeps;
use crate::error::AgentError;
use crate::event::{Event, ToolEnd, TurnEnd};
use crate::statistics::Activity;
use crate::subagents::SubagentWait;
use crate::tools::OwnTool;

/// The line behind an output in which the tags of snapshots were escaped.
const SNAPSHOT_ESCAPED: &str = "\n\n[In this output, `&lt;` before `state_snapshot` stands for `<`.]";

/// The course of a turn after a step.
#[derive(Debug)]
pub(super) enum Flow {
    GoesOn,
    Ends(TurnEnd),
}

/// A call that was answered.
struct AnsweredCall {
    call: ToolCall,
    args: Value,
    answer: ToolAnswer,
    notes: Vec<String>,
    took: Duration,
    /// The report of a sub-agent.
    report: Option<SubagentReport>,
}

impl AnsweredCall {
    /// A call that was answered before it could run.
    fn at_once(ready: ReadyCall<'_>, answer: ToolAnswer) -> Self {
        let ReadyCall { call, args, notes, .. } = ready;
        Self { call, args, answer, notes, took: Duration::ZERO, report: None }
    }
}

/// Answers every call. Those that only look and sub-agents run beside each other, all others in their order.
pub(super) async fn run_tool_calls(
    session: &mut AgentSession,
    turn: &mut TurnState,
    calls: Vec<ToolCall>,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Result<Flow, AgentError> {
    let mut calls = calls.into_iter();
    let mut batch = Vec::new();
    while let Some(call) = calls.next() {
        if let Some(end) = end_now(turn, cancel) {
            run_batch(session, turn, &mut batch, deps, cancel).await?;
            let rest: Vec<ToolCall> = std::iter::once(call).chain(calls).collect();
            let reason = match end {
                TurnEnd::Cancelled => "This call was not run, because the user stopped the turn.",
                _ => "This call was not run, because the result was handed over before it.",
            };
            refuse_calls(session, &rest, reason, deps)?;
            return Ok(Flow::Ends(end));
        }
        match prepare_call(session, turn, call, deps, cancel).await {
            PreparedCall::Ready(ready) if ready.runs_beside_others() => batch.push(ready),
            PreparedCall::Ready(ready) => {
                run_batch(session, turn, &mut batch, deps, cancel).await?;
                batch.push(ready);
                run_batch(session, turn, &mut batch, deps, cancel).await?;
            }
            PreparedCall::Answered { call, status, text } => {
                run_batch(session, turn, &mut batch, deps, cancel).await?;
                let result = answer_unrun(session, &call, status, text, deps);
                record_results(session, vec![result], deps)?;
            }
            PreparedCall::Ends { call, end } => {
                run_batch(session, turn, &mut batch, deps, cancel).await?;
                let rest: Vec<ToolCall> = std::iter::once(call).chain(calls).collect();
                refuse_calls(session, &rest, "This call was not run, because the turn was ended.", deps)?;
                return Ok(Flow::Ends(end));
            }
        }
    }
    run_batch(session, turn, &mut batch, deps, cancel).await?;
    Ok(end_now(turn, cancel).map_or(Flow::GoesOn, Flow::Ends))
}

/// The end of the turn before anything more runs, if it ends.
fn end_now(turn: &TurnState, cancel: &CancellationToken) -> Option<TurnEnd> {
    if cancel.is_cancelled() { Some(TurnEnd::Cancelled) } else { turn.ending.clone() }
}

/// Answers calls that do not run.
pub(super) fn refuse_calls(
    session: &mut AgentSession,
    calls: &[ToolCall],
    reason: &str,
    deps: &AgentDeps<'_>,
) -> Result<(), AgentError> {
    let refuse = |call| answer_unrun(session, call, ToolStatus::Cancelled, reason.to_string(), deps);
    let results = calls.iter().map(refuse).collect();
    record_results(session, results, deps)
}

/// Runs calls beside each other and records what they answer.
async fn run_batch(
    session: &mut AgentSession,
    turn: &mut TurnState,
    batch: &mut Vec<ReadyCall<'_>>,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Result<(), AgentError> {
    if batch.is_empty() {
        return Ok(());
    }
    let mut running: Vec<BoxFuture<'_, AnsweredCall>> = Vec::new();
    for ready in std::mem::take(batch) {
        running.push(match ready.target {
            ToolTarget::Subagent(_) | ToolTarget::Manager(_) => {
                match start_task(session, turn, ready.target, &ready.call.id, &ready.args, deps) {
                    Ok(task) if task.wait() == SubagentWait::InBackground => {
                        let answer = send_to_background(turn, &ready, task, deps);
                        Box::pin(async { AnsweredCall::at_once(ready, answer) })
                    }
                    Ok(task) => {
                        turn.running.push(task.job());
                        Box::pin(run_subagent(ready, task, deps, cancel))
                    }
                    Err(text) => Box::pin(async { AnsweredCall::at_once(ready, ToolAnswer::failed(text)) }),
                }
            }
            ToolTarget::Tool(tool) => Box::pin(run_tool(ready, tool, deps, cancel)),
            ToolTarget::Own(own) => {
                let ran = run_own_call(session, turn, ready, own, deps, cancel).await;
                Box::pin(async { ran })
            }
        });
    }
    if !turn.running.is_empty() {
        session.record_host_state(turn.jobs(), deps)?;
    }
    let mut results = Vec::new();
    for ran in join_all(running).await {
        results.push(finish_call(session, turn, ran, deps, cancel).await);
    }
    record_results(session, results, deps)?;
    if !std::mem::take(&mut turn.running).is_empty() {
        session.record_host_state(turn.jobs(), deps)?;
    }
    Ok(())
}

/// Makes a task for a sub-agent from the arguments of a call.
fn start_task(
    session: &AgentSession,
    turn: &TurnState,
    target: ToolTarget<'_>,
    call: &CallId,
    args: &Value,
    deps: &AgentDeps<'_>,
) -> Result<SubagentTask, String> {
    match target {
        ToolTarget::Manager(manager) => {
            SubagentTask::for_manager(session, turn.approvals(), manager, call, args, deps)
        }
        _ => SubagentTask::from_call(session, turn.approvals(), call, args, deps),
    }
}

/// Starts a sub-agent in the background.
fn send_to_background(
    turn: &TurnState,
    ready: &ReadyCall<'_>,
    task: SubagentTask,
    deps: &AgentDeps<'_>,
) -> ToolAnswer {
    let call = ready.call.clone().with_args(ready.args.clone());
    deps.emit(Event::ToolBegan { call, preview: ready.preview.clone() });
    let name = task.job().name;
    turn.background.send(task);
    ToolAnswer::succeeded(format!(
        "It works in the background as {name}. Go on with something else: you are told its result when it is there, and \
         your turn does not end before."
    ))
}

async fn run_own_call(
    session: &mut AgentSession,
    turn: &mut TurnState,
    ready: ReadyCall<'_>,
    own: OwnTool,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> AnsweredCall {
    let ReadyCall { call, args, preview, notes, .. } = ready;
    deps.emit(Event::ToolBegan { call: call.clone().with_args(args.clone()), preview });
    let started = Instant::now();
    let answer = cancel.run_until_cancelled(run_own_tool(session, turn, own, &args, deps)).await;
    let stopped = || ToolAnswer::new(ToolOutcome::Cancelled("The user stopped this call.".to_string()));
    let answer = answer.unwrap_or_else(stopped);
    AnsweredCall { call, args, answer, notes, took: started.elapsed(), report: None }
}

/// Runs the hooks behind a call, shortens its output, and adds notes and instructions to it.
async fn finish_call(
    session: &mut AgentSession,
    turn: &mut TurnState,
    ran: AnsweredCall,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> ToolResult {
    let AnsweredCall { call, args, mut answer, mut notes, took, report } = ran;
    let is_subagent = report.is_some();
    if let Some(report) = report {
        report.apply(session, turn, deps);
    }
    let mut hidden = None;
    if !cancel.is_cancelled() {
        let response = json!({"llmContent": answer.outcome.text(), "returnDisplay": answer.outcome.text()});
        let target = turn.tools.find(&call.name, deps);
        let server = target.as_ref().and_then(ToolTarget::server);
        let used = tool_use(&call.name, server, &args, None);
        let event = HookEvent::AfterTool { call: used, tool_response: response };
        if let Some(outcome) = session.run_hooks(event, deps, cancel).await {
            if let Some(tail) = outcome.tail_call() {
                answer =
                    run_tail_call(session, turn, &call, &tail.name, &Value::Object(tail.args), deps, cancel)
                        .await;
            }
            notes.extend(outcome.context());
            hidden = outcome.block().map(str::to_string);
        }
    }
    if let Some(reason) = hidden {
        answer = ToolAnswer::failed(format!("A hook holds back what this call answered: {reason}"));
    }
    let status = status_of(&answer.outcome);
    cut_lines(session, turn, &mut answer);
    let summary = summarise(session, &call, &answer, deps, cancel).await;
    let whole = summary.as_ref().map_or(answer.outcome.text(), |summary| &summary.text);
    let (mut text, saved_as) = truncate(session, turn, &call, whole, answer.left_out, deps);
    let saved_as = summary.map(|summary| summary.saved_as).or(saved_as);
    let is_plain = notes.is_empty() && answer.media.is_empty() && status == ToolStatus::Succeeded;
    for note in notes {
        text.push_str("\n\n");
        text.push_str(&note);
    }
    if let Some(read) = session.rereads.judge(&call, &text, session.conversation.transcript().messages()) {
        session.statistics.reads += 1;
        let size = session.settings.estimator.text(&text).tokens();
        match read {
            Read::Again => {
                session.statistics.rereads += 1;
                session.statistics.reread_tokens += size;
                text.push_str("\n\n");
                text.push_str(REREAD_NOTE);
            }
            Read::Repeated { ago, is_asked_again: false } if is_plain && text.len() >= WORTH_A_NOTE => {
                text = unchanged_note(ago);
                session.statistics.unchanged_reads += 1;
                session.statistics.unchanged_tokens += size - session.settings.estimator.text(&text).tokens();
                answer.shown = ToolDisplay::Line("unchanged".to_string());
            }
            Read::Repeated { .. } | Read::New => {}
        }
    }
    // The text of a file stays as it is, and cannot pass for memory all the same. Only a snapshot could pass for the
    // user's words.
    if imitates_memory(&text) {
        if let Cow::Owned(escaped) = neutralise_snapshots(&text) {
            text = escaped + SNAPSHOT_ESCAPED;
        }
        text.push_str(OUTPUT_END_NOTE);
    }
    // A sub-agent that failed may have changed files before.
    if (status == ToolStatus::Succeeded || is_subagent)
        && let Some(block) = bring_in_memory(session, &answer.touched, deps)
    {
        text.push_str(&block);
    }
    session.statistics.tool(&call.name, status, took);
    session.note(Activity::ToolCompleted, deps);
    deps.emit(Event::ToolEnded(ToolEnd {
        call: call.clone(),
        status,
        text: text.clone(),
        shown: answer.shown,
        took,
        saved_as,
        left_out: answer.left_out,
    }));
    let mut result = ToolResult::text(call.id.clone(), text).with_name(call.name.clone());
    result.nested = answer.media;
    result.with_status(status)
}

fn status_of(outcome: &ToolOutcome) -> ToolStatus {
    match outcome {
        ToolOutcome::Succeeded(_) => ToolStatus::Succeeded,
        ToolOutcome::Failed(_) => ToolStatus::Failed,
        ToolOutcome::Cancelled(_) => ToolStatus::Cancelled,
    }
}

/// Runs the call that a hook wants in place of another, under the same rules.
async fn run_tail_call(
    session: &mut AgentSession,
    turn: &mut TurnState,
    original: &ToolCall,
    name: &str,
    args: &Value,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> ToolAnswer {
    let Some(target) = turn.tools.find(name, deps) else {
        return ToolAnswer::failed(turn.tools.describe_missing(name, deps));
    };
    let shown = match target.preview(args) {
        Ok(preview) => preview,
        Err(text) => return ToolAnswer::failed(text),
    };
    let permission = decide(&session.settings.permissions, name, args, target, &shown);
    match permission.decision {
        Decision::Allow => {}
        Decision::Deny { reason } => return ToolAnswer::failed(reason),
        Decision::Ask => {
            let reason = format!("requested by a hook in place of {}", original.name);
            let (reason, always) = permission
                .question(Some(reason), offer_always(&session.settings.permissions, target, name, args));
            let request = Box::new(ApprovalRequest {
                call: ToolCall::new(original.id.clone(), name).with_args(args.clone()),
                preview: shown,
                reason,
                always,
                proposal: None,
            });
            match ask_approval(session, &turn.approvals, &request, deps, cancel).await {
                Approval::Once | Approval::Always(_) => {}
                _ => {
                    return ToolAnswer::failed(format!(
                        "The user did not allow the call of {name} that a hook wanted."
                    ));
                }
            }
        }
    }
    match target {
        ToolTarget::Own(own) => run_own_tool(session, turn, own, args, deps).await,
        ToolTarget::Subagent(_) | ToolTarget::Manager(_) => {
            match start_task(session, turn, target, &original.id, args, deps) {
                Ok(task) => {
                    let result = task.run(deps, cancel).await;
                    result.report.apply(session, turn, deps);
                    result.answer
                }
                Err(text) => ToolAnswer::failed(text),
            }
        }
        ToolTarget::Tool(tool) => {
            let permitted = session.settings.permissions.permitted_effects(name, args);
            let progress = |_: &str| {};
            tool.run(ToolInvocation { id: &original.id, args, progress: &progress, cancel, permitted }).await
        }
    }
}

/// The result of a call that did not run.
fn answer_unrun(
    session: &mut AgentSession,
    call: &ToolCall,
    status: ToolStatus,
    text: String,
    deps: &AgentDeps<'_>,
) -> ToolResult {
    session.statistics.tool(&call.name, status, Duration::ZERO);
    session.note(Activity::ToolCompleted, deps);
    deps.emit(Event::ToolEnded(ToolEnd {
        call: call.clone(),
        status,
        text: text.clone(),
        shown: ToolDisplay::Text,
        took: Duration::ZERO,
        saved_as: None,
        left_out: 0,
    }));
    ToolResult::text(call.id.clone(), text).with_name(call.name.clone()).with_status(status)
}

/// Records what tools answered. What has run is on the disk before the next call runs.
fn record_results(
    session: &mut AgentSession,
    results: Vec<ToolResult>,
    deps: &AgentDeps<'_>,
) -> Result<(), AgentError> {
    if results.is_empty() {
        return Ok(());
    }
    let message = deps.message(Role::User, results.into_iter().map(Part::result).collect());
    note_reads(session, &message);
    session.append(&message, deps)
}

fn note_reads(session: &mut AgentSession, message: &Message) {
    let calls: Vec<ToolCall> = session
        .conversation
        .transcript()
        .messages()
        .iter()
        .rev()
        .take(64)
        .flat_map(Message::calls)
        .cloned()
        .collect();
    for result in message.parts.iter().filter_map(Part::as_result) {
        if let Some(call) = calls.iter().find(|call| call.id == result.call) {
            session.rereads.note(call, &result.readable(), &message.id);
        }
    }
}

async fn run_tool(
    ready: ReadyCall<'_>,
    tool: &dyn Tool,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> AnsweredCall {
    let ReadyCall { call, args, preview, permitted, notes, .. } = ready;
    deps.emit(Event::ToolBegan { call: call.clone().with_args(args.clone()), preview });
    let id = call.id.clone();
    let progress = |text: &str| deps.emit(Event::ToolProgress { call: id.clone(), text: text.to_string() });
    let started = Instant::now();
    let answer =
        tool.run(ToolInvocation { id: &call.id, args: &args, progress: &progress, cancel, permitted }).await;
    AnsweredCall { answer, took: started.elapsed(), args, notes, call, report: None }
}

/// Runs a call that is not the model's, and tells how it ended.
pub(super) async fn run_for_user(
    ready: ReadyCall<'_>,
    tool: &dyn Tool,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> ToolAnswer {
    let AnsweredCall { call, answer, took, .. } = run_tool(ready, tool, deps, cancel).await;
    deps.emit(Event::ToolEnded(ToolEnd {
        call,
        status: status_of(&answer.outcome),
        text: answer.outcome.text().to_string(),
        shown: answer.shown.clone(),
        took,
        saved_as: None,
        left_out: answer.left_out,
    }));
    answer
}

async fn run_subagent(
    ready: ReadyCall<'_>,
    task: SubagentTask,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> AnsweredCall {
    let ReadyCall { call, args, preview, notes, .. } = ready;
    deps.emit(Event::ToolBegan { call: call.clone().with_args(args.clone()), preview });
    let started = Instant::now();
    let result = task.run(deps, cancel).await;
    AnsweredCall {
        answer: result.answer,
        took: started.elapsed(),
        args,
        notes,
        call,
        report: Some(result.report),
    }
}
