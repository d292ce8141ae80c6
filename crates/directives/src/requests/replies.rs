//! Recognises what a person says about the work before: nods, thanks, complaints, corrections.

use std::sync::LazyLock;

use longhaul_text::{LazyPhrases, WordSet, Words, is_wide};

use crate::languages::{patterns, substrings, words};
use crate::rules::{Substrings, is_rule};
use crate::typed::Said;

/// The judgement of a message on the work before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Reply {
    /// Nothing: the person moves on.
    #[default]
    MovesOn,
    /// No person typed anything.
    Silent,
    /// "yes", "go on": the work continues.
    GoesOn,
    /// "thanks", "perfect": the work is accepted.
    Accepts,
    /// "still broken": the work is not done.
    Complains,
    /// "no, I meant …", "instead": something else is wanted.
    Corrects,
    /// "never mind", "stop": nothing of it is wanted.
    Withdraws,
}

static GREETINGS: WordSet = WordSet::new(|| words("greetings").collect());
static WIDE_GREETINGS: Substrings = LazyLock::new(|| substrings("greetings"));

pub(super) fn is_greeting(Said { unit, words, .. }: &Said<'_>) -> bool {
    all_words(unit.text, words, &GREETINGS)
        || !unit.text.is_ascii() && WIDE_GREETINGS.contains(&bare(unit.text))
}

static ACCEPTS: WordSet = WordSet::new(|| words("accepts").collect());
static WIDE_ACCEPTS: Substrings = LazyLock::new(|| substrings("accepts"));
static GOES_ON: WordSet = WordSet::new(|| words("goes-on").collect());
static WIDE_GOES_ON: Substrings = LazyLock::new(|| substrings("goes-on"));

/// Returns true if a sentence only nods: accepts what was done, or lets it go on.
pub(super) fn nod_of(Said { unit, words, .. }: &Said<'_>) -> Option<Reply> {
    if unit.text.ends_with(['?', '？', ':', '：']) {
        return None;
    }
    let text = bare(unit.text);
    if !text.is_ascii()
        && let Some(nod) = wide_nod_of(text)
    {
        return Some(nod);
    }
    if all_words(text, words, &GOES_ON) {
        Some(Reply::GoesOn)
    } else {
        all_words(text, words, &ACCEPTS).then_some(Reply::Accepts)
    }
}

fn wide_nod_of(text: &str) -> Option<Reply> {
    if WIDE_ACCEPTS.contains(&text) {
        Some(Reply::Accepts)
    } else {
        WIDE_GOES_ON.contains(&text).then_some(Reply::GoesOn)
    }
}

fn bare(text: &str) -> &str {
    text.trim_matches(|c: char| !c.is_alphanumeric())
}

fn all_words(text: &str, words: &Words, known: &WordSet) -> bool {
    (1..=5).contains(&words.len())
        && words.texts().all(|word| known.has(word))
        && !(words.has_wide() && text.contains(is_wide))
}

/// Words of somebody who only scolds.
static SCOLDING: LazyPhrases = LazyLock::new(|| patterns("scolding"));

/// Returns true if a sentence scolds and says nothing else.
pub(super) fn scolds(Said { words, .. }: &Said<'_>) -> bool {
    words.len() <= LONGEST_SCOLDING && SCOLDING.fit(words)
}

/// A longer sentence says why.
const LONGEST_SCOLDING: usize = 6;

static WITHDRAWALS: LazyPhrases = LazyLock::new(|| patterns("withdrawals"));
static WIDE_WITHDRAWALS: Substrings = LazyLock::new(|| substrings("withdrawals"));
static CORRECTIONS: LazyPhrases = LazyLock::new(|| patterns("corrections"));
static WIDE_CORRECTIONS: Substrings = LazyLock::new(|| substrings("corrections"));
static COMPLAINTS: LazyPhrases = LazyLock::new(|| patterns("complaints"));
static WIDE_COMPLAINTS: Substrings = LazyLock::new(|| substrings("complaints"));

/// Returns true if a sentence says that nothing is wanted any more.
pub(super) fn withdraws(Said { unit, words, .. }: &Said<'_>) -> bool {
    WITHDRAWALS.fit(words)
        || words.len() == 1 && bare(unit.text).eq_ignore_ascii_case("stop")
        || !unit.text.is_ascii() && WIDE_WITHDRAWALS.contains(&bare(unit.text))
}

/// The judgement of a sentence on the work before it.
pub(super) fn judge(said: &Said<'_>) -> Reply {
    let Said { unit, words, .. } = said;
    let text = unit.text;
    let starts_with_no = words.begin_with_no()
        && words.len() > 1
        && text[2..].starts_with([',', '.', '!', ' '])
        && !is_rule(text, words);
    let has = |cues: &[&str]| !text.is_ascii() && cues.iter().any(|cue| text.contains(cue));
    if withdraws(said) {
        Reply::Withdraws
    } else if CORRECTIONS.fit(words) || has(&WIDE_CORRECTIONS) {
        Reply::Corrects
    } else if starts_with_no || COMPLAINTS.fit(words) || has(&WIDE_COMPLAINTS) {
        Reply::Complains
    } else {
        Reply::MovesOn
    }
}
