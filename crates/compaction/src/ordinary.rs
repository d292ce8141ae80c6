//! The ordinary compaction: where the conversation is cut, and how large the snapshot before the tail may be.

use longhaul_conversation::{Estimate, TokenCount};

use crate::analysis::Analysis;
use crate::budget::Budget;
use crate::cut::{CutSettings, cut_at, plan_cut};
use crate::plan::Compaction;
use crate::required::rules_size;

/// The largest share of the replaced messages that a snapshot may take: one that is nearly as long as they are is none.
const LARGEST_SHARE_OF_HEAD: f64 = 0.8;

/// Plans the ordinary compaction, if anything can be cut off.
pub(crate) fn plan_ordinary(analysis: &Analysis<'_>) -> Option<Compaction> {
    let options = analysis.options();
    let budget = options.budget.snapshot;
    let settings = CutSettings {
        keep: options.keep,
        max_tail: Some(target(analysis) - budget),
        max_added: Some(TokenCount(budget.0 / 4)),
        estimator: options.estimator,
        ..CutSettings::default()
    };
    let messages = analysis.messages();
    let start = analysis.environment.len;
    let chosen = analysis.input.cut.and_then(|at| at.checked_sub(start));
    let wider = CutSettings { max_tail: Some(room_beside_draft(analysis) - budget), ..settings };
    let cut = chosen.and_then(|at| cut_at(&messages[start..], at, &wider));
    let cut = cut.unwrap_or_else(|| plan_cut(&messages[start..], &settings));
    if cut.tail_from == 0 {
        return None;
    }
    let tail_from = start + cut.tail_from;
    let mut compaction = Compaction {
        tail_from,
        cut: cut.reason,
        snapshot_budget: TokenCount::ZERO,
        tail: TokenCount::ZERO,
        replacements: analysis.shrink_outputs(tail_from, options.budget.outputs.protected),
        shortenings: Vec::new(),
    };
    compaction.tail = analysis.size(&compaction.shortened_tail(messages)).tokens();
    let head = analysis.size(&messages[start..tail_from]).as_f64();
    let budget = (budget - cut.added).0.min((head * LARGEST_SHARE_OF_HEAD) as u64);
    let acknowledgement = analysis.acknowledgement(tail_from).tokens();
    compaction.snapshot_budget = TokenCount(budget) - acknowledgement - TokenCount(1);
    Some(compaction)
}

/// Size that the messages should have after a compaction: what the target leaves, but never next to nothing. A target
/// that does not leave the threshold behind is none.
pub(crate) fn target(analysis: &Analysis<'_>) -> TokenCount {
    let Budget { window, threshold, target, .. } = analysis.options().budget;
    let limit = threshold.tokens(window).unwrap_or(window);
    let target = target.min(TokenCount(limit.0 - limit.0 / 8));
    (target - analysis.fixed.tokens()).max(TokenCount(target.0 / 4))
}

/// Size that the messages may have behind a draft that was written ahead: steps between may have been long, and a summary at hand
/// is worth more than a short tail. What is left stays clearly below the threshold.
fn room_beside_draft(analysis: &Analysis<'_>) -> TokenCount {
    let Budget { window, threshold, .. } = analysis.options().budget;
    let limit = threshold.tokens(window).unwrap_or(window).min(window);
    TokenCount(limit.0 / 5 * 4) - analysis.fixed.tokens()
}

/// Upper bound of the request's size after this compaction.
pub(crate) fn bound(analysis: &Analysis<'_>, compaction: &Compaction) -> TokenCount {
    let tail = Estimate::from(compaction.tail + TokenCount(1));
    let rules = rules_size(analysis.tracker(), &[], &analysis.options().estimator);
    let snapshot = compaction.snapshot_budget.max(rules) + TokenCount(1);
    (analysis.fixed + tail + analysis.acknowledgement(compaction.tail_from) + snapshot.into()).tokens()
}
