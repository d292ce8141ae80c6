//! Summaries that a model writes beside the turn.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt};
use longhaul_compaction::Draft;
use longhaul_conversation::{
    Consumption, FinishReason, Model, ModelStream, Request, ScriptedModel, ScriptedReply, TokenCount,
};
use longhaul_engine::{
    BoxFuture, ByModel, Event as Compaction, Spend, Summariser, SummariserKind, SummaryError, SummaryTask,
};

use super::trial::{Trial, settings, texts, words};
use super::*;

/// A summariser that can work beside a turn.
#[derive(Clone)]
struct Beside(Arc<ScriptedModel>);

impl Beside {
    fn by_model(&self) -> ByModel<'_> {
        ByModel::new(self.0.as_ref(), "small", TokenCount(100_000))
    }
}

impl Summariser for Beside {
    fn kind(&self) -> SummariserKind {
        SummariserKind::Model
    }

    fn model(&self) -> Option<&str> {
        Some("small")
    }

    fn summarise<'a>(&'a self, task: &'a SummaryTask<'a>) -> BoxFuture<'a, Result<Draft, SummaryError>> {
        Box::pin(async move { self.by_model().summarise(task).await })
    }

    fn detached(&self) -> Option<Arc<dyn Summariser>> {
        Some(Arc::new(self.clone()))
    }

    fn spend(&self, consumed: &Consumption) -> Spend {
        Spend::of(consumed, None)
    }
}

const ANSWER: &str = "<state_snapshot><overall_goal>Recite part 0 of src/bellmouth.rs.</overall_goal><key_knowledge>\n- part 0 \
                      of src/bellmouth.rs is recited, the lighthouse in src/bellmouth.rs comes next, as the user asked for it\n\
                      </key_knowledge></state_snapshot>";

fn trial(answers: usize) -> (Trial, Arc<ScriptedModel>) {
    let mut trial = Trial::new(60_000);
    let small = Arc::new(ScriptedModel::new(vec![ScriptedReply::text(ANSWER); answers]));
    trial.aids.summariser = Some(Box::new(Beside(small.clone())));
    (trial, small)
}

/// The turns of a test: the fifth begins close to the threshold, the sixth behind it.
const TURNS: usize = 7;

/// Says much in each turn, and takes its time.
struct Talker(ScriptedModel);

impl Talker {
    fn new() -> Self {
        Self(ScriptedModel::new(vec![ScriptedReply::text(words(3_000)); TURNS]))
    }
}

impl Model for Talker {
    fn stream(&self, request: Request) -> ModelStream<'_> {
        let answer = self.0.stream(request);
        let later = async move {
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            answer
        };
        Box::pin(stream::once(later).flatten())
    }
}

fn phases(trial: &Trial) -> Vec<&'static str> {
    let phase = |event: &Event| match event {
        Event::Compaction(Compaction::DraftWritten { .. }) => Some("written"),
        Event::Compaction(Compaction::DraftDropped { reason, .. }) => {
            println!("dropped: {reason}");
            Some("dropped")
        }
        Event::Compaction(Compaction::Applied { .. }) => Some("applied"),
        _ => None,
    };
    trial.events().iter().filter_map(phase).collect()
}

fn talk(trial: &mut Trial, model: &Talker) {
    for turn in 0..TURNS {
        let end = trial.run(&format!("Never push to main. Recite part {turn} of src/bellmouth.rs."), model);
        assert_eq!(end, TurnEnd::Finished(FinishReason::Stop), "turn {turn}");
    }
}

#[test]
fn a_summary_is_written_beside_the_turn_and_used_when_it_is_due() {
    let (mut trial, small) = trial(1);
    let model = Talker::new();
    talk(&mut trial, &model);
    assert_eq!(small.requests().len(), 1, "{:?}", phases(&trial));
    assert_eq!(phases(&trial), ["written", "applied"]);
    let last = texts(model.0.requests().last().expect("a request")).join("\n");
    assert!(
        last.contains("the lighthouse in src/bellmouth.rs") && last.contains("Never push to main."),
        "{last}"
    );
    let spend = trial.agent.conversation().state().spend;
    assert_eq!(spend.calls, 1);
    trial.check_valid();
}

#[test]
fn one_that_fails_costs_no_turn_and_is_not_tried_again_at_once() {
    let (mut trial, small) = trial(0);
    let model = Talker::new();
    talk(&mut trial, &model);
    assert!(small.requests().len() <= 4, "{}", small.requests().len());
    let phases = phases(&trial);
    assert_eq!(phases.iter().filter(|phase| **phase == "dropped").count(), 1, "{phases:?}");
    assert!(phases.contains(&"applied"), "{phases:?}");
    trial.check_valid();
}

#[test]
fn where_settings_forbid_it_nothing_is_written_ahead() {
    let (mut trial, small) = trial(1);
    trial.agent.session.settings.compaction.prepare_at = None;
    talk(&mut trial, &Talker::new());
    assert_eq!((phases(&trial), small.requests().len()), (vec!["applied"], 1));
}

#[test]
fn a_session_without_a_summariser_of_its_own_prepares_nothing() {
    let mut trial = Trial::with(settings(60_000));
    talk(&mut trial, &Talker::new());
    assert_eq!(phases(&trial), ["applied"]);
}
