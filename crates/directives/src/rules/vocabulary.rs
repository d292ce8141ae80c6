//! The words of a sentence and of the line that leads into it, weighed one by one.
//!
//! A term is a word (`w:never`), its beginning (`s:commi`), the word that opens a clause (`c:use`), the message (`m:build`) or the
//! sentence before (`o:add`), or a word of the line above (`l:rules`); where no spaces part words, pieces of two and three signs (`p:提交`). `bench/fit-rules` fits the weights, and leaves out terms that too few messages have.

use std::collections::HashMap;
use std::sync::LazyLock;

use longhaul_text::{Words, hash_text, is_wide};

use super::cues::{has_pieces, is_hangul};
use crate::typed::without_quotations;

/// The weights of terms, by the hash of their names.
static WEIGHTS: LazyLock<HashMap<u64, f32>> = LazyLock::new(|| {
    let lines = include_str!("../../data/rule-terms.tsv").lines().filter(|line| !line.starts_with('#'));
    let parse = |line: &str| {
        let (name, weight) = line.split_once('\t')?;
        Some((hash_text(name), weight.parse().ok()?))
    };
    lines
        .map(|line| parse(line).unwrap_or_else(|| panic!("data/rule-terms.tsv: {line:?} is no weight")))
        .collect()
});

/// Sums up the weights of the terms of a sentence and of the line above it, each term once.
pub(super) fn score(text: &str, words: &Words, around: Surroundings<'_>) -> f32 {
    let mut known: Vec<(u64, f32)> = Vec::new();
    for_each_term(text, words, around, |name| {
        let hash = hash_text(name);
        known.extend(WEIGHTS.get(&hash).map(|weight| (hash, *weight)));
    });
    known.sort_unstable_by_key(|(hash, _)| *hash);
    known.dedup_by_key(|(hash, _)| *hash);
    known.iter().map(|(_, weight)| weight).sum()
}

/// The names of the terms, as the file of weights has them.
pub(super) fn names(text: &str, words: &Words, around: Surroundings<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for_each_term(text, words, around, |name| names.push(name.to_string()));
    names.sort_unstable();
    names.dedup();
    names
}

/// The texts around a sentence whose words are weighed with its own; empty where there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Surroundings<'t> {
    /// The line that leads into it, or the heading above it.
    pub(super) lead: &'t str,
    /// The first word of the message, and that of the sentence before it.
    pub(super) openers: [&'t str; 2],
}

/// Longer words count by their beginnings, too, which endings leave alone; in characters.
const STEM: usize = 5;

fn for_each_term(text: &str, words: &Words, around: Surroundings<'_>, mut found: impl FnMut(&str)) {
    let mut name = String::new();
    let mut term = |kind: char, word: &str| {
        name.clear();
        name.push(kind);
        name.push(':');
        name.push_str(word);
        found(&name);
    };
    for (word, mark) in words.texts().zip(words.all()) {
        let word = if mark.is_quoted() { "`" } else { shape(word) };
        term('w', word);
        if let Some((end, _)) = word.char_indices().nth(STEM) {
            term('s', &word[..end]);
        }
    }
    for opener in words.openers().filter_map(|place| words.get(place)) {
        term('c', shape(opener));
    }
    if has_pieces(text, words) {
        pieces(&without_quotations(text), |piece| term('p', piece));
    }
    if !around.lead.is_empty() {
        let lead_words = Words::of(around.lead);
        lead_words.texts().for_each(|word| term('l', shape(word)));
        if has_pieces(around.lead, &lead_words) {
            pieces(around.lead, |piece| term('l', piece));
        }
    }
    for (kind, opener) in ['m', 'o'].into_iter().zip(around.openers).filter(|(_, opener)| !opener.is_empty())
    {
        term(kind, shape(opener));
    }
}

/// A word, or the sign of all numbers.
fn shape(word: &str) -> &str {
    if word.starts_with(|c: char| c.is_ascii_digit()) { "#" } else { word }
}

/// The pieces of two and three signs that a text without spaces between words has.
fn pieces(text: &str, mut found: impl FnMut(&str)) {
    let is_sign = |c: char| c.is_alphanumeric() && (is_wide(c) || is_hangul(c));
    for run in text.split(|c: char| !is_sign(c)) {
        let ends: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
        for length in [2, 3] {
            for piece in ends.windows(length + 1) {
                found(&run[piece[0]..piece[length]]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, lead: &str, expected: &[&str]) {
        let mut expected: Vec<&str> = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(names(text, &Words::of(text), Surroundings { lead, openers: ["", ""] }), expected);
    }

    #[test]
    fn words_openers_and_pieces() {
        check("Run 3 tests", "Rules:", &["w:run", "w:#", "w:tests", "c:run", "l:rules"]);
        check("不要改", "", &["p:不要", "p:要改", "p:不要改"]);
        check("run run", "", &["w:run", "c:run"]);
    }

    #[test]
    fn the_file_can_be_read() {
        assert!(WEIGHTS.len() > 100);
    }
}
