//! Parsing of a hook's answer: exit code, and JSON or text.

use serde_json::{Map, Value};

/// The exit of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookExit {
    /// It exited with this code.
    Code(i32),
    /// It was killed by this signal.
    Signal(i32),
    /// It exceeded its timeout and was killed.
    TimedOut,
    /// It was cancelled and killed.
    Cancelled,
    /// It could not be started.
    NotStarted(String),
}

impl HookExit {
    /// True for exit code 0.
    pub(crate) fn is_success(&self) -> bool {
        *self == Self::Code(0)
    }
}

/// A hook's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookDecision {
    /// Continue.
    Allow,
    /// Ask the user.
    Ask,
    /// Do not continue.
    Block,
}

impl HookDecision {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "allow" | "approve" => Some(Self::Allow),
            "ask" => Some(Self::Ask),
            "block" | "deny" => Some(Self::Block),
            _ => None,
        }
    }
}

/// The output of one hook, or of several merged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookOutput {
    /// `continue`: false ends the agent's work.
    pub continues: Option<bool>,
    /// The reason for the user.
    pub stop_reason: Option<String>,
    /// True if the hook's output must not be shown.
    pub suppress_output: Option<bool>,
    /// The message for the user.
    pub system_message: Option<String>,
    /// The decision.
    pub decision: Option<HookDecision>,
    /// The reason for the decision.
    pub reason: Option<String>,
    /// The event-specific output, `hookSpecificOutput`.
    pub specific: Map<String, Value>,
}

/// The exit code that always blocks.
const BLOCKING: i32 = 2;

/// Parses the output and the exit of a hook named `label`.
///
/// JSON applies whatever the exit code, except that code 2 always blocks. Other text is a message to the user, with
/// code 2 the reason for blocking, with any other code but 0 a warning. A hook that was killed or never ran has no
/// output.
pub(crate) fn parse_output(label: &str, exit: &HookExit, stdout: &str, stderr: &str) -> HookOutput {
    let (stdout, stderr) = (stdout.trim(), stderr.trim());
    let said = if stdout.is_empty() { stderr } else { stdout };
    let code = match exit {
        HookExit::Code(code) => Some(*code),
        HookExit::Signal(_) => None,
        HookExit::TimedOut | HookExit::Cancelled | HookExit::NotStarted(_) => return HookOutput::default(),
    };
    let said = text(said);
    let mut output = match said.as_deref().and_then(parse_object) {
        Some(object) => from_json(&object),
        None => match code {
            Some(0) => HookOutput { system_message: said, ..HookOutput::default() },
            Some(BLOCKING) => HookOutput { reason: text(stderr).or(said), ..HookOutput::default() },
            _ => {
                let warning = said.map(|said| format!("Warning: {said}"));
                HookOutput { system_message: warning, ..HookOutput::default() }
            }
        },
    };
    if code == Some(BLOCKING) {
        output.decision = Some(HookDecision::Block);
        let reason =
            output.reason.take().or_else(|| text(stderr).filter(|text| parse_object(text).is_none()));
        output.reason = reason.or_else(|| Some(format!("hook {label:?} gave no reason")));
    } else if code == Some(0) && output.decision.is_none() {
        output.decision = Some(HookDecision::Allow);
    }
    output
}

fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// Parses an object, or a JSON string that contains one.
fn parse_object(text: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(text).ok()? {
        Value::Object(object) => Some(object),
        Value::String(inner) => match serde_json::from_str(&inner).ok()? {
            Value::Object(object) => Some(object),
            _ => None,
        },
        _ => None,
    }
}

/// Reads the known fields of an answer; those of the wrong type are ignored.
fn from_json(object: &Map<String, Value>) -> HookOutput {
    let text = |field: &str| object.get(field).and_then(Value::as_str).map(str::to_owned);
    let boolean = |field: &str| object.get(field).and_then(Value::as_bool);
    HookOutput {
        continues: boolean("continue"),
        stop_reason: text("stopReason"),
        suppress_output: boolean("suppressOutput"),
        system_message: text("systemMessage"),
        decision: object.get("decision").and_then(Value::as_str).and_then(HookDecision::parse),
        reason: text("reason"),
        specific: object.get("hookSpecificOutput").and_then(Value::as_object).cloned().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(exit: &HookExit, stdout: &str, stderr: &str) -> HookOutput {
        parse_output("mine", exit, stdout, stderr)
    }

    #[track_caller]
    fn check_text(
        code: i32,
        stdout: &str,
        stderr: &str,
        decision: Option<HookDecision>,
        message: Option<&str>,
    ) {
        let output = parse(&HookExit::Code(code), stdout, stderr);
        assert_eq!((output.decision, output.system_message.as_deref()), (decision, message));
    }

    #[track_caller]
    fn check_block(code: i32, stdout: &str, stderr: &str, reason: &str) {
        let output = parse(&HookExit::Code(code), stdout, stderr);
        assert_eq!((output.decision, output.reason.as_deref()), (Some(HookDecision::Block), Some(reason)));
    }

    #[test]
    fn text_means_what_the_exit_code_says() {
        use HookDecision::Allow;
        check_text(0, " hello\n", "log", Some(Allow), Some("hello"));
        check_text(0, "", "only stderr", Some(Allow), Some("only stderr"));
        check_text(0, "", "", Some(Allow), None);
        check_text(1, "odd", "", None, Some("Warning: odd"));
        check_text(1, "", "", None, None);
        check_text(3, "", "broken", None, Some("Warning: broken"));
        check_text(127, "", "not found", None, Some("Warning: not found"));
    }

    #[test]
    fn code_2_blocks_even_when_silent() {
        check_block(2, "", "because", "because");
        check_block(2, "log", "because", "because");
        check_block(2, "because", "", "because");
        check_block(2, "", "", "hook \"mine\" gave no reason");
        check_block(2, r#"{"reason": "json"}"#, "log", "json");
        check_block(2, r#"{"decision": "allow"}"#, "log", "log");
    }

    #[test]
    fn only_code_2_blocks_by_itself() {
        for code in [1, 3, 4, 126, 255] {
            assert_eq!(parse(&HookExit::Code(code), "no", "").decision, None, "{code}");
        }
    }

    #[test]
    fn json_counts_whatever_the_code() {
        let json = r#"{"decision": "deny", "reason": "r"}"#;
        for code in [0, 1, 2, 3] {
            check_block(code, json, "", "r");
            check_block(code, "", json, "r");
            check_block(code, &Value::from(json).to_string(), "", "r");
        }
        assert_eq!(parse(&HookExit::Signal(15), json, "").decision, Some(HookDecision::Block));
    }

    #[test]
    fn every_field_is_read() {
        let json = json!({
            "continue": false, "stopReason": "s", "suppressOutput": true, "systemMessage": "m", "decision": "ask",
            "reason": "r", "hookSpecificOutput": {"additionalContext": "c"}, "unknown": 1
        });
        let output = parse(&HookExit::Code(0), &json.to_string(), "");
        let expected = HookOutput {
            continues: Some(false),
            stop_reason: Some("s".into()),
            suppress_output: Some(true),
            system_message: Some("m".into()),
            decision: Some(HookDecision::Ask),
            reason: Some("r".into()),
            specific: json!({"additionalContext": "c"}).as_object().expect("an object").clone(),
        };
        assert_eq!(output, expected);
    }

    #[test]
    fn decisions_have_several_names() {
        use HookDecision::{Allow, Ask, Block};
        for (name, expected) in
            [("allow", Allow), ("approve", Allow), ("ask", Ask), ("block", Block), ("deny", Block)]
        {
            let output = parse(&HookExit::Code(0), &json!({"decision": name}).to_string(), "");
            assert_eq!(output.decision, Some(expected), "{name}");
        }
    }

    #[test]
    fn wrong_types_say_nothing() {
        let json = json!({"continue": "no", "decision": 1, "systemMessage": [], "hookSpecificOutput": "x"});
        let output = parse(&HookExit::Code(0), &json.to_string(), "");
        assert_eq!(output, HookOutput { decision: Some(HookDecision::Allow), ..HookOutput::default() });
        check_text(0, "[1]", "", Some(HookDecision::Allow), Some("[1]"));
    }

    #[test]
    fn a_killed_hook_says_nothing() {
        let json = r#"{"decision": "deny"}"#;
        for exit in [HookExit::TimedOut, HookExit::Cancelled, HookExit::NotStarted("why".into())] {
            assert_eq!(parse(&exit, json, "text"), HookOutput::default());
        }
        assert_eq!(parse(&HookExit::Signal(9), "x", "").system_message.as_deref(), Some("Warning: x"));
    }
}
