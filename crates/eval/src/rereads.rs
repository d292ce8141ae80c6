//! Repeated reads of unchanged files.

use std::collections::HashMap;

use longhaul_conversation::{CallId, Message, ToolCall};

use crate::score::KeptShare;

/// The share of file reads that brought nothing new: the same lines with the same content as before. In a compacted
/// session they show what the summary should have kept.
pub(crate) fn rereads(messages: &[Message]) -> KeptShare {
    let mut asked: HashMap<&CallId, String> = HashMap::new();
    let mut known: HashMap<String, blake3::Hash> = HashMap::new();
    let mut share = KeptShare::default();
    for message in messages {
        for call in message.calls().filter(|call| is_read(call)) {
            asked.insert(&call.id, format!("{} {}", call.name, call.args));
        }
        for result in message.parts.iter().filter_map(|part| part.as_result()) {
            let Some(question) = asked.remove(&result.call) else { continue };
            let answer = blake3::hash(result.readable().as_bytes());
            share.count(known.insert(question, answer) == Some(answer));
        }
    }
    share
}

/// True if a call reads a file, by the tool names of known agents.
fn is_read(call: &ToolCall) -> bool {
    const PATHS: [&str; 5] = ["file_path", "absolute_path", "path", "filePath", "target_file"];
    let name = call.name.to_lowercase();
    let views = call.args.get("command").and_then(|command| command.as_str()) == Some("view");
    let reads =
        matches!(name.as_str(), "read" | "read_file" | "readfile" | "view" | "view_file" | "open") || views;
    reads && PATHS.iter().any(|key| call.args.get(key).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{Part, Role, ToolResult};
    use serde_json::{Value, json};

    #[track_caller]
    fn check(reads: &[(&str, Value, &str)], again: usize, of: usize) {
        let messages: Vec<Message> = reads
            .iter()
            .enumerate()
            .flat_map(|(number, (tool, args, text))| {
                let id = format!("c{number}");
                let call = ToolCall::new(id.clone(), *tool).with_args(args.clone());
                let result = ToolResult::text(id, *text);
                [
                    Message::new(format!("m{number}"), Role::Model, vec![Part::call(call)]),
                    Message::new(format!("r{number}"), Role::User, vec![Part::result(result)]),
                ]
            })
            .collect();
        assert_eq!(rereads(&messages), KeptShare { kept: again, of });
    }

    #[test]
    fn only_the_same_lines_that_say_the_same_are_read_again() {
        let a = json!({"file_path": "a.rs"});
        check(&[("Read", a.clone(), "x"), ("Read", a.clone(), "x")], 1, 2);
        check(&[("Read", a.clone(), "x"), ("Read", a.clone(), "y"), ("Read", a.clone(), "y")], 1, 3);
        check(&[("read_file", a, "x"), ("read_file", json!({"file_path": "b.rs"}), "x")], 0, 2);
        check(&[("bash", json!({"command": "ls"}), "x"), ("bash", json!({"command": "ls"}), "x")], 0, 0);
        let view = json!({"command": "view", "path": "a"});
        check(&[("str_replace_editor", view.clone(), "x"), ("str_replace_editor", view, "x")], 1, 2);
    }
}
