//! Writes messages down in a short form that tests can compare.

use longhaul_conversation::{Body, MediaData, Message, Output, Part, ToolStatus};

use crate::{Format, Session, read_session};

/// Reads a text that can be read.
#[track_caller]
pub(crate) fn read_text(text: &str) -> Session {
    read_session(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// One line for each message.
pub(crate) fn outline(messages: &[Message]) -> Vec<String> {
    messages.iter().map(|message| format!("{}: {}", message.role.as_str(), parts(&message.parts))).collect()
}

fn parts(parts: &[Part]) -> String {
    parts.iter().map(part).collect::<Vec<_>>().join(", ")
}

fn part(part: &Part) -> String {
    match &part.body {
        Body::Text(text) => format!("{} {text:?}", part.origin),
        Body::Thought(thought) => {
            let signed = thought.signature.as_ref().map(|signature| format!(" signed {}", signature.value));
            let item = thought.item.as_ref().map(|item| format!(" item {item}"));
            format!("thought {:?}{}{}", thought.text, signed.unwrap_or_default(), item.unwrap_or_default())
        }
        Body::Call(call) => {
            let after = call.reasoning.as_ref().map(|reasoning| format!(" after {reasoning}"));
            format!("call {} {} {}{}", call.id, call.name, call.args, after.unwrap_or_default())
        }
        Body::Result(result) => {
            let name = result.name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
            let status = match result.status {
                ToolStatus::Unstated => "",
                ToolStatus::Succeeded => " succeeded",
                ToolStatus::Failed => " failed",
                ToolStatus::Cancelled => " cancelled",
            };
            let output = match &result.output {
                Output::Empty => String::new(),
                Output::Text(text) => format!(" {text:?}"),
                Output::Structured(value) => format!(" {value}"),
            };
            let nested = match result.nested.as_slice() {
                [] => String::new(),
                nested => format!(" nested [{}]", parts(nested)),
            };
            format!("result {}{name}{status}{output}{nested}", result.call)
        }
        Body::Media(media) => match &media.data {
            MediaData::Base64(data) => format!("media {} {data}", media.mime),
            MediaData::Omitted { bytes } => format!("media {} of {bytes} bytes", media.mime),
        },
        Body::File(file) => format!("file {}", file.uri),
        Body::Opaque(opaque) => format!("opaque {}", opaque.value),
    }
}

/// Checks a file's format and parts, which are written `origin: text`, `call id name arguments` and
/// `result id status text`.
#[track_caller]
pub(super) fn check_outline(file: &str, format: Format, expected: &[&str]) {
    let session = read_text(file);
    assert_eq!(session.info.format, format);
    let parts = session.transcript.messages().iter().flat_map(|message| &message.parts);
    assert_eq!(parts.map(short).collect::<Vec<_>>(), expected);
}

fn short(part: &Part) -> String {
    match &part.body {
        Body::Text(text) => format!("{}: {text}", part.origin),
        Body::Thought(thought) => format!("thought: {}", thought.text),
        Body::Call(call) => format!("call {} {} {}", call.id, call.name, call.args),
        Body::Result(result) => format!("result {} {:?} {}", result.call, result.status, result.readable()),
        other => format!("{}: {other:?}", part.origin),
    }
}
