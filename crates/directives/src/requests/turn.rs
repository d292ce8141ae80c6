//! Watches a turn for its end, and for signs that it ended without the work being done.

use longhaul_conversation::{CallId, Message, Ordinal, Origin, Part, Role, ToolCall};
use longhaul_text::Subject;
use serde::{Deserialize, Serialize};

use super::checks::{Answer, RunReport, check_of, finish_of, report_of};
use super::closing::{Closing, LastWords};
use super::sentences::shorten;
use super::{Evidence, EvidenceKind};
use crate::AnnotatedPart;

/// The turn: everything since the user last spoke.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Turn {
    /// Calls that nothing has answered.
    pending: Vec<Pending>,
    /// True if the model has called something.
    has_worked: bool,
    /// The last test, build or commit.
    check: Option<CheckRun>,
    /// The end of the turn, if the model ended it.
    closing: Option<Closing>,
    /// Failure of the program that runs the model's edits and commands, as Aider reports it; the model has not mended it
    /// until a run goes well.
    failure: Option<Evidence>,
    /// The user stopped the model.
    interruption: Option<Evidence>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Pending {
    call: CallId,
    /// The command, if it runs tests, a build or a commit.
    check: Option<String>,
}

/// A test run, a build or a commit, and how it went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CheckRun {
    passed: bool,
    evidence: Evidence,
}

/// What the turn says about the requests it works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The model is still at work.
    InWork,
    /// The turn ended, and this shows that the work is done.
    Done(Evidence),
    /// The turn ended or was stopped, and this shows that the work is not done.
    Unfinished(Evidence),
}

impl Turn {
    /// Takes the news of a message into account.
    pub(super) fn follow(&mut self, news: &mut News, ordinal: Ordinal) {
        for answer in &news.answers {
            self.answered(answer, ordinal);
        }
        match &news.report {
            Some(RunReport::GoesOn) => self.closing = None,
            Some(RunReport::Passed) => self.failure = None,
            Some(RunReport::Failed(words)) => {
                self.closing = None;
                self.failure = Some(Evidence::new(ordinal, EvidenceKind::Failure, words));
            }
            None => {}
        }
        if !news.calls.is_empty() {
            self.closing = None;
            self.interruption = None;
            self.has_worked = true;
            self.pending.append(&mut news.calls);
        }
        if let Some(words) = &news.finish {
            self.failure = None;
            self.closing = Some(Closing::finished(ordinal, words));
        }
        if let Some(words) = &news.last_words {
            self.interruption = None;
            // A model that speaks again has heard of its calls, or never will.
            self.pending.clear();
            self.closing = Some(words.closing(ordinal));
        }
        if let Some(words) = news.interruption {
            self.closing = None;
            self.pending.clear();
            self.interruption = Some(Evidence::new(ordinal, EvidenceKind::Interruption, words));
        }
    }

    fn answered(&mut self, answer: &Answer, ordinal: Ordinal) {
        let Some(place) = self.pending.iter().position(|pending| pending.call == answer.call) else { return };
        if let Some(command) = self.pending.swap_remove(place).check {
            let passed = answer.passed();
            let kind = if passed { EvidenceKind::Check } else { EvidenceKind::Failure };
            self.check = Some(CheckRun { passed, evidence: Evidence::new(ordinal, kind, &command) });
        }
    }

    /// The end of the turn, if it has ended and nothing is still running.
    fn closing(&self) -> Option<&Closing> {
        self.closing.as_ref().filter(|closing| self.pending.is_empty() && !closing.goes_on)
    }

    /// Takes a model that said what it does next, and did nothing, for stopped: the user speaks.
    pub(super) fn settle(&mut self) {
        if let Some(closing) = &mut self.closing {
            closing.goes_on = false;
        }
    }

    /// Returns true if the model has ended the turn.
    pub(super) fn has_ended(&self) -> bool {
        self.closing().is_some()
    }

    /// Returns true if the model has called something, and nothing is still running.
    pub(super) fn has_worked(&self) -> bool {
        self.has_worked && self.pending.is_empty()
    }

    /// The question with which the model ended the turn.
    pub(super) fn question(&self) -> Option<&Evidence> {
        let doubt = self.closing()?.doubt.as_ref()?;
        matches!(doubt.kind, EvidenceKind::Question | EvidenceKind::Offer).then_some(doubt)
    }

    /// The verdict on a request of this turn. The default of a turn that has ended is that the work is done.
    pub(super) fn verdict(&self, request: &str, asked_a_question: impl FnOnce() -> bool) -> Verdict {
        let Some(closing) = self.closing() else {
            return match &self.interruption {
                Some(interruption) => Verdict::Unfinished(interruption.clone()),
                None => Verdict::InWork,
            };
        };
        if let Some(failure) = &self.failure {
            return Verdict::Unfinished(failure.clone());
        }
        let failed_check = self.check.as_ref().filter(|check| !check.passed).map(|check| &check.evidence);
        let passed_check = self.check.as_ref().filter(|check| check.passed).map(|check| &check.evidence);
        let doubt = match &closing.doubt {
            Some(doubt) if doubt.kind == EvidenceKind::Offer => None,
            Some(doubt) if doubt.kind == EvidenceKind::Question && asked_a_question() => None,
            // Who reports the work as done and names what is left undone speaks of that alone.
            Some(doubt) if doubt.kind == EvidenceKind::Unfinished && closing.statement.is_some() => {
                let is_about_it = Subject::of(&doubt.words).shared(&Subject::of(request)) >= 2;
                is_about_it.then_some(doubt)
            }
            Some(doubt) => Some(doubt),
            None if closing.statement.is_none() => failed_check,
            None => None,
        };
        match doubt {
            Some(doubt) => Verdict::Unfinished(doubt.clone()),
            None => {
                Verdict::Done(closing.statement.as_ref().or(passed_check).unwrap_or(&closing.answer).clone())
            }
        }
    }
}

/// The facts of one message that the turn depends on.
pub(super) struct News {
    answers: Vec<Answer>,
    calls: Vec<Pending>,
    last_words: Option<LastWords>,
    report: Option<RunReport>,
    /// The words with which the model hands in its work, as agents do that have a call for it.
    finish: Option<String>,
    /// The notice that the user stopped the model.
    interruption: Option<&'static str>,
    /// Keys of what the model's last words are about.
    pub(super) subject: Vec<u64>,
}

impl News {
    /// The news of a message of these parts.
    pub(super) fn of(message: &Message, parts: &[AnnotatedPart<'_>]) -> Self {
        let called = |call: &ToolCall| Pending { call: call.id.clone(), check: check_of(call) };
        let finish = message.calls().find_map(finish_of);
        let calls: Vec<Pending> =
            message.calls().filter(|call| finish_of(call).is_none()).map(called).collect();
        let ends_turn = message.role == Role::Model && calls.is_empty() && finish.is_none();
        let said = parts.iter().rev().filter(|heard| ends_turn && heard.part.origin == Origin::Model);
        let mut texts = said.filter(|heard| heard.part.as_text().is_some());
        let last = texts.find_map(|heard| Some((heard, LastWords::of(&heard.units)?)));
        let subject = last.as_ref().map(|(heard, _)| subject_of(heard)).unwrap_or_default();
        Self {
            answers: message.results().map(Answer::of).collect(),
            calls,
            last_words: last.map(|(_, words)| words),
            report: if message.role == Role::User { report_of(message) } else { None },
            finish,
            interruption: interruption_of(message),
            subject,
        }
    }
}

/// Keys of what the beginning of a model's last words is about.
fn subject_of(heard: &AnnotatedPart<'_>) -> Vec<u64> {
    let text = heard.part.as_text().unwrap_or_default();
    Subject::of(shorten(text, LONGEST_SUBJECT)).keys().collect()
}

/// The beginning of a model's last words that tells their subject.
const LONGEST_SUBJECT: usize = 2_000;

/// Beginnings of the notices that the user stopped the model.
const INTERRUPTIONS: [&str; 4] =
    ["[Request interrupted by user", "<turn_aborted>", "[Interrupted by user", "<user_interrupted>"];

fn interruption_of(message: &Message) -> Option<&'static str> {
    let hooks = message.parts.iter().filter(|part| part.origin == Origin::Hook);
    let is_notice = |text: &str| INTERRUPTIONS.iter().any(|notice| text.trim_start().starts_with(notice));
    hooks.filter_map(Part::as_text).any(is_notice).then_some("interrupted by the user")
}
