//! The agent as applications use it: one session, on which it carries out turns.

use std::path::Path;

use longhaul_compaction::{Fixed, PlanOptions, Trigger};
use longhaul_conversation::{Part, TokenCount, ToolCall};
use longhaul_engine::{Conversation, PassOutcome};
use longhaul_hooks::{EndReason, HookEvent, SessionSource};
use longhaul_sessions::Log;
use tokio_util::sync::CancellationToken;

use crate::commands::{CommandPiece, FilledCommand};
use crate::deps::AgentDeps;
use crate::error::AgentError;
use crate::event::{InstructionSource, TurnEnd};
use crate::memory::SessionMemory;
use crate::settings::Settings;
use crate::statistics::Statistics;
use crate::turn::{
    AgentSession, AgentView, RequestWindow, TurnState, compact_on_request, declare_tools, fill_in, introduce,
    list_instructions, record_context, resume_turn, run_turn, stop_draft, truncate,
};

/// An agent at work on one session. It alone holds the session's state.
#[derive(Debug)]
pub struct Agent {
    pub(crate) session: AgentSession,
    pub(crate) turn: TurnState,
}

impl Agent {
    /// An agent that resumes the session in this log.
    pub fn on(log: Log, settings: Settings) -> Self {
        Self { session: AgentSession::new(log, settings), turn: TurnState::default() }
    }

    /// The same agent with these instructions from memory files.
    #[must_use]
    pub fn with_memory(mut self, memory: SessionMemory) -> Self {
        self.session.set_memory(memory);
        self
    }

    /// Carries out one turn: from what the user says to the end of the answer.
    ///
    /// The prompt is on the disk before anything is sent. Cancelling ends the turn with [`TurnEnd::Cancelled`], ends
    /// every tool that runs, and leaves a session that can go on.
    ///
    /// # Errors
    /// [`AgentError::Session`] where the session cannot be recorded. What happened until then waits in memory and is
    /// recorded first in the next turn; [`Agent::retry_turn`] continues from there.
    pub async fn run_turn(
        &mut self,
        text: &str,
        deps: &AgentDeps<'_>,
        cancel: &CancellationToken,
    ) -> Result<TurnEnd, AgentError> {
        self.run_turn_with(vec![Part::user_text(text)], deps, cancel).await
    }

    /// Carries out one turn that begins with these parts, of which the user's texts are the prompt.
    ///
    /// # Errors
    /// [`AgentError::Session`] where the session cannot be recorded.
    pub async fn run_turn_with(
        &mut self,
        parts: Vec<Part>,
        deps: &AgentDeps<'_>,
        cancel: &CancellationToken,
    ) -> Result<TurnEnd, AgentError> {
        run_turn(&mut self.session, &mut self.turn, parts, deps, cancel).await
    }

    /// Records what is pending, and continues the turn that ended because it could not be recorded; `None` where no answer
    /// is owed.
    ///
    /// # Errors
    /// As [`Agent::run_turn`].
    pub async fn retry_turn(
        &mut self,
        deps: &AgentDeps<'_>,
        cancel: &CancellationToken,
    ) -> Result<Option<TurnEnd>, AgentError> {
        resume_turn(&mut self.session, &mut self.turn, deps, cancel).await
    }

    /// Begins to work on the session: hooks may add context for the model.
    ///
    /// # Errors
    /// [`AgentError::Session`] where the session cannot be recorded.
    pub async fn begin_session(
        &mut self,
        source: SessionSource,
        deps: &AgentDeps<'_>,
        cancel: &CancellationToken,
    ) -> Result<(), AgentError> {
        let outcome = self.session.run_hooks(HookEvent::SessionStart { source }, deps, cancel).await;
        let Some(context) = outcome.and_then(|outcome| outcome.context()) else { return Ok(()) };
        introduce(&mut self.session, deps)?;
        record_context(&mut self.session, context, deps)
    }

    /// Ends the work on the session.
    pub async fn end_session(&mut self, reason: EndReason, deps: &AgentDeps<'_>, cancel: &CancellationToken) {
        stop_draft(&mut self.session, "the session ended", deps);
        self.session.run_hooks(HookEvent::SessionEnd { reason }, deps, cancel).await;
    }

    /// Shortens the conversation because the user wants it, with the topic that the snapshot is to keep more about.
    ///
    /// # Errors
    /// [`AgentError::Session`] where it could not be recorded; then nothing has changed.
    pub async fn compact(
        &mut self,
        focus: Option<String>,
        deps: &AgentDeps<'_>,
        cancel: &CancellationToken,
    ) -> Result<PassOutcome, AgentError> {
        declare_tools(&self.session, &mut self.turn, deps);
        compact_on_request(&mut self.session, &self.turn, focus, deps, cancel).await
    }

    /// Takes back everything that was said, with the skills and the plan that were followed. The log keeps it.
    ///
    /// # Errors
    /// [`AgentError::Session`]; then nothing has changed.
    pub fn clear(&mut self, deps: &AgentDeps<'_>) -> Result<(), AgentError> {
        stop_draft(&mut self.session, "the conversation was cleared", deps);
        self.session.clear(deps)
    }

    /// Writes what could not be recorded before, and makes sure that the session is still where it was.
    ///
    /// # Errors
    /// [`AgentError::Session`]; pending entries stay pending.
    pub fn record_pending(&mut self, deps: &AgentDeps<'_>) -> Result<(), AgentError> {
        self.session.record_pending(deps)
    }

    /// The session.
    pub fn conversation(&self) -> &Conversation {
        self.session.conversation()
    }

    /// The session, to undo compactions, add rules or go back in it.
    pub fn conversation_mut(&mut self) -> &mut Conversation {
        self.session.conversation_mut()
    }

    /// The settings of the work.
    pub fn settings(&self) -> &Settings {
        self.session.settings()
    }

    /// The settings of the work, to change them between turns.
    pub fn settings_mut(&mut self) -> &mut Settings {
        self.session.settings_mut()
    }

    /// The instructions from memory files.
    pub fn memory(&self) -> Option<&SessionMemory> {
        self.session.memory()
    }

    /// The instructions from memory files, to load them again.
    pub fn memory_mut(&mut self) -> Option<&mut SessionMemory> {
        self.session.memory_mut()
    }

    /// Every memory file, active skill and plan, with its state.
    pub fn instructions(&self) -> Vec<InstructionSource> {
        list_instructions(&self.session)
    }

    /// Counts of everything that was done so far.
    pub fn statistics(&self) -> &Statistics {
        self.session.statistics()
    }

    /// The most tokens of a request, with room left for the answer.
    pub fn input_limit(&self) -> TokenCount {
        self.window().input_limit()
    }

    /// Tokens of the next request: what the provider counted, and what came since by estimate.
    pub fn used(&self) -> TokenCount {
        self.window().used()
    }

    /// `true` if the provider has counted any of it.
    pub fn is_counted(&self) -> bool {
        self.window().is_counted()
    }

    /// Tokens of a request beside its messages.
    pub fn fixed(&self) -> Fixed {
        self.window().fixed()
    }

    /// The options with which a compaction would be planned now.
    pub fn compaction_options(&self, trigger: Trigger) -> PlanOptions {
        let window = self.window();
        window.compaction_options(window.input_limit(), trigger)
    }

    /// Truncates an output that is too long for the model; with the file in which the whole was saved. The tool itself left
    /// out `left_out` bytes, which are in no file.
    pub fn truncate_output(
        &self,
        call: &ToolCall,
        text: &str,
        left_out: u64,
        deps: &AgentDeps<'_>,
    ) -> (String, Option<String>) {
        truncate(&self.session, &self.turn, call, text, left_out, deps)
    }

    /// Fills in a custom command: its shell commands run under the rules and with the user's approval, its files are read
    /// relative to `folder`.
    ///
    /// # Errors
    /// A sentence about the first piece that may not run or is not there.
    pub async fn fill_in_command(
        &mut self,
        pieces: &[CommandPiece],
        folder: &Path,
        deps: &AgentDeps<'_>,
        cancel: &CancellationToken,
    ) -> Result<FilledCommand, String> {
        fill_in(&mut self.session, &mut self.turn, pieces, folder, deps, cancel).await
    }

    /// The agent to look at.
    pub fn view(&self) -> AgentView<'_> {
        AgentView { session: &self.session, turn: &self.turn }
    }

    fn window(&self) -> RequestWindow<'_> {
        RequestWindow::of(&self.session, &self.turn)
    }
}
