//! Reads Gemini `contents`: requests, bare lists, saved chats, and the neutral form built on them.

use std::collections::{HashMap, VecDeque};

use longhaul_conversation::{
    Body, CallId, FileReference, Media, MediaData, Message, MessageId, Origin, Output, Part, Role, Signature,
    Thought, ToolCall, ToolDeclaration, ToolResult, ToolStatus, Vendor,
};
use serde_json::{Map, Value};

use super::gemini::read_tokens;
use super::shared::each_object;
use super::{Known, Reader};
use crate::Format;
use crate::info::Question;
use crate::json::{Json, Object};
use crate::log::decode_opaque;
use crate::origins::{PLAIN, close_references, split_user_text};
use crate::out::Out;

/// The neutral form: contents with their source.
pub(super) const NEUTRAL: Known = Known {
    format: Format::Neutral,
    is_record: |_| false,
    is_document: |document| {
        let contents = document.get("contents");
        let is_empty = contents.and_then(Json::as_array).is_some_and(<[_]>::is_empty);
        (is_empty || is_contents(contents))
            && document.get("format").is_some()
            && document.get("source").is_some()
    },
    open: || Box::new(Contents { is_neutral: true, ..Contents::default() }),
    unread: &[],
};

/// A Gemini request, its contents alone, or a chat that Gemini CLI saved by hand.
pub(crate) const GEMINI: Known = Known {
    format: Format::GeminiContents,
    is_record: |_| false,
    is_document: |document| {
        is_contents(document.get("contents"))
            || is_contents(document.get("history"))
            || is_contents(Some(document))
    },
    open: || Box::new(Contents::default()),
    unread: &[],
};

fn is_contents(value: Option<&Json<'_>>) -> bool {
    let Some(items) = value.and_then(Json::as_array) else { return false };
    let is_content = |item: &Json<'_>| {
        item.get("parts").is_some_and(|parts| parts.as_array().is_some())
            || item.get("parts").is_none() && item.get("role").is_some() && item.get("content").is_none()
    };
    !items.is_empty() && items.iter().any(|item| item.get("parts").is_some()) && items.iter().all(is_content)
}

#[derive(Default)]
struct Contents {
    ids: CallIds,
    /// Whether contents and parts say what no request has: times, models, token figures and origins.
    is_neutral: bool,
}

impl Reader for Contents {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        let contents = match record {
            Json::Object(mut document) => {
                read_head(&mut document, out);
                if self.is_neutral {
                    read_source(&document, out);
                }
                document.take_list("contents").or_else(|| document.take_list("history"))
            }
            contents => contents.into_list(),
        };
        let contents = contents.unwrap_or_default();
        each_object(contents, "contents", out, |content, place, out| self.content(content, place, out));
    }
}

impl Contents {
    fn content(&mut self, mut content: Object<'_>, place: usize, out: &mut Out<'_>) {
        let role = match content.take_string("role").as_deref() {
            Some("user" | "function") | None => Role::User,
            Some("model") => Role::Model,
            Some(other) => {
                out.warn(format!("contents[{place}] has the unknown role {other:?}; read as user"));
                Role::User
            }
        };
        let id = out.unused_id(content.take_string("id").map(MessageId::new));
        let given = content.take_array("parts").unwrap_or_default();
        let mut parts = Vec::with_capacity(given.len());
        for part in given {
            parts.extend(self.part(part, role));
        }
        close_references(&mut parts);
        let mut message = Message::new(id, role, parts);
        if self.is_neutral {
            message.at = content.take("timestamp").as_ref().and_then(Json::as_time);
            message.model = content.take_string("model");
            message.usage = content.take("tokens").as_ref().and_then(read_tokens).map(Box::new);
        }
        message.extra = longhaul_conversation::Extra::boxed(Vendor::Gemini, content.into_map());
        out.put(message);
    }

    /// One part; an origin and a status that it states count for all of it.
    fn part(&mut self, mut part: Json<'_>, role: Role) -> Vec<Part> {
        let Json::Object(fields) = &mut part else { return read_part(part, role, &mut self.ids) };
        if !self.is_neutral {
            return read_part(part, role, &mut self.ids);
        }
        let origin = fields.take_string("origin").as_deref().and_then(Origin::from_word);
        let status = fields.take_string("status").as_deref().and_then(status_of_word);
        // Only the user's texts are split.
        let role = if origin.is_some() { Role::Model } else { role };
        let mut parts = read_part(part, role, &mut self.ids);
        for part in &mut parts {
            unpack_opaque(part);
            part.origin = origin.unwrap_or(part.origin);
            if let Body::Result(result) = &mut part.body {
                result.status = status.unwrap_or(result.status);
            }
        }
        parts
    }
}

/// The key under which the neutral form has items of other vendors.
pub(crate) const OPAQUE: &str = "opaque";

/// Reads an item that the neutral form has under [`OPAQUE`], also inside a result.
fn unpack_opaque(part: &mut Part) {
    match &mut part.body {
        Body::Opaque(opaque) => {
            let alone = opaque.value.as_object().filter(|fields| fields.len() == 1);
            let packed = alone.and_then(|fields| fields.get(OPAQUE)).cloned();
            if let Some(unpacked) = packed.and_then(decode_opaque) {
                **opaque = unpacked;
            }
        }
        Body::Result(result) => result.nested.iter_mut().for_each(unpack_opaque),
        _ => {}
    }
}

const STATUSES: [(&str, ToolStatus); 4] = [
    ("unstated", ToolStatus::Unstated),
    ("success", ToolStatus::Succeeded),
    ("error", ToolStatus::Failed),
    ("cancelled", ToolStatus::Cancelled),
];

/// The word for a status in Gemini CLI's tool calls and in the neutral form.
pub(crate) fn status_word(status: ToolStatus) -> &'static str {
    STATUSES.iter().find(|(_, known)| *known == status).map_or("unstated", |(word, _)| word)
}

/// The status that [`status_word`] writes as `word`.
pub(crate) fn status_of_word(word: &str) -> Option<ToolStatus> {
    STATUSES.iter().find(|(known, _)| *known == word).map(|(_, status)| *status)
}

/// The status of a response that states none: an `error` in it says that the call failed.
pub(crate) fn status_when_read(output: &Output) -> ToolStatus {
    match output {
        Output::Structured(value) if value.get("error").is_some_and(|error| !error.is_null()) => {
            ToolStatus::Failed
        }
        _ => ToolStatus::Unstated,
    }
}

/// Where a neutral session says it comes from.
fn read_source(document: &Object<'_>, out: &mut Out<'_>) {
    let source = |key| document.get("source").and_then(|source| source.get(key)).and_then(Json::as_str);
    out.info.session_id = source("session").map(str::to_string);
    out.info.directory = source("directory").map(str::to_string);
}

fn read_head(document: &mut Object<'_>, out: &mut Out<'_>) {
    if let Some(model) = document.str("model") {
        let model = model.strip_prefix("models/").unwrap_or(model).to_string();
        out.note(None, Some(&model), None);
    }
    for key in ["systemInstruction", "system_instruction", "system"] {
        match document.take(key) {
            Some(Json::String(text)) => out.info.system.push(Part::text(Origin::Hook, text)),
            Some(Json::Object(mut content)) => {
                let parts = content.take_array("parts").unwrap_or_default();
                out.info.system.extend(
                    parts
                        .into_iter()
                        .filter_map(|part| Some(Part::text(Origin::Hook, part.get("text")?.as_str()?))),
                );
            }
            _ => {}
        }
    }
    let tools = document.take_array("tools").unwrap_or_default();
    for tool in tools.into_iter().filter_map(Json::into_object) {
        let mut tool = tool;
        for key in ["functionDeclarations", "function_declarations"] {
            for declared in tool.take_array(key).unwrap_or_default().into_iter().filter_map(Json::into_object)
            {
                let mut declared = declared;
                out.info.tools.push(ToolDeclaration {
                    name: declared.take_string("name").unwrap_or_default(),
                    description: declared.take_string("description").unwrap_or_default(),
                    parameters: declared
                        .take("parameters")
                        .or_else(|| declared.take("parametersJsonSchema"))
                        .map_or(Value::Null, Json::into_value),
                });
            }
        }
    }
    if let Some(name) = document.str("description").or_else(|| document.str("scenarioId")) {
        out.info.title = Some(name.to_string());
    }
    for question in document.take_array("questions").unwrap_or_default() {
        if let (Some(prompt), Some(expected)) = (
            question.get("prompt").and_then(Json::as_str),
            question.get("expectedSubstring").and_then(Json::as_str),
        ) {
            out.info.questions.push(Question { prompt: prompt.into(), expected: expected.into() });
        }
    }
}

/// Invents ids for calls without one, and finds them again for the results.
#[derive(Clone, Debug, Default)]
pub(super) struct CallIds {
    count: usize,
    /// Calls without an id that wait for their result, by the tool's name, the oldest first.
    open: HashMap<String, VecDeque<CallId>>,
}

impl CallIds {
    /// An id for a call of `name` that has none.
    pub(super) fn of_call(&mut self, name: &str) -> CallId {
        self.count += 1;
        let id = CallId::made_up(self.count);
        self.open.entry(name.to_string()).or_default().push_back(id.clone());
        id
    }

    /// The id of the oldest open call of `name`, or a new one.
    pub(super) fn of_result(&mut self, name: &str) -> CallId {
        let oldest = self.open.get_mut(name).and_then(VecDeque::pop_front);
        oldest.unwrap_or_else(|| {
            self.count += 1;
            CallId::made_up(self.count)
        })
    }

    /// The call `id` of `name` has its result.
    pub(super) fn close(&mut self, name: &str, id: &CallId) {
        if let Some(open) = self.open.get_mut(name)
            && let Some(place) = open.iter().rposition(|open| open == id)
        {
            open.remove(place);
        }
    }
}

/// Reads one Gemini part; a text that a person only partly typed becomes several.
pub(super) fn read_part(part: Json<'_>, role: Role, ids: &mut CallIds) -> Vec<Part> {
    let origin = if role == Role::User { Origin::User } else { Origin::Model };
    let mut part = match part {
        Json::Object(part) => part,
        Json::String(text) => return text_parts(text.into_owned(), role),
        other => return vec![Part::opaque(origin, Vendor::Gemini, other.into_value())],
    };
    if let Some(text) = part.take_string("text") {
        if part.is_true("thought") {
            part.take("thought");
            let signature = part.take_string("thoughtSignature");
            let signature = signature.map(|value| Signature { vendor: Vendor::Gemini, value });
            let thought = Part::thought(Thought { text, signature, item: None });
            return vec![thought.with_extra(Vendor::Gemini, part.into_map())];
        }
        let extra = part.into_map();
        let mut parts = text_parts(text, role);
        if let Some(last) = parts.last_mut() {
            *last = last.clone().with_extra(Vendor::Gemini, extra);
        }
        return parts;
    }
    let (key, body, rest) = if let Some(call) = part.take_object("functionCall") {
        let (body, rest) = read_call(call, ids);
        ("functionCall", body, rest)
    } else if let Some(response) = part.take_object("functionResponse") {
        let (body, rest) = read_response(response, ids);
        ("functionResponse", body, rest)
    } else if let Some(media) = part.take_object("inlineData") {
        let (body, rest) = read_media(media);
        ("inlineData", body, rest)
    } else if let Some(mut file) = part.take_object("fileData") {
        let uri = file.take_string("fileUri").unwrap_or_default();
        let body = Body::File(Box::new(FileReference { mime: file.take_string("mimeType"), uri }));
        ("fileData", body, file)
    } else {
        let origin = if role == Role::User { Origin::Hook } else { Origin::Model };
        return vec![Part::opaque(origin, Vendor::Gemini, Value::Object(part.into_map()))];
    };
    let origin = if matches!(body, Body::Result(_)) { Origin::Tool } else { origin };
    let mut extra = part.into_map();
    if !rest.is_empty() {
        // What else the vendor said inside the call, the response or the file is written back into it.
        extra.insert(key.to_string(), Value::Object(rest.into_map()));
    }
    vec![Part::new(origin, body).with_extra(Vendor::Gemini, extra)]
}

/// The text of a message, split by who produced it.
pub(super) fn text_parts(text: String, role: Role) -> Vec<Part> {
    match role {
        Role::Model => vec![Part::model_text(text)],
        Role::User => split_user_text(text, &PLAIN),
    }
}

fn read_call<'a>(mut call: Object<'a>, ids: &mut CallIds) -> (Body, Object<'a>) {
    let name = call.take_string("name").unwrap_or_default();
    let id = call.take_string("id").map_or_else(|| ids.of_call(&name), CallId::new);
    let args = call.take("args").map_or_else(|| Value::Object(Map::new()), Json::into_value);
    (Body::Call(Box::new(ToolCall { id, name, args, reasoning: None })), call)
}

fn read_response<'a>(mut response: Object<'a>, ids: &mut CallIds) -> (Body, Object<'a>) {
    let name = response.take_string("name");
    let id = response.take_string("id");
    let call = id.map_or_else(|| ids.of_result(name.as_deref().unwrap_or_default()), CallId::new);
    let output = match response.take("response") {
        None | Some(Json::Null) => Output::Empty,
        Some(Json::String(text)) => Output::Text(text.into_owned()),
        Some(value) => Output::Structured(value.into_value()),
    };
    let status = status_when_read(&output);
    let nested = response.take_array("parts").unwrap_or_default();
    let nested = nested.into_iter().flat_map(|part| {
        read_part(part, Role::Model, ids).into_iter().map(|part| Part { origin: Origin::Tool, ..part })
    });
    let nested = nested.collect();
    (Body::Result(Box::new(ToolResult { call, name, status, output, nested })), response)
}

fn read_media(mut media: Object<'_>) -> (Body, Object<'_>) {
    let mime = media.take_string("mimeType").unwrap_or_default();
    let omitted = media.get("omittedBytes").and_then(Json::as_u64);
    let data = match (media.take_string("data"), omitted) {
        (Some(data), _) => MediaData::Base64(data),
        (None, bytes) => {
            media.take("omittedBytes");
            MediaData::Omitted { bytes: bytes.unwrap_or(0) }
        }
    };
    (Body::Media(Box::new(Media { mime, data })), media)
}

#[cfg(test)]
mod tests {
    use super::super::outline::{outline, read_text};
    use super::*;
    use crate::read_session;
    use serde_json::json;

    #[track_caller]
    fn check(document: &Value, format: Format, expected: &[&str]) {
        let session = read_text(&document.to_string());
        assert_eq!(session.info.format, format);
        assert_eq!(outline(session.transcript.messages()), expected);
    }

    #[test]
    fn only_the_neutral_form_states_origins_and_outcomes() {
        let contents = json!([
            {"role": "user", "parts": [
                {"text": "a <system-reminder>b</system-reminder>", "origin": "tool"},
                {"text": "go", "origin": "nobody"},
                {"functionResponse": {"id": "c", "name": "ls", "response": "none"}, "status": "cancelled"}]},
        ]);
        check(
            &json!({"source": {}, "format": "pi", "contents": contents}),
            Format::Neutral,
            &[
                "user: tool \"a <system-reminder>b</system-reminder>\", user \"go\", result c ls cancelled \"none\"",
            ],
        );
        check(
            &json!({"contents": contents}),
            Format::GeminiContents,
            &[
                "user: user \"a \", hook \"<system-reminder>b</system-reminder>\", user \"go\", result c ls \"none\"",
            ],
        );
    }

    #[test]
    fn the_neutral_form_keeps_times_models_and_where_it_comes_from() {
        let content = json!({"id": "a", "role": "model", "timestamp": "2026-01-02T03:04:05.000Z", "model": "m-1",
            "tokens": {"input": 7}, "parts": [{"text": "hi"}]});
        let source = json!({"session": "s-1", "directory": "/home/dev"});
        let session =
            read_text(&json!({"source": source, "format": "pi", "contents": [content]}).to_string());
        let message = &session.transcript.messages()[0];
        assert_eq!(message.at.map(|at| at.to_minute()).as_deref(), Some("2026-01-02 03:04"));
        assert_eq!((message.model.as_deref(), &message.extra), (Some("m-1"), &None));
        assert_eq!(message.usage.as_ref().and_then(|usage| usage.input).map(|input| input.0), Some(7));
        let info = session.info;
        assert_eq!((info.session_id.as_deref(), info.directory.as_deref()), (Some("s-1"), Some("/home/dev")));
    }

    #[test]
    fn an_id_that_is_used_twice_replaces_nothing() {
        let file = r#"[{"id":"a","role":"user","parts":[{"text":"1"}]},{"id":"a","role":"model","parts":[{"text":"2"}]},
            {"id":"lh-m4","role":"user","parts":[{"text":"3"}]},{"role":"model","parts":[{"text":"4"}]}]"#;
        let session = read_session(file.as_bytes()).expect("it is a session");
        let texts: Vec<_> =
            session.transcript.messages().iter().map(|message| message.parts.clone()).collect();
        assert_eq!(texts.concat().iter().filter_map(Part::as_text).collect::<String>(), "1234");
    }

    #[test]
    fn calls_without_ids_find_their_results_by_name() {
        let mut ids = CallIds::default();
        let calls = ["ls", "cat", "ls"].map(|name| ids.of_call(name));
        assert_eq!(ids.of_result("cat"), calls[1]);
        ids.close("ls", &calls[0]);
        assert_eq!(ids.of_result("ls"), calls[2]);
        assert!(!calls.contains(&ids.of_result("ls")));
    }
}
