//! Tells after every message whether anything is due, at the cost of that message.

use longhaul_conversation::{Message, TokenCount};

use crate::mask::{is_masked, pays};
use crate::plan::{Plan, PlanOptions, Rung, Trigger, below};
use crate::{Estimate, Estimator, MaskWhen};

/// The sizes of a conversation that grows, so that most turns need no look at its text.
#[derive(Clone, Debug, Default)]
pub struct Gauge {
    estimator: Estimator,
    /// What the messages take before each message, and all of them at the end.
    sums: Vec<Estimate>,
    /// The outputs that could be masked: in which message, and how large.
    outputs: Vec<(usize, TokenCount)>,
}

impl Gauge {
    /// A gauge for an empty conversation.
    pub fn new(estimator: Estimator) -> Self {
        Self { estimator, ..Self::default() }
    }

    /// Takes in the next message. After a compaction, start with a new gauge.
    pub fn observe(&mut self, message: &Message) {
        let place = self.sums.len();
        self.sums.push(self.total() + self.estimator.message(message));
        let results = message.parts.iter().filter(|part| part.as_result().is_some_and(|r| !is_masked(r)));
        self.outputs.extend(results.map(|part| (place, self.estimator.part(part).tokens())));
    }

    /// What the messages take.
    pub fn tokens(&self) -> TokenCount {
        self.total().tokens()
    }

    /// The plan to wait, if it is certain that nothing is due; otherwise [`crate::plan`] decides.
    ///
    /// Masks are weighed by the sizes of outputs alone: one that hardly pays may have to wait for another turn.
    pub fn plan_to_wait(&self, options: &PlanOptions) -> Option<Plan> {
        let window = options.budget.window;
        let before = (self.total() + options.fixed.total().into()).tokens();
        let limit = options.budget.threshold.tokens(window);
        let is_due = before > window || limit.is_some_and(|limit| before >= limit);
        if is_due || options.trigger == Trigger::Forced || limit.is_some() && self.may_mask(options) {
            return None;
        }
        Some(Plan { rung: Rung::Wait, reason: below(before, limit), before })
    }

    fn total(&self) -> Estimate {
        self.sums.last().copied().unwrap_or(Estimate::ZERO)
    }

    fn may_mask(&self, options: &PlanOptions) -> bool {
        let limits = options.budget.outputs;
        let newest = self.sums.len().saturating_sub(1);
        let mut newer = TokenCount::ZERO;
        let old = self.outputs.iter().rev().filter(|(place, _)| *place != newest).filter(|(_, size)| {
            newer += *size;
            newer > limits.protected
        });
        let (worth, first) =
            old.fold((TokenCount::ZERO, None), |(worth, _), (place, size)| (worth + *size, Some(*place)));
        let Some(first) = first.filter(|_| worth >= limits.worthwhile) else { return false };
        match options.mask_when {
            MaskWhen::Always => true,
            MaskWhen::ItPays(prices) => {
                let mut rewritten = self.total();
                rewritten -= first.checked_sub(1).map_or(Estimate::ZERO, |before| self.sums[before]);
                pays(worth, rewritten.tokens() - worth, prices)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes::{any_conversation, conversation};
    use crate::{CachePrices, Tracker, plan};
    use proptest::prelude::*;

    fn gauge(messages: &[Message]) -> Gauge {
        let mut gauge = Gauge::default();
        messages.iter().for_each(|message| gauge.observe(message));
        gauge
    }

    #[track_caller]
    fn check(shape: &str, waits: bool) {
        let options = PlanOptions::new(TokenCount(16_000));
        assert_eq!(gauge(&conversation(shape)).plan_to_wait(&options).is_some(), waits, "{shape}");
    }

    #[test]
    fn below_the_threshold_it_waits_unless_masks_pay() {
        check("", true);
        check("user*9000 reply*9000", true);
        check("user*20000 reply*12000", false);
        // Only outputs beyond the newest 4,000 tokens count, and not those of the last message.
        check("user call result*9000 call result*15000", true);
        check("user call result*9000 call result*15000 reply", true);
        check("user call result*9600 call result*16400 reply", false);
    }

    #[test]
    fn masks_that_do_not_pay_are_no_reason_to_look() {
        let shape = "user call result*4800 call result*16400 reply*9000";
        let mask_when = MaskWhen::ItPays(CachePrices { write: 9.0, cached: 0.1 });
        let options = PlanOptions { mask_when, ..PlanOptions::new(TokenCount(16_000)) };
        assert!(gauge(&conversation(shape)).plan_to_wait(&options).is_some());
    }

    proptest! {
        #[test]
        fn what_it_waits_for_is_not_due(messages in any_conversation(), window in 1_000u64..40_000) {
            let options = PlanOptions::new(TokenCount(window));
            if let Some(waiting) = gauge(&messages).plan_to_wait(&options) {
                let mut tracker = Tracker::default();
                messages.iter().for_each(|message| tracker.observe(message));
                let planned = plan(&tracker, &messages, &options);
                prop_assert_eq!(planned.before, waiting.before);
                let is_due = !matches!(planned.rung, Rung::Wait | Rung::Mask(_));
                prop_assert!(!is_due || messages.is_empty(), "{planned}");
            }
        }
    }
}
