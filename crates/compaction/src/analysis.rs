//! The analysis of an input that every decision needs: its environment, the ordinals, and sizes of possible requests.

use longhaul_conversation::{Estimate, Message, Ordinal, Role, TokenCount};
use longhaul_snapshot::Snapshot;

use crate::environment::{Environment, find_environment};
use crate::input::Input;
use crate::options::PlanOptions;
use crate::replace::Replacement;
use crate::reverse_budget::{ReverseBudget, plan_shrinking};
use crate::tracker::Tracker;

/// An input with what every decision about it needs.
#[derive(Clone, Debug)]
pub(crate) struct Analysis<'a> {
    pub(crate) input: Input<'a>,
    pub(crate) environment: Environment,
    pub(crate) ordinals: Vec<Ordinal>,
    /// The request without the messages that may be compacted.
    pub(crate) fixed: Estimate,
}

/// The model's answer to a snapshot where the tail goes on with the user.
pub(crate) const ACKNOWLEDGEMENT: &str = "Understood; I will go on from this state.";

impl<'a> Analysis<'a> {
    pub(crate) fn of(input: &Input<'a>) -> Self {
        let environment = find_environment(input.messages());
        let options = input.options;
        let surroundings: Estimate =
            environment.message.iter().map(|message| options.estimator.message(message)).sum();
        let fixed = Estimate::from(options.fixed.total()) + surroundings;
        Self { input: *input, environment, ordinals: input.ordinals(), fixed }
    }

    pub(crate) fn messages(&self) -> &'a [Message] {
        self.input.messages()
    }

    pub(crate) fn tracker(&self) -> &'a Tracker {
        self.input.tracker
    }

    pub(crate) fn options(&self) -> &'a PlanOptions {
        self.input.options
    }

    pub(crate) fn window(&self) -> TokenCount {
        self.input.options.budget.window
    }

    /// Estimated size of some messages.
    pub(crate) fn size(&self, messages: &[Message]) -> Estimate {
        messages.iter().map(|message| self.options().estimator.message(message)).sum()
    }

    /// Size of the request with this snapshot before this tail.
    pub(crate) fn total(&self, tail_from: usize, tail: &[Message], snapshot: &Snapshot) -> TokenCount {
        let snapshot = snapshot.estimate(&self.options().estimator);
        (self.fixed + self.size(tail) + self.acknowledgement(tail_from) + snapshot).tokens()
    }

    /// Size of the model's acknowledgement, if one is needed before this tail.
    pub(crate) fn acknowledgement(&self, tail_from: usize) -> Estimate {
        if needs_acknowledgement(self.messages().get(tail_from)) {
            self.options().estimator.text(ACKNOWLEDGEMENT)
        } else {
            Estimate::ZERO
        }
    }

    /// Shortens the outputs from `tail_from` on to a budget.
    pub(crate) fn shrink_outputs(&self, tail_from: usize, budget: TokenCount) -> Vec<Replacement> {
        let options = self.options();
        let settings = ReverseBudget::new(&options.session, &options.budget.outputs);
        let settings = ReverseBudget { budget, estimator: options.estimator, ..settings };
        let mut replacements = plan_shrinking(&self.messages()[tail_from..], &settings);
        replacements.iter_mut().for_each(|replacement| replacement.message += tail_from);
        replacements
    }
}

/// Tells whether the model must answer the snapshot, lest two user messages stand side by side.
pub(crate) fn needs_acknowledgement(first_of_tail: Option<&Message>) -> bool {
    first_of_tail.is_some_and(|first| first.role == Role::User)
}
