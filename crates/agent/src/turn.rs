//! The turn: what the user says is recorded, room is made, the model is asked, its answer is recorded.

#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::path::Path;
use std::time::Duration;

use longhaul_context::{
    Budget, BudgetSettings, CalibrationSettings, Estimator, Fixed, PlanOptions, Status, Threshold, Trigger,
    prepare,
};
use longhaul_conversation::{
    Answer, FinishReason, Message, Model, ModelError, Origin, Part, Place, Request, ResponseEvent, Role,
    Timestamp, TokenCount,
};
use longhaul_engine::{
    CalibrationFile, Conversation, Counter, EngineError, Files, Means, Outcome, Stamp, Summariser,
    append_telemetry, observe_request, telemetry_records,
};
use longhaul_session::{FragmentContent, Log, RecordedFragment};
use longhaul_workspace::{Patience, WorkspaceError};
use tokio_util::sync::CancellationToken;

use crate::overflow::{find_overflow, within_margin};
use crate::{AgentError, Event, Overflow, Surroundings, TurnEnd};

/// How an agent works, whatever is said.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The model that answers.
    pub model: ModelProfile,
    /// The system prompt.
    pub system: String,
    /// What the model is told about where the session takes place.
    pub surroundings: Surroundings,
    /// What the user set of the budget for compactions.
    pub budget: BudgetSettings,
    /// The largest share of the conversation that a compaction leaves as it is; the usual one if not set.
    pub keep: Option<f64>,
    /// How compactions are carried out.
    pub compaction: longhaul_engine::Settings,
    /// Measures everything.
    pub estimator: Estimator,
}

/// What must be known of a model to talk to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelProfile {
    /// Its name, as its provider knows it.
    pub name: String,
    /// The name that sessions record, by which it is found again.
    pub recorded_as: String,
    /// What it can take.
    pub window: TokenCount,
    /// How much of that must be left for the answer.
    pub output_reserve: Option<TokenCount>,
}

/// What a host brings so that turns can be carried out.
#[derive(Clone, Copy)]
pub struct Host<'a> {
    /// Answers.
    pub model: &'a dyn Model,
    /// Writes snapshots.
    pub summariser: &'a dyn Summariser,
    /// Saves texts that compactions leave out.
    pub files: &'a dyn Files,
    /// Counts exactly, where a setting asks for it.
    pub counter: Option<&'a dyn Counter>,
    /// Where a line is written for each compaction, with figures and no text.
    pub telemetry: Option<&'a Path>,
    /// Keeps what is learned about the model's way of counting.
    pub calibration: Option<&'a CalibrationFile>,
    /// Hears of what happens.
    pub events: &'a (dyn Fn(Event) + Send + Sync),
    /// Tells the time.
    pub now: &'a (dyn Fn() -> Timestamp + Send + Sync),
    /// Makes ids that were never used before.
    pub new_id: &'a (dyn Fn() -> String + Send + Sync),
}

/// An agent at work on one session. It alone holds the session's state.
#[derive(Debug)]
pub struct Agent {
    conversation: Conversation,
    settings: Settings,
    counted: Option<Counted>,
}

/// What the provider counted for the latest request that the transcript still begins with.
#[derive(Clone, Copy, Debug)]
struct Counted {
    tokens: TokenCount,
    /// How many messages of the transcript that was.
    messages: usize,
}

/// What came of asking the model once. A call for tools will be another.
enum Step {
    Ended(TurnEnd),
    TooLong,
}

impl Agent {
    /// An agent that goes on with the session in this log.
    pub fn on(log: Log, settings: Settings) -> Self {
        Self { conversation: Conversation::on(log, settings.estimator), settings, counted: None }
    }

    /// The session.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// Carries out one turn: from what the user says to the end of the answer.
    ///
    /// What is said is on the disk before anything is sent. Cancelling ends the turn with [`TurnEnd::Cancelled`] and leaves a
    /// session that can go on.
    ///
    /// # Errors
    /// [`AgentError::Session`] where the session cannot be recorded.
    pub async fn run_turn(
        &mut self,
        text: &str,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Result<TurnEnd, AgentError> {
        self.begin(text, host)?;
        let end = self.answer(host, cancel).await?;
        (host.events)(Event::Ended(end.clone()));
        Ok(end)
    }

    /// Records what was said, and before the first words of a session where it takes place.
    fn begin(&mut self, text: &str, host: &Host<'_>) -> Result<(), AgentError> {
        self.record_system(host)?;
        let transcript = self.conversation.transcript();
        let surroundings = self.settings.surroundings.to_part();
        let mut parts = vec![Part::user_text(text)];
        if transcript.messages().is_empty() {
            self.append(&message(Role::User, vec![surroundings], host), host)?;
        } else if !transcript.messages().iter().any(tells_surroundings) {
            // A session that began elsewhere learns on its first turn here where it is now.
            parts.insert(0, surroundings);
        }
        self.append(&message(Role::User, parts, host), host)
    }

    /// Records the system prompt where it is another one than before.
    fn record_system(&mut self, host: &Host<'_>) -> Result<(), AgentError> {
        let content = FragmentContent::Text(self.settings.system.clone());
        let fragment = RecordedFragment { origin: Origin::Hook, place: Place::System, content };
        let mut recorded = self.conversation.log().replay().fragments().iter();
        if recorded.rfind(|known| known.place == Place::System) == Some(&fragment) {
            return Ok(());
        }
        Ok(self.conversation.record_fragment(fragment, stamp(host))?)
    }

    fn append(&mut self, message: &Message, host: &Host<'_>) -> Result<(), AgentError> {
        let appended = self.conversation.append(message);
        self.warn(host);
        appended?;
        Ok(())
    }

    /// Hands on what the session has to say, such as that the disk is full.
    fn warn(&mut self, host: &Host<'_>) {
        if let Some(warning) = self.conversation.take_warning() {
            (host.events)(Event::Warning(warning));
        }
    }

    /// Makes room and asks the model; once more with less if it says that this was too much.
    async fn answer(&mut self, host: &Host<'_>, cancel: &CancellationToken) -> Result<TurnEnd, AgentError> {
        if let Some(end) = self.make_room(host, cancel).await? {
            return Ok(end);
        }
        match self.ask(host, cancel).await? {
            Step::Ended(end) => return Ok(end),
            Step::TooLong => {}
        }
        let sent = self.estimate();
        match self.compact(self.options_after_refusal(sent), host, cancel).await?.result.status {
            Status::Cancelled => return Ok(TurnEnd::Cancelled),
            status if status.is_change() => (host.events)(Event::AskedAgain),
            _ => return Ok(TurnEnd::Failed(ModelError::TooLong)),
        }
        Ok(match self.ask(host, cancel).await? {
            Step::Ended(end) => end,
            Step::TooLong => TurnEnd::Failed(ModelError::TooLong),
        })
    }

    /// Shortens the conversation if that is due or if the request would not fit; tells the end of the turn if it still
    /// would not.
    async fn make_room(
        &mut self,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Result<Option<TurnEnd>, AgentError> {
        // No compaction helps where the new words alone are too many, and they are not shortened behind the user's back.
        if let Some(overflow) = self.overflow_of_words() {
            return Ok(Some(end_with(overflow, host)));
        }
        let options = self.options(self.room(), Trigger::Automatic);
        let events = |event| (host.events)(Event::Compaction(event));
        let clock = || since_epoch((host.now)());
        let means = means(host, &events, &clock);
        let compaction = &self.settings.compaction;
        let prepared = self.conversation.prepare(&options, compaction, &means, stamp(host), cancel).await?;
        if prepared.is_some_and(|outcome| self.take_note(&outcome, host) == Status::Cancelled)
            || cancel.is_cancelled()
        {
            return Ok(Some(TurnEnd::Cancelled));
        }
        if self.overflow().is_none() {
            return Ok(None);
        }
        let options = self.options(within_margin(self.room()), Trigger::Forced);
        if self.compact(options, host, cancel).await?.result.status == Status::Cancelled {
            return Ok(Some(TurnEnd::Cancelled));
        }
        Ok(self.overflow().map(|overflow| end_with(overflow, host)))
    }

    async fn compact(
        &mut self,
        options: PlanOptions,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Result<Outcome, AgentError> {
        let events = |event| (host.events)(Event::Compaction(event));
        let clock = || since_epoch((host.now)());
        let means = means(host, &events, &clock);
        let compaction = &self.settings.compaction;
        let outcome = self.conversation.compact(&options, compaction, &means, stamp(host), cancel).await?;
        self.take_note(&outcome, host);
        Ok(outcome)
    }

    fn take_note(&mut self, outcome: &Outcome, host: &Host<'_>) -> Status {
        if outcome.messages().is_some() {
            // The provider counted another request than the one that will be sent.
            self.counted = None;
        }
        for warning in &outcome.result.warnings {
            (host.events)(Event::Warning(warning.clone()));
        }
        if let Some(path) = host.telemetry
            && let Err(error) = append_telemetry(path, &telemetry_records(outcome, (host.now)()))
        {
            (host.events)(Event::Warning(error.to_string()));
        }
        self.warn(host);
        outcome.result.status
    }

    /// Asks the model and records what it answers.
    async fn ask(&mut self, host: &Host<'_>, cancel: &CancellationToken) -> Result<Step, AgentError> {
        let request = self.request();
        let sent = request.messages.clone();
        let messages = self.conversation.transcript().messages().len();
        let mut answer = Answer::default();
        let failure = {
            let mut stream = host.model.stream(request);
            loop {
                let next = poll_fn(|context| stream.as_mut().poll_next(context));
                match cancel.run_until_cancelled(next).await {
                    None => break Some(TurnEnd::Cancelled),
                    Some(None) => break None,
                    Some(Some(Err(error))) => break Some(TurnEnd::Failed(error)),
                    Some(Some(Ok(event))) => {
                        tell(&event, host);
                        answer.add(event);
                    }
                }
            }
        };
        let (usage, finish) = (answer.usage, answer.finish.clone());
        // Some providers count anew with every piece; the last count is that of the whole call.
        if let Some(usage) = usage {
            (host.events)(Event::Usage(usage));
        }
        if let Some(input) = usage.and_then(|usage| usage.input) {
            self.counted = Some(Counted { tokens: input, messages });
            self.learn(&sent, input, host);
        }
        let mut reply = Message {
            at: Some((host.now)()),
            model: Some(self.settings.model.recorded_as.clone()),
            ..answer.into_message((host.new_id)())
        };
        let end = match failure {
            None => TurnEnd::Finished(finish.unwrap_or(FinishReason::Stop)),
            Some(TurnEnd::Failed(ModelError::TooLong)) if reply.is_empty() => return Ok(Step::TooLong),
            Some(end) => {
                // Of an answer that broke off only its words are of use: nobody will run its calls.
                reply.parts.retain(|part| part.as_text().is_some());
                end
            }
        };
        if !reply.is_empty() {
            self.append(&reply, host)?;
        }
        Ok(Step::Ended(end))
    }

    fn request(&self) -> Request {
        let transcript = self.conversation.transcript();
        let empty = self.options(self.room(), Trigger::Automatic).empty;
        let system = &self.settings.system;
        Request {
            model: self.settings.model.name.clone(),
            system: (!system.is_empty()).then(|| Part::text(Origin::Hook, system)).into_iter().collect(),
            messages: prepare(transcript.messages(), empty).messages.into_owned(),
            ..Request::default()
        }
    }

    /// Learns from what the provider counted how far estimates are off.
    fn learn(&self, sent: &[Message], counted: TokenCount, host: &Host<'_>) {
        let Some(file) = host.calibration else { return };
        let seen = observe_request(sent, counted, self.fixed().total());
        let model = &self.settings.model.name;
        match file.learn(model, seen, &CalibrationSettings::default(), Patience::None) {
            // Where somebody else is learning just now, this estimate stays a little worse.
            Ok(_) | Err(EngineError::Workspace(WorkspaceError::Locked { .. })) => {}
            Err(error) => {
                let warning = format!("could not keep what was learned about {model}: {error}");
                (host.events)(Event::Warning(warning));
            }
        }
    }

    /// The request that would not fit, if it is one.
    fn overflow(&self) -> Option<Overflow> {
        let (newest, earlier) = self.conversation.transcript().messages().split_last()?;
        let used = match self.counted.filter(|counted| counted.messages <= earlier.len()) {
            Some(counted) => counted.tokens + self.size(&earlier[counted.messages..]),
            None => self.fixed().total() + self.size(earlier),
        };
        find_overflow(self.size(std::slice::from_ref(newest)), used, self.room())
    }

    /// The newest message, if it would not fit even with nothing before it but where the session takes place.
    fn overflow_of_words(&self) -> Option<Overflow> {
        let (newest, earlier) = self.conversation.transcript().messages().split_last()?;
        let surroundings = earlier.first().filter(|first| tells_surroundings(first));
        let surroundings =
            surroundings.map_or(TokenCount::ZERO, |first| self.size(std::slice::from_ref(first)));
        let used = self.fixed().total() + surroundings;
        find_overflow(self.size(std::slice::from_ref(newest)), used, self.room())
    }

    /// What the request takes by estimate.
    fn estimate(&self) -> TokenCount {
        self.fixed().total() + self.size(self.conversation.transcript().messages())
    }

    fn size(&self, messages: &[Message]) -> TokenCount {
        self.settings.estimator.messages(messages)
    }

    /// What a request may take beside the answer.
    fn room(&self) -> TokenCount {
        let ModelProfile { window, output_reserve, .. } = &self.settings.model;
        // No reserve may leave less than half of the window.
        *window - output_reserve.unwrap_or_default().min(TokenCount(window.0 / 2))
    }

    fn fixed(&self) -> Fixed {
        Fixed { system: self.settings.estimator.text(&self.settings.system).tokens(), ..Fixed::default() }
    }

    fn options(&self, room: TokenCount, trigger: Trigger) -> PlanOptions {
        let budget = self.settings.budget;
        // A share is one of the whole window, however much of it is left for the answer.
        let threshold = Threshold::resolve(budget.threshold, budget.host_threshold);
        let threshold = match threshold.tokens(self.settings.model.window) {
            Some(tokens) => Threshold::Tokens(tokens.min(room)),
            None => Threshold::Off,
        };
        let usual = PlanOptions::new(room);
        PlanOptions {
            budget: Budget::new(room, &BudgetSettings { threshold: Some(threshold), ..budget }),
            keep: self.settings.keep.unwrap_or(usual.keep),
            fixed: self.fixed(),
            trigger,
            session: self.conversation.log().replay().info().session_id.clone().unwrap_or_default(),
            estimator: self.settings.estimator,
            ..usual
        }
    }

    /// What was sent did not fit, whatever the estimates say: the next request is to be half as long, and in any case
    /// clearly shorter.
    fn options_after_refusal(&self, sent: TokenCount) -> PlanOptions {
        let room = self.room().min(TokenCount(sent.0 * 9 / 10));
        let mut options = self.options(room, Trigger::Forced);
        options.budget.target = options.budget.target.min(TokenCount(sent.0 / 2));
        options
    }
}

fn means<'a>(
    host: &Host<'a>,
    events: &'a (dyn Fn(longhaul_engine::Event) + Send + Sync),
    clock: &'a (dyn Fn() -> Duration + Send + Sync),
) -> Means<'a> {
    Means {
        summariser: host.summariser,
        files: host.files,
        counter: host.counter,
        pre_compress: None,
        events,
        clock,
    }
}

fn end_with(overflow: Overflow, host: &Host<'_>) -> TurnEnd {
    (host.events)(Event::Overflow(overflow));
    TurnEnd::Overflow(overflow)
}

fn message(role: Role, parts: Vec<Part>, host: &Host<'_>) -> Message {
    Message { at: Some((host.now)()), ..Message::new((host.new_id)(), role, parts) }
}

fn stamp(host: &Host<'_>) -> Stamp {
    Stamp { id: (host.new_id)(), at: (host.now)() }
}

fn since_epoch(now: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(now.as_millis()).unwrap_or_default())
}

fn tells_surroundings(message: &Message) -> bool {
    let own = |part: &Part| part.origin != Origin::User && part.as_text().is_some_and(is_session_context);
    message.parts.iter().any(own)
}

fn is_session_context(text: &str) -> bool {
    text.trim_start().starts_with("<session_context>")
}

fn tell(event: &ResponseEvent, host: &Host<'_>) {
    match event {
        ResponseEvent::TextDelta(text) => (host.events)(Event::TextDelta(text.clone())),
        ResponseEvent::ThoughtDelta(text) => (host.events)(Event::ThoughtDelta(text.clone())),
        ResponseEvent::Part(_) | ResponseEvent::Usage(_) | ResponseEvent::Finished(_) => {}
    }
}
