//! The phrases that make a sentence a standing instruction, and those that lift one; `data/rules/` holds them, by language.

use std::sync::LazyLock;

use longhaul_text::{LazyPhrases, PhraseTable, WordSet, Words, phrases, word_set};

use super::classes::WordClasses;
use crate::languages::{pattern_table, patterns, substrings, words};
use crate::substrings::SubstringTable;
use crate::typed::without_quotations;

/// Pieces of texts without spaces between words.
pub(crate) type Substrings = LazyLock<Vec<&'static str>>;

/// A kind of phrase in a sentence; `data/README.md` explains each under the name of its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(dead_code, reason = "some are only weighed, under the number of their list")]
pub(super) enum Cue {
    /// It holds from now on, whatever stands around it.
    Strong,
    /// Orders and conventions that hold from now on.
    Rule,
    /// Times and manners that make a rule of an order, and only of an order.
    Standing,
    /// What is generally so: a rule where it is about the work.
    Norm,
    /// Reports and what is only now so: no norm.
    NotNorm,
    /// What holds only now.
    Moment,
    /// Sentences that sound like rules and are not: comfort, thinking aloud.
    NotRule,
    /// Something that may happen again.
    Condition,
    /// Something that happens once.
    MomentCondition,
    /// Something is ordered.
    Order,
    /// It is said to whoever does the work.
    Agent,
    /// Without exception.
    Universal,
    /// An instruction ends.
    Lift,
    /// Something need not be done any more.
    Relief,
    /// Something changes.
    Change,
    /// Something is so now; it changes what a rule says, and only that.
    ChangeNow,
    /// A rule is said again, or its breach deplored.
    Restated,
    /// The list below has rules.
    RuleLead,
    /// The list below has tasks.
    TaskLead,
    /// The heading of cautions: "Important", "Notes", "Boundaries".
    CautionHeading,
    /// The heading of what is to be built: "Requirements", "Output", "Acceptance criteria".
    DemandHeading,
    /// It is about the work: code, tests, commits.
    WorkNoun,
    /// It says how strictly: "must", "stays".
    Obligation,
    /// It denies or forbids: "not", "without".
    Negation,
    /// It sets a limit: "only", "at most".
    Limit,
    /// It is about the way of working: commits, reviews, replies, dependencies.
    Process,
    /// It is about what the program does: users, pages, orders.
    Product,
    /// It names the one who writes.
    Me,
    /// It speaks to the reader.
    You,
    /// The one who writes says something of themselves.
    Myself,
    /// It is about those who work together.
    We,
    /// It tells what was.
    Past,
    /// It holds for more than one thing: "everywhere", "whatever".
    General,
    /// It points at something at hand: "this", "it".
    Pointing,
    /// It is about when something is done: "next", "today".
    Now,
    /// It says in which case: "if", "before".
    When,
    /// It speaks of any or none: "every", "a", "nothing".
    Any,
    /// It has a verb of single tasks: "fix", "rename".
    Task,
    /// It has a verb of habits: "use", "keep".
    Habit,
    /// It is about one thing that is known: "the".
    Definite,
}

/// The list of each [`Cue`], in its order.
pub(super) const LISTS: &[&str] = &[
    "strong",
    "rules",
    "standing",
    "norms",
    "not-norms",
    "moments",
    "not-rules",
    "conditions",
    "moment-conditions",
    "orders",
    "agents",
    "universals",
    "lifts",
    "reliefs",
    "changes",
    "changes-now",
    "restated",
    "rule-leads",
    "task-leads",
    "caution-headings",
    "demand-headings",
    "work-nouns",
    "obligations",
    "negations",
    "limits",
    "process-words",
    "product-words",
    "me-words",
    "you-words",
    "self-words",
    "we-words",
    "past-words",
    "general-words",
    "pointing-words",
    "now-words",
    "when-words",
    "any-words",
    "task-words",
    "habit-words",
    "definite-words",
];

/// The first list of classes of words; those before it are of phrases.
const FIRST_CLASS: usize = Cue::WorkNoun as usize;

static WORD_TABLE: LazyLock<PhraseTable<'static>> = LazyLock::new(|| pattern_table(&LISTS[..FIRST_CLASS]));

static CLASSES: LazyLock<WordClasses> =
    LazyLock::new(|| WordClasses::new(&LISTS[FIRST_CLASS..], FIRST_CLASS as u32));

static SUBSTRING_TABLE: LazyLock<SubstringTable> =
    LazyLock::new(|| SubstringTable::new(&LISTS.iter().map(|list| substrings(list)).collect::<Vec<_>>()));

/// The kinds of phrases that a sentence has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cues(u64);

impl Cues {
    /// Looks for all of them; `words` are those of `text`.
    pub(super) fn of(text: &str, words: &Words) -> Self {
        let in_words = WORD_TABLE.lists_in(words);
        let in_pieces = match has_pieces(text, words) {
            // The cues in a quotation are somebody else's.
            true => SUBSTRING_TABLE.lists_in(&without_quotations(text)),
            false => 0,
        };
        Self(in_words | in_pieces | CLASSES.of(words))
    }

    pub(super) fn has(self, cue: Cue) -> bool {
        self.0 & (1 << cue as u32) != 0
    }

    /// One bit for each kind, in the order of [`LISTS`].
    pub(super) fn bits(self) -> u64 {
        self.0
    }
}

/// Returns true if a text is in a language whose phrases are pieces of text: Chinese, Japanese, Korean.
pub(super) fn has_pieces(text: &str, words: &Words) -> bool {
    words.has_wide() || !text.is_ascii() && text.contains(is_hangul)
}

pub(super) fn is_hangul(c: char) -> bool {
    ('\u{ac00}'..='\u{d7a3}').contains(&c)
}

/// The classes of a word in lower case, one bit each.
pub(super) fn classes_of(word: &str) -> Cues {
    Cues(CLASSES.of_word(word))
}

/// First words of questions.
pub(super) static QUESTIONS: WordSet = WordSet::new(|| words("question-words").collect());
/// Openings of questions of more than one word.
pub(super) static ASKING: LazyPhrases = LazyLock::new(|| patterns("question-openings"));
/// Short questions behind an order that are none: "…, ok?".
pub(super) static QUESTION_TAGS: WordSet = WordSet::new(|| words("question-tags").collect());
/// Nouns that name rules; a line of them with a colon, or a heading, makes the list below it rules.
pub(super) static RULE_NOUNS: WordSet = WordSet::new(|| words("rule-nouns").collect());
/// Nouns that name tasks, in the same place.
pub(super) static TASK_NOUNS: WordSet = WordSet::new(|| words("task-nouns").collect());
/// Words that point at something of the moment, where they begin a sentence.
pub(super) static MOMENT_SUBJECTS: WordSet = WordSet::new(|| words("moment-subjects").collect());

/// Words for all or none, where they begin a sentence.
pub(super) static UNIVERSAL_SUBJECTS: WordSet = WordSet::new(|| words("universal-subjects").collect());

pub(super) static WIDE_QUESTION_ENDS: Substrings = LazyLock::new(|| substrings("question-ends"));
pub(super) static WIDE_RULE_NOUNS: Substrings = LazyLock::new(|| substrings("rule-nouns"));
pub(super) static WIDE_TASK_NOUNS: Substrings = LazyLock::new(|| substrings("task-nouns"));
/// Something need not be done any more.
pub(crate) static WIDE_RELIEFS: Substrings = LazyLock::new(|| substrings("reliefs"));

/// Returns true if a text has code, a path or a name in code.
pub(super) fn names_code(text: &str) -> bool {
    text.split_ascii_whitespace().any(is_identifier)
}

/// Returns true if a piece of text without spaces is code, a path or a name in code.
fn is_identifier(piece: &str) -> bool {
    let piece = piece.trim_matches(|c: char| matches!(c, ',' | '.' | ';' | ':' | '!' | '?' | '"' | '\''));
    let bytes = piece.as_bytes();
    let is_between = |place: usize| {
        let is_letter = |place: usize| bytes.get(place).is_some_and(u8::is_ascii_alphanumeric);
        place > 0 && is_letter(place - 1) && is_letter(place + 1)
    };
    piece.contains('`')
        || piece.contains("()")
        || piece.contains("::")
        || piece.len() > 2 && piece.ends_with('/') && piece.is_ascii()
        || bytes.iter().enumerate().any(|(place, byte)| match byte {
            b'_' => is_between(place),
            b'.' => {
                is_between(place)
                    && bytes[..place].iter().any(u8::is_ascii_alphabetic)
                    && bytes.len() - place <= 6
            }
            _ => false,
        })
        || piece.is_ascii() && piece.bytes().filter(|byte| *byte == b'/').count() > 1
        || bytes.array_windows().any(|[one, other]| one.is_ascii_lowercase() && other.is_ascii_uppercase())
}

/// Openings of questions that ask somebody to do something.
pub(super) static ASKS_FOR: LazyPhrases = phrases!["^can|could|would|will you"];

/// Words by which somebody is told to do something.
pub(super) static OBLIGES: LazyPhrases = phrases!["must|should|shall"];

/// Last words of a label before a rule, as in "Rule: …".
pub(super) static RULE_LABELS: WordSet = word_set!["rule", "rules", "convention", "constraint"];

/// Words that show that a sentence with "no" is not English.
#[rustfmt::skip]
pub(super) static NOT_ENGLISH: WordSet = word_set![
    "de", "da", "do", "que", "con", "sin", "el", "la", "los", "las", "en", "se", "es", "um", "uma", "por", "para", "sem", "nada", "outro",
    "outra", "funciona", "hay", "sé", "un", "una", "mi", "tu", "te", "me", "meu", "lo",
];

/// First words of what is said to whoever does the work, also in a long description.
#[rustfmt::skip]
pub(super) static TELLING: WordSet = word_set![
    "never", "always", "don't", "dont", "do", "avoid", "you", "remember", "make", "ensure", "only", "keep", "ask",
];

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
