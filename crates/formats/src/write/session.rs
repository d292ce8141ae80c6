//! Writes whole sessions: in their own format where that can be written, otherwise in the neutral form.

use longhaul_conversation::Request;
use longhaul_wire::{Loss, Losses, WireFormat, write_request};
use serde_json::Value;

use super::shared::lose_side_chains;
use super::{claude, codex, gemini_cli, neutral, opencode};
use crate::{Format, Session};

/// A session as a file of some format.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenSession {
    /// The content of the file.
    pub text: String,
    /// The format it is in: the one that was asked for, or the neutral form.
    pub format: Format,
    /// The losses in that format.
    pub lost: Vec<Loss>,
}

/// Writes a session in `format`; formats that cannot be written become the neutral form. The messages are taken out of the
/// session: of a long one, no second copy is held.
///
/// Read back, it has the same messages: their roles, parts, times and models, and their ids where the format has ids. Of
/// what the format cannot hold, all is reported but two things: requests in a provider's format carry no ids, times and
/// models of messages, and messages that say nothing are left out. A message without a time is given the one of the message
/// before it, where the format wants one.
///
/// ```
/// use longhaul_formats::{Format, read_session, write_session};
///
/// let file = r#"{"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}"#;
/// let mut session = read_session(file.as_bytes())?;
/// let said = session.transcript.messages()[0].parts.clone();
/// let written = write_session(Format::ClaudeCode, &mut session);
/// assert!(written.lost.is_empty());
/// let again = read_session(written.text.as_bytes())?;
/// assert_eq!(again.info.format, Format::ClaudeCode);
/// assert_eq!(again.transcript.messages()[0].parts, said);
/// # Ok::<(), longhaul_formats::ReadError>(())
/// ```
pub fn write_session(format: Format, session: &mut Session) -> WrittenSession {
    let mut losses = Losses::default();
    let (text, format) = match format {
        Format::GeminiJsonl => (gemini_cli::jsonl(session, &mut losses), format),
        Format::GeminiJson => (pretty(&gemini_cli::json(session, &mut losses)), format),
        Format::ClaudeCode => (claude::jsonl(session, &mut losses), format),
        Format::Codex => (codex::jsonl(session, &mut losses), format),
        Format::OpenCode => (pretty(&opencode::document(session, &mut losses)), format),
        _ => match request_format(format) {
            Some(target) => return write_as_request(target, format, session),
            None => {
                let document = neutral::document(session, &mut losses);
                session.transcript.take_messages();
                (pretty(&document), Format::Neutral)
            }
        },
    };
    session.transcript.take_messages();
    WrittenSession { text, format, lost: losses.into_list() }
}

/// The provider whose requests have this format.
fn request_format(format: Format) -> Option<WireFormat> {
    match format {
        Format::GeminiContents => Some(WireFormat::Gemini),
        Format::OpenAiChat => Some(WireFormat::OpenAi),
        Format::Anthropic => Some(WireFormat::Anthropic),
        _ => None,
    }
}

fn write_as_request(target: WireFormat, format: Format, session: &mut Session) -> WrittenSession {
    let request = Request {
        model: session.info.model().unwrap_or_default().to_string(),
        system: session.transcript.system.clone(),
        tools: session.transcript.tools.clone(),
        fields: session.info.request_fields.clone(),
        messages: session.transcript.take_messages(),
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
