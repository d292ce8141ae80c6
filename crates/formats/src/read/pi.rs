//! Reads pi sessions.
//!
//! A header is followed by records that name the one they follow; in the first version of the format they do not, and
//! each follows the one before it. A compaction keeps a tail of the conversation behind its summary.

use longhaul_conversation::{
    Body, CallId, Extra, Media, MediaData, Message, MessageId, Origin, Output, Part, Role, Signature,
    Thought, TokenCount, ToolCall, ToolResult, ToolStatus, Usage, Vendor,
};
use longhaul_wire::{Json, Object, PLAIN, close_references, split_user_text};
use serde_json::{Map, Value};

use super::tree::{Follows, Holds, Tree};
use super::{Known, Reader};
use crate::Format;
use crate::out::Out;

pub(super) const KNOWN: Known = Known {
    format: Format::Pi,
    is_record,
    is_document: |_| false,
    open: || Box::new(Pi::default()),
    unread: &[],
};

fn is_record(record: &Object<'_>) -> bool {
    match record.str("type") {
        Some("session") => record.str("id").is_some() && record.has("cwd") && record.has("timestamp"),
        Some("message") => {
            let role = record.get("message").and_then(|message| message.get("role")).and_then(Json::as_str);
            record.has("timestamp") && role.is_some()
        }
        Some("model_change") => record.has("timestamp") && record.has("modelId"),
        Some("thinking_level_change") => record.has("timestamp") && record.has("thinkingLevel"),
        Some("compaction") => record.has("firstKeptEntryId") || record.has("firstKeptEntryIndex"),
        _ => false,
    }
}

#[derive(Default)]
struct Pi {
    tree: Tree,
    /// The model that was chosen; it counts where none has answered.
    chosen: Option<String>,
}

impl Reader for Pi {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        let Json::Object(mut record) = record else {
            return out.warn(format!("expected a record, found {}; skipped", record.kind()));
        };
        let holds = self.read(&mut record, out);
        if record.str("type") == Some("session") {
            // The header stands in the list of records but is followed by none.
            return self.tree.add(None, &Follows::Newest, Holds::Nothing, out);
        }
        let parent = record.take("parentId");
        let follows = match &parent {
            Some(Json::String(parent)) => Follows::Record(parent),
            Some(_) => Follows::Nothing,
            None => Follows::Newest,
        };
        self.tree.add(record.take_string("id"), &follows, holds, out);
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        if out.info.models.is_empty() {
            out.note(None, self.chosen.as_deref(), None);
        }
    }
}

impl Pi {
    fn read(&mut self, record: &mut Object<'_>, out: &mut Out<'_>) -> Holds {
        out.note(record.time("timestamp"), None, None);
        match record.str("type") {
            Some("session") => self.header(record, out),
            Some("message") => {
                let Some(message) = record.take_object("message") else {
                    out.warn("message record without a message; skipped");
                    return Holds::Nothing;
                };
                return read_message(message, record, out).map_or(Holds::Nothing, Holds::Message);
            }
            Some("compaction") => {
                let Some(summary) = record.take_string("summary") else {
                    out.warn("compaction without a summary; skipped");
                    return Holds::Nothing;
                };
                let summary = said(record, vec![Part::text(Origin::Summary, summary)], out);
                return Holds::Compaction { summary, first_kept: self.first_kept(record) };
            }
            Some("branch_summary") => {
                if let Some(summary) = record.take_string("summary").filter(|summary| !summary.is_empty()) {
                    return Holds::Message(said(record, vec![Part::text(Origin::Summary, summary)], out));
                }
                out.skip("branch_summary");
            }
            Some("custom_message") => {
                let parts = read_content(record.take("content"), Side::Host, out);
                return Holds::Message(said(record, parts, out));
            }
            Some("session_info") => {
                out.info.title = record.take_string("name").or(out.info.title.take());
                out.skip("session_info");
            }
            Some("model_change") => {
                self.chosen = record.take_string("modelId").or(self.chosen.take());
                out.skip("model_change");
            }
            Some(kind) => {
                let kind = kind.to_string();
                out.skip(&kind);
            }
            None => out.warn("record without a type; skipped"),
        }
        Holds::Nothing
    }

    fn header(&mut self, record: &mut Object<'_>, out: &mut Out<'_>) {
        if out.info.session_id.is_none() {
            out.info.session_id = record.take_string("id");
            out.info.directory = record.take_string("cwd");
        }
        self.chosen = record.take_string("modelId").or(self.chosen.take());
    }

    /// The record from which on a compaction kept the conversation: by its id, or by its place in the first version.
    fn first_kept(&self, record: &Object<'_>) -> Option<usize> {
        if let Some(id) = record.str("firstKeptEntryId") {
            return self.tree.place_of(id);
        }
        record.get("firstKeptEntryIndex").and_then(Json::as_u64).and_then(|place| place.try_into().ok())
    }
}

/// A message on the user's side, with the record's id and time.
fn said(record: &Object<'_>, parts: Vec<Part>, out: &mut Out<'_>) -> Message {
    let mut message = Message::new(message_id(record, out), Role::User, parts);
    message.at = record.time("timestamp");
    message
}

/// The record's own id; one that was used before must not replace the earlier message.
fn message_id(record: &Object<'_>, out: &mut Out<'_>) -> MessageId {
    let Some(id) = record.str("id").map(MessageId::new) else { return out.made_up_id() };
    if !out.knows(&id) {
        return id;
    }
    out.warn(format!("duplicate id {id}"));
    MessageId::new(format!("{id}-{}", out.made_up_id()))
}

fn read_message(mut message: Object<'_>, record: &Object<'_>, out: &mut Out<'_>) -> Option<Message> {
    let role = message.take_string("role").unwrap_or_default();
    let parts = match role.as_str() {
        "user" => read_content(message.take("content"), Side::User, out),
        "assistant" => return Some(read_answer(message, record, out)),
        "toolResult" => vec![Part::result(read_result(&mut message, out))],
        "custom" | "hookMessage" => read_content(message.take("content"), Side::Host, out),
        "branchSummary" | "compactionSummary" => {
            vec![Part::text(Origin::Summary, message.take_string("summary").unwrap_or_default())]
        }
        "bashExecution" if message.is_true("excludeFromContext") => {
            out.skip("message:bashExecution");
            return None;
        }
        "bashExecution" => read_command(&mut message),
        other => {
            out.warn(format!("unknown role {other:?}; skipped"));
            return None;
        }
    };
    Some(said(record, parts, out))
}

/// A command that the user ran beside the model, and what it printed.
fn read_command(message: &mut Object<'_>) -> Vec<Part> {
    let command = message.take_string("command").unwrap_or_default();
    let mut parts = vec![Part::text(Origin::Hook, format!("$ {command}\n"))];
    if let Some(output) = message.take_string("output").filter(|output| !output.is_empty()) {
        parts.push(Part::text(Origin::Tool, output));
    }
    if message.is_true("cancelled") {
        parts.push(Part::text(Origin::Hook, "\n(cancelled)"));
    } else if let Some(code) = message.get("exitCode").and_then(Json::as_u64).filter(|code| *code != 0) {
        parts.push(Part::text(Origin::Hook, format!("\n(exit code {code})")));
    }
    parts
}

fn read_answer(mut message: Object<'_>, record: &Object<'_>, out: &mut Out<'_>) -> Message {
    let vendor = message.str("api").and_then(vendor_of);
    let parts = read_content(message.take("content"), Side::Model(vendor), out);
    let mut read = Message::new(message_id(record, out), Role::Model, parts);
    read.at = record.time("timestamp");
    read.model = message.take_string("model");
    read.usage = message.get("usage").and_then(read_usage).map(Box::new);
    if matches!(message.str("stopReason"), Some("error" | "aborted")) {
        let why = ["stopReason", "errorMessage"];
        let fields = why.iter().filter_map(|key| Some((key.to_string(), message.take(key)?.into_value())));
        read.extra = Extra::boxed(Vendor::Agent, fields.collect());
    }
    read
}

/// The vendor whose signatures the messages of an API carry; other APIs sign nothing.
fn vendor_of(api: &str) -> Option<Vendor> {
    match api {
        _ if api.starts_with("anthropic") || api.starts_with("bedrock") => Some(Vendor::Anthropic),
        _ if api.starts_with("google") => Some(Vendor::Gemini),
        _ if api.ends_with("responses") => Some(Vendor::OpenAiResponses),
        _ => None,
    }
}

fn read_result(message: &mut Object<'_>, out: &mut Out<'_>) -> ToolResult {
    let nested = read_content(message.take("content"), Side::Tool, out);
    let (output, nested) = match <[Part; 1]>::try_from(nested) {
        Ok([Part { body: Body::Text(text), extra: None, .. }]) => (Output::Text(text), Vec::new()),
        Ok([part]) => (Output::Empty, vec![part]),
        Err(parts) => (Output::Empty, parts),
    };
    let status = match message.get("isError").and_then(Json::as_bool) {
        Some(true) => ToolStatus::Failed,
        Some(false) => ToolStatus::Succeeded,
        None => ToolStatus::Unstated,
    };
    let call = CallId::new(message.take_string("toolCallId").unwrap_or_default());
    ToolResult { call, name: message.take_string("toolName"), status, output, nested }
}

/// The origin of a message's content.
#[derive(Clone, Copy)]
enum Side {
    User,
    Host,
    Tool,
    /// The model, and whose signatures its content carries.
    Model(Option<Vendor>),
}

impl Side {
    fn origin(self) -> Origin {
        match self {
            Self::User => Origin::User,
            Self::Host => Origin::Hook,
            Self::Tool => Origin::Tool,
            Self::Model(_) => Origin::Model,
        }
    }
}

fn read_content(content: Option<Json<'_>>, side: Side, out: &mut Out<'_>) -> Vec<Part> {
    match content {
        Some(Json::String(text)) => read_text(text.into_owned(), side),
        Some(Json::Array(blocks)) => {
            let mut parts: Vec<Part> = blocks.into_iter().flat_map(|block| read_block(block, side)).collect();
            close_references(&mut parts);
            parts
        }
        Some(Json::Null) | None => Vec::new(),
        Some(other) => {
            out.warn(format!("message content is {}; ignored", other.kind()));
            Vec::new()
        }
    }
}

fn read_text(text: String, side: Side) -> Vec<Part> {
    match side {
        Side::User => split_user_text(text, &PLAIN),
        side => vec![Part::text(side.origin(), text)],
    }
}

fn read_block(block: Json<'_>, side: Side) -> Vec<Part> {
    let mut block = match block {
        Json::Object(block) => block,
        Json::String(text) => return read_text(text.into_owned(), side),
        other => return vec![Part::opaque(side.origin(), Vendor::Agent, other.into_value())],
    };
    let part = match (block.str("type"), side) {
        (Some("text"), _) if block.str("text").is_some() => {
            return read_text(block.take_string("text").unwrap_or_default(), side);
        }
        (Some("image"), _) if block.str("data").is_some() => {
            let mime = block.take_string("mimeType").unwrap_or_default();
            let data = MediaData::Base64(block.take_string("data").unwrap_or_default());
            Part::new(side.origin(), Body::Media(Box::new(Media { mime, data })))
        }
        (Some("thinking"), Side::Model(vendor)) => Part::thought(read_thought(&mut block, vendor)),
        (Some("toolCall"), Side::Model(vendor)) => read_call(&mut block, vendor),
        _ => Part::opaque(side.origin(), Vendor::Agent, Value::Object(block.into_map())),
    };
    vec![part]
}

fn read_thought(block: &mut Object<'_>, vendor: Option<Vendor>) -> Thought {
    let text = block.take_string("thinking").unwrap_or_default();
    let signature = block.take_string("thinkingSignature").filter(|value| !value.is_empty());
    let (Some(value), Some(vendor)) = (signature, vendor) else {
        return Thought { text, signature: None, item: None };
    };
    if vendor != Vendor::OpenAiResponses {
        return Thought { text, signature: Some(Signature { vendor, value }), item: None };
    }
    // Here the whole reasoning item stands in place of a signature, as JSON.
    let mut item = Json::parse(&value).ok().and_then(Json::into_object).unwrap_or_default();
    let proof = item.take_string("encrypted_content");
    let signature = proof.map(|value| Signature { vendor, value });
    Thought { text, signature, item: item.take_string("id") }
}

fn read_call(block: &mut Object<'_>, vendor: Option<Vendor>) -> Part {
    let id = CallId::new(block.take_string("id").unwrap_or_default());
    let name = block.take_string("name").unwrap_or_default();
    let args = block.take("arguments").map_or_else(|| Value::Object(Map::new()), Json::into_value);
    let part = Part::call(ToolCall { id, name, args, reasoning: None });
    match (vendor, block.take("thoughtSignature")) {
        (Some(vendor), Some(signature)) => part
            .with_extra(vendor, Map::from_iter([("thoughtSignature".to_string(), signature.into_value())])),
        _ => part,
    }
}

/// pi counts cached tokens beside the input; we count them in. Answers that never came have zeros for figures.
fn read_usage(usage: &Json<'_>) -> Option<Usage> {
    let count = |key: &str| usage.get(key).and_then(Json::as_u64).map(TokenCount);
    let read = Usage {
        input: ["input", "cacheRead", "cacheWrite"].into_iter().map(count).sum(),
        output: count("output"),
        cached: count("cacheRead"),
        total: count("totalTokens"),
        ..Usage::default()
    };
    [read.input, read.output].iter().flatten().any(|count| *count > TokenCount::ZERO).then_some(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Session, read_session};

    fn read(lines: &[&str]) -> Session {
        read_session(lines.join("\n").as_bytes()).expect("it is a session")
    }

    const HEADER: &str = r#"{"type":"session","id":"s1","timestamp":"2025-11-20T23:33:50.805Z","cwd":"/work","provider":"p","modelId":"sonnet"}"#;

    /// A user's line without an id, as the first version wrote it.
    fn said(text: &str) -> String {
        format!(
            r#"{{"type":"message","timestamp":"2025-11-20T23:34:00Z","message":{{"role":"user","content":"{text}"}}}}"#
        )
    }

    fn texts(session: &Session) -> String {
        let messages = session.transcript.messages().iter();
        let texts: Vec<&str> =
            messages.flat_map(|message| &message.parts).filter_map(Part::as_text).collect();
        texts.join("|")
    }

    #[test]
    fn a_session_is_read_with_calls_results_and_usage() {
        let session = read(&[
            HEADER,
            &said("hello"),
            r#"{"type":"message","timestamp":"2025-11-20T23:34:01Z","message":{"role":"assistant","api":"anthropic-messages","model":"opus","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"sig"},{"type":"text","text":"I look."},{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a"},"partialJson":"{"}],"usage":{"input":1,"output":2,"cacheRead":30,"cacheWrite":4,"totalTokens":37},"stopReason":"toolUse"}}"#,
            r#"{"type":"message","timestamp":"2025-11-20T23:34:02Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"A"}],"details":{"diff":"x"},"isError":true}}"#,
            r#"{"type":"thinking_level_change","timestamp":"2025-11-20T23:34:03Z","thinkingLevel":"high"}"#,
            r#"{"type":"message","timestamp":"2025-11-20T23:34:04Z","message":{"role":"assistant","model":"opus","content":[],"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"stopReason":"aborted","errorMessage":"stopped"}}"#,
        ]);
        assert_eq!(session.info.format, Format::Pi);
        assert_eq!(session.info.session_id.as_deref(), Some("s1"));
        assert_eq!(session.info.directory.as_deref(), Some("/work"));
        assert_eq!(session.info.models, ["opus"]);
        assert_eq!(session.info.skipped.iter().collect::<Vec<_>>(), [("thinking_level_change", 1)]);
        let [_, called, answered, aborted] = session.transcript.messages() else { panic!("four messages") };
        let usage = called.usage.as_deref().expect("usage");
        assert_eq!((usage.input, usage.cached), (Some(TokenCount(35)), Some(TokenCount(30))));
        assert_eq!(session.info.last_usage, Some(*usage));
        let Body::Thought(thought) = &called.parts[0].body else { panic!("a thought") };
        assert_eq!(thought.signature.as_ref().map(|signature| signature.vendor), Some(Vendor::Anthropic));
        assert_eq!(
            called.calls().next().map(|call| call.args.to_string()).as_deref(),
            Some(r#"{"path":"a"}"#)
        );
        let result = answered.results().next().expect("a result");
        assert_eq!(*result, ToolResult::text("c1", "A").with_name("read").with_status(ToolStatus::Failed));
        assert!(aborted.parts.is_empty() && aborted.usage.is_none() && aborted.extra.is_some());
    }

    #[test]
    fn a_chosen_model_counts_where_none_answered() {
        assert_eq!(read(&[HEADER, &said("hello")]).info.model(), Some("sonnet"));
        let changed = r#"{"type":"model_change","timestamp":"2025-11-20T23:33:51Z","modelId":"haiku"}"#;
        assert_eq!(read(&[HEADER, changed]).info.model(), Some("haiku"));
    }

    #[test]
    fn a_compaction_starts_from_its_summary_and_what_was_kept() {
        let compaction = r#"{"type":"compaction","timestamp":"2025-11-20T23:35:00Z","summary":"so far","firstKeptEntryIndex":2,"tokensBefore":9}"#;
        let session = read(&[HEADER, &said("one"), &said("two"), compaction, &said("three")]);
        assert_eq!(texts(&session), "so far|two|three");
        assert_eq!(session.transcript.messages()[0].parts[0].origin, Origin::Summary);
        assert_eq!(session.info.compactions, 1);
    }

    #[test]
    fn the_newest_branch_is_the_conversation() {
        let entry = |id: &str, parent: &str| {
            format!(
                r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2025-11-20T23:34:00Z","message":{{"role":"user","content":[{{"type":"text","text":"{id}"}}]}}}}"#
            )
        };
        let summary = r#"{"type":"branch_summary","id":"s","parentId":"a","timestamp":"2025-11-20T23:36:00Z","fromId":"c","summary":"tried b"}"#;
        let lines = [
            HEADER.to_string(),
            entry("a", "null"),
            entry("b", "\"a\""),
            entry("c", "\"b\""),
            summary.into(),
            entry("d", "\"s\""),
        ];
        let session = read(&lines.each_ref().map(String::as_str));
        assert_eq!(texts(&session), "a|tried b|d");
        let compaction = r#"{"type":"compaction","id":"k","parentId":"d","timestamp":"2025-11-20T23:37:00Z","summary":"all","firstKeptEntryId":"d"}"#;
        let again = [&lines[..], &[compaction.into(), entry("e", "\"k\""), entry("a", "\"e\"")]].concat();
        let session = read(&again.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(texts(&session), "all|d|e|a");
        assert_eq!(session.warnings.len(), 1, "duplicate id a");
    }

    #[track_caller]
    fn check_message(message: &str, expected: &[(Origin, &str)]) {
        let line = format!(r#"{{"type":"message","timestamp":"2025-11-20T23:34:00Z","message":{message}}}"#);
        let session = read(&[HEADER, &line]);
        let parts = session.transcript.messages().iter().flat_map(|message| &message.parts);
        let seen: Vec<_> = parts.map(|part| (part.origin, part.as_text().unwrap_or_default())).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn each_text_has_its_origin() {
        check_message(r#"{"role":"user","content":"/them"}"#, &[(Origin::User, "/them")]);
        check_message(
            r#"{"role":"user","content":"<file name=\"a\">x</file>\nwhat is it?"}"#,
            &[(Origin::Tool, "<file name=\"a\">x</file>"), (Origin::User, "\nwhat is it?")],
        );
        check_message(r#"{"role":"custom","content":"note"}"#, &[(Origin::Hook, "note")]);
        check_message(
            r#"{"role":"hookMessage","content":[{"type":"text","text":"n"}]}"#,
            &[(Origin::Hook, "n")],
        );
        check_message(r#"{"role":"compactionSummary","summary":"s"}"#, &[(Origin::Summary, "s")]);
        check_message(
            r#"{"role":"bashExecution","command":"ls","output":"a b","exitCode":2}"#,
            &[(Origin::Hook, "$ ls\n"), (Origin::Tool, "a b"), (Origin::Hook, "\n(exit code 2)")],
        );
        check_message(r#"{"role":"bashExecution","command":"ls","excludeFromContext":true}"#, &[]);
        check_message(r#"{"role":"nobody"}"#, &[]);
    }

    #[test]
    fn signatures_belong_to_the_api_that_made_them() {
        let thought = |api: &str| {
            let block = r#"{"type":"thinking","thinking":"t","thinkingSignature":"{\"id\":\"rs_1\",\"encrypted_content\":\"e\"}"}"#;
            let mut block = Json::parse(block).ok().and_then(Json::into_object).expect("an object");
            let thought = read_thought(&mut block, vendor_of(api));
            (thought.signature.map(|signature| signature.vendor), thought.item)
        };
        let item = Some("rs_1".to_string());
        assert_eq!(thought("openai-responses"), (Some(Vendor::OpenAiResponses), item));
        assert_eq!(thought("google-generative-ai"), (Some(Vendor::Gemini), None));
        assert_eq!(thought("openai-completions"), (None, None));
    }
}
