//! Reads the last words of a model in a turn: whether they report the work as done, leave it open, or go on.

use std::sync::LazyLock;

use longhaul_conversation::Ordinal;
use longhaul_text::{LazyPhrases, Unit, UnitKind, WordSet, Words, is_wide, starts_with_any};
use serde::{Deserialize, Serialize};

use super::sentences::shorten;
use super::{Evidence, EvidenceKind};
use crate::languages::{patterns, substrings, words};
use crate::rules::Substrings;

/// The model's last words of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Closing {
    /// Its first sentence, which answers a question.
    pub(super) answer: Evidence,
    /// The statement that the work is done.
    pub(super) statement: Option<Evidence>,
    /// The words by which the turn has ended without the work being done.
    pub(super) doubt: Option<Evidence>,
    /// True if they say what the model does next: the turn has not ended, unless the user speaks.
    pub(super) goes_on: bool,
}

/// Evidence is quoted up to this many bytes.
const LONGEST_WORDS: usize = 240;

/// A model says that it is done within so many sentences of the beginning or the end of its text.
const REPORTS: usize = 40;

/// The beginning of a sentence in which it reports that work is done.
const LONGEST_REPORT: usize = 600;

impl Evidence {
    /// Evidence that a message gives in these words.
    pub fn new(message: Ordinal, kind: EvidenceKind, words: &str) -> Self {
        Self { message, kind, words: shorten(words, LONGEST_WORDS).to_string() }
    }
}

/// The last words of a model, when it calls nothing more.
pub(super) struct LastWords {
    /// The first sentence, which answers a question.
    answer: String,
    /// The sentence that says that the work is done.
    statement: Option<String>,
    /// The sentence that leaves it open, and how.
    end: ClosingEnd,
}

/// The way in which the last words of a model end.
enum ClosingEnd {
    /// With an answer.
    Plain,
    /// With what it will do next: the turn goes on.
    GoesOn(String),
    /// With words that leave the work undone.
    Doubt(EvidenceKind, String),
}

/// Words of a sentence that reports finished work.
static COMPLETED: LazyPhrases = LazyLock::new(|| patterns("completed"));

/// Words that take such a report back.
static UNFINISHED: LazyPhrases = LazyLock::new(|| patterns("unfinished"));

/// Words by which a model says that it leaves work undone.
static LEFT_UNDONE: LazyPhrases = LazyLock::new(|| patterns("left-undone"));

/// Words by which a model says what it does next.
static ANNOUNCEMENTS: LazyPhrases = LazyLock::new(|| patterns("announcements"));

/// Words by which a model offers more than was asked for.
static OFFERS: LazyPhrases = LazyLock::new(|| patterns("offers"));

/// Words by which a model asks for what it needs, without a question mark.
static ASKS_FOR_INPUT: LazyPhrases = LazyLock::new(|| patterns("asks-for-input"));

static WIDE_COMPLETED: Substrings = LazyLock::new(|| substrings("completed"));
static WIDE_UNFINISHED: Substrings = LazyLock::new(|| substrings("unfinished"));
static WIDE_LEFT_UNDONE: Substrings = LazyLock::new(|| substrings("left-undone"));
static WIDE_ANNOUNCEMENTS: Substrings = LazyLock::new(|| substrings("announcements"));
static WIDE_OFFERS: Substrings = LazyLock::new(|| substrings("offers"));
static WIDE_ASKS_FOR_INPUT: Substrings = LazyLock::new(|| substrings("asks-for-input"));

/// Returns true if a sentence has one of these phrases, in a language with or without spaces.
fn says(text: &str, words: &Words, phrases: &LazyPhrases, wide: &Substrings) -> bool {
    phrases.fit(words) || !text.is_ascii() && wide.iter().any(|cue| text.contains(cue))
}

/// Beginnings of what programs put in the place of a model's answer when there is none.
const BROKEN: [&str; 5] = [
    "API Error",
    "Prompt is too long",
    "Credit balance is too low",
    "No response requested",
    "Invalid API key",
];

/// A model says within so many sentences of the beginning or the end of its text what it leaves undone.
const ENDS: usize = 3;

impl Closing {
    /// The end of a turn whose work the model handed in with these words.
    pub(super) fn finished(ordinal: Ordinal, words: &str) -> Self {
        Self {
            answer: Evidence::new(ordinal, EvidenceKind::Answer, words),
            statement: Some(Evidence::new(ordinal, EvidenceKind::Statement, words)),
            doubt: None,
            goes_on: false,
        }
    }
}

impl LastWords {
    /// The last words of a text with these units.
    pub(super) fn of(units: &[Unit<'_>]) -> Option<Self> {
        let is_prose =
            |unit: &&Unit<'_>| !matches!(unit.kind, UnitKind::Code | UnitKind::Row | UnitKind::Quote);
        let mut prose = units.iter().filter(is_prose);
        // "Certainly!" answers nothing.
        let is_short =
            |text: &str| text.len() < LONGEST_WORDS && Words::of(text).len() < 4 && !text.contains(is_wide);
        let answer = prose.clone().find(|unit| !is_short(unit.text)).or(prose.clone().next())?;
        let end = end_of(units, prose.clone());
        let quoted = |unit: &Unit<'_>| shorten(unit.text, LONGEST_WORDS).to_string();
        let is_report = |unit: &&Unit<'_>| reports_completion(unit.text);
        let statement = prose
            .by_ref()
            .take(REPORTS)
            .find(is_report)
            .or_else(|| prose.rev().take(REPORTS).find(is_report));
        Some(Self { answer: quoted(answer), statement: statement.map(quoted), end })
    }

    /// The end of the turn that these words are.
    pub(super) fn closing(&self, ordinal: Ordinal) -> Closing {
        let statement = self.statement.as_deref();
        let doubt = match &self.end {
            ClosingEnd::GoesOn(words) => Some(Evidence::new(ordinal, EvidenceKind::Unfinished, words)),
            ClosingEnd::Plain => None,
            // Who reports the work as done and then asks offers more.
            ClosingEnd::Doubt(EvidenceKind::Question, words) if statement.is_some() => {
                Some(Evidence::new(ordinal, EvidenceKind::Offer, words))
            }
            ClosingEnd::Doubt(kind, words) => Some(Evidence::new(ordinal, *kind, words)),
        };
        let goes_on = matches!(self.end, ClosingEnd::GoesOn(_));
        let statement = statement.filter(|_| !goes_on);
        Closing {
            answer: Evidence::new(ordinal, EvidenceKind::Answer, &self.answer),
            statement: statement.map(|words| Evidence::new(ordinal, EvidenceKind::Statement, words)),
            doubt,
            goes_on,
        }
    }
}

/// The end of a text with these units, of which `prose` is prose.
fn end_of<'u, 't: 'u>(
    units: &[Unit<'_>],
    prose: impl DoubleEndedIterator<Item = &'u Unit<'t>> + Clone,
) -> ClosingEnd {
    let is_command =
        |unit: &Unit<'_>| unit.kind == UnitKind::Code && unit.text.contains("mswea_bash_command");
    if let Some(command) = units.last().filter(|unit| is_command(unit)) {
        return ClosingEnd::GoesOn(command.text.to_string());
    }
    let Some(first) = prose.clone().next() else { return ClosingEnd::Plain };
    if starts_with_any(first.text, &BROKEN) {
        return ClosingEnd::Doubt(EvidenceKind::Failure, first.text.to_string());
    }
    let mut last_two = prose.clone().rev().take(2);
    let (Some(last), before) = (last_two.next(), last_two.next()) else { return ClosingEnd::Plain };
    let words_of = |unit: &Unit<'_>| Words::of(shorten(unit.text, LONGEST_REPORT));
    let words = words_of(last);
    let ends_text = units.last().is_some_and(|unit| unit.start == last.start);
    let is_open = ends_text && last.text.ends_with([':', '：']);
    let is_question = |text: &str| text.trim_end_matches(['*', '"', ')', '_']).ends_with(['?', '？']);
    if is_open || !is_question(last.text) && says(last.text, &words, &ANNOUNCEMENTS, &WIDE_ANNOUNCEMENTS) {
        return ClosingEnd::GoesOn(last.text.to_string());
    }
    let left_undone = |unit: &&Unit<'_>| says(unit.text, &words_of(unit), &LEFT_UNDONE, &WIDE_LEFT_UNDONE);
    if let Some(unit) = prose.clone().take(ENDS).chain(prose.rev().take(ENDS)).find(left_undone) {
        return ClosingEnd::Doubt(EvidenceKind::Unfinished, unit.text.to_string());
    }
    // "Shall I go on? I can also wait."
    for unit in [Some(last), before].into_iter().flatten() {
        let words = words_of(unit);
        if is_question(unit.text) {
            let offers = says(unit.text, &words, &OFFERS, &WIDE_OFFERS);
            let kind = if offers { EvidenceKind::Offer } else { EvidenceKind::Question };
            return ClosingEnd::Doubt(kind, unit.text.to_string());
        }
        if says(unit.text, &words, &ASKS_FOR_INPUT, &WIDE_ASKS_FOR_INPUT) {
            return ClosingEnd::Doubt(EvidenceKind::Question, unit.text.to_string());
        }
    }
    ClosingEnd::Plain
}

/// Last words of a short sentence that reports finished work.
static DONE_WORDS: WordSet = WordSet::new(|| words("done-words").collect());

fn reports_completion(text: &str) -> bool {
    !text.ends_with(['?', '？']) && {
        let words = Words::of(shorten(text, LONGEST_REPORT));
        // Wide cues count wherever they stand.
        let has = |cues: &[&str]| !text.is_ascii() && cues.iter().any(|cue| text.contains(cue));
        let ends_done =
            words.len() <= 8 && words.texts().next_back().is_some_and(|word| DONE_WORDS.has(word));
        (ends_done || COMPLETED.fit(&words)) && !UNFINISHED.fit(&words)
            || has(&WIDE_COMPLETED) && !has(&WIDE_UNFINISHED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: bool) {
        assert_eq!(reports_completion(text), expected, "{text}");
    }

    #[test]
    fn reports_of_finished_work() {
        check("Done.", true);
        check("I fixed the parser.", true);
        check("The upload is now faster", true);
        check("ALL TESTS PASS", true);
        check("Everything is merged and pushed", true);
        check("修复了这个问题。", true);
        check("I think so.", false);
        check("Is it done?", false);
        check("I couldn't finish: it is not done.", false);
        check("The parser reads the file.", false);
    }
}
