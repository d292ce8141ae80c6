//! Tells what stands in the arguments and the result of a call.

use longhaul_conversation::ToolCall;

use crate::calls::{CallContext, ParsedCall, parse_call};

/// The content of a call's arguments and of its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallContent {
    /// The text of this file, or a part of it.
    File(String),
    /// Several files, a search, the output of a program.
    Other,
}

/// Tells what stands in the arguments and the result of a call, as far as the call itself says.
pub fn content_of(call: &ToolCall) -> CallContent {
    let around = CallContext { directory: "", open_file: None };
    let effects = match parse_call(call, &around) {
        ParsedCall::Files(effects) => effects,
        ParsedCall::Shell { script, .. } => script.effects,
        _ => return CallContent::Other,
    };
    match effects.as_slice() {
        [one, others @ ..] if others.iter().all(|other| other.path == one.path) => {
            CallContent::File(one.path.clone())
        }
        _ => CallContent::Other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check(tool: &str, args: Value, expected: Option<&str>) {
        let content = content_of(&ToolCall::new("c", tool).with_args(args));
        let expected = expected.map_or(CallContent::Other, |path| CallContent::File(path.to_string()));
        assert_eq!(content, expected);
    }

    #[test]
    fn the_file_of_a_call_is_known_by_tool_or_command() {
        check("Read", json!({"file_path": "src/a.rs"}), Some("src/a.rs"));
        check("edit", json!({"path": "b.py", "old_string": "a", "new_string": "b"}), Some("b.py"));
        check("bash", json!({"command": "sed -n '1,80p' src/a.rs"}), Some("src/a.rs"));
        check("bash", json!({"command": "cat a.rs b.rs"}), None);
        check("bash", json!({"command": "cargo test"}), None);
        check("grep", json!({"pattern": "x"}), None);
    }
}
