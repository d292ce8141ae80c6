//! For tests: a session as short lines, one for each part.

use longhaul_conversation::{Body, Part};

use crate::{Format, Session, read_session};

/// Reads a file that must be readable.
#[track_caller]
pub(super) fn read_whole(file: &str) -> Session {
    read_session(file.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

/// Checks a file's format and parts, which are written `origin: text`, `call id name arguments` and
/// `result id status text`.
#[track_caller]
pub(super) fn check_outline(file: &str, format: Format, expected: &[&str]) {
    let session = read_whole(file);
    assert_eq!(session.info.format, format);
    let parts = session.transcript.messages().iter().flat_map(|message| &message.parts);
    assert_eq!(parts.map(outline).collect::<Vec<_>>(), expected);
}

fn outline(part: &Part) -> String {
    match &part.body {
        Body::Text(text) => format!("{}: {text}", part.origin),
        Body::Thought(thought) => format!("thought: {}", thought.text),
        Body::Call(call) => format!("call {} {} {}", call.id, call.name, call.args),
        Body::Result(result) => format!("result {} {:?} {}", result.call, result.status, result.readable()),
        other => format!("{}: {other:?}", part.origin),
    }
}
