//! Follows a conversation with two threads: one reads and watches the work, the other listens to what is said.
//!
//! What a message says by itself is found by whichever of them has time ([`Hearing`]); what follows from it is kept up in the
//! order of the conversation, by one alone. So it is the same whatever the threads do.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use longhaul_conversation::{Message, Ordinal, Origin, Part};

use crate::adopt::FOUND;
use crate::asks::without_state;
use crate::extract::{Gathered, Memo, Pool, quoted_len};
use crate::hearing::{Hearing, copy_said};
use crate::snapshot::{Section, Snapshot, SnapshotLine};
use crate::tracker::{USER_SAID, any_snapshot};
use crate::user_words::UserWords;
use crate::{Asks, Ledger, Pins};

/// The half of a tracker that watches what is done, and counts the messages.
pub(crate) struct Eyes<'t> {
    pub(crate) ledger: &'t mut Ledger,
    pub(crate) last: &'t mut u32,
}

/// The half of a tracker that listens to what is said.
pub(crate) struct Ears<'t> {
    pub(crate) pins: &'t mut Pins,
    pub(crate) asks: &'t mut Asks,
    pub(crate) words: &'t mut UserWords,
    pub(crate) pool: &'t mut Pool,
}

/// A message that was counted and whose work was noted.
pub(crate) enum Seen {
    Message {
        at: Ordinal,
    },
    /// The snapshot that the message is.
    Snapshot(Box<TakenOver>),
}

/// An earlier snapshot, to be taken over.
pub(crate) struct TakenOver {
    snapshot: Snapshot,
    writer: SnapshotWriter,
    /// What else was typed in its message, with its mark: it was said behind all that the snapshot stands for.
    beside: Option<(Ordinal, Message)>,
}

/// The program that wrote a snapshot: only ours tells the user's words from those of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SnapshotWriter {
    /// Longhaul. The messages up to `through` stand in this very conversation.
    Known { through: Ordinal },
    /// Longhaul. The messages up to `through` were never seen.
    Lost { through: Ordinal },
    /// A model or another program, in the message `at`.
    Foreign { at: Ordinal },
}

/// A message with what it says.
pub(crate) enum Heard {
    Message { at: Ordinal, hearing: Box<Hearing> },
    Snapshot(Box<TakenOver>),
}

impl Eyes<'_> {
    /// Counts a message and notes the work in it.
    pub(crate) fn watch(&mut self, message: &Message) -> Seen {
        let at = message.ordinal.unwrap_or(Ordinal(self.last.saturating_add(1)));
        *self.last = at.0.max(*self.last);
        let Some(snapshot) = any_snapshot(message) else {
            self.ledger.observe(message);
            return Seen::Message { at };
        };
        let writer = match message.snapshot_through() {
            None => SnapshotWriter::Foreign { at },
            Some(through) if at <= through => SnapshotWriter::Lost { through },
            Some(through) => SnapshotWriter::Known { through },
        };
        if let SnapshotWriter::Lost { through } = writer {
            *self.last = through.0.max(*self.last);
            self.ledger.take_over(&snapshot);
        }
        let beside = typed_beside(message, Ordinal(*self.last));
        Seen::Snapshot(Box::new(TakenOver { snapshot, writer, beside }))
    }
}

/// What a person typed in a message beside a snapshot, as a message with the mark `at`.
fn typed_beside(message: &Message, at: Ordinal) -> Option<(Ordinal, Message)> {
    let parts = message.parts.iter().filter(|part| part.origin == Origin::User && part.as_text().is_some());
    let parts: Vec<Part> = parts.cloned().collect();
    let typed = Message { ordinal: Some(at), ..Message::new(message.id.clone(), message.role, parts) };
    (!typed.is_empty()).then_some((at, typed))
}

impl Seen {
    /// The message with what it says, which `hear` finds out.
    pub(crate) fn heard(self, hear: impl FnOnce() -> Hearing) -> Heard {
        match self {
            Self::Message { at } => Heard::Message { at, hearing: Box::new(hear()) },
            Self::Snapshot(snapshot) => Heard::Snapshot(snapshot),
        }
    }
}

impl Ears<'_> {
    /// Takes in the next message.
    pub(crate) fn take_in(&mut self, heard: &mut Heard) {
        match heard {
            Heard::Message { at, hearing } => self.take_in_message(*at, hearing),
            Heard::Snapshot(snapshot) => self.take_over(snapshot),
        }
    }

    /// Takes in the next message, which says this and loses what is kept of it.
    fn take_in_message(&mut self, at: Ordinal, hearing: &mut Hearing) {
        let Hearing { own_mark, instructions, overheard, words, lines } = hearing;
        self.pins.follow(*own_mark, instructions);
        self.asks.follow(*own_mark, overheard);
        if let Some(words) = words.take() {
            self.words.take_in(at, words);
        }
        self.pool.take_in(lines, at);
    }

    /// Takes over what an earlier snapshot says. Rules, requests and words of the user's are taken over from one of ours that
    /// begins a conversation; further behind, the log has said it all, or somebody has pasted the snapshot.
    fn take_over(&mut self, TakenOver { snapshot, writer, beside }: &TakenOver) {
        match *writer {
            SnapshotWriter::Lost { through } | SnapshotWriter::Known { through } if self.words.is_empty() => {
                if matches!(writer, SnapshotWriter::Lost { .. }) {
                    self.asks.take_over(snapshot);
                }
                self.take_over_own(snapshot, through);
            }
            SnapshotWriter::Lost { through: at } | SnapshotWriter::Foreign { at } => {
                self.quote_foreign(snapshot, at);
            }
            SnapshotWriter::Known { through } => {
                let sections = snapshot.sections();
                let sections = sections.filter(|(section, _)| *section != Section::ActiveConstraints);
                for entry in sections.flat_map(|(_, entries)| entries) {
                    let at = entry.marks().last().copied().unwrap_or(through);
                    entry.lines().iter().for_each(|line| self.quote(line, at));
                }
            }
        }
        if let Some((at, message)) = beside {
            self.take_in_message(*at, &mut Hearing::of(message, Gathered::default()));
        }
    }

    fn take_over_own(&mut self, snapshot: &Snapshot, through: Ordinal) {
        self.pins.take_over(snapshot);
        for (section, entries) in snapshot.sections() {
            for entry in entries {
                let at = entry.marks().last().copied().unwrap_or(through);
                match section {
                    Section::ActiveConstraints => take_over_words(self.words, at, entry.lines()),
                    // What was to be done then may be done later: only the asks know.
                    Section::TaskState => {
                        entry.lines().iter().for_each(|line| self.quote(without_state(line), at));
                    }
                    _ => entry.lines().iter().for_each(|line| self.quote(line, at)),
                }
            }
        }
        let others = snapshot.others().iter().flat_map(|other| other.text().lines());
        others.for_each(|line| self.quote(line, through));
    }

    /// Quotes what a model or another program says. Its constraints, goals and tasks are nobody's words.
    fn quote_foreign(&mut self, snapshot: &Snapshot, at: Ordinal) {
        for SnapshotLine { section, line, .. } in snapshot.lines() {
            match section {
                Section::OverallGoal | Section::ActiveConstraints | Section::TaskState => {
                    let line = without_state(line.strip_prefix(USER_SAID).unwrap_or(line));
                    let line = line.strip_prefix(FOUND).unwrap_or(line);
                    self.quote(&format!("{FOUND}{line}"), at);
                }
                _ => self.quote(line, at),
            }
        }
    }

    fn quote(&mut self, line: &str, at: Ordinal) {
        self.pool.take_in(&mut Gathered::quoted(line), at);
    }
}

fn take_over_words(words: &mut UserWords, at: Ordinal, lines: &[String]) {
    let words_from = lines.iter().position(|line| line.starts_with(USER_SAID)).unwrap_or(lines.len());
    if words_from < lines.len() {
        let text = lines[words_from..].join("\n");
        words.add(at, text.trim_start_matches(USER_SAID));
    }
}

/// Follows all messages that `produce` hands over: they are watched on this thread and taken in on another.
pub(crate) fn follow_while<T>(
    mut eyes: Eyes<'_>,
    mut ears: Ears<'_>,
    produce: impl FnOnce(&mut dyn FnMut(&Message)) -> T,
) -> T {
    let root = ears.pool.root().map(str::to_string);
    let waiting = AtomicUsize::new(0);
    let waiting = &waiting;
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(MOST_WAITING);
        let (giver_back, used) = channel();
        let listener = scope.spawn(move || listen(&mut ears, receiver, &giver_back, waiting));
        let mut queue = Queue {
            sender,
            used,
            waiting,
            root,
            memo: Memo::new(),
            batch: Batch::default(),
            spares: Vec::new(),
            spare: 0,
        };
        let produced = produce(&mut |message| queue.add(eyes.watch(message), message));
        queue.hand_over();
        drop(queue);
        listener.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        produced
    })
}

/// Takes in what comes, until nothing comes any more, and gives it back: memory is freed soonest where it was taken, as
/// otherwise the threads wait for each other again and again.
fn listen(ears: &mut Ears<'_>, receiver: Receiver<Batch>, giver_back: &Sender<Batch>, waiting: &AtomicUsize) {
    let root = ears.pool.root().map(str::to_string);
    let (mut spare, mut memo) = (Gathered::default(), Memo::new());
    for mut batch in receiver {
        for item in &mut batch.items {
            match item {
                Item::Heard(heard) => ears.take_in(heard),
                Item::Unheard { at, message } => {
                    let mut hearing = Hearing::of(message, spare);
                    hearing.lines.find_anchors(root.as_deref(), &mut memo);
                    ears.take_in_message(*at, &mut hearing);
                    // One very long message must not hold its memory for ever.
                    spare =
                        Some(hearing.lines).filter(|lines| lines.spare_size() <= SPARE).unwrap_or_default();
                }
            }
        }
        waiting.fetch_sub(1, Ordering::Relaxed);
        // Nobody is there any more when all was handed over.
        let _ = giver_back.send(batch);
    }
}

/// A message on its way to the ears.
enum Item {
    Heard(Heard),
    /// A message that nobody has listened to yet.
    Unheard {
        at: Ordinal,
        message: Box<Message>,
    },
}

/// Messages that are handed over together: to wake the other thread takes longer than to read a short message.
#[derive(Default)]
struct Batch {
    items: Vec<Item>,
    size: usize,
}

/// How many bytes are handed over together at least.
const BATCH: usize = 64_000;
/// What a message counts beside its bytes.
const MESSAGE: usize = 200;
/// How many batches may be on the way before the work of the ears is done here, as far as that is possible.
const ENOUGH_WAITING: usize = 2;
/// How many batches may wait at all.
const MOST_WAITING: usize = 32;
/// So much memory is kept for messages to come, by either thread.
const SPARE: usize = 1 << 21;

/// The way from the eyes to the ears.
struct Queue<'w> {
    sender: SyncSender<Batch>,
    /// What was taken in.
    used: Receiver<Batch>,
    /// How many batches are on the way; nothing but who does the work depends on it.
    waiting: &'w AtomicUsize,
    /// The working folder, which paths are seen from.
    root: Option<String>,
    memo: Memo,
    batch: Batch,
    /// Memory for messages to come.
    spares: Vec<Gathered>,
    /// How much that is.
    spare: usize,
}

impl Queue<'_> {
    fn add(&mut self, seen: Seen, message: &Message) {
        self.batch.size += MESSAGE + message.parts.iter().map(quoted_len).sum::<usize>();
        let is_idle = self.waiting.load(Ordering::Relaxed) < ENOUGH_WAITING;
        let item = match seen {
            // To copy it is cheap beside listening to it.
            Seen::Message { at } if is_idle => Item::Unheard { at, message: Box::new(copy_said(message)) },
            seen => Item::Heard(self.hear(seen, message)),
        };
        self.batch.items.push(item);
        if self.batch.size >= BATCH {
            self.hand_over();
        }
    }

    /// Does as much as can be done without knowing what came before.
    fn hear(&mut self, seen: Seen, message: &Message) -> Heard {
        seen.heard(|| {
            let spare = self.spares.pop().unwrap_or_default();
            self.spare -= spare.spare_size();
            let mut hearing = Hearing::of(message, spare);
            hearing.lines.find_anchors(self.root.as_deref(), &mut self.memo);
            hearing
        })
    }

    fn hand_over(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // It only hangs up when it panics, and that is told where it is waited for.
        let _ = self.sender.send(batch);
        while let Ok(used) = self.used.try_recv() {
            self.reuse(used);
        }
    }

    /// Frees what was taken in, as far as its memory is not of use for messages to come.
    fn reuse(&mut self, mut used: Batch) {
        for item in used.items.drain(..) {
            if let Item::Heard(Heard::Message { hearing, .. }) = item {
                let size = self.spare + hearing.lines.spare_size();
                if size <= SPARE {
                    self.spare = size;
                    self.spares.push(hearing.lines);
                }
            }
        }
        self.batch.items = used.items;
    }
}
