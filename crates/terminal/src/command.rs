//! The protocol between the screen and the driver: commands in, messages out.

use std::path::PathBuf;

use longhaul_agent::{Approval, ApprovalRequest, Event, Question};
use longhaul_conversation::Estimator;
use longhaul_conversation::{MessageId, TokenCount};
use longhaul_engine::Outcome;
use longhaul_policy::ApprovalMode;

use crate::page::Page;
use crate::review::{Inbox, InboxItem, Review, SkillChoice};

/// A command to the driver, which owns the agent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Command {
    /// Sends a message to the model.
    Submit(String),
    /// Runs a shell command that the user typed.
    Run(String),
    /// Records the entries that could not be recorded, and continues the interrupted turn.
    Retry,
    /// Compacts the conversation.
    Compact { focus: Option<String> },
    /// Shows the effect of a compaction without applying it.
    PreviewCompaction,
    /// Undoes the newest compaction.
    UndoCompaction,
    /// Shows a page.
    Show(Topic),
    /// Pins a rule.
    Pin(String),
    /// Removes a pin, named by its id or a prefix of it.
    Unpin(String),
    /// Reloads memory files.
    ReloadMemory,
    /// Adds a fact to memory.
    AddMemory(String),
    /// Shows a skill.
    ShowSkill(String),
    /// Enables a skill.
    EnableSkill(String),
    /// Disables a skill.
    DisableSkill(String),
    /// Searches for skills again.
    ReloadSkills,
    /// Activates a skill and sends a message to the model.
    UseSkill { skill: String, words: String },
    /// Lists the items of an inbox.
    OpenInbox(Inbox),
    /// Shows one inbox item.
    ShowWaiting(Inbox, String),
    /// Opens an inbox item in the user's editor, then accepts it.
    EditWaiting(Inbox, String),
    /// Accepts, dismisses or restores an inbox item.
    Review(Inbox, Review),
    /// Lists sessions to resume.
    ListSessions,
    /// Resumes a session.
    Resume(String),
    /// Lists messages to rewind to.
    ListTurns,
    /// Rewinds to just before a message.
    RewindTo(MessageId),
    /// Starts over with an empty conversation.
    Clear,
    /// Switches to another model.
    SwitchModel(String),
    /// Sets the approval mode.
    SetMode(ApprovalMode),
    /// Revokes a permission that the user granted for good, named by its number or its words.
    Revoke(String),
    /// Drafts a memory file.
    Init,
    /// Exports the conversation to a file.
    Export(Option<String>),
    /// Answers an approval request or a question.
    Answer(AskId, Reply),
    /// Cancels the current work.
    Cancel,
    /// Ends the session.
    Leave,
}

/// The topic of a page.
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

/// Identifies an open approval request or question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AskId(pub(crate) u64);

/// The user's reply to an approval request or a question.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reply {
    /// To an approval request.
    Approval(Approval),
    /// To a question; none if the user declined to answer.
    Answer(Option<String>),
}

/// A message from the driver to the screen.
#[derive(Debug)]
pub(crate) enum Message {
    /// An event of a turn or a compaction.
    Happened(Event),
    /// A tool call needs approval.
    Asked(AskId, ApprovalRequest),
    /// The model asks a question.
    Questioned(AskId, Question),
    /// The current content of the status line.
    Standing(Box<Standing>),
    /// The cost of the session so far, in dollars.
    Cost(Option<f64>),
    /// A page to show.
    Page(Page),
    /// A notice to the user.
    Notice(Notice),
    /// The outcome of a compaction that the user requested.
    Compacted(Box<Outcome>),
    /// The output of a shell command that the user typed.
    Ran { command: String, output: String },
    /// Sessions to choose from.
    Sessions(Vec<SessionChoice>),
    /// Messages to rewind to, the newest first.
    Turns(Vec<TurnChoice>),
    /// A session was opened; these are its last messages.
    Opened { title: String, last: Vec<Said> },
    /// Text that goes back into the input.
    Restore(String),
    /// The available skills.
    Skills(Vec<SkillChoice>),
    /// The items of an inbox, to review in a dialog.
    Inbox(Inbox, Vec<InboxItem>),
    /// The items that are left in an inbox, for an open review dialog.
    InboxChanged(Inbox, Vec<InboxItem>),
    /// Files to edit, and the command to send once they are saved.
    Edit { files: Vec<PathBuf>, then: Command },
    /// The command is done.
    Done,
    /// The session could not start, or did not end cleanly.
    Failed(Notice),
    /// The session has ended.
    Left,
}

/// An earlier message, as shown when a session is resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) is_users: bool,
    pub(crate) text: String,
}

/// A session to choose from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionChoice {
    /// The session's id.
    pub id: String,
    /// The session's title.
    pub title: String,
    /// Age and length, such as `3 h ago, 24 messages`.
    pub detail: String,
}

/// A message to rewind to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TurnChoice {
    pub(crate) id: MessageId,
    pub(crate) text: String,
    pub(crate) detail: String,
}

/// The severity of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// For information.
    Info,
    /// Success.
    Good,
    /// Needs attention.
    Warning,
    /// Failure.
    Error,
}

/// A notice to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Its severity.
    pub level: Level,
    /// The text.
    pub text: String,
    /// The remedy, if there is one.
    pub hint: Option<String>,
}

impl Notice {
    /// A notice for information.
    pub fn info(text: impl Into<String>) -> Self {
        Self { level: Level::Info, text: text.into(), hint: None }
    }

    /// A notice of success.
    pub fn good(text: impl Into<String>) -> Self {
        Self { level: Level::Good, ..Self::info(text) }
    }

    /// A warning.
    pub fn warning(text: impl Into<String>) -> Self {
        Self { level: Level::Warning, ..Self::info(text) }
    }

    /// An error.
    pub fn error(text: impl Into<String>) -> Self {
        Self { level: Level::Error, ..Self::info(text) }
    }

    /// Adds a hint about the remedy.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// The content of the status line.
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
    /// The cost so far, in dollars; none while prices are unknown.
    pub(crate) cost: Option<f64>,
    pub(crate) meter: Meter,
}

/// The usage of the context window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meter {
    /// The size of the next request.
    pub(crate) used: TokenCount,
    /// The largest request that fits.
    pub(crate) room: TokenCount,
    /// The size at which a compaction is due; none if never.
    pub(crate) threshold: Option<TokenCount>,
    /// True if the provider counted `used`, false if it is an estimate.
    pub(crate) is_counted: bool,
    /// The usage by segment.
    pub(crate) parts: Vec<(Segment, TokenCount)>,
}

impl Meter {
    /// Adds the estimate of a text that the provider has not counted yet.
    pub(crate) fn grow(&mut self, segment: Segment, text: &str) {
        let tokens = Estimator::default().text(text).tokens();
        match self.parts.iter_mut().find(|(known, _)| *known == segment) {
            Some((_, part)) => *part += tokens,
            None => self.parts.push((segment, tokens)),
        }
        self.used += tokens;
        self.is_counted = false;
    }

    /// Takes over the provider's count; the segments keep their shares.
    pub(crate) fn count(&mut self, used: TokenCount) {
        self.scale(used);
        self.is_counted = true;
    }

    /// Subtracts a compaction's gain from the segments that grow, until the next count.
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

/// A segment of the context window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Segment {
    /// The system prompt and the tool declarations.
    System,
    /// Memory files.
    Memory,
    /// The snapshot that replaced compacted messages.
    Snapshot,
    /// Messages of the user and the model.
    History,
    /// Tool output.
    Tools,
}

impl Segment {
    /// All segments, in display order.
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
