//! What holds for every input, however broken. Property tests, real sessions and fuzzers all call these.

use std::collections::HashSet;

use longhaul_conversation::{
    Body, Media, MediaData, Message, Origin, Output, Part, Role, Signature, Thought, ToolCall, ToolResult,
    Vendor, find_faults, repair,
};
use longhaul_formats::{ReadError, Session, read_session, read_session_in};
use serde_json::json;

/// Reading never panics and gives the same twice; whatever was read can be repaired.
pub(crate) fn check_reading(bytes: &[u8]) -> Result<Session, ReadError> {
    let (first, second) = (read_session(bytes), read_session_in(bytes, &mut |_, _| {}));
    match (&first, &second) {
        (Ok(first), Ok(second)) => {
            assert_eq!(first.transcript.messages(), second.transcript.messages());
            let rest = |session: &Session| format!("{:?} {:?}", session.info, session.side_chains);
            assert_eq!(rest(first), rest(second));
            assert_eq!(first.warnings, second.warnings);
            assert_eq!(first.info.warnings.min(1000), first.warnings.len());
            check_repair(first.transcript.messages().to_vec());
            for side in &first.side_chains {
                check_repair(side.messages.clone());
            }
        }
        (Err(first), Err(second)) => {
            assert_eq!(first.to_string(), second.to_string());
            assert!(first.to_string().len() < 1000, "an error is a line, not the file: {first}");
        }
        _ => panic!("the same bytes were read once and refused once"),
    }
    first
}

/// A repaired conversation has no faults, says all it said before, and needs no second repair.
pub(crate) fn check_repair(messages: Vec<Message>) {
    let before = messages.clone();
    let repaired = repair(messages);
    assert_eq!(find_faults(&repaired.messages), []);
    if repaired.repairs.is_empty() {
        assert_eq!(before, repaired.messages);
    }
    check_kept(&before, &repaired.messages);
    let again = repair(repaired.messages.clone());
    assert!(again.repairs.is_empty() && again.messages == repaired.messages);
}

#[derive(Default)]
struct Said<'a> {
    texts: HashSet<std::borrow::Cow<'a, str>>,
    /// Texts that a repair made of something else; they end with what was said.
    marked: Vec<&'a str>,
    media: usize,
}

#[track_caller]
fn check_kept(before: &[Message], after: &[Message]) {
    let (before, after) = (said(before), said(after));
    for text in &before.texts {
        let is_kept =
            after.texts.contains(text) || after.marked.iter().any(|marked| marked.ends_with(&**text));
        assert!(is_kept, "lost: {text}");
    }
    assert!(after.media >= before.media, "lost {} of {} media", before.media - after.media, before.media);
}

fn said(messages: &[Message]) -> Said<'_> {
    let mut said = Said::default();
    for part in messages.iter().flat_map(|message| &message.parts) {
        said.add(part);
    }
    // Blank texts say nothing; providers refuse them.
    said.texts.retain(|text| !text.trim().is_empty());
    said
}

impl<'a> Said<'a> {
    fn add(&mut self, part: &'a Part) {
        match &part.body {
            Body::Text(text) => {
                self.texts.insert(text.into());
                if text.starts_with('[') {
                    self.marked.push(text);
                }
            }
            Body::Thought(thought) => drop(self.texts.insert((&thought.text).into())),
            Body::Call(call) => drop(self.texts.insert(call.args.to_string().into())),
            Body::Result(result) => {
                self.texts.insert(result.readable());
                // The texts of a result are read as one.
                result.nested.iter().filter(|part| part.as_text().is_none()).for_each(|part| self.add(part));
            }
            Body::Media(_) | Body::File(_) | Body::Opaque(_) => self.media += 1,
        }
    }
}

/// Makes a conversation of any bytes, valid or not: calls and results of a few ids on either side, nested, signed,
/// repeated, out of order.
pub(crate) fn any_conversation(bytes: &[u8]) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for (place, pair) in bytes.chunks(2).enumerate() {
        let (kind, id) = (pair[0], pair.get(1).copied().unwrap_or_default());
        let role = if kind & 1 == 0 { Role::User } else { Role::Model };
        let continues = kind & 2 != 0 && messages.last().is_some_and(|message| message.role == role);
        if !continues {
            // Ids may repeat: a side chain is only a list.
            messages.push(Message::new(format!("m{}", place / 2), role, Vec::new()));
        }
        let message = messages.last_mut().expect("there is one by now");
        message.parts.extend(any_part(kind >> 2, id, role, place));
    }
    messages
}

fn any_part(kind: u8, id: u8, role: Role, place: usize) -> Option<Part> {
    let origin = if role == Role::User { Origin::User } else { Origin::Model };
    let name = format!("c{}", id % 5);
    let text = match id % 7 {
        0 => String::new(),
        1 => " \n".into(),
        _ => format!("text {place}"),
    };
    let part = match kind % 8 {
        0 => return None,
        1 => Part::text(origin, text),
        2 | 3 => {
            let mut call = ToolCall::new(name, "tool").with_args(json!({ "place": place }));
            call.reasoning = (id & 64 != 0).then(|| format!("r{}", id % 3));
            Part::call(call)
        }
        4 => Part::result(ToolResult::text(name, text)),
        5 => {
            // Each level takes three bits of the kind, so that the nesting ends.
            let nested = [any_part(kind >> 3, id / 5, role, place), any_part(kind >> 3, id / 7, role, place)];
            let nested = nested.into_iter().flatten().collect();
            Part::result(ToolResult { output: Output::Empty, nested, ..ToolResult::text(name, "") })
        }
        6 => {
            let signature = Signature { vendor: Vendor::Anthropic, value: "s".into() };
            let item = (id & 32 != 0).then(|| format!("r{}", id % 3));
            Part::thought(Thought { text, signature: (id & 64 != 0).then_some(signature), item })
        }
        _ => {
            let data = MediaData::Base64("AAAA".into());
            Part::new(origin, Body::Media(Box::new(Media { mime: "image/png".into(), data })))
        }
    };
    Some(part)
}

/// However a user's text is divided among its authors, the pieces together are the text.
pub(crate) fn check_origins(text: &str) {
    for document in [
        json!([{"role": "user", "content": text}]),
        json!({"messages": [{"role": "user", "content": text}]}),
        json!({"system": "", "messages": [{"role": "user", "content": [{"type": "text", "text": text}]}]}),
        json!({"contents": [{"role": "user", "parts": [{"text": text}]}]}),
        json!({"input": [{"role": "user", "content": [{"type": "input_text", "text": text}]}]}),
        json!({"version": 1, "sessionId": "s", "messages": [{"role": "user", "content": text}]}),
        json!({"sessionId": "s", "messages": [{"id": "1", "type": "user", "content": text}]}),
        json!({"type": "user", "uuid": "u", "message": {"role": "user", "content": text}}),
        json!({"type": "message", "timestamp": "", "message": {"role": "user", "content": text}}),
        json!({"type": "response_item", "payload": {"type": "message", "role": "user", "content": text}}),
        json!({"trajectory_format": "mini-swe-agent", "messages": [{"role": "user", "content": text}]}),
        json!({"history": [{"role": "user", "content": text, "agent": "a"}]}),
        json!([{"source": "user", "action": "message", "args": {"content": text}}]),
    ] {
        let session = read_session(document.to_string().as_bytes()).expect("a session");
        let parts = session.transcript.messages().iter().flat_map(|message| &message.parts);
        assert_eq!(parts.filter_map(Part::as_text).collect::<String>(), text, "{}", session.info.format);
    }
}
