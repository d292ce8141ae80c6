//! Remembers what was found in lines: the same ones stand in a conversation again and again.

use std::ops::Range;

use super::anchors::AnchorKind;
use super::chart::Chart;
use super::repeats::{Find, Repeats};
use super::table::hash_text;
use super::tokens::{Token, scan_tokens};

/// An anchor with the hash of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found<'t> {
    pub(crate) kind: AnchorKind,
    pub(crate) text: &'t str,
    pub(crate) hash: u64,
}

impl<'t> Found<'t> {
    pub(crate) fn of(kind: AnchorKind, text: &'t str) -> Self {
        Self { kind, text, hash: hash_text(text) }
    }

    /// Where it stands in `line`, of which it is a part.
    fn within(&self, line: &str) -> Find {
        let start = self.text.as_ptr().addr() - line.as_ptr().addr();
        Find { hash: self.hash, start: start as u32, length: self.text.len() as u32, kind: self.kind }
    }
}

/// What was found in the lines that were seen last.
#[derive(Default)]
pub(crate) struct Memo {
    /// None at all where nothing is to be remembered.
    lines: Repeats,
    /// The chart of the line that is looked at.
    chart: Chart,
}

impl Memo {
    /// One that remembers.
    pub(crate) fn new() -> Self {
        Self { lines: Repeats::new(), chart: Chart::default() }
    }

    /// The anchors of the line at `place` in a text, but for commands; paths inside `root` are seen from there.
    ///
    /// Lines of files and outputs come again (`may_repeat`), sentences hardly ever do.
    pub(crate) fn names_of(
        &mut self,
        text: &str,
        place: Range<usize>,
        root: Option<&str>,
        may_repeat: bool,
    ) -> &[Find] {
        let Self { lines, chart } = self;
        let line = &text[place.clone()];
        let look = |finds: &mut Vec<Find>| {
            chart.draw(text, place);
            let mut found = |anchor: Found<'_>| finds.push(anchor.within(line));
            scan_tokens(line, chart, &mut |token| each_anchor(token, root, &mut found));
        };
        if may_repeat { lines.found_in(line, look) } else { lines.found_once(look) }
    }
}

/// Calls `found` with each anchor of a token.
fn each_anchor<'t>(token: Token<'t>, root: Option<&str>, found: &mut impl FnMut(Found<'t>)) {
    token.classify(&mut |kind, anchor| found(Found::of(kind, seen_from(root, anchor))));
}

/// A path as it is seen from the working folder, if it lies in it.
pub(crate) fn seen_from<'t>(root: Option<&str>, path: &'t str) -> &'t str {
    let inside = root.and_then(|root| path.strip_prefix(root));
    inside.and_then(|rest| rest.strip_prefix('/')).filter(|rest| !rest.is_empty()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn anchors(line: &str, memo: &mut Memo) -> Vec<Find> {
        let once = memo.names_of(line, 0..line.len(), Some("/home/me/app"), false).to_vec();
        let found = memo.names_of(line, 0..line.len(), Some("/home/me/app"), true).to_vec();
        assert_eq!(once, found);
        found
    }

    /// What would be found in a line if nothing were remembered.
    fn anew(line: &str) -> Vec<Find> {
        anchors(line, &mut Memo::default())
    }

    #[test]
    fn what_is_remembered_is_told_as_if_it_were_new() {
        let mut memo = Memo::new();
        for line in [
            "in /home/me/app/src/main.rs:12 and src/a-b_c/read-me.one_two.three_four, E0308: `a b`",
            "https://a.example/b?c=d fn read_file(maxSize: u64) 12345 1a2b3c4d5e src/main.rs: note: Note. v1.2.3",
            &format!("src/{}.rs and {}:one_two", "x".repeat(150), "y".repeat(300)),
        ] {
            let expected = anew(line);
            assert!(expected.len() > 1);
            for _ in 0..3 {
                assert_eq!(anchors(line, &mut memo), expected);
            }
        }
    }

    proptest! {
        #[test]
        fn any_line_is_read_alike(lines in prop::collection::vec("([a-cA-C1-3_./:@-]{1,6} ?|/home/me/app/|Error|`){0,20}", 1..8)) {
            let mut memo = Memo::new();
            for line in lines.iter().chain(&lines) {
                prop_assert_eq!(anchors(line, &mut memo), anew(line));
            }
        }
    }
}
