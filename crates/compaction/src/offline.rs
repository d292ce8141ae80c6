//! Plans, writes the snapshot without a model, and carries the plan out: one call from messages to fewer messages.

use longhaul_conversation::Message;
use longhaul_snapshot::Snapshot;

use crate::compose::Composed;
use crate::pass::{Ended, Outcome};
use crate::plan::{Plan, PlanOptions, Planner, Rung};
use crate::prepare::{Prepared, prepare};
use crate::status::Status;
use crate::tracker::Tracker;

/// Shortens a conversation as far as the options call for it, without a model. The same input gives the same bytes.
///
/// The tracker must have seen the messages, or the whole log that they were made from.
///
/// ```
/// use longhaul_compaction::{PlanOptions, Status, Tracker, compact_offline};
/// use longhaul_conversation::{Message, Part, Role, TokenCount};
///
/// let say = |id: &str, role, text: String| Message::new(id, role, vec![Part::user_text(text)]);
/// let messages = [
///     say("1", Role::User, "Never push to main. Now read this:".to_string()),
///     say("2", Role::Model, "All work and no play. ".repeat(900)),
///     say("3", Role::User, "What did it say?".to_string()),
/// ];
/// let mut tracker = Tracker::default();
/// messages.iter().for_each(|message| tracker.observe(message));
///
/// let outcome = compact_offline(&tracker, &messages, &PlanOptions::new(TokenCount(8_000)));
/// assert_eq!(outcome.status, Status::Compressed, "{}", outcome.reason);
/// assert!(outcome.after < TokenCount(1_000));
/// assert!(outcome.snapshot.unwrap().render().contains("Never push to main."));
/// ```
pub fn compact_offline(tracker: &Tracker, messages: &[Message], options: &PlanOptions) -> Outcome {
    compact_prepared(tracker, &prepare(messages, options.empty), options)
}

/// As [`compact_offline`], for a conversation that was prepared already.
pub fn compact_prepared(tracker: &Tracker, prepared: &Prepared<'_>, options: &PlanOptions) -> Outcome {
    let planner = Planner::new(tracker, &prepared.messages, options);
    let plan = planner.plan();
    let ended = match &plan.rung {
        Rung::Wait | Rung::Noop => Ended::unchanged(Status::Noop, plan),
        Rung::DoesNotFit(_) => Ended::unchanged(Status::DoesNotFit, plan),
        Rung::Mask(_) => mask(&planner, plan),
        Rung::Compact(_) | Rung::LastResort(_) => compact(&planner, plan),
    };
    planner.conclude(ended, prepared)
}

fn mask(planner: &Planner<'_>, plan: Plan) -> Ended {
    let done = planner.carry_out(&plan, None);
    Ended { done: Some(done), ..Ended::unchanged(Status::Masked, plan) }
}

fn compact(planner: &Planner<'_>, mut plan: Plan) -> Ended {
    let carry_out = |plan: &Plan| planner.carry_out(plan, planner.summarise(plan, &Snapshot::default()));
    let mut done = carry_out(&plan);
    // The guard, recounted: whatever was estimated, the request must fit.
    if done.after > planner.window() && matches!(plan.rung, Rung::Compact(_)) {
        plan = planner.plan_last_resort(plan.reason);
        done = carry_out(&plan);
    }
    match planner.why_vain(&plan, &done) {
        Some(reason) => Ended { reason, ..Ended::unchanged(Status::Noop, plan) },
        None => Ended::compacted(plan, done),
    }
}

/// Writes the snapshot for a plan to compact, without a model; nothing for any other plan.
///
/// It keeps to the plan's budget, but for the user's standing instructions: those that the tail does not say stand in it
/// whatever they take. The messages are those that the plan was made for.
pub fn summarise_offline(
    tracker: &Tracker,
    messages: &[Message],
    plan: &Plan,
    options: &PlanOptions,
) -> Option<Composed> {
    Planner::new(tracker, messages, options).summarise(plan, &Snapshot::default())
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
