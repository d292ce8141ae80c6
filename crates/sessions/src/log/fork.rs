//! Begins a session where another one is.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use longhaul_conversation::MessageId;
use longhaul_formats::Replay;
use longhaul_wire::{Json, text_of};
use serde_json::json;

use super::file::failed;
use super::recording::Recording;
use super::retell::retell;
use super::{Log, LogError, NewSession};

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
        if self.recording() == &Recording::Complete {
            return Self::fork_of(self.path(), folder, new, through);
        }
        // The file does not have it all.
        let end = place_behind(&self.replay, through)?;
        let (lines, _) = retell(&self.replay, &new.header());
        let records = lines.split_once('\n').map_or("", |(_, records)| records);
        Self::create(folder, new)?.filled(records, end)
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
        let file = File::open(source).map_err(reading)?;
        Self::fork_from(BufReader::with_capacity(1 << 18, file), source, folder, new, through)
    }

    /// As [`Log::fork`], of the records of a session; `source` names where they come from.
    ///
    /// # Errors
    /// As [`Log::fork_of`].
    pub fn fork_from(
        mut input: impl BufRead,
        source: &Path,
        folder: &Path,
        new: &NewSession,
        through: Option<&MessageId>,
    ) -> Result<Self, LogError> {
        let reading = |cause| failed("read", source, cause);
        let mut lines = String::new();
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
        Self::create(folder, new)?.filled(&lines, end)
    }

    /// A new log with these lines, up to this place. If that fails, there is none: half a session is worse than that, and
    /// what it was made of is still there.
    fn filled(mut self, lines: &str, end: Option<usize>) -> Result<Self, LogError> {
        for text in lines.lines() {
            self.replay.take_text(text);
        }
        let filled = self.write_lines(lines).and_then(|()| self.cut_behind(end));
        match filled {
            Ok(()) => Ok(self),
            Err(error) => {
                self.remove();
                Err(error)
            }
        }
    }

    /// Takes back the messages from this place on.
    fn cut_behind(&mut self, end: Option<usize>) -> Result<(), LogError> {
        if let Some(next) = end.and_then(|end| self.replay.messages().get(end)) {
            let id = next.id.clone();
            self.rewind_to(&id)?;
        }
        Ok(())
    }
}

/// The number of messages up to this one.
fn place_behind(replay: &Replay, through: Option<&MessageId>) -> Result<Option<usize>, LogError> {
    let Some(id) = through else { return Ok(None) };
    let place = replay.position(id);
    place.map(|place| Some(place + 1)).ok_or_else(|| LogError::NoSuchMessage { id: id.clone() })
}

/// A line of one log as a line of another. A line that is being written is not there yet, and the new session has a header
/// of its own; of an old one, which may hold all messages, only these are kept. Whoever resumes a session may set its id again,
/// which the new session does not take over.
fn carried_over(line: &[u8]) -> Option<String> {
    let (text, _) = text_of(line.trim_ascii());
    let mut record = Json::parse(&text).ok()?.into_object()?;
    if record.get("$set").is_some_and(|set| set.get("sessionId").is_some()) {
        let mut set = record.take_object("$set")?;
        let of_the_old = ["sessionId", "projectHash", "startTime"];
        of_the_old.iter().for_each(|key| drop(set.take(key)));
        return (!set.is_empty()).then(|| json!({"$set": set.into_map()}).to_string());
    }
    if !record.has("sessionId") || record.has("type") {
        return Some(text.into_owned());
    }
    let messages = Json::Array(record.take_array("messages")?).into_value();
    Some(json!({"$set": {"messages": messages}}).to_string())
}
