//! Summaries written ahead: the order for one, the draft, and the checks that it still belongs to the conversation.
//!
//! An order owns all that it needs, so that a model can carry it out beside the conversation. What it wrote counts for the next
//! compaction only if that would cut at the same place and nothing before the cut has changed; what was said since stands in the
//! tail or comes from the tracker, as in a compaction that is made at once.

use std::time::Duration;

use longhaul_compaction::{
    Draft, Feedback, HostState, Input, Plan, PlanOptions, PreparedMessages, Repairing, Rung, Tracker, apply,
};
use longhaul_conversation::{Fingerprint, Message, SpendMeter, fingerprint_message};
use longhaul_directives::{RequestState, RuleId};
use longhaul_snapshot::{Section, Snapshot};

use crate::summarise::{BoxFuture, Summariser, SummariserKind, SummaryError, SummaryTask};
use crate::{Settings, Spend, SpendCaps, Verify};

/// The order for a draft, to be carried out beside the conversation.
#[derive(Clone, Debug)]
pub struct DraftOrder {
    pub(crate) basis: Basis,
    pub(crate) messages: Vec<Message>,
    pub(crate) tracker: Tracker,
    pub(crate) host: HostState,
    pub(crate) options: PlanOptions,
    pub(crate) plan: Plan,
    pub(crate) left: SpendCaps,
}

/// A model's summary that was written ahead of the compaction.
#[derive(Clone, Debug)]
pub struct PreparedDraft {
    basis: Basis,
    summary: Snapshot,
    repairing: Repairing,
    spend: Spend,
}

/// The state of a conversation that a draft was written from.
#[derive(Clone, Debug)]
pub(crate) struct Basis {
    /// The number of changes to what was said before.
    pub(crate) generation: u64,
    /// The messages that the summary stands for.
    prefix: Vec<Fingerprint>,
    rules: Vec<RuleId>,
    requests: Vec<(RuleId, RequestState)>,
    model: Option<String>,
    verify: Verify,
    plan: Option<String>,
    session: String,
}

/// A conversation as a draft must fit it.
pub(crate) struct Present<'a> {
    pub(crate) generation: u64,
    pub(crate) messages: &'a [Message],
    pub(crate) tracker: &'a Tracker,
    pub(crate) host: &'a HostState,
    pub(crate) options: &'a PlanOptions,
    pub(crate) settings: &'a Settings,
    pub(crate) summariser: &'a dyn Summariser,
}

impl Basis {
    /// The present state, for a summary of the messages before `tail_from`.
    pub(crate) fn of(present: &Present<'_>, tail_from: usize) -> Self {
        Self {
            generation: present.generation,
            prefix: present.messages[..tail_from].iter().map(fingerprint_message).collect(),
            rules: present.tracker.rules().active().map(|rule| rule.id).collect(),
            requests: states(present.tracker),
            model: present.summariser.model().map(str::to_string),
            verify: present.settings.verify,
            plan: present.host.plan.clone(),
            session: present.options.session.clone(),
        }
    }

    /// The reason why a draft from this state is of no use now.
    pub(crate) fn why_stale(&self, present: &Present<'_>) -> Option<&'static str> {
        let Present { messages, tracker, host, options, settings, summariser, .. } = present;
        let same_prefix = || {
            let begins = messages.get(..self.prefix.len()).unwrap_or_default();
            begins.len() == self.prefix.len()
                && begins.iter().map(fingerprint_message).eq(self.prefix.iter().copied())
        };
        let rules_hold =
            || self.rules.iter().all(|known| tracker.rules().active().any(|rule| rule.id == *known));
        let same_settings = self.model.as_deref() == summariser.model()
            && self.verify == settings.verify
            && self.session == options.session
            && self.plan == host.plan
            && options.focus.is_none();
        match () {
            () if self.generation != present.generation => Some("the conversation was changed"),
            () if !same_settings => Some("settings were changed"),
            () if !rules_hold() => Some("a rule was taken back"),
            () if !same_prefix() => Some("earlier messages were changed"),
            () => None,
        }
    }
}

/// The requests with their states.
fn states(tracker: &Tracker) -> Vec<(RuleId, RequestState)> {
    tracker.requests().all().iter().map(|request| (request.id(), request.state.clone())).collect()
}

impl DraftOrder {
    /// Has a model write the draft. `meter` counts what is sent, also where this is cancelled.
    ///
    /// # Errors
    /// As [`Summariser::summarise`], and where what was written is of no use.
    pub async fn write(
        self,
        summariser: &dyn Summariser,
        meter: &SpendMeter,
        clock: &(dyn Fn() -> Duration + Send + Sync),
    ) -> Result<PreparedDraft, SummaryError> {
        let Self { basis, messages, tracker, host, options, plan, left } = self;
        let prepared = PreparedMessages::as_given(&messages);
        let input = Input { host: &host, ..Input::new(&tracker, &prepared, &options) };
        let events = |_| {};
        let task = SummaryTask {
            input: &input,
            plan: &plan,
            verify: basis.verify,
            left,
            meter,
            clock,
            events: &events,
        };
        let draft = summariser.summarise(&task).await?;
        // What would be refused then is refused now.
        if !apply(&input, &plan, &draft, &Feedback::default()).status.is_change() {
            return Err(SummaryError::Empty);
        }
        let Draft::FromModel { summary, repairing } = draft else { return Err(SummaryError::Empty) };
        let spend = summariser.spend(&meter.total());
        Ok(PreparedDraft { basis, summary, repairing, spend })
    }

    /// The number of messages that the draft will stand for.
    pub fn covered(&self) -> usize {
        self.basis.prefix.len()
    }
}

impl PreparedDraft {
    /// The cost of writing it.
    pub fn spend(&self) -> Spend {
        self.spend
    }

    /// The first message that stays behind it.
    pub(crate) fn tail_from(&self) -> usize {
        self.basis.prefix.len()
    }

    pub(crate) fn basis(&self) -> &Basis {
        &self.basis
    }

    /// True if it is for an ordinary compaction that cuts like this.
    pub(crate) fn suits(&self, plan: &Plan) -> bool {
        matches!(&plan.rung, Rung::Compact(compaction) if compaction.tail_from == self.tail_from())
    }

    /// The draft for the state that this tracker knows: where requests have come or gone since, their states are not told from
    /// the summary but from the record.
    fn draft(&self, tracker: &Tracker) -> Draft {
        let summary = match states(tracker) == self.basis.requests {
            true => self.summary.clone(),
            false => self.summary.clone().without(Section::TaskState),
        };
        Draft::FromModel { summary, repairing: self.repairing }
    }
}

/// Hands out what was written: nobody is asked, and nothing is spent.
impl Summariser for PreparedDraft {
    fn kind(&self) -> SummariserKind {
        SummariserKind::Model
    }

    fn model(&self) -> Option<&str> {
        self.basis.model.as_deref()
    }

    fn summarise<'a>(&'a self, task: &'a SummaryTask<'a>) -> BoxFuture<'a, Result<Draft, SummaryError>> {
        Box::pin(async { Ok(self.draft(task.input.tracker)) })
    }
}
