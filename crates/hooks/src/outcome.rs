//! What follows from the answers of all hooks of an event.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::event::EventName;
use crate::output::{Exit, HookDecision, HookOutput};

/// How one hook ran.
#[derive(Clone, Debug, PartialEq)]
pub struct HookRun {
    /// Its name, or its command.
    pub label: String,
    /// How it ended.
    pub exit: Exit,
    /// What it wrote, as far as it was kept.
    pub stdout: String,
    /// What it wrote as messages, as far as it was kept.
    pub stderr: String,
    /// How long it took.
    pub duration: Duration,
    /// What it answered.
    pub output: HookOutput,
}

impl HookRun {
    /// What the user should know if the hook did not do its work, in a line.
    pub fn failure(&self) -> Option<String> {
        let label = &self.label;
        match &self.exit {
            Exit::Code(0 | 2) | Exit::Cancelled => None,
            Exit::Code(code) => Some(format!("the hook {label:?} failed with exit code {code}")),
            Exit::Signal(signal) => Some(format!("the hook {label:?} was killed by signal {signal}")),
            Exit::TimedOut => {
                Some(format!("the hook {label:?} was killed after {} ms", self.duration.as_millis()))
            }
            Exit::NotStarted(reason) => Some(format!("the hook {label:?} could not be started: {reason}")),
        }
    }
}

/// What follows from the answers of all hooks of an event.
///
/// Each question answers only at events where it means something: a hook cannot block a compaction or an end of a session,
/// whatever it says.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The event.
    pub event: EventName,
    /// How each hook ran, in the order of the plan.
    pub runs: Vec<HookRun>,
    merged: HookOutput,
}

/// Which tools a request may offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolChoice {
    /// How the model is to use them: `AUTO`, `ANY` or `NONE`.
    pub mode: Option<String>,
    /// Their names, or none for all.
    pub allowed: Vec<String>,
}

/// A call that is to follow another and give the answer in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct TailCall {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub args: Map<String, Value>,
}

/// What is told where a hook gives no reason.
const NO_REASON: &str = "A hook gave no reason.";

impl Outcome {
    pub(crate) fn new(event: EventName, runs: Vec<HookRun>) -> Self {
        let outputs: Vec<_> = runs.iter().map(|run| run.output.clone()).collect();
        Self { event, runs, merged: crate::merge::merge(event, &outputs) }
    }

    /// An outcome of no hooks.
    pub fn empty(event: EventName) -> Self {
        Self::new(event, Vec::new())
    }

    /// Why the agent is to stop altogether, if it is. The user's message stays in the history.
    pub fn stop(&self) -> Option<&str> {
        let stops = self.event.can_be_blocked() && self.merged.continues == Some(false);
        let reason = self.merged.stop_reason.as_deref().or(self.merged.reason.as_deref());
        stops.then(|| reason.unwrap_or(NO_REASON))
    }

    /// Why what is about to happen must not, if so: the prompt is dropped, the request not sent, the tool not run, its result
    /// hidden. After the agent's answer, the reason is the next prompt.
    pub fn block(&self) -> Option<&str> {
        let blocks = self.event.can_be_blocked() && self.merged.decision == Some(HookDecision::Block);
        blocks.then(|| self.merged.reason.as_deref().unwrap_or(NO_REASON))
    }

    /// Why the user must be asked before the tool runs, if so.
    pub fn ask(&self) -> Option<&str> {
        let asks = self.event == EventName::BeforeTool && self.merged.decision == Some(HookDecision::Ask);
        asks.then(|| self.merged.reason.as_deref().unwrap_or(NO_REASON))
    }

    /// What the model is to be told, in the form in which it is added to the conversation.
    pub fn context(&self) -> Option<String> {
        let takes_context = matches!(
            self.event,
            EventName::SessionStart | EventName::BeforeAgent | EventName::BeforeTool | EventName::AfterTool
        );
        let text = self.merged.specific.get("additionalContext")?.as_str()?;
        (takes_context && !text.is_empty()).then(|| render_context(text))
    }

    /// What the user is to be told.
    pub fn system_message(&self) -> Option<&str> {
        self.merged.system_message.as_deref().filter(|_| self.event != EventName::BeforeToolSelection)
    }

    /// Whether nothing of the hooks' output is to be shown.
    pub fn suppresses_output(&self) -> bool {
        self.merged.suppress_output == Some(true)
    }

    /// Arguments that override those of the tool. They need the same checks as the model's own.
    pub fn tool_input(&self) -> Option<&Map<String, Value>> {
        self.specific(EventName::BeforeTool, "tool_input")?.as_object()
    }

    /// A call that gives the answer in place of the one that was made.
    pub fn tail_call(&self) -> Option<TailCall> {
        let call = self.specific(EventName::AfterTool, "tailToolCallRequest")?;
        let args = call.get("args").and_then(Value::as_object).cloned().unwrap_or_default();
        Some(TailCall { name: call.get("name")?.as_str()?.to_owned(), args })
    }

    /// Fields that override those of the request.
    pub fn llm_request(&self) -> Option<&Map<String, Value>> {
        self.specific(EventName::BeforeModel, "llm_request")?.as_object()
    }

    /// The response that takes the place of the model's, before or after it is asked.
    pub fn llm_response(&self) -> Option<&Map<String, Value>> {
        let response = self.specific(EventName::BeforeModel, "llm_response");
        response.or_else(|| self.specific(EventName::AfterModel, "llm_response"))?.as_object()
    }

    /// Which tools the request may offer.
    pub fn tool_choice(&self) -> Option<ToolChoice> {
        let config = self.specific(EventName::BeforeToolSelection, "toolConfig")?;
        let names = config.get("allowedFunctionNames").and_then(Value::as_array).into_iter().flatten();
        Some(ToolChoice {
            mode: config.get("mode").and_then(Value::as_str).map(str::to_owned),
            allowed: names.filter_map(Value::as_str).map(str::to_owned).collect(),
        })
    }

    /// Whether the conversation is to be cleared.
    pub fn clears_context(&self) -> bool {
        self.specific(EventName::AfterAgent, "clearContext") == Some(&Value::Bool(true))
    }

    /// What went wrong with the hooks themselves, a line for each.
    pub fn failures(&self) -> impl Iterator<Item = String> {
        self.runs.iter().filter_map(HookRun::failure)
    }

    fn specific(&self, event: EventName, field: &str) -> Option<&Value> {
        self.merged.specific.get(field).filter(|_| self.event == event)
    }
}

/// A hook's text in the form in which a model reads it; the text cannot end the block it stands in.
pub fn render_context(text: &str) -> String {
    let text = text.replace('<', "&lt;").replace('>', "&gt;");
    format!("<hook_context>{text}</hook_context>")
}

/// The note for a model whose arguments a hook has changed, if any are different.
pub fn note_of_changes(before: &Map<String, Value>, after: &Map<String, Value>) -> Option<String> {
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

    fn outcome(event: EventName, answer: &Value) -> Outcome {
        let output = parse_output("x", &Exit::Code(0), &answer.to_string(), "");
        let run = HookRun {
            label: "x".into(),
            exit: Exit::Code(0),
            stdout: String::new(),
            stderr: String::new(),
            duration: Duration::ZERO,
            output,
        };
        Outcome::new(event, vec![run])
    }

    /// Checks at which events an answer has an effect.
    #[track_caller]
    fn check_events(answer: &Value, has_effect: impl Fn(&Outcome) -> bool, expected: &[EventName]) {
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
        check_events(&specific("clearContext", json!(true)), Outcome::clears_context, &[AfterAgent]);
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
            let note = note_of_changes(&map(before), &map(after));
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
            let outcome = Outcome::empty(event);
            assert_eq!(
                (outcome.stop(), outcome.block(), outcome.ask(), outcome.context()),
                (None, None, None, None)
            );
        }
    }
}
