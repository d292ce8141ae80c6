//! The question before an automatic compaction.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use longhaul_conversation::{ScriptedModel, ScriptedReply};
use longhaul_tools::BoxFuture;

use super::trial::{Trial, settings};
use super::*;
use crate::{Approval, ApprovalRequest, Approver, UserQuestion};

/// Answers questions in order and keeps them.
struct Answers {
    answers: Mutex<VecDeque<&'static str>>,
    asked: Arc<Mutex<Vec<UserQuestion>>>,
}

impl Approver for Answers {
    fn approve<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Approval> {
        Box::pin(async { Approval::Stop })
    }

    fn answer<'a>(&'a self, question: &'a UserQuestion) -> BoxFuture<'a, Option<String>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(question.clone());
        let answer = self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        Box::pin(async move { answer.map(str::to_string) })
    }
}

/// The number of questions and of compactions after long answers in a window of 16,000 tokens.
fn asked_and_compacted(answers: &[&'static str], turns: usize) -> (usize, usize) {
    let mut settings = settings(16_000);
    settings.asks_before_compaction = true;
    settings.permissions.situation.is_interactive = true;
    let mut trial = Trial::with(settings);
    let asked = Arc::<Mutex<Vec<UserQuestion>>>::default();
    let answers = Mutex::new(answers.iter().copied().collect());
    trial.approver = Box::new(Answers { answers, asked: asked.clone() });
    let long = |turn: usize| format!("The parser reads line {turn} of the file. ").repeat(120);
    let model = ScriptedModel::new((0..turns).map(|turn| ScriptedReply::text(long(turn))));
    for turn in 0..turns {
        trial.run(&format!("Explain part {turn} of the parser."), &model);
    }
    trial.check_valid();
    let applied = |event: &&Event| matches!(event, Event::Compaction(longhaul_engine::Event::Applied { .. }));
    let compacted = trial.events().iter().filter(applied).count();
    let questions = asked.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(questions.iter().all(|question| question.text.starts_with("A compaction is due: about ")));
    (questions.len(), compacted)
}

#[test]
fn a_user_who_wants_it_is_asked_before_a_compaction() {
    let (asked, compacted) = asked_and_compacted(&["Compact now"], 8);
    assert_eq!((asked > 0, compacted), (true, 1), "asked {asked} times");
    // Who declines is not asked with every message, and what would not fit is shortened all the same.
    let (asked, compacted) = asked_and_compacted(&["Not now"; 40], 20);
    assert!((1..8).contains(&asked) && compacted >= 1, "asked {asked} times, compacted {compacted} times");
    let (asked, compacted) = asked_and_compacted(&["Always in this session"], 30);
    assert!(asked == 1 && compacted > 1, "asked {asked} times, compacted {compacted} times");
}
