//! Plans, writes the snapshot without a model, and carries the plan out: one call from messages to fewer messages.

use longhaul_conversation::{Message, Ordinal, Repair, TokenCount};

use crate::apply::{Applied, apply};
use crate::compose::{ComposeOptions, Composed, compose};
use crate::coverage::{Coverage, measure_coverage};
use crate::last_resort::{least, plan_last_resort};
use crate::plan::{Compaction, LEAST_GAIN, Plan, PlanOptions, Planner, Rung, Trigger, size_with};
use crate::prepare::{Prepared, prepare};
use crate::report::{AskCounts, LedgerCounts, Report};
use crate::snapshot::Snapshot;
use crate::standing::{count_kept_pins, keep_pins, pins_size};
use crate::status::Status;
use crate::tracker::Tracker;
use crate::truncate::grouped;

/// What became of a conversation.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// Why, in words.
    pub reason: String,
    /// What was planned.
    pub plan: Plan,
    /// The new messages; none if the conversation stays as it is.
    pub messages: Option<Vec<Message>>,
    /// What stands for the messages that are gone.
    pub snapshot: Option<Snapshot>,
    /// What of them is still there.
    pub coverage: Option<Coverage>,
    /// What the request took before.
    pub before: TokenCount,
    /// What it takes now, by the same yardstick.
    pub after: TokenCount,
    /// What the snapshot and its acknowledgement take.
    pub added: TokenCount,
    /// The first message that stays, counted in the curated conversation.
    pub split_index: Option<usize>,
    /// Texts that were left out of the messages and belong in files.
    pub files: Vec<FileToSave>,
    /// What was wrong with the conversation and had to be repaired.
    pub repairs: Vec<Repair>,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Whether the standing instructions alone take more than the snapshot's budget.
    pub pins_exceed_budget: bool,
    /// Everything in figures.
    pub report: Report,
}

/// A text that was left out of a message and can be read in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileToSave {
    /// The file's name, relative to the folder for temporary files.
    pub file: String,
    /// What belongs in it.
    pub text: String,
}

/// Shortens a conversation as far as the options call for it, without a model. The same input gives the same bytes.
///
/// The tracker must have seen the messages, or the whole log that they were made from.
///
/// ```
/// use longhaul_context::{PlanOptions, Status, Tracker, compact_offline};
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
    let prepared = prepare(messages, options.empty);
    let planner = Planner::new(tracker, &prepared.messages, options);
    let plan = planner.plan();
    let pass = match &plan.rung {
        Rung::Wait | Rung::Noop => Pass::unchanged(Status::Noop, plan),
        Rung::DoesNotFit(_) => Pass::unchanged(Status::DoesNotFit, plan),
        Rung::Mask(_) => mask(&planner, plan),
        Rung::Compact(_) | Rung::LastResort(_) => compact(&planner, plan),
    };
    pass.conclude(&planner, &prepared, messages.len())
}

/// What was done, before it is put into words and figures.
struct Pass {
    status: Status,
    reason: String,
    plan: Plan,
    done: Option<Done>,
}

struct Done {
    applied: Applied,
    after: TokenCount,
    written: Option<Composed>,
}

impl Pass {
    fn unchanged(status: Status, plan: Plan) -> Self {
        Self { status, reason: plan.reason.clone(), plan, done: None }
    }
}

fn mask(planner: &Planner<'_>, plan: Plan) -> Pass {
    let applied = apply(planner.messages, &plan, &Snapshot::default());
    let after = size_with(planner.options, &applied.messages);
    let done = Done { applied, after, written: None };
    Pass { status: Status::Masked, reason: plan.reason.clone(), plan, done: Some(done) }
}

fn compact(planner: &Planner<'_>, mut plan: Plan) -> Pass {
    let window = planner.options.budget.window;
    let mut done = carry_out(planner, &plan);
    // The guard, recounted: whatever was estimated, the request must fit.
    if done.after > window && matches!(plan.rung, Rung::Compact(_)) {
        plan.rung = Rung::LastResort(plan_last_resort(planner));
        done = carry_out(planner, &plan);
    }
    let (before, after) = (plan.before, done.after);
    let gained = (before - after).share_of(before);
    let vain = if after >= before {
        Some(format!("nothing to gain: {before} tokens would become {after}"))
    } else if before <= window && planner.options.trigger == Trigger::Automatic && gained < LEAST_GAIN {
        Some(format!("nothing to gain: a compaction would save {:.0} %", gained * 100.0))
    } else {
        None
    };
    if let Some(reason) = vain {
        return Pass { reason, ..Pass::unchanged(Status::Noop, plan) };
    }
    let status = match plan.rung {
        Rung::LastResort(_) => Status::LastResort,
        _ => Status::Compressed,
    };
    let reason = format!("{}; {after} are left", plan.reason);
    Pass { status, reason, plan, done: Some(done) }
}

fn carry_out(planner: &Planner<'_>, plan: &Plan) -> Done {
    let compaction = plan.compaction().expect("only compactions are carried out here");
    let written = summarise(planner, compaction);
    let applied = apply(planner.messages, plan, &written.snapshot);
    let after = size_with(planner.options, &applied.messages);
    Done { applied, after, written: Some(written) }
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
    let compaction = plan.compaction()?;
    Some(summarise(&Planner::new(tracker, messages, options), compaction))
}

fn summarise(planner: &Planner<'_>, compaction: &Compaction) -> Composed {
    let Planner { tracker, options, .. } = planner;
    let tail = compaction.kept_tail(planner.messages);
    let tail_from = compaction.tail_from;
    let next = Ordinal(tracker.last().0 + 1);
    let before = planner.ordinals.get(tail_from).copied().unwrap_or(next);
    let pins_exceed_budget = pins_size(tracker, &tail, &options.estimator) > options.budget.snapshot;
    if tail_from > planner.environment.len {
        let compose_options = ComposeOptions {
            budget: compaction.snapshot_budget,
            tail: &tail,
            before,
            focus: options.focus.as_deref(),
            estimator: options.estimator,
        };
        let composed = compose(tracker, &compose_options);
        let snapshot = keep_pins(composed.snapshot, tracker, &tail);
        if planner.total(tail_from, &tail, &snapshot) <= options.budget.window {
            return Composed { snapshot, pins_exceed_budget, ..composed };
        }
    }
    let snapshot = least(planner, tail_from, &tail);
    let coverage = measure_coverage(tracker, &snapshot.render(), &tail, before);
    Composed { snapshot, coverage, pins_exceed_budget }
}

impl Pass {
    fn conclude(self, planner: &Planner<'_>, prepared: &Prepared<'_>, messages_before: usize) -> Outcome {
        let Self { status, reason, plan, done } = self;
        let Planner { tracker, options, .. } = planner;
        let before = plan.before;
        let split_index = done.as_ref().and(plan.tail_from()).map(|place| prepared.curated_place(place));
        let files = done.as_ref().map(|_| files_to_save(&plan, planner.messages)).unwrap_or_default();
        let mut repairs = prepared.repairs.clone();
        let (mut after, mut added, mut messages, mut written) = (before, TokenCount::ZERO, None, None);
        if let Some(done) = done {
            repairs.extend(done.applied.repairs);
            added = added_tokens(planner, &done.applied.messages, done.applied.added);
            after = done.after;
            messages = Some(done.applied.messages);
            written = done.written;
        }
        let now: &[Message] = messages.as_deref().unwrap_or(planner.messages);
        let (pins_kept, pins) = count_kept_pins(tracker, now);
        let pins_exceed_budget = written.as_ref().is_some_and(|written| written.pins_exceed_budget);
        let report = Report {
            status,
            reason: reason.clone(),
            rung: plan.rung.as_str(),
            summariser: "offline",
            window: options.budget.window,
            threshold: options.budget.threshold.tokens(options.budget.window),
            before,
            after,
            added,
            snapshot_budget: plan.compaction().map_or(options.budget.snapshot, |plan| plan.snapshot_budget),
            messages_before,
            messages_after: messages.as_ref().map_or(messages_before, Vec::len),
            pins_kept,
            pins,
            pins_exceed_budget,
            asks: AskCounts::of(tracker),
            ledger: LedgerCounts::of(tracker),
            coverage: written.as_ref().map(|written| written.coverage.share),
            files_saved: files.len(),
            repairs: repairs.len(),
            duration: None,
        };
        let warnings = warnings(&report, &plan, options.budget.snapshot);
        let (snapshot, coverage) = written.map(|written| (written.snapshot, written.coverage)).unzip();
        Outcome {
            status,
            reason,
            plan,
            messages,
            snapshot,
            coverage,
            before,
            after,
            added,
            split_index,
            files,
            repairs,
            warnings,
            pins_exceed_budget,
            report,
        }
    }
}

fn added_tokens(planner: &Planner<'_>, messages: &[Message], added: usize) -> TokenCount {
    let front = usize::from(planner.environment.message.is_some());
    planner.size(messages.get(front..front + added).unwrap_or_default()).tokens()
}

fn files_to_save(plan: &Plan, messages: &[Message]) -> Vec<FileToSave> {
    let (replacements, shortenings) = match &plan.rung {
        Rung::Mask(masks) => (masks.as_slice(), [].as_slice()),
        Rung::Compact(compaction) | Rung::LastResort(compaction) => {
            (compaction.replacements.as_slice(), compaction.shortenings.as_slice())
        }
        _ => return Vec::new(),
    };
    let outputs = replacements.iter().filter_map(|replacement| {
        let text = replacement.full_text(messages)?.into_owned();
        Some(FileToSave { file: replacement.file.clone(), text })
    });
    let texts = shortenings.iter().filter_map(|shortening| {
        let text = shortening.full_text(messages)?.to_string();
        Some(FileToSave { file: shortening.file.clone(), text })
    });
    let mut files: Vec<FileToSave> = outputs.chain(texts).collect();
    files.sort_by(|a, b| a.file.cmp(&b.file));
    files.dedup();
    files
}

fn warnings(report: &Report, plan: &Plan, budget: TokenCount) -> Vec<String> {
    let mut warnings = Vec::new();
    if report.pins_exceed_budget {
        warnings.push(format!(
            "the standing instructions alone take more than the snapshot's budget of {budget} tokens"
        ));
    }
    if report.status == Status::LastResort {
        warnings.push("more was given up than usual, because the request would not have fitted".into());
    }
    let shortened = plan.compaction().map_or(0, |compaction| compaction.shortenings.len());
    if report.status.is_change() && shortened > 0 {
        let texts = if shortened == 1 { "text" } else { "texts" };
        warnings.push(format!("the middle of {} long {texts} was moved to files", grouped(shortened)));
    }
    if report.repairs > 0 {
        let faults = if report.repairs == 1 { "fault" } else { "faults" };
        warnings.push(format!("repaired {} {faults} in the conversation", grouped(report.repairs)));
    }
    warnings
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
