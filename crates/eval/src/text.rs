//! The text of messages, for searching and measuring.

use std::borrow::Cow;

use longhaul_conversation::{Body, Message, Origin, Part, TokenCount, ToolCall};
use serde_json::Value;

/// The speaker of a stretch of text, as far as remembering is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaker {
    /// The model: its text and the arguments of its calls.
    Model,
    /// Everyone else: the user, the tools, the host.
    Others,
}

/// The text of some messages, with white space collapsed, and its speakers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rendering {
    /// The text.
    pub(crate) text: String,
    /// The start of each speaker's stretch, ascending.
    speakers: Vec<(usize, Speaker)>,
}

/// A stretch of text that refers to something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TextUse<'a> {
    /// Text of the model or the user.
    Prose(Speaker, &'a str),
    /// A string in the arguments of a call.
    Argument(&'a str),
    /// A shell command; its text is also an argument.
    Command(&'a str),
}

/// Counts tokens as all figures here do: characters / 4, rounded up.
pub fn count_tokens(messages: &[Message]) -> TokenCount {
    TokenCount(count_characters(messages).div_ceil(4))
}

/// The characters of everything a model would read in these messages.
pub(crate) fn count_characters(messages: &[Message]) -> u64 {
    let mut count = 0;
    for part in messages.iter().flat_map(|message| &message.parts) {
        each_text(part, &mut |_, text| count += text.chars().count() as u64);
    }
    count
}

/// The characters before each message, and the total at the end: any stretch is a difference of two.
pub(crate) fn cumulative_characters(messages: &[Message]) -> Vec<u64> {
    let mut total = 0;
    let mut cumulative = vec![0];
    cumulative.extend(messages.iter().map(|message| {
        total += count_characters(std::slice::from_ref(message));
        total
    }));
    cumulative
}

/// The plain text of a message as a reader sees it, its parts on lines of their own.
pub(crate) fn readable_text(message: &Message) -> String {
    let mut text = String::new();
    for part in &message.parts {
        each_text(part, &mut |_, piece| {
            text.push_str(piece);
            text.push('\n');
        });
    }
    text
}

impl Rendering {
    /// Renders messages for searching.
    pub(crate) fn of<'m>(messages: impl IntoIterator<Item = &'m Message>) -> Self {
        let mut rendering = Self::default();
        for part in messages.into_iter().flat_map(|message| &message.parts) {
            each_text(part, &mut |speaker, text| rendering.push(speaker, text));
        }
        rendering
    }

    fn push(&mut self, speaker: Speaker, text: &str) {
        if self.speakers.last().is_none_or(|(_, last)| *last != speaker) {
            self.speakers.push((self.text.len(), speaker));
        }
        collapse_into(&without_line_numbers(text), &mut self.text);
    }

    /// The speaker at this byte.
    pub(crate) fn speaker_at(&self, place: usize) -> Speaker {
        let next = self.speakers.partition_point(|(start, _)| *start <= place);
        next.checked_sub(1).map_or(Speaker::Others, |last| self.speakers[last].1)
    }
}

/// Appends `text` with white space collapsed, followed by a space.
pub(crate) fn collapse_into(text: &str, into: &mut String) {
    into.reserve(text.len() + 1);
    for word in text.split_whitespace() {
        into.push_str(word);
        into.push(' ');
    }
}

/// `text` with white space collapsed.
pub(crate) fn collapse(text: &str) -> String {
    let mut collapsed = String::new();
    collapse_into(text, &mut collapsed);
    collapsed.pop();
    collapsed
}

/// The stretches of a message that refer to things: the model's text, the strings in its calls, and typed text.
pub(crate) fn uses(message: &Message) -> Vec<TextUse<'_>> {
    let mut found = Vec::new();
    for part in &message.parts {
        match (&part.body, part.origin) {
            (Body::Text(text), Origin::Model) => found.push(TextUse::Prose(Speaker::Model, text)),
            (Body::Text(text), Origin::User) => found.push(TextUse::Prose(Speaker::Others, text)),
            (Body::Call(call), _) => {
                each_string(&call.args, &mut |text| found.push(TextUse::Argument(text)));
                found.extend(shell_commands(call).into_iter().map(TextUse::Command));
            }
            _ => {}
        }
    }
    found
}

/// The texts that the user typed in a message.
pub(crate) fn typed_texts(message: &Message) -> impl Iterator<Item = &str> {
    message.parts.iter().filter(|part| part.origin == Origin::User).filter_map(Part::as_text)
}

fn each_text(part: &Part, visit: &mut impl FnMut(Speaker, &str)) {
    match &part.body {
        Body::Text(text) => {
            visit(if part.origin == Origin::Model { Speaker::Model } else { Speaker::Others }, text);
        }
        Body::Thought(thought) => visit(Speaker::Model, &thought.text),
        Body::Call(call) => {
            visit(Speaker::Model, &call.name);
            each_argument(&call.args, visit);
        }
        Body::Result(result) => visit(Speaker::Others, &result.readable()),
        Body::Media(_) => {}
        Body::File(file) => visit(Speaker::Others, &file.uri),
        Body::Opaque(opaque) => visit(Speaker::Others, &opaque.value.to_string()),
    }
}

fn each_argument(value: &Value, visit: &mut impl FnMut(Speaker, &str)) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                visit(Speaker::Model, key);
                each_argument(value, visit);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| each_argument(item, visit)),
        Value::String(text) => visit(Speaker::Model, text),
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) => visit(Speaker::Model, &value.to_string()),
    }
}

fn each_string<'a>(value: &'a Value, visit: &mut impl FnMut(&'a str)) {
    match value {
        Value::Object(fields) => fields.values().for_each(|value| each_string(value, visit)),
        Value::Array(items) => items.iter().for_each(|item| each_string(item, visit)),
        Value::String(text) => visit(text),
        _ => {}
    }
}

/// The shell commands that a call runs.
fn shell_commands(call: &ToolCall) -> Vec<&str> {
    const RUNNERS: [&str; 6] = ["bash", "shell", "exec", "run", "terminal", "command"];
    let name = call.name.to_lowercase();
    if !RUNNERS.iter().any(|runner| name.contains(runner)) {
        return Vec::new();
    }
    let Some(fields) = call.args.as_object() else { return Vec::new() };
    let given = ["command", "cmd", "commands", "script"].iter().find_map(|key| fields.get(*key));
    match given {
        Some(Value::String(command)) => vec![command],
        Some(Value::Array(words)) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                // An argument list that passes a script to a shell.
                [shell, flag, script] if shell.ends_with("sh") && flag.starts_with('-') => vec![script],
                _ => words,
            }
        }
        _ => Vec::new(),
    }
}

/// Removes the line numbers that tools print before lines: they would pass for numbers that matter.
fn without_line_numbers(text: &str) -> Cow<'_, str> {
    if !text.lines().any(|line| line_number_length(line) > 0) {
        return Cow::Borrowed(text);
    }
    let mut stripped = String::with_capacity(text.len());
    for line in text.lines() {
        stripped.push_str(&line[line_number_length(line)..]);
        stripped.push('\n');
    }
    Cow::Owned(stripped)
}

/// The length of a printed line number with its separator.
fn line_number_length(line: &str) -> usize {
    let number = line.trim_start_matches(' ');
    let rest = number.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_number = rest.len() < number.len();
    match rest.chars().next() {
        Some(separator @ ('→' | '\t')) if is_number => line.len() - rest.len() + separator.len_utf8(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{Role, ToolResult};
    use serde_json::json;

    #[track_caller]
    fn check_commands(name: &str, args: Value, expected: &[&str]) {
        assert_eq!(shell_commands(&ToolCall::new("c", name).with_args(args)), expected);
    }

    #[test]
    fn commands_are_found_in_the_calls_that_run_them() {
        check_commands("Bash", json!({"command": "ls -l", "description": "list"}), &["ls -l"]);
        check_commands("shell", json!({"command": ["bash", "-lc", "rg x | head"]}), &["rg x | head"]);
        check_commands("run_commands", json!({"commands": ["make", "make test"]}), &["make", "make test"]);
        check_commands("str_replace_editor", json!({"command": "view"}), &[]);
        check_commands("bash", json!("ls"), &[]);
    }

    #[test]
    fn printed_line_numbers_are_left_out() {
        let message = Message::new(
            "r",
            Role::User,
            vec![Part::result(ToolResult::text("c", "   630→let x = 1;\n631\tlet y;\n632 apples"))],
        );
        assert_eq!(Rendering::of([&message]).text, "let x = 1; let y; 632 apples ");
    }

    #[test]
    fn the_voice_is_known_at_every_place() {
        let said = Message::new("a", Role::Model, vec![Part::model_text("mine")]);
        let told = Message::new("b", Role::User, vec![Part::user_text("yours")]);
        let rendering = Rendering::of([&said, &told]);
        assert_eq!(rendering.text, "mine yours ");
        assert_eq!(rendering.speaker_at(0), Speaker::Model);
        assert_eq!(rendering.speaker_at(4), Speaker::Model);
        assert_eq!(rendering.speaker_at(5), Speaker::Others);
    }

    #[test]
    fn tokens_are_characters_by_four() {
        let message = |text: &str| Message::new("a", Role::User, vec![Part::user_text(text)]);
        assert_eq!(count_tokens(&[message("")]), TokenCount(0));
        assert_eq!(count_tokens(&[message("四个汉字")]), TokenCount(1));
        assert_eq!(count_tokens(&[message("abcd"), message("e")]), TokenCount(2));
    }
}
