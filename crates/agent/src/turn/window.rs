//! The next request in the context window of the model: its size, its limit, and the guard that it fits.

use longhaul_compaction::{Budget, BudgetSettings, Fixed, PlanOptions, Threshold, Trigger};
use longhaul_conversation::{Message, TokenCount};

use super::session::{AgentSession, CountedRequest};
use super::state::TurnState;
use crate::event::{Overflow, OverflowCause};
use crate::models::ModelProfile;
use crate::prompt::has_session_context;

/// The share of what is left that a new message may take: estimates may be a little too low.
const MARGIN: f64 = 0.95;

/// The next request in the context window of the model that answers.
#[derive(Clone, Copy)]
pub(crate) struct RequestWindow<'s> {
    session: &'s AgentSession,
    turn: &'s TurnState,
}

impl<'s> RequestWindow<'s> {
    /// The request that would be sent now.
    pub(crate) fn of(session: &'s AgentSession, turn: &'s TurnState) -> Self {
        Self { session, turn }
    }

    fn model(&self) -> &'s ModelProfile {
        self.turn.model(&self.session.settings)
    }

    fn messages(&self) -> &'s [Message] {
        self.session.conversation.transcript().messages()
    }

    /// The most tokens of a request, with room left for the answer.
    pub(crate) fn input_limit(&self) -> TokenCount {
        self.model().input_limit()
    }

    /// Tokens of a request beside its messages.
    pub(crate) fn fixed(&self) -> Fixed {
        let AgentSession { settings, memory, .. } = self.session;
        let tokens = |text: &str| settings.estimator.text(text).tokens();
        let memory = memory.as_ref().map_or(TokenCount::ZERO, |memory| tokens(memory.system()));
        Fixed { system: tokens(&settings.system), tools: self.turn.tools.tokens(), memory }
    }

    /// Tokens of the next request: what the provider counted, and what came since by estimate.
    pub(crate) fn used(&self) -> TokenCount {
        let messages = self.messages();
        match self.counted_within(messages.len()) {
            Some(counted) => counted.tokens + self.size(&messages[counted.messages..]),
            None => self.scaled(self.estimate()),
        }
    }

    /// `true` if the provider has counted any of it.
    pub(crate) fn is_counted(&self) -> bool {
        self.counted_within(self.messages().len()).is_some()
    }

    /// The factor between the size that is shown and its estimate.
    pub(crate) fn scale(&self) -> f64 {
        self.used().0 as f64 / (self.estimate().0 as f64).max(1.0)
    }

    /// An estimate in the measure of the size that was shown before a compaction.
    fn scaled(&self, estimate: TokenCount) -> TokenCount {
        match &self.session.scale {
            Some((model, scale)) if *model == self.model().name => {
                TokenCount((estimate.0 as f64 * scale) as u64)
            }
            _ => estimate,
        }
    }

    /// Tokens beside the messages for a plan, so that it sees the size that is shown: what is announced is what happens.
    fn planned_fixed(&self) -> Fixed {
        let (used, estimate) = (self.used(), self.estimate());
        let mut fixed = self.fixed();
        fixed.system += used - estimate;
        let mut excess = estimate - used;
        for part in [&mut fixed.system, &mut fixed.tools, &mut fixed.memory] {
            let taken = excess.min(*part);
            *part = *part - taken;
            excess = excess - taken;
        }
        fixed
    }

    /// Tokens of the next request by estimate.
    pub(crate) fn estimate(&self) -> TokenCount {
        self.fixed().total() + self.session.conversation.size()
    }

    /// The options with which a compaction would be planned now, for a request of at most `limit` tokens.
    pub(crate) fn compaction_options(&self, limit: TokenCount, trigger: Trigger) -> PlanOptions {
        let settings = &self.session.settings;
        let budget = settings.budget;
        // A share is one of the whole window, however much of it is left for the answer.
        let threshold = Threshold::resolve(budget.threshold, budget.host_threshold);
        let threshold = match threshold.tokens(self.model().window) {
            Some(tokens) => Threshold::Tokens(tokens.min(limit)),
            None => Threshold::Off,
        };
        let usual = PlanOptions::new(limit);
        PlanOptions {
            budget: Budget::new(limit, &BudgetSettings { threshold: Some(threshold), ..budget }),
            keep: settings.keep.unwrap_or(usual.keep),
            fixed: self.planned_fixed(),
            trigger,
            session: self.session.id(),
            estimator: settings.estimator,
            ..usual
        }
    }

    /// The options for a compaction after a provider refused a request of `sent` tokens, whatever the estimates say: the next
    /// one is to be half as long, and in any case clearly shorter.
    pub(super) fn options_after_refusal(&self, sent: TokenCount) -> PlanOptions {
        let limit = self.input_limit().min(TokenCount(sent.0 * 9 / 10));
        let mut options = self.compaction_options(limit, Trigger::Forced);
        options.budget.target = options.budget.target.min(TokenCount(sent.0 / 2));
        options
    }

    /// The options for a compaction after which the guard lets the request pass.
    pub(super) fn options_for_guard(&self) -> PlanOptions {
        self.compaction_options(within_margin(self.input_limit()), Trigger::Forced)
    }

    /// Tokens that instructions may take which a compaction left out: little of the window, and never so much that the next
    /// compaction is due.
    pub(super) fn spare_for_instructions(&self) -> TokenCount {
        let limit = self.input_limit();
        let budget = self.compaction_options(limit, Trigger::Automatic).budget;
        let due = budget.threshold.tokens(budget.window).unwrap_or(limit).min(limit);
        (due - self.used()).min(TokenCount(limit.0 / 8))
    }

    /// The overflow that the next request would be, if it would be one.
    pub(super) fn overflow(&self) -> Option<Overflow> {
        let (newest, earlier) = self.messages().split_last()?;
        let newest = self.size(std::slice::from_ref(newest));
        let used = match self.counted_within(earlier.len()) {
            Some(counted) => counted.tokens + self.size(&earlier[counted.messages..]),
            None => self.scaled(self.estimate() - newest),
        };
        self.find_overflow(newest, used)
    }

    /// The overflow of the newest message, if it would not fit even with nothing before it but the session context.
    pub(super) fn overflow_of_prompt(&self) -> Option<Overflow> {
        let (newest, earlier) = self.messages().split_last()?;
        let context = earlier.first().filter(|first| has_session_context(first));
        let context = context.map_or(TokenCount::ZERO, |first| self.size(std::slice::from_ref(first)));
        let used = self.fixed().total() + context;
        self.find_overflow(self.size(std::slice::from_ref(newest)), used)
    }

    fn find_overflow(&self, request: TokenCount, used: TokenCount) -> Option<Overflow> {
        let overflow = find_overflow(request, used, self.input_limit())?;
        Some(Overflow { fixed: self.fixed(), ..overflow })
    }

    /// The count of the latest request, if it held no more than so many messages and the same model answers.
    fn counted_within(&self, messages: usize) -> Option<&'s CountedRequest> {
        let model = &self.model().name;
        let counts = |counted: &&CountedRequest| counted.messages <= messages && counted.model == *model;
        self.session.counted.as_ref().filter(counts)
    }

    fn size(&self, messages: &[Message]) -> TokenCount {
        self.session.settings.estimator.messages(messages)
    }
}

/// The overflow that a message of `request` tokens would be beside `used` others in this window, if it would be one.
fn find_overflow(request: TokenCount, used: TokenCount, window: TokenCount) -> Option<Overflow> {
    let remaining = window - used;
    // What is used may be too much by itself, however short the message.
    let is_over = used > window || request.0 as f64 > remaining.0 as f64 * MARGIN;
    is_over.then_some(Overflow {
        request,
        remaining,
        window,
        fixed: Fixed::default(),
        cause: OverflowCause::Size,
    })
}

/// The window that a request has to fit in so that the guard lets it pass, however it is divided.
fn within_margin(window: TokenCount) -> TokenCount {
    TokenCount((window.0 as f64 * MARGIN) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(request: u64, used: u64, window: u64, remaining: Option<u64>) {
        let found = find_overflow(TokenCount(request), TokenCount(used), TokenCount(window));
        assert_eq!(found.map(|overflow| overflow.remaining.0), remaining);
    }

    #[test]
    fn a_message_may_take_nearly_all_that_is_left() {
        check(95, 900, 1_000, None);
        check(96, 900, 1_000, Some(100));
        check(101, 900, 1_000, Some(100));
        check(0, 1_000, 1_000, None);
        check(0, 1_001, 1_000, Some(0));
        check(1, 1_200, 1_000, Some(0));
    }

    #[test]
    fn what_fits_in_the_margin_passes_however_it_is_divided() {
        let window = TokenCount(1_000);
        let most = within_margin(window);
        for used in 0..=most.0 {
            let used = TokenCount(used);
            assert_eq!(find_overflow(most - used, used, window), None, "{used}");
        }
    }
}
