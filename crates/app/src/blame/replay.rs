//! Replays edits on a text, and compares what comes out with what was committed.

use std::time::Duration;

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use super::edits::FileEdit;

/// After this a comparison is given up, and what it would have found stays unknown.
const TIMEOUT: Duration = Duration::from_millis(500);

/// The most edits of which the best number is looked for.
const MOST_CUTS: usize = 64;

/// The least letters and digits of a line that says enough by itself; others need a neighbour.
const TELLING: usize = 4;

/// A change of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The whole text is new.
    Write(String),
    /// A part takes the place of another.
    Replace { old: String, new: String, is_everywhere: bool },
    /// Lines come behind that line; behind all if there are not so many.
    Insert { line: usize, new: String },
}

/// The lines of a commit with the edits that wrote them.
#[derive(Clone, Debug, Default)]
pub(super) struct AttributedText {
    lines: Vec<String>,
    authors: Vec<Option<usize>>,
}

impl AttributedText {
    /// The edit that wrote a line, given by its number in the commit and its text.
    pub(super) fn author(&self, number: usize, text: &str) -> Option<usize> {
        let place = number.checked_sub(1)?;
        let is_same = self.lines.get(place).is_some_and(|line| line.trim_end() == text.trim_end());
        is_same.then(|| self.authors[place])?
    }

    /// Takes over what is not known yet.
    pub(super) fn fill(&mut self, other: Self) {
        if self.lines.is_empty() {
            *self = other;
            return;
        }
        for (known, new) in self.authors.iter_mut().zip(other.authors) {
            *known = known.or(new);
        }
    }

    /// True if every line that the commit brought is attributed.
    pub(super) fn is_complete(&self, before: &str, after: &str) -> bool {
        let (before, after) = (lines(before), lines(after));
        let is_new = new_lines(&before, &after);
        is_new.iter().zip(&self.authors).all(|(is_new, author)| !is_new || author.is_some())
    }
}

/// The places of equal lines in two texts.
type EqualLines = Vec<(usize, usize)>;

/// A text with the edit that wrote each line.
#[derive(Clone, Debug, Default)]
struct State {
    lines: Vec<(String, Option<usize>)>,
}

/// Attributes the lines of `after` that are not in `before`: edits are replayed on `base`, and what comes out in the place
/// where `after` has it was written by them.
pub(super) fn attribute(
    base: &str,
    before: &str,
    after: &str,
    edits: &[(usize, &FileEdit)],
) -> AttributedText {
    let after_lines = lines(after);
    let mut found = AttributedText {
        lines: after_lines.iter().map(|line| (*line).to_owned()).collect(),
        authors: vec![None; after_lines.len()],
    };
    if edits.is_empty() {
        return found;
    }
    let mut state = State { lines: lines(base).into_iter().map(|line| (line.to_owned(), None)).collect() };
    let mut states = Vec::new();
    for (place, (id, edit)) in edits.iter().enumerate() {
        edit.changes.iter().for_each(|change| state.apply(change, *id));
        if place + MOST_CUTS >= edits.len() {
            states.push(state.clone());
        }
    }
    // Later edits may be of a later commit: the state that is most like the text counts.
    let mut best: Option<(EqualLines, State)> = None;
    for state in states.into_iter().rev() {
        let texts: Vec<&str> = state.lines.iter().map(|(line, _)| line.as_str()).collect();
        let pairs = equal_lines(&texts, &after_lines);
        let is_whole = pairs.len() == after_lines.len() && texts.len() == after_lines.len();
        if best.as_ref().is_none_or(|(best, _)| pairs.len() > best.len()) {
            best = Some((pairs, state));
        }
        if is_whole {
            break;
        }
    }
    let Some((pairs, state)) = best else { return found };
    for (old, new) in pairs {
        found.authors[new] = state.lines[old].1;
    }
    let is_new = new_lines(&lines(before), &after_lines);
    for (author, is_new) in found.authors.iter_mut().zip(&is_new) {
        *author = author.filter(|_| *is_new);
    }
    drop_lonely(&after_lines, &mut found.authors);
    found
}

/// Drops authors of lines such as `}` unless a telling line of the same edit is next to them.
fn drop_lonely(lines: &[&str], authors: &mut [Option<usize>]) {
    let is_telling =
        |line: &str| line.chars().filter(|letter| letter.is_alphanumeric()).take(TELLING).count() == TELLING;
    let mut lonely = Vec::new();
    let mut start = 0;
    while start < lines.len() {
        let mut end = start + 1;
        while end < lines.len() && authors[end] == authors[start] {
            end += 1;
        }
        let is_kept = lines[start..end].iter().any(|line| is_telling(line));
        if !is_kept {
            lonely.push(start..end);
        }
        start = end;
    }
    lonely.into_iter().for_each(|range| authors[range].fill(None));
}

impl State {
    fn apply(&mut self, change: &Change, id: usize) {
        match change {
            Change::Write(text) => self.become_text(text, id),
            Change::Insert { line, new } => {
                let place = (*line).min(self.lines.len());
                let new = lines(new).into_iter().map(|line| (line.to_owned(), Some(id)));
                self.lines.splice(place..place, new);
            }
            Change::Replace { old, new, is_everywhere } => {
                let whole: String = self.lines.iter().flat_map(|(line, _)| [line, "\n"]).collect();
                let Some((old, new)) = found_in(&whole, old, new) else { return };
                let changed = match is_everywhere {
                    true => whole.replace(&*old, &new),
                    false => whole.replacen(&*old, &new, 1),
                };
                self.become_text(&changed, id);
            }
        }
    }

    /// Takes on a text; lines that stay keep their authors.
    fn become_text(&mut self, text: &str, id: usize) {
        let texts: Vec<&str> = self.lines.iter().map(|(line, _)| line.as_str()).collect();
        let new = lines(text);
        let mut authors: Vec<Option<usize>> = vec![Some(id); new.len()];
        for (old, new) in equal_lines(&texts, &new) {
            authors[new] = self.lines[old].1;
        }
        self.lines = new.into_iter().map(str::to_owned).zip(authors).collect();
    }
}

/// The texts of a replacement as they stand in a text, whose last line may have had no end.
fn found_in<'t>(
    whole: &str,
    old: &'t str,
    new: &'t str,
) -> Option<(std::borrow::Cow<'t, str>, std::borrow::Cow<'t, str>)> {
    if whole.contains(old) {
        return Some((old.into(), new.into()));
    }
    let (old, new) = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
    (!old.is_empty() && whole.contains(&old)).then(|| (old.into(), new.into()))
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

/// The pairs of equal lines of two texts, in order.
fn equal_lines(old: &[&str], new: &[&str]) -> EqualLines {
    let deadline = std::time::Instant::now() + TIMEOUT;
    let ops = capture_diff_slices_deadline(Algorithm::Patience, old, new, Some(deadline));
    let equal = |op: DiffOp| match op {
        DiffOp::Equal { old_index, new_index, len } => Some((old_index, new_index, len)),
        _ => None,
    };
    ops.into_iter()
        .filter_map(equal)
        .flat_map(|(old, new, len)| (0..len).map(move |place| (old + place, new + place)))
        .collect()
}

/// Which lines of the newer text the older one does not have.
fn new_lines(before: &[&str], after: &[&str]) -> Vec<bool> {
    let mut is_new = vec![true; after.len()];
    equal_lines(before, after).into_iter().for_each(|(_, new)| is_new[new] = false);
    is_new
}
