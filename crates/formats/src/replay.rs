//! Folds the records of a log into what they amount to.

use std::collections::HashMap;
use std::io::Read;

use longhaul_conversation::{CallId, Message, MessageId, Role, Transcript};
use serde_json::Value;

use crate::lines::{Input, Line, Lines, OwnedLine};
use crate::out::{Kept, Out};
use crate::read::gemini::{Gemini, JSONL};
use crate::read::read_line;
use crate::records::{
    CompactionState, Entry, HostRecord, IMPORTED, RecordedFragment, RequestChange, Rewrite, RewriteKind,
    RewriteState, RuleChange, encode_entry, response_id,
};
use crate::write::gemini_cli::{encode_answered, encode_record};
use crate::{Event, Format, ReadError, SessionInfo, Warning};

/// The replayed state of a session's records.
///
/// A replay holds the whole session, also what was compacted away or taken back. It can be made of any beginning of a
/// log, for there is none that does not stand for a session.
///
/// ```
/// use longhaul_formats::Replay;
///
/// let log = concat!(
///     r#"{"sessionId":"s","projectHash":"p","startTime":"2026-01-02T03:04:05Z","kind":"main"}"#, "\n",
///     r#"{"id":"1","type":"user","content":"Hello"}"#, "\n",
///     r#"{"id":"2","type":"gemini","content":"Good day"}"#, "\n",
///     r#"{"$rewindTo":"2"}"#, "\n",
/// );
/// let replay = Replay::read(log.as_bytes())?;
/// assert_eq!(replay.transcript().messages().len(), 1);
/// assert_eq!(replay.said().len(), 2);
/// # Ok::<(), longhaul_formats::ReadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Replay {
    reader: Gemini,
    kept: Kept,
    warnings: Vec<Warning>,
    line: usize,
}

impl Default for Replay {
    fn default() -> Self {
        let kept = Kept::new(Format::GeminiJsonl);
        Self { reader: Gemini::default(), kept, warnings: Vec::new(), line: 0 }
    }
}

impl Replay {
    /// Replays a log. Lines that are broken become warnings.
    ///
    /// # Errors
    /// [`ReadError::Io`] when the input cannot be read.
    pub fn read(input: impl Read) -> Result<Self, ReadError> {
        Self::of_lines(&[], Some(Lines::of(input)))
    }

    /// Replays lines that were looked at already, then those that follow.
    pub(crate) fn of_lines<I: Input>(head: &[OwnedLine], rest: Option<Lines<I>>) -> Result<Self, ReadError> {
        let mut replay = Self::default();
        for line in head {
            replay.take(&line.as_line());
        }
        if let Some(mut lines) = rest {
            while let Some(line) = lines.next()? {
                replay.take(&line);
            }
        }
        Ok(replay)
    }

    /// Takes one record.
    fn take(&mut self, line: &Line<'_>) {
        self.line = line.number;
        let kept = std::mem::replace(&mut self.kept, Kept::new(Format::GeminiJsonl));
        let warnings = &mut self.warnings;
        let mut sink = |event| {
            if let Event::Warning(warning) = event {
                warnings.push(warning);
            }
        };
        let mut out = Out::resume(kept, &mut sink);
        read_line(&JSONL, &mut self.reader, line, &mut out);
        self.kept = out.into_kept();
    }

    /// Takes the next line of the log.
    pub fn take_text(&mut self, text: &str) {
        self.take(&Line { number: self.line + 1, bytes: text.trim_ascii_end().as_bytes(), closed: true });
    }

    /// The transcript that the model may see now.
    pub fn transcript(&self) -> Transcript {
        let mut transcript = Transcript::from_messages(self.reader.branch.visible());
        transcript.system.clone_from(&self.kept.info.system);
        transcript.tools.clone_from(&self.kept.info.tools);
        transcript
    }

    /// Everything that was said on the current branch, in order, compacted or not.
    pub fn messages(&self) -> &[Message] {
        self.reader.branch.messages()
    }

    /// The message of the current branch with this id, as it was said.
    pub fn message(&self, id: &MessageId) -> Option<&Message> {
        self.reader.branch.get(id)
    }

    /// Everything that was said and not taken back, in the order of message numbers: the current branch, and what another
    /// program's compaction dropped from it.
    pub fn history(&self) -> Vec<&Message> {
        self.reader.branch.history()
    }

    /// Returns true if another program's compaction dropped anything that was said.
    pub fn has_dropped(&self) -> bool {
        self.reader.branch.has_dropped()
    }

    /// Returns true if the transcript begins with what another agent's compaction left, made before the session was imported.
    pub fn has_imported_compaction(&self) -> bool {
        let mut active = self.rewrites().iter().rev().filter(|rewrite| rewrite.state == RewriteState::Active);
        let newest = active.find_map(|rewrite| match &rewrite.kind {
            RewriteKind::Compaction(compaction) => Some(compaction),
            RewriteKind::Mask(_) => None,
        });
        newest.is_some_and(|compaction| compaction.report.rung == IMPORTED)
    }

    /// Returns true if another program's compaction dropped the message with this id.
    pub fn is_dropped(&self, id: &MessageId) -> bool {
        self.reader.branch.is_dropped(id)
    }

    /// Everything that was ever said, also what was taken back or compacted away by another program, in the order of
    /// marks. Where a message was said in two forms, both are here.
    pub fn said(&self) -> Vec<&Message> {
        self.reader.branch.said()
    }

    /// The compactions and maskings, the oldest first.
    pub fn rewrites(&self) -> &[Rewrite] {
        self.reader.branch.rewrites()
    }

    /// The rules that the user added and removed by hand, in order.
    pub fn rules(&self) -> &[RuleChange] {
        &self.reader.rules
    }

    /// The requests that the user added and ended by hand, in order.
    pub fn requests(&self) -> &[RequestChange] {
        &self.reader.requests
    }

    /// The fragments placed beside the conversation, in order.
    pub fn fragments(&self) -> &[RecordedFragment] {
        &self.reader.fragments
    }

    /// The host program's last recorded state.
    pub fn host(&self) -> Option<&HostRecord> {
        self.reader.host.as_ref()
    }

    /// The shared state of the compactions, where it was recorded.
    pub fn state(&self) -> Option<&CompactionState> {
        self.reader.branch.state()
    }

    /// The metadata of the session.
    pub fn info(&self) -> &SessionInfo {
        &self.kept.info
    }

    /// The warnings.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// True if no record said anything.
    pub fn is_empty(&self) -> bool {
        self.kept.info.session_id.is_none() && self.said().is_empty() && self.rewrites().is_empty()
    }

    /// The place of a message on the current branch.
    pub fn position(&self, id: &MessageId) -> Option<usize> {
        self.reader.branch.position(id)
    }

    /// The compaction or masking that can be undone: the newest one, or the one with this id.
    pub fn undoable(&self, id: Option<&str>) -> Option<&Rewrite> {
        self.reader.branch.undoable(id)
    }

    /// True if another message than this one answers one of the calls that it has results of. A record of Gemini CLI's could
    /// not tell them apart.
    pub fn is_answered_elsewhere(&self, message: &Message) -> bool {
        message.results().any(|result| self.answer_elsewhere(&result.call, &message.id).is_some())
    }

    fn answer_elsewhere(&self, call: &CallId, message: &MessageId) -> Option<&MessageId> {
        self.reader.answered.get(call).filter(|known| *known != message)
    }

    /// A message as Gemini CLI's record of it, without results of calls that other messages answer; a model's message that is written again keeps the results in it.
    pub fn encode_message(&self, message: &Message) -> Value {
        let branch = &self.reader.branch;
        let response = branch.get(&response_id(&message.id)).filter(|_| message.role == Role::Model);
        let together = response.and_then(|response| encode_answered(message, response));
        together.unwrap_or_else(|| {
            let nameless = message.results().filter(|result| result.name.is_none());
            let names: HashMap<&CallId, &str> =
                nameless.filter_map(|result| Some((&result.call, branch.tool_of(&result.call)?))).collect();
            let results = message.results().map(|result| &result.call);
            let answered = results
                .filter_map(|call| Some((call.clone(), self.answer_elsewhere(call, &message.id)?.clone())));
            encode_record(message, names, answered.collect())
        })
    }

    /// An entry as a record that may follow now.
    pub fn encode_entry(&self, entry: &Entry) -> Value {
        encode_entry(entry, &self.reader.branch)
    }
}
