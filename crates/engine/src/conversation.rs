//! A session on disk and in memory: appended to, compacted, undone; what is recorded and what is shown never differ.

mod ahead;
mod by_hand;
mod record;
#[cfg(test)]
mod tests;

use std::path::Path;

use longhaul_compaction::{Gauge, HostState, Input, PlanOptions, Tracker, Trigger, prepare};
use longhaul_conversation::Estimator;
use longhaul_conversation::{Change, Message, MessageId, Ordinal, Timestamp, TokenCount, Transcript};
use longhaul_directives::RuleId;
use longhaul_formats::{CompactionState, Entry, EntryKind, RecordedFragment, RequestChange, RuleChange};
use longhaul_sessions::{Log, LogError, NewSession};
use tokio_util::sync::CancellationToken;

use self::record::{compaction_entry, host_record, read_host};
use crate::compact::compact_with;
use crate::outcome::PassOutcome;
use crate::preparation::PreparedDraft;
use crate::settings::{PreCompressWhen, Settings};
use crate::spend::Spend;
use crate::state::State;
use crate::{CompactionDeps, EngineError, Event};

/// A session that is open: its log, the transcript that follows from it, and what was learned from all that was said.
///
/// Everything is recorded before it counts. A compaction is on the disk before the transcript changes; one that is
/// cancelled, or that cannot be recorded, leaves the log's bytes and the transcript as they were.
///
/// ```
/// use std::time::Duration;
///
/// use longhaul_conversation::Estimator;
/// use longhaul_compaction::{PlanOptions, Trigger};
/// use longhaul_conversation::{Message, Part, Role, Timestamp, TokenCount};
/// use longhaul_engine::{Conversation, Folder, CompactionDeps, Offline, Settings, RecordId};
/// use longhaul_sessions::{NewSession, SessionKind};
/// use tokio_util::sync::CancellationToken;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let now = Timestamp::from_millis(0);
/// let new = NewSession {
///     id: "0199c3f2-session".into(),
///     project_hash: String::new(),
///     kind: SessionKind::Main,
///     directories: Vec::new(),
///     at: now,
/// };
/// let mut conversation = Conversation::create(folder.path(), &new, Estimator::default())?;
/// for (id, role, text) in [
///     ("1", Role::User, "Never push to main. Now read this:".to_string()),
///     ("2", Role::Model, "All work and no play. ".repeat(900)),
///     ("3", Role::User, "What did it say?".to_string()),
/// ] {
///     conversation.append(&Message::new(id, role, vec![Part::user_text(text)]))?;
/// }
///
/// let files = Folder::new(folder.path().join("outputs"));
/// let deps = CompactionDeps {
///     summariser: &Offline,
///     files: &files,
///     counter: None,
///     pre_compress: None,
///     events: &|_| {},
///     clock: &|| Duration::ZERO,
/// };
/// let options = PlanOptions { trigger: Trigger::Forced, ..PlanOptions::new(TokenCount(8_000)) };
/// let record_id = RecordId { id: "c1".into(), at: now };
/// let cancel = CancellationToken::new();
/// conversation.compact(&options, &Settings::default(), &deps, record_id, &cancel).await?;
/// assert_ne!(conversation.transcript().messages()[0].id.as_str(), "1");
///
/// conversation.undo(None, now, &|_| {})?;
/// assert_eq!(conversation.transcript().messages()[0].id.as_str(), "1");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Conversation {
    log: Log,
    transcript: Transcript,
    tracker: Tracker,
    gauge: Gauge,
    estimator: Estimator,
    state: State,
    host: HostState,
    /// The draft for the next compaction, if one was written ahead.
    prepared: Option<Box<PreparedDraft>>,
    /// The number of changes to what was said before.
    generation: u64,
}

/// Names a record and tells when it was made. Ids and clocks are the host's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordId {
    /// The record's id, never used before in this session.
    pub id: String,
    /// The time.
    pub at: Timestamp,
}

impl Conversation {
    /// Begins a session in the folder of a project's chats.
    ///
    /// # Errors
    /// [`EngineError::Log`].
    pub fn create(folder: &Path, new: &NewSession, estimator: Estimator) -> Result<Self, EngineError> {
        Ok(Self::on(Log::create(folder, new)?, estimator))
    }

    /// Continues a session; `new` begins in its place where the file turns out to be none.
    ///
    /// # Errors
    /// [`EngineError::Log`].
    pub fn open(path: &Path, new: &NewSession, estimator: Estimator) -> Result<Self, EngineError> {
        Ok(Self::on(Log::open(path, new)?, estimator))
    }

    /// A conversation on a log that is open.
    pub fn on(log: Log, estimator: Estimator) -> Self {
        let host = log.replay().host().map(read_host).unwrap_or_default();
        let state = State::recorded_in(log.replay());
        let mut conversation = Self {
            log,
            transcript: Transcript::default(),
            tracker: Tracker::default(),
            gauge: Gauge::default(),
            estimator,
            state,
            host,
            prepared: None,
            generation: 0,
        };
        conversation.rebuild_tracker();
        conversation.rebuild_transcript();
        conversation
    }

    /// Records a message and tells its mark. One with the id of another replaces it.
    ///
    /// # Errors
    /// [`EngineError::Log`]. Where the disk did not take it, the message still counts, waits in memory and is written before
    /// the next one.
    pub fn append(&mut self, message: &Message) -> Result<Ordinal, EngineError> {
        let is_known = self.log.replay().message(&message.id).is_some();
        let appended = self.log.append(message);
        if let Some(taken) = self.log.replay().message(&message.id).cloned() {
            match is_known {
                true => {
                    self.rebuild_tracker();
                    self.rebuild_transcript();
                }
                false => self.observe(taken),
            }
        }
        Ok(appended?)
    }

    /// Shortens the conversation if it is due; nothing if it is certain, at hardly any cost, that it is not.
    ///
    /// # Errors
    /// As [`Self::compact`].
    pub async fn prepare(
        &mut self,
        options: &PlanOptions,
        settings: &Settings,
        deps: &CompactionDeps<'_>,
        record_id: RecordId,
        cancel: &CancellationToken,
    ) -> Result<Option<PassOutcome>, EngineError> {
        let runs_hook = deps.pre_compress.is_some() && settings.pre_compress == PreCompressWhen::EveryTurn;
        let options = &PlanOptions { trigger: Trigger::Automatic, ..options.clone() };
        if !runs_hook && self.gauge.plan_to_wait(options).is_some() {
            return Ok(None);
        }
        self.compact(options, settings, deps, record_id, cancel).await.map(Some)
    }

    /// Shortens the conversation as far as the options call for it, records that, and takes it over. What waits to be
    /// recorded is recorded first: nothing is summarised, sent or left out that is only in memory.
    ///
    /// # Errors
    /// [`EngineError::Log`] where this or the result could not be recorded; then nothing has changed. Where it was recorded and
    /// only the disk could not be made sure of it, the compaction counts.
    pub async fn compact(
        &mut self,
        options: &PlanOptions,
        settings: &Settings,
        deps: &CompactionDeps<'_>,
        record_id: RecordId,
        cancel: &CancellationToken,
    ) -> Result<PassOutcome, EngineError> {
        self.log.flush()?;
        let options = PlanOptions { estimator: self.estimator, ..options.clone() };
        let draft = self.prepared.take();
        let prepared = prepare(self.transcript.messages(), options.empty);
        let present = self.present(&prepared.messages, &options, settings, deps.summariser);
        let ready = draft.filter(|draft| draft.basis().why_stale(&present).is_none());
        let cut = ready.as_deref().map(PreparedDraft::tail_from);
        let input = Input { host: &self.host, cut, ..Input::new(&self.tracker, &prepared, &options) };
        // On the heap, as sub-agents run turns inside turns.
        let pass = compact_with(&input, settings, &self.state, deps, ready.as_deref(), cancel);
        let outcome = Box::pin(pass).await;
        if outcome.messages().is_none() {
            // It was not needed yet, or somebody stopped the pass.
            self.prepared = ready;
        }
        // From here on nothing waits for anybody, so nothing can be cancelled halfway.
        let mut recorded = Ok(());
        if let Some(kind) = compaction_entry(&outcome, self.transcript.messages()) {
            self.log.record(&Entry { id: record_id.id.clone(), at: Some(record_id.at), kind })?;
            recorded = self.log.sync().and_then(|()| self.add_quoted_rules(&outcome, &record_id));
            self.rebuild_transcript();
        }
        if self.state != outcome.state {
            self.state = outcome.state.clone();
            recorded = recorded.and(self.record_state(record_id.at));
        }
        recorded?;
        Ok(outcome)
    }

    /// From now on sizes are estimated like this.
    pub fn set_estimator(&mut self, estimator: Estimator) {
        self.estimator = estimator;
        self.gauge = Gauge::new(estimator);
        self.transcript.messages().iter().for_each(|message| self.gauge.observe(message));
    }

    /// Undoes a compaction or a masking, the newest unless one is named, and tells which it was: the transcript is as if
    /// it had not happened, later messages included. The next automatic pass waits until the request would not fit.
    ///
    /// # Errors
    /// [`EngineError::Log`]; then nothing has changed.
    pub fn undo(
        &mut self,
        compaction: Option<&str>,
        at: Timestamp,
        events: &(dyn Fn(Event) + Send + Sync),
    ) -> Result<String, EngineError> {
        let undone = self.log.undo(compaction, Some(at))?;
        self.state = self.state.after_undo();
        let synced = self.record_state(at).and_then(|()| self.log.sync());
        self.rebuild_transcript();
        events(Event::Undone { compaction: undone.clone(), messages: self.transcript.messages().len() });
        synced?;
        Ok(undone)
    }

    /// Takes back this message and everything after it.
    ///
    /// # Errors
    /// [`EngineError::Log`]; then nothing has changed.
    pub fn rewind_to(&mut self, id: &MessageId) -> Result<(), EngineError> {
        self.log.rewind_to(id)?;
        self.rebuild_tracker();
        self.rebuild_transcript();
        Ok(())
    }

    /// Adds a rule by the user's hand; nothing if it says nothing.
    ///
    /// # Errors
    /// [`EngineError::Log`]; then nothing has changed.
    pub fn add_rule(&mut self, text: &str, record_id: RecordId) -> Result<Option<RuleId>, EngineError> {
        let text = text.trim();
        if !text.is_empty() {
            self.record(EntryKind::Rule(RuleChange::Added { text: text.to_string() }), record_id)?;
        }
        Ok(self.tracker.rules_mut().add_by_hand(text))
    }

    /// Takes a rule back by the user's hand; tells whether it held until now.
    ///
    /// # Errors
    /// [`EngineError::Log`]; then nothing has changed.
    pub fn remove_rule(&mut self, rule: RuleId, record_id: RecordId) -> Result<bool, EngineError> {
        if !self.tracker.rules().active().any(|active| active.id == rule) {
            return Ok(false);
        }
        self.record(EntryKind::Rule(RuleChange::Removed { rule: rule.to_string() }), record_id)?;
        self.prepared = None;
        self.generation += 1;
        Ok(self.tracker.rules_mut().remove_by_hand(rule))
    }

    /// Adds a request by the user's hand; nothing if it says nothing.
    ///
    /// # Errors
    /// [`EngineError::Log`]; then nothing has changed.
    pub fn add_request(&mut self, text: &str, record_id: RecordId) -> Result<Option<RuleId>, EngineError> {
        let text = text.trim();
        if !text.is_empty() {
            self.record(EntryKind::Request(RequestChange::Added { text: text.to_string() }), record_id)?;
        }
        Ok(self.tracker.requests_mut().add_by_hand(text))
    }

    /// Marks a request as done by the user's hand; tells whether it was open until now.
    ///
    /// # Errors
    /// [`EngineError::Log`]; then nothing has changed.
    pub fn finish_request(&mut self, request: RuleId, record_id: RecordId) -> Result<bool, EngineError> {
        if !self.tracker.requests().open_requests().any(|open| open.id() == request) {
            return Ok(false);
        }
        self.record(EntryKind::Request(RequestChange::Done { request: request.to_string() }), record_id)?;
        Ok(self.tracker.requests_mut().finish_by_hand(request))
    }

    /// Takes a request back by the user's hand; tells whether it was open until now.
    ///
    /// # Errors
    /// [`EngineError::Log`]; then nothing has changed.
    pub fn remove_request(&mut self, request: RuleId, record_id: RecordId) -> Result<bool, EngineError> {
        if !self.tracker.requests().open_requests().any(|open| open.id() == request) {
            return Ok(false);
        }
        self.record(EntryKind::Request(RequestChange::Removed { request: request.to_string() }), record_id)?;
        Ok(self.tracker.requests_mut().remove_by_hand(request))
    }

    /// Tells what the host has going on, and records it if it is news.
    ///
    /// # Errors
    /// [`EngineError::Log`]; then nothing has changed.
    pub fn set_host(&mut self, host: HostState, record_id: RecordId) -> Result<(), EngineError> {
        let record = host_record(&host);
        if self.log.replay().host() != Some(&record) {
            self.record(EntryKind::Host(record), record_id)?;
        }
        self.host = host;
        Ok(())
    }

    /// Messages that the model may see now.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Size of what the model may see now, in tokens by estimate; known at any time at no cost.
    pub fn size(&self) -> TokenCount {
        self.gauge.tokens()
    }

    /// Tracker of all that was said.
    pub fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    /// State that bounds the next compactions.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Forgets failed compactions and what the next one waits for, so that models are asked again. What was spent stays
    /// spent.
    ///
    /// # Errors
    /// [`EngineError::Log`]; where it could not be recorded, it counts until the session is closed.
    pub fn reset(&mut self, at: Timestamp) -> Result<(), EngineError> {
        self.state.reset();
        Ok(self.record_state(at)?)
    }

    /// Counts what was spent elsewhere on behalf of this session, such as by a sub-agent.
    ///
    /// # Errors
    /// [`EngineError::Log`]; where it could not be recorded, it counts until the session is closed.
    pub fn add_spend(&mut self, spend: Spend, at: Timestamp) -> Result<(), EngineError> {
        if spend == Spend::default() {
            return Ok(());
        }
        self.state.spend = self.state.spend.plus(spend);
        Ok(self.record_state(at)?)
    }

    /// State of the host.
    pub fn host(&self) -> &HostState {
        &self.host
    }

    /// The log.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The next warning about the log, such as that its file was truncated while in use; each is given out once.
    pub fn take_warning(&mut self) -> Option<String> {
        self.log.take_warning()
    }

    /// Records what was placed beside the conversation.
    ///
    /// # Errors
    /// [`EngineError::Log`]; then nothing has changed.
    pub fn record_fragment(
        &mut self,
        fragment: RecordedFragment,
        record_id: RecordId,
    ) -> Result<(), EngineError> {
        Ok(self.record(EntryKind::Fragment(fragment), record_id)?)
    }

    /// Writes what waits in memory because it could not be recorded, and makes sure that the log is where it was.
    ///
    /// # Errors
    /// [`EngineError::Log`]; what waits goes on waiting.
    pub fn flush(&mut self) -> Result<(), EngineError> {
        Ok(self.log.flush()?)
    }

    /// Waits until everything is on the disk.
    ///
    /// # Errors
    /// [`EngineError::Log`].
    pub fn sync(&mut self) -> Result<(), EngineError> {
        Ok(self.log.sync()?)
    }

    /// Everything that was ever said, compacted away or taken back or not: what `recall` searches.
    pub fn said(&self) -> Vec<&Message> {
        self.log.replay().said()
    }

    fn record(&mut self, kind: EntryKind, record_id: RecordId) -> Result<(), LogError> {
        self.log.record(&Entry { id: record_id.id, at: Some(record_id.at), kind })
    }

    /// Records the state for the next process that goes on with the session.
    fn record_state(&mut self, at: Timestamp) -> Result<(), LogError> {
        self.log.keep_state(&CompactionState::from(&self.state), Some(at))
    }

    /// Sentences of the user's that a model recognised as rules are rules from now on.
    fn add_quoted_rules(&mut self, outcome: &PassOutcome, record_id: &RecordId) -> Result<(), LogError> {
        let quotes = outcome.result.notes.iter().flat_map(|notes| &notes.quoted);
        for (nth, quote) in quotes.enumerate() {
            if self.tracker.rules_mut().add_quoted(&quote.text, quote.message).is_some() {
                let record_id =
                    RecordId { id: format!("{}-pin-{}", record_id.id, nth + 1), at: record_id.at };
                let text = quote.text.clone();
                self.record(EntryKind::Rule(RuleChange::Added { text }), record_id)?;
            }
        }
        Ok(())
    }

    fn observe(&mut self, message: Message) {
        self.tracker.observe(&message);
        self.gauge.observe(&message);
        self.transcript.apply(Change::Put(message));
    }

    /// Rebuilds the transcript from the log.
    fn rebuild_transcript(&mut self) {
        self.prepared = None;
        self.generation += 1;
        self.transcript = self.log.replay().transcript();
        self.gauge = Gauge::new(self.estimator);
        self.transcript.messages().iter().for_each(|message| self.gauge.observe(message));
    }

    /// Rebuilds the tracker from everything that was said, compacted or not.
    fn rebuild_tracker(&mut self) {
        let replay = self.log.replay();
        let history = replay.history();
        let mut tracker = match &replay.info().directory {
            Some(directory) => Tracker::in_directory(directory),
            None => Tracker::default(),
        };
        let added = replay.rules().iter().filter_map(|change| match change {
            RuleChange::Added { text } => Some(text.as_str()),
            RuleChange::Removed { .. } => None,
        });
        let (quoted, by_hand): (Vec<_>, Vec<_>) = added.partition(|text| record::is_quoted(text, &history));
        for message in history {
            tracker.observe(message);
            let at = tracker.last();
            // A later message may take back what is added here, so it must be known by then.
            for text in quoted.iter().filter(|text| record::says(message, text)) {
                tracker.rules_mut().add_quoted(text, at);
            }
        }
        for text in by_hand {
            tracker.rules_mut().add_by_hand(text);
        }
        for change in replay.rules() {
            if let RuleChange::Removed { rule } = change
                && let Some(rule) = RuleId::parse(rule)
            {
                tracker.rules_mut().remove_by_hand(rule);
            }
        }
        for change in replay.requests() {
            let requests = tracker.requests_mut();
            match change {
                RequestChange::Added { text } => {
                    requests.add_by_hand(text);
                }
                RequestChange::Done { request } => {
                    RuleId::parse(request).map(|id| requests.finish_by_hand(id));
                }
                RequestChange::Removed { request } => {
                    RuleId::parse(request).map(|id| requests.remove_by_hand(id));
                }
            }
        }
        self.tracker = tracker;
    }
}
