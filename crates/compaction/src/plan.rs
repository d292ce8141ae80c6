//! Decides what to do about a conversation: wait, mask, compact, or give up more; as a value that can be printed.

use std::fmt;

use longhaul_conversation::{Estimate, Estimator, Message, Ordinal, TokenCount};
use longhaul_snapshot::{Snapshot, any_snapshot};
use serde::Serialize;

use crate::cut::{CutReason, CutSettings, plan_cut};
use crate::environment::{Environment, find_environment};
use crate::last_resort::{Bottom, plan_last_resort};
use crate::mask::{most_saved, plan_enough_masks};
use crate::numbering::ordinals;
use crate::replace::{Replacement, apply_replacements};
use crate::shorten::{Shortening, apply_shortenings};
use crate::standing::pins_size;
use crate::tracker::Tracker;
use crate::{
    Budget, BudgetSettings, CachePrices, DoesNotFit, EmptyMessages, MaskSettings, MaskWhen, ReverseBudget,
    plan_masks, plan_shrinking,
};

/// What a plan is made for.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// The window and how it is divided.
    pub budget: Budget,
    /// The largest share of the conversation that stays as it is.
    pub keep: f64,
    /// What the request takes beside the messages.
    pub fixed: Fixed,
    /// Who wants it.
    pub trigger: Trigger,
    /// When masking is worth a rewrite below the threshold.
    pub mask_when: MaskWhen,
    /// What the user wants the snapshot to dwell on.
    pub focus: Option<String>,
    /// Names the folder for texts that are saved.
    pub session: String,
    /// What becomes of the model's empty messages.
    pub empty: EmptyMessages,
    /// Measures everything, before and after.
    pub estimator: Estimator,
}

/// What a request takes beside its messages. No compaction changes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fixed {
    /// The system instruction.
    pub system: TokenCount,
    /// The declared tools.
    pub tools: TokenCount,
    /// Memory files that are not part of the messages.
    pub memory: TokenCount,
}

/// Who wants a conversation to be shorter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// Nobody: it is shortened when its size calls for it.
    #[default]
    Automatic,
    /// The user, whatever its size.
    Forced,
}

/// What to do about a conversation, and why.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What to do.
    pub rung: Rung,
    /// Why, in words.
    pub reason: String,
    /// What the request takes now.
    pub before: TokenCount,
}

/// The rungs of the ladder, the cheapest first, and the two ways of doing nothing.
#[derive(Clone, Debug)]
pub enum Rung {
    /// Nothing is due yet.
    Wait,
    /// Something would be due, but nothing would be gained.
    Noop,
    /// Old tool outputs give way to previews.
    Mask(Vec<Replacement>),
    /// Everything before the tail gives way to a snapshot.
    Compact(Compaction),
    /// As a compaction, but more is given up so that the request fits.
    LastResort(Compaction),
    /// What cannot be given up is larger than the window.
    DoesNotFit(DoesNotFit),
}

/// What stays of a conversation and what is added.
#[derive(Clone, Debug)]
pub struct Compaction {
    /// The first message that stays.
    pub tail_from: usize,
    /// Why it is cut there.
    pub cut: CutReason,
    /// What the snapshot may take.
    pub snapshot_budget: TokenCount,
    /// What the tail takes once it is shortened.
    pub tail: TokenCount,
    /// The tool outputs in the tail that are shortened.
    pub replacements: Vec<Replacement>,
    /// The texts in the tail that are shortened.
    pub shortenings: Vec<Shortening>,
}

/// A pass that gains less than this share is not worth it.
pub(crate) const LEAST_GAIN: f64 = 0.1;
/// A snapshot that is nearly as long as what it stands for is none.
const MOST_OF_HEAD: f64 = 0.8;

/// What the model answers to a snapshot where the tail goes on with the user.
pub(crate) const ACKNOWLEDGEMENT: &str = "Understood; I will go on from this state.";

impl PlanOptions {
    /// The usual options for a window of this size.
    pub fn new(window: TokenCount) -> Self {
        Self {
            budget: Budget::new(window, &BudgetSettings::default()),
            keep: CutSettings::default().keep,
            fixed: Fixed::default(),
            trigger: Trigger::default(),
            mask_when: MaskWhen::ItPays(CachePrices::default()),
            focus: None,
            session: String::new(),
            empty: EmptyMessages::default(),
            estimator: Estimator::default(),
        }
    }
}

impl Fixed {
    /// All of it.
    pub fn total(self) -> TokenCount {
        self.system + self.tools + self.memory
    }
}

impl Rung {
    /// The stable word used in output.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Noop => "noop",
            Self::Mask(_) => "mask",
            Self::Compact(_) => "compact",
            Self::LastResort(_) => "last_resort",
            Self::DoesNotFit(_) => "does_not_fit",
        }
    }
}

impl Plan {
    /// The first message that stays, if others are to go.
    pub fn tail_from(&self) -> Option<usize> {
        self.compaction().map(|compaction| compaction.tail_from)
    }

    /// What is to stay and what to be added, if anything is to be compacted.
    pub fn compaction(&self) -> Option<&Compaction> {
        match &self.rung {
            Rung::Compact(compaction) | Rung::LastResort(compaction) => Some(compaction),
            _ => None,
        }
    }
}

/// For people, over a few lines.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rung.as_str(), self.reason)?;
        match &self.rung {
            Rung::Wait | Rung::Noop => Ok(()),
            Rung::DoesNotFit(refusal) => write!(f, "\nremedy: {}", refusal.part.remedy()),
            Rung::Mask(masks) => masks.iter().try_for_each(|mask| write_replacement(f, mask)),
            Rung::Compact(compaction) | Rung::LastResort(compaction) => {
                let Compaction { tail_from, cut, snapshot_budget, tail, .. } = compaction;
                let first = tail_from + 1;
                write!(f, "\nkeep from message {first} on ({tail} tokens): {cut}")?;
                write!(f, "\nsnapshot of at most {snapshot_budget} tokens")?;
                compaction
                    .replacements
                    .iter()
                    .try_for_each(|replacement| write_replacement(f, replacement))?;
                compaction.shortenings.iter().try_for_each(|Shortening { file, before, after, .. }| {
                    write!(f, "\nshorten a message from {before} to {after} tokens: {file}")
                })
            }
        }
    }
}

fn write_replacement(f: &mut fmt::Formatter<'_>, replacement: &Replacement) -> fmt::Result {
    let Replacement { call, file, before, after, .. } = replacement;
    write!(f, "\nshorten the output of {call} from {before} to {after} tokens: {file}")
}

/// Decides what to do about `messages`, which are those of [`crate::prepare`] and known to the tracker.
pub fn plan(tracker: &Tracker, messages: &[Message], options: &PlanOptions) -> Plan {
    Planner::new(tracker, messages, options).plan()
}

/// Everything that decisions about a conversation are made from, and the means to carry them out.
#[derive(Clone, Debug)]
pub struct Planner<'a> {
    pub(crate) tracker: &'a Tracker,
    pub(crate) messages: &'a [Message],
    pub(crate) options: &'a PlanOptions,
    pub(crate) environment: Environment,
    pub(crate) ordinals: Vec<Ordinal>,
    /// What each tool output takes, in order.
    outputs: Vec<Estimate>,
    /// The request without the messages that may be compacted.
    pub(crate) fixed: Estimate,
    pub(crate) before: TokenCount,
}

impl<'a> Planner<'a> {
    /// A planner for `messages`, which are those of [`crate::prepare`] and known to the tracker.
    pub fn new(tracker: &'a Tracker, messages: &'a [Message], options: &'a PlanOptions) -> Self {
        let environment = find_environment(messages);
        let (mut all, mut outputs) = (Estimate::ZERO, Vec::new());
        for part in messages.iter().flat_map(|message| &message.parts) {
            let size = options.estimator.part(part);
            all += size;
            if part.as_result().is_some() {
                outputs.push(size);
            }
        }
        let before = (Estimate::from(options.fixed.total()) + all).tokens();
        let surroundings: Estimate =
            environment.message.iter().map(|message| options.estimator.message(message)).sum();
        let fixed = Estimate::from(options.fixed.total()) + surroundings;
        let ordinals = ordinals(messages);
        Self { tracker, messages, options, environment, ordinals, outputs, fixed, before }
    }

    /// Decides what to do.
    pub fn plan(&self) -> Plan {
        self.decided(self.choose(true))
    }

    /// Decides what to do where old outputs cannot be masked.
    pub fn plan_without_masks(&self) -> Plan {
        self.decided(self.choose(false))
    }

    fn decided(&self, (rung, reason): (Rung, String)) -> Plan {
        let Self { before, options, .. } = *self;
        let reason = match (&rung, options.trigger) {
            (Rung::Compact(_) | Rung::LastResort(_), Trigger::Forced) => format!("asked for; {reason}"),
            _ => reason,
        };
        Plan { rung, reason, before }
    }

    fn choose(&self, may_mask: bool) -> (Rung, String) {
        let Budget { window, threshold, .. } = self.options.budget;
        let before = self.before;
        if self.messages.len() == self.environment.len {
            return (Rung::Noop, "there are no messages".into());
        }
        let overflows = before > window;
        let is_forced = self.options.trigger == Trigger::Forced;
        let limit = threshold.tokens(window);
        let is_reached = limit.is_some_and(|limit| before >= limit);
        if !overflows && !is_reached && !is_forced {
            return self.choose_below(limit, may_mask);
        }
        let why = match limit {
            _ if overflows => format!("{before} tokens do not fit in the window of {window}"),
            Some(limit) if is_reached => format!("{before} tokens reach the threshold of {limit}"),
            _ => format!("{before} tokens"),
        };
        let below = limit.map_or(window, |limit| window.min(limit - TokenCount(1)));
        let may_mask = may_mask && !is_forced;
        if may_mask && let Some((masks, after)) = self.plan_masks(below) {
            return (Rung::Mask(masks), format!("{why}; masking old tool outputs leaves at most {after}"));
        }
        self.choose_compaction(&why)
    }

    fn choose_below(&self, limit: Option<TokenCount>, may_mask: bool) -> (Rung, String) {
        let why = below(self.before, limit);
        if limit.is_none() || !may_mask {
            return (Rung::Wait, why);
        }
        let plan = plan_masks(self.messages, &self.mask_settings(), self.options.mask_when);
        if plan.replacements.is_empty() {
            return (Rung::Wait, why);
        }
        let reason = format!("{why}, but masking saves {} tokens and is worth a rewrite", plan.saved);
        (Rung::Mask(plan.replacements), reason)
    }

    /// The masks that leave a request of at most `most`, and what it then takes at most.
    fn plan_masks(&self, most: TokenCount) -> Option<(Vec<Replacement>, TokenCount)> {
        let settings = self.mask_settings();
        let outputs = self.outputs.iter().rev().copied();
        let saved = most_saved(outputs, settings.protected, &settings.estimator);
        if self.before - saved.tokens() > most {
            return None;
        }
        plan_enough_masks(self.messages, &settings, self.before, most)
    }

    fn mask_settings(&self) -> MaskSettings {
        let settings = MaskSettings::new(&self.options.session, &self.options.budget.outputs);
        MaskSettings { estimator: self.options.estimator, ..settings }
    }

    fn choose_compaction(&self, why: &str) -> (Rung, String) {
        let window = self.options.budget.window;
        let overflows = self.before > window;
        if overflows {
            let bottom = Bottom::of(self);
            if let Err(refusal) = bottom.check(self) {
                return (Rung::DoesNotFit(refusal), refusal.to_string());
            }
        }
        let compaction = match self.plan_compaction() {
            Some(compaction) => compaction,
            None if overflows => return self.choose_last_resort(why),
            None => return (Rung::Noop, "nothing to gain: nothing can be cut off".into()),
        };
        if overflows {
            return if self.bound(&compaction) <= window {
                (Rung::Compact(compaction), why.to_string())
            } else {
                self.choose_last_resort(why)
            };
        }
        if self.options.trigger == Trigger::Automatic
            && let Some(reason) = self.nothing_to_gain(&compaction)
        {
            return (Rung::Noop, reason);
        }
        (Rung::Compact(compaction), why.to_string())
    }

    fn choose_last_resort(&self, why: &str) -> (Rung, String) {
        let compaction = plan_last_resort(self);
        (Rung::LastResort(compaction), format!("{why}, nor would an ordinary compaction"))
    }

    /// The usual compaction, if anything can be cut off.
    pub(crate) fn plan_compaction(&self) -> Option<Compaction> {
        let budget = self.options.budget.snapshot;
        let settings = CutSettings {
            keep: self.options.keep,
            max_tail: Some(self.target() - budget),
            max_added: Some(TokenCount(budget.0 / 4)),
            estimator: self.options.estimator,
            ..CutSettings::default()
        };
        let from = self.environment.len;
        let cut = plan_cut(&self.messages[from..], &settings);
        if cut.tail_from == 0 {
            return None;
        }
        let tail_from = from + cut.tail_from;
        let replacements = self.shrink_outputs(tail_from, self.options.budget.outputs.protected);
        let kept = Kept { tail_from, replacements, shortenings: Vec::new() };
        let tail = self.size(&kept.tail(self.messages));
        let head = self.size(&self.messages[from..tail_from]).as_f64();
        let budget = (budget - cut.added).0.min((head * MOST_OF_HEAD) as u64);
        let snapshot_budget = TokenCount(budget) - self.acknowledgement(tail_from).tokens() - TokenCount(1);
        Some(self.compaction(kept, cut.reason, snapshot_budget, tail.tokens()))
    }

    /// The compaction that keeps this.
    pub(crate) fn compaction(
        &self,
        kept: Kept,
        cut: CutReason,
        snapshot_budget: TokenCount,
        tail: TokenCount,
    ) -> Compaction {
        let Kept { tail_from, replacements, shortenings } = kept;
        Compaction { tail_from, cut, snapshot_budget, tail, replacements, shortenings }
    }

    /// What the messages should take after a compaction: what the target leaves, but never next to nothing. A target
    /// that does not leave the threshold behind is none.
    fn target(&self) -> TokenCount {
        let Budget { window, threshold, target, .. } = self.options.budget;
        let limit = threshold.tokens(window).unwrap_or(window);
        let target = target.min(TokenCount(limit.0 - limit.0 / 8));
        (target - self.fixed.tokens()).max(TokenCount(target.0 / 4))
    }

    /// What the request takes at most after this compaction.
    fn bound(&self, compaction: &Compaction) -> TokenCount {
        let tail = Estimate::from(compaction.tail + TokenCount(1));
        let snapshot = compaction.snapshot_budget.max(self.pins()) + TokenCount(1);
        (self.fixed + tail + self.acknowledgement(compaction.tail_from) + snapshot.into()).tokens()
    }

    /// Why a compaction that nobody asked for is not worth it.
    fn nothing_to_gain(&self, compaction: &Compaction) -> Option<String> {
        let from = self.environment.len;
        if is_compacted_already(&self.messages[from..compaction.tail_from]) {
            return Some("nothing to gain: nothing new since the last compaction".into());
        }
        let messages = self.size(&self.messages[from..]).tokens();
        let excess = self.pins() - self.options.budget.snapshot;
        if messages <= self.target() + excess {
            let fixed = self.fixed.tokens();
            return Some(format!(
                "nothing to gain: the messages take only {messages} tokens, what stands beside them {fixed}"
            ));
        }
        let gained = (self.before - self.bound(compaction)).share_of(self.before);
        (gained < LEAST_GAIN)
            .then(|| format!("nothing to gain: a compaction would save {:.0} %", gained * 100.0))
    }

    /// What a snapshot takes that says the standing instructions and nothing else.
    fn pins(&self) -> TokenCount {
        pins_size(self.tracker, &[], &self.options.estimator)
    }

    /// Shortens the outputs from `tail_from` on to a budget.
    pub(crate) fn shrink_outputs(&self, tail_from: usize, budget: TokenCount) -> Vec<Replacement> {
        let settings = ReverseBudget::new(&self.options.session, &self.options.budget.outputs);
        let settings = ReverseBudget { budget, estimator: self.options.estimator, ..settings };
        let mut replacements = plan_shrinking(&self.messages[tail_from..], &settings);
        replacements.iter_mut().for_each(|replacement| replacement.message += tail_from);
        replacements
    }

    /// What the model's acknowledgement takes, if one is needed before this tail.
    pub(crate) fn acknowledgement(&self, tail_from: usize) -> Estimate {
        if needs_acknowledgement(self.messages.get(tail_from)) {
            self.options.estimator.text(ACKNOWLEDGEMENT)
        } else {
            Estimate::ZERO
        }
    }

    /// What the request takes with this snapshot before this tail.
    pub(crate) fn total(&self, tail_from: usize, tail: &[Message], snapshot: &Snapshot) -> TokenCount {
        let snapshot = snapshot.estimate(&self.options.estimator);
        (self.fixed + self.size(tail) + self.acknowledgement(tail_from) + snapshot).tokens()
    }

    pub(crate) fn size(&self, messages: &[Message]) -> Estimate {
        messages.iter().map(|message| self.options.estimator.message(message)).sum()
    }
}

/// What stays, before it is known what may be added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    pub(crate) tail_from: usize,
    pub(crate) replacements: Vec<Replacement>,
    pub(crate) shortenings: Vec<Shortening>,
}

impl Kept {
    /// The messages that stay, shortened.
    pub(crate) fn tail(&self, messages: &[Message]) -> Vec<Message> {
        tail_of(messages, self.tail_from, &self.replacements, &self.shortenings)
    }
}

impl Compaction {
    /// The messages that stay, shortened.
    pub(crate) fn kept_tail(&self, messages: &[Message]) -> Vec<Message> {
        tail_of(messages, self.tail_from, &self.replacements, &self.shortenings)
    }
}

fn tail_of(
    messages: &[Message],
    from: usize,
    replacements: &[Replacement],
    shortenings: &[Shortening],
) -> Vec<Message> {
    let mut tail = messages.get(from..).unwrap_or_default().to_vec();
    apply_replacements(&mut tail, replacements);
    apply_shortenings(&mut tail, from, shortenings);
    tail
}

/// What a request of these messages takes.
pub(crate) fn size_with(options: &PlanOptions, messages: &[Message]) -> TokenCount {
    let sizes = messages.iter().map(|message| options.estimator.message(message));
    (Estimate::from(options.fixed.total()) + sizes.sum::<Estimate>()).tokens()
}

/// Why there is nothing to do below the threshold.
pub(crate) fn below(before: TokenCount, limit: Option<TokenCount>) -> String {
    match limit {
        Some(limit) => format!("{before} tokens are below the threshold of {limit}"),
        None => "automatic compaction is off".to_string(),
    }
}

/// Whether the model must answer the snapshot, lest two user messages stand side by side.
pub(crate) fn needs_acknowledgement(first_of_tail: Option<&Message>) -> bool {
    first_of_tail.is_some_and(|first| first.role == longhaul_conversation::Role::User)
}

/// Whether these messages are what an earlier compaction left: a snapshot and its acknowledgement.
fn is_compacted_already(messages: &[Message]) -> bool {
    messages.iter().all(|message| {
        let says_so = message.parts.iter().any(|part| part.as_text() == Some(ACKNOWLEDGEMENT));
        says_so || any_snapshot(message).is_some()
    })
}
