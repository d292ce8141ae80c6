//! Passages: the pieces of messages that are searched, each short enough to be shown.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use hashbrown::{HashMap, HashSet};
use longhaul_conversation::{Body, CallId, Message, MessageId, Ordinal, Origin, Part, Role, Timestamp};
use serde_json::Value;

use crate::filter::Kind;
use crate::own_texts;

/// The usual and the longest passage, in bytes.
const USUAL: usize = 1_600;
const LONGEST: usize = 2_400;

/// The most calls remembered, to know what a result answers.
const MAX_CALLS: usize = 4_096;

/// A piece of one part of a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage<'a> {
    /// Its place in the session, from 0.
    pub sequence: u32,
    /// The kind of text.
    pub kind: Kind,
    /// The origin of the part.
    pub origin: Origin,
    /// The tool that is called or answers.
    pub tool: Option<&'a str>,
    /// The passage of the call that it answers.
    pub answers: Option<u32>,
    /// True if it asks something.
    pub is_question: bool,
    /// The text of the part.
    pub whole: &'a str,
    /// The passage in it.
    pub range: Range<usize>,
}

/// A passage read again, with the head of its message.
#[derive(Clone, Debug)]
pub struct FoundPassage {
    /// The message.
    pub message: MessageId,
    /// Its number.
    pub number: Option<Ordinal>,
    /// Its role.
    pub role: Role,
    /// Its time.
    pub at: Option<Timestamp>,
    /// The origin of its part.
    pub origin: Origin,
    /// The tool that is called or answers.
    pub tool: Option<String>,
    /// The text of the part.
    pub whole: String,
    /// The passage in it.
    pub range: Range<usize>,
}

impl Passage<'_> {
    /// The text.
    pub fn text(&self) -> &str {
        &self.whole[self.range.clone()]
    }
}

impl FoundPassage {
    /// A copy of a passage of this message.
    pub fn of(message: &Message, passage: &Passage<'_>) -> Self {
        Self {
            message: message.id.clone(),
            number: message.ordinal,
            role: message.role,
            at: message.at,
            origin: passage.origin,
            tool: passage.tool.map(str::to_owned),
            whole: passage.whole.to_owned(),
            range: passage.range.clone(),
        }
    }
}

/// Splits the messages of one session into passages, in order.
#[derive(Debug, Default)]
pub struct PassageReader {
    next: u32,
    /// The calls so far: their tools and passages.
    calls: HashMap<CallId, (String, u32)>,
    /// The calls that asked Longhaul for what was said.
    recalls: HashSet<CallId>,
}

impl PassageReader {
    /// Passes each passage of the next message to `take`.
    pub fn read(&mut self, message: &Message, take: &mut dyn FnMut(&Passage<'_>)) {
        for part in &message.parts {
            self.part(part, take);
        }
    }

    fn part(&mut self, part: &Part, take: &mut dyn FnMut(&Passage<'_>)) {
        let mut tool = None;
        let mut answers = None;
        let (kind, text): (Kind, Cow<'_, str>) = match &part.body {
            Body::Text(text) if own_texts::is_injected(part.origin, text) => return,
            Body::Text(text) => (Kind::of(part.origin), Cow::Borrowed(text.as_str())),
            Body::Thought(thought) => (Kind::Model, Cow::Borrowed(thought.text.as_str())),
            Body::Call(call) => {
                if own_texts::is_recall(call) {
                    self.recalls.insert(call.id.clone());
                    return;
                }
                if self.calls.len() < MAX_CALLS {
                    self.calls.insert(call.id.clone(), (call.name.clone(), self.next));
                }
                tool = Some(call.name.clone());
                let mut text = call.name.clone();
                render(&call.args, "", &mut text);
                (Kind::Call, Cow::Owned(text))
            }
            Body::Result(result) => {
                if self.recalls.contains(&result.call) {
                    return;
                }
                let call = self.calls.get(&result.call);
                tool = result.name.clone().or_else(|| call.map(|(name, _)| name.clone()));
                answers = call.map(|(_, passage)| *passage);
                (Kind::Output, result.readable())
            }
            Body::File(file) => (Kind::of(part.origin), Cow::Borrowed(file.uri.as_str())),
            Body::Media(_) | Body::Opaque(_) => return,
        };
        for range in split(&text) {
            let is_said = matches!(kind, Kind::User | Kind::Model);
            let is_question = is_said && text[range.clone()].contains(['?', '？']);
            let sequence = self.next;
            self.next += 1;
            let (tool, whole) = (tool.as_deref(), text.as_ref());
            take(&Passage { sequence, kind, origin: part.origin, tool, answers, is_question, whole, range });
        }
    }
}

/// Splits a text at line ends, or in a very long line at a space.
fn split(text: &str) -> impl Iterator<Item = Range<usize>> + use<> {
    let mut ranges = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let mut end = text.len();
        if end - start > LONGEST {
            let from = text.floor_char_boundary(start + USUAL);
            let most = text.floor_char_boundary(start + LONGEST);
            end = memchr::memchr(b'\n', &text.as_bytes()[from..most])
                .or_else(|| memchr::memrchr(b' ', &text.as_bytes()[from..most]))
                .map_or(most, |at| from + at + 1);
        }
        if !text[start..end].trim().is_empty() {
            ranges.push(start..end);
        }
        start = end;
    }
    ranges.into_iter()
}

/// Renders the arguments of a call as lines `name: value`, with strings verbatim.
fn render(value: &Value, name: &str, text: &mut String) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                render(value, &name, text);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| render(item, name, text)),
        Value::Null => {}
        Value::String(value) => push(name, value, text),
        other => push(name, &other.to_string(), text),
    }
}

fn push(name: &str, value: &str, text: &mut String) {
    let _ = if name.is_empty() { write!(text, "\n{value}") } else { write!(text, "\n{name}: {value}") };
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{ToolCall, ToolResult};
    use proptest::prelude::*;
    use serde_json::json;

    fn texts(parts: Vec<Part>) -> Vec<String> {
        let mut texts = Vec::new();
        let message = Message::new("a", Role::User, parts);
        PassageReader::default().read(&message, &mut |passage| texts.push(passage.text().to_owned()));
        texts
    }

    #[test]
    fn parts_are_searched_as_people_read_them() {
        assert_eq!(texts(vec![Part::user_text("Hello"), Part::user_text("")]), ["Hello"]);
        let call = ToolCall::new("c", "edit").with_args(json!({
            "path": "src/a.rs", "text": "x\n\"y\"", "at": {"line": 3, "marks": ["p", true, null]}
        }));
        assert_eq!(
            texts(vec![Part::call(call)]),
            ["edit\npath: src/a.rs\ntext: x\n\"y\"\nat.line: 3\nat.marks: p\nat.marks: true"]
        );
    }

    #[test]
    fn a_result_names_its_call() {
        let message = Message::new(
            "a",
            Role::User,
            vec![
                Part::user_text("list them?"),
                Part::call(ToolCall::new("c", "ls")),
                Part::result(ToolResult::text("c", "a\nb")),
            ],
        );
        let mut seen = Vec::new();
        PassageReader::default().read(&message, &mut |passage| {
            seen.push((
                passage.sequence,
                passage.kind,
                passage.tool.map(str::to_owned),
                passage.answers,
                passage.is_question,
            ));
        });
        let tool = Some("ls".to_owned());
        assert_eq!(
            seen,
            [
                (0, Kind::User, None, None, true),
                (1, Kind::Call, tool.clone(), None, false),
                (2, Kind::Output, tool, Some(1), false)
            ]
        );
    }

    #[test]
    fn recalls_are_passed_over_with_what_they_found() {
        let recall = |name: &str, args| Part::call(ToolCall::new("c", name).with_args(args));
        let result = || Part::result(ToolResult::text("c", "the ring buffer"));
        for call in [
            recall("recall_history", json!({"query": "ring"})),
            recall("mcp__longhaul__recall", json!({"query": "ring"})),
            recall("Bash", json!({"command": "cd app && longhaul recall ring"})),
        ] {
            assert_eq!(texts(vec![call, result()]), [""; 0]);
        }
        let other = recall("Bash", json!({"command": "rg recall"}));
        assert_eq!(texts(vec![other, result()]).len(), 2);
    }

    proptest! {
        #[test]
        fn passages_hold_the_whole_text(text in "([a-zé語]{0,900}[ \n]){0,12}") {
            let ranges: Vec<_> = split(&text).collect();
            prop_assert!(ranges.iter().all(|range| range.len() <= LONGEST));
            let kept: String = ranges.into_iter().map(|range| &text[range]).collect();
            let plain = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(plain(&kept), plain(&text));
        }
    }
}
