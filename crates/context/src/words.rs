//! Words of a sentence: cue phrases found by small patterns, and the content words that tell its subject.

use std::collections::HashSet;

use crate::sentences::is_wide;

/// The words of a text in small letters, in order. Han and kana are not words here; see [`Subject`].
pub(crate) struct Words {
    lower: String,
    words: Vec<Word>,
    /// Whether a clause began with a verb, as orders do.
    has_order: bool,
}

#[derive(Clone, Copy)]
struct Word {
    start: usize,
    end: usize,
    /// Whether it stands first in its clause, politeness and interjections aside.
    opens: bool,
    /// Whether it stands in code or quotation marks: somebody else's word.
    quoted: bool,
}

/// Words that may stand before the first real word of a clause.
#[rustfmt::skip]
const INTERJECTIONS: &[&str] = &[
    "please", "pls", "plz", "also", "ok", "okay", "and", "but", "or", "so", "then", "now", "just",
    "alright", "well", "hey", "dude", "bro", "man", "note", "yes", "yeah", "yep", "no", "again", "btw",
    "fyi", "finally", "first", "second", "omg", "omfg", "hmm", "hm", "important", "importantly", "critical",
    "really", "kindly", "instead", "however", "otherwise", "additionally", "furthermore", "bitte", "und",
    "aber", "also", "por", "favor", "y", "pero", "et", "mais", "merci", "additionally",
];

/// How many words a gap in a pattern may span.
const GAP: usize = 8;

impl Words {
    pub(crate) fn of(text: &str) -> Self {
        let mut words =
            Self { lower: String::with_capacity(text.len()), words: Vec::new(), has_order: false };
        let (mut opens, mut in_code, mut in_quotes) = (true, false, false);
        let mut word_start = None;
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let joins = matches!(c, '\'' | '’')
                && word_start.is_some()
                && chars.peek().is_some_and(|(_, next)| next.is_alphabetic());
            if joins || c.is_alphanumeric() && !is_wide(c) {
                word_start.get_or_insert(words.lower.len());
                if joins {
                    words.lower.push('\'');
                } else {
                    words.lower.extend(c.to_lowercase());
                }
                continue;
            }
            if let Some(start) = word_start.take() {
                opens = words.push(start, opens, in_code || in_quotes);
            }
            match c {
                '`' => in_code = !in_code && text[at + 1..].contains('`'),
                '"' if !in_code => in_quotes = !in_quotes && text[at + 1..].contains('"'),
                '“' => in_quotes = text[at..].contains('”'),
                '”' => in_quotes = false,
                ',' | ';' | ':' | '.' | '!' | '?' | '(' | '—' | '–' | '，' | '：' | '。' => {
                    opens = true;
                }
                '-' if text[..at].ends_with(' ') => opens = true,
                _ => {}
            }
        }
        if let Some(start) = word_start {
            words.push(start, opens, in_code || in_quotes);
        }
        words
    }

    /// Adds the word that begins at `start`; tells whether the next one opens a clause too.
    fn push(&mut self, start: usize, opens: bool, quoted: bool) -> bool {
        let word = Word { start, end: self.lower.len(), opens, quoted };
        self.words.push(word);
        let text = &self.lower[start..];
        match text {
            // "Fix it and never push" goes on ordering; "they help and always smile" does not.
            "and" | "und" | "y" | "et" => opens || self.has_order,
            "but" | "aber" | "pero" | "mais" => true,
            _ => {
                self.has_order |= opens && is_verb(text);
                opens && INTERJECTIONS.contains(&text)
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    pub(crate) fn get(&self, place: usize) -> Option<&str> {
        self.words.get(place).map(|word| &self.lower[word.start..word.end])
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|word| &self.lower[word.start..word.end])
    }

    /// The places of words that open a clause and are not themselves interjections.
    pub(crate) fn openers(&self) -> impl Iterator<Item = usize> {
        let is_real = |word: &Word| !INTERJECTIONS.contains(&&self.lower[word.start..word.end]);
        self.words
            .iter()
            .enumerate()
            .filter(move |(_, word)| word.opens && is_real(word))
            .map(|(place, _)| place)
    }

    /// Whether one of the patterns fits somewhere.
    ///
    /// A pattern is a row of words. `a|b` is either word, `~` a gap of a few words, `^a` a word that opens a clause,
    /// `@verb` a common verb in its plain form, `@base` any word that can follow "always" in an order, `@ing` a word
    /// in -ing, `@ed` one in -ed, `@plural` one in -s, `@number` a number, `@any` any word.
    pub(crate) fn fit_any(&self, patterns: &[&str]) -> bool {
        patterns.iter().any(|pattern| self.fit(pattern))
    }

    /// Whether the pattern fits somewhere.
    pub(crate) fn fit(&self, pattern: &str) -> bool {
        let (token, rest) = first_token(pattern);
        (0..self.words.len()).any(|place| self.fit_tokens(token, rest, place))
    }

    /// Whether the pattern fits from the word at `place` on.
    pub(crate) fn fit_at(&self, pattern: &str, place: usize) -> bool {
        let (token, rest) = first_token(pattern);
        self.fit_tokens(token, rest, place)
    }

    fn fit_tokens(&self, token: &str, rest: Option<&str>, place: usize) -> bool {
        if token == "~" {
            let rest = rest.unwrap_or_default();
            return (place..=place + GAP).any(|place| self.fit_at(rest, place));
        }
        let Some(word) = self.words.get(place) else { return false };
        let (token, must_open) = token.strip_prefix('^').map_or((token, false), |token| (token, true));
        let fits = !word.quoted
            && (!must_open || word.opens)
            && fits_token(&self.lower[word.start..word.end], token)
            || word.quoted && token == "@any";
        fits && rest.is_none_or(|rest| self.fit_at(rest, place + 1))
    }
}

fn first_token(pattern: &str) -> (&str, Option<&str>) {
    pattern.split_once(' ').map_or((pattern, None), |(token, rest)| (token, Some(rest)))
}

fn fits_token(word: &str, token: &str) -> bool {
    if !token.starts_with('@') {
        return token.as_bytes().split(|byte| *byte == b'|').any(|known| known == word.as_bytes());
    }
    match token {
        "@any" => true,
        "@plural" => word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("'s"),
        "@number" => word.bytes().all(|byte| byte.is_ascii_digit()),
        "@verb" => is_verb(word),
        "@base" => is_base(word),
        "@ed" => word.len() > 3 && word.ends_with("ed"),
        "@ing" => word.len() > 5 && word.ends_with("ing"),
        _ => token.split('|').any(|known| known == word),
    }
}

/// Whether a word can follow "always" in an order: no past, no -ing, no third person.
fn is_base(word: &str) -> bool {
    let third_person = word.ends_with('s') && !word.ends_with("ss") && word != "focus";
    !third_person
        && !word.ends_with("ed")
        && !word.ends_with("ing")
        && word.chars().all(char::is_alphabetic)
        && !NOT_ORDERS.contains(&word)
}

/// Words behind "always" and "never" that show a report, not an order.
#[rustfmt::skip]
const NOT_ORDERS: &[&str] = &[
    "mind", "good", "happy", "full", "here", "great", "nice", "fun", "ending", "seen", "been", "had", "has",
    "have", "got", "knew", "thought", "heard", "did", "was", "were", "is", "are", "saw", "went", "came",
    "ran", "worked", "happen", "happens", "occur", "occurs", "works", "fails", "gets", "returns", "said",
    "told", "made", "found", "gave", "took", "wrote", "would", "could", "the", "a", "an", "in", "on",
    "true", "false", "null", "there", "it", "again", "know", "think", "understand", "worry", "believe",
    "seem", "seems", "exist",
];

/// Whether `word` is a verb that requests commonly begin with, in its plain form.
pub(crate) fn is_verb(word: &str) -> bool {
    VERBS.binary_search(&word).is_ok()
}

/// Sorted, for binary search.
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

/// What a text is about: its content words, and its Han in pairs.
pub(crate) struct Subject {
    words: HashSet<String>,
    /// Verbs and nouns of any work; they tell a subject only where it has few words of its own.
    common: HashSet<String>,
    pairs: Vec<[char; 2]>,
}

/// Words that tell no subject, beside those of one letter.
#[rustfmt::skip]
const EMPTY: &[&str] = &[
    "about", "after", "again", "all", "also", "always", "am", "an", "and", "any", "anymore", "are", "as",
    "at", "be", "been", "before", "but", "by", "can", "cannot", "could", "did", "do", "does", "doesn't",
    "don't", "dont", "each", "ever", "every", "everything", "first", "for", "from", "going", "had", "has",
    "have", "he", "her", "here", "his", "how", "if", "in", "instead", "into", "is", "isn't", "it", "it's",
    "its", "just", "let", "let's", "like", "longer", "may", "me", "mind", "more", "must", "my", "never",
    "new", "no", "not", "now", "of", "off", "ok", "okay", "on", "one", "only", "or", "other", "our", "out",
    "over", "please", "prefer", "rather", "really", "remember", "same", "shall", "she", "should", "so",
    "some", "still", "sure", "than", "that", "that's", "the", "their", "them", "then", "there", "these",
    "they", "thing", "things", "this", "those", "to", "too", "under", "unless", "until", "up", "us", "very",
    "want", "was", "we", "we're", "were", "what", "when", "whenever", "where", "which", "who", "why",
    "will", "with", "without", "would", "yes", "yet", "you", "your", "der", "die", "das", "und", "nicht",
    "ein", "eine", "ist", "immer", "nie", "el", "la", "los", "las", "una", "que", "de", "en", "siempre",
    "nunca", "le", "les", "des", "un", "une", "et", "pas", "toujours", "jamais",
];

#[rustfmt::skip]
const COMMON: &[&str] = &[
    "add", "change", "code", "do", "file", "files", "fix", "get", "go", "keep", "make", "need", "put",
    "rule", "rules", "run", "set", "stop", "test", "tests", "update", "use", "using", "work", "write",
    "anything", "nothing", "way", "time",
];

/// Han that carry grammar rather than content.
const EMPTY_HAN: &str = "的了在是我你他她它们这那请用不要再都也就和与或把被会能可以时每次后前必须应该现所有没很还先吗呢吧为对从到给让做使";

impl Subject {
    pub(crate) fn of(text: &str) -> Self {
        let mut subject = Self { words: HashSet::new(), common: HashSet::new(), pairs: Vec::new() };
        for word in Words::of(text).iter() {
            if word.chars().count() < 2 || EMPTY.contains(&word) {
                continue;
            }
            let set = if COMMON.contains(&word) { &mut subject.common } else { &mut subject.words };
            set.insert(stem(word));
        }
        let mut katakana = String::new();
        let mut last: Option<char> = None;
        for c in text.chars().chain(std::iter::once(' ')) {
            if matches!(c, '\u{30a1}'..='\u{30ff}') {
                katakana.push(c);
            } else if katakana.chars().count() > 1 {
                subject.words.insert(std::mem::take(&mut katakana));
            } else {
                katakana.clear();
            }
            let is_han = matches!(c, '\u{3400}'..='\u{9fff}') && !EMPTY_HAN.contains(c);
            if is_han && let Some(before) = last {
                subject.pairs.push([before, c]);
            }
            last = is_han.then_some(c);
        }
        subject
    }

    /// How many content words two texts share. Pairs of Han count once for each stretch of two.
    pub(crate) fn shared(&self, other: &Self) -> usize {
        let own = self.words.intersection(&other.words).count();
        let few = self.words.len() < 2 || other.words.len() < 2;
        let common = if few { self.common.intersection(&other.common).count() } else { 0 };
        own + common + self.shared_pairs(other)
    }

    /// Whether two texts are evidently about the same thing: they share two content words, and these are at least
    /// half of the words that the shorter one has.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let shared = self.shared(other);
        shared >= 2 && shared * 2 >= self.len().min(other.len())
    }

    /// Whether two texts say nearly the same.
    pub(crate) fn restates(&self, other: &Self) -> bool {
        let shared = self.shared(other);
        shared >= 3 && shared * 10 >= self.len().max(other.len()) * 7
    }

    fn len(&self) -> usize {
        self.words.len() + self.pairs.len().div_ceil(2)
    }

    fn shared_pairs(&self, other: &Self) -> usize {
        let theirs: HashSet<_> = other.pairs.iter().collect();
        let mut counted = HashSet::new();
        let mut last: Option<&[char; 2]> = None;
        for pair in self.pairs.iter().filter(|pair| theirs.contains(pair)) {
            let overlaps = last.is_some_and(|before| before[1] == pair[0]);
            last = (!overlaps && counted.insert(pair)).then_some(pair);
        }
        counted.len()
    }
}

/// Takes the commonest endings off, so that `commits`, `committed` and `committing` are one word.
fn stem(word: &str) -> String {
    let cut = |ending: &str| word.strip_suffix(ending).filter(|stem| stem.len() > 2);
    let stem = cut("ing")
        .or_else(|| cut("ed"))
        .or_else(|| cut("s").filter(|stem| !stem.ends_with('s')))
        .unwrap_or(word);
    let mut chars = stem.chars().rev();
    match (chars.next(), chars.next()) {
        (Some('e'), _) if stem.len() > 2 => stem[..stem.len() - 1].to_string(),
        (Some(last), Some(before))
            if last == before && last.is_ascii() && stem.len() < word.len() && stem.len() > 3 =>
        {
            stem[..stem.len() - 1].to_string()
        }
        _ => stem.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_fit(pattern: &str, text: &str, expected: bool) {
        assert_eq!(Words::of(text).fit(pattern), expected, "{pattern} in {text}");
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
    }

    #[track_caller]
    fn check_shared(one: &str, other: &str, expected: usize) {
        assert_eq!(Subject::of(one).shared(&Subject::of(other)), expected, "{one} / {other}");
        assert_eq!(Subject::of(other).shared(&Subject::of(one)), expected, "{other} / {one}");
    }

    #[test]
    fn subjects() {
        check_shared("Always use snake_case for variable names", "camelCase variable names are fine", 2);
        check_shared("Always use snake_case", "drop the snake_case rule", 2);
        check_shared("Never use emojis", "you may now use emojis", 2);
        check_shared("Always use snake_case for variables", "use the staging server", 0);
        check_shared("never commit secrets", "committing a secret", 2);
        check_shared("提交信息必须用英文", "提交信息不用再写英文", 3);
        check_shared("变量名必须小写", "变量名", 1);
        check_shared("コメントは日本語", "コメントの日本", 2);
    }

    #[test]
    fn verbs_are_sorted() {
        assert!(VERBS.is_sorted());
    }
}
