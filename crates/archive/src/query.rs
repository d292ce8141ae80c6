//! Query parsing.

use std::collections::HashSet;

use longhaul_conversation::Ordinal;

use crate::letters::{is_cjk, is_word, split_identifier};

/// The most terms; more do not make a search better.
const MAX_TERMS: usize = 64;

/// The most bytes of a query that are read.
const LONGEST_QUERY: usize = 8 * 1024;

/// The longest term, in bytes.
const LONGEST: usize = 256;

/// The most ends of a path that are searched for.
const MAX_TAILS: usize = 4;

const PIECE_WEIGHT: f32 = 0.25;
const TAIL_WEIGHT: f32 = 0.35;
const PHRASE_WEIGHT: f32 = 1.5;
const OTHER_SPELLING: f32 = 0.9;

/// Words that carry no meaning, as long as there are others.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "did", "do", "does", "for", "from", "had", "has",
    "have", "how", "i", "in", "is", "it", "its", "my", "of", "on", "or", "our", "that", "the", "there",
    "this", "to", "was", "we", "were", "what", "when", "where", "which", "who", "why", "with", "you",
];

/// A parsed query.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Query {
    /// The message with this number.
    MessageNumber(Ordinal),
    /// Messages with these terms, the more the better.
    Terms(Vec<Term>),
}

/// A search term.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    /// Its weight among the others.
    pub(crate) weight: f32,
    /// True if a message must contain it.
    pub(crate) is_required: bool,
    /// Its spellings.
    pub(crate) spellings: Vec<Spelling>,
}

/// A spelling of a term.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spelling {
    /// The text, in lower case.
    pub(crate) text: String,
    /// The quality of a match, from 0 to 1.
    pub(crate) quality: f32,
    pub(crate) edges: Edges,
}

/// The required surroundings of a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edges {
    /// The start of a word or of a piece of an identifier.
    Word,
    /// No word that continues before it.
    Literal,
    /// Anything.
    Free,
    /// The other words of a phrase after it.
    Phrase(Vec<String>),
}

/// Parses a message number: `m12` or `[m12]`.
pub fn parse_message_number(text: &str) -> Option<Ordinal> {
    let text = text.trim();
    let text = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let digits = text.strip_prefix('m').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok().filter(|number| *number > 0).map(Ordinal)
}

impl Query {
    pub(crate) fn parse(text: &str) -> Self {
        if let Some(number) = parse_message_number(text) {
            return Self::MessageNumber(number);
        }
        let mut terms = TermCollector::default();
        let mut words: Vec<&str> = Vec::new();
        let text = &text[..text.floor_char_boundary(LONGEST_QUERY)];
        let pieces: Vec<&str> = text.split('"').collect();
        for (place, piece) in pieces.iter().enumerate() {
            let is_closed = place + 1 < pieces.len();
            if place % 2 == 1 && is_closed {
                terms.phrase(piece);
            } else {
                words.extend(piece.split_whitespace());
            }
        }
        let is_stop = |word: &&str| STOP_WORDS.contains(&word.to_lowercase().as_str());
        if terms.found.is_empty() && words.iter().all(is_stop) {
            words.iter().for_each(|word| terms.token(word));
        } else {
            words.iter().filter(|word| !is_stop(word)).for_each(|word| terms.token(word));
        }
        Self::Terms(terms.found)
    }
}

#[derive(Default)]
struct TermCollector {
    found: Vec<Term>,
    seen: HashSet<String>,
}

impl TermCollector {
    fn add(&mut self, weight: f32, is_required: bool, spellings: Vec<Spelling>) {
        let Some(first) = spellings.first() else { return };
        let is_fine = first.text.len() <= LONGEST && !first.text.is_empty();
        if is_fine && self.found.len() < MAX_TERMS && self.seen.insert(key(first)) {
            self.found.push(Term { weight, is_required, spellings });
        }
    }

    fn simple(&mut self, weight: f32, text: &str, edges: Edges) {
        self.add(weight, false, vec![Spelling { text: text.to_lowercase(), quality: 1.0, edges }]);
    }

    fn phrase(&mut self, text: &str) {
        let mut words = text.split_whitespace().map(str::to_lowercase);
        let Some(first) = words.next() else { return };
        let edges = Edges::Phrase(words.collect());
        self.add(PHRASE_WEIGHT, true, vec![Spelling { text: first, quality: 1.0, edges }]);
    }

    /// Adds one token of the query.
    fn token(&mut self, token: &str) {
        let is_edge = |letter: char| !letter.is_alphanumeric() && !matches!(letter, '_' | '/' | '\\' | '~');
        let token = token.trim_matches(is_edge);
        let token = token.trim_end_matches(['/', '\\']);
        for run in runs(token) {
            if run.starts_with(is_cjk) {
                self.pairs(run);
            } else if run.chars().all(is_word) {
                self.name(run, 1.0);
            } else {
                self.literal(run.trim_matches(is_edge));
            }
        }
    }

    /// Adds Chinese or Japanese text as pairs of characters.
    fn pairs(&mut self, run: &str) {
        let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
        if starts.len() == 2 {
            return self.simple(1.0, run, Edges::Free);
        }
        let weight = (2.0 / (starts.len() - 2) as f32).min(1.0);
        for pair in starts.windows(3) {
            self.simple(weight, &run[pair[0]..pair[2]], Edges::Free);
        }
    }

    /// Adds a word or an identifier.
    fn name(&mut self, name: &str, weight: f32) {
        let lower = name.to_lowercase();
        let pieces = split_identifier(name);
        let mut spellings = vec![Spelling { text: lower.clone(), quality: 1.0, edges: Edges::Word }];
        let mut other = |text: String| {
            if !text.is_empty() && spellings.iter().all(|spelling| spelling.text != text) {
                spellings.push(Spelling { text, quality: OTHER_SPELLING, edges: Edges::Word });
            }
        };
        if pieces.len() > 1 {
            let pieces: Vec<String> = pieces.iter().map(|piece| piece.to_lowercase()).collect();
            [pieces.join("_"), pieces.join("-"), pieces.concat()].into_iter().for_each(&mut other);
        } else {
            other(stem(&lower).to_owned());
        }
        self.add(weight, false, spellings);
        if pieces.len() > 1 {
            self.pieces(&pieces);
        }
    }

    fn pieces(&mut self, pieces: &[&str]) {
        for piece in pieces.iter().filter(|piece| piece.chars().nth(1).is_some()) {
            self.simple(PIECE_WEIGHT, piece, Edges::Word);
        }
    }

    /// Adds a token with other characters: a path, a version, a qualified name, a flag.
    fn literal(&mut self, text: &str) {
        if text.contains(['/', '\\']) {
            return self.path(&text.to_lowercase());
        }
        self.simple(1.0, text, Edges::Literal);
        let pieces: Vec<&str> =
            text.split(|letter| !is_word(letter)).filter(|piece| !piece.is_empty()).collect();
        self.pieces(&pieces);
    }

    /// Adds a path and its ends.
    fn path(&mut self, path: &str) {
        let path = path.replace('\\', "/");
        let relative = path.trim_start_matches(['/', '~', '.']).trim_start_matches('/');
        let spellings = |text: &str| {
            [text.to_owned(), text.replace('/', "\\"), text.replace('/', "\\\\")]
                .into_iter()
                .take(if text.contains('/') { 3 } else { 1 })
                .map(|text| Spelling { text, quality: 1.0, edges: Edges::Literal })
                .collect()
        };
        self.add(1.0, false, spellings(relative));
        let ends: Vec<usize> = relative.match_indices('/').map(|(at, _)| at + 1).collect();
        for at in ends.iter().rev().take(MAX_TAILS) {
            self.add(TAIL_WEIGHT, false, spellings(&relative[*at..]));
        }
        let file = ends.last().map_or(relative, |at| &relative[*at..]);
        let name: Vec<&str> =
            file.split(|letter| !is_word(letter)).filter(|piece| !piece.is_empty()).take(1).collect();
        self.pieces(&name);
    }
}

/// An English word without its ending, if the rest is long enough to start related words.
fn stem(word: &str) -> &str {
    let is_stem = |stem: &&str| stem.len() >= 4 && stem.bytes().all(|byte| byte.is_ascii_lowercase());
    let ending =
        ["ings", "ing", "ies", "ied", "ed", "es", "s"].into_iter().find(|ending| word.ends_with(ending));
    ending
        .and_then(|ending| word.strip_suffix(ending))
        .filter(is_stem)
        .filter(|stem| !word.ends_with("ss") && !stem.ends_with('s'))
        .unwrap_or(word)
}

/// The identity of a term.
fn key(spelling: &Spelling) -> String {
    match &spelling.edges {
        Edges::Phrase(rest) => format!("\"{} {}", spelling.text, rest.join(" ")),
        _ => spelling.text.clone(),
    }
}

/// Splits a token where Chinese or Japanese starts or ends.
fn runs(token: &str) -> Vec<&str> {
    let mut runs = Vec::new();
    let mut start = 0;
    let mut before: Option<bool> = None;
    for (at, letter) in token.char_indices() {
        let is_pair = is_cjk(letter);
        if before.is_some_and(|before| before != is_pair) {
            runs.push(&token[start..at]);
            start = at;
        }
        before = Some(is_pair);
    }
    if start < token.len() {
        runs.push(&token[start..]);
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the spellings of each term, with `!` before required ones and `~` before weaker ones.
    #[track_caller]
    fn check(query: &str, expected: &[&str]) {
        let Query::Terms(terms) = Query::parse(query) else { panic!("{query} is a mark") };
        let sketch = |term: &Term| {
            let mark = if term.is_required {
                "!"
            } else if term.weight < 1.0 {
                "~"
            } else {
                ""
            };
            let spelling = |spelling: &Spelling| match &spelling.edges {
                Edges::Phrase(rest) => {
                    format!("{}+{}", spelling.text, rest.join("+")).trim_end_matches('+').to_owned()
                }
                _ => spelling.text.clone(),
            };
            format!("{mark}{}", term.spellings.iter().map(spelling).collect::<Vec<_>>().join("|"))
        };
        assert_eq!(terms.iter().map(sketch).collect::<Vec<_>>(), expected, "{query}");
    }

    #[test]
    fn words_are_folded_and_told_apart() {
        check("Build FAILED", &["build", "failed|fail"]);
        check("why does the build fail?", &["build", "fail"]);
        check("what is it", &["what", "is", "it"]);
        check("errors", &["errors|error"]);
        check("class pass", &["class", "pass"]);
        check("build Build \"build\"", &["!build", "build"]);
        check("", &[]);
        check("  ?! -- \"\" ", &[]);
    }

    #[test]
    fn identifiers_have_other_spellings_and_pieces() {
        check("parseConfig", &["parseconfig|parse_config|parse-config", "~parse", "~config"]);
        check("max_size", &["max_size|max-size|maxsize", "~max", "~size"]);
        check("E0308", &["e0308|e_0308|e-0308", "~0308"]);
        check("8080", &["8080"]);
    }

    #[test]
    fn paths_have_tails() {
        check(
            "src/store/list.rs",
            &[
                "src/store/list.rs|src\\store\\list.rs|src\\\\store\\\\list.rs",
                "~list.rs",
                "~store/list.rs|store\\list.rs|store\\\\list.rs",
                "~list",
            ],
        );
        check("/etc/hosts", &["etc/hosts|etc\\hosts|etc\\\\hosts", "~hosts"]);
        check("list.rs", &["list.rs", "~list", "~rs"]);
        check("src/", &["src"]);
    }

    #[test]
    fn other_literals_stay_whole() {
        check("v1.2.3", &["v1.2.3", "~v1"]);
        check("--no-verify", &["no-verify", "~no", "~verify"]);
        check("std::fs::read", &["std::fs::read", "~std", "~fs", "~read"]);
        check("error[E0308]:", &["error[e0308", "~error", "~e0308"]);
    }

    #[test]
    fn phrases_are_required() {
        check("\"Permission  denied\" ssh", &["!permission+denied", "ssh"]);
        check("\"the end", &["end"]);
        check("\"the\"", &["!the"]);
    }

    #[test]
    fn chinese_and_japanese_are_pairs() {
        check("設定ファイル", &["~設定", "~定フ", "~ファ", "~ァイ", "~イル"]);
        check("错误", &["错误"]);
        check("猫", &["猫"]);
        check("設定parse", &["設定", "parse"]);
    }

    #[track_caller]
    fn check_mark(text: &str, expected: Option<u32>) {
        assert_eq!(parse_message_number(text), expected.map(Ordinal), "{text}");
    }

    #[test]
    fn marks_are_read() {
        check_mark("m12", Some(12));
        check_mark(" [m7] ", Some(7));
        for text in ["m", "m0", "12", "m12x", "[m12", "M12", "m99999999999", "m-1", ""] {
            check_mark(text, None);
        }
    }
}
