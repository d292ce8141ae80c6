//! The tool interface: declaration, preview and run.

use std::path::PathBuf;
use std::pin::Pin;

use longhaul_conversation::{CallId, Part, ToolDeclaration};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::read::Slice;

/// A boxed future.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A tool that a model can call.
pub trait Tool: Send + Sync {
    /// The declaration for the model; always the same for the same tool.
    fn declaration(&self) -> ToolDeclaration;

    /// The name that policy rules apply to, if it differs from the tool's name.
    fn policy_name(&self) -> Option<&'static str> {
        None
    }

    /// The MCP server that the tool is of.
    fn server(&self) -> Option<&str> {
        None
    }

    /// Previews the effect of a call, for approval. Changes nothing.
    ///
    /// # Errors
    /// A sentence for the model about the invalid arguments.
    fn preview(&self, args: &Value) -> Result<Preview, String>;

    /// The file that a call would write, for the user to edit first; none if it writes no text, or the call is invalid.
    fn proposal(&self, _args: &Value) -> Option<Proposal> {
        None
    }

    /// The arguments with which a call would write this text in place of the proposed one.
    fn with_text(&self, _args: &Value, _text: &str) -> Option<Value> {
        None
    }

    /// Runs a call to its end. A cancelled call answers soon and leaves nothing running.
    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer>;
}

/// Tools that come and go while an agent works, such as those of servers that connect in the background.
pub trait ToolSource: Send + Sync {
    /// The tools to declare now.
    fn tools(&self) -> Vec<&dyn Tool>;

    /// The tool that declares one of this name, where it is offered and not declared yet.
    fn declared_by(&self, _name: &str) -> Option<&str> {
        None
    }

    /// The resources that a prompt may name, each as `SERVER:ADDRESS`.
    fn resources(&self) -> Vec<String> {
        Vec::new()
    }

    /// Reads a resource that a prompt names as `SERVER:ADDRESS`; none if it is of no server of this source.
    fn read_resource<'a>(
        &'a self,
        _name: &'a str,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Option<ToolAnswer>> {
        Box::pin(async { None })
    }

    /// The prompts that are offered as commands.
    fn prompts(&self) -> Vec<OfferedPrompt> {
        Vec::new()
    }

    /// Fills in a prompt with what was typed behind its name; none if there is none of this name.
    fn fill_in_prompt<'a>(
        &'a self,
        _name: &'a str,
        _words: &'a str,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Option<ToolAnswer>> {
        Box::pin(async { None })
    }
}

/// A prompt that is offered as a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedPrompt {
    /// The name, one word.
    pub name: String,
    /// The purpose.
    pub description: String,
    /// The arguments, in order.
    pub arguments: Vec<PromptArgument>,
}

/// An argument of an offered prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptArgument {
    /// The name.
    pub name: String,
    /// True if the prompt cannot be filled in without it.
    pub is_required: bool,
}

/// A call to run.
#[derive(Clone, Copy)]
pub struct ToolInvocation<'a> {
    /// The call's id.
    pub id: &'a CallId,
    /// The arguments.
    pub args: &'a Value,
    /// Receives output while the call runs.
    pub progress: &'a (dyn Fn(&str) + Send + Sync),
    /// Cancels the call.
    pub cancel: &'a CancellationToken,
    /// The effects that were permitted.
    pub permitted: PermittedEffects,
}

/// The effects that a call may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PermittedEffects {
    /// Whatever the tool does.
    #[default]
    Any,
    /// It was permitted because it only reads: programs that configuration would start meanwhile are switched off.
    ReadingOnly,
}

/// The effect of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preview {
    /// Reads something, described in a line such as `src/lib.rs, lines 1 to 80`.
    Look(String),
    /// Runs a command.
    Command {
        /// The command line.
        command: String,
        /// The working directory.
        directory: PathBuf,
        /// True if it keeps running after the answer.
        is_background: bool,
    },
    /// Changes a file.
    Change {
        /// The file.
        path: PathBuf,
        /// The change as a unified diff.
        diff: String,
    },
    /// Anything else, described in a line.
    Other(String),
}

/// The file that a call would write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The file.
    pub path: PathBuf,
    /// The whole text that would be in it.
    pub text: String,
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolAnswer {
    /// The outcome, with the text for the model.
    pub outcome: ToolOutcome,
    /// Attached images and documents.
    pub media: Vec<Part>,
    /// The display for the user.
    pub shown: ToolDisplay,
    /// The files and folders that were read or changed.
    pub touched: Vec<PathBuf>,
    /// The lines of a file that the text holds, so that a host with less room shows fewer of them.
    pub lines: Option<Box<Slice>>,
    /// The number of output bytes that the tool omitted because there were too many; the text says where.
    pub left_out: u64,
}

/// The outcome of a call, with the text for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolOutcome {
    /// The call succeeded.
    Succeeded(String),
    /// The call failed.
    Failed(String),
    /// The call was cancelled; the text says how far it got.
    Cancelled(String),
}

/// The display of an answer for the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolDisplay {
    /// The text itself.
    #[default]
    Text,
    /// A line instead of the text, such as `214 lines`.
    Line(String),
    /// A unified diff of a file.
    Diff {
        /// The file.
        path: PathBuf,
        /// The change.
        diff: String,
    },
    /// The to-do list.
    Todos(Vec<TodoItem>),
}

/// A to-do item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TodoItem {
    /// The description.
    pub text: String,
    /// The status.
    pub status: TodoStatus,
}

/// How something to do stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Nobody has begun.
    Pending,
    /// It is being worked on.
    InProgress,
    /// It is done.
    Completed,
    /// It will not be done.
    Cancelled,
}

impl ToolOutcome {
    /// The text for the model.
    pub fn text(&self) -> &str {
        match self {
            Self::Succeeded(text) | Self::Failed(text) | Self::Cancelled(text) => text,
        }
    }

    /// Replaces the text.
    #[must_use]
    pub fn with_text(self, text: String) -> Self {
        match self {
            Self::Succeeded(_) => Self::Succeeded(text),
            Self::Failed(_) => Self::Failed(text),
            Self::Cancelled(_) => Self::Cancelled(text),
        }
    }
}

impl ToolAnswer {
    /// An answer with text only.
    pub fn new(outcome: ToolOutcome) -> Self {
        Self {
            outcome,
            media: Vec::new(),
            shown: ToolDisplay::Text,
            touched: Vec::new(),
            lines: None,
            left_out: 0,
        }
    }

    /// A successful answer.
    pub fn succeeded(text: impl Into<String>) -> Self {
        Self::new(ToolOutcome::Succeeded(text.into()))
    }

    /// A failed answer.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::new(ToolOutcome::Failed(text.into()))
    }

    /// Sets the display for the user.
    #[must_use]
    pub fn shown(self, shown: ToolDisplay) -> Self {
        Self { shown, ..self }
    }

    /// Sets the files and folders that were read or changed.
    #[must_use]
    pub fn touching(self, touched: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { touched: touched.into_iter().collect(), ..self }
    }

    /// Sets the number of omitted output bytes.
    #[must_use]
    pub(crate) fn leaving_out(self, left_out: u64) -> Self {
        Self { left_out, ..self }
    }
}
