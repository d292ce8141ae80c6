//! The phrase lists of all languages, from the files in `data/` and its folders.

use std::collections::HashMap;
use std::sync::LazyLock;

use longhaul_text::{PhraseTable, Phrases};

/// The name and the text of every file of phrases.
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/languages.rs"));

/// The lists that a file may have, as `data/README.md` explains them.
#[rustfmt::skip]
const LISTS: &[&str] = &[
    "strong", "rules", "standing", "norms", "not-norms", "moments", "not-rules", "moment-subjects", "conditions", "moment-conditions",
    "orders", "agents", "universals", "universal-subjects", "lifts", "reliefs", "changes", "changes-now", "restated", "rule-nouns", "rule-leads", "task-nouns",
    "task-leads", "work-nouns", "empty-words", "negations", "values", "question-tags",
    "question-words", "question-openings", "question-ends", "wishes", "greetings", "accepts", "goes-on", "withdrawals", "corrections", "complaints", "completed",
    "unfinished", "done-words", "pasted-nouns", "pasted-at-once", "left-undone", "announcements", "offers", "asks-for-input",
    "demands", "purpose-headings", "empty-titles", "stated-goals", "deferrals", "follow-ups",
    "topicless", "refers-back", "scolding",
    "obligations", "limits", "process-words", "product-words", "me-words", "you-words", "self-words", "we-words", "past-words",
    "general-words", "pointing-words", "now-words", "when-words", "any-words", "task-words", "habit-words", "definite-words", "caution-headings", "demand-headings",
];

/// The classes of words that a pattern may name, as `data/README.md` explains them.
const CLASSES: &[&str] = &["any", "base", "verb", "ing", "ed", "plural", "number"];

/// The way in which phrases of a language are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Matching {
    /// As patterns of words, where spaces part them.
    Words,
    /// As pieces of the text, where nothing parts words.
    Substrings,
}

/// One language.
struct Language {
    matching: Matching,
    lists: HashMap<&'static str, Vec<&'static str>>,
}

static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| {
    let parsed = FILES.iter().map(|(name, text)| Language::parse(name, text));
    parsed.map(|language| language.unwrap_or_else(|problem| panic!("{problem}"))).collect()
});

impl Language {
    /// Reads a file; a problem names its line.
    fn parse(name: &str, text: &'static str) -> Result<Self, String> {
        let mut matching = None;
        let mut lists: HashMap<&'static str, Vec<&'static str>> = HashMap::new();
        let mut current = None;
        for (index, line) in text.lines().enumerate() {
            let problem = |what: &str| Err(format!("{name}, line {}: {what}: {line}", index + 1));
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(way) = line.strip_prefix("matching:") {
                matching = match way.trim() {
                    "words" => Some(Matching::Words),
                    "substrings" => Some(Matching::Substrings),
                    _ => return problem("expected `words` or `substrings`"),
                };
            } else if let Some(list) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                if !LISTS.contains(&list) {
                    return problem("unknown list");
                }
                if lists.insert(list, Vec::new()).is_some() {
                    return problem("the list appears twice");
                }
                current = Some(list);
            } else {
                let Some(list) = current else { return problem("a phrase must follow a [list]") };
                // Only there a star stands for any ending.
                let word = if is_class(list) { line.trim_end_matches('*') } else { line };
                if matching == Some(Matching::Words)
                    && let Some(what) = fault_of(word)
                {
                    return problem(&what);
                }
                lists.entry(list).or_default().push(line);
            }
        }
        let Some(matching) = matching else {
            return Err(format!("{name}: `matching: words` or `matching: substrings` is missing"));
        };
        Ok(Self { matching, lists })
    }
}

/// Returns true if a list is of single words, of which a star makes a beginning: `commit*`.
fn is_class(list: &str) -> bool {
    list == "work-nouns"
        || list.ends_with("-words") && !matches!(list, "question-words" | "empty-words" | "done-words")
        || matches!(list, "obligations" | "limits")
}

/// The reason why a pattern of words can never fit, if there is one.
fn fault_of(pattern: &str) -> Option<String> {
    for token in pattern.split(' ') {
        let token = token.strip_prefix('^').unwrap_or(token);
        if token == "~" {
            continue;
        }
        if let Some(class) = token.strip_prefix('@') {
            if !CLASSES.contains(&class) {
                return Some(format!("unknown class @{class}"));
            }
            continue;
        }
        let is_letter = |letter: char| letter.is_alphanumeric() || letter == '\'';
        if let Some(word) = token
            .split('|')
            .find(|word| word.is_empty() || !word.chars().all(is_letter) || word.to_lowercase() != *word)
        {
            return Some(format!("{word:?} is not a lower-case word"));
        }
    }
    None
}

/// The phrases of a list in all languages with this way of matching.
fn phrases_in(list: &'static str, matching: Matching) -> impl Iterator<Item = &'static str> {
    let languages = LANGUAGES.iter().filter(move |language| language.matching == matching);
    languages.filter_map(move |language| language.lists.get(list)).flatten().copied()
}

/// The patterns of words of a list, in all languages.
pub(crate) fn patterns(list: &'static str) -> Phrases<'static> {
    Phrases::new(&phrases_in(list, Matching::Words).collect::<Vec<_>>())
}

/// The patterns of words of several lists, in all languages.
pub(crate) fn pattern_table(lists: &[&'static str]) -> PhraseTable<'static> {
    let lists: Vec<Vec<&'static str>> =
        lists.iter().map(|list| phrases_in(list, Matching::Words).collect()).collect();
    PhraseTable::new(&lists)
}

/// The single words of a list, in all languages.
pub(crate) fn words(list: &'static str) -> impl Iterator<Item = &'static str> {
    phrases_in(list, Matching::Words)
}

/// The substrings of a list, in all languages that have no spaces between words.
pub(crate) fn substrings(list: &'static str) -> Vec<&'static str> {
    phrases_in(list, Matching::Substrings).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_file_can_be_read_and_every_pattern_has_a_word_of_its_own() {
        for (name, text) in FILES {
            let language = Language::parse(name, text).unwrap_or_else(|problem| panic!("{problem}"));
            for (list, phrases) in &language.lists {
                let mut seen = HashSet::new();
                for phrase in phrases {
                    assert!(seen.insert(phrase), "{name}: {phrase:?} stands twice in [{list}]");
                    if language.matching == Matching::Words && !is_class(list) {
                        Phrases::new(&[phrase]);
                    }
                }
            }
        }
        assert!(LANGUAGES.len() >= 15, "only {} languages were found", LANGUAGES.len());
    }

    #[track_caller]
    fn check_problem(text: &'static str, expected: &str) {
        let problem = Language::parse("data/xx.txt", text).err().expect("it has a problem");
        assert!(problem.starts_with(expected), "{problem}");
    }

    #[test]
    fn problems_name_their_line() {
        check_problem("matching: words\n[rules]\nnever\n[ruels]\n", "data/xx.txt, line 4: unknown list");
        check_problem("matching: words\n[rules]\nIn Nessun caso", "data/xx.txt, line 3: \"In\" is not");
        check_problem("matching: words\n[rules]\nsenza @verbb", "data/xx.txt, line 3: unknown class @verbb");
        check_problem("matching: words\n[rules]\ncosa: mai", "data/xx.txt, line 3: \"cosa:\" is not");
        check_problem(
            "matching: words\n[rules]\nmai\n[rules]",
            "data/xx.txt, line 4: the list appears twice",
        );
        check_problem("# a comment\nnever", "data/xx.txt, line 2: a phrase must follow a [list]");
        check_problem("matching: guess", "data/xx.txt, line 1: expected `words` or `substrings`");
        check_problem("[rules]\nnever", "data/xx.txt: `matching: words` or");
    }
}
