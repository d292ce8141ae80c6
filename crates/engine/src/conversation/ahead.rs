//! Summaries that are written ahead of the compaction: when one is ordered, and whether it still counts.

use longhaul_compaction::{
    Feedback, Input, PlanOptions, PreparedMessages, Rung, Threshold, Trigger, apply, plan, prepare, summarise,
};
use longhaul_conversation::{Message, TokenCount};

use super::Conversation;
use crate::breaker::{Writer, choose_writer};
use crate::preparation::{Basis, DraftOrder, PreparedDraft, Present};
use crate::{Settings, Summariser, SummariserKind};

/// The share of the threshold by which the last step before a compaction may pass it.
const OVERSHOOT: f64 = 0.05;

/// The least share of the messages that a draft leaves out.
const LEAST_KEPT: f64 = 0.02;

impl Conversation {
    /// The order for a draft of the next compaction, once the request has grown to the share of the threshold that settings name.
    /// None where no model would be asked then, or where masks would do.
    ///
    /// It covers what that compaction will cut off: what is said until then counts to the tail.
    pub fn draft_order(
        &self,
        options: &PlanOptions,
        settings: &Settings,
        summariser: &dyn Summariser,
    ) -> Option<DraftOrder> {
        let share = settings.prepare_at?;
        if summariser.kind() != SummariserKind::Model || self.prepared.is_some() || options.focus.is_some() {
            return None;
        }
        let window = options.budget.window;
        let due = options.budget.threshold.tokens(window)?.min(window);
        let early = TokenCount((due.0 as f64 * share) as u64);
        let size = self.size();
        let before = size + options.fixed.total();
        if before < early || before >= due {
            return None;
        }
        let growth = due - before + TokenCount((due.0 as f64 * OVERSHOOT) as u64);
        let mut options =
            PlanOptions { trigger: Trigger::Automatic, estimator: self.estimator, ..options.clone() };
        options.keep = kept_now(options.keep, size, growth);
        options.budget.threshold = Threshold::Tokens(early);
        options.budget.target = options.budget.target - growth;
        let messages = prepare(self.transcript.messages(), options.empty).messages.into_owned();
        let prepared = PreparedMessages::as_given(&messages);
        let input = Input { host: &self.host, ..Input::new(&self.tracker, &prepared, &options) };
        let plan = plan(&input);
        let Rung::Compact(compaction) = &plan.rung else { return None };
        let waits = self.state.why_wait(&plan.rung, due, window, settings.growth).is_some();
        let writer =
            choose_writer(SummariserKind::Model, &plan.rung, Trigger::Automatic, &self.state, settings);
        if waits || writer != Writer::Given {
            return None;
        }
        if !apply(&input, &plan, &summarise(&input, &plan), &Feedback::default()).status.is_change() {
            return None;
        }
        let basis = Basis::of(&self.present(&messages, &options, settings, summariser), compaction.tail_from);
        Some(DraftOrder {
            basis,
            tracker: self.tracker.clone(),
            host: self.host.clone(),
            left: settings.caps.less(self.state.spend),
            plan,
            options,
            messages,
        })
    }

    /// Keeps a draft for the next compaction; false if the conversation has changed since it was ordered.
    pub fn keep_draft(&mut self, draft: PreparedDraft) -> bool {
        let is_current = draft.basis().generation == self.generation;
        if is_current {
            self.prepared = Some(Box::new(draft));
        }
        is_current
    }

    /// The number of changes so far to what was said before: a draft that was ordered under another one is of no use.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// True if a draft waits for the next compaction.
    pub fn is_prepared(&self) -> bool {
        self.prepared.is_some()
    }

    /// The conversation as a draft must fit it.
    pub(super) fn present<'a>(
        &'a self,
        messages: &'a [Message],
        options: &'a PlanOptions,
        settings: &'a Settings,
        summariser: &'a dyn Summariser,
    ) -> Present<'a> {
        let generation = self.generation;
        Present {
            generation,
            messages,
            tracker: &self.tracker,
            host: &self.host,
            options,
            settings,
            summariser,
        }
    }
}

/// The share of the messages that stays of those there are, so that with those to come it is the share that is wanted.
fn kept_now(keep: f64, size: TokenCount, growth: TokenCount) -> f64 {
    let (size, growth) = (size.0 as f64, growth.0 as f64);
    ((keep * (size + growth) - growth) / size.max(1.0)).max(LEAST_KEPT)
}
