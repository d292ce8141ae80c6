//! Reads Gemini `contents`: requests, bare lists, saved chats, and the neutral form built on them.

use longhaul_conversation::{Body, Origin, Part, Role};
use longhaul_wire::gemini::{read_content, read_head, read_part, read_rest};
use longhaul_wire::{CallIds, Intake, Json, Object, each_object};

use super::gemini::read_tokens;
use super::{Known, Reader};
use crate::Format;
use crate::info::Question;
use crate::out::Out;
use crate::records::{OPAQUE, decode_opaque, status_of_word};

/// The neutral form: contents with their source.
pub(crate) const NEUTRAL: Known = Known {
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
    /// True if contents and parts say what no request has: times, models, token figures and origins.
    is_neutral: bool,
}

impl Reader for Contents {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        let contents = match record {
            Json::Object(mut document) => {
                read_head(&mut document, out);
                read_about(&mut document, out);
                if self.is_neutral {
                    read_source(&document, out);
                }
                match document.take_list("contents") {
                    Some(contents) => {
                        if !self.is_neutral {
                            out.keep_fields(read_rest(document));
                        }
                        Some(contents)
                    }
                    None => document.take_list("history"),
                }
            }
            contents => contents.into_list(),
        };
        let contents = contents.unwrap_or_default();
        each_object(contents, "contents", out, |content, place, out| self.content(content, place, out));
    }
}

impl Contents {
    fn content(&mut self, mut content: Object<'_>, place: usize, out: &mut Out<'_>) {
        let stated = self.is_neutral.then(|| {
            let at = content.take("timestamp").as_ref().and_then(Json::as_time);
            let usage = content.take("tokens").as_ref().and_then(read_tokens).map(Box::new);
            (at, content.take_string("model"), usage)
        });
        let mut message = read_content(content, place, out, |part, role| self.part(part, role));
        (message.at, message.model, message.usage) = stated.unwrap_or_default();
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

/// The source named by a neutral session.
fn read_source(document: &Object<'_>, out: &mut Out<'_>) {
    let source = |key| document.get("source").and_then(|source| source.get(key)).and_then(Json::as_str);
    out.info.session_id = source("session").map(str::to_string);
    out.info.directory = source("directory").map(str::to_string);
}

/// The title and the questions of an evaluation.
fn read_about(document: &mut Object<'_>, out: &mut Out<'_>) {
    let title = document.take_string("description");
    let scenario = document.take_string("scenarioId");
    if let Some(name) = title.or(scenario) {
        out.info.title = Some(name);
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

#[cfg(test)]
mod tests {
    use super::super::outline::{outline, read_text};
    use super::*;
    use crate::read_session;
    use serde_json::{Value, json};

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
