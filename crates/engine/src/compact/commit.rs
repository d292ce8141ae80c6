//! The part of a pass that changes something: texts are saved, and what cannot be saved stays, or more is given up.

use longhaul_compaction::{Ended, Plan, Rung, Status, Trigger};

use super::{Pass, Progress};
use crate::Event;
use crate::files::{Saved, unsaved, without};
use crate::outcome::NotSaved;
use crate::summarise::{Offline, Summary};

/// A pass that gains less than this share counts as a failure, even where it has to be applied.
const LEAST_GAIN: f64 = 0.1;

impl<'a> Pass<'a> {
    /// Masks old outputs, or says what to do instead where too few of them could be saved.
    pub(super) fn mask(&self, plan: Plan, progress: &mut Progress) -> Result<Ended, Plan> {
        let saved = self.save(&plan, progress);
        let is_complete = saved.failed.is_empty();
        let plan = without(plan, &saved.failed);
        let done = self.planner.carry_out(&plan, None);
        let budget = self.subject.options.budget;
        let is_due = done.after > budget.window || budget.threshold.is_reached(done.after, budget.window);
        if !is_complete && (is_due || done.after >= plan.before) {
            return Err(self.planner.plan_without_masks());
        }
        saved.keep();
        Ok(Ended { done: Some(done), ..Ended::unchanged(Status::Masked, plan) })
    }

    /// Where nobody may write a snapshot, outputs alone are shortened; where the user asked for one, nothing is.
    pub(super) fn truncate(&self, plan: &Plan, why: String, progress: &mut Progress) -> Ended {
        let unchanged = |reason| Ended { reason, ..Ended::unchanged(Status::Noop, plan.clone()) };
        if self.trigger() == Trigger::Forced {
            return unchanged(why);
        }
        let truncation = Plan { before: plan.before, ..self.planner.plan_truncation() };
        let saved = self.save(&truncation, progress);
        let truncation = without(truncation, &saved.failed);
        let done = self.planner.carry_out(&truncation, None);
        if done.after >= plan.before {
            return unchanged(why);
        }
        saved.keep();
        let reason = format!("{why}; with shorter tool outputs {} tokens are left", done.after);
        Ended { reason, done: Some(done), ..Ended::unchanged(Status::ContentTruncated, truncation) }
    }

    /// Recounts: whatever was estimated, the request must fit.
    pub(super) fn guard(&self, ended: Ended, progress: &mut Progress) -> Ended {
        if self.fits(&ended) || matches!(ended.plan.rung, Rung::LastResort(_)) {
            return ended;
        }
        self.last_resort(ended.plan, progress)
    }

    /// Saves what the plan leaves out. What cannot be saved stays; where the rest then does not fit, more is given up.
    pub(super) fn commit(&self, ended: Ended, progress: &mut Progress) -> Ended {
        let ended = self.settle(ended, progress);
        if ended.done.is_none() {
            return ended;
        }
        let saved = self.save(&ended.plan, progress);
        if saved.failed.is_empty() {
            saved.keep();
            return ended;
        }
        let mut adjusted = self.redo(&ended, without(ended.plan.clone(), &saved.failed));
        if !self.fits(&adjusted) {
            if !matches!(ended.plan.rung, Rung::LastResort(_)) {
                drop(saved);
                let last = self.last_resort(ended.plan, progress);
                return self.commit(last, progress);
            }
            // What can neither stay nor be saved is shortened without a file: the session still has it.
            adjusted = self.redo(&ended, unsaved(ended.plan.clone(), &saved.failed));
        }
        let adjusted = self.settle(adjusted, progress);
        if adjusted.done.is_some() {
            saved.keep();
        }
        adjusted
    }

    /// The same pass with an adjusted plan.
    fn redo(&self, ended: &Ended, plan: Plan) -> Ended {
        let Some(before) = &ended.done else { return ended.clone() };
        let mut done = self.planner.carry_out(&plan, before.written.clone());
        // A count by the provider is not repeated: what has become longer is added by estimate.
        let estimated = self.planner.carry_out(&ended.plan, before.written.clone()).after;
        done.after = before.after + done.after - estimated;
        Ended { summariser: ended.summariser, ..Ended::compacted(plan, done) }
    }

    /// Gives up more, without a model.
    fn last_resort(&self, plan: Plan, progress: &mut Progress) -> Ended {
        let plan = Plan { before: plan.before, ..self.planner.plan_last_resort(plan.reason) };
        self.tell_plan(&plan);
        progress.is_by_model = false;
        progress.account.notes = None;
        match Offline::write(&self.task(&plan)) {
            Some(Summary { composed, .. }) => {
                let done = self.planner.carry_out(&plan, Some(composed));
                Ended::compacted(plan, done)
            }
            None => Ended::unchanged(Status::DoesNotFit, plan),
        }
    }

    /// The pass as it is, or undone where it gains too little.
    fn settle(&self, ended: Ended, progress: &mut Progress) -> Ended {
        let Some(done) = &ended.done else { return ended };
        let (before, after) = (ended.plan.before, done.after);
        progress.is_vain |= (before - after).share_of(before) < LEAST_GAIN;
        match self.planner.why_vain(&ended.plan, done) {
            Some(reason) => {
                Ended { reason, summariser: ended.summariser, ..Ended::unchanged(Status::Noop, ended.plan) }
            }
            None => ended,
        }
    }

    fn fits(&self, ended: &Ended) -> bool {
        ended.done.as_ref().is_none_or(|done| done.after <= self.planner.window())
    }

    fn save(&self, plan: &Plan, progress: &mut Progress) -> Saved<'a> {
        let saved = Saved::save(self.deps.files, &self.planner.files_to_save(plan));
        for (file, reason) in &saved.failed {
            if progress.account.not_saved.iter().any(|known| known.file == *file) {
                continue;
            }
            self.tell(Event::NotSaved { file: file.clone(), reason: reason.clone() });
            progress.account.not_saved.push(NotSaved { file: file.clone(), reason: reason.clone() });
        }
        saved
    }
}
