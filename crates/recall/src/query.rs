//! Query parsing.

use hashbrown::{HashMap, HashSet};
use longhaul_conversation::{Ordinal, Timestamp};

use crate::letters::is_cjk;
use crate::phrase::Phrase;
use crate::time_words::{TimeRange, find_time};
use crate::tokens::Tokenizer;

/// The most terms; more do not make a search better.
const MAX_TERMS: usize = 32;

/// The most bytes of a query that are read.
const LONGEST_QUERY: usize = 4 * 1024;

const PHRASE_WEIGHT: f64 = 1.5;
/// An end of a path or a name in it.
const TAIL_WEIGHT: f64 = 0.35;
/// A piece of an identifier.
const PIECE_WEIGHT: f64 = 0.25;

/// The quality of a match with another ending, and as a piece of an identifier.
const OTHER_ENDING: f64 = 0.9;
const PIECE_OF_NAME: f64 = 0.8;

/// A parsed query.
#[derive(Clone, Debug, Default)]
pub struct Query {
    number: Option<Ordinal>,
    terms: Vec<Term>,
    pub(crate) phrases: Vec<Phrase>,
    time: Option<TimeRange>,
    /// The terms that each token matches.
    by_token: HashMap<String, Vec<(usize, f64)>>,
}

/// A search term.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// Its weight among the others.
    pub weight: f64,
    /// True if a message must contain it.
    pub is_required: bool,
    /// The tokens that match it, each with the quality of the match, from 0 to 1.
    pub spellings: Vec<(String, f64)>,
}

/// Parses a message number: `m12` or `[m12]`.
pub fn parse_message_number(text: &str) -> Option<Ordinal> {
    let text = text.trim();
    let text = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let digits = text.strip_prefix('m').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok().filter(|number| *number > 0).map(Ordinal)
}

impl Query {
    /// Parses a query; with the time, *yesterday* has a meaning.
    pub fn parse(text: &str, now: Option<Timestamp>) -> Self {
        if let Some(number) = parse_message_number(text) {
            return Self { number: Some(number), ..Self::default() };
        }
        let text = &text[..text.floor_char_boundary(LONGEST_QUERY)];
        let mut terms = TermCollector::default();
        let mut phrases = Vec::new();
        let mut words: Vec<&str> = Vec::new();
        let pieces: Vec<&str> = text.split('"').collect();
        for (place, piece) in pieces.iter().enumerate() {
            let is_closed = place + 1 < pieces.len();
            if place % 2 == 1 && is_closed {
                if let Some(phrase) = Phrase::new(piece) {
                    terms.phrase(piece);
                    phrases.push(phrase);
                }
            } else {
                words.extend(piece.split_whitespace());
            }
        }
        let lower: Vec<String> = words
            .iter()
            .map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase())
            .collect();
        let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
        let time = now.and_then(|now| find_time(&lower, now));
        let taken: HashSet<usize> = time.iter().flat_map(|(_, taken)| taken.iter().copied()).collect();
        let is_said = |place: &usize| !taken.contains(place);
        (0..words.len()).filter(is_said).for_each(|place| terms.words(words[place]));
        if terms.found.is_empty() {
            // The query asks for nothing but a time: its words are looked for as they are.
            words.iter().for_each(|word| terms.words(word));
        }
        let mut by_token: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        for (place, term) in terms.found.iter().enumerate() {
            for (token, quality) in &term.spellings {
                by_token.entry(token.clone()).or_default().push((place, *quality));
            }
        }
        Self { number: None, terms: terms.found, phrases, time: time.map(|(range, _)| range), by_token }
    }

    /// True if there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.number.is_none() && self.terms.is_empty()
    }

    /// The number of the message that is asked for.
    pub fn number(&self) -> Option<Ordinal> {
        self.number
    }

    /// The terms.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The time it asks about.
    pub fn time(&self) -> Option<TimeRange> {
        self.time
    }

    /// The terms that a token matches, with the quality of each match.
    pub fn spellings(&self, token: &str) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.by_token.get(token).into_iter().flatten().copied()
    }
}

#[derive(Default)]
struct TermCollector {
    tokenizer: Tokenizer,
    found: Vec<Term>,
    seen: HashSet<String>,
}

impl TermCollector {
    fn add(&mut self, term: Term) {
        let Some((first, _)) = term.spellings.first() else { return };
        if self.found.len() < MAX_TERMS && self.seen.insert(first.clone()) {
            self.found.push(term);
        }
    }

    fn phrase(&mut self, text: &str) {
        let mut terms = self.terms_of(text);
        // Only whole words are sure to be tokens of every text with the phrase.
        terms.retain(|term| !term.spellings[0].0.contains(['/', '.']));
        let count = terms.len().max(1) as f64;
        for term in terms {
            self.add(Term { weight: PHRASE_WEIGHT / count, is_required: true, ..term });
        }
    }

    fn words(&mut self, text: &str) {
        self.terms_of(text).into_iter().for_each(|term| self.add(term));
    }

    /// The terms of a text without white space between them that matters.
    fn terms_of(&mut self, text: &str) -> Vec<Term> {
        let mut tokens: Vec<(String, std::ops::Range<usize>)> = Vec::new();
        self.tokenizer.each(text, &mut |token, place| tokens.push((token.to_owned(), place)));
        let pairs = tokens.iter().filter(|(token, _)| token.starts_with(is_cjk)).count();
        let mut terms: Vec<Term> = Vec::new();
        for (token, place) in &tokens {
            let is_part = tokens.iter().any(|(_, other)| {
                other.start <= place.start && place.end <= other.end && other.len() > place.len()
            });
            if let (Some(_), Some(last)) = (token.strip_prefix('='), terms.last_mut()) {
                last.spellings.iter_mut().for_each(|(_, quality)| *quality *= OTHER_ENDING);
                last.spellings.push((token.clone(), 1.0));
                continue;
            }
            let bare = token.strip_prefix('_').unwrap_or(token);
            let weight = if token.starts_with(is_cjk) {
                (2.0 / pairs as f64).min(1.0)
            } else if token.starts_with('_') {
                PIECE_WEIGHT
            } else if is_part {
                TAIL_WEIGHT
            } else {
                1.0
            };
            let mut spellings = vec![(bare.to_owned(), 1.0)];
            if !bare.contains(['/', '.']) && !bare.starts_with(is_cjk) {
                spellings.push((format!("_{bare}"), PIECE_OF_NAME));
            }
            terms.push(Term { weight, is_required: false, spellings });
        }
        // The most telling first: of terms that share a token, that one stays.
        terms.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        terms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the spellings of each term, with `!` before required ones and `~` before weaker ones.
    #[track_caller]
    fn check(query: &str, expected: &[&str]) {
        let query = Query::parse(query, None);
        let sketch = |term: &Term| {
            let mark = if term.is_required {
                "!"
            } else if term.weight < 1.0 {
                "~"
            } else {
                ""
            };
            let tokens: Vec<&str> = term.spellings.iter().map(|(token, _)| token.as_str()).collect();
            format!("{mark}{}", tokens.join("|"))
        };
        assert_eq!(query.terms.iter().map(sketch).collect::<Vec<_>>(), expected, "{query:?}");
    }

    #[test]
    fn words_are_folded_and_told_apart() {
        check("Build FAILED", &["build|_build", "fail|_fail|=failed"]);
        check("why does the build fail?", &["build|_build", "fail|_fail"]);
        check("build Build \"build\"", &["!build|_build"]);
        check("what is it", &[]);
        check("  ?! -- \"\" ", &[]);
    }

    #[test]
    fn identifiers_have_pieces() {
        check("parseConfig", &["parseconfig|_parseconfig", "~pars|_pars", "~config|_config"]);
        check("8080", &["8080|_8080"]);
    }

    #[test]
    fn paths_have_tails() {
        check(
            "src/store/list.rs",
            &[
                "src/store/list.rs",
                "~list.rs",
                "~store/list.rs",
                "~src|_src",
                "~store|_store",
                "~list|_list",
                "~rs|_rs",
            ],
        );
        check("v1.2.3", &["v1.2.3", "~v1|_v1", "~2|_2", "~3|_3"]);
    }

    #[test]
    fn other_scripts_are_paired() {
        check("設定", &["設定"]);
        check("設定を", &["設定", "定を"]);
    }

    #[test]
    fn phrases_are_required() {
        check("\"permission denied\"", &["!permiss|_permiss|=permission", "!deni|_deni|=denied"]);
        check("\"open end", &["open|_open", "end|_end"]);
    }

    #[test]
    fn relative_times_are_not_looked_for() {
        let now = Timestamp::parse("2026-11-18T20:00:00Z");
        let query = Query::parse("the crash last week?", now);
        assert_eq!((query.terms.len(), query.time.is_some()), (1, true));
        assert_eq!(Query::parse("yesterday", now).terms.len(), 1);
        assert_eq!(Query::parse("the crash last week?", None).terms.len(), 3);
    }

    #[test]
    fn message_numbers_are_told_apart() {
        assert_eq!(parse_message_number(" [m12]"), Some(Ordinal(12)));
        for other in ["m0", "m", "m1x", "[m1", "12"] {
            assert_eq!(parse_message_number(other), None, "{other}");
        }
    }
}
