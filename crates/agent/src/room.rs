//! Makes room before a request: compactions that are due, the guard, and what a request takes.

use std::time::Duration;

use longhaul_compaction::{
    Budget, BudgetSettings, Fixed, HostState, PlanOptions, Status, Threshold, Trigger,
};
use longhaul_conversation::{Message, TokenCount};
use longhaul_engine::{
    BoxFuture, CompactionDeps, PassOutcome, PreCompress, append_telemetry, telemetry_records,
};
use longhaul_hooks::EventName;
use tokio_util::sync::CancellationToken;

use crate::hook_points::HookRunner;
use crate::overflow::{find_overflow, within_margin};
use crate::turn::{Agent, tells_surroundings};
use crate::{ActiveSkills, AgentError, Event, Host, ModelProfile, Overflow, TurnEnd};

/// What the provider counted for the latest request that the transcript still begins with.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    /// The model that it was counted for: another one counts otherwise.
    pub(crate) model: String,
    pub(crate) tokens: TokenCount,
    /// How many messages of the transcript that was.
    pub(crate) messages: usize,
}

/// A compaction that somebody asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) focus: Option<String>,
}

/// Whether the newest message is the user's own or a tool's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Newest {
    /// Words, which are not shortened behind the user's back.
    Words,
    /// Results, of which less will do.
    Results,
}

impl Agent {
    /// Shortens the conversation if that is due or if the request would not fit; tells the end of the turn if it still
    /// would not.
    pub(crate) async fn make_room(
        &mut self,
        newest: Newest,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Result<Option<TurnEnd>, AgentError> {
        // No compaction helps where the new words alone are too many.
        if newest == Newest::Words
            && let Some(overflow) = self.overflow_of_words()
        {
            return Ok(Some(end_with(overflow, host)));
        }
        self.note_host(host)?;
        if let Some(wish) = self.wish.take() {
            let options = PlanOptions { focus: wish.focus, ..self.options(self.room(), Trigger::Forced) };
            self.compact_with(options, host, cancel).await?;
        }
        let options = self.options(self.room(), Trigger::Automatic);
        let prepared = self.prepare_with(&options, host, cancel).await?;
        if prepared.is_some_and(|status| status == Status::Cancelled) || cancel.is_cancelled() {
            return Ok(Some(TurnEnd::Cancelled));
        }
        if self.overflow().is_none() {
            return Ok(None);
        }
        let options = self.options(within_margin(self.room()), Trigger::Forced);
        if self.compact_with(options, host, cancel).await?.result.status == Status::Cancelled {
            return Ok(Some(TurnEnd::Cancelled));
        }
        Ok(self.overflow().map(|overflow| end_with(overflow, host)))
    }

    /// Shortens the conversation because the user wants it, with what the snapshot is to dwell on.
    ///
    /// # Errors
    /// [`AgentError::Session`] where it could not be recorded; then nothing has changed.
    pub async fn compact(
        &mut self,
        focus: Option<String>,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Result<PassOutcome, AgentError> {
        self.declare(host);
        self.note_host(host)?;
        let options = PlanOptions { focus, ..self.options(self.room(), Trigger::Forced) };
        self.compact_with(options, host, cancel).await
    }

    pub(crate) async fn compact_with(
        &mut self,
        options: PlanOptions,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Result<PassOutcome, AgentError> {
        let hook = PreCompressHook { runner: self.hook_runner(host), cancel };
        let events = |event| host.tell(Event::Compaction(event));
        let clock = || host.clock();
        let means = means(host, &hook, &events, &clock);
        let compaction = &self.settings.compaction;
        let outcome = self.conversation.compact(&options, compaction, &means, host.stamp(), cancel).await?;
        self.take_note(&outcome, host);
        Ok(outcome)
    }

    async fn prepare_with(
        &mut self,
        options: &PlanOptions,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Result<Option<Status>, AgentError> {
        let hook = PreCompressHook { runner: self.hook_runner(host), cancel };
        let events = |event| host.tell(Event::Compaction(event));
        let clock = || host.clock();
        let means = means(host, &hook, &events, &clock);
        let compaction = &self.settings.compaction;
        let prepared = self.conversation.prepare(options, compaction, &means, host.stamp(), cancel).await?;
        Ok(prepared.map(|outcome| self.take_note(&outcome, host)))
    }

    fn take_note(&mut self, outcome: &PassOutcome, host: &Host<'_>) -> Status {
        if outcome.messages().is_some() {
            // The provider counted another request than the one that will be sent.
            self.counted = None;
            self.ide.forget();
            self.after_compaction(host);
        }
        for warning in &outcome.result.warnings {
            host.warn(warning.clone());
        }
        self.write_telemetry(&telemetry_records(outcome, (host.now)()), host);
        self.warn(host);
        outcome.result.status
    }

    pub(crate) fn write_telemetry(&self, records: &[serde_json::Value], host: &Host<'_>) {
        if let Some(path) = host.telemetry
            && let Err(error) = append_telemetry(path, records)
        {
            host.warn(error.to_string());
        }
    }

    /// Tells the engine what no transcript says.
    pub(crate) fn note_host(&mut self, host: &Host<'_>) -> Result<(), AgentError> {
        // What was activated before the session was resumed stays active.
        let mut skills = self.conversation.host().skills.clone();
        let activated = host.skills.map(ActiveSkills::names).unwrap_or_default();
        skills.extend(activated.into_iter().filter(|name| !self.conversation.host().skills.contains(name)));
        let state = HostState {
            jobs: (host.jobs)()
                .into_iter()
                .chain(self.errands.iter().cloned())
                .chain(self.crew.jobs())
                .collect(),
            skills,
            memory: self.memory.as_ref().map(|memory| memory.names()).unwrap_or_default(),
            ..self.conversation.host().clone()
        };
        if state != *self.conversation.host() {
            self.conversation.set_host(state, host.stamp())?;
        }
        Ok(())
    }

    /// Follows no skill and no plan any more, as what they say is no longer said.
    pub(crate) fn forget_instructions(&mut self, host: &Host<'_>) -> Result<(), AgentError> {
        host.skills.into_iter().for_each(ActiveSkills::forget);
        let state = HostState { skills: Vec::new(), plan: None, ..self.conversation.host().clone() };
        if state != *self.conversation.host() {
            self.conversation.set_host(state, host.stamp())?;
        }
        Ok(())
    }

    /// The request that would not fit, if it is one.
    fn overflow(&self) -> Option<Overflow> {
        let (newest, earlier) = self.conversation.transcript().messages().split_last()?;
        let newest = self.size(std::slice::from_ref(newest));
        let used = match self.counted_within(earlier.len()) {
            Some(counted) => counted.tokens + self.size(&earlier[counted.messages..]),
            None => self.estimate() - newest,
        };
        self.find_overflow(newest, used)
    }

    fn find_overflow(&self, request: TokenCount, used: TokenCount) -> Option<Overflow> {
        let overflow = find_overflow(request, used, self.room())?;
        Some(Overflow { fixed: self.fixed(), ..overflow })
    }

    /// The newest message, if it would not fit even with nothing before it but where the session takes place.
    fn overflow_of_words(&self) -> Option<Overflow> {
        let (newest, earlier) = self.conversation.transcript().messages().split_last()?;
        let surroundings = earlier.first().filter(|first| tells_surroundings(first));
        let surroundings =
            surroundings.map_or(TokenCount::ZERO, |first| self.size(std::slice::from_ref(first)));
        let used = self.fixed().total() + surroundings;
        self.find_overflow(self.size(std::slice::from_ref(newest)), used)
    }

    /// What the next request takes: what the provider counted, and what came since by estimate.
    pub fn used(&self) -> TokenCount {
        let messages = self.conversation.transcript().messages();
        match self.counted_within(messages.len()) {
            Some(counted) => counted.tokens + self.size(&messages[counted.messages..]),
            None => self.estimate(),
        }
    }

    /// Whether the provider has counted any of it.
    pub fn is_counted(&self) -> bool {
        self.counted_within(self.conversation.transcript().messages().len()).is_some()
    }

    /// What was counted of so many messages, for the model that answers now.
    fn counted_within(&self, messages: usize) -> Option<&Counted> {
        let counts = |counted: &&Counted| counted.messages <= messages && counted.model == self.model().name;
        self.counted.as_ref().filter(counts)
    }

    /// What the request takes by estimate.
    pub(crate) fn estimate(&self) -> TokenCount {
        self.fixed().total() + self.conversation.size()
    }

    fn size(&self, messages: &[Message]) -> TokenCount {
        self.settings.estimator.messages(messages)
    }

    /// What a request may take beside the answer.
    pub fn room(&self) -> TokenCount {
        let ModelProfile { window, output_reserve, .. } = self.model();
        // No reserve may leave less than half of the window.
        *window - output_reserve.unwrap_or_default().min(TokenCount(window.0 / 2))
    }

    /// What a request takes beside its messages.
    pub fn fixed(&self) -> Fixed {
        let tokens = |text: &str| self.settings.estimator.text(text).tokens();
        let memory = self.memory.as_ref().map_or(TokenCount::ZERO, |memory| tokens(memory.system()));
        Fixed { system: tokens(&self.settings.system), tools: self.declared.tokens, memory }
    }

    /// How a compaction would be planned now.
    pub fn options(&self, room: TokenCount, trigger: Trigger) -> PlanOptions {
        let budget = self.settings.budget;
        // A share is one of the whole window, however much of it is left for the answer.
        let threshold = Threshold::resolve(budget.threshold, budget.host_threshold);
        let threshold = match threshold.tokens(self.model().window) {
            Some(tokens) => Threshold::Tokens(tokens.min(room)),
            None => Threshold::Off,
        };
        let usual = PlanOptions::new(room);
        PlanOptions {
            budget: Budget::new(room, &BudgetSettings { threshold: Some(threshold), ..budget }),
            keep: self.settings.keep.unwrap_or(usual.keep),
            fixed: self.fixed(),
            trigger,
            session: self.session_id(),
            estimator: self.settings.estimator,
            ..usual
        }
    }

    /// What was sent did not fit, whatever the estimates say: the next request is to be half as long, and in any case
    /// clearly shorter.
    pub(crate) fn options_after_refusal(&self, sent: TokenCount) -> PlanOptions {
        let room = self.room().min(TokenCount(sent.0 * 9 / 10));
        let mut options = self.options(room, Trigger::Forced);
        options.budget.target = options.budget.target.min(TokenCount(sent.0 / 2));
        options
    }
}

/// The user's hooks before a compaction.
struct PreCompressHook<'a> {
    runner: Option<HookRunner<'a>>,
    cancel: &'a CancellationToken,
}

impl PreCompress for PreCompressHook<'_> {
    fn run(&self, trigger: Trigger) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(runner) = &self.runner {
                runner.run(longhaul_hooks::Event::PreCompress { trigger }, self.cancel).await;
            }
        })
    }
}

fn means<'a>(
    host: &Host<'a>,
    hook: &'a PreCompressHook<'a>,
    events: &'a (dyn Fn(longhaul_engine::Event) + Send + Sync),
    clock: &'a (dyn Fn() -> Duration + Send + Sync),
) -> CompactionDeps<'a> {
    let hears = hook.runner.as_ref().is_some_and(|runner| runner.has(EventName::PreCompress));
    CompactionDeps {
        summariser: host.summariser,
        files: host.files,
        counter: host.counter,
        pre_compress: hears.then_some(hook as &dyn PreCompress),
        events,
        clock,
    }
}

fn end_with(overflow: Overflow, host: &Host<'_>) -> TurnEnd {
    host.tell(Event::Overflow(overflow));
    TurnEnd::Overflow(overflow)
}
