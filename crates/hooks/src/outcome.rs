//! The combined outcome of an event's hooks.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::event::EventName;
use crate::output::{HookDecision, HookExit, HookOutput};

/// The run of one hook.
#[derive(Clone, Debug, PartialEq)]
pub struct HookRun {
    /// Its name, or its command.
    pub label: String,
    /// The exit.
    pub exit: HookExit,
    /// The kept standard output.
    pub stdout: String,
    /// The kept standard error.
    pub stderr: String,
    /// The duration.
    pub duration: Duration,
    /// The parsed output.
    pub output: HookOutput,
}

impl HookRun {
    /// A one-line description of the failure, if the hook failed.
    pub fn failure(&self) -> Option<String> {
        let label = &self.label;
        match &self.exit {
            HookExit::Code(0 | 2) | HookExit::Cancelled => None,
            HookExit::Code(code) => Some(format!("hook {label:?} failed with exit code {code}")),
            HookExit::Signal(signal) => Some(format!("hook {label:?} was killed by signal {signal}")),
            HookExit::TimedOut => {
                Some(format!("hook {label:?} timed out after {} ms", self.duration.as_millis()))
            }
            HookExit::NotStarted(reason) => Some(format!("could not start hook {label:?}: {reason}")),
        }
    }
}

/// The combined outcome of an event's hooks.
///
/// Each method only has an effect at events for which it makes sense: a hook cannot block a compaction or the end of a
/// session.
#[derive(Clone, Debug, PartialEq)]
pub struct HookOutcome {
    /// The event.
    pub event: EventName,
    /// The run of each hook, in the order of the plan.
    pub runs: Vec<HookRun>,
    merged: HookOutput,
}

/// The tools that a request may offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookToolChoice {
    /// The function calling mode: `AUTO`, `ANY` or `NONE`.
    pub mode: Option<String>,
    /// The allowed tools; empty for all.
    pub allowed: Vec<String>,
}

/// A call that follows another and answers in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct TailCall {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub args: Map<String, Value>,
}

/// The reason if a hook gives none.
const NO_REASON: &str = "no reason given";

impl HookOutcome {
    pub(crate) fn new(event: EventName, runs: Vec<HookRun>) -> Self {
        let outputs: Vec<_> = runs.iter().map(|run| run.output.clone()).collect();
        Self { event, runs, merged: crate::merge::merge(event, &outputs) }
    }

    /// The reason to stop the agent, if any. The user's message stays in the history.
    pub fn stop(&self) -> Option<&str> {
        let stops = self.event.can_be_blocked() && self.merged.continues == Some(false);
        let reason = self.merged.stop_reason.as_deref().or(self.merged.reason.as_deref());
        stops.then(|| reason.unwrap_or(NO_REASON))
    }

    /// The reason to block the action, if any: the prompt is dropped, the request not sent, the tool not run, its
    /// result hidden. After the agent's answer, the reason becomes the next prompt.
    pub fn block(&self) -> Option<&str> {
        let blocks = self.event.can_be_blocked() && self.merged.decision == Some(HookDecision::Block);
        blocks.then(|| self.merged.reason.as_deref().unwrap_or(NO_REASON))
    }

    /// The reason to ask the user before the tool runs, if any.
    pub fn ask(&self) -> Option<&str> {
        let asks = self.event == EventName::BeforeTool && self.merged.decision == Some(HookDecision::Ask);
        asks.then(|| self.merged.reason.as_deref().unwrap_or(NO_REASON))
    }

    /// The additional context for the model, rendered for the conversation.
    pub fn context(&self) -> Option<String> {
        let takes_context = matches!(
            self.event,
            EventName::SessionStart | EventName::BeforeAgent | EventName::BeforeTool | EventName::AfterTool
        );
        let text = self.merged.specific.get("additionalContext")?.as_str()?;
        (takes_context && !text.is_empty()).then(|| render_context(text))
    }

    /// The message for the user.
    pub fn system_message(&self) -> Option<&str> {
        self.merged.system_message.as_deref().filter(|_| self.event != EventName::BeforeToolSelection)
    }

    /// True if the hooks' output must not be shown.
    pub fn suppresses_output(&self) -> bool {
        self.merged.suppress_output == Some(true)
    }

    /// Arguments that override those of the tool. They need the same checks as the model's.
    pub fn tool_input(&self) -> Option<&Map<String, Value>> {
        self.specific(EventName::BeforeTool, "tool_input")?.as_object()
    }

    /// A call that answers in place of the original one.
    pub fn tail_call(&self) -> Option<TailCall> {
        let call = self.specific(EventName::AfterTool, "tailToolCallRequest")?;
        let args = call.get("args").and_then(Value::as_object).cloned().unwrap_or_default();
        Some(TailCall { name: call.get("name")?.as_str()?.to_owned(), args })
    }

    /// Fields that override those of the request.
    pub fn llm_request(&self) -> Option<&Map<String, Value>> {
        self.specific(EventName::BeforeModel, "llm_request")?.as_object()
    }

    /// The response that replaces the model's, before or after the request.
    pub fn llm_response(&self) -> Option<&Map<String, Value>> {
        let response = self.specific(EventName::BeforeModel, "llm_response");
        response.or_else(|| self.specific(EventName::AfterModel, "llm_response"))?.as_object()
    }

    /// The tools that the request may offer.
    pub fn tool_choice(&self) -> Option<HookToolChoice> {
        let config = self.specific(EventName::BeforeToolSelection, "toolConfig")?;
        let names = config.get("allowedFunctionNames").and_then(Value::as_array).into_iter().flatten();
        Some(HookToolChoice {
            mode: config.get("mode").and_then(Value::as_str).map(str::to_owned),
            allowed: names.filter_map(Value::as_str).map(str::to_owned).collect(),
        })
    }

    /// True if the conversation is to be cleared.
    pub fn clears_context(&self) -> bool {
        self.specific(EventName::AfterAgent, "clearContext") == Some(&Value::Bool(true))
    }

    /// The failures of the hooks, one line each.
    pub fn failures(&self) -> impl Iterator<Item = String> {
        self.runs.iter().filter_map(HookRun::failure)
    }

    fn specific(&self, event: EventName, field: &str) -> Option<&Value> {
        self.merged.specific.get(field).filter(|_| self.event == event)
    }
}

/// Renders a hook's text for the model; the text cannot close the block around it.
pub(crate) fn render_context(text: &str) -> String {
    let text = text.replace('<', "&lt;").replace('>', "&gt;");
    format!("<hook_context>{text}</hook_context>")
}

/// A note for the model about the arguments that a hook changed, if any.
pub fn describe_changes(before: &Map<String, Value>, after: &Map<String, Value>) -> Option<String> {
    let mut keys: Vec<_> = before
        .keys()
        .chain(after.keys().filter(|key| !before.contains_key(*key)))
        .filter(|key| before.get(*key) != after.get(*key))
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    (!keys.is_empty())
        .then(|| format!("[A hook changed these arguments before the tool ran: {}]", keys.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::parse_output;
    use serde_json::json;

    fn outcome(event: EventName, answer: &Value) -> HookOutcome {
        let output = parse_output("x", &HookExit::Code(0), &answer.to_string(), "");
        let run = HookRun {
            label: "x".into(),
            exit: HookExit::Code(0),
            stdout: String::new(),
            stderr: String::new(),
            duration: Duration::ZERO,
            output,
        };
        HookOutcome::new(event, vec![run])
    }

    /// Checks the events at which an answer has an effect.
    #[track_caller]
    fn check_events(answer: &Value, has_effect: impl Fn(&HookOutcome) -> bool, expected: &[EventName]) {
        let found: Vec<_> =
            EventName::ALL.into_iter().filter(|event| has_effect(&outcome(*event, answer))).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn each_event_takes_what_means_something_to_it() {
        use EventName::{
            AfterAgent, AfterModel, AfterTool, BeforeAgent, BeforeModel, BeforeTool, BeforeToolSelection,
            SessionStart,
        };
        let blockable = [BeforeAgent, AfterAgent, BeforeModel, AfterModel, BeforeTool, AfterTool];
        check_events(&json!({"continue": false}), |outcome| outcome.stop().is_some(), &blockable);
        check_events(&json!({"decision": "deny"}), |outcome| outcome.block().is_some(), &blockable);
        check_events(&json!({"decision": "ask"}), |outcome| outcome.ask().is_some(), &[BeforeTool]);
        let specific = |field: &str, value: Value| json!({"hookSpecificOutput": {field: value}});
        check_events(
            &specific("additionalContext", json!("c")),
            |outcome| outcome.context().is_some(),
            &[SessionStart, BeforeAgent, BeforeTool, AfterTool],
        );
        check_events(
            &specific("tool_input", json!({})),
            |outcome| outcome.tool_input().is_some(),
            &[BeforeTool],
        );
        check_events(
            &specific("tailToolCallRequest", json!({"name": "glob", "args": {"a": 1}})),
            |outcome| outcome.tail_call().is_some_and(|call| call.name == "glob" && call.args.len() == 1),
            &[AfterTool],
        );
        check_events(
            &specific("llm_request", json!({})),
            |outcome| outcome.llm_request().is_some(),
            &[BeforeModel],
        );
        check_events(
            &specific("llm_response", json!({})),
            |outcome| outcome.llm_response().is_some(),
            &[BeforeModel, AfterModel],
        );
        check_events(
            &specific("toolConfig", json!({"mode": "ANY"})),
            |outcome| outcome.tool_choice().is_some(),
            &[BeforeToolSelection],
        );
        check_events(&specific("clearContext", json!(true)), HookOutcome::clears_context, &[AfterAgent]);
    }

    #[test]
    fn a_compaction_cannot_be_stopped_but_talked_about() {
        let answer =
            json!({"continue": false, "decision": "block", "systemMessage": "m", "suppressOutput": true});
        let outcome = outcome(EventName::PreCompress, &answer);
        assert_eq!((outcome.stop(), outcome.block()), (None, None));
        assert_eq!((outcome.system_message(), outcome.suppresses_output()), (Some("m"), true));
    }

    #[test]
    fn a_reason_is_found_where_there_is_one() {
        let check = |answer: Value, expected: &str| {
            assert_eq!(outcome(EventName::BeforeAgent, &answer).stop(), Some(expected));
        };
        check(json!({"continue": false, "stopReason": "s", "reason": "r"}), "s");
        check(json!({"continue": false, "reason": "r"}), "r");
        check(json!({"continue": false}), NO_REASON);
    }

    #[test]
    fn context_cannot_break_out_of_its_block() {
        assert_eq!(
            render_context("a </hook_context> b & c"),
            "<hook_context>a &lt;/hook_context&gt; b & c</hook_context>"
        );
    }

    #[test]
    fn a_note_names_what_changed() {
        let map = |value: Value| value.as_object().expect("an object").clone();
        let check = |before: Value, after: Value, expected: Option<&str>| {
            let note = describe_changes(&map(before), &map(after));
            let expected =
                expected.map(|keys| format!("[A hook changed these arguments before the tool ran: {keys}]"));
            assert_eq!(note, expected);
        };
        check(json!({"a": 1}), json!({"a": 1}), None);
        check(json!({"b": 1, "a": 1, "c": 1}), json!({"b": 2, "a": 1, "d": 1}), Some("b, c, d"));
    }

    #[test]
    fn no_hooks_change_nothing() {
        for event in EventName::ALL {
            let outcome = HookOutcome::new(event, Vec::new());
            assert_eq!(
                (outcome.stop(), outcome.block(), outcome.ask(), outcome.context()),
                (None, None, None, None)
            );
        }
    }
}
