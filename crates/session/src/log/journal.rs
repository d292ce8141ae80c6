//! The log of one session: appended to, rewound, rewritten and forked, and always the same on disk as in memory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use longhaul_conversation::{CallId, Message, MessageId, Ordinal, Role, Timestamp};
use serde_json::{Value, json};

use super::entry::{encode_entry, encode_exact, encode_state, encode_undo};
use super::exact::is_legible;
use super::file::{Durability, LogFile, LogHealth, is_full};
use super::{CompactionState, Entry, EntryKind, LogError, Recovery, Replay, same_but_for_marks};
use crate::write::gemini_cli::{encode_answered, encode_record};
use crate::write::response_id;
use crate::write::session::push_line;

/// The log of one session, open for writing.
///
/// Whatever is appended is first folded into the log's own [`Replay`], from the very bytes that are written: what is on
/// disk and what is in memory cannot differ. Each call is one write of whole lines.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    pub(super) file: Option<LogFile>,
    pub(super) replay: Replay,
    pub(super) health: LogHealth,
    warning: Option<String>,
    pub(super) recovered: Vec<Recovery>,
    /// Lines that are in memory and could not be written yet.
    pub(super) pending: String,
    durability: Durability,
}

impl Log {
    pub(super) fn on(path: PathBuf, file: Option<LogFile>) -> Self {
        Self {
            path,
            file,
            replay: Replay::default(),
            health: LogHealth::Recording,
            warning: None,
            recovered: Vec::new(),
            pending: String::new(),
            durability: Durability::default(),
        }
    }

    /// A log that has no file and says why.
    pub(super) fn in_memory(path: PathBuf, why: &str) -> Self {
        Self {
            health: LogHealth::Off { reason: why.to_string() },
            warning: Some(format!("this session is not recorded: {why}")),
            ..Self::on(path, None)
        }
    }

    /// The same log, from now on as durable as this.
    #[must_use]
    pub fn with_durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// Where the log is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the log amounts to.
    pub fn replay(&self) -> &Replay {
        &self.replay
    }

    /// Whether it still records.
    pub fn health(&self) -> &LogHealth {
        &self.health
    }

    /// The warning that recording was switched off, given out once.
    pub fn take_warning(&mut self) -> Option<String> {
        self.warning.take()
    }

    /// What had to be done to open it.
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
    /// session and is written with the next one.
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
        self.pending.push_str(&lines);
        self.write_pending()
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
        let record = encode_entry(entry, self.replay.branch());
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

    /// Says when something was last added, where the messages do not: what is old by this date may be cleaned up.
    ///
    /// # Errors
    /// [`LogError::Io`], and then nothing has happened.
    pub fn set_updated(&mut self, at: Timestamp) -> Result<(), LogError> {
        self.take_and_write(&json!({"$set": {"lastUpdated": at.to_string()}}))
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
    /// then as if it had not happened, later messages included.
    ///
    /// # Errors
    /// [`LogError::NothingToUndo`] or [`LogError::Io`]; in either case nothing has happened.
    pub fn undo(&mut self, rewrite: Option<&str>, at: Option<Timestamp>) -> Result<String, LogError> {
        let Some(undone) = self.replay.branch().undoable(rewrite) else {
            return Err(LogError::NothingToUndo { id: rewrite.map(str::to_string) });
        };
        let id = undone.id.clone();
        self.take_and_write(&encode_undo(&id, at))?;
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

    /// Waits until everything is on the disk.
    ///
    /// # Errors
    /// [`LogError::Io`].
    pub fn sync(&mut self) -> Result<(), LogError> {
        self.write_pending()?;
        match (&mut self.file, &self.health) {
            (Some(file), LogHealth::Recording) => file.sync(),
            _ => Ok(()),
        }
    }

    /// Folds a message into the replay and adds the lines that do this to `lines`.
    fn take_message(&mut self, message: &Message, lines: &mut String) {
        let model = self.model_answered_by(message).cloned();
        let answered = model.as_ref().and_then(|model| encode_answered(model, message));
        let is_answer = answered.is_some();
        let record = answered.unwrap_or_else(|| self.encode(message));
        self.take_line(&record, lines);
        for meant in model.iter().filter(|_| is_answer).chain([message]) {
            let read = self.replay.message(&meant.id);
            if !read.is_some_and(|read| same_but_for_marks(read, meant)) {
                self.take_line(&encode_exact(meant), lines);
            }
        }
    }

    /// The model's message whose record can take in this message of results.
    fn model_answered_by(&self, message: &Message) -> Option<&Message> {
        let log = self.replay.messages();
        let place = match self.replay.branch().position(&message.id) {
            Some(place) => place,
            None => log.len(),
        };
        let model = log.get(place.checked_sub(1)?)?;
        let is_answer = message.role == Role::User && response_id(&model.id) == message.id;
        (is_answer && model.role == Role::Model).then_some(model)
    }

    /// A message as a record of its own; a model's message that is written again keeps the results in it.
    fn encode(&self, message: &Message) -> Value {
        let branch = self.replay.branch();
        let response = branch.get(&response_id(&message.id)).filter(|_| message.role == Role::Model);
        let together = response.and_then(|response| encode_answered(message, response));
        together.unwrap_or_else(|| {
            let nameless = message.results().filter(|result| result.name.is_none());
            let names: HashMap<&CallId, &str> =
                nameless.filter_map(|result| Some((&result.call, branch.tool_of(&result.call)?))).collect();
            encode_record(message, names)
        })
    }

    fn take_line(&mut self, record: &Value, lines: &mut String) {
        let text = line(record);
        self.replay.take_text(&text);
        lines.push_str(&text);
    }

    /// Writes a line, and if that succeeds folds it into the replay.
    pub(super) fn take_and_write(&mut self, record: &Value) -> Result<(), LogError> {
        self.write_pending()?;
        let text = line(record);
        self.write(&text)?;
        self.replay.take_text(&text);
        Ok(())
    }

    /// Writes what is in memory already; what cannot be written waits.
    pub(super) fn write_pending(&mut self) -> Result<(), LogError> {
        let lines = std::mem::take(&mut self.pending);
        let written = self.write(&lines);
        if written.is_err() {
            self.pending = lines;
        }
        written
    }

    fn write(&mut self, lines: &str) -> Result<(), LogError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        if lines.is_empty() || self.health != LogHealth::Recording {
            return Ok(());
        }
        let written = file.append(lines.as_bytes()).and_then(|()| match self.durability {
            Durability::Written => Ok(()),
            Durability::Synced => file.sync(),
        });
        match written {
            Err(error) if is_full(&error) => {
                self.switch_off(&error);
                Ok(())
            }
            written => written,
        }
    }

    /// Records no more because the disk is full, and says so once.
    fn switch_off(&mut self, error: &LogError) {
        let reason = error.to_string();
        self.warning = Some(format!("{reason}: the disk is full; this session is no longer recorded"));
        self.health = LogHealth::Off { reason };
    }
}

/// A record as a line.
fn line(record: &Value) -> String {
    let mut text = String::new();
    push_line(&mut text, record);
    text
}

fn check_legible(messages: &[Message]) -> Result<(), LogError> {
    match messages.iter().find(|message| !is_legible(message)) {
        Some(message) => Err(LogError::TooDeep { id: message.id.clone() }),
        None => Ok(()),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::{NewSession, SessionKind};
    use super::*;
    use longhaul_conversation::Part;

    fn said(id: &str) -> Message {
        Message::new(id, Role::User, vec![Part::user_text("hi")])
    }

    #[test]
    fn a_full_disk_is_told_once_and_the_session_goes_on_in_memory() {
        let root = tempfile::tempdir().expect("a folder");
        let new = |id: &str| NewSession {
            id: id.into(),
            project_hash: "p".into(),
            kind: SessionKind::Main,
            directories: Vec::new(),
            at: Timestamp::from_millis(0),
        };
        let mut log = Log::create(root.path(), &new("a")).expect("created");
        log.append(&said("1")).expect("appended");
        let state = CompactionState { failures: 2, ..CompactionState::default() };
        log.keep_state(&state, None).expect("kept");
        assert_eq!(log.take_warning(), None);
        assert_eq!(log.health(), &LogHealth::Recording);
        log.file.as_mut().expect("a file").fill_disk();
        for (count, id) in ["2", "3", "4"].iter().enumerate() {
            assert_eq!(log.append(&said(id)).expect("appended"), Ordinal(count as u32 + 2));
        }
        assert!(matches!(log.health(), LogHealth::Off { .. }));
        let warning = log.take_warning().expect("a warning");
        assert!(warning.ends_with("the disk is full; this session is no longer recorded"), "{warning}");
        assert_eq!(log.take_warning(), None);
        log.rewind_to(&"4".into()).expect("rewound");
        log.sync().expect("there is nothing to wait for");
        assert_eq!(log.replay().messages().len(), 3);
        // What is only in memory can still be saved elsewhere.
        let fork = log.fork(&root.path().join("other"), &new("b"), Some(&"2".into())).expect("forked");
        let ids: Vec<&str> = fork.replay().messages().iter().map(|message| message.id.as_str()).collect();
        assert_eq!(ids, ["1", "2"]);
        assert_eq!(fork.replay().state(), Some(&state));
    }
}
