//! Runs a sub-agent: from its task to the call that hands over its result, within its limits.

use std::pin::pin;
use std::time::Duration;

use longhaul_compaction::HostJob;
use longhaul_conversation::{CallId, Origin, Part, Role};
use longhaul_engine::Spend;
use longhaul_policy::Rule;
use longhaul_sessions::{Log, NewSession, SessionKind};
use longhaul_tools::{ALIASES, BoxFuture, ToolAnswer, ToolDisplay, ToolOutcome};
use serde_json::Value;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::approver::SubagentApprover;
use crate::approval::{ApprovalLock, DenyAll};
use crate::deps::AgentDeps;
use crate::error::AgentError;
use crate::event::{Event, LimitOf, TurnEnd};
use crate::memory::{ManagedFiles, MemoryManager, SessionMemory};
use crate::models::{ModelProfile, ModelSource};
use crate::settings::{Permissions, Settings, StepLimits, ToolSelection};
use crate::statistics::Statistics;
use crate::subagents::{SubagentDefinition, SubagentModel, SubagentTools, SubagentWait, Subagents};
use crate::tools::OwnTool;
use crate::turn::{AgentSession, Lineage, TurnState, run_turn};

/// The time in which a sub-agent may hand over its result after it was stopped.
const GRACE: Duration = Duration::from_secs(60);

/// The most characters of the last words of a sub-agent that ended without a result.
const LONGEST_LAST_WORDS: usize = 4_000;

/// The first message of a sub-agent.
const BEGIN: &str = "Work on your task now.";

/// A task for a sub-agent, with all that it takes over from the agent that gives it.
#[derive(Debug)]
pub(crate) struct SubagentTask {
    definition: SubagentDefinition,
    task: String,
    call: CallId,
    has_own_model: bool,
    wait: SubagentWait,
    settings: Settings,
    memory: Option<Box<SessionMemory>>,
    /// The memory manager, if that is the sub-agent.
    manager: Option<MemoryManager>,
    session: NewSession,
    lineage: Lineage,
    /// The approval lock of the agent that gives the task.
    approvals: ApprovalLock,
}

/// The result of a task.
#[derive(Debug)]
pub(crate) struct SubagentResult {
    pub(crate) answer: ToolAnswer,
    pub(crate) report: SubagentReport,
}

/// The report of a sub-agent to the one that started it, beside the answer.
#[derive(Debug, Default)]
pub(crate) struct SubagentReport {
    statistics: Statistics,
    /// The cost of its compactions, which the caps of the session count, too.
    spend: Spend,
    /// The rules that the user granted.
    granted: Vec<Rule>,
    /// `true` if the user wants the turn to end.
    is_stopped: bool,
}

/// The end of a sub-agent's work.
#[derive(Debug)]
pub(crate) enum SubagentEnd {
    Turn(TurnEnd),
    OutOfTime,
}

impl SubagentReport {
    /// Adds the figures and rules to those of the agent that started it.
    pub(crate) fn apply(self, session: &mut AgentSession, turn: &mut TurnState, deps: &AgentDeps<'_>) {
        session.take_over(&self.statistics, self.spend, self.granted, deps);
        if self.is_stopped {
            turn.end_with(TurnEnd::Cancelled);
        }
    }
}

impl SubagentTask {
    /// The task in the arguments of a call.
    pub(crate) fn from_call(
        session: &AgentSession,
        approvals: &ApprovalLock,
        call: &CallId,
        args: &Value,
        deps: &AgentDeps<'_>,
    ) -> Result<Self, String> {
        let (definition, task, wait) = deps.subagents.find(args)?;
        let all = deps.tools.iter().map(|tool| tool.declaration().name).collect();
        let task = Self::new(session, approvals, definition, all, task, call, deps);
        let memory = session.memory().map(|memory| {
            let (places, settings) = (memory.places().clone(), memory.settings().clone());
            Box::new(SessionMemory::load(places, settings, (deps.now)()))
        });
        Ok(Self { wait, memory, ..task })
    }

    /// The request to the memory manager in the arguments of a call. They are data to it, not instructions.
    pub(crate) fn for_manager(
        session: &AgentSession,
        approvals: &ApprovalLock,
        manager: &MemoryManager,
        call: &CallId,
        args: &Value,
        deps: &AgentDeps<'_>,
    ) -> Result<Self, String> {
        let all = MemoryManager::TOOLS.map(str::to_string).into();
        let request = manager.request(args)?;
        let task = Self::new(session, approvals, manager.definition(), all, request, call, deps);
        Ok(Self { manager: Some(manager.clone()), ..task })
    }

    /// A task; `all` are the tools of a sub-agent that may call every tool.
    fn new(
        session: &AgentSession,
        approvals: &ApprovalLock,
        definition: &SubagentDefinition,
        all: Vec<String>,
        task: String,
        call: &CallId,
        deps: &AgentDeps<'_>,
    ) -> Self {
        let profile = find_model(definition, deps);
        let (settings, conversation) = (session.settings(), session.conversation());
        let folders = &settings.context.workspace;
        let new_session = NewSession {
            id: format!("{}-{}", definition.name, (deps.new_id)()),
            project_hash: conversation.log().replay().info().project.clone().unwrap_or_default(),
            kind: SessionKind::Subagent { parent: session.id() },
            directories: folders.iter().map(|folder| folder.display().to_string()).collect(),
            at: (deps.now)(),
        };
        let settings = Settings {
            system: format!("{}\n\n{}", definition.prompt, render_task(definition, &task)),
            permissions: Permissions {
                subagent: Some(definition.name.to_string()),
                ..settings.permissions.clone()
            },
            limits: StepLimits { session: None, turn: definition.most_turns },
            tools: tools_for(definition, all),
            compaction: longhaul_engine::Settings {
                caps: settings.compaction.caps.less(conversation.state().spend),
                ..settings.compaction.clone()
            },
            model: profile.clone().unwrap_or_else(|| settings.model.clone()),
            ..settings.clone()
        };
        let Lineage { chats, depth } = session.lineage().clone();
        Self {
            definition: definition.clone(),
            task,
            call: call.clone(),
            has_own_model: profile.is_some(),
            wait: SubagentWait::ForResult,
            settings,
            memory: None,
            manager: None,
            session: new_session,
            lineage: Lineage { chats, depth: depth + 1 },
            approvals: approvals.clone(),
        }
    }

    /// The call that asks for it.
    pub(super) fn call(&self) -> &CallId {
        &self.call
    }

    /// The way in which the agent that gives the task waits for the result.
    pub(crate) fn wait(&self) -> SubagentWait {
        self.wait
    }

    /// The entry among the things that run: under its name its recording is found.
    pub(crate) fn job(&self) -> HostJob {
        let what = format!("sub-agent {}: {}", self.definition.name, self.task);
        HostJob { name: self.session.id.clone(), what }
    }

    /// The result where the turn was over before the sub-agent could begin.
    pub(super) fn give_up(self) -> SubagentResult {
        let text =
            format!("The sub-agent {} did not begin, because the turn was over.", self.definition.name);
        SubagentResult {
            answer: ToolAnswer::new(ToolOutcome::Cancelled(text)),
            report: SubagentReport::default(),
        }
    }

    /// Runs the sub-agent to its end. Cancelling ends it soon.
    pub(crate) fn run<'a>(
        self,
        deps: &'a AgentDeps<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, SubagentResult> {
        Box::pin(async move {
            let name = self.definition.name.as_str();
            let log = match Log::create(&self.lineage.chats, &self.session) {
                Ok(log) => log,
                Err(error) => {
                    let error = with_causes(&error);
                    return SubagentResult::failed(format!(
                        "The sub-agent {name} could not be started: {error}"
                    ));
                }
            };
            let files = match self.manager.as_ref().map(|manager| manager.open((deps.now)())).transpose() {
                Ok(files) => files,
                Err(reason) => return SubagentResult::failed(reason),
            };
            let tools = files.as_ref().map(ManagedFiles::tools);
            let approver = SubagentApprover::new(name, deps.approver, self.approvals);
            let events = |event| {
                let event = Box::new(event);
                deps.emit(Event::Subagent { name: name.to_string(), call: self.call.clone(), event });
            };
            let found = match &self.definition.model {
                _ if !self.has_own_model => None,
                SubagentModel::Named(name) => deps.models.and_then(|models| models.find(name).ok()),
                SubagentModel::Helper => deps.models.and_then(ModelSource::helper),
                SubagentModel::Inherited => None,
            };
            let own = AgentDeps {
                model: found.as_ref().map_or(deps.model, |named| named.model),
                // One model counts otherwise than another.
                counter: deps.counter.filter(|_| !self.has_own_model),
                approver: &approver,
                tools: tools.as_deref().unwrap_or(deps.tools),
                // The memory manager works alone.
                subagents: if files.is_some() { Subagents::NONE } else { deps.subagents },
                manager: deps.manager.filter(|_| files.is_none()),
                // Its model was chosen with it, and the editor is open for somebody else.
                router: None,
                editor: None,
                jobs: &Vec::new,
                events: &events,
                observer: &|_| {},
                ..*deps
            };
            let mut session = AgentSession::of_subagent(log, self.settings, self.memory, self.lineage);
            let mut turn = TurnState::default();
            let begin = files.as_ref().map_or_else(|| BEGIN.to_string(), ManagedFiles::opening);
            let mut work = SubagentRun { session: &mut session, turn: &mut turn, approver: &approver };
            let ended = work.run_to_the_end(&begin, &self.definition, &own, cancel).await;
            let answer = match &ended {
                Ok(ended) => answer_of(&session, turn.take_result(), name, ended, cancel),
                Err(error) => {
                    ToolAnswer::failed(format!("The sub-agent {name} had to stop: {}.", with_causes(error)))
                }
            };
            let answer = match &files {
                Some(files) => files.conclude(answer),
                None => answer,
            };
            let is_stopped =
                matches!(ended, Ok(SubagentEnd::Turn(TurnEnd::Cancelled))) && !cancel.is_cancelled();
            let (statistics, spend, granted) = session.into_figures();
            let report = SubagentReport { statistics, spend, granted, is_stopped };
            SubagentResult { answer, report }
        })
    }
}

/// The profile of the model that a sub-agent asks, if it is another than that of the agent that starts it.
fn find_model(definition: &SubagentDefinition, deps: &AgentDeps<'_>) -> Option<ModelProfile> {
    let name = match &definition.model {
        SubagentModel::Inherited => return None,
        SubagentModel::Helper => return deps.models?.helper().map(|named| named.profile),
        SubagentModel::Named(name) => name,
    };
    let found = match deps.models {
        Some(models) => models.find(name).map(|named| named.profile),
        None => Err("no other models are available".to_string()),
    };
    found
        .map_err(|reason| {
            deps.warn(format!(
                "sub-agent {:?} uses the conversation's model instead of {name:?}: {reason}",
                definition.name.as_str()
            ));
        })
        .ok()
}

/// An error with its causes.
fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

impl SubagentResult {
    fn failed(text: String) -> Self {
        Self { answer: ToolAnswer::failed(text), report: SubagentReport::default() }
    }
}

/// Runs an agent that no other agent started and that can ask nobody, within the limits of its definition; `begin` is its
/// first message. Returns its result, if it handed one over, and how it ended.
pub(crate) async fn run_alone(
    session: &mut AgentSession,
    begin: &str,
    definition: &SubagentDefinition,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> (Option<String>, Result<SubagentEnd, AgentError>) {
    let approver = SubagentApprover::new(definition.name.as_str(), &DenyAll, ApprovalLock::default());
    let deps = AgentDeps { approver: &approver, ..*deps };
    let mut turn = TurnState::default();
    let mut work = SubagentRun { session, turn: &mut turn, approver: &approver };
    let ended = work.run_to_the_end(begin, definition, &deps, cancel).await;
    (turn.take_result(), ended)
}

/// The work of a sub-agent: one turn, or two where it has to be asked for its result.
struct SubagentRun<'w, 'a> {
    session: &'w mut AgentSession,
    turn: &'w mut TurnState,
    approver: &'w SubagentApprover<'a>,
}

impl SubagentRun<'_, '_> {
    /// Runs the sub-agent, and asks it once more for its result if it stops without one.
    async fn run_to_the_end(
        &mut self,
        begin: &str,
        definition: &SubagentDefinition,
        deps: &AgentDeps<'_>,
        cancel: &CancellationToken,
    ) -> Result<SubagentEnd, AgentError> {
        let ended = self.run_turn(begin, definition.most_time, deps, cancel).await?;
        if self.turn.has_result() || cancel.is_cancelled() {
            return Ok(ended);
        }
        let Some(why) = reason_to_wrap_up(&ended, definition) else { return Ok(ended) };
        let settings = self.session.settings_mut();
        settings.tools = ToolSelection::Only(vec![OwnTool::CompleteTask.name().to_string()]);
        settings.limits = StepLimits { session: None, turn: 1 };
        let wrap_up = include_str!("../prompts/wrap_up.md").trim().replace("{{why}}", &why);
        let last = self.run_turn(&wrap_up, GRACE, deps, cancel).await?;
        Ok(match last {
            // What matters is why it had to be asked at all.
            SubagentEnd::Turn(
                TurnEnd::Finished(_) | TurnEnd::LimitReached { .. } | TurnEnd::Looped { .. },
            ) => ended,
            other => other,
        })
    }

    /// Carries out one turn within a limit of time, in which the time that the user takes does not count.
    async fn run_turn(
        &mut self,
        text: &str,
        limit: Duration,
        deps: &AgentDeps<'_>,
        cancel: &CancellationToken,
    ) -> Result<SubagentEnd, AgentError> {
        let own = cancel.child_token();
        let parts = vec![Part::text(Origin::Hook, text)];
        let mut turn = pin!(run_turn(self.session, self.turn, parts, deps, &own));
        let (mut left, mut waited) = (limit, self.approver.waited());
        while !left.is_zero() {
            if let Ok(end) = timeout(left, &mut turn).await {
                return Ok(SubagentEnd::Turn(end?));
            }
            left = self.approver.waited() - waited;
            waited += left;
        }
        own.cancel();
        turn.await?;
        Ok(SubagentEnd::OutOfTime)
    }
}

/// The reason to ask a sub-agent for its result, if asking can help.
fn reason_to_wrap_up(ended: &SubagentEnd, definition: &SubagentDefinition) -> Option<String> {
    Some(match ended {
        SubagentEnd::OutOfTime => format!("Your time is up: {}.", in_words(definition.most_time)),
        SubagentEnd::Turn(TurnEnd::LimitReached { limit, of: LimitOf::Turn }) => {
            format!("You have used up your {limit} steps.")
        }
        SubagentEnd::Turn(TurnEnd::Finished(_)) => "You stopped without handing over a result.".to_string(),
        SubagentEnd::Turn(TurnEnd::Looped { detail }) => {
            format!("You were stopped for going round in circles ({detail}).")
        }
        SubagentEnd::Turn(_) => return None,
    })
}

/// The answer that the agent reads that gave the task.
fn answer_of(
    session: &AgentSession,
    result: Option<String>,
    name: &str,
    ended: &SubagentEnd,
    cancel: &CancellationToken,
) -> ToolAnswer {
    let statistics = session.statistics();
    let (requests, tools) =
        (statistics.requests, statistics.tools.values().map(|tool| tool.calls).sum::<u32>());
    let line = ToolDisplay::Line(format!("{name}: {requests} model requests, {tools} tool calls"));
    if let Some(result) = result {
        return ToolAnswer::succeeded(result).shown(line);
    }
    let last = match last_words(session) {
        Some(text) => format!("\n\nThe last it said:\n{text}"),
        None => String::new(),
    };
    if cancel.is_cancelled() || matches!(ended, SubagentEnd::Turn(TurnEnd::Cancelled)) {
        return ToolAnswer::new(ToolOutcome::Cancelled(format!("The sub-agent {name} was stopped.{last}")));
    }
    let why = match ended {
        SubagentEnd::OutOfTime => "its time was up".to_string(),
        SubagentEnd::Turn(TurnEnd::Finished(_)) => "it did not hand one over".to_string(),
        SubagentEnd::Turn(TurnEnd::LimitReached { limit, .. }) => format!("it had used up its {limit} steps"),
        SubagentEnd::Turn(TurnEnd::Looped { detail }) => format!("it went round in circles ({detail})"),
        SubagentEnd::Turn(TurnEnd::Failed(error)) => error.to_string(),
        SubagentEnd::Turn(TurnEnd::Overflow(_)) => {
            "its conversation does not fit in its model's window".to_string()
        }
        SubagentEnd::Turn(TurnEnd::Stopped { reason } | TurnEnd::Blocked { reason }) => {
            format!("a hook stopped it: {reason}")
        }
        SubagentEnd::Turn(TurnEnd::Cancelled) => "it was stopped".to_string(),
    };
    ToolAnswer::failed(format!("The sub-agent {name} ended without a result: {why}.{last}")).shown(line)
}

/// The last words of a sub-agent, within limits.
fn last_words(session: &AgentSession) -> Option<String> {
    let messages = session.conversation().transcript().messages().iter().rev();
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

/// The tools of a sub-agent: those that its definition names, a way to look back, and the call that ends it.
fn tools_for(definition: &SubagentDefinition, all: Vec<String>) -> ToolSelection {
    let now = |name: &String| {
        ALIASES.iter().find(|(old, _)| old == name).map_or(name.clone(), |(_, new)| new.to_string())
    };
    let mut names: Vec<String> = match &definition.tools {
        SubagentTools::All => all,
        SubagentTools::Only(names) => names.iter().map(now).collect(),
    };
    names.extend([OwnTool::RecallHistory, OwnTool::CompleteTask].map(|tool| tool.name().to_string()));
    ToolSelection::Only(names)
}

/// The part of the prompt that names the task and the way to finish. It stands in the system prompt, where no compaction
/// shortens it.
fn render_task(definition: &SubagentDefinition, task: &str) -> String {
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
