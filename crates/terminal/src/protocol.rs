//! The protocol between the screen and the driver: commands in, messages out.

use std::path::PathBuf;

use longhaul_agent::{Approval, ApprovalRequest, Event, UserQuestion};
use longhaul_conversation::{MessageId, Ordinal};
use longhaul_engine::PassOutcome;
use longhaul_policy::ApprovalMode;

use crate::image::PastedImage;
use crate::inbox::{InboxItem, InboxKind, ReviewDecision, SkillChoice};
use crate::memory::MemoryRequest;
use crate::notice::Notice;
use crate::offers::Offers;
use crate::page::Page;
use crate::preferences::Preferences;
use crate::status_line::StatusLine;

/// A command to the driver, which owns the agent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DriverCommand {
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
    /// Drops the tool outputs of a message, or of a turn by its first message, named by a number such as `m12`.
    DropOutputs(Ordinal),
    /// Shows a page.
    Show(Topic),
    /// Adds a rule.
    AddRule(String),
    /// Removes a rule, named by its id or a prefix of it.
    RemoveRule(String),
    /// Adds a request.
    AddRequest(String),
    /// Marks a request as done, named by its id or a prefix of it.
    FinishRequest(String),
    /// Removes a request, named in the same way.
    RemoveRequest(String),
    /// Reloads memory files.
    ReloadMemory,
    /// Adds, removes or edits a fact.
    ChangeMemory(MemoryRequest),
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
    /// Fills in a prompt of an MCP server and sends it to the model; `unknown` is said if there is none of this name.
    UsePrompt { name: String, words: String, unknown: String },
    /// Lists the items of an inbox.
    OpenInbox(InboxKind),
    /// Shows one inbox item.
    ShowWaiting(InboxKind, String),
    /// Opens an inbox item in the user's editor, then accepts it.
    EditWaiting(InboxKind, String),
    /// Accepts, dismisses or restores an inbox item.
    Review(InboxKind, ReviewDecision),
    /// Lists sessions to resume.
    ListSessions,
    /// Resumes a session.
    Resume(String),
    /// Lists messages to rewind to.
    ListTurns,
    /// Rewinds to just before a message.
    RewindTo(MessageId),
    /// Offers once more to restore files to the point of the latest rewind.
    RestoreFiles,
    /// Takes back the latest restoration of files.
    UndoRestore,
    /// Starts over with an empty conversation.
    Clear,
    /// Switches to another model.
    SwitchModel(String),
    /// Sets the approval mode.
    SetMode(ApprovalMode),
    /// Revokes a permission that the user granted for good, named by its number or its words.
    Revoke(String),
    /// Shows the settings that are set, or one setting.
    ShowSettings(Option<String>),
    /// Sets a value in the user's settings, or removes it.
    ChangeSetting { key: String, value: Option<String> },
    /// Fills in a custom command and sends it to the model.
    RunCustom { name: String, words: String },
    /// Sends an image with the next message.
    AttachImage(PastedImage),
    /// Drafts a memory file.
    Init,
    /// Exports the conversation to a file.
    Export(Option<String>),
    /// Answers an approval request or a question.
    Answer(PromptId, UserReply),
    /// Cancels the current work.
    Cancel,
    /// Ends the session.
    Leave,
}

/// The topic of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Topic {
    Context,
    Rules,
    /// Requests.
    Requests,
    Statistics,
    Memory,
    MemoryFiles,
    Skills,
    AllSkills,
    Model,
    Tools,
    Agents,
    /// MCP servers.
    Servers,
    Policy,
    Hooks,
    Trust,
}

/// Identifies an open approval request or question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PromptId(pub(crate) u64);

/// The user's reply to an approval request or a question.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum UserReply {
    /// To an approval request.
    Approval(Approval),
    /// To a question; none if the user declined to answer.
    Answer(Option<String>),
}

/// A message from the driver to the screen.
#[derive(Debug)]
pub(crate) enum DriverMessage {
    /// An event of a turn or a compaction.
    Event(Event),
    /// A tool call needs approval.
    ApprovalRequested(PromptId, ApprovalRequest),
    /// The model asks a question.
    QuestionAsked(PromptId, UserQuestion),
    /// The current content of the status line.
    StatusLine(Box<StatusLine>),
    /// The cost of the session so far, in dollars.
    Cost(Option<f64>),
    /// A page to show.
    Page(Page),
    /// A notice to the user.
    Notice(Notice),
    /// The outcome of a compaction that the user requested.
    Compacted(Box<PassOutcome>),
    /// The output of a shell command that the user typed.
    CommandOutput { command: String, output: String },
    /// Sessions to choose from.
    Sessions(Vec<SessionChoice>),
    /// Messages to rewind to, the newest first.
    Turns(Vec<TurnChoice>),
    /// A session was opened; these are its last messages.
    Opened { title: String, last: Vec<PastMessage> },
    /// Text that goes back into the input.
    Restore(String),
    /// The available skills.
    Skills(Vec<SkillChoice>),
    /// The prompts of MCP servers: names and descriptions.
    Prompts(Vec<(String, String)>),
    /// Offers of the application for completion and help.
    Offers(Offers),
    /// The user's preferences, once they have changed.
    Preferences(Preferences),
    /// The items of an inbox, to review in a dialog.
    Inbox(InboxKind, Vec<InboxItem>),
    /// The items that are left in an inbox, for an open review dialog.
    InboxChanged(InboxKind, Vec<InboxItem>),
    /// Files to edit, and the command to send once they are saved.
    Edit { files: Vec<PathBuf>, then: DriverCommand },
    /// The command is done.
    Done,
    /// The session could not start, or did not end cleanly.
    Failed(Notice),
    /// The session has ended.
    Left,
}

/// An earlier message, as shown when a session is resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PastMessage {
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
