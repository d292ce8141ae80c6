//! An agent to look at, between its turns and while one runs.

use longhaul_compaction::{Fixed, PlanOptions, Trigger};
use longhaul_conversation::TokenCount;
use longhaul_engine::Conversation;

use super::instructions::list_instructions;
use super::session::AgentSession;
use super::state::TurnState;
use super::window::RequestWindow;
use crate::event::InstructionSource;
use crate::memory::SessionMemory;
use crate::settings::Settings;
use crate::statistics::Statistics;

/// An agent to look at.
#[derive(Clone, Copy, Debug)]
pub struct AgentView<'a> {
    pub(crate) session: &'a AgentSession,
    pub(crate) turn: &'a TurnState,
}

impl<'a> AgentView<'a> {
    /// The session.
    pub fn conversation(self) -> &'a Conversation {
        self.session.conversation()
    }

    /// The settings of the work.
    pub fn settings(self) -> &'a Settings {
        self.session.settings()
    }

    /// The instructions from memory files.
    pub fn memory(self) -> Option<&'a SessionMemory> {
        self.session.memory()
    }

    /// Every memory file, active skill and plan, with its state.
    pub fn instructions(self) -> Vec<InstructionSource> {
        list_instructions(self.session)
    }

    /// Counts of everything that was done so far.
    pub fn statistics(self) -> &'a Statistics {
        self.session.statistics()
    }

    /// The most tokens of a request, with room left for the answer.
    pub fn input_limit(self) -> TokenCount {
        self.window().input_limit()
    }

    /// Tokens of the next request: what the provider counted, and what came since by estimate.
    pub fn used(self) -> TokenCount {
        self.window().used()
    }

    /// `true` if the provider has counted any of it.
    pub fn is_counted(self) -> bool {
        self.window().is_counted()
    }

    /// Tokens of a request beside its messages.
    pub fn fixed(self) -> Fixed {
        self.window().fixed()
    }

    /// The options with which a compaction would be planned now.
    pub fn compaction_options(self, trigger: Trigger) -> PlanOptions {
        let window = self.window();
        window.compaction_options(window.input_limit(), trigger)
    }

    fn window(self) -> RequestWindow<'a> {
        RequestWindow::of(self.session, self.turn)
    }
}
