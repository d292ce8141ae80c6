//! Writes a snapshot as text, or only measures what it would be.

use std::fmt::{self, Write};

use longhaul_conversation::{Estimate, Estimator};
use longhaul_text::{Units, count_units};

use super::Snapshot;
use super::clean::SNAPSHOT;
use super::frame::FRAME;

impl Snapshot {
    /// The snapshot as text, without a line break at the end.
    pub fn render(&self) -> String {
        let mut text = String::with_capacity(self.rendered_len());
        self.write_to(&mut text).expect("a string takes everything");
        text
    }

    /// The length of the text in bytes.
    pub(crate) fn rendered_len(&self) -> usize {
        self.measure().bytes
    }

    /// The tokens of the text, without rendering it.
    pub fn estimate(&self, estimator: &Estimator) -> Estimate {
        estimator.units(self.measure().units)
    }

    fn measure(&self) -> Size {
        let mut size = Size::default();
        self.write_to(&mut size).expect("measuring takes everything");
        size
    }

    fn write_to(&self, out: &mut impl Write) -> fmt::Result {
        match self.through() {
            Some(through) => writeln!(out, "<{SNAPSHOT} through=\"{through}\">\n{FRAME}")?,
            None => writeln!(out, "<{SNAPSHOT}>")?,
        }
        for (section, entries) in self.sections() {
            writeln!(out, "<{}>", section.name())?;
            for (at, entry) in entries.iter().enumerate() {
                if at > 0 && entry.needs_gap_after(&entries[at - 1]) {
                    out.write_char('\n')?;
                }
                entry.write_to(out)?;
            }
            writeln!(out, "</{}>", section.name())?;
        }
        for other in self.others() {
            writeln!(out, "<{0}>\n{1}\n</{0}>", other.name(), other.text())?;
        }
        write!(out, "</{SNAPSHOT}>")
    }
}

/// As [`Snapshot::render`].
impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_to(f)
    }
}

/// Takes text and keeps only its size.
#[derive(Default)]
struct Size {
    bytes: usize,
    units: Units,
}

impl Write for Size {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let units = count_units(text);
        self.bytes += text.len();
        self.units.ascii += units.ascii;
        self.units.all += units.all;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::Ordinal;

    use super::super::{Entry, OtherSection, Section};
    use super::*;

    #[track_caller]
    fn check(through: Option<u32>, entries: &[(Section, &[u32], &str)], expected: &str) {
        let mut snapshot = Snapshot::new(through.map(Ordinal));
        for (section, marks, text) in entries {
            snapshot.push(*section, Entry::new(marks.iter().copied().map(Ordinal), [text]));
        }
        let text = snapshot.render();
        assert_eq!(text, expected);
        assert_eq!(snapshot.to_string(), text);
        assert_eq!(snapshot.rendered_len(), text.len());
        let estimator = Estimator::default();
        assert_eq!(snapshot.estimate(&estimator), estimator.text(&text));
    }

    #[test]
    fn an_empty_snapshot_has_no_sections() {
        check(None, &[], "<state_snapshot>\n</state_snapshot>");
        check(Some(7), &[], &format!("<state_snapshot through=\"m7\">\n{FRAME}\n</state_snapshot>"));
    }

    #[test]
    fn sections_stand_in_order_whatever_came_first() {
        check(
            None,
            &[(Section::TaskState, &[], "later"), (Section::OverallGoal, &[1], "日本語 first")],
            "<state_snapshot>\n<overall_goal>\n[m1] 日本語 first\n</overall_goal>\n<task_state>\nlater\n</task_state>\n\
             </state_snapshot>",
        );
    }

    #[test]
    fn gaps_stand_only_where_entries_would_run_together() {
        use Section::KeyKnowledge as K;
        let entries: &[(Section, &[u32], &str)] = &[
            (K, &[1], "a\nb"),
            (K, &[2, 3], "c"),
            (K, &[], "d"),
            (K, &[], "e"),
            (K, &[], "- f\n- g"),
            (K, &[4], "- h"),
            (K, &[], "- i"),
        ];
        check(
            None,
            entries,
            "<state_snapshot>\n<key_knowledge>\n[m1] a\nb\n[m2, m3] c\n\nd\n\ne\n- f\n- g\n[m4] - h\n\n- i\n\
             </key_knowledge>\n</state_snapshot>",
        );
    }

    #[test]
    fn other_sections_stand_last() {
        let mut snapshot = Snapshot::default();
        snapshot.push_other(OtherSection::new("notes", "a\n\n b").unwrap());
        snapshot.push(Section::TaskState, Entry::unmarked("c"));
        let expected =
            "<state_snapshot>\n<task_state>\nc\n</task_state>\n<notes>\na\n\n b\n</notes>\n</state_snapshot>";
        assert_eq!(snapshot.render(), expected);
    }
}
