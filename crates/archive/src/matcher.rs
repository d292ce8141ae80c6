//! Finds the terms of a query in a text.
//!
//! Most of a text is skipped by one search for all spellings. Only the line around a match is examined closely, where
//! matches may overlap: a path, its end and the words in it.

use std::ops::Range;

use aho_corasick::packed::Searcher;
use aho_corasick::{AhoCorasick, AhoCorasickKind, Input};

use crate::candidates::SpellingScanner;
use crate::letters::{is_hump, is_word, length_of_prefix};
use crate::query::{Edges, Spelling, Term};

/// The bytes of a line examined before and after a match; longer lines are taken in pieces.
const BEFORE: usize = 256;
const AFTER: usize = 1024;

/// The most bytes of spellings for which a DFA is built; beyond that, building it would take longer than it saves.
const MAX_FOR_DFA: usize = 2000;

/// The most space between two words of a phrase.
const LONGEST_GAP: usize = 64;

const PIECE_OF_NAME: f32 = 0.8;
const BESIDE_DIGITS: f32 = 0.7;
const OTHER_ENDING: f32 = 0.9;
const BEGINNING: f32 = 0.6;

/// A match of one term.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TermMatch {
    pub(crate) term: usize,
    /// From 0 to 1.
    pub(crate) quality: f32,
    pub(crate) range: Range<usize>,
}

/// Finds the terms of a query.
#[derive(Debug)]
pub(crate) struct Matcher {
    automaton: AhoCorasick,
    searcher: Option<Searcher>,
    patterns: Vec<SpellingPattern>,
    longest: usize,
}

#[derive(Debug)]
struct SpellingPattern {
    term: usize,
    quality: f32,
    edges: Edges,
}

impl Matcher {
    /// Compiles the terms; none if there is nothing to find.
    pub(crate) fn new(terms: &[Term]) -> Option<Self> {
        let mut texts: Vec<String> = Vec::new();
        let mut patterns = Vec::new();
        for (place, term) in terms.iter().enumerate() {
            for Spelling { text, quality, edges } in &term.spellings {
                for text in cases(text) {
                    patterns.push(SpellingPattern { term: place, quality: *quality, edges: edges.clone() });
                    texts.push(text);
                }
            }
        }
        let longest = texts.iter().map(String::len).max()?;
        let mut builder = AhoCorasick::builder();
        builder.ascii_case_insensitive(true);
        if texts.iter().map(String::len).sum::<usize>() <= MAX_FOR_DFA {
            builder.kind(Some(AhoCorasickKind::DFA));
        }
        let automaton = builder.build(&texts).ok()?;
        let searcher = Searcher::new(texts.iter().map(|text| text.to_ascii_lowercase()));
        Some(Self { automaton, searcher, patterns, longest })
    }

    /// Passes the matches of each matching line to `take`, with the range that was examined.
    pub(crate) fn scan(&self, text: &str, mut take: impl FnMut(Range<usize>, &[TermMatch])) {
        let mut found = Vec::new();
        let mut at = 0;
        let mut done = 0;
        let mut candidates =
            SpellingScanner::new(text, &self.automaton, self.searcher.as_ref(), self.longest);
        while let Some(first) = candidates.next(at) {
            let line = line_around(text, first.clone(), done);
            self.find_in(text, line.clone(), done, &mut found);
            if !found.is_empty() {
                take(line.clone(), &found);
            }
            // A match that crosses the end of a piece ends in the next one.
            at = first.end.max(text.floor_char_boundary(line.end.saturating_sub(self.longest)));
            if line.end == text.len() || text.as_bytes()[line.end] == b'\n' {
                at = line.end;
            }
            done = line.end;
        }
    }

    /// The matches that end in a range and after `done`, in order, one for each position of a term.
    pub(crate) fn find_in(&self, text: &str, range: Range<usize>, done: usize, found: &mut Vec<TermMatch>) {
        found.clear();
        let done = done.max(range.start);
        let start = text.floor_char_boundary(range.start.saturating_sub(self.longest));
        for matched in self.automaton.find_overlapping_iter(Input::new(text).range(start..range.end)) {
            if matched.end() <= done {
                continue;
            }
            let pattern = &self.patterns[matched.pattern().as_usize()];
            let (start, mut end) = (matched.start(), matched.end());
            let fit = match &pattern.edges {
                Edges::Free => Some(1.0),
                Edges::Word => word_fit(text, start, end),
                Edges::Literal => literal_fit(text, start, end),
                Edges::Phrase(rest) => phrase_end(text, end, rest).map(|last| {
                    end = last;
                    1.0
                }),
            };
            if let Some(fit) = fit {
                let quality = pattern.quality * fit;
                found.push(TermMatch { term: pattern.term, quality, range: start..end });
            }
        }
        if found.len() > 1 {
            merge_spellings(found);
        }
    }
}

/// Merges spellings of one term at one position into one match.
fn merge_spellings(found: &mut Vec<TermMatch>) {
    found.sort_by_key(|found| (found.term, found.range.start, found.range.end));
    found.dedup_by(|next, kept| {
        let is_same = next.term == kept.term && next.range.start < kept.range.end;
        if is_same {
            kept.quality = kept.quality.max(next.quality);
            kept.range.end = kept.range.end.max(next.range.end);
        }
        is_same
    });
    found.sort_by_key(|found| (found.range.start, found.range.end, found.term));
}

/// The letter cases of a lowercase text; the automaton itself only knows those of ASCII.
fn cases(text: &str) -> Vec<String> {
    let mut cases = vec![text.to_owned()];
    if !text.is_ascii() {
        let mut letters = text.chars();
        let capital = letters.next().map(|first| first.to_uppercase().chain(letters).collect());
        cases.extend(capital);
        cases.push(text.to_uppercase());
        cases.sort();
        cases.dedup();
    }
    cases
}

/// The line of a match, within limits and not before `done`.
fn line_around(text: &str, matched: Range<usize>, done: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let least = done.max(matched.start.saturating_sub(BEFORE)).min(matched.start);
    let start = memchr::memrchr(b'\n', &bytes[least..matched.start]).map_or(least, |at| least + at + 1);
    let most = (matched.end + AFTER).min(bytes.len());
    let end = memchr::memchr(b'\n', &bytes[matched.end..most]).map_or(most, |at| matched.end + at);
    text.floor_char_boundary(start)..text.ceil_char_boundary(end)
}

fn before(text: &str, at: usize) -> Option<char> {
    text[..at].chars().next_back()
}

fn after(text: &str, at: usize) -> Option<char> {
    text[at..].chars().next()
}

/// The quality of a match as a word: whole, a piece of an identifier, or the start of a longer one.
fn word_fit(text: &str, start: usize, end: usize) -> Option<f32> {
    let first = after(text, start)?;
    let left = match before(text, start).filter(|letter| is_word(*letter)) {
        None => 1.0,
        Some('_') => PIECE_OF_NAME,
        Some(letter) if letter.is_numeric() != first.is_numeric() => BESIDE_DIGITS,
        Some(letter) => {
            let second = text[start..].chars().nth(1);
            is_hump(letter, first, second).then_some(PIECE_OF_NAME)?
        }
    };
    Some(left * right_fit(text, start, end)?)
}

/// Like [`word_fit`], for text with non-word characters.
fn literal_fit(text: &str, start: usize, end: usize) -> Option<f32> {
    let begins_word = after(text, start).is_some_and(is_word);
    if begins_word && before(text, start).is_some_and(is_word) {
        return None;
    }
    right_fit(text, start, end)
}

fn right_fit(text: &str, start: usize, end: usize) -> Option<f32> {
    let last = before(text, end)?;
    let Some(next) = after(text, end).filter(|letter| is_word(*letter) && is_word(last)) else {
        return Some(1.0);
    };
    let after = text[end..].chars().nth(1);
    if next == '_' {
        Some(PIECE_OF_NAME)
    } else if last.is_numeric() != next.is_numeric() {
        Some(BESIDE_DIGITS)
    } else if is_hump(last, next, after) {
        Some(PIECE_OF_NAME)
    } else if end - start >= 3 && is_ending(&text[end..]) {
        Some(OTHER_ENDING)
    } else if last.is_alphabetic() && end - start >= 4 {
        Some(BEGINNING)
    } else {
        None
    }
}

/// True if the rest of a word is an English inflection.
fn is_ending(rest: &str) -> bool {
    let letters = rest.bytes().take_while(u8::is_ascii_lowercase).count();
    let is_whole = !rest[letters..].chars().next().is_some_and(is_word);
    is_whole
        && matches!(&rest[..letters], "s" | "es" | "e" | "d" | "ed" | "ing" | "ings" | "y" | "ies" | "ied")
}

/// The end of a phrase whose first word ends at `end`.
fn phrase_end(text: &str, mut end: usize, rest: &[String]) -> Option<usize> {
    for word in rest {
        let behind = &text[end..];
        let gap = behind.len() - behind.trim_start().len();
        if gap == 0 || gap > LONGEST_GAP {
            return None;
        }
        end += gap + length_of_prefix(&behind[gap..], word)?;
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Query;

    fn matcher(query: &str) -> Matcher {
        let Query::Terms(terms) = Query::parse(query) else { panic!("no mark") };
        Matcher::new(&terms).expect("terms")
    }

    /// The matches of the first term, as `text quality`.
    fn found(query: &str, text: &str) -> Vec<String> {
        let mut all = Vec::new();
        matcher(query).scan(text, |_, found| {
            all.extend(found.iter().filter(|found| found.term == 0).map(|found| {
                format!("{} {}", &text[found.range.clone()], (found.quality * 100.0).round() as u32)
            }));
        });
        all
    }

    #[track_caller]
    fn check(query: &str, text: &str, expected: &[&str]) {
        assert_eq!(found(query, text), expected, "{query} in {text}");
    }

    #[test]
    fn whole_words_are_best() {
        check("error", "an Error: ERROR", &["Error 100", "ERROR 100"]);
        check("error", "errors", &["error 90"]);
        check("error", "erroneous terror", &[]);
        check("compact", "compaction", &["compact 60"]);
        check("creating", "create creates", &["creat 81", "creat 81"]);
        check("fail", "failed failing", &["fail 90", "fail 90"]);
        check("go", "google go", &["go 100"]);
        check("errors", "error errors", &["error 90", "errors 100"]);
    }

    #[test]
    fn pieces_of_identifiers_count_less() {
        check("config", "parseConfig", &["Config 80"]);
        check("config", "parse_config_file", &["config 64"]);
        check("http", "HTTPServer", &["HTTP 80"]);
        check("server", "HTTPServer", &["Server 80"]);
        check("sha", "sha256", &["sha 70"]);
        check("config", "reconfigure", &[]);
    }

    #[test]
    fn identifiers_are_found_in_other_spellings() {
        check("parseConfig", "parseConfig", &["parseConfig 100"]);
        check(
            "parseConfig",
            "ParseConfig parse_config PARSE_CONFIG parse-config",
            &["ParseConfig 100", "parse_config 90", "PARSE_CONFIG 90", "parse-config 90"],
        );
        check("parse_config", "parseConfig", &["parseConfig 90"]);
    }

    #[test]
    fn numbers_are_whole() {
        check("8080", "port 8080, 18080, 80801, :8080", &["8080 100", "8080 100"]);
        check("3.14", "3.14 13.14 3.141", &["3.14 100"]);
    }

    #[test]
    fn paths_match_by_their_end() {
        check("src/main.rs", "at /home/me/src/main.rs:12", &["src/main.rs 100"]);
        check("src/main.rs", "C:\\app\\src\\main.rs", &["src\\main.rs 100"]);
        check("src/main.rs", "mysrc/main.rs", &[]);
        check("/app/src/main.rs", "see app/src/main.rs", &["app/src/main.rs 100"]);
        check("main.rs", "src/main.rs", &["main.rs 100"]);
        check("main.rs", "domain.rs", &[]);
    }

    #[test]
    fn phrases_take_any_space() {
        check("\"permission denied\"", "Permission\n   DENIED (publickey)", &["Permission\n   DENIED 100"]);
        check("\"permission denied\"", "permission was denied", &[]);
        check("\"permission denied\"", "permissiondenied", &[]);
        check("\"a b c\"", "a a b c", &["a b c 100"]);
    }

    #[test]
    fn other_scripts_are_found() {
        check("über", "Über ÜBER über", &["Über 100", "ÜBER 100", "über 100"]);
        check("設定", "この設定を変える", &["設定 100"]);
        check("error", "エラーerror発生", &["error 100"]);
        check("ошибка", "Ошибка: ОШИБКА", &["Ошибка 100", "ОШИБКА 100"]);
    }

    #[test]
    fn long_lines_are_taken_in_pieces_without_gaps_or_doubles() {
        let text = "needle ".repeat(2000);
        assert_eq!(found("needle", &text).len(), 2000);
        for shift in 0..80 {
            let text = format!("needle{} needle {}needle", " ".repeat(AFTER - 40 + shift), "é ".repeat(600));
            assert_eq!(found("needle", &text).len(), 3, "{shift}");
        }
    }

    #[test]
    fn lines_are_handed_over_one_by_one() {
        let mut lines = Vec::new();
        let text = "one needle\nno\nneedle and needle\n";
        matcher("needle").scan(text, |line, found| lines.push((&text[line], found.len())));
        assert_eq!(lines, [("one needle", 1), ("needle and needle", 2)]);
    }
}
