//! The messages of a session in order, and their changes: rewinds, compactions, masks, and their undoing.
//!
//! Nothing is forgotten here. A message that was taken back, or that another program compacted away, is set aside; a
//! compaction is a view of the messages, so that without it they are all there again.

use std::collections::HashSet;

use longhaul_conversation::{
    CallId, Change, Fingerprint, Message, MessageId, Sequence, Timestamp, fingerprint_content,
};

use super::arrivals::{Arrivals, Moment};
use super::entry::{CompactionReport, CompactionState, Mask, Masking};
use super::view::Piece;

/// The messages of a session with their rewrites.
#[derive(Clone, Debug, Default)]
pub(crate) struct Branch {
    messages: Sequence<Message>,
    arrivals: Arrivals,
    /// Messages that were taken back.
    rewound: Vec<Message>,
    /// Messages that another program left out of a checkpoint; they were said all the same.
    dropped: Vec<Message>,
    /// The branch before the last checkpoint, as long as nothing came behind it.
    before: Option<Box<Before>>,
    rewrites: Vec<Rewrite>,
    state: Option<CompactionState>,
}

/// A branch as it was before a checkpoint replaced it.
#[derive(Clone, Debug)]
struct Before {
    messages: Sequence<Message>,
    arrivals: Arrivals,
    rewrites: Vec<Rewrite>,
    dropped: Vec<Message>,
}

/// A checkpoint whose messages are being put in their places.
pub(crate) struct OpenCheckpoint {
    before: Option<Box<Before>>,
    /// The messages that were known before it.
    known: HashSet<MessageId>,
}

/// The effect of a checkpoint, by which another program writes the whole transcript anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckpointEffect {
    /// It repeats the transcript, and may add to it: nothing was dropped.
    Repeats,
    /// It repeats the transcript of before the last checkpoint, which is back.
    Restores,
    /// It is another transcript.
    Replaces,
}

/// A compaction or a masking, and whether it counts.
#[derive(Clone, Debug)]
pub struct Rewrite {
    /// Names it.
    pub id: String,
    /// When it happened.
    pub at: Option<Timestamp>,
    /// The change.
    pub kind: RewriteKind,
    /// Its state.
    pub state: RewriteState,
    change: ViewChange,
}

/// The change of a rewrite.
#[derive(Clone, Debug, PartialEq)]
pub enum RewriteKind {
    /// The transcript gave way to a shorter one.
    Compaction(Box<RecordedCompaction>),
    /// Tool outputs gave way to previews.
    Mask(Vec<Mask>),
}

/// A compaction, as the log has it.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedCompaction {
    /// The report.
    pub report: CompactionReport,
    /// The text of the snapshot, where there is one.
    pub snapshot: Option<String>,
    /// The first message that it covers.
    pub first: Option<MessageId>,
    /// The last message that it covers.
    pub last: Option<MessageId>,
    /// The first message behind those.
    pub kept: Option<MessageId>,
}

/// The state of a rewrite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RewriteState {
    /// It does.
    Active,
    /// It was undone.
    Undone,
    /// The messages it was about were taken back, or another program wrote the transcript anew.
    Inert,
}

/// The visible effect of a rewrite.
#[derive(Clone, Debug)]
enum ViewChange {
    /// These messages stand for all that came before this moment.
    Compaction { view: Vec<Piece>, before: Moment },
    /// These messages stand for themselves as they were.
    Mask { changed: Vec<Message> },
}

/// The update that a follower of the changes applies to see the branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Carry out the same change.
    Same,
    /// Start over with all that is visible.
    Anew,
}

impl Branch {
    /// Everything that was said on this branch, in order, also what was compacted.
    pub(crate) fn messages(&self) -> &[Message] {
        self.messages.as_slice()
    }

    pub(crate) fn position(&self, id: &MessageId) -> Option<usize> {
        self.messages.position(id)
    }

    pub(crate) fn get(&self, id: &MessageId) -> Option<&Message> {
        self.messages.get(id)
    }

    pub(crate) fn rewrites(&self) -> &[Rewrite] {
        &self.rewrites
    }

    /// The shared state of compactions, where it was recorded.
    pub(crate) fn state(&self) -> Option<&CompactionState> {
        self.state.as_ref()
    }

    /// Takes over what compactions leave behind for the next ones.
    pub(crate) fn keep_state(&mut self, state: CompactionState) {
        self.state = Some(state);
    }

    /// Derives the condition of the next pass from the latest event, not from earlier records.
    fn forget_wait(&mut self) {
        if let Some(state) = &mut self.state {
            state.wait = None;
        }
    }

    /// The tool that was called last under this id.
    pub(crate) fn tool_of(&self, call: &CallId) -> Option<&str> {
        let calls = self.messages().iter().rev().flat_map(Message::calls);
        calls.filter(|known| known.id == *call).map(|known| known.name.as_str()).next()
    }

    /// Everything that was ever said, each message once in each of its forms, in the order of message numbers.
    pub(crate) fn said(&self) -> Vec<&Message> {
        let aside = self.dropped.iter().chain(&self.rewound);
        let mut said: Vec<&Message> =
            aside.filter(|message| self.get(&message.id) != Some(message)).collect();
        said.extend(self.messages());
        said.sort_by_key(|message| message.ordinal);
        said.dedup();
        said
    }

    /// Everything that was said and not taken back, in the order of message numbers and in its first form; also what another
    /// program dropped.
    pub(crate) fn history(&self) -> Vec<&Message> {
        let mut known: HashSet<&MessageId> = HashSet::new();
        let all = self.dropped.iter().chain(self.messages());
        let mut history: Vec<&Message> = all.filter(|message| known.insert(&message.id)).collect();
        history.sort_by_key(|message| message.ordinal);
        history
    }

    /// Returns true if another program dropped anything from the transcript.
    pub(crate) fn has_dropped(&self) -> bool {
        !self.dropped.is_empty()
    }

    /// Returns true if another program dropped the message with this id from the transcript.
    pub(crate) fn is_dropped(&self, id: &MessageId) -> bool {
        self.get(id).is_none() && self.dropped.iter().any(|message| message.id == *id)
    }

    /// Forgets what a message said; it keeps its place.
    pub(crate) fn forget(&mut self, id: &MessageId) {
        if let Some(message) = self.messages.get_mut(id) {
            *message =
                Message { ordinal: message.ordinal, ..Message::new(id.clone(), message.role, Vec::new()) };
        }
    }

    /// Forgets what was taken back, or dropped by another program.
    pub(crate) fn forget_left(&mut self) {
        self.rewound.clear();
        self.dropped.clear();
    }

    /// Compares a checkpoint with the transcript. One that holds every message of it, or of the transcript before the last
    /// checkpoint, only repeats it: resuming a session writes such a pair, the first of them nearly empty.
    pub(crate) fn take_checkpoint(&mut self, checkpoint: &[Message]) -> CheckpointEffect {
        let ids: HashSet<&MessageId> = checkpoint.iter().map(|message| &message.id).collect();
        let holds = |messages: &[Message]| messages.iter().all(|message| ids.contains(&message.id));
        if !self.messages().is_empty() && holds(self.messages()) && self.before.is_none() {
            return CheckpointEffect::Repeats;
        }
        if let Some(before) = self.before.take_if(|before| holds(before.messages.as_slice())) {
            let Before { messages, arrivals, rewrites, dropped } = *before;
            (self.messages, self.arrivals, self.rewrites, self.dropped) =
                (messages, arrivals, rewrites, dropped);
            return CheckpointEffect::Restores;
        }
        // Of two checkpoints in a row, the transcript before the first is the one to come back to.
        let kept = self.before.take();
        let before = Before {
            messages: self.messages.clone(),
            arrivals: self.arrivals.clone(),
            rewrites: self.rewrites.clone(),
            dropped: self.dropped.clone(),
        };
        self.apply(Change::Restart);
        self.before = kept.or_else(|| (!before.messages.as_slice().is_empty()).then(|| Box::new(before)));
        CheckpointEffect::Replaces
    }

    /// Takes out what [`Self::take_checkpoint`] keeps for the next checkpoint, so that the messages of this one do not
    /// count as news; [`Self::end_checkpoint`] gets it back.
    pub(crate) fn begin_checkpoint(&mut self) -> OpenCheckpoint {
        let known = self.dropped.iter().chain(self.messages()).map(|message| message.id.clone()).collect();
        OpenCheckpoint { before: self.before.take(), known }
    }

    /// All messages of a checkpoint are in their places. Dropped ones that it says again, as they were or under new ids as
    /// at the end of a compacted transcript, are not kept twice.
    pub(crate) fn end_checkpoint(&mut self, checkpoint: OpenCheckpoint) {
        let OpenCheckpoint { before, known } = checkpoint;
        self.before = before;
        let prints: Vec<Fingerprint> = self.dropped.iter().map(fingerprint_content).collect();
        let mut end = prints.len();
        let mut repeated: HashSet<usize> = HashSet::new();
        for message in self.messages.as_slice().iter().rev() {
            let print = fingerprint_content(message);
            let is_new = !known.contains(&message.id);
            let says_again =
                |place: &usize| prints[*place] == print && (is_new || self.dropped[*place].id == message.id);
            if let Some(place) = (0..end).rev().find(says_again) {
                repeated.insert(place);
                end = place;
            }
        }
        let mut place = 0;
        self.dropped.retain(|_| {
            place += 1;
            !repeated.contains(&(place - 1))
        });
    }

    /// Keeps the form that a message had before a checkpoint changed it.
    pub(crate) fn keep_former(&mut self, message: Message) {
        self.dropped.push(message);
    }

    /// The message with this id, as it was before the checkpoint that is read now.
    pub(crate) fn former(&self, id: &MessageId) -> Option<&Message> {
        self.dropped.iter().rev().find(|message| message.id == *id)
    }

    /// Carries out a change to what was said.
    pub(crate) fn apply(&mut self, change: Change) -> Effect {
        self.before = None;
        match change {
            Change::Put(message) => {
                let effect = self.effect_of_put(&message.id, None);
                self.arrivals.note(&message.id);
                self.messages.put(message.id.clone(), message);
                effect
            }
            Change::PutAfter { after, message } => {
                let effect = self.effect_of_put(&message.id, Some(&after));
                self.arrivals.note(&message.id);
                self.messages.put_after(&after, message.id.clone(), message);
                effect
            }
            Change::Extend { id, parts } => {
                if let Some(message) = self.messages.get_mut(&id) {
                    message.parts.extend(parts);
                }
                Effect::Anew
            }
            Change::RewindTo(id) => {
                let is_rewritten = self.is_rewritten();
                let dropped = self.messages.rewind_to(&id);
                dropped.iter().for_each(|message| self.arrivals.forget(&message.id));
                let ids: HashSet<&MessageId> = dropped.iter().map(|message| &message.id).collect();
                self.rewrites.iter_mut().for_each(|rewrite| rewrite.rewind(&ids));
                if let Some(first) = dropped.iter().filter_map(|message| message.ordinal).min() {
                    let later = self.dropped.extract_if(.., |message| message.ordinal >= Some(first));
                    self.rewound.extend(later);
                }
                self.rewound.extend(dropped);
                if is_rewritten { Effect::Anew } else { Effect::Same }
            }
            // The records of our logs state it with the message.
            Change::Counted(_) => Effect::Same,
            Change::Restart => {
                self.forget_wait();
                self.arrivals.forget_all();
                self.dropped.extend(self.messages.take_all());
                for rewrite in &mut self.rewrites {
                    if rewrite.state == RewriteState::Active {
                        rewrite.state = RewriteState::Inert;
                    }
                }
                Effect::Same
            }
        }
    }

    /// The transcript gives way to another.
    pub(crate) fn compact(
        &mut self,
        id: String,
        at: Option<Timestamp>,
        compaction: RecordedCompaction,
        view: Vec<Piece>,
    ) {
        self.forget_wait();
        let kind = RewriteKind::Compaction(Box::new(compaction));
        let change = ViewChange::Compaction { view, before: self.arrivals.now() };
        self.rewrites.push(Rewrite { id, at, kind, state: RewriteState::Active, change });
    }

    /// Outputs give way to previews.
    pub(crate) fn mask(&mut self, id: String, at: Option<Timestamp>, masking: Masking) {
        let Masking { masks, changed } = masking;
        let kind = RewriteKind::Mask(masks);
        let change = ViewChange::Mask { changed };
        self.rewrites.push(Rewrite { id, at, kind, state: RewriteState::Active, change });
    }

    /// The newest rewrite that counts, or the newest of that name.
    pub(crate) fn undoable(&self, id: Option<&str>) -> Option<&Rewrite> {
        let mut active = self.rewrites.iter().rev().filter(|rewrite| rewrite.is_active());
        active.find(|rewrite| id.is_none_or(|id| rewrite.id == id))
    }

    /// Undoes the newest rewrite of that name that counts; tells what it was.
    pub(crate) fn undo(&mut self, id: &str) -> Option<&Rewrite> {
        let undone = self.rewrites.iter().rposition(|rewrite| rewrite.is_active() && rewrite.id == id)?;
        self.forget_wait();
        let rewrite = &mut self.rewrites[undone];
        rewrite.state = RewriteState::Undone;
        Some(rewrite)
    }

    /// True if anything visible differs from what was said.
    pub(crate) fn is_rewritten(&self) -> bool {
        self.rewrites.iter().any(Rewrite::is_active)
    }

    /// The newest compaction that counts, with its place among the rewrites.
    fn compaction(&self) -> Option<(usize, &[Piece], Moment)> {
        let place = self.rewrites.iter().rposition(|rewrite| {
            rewrite.is_active() && matches!(rewrite.change, ViewChange::Compaction { .. })
        })?;
        match &self.rewrites[place].change {
            ViewChange::Compaction { view, before } => Some((place, view, *before)),
            ViewChange::Mask { .. } => None,
        }
    }

    fn effect_of_put(&self, id: &MessageId, after: Option<&MessageId>) -> Effect {
        if !self.is_rewritten() {
            return Effect::Same;
        }
        let is_new = self.position(id).is_none();
        let is_plain = match self.compaction() {
            None => true,
            Some((_, view, before)) => {
                let is_old = |id: &MessageId| self.arrivals.is_before(id, before);
                let shows = |id: &MessageId| view.iter().any(|piece| piece.id() == id);
                !(is_old(id) || after.is_some_and(is_old) || is_new && shows(id))
            }
        };
        let is_masked = self.rewrites.iter().any(|rewrite| rewrite.is_active() && rewrite.masks(id));
        if is_plain && !is_masked { Effect::Same } else { Effect::Anew }
    }

    /// The transcript that the model may see now.
    pub(crate) fn visible(&self) -> Vec<Message> {
        let (mut visible, masks_from) = match self.compaction() {
            None => (self.messages().to_vec(), 0),
            Some((place, view, before)) => (self.compacted(view, before), place + 1),
        };
        for rewrite in self.rewrites[masks_from..].iter().filter(|rewrite| rewrite.is_active()) {
            if let (RewriteKind::Mask(masks), ViewChange::Mask { changed }) = (&rewrite.kind, &rewrite.change)
            {
                mask_visible(&mut visible, masks, changed);
            }
        }
        visible
    }

    /// The messages of a view and what came later. What came to stand between older messages stays between them.
    fn compacted(&self, view: &[Piece], before: Moment) -> Vec<Message> {
        let log = self.messages();
        let is_old = |message: &Message| self.arrivals.is_before(&message.id, before);
        let old_end = log.iter().rposition(is_old).unwrap_or(0);
        let mut visible = Vec::new();
        let mut shown: HashSet<&MessageId> = HashSet::new();
        for piece in view {
            let place = self.position(piece.id());
            match (piece, place) {
                (Piece::Kept(_), Some(place)) => visible.push(log[place].clone()),
                (Piece::Kept(_), None) => continue,
                (Piece::Own(message), _) => {
                    let ordinal = place.and_then(|place| log[place].ordinal);
                    visible.push(Message { ordinal, ..Message::clone(message) });
                }
            }
            let between = place.and_then(|place| log.get(place + 1..old_end)).unwrap_or_default();
            for later in between.iter().take_while(|message| !is_old(message)) {
                shown.insert(&later.id);
                visible.push(later.clone());
            }
        }
        let later = self.arrivals.since(before).filter(|id| !shown.contains(id));
        let mut places: Vec<usize> = later.filter_map(|id| self.position(id)).collect();
        places.sort_unstable();
        visible.extend(places.into_iter().map(|place| log[place].clone()));
        visible
    }
}

impl Rewrite {
    fn is_active(&self) -> bool {
        self.state == RewriteState::Active
    }

    /// True if it is a masking that concerns the message.
    fn masks(&self, id: &MessageId) -> bool {
        match (&self.kind, &self.change) {
            (RewriteKind::Mask(masks), ViewChange::Mask { changed }) => {
                masks.iter().any(|mask| mask.message == *id)
                    || changed.iter().any(|message| message.id == *id)
            }
            _ => false,
        }
    }

    /// These messages were taken back. A compaction that covers any of them is void; one that only keeps them goes on
    /// with what is left.
    fn rewind(&mut self, dropped: &HashSet<&MessageId>) {
        match (&self.kind, &mut self.change) {
            (RewriteKind::Compaction(compaction), ViewChange::Compaction { view, .. }) => {
                let is_void = compaction.last.as_ref().is_some_and(|last| dropped.contains(last));
                if is_void && self.state == RewriteState::Active {
                    self.state = RewriteState::Inert;
                }
                if let Some(place) = view.iter().position(|piece| dropped.contains(piece.id())) {
                    view.truncate(place);
                }
            }
            (RewriteKind::Mask(_), ViewChange::Mask { changed }) => {
                changed.retain(|message| !dropped.contains(&message.id));
            }
            _ => {}
        }
        if let RewriteKind::Mask(masks) = &mut self.kind {
            masks.retain(|mask| !dropped.contains(&mask.message));
        }
    }
}

fn mask_visible(visible: &mut [Message], masks: &[Mask], changed: &[Message]) {
    for message in visible {
        if let Some(changed) = changed.iter().find(|changed| changed.id == message.id) {
            *message = Message { ordinal: message.ordinal, ..changed.clone() };
        } else {
            masks.iter().for_each(|mask| mask.apply(message));
        }
    }
}
