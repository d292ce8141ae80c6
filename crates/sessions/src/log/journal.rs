//! The log of one session: appended to, rewound, rewritten and forked, and always the same on disk as in memory.

use std::path::{Path, PathBuf};

use longhaul_conversation::{Message, MessageId, Ordinal, Role, Timestamp};
use longhaul_formats::{
    CompactionState, Entry, EntryKind, Replay, encode_answered, encode_exact, encode_state, encode_undo,
    is_legible, response_id, same_but_for_marks,
};
use serde_json::{Value, json};

use super::file::{Damage, Durability, LogFile};
use super::recording::{PendingRecords, Recording};
use super::retell::retell;
use super::{LogError, Recovery};

/// The log of one session, open for writing.
///
/// Whatever is appended is first folded into the log's own [`Replay`], from the very bytes that are written: what is on
/// disk and what is in memory cannot differ. What cannot be written, as the disk is full, waits in memory, in order, and is
/// written before anything else; [`Log::recording`] tells of it.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    pub(super) file: Option<LogFile>,
    /// The first line of the file.
    pub(super) header: Value,
    pub(super) replay: Replay,
    recording: Recording,
    warnings: Vec<String>,
    pub(super) recovered: Vec<Recovery>,
    durability: Durability,
}

impl Log {
    pub(super) fn on(path: PathBuf, file: Option<LogFile>, header: Value) -> Self {
        Self {
            path,
            recording: if file.is_some() { Recording::Complete } else { Recording::Off },
            file,
            header,
            replay: Replay::default(),
            warnings: Vec::new(),
            recovered: Vec::new(),
            durability: Durability::default(),
        }
    }

    /// The same log, from now on as durable as this.
    #[must_use]
    pub fn with_durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// The path of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The replayed state of the log.
    pub fn replay(&self) -> &Replay {
        &self.replay
    }

    /// Its recording state.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// The next warning, such as that the file was truncated while it was in use; each is given out once.
    pub fn take_warning(&mut self) -> Option<String> {
        (!self.warnings.is_empty()).then(|| self.warnings.remove(0))
    }

    /// The repairs made to open it.
    pub fn recovered(&self) -> &[Recovery] {
        &self.recovered
    }

    /// Adds a message, or replaces the one with its id, and tells its mark.
    ///
    /// Results whose message has the [`response_id`] of the model's message before it are written into that message's
    /// record, as Gemini CLI does; others stand in a record of their own.
    ///
    /// # Errors
    /// [`LogError::TooDeep`], and then nothing has happened; [`LogError::Io`], and then the message is part of the
    /// session, waits in memory and is written before the next one.
    pub fn append(&mut self, message: &Message) -> Result<Ordinal, LogError> {
        self.append_all(std::slice::from_ref(message))?;
        let known = self.replay.message(&message.id).and_then(|message| message.ordinal);
        Ok(known.expect("every message of a log has a mark"))
    }

    /// Adds messages, in one write.
    ///
    /// # Errors
    /// As [`Log::append`].
    pub fn append_all(&mut self, messages: &[Message]) -> Result<(), LogError> {
        check_legible(messages)?;
        let mut lines = String::new();
        for message in messages {
            self.take_message(message, &mut lines);
        }
        if let Some(at) = messages.iter().filter_map(|message| message.at).max() {
            self.take_line(&json!({"$set": {"lastUpdated": at.to_string()}}), &mut lines);
        }
        self.write_lines(&lines)
    }

    /// Records what happened beside the conversation. A compaction or a masking changes the transcript.
    ///
    /// # Errors
    /// [`LogError::TooDeep`] or [`LogError::Io`]; in either case nothing has happened.
    pub fn record(&mut self, entry: &Entry) -> Result<(), LogError> {
        match &entry.kind {
            EntryKind::Compaction(compaction) => check_legible(&compaction.messages)?,
            EntryKind::Mask(masking) => check_legible(&masking.changed)?,
            _ => {}
        }
        let record = self.replay.encode_entry(entry);
        self.take_and_write(&record)
    }

    /// Says in one sentence what the session is about.
    ///
    /// # Errors
    /// [`LogError::Io`], and then nothing has happened.
    pub fn set_summary(&mut self, summary: &str) -> Result<(), LogError> {
        self.take_and_write(&json!({"$set": {"summary": summary}}))
    }

    /// Keeps notes on how the session went. They hold until something more is said or taken back.
    ///
    /// # Errors
    /// [`LogError::Io`], and then nothing has happened.
    pub fn set_scratchpad(&mut self, notes: &Value) -> Result<(), LogError> {
        self.take_and_write(&json!({"$set": {"memoryScratchpad": notes}}))
    }

    /// Says when something was last added, where the messages do not.
    ///
    /// # Errors
    /// [`LogError::Io`], and then nothing has happened.
    pub fn set_updated(&mut self, at: Timestamp) -> Result<(), LogError> {
        self.take_and_write(&json!({"$set": {"lastUpdated": at.to_string()}}))
    }

    /// Says when the session was imported: one that was had long ago is not old here, and nothing that cleans up may take it
    /// for a session that nobody needs.
    ///
    /// # Errors
    /// [`LogError::Io`], and then nothing has happened.
    pub fn set_imported(&mut self, at: Timestamp) -> Result<(), LogError> {
        self.take_and_write(&json!({"$set": {"importedAt": at.to_string()}}))
    }

    /// Takes back this message and everything after it. A compaction that covers it is void.
    ///
    /// # Errors
    /// [`LogError::NoSuchMessage`] or [`LogError::Io`]; in either case nothing has happened.
    pub fn rewind_to(&mut self, id: &MessageId) -> Result<(), LogError> {
        if self.replay.message(id).is_none() {
            return Err(LogError::NoSuchMessage { id: id.clone() });
        }
        self.take_and_write(&json!({"$rewindTo": id.as_str()}))
    }

    /// Undoes a compaction or a masking, the newest one unless it is named, and tells which it was. The transcript is
    /// then as if it had not happened, later messages included, and the disk has it.
    ///
    /// # Errors
    /// [`LogError::NothingToUndo`] or [`LogError::Io`], and then nothing has happened; where only the disk could not be made
    /// sure of it, the compaction is undone.
    pub fn undo(&mut self, rewrite: Option<&str>, at: Option<Timestamp>) -> Result<String, LogError> {
        let Some(undone) = self.replay.undoable(rewrite) else {
            return Err(LogError::NothingToUndo { id: rewrite.map(str::to_string) });
        };
        let id = undone.id.clone();
        self.take_and_write(&encode_undo(&id, at))?;
        self.sync()?;
        Ok(id)
    }

    /// Records what compactions leave behind for the next ones, if it is news.
    ///
    /// # Errors
    /// [`LogError::Io`], and then nothing has happened.
    pub fn keep_state(&mut self, state: &CompactionState, at: Option<Timestamp>) -> Result<(), LogError> {
        match self.replay.state() {
            Some(known) if known == state => Ok(()),
            None if *state == CompactionState::default() => Ok(()),
            _ => self.take_and_write(&encode_state(state, at)),
        }
    }

    /// Writes what waits in memory, and makes sure that the file is still the one that was written: one that was moved,
    /// replaced or truncated is written again, which [`Log::take_warning`] tells.
    ///
    /// # Errors
    /// [`LogError::Io`]; what waits goes on waiting.
    pub fn flush(&mut self) -> Result<(), LogError> {
        self.write_lines("")
    }

    /// Waits until everything is on the disk.
    ///
    /// # Errors
    /// [`LogError::Io`].
    pub fn sync(&mut self) -> Result<(), LogError> {
        self.flush()?;
        match &mut self.file {
            Some(file) => file.sync(),
            None => Ok(()),
        }
    }

    /// Folds a message into the replay and adds the lines that do this to `lines`.
    pub(super) fn take_message(&mut self, message: &Message, lines: &mut String) {
        let model = self.model_answered_by(message).filter(|_| !self.replay.is_answered_elsewhere(message));
        let model = model.cloned();
        let answered = model.as_ref().and_then(|model| encode_answered(model, message));
        let is_answer = answered.is_some();
        let record = answered.unwrap_or_else(|| self.replay.encode_message(message));
        self.take_line(&record, lines);
        for meant in model.iter().filter(|_| is_answer).chain([message]) {
            let read = self.replay.message(&meant.id);
            if !read.is_some_and(|read| same_but_for_marks(read, meant)) {
                let record = encode_exact(meant, read);
                self.take_line(&record, lines);
            }
        }
    }

    /// The model's message whose record can take in this message of results.
    fn model_answered_by(&self, message: &Message) -> Option<&Message> {
        let log = self.replay.messages();
        let place = match self.replay.position(&message.id) {
            Some(place) => place,
            None => log.len(),
        };
        let model = log.get(place.checked_sub(1)?)?;
        let is_answer = message.role == Role::User && response_id(&model.id) == message.id;
        (is_answer && model.role == Role::Model).then_some(model)
    }

    pub(super) fn take_line(&mut self, record: &Value, lines: &mut String) {
        let text = line(record);
        self.replay.take_text(&text);
        lines.push_str(&text);
    }

    /// Writes a line, and if that succeeds folds it into the replay.
    pub(super) fn take_and_write(&mut self, record: &Value) -> Result<(), LogError> {
        self.flush()?;
        let text = line(record);
        self.write(&text)?;
        self.replay.take_text(&text);
        Ok(())
    }

    /// Writes lines that are in memory already, behind those that wait. What cannot be written waits.
    pub(super) fn write_lines(&mut self, lines: &str) -> Result<(), LogError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut pending = match std::mem::replace(&mut self.recording, Recording::Complete) {
            Recording::Pending(pending) => pending.lines,
            Recording::Complete | Recording::Off => String::new(),
        };
        pending.push_str(lines);
        let written = match file.examine() {
            Ok(None) if pending.is_empty() => return Ok(()),
            Ok(None) => self.write(&pending),
            Ok(Some(damage)) => self.restore(damage, &mut pending).and_then(|()| self.write(&pending)),
            Err(error) => Err(error),
        };
        if let Err(error) = &written
            && !pending.is_empty()
        {
            self.recording = Recording::Pending(PendingRecords::new(pending, error));
        }
        written
    }

    /// Writes the session again where its file is no longer the one that was written.
    fn restore(&mut self, damage: Damage, pending: &mut String) -> Result<(), LogError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let aside = match file.held()? {
            Some(content) => file.restore(&content, damage)?,
            None => {
                let (lines, replay) = retell(&self.replay, &self.header);
                let aside = file.restore(lines.as_bytes(), damage)?;
                self.replay = replay;
                // What waited was part of what memory holds.
                pending.clear();
                aside
            }
        };
        self.warnings.push(describe(damage, &self.path, aside.as_deref()));
        Ok(())
    }

    fn write(&mut self, lines: &str) -> Result<(), LogError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        if lines.is_empty() {
            return Ok(());
        }
        file.append(lines.as_bytes())?;
        match self.durability {
            Durability::Written => Ok(()),
            Durability::Synced => file.sync(),
        }
    }
}

/// The damage to a file, as a sentence without its end.
fn describe(damage: Damage, path: &Path, aside: Option<&Path>) -> String {
    let happened = match damage {
        Damage::Gone => "moved or deleted",
        Damage::Replaced => "replaced by another file",
        Damage::Truncated => "truncated or overwritten",
    };
    let kept = match (damage, aside) {
        (_, None) => String::new(),
        (Damage::Truncated, Some(aside)) => format!("; the remains are in {}", aside.display()),
        (_, Some(aside)) => format!("; the other file was renamed to {}", aside.display()),
    };
    let path = path.display();
    format!("the session file {path} was {happened} while in use; wrote it again in full{kept}")
}

/// A record as a line.
fn line(record: &Value) -> String {
    format!("{record}\n")
}

fn check_legible(messages: &[Message]) -> Result<(), LogError> {
    match messages.iter().find(|message| !is_legible(message)) {
        Some(message) => Err(LogError::TooDeep { id: message.id.clone() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
