//! Tells after every message whether anything is due, at the cost of that message.

use std::collections::HashSet;

use longhaul_conversation::{CallId, Estimate, Estimator, Message, TokenCount, ToolResult, Trigger};

use crate::MaskWhen;
use crate::mask::{EXEMPT, is_masked, pays};
use crate::options::PlanOptions;
use crate::plan::{Plan, Rung, describe_below};

/// The sizes of a conversation that grows, so that most turns need no look at its text.
#[derive(Clone, Debug, Default)]
pub struct Gauge {
    estimator: Estimator,
    /// Size of all messages up to each one.
    sums: Vec<Estimate>,
    /// The outputs that could be masked: in which message, and how large.
    outputs: Vec<(usize, TokenCount)>,
    /// Calls whose outputs are never masked.
    exempt: HashSet<CallId>,
}

/// The measure that a conversation calls for, as far as sizes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Due {
    /// Nothing yet.
    Nothing,
    /// Masks for old tool outputs, if their previews are as short as usual.
    Masks,
    /// A compaction.
    Compaction,
}

impl Gauge {
    /// A gauge for an empty conversation.
    pub fn new(estimator: Estimator) -> Self {
        Self { estimator, ..Self::default() }
    }

    /// Takes in the next message. After a compaction, start with a new gauge.
    pub fn observe(&mut self, message: &Message) {
        let index = self.sums.len();
        self.sums.push(self.total() + self.estimator.message(message));
        let exempt = message.calls().filter(|call| EXEMPT.contains(&call.name.as_str()));
        self.exempt.extend(exempt.map(|call| call.id.clone()));
        for part in &message.parts {
            if part.as_result().is_some_and(|result| self.can_mask(result)) {
                self.outputs.push((index, self.estimator.part(part).tokens()));
            }
        }
    }

    fn can_mask(&self, result: &ToolResult) -> bool {
        let is_exempt = match result.name.as_deref().filter(|name| !name.is_empty()) {
            Some(name) => EXEMPT.contains(&name),
            None => self.exempt.contains(&result.call),
        };
        !is_exempt && !is_masked(result)
    }

    /// Size of the messages.
    pub fn tokens(&self) -> TokenCount {
        self.total().tokens()
    }

    /// The measure that is due, by the sizes alone and without a look at any text.
    pub fn due(&self, options: &PlanOptions) -> Due {
        let window = options.budget.window;
        let before = self.before(options);
        let limit = options.budget.threshold.tokens(window);
        let is_reached = before > window || limit.is_some_and(|limit| before >= limit);
        let (worth, first) = self.old_outputs(options);
        if options.trigger == Trigger::Forced {
            return Due::Compaction;
        }
        if is_reached {
            let below = limit.map_or(window, |limit| window.min(limit - TokenCount(1)));
            let is_enough = first.is_some() && before - worth <= below;
            return if is_enough { Due::Masks } else { Due::Compaction };
        }
        let masks = limit.is_some() && first.is_some_and(|first| self.masks_pay(worth, first, options));
        if masks { Due::Masks } else { Due::Nothing }
    }

    /// The plan to wait, if it is certain that nothing is due; otherwise [`crate::plan`] decides.
    ///
    /// Masks are weighed by the sizes of outputs alone: one that hardly pays may have to wait for another turn.
    pub fn plan_to_wait(&self, options: &PlanOptions) -> Option<Plan> {
        if self.due(options) != Due::Nothing {
            return None;
        }
        let before = self.before(options);
        let limit = options.budget.threshold.tokens(options.budget.window);
        Some(Plan { rung: Rung::Wait, reason: describe_below(before, limit), before })
    }

    fn before(&self, options: &PlanOptions) -> TokenCount {
        (self.total() + options.fixed.total().into()).tokens()
    }

    fn total(&self) -> Estimate {
        self.sums.last().copied().unwrap_or(Estimate::ZERO)
    }

    /// Size of the outputs behind the protected ones, and the message of the first; none if they are not worth a mask.
    fn old_outputs(&self, options: &PlanOptions) -> (TokenCount, Option<usize>) {
        let limits = options.budget.outputs;
        let newest = self.sums.len().saturating_sub(1);
        let mut newer = TokenCount::ZERO;
        let old = self.outputs.iter().rev().filter(|(index, _)| *index != newest).filter(|(_, size)| {
            newer += *size;
            newer > limits.protected
        });
        let (worth, first) =
            old.fold((TokenCount::ZERO, None), |(worth, _), (index, size)| (worth + *size, Some(*index)));
        (worth, first.filter(|_| worth >= limits.worthwhile))
    }

    /// Tells whether masks below the threshold are worth it that save at most `worth` from the message at `first` on.
    fn masks_pay(&self, worth: TokenCount, first: usize, options: &PlanOptions) -> bool {
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
    use longhaul_conversation::Body;
    use proptest::prelude::*;

    use super::*;
    use crate::shapes::{any_conversation, conversation};
    use crate::{CachePrices, Input, PreparedMessages, Tracker, plan};

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

    #[track_caller]
    fn check_due(shape: &str, trigger: Trigger, due: Due) {
        let options = PlanOptions { trigger, ..PlanOptions::new(TokenCount(16_000)) };
        assert_eq!(gauge(&conversation(shape)).due(&options), due, "{shape}");
    }

    #[test]
    fn what_is_due_is_told_by_sizes() {
        check_due("user reply", Trigger::Automatic, Due::Nothing);
        check_due("user reply", Trigger::Forced, Due::Compaction);
        check_due("user*20000 reply*12000", Trigger::Automatic, Due::Compaction);
        check_due("user call result*9600 call result*16400 reply", Trigger::Automatic, Due::Masks);
        // At the threshold masks come first where they can be enough.
        check_due("user call result*20000 call result*16400 reply", Trigger::Automatic, Due::Masks);
        check_due("user*36000 call result*9600 call result*16400 reply", Trigger::Automatic, Due::Compaction);
    }

    #[test]
    fn outputs_that_are_never_masked_are_no_reason_to_look() {
        let mut messages = conversation("user call result*9600 call result*16400 reply");
        for call in messages.iter_mut().flat_map(|message| &mut message.parts) {
            if let Body::Call(call) = &mut call.body {
                call.name = "activate_skill".into();
            }
            if let Body::Result(result) = &mut call.body {
                result.name = None;
            }
        }
        assert_eq!(gauge(&messages).due(&PlanOptions::new(TokenCount(16_000))), Due::Nothing);
    }

    proptest! {
        #[test]
        fn what_it_waits_for_is_not_due(messages in any_conversation(), window in 1_000u64..40_000) {
            let options = PlanOptions::new(TokenCount(window));
            if let Some(waiting) = gauge(&messages).plan_to_wait(&options) {
                let mut tracker = Tracker::default();
                messages.iter().for_each(|message| tracker.observe(message));
                let prepared = PreparedMessages::as_given(&messages);
                let planned = plan(&Input::new(&tracker, &prepared, &options));
                prop_assert_eq!(planned.before, waiting.before);
                let is_due = !matches!(planned.rung, Rung::Wait | Rung::Mask(_));
                prop_assert!(!is_due || messages.is_empty(), "{planned}");
            }
        }
    }
}
