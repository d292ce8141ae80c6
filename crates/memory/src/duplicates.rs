//! Finds a fact again that a file has already, in these or other words, or its opposite.

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// Its number, from 1.
    pub line: usize,
    /// The text, without list mark and comments.
    pub text: String,
}

/// The likeness of a file's text to a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Likeness {
    /// It says the same: the words that matter are the same, in the same order.
    Same(Remembered),
    /// It says the opposite of the same thing.
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

/// The share of words that two facts must have in common to be about the same thing.
const ALIKE: f64 = 0.7;

/// Looks for a fact in the lines of a text.
pub(crate) fn compare(fact: &str, text: &str) -> Likeness {
    let exactly = fact.trim();
    let fact = Statement::parse(exactly);
    let lines = text.lines().enumerate().filter_map(|(number, line)| {
        let said = plain(line);
        let is_sentence = !said.is_empty() && !line.trim_start().starts_with(['#', '`', '|']);
        is_sentence.then(|| (Remembered { line: number + 1, text: said.clone() }, Statement::parse(&said)))
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

/// A line without list mark, comments and white space around it.
fn plain(line: &str) -> String {
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
            || wants_what_other_refuses(self, other)
            || wants_what_other_refuses(other, self)
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
        check("Version 1.2 of the parser is in use", "Version 1.3 of the parser is in use", "similar 1");
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
    fn mostly_the_same_words_are_alike() {
        check("Run the unit tests before every commit", "Run the unit tests before every push", "similar 1");
    }
}
