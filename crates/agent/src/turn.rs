//! The turn: from what the user says, over as many steps as the model takes, to its last answer.

#[cfg(test)]
mod crew_tests;
#[cfg(all(test, unix))]
mod hook_tests;
#[cfg(test)]
mod instruction_tests;
#[cfg(test)]
mod long_tests;
#[cfg(test)]
mod memory_tests;
#[cfg(test)]
mod protected_tests;
#[cfg(test)]
mod recording_tests;
#[cfg(test)]
mod subagent_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tool_tests;
#[cfg(test)]
mod trial;
#[cfg(test)]
mod wit_tests;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use longhaul_compaction::{HostJob, Loop, LoopDetector};
use longhaul_conversation::{
    Body, Message, Origin, Part, Place, Role, TokenCount, ToolCall, ToolDeclaration,
};
use longhaul_engine::Conversation;
use longhaul_hooks::{EndReason, Event as HookEvent, SessionSource};
use longhaul_policy::Rule;
use longhaul_session::{FragmentContent, Log, RecordedFragment, split_pasted};
use tokio_util::sync::CancellationToken;

use crate::activity::Activity;
use crate::ask::Step;
use crate::brief::{size_of, within_share};
use crate::ide::IdeContext;
use crate::loop_check::LoopWatch;
use crate::memory::SessionMemory;
use crate::own_tools::OwnTool;
use crate::rereads::Rereads;
use crate::room::{Counted, Newest, Wish};
use crate::routing::Routed;
use crate::run_tools::Flow;
use crate::statistics::Statistics;
use crate::subagents::{Crew, Desk};
use crate::{AgentError, Event, Host, LimitOf, MemoryManager, Settings, TurnEnd};

/// An agent at work on one session. It alone holds the session's state.
#[derive(Debug)]
pub struct Agent {
    pub(crate) conversation: Conversation,
    pub(crate) settings: Settings,
    pub(crate) memory: Option<SessionMemory>,
    pub(crate) counted: Option<Counted>,
    pub(crate) declared: Declared,
    pub(crate) loops: LoopDetector,
    pub(crate) watch: LoopWatch,
    pub(crate) routed: Option<Routed>,
    pub(crate) ide: IdeContext,
    /// How often the model was told in this turn that it goes round in circles.
    strikes: u32,
    /// How often the model was asked.
    asked: u32,
    pub(crate) wish: Option<Wish>,
    pub(crate) rereads: Rereads,
    pub(crate) statistics: Statistics,
    pub(crate) lineage: Lineage,
    /// The sub-agents that a step waits for.
    pub(crate) errands: Vec<HostJob>,
    /// The sub-agents in the background.
    pub(crate) crew: Crew,
    /// Whoever holds it may speak to the user.
    pub(crate) desk: Desk,
    /// What the user allowed since the agent was started.
    pub(crate) granted: Vec<Rule>,
    /// How the turn ends after the call that runs now, where that call ends it.
    pub(crate) ending: Option<TurnEnd>,
    /// What a sub-agent hands over.
    pub(crate) result: Option<String>,
}

/// Where an agent stands among those that start each other.
#[derive(Clone, Debug)]
pub(crate) struct Lineage {
    /// The folder below which sub-agents are recorded.
    pub(crate) chats: PathBuf,
    /// How many agents are above it.
    pub(crate) depth: u32,
}

/// The tools that the model is told of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Declared {
    pub(crate) tools: Vec<ToolDeclaration>,
    pub(crate) tokens: TokenCount,
    /// Where each tool of the host's stands, by its name.
    pub(crate) places: HashMap<String, usize>,
    /// The names of those that may be called in this step, where those are not all.
    pub(crate) offered: Option<Vec<String>>,
}

/// What a turn that was cut off still owes.
enum Owed {
    /// The model has yet to answer.
    Answer,
    /// The model waits for the results of these calls.
    Results(Vec<ToolCall>),
}

/// What hooks make of a prompt.
enum Prompted {
    /// It passes, with what they add.
    Passes(Option<String>),
    /// It is recorded, and that is all.
    Stopped(String),
    /// It does not even count.
    Blocked(String),
}

/// What hooks make of an answer.
enum Reviewed {
    Accepted,
    Stopped(String),
    /// The model is to go on with this.
    Continued(String),
}

impl Agent {
    /// An agent that goes on with the session in this log.
    pub fn on(log: Log, settings: Settings) -> Self {
        let chats = log.path().parent().map(Path::to_path_buf).unwrap_or_default();
        let conversation = Conversation::on(log, settings.estimator);
        let rereads = Rereads::of(&conversation.said());
        Self {
            conversation,
            settings,
            memory: None,
            counted: None,
            declared: Declared::default(),
            loops: LoopDetector::default(),
            watch: LoopWatch::default(),
            routed: None,
            ide: IdeContext::default(),
            strikes: 0,
            asked: 0,
            wish: None,
            rereads,
            statistics: Statistics::default(),
            lineage: Lineage { chats, depth: 0 },
            errands: Vec::new(),
            crew: Crew::default(),
            desk: Desk::default(),
            granted: Vec::new(),
            ending: None,
            result: None,
        }
    }

    /// The same agent with these instructions from memory files.
    #[must_use]
    pub fn with_memory(self, mut memory: SessionMemory) -> Self {
        memory.follow(self.conversation.transcript().messages());
        Self { memory: Some(memory), ..self }
    }

    /// The session.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// The session, to undo compactions, pin rules or go back in it.
    pub fn conversation_mut(&mut self) -> &mut Conversation {
        // Whatever is done with it, the provider counted something else.
        self.counted = None;
        self.ide.forget();
        &mut self.conversation
    }

    /// How it works.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// How it works, to change it between turns.
    pub fn settings_mut(&mut self) -> &mut Settings {
        &mut self.settings
    }

    /// The instructions from memory files.
    pub fn memory(&self) -> Option<&SessionMemory> {
        self.memory.as_ref()
    }

    /// The instructions from memory files, to load them again.
    pub fn memory_mut(&mut self) -> Option<&mut SessionMemory> {
        self.memory.as_mut()
    }

    /// What was done so far.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Begins to work on the session: hooks may add what the model is to know.
    ///
    /// # Errors
    /// [`AgentError::Session`] where the session cannot be recorded.
    pub async fn begin_session(
        &mut self,
        source: SessionSource,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Result<(), AgentError> {
        let outcome = self.run_hooks(HookEvent::SessionStart { source }, host, cancel).await;
        let Some(context) = outcome.and_then(|outcome| outcome.context()) else { return Ok(()) };
        self.introduce(host)?;
        self.append(&host.message(Role::User, vec![Part::text(Origin::Hook, context)]), host)
    }

    /// Ends the work on the session.
    pub async fn end_session(&mut self, reason: EndReason, host: &Host<'_>, cancel: &CancellationToken) {
        self.run_hooks(HookEvent::SessionEnd { reason }, host, cancel).await;
    }

    /// Carries out one turn: from what the user says to the end of the answer.
    ///
    /// What is said is on the disk before anything is sent. Cancelling ends the turn with [`TurnEnd::Cancelled`], ends
    /// every tool that runs, and leaves a session that can go on.
    ///
    /// # Errors
    /// [`AgentError::Session`] where the session cannot be recorded. What happened until then waits in memory and is
    /// recorded first in the next turn; [`Agent::retry_turn`] goes on from there.
    pub async fn run_turn(
        &mut self,
        text: &str,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Result<TurnEnd, AgentError> {
        self.run_turn_with(vec![Part::user_text(text)], host, cancel).await
    }

    /// Carries out one turn that begins with these parts, of which the user's texts are the prompt.
    ///
    /// # Errors
    /// [`AgentError::Session`] where the session cannot be recorded.
    pub async fn run_turn_with(
        &mut self,
        parts: Vec<Part>,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Result<TurnEnd, AgentError> {
        self.declare(host);
        self.note(Activity::UserInput, host);
        let crew = self.crew.clone();
        let end = crew.beside(self.turn(parts, host, cancel), host, cancel).await?;
        self.close_turn(end, host)
    }

    /// Records what waits, and goes on with the turn that ended because it could not be recorded; nothing where no answer
    /// is owed.
    ///
    /// # Errors
    /// As [`Agent::run_turn`].
    pub async fn retry_turn(
        &mut self,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Result<Option<TurnEnd>, AgentError> {
        self.record_pending(host)?;
        let messages = self.conversation.transcript().messages();
        let Some(owed) = owed_after(messages) else { return Ok(None) };
        let prompt = messages.iter().rev().map(|message| typed(&message.parts)).find(|text| !text.is_empty());
        let prompt = prompt.unwrap_or_default();
        self.declare(host);
        self.reset_watch();
        let crew = self.crew.clone();
        let end = crew.beside(self.go_on(owed, &prompt, host, cancel), host, cancel).await?;
        self.close_turn(end, host).map(Some)
    }

    async fn go_on(
        &mut self,
        owed: Owed,
        prompt: &str,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Result<TurnEnd, AgentError> {
        if let Owed::Results(calls) = owed
            && let Flow::Ends(end) = self.take_calls(calls, host, cancel).await?
        {
            return Ok(end);
        }
        self.work(prompt, host, cancel).await
    }

    fn close_turn(&mut self, end: TurnEnd, host: &Host<'_>) -> Result<TurnEnd, AgentError> {
        // What came of those that had to stop with it.
        self.hear_crew(host)?;
        self.record_pending(host)?;
        host.tell(Event::Ended(end.clone()));
        Ok(end)
    }

    /// Writes what could not be recorded before, and makes sure that the session is still where it was.
    ///
    /// # Errors
    /// [`AgentError::Session`]; what waits goes on waiting.
    pub fn record_pending(&mut self, host: &Host<'_>) -> Result<(), AgentError> {
        let flushed = self.conversation.flush();
        self.warn(host);
        Ok(flushed?)
    }

    async fn turn(
        &mut self,
        mut parts: Vec<Part>,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Result<TurnEnd, AgentError> {
        self.record_pending(host)?;
        self.reset_watch();
        parts = parts.into_iter().flat_map(without_pasted).collect();
        let prompt = typed(&parts);
        match self.before_agent(&prompt, host, cancel).await {
            Prompted::Passes(context) => parts.extend(context.map(|text| Part::text(Origin::Hook, text))),
            Prompted::Stopped(reason) => {
                self.begin(parts, host)?;
                return Ok(TurnEnd::Stopped { reason });
            }
            Prompted::Blocked(reason) => return Ok(TurnEnd::Blocked { reason }),
        }
        // The choice for the prompt before holds no longer.
        self.routed = None;
        self.begin(parts, host)?;
        self.work(&prompt, host, cancel).await
    }

    fn reset_watch(&mut self) {
        (self.loops, self.watch, self.strikes) = (LoopDetector::default(), LoopWatch::default(), 0);
        self.ending = None;
    }

    /// Lets the model work until it is done and nobody objects.
    async fn work(
        &mut self,
        prompt: &str,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Result<TurnEnd, AgentError> {
        let (mut steps, mut is_continued) = (0, false);
        loop {
            let end = self.take_steps(prompt, &mut steps, host, cancel).await?;
            let TurnEnd::Finished(_) = end else { return Ok(end) };
            if self.ending.is_none() && self.crew.is_out() {
                match self.wait_for_crew(cancel).await {
                    Some(()) => continue,
                    None => return Ok(TurnEnd::Cancelled),
                }
            }
            match self.after_agent(prompt, is_continued, host, cancel).await {
                Reviewed::Accepted => return Ok(end),
                Reviewed::Stopped(reason) => return Ok(TurnEnd::Stopped { reason }),
                Reviewed::Continued(reason) => {
                    is_continued = true;
                    self.append(&host.message(Role::User, vec![Part::text(Origin::Hook, reason)]), host)?;
                }
            }
        }
    }

    /// Asks the model and runs what it calls, until it calls nothing more.
    async fn take_steps(
        &mut self,
        prompt: &str,
        steps: &mut u32,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Result<TurnEnd, AgentError> {
        let mut newest = Newest::Words;
        loop {
            if let Some(end) = self.limit_reached(*steps) {
                return Ok(end);
            }
            if let Some(end) = self.hear_crew(host)? {
                return Ok(end);
            }
            *steps += 1;
            self.asked += 1;
            if let Some(end) = self.make_room(newest, host, cancel).await? {
                return Ok(end);
            }
            if let Some(end) = self.reconsider(prompt, *steps, newest, host, cancel).await? {
                return Ok(end);
            }
            host.tell(Event::StepBegan { step: *steps });
            newest = Newest::Results;
            match self.ask(host, cancel).await? {
                Step::Ended(end) => return Ok(end),
                Step::Calls(calls) => {
                    if let Flow::Ends(end) = self.take_calls(calls, host, cancel).await? {
                        return Ok(end);
                    }
                }
                Step::Looping(found) => {
                    if let Some(end) = self.strike(in_words(&found), host)? {
                        return Ok(end);
                    }
                }
            }
        }
    }

    /// Asks, now that there is room, whether the work gets anywhere and, for a new prompt, who is to answer it. Makes room
    /// once more where that takes it.
    async fn reconsider(
        &mut self,
        prompt: &str,
        step: u32,
        newest: Newest,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Result<Option<TurnEnd>, AgentError> {
        let room = self.room();
        let standstill = self.find_standstill(prompt, host, cancel).await;
        let is_told = standstill.is_some();
        if let Some(detail) = standstill
            && let Some(end) = self.strike(detail, host)?
        {
            return Ok(Some(end));
        }
        if step == 1 {
            self.choose_model(host, cancel).await;
        }
        if cancel.is_cancelled() {
            return Ok(Some(TurnEnd::Cancelled));
        }
        match is_told || self.room() < room {
            true => self.make_room(newest, host, cancel).await,
            false => Ok(None),
        }
    }

    /// Runs the calls, unless they only repeat earlier ones.
    async fn take_calls(
        &mut self,
        calls: Vec<ToolCall>,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Result<Flow, AgentError> {
        let watched = if self.settings.watches_loops { calls.as_slice() } else { &[] };
        let found = watched.iter().filter_map(|call| self.loops.observe_call(call)).last();
        let Some(found) = found else { return self.run_calls(calls, host, cancel).await };
        self.refuse_calls(&calls, "This call was not run, because it only repeats earlier ones.", host)?;
        Ok(self.strike(in_words(&found), host)?.map_or(Flow::GoesOn, Flow::Ends))
    }

    /// Tells the model that it goes round in circles; the second time, the turn ends.
    fn strike(&mut self, detail: String, host: &Host<'_>) -> Result<Option<TurnEnd>, AgentError> {
        self.strikes += 1;
        host.tell(Event::Looping { detail: detail.clone() });
        if self.strikes > 1 {
            return Ok(Some(TurnEnd::Looped { detail }));
        }
        self.loops.reset();
        let advice = include_str!("prompts/step_back.md").trim().replace("{{detail}}", &detail);
        self.append(&host.message(Role::User, vec![Part::text(Origin::Hook, advice)]), host)?;
        Ok(None)
    }

    fn limit_reached(&self, steps: u32) -> Option<TurnEnd> {
        let limits = self.settings.limits;
        if let Some(limit) = limits.session.filter(|limit| self.asked >= *limit) {
            return Some(TurnEnd::LimitReached { limit, of: LimitOf::Session });
        }
        (steps >= limits.turn).then_some(TurnEnd::LimitReached { limit: limits.turn, of: LimitOf::Turn })
    }

    async fn before_agent(&self, prompt: &str, host: &Host<'_>, cancel: &CancellationToken) -> Prompted {
        let event = HookEvent::BeforeAgent { prompt: prompt.to_string() };
        let Some(outcome) = self.run_hooks(event, host, cancel).await else { return Prompted::Passes(None) };
        if let Some(reason) = outcome.stop() {
            return Prompted::Stopped(reason.to_string());
        }
        match outcome.block() {
            Some(reason) => Prompted::Blocked(reason.to_string()),
            None => Prompted::Passes(outcome.context()),
        }
    }

    async fn after_agent(
        &mut self,
        prompt: &str,
        is_continued: bool,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Reviewed {
        let last = self.conversation.transcript().messages().last();
        let answer = last.map(|message| message.parts.iter().filter_map(Part::as_text).collect());
        let event = HookEvent::AfterAgent {
            prompt: prompt.to_string(),
            prompt_response: answer.unwrap_or_default(),
            stop_hook_active: is_continued,
        };
        let Some(outcome) = self.run_hooks(event, host, cancel).await else { return Reviewed::Accepted };
        if outcome.clears_context()
            && let Err(error) = self.clear(host)
        {
            host.warn(error.to_string());
        }
        if let Some(reason) = outcome.stop() {
            return Reviewed::Stopped(reason.to_string());
        }
        match outcome.block() {
            Some(reason) if !cancel.is_cancelled() => Reviewed::Continued(reason.to_string()),
            _ => Reviewed::Accepted,
        }
    }

    /// Takes everything back that was said, with the skills and the plan that were followed. The log keeps it.
    ///
    /// # Errors
    /// [`AgentError::Session`]; then nothing has changed.
    pub fn clear(&mut self, host: &Host<'_>) -> Result<(), AgentError> {
        if let Some(first) = self.conversation.log().replay().messages().first() {
            let id = first.id.clone();
            self.conversation.rewind_to(&id)?;
        }
        self.counted = None;
        self.ide.forget();
        self.forget_instructions(host)
    }

    /// Records what was said, and before the first words of a session where it takes place.
    fn begin(&mut self, mut parts: Vec<Part>, host: &Host<'_>) -> Result<(), AgentError> {
        if let Some(news) = self.reload_memory(host) {
            parts.insert(0, news);
        }
        if let Some(editor) = self.look_at_editor(host) {
            parts.insert(0, editor);
        }
        if let Some(surroundings) = self.introduce(host)? {
            parts.insert(0, surroundings);
        }
        self.append(&host.message(Role::User, parts), host)
    }

    /// Records the system prompt, and in a new session where it takes place; gives that back where a session that began
    /// elsewhere has yet to learn it.
    fn introduce(&mut self, host: &Host<'_>) -> Result<Option<Part>, AgentError> {
        self.record_system(host)?;
        let is_new = self.conversation.transcript().messages().is_empty();
        if is_new {
            let surroundings = self.surroundings(host);
            self.append(&host.message(Role::User, vec![surroundings]), host)?;
        } else if !self.conversation.transcript().messages().iter().any(tells_surroundings) {
            return Ok(Some(self.surroundings(host)));
        }
        Ok(None)
    }

    fn surroundings(&self, host: &Host<'_>) -> Part {
        let memory = self.memory.as_ref().map(|memory| memory.first_message(host));
        self.settings.surroundings.to_part(memory.as_deref())
    }

    /// Records the system prompt where it is another one than before.
    fn record_system(&mut self, host: &Host<'_>) -> Result<(), AgentError> {
        let content = FragmentContent::Text(self.system());
        let fragment = RecordedFragment { origin: Origin::Hook, place: Place::System, content };
        let mut recorded = self.conversation.log().replay().fragments().iter();
        if recorded.rfind(|known| known.place == Place::System) == Some(&fragment) {
            return Ok(());
        }
        Ok(self.conversation.record_fragment(fragment, host.stamp())?)
    }

    /// The system instruction: the prompt, then what memory has to say.
    pub(crate) fn system(&self) -> String {
        let memory = self.memory.as_ref().map_or("", |memory| memory.system());
        match (self.settings.system.as_str(), memory) {
            (system, "") => system.to_string(),
            ("", memory) => memory.to_string(),
            (system, memory) => format!("{system}\n\n{memory}"),
        }
    }

    pub(crate) fn append(&mut self, message: &Message, host: &Host<'_>) -> Result<(), AgentError> {
        let appended = self.conversation.append(message);
        self.warn(host);
        appended?;
        self.note(Activity::MessageAdded, host);
        Ok(())
    }

    /// Hands on what the session has to say, such as that its file was moved while in use.
    pub(crate) fn warn(&mut self, host: &Host<'_>) {
        while let Some(warning) = self.conversation.take_warning() {
            host.warn(warning);
        }
    }

    pub(crate) fn session_id(&self) -> String {
        self.conversation.log().replay().info().session_id.clone().unwrap_or_default()
    }

    pub(crate) fn is_subagent(&self) -> bool {
        self.settings.permissions.subagent.is_some()
    }

    /// Takes note of the tools that the model is told of.
    pub(crate) fn declare(&mut self, host: &Host<'_>) {
        let own = OwnTool::ALL.into_iter().filter(|tool| self.offers(*tool, host)).map(OwnTool::declaration);
        let agents = self.may_delegate(host).then(|| host.subagents.declaration());
        let manager = self.manager(host).map(MemoryManager::declaration);
        let hosts: Vec<ToolDeclaration> = host.tools.iter().map(|tool| tool.declaration()).collect();
        let places = hosts.iter().enumerate().map(|(place, tool)| (tool.name.clone(), place)).collect();
        let tools: Vec<ToolDeclaration> = match host.tools {
            // Without tools to work with there is nothing to look after, either; only a sub-agent still has to finish.
            [] if !self.is_subagent() => Vec::new(),
            _ => {
                let all = hosts.into_iter().chain(manager).chain(agents).chain(own);
                all.filter(|tool| self.settings.tools.includes(&tool.name)).collect()
            }
        };
        let tools = within_share(tools, self.settings.model.window, &self.settings.estimator);
        let tokens = size_of(&tools, &self.settings.estimator);
        self.declared = Declared { tools, tokens, places, offered: None };
    }
}

/// What is owed after these messages, if anything is.
fn owed_after(messages: &[Message]) -> Option<Owed> {
    let newest = messages.last()?;
    match newest.role {
        Role::Model => {
            let calls: Vec<ToolCall> = newest.calls().cloned().collect();
            (!calls.is_empty()).then_some(Owed::Results(calls))
        }
        _ => (!tells_surroundings(newest) || !typed(&newest.parts).is_empty()).then_some(Owed::Answer),
    }
}

/// The part, with what the user pasted into their text apart from what they typed.
fn without_pasted(part: Part) -> Vec<Part> {
    match part {
        Part { origin: Origin::User, body: Body::Text(text), extra: None } if !text.is_empty() => {
            split_pasted(&text)
        }
        part => vec![part],
    }
}

/// What the user typed.
fn typed(parts: &[Part]) -> String {
    let own = parts.iter().filter(|part| part.origin == Origin::User);
    own.filter_map(Part::as_text).collect::<Vec<_>>().join("\n")
}

fn in_words(found: &Loop) -> String {
    match found {
        Loop::Calls { tools } if tools.len() == 1 => format!("the same call of {} over and over", tools[0]),
        Loop::Calls { tools } => format!("the same round of calls over and over: {}", tools.join(", ")),
        Loop::Words { text } => format!("the same words over and over: {:?}", text.trim()),
    }
}

pub(crate) fn tells_surroundings(message: &Message) -> bool {
    let own = |part: &Part| part.origin != Origin::User && part.as_text().is_some_and(is_session_context);
    message.parts.iter().any(own)
}

fn is_session_context(text: &str) -> bool {
    text.trim_start().starts_with("<session_context>")
}
