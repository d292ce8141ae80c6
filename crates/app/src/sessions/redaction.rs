//! Redacts secrets from a session as it is read, before anything is derived from it, and counts them.

use std::collections::{BTreeMap, HashMap};

use longhaul_conversation::{Body, Change, Extra, Message, MessageId, Output, Part, Vendor};
use longhaul_formats::Session;
use longhaul_redact::{MARK, SecretFinding, SecretKind, find_secrets, has_secret, redact};
use serde_json::{Map, Value};

/// Field names that vendors seal: a changed character would make the value worthless.
const SEALED: &[&str] = &["signature", "thoughtSignature", "thought_signature", "encrypted_content"];

/// The longest secret that only its name reveals.
const LONGEST_NAMED: usize = 512;

/// Redacted secrets so far: counts by kind and place. The secrets themselves are not kept.
#[derive(Debug, Default)]
pub struct Redaction {
    /// In the order found.
    places: Vec<Place>,
    /// The index of each message's place.
    known: HashMap<MessageId, usize>,
}

/// A message, or another piece of a session, with its findings.
#[derive(Debug)]
struct Place {
    name: String,
    found: Counts,
}

type Counts = BTreeMap<SecretKind, usize>;

impl Redaction {
    /// Redacts a change before it is applied.
    pub fn change(&mut self, change: &mut Change) {
        match change {
            Change::Put(message) | Change::PutAfter { message, .. } => self.message(message),
            Change::Extend { id, parts } => {
                let found = in_parts(parts);
                let name = id.to_string();
                let place = self.place(id, name);
                add(&mut place.found, found);
            }
            Change::RewindTo(_) | Change::Restart | Change::Counted(_) => {}
        }
    }

    /// Redacts everything besides the changes: instruction, tools, title, sub-agents, warnings.
    pub fn surroundings(&mut self, session: &mut Session) {
        let Session { info, transcript, side_chains, warnings } = session;
        let named = [
            ("title", &mut info.title),
            ("session id", &mut info.session_id),
            ("directory", &mut info.directory),
        ];
        for (name, text) in named {
            self.note(name, text.as_mut().map(in_text).unwrap_or_default());
        }
        let mut system = in_parts(&mut transcript.system);
        in_parts(&mut info.system);
        for question in &mut info.questions {
            add(&mut system, in_text(&mut question.prompt));
            add(&mut system, in_text(&mut question.expected));
        }
        self.note("system", system);
        let mut tools = Counts::new();
        for tool in &mut transcript.tools {
            add(&mut tools, in_text(&mut tool.description));
            add(&mut tools, in_value(&mut tool.parameters));
        }
        info.tools.clone_from(&transcript.tools);
        self.note("tools", tools);
        self.note("request", in_extra(&mut info.request_fields));
        for message in side_chains.iter_mut().flat_map(|chain| &mut chain.messages) {
            self.message(message);
        }
        let mut reasons = Counts::new();
        for warning in warnings {
            add(&mut reasons, in_text(&mut warning.reason));
        }
        self.note("warnings", reasons);
    }

    /// Redacts a whole session.
    pub fn session(&mut self, session: &mut Session) {
        let mut messages = session.transcript.messages().to_vec();
        messages.iter_mut().for_each(|message| self.message(message));
        session.transcript = std::mem::take(&mut session.transcript).with_messages(messages);
        self.surroundings(session);
    }

    /// The number of redacted secrets.
    pub fn count(&self) -> usize {
        self.places.iter().flat_map(|place| place.found.values()).sum()
    }

    fn message(&mut self, message: &mut Message) {
        let mut found = in_parts(&mut message.parts);
        add(&mut found, in_extra(&mut message.extra));
        let mark = message.ordinal.map(|mark| mark.to_string());
        let place = self.place(&message.id, mark.unwrap_or_else(|| message.id.to_string()));
        // Formats repeat whole messages as they grow: each secret counts once.
        for (kind, count) in found {
            let known = place.found.entry(kind).or_default();
            *known = count.max(*known);
        }
    }

    fn place(&mut self, id: &MessageId, name: String) -> &mut Place {
        let next = self.places.len();
        let at = *self.known.entry(id.clone()).or_insert(next);
        if at == next {
            self.places.push(Place { name, found: Counts::new() });
        }
        &mut self.places[at]
    }

    fn note(&mut self, name: &str, found: Counts) {
        if !found.is_empty() {
            self.places.push(Place { name: name.to_string(), found });
        }
    }

    /// The kinds by name, each with its count and places.
    pub fn kinds(&self) -> BTreeMap<&'static str, (usize, Vec<&str>)> {
        let mut kinds: BTreeMap<&'static str, (usize, Vec<&str>)> = BTreeMap::new();
        for place in &self.places {
            for (kind, count) in &place.found {
                let (total, places) = kinds.entry(kind.name()).or_default();
                *total += count;
                places.push(&place.name);
            }
        }
        kinds
    }
}

fn add(counts: &mut Counts, more: Counts) {
    for (kind, count) in more {
        *counts.entry(kind).or_default() += count;
    }
}

fn counted(findings: &[SecretFinding]) -> Counts {
    let mut counts = Counts::new();
    for finding in findings {
        *counts.entry(finding.kind).or_default() += 1;
    }
    counts
}

fn in_parts(parts: &mut [Part]) -> Counts {
    let mut found = Counts::new();
    for part in parts {
        add(&mut found, in_body(&mut part.body));
        add(&mut found, in_extra(&mut part.extra));
    }
    found
}

fn in_body(body: &mut Body) -> Counts {
    match body {
        Body::Text(text) => in_text(text),
        Body::Thought(thought) => {
            let found = in_text(&mut thought.text);
            // Anthropic signs the very words: over others its signature would only be refused.
            if !found.is_empty() {
                thought.signature.take_if(|signature| signature.vendor == Vendor::Anthropic);
            }
            found
        }
        Body::Call(call) => in_value(&mut call.args),
        Body::Result(result) => {
            let mut found = match &mut result.output {
                Output::Empty => Counts::new(),
                Output::Text(text) => in_text(text),
                Output::Structured(value) => in_value(value),
            };
            add(&mut found, in_parts(&mut result.nested));
            found
        }
        Body::Media(_) => Counts::new(),
        Body::File(file) => in_text(&mut file.uri),
        Body::Opaque(opaque) => in_value(&mut opaque.value),
    }
}

fn in_extra(extra: &mut Option<Box<Extra>>) -> Counts {
    extra.as_mut().map(|extra| in_fields(&mut extra.fields)).unwrap_or_default()
}

fn in_text(text: &mut String) -> Counts {
    let redacted = redact(text);
    let found = counted(&redacted.findings);
    if !found.is_empty() {
        *text = redacted.text.into_owned();
    }
    found
}

fn in_value(value: &mut Value) -> Counts {
    match value {
        Value::String(text) => in_text(text),
        Value::Array(items) => {
            let mut found = Counts::new();
            items.iter_mut().for_each(|item| add(&mut found, in_value(item)));
            found
        }
        Value::Object(fields) => in_fields(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) => Counts::new(),
    }
}

fn in_fields(fields: &mut Map<String, Value>) -> Counts {
    let mut found = Counts::new();
    let is_media = ["mimeType", "mime_type", "media_type"].iter().any(|key| fields.contains_key(*key));
    for (key, value) in fields.iter_mut() {
        match value {
            Value::String(text) if is_media && key == "data" || is_sealed(key, text) => {}
            Value::String(text) => {
                add(&mut found, in_text(text));
                add(&mut found, in_named(key, text));
            }
            value => add(&mut found, in_value(value)),
        }
    }
    if fields.keys().any(|key| has_secret(key).is_some()) {
        let old = std::mem::take(fields);
        for (mut key, value) in old {
            add(&mut found, in_text(&mut key));
            fields.insert(key, value);
        }
    }
    found
}

/// Returns true if a vendor sealed this: one long base64 word under a known name.
fn is_sealed(key: &str, text: &str) -> bool {
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte);
    SEALED.contains(&key) && text.len() >= 64 && text.bytes().all(is_base64)
}

/// Finds secrets that only their name reveals: `{"password": …}`.
fn in_named(name: &str, text: &mut String) -> Counts {
    if text.is_empty() || text.len() > LONGEST_NAMED || text.contains(['"', '\\', '\n', '\r']) {
        return Counts::new();
    }
    let before = format!("\"{name}\": \"");
    let start = before.len();
    let mut findings = find_secrets(&format!("{before}{text}\""));
    findings.retain(|finding| finding.range.start >= start && finding.range.end <= start + text.len());
    for finding in findings.iter().rev() {
        text.replace_range(finding.range.start - start..finding.range.end - start, MARK);
    }
    counted(&findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{
        FileReference, Media, MediaData, Ordinal, Role, Signature, Thought, ToolCall, ToolResult,
    };
    use serde_json::json;

    /// A token that is real in all but that nobody issued it.
    fn token() -> String {
        ["ghp", "_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat()
    }

    #[track_caller]
    fn check_value(mut value: Value, expected: &Value, count: usize) {
        let found = in_value(&mut value);
        assert_eq!(value, *expected);
        assert_eq!(found.values().sum::<usize>(), count, "{found:?}");
    }

    #[test]
    fn strings_anywhere_in_json_are_searched() {
        let token = token();
        check_value(json!(format!("a {token} b")), &json!("a [REDACTED] b"), 1);
        check_value(
            json!({"a": [{"b": [token]}], "c": 1}),
            &json!({"a": [{"b": ["[REDACTED]"]}], "c": 1}),
            1,
        );
        check_value(json!({token: null, "z": true}), &json!({"[REDACTED]": null, "z": true}), 1);
        check_value(json!([1, null, "plain"]), &json!([1, null, "plain"]), 0);
    }

    #[test]
    fn a_name_can_give_its_value_away() {
        check_value(json!({"password": "kL9!mQx2"}), &json!({"password": "[REDACTED]"}), 1);
        check_value(
            json!({"env": {"DB_PASSWORD": "w4Tz8pQm1"}}),
            &json!({"env": {"DB_PASSWORD": "[REDACTED]"}}),
            1,
        );
        check_value(json!({"password": "${DB_PASSWORD}"}), &json!({"password": "${DB_PASSWORD}"}), 0);
        check_value(json!({"path": "kL9!mQx2"}), &json!({"path": "kL9!mQx2"}), 0);
        // Found once, not once in itself and once by its name.
        check_value(json!({"token": token()}), &json!({"token": "[REDACTED]"}), 1);
    }

    #[test]
    fn media_and_signatures_stay() {
        let sealed = format!("{}{}", token().replace('_', "/"), "Ab3+".repeat(20));
        let media = json!({"mimeType": "image/png", "data": sealed});
        check_value(media.clone(), &media, 0);
        let signed = json!({"thoughtSignature": sealed, "signature": sealed});
        check_value(signed.clone(), &signed, 0);
        // A short word under such a name is no seal.
        check_value(json!({"signature": token()}), &json!({"signature": "[REDACTED]"}), 1);
    }

    /// A message with a secret in every place that can hold text.
    fn leaky() -> Message {
        let text = || format!("use {} now", token());
        let thought = |vendor| {
            let signature = Some(Signature { vendor, value: "sealed".into() });
            Part::thought(Thought { text: text(), signature, item: Some("item".into()) })
        };
        let nested = vec![Part::user_text(text())];
        let structured = Output::Structured(json!({"output": text()}));
        let file = FileReference { mime: None, uri: "https://ann:0pen-Sesame@host/f".into() };
        let extra = |key: &str| Map::from_iter([(key.to_string(), json!(text()))]);
        let media = Media { mime: "image/png".into(), data: MediaData::Base64(token()) };
        let parts = vec![
            Part::user_text(text()),
            thought(Vendor::Gemini),
            thought(Vendor::Anthropic),
            Part::call(ToolCall::new("c1", "run").with_args(json!({"command": text()}))),
            Part::result(ToolResult { nested, ..ToolResult::text("c1", text()) }),
            Part::result(ToolResult { output: structured, ..ToolResult::text("c2", "") }),
            Part::new(longhaul_conversation::Origin::User, Body::File(Box::new(file))),
            Part::opaque(longhaul_conversation::Origin::Model, Vendor::Agent, json!([text()])),
            Part::new(longhaul_conversation::Origin::User, Body::Media(Box::new(media))),
            Part::user_text("plain").with_extra(Vendor::Agent, extra("note")),
        ];
        let extra = Extra::boxed(Vendor::Agent, extra("toolUseResult"));
        Message { ordinal: Some(Ordinal(7)), extra, ..Message::new("id", Role::User, parts) }
    }

    #[test]
    fn no_part_of_a_message_keeps_its_secret() {
        let mut redaction = Redaction::default();
        let mut change = Change::Put(leaky());
        redaction.change(&mut change);
        let Change::Put(mut message) = change else { unreachable!("it was put") };
        let media = message.parts.remove(8);
        assert!(format!("{media:?}").contains(&token()), "media stay as they are");
        let shown = format!("{message:?}");
        assert!(!shown.contains(&token()) && !shown.contains("0pen-Sesame"), "{shown}");
        let signed = message.parts.iter().filter(|part| format!("{part:?}").contains("sealed")).count();
        assert_eq!(signed, 1, "only Anthropic's signature is over the words");
        assert_eq!(redaction.count(), 11);
        assert_eq!(
            redaction.kinds(),
            BTreeMap::from([("github", (10, vec!["m7"])), ("url-password", (1, vec!["m7"]))])
        );
    }

    #[test]
    fn a_message_that_is_told_again_counts_once() {
        let mut redaction = Redaction::default();
        redaction.change(&mut Change::Put(leaky()));
        redaction.change(&mut Change::Put(leaky()));
        assert_eq!(redaction.count(), 11);
        let parts = vec![Part::user_text(token())];
        redaction.change(&mut Change::Extend { id: "id".into(), parts });
        assert_eq!(redaction.count(), 12);
        assert_eq!(redaction.kinds()["github"].1, ["m7"]);
    }
}
