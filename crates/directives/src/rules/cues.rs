//! The phrases that make a sentence a standing instruction, and those that lift one; `data/` holds them, by language.

use std::sync::LazyLock;

use longhaul_text::{LazyPhrases, WordSet, phrases, word_set};

use crate::languages::{patterns, substrings, words};

/// Pieces of texts without spaces between words.
pub(crate) type Substrings = LazyLock<Vec<&'static str>>;

/// Orders and conventions that hold from now on.
pub(super) static RULES: LazyPhrases = LazyLock::new(|| patterns("rules"));
/// Times and manners that make a rule of an order, and only of an order.
pub(super) static STANDING: LazyPhrases = LazyLock::new(|| patterns("standing"));
/// Sentences that sound like rules and are not: comfort, thinking aloud, what holds only now.
pub(super) static NOT_RULES: LazyPhrases = LazyLock::new(|| patterns("not-rules"));
/// First words of questions.
pub(super) static QUESTIONS: WordSet = WordSet::new(|| words("question-words").collect());
/// Openings of questions of more than one word.
pub(super) static ASKING: LazyPhrases = LazyLock::new(|| patterns("question-openings"));
/// Nouns that name rules; a line of them with a colon, or a heading, makes the list below it rules.
pub(super) static RULE_NOUNS: WordSet = WordSet::new(|| words("rule-nouns").collect());
/// Phrases that lift an instruction.
pub(super) static LIFTS: LazyPhrases = LazyLock::new(|| patterns("lifts"));
/// Phrases that put a new instruction in the place of an old one.
pub(super) static CHANGES: LazyPhrases = LazyLock::new(|| patterns("changes"));

pub(super) static WIDE_RULES: Substrings = LazyLock::new(|| substrings("rules"));
/// Substrings that take a cue of [`WIDE_RULES`] back.
pub(super) static WIDE_NOT_RULES: Substrings = LazyLock::new(|| substrings("not-rules"));
pub(super) static WIDE_QUESTION_ENDS: Substrings = LazyLock::new(|| substrings("question-ends"));
pub(super) static WIDE_RULE_NOUNS: Substrings = LazyLock::new(|| substrings("rule-nouns"));
/// Something need not be done any more.
pub(crate) static WIDE_RELIEFS: Substrings = LazyLock::new(|| substrings("reliefs"));
/// Others that lift an instruction, and may ask for something along with it.
pub(super) static WIDE_LIFTS: Substrings = LazyLock::new(|| substrings("lifts"));
pub(super) static WIDE_CHANGES: Substrings = LazyLock::new(|| substrings("changes"));

/// Openings of questions that ask somebody to do something.
pub(super) static ASKS_FOR: LazyPhrases = phrases!["^can|could|would|will you"];

/// Words by which somebody is told to do something.
pub(super) static OBLIGES: LazyPhrases = phrases!["must|should|shall"];

/// Last words of a label before a rule, as in "Rule: …".
pub(super) static RULE_LABELS: WordSet = word_set!["rule", "rules", "convention", "constraint"];

/// Words of a report: what has them forbids nothing.
#[rustfmt::skip]
pub(super) static REPORTS: WordSet = word_set![
    "is", "are", "was", "were", "has", "have", "found", "of", "to", "does", "did", "i", "should", "would", "works",
];

/// Nouns behind "no" that report instead of forbidding.
#[rustfmt::skip]
pub(super) static NO_REPORTS: WordSet = word_set![
    "need", "idea", "prob", "problem", "hay", "doubts", "problems", "worries", "way", "one", "it", "that",
    "that's", "this", "i", "i'm", "we", "you", "the", "there", "not", "longer", "rush", "hurry", "thanks",
    "thank", "luck", "such", "match", "matches", "error", "errors", "output", "result", "results", "change",
    "changes", "issue", "issues", "he", "she", "they", "its", "it's", "just", "please", "don't", "dont",
    "wait", "but", "and", "so", "because", "if", "matter", "doubt", "clue", "description", "reason", "need",
    "is", "only", "my", "your", "our", "a", "an", "in", "on", "use", "what", "why", "how", "still", "file",
    "files", "test", "response", "data", "difference", "sense", "big", "deal", "biggie", "stop", "go",
    "for", "from", "to", "real",
];
