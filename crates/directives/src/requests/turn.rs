//! Watches a turn for signs that its work is done: the model's closing words, and checks that passed.

use std::sync::LazyLock;

use longhaul_conversation::{CallId, Message, Ordinal, Origin, Role, ToolCall, ToolResult, ToolStatus};
use longhaul_text::{AnyOf, LazyPhrases, Unit, UnitKind, WordSet, Words, is_wide, phrases};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::recognise::shorten;
use super::{Evidence, EvidenceKind};
use crate::AnnotatedPart;
use crate::languages::{patterns, substrings, words};
use crate::rules::Substrings;

/// The turn: everything since the user last spoke.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Turn {
    /// Calls that nothing has answered.
    pending: Vec<Pending>,
    /// The last test, build or commit that went well.
    check: Option<Evidence>,
    /// The end of the turn, if the model ended it.
    closing: Option<Closing>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Pending {
    call: CallId,
    /// The command, if it runs tests, a build or a commit.
    check: Option<String>,
}

/// The model's last words of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Closing {
    /// Its first sentence, which answers a question.
    pub(super) answer: Evidence,
    /// The statement that the work is done.
    pub(super) statement: Option<Evidence>,
}

/// Evidence is quoted up to this many bytes.
const LONGEST_WORDS: usize = 240;

/// A model says that it is done within so many sentences of the beginning or the end of its text.
const REPORTS: usize = 40;

/// The beginning of a sentence in which it reports that work is done.
const LONGEST_REPORT: usize = 600;

/// The beginning of a command that tells what it does.
const LONGEST_COMMAND: usize = 1_000;

/// The end of a check's output that tells how it went.
const VERDICT: usize = 2_000;

impl Turn {
    /// Takes the news of a message into account.
    pub(super) fn follow(&mut self, news: &mut News, ordinal: Ordinal) {
        for answer in &news.answers {
            self.answered(answer, ordinal);
        }
        if !news.calls.is_empty() {
            self.closing = None;
            self.pending.append(&mut news.calls);
        }
        if let Some(LastWords { answer, statement }) = &news.last_words {
            let statement = statement.as_deref();
            self.closing = Some(Closing {
                answer: Evidence::new(ordinal, EvidenceKind::Answer, answer),
                statement: statement.map(|words| Evidence::new(ordinal, EvidenceKind::Statement, words)),
            });
        }
    }

    fn answered(&mut self, answer: &Answer, ordinal: Ordinal) {
        let Some(place) = self.pending.iter().position(|pending| pending.call == answer.call) else { return };
        if let Some(command) = self.pending.swap_remove(place).check {
            self.check = answer.passed().then(|| Evidence::new(ordinal, EvidenceKind::Check, &command));
        }
    }

    /// The end of the turn, if it has ended and nothing is still running.
    pub(super) fn closing(&self) -> Option<&Closing> {
        self.closing.as_ref().filter(|_| self.pending.is_empty())
    }

    /// The evidence that the work of a turn that has ended is done.
    pub(super) fn evidence(&self, asked_a_question: impl FnOnce() -> bool) -> Option<Evidence> {
        let closing = self.closing()?;
        let answer = || asked_a_question().then(|| closing.answer.clone());
        closing.statement.clone().or_else(|| self.check.clone()).or_else(answer)
    }
}

/// The facts of one message that the turn depends on.
pub(super) struct News {
    answers: Vec<Answer>,
    calls: Vec<Pending>,
    last_words: Option<LastWords>,
}

/// The last words of a model, when it calls nothing more.
struct LastWords {
    /// The first sentence, which answers a question.
    answer: String,
    /// The sentence that says that the work is done.
    statement: Option<String>,
}

/// A result, as far as it may tell how a check went.
struct Answer {
    call: CallId,
    status: ToolStatus,
    /// The lines at the end of its output that may tell of a failure; mostly there are none.
    complaints: String,
}

impl News {
    /// The news of a message of these parts.
    pub(super) fn of(message: &Message, parts: &[AnnotatedPart<'_>]) -> Self {
        let called = |call: &ToolCall| Pending { call: call.id.clone(), check: check_of(call) };
        let calls: Vec<Pending> = message.calls().map(called).collect();
        let ends_turn = message.role == Role::Model && calls.is_empty();
        let said = parts.iter().rev().filter(|heard| ends_turn && heard.part.origin == Origin::Model);
        let mut texts = said.filter(|heard| heard.part.as_text().is_some());
        Self {
            answers: message.results().map(Answer::of).collect(),
            calls,
            last_words: texts.find_map(|heard| LastWords::of(&heard.units)),
        }
    }
}

impl Evidence {
    /// Evidence that a message gives in these words.
    pub fn new(message: Ordinal, kind: EvidenceKind, words: &str) -> Self {
        Self { message, kind, words: shorten(words, LONGEST_WORDS).to_string() }
    }
}

/// Words of a sentence that reports finished work.
static COMPLETED: LazyPhrases = LazyLock::new(|| patterns("completed"));

/// Words that take such a report back.
static UNFINISHED: LazyPhrases = LazyLock::new(|| patterns("unfinished"));

static WIDE_COMPLETED: Substrings = LazyLock::new(|| substrings("completed"));
static WIDE_UNFINISHED: Substrings = LazyLock::new(|| substrings("unfinished"));

impl LastWords {
    /// The last words of a text with these units.
    fn of(units: &[Unit<'_>]) -> Option<Self> {
        let is_prose =
            |unit: &&Unit<'_>| !matches!(unit.kind, UnitKind::Code | UnitKind::Row | UnitKind::Quote);
        let mut prose = units.iter().filter(is_prose);
        // "Certainly!" answers nothing.
        let is_short =
            |text: &str| text.len() < LONGEST_WORDS && Words::of(text).len() < 4 && !text.contains(is_wide);
        let answer = prose.clone().find(|unit| !is_short(unit.text)).or(prose.clone().next())?;
        let quoted = |unit: &Unit<'_>| shorten(unit.text, LONGEST_WORDS).to_string();
        let is_report = |unit: &&Unit<'_>| reports_completion(unit.text);
        let statement = prose
            .by_ref()
            .take(REPORTS)
            .find(is_report)
            .or_else(|| prose.rev().take(REPORTS).find(is_report));
        Some(Self { answer: quoted(answer), statement: statement.map(quoted) })
    }
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

/// Commands that check or record work.
static CHECKS: LazyPhrases = phrases![
    "git commit|push|merge",
    "test|tests|pytest|jest|vitest|tsc|clippy|tox|rspec|phpunit",
    "run check|build|lint|typecheck",
    "cargo build|check",
    "go vet|build",
];

/// The command of a call that runs tests, a build or a commit.
fn check_of(call: &ToolCall) -> Option<String> {
    let Value::Object(args) = &call.args else { return None };
    let commands = ["command", "cmd", "script", "input", "code"].iter().filter_map(|key| args.get(*key));
    let mut texts = commands.map(|command| match command {
        Value::String(text) => shorten(text.trim(), LONGEST_COMMAND).to_string(),
        Value::Array(items) => {
            let words: Vec<_> = items.iter().filter_map(Value::as_str).collect();
            shorten(&words.join(" "), LONGEST_COMMAND).to_string()
        }
        _ => String::new(),
    });
    texts.find(|text| CHECKS.fit(&Words::of(text)))
}

/// Words of a check that went well, whatever else it says.
static CLEAN: LazyPhrases = phrases!["0 failed|failures|errors|error", "no errors"];

/// Words of a check that did not.
static FAILED: LazyPhrases =
    phrases!["failed|failure|failures|error|errors|fatal|traceback", "exit code 1|2|101|127"];

/// Looks for what stands in every output that [`FAILED`] fits.
static FAILURE_SIGNS: LazyLock<AnyOf> = LazyLock::new(|| {
    AnyOf::new(&["fail", "Fail", "FAIL", "rror", "RROR", "atal", "ATAL", "raceback", "RACEBACK", " code "])
});

impl Answer {
    fn of(result: &ToolResult) -> Self {
        let output = result.returned();
        let end = &output[output.ceil_char_boundary(output.len().saturating_sub(VERDICT))..];
        let mut complaints = String::new();
        for line in FAILURE_SIGNS.lines_in(end) {
            complaints.push_str(line);
            complaints.push('\n');
        }
        Self { call: result.call.clone(), status: result.status, complaints }
    }

    /// Returns true if a check went well, by its status and the end of its output.
    fn passed(&self) -> bool {
        if matches!(self.status, ToolStatus::Failed | ToolStatus::Cancelled) {
            return false;
        }
        if self.complaints.is_empty() {
            return true;
        }
        let words = Words::of(&self.complaints);
        CLEAN.fit(&words) || !FAILED.fit(&words)
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
