//! Reads what a list shows of a session file: all of a small one, the two ends of a large one.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use longhaul_conversation::{Change, Estimator, Message, Origin, Part, Role, Transcript};
use longhaul_formats::{Event, ReadError, SessionInfo, read};
use longhaul_redact::redact;

use crate::agent::Agent;
use crate::error::StoreReadError;
use crate::head::{Head, TokenFigure};
use crate::marks;

/// Files up to this size are read whole.
const WHOLE: u64 = 1 << 19;
/// Of larger files with a record a line, so much is read at each end.
const END: u64 = 1 << 17;
/// A title has no more characters.
const TITLE: usize = 120;

/// The head of a session file; `None` if nothing was said in it yet.
///
/// What is being written is read as far as it is whole.
pub(crate) fn peek(agent: Agent, path: &Path, size: u64) -> Result<Option<Head>, StoreReadError> {
    let mut file = File::open(path)?;
    let has_lines = path.extension().is_some_and(|extension| extension == "jsonl");
    let (glance, tail) = if size <= WHOLE || !has_lines {
        match Glance::of(&mut file) {
            // The first line is still being written.
            Err(ReadError::Empty | ReadError::BrokenJson { .. }) if has_lines => return Ok(None),
            glance => (glance?, None),
        }
    } else {
        let start = first_lines(&mut file)?;
        let end = last_lines(&mut file, size)?;
        (Glance::of(&start[..])?, Glance::of(&end[..]).ok())
    };
    let Glance { info, first, transcript, is_own } = glance;
    if first.is_none() && transcript.messages().is_empty() && tail.is_none() {
        return Ok(None);
    }
    let is_whole = tail.is_none();
    let newest = tail.map(|tail| tail.info);
    let newest = newest.as_ref();
    let usage = newest.and_then(|info| info.last_usage).or(info.last_usage);
    let counted = usage.and_then(|usage| Some(usage.input?.0 + usage.output.unwrap_or_default().0));
    let estimate = || {
        let messages = Estimator::default().messages(transcript.messages()).0;
        let around = Estimator::default().parts(&info.system).0;
        is_whole.then_some(TokenFigure::estimated(messages + around))
    };
    let mut head = Head {
        id: info.session_id.clone().unwrap_or_default(),
        title: newest.and_then(|info| info.title.clone()).or(info.title.clone()).or(first),
        directory: info.directory.clone(),
        parent: None,
        started: info.started,
        updated: newest.and_then(|info| info.ended).max(info.ended),
        model: newest.and_then(|info| info.model()).or(info.model()).map(str::to_string),
        tokens: counted.map(TokenFigure::counted).or_else(estimate),
        window: newest.and_then(|info| info.window).or(info.window).map(|window| window.0),
        version: None,
        agent: is_own.then_some(Agent::Longhaul),
    };
    marks::complete(agent, path, &mut head);
    head.title = head.title.map(|title| one_line(&redact(&title).text));
    Ok(Some(head))
}

/// What reading a piece of a session shows.
struct Glance {
    info: SessionInfo,
    /// What a person typed first.
    first: Option<String>,
    transcript: Transcript,
    /// True if it has records of ours.
    is_own: bool,
}

impl Glance {
    fn of(input: impl Read) -> Result<Self, ReadError> {
        let mut first = None;
        let mut transcript = Transcript::default();
        let info = read(input, &mut |event| {
            if let Event::Change(change) = event {
                if first.is_none()
                    && let Change::Put(message) = &change
                {
                    first = typed(message);
                }
                transcript.apply(change);
            }
        })?;
        let is_own = info.skipped.iter().any(|(kind, _)| kind.starts_with("$longhaul"));
        Ok(Self { info, first, transcript, is_own })
    }
}

/// What a person typed in a message.
fn typed(message: &Message) -> Option<String> {
    let parts = message.parts.iter().filter(|part| part.origin == Origin::User && message.role == Role::User);
    let text: Vec<&str> = parts.filter_map(Part::as_text).filter(|text| !text.trim().is_empty()).collect();
    (!text.is_empty()).then(|| text.join(" "))
}

fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.chars().count() + word.chars().count() >= TITLE {
            line.push('…');
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().take(TITLE));
    }
    line
}

/// The first lines, whole ones only, unless already the first is longer than what is read.
fn first_lines(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(END).read_to_end(&mut bytes)?;
    if let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') {
        bytes.truncate(end + 1);
        return Ok(bytes);
    }
    file.take(8 << 20).read_to_end(&mut bytes)?;
    if let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
        bytes.truncate(end + 1);
    }
    Ok(bytes)
}

/// The last lines, whole ones only.
fn last_lines(file: &mut File, size: u64) -> std::io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(size.saturating_sub(END)))?;
    let mut bytes = Vec::new();
    file.take(END).read_to_end(&mut bytes)?;
    let start = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
    bytes.drain(..start);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_has_the_tokens_and_the_window_that_the_file_states() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rollout.jsonl");
        let text = r#"{"timestamp":"2026-11-01T10:00:00Z","type":"session_meta","payload":{"id":"s-1","cwd":"/srv/shop"}}
{"timestamp":"2026-11-01T10:00:01Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello"}]}}
{"timestamp":"2026-11-01T10:00:02Z","type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":{"input_tokens":20,"output_tokens":15,"total_tokens":35},"model_context_window":16000}}}
"#;
        std::fs::write(&path, text).expect("written");
        let head = peek(Agent::Codex, &path, text.len() as u64).expect("read").expect("a session");
        assert_eq!((head.id.as_str(), head.window), ("s-1", Some(16_000)));
        assert_eq!(head.tokens, Some(TokenFigure::counted(35)));
    }
}
