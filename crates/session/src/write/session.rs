//! Writes whole sessions: in their own format where that can be written, otherwise in the neutral form.

use longhaul_conversation::{Fingerprint, Message, Part, Request, Role, Timestamp, fingerprint_message};
use longhaul_wire::{Loss, LossKind, Losses, WireFormat, lose_fields, write_request};
use serde_json::Value;

use super::{claude, gemini_cli, neutral};
use crate::{Format, Session};

/// A session as a file of some format.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenSession {
    /// The content of the file.
    pub text: String,
    /// The format it is in: the one that was asked for, or the neutral form.
    pub format: Format,
    /// What that format has no place for.
    pub lost: Vec<Loss>,
}

/// Writes a session in `format`; formats that cannot be written become the neutral form.
///
/// Read back, it has the same messages: their roles, parts, times and models, and their ids where the format has ids. Of
/// what the format cannot hold, all is reported but two things: requests in a provider's format carry no ids, times and
/// models of messages, and messages that say nothing are left out. A message without a time is given the one of the message
/// before it, where the format wants one.
///
/// ```
/// use longhaul_session::{Format, read_session, write_session};
///
/// let file = r#"{"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}"#;
/// let session = read_session(file.as_bytes())?;
/// let written = write_session(Format::ClaudeCode, &session);
/// assert!(written.lost.is_empty());
/// let again = read_session(written.text.as_bytes())?;
/// assert_eq!(again.info.format, Format::ClaudeCode);
/// assert_eq!(again.transcript.messages()[0].parts, session.transcript.messages()[0].parts);
/// # Ok::<(), longhaul_session::ReadError>(())
/// ```
pub fn write_session(format: Format, session: &Session) -> WrittenSession {
    let mut losses = Losses::default();
    let written =
        |text: String, format, losses: Losses| WrittenSession { text, format, lost: losses.into_list() };
    match format {
        Format::GeminiJsonl => written(gemini_cli::jsonl(session, &mut losses), format, losses),
        Format::GeminiJson => written(pretty(&gemini_cli::json(session, &mut losses)), format, losses),
        Format::ClaudeCode => written(claude::jsonl(session, &mut losses), format, losses),
        _ => match request_target(format) {
            Some(target) => {
                write_as_request(target, format, session, || session.transcript.messages().to_vec())
            }
            None => written(pretty(&neutral::document(session, &mut losses)), Format::Neutral, losses),
        },
    }
}

/// As [`write_session`], but takes the messages out of the session: of a long one, no second copy is held.
pub fn write_session_taking(format: Format, session: &mut Session) -> WrittenSession {
    match (format, request_target(format)) {
        (_, Some(target)) => {
            let messages = session.transcript.take_messages();
            write_as_request(target, format, session, || messages)
        }
        (Format::GeminiJsonl | Format::GeminiJson | Format::ClaudeCode, None) => {
            let written = write_session(format, session);
            session.transcript.take_messages();
            written
        }
        (_, None) => {
            let mut losses = Losses::default();
            let document = neutral::document(session, &mut losses);
            drop(session.transcript.take_messages());
            WrittenSession { text: pretty(&document), format: Format::Neutral, lost: losses.into_list() }
        }
    }
}

/// The provider whose requests have this format.
fn request_target(format: Format) -> Option<WireFormat> {
    match format {
        Format::GeminiContents => Some(WireFormat::Gemini),
        Format::OpenAiChat => Some(WireFormat::OpenAi),
        Format::Anthropic => Some(WireFormat::Anthropic),
        _ => None,
    }
}

fn write_as_request(
    target: WireFormat,
    format: Format,
    session: &Session,
    messages: impl FnOnce() -> Vec<Message>,
) -> WrittenSession {
    let request = Request {
        model: session.info.model().unwrap_or_default().to_string(),
        system: session.transcript.system.clone(),
        tools: session.transcript.tools.clone(),
        fields: session.info.request_fields.clone(),
        messages: messages(),
        ..Request::default()
    };
    let mut written = write_request(target, request);
    let mut losses = Losses::default();
    lose_side_chains(session, &mut losses);
    written.lost.extend(losses.into_list());
    WrittenSession { text: pretty(&written.value), format, lost: written.lost }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// Adds a value as a line of its own.
pub(crate) fn push_line(text: &mut String, value: &Value) {
    text.push_str(&value.to_string());
    text.push('\n');
}

/// Reports the instruction and the tools, which a log of messages has no place for.
pub(super) fn lose_setup(session: &Session, losses: &mut Losses) {
    losses.at_session();
    if !session.transcript.system.is_empty() {
        losses.add(LossKind::System, "");
    }
    if !session.transcript.tools.is_empty() {
        losses.add(LossKind::Tools, session.transcript.tools.len().to_string());
    }
    lose_request_fields(session, losses);
}

/// Reports the fields of the request that a session was read from.
pub(super) fn lose_request_fields(session: &Session, losses: &mut Losses) {
    losses.at_session();
    lose_fields(&session.info.request_fields, losses);
}

/// Reports the conversations of sub-agents.
pub(super) fn lose_side_chains(session: &Session, losses: &mut Losses) {
    losses.at_session();
    for chain in &session.side_chains {
        losses.add(LossKind::SideChain, &chain.id);
    }
}

/// The time to write for a message: its own, or the last one that was known.
#[derive(Default)]
pub(super) struct Clock(Option<Timestamp>);

impl Clock {
    /// Starts when the session did.
    pub(super) fn of(session: &Session) -> Self {
        let times = session.transcript.messages().iter().filter_map(|message| message.at);
        Self(session.info.started.or_else(|| times.min()))
    }

    pub(super) fn at(&mut self, message: &Message) -> Option<Timestamp> {
        self.0 = message.at.or(self.0);
        self.0
    }
}

/// The session's id, or one made from what was said.
pub(super) fn session_id(session: &Session) -> String {
    session.info.session_id.clone().unwrap_or_else(|| {
        let messages = session.transcript.messages();
        let prints: Vec<String> = messages.iter().map(|m| fingerprint_message(m).to_string()).collect();
        derived_uuid(&prints.concat())
    })
}

/// A UUID that is always the same for the same seed.
pub(super) fn derived_uuid(seed: &str) -> String {
    let digits = hash(seed).to_string();
    // Version 8 is for values of one's own making.
    format!("{}-{}-8{}-8{}-{}", &digits[..8], &digits[8..12], &digits[13..16], &digits[17..20], &digits[20..])
}

/// A hash of a text.
pub(super) fn hash(text: &str) -> Fingerprint {
    fingerprint_message(&Message::new("", Role::User, vec![Part::user_text(text)]))
}
