//! Finds a fact again that a file has already, in these or other words, or one that contradicts it.

use std::path::PathBuf;
use std::sync::LazyLock;

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// The file, if it is another one than that which the fact is for.
    pub file: Option<PathBuf>,
    /// Its number, from 1.
    pub line: usize,
    /// The text, without list mark and comments.
    pub text: String,
}

impl Remembered {
    /// A sentence on it, with what it does to a fact.
    pub(crate) fn remark(&self, how: &str) -> String {
        let of = self.file.as_ref().map(|file| format!(" of {}", file.display())).unwrap_or_default();
        format!("Line {}{of} {how}: {:?}.", self.line, self.text)
    }
}

/// The likeness of a file's text to a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Likeness {
    /// It says the same: the words that matter are the same, in the same order.
    Same(Remembered),
    /// It says the opposite of the same thing, or something else of it.
    Opposite(Remembered),
    /// It says something with mostly the same words.
    Similar(Remembered),
    /// Nothing.
    None,
}

/// Words that change nothing about what a fact says.
const EMPTY_WORDS: &[&str] = &[
    "a", "always", "am", "an", "are", "be", "do", "i", "is", "me", "my", "please", "should", "that", "the",
    "to", "user", "users", "we", "you", "your", "s", "our", "their", "must", "remember", "will",
];

/// Words that turn a fact into its opposite.
const NEGATIONS: &[&str] = &[
    "not",
    "never",
    "don't",
    "dont",
    "doesn't",
    "no",
    "avoid",
    "without",
    "dislike",
    "dislikes",
    "hate",
    "hates",
    "stop",
    "isn't",
    "shouldn't",
    "cannot",
    "can't",
    "won't",
    "aren't",
    "mustn't",
    "forbidden",
    "disable",
    "disabled",
];

/// Words that turn it back: what follows them is what is not wanted.
const INSTEAD: &[&str] = &["instead", "over", "rather"];

/// Words behind which a sentence names a value: "tests run with npm".
const BEFORE_VALUES: &[&str] = &["with", "using", "by", "via", "on", "at", "from", "through"];

/// Words that join a thing to its value and say nothing of either.
const JOINING: &[&str] = &[
    "use", "using", "with", "run", "via", "by", "for", "in", "on", "at", "from", "through", "prefer", "want",
    "like", "it", "this", "when", "of", "as", "and", "only", "all", "every",
];

/// Groups of words of which a fact usually names one and not another.
static RIVALS: LazyLock<Vec<Vec<String>>> =
    LazyLock::new(|| parse_rivals(include_str!("../data/rivals.txt")));

fn parse_rivals(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split_whitespace().map(stem).collect()).collect()
}

/// The share of words that two facts must have in common to be about the same thing.
const ALIKE: f64 = 0.7;

/// Looks for a fact in the lines of a text.
pub(crate) fn compare(fact: &str, text: &str) -> Likeness {
    let exactly = fact.trim();
    let fact = Statement::parse(exactly);
    let lines = text.lines().enumerate().filter_map(|(number, line)| {
        let said = plain(line);
        let is_sentence = !said.is_empty() && !line.trim_start().starts_with(['#', '`', '|']);
        is_sentence.then(|| {
            (Remembered { file: None, line: number + 1, text: said.clone() }, Statement::parse(&said))
        })
    });
    let mut likeness = Likeness::None;
    for (line, known) in lines {
        // Signs alone are no words, and still can be told apart.
        if line.text == exactly || fact.is_same(&known) {
            return Likeness::Same(line);
        }
        match likeness {
            Likeness::None | Likeness::Similar(_) if fact.is_opposite(&known) => {
                likeness = Likeness::Opposite(line);
            }
            Likeness::None if fact.is_similar(&known) => likeness = Likeness::Similar(line),
            _ => {}
        }
    }
    likeness
}

/// True if a fact says the same as a sentence, in these or other words.
pub(crate) fn is_same_fact(fact: &str, sentence: &str) -> bool {
    Statement::parse(fact).is_same(&Statement::parse(sentence))
}

/// True if all words of a search that matter are in a sentence.
pub(crate) fn has_words(sentence: &str, searched: &str) -> bool {
    let (sentence, searched) = (Statement::parse(sentence), words(searched));
    let mut searched = searched.iter().map(|word| stem(word)).peekable();
    searched.peek().is_some() && searched.all(|word| sentence.all.contains(&word))
}

/// A line without list mark, comments and white space around it.
pub(crate) fn plain(line: &str) -> String {
    let line = line.trim();
    let item = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark));
    let mut said = item.unwrap_or(line).to_owned();
    while let Some(start) = said.find("<!--") {
        let end = said[start..].find("-->").map_or(said.len(), |end| start + end + 3);
        said.replace_range(start..end, "");
    }
    said.trim().to_owned()
}

/// The statement of a sentence, as far as words tell.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Statement {
    /// All words, in order.
    all: Vec<String>,
    /// The words that matter, in order, negations left out.
    words: Vec<String>,
    /// True if it says that something is not so, or not wanted.
    is_negative: bool,
    /// The things named as not wanted, behind "instead of" and the like.
    instead_of: Vec<String>,
    /// The subject and its value, if it is of that form.
    assignment: Option<(Vec<String>, Vec<String>)>,
}

impl Statement {
    fn parse(sentence: &str) -> Self {
        let all = words(sentence);
        let is_negative = all.iter().filter(|word| NEGATIONS.contains(&word.as_str())).count() % 2 == 1;
        let turn = all.iter().position(|word| INSTEAD.contains(&word.as_str()));
        let (wanted, instead) = all.split_at(turn.unwrap_or(all.len()));
        let matters = |words: &[String]| -> Vec<String> {
            let matters = words
                .iter()
                .filter(|word| !EMPTY_WORDS.contains(&word.as_str()) && !NEGATIONS.contains(&word.as_str()));
            matters.map(|word| stem(word)).collect()
        };
        let verb = all.iter().position(|word| matches!(word.as_str(), "is" | "are" | "="));
        let assignment = verb.map(|verb| (matters(&all[..verb]), matters(&all[verb + 1..])));
        let assignment = assignment.filter(|(subject, value)| !subject.is_empty() && !value.is_empty());
        let skipped = usize::from(!instead.is_empty())
            + usize::from(instead.get(1).is_some_and(|word| word == "of" || word == "than"));
        Self {
            all: all.iter().map(|word| stem(word)).collect(),
            words: if instead.is_empty() { matters(&all) } else { matters(wanted) },
            is_negative,
            instead_of: matters(instead.get(skipped..).unwrap_or_default()),
            assignment,
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        (&self.words, self.is_negative, &self.instead_of)
            == (&other.words, other.is_negative, &other.instead_of)
            && !self.words.is_empty()
    }

    fn is_opposite(&self, other: &Self) -> bool {
        if self.words.is_empty() || other.words.is_empty() {
            return false;
        }
        let is_turned = self.is_negative != other.is_negative && overlap(&self.words, &other.words) >= ALIKE;
        let wants_what_other_refuses = |one: &Self, other: &Self| {
            !other.instead_of.is_empty()
                && !one.is_negative
                && other.instead_of.iter().all(|word| one.words.contains(word))
        };
        // Of what is not wanted there may be many.
        let is_wanted = !self.is_negative && !other.is_negative;
        let is_reassigned = match (&self.assignment, &other.assignment) {
            (Some((subject, value)), Some((other_subject, other_value))) => {
                let is_narrow = subject.len() > 1 || value.len() == 1 && other_value.len() == 1;
                self.is_negative == other.is_negative
                    && subject == other_subject
                    && value != other_value
                    && is_narrow
            }
            _ => false,
        };
        is_turned
            || is_reassigned
            || is_wanted && (self.is_rival(other) || self.has_other_value(other))
            || wants_what_other_refuses(self, other)
            || wants_what_other_refuses(other, self)
    }

    /// True if both speak of the same thing, and name different ones of a group of which one is usually meant.
    fn is_rival(&self, other: &Self) -> bool {
        RIVALS.iter().any(|group| {
            let named = |words: &[String]| -> Vec<String> {
                words.iter().filter(|word| group.contains(word)).cloned().collect()
            };
            let rest = |words: &[String]| -> Vec<String> {
                let rest =
                    words.iter().filter(|word| !group.contains(word) && !JOINING.contains(&word.as_str()));
                rest.cloned().collect()
            };
            let (mine, theirs) = (named(&self.words), named(&other.words));
            let is_other =
                !mine.is_empty() && !theirs.is_empty() && mine.iter().all(|word| !theirs.contains(word));
            if !is_other {
                return false;
            }
            let (mine, theirs) = (rest(&self.words), rest(&other.words));
            mine.is_empty() && theirs.is_empty() || overlap(&mine, &theirs) >= ALIKE
        })
    }

    /// True if both are the same but for one word that is a value: a number, or what stands behind "with" and the like.
    fn has_other_value(&self, other: &Self) -> bool {
        let (mine, theirs) = (&self.words, &other.words);
        if mine.len() != theirs.len() || mine.len() < 3 {
            return false;
        }
        let mut differing = (0..mine.len()).filter(|place| mine[*place] != theirs[*place]);
        let (Some(place), None) = (differing.next(), differing.next()) else { return false };
        let has_digit = |word: &str| word.contains(|letter: char| letter.is_ascii_digit());
        let is_last = place + 1 == mine.len();
        let is_behind = place > 1 && BEFORE_VALUES.contains(&mine[place - 1].as_str());
        has_digit(&mine[place]) && has_digit(&theirs[place]) || is_last && is_behind
    }

    fn is_similar(&self, other: &Self) -> bool {
        self.is_negative == other.is_negative
            && self.words.len() > 2
            && overlap(&self.words, &other.words) >= ALIKE
    }
}

/// The words of a sentence in small letters. Dots and the like within a word belong to it: `3.14`, `don't`, `a/b`.
fn words(sentence: &str) -> Vec<String> {
    let lower = sentence.to_lowercase().replace('\u{2019}', "'");
    let inner = |letter: char| "'.-_/:@#+=$%\\".contains(letter);
    let split = lower.split(|letter: char| !(letter.is_alphanumeric() || inner(letter)));
    let words = split.map(|word| {
        let word = if word == "=" { word } else { word.trim_matches(|letter: char| "'.:=".contains(letter)) };
        word.strip_suffix("'s").unwrap_or(word).to_owned()
    });
    words.filter(|word| !word.is_empty()).collect()
}

/// The word without a plural or third-person `s`.
fn stem(word: &str) -> String {
    let is_plain =
        word.len() > 3 && word.is_ascii() && word.bytes().all(|letter| letter.is_ascii_alphabetic());
    match word.strip_suffix('s').filter(|stem| is_plain && !stem.ends_with('s')) {
        Some(stem) => stem.to_owned(),
        None => word.to_owned(),
    }
}

/// The share of the words that two sentences have in common.
fn overlap(one: &[String], other: &[String]) -> f64 {
    let common = one.iter().filter(|word| other.contains(word)).count();
    let all = one.len() + other.iter().filter(|word| !one.contains(word)).count();
    if all == 0 { 0.0 } else { common as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fact: &str, text: &str, expected: &str) {
        let found = match compare(fact, text) {
            Likeness::Same(line) => format!("same {}", line.line),
            Likeness::Opposite(line) => format!("opposite {}", line.line),
            Likeness::Similar(line) => format!("similar {}", line.line),
            Likeness::None => "none".to_owned(),
        };
        assert_eq!(found, expected, "{fact:?} in {text:?}");
    }

    #[test]
    fn the_same_fact_is_found_in_other_letters_and_small_words() {
        check("Use tabs", "# Rules\n\n- Use tabs <!-- saved 2026-01-02 -->", "same 3");
        check("use tabs.", "* Please always use tabs!", "same 1");
        check("I prefer tabs", "The user prefers tabs", "same 1");
        check("Don't commit to main", "a\ndo not commit to main", "same 2");
        check("記憶", "- 記憶", "same 1");
    }

    #[test]
    fn what_differs_in_a_word_that_matters_is_another_fact() {
        check("Run a before b", "Run b before a", "similar 1");
        check("The port is 8080", "Some port: 8080", "none");
        check("Use pnpm in app", "Use pnpm in web", "none");
        check("Use tabs", "# Use tabs", "none");
        check("Use tabs", "", "none");
        check("--", "text", "none");
    }

    #[test]
    fn opposites_are_noticed() {
        check("Never use tabs", "- Use tabs", "opposite 1");
        check("Use tabs", "x\n- Don't use tabs", "opposite 2");
        check("My favourite colour is green", "My favourite colour is blue", "opposite 1");
        check("Use tabs", "Use spaces instead of tabs", "opposite 1");
        check("Prefer spaces over tabs", "Prefer tabs over spaces", "opposite 1");
        check("Never use spaces", "Avoid tabs", "none");
        check("The API is slow", "The API is written in Go", "none");
    }

    #[test]
    fn other_values_of_the_same_thing_are_noticed() {
        check("Tests run with npm", "- Tests run with pnpm", "opposite 1");
        check("Run the tests with npm.", "x\nUse pnpm for tests", "opposite 2");
        check("Use npm", "Use pnpm", "opposite 1");
        check("Indent with tabs", "Indent with 2 spaces", "none");
        check("Indent with tabs", "Indent with spaces", "opposite 1");
        check("Deploys happen on Fridays", "Deploys happen on Mondays", "opposite 1");
        check("Version 1.2 of the parser is in use", "Version 1.3 of the parser is in use", "opposite 1");
        check("The server listens on port 8080", "The server listens on port 9090", "opposite 1");
        check("Mail is sent via foo", "Mail is sent via bar", "opposite 1");
        // Of other things other values hold.
        check("Docs build with npm", "Tests run with pnpm", "none");
        check("Use npm for the docs", "Use pnpm", "none");
        check("Never use npm", "Use pnpm", "none");
        check("We use npm and pnpm", "We use pnpm", "none");
        check("Fridays are free", "Mondays are for reviews", "none");
    }

    #[test]
    fn every_line_of_rivals_is_a_group() {
        for line in include_str!("../data/rivals.txt").lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if !words.is_empty() && !line.starts_with('#') {
                assert!(words.len() > 1 && line == line.to_lowercase(), "{line:?}");
            }
        }
        let mut all: Vec<&String> = RIVALS.iter().flatten().collect();
        all.sort();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count, "a word is in one group");
    }

    #[test]
    fn words_of_a_search_are_found() {
        for (sentence, searched, expected) in [
            ("Tests run with pnpm", "pnpm tests", true),
            ("Tests run with pnpm", "test", true),
            ("Tests run with pnpm", "npm", false),
            ("Tests run with pnpm", "", false),
            ("Never use tabs", "never tabs", true),
        ] {
            assert_eq!(has_words(sentence, searched), expected, "{searched:?} in {sentence:?}");
        }
    }

    #[test]
    fn mostly_the_same_words_are_alike() {
        check("Run the unit tests before every commit", "Run the unit tests before every push", "similar 1");
    }
}
