//! Carries a conversation up the ladder: plan, summarise, apply; and ends, whatever fails on the way.
//!
//! Everything that waits for somebody (hook, summariser, counter) comes before anything that changes something. What then
//! changes are files alone, and those are taken back if the pass comes to nothing. So a pass that is cancelled, or dropped,
//! never happened, but for what was spent.

mod conclude;
#[cfg(test)]
mod tests;

use std::time::Duration;

use longhaul_compaction::{
    Draft, DraftFigures, Feedback, Input, Outcome, Plan, Rung, Rungs, Status, apply, plan, preview, summarise,
};
use longhaul_conversation::{Message, SpendMeter, TokenCount, Trigger};
use tokio_util::sync::CancellationToken;

use crate::breaker::{Writer, choose_writer};
use crate::files::Saved;
use crate::outcome::{Account, NotSaved, PassOutcome};
use crate::preparation::PreparedDraft;
use crate::settings::{Counting, Fallback, PreCompressWhen, Settings};
use crate::state::State;
use crate::summarise::{Offline, Summariser, SummariserKind, SummaryTask};
use crate::{CompactionDeps, Event, Spend};

/// Shortens a conversation as far as it is due, or as far as the user wants it.
///
/// The conversation itself is not touched: the outcome holds the new messages and the new state, for their owner to record
/// and take over. Only files are written, those that the new messages refer to.
///
/// Nothing that a summariser does fails the turn: what it cannot do the offline one does, or the conversation stays as it
/// is. Cancelling at any moment gives [`Status::Cancelled`] and leaves messages and files as they were, and the state but for
/// what was spent.
pub async fn compact(
    input: &Input<'_>,
    settings: &Settings,
    state: &State,
    deps: &CompactionDeps<'_>,
    cancel: &CancellationToken,
) -> PassOutcome {
    compact_with(input, settings, state, deps, None, cancel).await
}

/// As [`compact`], with a draft that was written ahead for the cut that the input names.
pub(crate) async fn compact_with(
    input: &Input<'_>,
    settings: &Settings,
    state: &State,
    deps: &CompactionDeps<'_>,
    ready: Option<&PreparedDraft>,
    cancel: &CancellationToken,
) -> PassOutcome {
    let started = (deps.clock)();
    let meter = SpendMeter::default();
    let pass = Pass { input, settings, state, deps, ready, cancel, meter: &meter, started };
    let mut progress = Progress::default();
    match pass.run(&mut progress).await {
        Ok(result) => pass.conclude(result, progress),
        Err(Cancelled) => pass.conclude_cancelled(progress),
    }
}

/// Somebody stopped the pass.
struct Cancelled;

/// One pass over a conversation.
#[derive(Clone, Copy)]
struct Pass<'a> {
    input: &'a Input<'a>,
    settings: &'a Settings,
    state: &'a State,
    deps: &'a CompactionDeps<'a>,
    ready: Option<&'a PreparedDraft>,
    cancel: &'a CancellationToken,
    /// Counts every request that is sent, also in a pass that is cancelled.
    meter: &'a SpendMeter,
    started: Duration,
}

/// The account of a pass so far.
#[derive(Default)]
struct Progress {
    account: Account,
    has_started: bool,
    has_summarised: bool,
    has_model_failed: bool,
    is_vain: bool,
}

/// The word for the offline summariser where it took the place of a model.
const FALLBACK: &str = "offline_fallback";

impl Pass<'_> {
    async fn run(&self, progress: &mut Progress) -> Result<Outcome, Cancelled> {
        progress.account.trigger = self.trigger();
        if self.input.messages().is_empty() {
            return Ok(self.apply_unaided(&plan(self.input)));
        }
        if self.settings.pre_compress == PreCompressWhen::EveryTurn {
            self.run_hook().await?;
        }
        let mut planned = self.unless_waiting(plan(self.input));
        if planned.rung.is_change() {
            if self.settings.pre_compress == PreCompressWhen::WhenNeeded {
                self.run_hook().await?;
            }
            progress.has_started = true;
            let messages = self.input.messages().len();
            self.emit(Event::Started { trigger: self.trigger(), before: planned.before, messages });
            self.emit_plan(&planned);
        }
        if matches!(planned.rung, Rung::Mask(_)) {
            let result = self.shorten_outputs(&planned, progress);
            if result.status == Status::Masked {
                return Ok(result);
            }
            // What could be saved is not enough, so the ladder goes on.
            let without_masks = Input { rungs: Rungs::WithoutMasks, ..*self.input };
            planned = self.unless_waiting(plan(&without_masks));
            self.emit_plan(&planned);
        }
        match &planned.rung {
            Rung::Compact(_) | Rung::LastResort(_) => self.compact(planned, progress).await,
            _ => Ok(self.apply_unaided(&planned)),
        }
    }

    /// The plan, or to wait where an automatic pass has to.
    fn unless_waiting(&self, plan: Plan) -> Plan {
        if self.trigger() == Trigger::Forced {
            return plan;
        }
        let Plan { rung, before, .. } = &plan;
        let window = self.input.options.budget.window;
        match self.state.why_wait(rung, *before, window, self.settings.growth) {
            Some(reason) => Plan { rung: Rung::Wait, reason, ..plan },
            None => plan,
        }
    }

    async fn compact(&self, mut plan: Plan, progress: &mut Progress) -> Result<Outcome, Cancelled> {
        // Counted first: what cannot be counted should not cost a summary.
        if self.settings.counting == Counting::Exact {
            match self.count(self.input.messages()).await? {
                Ok(before) => plan.before = before,
                Err(reason) => return Ok(self.unchanged(plan, Status::FailedTokenCount, reason)),
            }
        }
        if let Some(ready) = self.ready.filter(|ready| ready.suits(&plan)) {
            let result = self.summarise(ready, &plan, progress).await?;
            if result.status.is_change() {
                progress.account.prepared = Some(ready.spend());
                return Ok(result);
            }
            // It goes on as if nothing had been prepared.
            progress.has_model_failed = false;
        }
        let given = self.deps.summariser;
        let why = match choose_writer(given.kind(), &plan.rung, self.trigger(), self.state, self.settings) {
            Writer::Nobody { why } => return Ok(self.truncate(plan, why, progress)),
            Writer::Offline { why } => why,
            Writer::Given => {
                if given.kind() == SummariserKind::Model
                    && let Some(result) = self.nothing_to_gain(&plan)
                {
                    progress.has_summarised = true;
                    return Ok(result);
                }
                let result = self.summarise(given, &plan, progress).await?;
                let is_refused = matches!(result.status, Status::FailedInflated | Status::FailedEmptySummary);
                if !is_refused || self.settings.fallback == Fallback::Off {
                    return Ok(result);
                }
                result.reason
            }
        };
        self.emit(Event::FellBack { reason: why.clone(), spend: self.spend() });
        progress.account.fell_back = Some(why);
        let mut result = self.summarise(&Offline, &plan, progress).await?;
        if result.draft.is_some() && !is_last_resort_of(&plan, &result.plan) {
            result.report.summariser = FALLBACK;
        }
        // Where nothing is to gain, it does not matter who was not asked.
        if result.status == Status::Noop && !progress.has_model_failed {
            progress.account.fell_back = None;
        }
        Ok(result)
    }

    /// The outcome of a plan that gains nothing even with the snapshot that costs nothing: no model is asked then. Where the
    /// provider's count decides, only that can tell.
    fn nothing_to_gain(&self, plan: &Plan) -> Option<Outcome> {
        if self.settings.counting == Counting::Exact {
            return None;
        }
        let result = apply(self.input, plan, &summarise(self.input, plan), &Feedback::default());
        (!result.status.is_change()).then_some(result)
    }

    /// Has a draft written and applies the plan with it.
    async fn summarise(
        &self,
        by: &dyn Summariser,
        plan: &Plan,
        progress: &mut Progress,
    ) -> Result<Outcome, Cancelled> {
        progress.has_summarised = true;
        let started = (self.deps.clock)();
        self.emit(Event::Summarising { by: by.kind() });
        let task = SummaryTask {
            input: self.input,
            plan,
            verify: self.settings.verify,
            left: self.settings.caps.less(self.state.spend),
            meter: self.meter,
            clock: self.deps.clock,
            events: self.deps.events,
        };
        let is_model = by.kind() == SummariserKind::Model;
        let draft = match self.or_cancelled(by.summarise(&task)).await? {
            Ok(draft) => draft,
            Err(error) => {
                progress.has_model_failed |= is_model && error.is_failure();
                return Ok(self.unchanged(plan.clone(), Status::FailedEmptySummary, error.to_string()));
            }
        };
        let mut feedback = Feedback::default();
        if self.settings.counting == Counting::Exact
            && let Ok(preview) = preview(self.input, plan, &draft)
        {
            match self.count(&preview.messages).await? {
                Ok(count) => feedback.counted = Some(count),
                Err(reason) => {
                    progress.is_vain = true;
                    return Ok(self.unchanged(plan.clone(), Status::FailedTokenCount, reason));
                }
            }
        }
        let result = apply(self.input, plan, &draft, &feedback);
        if let Some(DraftFigures { tokens, names, unsupported, cut }) = result.draft {
            let duration = (self.deps.clock)().saturating_sub(started);
            let spend = if is_model { self.spend() } else { Spend::default() };
            self.emit(Event::Summarised { by: by.kind(), tokens, duration, spend });
            self.emit(Event::Verified { names, unsupported, cut });
        }
        progress.has_model_failed |= is_model && result.draft.is_none();
        Ok(self.save_files(result, plan, &draft, feedback, progress))
    }

    /// Shortens outputs alone where nobody may write a snapshot; where the user asked for one, nothing is done.
    fn truncate(&self, plan: Plan, why: String, progress: &mut Progress) -> Outcome {
        if self.trigger() == Trigger::Automatic {
            let outputs_only = Input { rungs: Rungs::OutputsOnly, ..*self.input };
            let truncation =
                Plan { before: plan.before, reason: why.clone(), ..longhaul_compaction::plan(&outputs_only) };
            let result = self.shorten_outputs(&truncation, progress);
            if result.messages.is_some() {
                return result;
            }
        }
        self.unchanged(plan, Status::Noop, why)
    }

    /// Saves the texts that an applied plan leaves out. It is applied again without those that cannot be saved.
    fn save_files(
        &self,
        mut result: Outcome,
        plan: &Plan,
        draft: &Draft,
        mut feedback: Feedback,
        progress: &mut Progress,
    ) -> Outcome {
        let mut is_last_resort = false;
        loop {
            progress.is_vain |= result.is_vain;
            if !is_last_resort && is_last_resort_of(plan, &result.plan) {
                is_last_resort = true;
                self.emit_plan(&result.plan);
            }
            let saved = Saved::save(self.deps.files, &result.files);
            if saved.failed.is_empty() {
                saved.keep();
                return result;
            }
            for (file, reason) in &saved.failed {
                self.note_not_saved(file, reason, progress);
                feedback.unsaved.insert(file.clone());
            }
            drop(saved);
            result = apply(self.input, plan, draft, &feedback);
        }
    }

    /// Applies a plan to shorten outputs, which needs no draft.
    fn shorten_outputs(&self, plan: &Plan, progress: &mut Progress) -> Outcome {
        let result = self.apply_unaided(plan);
        self.save_files(result, plan, &Draft::NotNeeded, Feedback::default(), progress)
    }

    /// Applies a plan that needs neither a draft nor files.
    fn apply_unaided(&self, plan: &Plan) -> Outcome {
        apply(self.input, plan, &Draft::NotNeeded, &Feedback::default())
    }

    fn unchanged(&self, plan: Plan, status: Status, reason: String) -> Outcome {
        Outcome::unchanged(self.input, plan, status, reason)
    }

    /// Counts a request of these messages as the provider does, or says why nobody can.
    async fn count(&self, messages: &[Message]) -> Result<Result<TokenCount, String>, Cancelled> {
        let Some(counter) = self.deps.counter else {
            return Ok(Err("an exact token count is required, but the provider has no counter".into()));
        };
        let counted = self.or_cancelled(counter.count(messages, self.meter)).await?;
        Ok(counted.map_err(|error| format!("an exact token count is required, but counting failed: {error}")))
    }

    async fn run_hook(&self) -> Result<(), Cancelled> {
        match self.deps.pre_compress {
            Some(hook) => self.or_cancelled(hook.run(self.trigger())).await,
            None => Ok(()),
        }
    }

    async fn or_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, Cancelled> {
        let done = self.cancel.run_until_cancelled(work).await;
        // What ends in the moment of being cancelled counts as cancelled.
        done.filter(|_| !self.cancel.is_cancelled()).ok_or(Cancelled)
    }

    fn note_not_saved(&self, file: &str, reason: &str, progress: &mut Progress) {
        if progress.account.not_saved.iter().any(|known| known.file == file) {
            return;
        }
        let not_saved = NotSaved { file: file.to_string(), reason: reason.to_string() };
        self.emit(Event::NotSaved { file: not_saved.file.clone(), reason: not_saved.reason.clone() });
        progress.account.not_saved.push(not_saved);
    }

    /// Spend of this pass so far.
    fn spend(&self) -> Spend {
        self.deps.summariser.spend(&self.meter.total())
    }

    fn trigger(&self) -> Trigger {
        self.input.options.trigger
    }

    fn emit(&self, event: Event) {
        (self.deps.events)(event);
    }

    fn emit_plan(&self, plan: &Plan) {
        let files = plan.replacements().len() + plan.shortenings().len();
        self.emit(Event::Planned { rung: plan.rung.as_str(), reason: plan.reason.clone(), files });
    }
}

/// True if `applied` gives up more than the ordinary compaction that was planned.
fn is_last_resort_of(planned: &Plan, applied: &Plan) -> bool {
    matches!(planned.rung, Rung::Compact(_))
        && matches!(applied.rung, Rung::LastResort(_) | Rung::DoesNotFit(_))
}
