//! Phrases that are looked for in the words of a sentence: patterns, made ready once and tried only where they can fit.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use hashbrown::HashMap;

use crate::data::data_lines;
use crate::word_set;
use crate::words::{Word, WordSet, Words};

/// Patterns of which one is to fit.
///
/// A pattern is a row of words. `a|b` is either word, `~` a gap of a few words, `^a` a word that opens a clause, `@verb` a
/// common verb in its plain form, `@base` any word that can follow "always" in an order, `@ing` a word in -ing, `@ed` one in
/// -ed, `@plural` one in -s, `@number` a number, `@any` any word.
///
/// Each pattern is tried only behind and before a word of its own that is seldom said otherwise.
pub struct Phrases<'p> {
    patterns: Vec<Pattern<'p>>,
    /// The patterns that are tried at a word, by their index.
    triggers: HashMap<&'p str, Vec<usize>>,
}

/// The longest gap in a pattern, in words.
const GAP: usize = 8;

struct Pattern<'p> {
    tokens: Vec<Token<'p>>,
    /// Which token it is tried at.
    trigger: usize,
    /// The fewest and the most words before that one.
    before: RangeInclusive<usize>,
}

struct Token<'p> {
    kind: TokenKind<'p>,
    must_open: bool,
}

enum TokenKind<'p> {
    Gap,
    Words(Vec<&'p str>),
    Any,
    Plural,
    Number,
    Verb,
    Base,
    Ed,
    Ing,
}

impl<'p> Phrases<'p> {
    /// Makes patterns ready.
    pub fn new(patterns: &[&'p str]) -> Self {
        let patterns: Vec<Pattern<'p>> = patterns.iter().map(|pattern| Pattern::parse(pattern)).collect();
        let mut triggers: HashMap<&'p str, Vec<usize>> = HashMap::with_capacity(patterns.len());
        for (index, pattern) in patterns.iter().enumerate() {
            for word in pattern.triggers() {
                triggers.entry(word).or_default().push(index);
            }
        }
        Self { patterns, triggers }
    }

    /// Returns true if one of the patterns fits somewhere.
    pub fn fit(&self, words: &Words) -> bool {
        words.all().iter().enumerate().any(|(place, word)| {
            let tried = self.triggers.get(words.text(word)).into_iter().flatten();
            let mut tried = tried.map(|index| &self.patterns[*index]);
            tried.any(|pattern| pattern.may_be_at(word) && pattern.fits_around(words, place))
        })
    }

    /// Returns true if one of the patterns fits from the word at `place` on.
    pub fn fit_at(&self, words: &Words, place: usize) -> bool {
        self.patterns.iter().any(|pattern| fits(&pattern.tokens, words, place))
    }
}

/// Patterns of several lists that are looked for together, so that a sentence is read once for all of them.
pub struct PhraseTable<'p> {
    /// Each with the number of its list.
    patterns: Vec<(Pattern<'p>, u32)>,
    triggers: HashMap<&'p str, Vec<usize>>,
}

impl<'p> PhraseTable<'p> {
    /// Makes the patterns of lists ready; a list is known by its place, which is below 64.
    pub fn new(lists: &[Vec<&'p str>]) -> Self {
        let numbered =
            lists.iter().zip(0..64).flat_map(|(list, number)| list.iter().map(move |p| (*p, number)));
        let patterns: Vec<_> = numbered.map(|(pattern, number)| (Pattern::parse(pattern), number)).collect();
        let mut triggers: HashMap<&'p str, Vec<usize>> = HashMap::with_capacity(patterns.len());
        for (index, (pattern, _)) in patterns.iter().enumerate() {
            for word in pattern.triggers() {
                triggers.entry(word).or_default().push(index);
            }
        }
        Self { patterns, triggers }
    }

    /// The lists of which a pattern fits, one bit each.
    pub fn lists_in(&self, words: &Words) -> u64 {
        let mut found = 0;
        for (place, word) in words.all().iter().enumerate() {
            let Some(tried) = self.triggers.get(words.text(word)) else { continue };
            for (pattern, list) in tried.iter().map(|index| &self.patterns[*index]) {
                let is_known = found & (1 << list) != 0;
                if !is_known && pattern.may_be_at(word) && pattern.fits_around(words, place) {
                    found |= 1 << list;
                }
            }
        }
        found
    }
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

impl<'p> Pattern<'p> {
    fn parse(pattern: &'p str) -> Self {
        let tokens: Vec<Token<'p>> = pattern.split(' ').map(Token::parse).collect();
        // The token of the fewest words and of the rarest.
        let cost = |token: &Token<'_>| match &token.kind {
            TokenKind::Words(words) => {
                let count = |known: &WordSet| words.iter().filter(|word| known.has(word)).count();
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
    fn triggers(&self) -> &[&'p str] {
        match &self.tokens[self.trigger].kind {
            TokenKind::Words(words) => words,
            _ => &[],
        }
    }

    /// Returns true if the word stands as the one must that it is tried at.
    fn may_be_at(&self, word: &Word) -> bool {
        !word.is_quoted() && (word.opens() || !self.tokens[self.trigger].must_open)
    }

    /// Returns true if it fits so that the word at `place` is the one it is tried at.
    fn fits_around(&self, words: &Words, place: usize) -> bool {
        let mut starts = self.before.clone().map_while(|before| place.checked_sub(before));
        starts.any(|start| fits(&self.tokens, words, start))
    }
}

impl<'p> Token<'p> {
    fn parse(token: &'p str) -> Self {
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
            _ => TokenKind::Words(token.split('|').collect()),
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
        let text = words.text(word);
        match &self.kind {
            TokenKind::Gap => false,
            TokenKind::Words(known) => known.contains(&text),
            TokenKind::Any => true,
            TokenKind::Plural => is_plural(text),
            TokenKind::Number => text.bytes().all(|byte| byte.is_ascii_digit()),
            TokenKind::Verb => word.is_verb(),
            TokenKind::Base => is_base(text) && !NOT_ORDERS.has(text),
            TokenKind::Ed => text.len() > 3 && text.ends_with("ed"),
            TokenKind::Ing => text.len() > 5 && text.ends_with("ing"),
        }
    }
}

/// Returns true if a row of tokens fits from the word at `place` on.
fn fits(tokens: &[Token<'_>], words: &Words, place: usize) -> bool {
    let Some((token, rest)) = tokens.split_first() else { return true };
    if matches!(token.kind, TokenKind::Gap) {
        return (place..=place + GAP).any(|place| fits(rest, words, place));
    }
    words.all().get(place).is_some_and(|word| token.fits(words, word)) && fits(rest, words, place + 1)
}

fn is_plural(word: &str) -> bool {
    word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("'s")
}

/// Returns true if a word has the form of one that can follow "always" in an order: no past, no -ing, no third person.
fn is_base(word: &str) -> bool {
    let third_person = word.ends_with('s') && !word.ends_with("ss") && word != "focus";
    !third_person && !word.ends_with("ed") && !word.ends_with("ing") && word.chars().all(char::is_alphabetic)
}

/// Words behind "always" and "never" that show a report, not an order.
static NOT_ORDERS: WordSet = WordSet::new(|| data_lines(include_str!("../data/reports.txt")).collect());

/// A list of patterns that is made ready when it is first looked for.
pub type LazyPhrases = LazyLock<Phrases<'static>>;

/// Patterns, for a `static`.
#[macro_export]
macro_rules! phrases {
    ($($pattern:literal),* $(,)?) => {
        ::std::sync::LazyLock::new(|| $crate::Phrases::new(&[$($pattern),*]))
    };
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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

    #[test]
    fn lists_are_told_apart() {
        let table = PhraseTable::new(&[vec!["^never @base", "no longer"], vec![], vec!["from now on"]]);
        let lists = |text| table.lists_in(&Words::of(text));
        assert_eq!(lists("From now on never push."), 0b100);
        assert_eq!(lists("From now on, never push."), 0b101);
        assert_eq!(lists("Push it."), 0);
    }

    proptest! {
        /// A pattern is found wherever it fits, whichever word it is tried at.
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
