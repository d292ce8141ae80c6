//! The summariser that asks a model.

use std::time::Duration;

use longhaul_compaction::Draft;
use longhaul_conversation::{
    CallLimits, Consumption, Message, MessageId, Model, ModelError, Part, Role, TokenCount,
};
use longhaul_snapshot::Snapshot;
use serde_json::{Map, Value};

use super::answer::read_answer;
use super::calls::{Calls, user};
use super::history::History;
use super::prompts::{self, Purpose};
use super::{BoxFuture, Summariser, SummariserKind, SummaryError, SummaryTask};
use crate::{Event, Prices, Spend};

/// Has a model write the summary.
///
/// The model sees the messages that are to go as they were said, if they fit in its window; else with their long outputs
/// shortened; else in blocks, whose summaries it then puts together. Its answer is prose until it was checked: marks, rules
/// and length are brought in order by [`longhaul_compaction::apply`].
#[derive(Clone)]
pub struct ByModel<'m> {
    /// The model.
    pub model: &'m dyn Model,
    /// The name to ask for.
    pub name: String,
    /// The model's window.
    pub window: TokenCount,
    /// Its prices, where known.
    pub prices: Option<Prices>,
    /// Number of times that an answer that was cut off or broke off is asked for again; one that says nothing is asked for
    /// once more in the whole summary.
    pub retries: u32,
    /// The most requests for one summary, blocks and retries included.
    pub most_calls: u32,
    /// Time limits of each call. A model that hangs is not waited for as long as in a conversation: without it there
    /// is a snapshot, too.
    pub limits: CallLimits,
    /// Time limit of the whole summary, blocks and retries included.
    pub wait: Duration,
    /// Further settings for the provider.
    pub extra: Map<String, Value>,
}

impl<'m> ByModel<'m> {
    /// The usual way to ask a model with this window.
    pub fn new(model: &'m dyn Model, name: impl Into<String>, window: TokenCount) -> Self {
        let name = name.into();
        let limits = CallLimits { idle: Some(Duration::from_secs(60)), time: Some(Duration::from_secs(300)) };
        Self {
            model,
            name,
            window,
            prices: None,
            retries: 1,
            most_calls: 24,
            limits,
            wait: Duration::from_secs(600),
            extra: Map::new(),
        }
    }

    async fn write(&self, task: &SummaryTask<'_>, calls: &mut Calls<'_>) -> Result<Draft, SummaryError> {
        let compaction = task.plan.compaction().ok_or(SummaryError::Empty)?;
        let tokens = compaction.asked_of_model();
        let (record, first) = self.summarise_record(task, calls, compaction.tail_from, tokens).await?;
        // An answer without a snapshot is refused when it is applied.
        let mut summary = read_answer(&first)?.unwrap_or_default();
        if task.verify.asks_model() && !summary.is_empty() {
            let reviewed = review(calls, record, &summary, tokens).await;
            let is_improved = reviewed.is_some();
            summary = reviewed.unwrap_or(summary);
            (task.events)(Event::Reviewed { is_improved });
        }
        Ok(Draft::FromModel { summary, repairing: task.verify.repairing() })
    }

    /// The record that the model saw last, and what it answered.
    async fn summarise_record(
        &self,
        task: &SummaryTask<'_>,
        calls: &mut Calls<'_>,
        tail_from: usize,
        tokens: TokenCount,
    ) -> Result<(String, String), SummaryError> {
        let focus = task.input.options.focus.as_deref();
        let room = self.room(calls, tokens);
        let mut history = History::original(task.input, tail_from);
        if history.size(&calls.estimator) > room {
            history = History::truncated(task.input, tail_from);
        }
        if history.size(&calls.estimator) > room {
            return self.summarise_blocks(task, calls, &history, room, tokens).await;
        }
        let record = history.whole();
        let purpose = Purpose::Whole { has_snapshot: history.has_snapshot };
        let instruction = prompts::instruction(purpose, tokens, focus);
        match calls.ask(&[user(record.clone())], &instruction, tokens).await {
            // The model counts more than we do: half of it at a time will fit.
            Err(SummaryError::Model(ModelError::TooLong)) => {
                let history = History::truncated(task.input, tail_from);
                let room = TokenCount(history.size(&calls.estimator).0 / 2 + 1);
                self.summarise_blocks(task, calls, &history, room, tokens).await
            }
            answer => Ok((record, answer?)),
        }
    }

    /// Summarises each block by itself, then the summaries until one is left.
    async fn summarise_blocks(
        &self,
        task: &SummaryTask<'_>,
        calls: &mut Calls<'_>,
        history: &History,
        room: TokenCount,
        tokens: TokenCount,
    ) -> Result<(String, String), SummaryError> {
        let focus = task.input.options.focus.as_deref();
        let blocks = history.blocks(room, &calls.estimator);
        // What is certain to take more calls than are allowed is not begun.
        if blocks.len() + 1 > self.most_calls as usize {
            return Err(SummaryError::TooLong);
        }
        let mut summaries = Vec::with_capacity(blocks.len());
        for (place, block) in blocks.iter().enumerate() {
            let purpose = Purpose::Block { nth: place + 1, of: blocks.len() };
            let instruction = prompts::instruction(purpose, tokens, focus);
            let answer = calls.ask(&[user(block.clone())], &instruction, tokens).await?;
            summaries.extend(read_answer(&answer)?.map(|snapshot| snapshot.render()));
        }
        loop {
            let merged = History::of_snapshots(&summaries);
            let groups = merged.blocks(room, &calls.estimator);
            if groups.is_empty() {
                return Err(SummaryError::Empty);
            }
            if groups.len() >= summaries.len() && groups.len() > 1 {
                return Err(SummaryError::TooLong);
            }
            summaries.clear();
            let is_last = groups.len() == 1;
            for record in groups {
                let instruction = prompts::instruction(Purpose::Merge, tokens, focus);
                let answer = calls.ask(&[user(record.clone())], &instruction, tokens).await?;
                if is_last {
                    return Ok((record, answer));
                }
                summaries.extend(read_answer(&answer)?.map(|snapshot| snapshot.render()));
            }
        }
    }

    /// Room for a record beside instructions, the answer, and the answer once more for its review.
    fn room(&self, calls: &Calls<'_>, tokens: TokenCount) -> TokenCount {
        const INSTRUCTION: u64 = 300;
        let thinking = (self.window.0 / 8).min(4_000);
        let beside =
            calls.estimator.text(&calls.system).tokens() + TokenCount(INSTRUCTION + thinking + 2 * tokens.0);
        self.window - beside
    }
}

/// The snapshot after the model looked at it again; `None` where that brought nothing better.
async fn review(
    calls: &mut Calls<'_>,
    record: String,
    snapshot: &Snapshot,
    tokens: TokenCount,
) -> Option<Snapshot> {
    let answer = Part::model_text(snapshot.render());
    let answer = Message::new(MessageId::made_up("answer"), Role::Model, vec![answer]);
    let instruction = prompts::instruction(Purpose::Review, tokens, None);
    let reviewed = calls.ask(&[user(record), answer], &instruction, tokens).await.ok()?;
    read_answer(&reviewed).ok()?
}

impl Summariser for ByModel<'_> {
    fn kind(&self) -> SummariserKind {
        SummariserKind::Model
    }

    fn model(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn summarise<'a>(&'a self, task: &'a SummaryTask<'a>) -> BoxFuture<'a, Result<Draft, SummaryError>> {
        Box::pin(async move {
            let mut calls = Calls {
                by: self,
                estimator: task.input.options.estimator,
                system: prompts::system(task.input.host.plan.as_deref()),
                task,
                started: (task.clock)(),
                has_retried_empty: false,
            };
            self.write(task, &mut calls).await
        })
    }

    fn spend(&self, consumed: &Consumption) -> Spend {
        Spend::of(consumed, self.prices.as_ref())
    }
}
