//! Words of a sentence, by what they are and by what stands around them.

mod pieces;

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::LazyLock;

use self::pieces::{Piece, Pieces};
use crate::eight;
use crate::extract::{hash_text, mix};
use crate::phrases::Often;
use crate::sentences::is_wide;

/// The words of a text in small letters, in order. Han and kana are not words here; see [`crate::subject::Subject`].
#[derive(Clone, Debug)]
pub(crate) struct Words<'t> {
    text: &'t str,
    /// The words as they are spelled in small letters; hardly anybody asks for it where the text is ASCII.
    lower: OnceCell<String>,
    words: Vec<Word>,
    /// The lists that any word is a cue of.
    cues: u8,
    /// How many signs stand between the words, single spaces aside; counted in ASCII alone, if all of it was read.
    signs: Option<usize>,
    /// Whether a clause began with a verb, as orders do.
    has_order: bool,
    /// Whether there are Han, kana or their punctuation in the text.
    has_wide: bool,
    /// What was found out about the text, and is asked for again and again.
    pub(crate) verdicts: Verdicts,
}

/// What a sentence is, as far as anybody has asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdicts {
    pub(crate) is_question: OnceCell<bool>,
    pub(crate) is_rule: OnceCell<bool>,
}

/// One word, told from others by its hash alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    pub(crate) hash: u64,
    start: u32,
    end: u32,
    flags: u8,
    /// The lists that it is a cue of.
    cues: u8,
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

/// Words that may stand before the first real word of a clause.
#[rustfmt::skip]
const INTERJECTIONS: &[&str] = &[
    "please", "pls", "plz", "also", "ok", "okay", "and", "but", "or", "so", "then", "now", "just",
    "alright", "well", "hey", "dude", "bro", "man", "note", "yes", "yeah", "yep", "no", "again", "btw",
    "fyi", "finally", "first", "second", "omg", "omfg", "hmm", "hm", "important", "importantly", "critical",
    "really", "kindly", "instead", "however", "otherwise", "additionally", "furthermore", "bitte", "und",
    "aber", "also", "por", "favor", "y", "pero", "et", "mais", "merci", "additionally",
];

/// Longer texts are not one sentence; their words are looked at up to here.
const LONGEST: usize = u32::MAX as usize;

impl<'t> Words<'t> {
    /// All words of a text.
    pub(crate) fn of(text: &'t str) -> Self {
        Self::of_as_much(text, |_| false)
    }

    /// The first words: at least the first one that opens a clause and is no interjection, and the next one.
    pub(crate) fn of_opening(text: &'t str) -> Self {
        Self::of_as_much(text, |words| words.openers().next().is_some_and(|first| first + 1 < words.len()))
    }

    /// The words of a text, up to that with which it is enough at the soonest.
    #[inline]
    fn of_as_much(text: &'t str, is_enough: impl Fn(&Self) -> bool) -> Self {
        let text = &text[..text.floor_char_boundary(LONGEST)];
        let mut words = Self {
            text,
            lower: OnceCell::new(),
            // English has a word in every five or six characters, seldom in four.
            words: Vec::with_capacity(text.len() / 4 + 1),
            cues: 0,
            signs: None,
            has_order: false,
            has_wide: false,
            verdicts: Verdicts::default(),
        };
        if text.is_ascii() {
            words.find_in_ascii(is_enough);
        } else {
            words.has_wide = text.contains(is_wide);
            words.find_in_any();
        }
        words
    }

    /// Finds the words of a text that is ASCII throughout; in small letters they stand where they stand in the text.
    #[inline]
    fn find_in_ascii(&mut self, is_enough: impl Fn(&Self) -> bool) {
        let (text, kinds) = (self.text, &*KINDS);
        let (mut opens, mut marks, mut signs) = (true, Marks::default(), 0);
        for piece in Pieces::of(text) {
            match piece {
                Piece::Word { hash, place, .. } => {
                    opens = self.push(hash, kinds.get(hash), place, opens, marks.are_open());
                    if is_enough(self) {
                        return;
                    }
                }
                Piece::Sign { at, sign } => {
                    signs += 1;
                    opens |= marks.pass(text, at, char::from(sign));
                }
            }
        }
        self.signs = Some(signs);
    }

    /// Finds the words of any text, and writes them one right behind the other.
    fn find_in_any(&mut self) {
        let text = self.text;
        let mut lower = String::with_capacity(text.len());
        let (mut opens, mut marks) = (true, Marks::default());
        let mut word_start = None;
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let joins = matches!(c, '\'' | '’')
                && word_start.is_some()
                && chars.peek().is_some_and(|(_, next)| next.is_alphabetic());
            if joins || c.is_alphanumeric() && !is_wide(c) {
                word_start.get_or_insert(lower.len());
                if joins {
                    lower.push('\'');
                } else if c.is_ascii() {
                    lower.push(c.to_ascii_lowercase());
                } else {
                    lower.extend(c.to_lowercase());
                }
                continue;
            }
            if let Some(start) = word_start.take() {
                opens = self.push_from(&lower, start, opens, marks.are_open());
            }
            opens |= marks.pass(text, at, c);
        }
        if let Some(start) = word_start {
            self.push_from(&lower, start, opens, marks.are_open());
        }
        self.lower = OnceCell::from(lower);
    }

    /// Adds the word that `lower` ends with; tells whether the next one opens a clause too.
    fn push_from(&mut self, lower: &str, start: usize, opens: bool, quoted: bool) -> bool {
        let hash = hash_text(&lower[start..]);
        self.push(hash, KINDS.get(hash), start..lower.len(), opens, quoted)
    }

    /// Adds a word; tells whether the next one opens a clause too.
    fn push(&mut self, hash: u64, value: u16, place: Range<usize>, opens: bool, quoted: bool) -> bool {
        let [kinds, cues] = value.to_le_bytes();
        self.cues |= cues;
        let flags = kinds | (u8::from(opens) * OPENS) | (u8::from(quoted) * QUOTED);
        self.words.push(Word { hash, start: place.start as u32, end: place.end as u32, flags, cues });
        if kinds == 0 {
            false
        } else if kinds & AND != 0 {
            // "Fix it and never push" goes on ordering; "they help and always smile" does not.
            opens || self.has_order
        } else if kinds & BUT != 0 {
            true
        } else {
            self.has_order |= opens && kinds & VERB != 0;
            opens && kinds & INTERJECTION != 0
        }
    }

    /// Whether a word was said without which nothing of this list can fit.
    pub(crate) fn may_have(&self, list: Often) -> bool {
        self.cues & list.bit() != 0
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are Han, kana or their punctuation in the text; only there cues in them need be looked for.
    pub(crate) fn has_wide(&self) -> bool {
        self.has_wide
    }

    /// Whether the text is ASCII, names no code and has a sign in at most one of five characters.
    pub(crate) fn have_few_signs(&self) -> bool {
        self.signs.is_some_and(|signs| signs * 5 <= self.text.len())
            && memchr::memchr(b'`', self.text.as_bytes()).is_none()
    }

    pub(crate) fn all(&self) -> &[Word] {
        &self.words
    }

    /// Whether the first word is "no".
    pub(crate) fn begin_with_no(&self) -> bool {
        static NO: WordSet = word_set!["no"];
        self.words.first().is_some_and(|word| NO.has(word))
    }

    #[cfg(test)]
    pub(crate) fn get(&self, place: usize) -> Option<&str> {
        self.words.get(place).map(|word| self.text(word))
    }

    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.words.iter().map(|word| self.text(word))
    }

    pub(crate) fn text(&self, word: &Word) -> &str {
        let lower = self.lower.get_or_init(|| self.text.to_ascii_lowercase());
        &lower[word.start as usize..word.end as usize]
    }

    /// The places of words that open a clause and are not themselves interjections.
    pub(crate) fn openers(&self) -> impl Iterator<Item = usize> {
        let is_opener = |word: &Word| word.flags & (OPENS | INTERJECTION) == OPENS;
        self.words.iter().enumerate().filter(move |(_, word)| is_opener(word)).map(|(place, _)| place)
    }

    /// The places of openers that are verbs, as orders have them.
    pub(crate) fn orders(&self) -> impl Iterator<Item = usize> {
        self.openers().filter(|place| self.words[*place].is_verb())
    }
}

/// Whether a word is said in a text without which nothing of this list can fit, before a word that can follow it there; only
/// a guess where it is not ASCII. This takes less than half of the time in which all words can be found.
pub(crate) fn may_say(text: &str, list: Often) -> bool {
    if !text.is_ascii() {
        return true;
    }
    let (kinds, bit) = (&*KINDS, u16::from(list.bit()) << 8);
    let mut pieces = Pieces::of(text);
    while let Some(piece) = pieces.next() {
        if let Piece::Word { hash, .. } = piece
            && kinds.get(hash) & bit != 0
            && list.phrases().may_fit(hash, next_word(pieces.clone()))
        {
            return true;
        }
    }
    false
}

/// The next word with its hash.
#[inline(never)]
fn next_word(pieces: Pieces<'_>) -> Option<(u64, &str)> {
    let text = pieces.text();
    pieces.into_iter().find_map(|piece| match piece {
        Piece::Word { hash, place, .. } => Some((hash, &text[place])),
        Piece::Sign { .. } => None,
    })
}

/// Whether a text has fewer words than this; no more of it is looked at than need be.
pub(crate) fn has_fewer_words(text: &str, than: usize) -> bool {
    Words::of_as_much(text, |words| words.len() >= than).len() < than
}

/// Tells which words with digits a text has, in their order.
pub(crate) fn print_numbers(text: &str) -> u64 {
    let mut print = 0;
    if text.is_ascii() {
        for stretch in stretches_with_digits(text) {
            for piece in Pieces::of(stretch) {
                if let Piece::Word { hash, has_digit: true, .. } = piece {
                    print = mix(print, hash);
                }
            }
        }
    } else {
        let words = Words::of(text);
        let has_digit = |word: &&Word| words.text(word).bytes().any(|byte| byte.is_ascii_digit());
        print = words.all().iter().filter(has_digit).fold(print, |print, word| mix(print, word.hash));
    }
    print
}

/// The stretches of a text between white space that have a digit; no word goes beyond one.
fn stretches_with_digits(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let mut from = 0;
    std::iter::from_fn(move || {
        let digit = eight::find_digit(bytes, from)?;
        let is_space = |byte: &u8| byte.is_ascii_whitespace();
        let start = bytes[from..digit].iter().rposition(is_space).map_or(from, |space| from + space + 1);
        from = bytes[digit..].iter().position(is_space).map_or(bytes.len(), |length| digit + length);
        Some(&text[start..from])
    })
}

impl Word {
    /// Whether it is a cue of this list.
    pub(crate) fn is_cue_of(&self, list: Often) -> bool {
        self.cues & list.bit() != 0
    }

    pub(crate) fn opens(&self) -> bool {
        self.flags & OPENS != 0
    }

    pub(crate) fn is_quoted(&self) -> bool {
        self.flags & QUOTED != 0
    }

    /// Whether it is a verb that requests commonly begin with, in its plain form.
    pub(crate) fn is_verb(&self) -> bool {
        self.flags & VERB != 0
    }
}

/// Whether code or a quotation is open.
#[derive(Default)]
struct Marks {
    in_code: bool,
    in_quotes: bool,
}

impl Marks {
    fn are_open(&self) -> bool {
        self.in_code || self.in_quotes
    }

    /// Passes over a sign between words; tells whether a clause begins behind it.
    fn pass(&mut self, text: &str, at: usize, sign: char) -> bool {
        match sign {
            '`' => self.in_code = !self.in_code && text[at + 1..].contains('`'),
            '"' if !self.in_code => self.in_quotes = !self.in_quotes && text[at + 1..].contains('"'),
            '“' => self.in_quotes = text[at..].contains('”'),
            '”' => self.in_quotes = false,
            ',' | ';' | ':' | '.' | '!' | '?' | '(' | '—' | '–' | '，' | '：' | '。' => return true,
            '-' => return text[..at].ends_with(' '),
            _ => {}
        }
        false
    }
}

/// A small value for each of some words, 0 for all others, by hash.
pub(crate) struct WordTable {
    /// A hash and, in the place of its lowest bits, the value; 0 where nothing stands. A power of two of them, at most half
    /// of them taken.
    slots: Vec<u64>,
}

/// The bits of a slot that hold the value.
const VALUE: u64 = 0xffff;

impl WordTable {
    /// A table of these words.
    pub(crate) fn new(values: &[(&[&str], u16)]) -> Self {
        let hashed = |(words, value): &(&[&str], u16)| -> Vec<(u64, u16)> {
            words.iter().map(|word| (hash_text(word), *value)).collect()
        };
        Self::of_hashes(&values.iter().flat_map(hashed).collect::<Vec<_>>())
    }

    /// A table of words that have these hashes; one that stands there twice has both values.
    fn of_hashes(values: &[(u64, u16)]) -> Self {
        let mut table = Self { slots: vec![0; (values.len() * 2).next_power_of_two().max(4)] };
        for (hash, value) in values {
            let place = table.place(*hash);
            table.slots[place] = hash & !VALUE | table.slots[place] & VALUE | u64::from(*value);
        }
        table
    }

    #[inline]
    pub(crate) fn get(&self, hash: u64) -> u16 {
        (self.slots[self.place(hash)] & VALUE) as u16
    }

    /// Where a hash stands, or where it would.
    #[inline]
    fn place(&self, hash: u64) -> usize {
        let last = self.slots.len() - 1;
        // The lowest bits give way to the value, so others tell the place.
        let mut place = (hash >> 16) as usize & last;
        loop {
            let slot = self.slots[place];
            if slot == 0 || slot ^ hash <= VALUE {
                return place;
            }
            place = (place + 1) & last;
        }
    }
}

/// A set of words that is made when it is first asked.
pub(crate) struct WordSet {
    table: LazyLock<WordTable, fn() -> WordTable>,
}

impl WordSet {
    /// The set that `make` makes of its words.
    pub(crate) const fn new(make: fn() -> WordTable) -> Self {
        Self { table: LazyLock::new(make) }
    }

    pub(crate) fn has(&self, word: &Word) -> bool {
        self.has_hash(word.hash)
    }

    pub(crate) fn has_hash(&self, hash: u64) -> bool {
        self.table.get(hash) != 0
    }
}

/// A set of words, for a `static`.
macro_rules! word_set {
    ($($word:literal),* $(,)?) => {
        $crate::words::WordSet::new(|| $crate::words::WordTable::new(&[(&[$($word),*], 1)]))
    };
}
pub(crate) use word_set;

/// What every word is: its flags, and the lists that it is a cue of.
static KINDS: LazyLock<WordTable> = LazyLock::new(|| {
    let kinds: [(&[&str], u8); 4] = [
        (VERBS, VERB),
        (INTERJECTIONS, INTERJECTION),
        (&["and", "und", "y", "et"], AND),
        (&["but", "aber", "pero", "mais"], BUT),
    ];
    let mut values = Vec::new();
    for (words, kind) in kinds {
        values.extend(words.iter().map(|word| (hash_text(word), u16::from(kind))));
    }
    for list in Often::ALL {
        values.extend(list.phrases().cues().map(|hash| (hash, u16::from(list.bit()) << 8)));
    }
    WordTable::of_hashes(&values)
});

/// Verbs that requests commonly begin with, in their plain form.
#[rustfmt::skip]
const VERBS: &[&str] = &[
    "add", "adjust", "align", "allow", "analyse", "analyze", "answer", "append", "apply", "ask", "attach",
    "attempt", "benchmark", "build", "bump", "call", "change", "check", "choose", "clean", "clone", "close",
    "combine", "commit", "compare", "compile", "compute", "configure", "connect", "continue", "convert",
    "copy", "correct", "count", "create", "debug", "define", "delete", "deploy", "describe", "design",
    "determine", "disable", "display", "do", "document", "download", "draw", "drop", "edit", "enable",
    "ensure", "estimate", "evaluate", "examine", "execute", "expand", "explain", "explore", "export",
    "expose", "extend", "extract", "fetch", "figure", "fill", "finalize", "find", "finish", "fix", "format",
    "generate", "get", "give", "go", "handle", "help", "hide", "highlight", "identify", "ignore",
    "implement", "import", "improve", "include", "increase", "initialize", "insert", "inspect", "install",
    "integrate", "investigate", "keep", "kill", "label", "launch", "leave", "let", "limit", "link", "lint",
    "list", "load", "log", "look", "make", "mark", "measure", "merge", "migrate", "mock", "modify", "move",
    "name", "open", "optimise", "optimize", "organize", "parse", "pass", "paste", "perform", "pick", "plan",
    "port", "prepare", "prevent", "print", "profile", "provide", "publish", "pull", "push", "put", "read",
    "rebase", "record", "redo", "reduce", "refactor", "release", "reload", "remove", "rename", "render",
    "reorder", "repeat", "replace", "reply", "report", "reproduce", "research", "reset", "resolve",
    "respond", "restart", "restore", "return", "revert", "review", "rewrite", "run", "save", "scan",
    "search", "see", "select", "send", "separate", "set", "show", "simplify", "skip", "solve", "sort",
    "split", "start", "stop", "store", "submit", "suggest", "summarise", "summarize", "support", "switch",
    "tell", "test", "think", "touch", "trace", "track", "translate", "try", "turn", "undo", "uninstall",
    "update", "upgrade", "upload", "use", "validate", "verify", "wait", "work", "wrap", "write",
];

#[cfg(test)]
pub(crate) mod tests;
