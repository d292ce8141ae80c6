//! Carries a conversation up the ladder: wait, mask, compact, last resort; and ends, whatever fails on the way.
//!
//! Everything that waits for somebody (hook, summariser, counter) comes before anything that changes something. What then
//! changes are files alone, and those are taken back if the pass comes to nothing. So a pass that is cancelled, or dropped,
//! never happened, but for what was spent.

mod commit;
mod conclude;
#[cfg(test)]
mod tests;

use std::time::Duration;

use longhaul_compaction::{
    Done, Ended, Plan, PlanOptions, Planner, Prepared, Rung, Status, Tracker, Trigger, prepare,
};
use longhaul_conversation::{Message, SpendMeter, TokenCount};
use tokio_util::sync::CancellationToken;

use crate::breaker::{Writer, choose_writer};
use crate::outcome::{Account, Outcome};
use crate::settings::{Counting, Fallback, PreCompressWhen, Settings};
use crate::state::State;
use crate::summarise::{Fault, Offline, Summariser, SummariserKind, Summary, Task};
use crate::{CompactionDeps, Event, HostState, Spend};

/// The conversation that is to be shortened.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// What the model may see now.
    pub messages: &'a [Message],
    /// What was learned from all that was said.
    pub tracker: &'a Tracker,
    /// What the host knows.
    pub host: &'a HostState,
    /// Window, budget, trigger and yardstick.
    pub options: &'a PlanOptions,
}

/// Shortens a conversation as far as it is due, or as far as the user wants it.
///
/// The conversation itself is not touched: the outcome holds the new messages and the new state, for their owner to record
/// and take over. Only files are written, those that the new messages refer to.
///
/// Nothing that a summariser does fails the turn: what it cannot do the offline one does, or the conversation stays as it
/// is. Cancelling at any moment gives [`Status::Cancelled`] and leaves messages and files as they were, and the state but for
/// what was spent.
pub async fn compact(
    subject: Subject<'_>,
    settings: &Settings,
    state: &State,
    deps: &CompactionDeps<'_>,
    cancel: &CancellationToken,
) -> Outcome {
    let started = (deps.clock)();
    let prepared = prepare(subject.messages, subject.options.empty);
    let planner = Planner::new(subject.tracker, &prepared.messages, subject.options);
    let meter = SpendMeter::default();
    let pass = Pass {
        subject,
        settings,
        state,
        deps,
        cancel,
        planner: &planner,
        prepared: &prepared,
        meter: &meter,
        started,
    };
    let mut progress = Progress::default();
    match pass.run(&mut progress).await {
        Ok(ended) => pass.conclude(ended, progress),
        Err(Cancelled) => pass.conclude_cancelled(progress),
    }
}

/// Somebody stopped the pass.
struct Cancelled;

/// One pass over a conversation.
#[derive(Clone, Copy)]
struct Pass<'a> {
    subject: Subject<'a>,
    settings: &'a Settings,
    state: &'a State,
    deps: &'a CompactionDeps<'a>,
    cancel: &'a CancellationToken,
    planner: &'a Planner<'a>,
    prepared: &'a Prepared<'a>,
    /// Counts every request that is sent, also in a pass that is cancelled.
    meter: &'a SpendMeter,
    started: Duration,
}

/// Why a summary does not do.
enum Refusal {
    /// The summariser is to blame.
    Fault(Fault),
    /// The result could not be counted.
    Count(String),
}

/// What is known so far about how a pass came about.
#[derive(Default)]
struct Progress {
    account: Account,
    has_started: bool,
    has_summarised: bool,
    has_model_failed: bool,
    is_by_model: bool,
    is_vain: bool,
}

/// The word for the offline summariser where it took the place of a model.
const FALLBACK: &str = "offline_fallback";

impl Pass<'_> {
    async fn run(&self, progress: &mut Progress) -> Result<Ended, Cancelled> {
        progress.account.trigger = self.trigger();
        if self.planner.messages().is_empty() {
            return Ok(Ended::unchanged(Status::Noop, self.planner.plan()));
        }
        if self.settings.pre_compress == PreCompressWhen::EveryTurn {
            self.run_hook().await?;
        }
        let mut plan = self.unless_waiting(self.planner.plan());
        if matches!(plan.rung, Rung::Mask(_) | Rung::Compact(_) | Rung::LastResort(_)) {
            if self.settings.pre_compress == PreCompressWhen::WhenNeeded {
                self.run_hook().await?;
            }
            progress.has_started = true;
            let messages = self.planner.messages().len();
            self.tell(Event::Started { trigger: self.trigger(), before: plan.before, messages });
            self.tell_plan(&plan);
        }
        if matches!(plan.rung, Rung::Mask(_)) {
            match self.mask(plan, progress) {
                Ok(ended) => return Ok(ended),
                // What could be saved is not enough, so the ladder goes on.
                Err(next) => plan = self.unless_waiting(next),
            }
            self.tell_plan(&plan);
        }
        match &plan.rung {
            Rung::Compact(_) | Rung::LastResort(_) => self.compact(plan, progress).await,
            Rung::DoesNotFit(_) => Ok(Ended::unchanged(Status::DoesNotFit, plan)),
            Rung::Wait | Rung::Noop | Rung::Mask(_) => Ok(Ended::unchanged(Status::Noop, plan)),
        }
    }

    /// The plan, or to wait where an automatic pass has to.
    fn unless_waiting(&self, plan: Plan) -> Plan {
        if self.trigger() == Trigger::Forced {
            return plan;
        }
        let Plan { rung, before, .. } = &plan;
        match self.state.why_wait(rung, *before, self.planner.window(), self.settings.growth) {
            Some(reason) => Plan { rung: Rung::Wait, reason, ..plan },
            None => plan,
        }
    }

    async fn compact(&self, mut plan: Plan, progress: &mut Progress) -> Result<Ended, Cancelled> {
        // Counted first: what cannot be counted should not cost a summary.
        match self.count(self.planner.messages(), plan.before).await? {
            Ok(before) => plan.before = before,
            Err(reason) => return Ok(Ended { reason, ..Ended::unchanged(Status::FailedTokenCount, plan) }),
        }
        let given = self.deps.summariser;
        let ended = match choose_writer(given.kind(), &plan.rung, self.trigger(), self.state, self.settings) {
            Writer::Nobody { why } => return Ok(self.truncate(&plan, why, progress)),
            Writer::Offline { why } => {
                self.fall_back(why, progress);
                self.compact_offline(plan, progress).await?
            }
            Writer::Given => match self.summarise(given, &plan, progress).await? {
                Ok(done) => {
                    progress.is_by_model = given.kind() == SummariserKind::Model;
                    Ended { summariser: given.kind().as_str(), ..Ended::compacted(plan, done) }
                }
                Err(Refusal::Count(reason)) => self.not_counted(plan, reason, progress),
                Err(Refusal::Fault(fault)) => {
                    progress.has_model_failed = given.kind() == SummariserKind::Model && fault.is_failure();
                    if self.settings.fallback == Fallback::Off {
                        let reason = fault.to_string();
                        return Ok(Ended { reason, ..Ended::unchanged(status_of(&fault), plan) });
                    }
                    self.fall_back(fault.to_string(), progress);
                    self.compact_offline(plan, progress).await?
                }
            },
        };
        Ok(self.commit(self.guard(ended, progress), progress))
    }

    async fn compact_offline(&self, plan: Plan, progress: &mut Progress) -> Result<Ended, Cancelled> {
        Ok(match self.summarise(&Offline, &plan, progress).await? {
            Ok(done) => Ended { summariser: FALLBACK, ..Ended::compacted(plan, done) },
            Err(Refusal::Count(reason)) => self.not_counted(plan, reason, progress),
            Err(Refusal::Fault(fault)) => {
                Ended { reason: fault.to_string(), ..Ended::unchanged(status_of(&fault), plan) }
            }
        })
    }

    /// Has a snapshot written, and carries the plan out in memory.
    async fn summarise(
        &self,
        by: &dyn Summariser,
        plan: &Plan,
        progress: &mut Progress,
    ) -> Result<Result<Done, Refusal>, Cancelled> {
        progress.has_summarised = true;
        let started = (self.deps.clock)();
        self.tell(Event::Summarising { by: by.kind() });
        let task = self.task(plan);
        let written = self.or_cancelled(by.summarise(&task)).await?;
        let Summary { composed, notes } = match written {
            Ok(summary) => summary,
            Err(fault) => return Ok(Err(Refusal::Fault(fault))),
        };
        let tokens = composed.snapshot.estimate(&self.subject.options.estimator).tokens();
        let coverage = composed.coverage.share;
        let mut done = self.planner.carry_out(plan, Some(composed));
        match self.count(&done.applied.messages, done.after).await? {
            Ok(after) => done.after = after,
            Err(reason) => return Ok(Err(Refusal::Count(reason))),
        }
        if by.kind() == SummariserKind::Model && done.after > plan.before {
            return Ok(Err(Refusal::Fault(Fault::Inflated)));
        }
        let duration = (self.deps.clock)().saturating_sub(started);
        let spend = match by.kind() {
            SummariserKind::Model => self.spend(),
            SummariserKind::Offline => Spend::default(),
        };
        self.tell(Event::Summarised { by: by.kind(), tokens, duration, spend });
        let (unsourced, cut) = notes.as_ref().map_or((0, 0), |notes| (notes.unsourced.len(), notes.cut));
        self.tell(Event::Verified { coverage, unsourced, cut });
        progress.account.notes = notes;
        Ok(Ok(done))
    }

    /// What a request of these messages takes, by the provider's count where that is required, or why nobody knows.
    async fn count(
        &self,
        messages: &[Message],
        estimated: TokenCount,
    ) -> Result<Result<TokenCount, String>, Cancelled> {
        if self.settings.counting == Counting::Estimated {
            return Ok(Ok(estimated));
        }
        let Some(counter) = self.deps.counter else {
            return Ok(Err("an exact count is required, and there is no counter".into()));
        };
        let counted = self.or_cancelled(counter.count(messages, self.meter)).await?;
        Ok(counted.map_err(|error| format!("an exact count is required and failed: {error}")))
    }

    async fn run_hook(&self) -> Result<(), Cancelled> {
        match self.deps.pre_compress {
            Some(hook) => self.or_cancelled(hook.run(self.trigger().into())).await,
            None => Ok(()),
        }
    }

    async fn or_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, Cancelled> {
        let done = self.cancel.run_until_cancelled(work).await;
        // What ends in the moment of being cancelled counts as cancelled.
        done.filter(|_| !self.cancel.is_cancelled()).ok_or(Cancelled)
    }

    fn not_counted(&self, plan: Plan, reason: String, progress: &mut Progress) -> Ended {
        progress.is_vain = true;
        Ended { reason, ..Ended::unchanged(Status::FailedTokenCount, plan) }
    }

    fn fall_back(&self, reason: String, progress: &mut Progress) {
        self.tell(Event::FellBack { reason: reason.clone(), spend: self.spend() });
        progress.account.fell_back = Some(reason);
    }

    fn task<'t>(&'t self, plan: &'t Plan) -> Task<'t> {
        Task {
            planner: self.planner,
            plan,
            host: self.subject.host,
            verify: self.settings.verify,
            left: self.settings.caps.less(self.state.spend),
            meter: self.meter,
            clock: self.deps.clock,
            events: self.deps.events,
        }
    }

    /// What was spent so far.
    fn spend(&self) -> Spend {
        self.deps.summariser.spend(&self.meter.total())
    }

    fn trigger(&self) -> Trigger {
        self.subject.options.trigger
    }

    fn tell(&self, event: Event) {
        (self.deps.events)(event);
    }

    fn tell_plan(&self, plan: &Plan) {
        let files = match &plan.rung {
            Rung::Mask(masks) => masks.len(),
            Rung::Compact(plan) | Rung::LastResort(plan) => plan.replacements.len() + plan.shortenings.len(),
            Rung::Wait | Rung::Noop | Rung::DoesNotFit(_) => 0,
        };
        self.tell(Event::Planned { rung: plan.rung.as_str(), reason: plan.reason.clone(), files });
    }
}

/// How a pass ends whose summary does not do and that nobody else finishes.
fn status_of(fault: &Fault) -> Status {
    match fault {
        Fault::Inflated => Status::FailedInflated,
        _ => Status::FailedEmptySummary,
    }
}
