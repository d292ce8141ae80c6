//! Puts something shorter in the place of a tool's output and names the file that holds the whole.
//!
//! Plans hold [`Replacement`]s; the host that carries one out first saves each [`Replacement::full_text`] under its file
//! name, leaves out those that could not be saved, and then calls [`apply_replacements`].

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;

use longhaul_conversation::{Body, CallId, Message, Output, Part, TokenCount, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A tool output that is to be shown in a shorter form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replacement {
    /// The call whose result is shortened.
    pub call: CallId,
    /// A hash of the whole output: ids alone are not unique in every session.
    pub content: String,
    /// Index of the result's message among those that were planned for.
    pub message: usize,
    /// File for the whole output, relative to the folder for temporary files.
    pub file: String,
    /// The text in the output's place.
    pub text: String,
    /// Size of the result before.
    pub before: TokenCount,
    /// Size of the result now.
    pub after: TokenCount,
}

impl Replacement {
    /// The whole output, as it belongs in the file.
    pub fn full_text<'m>(&self, messages: &'m [Message]) -> Option<Cow<'m, str>> {
        let results = messages.get(self.message)?.results();
        let mut texts = results.filter(|result| result.call == self.call).map(output_text);
        texts.find(|text| content_hash(text) == self.content)
    }

    /// The same without a pointer to a file, for an output that could not be saved but cannot stay.
    #[must_use]
    pub fn unsaved(mut self) -> Self {
        self.text = self.text.replace(&self.file, NOT_SAVED);
        self
    }

    fn concerns(&self, result: &ToolResult) -> bool {
        result.call == self.call && content_hash(&output_text(result)) == self.content
    }
}

/// Stands where the name of a file would.
pub(crate) const NOT_SAVED: &str = "not saved";

/// Shortens the results that the replacements name and tells how many there were. What is no longer there, or was
/// shortened before, is passed over.
pub fn apply_replacements(messages: &mut [Message], replacements: &[Replacement]) -> usize {
    let mut by_call: HashMap<&CallId, Vec<&Replacement>> = HashMap::new();
    for replacement in replacements {
        by_call.entry(&replacement.call).or_default().push(replacement);
    }
    let mut applied = 0;
    for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
        let Body::Result(result) = &mut part.body else { continue };
        let Some(candidates) = by_call.get(&result.call) else { continue };
        if let Some(replacement) = candidates.iter().find(|replacement| replacement.concerns(result)) {
            **result = with_output(result, &replacement.text);
            applied += 1;
        }
    }
    applied
}

/// Plans one replacement, if it makes the result smaller that takes `before` now.
pub(crate) fn plan_replacement(
    subject: &Subject<'_>,
    file: String,
    text: String,
    before: TokenCount,
    estimate: impl Fn(&Part) -> TokenCount,
) -> Option<Replacement> {
    let after = estimate(&subject.shortened(&text));
    (after < before).then(|| Replacement {
        call: subject.result.call.clone(),
        content: subject.content().to_string(),
        message: subject.message,
        file,
        text,
        before,
        after,
    })
}

/// A result that may be shortened.
pub(crate) struct Subject<'m> {
    pub(crate) message: usize,
    pub(crate) part: &'m Part,
    pub(crate) result: &'m ToolResult,
    pub(crate) tool: &'m str,
    pub text: Cow<'m, str>,
    /// The hash of the text, once it was asked for.
    content: OnceCell<String>,
}

impl Subject<'_> {
    /// File for the whole output: in a folder of its session, under a name that differs where the content does.
    pub(crate) fn file(&self, session: &str) -> String {
        self.file_named(session, self.content())
    }

    /// The same for any hash.
    pub(crate) fn file_named(&self, session: &str, content: &str) -> String {
        name_file(session, self.tool, &self.result.call, content)
    }

    /// The hash of the text.
    pub(crate) fn content(&self) -> &str {
        self.content.get_or_init(|| content_hash(&self.text))
    }

    /// The part with `text` for its output.
    pub(crate) fn shortened(&self, text: &str) -> Part {
        Part::result(with_output(self.result, text))
    }
}

/// File for the whole output of a call, relative to the project's folder in the home: in a folder of its session, under
/// a name that differs where the content does.
pub fn output_file(session: &str, tool: &str, call: &CallId, text: &str) -> String {
    name_file(session, tool, call, &content_hash(text))
}

fn name_file(session: &str, tool: &str, call: &CallId, content: &str) -> String {
    let tool = sanitised(tool).to_lowercase();
    let id = sanitised(call.as_str()).to_lowercase();
    let stem = if id.starts_with(&tool) { id } else { format!("{tool}_{id}") };
    format!("tool-outputs/session-{}/{stem}_{content}.txt", sanitised(session))
}

/// All results, the newest first.
pub(crate) fn results_from_newest(messages: &[Message]) -> impl Iterator<Item = Subject<'_>> {
    let names: HashMap<&CallId, &str> =
        messages.iter().flat_map(Message::calls).map(|call| (&call.id, call.name.as_str())).collect();
    messages.iter().enumerate().rev().flat_map(move |(index, message)| {
        let results = message.parts.iter().rev().filter_map(|part| Some((part, part.as_result()?)));
        let results = results.map(|(part, result)| {
            let tool = result.name.as_deref().or_else(|| names.get(&result.call).copied());
            let tool = tool.filter(|tool| !tool.is_empty()).unwrap_or("unknown_tool");
            Subject {
                message: index,
                part,
                result,
                tool,
                text: output_text(result),
                content: OnceCell::new(),
            }
        });
        results.collect::<Vec<_>>()
    })
}

/// The whole text of a result: its own text where it has one, a structure as indented JSON.
pub(crate) fn output_text(result: &ToolResult) -> Cow<'_, str> {
    let Output::Structured(value) = &result.output else { return result.readable() };
    if has_one_text(value) {
        return result.readable();
    }
    let mut text = serde_json::to_string_pretty(value).expect("a JSON value can be written");
    for nested in result.nested.iter().filter_map(Part::as_text).filter(|nested| !nested.is_empty()) {
        text.push('\n');
        text.push_str(nested);
    }
    Cow::Owned(text)
}

fn has_one_text(value: &Value) -> bool {
    match value {
        Value::String(_) => true,
        Value::Object(fields) if fields.len() == 1 => {
            ["output", "content", "error"].iter().any(|key| fields.get(*key).is_some_and(Value::is_string))
        }
        _ => false,
    }
}

/// The result with `text` in the place of everything textual; media that came with it stays.
pub fn with_output(result: &ToolResult, text: &str) -> ToolResult {
    let mut text_in_nested = None;
    let output = match &result.output {
        Output::Text(_) => Output::Text(text.to_string()),
        Output::Structured(_) => Output::Structured(json!({ "output": text })),
        Output::Empty => {
            text_in_nested = Some(text);
            Output::Empty
        }
    };
    let nested = result.nested.iter().filter_map(|part| match &part.body {
        Body::Text(_) => {
            let body = Body::Text(text_in_nested.take()?.to_string());
            Some(Part { body, origin: part.origin, extra: part.extra.clone() })
        }
        _ => Some(part.clone()),
    });
    let nested = nested.collect();
    ToolResult { call: result.call.clone(), name: result.name.clone(), status: result.status, output, nested }
}

/// The first 64 bits of a hash, which is plenty for the outputs of one session.
pub(crate) fn content_hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_string()
}

/// A name that is safe in any folder.
pub(crate) fn sanitised(name: &str) -> String {
    const LONGEST: usize = 80;
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    name.chars().take(LONGEST).map(safe).collect()
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::{Media, MediaData, Origin, Role, ToolCall, ToolStatus};

    use super::*;

    fn result(output: Output, nested: Vec<Part>) -> ToolResult {
        ToolResult { output, nested, ..ToolResult::text("c1", "") }
    }

    fn message(result: ToolResult) -> Message {
        Message::new("m", Role::User, vec![Part::result(result)])
    }

    fn replacement(messages: &[Message], text: &str) -> Replacement {
        let subject = results_from_newest(messages).next().expect("a result");
        let file = subject.file("s");
        let size =
            |part: &Part| TokenCount(part.as_result().map_or(0, |result| output_text(result).len() as u64));
        plan_replacement(&subject, file, text.into(), size(subject.part), size).expect("smaller")
    }

    #[track_caller]
    fn check_replaced(before: ToolResult, after: &ToolResult) {
        let mut messages = [message(before)];
        let planned = replacement(&messages, "short");
        assert_eq!(apply_replacements(&mut messages, std::slice::from_ref(&planned)), 1);
        assert_eq!(messages, [message(after.clone())]);
        assert_eq!(apply_replacements(&mut messages, &[planned]), 0, "a second time changes nothing");
    }

    #[test]
    fn every_form_of_output_is_replaced_in_its_form() {
        let long = || "long text ".repeat(9);
        let nested = |text: &str| Part::text(Origin::Tool, text);
        let media = Media { mime: "image/png".into(), data: MediaData::Base64("AA".into()) };
        let image = || Part::new(Origin::Tool, Body::Media(Box::new(media.clone())));
        let output = || json!({ "output": "short" });
        check_replaced(result(Output::Text(long()), vec![]), &result(Output::Text("short".into()), vec![]));
        check_replaced(
            result(Output::Structured(json!({"stdout": long(), "code": 0})), vec![nested("x")]),
            &result(Output::Structured(output()), vec![]),
        );
        check_replaced(
            result(Output::Empty, vec![image(), nested(&long()), nested("more"), image()]),
            &result(Output::Empty, vec![image(), nested("short"), image()]),
        );
    }

    #[test]
    fn name_status_and_further_fields_stay() {
        let before = ToolResult::text("c1", "a long output").with_name("ls").with_status(ToolStatus::Failed);
        let after = ToolResult { output: Output::Text("short".into()), ..before.clone() };
        check_replaced(before, &after);
    }

    #[test]
    fn a_reused_id_is_told_apart_by_content() {
        let mut messages = [message(ToolResult::text("c1", "older ".repeat(9)))];
        let planned = replacement(&messages, "short");
        let newer = message(ToolResult::text("c1", "newer ".repeat(9)));
        let mut both = [messages[0].clone(), newer.clone()];
        assert_eq!(apply_replacements(&mut both, std::slice::from_ref(&planned)), 1);
        assert_eq!(both[1], newer);
        assert_eq!(planned.full_text(&messages).as_deref(), Some("older ".repeat(9).as_str()));
        apply_replacements(&mut messages, std::slice::from_ref(&planned));
        assert_eq!(planned.full_text(&messages), None);
    }

    #[track_caller]
    fn check_file(tool: &str, id: &str, session: &str, expected: &str) {
        let call = Message::new("a", Role::Model, vec![Part::call(ToolCall::new(id, tool))]);
        let messages = [call, message(ToolResult::text(id, "text"))];
        let subject = results_from_newest(&messages).next().expect("a result");
        assert_eq!(subject.file(session), format!("tool-outputs/{expected}_{}.txt", content_hash("text")));
    }

    #[test]
    fn files_are_named_by_session_tool_call_and_content() {
        check_file("Grep", "Call_1", "abc", "session-abc/grep_call_1");
        check_file("grep", "grep-17", "abc", "session-abc/grep-17");
        check_file("a/b", "../..", "../x", "session-___x/a_b______");
        check_file("", "é", "", "session-/unknown_tool__");
        let (long, kept) = ("x".repeat(300), "x".repeat(80));
        check_file("t", &long, "s", &format!("session-s/t_{kept}"));
    }
}
