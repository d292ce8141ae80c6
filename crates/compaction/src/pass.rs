//! Carries out a plan and puts what was done into words and figures, whoever wrote the snapshot.

use longhaul_conversation::{Message, Ordinal, Origin, Part, Repair, Role, TokenCount, grouped};
use longhaul_extract::Coverage;
use longhaul_snapshot::Snapshot;

use crate::apply::{Applied, apply};
use crate::compose::Composed;
use crate::plan::{LEAST_GAIN, Plan, PlanOptions, Planner, Rung, Trigger, size_with};
use crate::prepare::Prepared;
use crate::report::{AskCounts, LedgerCounts, Report};
use crate::standing::{count_kept_pins, newest_words, typed};
use crate::status::Status;

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

/// How a pass ended, before it is put into words and figures.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How it ended.
    pub status: Status,
    /// Why, in words.
    pub reason: String,
    /// What was planned last.
    pub plan: Plan,
    /// What was done; nothing if the conversation stays as it is.
    pub done: Option<Done>,
    /// Who wrote the snapshot.
    pub summariser: &'static str,
}

/// A plan that was carried out.
#[derive(Clone, Debug)]
pub struct Done {
    /// The conversation as it is then.
    pub applied: Applied,
    /// What the request takes then.
    pub after: TokenCount,
    /// The snapshot, where messages gave way.
    pub written: Option<Composed>,
}

/// The word for the summariser that needs no model.
const OFFLINE: &str = "offline";

impl Ended {
    /// The conversation stays as it is, for the plan's own reason.
    pub fn unchanged(status: Status, plan: Plan) -> Self {
        Self { status, reason: plan.reason.clone(), plan, done: None, summariser: OFFLINE }
    }

    /// Messages gave way to a snapshot.
    pub fn compacted(plan: Plan, done: Done) -> Self {
        let status = match plan.rung {
            Rung::LastResort(_) => Status::LastResort,
            _ => Status::Compressed,
        };
        let reason = format!("{}; {} are left", plan.reason, done.after);
        Self { status, reason, plan, done: Some(done), summariser: OFFLINE }
    }
}

impl<'a> Planner<'a> {
    /// The messages that are planned for.
    pub fn messages(&self) -> &'a [Message] {
        self.messages
    }

    /// The mark of each message.
    pub fn marks(&self) -> &[Ordinal] {
        &self.ordinals
    }

    /// What the request takes now.
    pub fn before(&self) -> TokenCount {
        self.before
    }

    /// What the plans are made for.
    pub fn options(&self) -> &'a PlanOptions {
        self.options
    }

    /// What the model can take.
    pub fn window(&self) -> TokenCount {
        self.options.budget.window
    }

    /// Carries out a plan, with this snapshot where messages are to give way, and measures the result.
    pub fn carry_out(&self, plan: &Plan, written: Option<Composed>) -> Done {
        let nothing = Snapshot::default();
        let snapshot = written.as_ref().map_or(&nothing, |written| &written.snapshot);
        let applied = apply(self.messages, plan, snapshot);
        let after = size_with(self.options, &applied.messages);
        Done { applied, after, written }
    }

    /// Why a compaction with this result is in vain: it gains nothing, or so little that only a user who asked for it or
    /// a request that does not fit would justify it. The user's newest message is no gain, whoever asked for it.
    pub fn why_vain(&self, plan: &Plan, done: &Done) -> Option<String> {
        let (before, after) = (plan.before, done.after);
        if after >= before {
            return Some(format!("nothing to gain: {before} tokens would become {after}"));
        }
        let fits = before <= self.window();
        let lost = self.lost_words(plan, &done.applied.messages);
        if fits && lost > TokenCount::ZERO && (before - after - lost).share_of(before) < LEAST_GAIN {
            return Some(format!(
                "nothing to gain: of {before} tokens {lost} are the newest message of the user, which stays"
            ));
        }
        let gained = (before - after).share_of(before);
        let is_optional = fits && self.options.trigger == Trigger::Automatic;
        (is_optional && gained < LEAST_GAIN)
            .then(|| format!("nothing to gain: a compaction would save {:.0} %", gained * 100.0))
    }

    /// The size of the user's newest message, where a plan cuts it off and the snapshot does not say all of it. What came
    /// along with it, such as a document, counts only as far as a snapshot has room for it.
    fn lost_words(&self, plan: &Plan, now: &[Message]) -> TokenCount {
        let is_users = |message: &Message| {
            let says = |part: &Part| part.origin != Origin::Summary && part.as_text().is_some();
            message.role == Role::User && message.parts.iter().any(says)
        };
        let newest = newest_words(self.messages, &self.ordinals).map(|newest| newest.place);
        let newest = newest.or_else(|| self.messages.iter().rposition(is_users));
        let Some(newest) = newest.filter(|newest| plan.tail_from().is_some_and(|tail| *newest < tail)) else {
            return TokenCount::ZERO;
        };
        let newest = &self.messages[newest];
        let size = self.size(std::slice::from_ref(newest)).tokens();
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let parts = now.iter().flat_map(|message| &message.parts);
        let snapshot = parts.filter(|part| part.origin == Origin::Summary).filter_map(Part::as_text);
        let snapshot: Vec<String> = snapshot.map(words).collect();
        let is_said = |text: &str| snapshot.iter().any(|snapshot| snapshot.contains(&words(text)));
        let is_kept = match size <= self.options.budget.snapshot {
            true => newest.parts.iter().filter_map(Part::as_text).all(is_said),
            false => typed(newest).all(is_said),
        };
        if is_kept { TokenCount::ZERO } else { size }
    }

    /// The texts that a plan leaves out of the messages, each of which belongs in a file before the plan is applied.
    pub fn files_to_save(&self, plan: &Plan) -> Vec<FileToSave> {
        let messages = self.messages;
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

    /// Puts what was done into words and figures. `messages_before` counts the messages before they were prepared.
    pub fn conclude(&self, ended: Ended, prepared: &Prepared<'_>) -> Outcome {
        let planner = self;
        let Ended { status, reason, plan, done, summariser } = ended;
        let Planner { tracker, options, .. } = planner;
        let before = plan.before;
        let split_index = done.as_ref().and(plan.tail_from()).map(|place| prepared.curated_place(place));
        let files = done.as_ref().map(|_| planner.files_to_save(&plan)).unwrap_or_default();
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
            summariser,
            window: options.budget.window,
            threshold: options.budget.threshold.tokens(options.budget.window),
            before,
            after,
            added,
            snapshot_budget: plan.compaction().map_or(options.budget.snapshot, |plan| plan.snapshot_budget),
            messages_before: prepared.given,
            messages_after: messages.as_ref().map_or(prepared.given, Vec::len),
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
