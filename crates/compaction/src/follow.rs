//! Observes a conversation message by message: what is done, and what is said.

use longhaul_conversation::{Message, Ordinal, Origin, Part};
use longhaul_directives::{Asks, Pins, UserWords};
use longhaul_extract::{Gathered, Pool};
use longhaul_ledger::Ledger;
use longhaul_snapshot::{FOUND, Section, Snapshot, SnapshotLine, USER_SAID, any_snapshot, without_state};

use crate::hearing::Hearing;

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
    pub pool: &'t mut Pool,
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
            self.ledger.restore(&snapshot);
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
            self.take_in_message(*at, &mut Hearing::of(message));
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
        self.pool.take_in(&Gathered::quoted(line), at);
    }
}

fn take_over_words(words: &mut UserWords, at: Ordinal, lines: &[String]) {
    let words_from = lines.iter().position(|line| line.starts_with(USER_SAID)).unwrap_or(lines.len());
    if words_from < lines.len() {
        let text = lines[words_from..].join("\n");
        words.add(at, text.trim_start_matches(USER_SAID));
    }
}
