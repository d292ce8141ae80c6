//! The outcome of a compaction: the new messages, and what was done in words and figures.

use std::collections::BTreeSet;

use longhaul_conversation::{Estimate, Message, Repair, TokenCount, grouped};
use longhaul_extract::{Coverage, NameCount};
use longhaul_snapshot::Snapshot;

use crate::adopt::SummaryNotes;
use crate::draft::{OFFLINE, Written};
use crate::environment::find_environment;
use crate::input::Input;
use crate::plan::{FileToSave, Plan};
use crate::rebuild::{Rebuilt, rebuild};
use crate::report::{LedgerCounts, Report, RequestCounts};
use crate::required::count_kept_rules;
use crate::status::Status;

/// Outcome of a compaction.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Status in one word.
    pub status: Status,
    /// Reason in words.
    pub reason: String,
    /// The plan that was carried out last.
    pub plan: Plan,
    /// The new messages; none if the conversation stays as it is.
    pub messages: Option<Vec<Message>>,
    /// The snapshot that stands for the messages that are gone.
    pub snapshot: Option<Snapshot>,
    /// Coverage: what of them is still there.
    pub coverage: Option<Coverage>,
    /// Size of the request before.
    pub before: TokenCount,
    /// Size of the request now, by the same yardstick.
    pub after: TokenCount,
    /// Size of the snapshot and its acknowledgement.
    pub added: TokenCount,
    /// The first message that stays, counted in the curated conversation.
    pub split_index: Option<usize>,
    /// Texts that were left out of the messages and belong in files.
    pub files: Vec<FileToSave>,
    /// Faults of the conversation that were repaired.
    pub repairs: Vec<Repair>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// True if the standing instructions alone take more than the snapshot's budget.
    pub rules_exceed_budget: bool,
    /// Figures of the draft, where one was used or found too little.
    pub draft: Option<DraftFigures>,
    /// Account of a model's lines, where its summary was used or found too little.
    pub notes: Option<SummaryNotes>,
    /// True if so little was gained that the pass counts as a failure, even where it was applied.
    pub is_vain: bool,
    /// Everything in figures.
    pub report: Report,
}

/// Figures of the draft that a plan was applied with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DraftFigures {
    /// Size of the snapshot that it became.
    pub tokens: TokenCount,
    /// The names that mattered and are still there.
    pub names: NameCount,
    /// Number of lines of a model that no message supports.
    pub unsupported: usize,
    /// Number of lines of a model that were too many.
    pub cut: usize,
}

/// A plan that was carried out: the conversation as it is then, and its size.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) plan: Plan,
    pub(crate) rebuilt: Rebuilt,
    /// Size of the request, by estimate.
    pub(crate) estimated: TokenCount,
    /// Size of the request that counts: the provider's, where it was asked.
    pub(crate) after: TokenCount,
    /// The snapshot, where messages gave way.
    pub(crate) written: Option<Written>,
}

impl Attempt {
    pub(crate) fn new(input: &Input<'_>, plan: Plan, written: Option<Written>) -> Self {
        let nothing = Snapshot::default();
        let snapshot = written.as_ref().map_or(&nothing, |written| &written.composed.snapshot);
        let rebuilt = rebuild(input.messages(), &plan, snapshot);
        let estimated = input.size_with(&rebuilt.messages);
        Self { plan, rebuilt, estimated, after: estimated, written }
    }

    /// The same attempt with an adjusted plan. A count by the provider is not repeated: what has become longer is added
    /// by estimate.
    pub(crate) fn with_plan(&self, input: &Input<'_>, plan: Plan) -> Self {
        let adjusted = Self::new(input, plan, self.written.clone());
        let after = self.after + adjusted.estimated - self.estimated;
        Self { after, ..adjusted }
    }
}

impl Outcome {
    /// Outcome of a pass that leaves the conversation as it is.
    pub fn unchanged(input: &Input<'_>, plan: Plan, status: Status, reason: String) -> Self {
        Self::report(input, plan, status, reason, None, OFFLINE)
    }

    /// Outcome of a pass that changes the conversation.
    pub(crate) fn changed(
        input: &Input<'_>,
        attempt: Attempt,
        status: Status,
        reason: String,
        unsaved: &BTreeSet<String>,
    ) -> Self {
        let Attempt { plan, rebuilt, after, written, .. } = attempt;
        let summariser = written.as_ref().map_or(OFFLINE, Written::summariser);
        let mut files = plan.files(input.messages());
        files.retain(|file| !unsaved.contains(&file.file));
        let changed = Changed { rebuilt, after, written, files };
        Self::report(input, plan, status, reason, Some(changed), summariser)
    }

    fn report(
        input: &Input<'_>,
        plan: Plan,
        status: Status,
        reason: String,
        changed: Option<Changed>,
        summariser: &'static str,
    ) -> Self {
        let Input { tracker, prepared, options, .. } = *input;
        let before = plan.before;
        let split_index = changed.as_ref().and(plan.tail_from()).map(|index| prepared.curated_index(index));
        let mut repairs = prepared.repairs.clone();
        let (mut after, mut added, mut messages, mut written) = (before, TokenCount::ZERO, None, None);
        let mut files = Vec::new();
        if let Some(changed) = changed {
            repairs.extend(changed.rebuilt.repairs);
            added = added_tokens(input, &changed.rebuilt.messages, changed.rebuilt.added);
            after = changed.after;
            messages = Some(changed.rebuilt.messages);
            written = changed.written;
            files = changed.files;
        }
        let now: &[Message] = messages.as_deref().unwrap_or(input.messages());
        let (rules_kept, rules) = count_kept_rules(tracker, now);
        let (composed, notes) =
            written.map_or((None, None), |written| (Some(written.composed), written.notes));
        let rules_exceed_budget = composed.as_ref().is_some_and(|composed| composed.rules_exceed_budget);
        let report = Report {
            status,
            reason: reason.clone(),
            rung: plan.rung.as_str(),
            summariser,
            window: options.budget.window,
            threshold: options.budget.threshold.tokens(options.budget.window),
            before,
            after,
            added,
            snapshot_budget: plan.compaction().map_or(options.budget.snapshot, |plan| plan.snapshot_budget),
            messages_before: prepared.given,
            messages_after: messages.as_ref().map_or(prepared.given, Vec::len),
            rules_kept,
            rules,
            rules_exceed_budget,
            requests: RequestCounts::of(tracker),
            ledger: LedgerCounts::of(tracker),
            names: composed.as_ref().map(|composed| composed.coverage.names),
            unsupported: notes.as_ref().map_or(0, |notes: &SummaryNotes| notes.unsupported.len()),
            is_vain: false,
            files_saved: files.len(),
            repairs: repairs.len(),
            duration: None,
        };
        let warnings = warnings(&report, &plan, options.budget.snapshot);
        let (snapshot, coverage) = composed.map(|composed| (composed.snapshot, composed.coverage)).unzip();
        Self {
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
            rules_exceed_budget,
            draft: None,
            notes,
            is_vain: false,
            report,
        }
    }
}

/// The changed conversation of an outcome.
struct Changed {
    rebuilt: Rebuilt,
    after: TokenCount,
    written: Option<Written>,
    files: Vec<FileToSave>,
}

fn added_tokens(input: &Input<'_>, messages: &[Message], added: usize) -> TokenCount {
    let front = usize::from(find_environment(input.messages()).message.is_some());
    let added = messages.get(front..front + added).unwrap_or_default();
    added.iter().map(|message| input.options.estimator.message(message)).sum::<Estimate>().tokens()
}

fn warnings(report: &Report, plan: &Plan, budget: TokenCount) -> Vec<String> {
    let mut warnings = Vec::new();
    if report.rules_exceed_budget {
        warnings.push(format!("rules alone exceed the snapshot budget of {budget} tokens"));
    }
    if report.status == Status::LastResort {
        warnings.push("dropped more than usual to make the request fit".into());
    }
    let shortened = plan.compaction().map_or(0, |compaction| compaction.shortenings.len());
    if report.status.is_change() && shortened > 0 {
        let texts = if shortened == 1 { "text" } else { "texts" };
        warnings.push(format!("moved the middle of {} long {texts} to files", grouped(shortened)));
    }
    if report.repairs > 0 {
        let faults = if report.repairs == 1 { "fault" } else { "faults" };
        warnings.push(format!("repaired {} {faults} in the conversation", grouped(report.repairs)));
    }
    warnings
}
