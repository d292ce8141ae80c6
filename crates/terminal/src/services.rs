//! The services the application provides: models, sessions, files.

use std::path::PathBuf;

use longhaul_agent::{Agent, AgentDeps, CommandPiece};
use longhaul_conversation::Usage;

use longhaul_tools::BoxFuture;
use tokio::sync::mpsc::UnboundedSender;

use crate::inbox::{InboxItem, InboxKind, ReviewDecision, SkillChoice};
use crate::memory::{MemoryReply, MemoryRequest};
use crate::notice::Notice;
use crate::offers::Offers;
use crate::page::Page;
use crate::preferences::Preferences;
use crate::protocol::{DriverMessage, SessionChoice};

/// The purpose of a model call, for its cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spender<'a> {
    /// The conversation.
    Conversation,
    /// The sub-agent of this name.
    Subagent(&'a str),
    /// A side question to the model of this name.
    Aside(&'a str),
}

/// The services the application provides. They are called on the agent's thread, so they may block.
pub trait Services: Send + Sync {
    /// The dependencies of a turn. The terminal supplies events and the approver itself.
    fn host(&self) -> AgentDeps<'_>;

    /// The model's display name.
    fn model(&self) -> String;

    /// The names of available models, those of the server first. May wait for the server.
    fn models(&self) -> Vec<String>;

    /// Switches to another model; returns notices for the user.
    ///
    /// # Errors
    /// The reason for the failure; nothing has changed.
    fn switch_model(&mut self, agent: &mut Agent, name: &str) -> Result<Vec<Notice>, Notice>;

    /// The cost of a call in dollars; none if the prices are unknown.
    fn cost(&self, caller: Spender<'_>, usage: &Usage) -> Option<f64>;

    /// The sessions of this folder, newest first.
    ///
    /// # Errors
    /// The reason why they cannot be listed.
    fn sessions(&self) -> Result<Vec<SessionChoice>, Notice>;

    /// Opens another session.
    ///
    /// # Errors
    /// The reason for the failure; the current session continues.
    fn open(&mut self, session: &str) -> Result<OpenedSession, Notice>;

    /// Exports the conversation to a file; returns a message that names it.
    ///
    /// # Errors
    /// The reason why it could not be written.
    fn export(&self, agent: &Agent, to: Option<&str>) -> Result<String, Notice>;

    /// Adds, removes or edits a fact of the user's memory.
    ///
    /// # Errors
    /// The reason why nothing was changed.
    fn change_memory(&mut self, request: &MemoryRequest) -> Result<MemoryReply, Notice>;

    /// The trust state of this folder and its consequences.
    fn trust(&self) -> Page;

    /// The MCP servers with their state and tools.
    fn servers(&self) -> Page {
        Page::new("No MCP servers here.")
    }

    /// The available skills.
    fn skills(&self) -> Vec<SkillChoice> {
        Vec::new()
    }

    /// A page with the active skills and their sources, or with all skills found and their problems.
    fn skill_list(&self, _all: bool) -> Page {
        Page::new("No skills here.")
    }

    /// A page with a skill as the model reads it.
    ///
    /// # Errors
    /// The reason why it cannot be shown.
    fn skill(&self, name: &str) -> Result<Page, Notice> {
        Err(Notice::error(format!("Unknown skill: {name}.")))
    }

    /// Enables or disables a skill at once; returns a message about the change.
    ///
    /// # Errors
    /// The reason for the failure; nothing has changed.
    fn switch_skill(&mut self, _agent: &mut Agent, name: &str, _on: bool) -> Result<String, Notice> {
        Err(Notice::error(format!("Unknown skill: {name}.")))
    }

    /// Searches for skills again; returns a message about new and missing ones.
    ///
    /// # Errors
    /// The reason for the failure; the known skills stay active.
    fn reload_skills(&mut self, _agent: &mut Agent) -> Result<String, Notice> {
        Ok("No skills here.".to_string())
    }

    /// Custom commands, settings and themes, for completion and help.
    fn offers(&self) -> Offers {
        Offers::default()
    }

    /// The pieces of a custom command, with what was typed behind its name in their places.
    ///
    /// # Errors
    /// The reason why it cannot be used, with its file.
    fn custom_command(&self, name: &str, _words: &str) -> Result<Vec<CommandPiece>, Notice> {
        Err(Notice::error(format!("Unknown command: /{name}.")))
    }

    /// A page with the settings that are set, or with one setting.
    ///
    /// # Errors
    /// The reason why it cannot be shown.
    fn settings_page(&self, _key: Option<&str>) -> Result<Page, Notice> {
        Err(Notice::info("No settings here."))
    }

    /// Sets a value in the user's settings, or removes it.
    ///
    /// # Errors
    /// The reason for the failure; nothing has changed.
    fn change_setting(&mut self, _key: &str, _value: Option<&str>) -> Result<ChangedSetting, Notice> {
        Err(Notice::info("No settings here."))
    }

    /// The items of an inbox.
    ///
    /// # Errors
    /// The reason why they cannot be listed.
    fn inbox(&self, _inbox: InboxKind) -> Result<Vec<InboxItem>, Notice> {
        Ok(Vec::new())
    }

    /// Carries out a decision about an inbox item at once; returns a notice about the result.
    ///
    /// # Errors
    /// The reason for the failure; the item stays in the inbox.
    fn review(
        &mut self,
        _agent: &mut Agent,
        _inbox: InboxKind,
        _review: &ReviewDecision,
    ) -> Result<Notice, Notice> {
        Err(Notice::error("The inbox is empty."))
    }

    /// The command that resumes the session later, if it can be.
    fn resume_command(&self) -> Option<String> {
        None
    }

    /// Ends all background work and completes the session.
    fn end<'a>(&'a self, agent: &'a Agent) -> BoxFuture<'a, ()>;
}

/// A setting that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedSetting {
    /// A message about the change.
    pub notice: Notice,
    /// The preferences as they are now.
    pub preferences: Preferences,
}

/// Sends notices to the user from any thread.
#[derive(Clone, Debug)]
pub struct NoticeSender(pub(crate) UnboundedSender<DriverMessage>);

impl NoticeSender {
    /// Sends a notice.
    pub fn send(&self, notice: Notice) {
        // A closed channel means that the screen is gone.
        self.0.send(DriverMessage::Notice(notice)).ok();
    }
}

/// An agent on an open session.
#[derive(Debug)]
pub struct OpenedSession {
    /// The agent.
    pub agent: Agent,
    /// Notices about opening it.
    pub notices: Vec<Notice>,
}

/// The options of the interactive agent.
#[derive(Clone, Debug)]
pub struct Options {
    /// The user's preferences about looks and keys.
    pub preferences: Preferences,
    /// The output surface.
    pub surface: Surface,
    /// The working folder.
    pub folder: PathBuf,
    /// The display name of the working folder.
    pub folder_name: String,
    /// The user's home folder, for pasted paths that begin with `~`.
    pub user_home: Option<PathBuf>,
    /// The file that keeps typed lines, if any.
    pub history: Option<PathBuf>,
    /// The command that opens the user's editor.
    pub editor: String,
    /// Notices to show first.
    pub greeting: Vec<Notice>,
    /// A prompt to send at the start, as if it had been typed.
    pub first_prompt: Option<String>,
}

/// An output surface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Surface {
    /// A terminal that can be drawn on.
    #[default]
    Screen,
    /// Plain lines, for terminals that cannot be drawn on.
    Lines,
    /// Plain lines without graphics, for screen readers.
    Spoken,
}

/// The reason for the exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    /// The user left.
    Left,
    /// The session failed; the user has been told why.
    Failed,
    /// The process received this signal.
    Signal(i32),
}
