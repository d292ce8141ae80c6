//! What goes to whoever holds the agent, and what comes back.

use std::path::PathBuf;

use longhaul_agent::{Approval, ApprovalRequest, Event, Question};
use longhaul_conversation::Estimator;
use longhaul_conversation::{MessageId, TokenCount};
use longhaul_engine::PassOutcome;
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
    /// Records what could not be recorded, and goes on with the turn that ended.
    Retry,
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
    /// Takes back what the user always allowed, named by its number or its words.
    Revoke(String),
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
    Compacted(Box<PassOutcome>),
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
    /// Nothing could begin, or the end cost something.
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

impl Meter {
    /// Something was said or answered that the provider has not counted yet.
    pub(crate) fn grow(&mut self, segment: Segment, text: &str) {
        let tokens = Estimator::default().text(text).tokens();
        match self.parts.iter_mut().find(|(known, _)| *known == segment) {
            Some((_, part)) => *part += tokens,
            None => self.parts.push((segment, tokens)),
        }
        self.used += tokens;
        self.is_counted = false;
    }

    /// The provider has counted: the parts keep their shares.
    pub(crate) fn count(&mut self, used: TokenCount) {
        self.scale(used);
        self.is_counted = true;
    }

    /// The conversation was shortened: until it is counted again, what is left is taken from what grows.
    pub(crate) fn shrink(&mut self, before: TokenCount, after: TokenCount) {
        let mut gone = before - after;
        for segment in [Segment::Tools, Segment::History] {
            for (_, part) in self.parts.iter_mut().filter(|(known, _)| *known == segment) {
                let taken = gone.min(*part);
                (*part, gone) = (*part - taken, gone - taken);
            }
        }
        self.used = self.used - (before - after);
        self.is_counted = false;
    }

    fn scale(&mut self, used: TokenCount) {
        let sum: u64 = self.parts.iter().map(|(_, tokens)| tokens.0).sum();
        for (_, tokens) in &mut self.parts {
            *tokens = TokenCount((tokens.0 as f64 / sum.max(1) as f64 * used.0 as f64).round() as u64);
        }
        self.used = used;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn meter() -> Meter {
        let parts = [(Segment::System, 100), (Segment::History, 100), (Segment::Tools, 200)];
        let parts = parts.map(|(segment, tokens)| (segment, TokenCount(tokens)));
        Meter { used: TokenCount(400), is_counted: true, parts: parts.into(), ..Meter::default() }
    }

    #[track_caller]
    fn check(meter: &Meter, used: u64, parts: &[u64], is_counted: bool) {
        let found: Vec<u64> = meter.parts.iter().map(|(_, tokens)| tokens.0).collect();
        assert_eq!((meter.used.0, found.as_slice(), meter.is_counted), (used, parts, is_counted));
    }

    #[test]
    fn the_meter_follows_a_turn() {
        let mut meter = meter();
        meter.grow(Segment::Tools, &"abcd".repeat(100));
        check(&meter, 500, &[100, 100, 300], false);
        meter.count(TokenCount(1_000));
        check(&meter, 1_000, &[200, 200, 600], true);
        meter.shrink(TokenCount(900), TokenCount(250));
        check(&meter, 350, &[200, 150, 0], false);
    }

    #[test]
    fn an_empty_meter_can_be_counted() {
        let mut meter = Meter::default();
        meter.count(TokenCount(7));
        meter.shrink(TokenCount(70), TokenCount(7));
        check(&meter, 0, &[], false);
        meter.grow(Segment::History, "four");
        check(&meter, 1, &[1], false);
    }
}
