//! The session an agent works on: the recorded conversation, what is known about it, and the settings of the work.

use std::path::{Path, PathBuf};
use std::time::Duration;

use longhaul_compaction::{HostJob, HostState};
use longhaul_conversation::{Estimator, Message, TokenCount};
use longhaul_engine::{Conversation, Spend};
use longhaul_hooks::{EventName, HookEvent, HookOutcome};
use longhaul_policy::Rule;
use longhaul_sessions::Log;
use tokio_util::sync::CancellationToken;

use super::draft_ahead::DraftAhead;
use super::rereads::Rereads;
use crate::deps::AgentDeps;
use crate::editor::EditorContext;
use crate::error::AgentError;
use crate::event::{Event, Spending};
use crate::hooks::HookRunner;
use crate::memory::SessionMemory;
use crate::settings::Settings;
use crate::side_model::SideModel;
use crate::statistics::{Activity, Statistics};
use crate::tools::ActiveSkills;

/// The longest wait for the answer to a small question.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// A session with everything that outlives a turn. Only the turn changes it.
#[derive(Debug)]
pub(crate) struct AgentSession {
    /// The settings of the work. They stand here because an approval may add a rule while a turn runs.
    pub(super) settings: Settings,
    /// The log, its transcript and the state of compactions.
    pub(super) conversation: Conversation,
    /// The instructions from memory files; boxed, as a sub-agent of a sub-agent has a session of its own on the stack.
    pub(super) memory: Option<Box<SessionMemory>>,
    /// The size of the latest request, where the provider counted it and the transcript still begins with it.
    pub(super) counted: Option<CountedRequest>,
    /// The factor between the size that was shown before the latest compaction and its estimate, and the model it holds for:
    /// the size after it is told in the same measure, so that no compaction makes it larger.
    pub(super) scale: Option<(String, f64)>,
    /// The estimator that the session began with.
    first_estimator: Estimator,
    /// The editor, as the model last read about it.
    pub(super) editor: EditorContext,
    /// The files that were read.
    pub(super) rereads: Rereads,
    pub(super) statistics: Statistics,
    /// Steps taken in all turns.
    pub(super) steps: u32,
    /// The size at which the user last declined a compaction.
    pub(super) declined_at: Option<TokenCount>,
    /// The compaction that the model asked for, due before the next request.
    pub(super) compaction_request: Option<CompactionRequest>,
    /// The summary for the next compaction that a model writes beside the turn.
    pub(super) draft_ahead: DraftAhead,
    /// The rules that the user granted since the agent was started.
    pub(super) granted: Vec<Rule>,
    lineage: Lineage,
}

/// The place of an agent among those that start each other.
#[derive(Clone, Debug)]
pub(crate) struct Lineage {
    /// The folder below which sub-agents are recorded.
    pub(crate) chats: PathBuf,
    /// The number of agents above it: 0 for the main agent.
    pub(crate) depth: u32,
}

/// The size of a request, as the provider counted it.
#[derive(Clone, Debug)]
pub(crate) struct CountedRequest {
    /// The model that it was counted for: another one counts otherwise.
    pub(crate) model: String,
    pub(crate) tokens: TokenCount,
    /// The number of messages of the transcript that it held.
    pub(crate) messages: usize,
}

/// A compaction that the model asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CompactionRequest {
    pub(crate) focus: Option<String>,
}

/// The least and the most by which counts may change the estimates: beyond that it was not this request that was counted.
const SCALES: (f64, f64) = (0.5, 2.0);
/// A count below this share of the estimate is none of the whole request.
const LEAST_BELIEVED: f64 = 0.25;
/// A difference between counts and estimates below this share is left as it is.
const NOTICEABLE: f64 = 0.1;

impl AgentSession {
    /// The session in this log.
    pub(crate) fn new(log: Log, settings: Settings) -> Self {
        let chats = log.path().parent().map(Path::to_path_buf).unwrap_or_default();
        Self::of_subagent(log, settings, None, Lineage { chats, depth: 0 })
    }

    /// The session of a sub-agent.
    pub(crate) fn of_subagent(
        log: Log,
        settings: Settings,
        memory: Option<Box<SessionMemory>>,
        lineage: Lineage,
    ) -> Self {
        let conversation = Conversation::on(log, settings.estimator);
        let rereads = Rereads::of(&conversation.said());
        Self {
            conversation,
            memory,
            counted: None,
            scale: None,
            first_estimator: settings.estimator,
            settings,
            editor: EditorContext::default(),
            rereads,
            statistics: Statistics::default(),
            steps: 0,
            declined_at: None,
            compaction_request: None,
            draft_ahead: DraftAhead::default(),
            granted: Vec::new(),
            lineage,
        }
    }

    /// Takes instructions from memory files, and finds out which of them the conversation holds already.
    pub(crate) fn set_memory(&mut self, mut memory: SessionMemory) {
        memory.follow(self.conversation.transcript().messages());
        self.memory = Some(Box::new(memory));
    }

    /// The log and its transcript.
    pub(crate) fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// The log and its transcript, to change what is said.
    pub(crate) fn conversation_mut(&mut self) -> &mut Conversation {
        self.forget_latest_request();
        &mut self.conversation
    }

    /// The settings of the work.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The settings of the work, to change them between turns.
    pub(crate) fn settings_mut(&mut self) -> &mut Settings {
        &mut self.settings
    }

    /// The instructions from memory files.
    pub(crate) fn memory(&self) -> Option<&SessionMemory> {
        self.memory.as_deref()
    }

    /// The instructions from memory files, to load them again.
    pub(crate) fn memory_mut(&mut self) -> Option<&mut SessionMemory> {
        self.memory.as_deref_mut()
    }

    /// Counts of everything that was done.
    pub(crate) fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// The place among agents that start each other.
    pub(crate) fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    /// The id of the session.
    pub(crate) fn id(&self) -> String {
        self.conversation.log().replay().info().session_id.clone().unwrap_or_default()
    }

    /// `true` for the session of a sub-agent.
    pub(crate) fn is_subagent(&self) -> bool {
        self.settings.permissions.subagent.is_some()
    }

    /// Records a message.
    pub(crate) fn append(&mut self, message: &Message, deps: &AgentDeps<'_>) -> Result<(), AgentError> {
        let appended = self.conversation.append(message);
        self.pass_on_warnings(deps);
        appended?;
        self.note(Activity::MessageAdded, deps);
        Ok(())
    }

    /// Writes what could not be recorded before, and makes sure that the log is still where it was.
    pub(crate) fn record_pending(&mut self, deps: &AgentDeps<'_>) -> Result<(), AgentError> {
        let flushed = self.conversation.flush();
        self.pass_on_warnings(deps);
        Ok(flushed?)
    }

    /// Passes on warnings of the log, such as that its file was moved while in use.
    pub(super) fn pass_on_warnings(&mut self, deps: &AgentDeps<'_>) {
        while let Some(warning) = self.conversation.take_warning() {
            deps.warn(warning);
        }
    }

    /// Records the state of the application that no transcript holds: jobs, active skills, memory files.
    pub(crate) fn record_host_state(
        &mut self,
        running: Vec<HostJob>,
        deps: &AgentDeps<'_>,
    ) -> Result<(), AgentError> {
        // Skills that were activated before the session was resumed stay active.
        let mut skills = self.conversation.host().skills.clone();
        let activated = deps.skills.map(ActiveSkills::names).unwrap_or_default();
        skills.extend(activated.into_iter().filter(|name| !self.conversation.host().skills.contains(name)));
        let state = HostState {
            jobs: (deps.jobs)().into_iter().chain(running).collect(),
            skills,
            memory: self.memory.as_ref().map(|memory| memory.names()).unwrap_or_default(),
            ..self.conversation.host().clone()
        };
        self.set_host_state(state, deps)
    }

    fn set_host_state(&mut self, state: HostState, deps: &AgentDeps<'_>) -> Result<(), AgentError> {
        if state != *self.conversation.host() {
            self.conversation.set_host(state, deps.stamp())?;
        }
        Ok(())
    }

    /// Takes back everything that was said, with the skills and the plan that were followed. The log keeps it.
    pub(crate) fn clear(&mut self, deps: &AgentDeps<'_>) -> Result<(), AgentError> {
        if let Some(first) = self.conversation.log().replay().messages().first() {
            let id = first.id.clone();
            self.conversation.rewind_to(&id)?;
        }
        self.forget_latest_request();
        deps.skills.into_iter().for_each(ActiveSkills::forget);
        let state = HostState { skills: Vec::new(), plan: None, ..self.conversation.host().clone() };
        self.set_host_state(state, deps)
    }

    /// Keeps the provider's count of a request of so many messages, and estimates in its measure from now on.
    pub(super) fn take_count(&mut self, counted: CountedRequest, estimated: TokenCount) {
        let ratio = counted.tokens.0 as f64 / (estimated.0 as f64).max(1.0);
        let present =
            self.first_estimator.weights.chars_per_token / self.settings.estimator.weights.chars_per_token;
        // Some servers count only what they had not cached: a compaction that relied on that would come too late.
        if present * ratio < LEAST_BELIEVED {
            self.counted = None;
            return;
        }
        let factor = (present * ratio).clamp(SCALES.0, SCALES.1);
        if (factor / present - 1.0).abs() > NOTICEABLE {
            let estimator = self.first_estimator.scaled(factor);
            self.settings.estimator = estimator;
            self.conversation.set_estimator(estimator);
        }
        self.counted = Some(counted);
    }

    /// Forgets what depends on the latest request, because the next one begins otherwise.
    pub(super) fn forget_latest_request(&mut self) {
        self.counted = None;
        self.editor.forget();
    }

    /// The system instruction: the prompt, then the instructions from memory.
    pub(super) fn system(&self) -> String {
        let memory = self.memory.as_ref().map_or("", |memory| memory.system());
        match (self.settings.system.as_str(), memory) {
            (system, "") => system.to_string(),
            ("", memory) => memory.to_string(),
            (system, memory) => format!("{system}\n\n{memory}"),
        }
    }

    /// Notes an event among the latest activity.
    pub(super) fn note(&mut self, what: Activity, deps: &AgentDeps<'_>) {
        let activity = &mut self.statistics.activity;
        let at = (deps.now)();
        let mut is_due = false;
        match (self.settings.records_activity, activity.is_active()) {
            (true, false) => is_due = activity.start(at),
            (false, true) => activity.stop(),
            _ => {}
        }
        is_due |= activity.record(what, at);
        if is_due && let Some(bytes) = (deps.memory_use)() {
            activity.measure(bytes);
        }
    }

    /// Asks a side model and counts what that takes.
    pub(super) async fn ask_side_model(
        &mut self,
        model: SideModel<'_>,
        task: &str,
        question: &str,
        deps: &AgentDeps<'_>,
        cancel: &CancellationToken,
    ) -> Option<String> {
        let answer = model.ask(task, question, LONGEST_WAIT, cancel).await;
        self.statistics.side_calls.note(model.name, answer.consumed);
        let on = Spending::SideCall { model: model.name.to_string() };
        deps.emit(Event::Spent { on, consumed: answer.consumed });
        answer.text
    }

    /// The runner of the user's hooks, if there are any.
    pub(super) fn hook_runner<'a>(&self, deps: &AgentDeps<'a>) -> Option<HookRunner<'a>> {
        let points = deps.hooks?;
        Some(HookRunner {
            points,
            session_id: self.id(),
            transcript_path: self.conversation.log().path().to_path_buf(),
            cwd: self.settings.context.directory.clone(),
            events: deps.events,
            now: deps.now,
        })
    }

    /// Runs the hooks of an event, if there are any.
    pub(crate) async fn run_hooks(
        &self,
        event: HookEvent,
        deps: &AgentDeps<'_>,
        cancel: &CancellationToken,
    ) -> Option<HookOutcome> {
        let runner = self.hook_runner(deps)?;
        // What another agent says to a sub-agent is no prompt, and the result of its work is that of a tool.
        let is_of_turns = matches!(event.name(), EventName::BeforeAgent | EventName::AfterAgent);
        if is_of_turns && self.is_subagent() {
            return None;
        }
        if !runner.has(event.name()) {
            return None;
        }
        Some(runner.run(event, cancel).await)
    }

    /// Adds a rule that the user granted, effective at once.
    pub(super) fn grant(&mut self, rule: Rule) {
        let permissions = &mut self.settings.permissions;
        permissions.policy = std::mem::take(&mut permissions.policy).with(rule.clone());
        self.granted.push(rule);
    }

    /// Takes over the figures of a sub-agent that ended, and the rules that the user granted it.
    pub(crate) fn take_over(
        &mut self,
        statistics: &Statistics,
        spend: Spend,
        granted: Vec<Rule>,
        deps: &AgentDeps<'_>,
    ) {
        self.statistics.add(statistics);
        if let Err(error) = self.conversation.add_spend(spend, (deps.now)()) {
            deps.warn(format!("could not save the cost of a sub-agent's compactions: {error}"));
        }
        granted.into_iter().for_each(|rule| self.grant(rule));
    }

    /// Ends the work: its figures and the rules that were granted.
    pub(crate) fn into_figures(self) -> (Statistics, Spend, Vec<Rule>) {
        (self.statistics, self.conversation.state().spend, self.granted)
    }
}
