//! Applies a plan with a draft: checked, rebuilt, measured, guarded, and reported as one outcome.

use std::collections::BTreeSet;

use longhaul_conversation::{TokenCount, Trigger};

use crate::adopt::SummaryNotes;
use crate::analysis::Analysis;
use crate::budget::Budget;
use crate::draft::{Draft, DraftRefusal, Written};
use crate::gain::{is_too_little, why_not_applied, why_so_little};
use crate::input::Input;
use crate::last_resort::plan_last_resort;
use crate::outcome::{Attempt, DraftFigures, Outcome};
use crate::plan::{Compaction, Plan, Rung};
use crate::status::Status;

/// Feedback of the host that carries a plan out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Feedback {
    /// The provider's count of the messages that [`crate::preview`] gave, where an exact count is required.
    pub counted: Option<TokenCount>,
    /// Names of the files that could not be saved. Their texts stay; where the request then does not fit, more is given
    /// up.
    pub unsaved: BTreeSet<String>,
}

/// Applies a plan with a draft.
///
/// A model's summary is checked first. The result must fit, whatever was estimated: if it does not, more is given up
/// without a model ([`Rung::LastResort`]). A result that gains too little leaves the conversation as it is.
pub fn apply(input: &Input<'_>, plan: &Plan, draft: &Draft, feedback: &Feedback) -> Outcome {
    let unchanged = |status| Outcome::unchanged(input, plan.clone(), status, plan.reason.clone());
    match &plan.rung {
        Rung::Wait | Rung::Noop => unchanged(Status::Noop),
        Rung::DoesNotFit(_) => unchanged(Status::DoesNotFit),
        Rung::Mask(_) => apply_masks(input, plan, &feedback.unsaved),
        Rung::Truncate(_) => apply_truncation(input, plan, &feedback.unsaved),
        Rung::Compact(compaction) | Rung::LastResort(compaction) => {
            apply_compaction(&Analysis::of(input), plan, compaction, draft, feedback)
        }
    }
}

/// Masks outputs. Where too few of them could be saved, the conversation stays as it is.
fn apply_masks(input: &Input<'_>, plan: &Plan, unsaved: &BTreeSet<String>) -> Outcome {
    let attempt = Attempt::new(input, plan.clone().without(unsaved), None);
    let (after, budget, reason) = (attempt.after, input.options.budget, plan.reason.clone());
    let is_due = after > budget.window || budget.threshold.is_reached(after, budget.window);
    if plan.names_any(unsaved) && (is_due || after >= plan.before) {
        return Outcome::unchanged(input, attempt.plan, Status::Noop, reason);
    }
    Outcome::changed(input, attempt, Status::Masked, reason, unsaved)
}

/// Shortens outputs and nothing else.
fn apply_truncation(input: &Input<'_>, plan: &Plan, unsaved: &BTreeSet<String>) -> Outcome {
    let attempt = Attempt::new(input, plan.clone().without(unsaved), None);
    let (after, reason) = (attempt.after, &plan.reason);
    if after >= plan.before {
        return Outcome::unchanged(input, attempt.plan, Status::Noop, reason.clone());
    }
    let reason = format!("Shortened tool outputs only: {} → {after} tokens", plan.before);
    Outcome::changed(input, attempt, Status::ContentTruncated, reason, unsaved)
}

fn apply_compaction(
    analysis: &Analysis<'_>,
    plan: &Plan,
    compaction: &Compaction,
    draft: &Draft,
    feedback: &Feedback,
) -> Outcome {
    let input = &analysis.input;
    let refused = |refusal: DraftRefusal| {
        Outcome::unchanged(input, plan.clone(), refusal.status(), refusal.to_string())
    };
    let written = match Written::of(analysis, compaction, draft) {
        Ok(written) => written,
        Err(refusal) => return refused(refusal),
    };
    let figures = figures(input, &written);
    let is_by_model = written.notes.is_some();
    let mut attempt = Attempt::new(input, plan.clone(), Some(written));
    attempt.after = feedback.counted.unwrap_or(attempt.after);
    if is_by_model && attempt.after > plan.before {
        return refused(DraftRefusal::Inflated { before: plan.before, after: attempt.after });
    }
    let mut is_vain = false;
    let mut outcome = settle(analysis, attempt, &feedback.unsaved, &mut is_vain);
    outcome.report.is_vain = is_vain;
    Outcome { draft: Some(figures), is_vain, ..outcome }
}

/// Settles whether an attempt counts: it must fit, be worth it, and name only files that exist.
fn settle(
    analysis: &Analysis<'_>,
    attempt: Attempt,
    unsaved: &BTreeSet<String>,
    is_vain: &mut bool,
) -> Outcome {
    let input = &analysis.input;
    let is_ordinary = matches!(attempt.plan.rung, Rung::Compact(_));
    // The guard, recounted: whatever was estimated, the request must fit.
    if attempt.after > analysis.window() && is_ordinary {
        return settle_last_resort(analysis, &attempt.plan, unsaved, is_vain);
    }
    if let Some(outcome) = reject(analysis, &attempt, is_vain) {
        return outcome;
    }
    if !attempt.plan.names_any(unsaved) {
        return compacted(analysis, attempt, unsaved);
    }
    let mut adjusted = attempt.with_plan(input, attempt.plan.clone().without(unsaved));
    if adjusted.after > analysis.window() {
        if is_ordinary {
            return settle_last_resort(analysis, &attempt.plan, unsaved, is_vain);
        }
        // What can neither stay nor be saved is shortened without a file: the session still has it.
        adjusted = attempt.with_plan(input, attempt.plan.clone().without_pointers(unsaved));
    }
    match reject(analysis, &adjusted, is_vain) {
        Some(outcome) => outcome,
        None => compacted(analysis, adjusted, unsaved),
    }
}

/// Gives up more, without a model.
fn settle_last_resort(
    analysis: &Analysis<'_>,
    ordinary: &Plan,
    unsaved: &BTreeSet<String>,
    is_vain: &mut bool,
) -> Outcome {
    let input = &analysis.input;
    let plan = plan_last_resort(analysis, ordinary);
    let Some(compaction) = plan.compaction() else {
        let reason = plan.reason.clone();
        return Outcome::unchanged(input, plan, Status::DoesNotFit, reason);
    };
    let written = Written::offline(analysis, compaction);
    settle(analysis, Attempt::new(input, plan, Some(written)), unsaved, is_vain)
}

/// The unchanged outcome of an attempt that gains too little.
fn reject(analysis: &Analysis<'_>, attempt: &Attempt, is_vain: &mut bool) -> Option<Outcome> {
    let Attempt { plan, after, rebuilt, written, .. } = attempt;
    *is_vain |= is_too_little(plan.before, *after);
    let reason = why_not_applied(analysis, plan, &rebuilt.messages, *after)?;
    let mut outcome = Outcome::unchanged(&analysis.input, plan.clone(), Status::Noop, reason);
    if let Some(written) = written {
        outcome.report.summariser = written.summariser();
        outcome.notes.clone_from(&written.notes);
    }
    Some(outcome)
}

fn compacted(analysis: &Analysis<'_>, attempt: Attempt, unsaved: &BTreeSet<String>) -> Outcome {
    let input = &analysis.input;
    let status = match attempt.plan.rung {
        Rung::LastResort(_) => Status::LastResort,
        _ => Status::Compressed,
    };
    let reason = describe(analysis, &attempt);
    Outcome::changed(input, attempt, status, reason, unsaved)
}

/// A finished compaction in words: its occasion and both sizes; where little was gained, how little and why.
fn describe(analysis: &Analysis<'_>, attempt: &Attempt) -> String {
    let input = &analysis.input;
    let Budget { window, threshold, .. } = input.options.budget;
    let (before, after) = (attempt.plan.before, attempt.after);
    let occasion = match threshold.tokens(window) {
        _ if input.options.trigger == Trigger::Forced => " on request".to_string(),
        _ if before > window => format!(" to fit the window of {window}"),
        Some(limit) => format!(" at the threshold of {limit}"),
        None => String::new(),
    };
    let rest = match attempt.plan.rung {
        Rung::LastResort(_) => "; an ordinary compaction would not fit",
        _ => "",
    };
    let vain = is_too_little(before, after).then(|| {
        let saved = (before - after).share_of(before) * 100.0;
        format!("; saved only {saved:.0} %: {}", why_so_little(analysis, &attempt.plan))
    });
    format!("Compacted{occasion}: {before} → {after} tokens{rest}{}", vain.unwrap_or_default())
}

fn figures(input: &Input<'_>, written: &Written) -> DraftFigures {
    let Written { composed, notes } = written;
    let (unsupported, cut) =
        notes.as_ref().map_or((0, 0), |notes: &SummaryNotes| (notes.unsupported.len(), notes.cut));
    DraftFigures {
        tokens: composed.snapshot.estimate(&input.options.estimator).tokens(),
        names: composed.coverage.names,
        unsupported,
        cut,
    }
}

#[cfg(test)]
mod tests;
