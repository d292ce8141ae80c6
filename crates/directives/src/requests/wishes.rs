//! Recognises wishes: sentences that ask for something now, later, or from now on.

use std::sync::LazyLock;

use longhaul_text::{LazyPhrases, UnitKind, WordSet, word_set};

use crate::languages::{patterns, substrings};
use crate::rules::{Substrings, WIDE_RELIEFS, asks_a_question, is_question};
use crate::typed::Said;

/// Returns true if a sentence asks a question or orders something.
pub(super) fn asks_outright(Said { unit, words, .. }: &Said<'_>) -> bool {
    is_question(unit.text, words)
        || words.openers().take(4).any(|place| words.all()[place].is_verb())
        || WISHES.fit(words)
        || !unit.text.is_ascii() && wishes_widely(unit.text)
}

static WISHES: LazyPhrases = LazyLock::new(|| patterns("wishes"));
static WIDE_WISHES: Substrings = LazyLock::new(|| substrings("wishes"));

/// Returns true if a clause says that something need not be done any more.
fn relieves(clause: &str) -> bool {
    WIDE_RELIEFS.iter().any(|relief| clause.contains(relief))
}

/// Returns true if a clause of a Chinese or Japanese sentence wishes for something. A relief is no wish.
fn wishes_widely(text: &str) -> bool {
    let wishes = |clause: &str| WIDE_WISHES.iter().any(|wish| clause.contains(wish));
    text.split(['，', ',', '；', '。']).any(|clause| wishes(clause) && !relieves(clause))
}

/// Returns true if a sentence only keeps or lifts a rule and orders nothing besides: rules are kept, not done. `tells_rule` if it is one.
pub(super) fn is_only_a_rule(Said { unit, words, .. }: &Said<'_>, tells_rule: bool) -> bool {
    if !unit.text.is_ascii() && relieves(unit.text) && !wishes_widely(unit.text) {
        return true;
    }
    static RULE_VERBS: WordSet =
        word_set!["use", "keep", "do", "leave", "limit", "stop", "ask", "answer", "respond", "reply"];
    let orders_more =
        || words.orders().any(|place| !words.get(place).is_some_and(|word| RULE_VERBS.has(word)));
    // An item of a list has one thing to say.
    tells_rule
        && (matches!(unit.kind, UnitKind::Item { .. } | UnitKind::Heading)
            || unit.text.ends_with(':')
            || !orders_more())
}

static WIDE_QUESTION_ENDS: Substrings = LazyLock::new(|| substrings("question-ends"));

/// Returns true if a text asks a question, with or without its sign, in any language.
pub(super) fn asks_question(text: &str) -> bool {
    let end = text.trim_end_matches(|c: char| !c.is_alphanumeric());
    asks_a_question(text) || !text.is_ascii() && WIDE_QUESTION_ENDS.iter().any(|ending| end.ends_with(ending))
}

/// Words by which something is put off.
static DEFERRALS: LazyPhrases = LazyLock::new(|| patterns("deferrals"));
static WIDE_DEFERRALS: Substrings = LazyLock::new(|| substrings("deferrals"));

pub(super) fn defers(Said { unit, words, .. }: &Said<'_>) -> bool {
    (DEFERRALS.fit(words)
        || !unit.text.is_ascii() && WIDE_DEFERRALS.iter().any(|cue| unit.text.contains(cue)))
        && !is_question(unit.text, words)
}
