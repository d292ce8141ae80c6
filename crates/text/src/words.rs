//! Words of a sentence, by what they are and by what stands around them.

use std::sync::LazyLock;

use hashbrown::{HashMap, HashSet};

use crate::cjk::is_wide;
use crate::data::data_lines;
use crate::hash::{hash_text, mix};

/// The words of a text in lower case, in order. Han and kana are not words here; see [`crate::subject::Subject`].
#[derive(Clone, Debug)]
pub struct Words {
    /// The words, one right behind the other.
    lower: String,
    words: Vec<Word>,
    /// True if there are Han, kana or their punctuation in the text.
    has_wide: bool,
}

/// One word.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    start: u32,
    end: u32,
    flags: u8,
}

/// It stands first in its clause, politeness and interjections aside.
const OPENS: u8 = 1;
/// It stands in code or quotation marks: somebody else's word.
const QUOTED: u8 = 2;
/// It is a verb that requests commonly begin with, in its plain form.
const VERB: u8 = 4;
/// It may stand before the first real word of a clause.
const INTERJECTION: u8 = 8;
/// It joins clauses: "and" in some languages.
const AND: u8 = 16;
/// It sets one clause against another: "but" in some languages.
const BUT: u8 = 32;

/// Longer texts are not one sentence; their words are looked at up to here.
const LONGEST: usize = u32::MAX as usize;

/// A word and the space behind it have about so many bytes.
const USUAL_WORD: usize = 6;

impl Words {
    /// All words of a text.
    pub fn of(text: &str) -> Self {
        let text = &text[..text.floor_char_boundary(LONGEST)];
        let mut words = Self {
            lower: String::with_capacity(text.len()),
            words: Vec::with_capacity(text.len() / USUAL_WORD + 1),
            has_wide: !text.is_ascii() && text.contains(is_wide),
        };
        words.find(text);
        words
    }

    fn find(&mut self, text: &str) {
        let (mut clause, mut quotes) = (Clause::default(), Quotes::default());
        let mut start = None;
        let mut index = 0;
        while index < text.len() {
            // Most words are ASCII and are taken in one piece.
            let plain =
                text.as_bytes()[index..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
            if plain > 0 {
                let from = self.lower.len();
                start.get_or_insert(from);
                self.lower.push_str(&text[index..index + plain]);
                self.lower[from..].make_ascii_lowercase();
                index += plain;
                continue;
            }
            let mut chars = text[index..].chars();
            let Some(character) = chars.next() else { break };
            let joins = matches!(character, '\'' | '’')
                && start.is_some()
                && chars.next().is_some_and(char::is_alphabetic);
            if joins {
                self.lower.push('\'');
            } else if character.is_alphanumeric() && !is_wide(character) {
                start.get_or_insert(self.lower.len());
                self.lower.extend(character.to_lowercase());
            } else {
                if let Some(start) = start.take() {
                    self.push(start, &mut clause, quotes.are_open());
                }
                clause.opens |= quotes.pass(text, index, character);
            }
            index += character.len_utf8();
        }
        if let Some(start) = start {
            self.push(start, &mut clause, quotes.are_open());
        }
    }

    /// Adds the word that `lower` ends with.
    fn push(&mut self, start: usize, clause: &mut Clause, is_quoted: bool) {
        let kinds = KINDS.get(&self.lower[start..]).copied().unwrap_or(0);
        let flags = kinds | (u8::from(clause.opens) * OPENS) | (u8::from(is_quoted) * QUOTED);
        self.words.push(Word { start: start as u32, end: self.lower.len() as u32, flags });
        clause.pass(kinds);
    }

    /// The number of words.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns true if the text has no words.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns true if there are Han, kana or their punctuation in the text; only there cues in them need be looked for.
    pub fn has_wide(&self) -> bool {
        self.has_wide
    }

    /// All words, in order.
    pub fn all(&self) -> &[Word] {
        &self.words
    }

    /// Returns true if the first word is "no".
    pub fn begin_with_no(&self) -> bool {
        self.words.first().is_some_and(|word| self.text(word) == "no")
    }

    /// The text of one word.
    pub fn get(&self, index: usize) -> Option<&str> {
        self.words.get(index).map(|word| self.text(word))
    }

    /// The texts of all words, in order.
    pub fn texts(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.words.iter().map(|word| self.text(word))
    }

    pub(crate) fn text(&self, word: &Word) -> &str {
        &self.lower[word.start as usize..word.end as usize]
    }

    /// The places of words that open a clause and are not themselves interjections.
    pub fn openers(&self) -> impl Iterator<Item = usize> {
        let is_opener = |word: &Word| word.flags & (OPENS | INTERJECTION) == OPENS;
        self.words.iter().enumerate().filter(move |(_, word)| is_opener(word)).map(|(place, _)| place)
    }

    /// The places of openers that are verbs, as orders have them.
    pub fn orders(&self) -> impl Iterator<Item = usize> {
        self.openers().filter(|place| self.words[*place].is_verb())
    }
}

/// A fingerprint of the words with digits that a text has, in their order.
pub fn print_numbers(text: &str) -> u64 {
    // Most texts have none.
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return 0;
    }
    let words = Words::of(text);
    let numbers = words.texts().filter(|word| word.bytes().any(|byte| byte.is_ascii_digit()));
    numbers.fold(0, |print, word| mix(print, hash_text(word)))
}

impl Word {
    pub(crate) fn opens(&self) -> bool {
        self.flags & OPENS != 0
    }

    /// Returns true if it stands in code or quotation marks.
    pub fn is_quoted(&self) -> bool {
        self.flags & QUOTED != 0
    }

    /// Returns true if it is a verb that requests commonly begin with, in its plain form.
    pub fn is_verb(&self) -> bool {
        self.flags & VERB != 0
    }
}

/// The clause that is read.
struct Clause {
    /// True if the next word opens it.
    opens: bool,
    /// True if one began with a verb, as orders do.
    has_order: bool,
}

impl Default for Clause {
    fn default() -> Self {
        Self { opens: true, has_order: false }
    }
}

impl Clause {
    /// Passes a word of these kinds; decides whether the next one opens a clause, too.
    fn pass(&mut self, kinds: u8) {
        self.opens = if kinds & AND != 0 {
            // "Fix it and never push" goes on ordering; "they help and always smile" does not.
            self.opens || self.has_order
        } else if kinds & BUT != 0 {
            true
        } else {
            self.has_order |= self.opens && kinds & VERB != 0;
            self.opens && kinds & INTERJECTION != 0
        };
    }
}

/// True if code or a quotation is open.
#[derive(Default)]
struct Quotes {
    in_code: bool,
    in_quotes: bool,
}

impl Quotes {
    fn are_open(&self) -> bool {
        self.in_code || self.in_quotes
    }

    /// Passes a sign between words; tells whether a clause begins behind it.
    fn pass(&mut self, text: &str, index: usize, sign: char) -> bool {
        match sign {
            '`' => self.in_code = !self.in_code && text[index + 1..].contains('`'),
            '"' if !self.in_code => self.in_quotes = !self.in_quotes && text[index + 1..].contains('"'),
            // It closes „ and opens what ” closes.
            '“' => self.in_quotes = !self.in_quotes && text[index..].contains('”'),
            '„' => self.in_quotes = text[index..].contains(['“', '”']),
            '«' => self.in_quotes = text[index..].contains('»'),
            '”' | '»' => self.in_quotes = false,
            ',' | ';' | ':' | '.' | '!' | '?' | '(' | '—' | '–' | '，' | '：' | '。' => return true,
            '-' => return text[..index].ends_with(' '),
            _ => {}
        }
        false
    }
}

/// A set of words that is made when it is first asked.
pub struct WordSet(LazyLock<HashSet<&'static str>>);

impl WordSet {
    /// The set that `make` makes of its words.
    pub const fn new(make: fn() -> HashSet<&'static str>) -> Self {
        Self(LazyLock::new(make))
    }

    /// Returns true if a word in lower case is in the set.
    pub fn has(&self, word: &str) -> bool {
        self.0.contains(word)
    }
}

/// A set of words, for a `static`.
#[macro_export]
macro_rules! word_set {
    ($($word:literal),* $(,)?) => {
        $crate::WordSet::new(|| [$($word),*].into())
    };
}

/// The kinds of every word that has any.
static KINDS: LazyLock<HashMap<&'static str, u8>> = LazyLock::new(|| {
    let kinds = [
        (include_str!("../data/verbs.txt"), VERB),
        (include_str!("../data/interjections.txt"), INTERJECTION),
        ("and\nund\ny\net\ne\nи", AND),
        ("but\naber\npero\nmais\nmas\nно\nа", BUT),
    ];
    let mut flags = HashMap::new();
    for (words, kind) in kinds {
        data_lines(words).for_each(|word| *flags.entry(word).or_default() |= kind);
    }
    flags
});

#[cfg(test)]
pub(crate) mod tests;
