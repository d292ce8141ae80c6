//! Words of a sentence, by what they are and by what stands around them.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::LazyLock;

use crate::eight;
use crate::extract::{hash_short, hash_text};
use crate::sentences::is_wide;

/// The words of a text in small letters, in order. Han and kana are not words here; see [`crate::subject::Subject`].
#[derive(Clone, Debug)]
pub(crate) struct Words {
    lower: String,
    words: Vec<Word>,
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

impl Words {
    pub(crate) fn of(text: &str) -> Self {
        let text = &text[..text.floor_char_boundary(LONGEST)];
        // English has a word in every five or six characters.
        let words = Vec::with_capacity(text.len() / 5 + 1);
        let verdicts = Verdicts::default();
        if text.is_ascii() {
            let lower = text.to_ascii_lowercase();
            let mut words = Self { lower, words, has_order: false, has_wide: false, verdicts };
            words.find_in_ascii(text);
            words
        } else {
            let (lower, has_wide) = (String::with_capacity(text.len()), text.contains(is_wide));
            let mut words = Self { lower, words, has_order: false, has_wide, verdicts };
            words.find_in(text);
            words
        }
    }

    /// Finds the words of a text that is ASCII throughout; they stand in `lower` where they stand in the text.
    fn find_in_ascii(&mut self, text: &str) {
        let lower = std::mem::take(&mut self.lower);
        let bytes = lower.as_bytes();
        let kinds = &*KINDS;
        let is_joined = |at: usize| {
            bytes.get(at) == Some(&b'\'') && bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic)
        };
        let (mut opens, mut marks) = (true, Marks::default());
        let mut at = 0;
        while at < bytes.len() {
            let eight = eight::load(bytes, at);
            let start = at;
            at += eight::run(eight::alphanumerics(eight));
            if at == start {
                // Most words have a single space behind them.
                if bytes[at] != b' ' {
                    opens |= marks.pass(text, at, char::from(bytes[at]));
                }
                at += 1;
                continue;
            }
            let hash = if at < start + 8 && !is_joined(at) {
                hash_short(eight::first(eight, at - start), at - start)
            } else {
                while bytes.get(at).is_some_and(u8::is_ascii_alphanumeric) || is_joined(at) {
                    at += 1;
                }
                hash_text(&lower[start..at])
            };
            opens = self.push(hash, kinds.get(hash), start..at, opens, marks.are_open());
        }
        self.lower = lower;
    }

    /// Finds the words of any text, and writes them one right behind the other.
    fn find_in(&mut self, text: &str) {
        let (mut opens, mut marks) = (true, Marks::default());
        let mut word_start = None;
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let joins = matches!(c, '\'' | '’')
                && word_start.is_some()
                && chars.peek().is_some_and(|(_, next)| next.is_alphabetic());
            if joins || c.is_alphanumeric() && !is_wide(c) {
                word_start.get_or_insert(self.lower.len());
                if joins {
                    self.lower.push('\'');
                } else if c.is_ascii() {
                    self.lower.push(c.to_ascii_lowercase());
                } else {
                    self.lower.extend(c.to_lowercase());
                }
                continue;
            }
            if let Some(start) = word_start.take() {
                opens = self.push_from(start, opens, marks.are_open());
            }
            opens |= marks.pass(text, at, c);
        }
        if let Some(start) = word_start {
            self.push_from(start, opens, marks.are_open());
        }
    }

    /// Adds the word that `lower` ends with; tells whether the next one opens a clause too.
    fn push_from(&mut self, start: usize, opens: bool, quoted: bool) -> bool {
        let hash = hash_text(&self.lower[start..]);
        self.push(hash, KINDS.get(hash), start..self.lower.len(), opens, quoted)
    }

    /// Adds a word; tells whether the next one opens a clause too.
    fn push(&mut self, hash: u64, kinds: u8, place: Range<usize>, opens: bool, quoted: bool) -> bool {
        let flags = kinds | if opens { OPENS } else { 0 } | if quoted { QUOTED } else { 0 };
        self.words.push(Word { hash, start: place.start as u32, end: place.end as u32, flags });
        if kinds & AND != 0 {
            // "Fix it and never push" goes on ordering; "they help and always smile" does not.
            opens || self.has_order
        } else if kinds & BUT != 0 {
            true
        } else {
            self.has_order |= opens && kinds & VERB != 0;
            opens && kinds & INTERJECTION != 0
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are Han, kana or their punctuation in the text; only there cues in them need be looked for.
    pub(crate) fn has_wide(&self) -> bool {
        self.has_wide
    }

    pub(crate) fn all(&self) -> &[Word] {
        &self.words
    }

    pub(crate) fn get(&self, place: usize) -> Option<&str> {
        self.words.get(place).map(|word| self.text(word))
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.words.iter().map(|word| self.text(word))
    }

    pub(crate) fn text(&self, word: &Word) -> &str {
        &self.lower[word.start as usize..word.end as usize]
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

impl Word {
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
    /// A hash and, in the place of its lowest byte, the value; 0 where nothing stands. A power of two of them, at most a
    /// quarter of them taken.
    slots: Vec<u64>,
}

/// The bits of a slot that hold the value.
const VALUE: u64 = 0xff;

impl WordTable {
    pub(crate) fn new(values: &[(&[&str], u8)]) -> Self {
        let count: usize = values.iter().map(|(words, _)| words.len()).sum();
        let mut table = Self { slots: vec![0; (count * 4).next_power_of_two().max(4)] };
        for (words, value) in values {
            for word in *words {
                let hash = hash_text(word);
                let place = table.place(hash);
                table.slots[place] = hash & !VALUE | table.slots[place] & VALUE | u64::from(*value);
            }
        }
        table
    }

    pub(crate) fn get(&self, hash: u64) -> u8 {
        (self.slots[self.place(hash)] & VALUE) as u8
    }

    /// Where a hash stands, or where it would.
    fn place(&self, hash: u64) -> usize {
        let last = self.slots.len() - 1;
        // The lowest bits give way to the value, so others tell the place.
        let mut place = (hash >> 8) as usize & last;
        while self.slots[place] != 0 && (self.slots[place] ^ hash) & !VALUE != 0 {
            place = (place + 1) & last;
        }
        place
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

static KINDS: LazyLock<WordTable> = LazyLock::new(|| {
    WordTable::new(&[
        (VERBS, VERB),
        (INTERJECTIONS, INTERJECTION),
        (&["and", "und", "y", "et"], AND),
        (&["but", "aber", "pero", "mais"], BUT),
    ])
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, words: &[&str], openers: &[&str], quoted: &[&str]) {
        let found = Words::of(text);
        assert_eq!(found.iter().collect::<Vec<_>>(), words, "{text}");
        let opening: Vec<_> = found.openers().filter_map(|place| found.get(place)).collect();
        assert_eq!(opening, openers, "{text}");
        let in_quotes = found.all().iter().filter(|word| word.is_quoted()).map(|word| found.text(word));
        assert_eq!(in_quotes.collect::<Vec<_>>(), quoted, "{text}");
    }

    #[test]
    fn words_and_where_they_stand() {
        check(
            "Please Fix it, then it's done.",
            &["please", "fix", "it", "then", "it's", "done"],
            &["fix", "it's"],
            &[],
        );
        check("Don’t do ‘that’", &["don't", "do", "that"], &["don't"], &[]);
        check(
            "fix `this one` or \"that\" - and \"so",
            &["fix", "this", "one", "or", "that", "and", "so"],
            &["fix"],
            &["this", "one", "that"],
        );
        check("Größe ändern，然后 push", &["größe", "ändern", "push"], &["größe", "push"], &[]);
        check("' 'a' b'c", &["a", "b'c"], &["a"], &[]);
        check("", &[], &[], &[]);
    }

    #[test]
    fn kinds_of_words() {
        let words = Words::of("Run the tests, never push");
        assert_eq!(words.orders().collect::<Vec<_>>(), [0]);
        assert_eq!(words.all().iter().filter(|word| word.is_verb()).count(), 2);
        assert!(!words.has_wide() && Words::of("用 tabs").has_wide());
    }

    #[test]
    fn sets_have_their_words() {
        static SET: WordSet = word_set!["one", "two", "two"];
        let has = |word: &str| SET.has(&Words::of(word).all()[0]);
        assert!(has("one") && has("Two") && !has("three"));
    }

    proptest! {
        #[test]
        fn ascii_is_read_as_any_text_is(text in "([a-c]|[A-C]|[1-2]|[ '`\",.;:!?(\\-_])*|but and fix") {
            let fast = Words::of(&text);
            let mut slow = Words::of("");
            slow.find_in(&text);
            prop_assert_eq!(fast.iter().collect::<Vec<_>>(), slow.iter().collect::<Vec<_>>());
            let flags = |words: &Words| words.all().iter().map(|word| word.flags).collect::<Vec<_>>();
            prop_assert_eq!(flags(&fast), flags(&slow));
        }
    }
}
