//! The snapshot that stands for compacted messages: a value, its text form, and the parser of that form.
//!
//! The text form is the XML-like one that models have learned to write. Reading is lenient, because models and other
//! programs write snapshots too; what is written is strict, so that reading it gives the same snapshot again.
//!
//! - Around it stands `<state_snapshot through="m214">`: the last message it covers. One of ours begins with its
//!   [`FRAME`], a sentence that tells any model what this is; it is written and passed over, never kept as an entry.
//! - Sections stand in a fixed order, empty ones not at all.
//! - An entry is some lines under one mark, `[m12]`, or several, `[m3, m9]`. Without a mark it is a paragraph or a list
//!   item; a blank line parts it from what it would otherwise continue.
//! - Quoted text cannot close or open a tag of ours, nor begin like a mark: `‹` and `›` stand in for the signs.
//! - A line that quotes a tool or a file begins with [`QuoteSource::mark`]; see [`quote_lines`].

mod carried;
mod clean;
mod entry;
mod frame;
#[cfg(test)]
mod laws;
mod marks;
mod parse;
mod quote;
mod render;
mod section;
mod states;
mod tags;

pub use carried::{any_snapshot, lost_before, own_snapshot};
pub use entry::{Entry, OtherSection};
pub use frame::FRAME;
use longhaul_conversation::Ordinal;
pub use parse::{find_snapshot, parse_snapshot};
pub use quote::{QuoteSource, defuse, quote_lines};
pub use section::Section;
pub use states::{DONE, FOUND, IN_PROGRESS, TODO, USER_SAID, without_state};

/// The text that stands for the messages up to [`Snapshot::through`].
///
/// ```
/// use longhaul_snapshot::{Entry, FRAME, Section, Snapshot, parse_snapshot};
/// use longhaul_conversation::Ordinal;
///
/// let mut snapshot = Snapshot::new(Some(Ordinal(214)));
/// snapshot.push(Section::OverallGoal, Entry::new([Ordinal(1)], ["Read maps with </overall_goal> in them."]));
/// let text = snapshot.render();
/// assert_eq!(
///     text,
///     format!(
///         "<state_snapshot through=\"m214\">\n\
///          {FRAME}\n\
///          <overall_goal>\n\
///          [m1] Read maps with ‹/overall_goal› in them.\n\
///          </overall_goal>\n\
///          </state_snapshot>"
///     )
/// );
/// assert_eq!(parse_snapshot(&text), Some(snapshot));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    through: Option<Ordinal>,
    /// The entries of each section, in the order of [`Section::ALL`].
    sections: [Vec<Entry>; Section::ALL.len()],
    others: Vec<OtherSection>,
}

/// A line of a snapshot, as a candidate for the next one where the messages themselves are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotLine<'s> {
    /// The section it stood in.
    pub section: Section,
    /// The messages that said it, where known.
    pub marks: &'s [Ordinal],
    /// The line.
    pub line: &'s str,
}

impl Snapshot {
    /// An empty snapshot of the messages up to this one.
    pub fn new(through: Option<Ordinal>) -> Self {
        Self { through, ..Self::default() }
    }

    /// The last message that it stands for, where known.
    pub fn through(&self) -> Option<Ordinal> {
        self.through
    }

    /// Puts an entry at the end of a section.
    ///
    /// Lines of the same messages stand together: an entry with the marks of the last one continues it. Without a mark,
    /// every list item becomes an entry by itself.
    pub fn push(&mut self, section: Section, entry: Entry) {
        let entries = &mut self.sections[section as usize];
        if entry.is_empty() {
            return;
        }
        let entry = match entries.last_mut() {
            Some(last) => last.absorb(entry).err(),
            None => Some(entry),
        };
        entries.extend(entry.into_iter().flat_map(Entry::into_items));
    }

    /// Puts a section that only its writer knows behind the others.
    pub fn push_other(&mut self, section: OtherSection) {
        self.others.push(section);
    }

    /// The same snapshot with nothing in one section.
    #[must_use]
    pub fn without(mut self, section: Section) -> Self {
        self.sections[section as usize].clear();
        self
    }

    /// The entries of one section.
    pub fn entries(&self, section: Section) -> &[Entry] {
        &self.sections[section as usize]
    }

    /// The sections that say something, in order.
    pub fn sections(&self) -> impl Iterator<Item = (Section, &[Entry])> {
        let all = Section::ALL.into_iter().map(|section| (section, self.entries(section)));
        all.filter(|(_, entries)| !entries.is_empty())
    }

    /// The sections that only their writer knows.
    pub fn others(&self) -> &[OtherSection] {
        &self.others
    }

    /// Returns true if it says nothing.
    pub fn is_empty(&self) -> bool {
        self.sections().next().is_none() && self.others.is_empty()
    }

    /// All lines in order, each with its section and marks. The lines of other sections count as knowledge.
    pub fn lines(&self) -> impl Iterator<Item = SnapshotLine<'_>> {
        let known = self.sections().flat_map(|(section, entries)| {
            entries.iter().flat_map(move |entry| {
                entry.lines().iter().map(move |line| SnapshotLine { section, marks: entry.marks(), line })
            })
        });
        let others = self.others.iter().flat_map(|other| other.text().lines());
        let others = others.filter(|line| !line.is_empty()).map(|line| SnapshotLine {
            section: Section::KeyKnowledge,
            marks: &[],
            line,
        });
        known.chain(others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(mark: u32, line: &str) -> Entry {
        Entry::new([Ordinal(mark)], [line])
    }

    #[track_caller]
    fn check(entries: Vec<Entry>, expected: &[&str]) {
        let mut snapshot = Snapshot::default();
        entries.into_iter().for_each(|entry| snapshot.push(Section::TaskState, entry));
        let seen: Vec<_> = snapshot.entries(Section::TaskState).iter().map(Entry::to_string).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn lines_of_one_message_stand_together() {
        check(vec![entry(1, "a"), entry(1, "b"), entry(2, "c")], &["[m1] a\nb\n", "[m2] c\n"]);
        check(vec![entry(1, "a"), entry(2, "b"), entry(1, "c")], &["[m1] a\n", "[m2] b\n", "[m1] c\n"]);
        check(vec![Entry::unmarked("a"), Entry::unmarked("b")], &["a\n", "b\n"]);
    }

    #[test]
    fn an_entry_that_says_nothing_is_not_taken() {
        check(vec![entry(1, " "), Entry::unmarked("")], &[]);
        let mut snapshot = Snapshot::new(Some(Ordinal(3)));
        snapshot.push(Section::OverallGoal, Entry::default());
        assert!(snapshot.is_empty());
    }

    #[test]
    fn every_line_is_a_candidate_for_the_next_snapshot() {
        let mut snapshot = Snapshot::default();
        snapshot.push(Section::TaskState, Entry::unmarked("- [TODO] test"));
        snapshot.push(Section::OverallGoal, Entry::new([Ordinal(3), Ordinal(1)], ["a", "b"]));
        snapshot.push_other(OtherSection::new("notes", "c\n\nd").unwrap());
        let lines: Vec<_> = snapshot.lines().map(|line| (line.section, line.marks, line.line)).collect();
        let marks = [Ordinal(1), Ordinal(3)];
        let expected: [(Section, &[Ordinal], &str); 5] = [
            (Section::OverallGoal, &marks, "a"),
            (Section::OverallGoal, &marks, "b"),
            (Section::TaskState, &[], "- [TODO] test"),
            (Section::KeyKnowledge, &[], "c"),
            (Section::KeyKnowledge, &[], "d"),
        ];
        assert_eq!(lines, expected);
    }
}
