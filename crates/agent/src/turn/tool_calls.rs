//! Runs the calls of a step: hooks, policy and the user decide, tools answer, and the answers are recorded.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use longhaul_conversation::{
    CallId, Message, OUTPUT_ENDS, Part, Role, ToolCall, ToolResult, ToolStatus, imitates_memory,
    neutralise_snapshots,
};
use longhaul_hooks::{Event as HookEvent, ToolUse, note_of_changes};
use longhaul_memory::SAVE_TOOL;
use longhaul_policy::{AGENT_TOOL, Decision};
use longhaul_tools::{ALIASES, Answer, BoxFuture, Call, Outcome, Preview, Shown, Tool};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::Agent;
use super::permission::judged;
use super::rereads::Read;
use crate::activity::Activity;
use crate::delegation::{Aside, Errand};
use crate::subagents::Wait;
use crate::tools::OwnTool;
use crate::{AgentError, Approval, ApprovalRequest, Event, Host, MemoryManager, Subagents, ToolEnd, TurnEnd};

/// The line behind an output in which the tags of snapshots were made harmless.
const SNAPSHOT_ESCAPED: &str = "\n\n[In this output, `&lt;` before `state_snapshot` stands for `<`.]";

/// Whether the turn goes on after a step.
#[derive(Debug)]
pub(crate) enum Flow {
    GoesOn,
    Ends(TurnEnd),
}

/// A call that is about to run, or that was answered without.
enum Prepared<'h> {
    Ready(Ready<'h>),
    Answered { call: ToolCall, status: ToolStatus, text: String },
    Ends { call: ToolCall, end: TurnEnd },
}

/// A call that may run.
struct Ready<'h> {
    /// As the model made it.
    call: ToolCall,
    /// The arguments that count.
    args: Value,
    runs: Runs<'h>,
    preview: Preview,
    /// What the model is told beside the answer.
    notes: Vec<String>,
}

#[derive(Clone, Copy)]
pub(super) enum Runs<'h> {
    Tool(&'h dyn Tool),
    Own(OwnTool),
    Subagent(&'h Subagents),
    Manager(&'h MemoryManager),
}

/// A call that was answered.
struct Ran {
    call: ToolCall,
    args: Value,
    answer: Answer,
    notes: Vec<String>,
    took: Duration,
    /// What a sub-agent leaves behind.
    aside: Option<Aside>,
}

impl Ran {
    /// A call that was answered before it could run.
    fn at_once(ready: Ready<'_>, answer: Answer) -> Self {
        let Ready { call, args, notes, .. } = ready;
        Self { call, args, answer, notes, took: Duration::ZERO, aside: None }
    }
}

impl Ready<'_> {
    /// Whether it may run beside others: it only looks, or it is the work of a sub-agent, whose own calls are decided one
    /// by one.
    fn runs_beside_others(&self) -> bool {
        matches!((&self.preview, self.runs), (Preview::Look(_), Runs::Tool(_)) | (_, Runs::Subagent(_)))
    }
}

impl Agent {
    /// Answers every call. Those that only look and sub-agents run beside each other, all others in their order.
    pub(crate) async fn run_calls(
        &mut self,
        calls: Vec<ToolCall>,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Result<Flow, AgentError> {
        let mut calls = calls.into_iter();
        let mut batch = Vec::new();
        while let Some(call) = calls.next() {
            if let Some(end) = self.ends_now(cancel) {
                self.run_batch(&mut batch, host, cancel).await?;
                let rest: Vec<ToolCall> = std::iter::once(call).chain(calls).collect();
                let reason = match end {
                    TurnEnd::Cancelled => "This call was not run, because the user stopped the turn.",
                    _ => "This call was not run, because the result was handed over before it.",
                };
                self.refuse_calls(&rest, reason, host)?;
                return Ok(Flow::Ends(end));
            }
            match self.prepare_call(call, host, cancel).await {
                Prepared::Ready(ready) if ready.runs_beside_others() => batch.push(ready),
                Prepared::Ready(ready) => {
                    self.run_batch(&mut batch, host, cancel).await?;
                    batch.push(ready);
                    self.run_batch(&mut batch, host, cancel).await?;
                }
                Prepared::Answered { call, status, text } => {
                    self.run_batch(&mut batch, host, cancel).await?;
                    let result = self.answer_call(&call, status, text, host);
                    self.record_results(vec![result], host)?;
                }
                Prepared::Ends { call, end } => {
                    self.run_batch(&mut batch, host, cancel).await?;
                    let rest: Vec<ToolCall> = std::iter::once(call).chain(calls).collect();
                    self.refuse_calls(&rest, "This call was not run, because the turn was ended.", host)?;
                    return Ok(Flow::Ends(end));
                }
            }
        }
        self.run_batch(&mut batch, host, cancel).await?;
        Ok(self.ends_now(cancel).map_or(Flow::GoesOn, Flow::Ends))
    }

    /// How the turn ends before anything more runs, if it does.
    fn ends_now(&self, cancel: &CancellationToken) -> Option<TurnEnd> {
        if cancel.is_cancelled() { Some(TurnEnd::Cancelled) } else { self.ending.clone() }
    }

    /// Answers calls that do not run.
    pub(crate) fn refuse_calls(
        &mut self,
        calls: &[ToolCall],
        reason: &str,
        host: &Host<'_>,
    ) -> Result<(), AgentError> {
        let refuse = |call| self.answer_call(call, ToolStatus::Cancelled, reason.to_string(), host);
        let results = calls.iter().map(refuse).collect();
        self.record_results(results, host)
    }

    /// Finds out whether a call may run, and with which arguments.
    async fn prepare_call<'h>(
        &mut self,
        call: ToolCall,
        host: &Host<'h>,
        cancel: &CancellationToken,
    ) -> Prepared<'h> {
        self.note(Activity::ToolScheduled, host);
        let failed = |call, text| Prepared::Answered { call, status: ToolStatus::Failed, text };
        let refused = |call, text| Prepared::Answered { call, status: ToolStatus::Cancelled, text };
        let Some(runs) = self.find_tool(&call.name, host) else {
            let text = self.no_such_tool(&call.name);
            return failed(call, text);
        };
        let shown = match preview(runs, &call.args) {
            Ok(preview) => preview,
            Err(text) => return failed(call, text),
        };
        if let Decision::Deny { reason } = self.decide(&call.name, &call.args, runs, &shown).decision {
            return refused(call, reason);
        }
        let mut args = call.args.clone();
        let mut notes = Vec::new();
        let event = HookEvent::BeforeTool { call: tool_use(&call.name, &args, None) };
        let hooked = self.run_hooks(event, host, cancel).await;
        let mut question = None;
        if let Some(outcome) = hooked {
            if let Some(reason) = outcome.stop() {
                return Prepared::Ends { call, end: TurnEnd::Stopped { reason: reason.to_string() } };
            }
            if let Some(reason) = outcome.block() {
                return refused(call, format!("A hook did not let this call run: {reason}"));
            }
            if let Some(changed) = outcome.tool_input() {
                let before = args.as_object().cloned().unwrap_or_default();
                let after: Map<String, Value> = before.clone().into_iter().chain(changed.clone()).collect();
                notes.extend(note_of_changes(&before, &after));
                args = Value::Object(after);
            }
            notes.extend(outcome.context());
            question = outcome.ask().map(str::to_string);
        }
        let mut shown = match preview(runs, &args) {
            Ok(preview) => preview,
            Err(text) => return failed(call, text),
        };
        let permission = self.decide(&call.name, &args, runs, &shown);
        match permission.decision {
            Decision::Deny { reason } => return refused(call, reason),
            Decision::Allow if question.is_none() => {}
            Decision::Allow | Decision::Ask => {
                let always = self.offer_always(judged(runs, &call.name), &args);
                let (reason, always) = permission.question(question, always);
                let request = ApprovalRequest {
                    call: call.clone().with_args(args.clone()),
                    preview: shown.clone(),
                    reason,
                    always,
                };
                match self.ask_user(&request, host, cancel).await {
                    Approval::Once | Approval::Always(_) => {}
                    Approval::Edited(edited) => {
                        notes.push("[The user changed the arguments before the call ran.]".to_string());
                        args = edited;
                        shown = match preview(runs, &args) {
                            Ok(preview) => preview,
                            Err(text) => return failed(call, text),
                        };
                    }
                    Approval::Denied { reason } => {
                        let reason = reason.map(|reason| format!(" {reason}")).unwrap_or_default();
                        return refused(call, format!("The user did not allow this call.{reason}"));
                    }
                    Approval::Stop => return Prepared::Ends { call, end: TurnEnd::Cancelled },
                }
            }
        }
        Prepared::Ready(Ready { call, args, runs, preview: shown, notes })
    }

    fn find_tool<'h>(&self, name: &str, host: &Host<'h>) -> Option<Runs<'h>> {
        let name = ALIASES.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new);
        if !self.callable().any(|known| known == name) {
            return None;
        }
        if name == AGENT_TOOL {
            return Some(Runs::Subagent(host.subagents));
        }
        if let Some(manager) = self.manager(host).filter(|_| name == SAVE_TOOL) {
            return Some(Runs::Manager(manager));
        }
        let own = OwnTool::named(name).map(Runs::Own);
        own.or_else(|| {
            let place = *self.declared.places.get(name)?;
            Some(Runs::Tool(host.tools.get(place)?.as_ref()))
        })
    }

    /// The names of the tools that may be called in this step.
    fn callable(&self) -> impl Iterator<Item = &str> {
        let is_offered = |name: &str| {
            self.declared.offered.as_ref().is_none_or(|offered| offered.iter().any(|known| known == name))
        };
        self.declared.tools.iter().map(|tool| tool.name.as_str()).filter(move |name| is_offered(name))
    }

    fn no_such_tool(&self, name: &str) -> String {
        let names: Vec<&str> = self.callable().collect();
        match names.as_slice() {
            [] => format!("There is no tool {name:?} now."),
            names => format!("There is no tool {name:?}. These are there: {}.", names.join(", ")),
        }
    }

    /// Runs calls beside each other and records what they answer.
    async fn run_batch(
        &mut self,
        batch: &mut Vec<Ready<'_>>,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Result<(), AgentError> {
        if batch.is_empty() {
            return Ok(());
        }
        let mut running: Vec<BoxFuture<'_, Ran>> = Vec::new();
        for ready in std::mem::take(batch) {
            running.push(match ready.runs {
                Runs::Subagent(_) | Runs::Manager(_) => {
                    match self.errand_for(ready.runs, &ready.call.id, &ready.args, host) {
                        Ok(errand) if errand.wait() == Wait::InBackground => {
                            let answer = self.send_out(&ready, errand, host);
                            Box::pin(async { Ran::at_once(ready, answer) })
                        }
                        Ok(errand) => {
                            self.errands.push(errand.job());
                            Box::pin(run_errand(ready, errand, host, cancel))
                        }
                        Err(text) => Box::pin(async { Ran::at_once(ready, Answer::failed(text)) }),
                    }
                }
                Runs::Tool(tool) => Box::pin(run_tool(ready, tool, host, cancel)),
                Runs::Own(own) => {
                    let ran = self.run_own_call(ready, own, host, cancel).await;
                    Box::pin(async { ran })
                }
            });
        }
        if !self.errands.is_empty() {
            self.note_host(host)?;
        }
        let mut results = Vec::new();
        for ran in join_all(running).await {
            results.push(self.finish_call(ran, host, cancel).await);
        }
        self.record_results(results, host)?;
        if !std::mem::take(&mut self.errands).is_empty() {
            self.note_host(host)?;
        }
        Ok(())
    }

    /// Makes whoever is sent out ready for the task in these arguments.
    fn errand_for(
        &self,
        runs: Runs<'_>,
        call: &CallId,
        args: &Value,
        host: &Host<'_>,
    ) -> Result<Errand, String> {
        match runs {
            Runs::Manager(manager) => self.errand_of_manager(manager, call, args, host),
            _ => self.errand(call, args, host),
        }
    }

    /// Sends a sub-agent out, for which nobody waits.
    fn send_out(&self, ready: &Ready<'_>, errand: Errand, host: &Host<'_>) -> Answer {
        let call = ready.call.clone().with_args(ready.args.clone());
        host.tell(Event::ToolBegan { call, preview: ready.preview.clone() });
        let name = errand.job().name;
        self.crew.send(errand);
        Answer::succeeded(format!(
            "It works in the background as {name}. Go on with something else: you are told its result when it is there, and \
             your turn does not end before."
        ))
    }

    async fn run_own_call(
        &mut self,
        ready: Ready<'_>,
        own: OwnTool,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Ran {
        let Ready { call, args, preview, notes, .. } = ready;
        host.tell(Event::ToolBegan { call: call.clone().with_args(args.clone()), preview });
        let started = Instant::now();
        let answer = cancel.run_until_cancelled(self.run_own(own, &args, host)).await;
        let stopped = || Answer::new(Outcome::Cancelled("The user stopped this call.".to_string()));
        let answer = answer.unwrap_or_else(stopped);
        Ran { call, args, answer, notes, took: started.elapsed(), aside: None }
    }

    /// Hears the hooks behind a call, shortens what it answered, and adds what belongs to it.
    async fn finish_call(&mut self, ran: Ran, host: &Host<'_>, cancel: &CancellationToken) -> ToolResult {
        let Ran { call, args, mut answer, mut notes, took, aside } = ran;
        let is_errand = aside.is_some();
        aside.into_iter().for_each(|aside| self.take_over(aside, host));
        let mut hidden = None;
        if !cancel.is_cancelled() {
            let response =
                json!({"llmContent": answer.outcome.text(), "returnDisplay": answer.outcome.text()});
            let used = tool_use(&call.name, &args, None);
            let event = HookEvent::AfterTool { call: used, tool_response: response };
            if let Some(outcome) = self.run_hooks(event, host, cancel).await {
                if let Some(tail) = outcome.tail_call() {
                    answer = self.run_tail(&call, &tail.name, &Value::Object(tail.args), host, cancel).await;
                }
                notes.extend(outcome.context());
                hidden = outcome.block().map(str::to_string);
            }
        }
        if let Some(reason) = hidden {
            answer = Answer::failed(format!("A hook holds back what this call answered: {reason}"));
        }
        let status = match answer.outcome {
            Outcome::Succeeded(_) => ToolStatus::Succeeded,
            Outcome::Failed(_) => ToolStatus::Failed,
            Outcome::Cancelled(_) => ToolStatus::Cancelled,
        };
        let condensed = self.condense(&call, &answer, host, cancel).await;
        let whole = condensed.as_ref().map_or(answer.outcome.text(), |condensed| &condensed.text);
        let (mut text, saved_as) = self.shorten(&call, whole, answer.left_out, host);
        let saved_as = condensed.map(|condensed| condensed.saved_as).or(saved_as);
        for note in notes {
            text.push_str("\n\n");
            text.push_str(&note);
        }
        if let Some(read) = self.rereads.judge(&call, &text, self.conversation.transcript().messages()) {
            self.statistics.reads += 1;
            self.statistics.rereads += u32::from(read == Read::Again);
        }
        // The text of a file stays as it is, and all the same nobody takes it for memory. Only a snapshot could pass for the
        // user's words.
        if imitates_memory(&text) {
            if let Cow::Owned(harmless) = neutralise_snapshots(&text) {
                text = harmless + SNAPSHOT_ESCAPED;
            }
            text.push_str(OUTPUT_ENDS);
        }
        // A sub-agent that failed may have changed files before.
        if (status == ToolStatus::Succeeded || is_errand)
            && let Some(block) = self.bring_in_memory(&answer.touched, host)
        {
            text.push_str(&block);
        }
        self.statistics.tool(&call.name, status, took);
        self.note(Activity::ToolCompleted, host);
        host.tell(Event::ToolEnded(ToolEnd {
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

    /// Runs the call that a hook wants in place of another, under the same rules.
    async fn run_tail(
        &mut self,
        original: &ToolCall,
        name: &str,
        args: &Value,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Answer {
        let Some(runs) = self.find_tool(name, host) else { return Answer::failed(self.no_such_tool(name)) };
        let shown = match preview(runs, args) {
            Ok(preview) => preview,
            Err(text) => return Answer::failed(text),
        };
        let permission = self.decide(name, args, runs, &shown);
        match permission.decision {
            Decision::Allow => {}
            Decision::Deny { reason } => return Answer::failed(reason),
            Decision::Ask => {
                let reason = format!("a hook wants it in place of {}", original.name);
                let (reason, always) =
                    permission.question(Some(reason), self.offer_always(judged(runs, name), args));
                let request = ApprovalRequest {
                    call: ToolCall::new(original.id.clone(), name).with_args(args.clone()),
                    preview: shown,
                    reason,
                    always,
                };
                match self.ask_user(&request, host, cancel).await {
                    Approval::Once | Approval::Always(_) => {}
                    _ => {
                        return Answer::failed(format!(
                            "The user did not allow the call of {name} that a hook wanted."
                        ));
                    }
                }
            }
        }
        match runs {
            Runs::Own(own) => self.run_own(own, args, host).await,
            Runs::Subagent(_) | Runs::Manager(_) => match self.errand_for(runs, &original.id, args, host) {
                Ok(errand) => {
                    let returned = errand.run(host, cancel).await;
                    self.take_over(returned.aside, host);
                    returned.answer
                }
                Err(text) => Answer::failed(text),
            },
            Runs::Tool(tool) => {
                let progress = |_: &str| {};
                tool.run(Call { id: &original.id, args, progress: &progress, cancel }).await
            }
        }
    }

    /// The result of a call that did not run.
    fn answer_call(
        &mut self,
        call: &ToolCall,
        status: ToolStatus,
        text: String,
        host: &Host<'_>,
    ) -> ToolResult {
        self.statistics.tool(&call.name, status, Duration::ZERO);
        self.note(Activity::ToolCompleted, host);
        host.tell(Event::ToolEnded(ToolEnd {
            call: call.clone(),
            status,
            text: text.clone(),
            shown: Shown::Text,
            took: Duration::ZERO,
            saved_as: None,
            left_out: 0,
        }));
        ToolResult::text(call.id.clone(), text).with_name(call.name.clone()).with_status(status)
    }

    /// Records what tools answered. What has run is on the disk before the next call runs.
    fn record_results(&mut self, results: Vec<ToolResult>, host: &Host<'_>) -> Result<(), AgentError> {
        if results.is_empty() {
            return Ok(());
        }
        let message = host.message(Role::User, results.into_iter().map(Part::result).collect());
        self.note_reads(&message);
        self.append(&message, host)
    }

    fn note_reads(&mut self, message: &Message) {
        let calls: Vec<ToolCall> = self
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
                self.rereads.note(call, &result.readable(), &message.id);
            }
        }
    }
}

async fn run_tool(ready: Ready<'_>, tool: &dyn Tool, host: &Host<'_>, cancel: &CancellationToken) -> Ran {
    let Ready { call, args, preview, notes, .. } = ready;
    host.tell(Event::ToolBegan { call: call.clone().with_args(args.clone()), preview });
    let id = call.id.clone();
    let progress = |text: &str| host.tell(Event::ToolProgress { call: id.clone(), text: text.to_string() });
    let started = Instant::now();
    let answer = tool.run(Call { id: &call.id, args: &args, progress: &progress, cancel }).await;
    Ran { answer, took: started.elapsed(), args, notes, call, aside: None }
}

async fn run_errand(ready: Ready<'_>, errand: Errand, host: &Host<'_>, cancel: &CancellationToken) -> Ran {
    let Ready { call, args, preview, notes, .. } = ready;
    host.tell(Event::ToolBegan { call: call.clone().with_args(args.clone()), preview });
    let started = Instant::now();
    let returned = errand.run(host, cancel).await;
    Ran { answer: returned.answer, took: started.elapsed(), args, notes, call, aside: Some(returned.aside) }
}

fn preview(runs: Runs<'_>, args: &Value) -> Result<Preview, String> {
    match runs {
        Runs::Tool(tool) => tool.preview(args),
        Runs::Own(own) => own.preview(args),
        Runs::Subagent(subagents) => subagents.preview(args),
        Runs::Manager(manager) => manager.preview(args),
    }
}

fn tool_use(name: &str, args: &Value, original: Option<String>) -> ToolUse {
    ToolUse {
        tool_name: name.to_string(),
        tool_input: args.as_object().cloned().unwrap_or_default(),
        mcp_context: None,
        original_request_name: original,
    }
}
