//! What a tool is to Longhaul: it declares itself, previews a call, and answers it.

use std::path::PathBuf;
use std::pin::Pin;

use longhaul_conversation::{CallId, Part, ToolDeclaration};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Something that is being worked out.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Something that a model can call.
pub trait Tool: Send + Sync {
    /// How the model sees it. The same tool always declares itself in the same way.
    fn declaration(&self) -> ToolDeclaration;

    /// The name under which rules decide about its calls, where that is another than its own.
    fn judged_as(&self) -> Option<&'static str> {
        None
    }

    /// What this call would do, for whoever has to allow it. Nothing is changed by asking.
    ///
    /// # Errors
    /// What is wrong with the arguments, in a sentence for the model.
    fn preview(&self, args: &Value) -> Result<Preview, String>;

    /// Runs a call to its end. Who cancels gets an answer soon, and nothing goes on running.
    fn run<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Answer>;
}

/// A call that runs.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// Its id.
    pub id: &'a CallId,
    /// Its arguments.
    pub args: &'a Value,
    /// Hears of output while there is more to come.
    pub progress: &'a (dyn Fn(&str) + Send + Sync),
    /// Stops it.
    pub cancel: &'a CancellationToken,
}

/// What a call would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preview {
    /// It only looks at something, told in a line such as `src/lib.rs, lines 1 to 80`.
    Look(String),
    /// It runs this command.
    Command {
        /// The command line.
        command: String,
        /// Where.
        directory: PathBuf,
        /// Whether it goes on after the call has been answered.
        is_background: bool,
    },
    /// It changes this file.
    Change {
        /// The file.
        path: PathBuf,
        /// The change as a unified diff.
        diff: String,
    },
    /// It does something else, told in a line.
    Other(String),
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// How it went, with what the model reads.
    pub outcome: Outcome,
    /// Images and documents that come with the text.
    pub media: Vec<Part>,
    /// What a person is shown.
    pub shown: Shown,
    /// The files and folders that it read or changed.
    pub touched: Vec<PathBuf>,
    /// How many bytes of the output the tool itself left out, as there were too many; the text says where.
    pub left_out: u64,
}

/// How a call went. The text is what the model reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did what it was asked.
    Succeeded(String),
    /// It could not, and says why.
    Failed(String),
    /// It was stopped, and says how far it got.
    Cancelled(String),
}

/// What a person is shown of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// The text itself.
    #[default]
    Text,
    /// A line in its place, such as `214 lines`.
    Line(String),
    /// The change to a file, as a unified diff.
    Diff {
        /// The file.
        path: PathBuf,
        /// The change.
        diff: String,
    },
    /// The list of things to do, as it is now.
    Todos(Vec<TodoItem>),
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TodoItem {
    /// What.
    pub text: String,
    /// How it stands.
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

impl Outcome {
    /// What the model reads.
    pub fn text(&self) -> &str {
        match self {
            Self::Succeeded(text) | Self::Failed(text) | Self::Cancelled(text) => text,
        }
    }

    /// The same outcome with this in place of its text.
    #[must_use]
    pub fn with_text(self, text: String) -> Self {
        match self {
            Self::Succeeded(_) => Self::Succeeded(text),
            Self::Failed(_) => Self::Failed(text),
            Self::Cancelled(_) => Self::Cancelled(text),
        }
    }
}

impl Answer {
    /// An answer of text alone.
    pub fn new(outcome: Outcome) -> Self {
        Self { outcome, media: Vec::new(), shown: Shown::Text, touched: Vec::new(), left_out: 0 }
    }

    /// The call did what it was asked.
    pub fn succeeded(text: impl Into<String>) -> Self {
        Self::new(Outcome::Succeeded(text.into()))
    }

    /// The call could not do what it was asked.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::new(Outcome::Failed(text.into()))
    }

    /// The same answer, of which a person is shown this.
    #[must_use]
    pub fn shown(self, shown: Shown) -> Self {
        Self { shown, ..self }
    }

    /// The same answer, which read or changed these.
    #[must_use]
    pub fn touching(self, touched: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { touched: touched.into_iter().collect(), ..self }
    }

    /// The same answer, whose text lacks so many bytes of the output.
    #[must_use]
    pub fn leaving_out(self, left_out: u64) -> Self {
        Self { left_out, ..self }
    }
}
