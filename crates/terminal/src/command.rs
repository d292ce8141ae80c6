//! What goes to whoever holds the agent, and what comes back.

use std::path::PathBuf;

use longhaul_agent::{Approval, ApprovalRequest, Event, Question};
use longhaul_conversation::{MessageId, TokenCount};
use longhaul_engine::Outcome;
use longhaul_policy::ApprovalMode;

use crate::page::Page;
use crate::review::{Inbox, InboxItem, Review, SkillChoice};

/// Something to be done with the agent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Command {
    /// Says something to the model.
    Submit(String),
    /// Runs a command of the user's own.
    Run(String),
    /// Makes the conversation smaller.
    Compact { focus: Option<String> },
    /// Tells what a compaction would do.
    PreviewCompaction,
    /// Takes the newest compaction back.
    UndoCompaction,
    /// Shows something.
    Show(Topic),
    /// Pins a rule.
    Pin(String),
    /// Takes a pin back, named by its id or the beginning of it.
    Unpin(String),
    /// Loads memory files again.
    ReloadMemory,
    /// Adds a fact to memory.
    AddMemory(String),
    /// Shows a skill.
    ShowSkill(String),
    /// Switches a skill on.
    EnableSkill(String),
    /// Switches a skill off.
    DisableSkill(String),
    /// Looks for skills again.
    ReloadSkills,
    /// Activates a skill and says something to the model.
    UseSkill { skill: String, words: String },
    /// Lists what waits.
    OpenInbox(Inbox),
    /// Shows something that waits.
    ShowWaiting(Inbox, String),
    /// Lets the user change something that waits, and accepts it then.
    EditWaiting(Inbox, String),
    /// Settles what waits.
    Review(Inbox, Review),
    /// Lists sessions to go on with.
    ListSessions,
    /// Goes on with a session.
    Resume(String),
    /// Lists messages to go back to.
    ListTurns,
    /// Goes back to before a message.
    RewindTo(MessageId),
    /// Starts over.
    Clear,
    /// Talks to another model.
    SwitchModel(String),
    /// Says how much the user wants to be asked.
    SetMode(ApprovalMode),
    /// Drafts a memory file.
    Init,
    /// Writes the conversation to a file.
    Export(Option<String>),
    /// Answers a question.
    Answer(AskId, Reply),
    /// Stops what is being done.
    Cancel,
    /// Ends.
    Leave,
}

/// Something to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    Context,
    Pins,
    Statistics,
    Memory,
    MemoryFiles,
    Skills,
    AllSkills,
    Model,
    Tools,
    Policy,
    Hooks,
    Trust,
}

/// Names a question while it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AskId(pub(crate) u64);

/// What the user answers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reply {
    /// About a call.
    Approval(Approval),
    /// To a question.
    Answer(Option<String>),
}

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Message {
    /// In a turn or a compaction.
    Happened(Event),
    /// A call needs the user's word.
    Asked(AskId, ApprovalRequest),
    /// The model has a question.
    Questioned(AskId, Question),
    /// How things stand now.
    Standing(Box<Standing>),
    /// What was spent so far, in dollars.
    Cost(Option<f64>),
    /// A page to show.
    Page(Page),
    /// Something to say.
    Notice(Notice),
    /// What came of a compaction that the user wanted.
    Compacted(Box<Outcome>),
    /// What a command of the user's own wrote.
    Ran { command: String, output: String },
    /// Sessions to choose from.
    Sessions(Vec<SessionChoice>),
    /// Messages to go back to, the newest first.
    Turns(Vec<TurnChoice>),
    /// A session was opened, of which these are the last words.
    Opened { title: String, last: Vec<Said> },
    /// What was typed is to be typed again.
    Restore(String),
    /// The skills that are there.
    Skills(Vec<SkillChoice>),
    /// What waits, for the user to settle.
    Inbox(Inbox, Vec<InboxItem>),
    /// What waits now, for whoever looks at it.
    InboxChanged(Inbox, Vec<InboxItem>),
    /// The user is to edit these files, and then to have this done.
    Edit { files: Vec<PathBuf>, then: Command },
    /// What was asked for is done.
    Done,
    /// Nothing could begin.
    Failed(Notice),
    /// The end.
    Left,
}

/// Something said earlier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) is_users: bool,
    pub(crate) text: String,
}

/// A session to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionChoice {
    /// Names it.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// When and how long, such as `3 h ago, 24 messages`.
    pub detail: String,
}

/// A message to go back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TurnChoice {
    pub(crate) id: MessageId,
    pub(crate) text: String,
    pub(crate) detail: String,
}

/// How something is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// It is good to know.
    Info,
    /// It went well.
    Good,
    /// It should be looked at.
    Warning,
    /// It went wrong.
    Error,
}

/// Something to say to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// How it is meant.
    pub level: Level,
    /// What is said.
    pub text: String,
    /// What can be done about it.
    pub hint: Option<String>,
}

impl Notice {
    /// Something good to know.
    pub fn info(text: impl Into<String>) -> Self {
        Self { level: Level::Info, text: text.into(), hint: None }
    }

    /// Something that went well.
    pub fn good(text: impl Into<String>) -> Self {
        Self { level: Level::Good, ..Self::info(text) }
    }

    /// Something that should be looked at.
    pub fn warning(text: impl Into<String>) -> Self {
        Self { level: Level::Warning, ..Self::info(text) }
    }

    /// Something that went wrong.
    pub fn error(text: impl Into<String>) -> Self {
        Self { level: Level::Error, ..Self::info(text) }
    }

    /// The same with what can be done about it.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// How things stand: what the status line shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Standing {
    pub(crate) model: String,
    pub(crate) folder: String,
    pub(crate) branch: Option<String>,
    pub(crate) mode: ApprovalMode,
    pub(crate) is_trusted: bool,
    pub(crate) memory_files: usize,
    pub(crate) pins: usize,
    pub(crate) changed_files: usize,
    /// What was spent, in dollars, where prices are known.
    pub(crate) cost: Option<f64>,
    pub(crate) meter: Meter,
}

/// How full the window is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meter {
    /// What the next request takes.
    pub(crate) used: TokenCount,
    /// What a request may take.
    pub(crate) room: TokenCount,
    /// Where a compaction is due, unless never.
    pub(crate) threshold: Option<TokenCount>,
    /// Whether the provider counted it.
    pub(crate) is_counted: bool,
    /// What it is made of.
    pub(crate) parts: Vec<(Segment, TokenCount)>,
}

/// What a part of the window is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Segment {
    /// The prompt and the declared tools.
    System,
    /// Instructions from files.
    Memory,
    /// What stands for what was compacted.
    Snapshot,
    /// What was said.
    History,
    /// What tools answered.
    Tools,
}

impl Segment {
    /// In the order they are shown.
    pub(crate) const ALL: [Self; 5] =
        [Self::System, Self::Memory, Self::Snapshot, Self::History, Self::Tools];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::System => "system and tools",
            Self::Memory => "memory",
            Self::Snapshot => "snapshot",
            Self::History => "history",
            Self::Tools => "tool output",
        }
    }
}
