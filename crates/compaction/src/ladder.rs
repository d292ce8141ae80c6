//! The ladder: chooses the cheapest rung that is enough, from waiting to the last resort.

use longhaul_conversation::{Estimate, TokenCount, Trigger};

use crate::analysis::Analysis;
use crate::budget::Budget;
use crate::gain::why_not_planned;
use crate::input::{Input, Rungs};
use crate::last_resort::{check_minimum, plan_least_loss};
use crate::mask::{MaskSettings, most_saved, plan_enough_masks, plan_masks};
use crate::ordinary::{bound, plan_ordinary};
use crate::plan::{Plan, Rung, describe_below};
use crate::replace::Replacement;

/// Decides what to do about a conversation.
pub fn plan(input: &Input<'_>) -> Plan {
    let ladder = Ladder::new(input);
    let (rung, reason) = match input.rungs {
        Rungs::OutputsOnly => ladder.choose_truncation(),
        Rungs::All | Rungs::WithoutMasks => ladder.choose(),
    };
    let reason = match (&rung, input.options.trigger) {
        (Rung::Compact(_) | Rung::LastResort(_), Trigger::Forced) => format!("on request; {reason}"),
        _ => reason,
    };
    Plan { rung, reason, before: ladder.before }
}

/// An analysed input and the sizes that rungs are compared by.
struct Ladder<'a> {
    analysis: Analysis<'a>,
    /// Size of each tool output, in order.
    outputs: Vec<Estimate>,
    before: TokenCount,
}

impl<'a> Ladder<'a> {
    fn new(input: &Input<'a>) -> Self {
        let (mut all, mut outputs) = (Estimate::ZERO, Vec::new());
        for part in input.messages().iter().flat_map(|message| &message.parts) {
            let size = input.options.estimator.part(part);
            all += size;
            if part.as_result().is_some() {
                outputs.push(size);
            }
        }
        let before = (Estimate::from(input.options.fixed.total()) + all).tokens();
        Self { analysis: Analysis::of(input), outputs, before }
    }

    fn choose(&self) -> (Rung, String) {
        let options = self.analysis.options();
        let Budget { window, threshold, .. } = options.budget;
        let before = self.before;
        if self.analysis.messages().len() == self.analysis.environment.len {
            return (Rung::Noop, "no messages to compact".into());
        }
        let overflows = before > window;
        let is_forced = options.trigger == Trigger::Forced;
        let limit = threshold.tokens(window);
        let is_reached = limit.is_some_and(|limit| before >= limit);
        if !overflows && !is_reached && !is_forced {
            return self.choose_below(limit);
        }
        let why = match limit {
            _ if overflows => format!("{before} tokens do not fit in the window of {window}"),
            Some(limit) if is_reached => format!("{before} tokens reach the threshold of {limit}"),
            _ => format!("{before} tokens"),
        };
        let below = limit.map_or(window, |limit| window.min(limit - TokenCount(1)));
        if self.may_mask()
            && !is_forced
            && let Some((masks, after)) = self.plan_masks(below)
        {
            return (Rung::Mask(masks), format!("{why}; masking old tool outputs leaves at most {after}"));
        }
        self.choose_compaction(&why)
    }

    fn may_mask(&self) -> bool {
        self.analysis.input.rungs == Rungs::All
    }

    fn choose_below(&self, limit: Option<TokenCount>) -> (Rung, String) {
        let why = describe_below(self.before, limit);
        if limit.is_none() || !self.may_mask() {
            return (Rung::Wait, why);
        }
        let mask_when = self.analysis.options().mask_when;
        let plan = plan_masks(self.analysis.messages(), &self.mask_settings(), mask_when);
        if plan.replacements.is_empty() {
            return (Rung::Wait, why);
        }
        let reason = format!("{why}, but masking old tool outputs saves {} tokens", plan.saved);
        (Rung::Mask(plan.replacements), reason)
    }

    /// Masks that leave a request of at most `most`, and the bound of its size.
    fn plan_masks(&self, most: TokenCount) -> Option<(Vec<Replacement>, TokenCount)> {
        let settings = self.mask_settings();
        let outputs = self.outputs.iter().rev().copied();
        let saved = most_saved(outputs, settings.protected, &settings.estimator);
        if self.before - saved.tokens() > most {
            return None;
        }
        plan_enough_masks(self.analysis.messages(), &settings, self.before, most)
    }

    fn mask_settings(&self) -> MaskSettings {
        let options = self.analysis.options();
        let settings = MaskSettings::new(&options.session, &options.budget.outputs);
        MaskSettings { estimator: options.estimator, ..settings }
    }

    fn choose_compaction(&self, why: &str) -> (Rung, String) {
        let window = self.analysis.window();
        let overflows = self.before > window;
        if overflows && let Err(refusal) = check_minimum(&self.analysis) {
            return (Rung::DoesNotFit(refusal), refusal.to_string());
        }
        let compaction = match plan_ordinary(&self.analysis) {
            Some(compaction) => compaction,
            None if overflows => return self.choose_last_resort(why),
            None => return (Rung::Noop, "nothing to gain: nothing to cut".into()),
        };
        if overflows && bound(&self.analysis, &compaction) > window {
            return self.choose_last_resort(why);
        }
        let is_optional = !overflows && self.analysis.options().trigger == Trigger::Automatic;
        if is_optional && let Some(reason) = why_not_planned(&self.analysis, self.before, &compaction) {
            return (Rung::Noop, reason);
        }
        (Rung::Compact(compaction), why.to_string())
    }

    fn choose_last_resort(&self, why: &str) -> (Rung, String) {
        let compaction = plan_least_loss(&self.analysis);
        (Rung::LastResort(compaction), format!("{why}, and an ordinary compaction would not fit either"))
    }

    /// Shortens outputs where no snapshot may be written; nothing is left out but their middle.
    fn choose_truncation(&self) -> (Rung, String) {
        let protected = self.analysis.options().budget.outputs.protected;
        let outputs = self.analysis.shrink_outputs(0, protected);
        let rung = if outputs.is_empty() { Rung::Noop } else { Rung::Truncate(outputs) };
        (rung, "only tool outputs can be shortened".into())
    }
}
