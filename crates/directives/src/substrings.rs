//! Looks for pieces of text of several lists at once, in languages that do not part words by spaces or put endings on them.

use aho_corasick::{AhoCorasick, MatchKind};

/// Patterns of several lists: `a` is a piece, `a~b` two pieces in order, `^a` a piece that opens a clause, `a$` one that ends the
/// sentence.
pub(crate) struct SubstringTable {
    patterns: Vec<Pattern>,
    /// Finds the first piece of each pattern.
    search: AhoCorasick,
}

struct Pattern {
    list: u32,
    opens: bool,
    ends: bool,
    first_length: usize,
    rest: Vec<&'static str>,
}

impl SubstringTable {
    /// Makes the patterns of lists ready; a list is known by its place, which is below 64.
    pub(crate) fn new(lists: &[Vec<&'static str>]) -> Self {
        let mut firsts = Vec::new();
        let mut patterns = Vec::new();
        for (list, number) in lists.iter().zip(0..64) {
            for pattern in list {
                let (pattern, opens) =
                    pattern.strip_prefix('^').map_or((*pattern, false), |rest| (rest, true));
                let (pattern, ends) = pattern.strip_suffix('$').map_or((pattern, false), |rest| (rest, true));
                let mut pieces = pattern.split('~');
                let first = pieces.next().unwrap_or_default();
                firsts.push(first);
                patterns.push(Pattern {
                    list: number,
                    opens,
                    ends,
                    first_length: first.len(),
                    rest: pieces.collect(),
                });
            }
        }
        let search = AhoCorasick::builder().match_kind(MatchKind::Standard).build(&firsts);
        Self { patterns, search: search.expect("a few short words can be searched for") }
    }

    /// The lists of which a pattern fits in a sentence, one bit each.
    pub(crate) fn lists_in(&self, sentence: &str) -> u64 {
        let sentence = sentence.trim_end_matches(|c: char| !c.is_alphanumeric());
        let mut found = 0;
        for hit in self.search.find_overlapping_iter(sentence) {
            let pattern = &self.patterns[hit.pattern().as_usize()];
            if found & (1 << pattern.list) == 0 && pattern.fits(sentence, hit.start()) {
                found |= 1 << pattern.list;
            }
        }
        found
    }
}

impl Pattern {
    fn fits(&self, sentence: &str, start: usize) -> bool {
        if self.opens && !opens_clause(&sentence[..start]) {
            return false;
        }
        let mut end = start + self.first_length;
        for (nth, piece) in self.rest.iter().enumerate() {
            let is_last = nth + 1 == self.rest.len();
            if self.ends && is_last {
                return sentence.len() >= end + piece.len() && sentence.ends_with(piece);
            }
            match sentence[end..].find(piece) {
                Some(at) => end += at + piece.len(),
                None => return false,
            }
        }
        !self.ends || end == sentence.len()
    }
}

/// Returns true if a clause begins behind this text.
fn opens_clause(before: &str) -> bool {
    let before = before.trim_end();
    let before = before.strip_suffix(['请', '也', '并', '但', '都', '就']).unwrap_or(before);
    before.is_empty()
        || before
            .ends_with(['，', ',', '。', '；', ';', '：', ':', '、', '（', '(', '—', '！', '!', '.', '\n'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &'static str, sentence: &str, expected: bool) {
        let table = SubstringTable::new(&[vec![pattern]]);
        assert_eq!(table.lists_in(sentence) == 1, expected, "{pattern} in {sentence}");
    }

    #[test]
    fn pieces_openings_and_ends() {
        check("禁止", "这里禁止提交。", true);
        check("^别", "好的，别提交", true);
        check("^别", "类别太多", false);
        check("每次~后", "每次修改之后运行", true);
        check("每次~后", "之后每次", false);
        check("は~です$", "キーはスネークケースです。", true);
        check("は~です$", "キーはスネークケースですが違う。", false);
        check("합니다$", "통일합니다.", true);
    }

    #[test]
    fn lists_are_told_apart() {
        let table = SubstringTable::new(&[vec!["不要"], vec![], vec!["提交", "要提"]]);
        assert_eq!(table.lists_in("不要提交"), 0b101);
        assert_eq!(table.lists_in("看一下"), 0);
    }
}
