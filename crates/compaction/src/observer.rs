//! Observer of a conversation: notes message by message what is done and what is said.

use longhaul_conversation::{Message, Ordinal, Origin, Part};
use longhaul_directives::{UserRequests, UserRules, UserWords};
use longhaul_extract::{Gathered, Pool};
use longhaul_ledger::Ledger;
use longhaul_snapshot::{FOUND, Section, Snapshot, SnapshotLine, USER_SAID, any_snapshot, without_state};

use crate::message_facts::MessageFacts;

/// Observer that keeps the parts of a tracker up to date.
pub(crate) struct Observer<'t> {
    pub(crate) ledger: &'t mut Ledger,
    pub(crate) rules: &'t mut UserRules,
    pub(crate) requests: &'t mut UserRequests,
    pub(crate) words: &'t mut UserWords,
    pub(crate) pool: &'t mut Pool,
    /// Ordinal of the newest message.
    pub(crate) last: &'t mut u32,
}

/// The program that wrote a snapshot: only ours tells the user's words from those of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SnapshotSource {
    /// Longhaul. The messages up to `through` stand in this very conversation.
    Known { through: Ordinal },
    /// Longhaul. The messages up to `through` were never seen.
    Lost { through: Ordinal },
    /// A model or another program, in the message `at`.
    Foreign { at: Ordinal },
}

impl Observer<'_> {
    /// Observes the next message.
    pub(crate) fn observe(&mut self, message: &Message) {
        let at = message.ordinal.unwrap_or(Ordinal(self.last.saturating_add(1)));
        *self.last = at.0.max(*self.last);
        match any_snapshot(message) {
            Some(snapshot) => self.observe_snapshot(at, message, &snapshot),
            None => {
                self.ledger.observe(message);
                self.observe_words(at, message);
            }
        }
    }

    fn observe_words(&mut self, at: Ordinal, message: &Message) {
        let MessageFacts { ordinal, instructions, mut overheard, words, lines } = MessageFacts::of(message);
        self.rules.follow(ordinal, &instructions);
        self.requests.follow(ordinal, &mut overheard);
        if let Some(words) = words {
            self.words.take_in(at, words);
        }
        self.pool.take_in(&lines, at);
    }

    /// Carries over the content of an earlier snapshot. Rules, requests and words of the user's are carried over from one
    /// of ours that begins a conversation; further behind, the log has said it all, or somebody has pasted the snapshot.
    fn observe_snapshot(&mut self, at: Ordinal, message: &Message, snapshot: &Snapshot) {
        let source = match message.snapshot_through() {
            None => SnapshotSource::Foreign { at },
            Some(through) if at <= through => SnapshotSource::Lost { through },
            Some(through) => SnapshotSource::Known { through },
        };
        if let SnapshotSource::Lost { through } = source {
            *self.last = through.0.max(*self.last);
            self.ledger.restore(snapshot);
        }
        match source {
            SnapshotSource::Lost { through } | SnapshotSource::Known { through } if self.words.is_empty() => {
                if matches!(source, SnapshotSource::Lost { .. }) {
                    self.requests.take_over(snapshot);
                }
                self.carry_over_own(snapshot, through);
            }
            SnapshotSource::Lost { through: at } | SnapshotSource::Foreign { at } => {
                self.quote_foreign(snapshot, at);
            }
            SnapshotSource::Known { through } => {
                let sections = snapshot.sections();
                let are_words =
                    |section: Section| matches!(section, Section::ActiveConstraints | Section::UserSaid);
                let sections = sections.filter(|(section, _)| !are_words(*section));
                for entry in sections.flat_map(|(_, entries)| entries) {
                    let at = entry.marks().last().copied().unwrap_or(through);
                    entry.lines().iter().for_each(|line| self.quote(line, at));
                }
            }
        }
        // What else was typed in the message was said behind all that the snapshot stands for.
        let at = Ordinal(*self.last);
        if let Some(typed) = typed_beside(message, at) {
            self.observe_words(at, &typed);
        }
    }

    fn carry_over_own(&mut self, snapshot: &Snapshot, through: Ordinal) {
        self.rules.take_over(snapshot);
        for (section, entries) in snapshot.sections() {
            for entry in entries {
                let at = entry.marks().last().copied().unwrap_or(through);
                match section {
                    Section::ActiveConstraints => carry_over_words(self.words, at, entry.lines()),
                    Section::UserSaid => self.words.add(at, &entry.lines().join("\n")),
                    // What was to be done then may be done later: only the requests know.
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
        // Where nobody typed anything before, its goal is all that is known of theirs.
        let goal = snapshot.entries(Section::OverallGoal).iter().flat_map(|entry| entry.lines());
        let goal: Vec<&str> = goal.map(String::as_str).collect();
        self.requests.inherit(&goal.join(" "), at);
        for SnapshotLine { section, line, .. } in snapshot.lines() {
            match section {
                Section::OverallGoal
                | Section::ActiveConstraints
                | Section::UserSaid
                | Section::TaskState => {
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

/// Carries over the user's words from an older snapshot, where they stand behind the rules.
fn carry_over_words(words: &mut UserWords, at: Ordinal, lines: &[String]) {
    let words_from = lines.iter().position(|line| line.starts_with(USER_SAID)).unwrap_or(lines.len());
    if words_from < lines.len() {
        let text = lines[words_from..].join("\n");
        words.add(at, text.trim_start_matches(USER_SAID));
    }
}

/// Words that a person typed in a message beside a snapshot, as a message with the ordinal `at`.
fn typed_beside(message: &Message, at: Ordinal) -> Option<Message> {
    let parts = message.parts.iter().filter(|part| part.origin == Origin::User && part.as_text().is_some());
    let parts: Vec<Part> = parts.cloned().collect();
    let typed = Message { ordinal: Some(at), ..Message::new(message.id.clone(), message.role, parts) };
    (!typed.is_empty()).then_some(typed)
}
