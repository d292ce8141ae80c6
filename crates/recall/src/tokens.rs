//! Tokens: the units that texts and queries are compared by, in a scan and in an index alike.
//!
//! | token | of |
//! | --- | --- |
//! | `fail` | a word by its English stem, or another script's word in lower case |
//! | `=failed` | the word itself, where the stem is another one |
//! | `parseconfig` | an identifier, whatever joins its pieces |
//! | `_config` | a piece of an identifier, by its stem |
//! | `list.rs`, `3.14` | words joined by dots |
//! | `store/list.rs` | the end of a path |
//! | `設定` | a pair of Chinese or Japanese characters, or a single one that stands alone |

use std::ops::Range;

use hashbrown::HashMap;
use rust_stemmers::{Algorithm, Stemmer};

use crate::letters::{is_cjk, is_word, split_identifier};

/// The version of these rules: an index made by another one is made anew.
pub const TOKENS_VERSION: u32 = 1;

/// The longest token, in bytes; longer words are data, which nobody asks for.
pub const MAX_TOKEN: usize = 64;

/// The most components of an end of a path.
const MAX_TAIL: usize = 3;

/// The most pieces of an identifier; more are a hash or an encoded value.
const MAX_PIECES: usize = 6;

/// The most stems remembered.
const MAX_STEMS: usize = 60_000;

/// The most commit hash characters that people quote.
const SHORT_HASH: usize = 7;

/// Words that are not looked for: they stand in nearly every text.
const STOP_WORDS: &[&str] = &[
    "a", "about", "an", "and", "are", "as", "at", "be", "been", "being", "but", "by", "can", "could", "d",
    "did", "do", "does", "doesn", "don", "for", "from", "had", "has", "have", "he", "her", "him", "his",
    "how", "i", "if", "in", "into", "is", "isn", "it", "its", "ll", "me", "my", "of", "on", "or", "our",
    "re", "s", "she", "should", "so", "t", "than", "that", "the", "their", "them", "then", "there", "they",
    "this", "to", "us", "ve", "was", "wasn", "we", "were", "what", "when", "where", "which", "who", "whom",
    "whose", "why", "will", "with", "would", "you", "your",
];

/// True if a lowercase word is too common to be looked for.
pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Splits texts into tokens.
pub struct Tokenizer {
    stemmer: Stemmer,
    stems: HashMap<Box<str>, Box<str>>,
    lower: String,
    token: String,
}

impl Default for Tokenizer {
    fn default() -> Self {
        Self {
            stemmer: Stemmer::create(Algorithm::English),
            stems: HashMap::new(),
            lower: String::new(),
            token: String::new(),
        }
    }
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokenizer").field("stems", &self.stems.len()).finish_non_exhaustive()
    }
}

impl Tokenizer {
    /// Passes each token of a text to `take`, with its place; a token may come more than once.
    pub fn each(&mut self, text: &str, take: &mut dyn FnMut(&str, Range<usize>)) {
        let mut rest = 0;
        while let Some(start) = text[rest..].find(|letter| is_word(letter) || is_cjk(letter)) {
            let start = rest + start;
            let tail = &text[start..];
            if tail.starts_with(is_cjk) {
                let end = start + tail.find(|letter| !is_cjk(letter)).unwrap_or(tail.len());
                pairs(text, start..end, take);
                rest = end;
            } else {
                let is_joined = |letter| is_word(letter) || matches!(letter, '.' | '-' | '/' | '\\');
                let end = start + tail.find(|letter| !is_joined(letter)).unwrap_or(tail.len());
                let end = start + text[start..end].trim_end_matches(['.', '-', '/', '\\']).len();
                self.chunk(text, start..end, take);
                rest = end;
            }
        }
    }

    /// The tokens of a text, each once, in the order of the alphabet.
    pub fn distinct(&mut self, text: &str) -> Vec<String> {
        let mut tokens = Vec::new();
        self.each(text, &mut |token, _| tokens.push(token.to_owned()));
        tokens.sort_unstable();
        tokens.dedup();
        tokens
    }

    /// Words joined by dots, hyphens and slashes.
    fn chunk(&mut self, text: &str, chunk: Range<usize>, take: &mut dyn FnMut(&str, Range<usize>)) {
        let body = &text[chunk.clone()];
        if body.contains(['.', '-', '/', '\\']) {
            self.joined(body, chunk.start, take);
        }
        let mut at = 0;
        while let Some(start) = body[at..].find(is_word) {
            let start = at + start;
            let end = start + body[start..].find(|letter| !is_word(letter)).unwrap_or(body.len() - start);
            self.word(&body[start..end], chunk.start + start, take);
            at = end;
        }
    }

    fn joined(&mut self, body: &str, base: usize, take: &mut dyn FnMut(&str, Range<usize>)) {
        let mut components: Vec<Range<usize>> = Vec::new();
        let mut start = 0;
        for (at, _) in body.match_indices(['/', '\\']).chain([(body.len(), "")]) {
            let component = &body[start..at];
            let trimmed = component.trim_matches('.');
            if !trimmed.is_empty() {
                let from = start + (component.len() - component.trim_start_matches('.').len());
                components.push(from..from + trimmed.len());
            }
            start = at + 1;
        }
        for component in &components {
            let name = &body[component.clone()];
            let place = base + component.start..base + component.end;
            if name.contains('.') {
                self.emit(name, place.clone(), take);
            }
            if name.contains('-') && name.split('-').count() <= MAX_PIECES && !name.contains('.') {
                let joined: String = name.split('-').collect();
                let joined = joined.replace('_', "");
                self.emit(&joined, place, take);
            }
        }
        let Some(last) = components.last().cloned() else { return };
        for count in 2..=MAX_TAIL.min(components.len()) {
            let tail = &components[components.len() - count..];
            let names: Vec<&str> = tail.iter().map(|range| &body[range.clone()]).collect();
            let place = base + tail[0].start..base + last.end;
            self.emit(&names.join("/"), place, take);
        }
    }

    fn emit(&mut self, name: &str, place: Range<usize>, take: &mut dyn FnMut(&str, Range<usize>)) {
        if name.len() <= MAX_TOKEN {
            lowercase(name, &mut self.token);
            take(&self.token, place);
        }
    }

    fn word(&mut self, word: &str, base: usize, take: &mut dyn FnMut(&str, Range<usize>)) {
        if word.len() > MAX_TOKEN {
            return;
        }
        let place = base..base + word.len();
        let is_plain = word.bytes().all(|byte| byte.is_ascii_lowercase())
            || word.bytes().all(|byte| byte.is_ascii_digit());
        let pieces = if is_plain { Vec::new() } else { split_identifier(word) };
        if !is_plain && pieces.is_empty() {
            return;
        }
        if is_plain || pieces.len() == 1 {
            let piece = pieces.first().copied().unwrap_or(word);
            let mut lower = std::mem::take(&mut self.lower);
            lowercase(piece, &mut lower);
            if !is_stop_word(&lower) {
                let stem = self.stem(&lower);
                take(stem, place.clone());
                if stem != lower {
                    self.token.clear();
                    self.token.push('=');
                    self.token.push_str(&lower);
                    take(&self.token, place);
                }
            }
            self.lower = lower;
            return;
        }
        self.emit(&pieces.concat(), place.clone(), take);
        if is_hash(word) {
            self.emit(&word[..SHORT_HASH], place, take);
        } else if pieces.len() <= MAX_PIECES {
            for piece in pieces.iter().filter(|piece| piece.len() > 1) {
                self.piece(piece);
                if !self.token.is_empty() {
                    let start = base + (piece.as_ptr() as usize - word.as_ptr() as usize);
                    take(&self.token, start..start + piece.len());
                }
            }
        }
    }

    /// Puts the token of a piece of an identifier into `token`; nothing for a stop word.
    fn piece(&mut self, piece: &str) {
        let mut lower = std::mem::take(&mut self.lower);
        lowercase(piece, &mut lower);
        self.token.clear();
        if !is_stop_word(&lower) {
            let mut token = std::mem::take(&mut self.token);
            token.push('_');
            token.push_str(self.stem(&lower));
            self.token = token;
        }
        self.lower = lower;
    }

    /// The English stem of a lowercase word; words of other alphabets stay.
    pub(crate) fn stem<'a>(&'a mut self, lower: &'a str) -> &'a str {
        if lower.len() < 3 || lower.len() > 32 || !lower.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return lower;
        }
        if self.stems.len() >= MAX_STEMS {
            self.stems.clear();
        }
        if !self.stems.contains_key(lower) {
            let stem = self.stemmer.stem(lower);
            self.stems.insert(lower.into(), stem.as_ref().into());
        }
        self.stems.get(lower).map_or(lower, |stem| stem)
    }
}

/// True for the hexadecimal name of a commit or a digest.
fn is_hash(word: &str) -> bool {
    word.len() >= 12 && word.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
}

fn lowercase(text: &str, into: &mut String) {
    into.clear();
    if text.is_ascii() {
        into.push_str(text);
        into.make_ascii_lowercase();
    } else {
        text.chars().flat_map(char::to_lowercase).for_each(|letter| into.push(letter));
    }
}

/// Chinese or Japanese text as pairs of characters.
fn pairs(text: &str, run: Range<usize>, take: &mut dyn FnMut(&str, Range<usize>)) {
    let mut starts = text[run.clone()].char_indices().map(|(at, _)| run.start + at).chain([run.end]);
    let (Some(mut first), Some(mut second)) = (starts.next(), starts.next()) else { return };
    if second == run.end {
        return take(&text[run.clone()], run);
    }
    for end in starts {
        take(&text[first..end], first..end);
        (first, second) = (second, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mut tokens = Vec::new();
        Tokenizer::default().each(text, &mut |token, _| tokens.push(token.to_owned()));
        assert_eq!(tokens.join(" "), expected, "{text}");
    }

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
    }

    #[test]
    fn words_have_stems() {
        check("Build FAILED", "build fail =failed");
        check("what is it", "");
        check("the compaction compacts", "compact =compaction compact =compacts");
        check("8080 E0308", "8080 e0308 _0308");
        check("Größe ошибка", "größe ошибка");
    }

    #[test]
    fn identifiers_are_joined_and_parted() {
        check("parseConfig", "parseconfig _pars _config");
        check("PARSE_CONFIG", "parseconfig _pars _config");
        check("--no-verify", "noverify no verifi =verify");
        check("__init__", "init");
        check("9f86d081884c7d65", "9f86d081884c7d65 9f86d08");
    }

    #[test]
    fn paths_and_dots_stay_together() {
        check("(src/store/list.rs:41)", "list.rs store/list.rs src/store/list.rs src store list rs 41");
        check("C:\\app\\main.rs", "c main.rs app/main.rs app main =main rs".replace(" =main", "").as_str());
        check("v1.2.3.", "v1.2.3 v1 2 3");
        check("std::fs", "std fs");
    }

    #[test]
    fn other_scripts_are_paired() {
        check("この設定を", "この の設 設定 定を");
        check("a設", "設");
        check("エラーerror発生", "エラ ラー error 発生");
    }

    proptest! {
        #[test]
        fn places_are_true(text in any::<String>()) {
            let mut tokenizer = Tokenizer::default();
            tokenizer.each(&text, &mut |token, place| {
                assert!(text.get(place).is_some_and(|found| !found.is_empty()));
                assert!(!token.is_empty() && !token.contains(' '));
            });
        }
    }
}
