//! Phrases that are looked for in the words of a sentence: patterns, made ready once and tried only where they can fit.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use crate::extract::hash_text;
use crate::words::{Word, WordSet, Words, word_set};
use crate::{asks, pins};

/// Patterns of which one is to fit.
///
/// A pattern is a row of words. `a|b` is either word, `~` a gap of a few words, `^a` a word that opens a clause, `@verb` a
/// common verb in its plain form, `@base` any word that can follow "always" in an order, `@ing` a word in -ing, `@ed` one in
/// -ed, `@plural` one in -s, `@number` a number, `@any` any word.
///
/// Each pattern is tried only behind and before a word of its own that is seldom said otherwise.
pub(crate) struct Phrases {
    /// The list that this is, if it is looked for in nearly every sentence.
    list: Option<Often>,
    patterns: Vec<Pattern>,
    /// The hashes of the words that some pattern is tried at, and the pattern, sorted.
    triggers: Vec<(u64, u32)>,
    /// For each value of the highest byte of a hash, where its triggers end.
    ends: [u16; 256],
}

/// How many words a gap in a pattern may span.
const GAP: usize = 8;

struct Pattern {
    tokens: Vec<Token>,
    /// Which token it is tried at.
    trigger: usize,
    /// How many words may stand before that one, and how many must.
    before: RangeInclusive<usize>,
}

struct Token {
    kind: TokenKind,
    must_open: bool,
}

enum TokenKind {
    Gap,
    Words(Vec<u64>),
    Any,
    Plural,
    Number,
    Verb,
    Base,
    Ed,
    Ing,
}

impl Phrases {
    pub(crate) fn new(list: Option<Often>, patterns: &[&str]) -> Self {
        let patterns: Vec<Pattern> = patterns.iter().map(|pattern| Pattern::parse(pattern)).collect();
        let mut triggers = Vec::new();
        for (pattern, number) in patterns.iter().zip(0..) {
            triggers.extend(pattern.triggers().iter().map(|hash| (*hash, number)));
        }
        triggers.sort_unstable();
        let end = |byte: usize| triggers.partition_point(|(hash, _)| highest_byte(*hash) <= byte) as u16;
        let ends = std::array::from_fn(end);
        Self { list, patterns, triggers, ends }
    }

    /// The hashes of words of which one is said wherever one of the patterns fits.
    pub(crate) fn cues(&self) -> impl Iterator<Item = u64> {
        self.triggers.iter().map(|(hash, _)| *hash)
    }

    /// Whether one of the patterns fits somewhere.
    pub(crate) fn fit(&self, words: &Words<'_>) -> bool {
        let fits_around = |(place, word): (usize, &Word)| {
            self.tried_at(word).any(|pattern| pattern.fits_around(words, place))
        };
        let mut all = words.all().iter().enumerate();
        match self.list {
            None => all.any(fits_around),
            Some(list) => {
                words.may_have(list) && all.filter(|(_, word)| word.is_cue_of(list)).any(fits_around)
            }
        }
    }

    /// Whether one of the patterns fits from the word at `place` on.
    pub(crate) fn fit_at(&self, words: &Words<'_>, place: usize) -> bool {
        self.patterns.iter().any(|pattern| fits(&pattern.tokens, words, place))
    }

    /// Whether one of the patterns may fit around a word with this hash, as far as the next word tells: its hash and text,
    /// which is ASCII.
    pub(crate) fn may_fit(&self, word: u64, next: Option<(u64, &str)>) -> bool {
        self.triggered_by(word).any(|pattern| {
            let token = pattern.tokens.get(pattern.trigger + 1);
            token.is_none_or(|token| token.may_fit(next))
        })
    }

    fn tried_at(&self, word: &Word) -> impl Iterator<Item = &Pattern> {
        self.triggered_by(word.hash).filter(|pattern| pattern.may_be_at(word))
    }

    /// The patterns that are tried at words with this hash.
    fn triggered_by(&self, word: u64) -> impl Iterator<Item = &Pattern> {
        let byte = highest_byte(word);
        let start = if byte == 0 { 0 } else { self.ends[byte - 1] };
        let near = self.triggers[usize::from(start)..usize::from(self.ends[byte])].iter();
        let own = near.filter(move |(hash, _)| *hash == word);
        own.map(|(_, number)| &self.patterns[*number as usize])
    }
}

fn highest_byte(hash: u64) -> usize {
    (hash >> 56) as usize
}

/// Words that stand in every other sentence: no pattern is tried at one of them if it has another.
#[rustfmt::skip]
static COMMON: WordSet = word_set![
    "a", "all", "an", "and", "any", "are", "as", "at", "be", "before", "can", "could", "do", "don't", "each", "every", "for",
    "from", "had", "has", "have", "he", "how", "i", "if", "in", "is", "it", "it's", "just", "make", "may", "me", "must", "my",
    "new", "no", "not", "now", "of", "on", "one", "only", "or", "our", "out", "see", "she", "should", "so", "that", "the",
    "their", "them", "then", "there", "they", "this", "to", "up", "use", "was", "we", "were", "what", "when", "which", "will",
    "with", "would", "you", "your", "der", "die", "das", "en", "de", "la", "le", "un", "nicht",
];

/// Those of them that stand in nearly every sentence.
static COMMONEST: WordSet =
    word_set!["a", "and", "for", "in", "is", "it", "of", "on", "that", "the", "this", "to", "with"];

impl Pattern {
    fn parse(pattern: &str) -> Self {
        let tokens: Vec<Token> = pattern.split(' ').map(Token::parse).collect();
        // The token of the fewest words and of the rarest.
        let cost = |token: &Token| match &token.kind {
            TokenKind::Words(words) => {
                let count = |known: &WordSet| words.iter().filter(|hash| known.has_hash(**hash)).count();
                Some(count(&COMMON) * 16 + count(&COMMONEST) * 48 + words.len())
            }
            _ => None,
        };
        let costs = tokens.iter().enumerate().filter_map(|(place, token)| Some((cost(token)?, place)));
        let (_, trigger) = costs.min().expect("every pattern has a word of its own");
        let gaps = tokens[..trigger].iter().filter(|token| matches!(token.kind, TokenKind::Gap)).count();
        let least = trigger - gaps;
        Self { tokens, trigger, before: least..=least + gaps * GAP }
    }

    /// The words that it is tried at.
    fn triggers(&self) -> &[u64] {
        match &self.tokens[self.trigger].kind {
            TokenKind::Words(words) => words,
            _ => &[],
        }
    }

    /// Whether the word stands as the one must that it is tried at.
    fn may_be_at(&self, word: &Word) -> bool {
        !word.is_quoted() && (word.opens() || !self.tokens[self.trigger].must_open)
    }

    /// Whether it fits so that the word at `place` is the one it is tried at.
    fn fits_around(&self, words: &Words<'_>, place: usize) -> bool {
        let mut starts = self.before.clone().map_while(|before| place.checked_sub(before));
        starts.any(|start| fits(&self.tokens, words, start))
    }
}

impl Token {
    fn parse(token: &str) -> Self {
        let (token, must_open) = token.strip_prefix('^').map_or((token, false), |token| (token, true));
        let kind = match token {
            "~" => TokenKind::Gap,
            "@any" => TokenKind::Any,
            "@plural" => TokenKind::Plural,
            "@number" => TokenKind::Number,
            "@verb" => TokenKind::Verb,
            "@base" => TokenKind::Base,
            "@ed" => TokenKind::Ed,
            "@ing" => TokenKind::Ing,
            _ => TokenKind::Words(token.split('|').map(hash_text).collect()),
        };
        Self { kind, must_open }
    }

    /// Whether it may fit the next word, by its hash and text.
    fn may_fit(&self, next: Option<(u64, &str)>) -> bool {
        let Some((hash, text)) = next else { return matches!(self.kind, TokenKind::Gap) };
        match &self.kind {
            TokenKind::Words(known) => known.contains(&hash),
            TokenKind::Ed => text.len() > 3 && text[text.len() - 2..].eq_ignore_ascii_case("ed"),
            _ => true,
        }
    }

    fn fits(&self, words: &Words<'_>, word: &Word) -> bool {
        if word.is_quoted() {
            return matches!(self.kind, TokenKind::Any);
        }
        if self.must_open && !word.opens() {
            return false;
        }
        let text = || words.text(word);
        match &self.kind {
            TokenKind::Gap => false,
            TokenKind::Words(known) => known.contains(&word.hash),
            TokenKind::Any => true,
            TokenKind::Plural => is_plural(text()),
            TokenKind::Number => text().bytes().all(|byte| byte.is_ascii_digit()),
            TokenKind::Verb => word.is_verb(),
            TokenKind::Base => is_base(text()) && !NOT_ORDERS.has(word),
            TokenKind::Ed => text().len() > 3 && text().ends_with("ed"),
            TokenKind::Ing => text().len() > 5 && text().ends_with("ing"),
        }
    }
}

/// Whether a row of tokens fits from the word at `place` on.
fn fits(tokens: &[Token], words: &Words<'_>, place: usize) -> bool {
    let Some((token, rest)) = tokens.split_first() else { return true };
    if matches!(token.kind, TokenKind::Gap) {
        return (place..=place + GAP).any(|place| fits(rest, words, place));
    }
    words.all().get(place).is_some_and(|word| token.fits(words, word)) && fits(rest, words, place + 1)
}

fn is_plural(word: &str) -> bool {
    word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("'s")
}

/// Whether a word has the form of one that can follow "always" in an order: no past, no -ing, no third person.
fn is_base(word: &str) -> bool {
    let third_person = word.ends_with('s') && !word.ends_with("ss") && word != "focus";
    !third_person && !word.ends_with("ed") && !word.ends_with("ing") && word.chars().all(char::is_alphabetic)
}

/// Words behind "always" and "never" that show a report, not an order.
#[rustfmt::skip]
static NOT_ORDERS: WordSet = word_set![
    "mind", "good", "happy", "full", "here", "great", "nice", "fun", "ending", "seen", "been", "had", "has",
    "have", "got", "knew", "thought", "heard", "did", "was", "were", "is", "are", "saw", "went", "came",
    "ran", "worked", "happen", "happens", "occur", "occurs", "works", "fails", "gets", "returns", "said",
    "told", "made", "found", "gave", "took", "wrote", "would", "could", "the", "a", "an", "in", "on",
    "true", "false", "null", "there", "it", "again", "know", "think", "understand", "worry", "believe",
    "seem", "seems", "exist",
];

/// Lists of patterns that are looked for in nearly every sentence. Whoever reads the words of a sentence notes at once
/// which of these lists it has a cue of; no other need be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Often {
    Rules,
    Standing,
    Lifts,
    Wishes,
    Withdrawals,
    Corrections,
    Complaints,
    Completed,
}

impl Often {
    pub(crate) const ALL: [Self; 8] = [
        Self::Rules,
        Self::Standing,
        Self::Lifts,
        Self::Wishes,
        Self::Withdrawals,
        Self::Corrections,
        Self::Complaints,
        Self::Completed,
    ];

    /// Marks a word as a cue of this list.
    pub(crate) fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The list itself.
    pub(crate) fn phrases(self) -> &'static Phrases {
        match self {
            Self::Rules => &pins::RULES,
            Self::Standing => &pins::STANDING,
            Self::Lifts => &pins::LIFTS,
            Self::Wishes => &asks::WISHES,
            Self::Withdrawals => &asks::WITHDRAWALS,
            Self::Corrections => &asks::CORRECTIONS,
            Self::Complaints => &asks::COMPLAINTS,
            Self::Completed => &asks::COMPLETED,
        }
    }
}

/// A list of patterns that is made ready when it is first looked for.
pub(crate) type LazyPhrases = LazyLock<Phrases>;

/// Patterns, for a `static`; those of [`Often`] begin with their name there.
macro_rules! phrases {
    ($list:ident: $($pattern:literal),* $(,)?) => {
        ::std::sync::LazyLock::new(|| {
            $crate::phrases::Phrases::new(Some($crate::phrases::Often::$list), &[$($pattern),*])
        })
    };
    ($($pattern:literal),* $(,)?) => {
        ::std::sync::LazyLock::new(|| $crate::phrases::Phrases::new(None, &[$($pattern),*]))
    };
}
pub(crate) use phrases;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::tests::any_sentence;
    use proptest::prelude::*;

    #[track_caller]
    fn check_fit(pattern: &str, text: &str, expected: bool) {
        assert_eq!(Phrases::new(None, &[pattern]).fit(&Words::of(text)), expected, "{pattern} in {text}");
    }

    #[test]
    fn patterns() {
        check_fit("no longer", "We No longer need it", true);
        check_fit("no longer", "no, longer lines", true);
        check_fit("^never @base", "Please never push.", true);
        check_fit("^never @base", "ok, and never push", true);
        check_fit("^never @base", "this never works", false);
        check_fit("^never @base", "never mind", false);
        check_fit("use ~ not", "use tabs, not spaces", true);
        check_fit("use ~ not", "use one two three four five six seven eight nine not", false);
        check_fit("don't|dont", "Don’t", true);
        check_fit("never", "the word `never` and \"never\"", false);
        check_fit("never", "a lone \" and never", true);
        check_fit("^@plural must|may @any", "Please, names must fit", true);
        check_fit("^@any @plural must|may @any", "names must fit", false);
        check_fit("line @number", "line 12, line twelve", true);
        check_fit("line @number", "line twelve", false);
        check_fit("is @any", "it is `quoted`", true);
    }

    #[test]
    fn a_pattern_fits_at_a_place() {
        let phrases = Phrases::new(None, &["can|could you|we", "any idea"]);
        let words = Words::of("now can we go, any idea");
        let places: Vec<usize> = (0..words.len()).filter(|place| phrases.fit_at(&words, *place)).collect();
        assert_eq!(places, [1, 4]);
    }

    #[test]
    fn every_list_knows_its_name() {
        for list in Often::ALL {
            assert_eq!(list.phrases().list, Some(list));
        }
    }

    proptest! {
        /// No list is passed over that fits.
        #[test]
        fn lists_fit_only_where_a_cue_is_said(text in any_sentence()) {
            let words = Words::of(&text);
            for list in Often::ALL {
                let fits = (0..words.len()).any(|place| list.phrases().fit_at(&words, place));
                prop_assert_eq!(list.phrases().fit(&words), fits, "{:?} in {}", list, text);
            }
        }

        /// Where a pattern is tried does not matter: it is found wherever it fits.
        #[test]
        fn nothing_is_missed(
            pattern in "(\\^?(a|b|the|is\\|a)|@any|@base) ((~ )?(a|the|@any|b\\|c) ){0,3}(the|b|you)",
            text in "(a|b|c|the|is|you|`a`|x) ((a|b|c|the|is|you|x),? ){0,12}",
        ) {
            let (phrases, words) = (Phrases::new(None, &[&pattern]), Words::of(&text));
            let fits = (0..words.len()).any(|place| phrases.fit_at(&words, place));
            prop_assert_eq!(phrases.fit(&words), fits, "{} in {}", pattern, text);
        }
    }
}
