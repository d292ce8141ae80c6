//! Reads sessions: the flow from bytes to events, and the list of known formats.

mod aider;
pub(crate) mod anthropic;
mod antigravity;
mod chat_pieces;
pub(crate) mod claude;
mod cline;
pub(crate) mod codex;
pub(crate) mod contents;
mod copilot;
mod cursor;
mod displayed;
mod droid;
pub(crate) mod gemini;
mod goose;
mod kimi;
#[cfg(test)]
mod long_lists;
mod mini_swe;
pub(crate) mod openai;
pub(crate) mod opencode;
mod openhands;
mod openhands_sdk;
#[cfg(test)]
pub(crate) mod outline;
mod pi;
mod qwen;
mod responses;
mod responses_recording;
mod swe_agent;
mod task;
mod tree;
mod vscode;

use std::collections::HashMap;
use std::io::Read;

use longhaul_conversation::{Change, Message, Transcript};
use longhaul_wire::{Json, Object, explain, mend, text_of};

use crate::detect::{Found, find_format, find_format_in};
use crate::lines::{Input, Line, Lines};
use crate::out::{Memory, Out};
use crate::{Event, Format, ReadError, SessionInfo, Warning};

/// Reads one format, record by record.
pub(crate) trait Reader {
    /// Takes one line of a JSONL file, or the whole of a JSON file.
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>);

    /// The input has ended.
    fn finish(&mut self, _out: &mut Out<'_>) {}
}

/// The detection rules of a JSON format.
pub(crate) struct Known {
    pub(crate) format: Format,
    /// True if a line of a JSONL file is of this format.
    pub(crate) is_record: fn(&Object<'_>) -> bool,
    /// True if a whole JSON file is of this format.
    pub(crate) is_document: fn(&Json<'_>) -> bool,
    pub(crate) open: fn() -> Box<dyn Reader>,
    /// Top-level fields of records that are large and never needed.
    pub(crate) unread: &'static [&'static str],
}

/// The detection rule of a plain-text format.
pub(crate) struct KnownText {
    pub(crate) format: Format,
    /// True if a file whose first line this is, blank ones apart, is of this format.
    pub(crate) is_first_line: fn(&str) -> bool,
    pub(crate) read: fn(&str, &mut Out<'_>),
}

/// The formats made of JSON; the first that recognises a file reads it. Agents that keep a provider's messages in a form
/// of their own stand before the providers, and plain messages, which any could have written, go to the last.
pub(crate) static KNOWN: &[Known] = &[
    qwen::KNOWN,
    claude::KNOWN,
    gemini::JSONL,
    gemini::JSON,
    openhands::KNOWN,
    openhands_sdk::KNOWN,
    swe_agent::KNOWN,
    mini_swe::KNOWN,
    responses_recording::KNOWN,
    codex::KNOWN,
    pi::KNOWN,
    copilot::KNOWN,
    kimi::KNOWN,
    droid::KNOWN,
    antigravity::KNOWN,
    opencode::KNOWN,
    goose::KNOWN,
    vscode::KNOWN,
    cursor::KNOWN,
    cline::KNOWN,
    contents::NEUTRAL,
    contents::GEMINI,
    responses::KNOWN,
    anthropic::KNOWN,
    openai::KNOWN,
];

/// The formats that are plain text.
pub(crate) static KNOWN_TEXTS: &[KnownText] = &[aider::KNOWN];

/// A session, read whole.
#[derive(Clone, Debug)]
pub struct Session {
    /// The metadata of the file.
    pub info: SessionInfo,
    /// The conversation as it stood at the end.
    pub transcript: Transcript,
    /// Conversations of sub-agents, in order of appearance.
    pub side_chains: Vec<SideChain>,
    /// The warnings.
    pub warnings: Vec<Warning>,
}

/// A sub-agent's conversation, which the main one did not see.
#[derive(Clone, Debug)]
pub struct SideChain {
    /// Names it.
    pub id: String,
    /// The messages.
    pub messages: Vec<Message>,
}

/// Reads a session of any known format and hands each piece to `sink` as it is found.
///
/// Memory stays bounded, whatever the size of the session. There is one price: where a log undoes a compaction of more
/// than that, the messages from before cannot be handed over a second time, and a warning says so.
pub fn read(input: impl Read, sink: &mut dyn FnMut(Event)) -> Result<SessionInfo, ReadError> {
    read_with(input, Memory::Bounded, sink)
}

fn read_with(
    input: impl Read,
    memory: Memory,
    sink: &mut dyn FnMut(Event),
) -> Result<SessionInfo, ReadError> {
    find_format(Lines::of(input), |found, rest| read_found(found, rest, memory, sink))
}

pub(crate) fn read_found<I: Input>(
    found: Found<'_>,
    rest: Option<Lines<I>>,
    memory: Memory,
    sink: &mut dyn FnMut(Event),
) -> Result<SessionInfo, ReadError> {
    match found {
        Found::Lines { known, head } => {
            let mut out = Out::new(known.format, sink).with_memory(memory);
            let mut reader = (known.open)();
            for line in head {
                read_line(known, reader.as_mut(), &line.as_line(), &mut out);
            }
            if let Some(mut lines) = rest {
                while let Some(line) = lines.next()? {
                    read_line(known, reader.as_mut(), &line, &mut out);
                }
            }
            out.at_line(None);
            reader.finish(&mut out);
            Ok(out.info)
        }
        Found::Document { known, document, lossy, mended } => {
            let mut out = Out::new(known.format, sink).with_memory(memory);
            warn_about_text(lossy, mended, &mut out);
            let mut reader = (known.open)();
            reader.record(document, &mut out);
            reader.finish(&mut out);
            Ok(out.info)
        }
        Found::Text { known, text, lossy } => {
            let mut out = Out::new(known.format, sink).with_memory(memory);
            warn_about_text(lossy, false, &mut out);
            (known.read)(text, &mut out);
            Ok(out.info)
        }
    }
}

pub(crate) fn read_line(known: &'static Known, reader: &mut dyn Reader, line: &Line<'_>, out: &mut Out<'_>) {
    out.at_line(Some(line.number));
    let (text, lossy) = text_of(line.bytes);
    match Json::parse_without(&text, known.unread) {
        Ok(record) => {
            warn_about_text(lossy, false, out);
            reader.record(record, out);
        }
        Err(error) => {
            let mended = mend(&text);
            match mended.as_deref().map(|mended| Json::parse_without(mended, known.unread)) {
                Some(Ok(record)) => {
                    warn_about_text(lossy, true, out);
                    reader.record(record, out);
                }
                _ => out.warn(explain(&error, line.closed)),
            }
        }
    }
}

fn warn_about_text(lossy: bool, mended: bool, out: &mut Out<'_>) {
    if lossy {
        out.warn("invalid UTF-8; invalid characters were replaced");
    }
    if mended {
        out.warn("invalid characters in a string were replaced");
    }
}

/// Reads a session of any known format and collects it.
pub fn read_session(input: impl Read) -> Result<Session, ReadError> {
    read_session_watched(input, &mut |_, _| {})
}

/// As [`read_session`], but shows each change before it is carried out, with what it is done to: also those whose messages
/// are compacted away or taken back later.
pub fn read_session_watched(
    input: impl Read,
    watch: &mut dyn FnMut(&mut Change, &mut Transcript),
) -> Result<Session, ReadError> {
    collect(watch, |sink| read_with(input, Memory::Whole, sink))
}

/// As [`read_session_watched`], of a session that is in memory already: one JSON value is read where it is.
pub fn read_session_in(
    bytes: &[u8],
    watch: &mut dyn FnMut(&mut Change, &mut Transcript),
) -> Result<Session, ReadError> {
    collect(watch, |sink| find_format_in(bytes, |found, rest| read_found(found, rest, Memory::Whole, sink)))
}

/// The pieces of a session that were read so far.
#[derive(Default)]
pub(crate) struct Collector {
    pub(crate) transcript: Transcript,
    side_chains: Vec<SideChain>,
    places: HashMap<String, usize>,
    warnings: Vec<Warning>,
}

impl Collector {
    pub(crate) fn take(&mut self, event: Event) {
        match event {
            Event::Change(change) => self.transcript.apply(change),
            Event::Side { chain, message } => {
                let place = *self.places.entry(chain).or_insert_with_key(|chain| {
                    self.side_chains.push(SideChain { id: chain.clone(), messages: Vec::new() });
                    self.side_chains.len() - 1
                });
                self.side_chains[place].messages.push(message);
            }
            Event::Warning(warning) => self.warnings.push(warning),
            Event::Call(_) | Event::CompactionStart | Event::CompactionEnd => {}
        }
    }

    pub(crate) fn finish(self, info: SessionInfo) -> Session {
        let Self { mut transcript, side_chains, warnings, .. } = self;
        transcript.system.clone_from(&info.system);
        transcript.tools.clone_from(&info.tools);
        Session { info, transcript, side_chains, warnings }
    }
}

/// Collects what `read` hands over.
pub(crate) fn collect(
    watch: &mut dyn FnMut(&mut Change, &mut Transcript),
    read: impl FnOnce(&mut dyn FnMut(Event)) -> Result<SessionInfo, ReadError>,
) -> Result<Session, ReadError> {
    let mut collector = Collector::default();
    let info = read(&mut |mut event| {
        if let Event::Change(change) = &mut event {
            watch(change, &mut collector.transcript);
        }
        collector.take(event);
    })?;
    Ok(collector.finish(info))
}
