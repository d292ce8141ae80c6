//! Runs a sub-agent: from its task to the call that hands over its result, within its limits.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use longhaul_compaction::HostJob;
use longhaul_conversation::{CallId, Origin, Part, Role};
use longhaul_engine::Spend;
use longhaul_policy::Rule;
use longhaul_session::{Log, NewSession, SessionKind};
use longhaul_tools::{ALIASES, Answer, BoxFuture, Outcome, Shown};
use serde_json::Value;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::behalf::OnBehalf;
use super::tool::Wait;
use super::{AgentModel, AgentTools, Definition};
use crate::manager::Store;
use crate::memory::SessionMemory;
use crate::own_tools::OwnTool;
use crate::settings::ToolChoice;
use crate::turn::{Agent, Lineage};
use crate::{
    AgentError, Event, Host, LimitOf, Limits, MemoryManager, ModelProfile, Nobody, Permissions, Settings,
    Statistics, Subagents, TurnEnd,
};

/// How long the last words may take.
const GRACE: Duration = Duration::from_secs(60);

/// The most characters of the last words of a sub-agent that ended without a result.
const LONGEST_LAST_WORDS: usize = 4_000;

/// What a sub-agent is told first.
const BEGIN: &str = "Work on your task now.";

/// How deep sub-agents may start others: the main agent is at 0.
const DEEPEST: u32 = 3;

/// A task for a sub-agent, with all that it takes over from the agent that gives it.
#[derive(Debug)]
pub(crate) struct Errand {
    definition: Definition,
    task: String,
    call: CallId,
    has_own_model: bool,
    wait: Wait,
    settings: Settings,
    memory: Option<SessionMemory>,
    /// The keeper of memory files, if that is who is sent.
    manager: Option<MemoryManager>,
    session: NewSession,
    lineage: Lineage,
    /// Whoever holds it may speak to the user.
    desk: Desk,
}

/// An agent and those that it started ask the user one after the other.
pub(crate) type Desk = Arc<AsyncMutex<()>>;

/// What comes back from a sub-agent.
#[derive(Debug)]
pub(crate) struct Returned {
    pub(crate) answer: Answer,
    pub(crate) aside: Aside,
}

/// What the agent that started it takes over beside the answer.
#[derive(Debug, Default)]
pub(crate) struct Aside {
    statistics: Statistics,
    /// What its compactions cost, which the caps of the session count, too.
    spend: Spend,
    /// What the user allowed from now on.
    granted: Vec<Rule>,
    /// Whether the user wants the turn to end.
    is_stopped: bool,
}

/// How the work of a sub-agent ended.
#[derive(Debug)]
pub(crate) enum Ended {
    Turn(TurnEnd),
    OutOfTime,
}

impl Agent {
    /// Whether this agent may start sub-agents.
    pub(crate) fn may_delegate(&self, host: &Host<'_>) -> bool {
        !host.subagents.is_empty() && self.lineage.depth < DEEPEST
    }

    /// The keeper of memory files, where this agent may call it.
    pub(crate) fn manager<'h>(&self, host: &Host<'h>) -> Option<&'h MemoryManager> {
        host.manager.filter(|_| self.lineage.depth < DEEPEST)
    }

    /// Makes a sub-agent ready for the task in these arguments.
    pub(crate) fn errand(&self, call: &CallId, args: &Value, host: &Host<'_>) -> Result<Errand, String> {
        let (definition, task, wait) = host.subagents.find(args)?;
        let all = host.tools.iter().map(|tool| tool.declaration().name).collect();
        let errand = self.errand_of(definition, all, task, call, host);
        let memory = self.memory.as_ref().map(|memory| {
            SessionMemory::load(memory.places().clone(), memory.settings().clone(), (host.now)())
        });
        Ok(Errand { wait, memory, ..errand })
    }

    /// Makes the keeper of memory files ready for the request in these arguments. To it they are material, no
    /// instructions.
    pub(crate) fn errand_of_manager(
        &self,
        manager: &MemoryManager,
        call: &CallId,
        args: &Value,
        host: &Host<'_>,
    ) -> Result<Errand, String> {
        let all = MemoryManager::TOOLS.map(str::to_string).into();
        let errand = self.errand_of(manager.definition(), all, manager.request(args)?, call, host);
        Ok(Errand { manager: Some(manager.clone()), ..errand })
    }

    /// Makes a sub-agent ready; `all` are the tools of one that may call every tool.
    fn errand_of(
        &self,
        definition: &Definition,
        all: Vec<String>,
        task: String,
        call: &CallId,
        host: &Host<'_>,
    ) -> Errand {
        let profile = self.model_for(definition, host);
        let log = self.conversation.log().replay().info();
        let at = (host.now)();
        let folders = &self.settings.surroundings.workspace;
        let session = NewSession {
            id: format!("{}-{}", definition.name, (host.new_id)()),
            project_hash: log.project.clone().unwrap_or_default(),
            kind: SessionKind::Subagent { parent: self.session_id() },
            directories: folders.iter().map(|folder| folder.display().to_string()).collect(),
            at,
        };
        let settings = Settings {
            system: format!("{}\n\n{}", definition.prompt, render_task(definition, &task)),
            permissions: Permissions {
                subagent: Some(definition.name.to_string()),
                ..self.settings.permissions.clone()
            },
            limits: Limits { session: None, turn: definition.most_turns },
            tools: tools_for(definition, all),
            compaction: longhaul_engine::Settings {
                caps: self.settings.compaction.caps.less(self.conversation.state().spend),
                ..self.settings.compaction.clone()
            },
            model: profile.clone().unwrap_or_else(|| self.settings.model.clone()),
            ..self.settings.clone()
        };
        Errand {
            definition: definition.clone(),
            task,
            call: call.clone(),
            has_own_model: profile.is_some(),
            wait: Wait::ForResult,
            settings,
            memory: None,
            manager: None,
            session,
            lineage: Lineage { chats: self.lineage.chats.clone(), depth: self.lineage.depth + 1 },
            desk: self.desk.clone(),
        }
    }

    /// What must be known of the model that a sub-agent asks, if it is another than that of this agent.
    fn model_for(&self, definition: &Definition, host: &Host<'_>) -> Option<ModelProfile> {
        let AgentModel::Named(name) = &definition.model else { return None };
        let found = match host.models {
            Some(models) => models.find(name).map(|named| named.profile),
            None => Err("no other model can be reached".to_string()),
        };
        found
            .map_err(|reason| {
                host.warn(format!(
                    "the sub-agent {:?} asks the model of the conversation instead of {name:?}: {reason}",
                    definition.name.as_str()
                ));
            })
            .ok()
    }

    /// Takes over what a sub-agent leaves behind.
    pub(crate) fn take_over(&mut self, aside: Aside, host: &Host<'_>) {
        self.statistics.add(&aside.statistics);
        if let Err(error) = self.conversation.add_spend(aside.spend, (host.now)()) {
            host.warn(format!("could not record what a sub-agent's compactions cost: {error}"));
        }
        for rule in aside.granted {
            self.grant(rule);
        }
        if aside.is_stopped {
            self.ending = Some(TurnEnd::Cancelled);
        }
    }
}

impl Errand {
    /// The call that asks for it.
    pub(super) fn call(&self) -> &CallId {
        &self.call
    }

    /// Whether the agent that gives the task waits for the result.
    pub(crate) fn wait(&self) -> Wait {
        self.wait
    }

    /// The entry among the things that run: under its name its recording is found.
    pub(crate) fn job(&self) -> HostJob {
        let what = format!("sub-agent {}: {}", self.definition.name, self.task);
        HostJob { name: self.session.id.clone(), what }
    }

    /// What comes back where the turn was over before it could begin.
    pub(super) fn give_up(self) -> Returned {
        let text =
            format!("The sub-agent {} did not begin, because the turn was over.", self.definition.name);
        Returned { answer: Answer::new(Outcome::Cancelled(text)), aside: Aside::default() }
    }

    /// Runs the sub-agent to its end. Cancelling ends it soon.
    pub(crate) fn run<'a>(
        self,
        host: &'a Host<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Returned> {
        Box::pin(async move {
            let name = self.definition.name.as_str();
            let log = match Log::create(&self.lineage.chats, &self.session) {
                Ok(log) => log,
                Err(error) => {
                    let error = with_causes(&error);
                    return Returned::failed(format!("The sub-agent {name} could not be started: {error}"));
                }
            };
            let store = match self.manager.as_ref().map(|manager| manager.open((host.now)())).transpose() {
                Ok(store) => store,
                Err(reason) => return Returned::failed(reason),
            };
            let tools = store.as_ref().map(Store::tools);
            let approver = OnBehalf::new(name, host.approver, self.desk);
            let events = |event| {
                let event = Box::new(event);
                host.tell(Event::Subagent { name: name.to_string(), call: self.call.clone(), event });
            };
            let found = match &self.definition.model {
                AgentModel::Named(name) if self.has_own_model => {
                    host.models.and_then(|models| models.find(name).ok())
                }
                _ => None,
            };
            let own = Host {
                model: found.as_ref().map_or(host.model, |named| named.model),
                // What counts for one model does not for another.
                counter: host.counter.filter(|_| !self.has_own_model),
                approver: &approver,
                tools: tools.as_deref().unwrap_or(host.tools),
                // Who keeps memory works alone.
                subagents: if store.is_some() { Subagents::NONE } else { host.subagents },
                manager: host.manager.filter(|_| store.is_none()),
                // Its model was chosen with it, and the editor is open for somebody else.
                router: None,
                ide: None,
                jobs: &Vec::new,
                events: &events,
                ..*host
            };
            let mut agent = Agent::on(log, self.settings);
            agent.memory = self.memory;
            agent.lineage = self.lineage;
            let begin = store.as_ref().map_or_else(|| BEGIN.to_string(), Store::opening);
            let ended = work_to_the_end(&mut agent, &begin, &self.definition, &approver, &own, cancel).await;
            let answer = match &ended {
                Ok(ended) => answer_of(&mut agent, name, ended, cancel),
                Err(error) => {
                    Answer::failed(format!("The sub-agent {name} had to stop: {}.", with_causes(error)))
                }
            };
            let answer = match &store {
                Some(store) => store.conclude(answer),
                None => answer,
            };
            let is_stopped = matches!(ended, Ok(Ended::Turn(TurnEnd::Cancelled))) && !cancel.is_cancelled();
            let spend = agent.conversation.state().spend;
            let aside = Aside { statistics: agent.statistics, spend, granted: agent.granted, is_stopped };
            Returned { answer, aside }
        })
    }
}

/// An error with its causes.
fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

impl Returned {
    fn failed(text: String) -> Self {
        Self { answer: Answer::failed(text), aside: Aside::default() }
    }
}

/// Lets an agent work that nobody else started and that can ask nobody, within the limits of its definition; `begin` is what it
/// reads first.
pub(crate) async fn run_alone(
    agent: &mut Agent,
    begin: &str,
    definition: &Definition,
    host: &Host<'_>,
    cancel: &CancellationToken,
) -> Result<Ended, AgentError> {
    let approver = OnBehalf::new(definition.name.as_str(), &Nobody, Desk::default());
    let host = Host { approver: &approver, ..*host };
    work_to_the_end(agent, begin, definition, &approver, &host, cancel).await
}

/// Lets a sub-agent work, and asks it once more for its result if it stops without one.
async fn work_to_the_end(
    agent: &mut Agent,
    begin: &str,
    definition: &Definition,
    approver: &OnBehalf<'_>,
    host: &Host<'_>,
    cancel: &CancellationToken,
) -> Result<Ended, AgentError> {
    let ended = work(agent, begin, definition.most_time, approver, host, cancel).await?;
    if agent.result.is_some() || cancel.is_cancelled() {
        return Ok(ended);
    }
    let Some(why) = reason_to_wrap_up(&ended, definition) else { return Ok(ended) };
    agent.settings.tools = ToolChoice::Only(vec![OwnTool::CompleteTask.name().to_string()]);
    agent.settings.limits = Limits { session: None, turn: 1 };
    let wrap_up = include_str!("../prompts/wrap_up.md").trim().replace("{{why}}", &why);
    let last = work(agent, &wrap_up, GRACE, approver, host, cancel).await?;
    Ok(match last {
        // What matters is why it had to be asked at all.
        Ended::Turn(TurnEnd::Finished(_) | TurnEnd::LimitReached { .. } | TurnEnd::Looped { .. }) => ended,
        other => other,
    })
}

/// Carries out one turn of a sub-agent within a limit of time, in which the time that the user takes does not count.
async fn work(
    agent: &mut Agent,
    text: &str,
    limit: Duration,
    approver: &OnBehalf<'_>,
    host: &Host<'_>,
    cancel: &CancellationToken,
) -> Result<Ended, AgentError> {
    let own = cancel.child_token();
    let parts = vec![Part::text(Origin::Hook, text)];
    let mut turn = pin!(agent.run_turn_with(parts, host, &own));
    let (mut left, mut waited) = (limit, approver.waited());
    while !left.is_zero() {
        if let Ok(end) = timeout(left, &mut turn).await {
            return Ok(Ended::Turn(end?));
        }
        left = approver.waited() - waited;
        waited += left;
    }
    own.cancel();
    turn.await?;
    Ok(Ended::OutOfTime)
}

/// Why a sub-agent is asked for its result, if asking can help.
fn reason_to_wrap_up(ended: &Ended, definition: &Definition) -> Option<String> {
    Some(match ended {
        Ended::OutOfTime => format!("Your time is up: {}.", in_words(definition.most_time)),
        Ended::Turn(TurnEnd::LimitReached { limit, of: LimitOf::Turn }) => {
            format!("You have used up your {limit} steps.")
        }
        Ended::Turn(TurnEnd::Finished(_)) => "You stopped without handing over a result.".to_string(),
        Ended::Turn(TurnEnd::Looped { detail }) => {
            format!("You were stopped for going round in circles ({detail}).")
        }
        Ended::Turn(_) => return None,
    })
}

/// What the agent reads that gave the task.
fn answer_of(agent: &mut Agent, name: &str, ended: &Ended, cancel: &CancellationToken) -> Answer {
    let statistics = &agent.statistics;
    let (requests, tools) =
        (statistics.requests, statistics.tools.values().map(|tool| tool.calls).sum::<u32>());
    let line = Shown::Line(format!("{name}: {requests} requests, {tools} tool calls"));
    if let Some(result) = agent.result.take() {
        return Answer::succeeded(result).shown(line);
    }
    let last = match last_words(agent) {
        Some(text) => format!("\n\nThe last it said:\n{text}"),
        None => String::new(),
    };
    if cancel.is_cancelled() || matches!(ended, Ended::Turn(TurnEnd::Cancelled)) {
        return Answer::new(Outcome::Cancelled(format!("The sub-agent {name} was stopped.{last}")));
    }
    let why = match ended {
        Ended::OutOfTime => "its time was up".to_string(),
        Ended::Turn(TurnEnd::Finished(_)) => "it did not hand one over".to_string(),
        Ended::Turn(TurnEnd::LimitReached { limit, .. }) => format!("it had used up its {limit} steps"),
        Ended::Turn(TurnEnd::Looped { detail }) => format!("it went round in circles ({detail})"),
        Ended::Turn(TurnEnd::Failed(error)) => error.to_string(),
        Ended::Turn(TurnEnd::Overflow(_)) => {
            "its conversation does not fit in its model's window".to_string()
        }
        Ended::Turn(TurnEnd::Stopped { reason } | TurnEnd::Blocked { reason }) => {
            format!("a hook stopped it: {reason}")
        }
        Ended::Turn(TurnEnd::Cancelled) => "it was stopped".to_string(),
    };
    Answer::failed(format!("The sub-agent {name} ended without a result: {why}.{last}")).shown(line)
}

/// What a sub-agent said last, within limits.
fn last_words(agent: &Agent) -> Option<String> {
    let messages = agent.conversation.transcript().messages().iter().rev();
    let texts = messages.filter(|message| message.role == Role::Model).map(|message| {
        let parts = message.parts.iter().filter(|part| part.origin == Origin::Model);
        parts.filter_map(Part::as_text).collect::<Vec<_>>().join("\n").trim().to_string()
    });
    let text = texts.into_iter().find(|text| !text.is_empty())?;
    Some(match text.char_indices().nth(LONGEST_LAST_WORDS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    })
}

/// What a sub-agent may call: what its definition names, a way to look back, and the call that ends it.
fn tools_for(definition: &Definition, all: Vec<String>) -> ToolChoice {
    let now = |name: &String| {
        ALIASES.iter().find(|(old, _)| old == name).map_or(name.clone(), |(_, new)| new.to_string())
    };
    let mut names: Vec<String> = match &definition.tools {
        AgentTools::All => all,
        AgentTools::Only(names) => names.iter().map(now).collect(),
    };
    names.extend([OwnTool::RecallHistory, OwnTool::CompleteTask].map(|tool| tool.name().to_string()));
    ToolChoice::Only(names)
}

/// The part of the prompt that names the task and the way to finish. It stands in the system prompt, where no compaction
/// shortens it.
fn render_task(definition: &Definition, task: &str) -> String {
    let text = include_str!("../prompts/subagent.md").trim();
    let text = text.replace("{{turns}}", &definition.most_turns.to_string());
    let text = text.replace("{{time}}", &in_words(definition.most_time));
    // Last, so that nothing in the task is taken for a place to fill; and no task ends the block it stands in.
    text.replace("{{task}}", &task.replace("</task", "<\u{2215}task"))
}

fn in_words(time: Duration) -> String {
    match time.as_secs() {
        60 => "1 minute".to_string(),
        seconds @ 0..=119 => format!("{seconds} seconds"),
        seconds => format!("{} minutes", seconds / 60),
    }
}
