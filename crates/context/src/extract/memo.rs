//! Remembers what was found in names and in lines: the same ones stand in a conversation again and again.

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

/// The anchors of the names that were seen last, by hash; names of one length with the same 64 bits are taken for the same.
#[derive(Default)]
pub(crate) struct Memo {
    /// A power of two of them; none at all where nothing is to be remembered.
    slots: Vec<Slot>,
    /// What was found in whole lines.
    lines: Repeats,
    /// The chart of the line that is looked at.
    chart: Chart,
}

#[derive(Clone, Copy)]
struct Slot {
    /// That of the whole name.
    hash: u64,
    /// How long the name is. Hashes can be made to meet, and nothing is to be looked for behind a shorter name's end.
    length: u8,
    anchors: Anchors,
}

#[derive(Clone, Copy)]
enum Anchors {
    Few([Option<Part>; FEW]),
    /// More than are remembered.
    Many,
}

/// An anchor that is a part of a name.
#[derive(Clone, Copy)]
struct Part {
    hash: u64,
    start: u8,
    length: u8,
    kind: AnchorKind,
}

/// Nearly every name is one anchor, or a path and the name of its file.
const FEW: usize = 2;
/// More than a program of some size has in the files that are worked on.
const SLOTS: usize = 1 << 12;

impl Memo {
    /// One that remembers.
    pub(crate) fn new() -> Self {
        // No name is that short.
        let empty = Slot { hash: 0, length: 0, anchors: Anchors::Few([None; FEW]) };
        Self { slots: vec![empty; SLOTS], lines: Repeats::new(), chart: Chart::default() }
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
        let Self { slots, lines, chart } = self;
        let line = &text[place.clone()];
        let look = |finds: &mut Vec<Find>| {
            chart.draw(text, place);
            let mut found = |anchor: Found<'_>| finds.push(anchor.within(line));
            scan_tokens(line, chart, &mut |token| each_anchor(slots, token, root, &mut found));
        };
        if may_repeat { lines.found_in(line, look) } else { lines.found_once(look) }
    }
}

/// Calls `found` with each anchor of a token, as far as possible from memory.
fn each_anchor<'t>(
    slots: &mut [Slot],
    token: Token<'t>,
    root: Option<&str>,
    found: &mut impl FnMut(Found<'t>),
) {
    // Numbers hardly come again.
    let is_name = |text: &str| !text.starts_with(|c: char| c.is_ascii_digit());
    let (Token::Name(name), Some(last)) = (token, slots.len().checked_sub(1)) else {
        return each_new(token, root, found);
    };
    let Some(length) = u8::try_from(name.len()).ok().filter(|_| is_name(name)) else {
        return each_new(token, root, found);
    };
    let hash = hash_text(name);
    let slot = &mut slots[hash as usize & last];
    if (slot.hash, slot.length) != (hash, length) {
        *slot = Slot { hash, length, anchors: take_apart(name, token, root) };
    }
    match &slot.anchors {
        Anchors::Few(parts) => parts.iter().flatten().for_each(|part| {
            let start = usize::from(part.start);
            let text = &name[start..start + usize::from(part.length)];
            found(Found { kind: part.kind, text, hash: part.hash });
        }),
        Anchors::Many => each_new(token, root, found),
    }
}

fn each_new<'t>(token: Token<'t>, root: Option<&str>, found: &mut impl FnMut(Found<'t>)) {
    token.classify(&mut |kind, anchor| found(Found::of(kind, seen_from(root, anchor))));
}

fn take_apart(name: &str, token: Token<'_>, root: Option<&str>) -> Anchors {
    let mut parts = [None; FEW];
    let mut count = 0;
    each_new(token, root, &mut |Found { kind, text, hash }| {
        let start = (text.as_ptr().addr() - name.as_ptr().addr()) as u8;
        if let Some(part) = parts.get_mut(count) {
            *part = Some(Part { hash, start, length: text.len() as u8, kind });
        }
        count += 1;
    });
    if count <= FEW { Anchors::Few(parts) } else { Anchors::Many }
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

    /// As if the line itself had never been seen, but its names.
    fn by_names(line: &str, memo: &mut Memo) -> Vec<Find> {
        memo.lines = Repeats::default();
        anchors(line, memo)
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
            assert_eq!(by_names(line, &mut memo), expected);
        }
    }

    #[test]
    fn hashes_that_meet_do_no_harm() {
        let mut memo = Memo::new();
        let long = "src/a_long_folder/with_a_long_name.rs";
        anchors(long, &mut memo);
        let slot = memo.slots.iter().copied().find(|slot| slot.hash == hash_text(long));
        let slot = slot.expect("it was just seen");
        // As if a shorter name had the same hash.
        let hash = hash_text("short_name");
        memo.slots[hash as usize & (SLOTS - 1)] = Slot { hash, ..slot };
        assert_eq!(by_names("short_name", &mut memo), anew("short_name"));
    }

    proptest! {
        #[test]
        fn any_line_is_read_alike(lines in prop::collection::vec("([a-cA-C1-3_./:@-]{1,6} ?|/home/me/app/|Error|`){0,20}", 1..8)) {
            let mut memo = Memo::new();
            for line in lines.iter().chain(&lines) {
                prop_assert_eq!(anchors(line, &mut memo), anew(line));
            }
            for line in &lines {
                prop_assert_eq!(by_names(line, &mut memo), anew(line));
            }
        }
    }
}
