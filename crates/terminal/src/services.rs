//! What the program around the terminal brings: models, sessions, files.

use std::path::PathBuf;

use longhaul_agent::{Agent, AgentDeps};
use longhaul_conversation::Usage;

use longhaul_tools::BoxFuture;
use tokio::sync::mpsc::UnboundedSender;

use crate::command::{Message, Notice, SessionChoice};
use crate::page::Page;
use crate::review::{Inbox, InboxItem, Review, SkillChoice};

/// Who called a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spender<'a> {
    /// The conversation.
    Conversation,
    /// The sub-agent of this name.
    Subagent(&'a str),
    /// Somebody with a small question to the model of this name.
    Aside(&'a str),
}

/// What the program around the terminal brings. It is asked from the thread that holds the agent, so it may take its time.
pub trait Services: Send + Sync {
    /// What turns are carried out with. Events and questions are the terminal's own.
    fn host(&self) -> AgentDeps<'_>;

    /// The model's name, for people.
    fn model(&self) -> String;

    /// Names of models that could be talked to.
    fn models(&self) -> Vec<String>;

    /// Talks to another model from now on; tells what is worth knowing.
    ///
    /// # Errors
    /// Why that is not possible; then nothing has changed.
    fn switch_model(&mut self, agent: &mut Agent, name: &str) -> Result<Vec<Notice>, Notice>;

    /// What a call has cost, in dollars, where prices are known.
    fn cost(&self, caller: Spender<'_>, usage: &Usage) -> Option<f64>;

    /// The sessions of this folder, the newest first.
    ///
    /// # Errors
    /// Why they cannot be listed.
    fn sessions(&self) -> Result<Vec<SessionChoice>, Notice>;

    /// Goes on with another session.
    ///
    /// # Errors
    /// Why that is not possible; the one before goes on then.
    fn open(&mut self, session: &str) -> Result<Opened, Notice>;

    /// Writes the conversation to a file; tells where.
    ///
    /// # Errors
    /// Why it could not be written.
    fn export(&self, agent: &Agent, to: Option<&str>) -> Result<String, Notice>;

    /// Adds a fact to the user's memory; tells what changed.
    ///
    /// # Errors
    /// Why it could not be added.
    fn add_memory(&mut self, fact: &str) -> Result<String, Notice>;

    /// Whether this folder is trusted, and what follows.
    fn trust(&self) -> Page;

    /// The skills that are there.
    fn skills(&self) -> Vec<SkillChoice> {
        Vec::new()
    }

    /// The skills that count, each with where it comes from; or all that were found, with what is wrong.
    fn skill_list(&self, _all: bool) -> Page {
        Page::new("There are no skills here.")
    }

    /// A skill, as the model reads it.
    ///
    /// # Errors
    /// Why it cannot be shown.
    fn skill(&self, name: &str) -> Result<Page, Notice> {
        Err(Notice::error(format!("There is no skill {name}.")))
    }

    /// Switches a skill on or off, which counts at once; tells what changed.
    ///
    /// # Errors
    /// Why that is not possible; then nothing has changed.
    fn switch_skill(&mut self, _agent: &mut Agent, name: &str, _on: bool) -> Result<String, Notice> {
        Err(Notice::error(format!("There is no skill {name}.")))
    }

    /// Looks for skills again; tells what is new and what is gone.
    ///
    /// # Errors
    /// Why that is not possible; those from before count then.
    fn reload_skills(&mut self, _agent: &mut Agent) -> Result<String, Notice> {
        Ok("There are no skills here.".to_string())
    }

    /// What waits for the user.
    ///
    /// # Errors
    /// Why it cannot be listed.
    fn inbox(&self, _inbox: Inbox) -> Result<Vec<InboxItem>, Notice> {
        Ok(Vec::new())
    }

    /// Settles what waits, which counts at once; tells what became of it.
    ///
    /// # Errors
    /// Why that is not possible; it goes on waiting then.
    fn review(&mut self, _agent: &mut Agent, _inbox: Inbox, _review: &Review) -> Result<Notice, Notice> {
        Err(Notice::error("Nothing waits here."))
    }

    /// Ends whatever still runs in the background, and sees to what is left of the session.
    fn end<'a>(&'a self, agent: &'a Agent) -> BoxFuture<'a, ()>;
}

/// Says something to the user from wherever it is.
#[derive(Clone, Debug)]
pub struct Voice(pub(crate) UnboundedSender<Message>);

impl Voice {
    /// Says something.
    pub fn say(&self, notice: Notice) {
        // Where nobody listens any more, the end is near.
        self.0.send(Message::Notice(notice)).ok();
    }
}

/// An agent on a session, with what is worth knowing about how it was opened.
#[derive(Debug)]
pub struct Opened {
    /// The agent.
    pub agent: Agent,
    /// What is worth knowing.
    pub notices: Vec<Notice>,
}

/// How the terminal is used.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether there are colours.
    pub is_coloured: bool,
    /// A screen that is drawn, or lines alone.
    pub surface: Surface,
    /// The folder that is worked in.
    pub folder: PathBuf,
    /// How that folder is called.
    pub folder_name: String,
    /// The file that keeps what was typed, if it is kept.
    pub history: Option<PathBuf>,
    /// The command that opens the user's editor.
    pub editor: String,
    /// Said first.
    pub greeting: Vec<Notice>,
}

/// What there is to show things on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Surface {
    /// A terminal that can be drawn on.
    #[default]
    Screen,
    /// Lines, one after the other, where nothing can be drawn.
    Lines,
    /// Lines in words, without anything that is only for eyes: for screen readers.
    Spoken,
}

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The user left.
    Left,
    /// Nothing could begin; the user was told why.
    Failed,
    /// The system asked for it with this signal.
    Signal(i32),
}
