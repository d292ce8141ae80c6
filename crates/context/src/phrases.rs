//! Phrases that are looked for in the words of a sentence: patterns, made ready once and tried only where they can fit.

use std::sync::LazyLock;

use crate::extract::hash_text;
use crate::words::{Word, WordSet, Words, word_set};

/// Patterns of which one is to fit.
///
/// A pattern is a row of words. `a|b` is either word, `~` a gap of a few words, `^a` a word that opens a clause, `@verb` a
/// common verb in its plain form, `@base` any word that can follow "always" in an order, `@ing` a word in -ing, `@ed` one in
/// -ed, `@plural` one in -s, `@number` a number, `@any` any word.
///
/// Each pattern is tried only behind and before a word of its own that is seldom said otherwise.
pub(crate) struct Phrases {
    patterns: Vec<Pattern>,
    /// Which words some pattern is tried at: a bit for each of the lowest values that a hash can have there.
    filter: [u64; FILTER],
    /// The hashes of these words and the pattern that is tried there, sorted.
    triggers: Vec<(u64, u32)>,
}

/// Words of bits in the filter.
const FILTER: usize = 64;

/// How many words a gap in a pattern may span.
const GAP: usize = 8;

struct Pattern {
    tokens: Vec<Token>,
    /// Which token it is tried at.
    trigger: usize,
    /// Whether a gap stands before that one, so that it cannot be told where the pattern begins.
    floats: bool,
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
    pub(crate) fn new(patterns: &[&str]) -> Self {
        let patterns: Vec<Pattern> = patterns.iter().map(|pattern| Pattern::parse(pattern)).collect();
        let mut filter = [0; FILTER];
        let mut triggers = Vec::new();
        for (pattern, number) in patterns.iter().zip(0..) {
            for hash in pattern.triggers() {
                let (place, bit) = filtered(*hash);
                filter[place] |= bit;
                triggers.push((*hash, number));
            }
        }
        triggers.sort_unstable();
        Self { patterns, filter, triggers }
    }

    /// Whether one of the patterns fits somewhere.
    pub(crate) fn fit(&self, words: &Words) -> bool {
        words
            .all()
            .iter()
            .enumerate()
            .any(|(place, word)| self.tried_at(word).any(|pattern| pattern.fits_around(words, place)))
    }

    /// Whether one of the patterns fits from the word at `place` on.
    pub(crate) fn fit_at(&self, words: &Words, place: usize) -> bool {
        self.patterns.iter().any(|pattern| fits(&pattern.tokens, words, place))
    }

    fn tried_at(&self, word: &Word) -> impl Iterator<Item = &Pattern> {
        let (place, bit) = filtered(word.hash);
        let from = match self.filter[place] & bit {
            0 => self.triggers.len(),
            _ => self.triggers.partition_point(|(hash, _)| *hash < word.hash),
        };
        let own = self.triggers[from..].iter().take_while(|(hash, _)| *hash == word.hash);
        own.map(|(_, number)| &self.patterns[*number as usize])
    }
}

fn filtered(hash: u64) -> (usize, u64) {
    (hash as usize % FILTER, 1 << (hash >> 32 & 63))
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

impl Pattern {
    fn parse(pattern: &str) -> Self {
        let tokens: Vec<Token> = pattern.split(' ').map(Token::parse).collect();
        // The token of the fewest words and of the rarest.
        let cost = |token: &Token| match &token.kind {
            TokenKind::Words(words) => {
                let common = words.iter().filter(|hash| COMMON.has_hash(**hash)).count();
                Some(common * 16 + words.len())
            }
            _ => None,
        };
        let costs = tokens.iter().enumerate().filter_map(|(place, token)| Some((cost(token)?, place)));
        let (_, trigger) = costs.min().expect("every pattern has a word of its own");
        let floats = tokens[..trigger].iter().any(|token| matches!(token.kind, TokenKind::Gap));
        Self { tokens, trigger, floats }
    }

    /// The words that it is tried at.
    fn triggers(&self) -> &[u64] {
        match &self.tokens[self.trigger].kind {
            TokenKind::Words(words) => words,
            _ => &[],
        }
    }

    /// Whether it fits so that the word at `place` is the one it is tried at, or another like it.
    fn fits_around(&self, words: &Words, place: usize) -> bool {
        if self.floats {
            return (0..place).any(|start| fits(&self.tokens, words, start));
        }
        place.checked_sub(self.trigger).is_some_and(|start| fits(&self.tokens, words, start))
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

    fn fits(&self, words: &Words, word: &Word) -> bool {
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
fn fits(tokens: &[Token], words: &Words, place: usize) -> bool {
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

/// A list of patterns that is made ready when it is first looked for.
pub(crate) type LazyPhrases = LazyLock<Phrases>;

/// Patterns, for a `static`.
macro_rules! phrases {
    ($($pattern:literal),* $(,)?) => {
        ::std::sync::LazyLock::new(|| $crate::phrases::Phrases::new(&[$($pattern),*]))
    };
}
pub(crate) use phrases;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check_fit(pattern: &str, text: &str, expected: bool) {
        assert_eq!(Phrases::new(&[pattern]).fit(&Words::of(text)), expected, "{pattern} in {text}");
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
        let phrases = Phrases::new(&["can|could you|we", "any idea"]);
        let words = Words::of("now can we go, any idea");
        let places: Vec<usize> = (0..words.len()).filter(|place| phrases.fit_at(&words, *place)).collect();
        assert_eq!(places, [1, 4]);
    }

    proptest! {
        /// Where a pattern is tried does not matter: it is found wherever it fits.
        #[test]
        fn nothing_is_missed(
            pattern in "(\\^?(a|b|the|is\\|a)|@any|@base) ((~ )?(a|the|@any|b\\|c) ){0,3}(the|b|you)",
            text in "(a|b|c|the|is|you|`a`|x) ((a|b|c|the|is|you|x),? ){0,12}",
        ) {
            let (phrases, words) = (Phrases::new(&[&pattern]), Words::of(&text));
            let fits = (0..words.len()).any(|place| phrases.fit_at(&words, place));
            prop_assert_eq!(phrases.fit(&words), fits, "{} in {}", pattern, text);
        }
    }
}
