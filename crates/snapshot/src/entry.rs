//! One entry of a section: lines that belong together, and the messages they come from.

use std::fmt;

use longhaul_conversation::Ordinal;

use super::clean::{clean_lines, clean_text, is_reserved};
use super::marks::{begins_item, write_mark};
use super::tags::is_name;

/// Lines that belong together, under one mark if it is known which messages said them.
///
/// Invariant: the marks ascend; no line is blank, breaks, ends in white space, begins like a mark or contains a tag of
/// ours; the first line is not indented. Other text is brought into this form, verbatim but for that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    marks: Vec<Ordinal>,
    lines: Vec<String>,
}

/// A section that only its writer knows, kept as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherSection {
    name: String,
    text: String,
}

impl Entry {
    /// An entry of these lines, said by the messages with these marks.
    pub fn new<L: AsRef<str>>(
        marks: impl IntoIterator<Item = Ordinal>,
        lines: impl IntoIterator<Item = L>,
    ) -> Self {
        // Messages are counted from 1: a mark of 0 names none.
        let mut marks: Vec<_> = marks.into_iter().filter(|mark| mark.0 > 0).collect();
        marks.sort_unstable();
        marks.dedup();
        let mut lines: Vec<_> =
            lines.into_iter().flat_map(|line| clean_lines(line.as_ref()).collect::<Vec<_>>()).collect();
        if let Some(first) = lines.first() {
            let surplus = indent_of(first);
            if surplus > 0 {
                lines.iter_mut().for_each(|line| *line = without_indent(line, surplus).to_string());
            }
        }
        Self { marks, lines }
    }

    /// An entry of a text whose source is not known.
    pub fn unmarked(text: &str) -> Self {
        Self::new([], [text])
    }

    /// The messages that said it, ascending.
    pub fn marks(&self) -> &[Ordinal] {
        &self.marks
    }

    /// Its lines.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Returns true if it says nothing. Such an entry is not taken into a snapshot.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Puts the lines of `other` behind its own if the same messages said them.
    pub(super) fn absorb(&mut self, other: Self) -> Result<(), Self> {
        if self.marks.is_empty() || self.marks != other.marks {
            return Err(other);
        }
        self.lines.extend(other.lines);
        Ok(())
    }

    /// The entry as the parser would see it: without a mark, every list item is an entry by itself.
    pub(super) fn into_items(self) -> Vec<Self> {
        if !self.marks.is_empty() {
            return vec![self];
        }
        let mut items: Vec<Self> = Vec::new();
        for line in self.lines {
            match items.last_mut() {
                Some(item) if !begins_item(&line) => item.lines.push(line),
                _ => items.push(Self { marks: Vec::new(), lines: vec![line] }),
            }
        }
        items
    }

    /// Returns true if a blank line must part it from `before`, or it would be read as more of the same.
    pub(super) fn needs_gap_after(&self, before: &Self) -> bool {
        let begins_by_itself =
            before.marks.is_empty() && self.lines.first().is_some_and(|line| begins_item(line));
        self.marks.is_empty() && !begins_by_itself
    }

    /// Writes it, each line with its line break.
    pub(super) fn write_to(&self, out: &mut impl fmt::Write) -> fmt::Result {
        if !self.marks.is_empty() {
            write_mark(out, &self.marks)?;
            out.write_char(' ')?;
        }
        for line in &self.lines {
            out.write_str(line)?;
            out.write_char('\n')?;
        }
        Ok(())
    }
}

/// As it is rendered in a snapshot, each line with its line break.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_to(f)
    }
}

impl OtherSection {
    /// A section with this name; none if the text says nothing, or if no other section can have this name.
    pub fn new(name: &str, text: &str) -> Option<Self> {
        if !is_name(name) || is_reserved(name) {
            return None;
        }
        let text = clean_text(text, name);
        (!text.is_empty()).then(|| Self { name: name.to_string(), text })
    }

    /// The name of its tag.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// The number of white space characters that a line begins with.
pub(super) fn indent_of(line: &str) -> usize {
    line.chars().take_while(|character| character.is_whitespace()).count()
}

/// A line without its first `surplus` characters, as far as they are white space.
pub(super) fn without_indent(line: &str, surplus: usize) -> &str {
    let mut characters = line.chars();
    for _ in 0..surplus.min(indent_of(line)) {
        characters.next();
    }
    characters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(marks: &[u32], lines: &[&str], rendered: &str) {
        let entry = Entry::new(marks.iter().copied().map(Ordinal), lines);
        assert_eq!(entry.to_string(), rendered);
    }

    #[test]
    fn a_mark_stands_before_the_first_line_only() {
        check(&[12], &["one", "two"], "[m12] one\ntwo\n");
        check(&[], &["one", "two"], "one\ntwo\n");
    }

    #[test]
    fn several_marks_stand_together_in_order() {
        check(&[9, 3, 9, 0], &["one"], "[m3, m9] one\n");
    }

    #[test]
    fn lines_are_brought_into_form() {
        check(&[1], &["one\r\n\r\ntwo ", "", "three"], "[m1] one\ntwo\nthree\n");
        check(&[1], &["  if a:", "      b", " c", "d"], "[m1] if a:\n    b\nc\nd\n");
        check(&[1], &["[m2] not so"], "[m1] ‹m2› not so\n");
        assert!(Entry::unmarked(" \n\t").is_empty());
    }

    #[track_caller]
    fn check_items(marks: &[u32], text: &str, expected: &[&str]) {
        let entry = Entry::new(marks.iter().copied().map(Ordinal), [text]);
        let items: Vec<_> = entry.into_items().iter().map(|item| item.lines.join("|")).collect();
        assert_eq!(items, expected);
    }

    #[test]
    fn without_a_mark_items_are_entries() {
        check_items(&[], "a\nb", &["a|b"]);
        check_items(&[], "a:\n- b\n  more\n- c\n  - d", &["a:", "- b|  more", "- c|  - d"]);
        check_items(&[], "1. a\n2. b", &["1. a", "2. b"]);
        check_items(&[], "  - a\n  - b", &["- a", "- b"]);
        check_items(&[4], "- a\n- b", &["- a|- b"]);
        check_items(&[], "", &[]);
    }

    #[test]
    fn other_sections_have_names_of_their_own() {
        assert!(OtherSection::new("notes", "a").is_some());
        assert_eq!(OtherSection::new("notes", "a\n</notes>").unwrap().text(), "a\n‹/notes›");
        for (name, text) in [("notes", " \n"), ("", "a"), ("a b", "a"), ("1a", "a"), ("Key-Knowledge", "a")] {
            assert_eq!(OtherSection::new(name, text), None, "{name}");
        }
    }
}
