//! Begins a session where another one is.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use longhaul_conversation::MessageId;
use serde_json::json;

use super::file::{LogHealth, failed};
use super::{Compaction, CompactionReport, Entry, EntryKind, Log, LogError, NewSession, Replay, Setup};
use crate::json::Json;
use crate::lines::text_of;

impl Log {
    /// Begins another session with all that happened in this one, up to the message `through` if one is named.
    ///
    /// # Errors
    /// As [`Log::create`], and [`LogError::NoSuchMessage`].
    pub fn fork(
        &self,
        folder: &Path,
        new: &NewSession,
        through: Option<&MessageId>,
    ) -> Result<Self, LogError> {
        if self.health == LogHealth::Recording && self.pending.is_empty() {
            return Self::fork_of(self.path(), folder, new, through);
        }
        // The file does not have it all.
        let end = place_behind(&self.replay, through)?;
        let mut fork = Self::create(folder, new)?;
        let info = self.replay.info();
        let setup = Setup { system: info.system.clone(), tools: info.tools.clone() };
        if setup != Setup::default() {
            let id = format!("{}-setup", new.id);
            fork.record(&Entry { id, at: Some(new.at), kind: EntryKind::Setup(setup) })?;
        }
        fork.append_all(self.replay.messages())?;
        if self.replay.branch().is_rewritten() {
            let messages = self.replay.transcript().into_messages();
            let report = CompactionReport { reason: "carried over by a fork".into(), ..Default::default() };
            let kind = EntryKind::Compaction(Compaction { report, messages });
            fork.record(&Entry { id: format!("{}-view", new.id), at: Some(new.at), kind })?;
        }
        if let Some(state) = self.replay.state() {
            fork.keep_state(state, Some(new.at))?;
        }
        fork.cut_behind(end)
    }

    /// As [`Log::fork`], of a session that another process may be writing.
    ///
    /// # Errors
    /// As [`Log::create`], [`LogError::NoSuchMessage`], or what prevents the source from being read.
    pub fn fork_of(
        source: &Path,
        folder: &Path,
        new: &NewSession,
        through: Option<&MessageId>,
    ) -> Result<Self, LogError> {
        let reading = |cause| failed("read", source, cause);
        let mut lines = String::new();
        let mut input = BufReader::with_capacity(1 << 18, File::open(source).map_err(reading)?);
        let mut replay = Replay::default();
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            if input.read_until(b'\n', &mut bytes).map_err(reading)? == 0 {
                break;
            }
            if let Some(text) = carried_over(&bytes) {
                replay.take_text(&text);
                lines.push_str(&text);
                lines.push('\n');
            }
        }
        let end = place_behind(&replay, through)?;
        let mut fork = Self::create(folder, new)?;
        for text in lines.lines() {
            fork.replay.take_text(text);
        }
        fork.pending = lines;
        fork.write_pending()?;
        fork.cut_behind(end)
    }

    /// Takes back the messages from this place on.
    fn cut_behind(mut self, end: Option<usize>) -> Result<Self, LogError> {
        if let Some(next) = end.and_then(|end| self.replay.messages().get(end)) {
            let id = next.id.clone();
            self.rewind_to(&id)?;
        }
        Ok(self)
    }
}

/// How many messages there are up to this one.
fn place_behind(replay: &Replay, through: Option<&MessageId>) -> Result<Option<usize>, LogError> {
    let Some(id) = through else { return Ok(None) };
    let place = replay.branch().position(id);
    place.map(|place| Some(place + 1)).ok_or_else(|| LogError::NoSuchMessage { id: id.clone() })
}

/// A line of one log as a line of another. A line that is being written is not there yet, and the new session has a header
/// of its own; of an old one, which may hold all messages, only these are kept.
fn carried_over(line: &[u8]) -> Option<String> {
    let (text, _) = text_of(line.trim_ascii());
    let mut record = Json::parse(&text).ok()?.into_object()?;
    if !record.has("sessionId") || record.has("type") {
        return Some(text.into_owned());
    }
    let messages = Json::Array(record.take_array("messages")?).into_value();
    Some(json!({"$set": {"messages": messages}}).to_string())
}
