//! Tools that the agent itself answers, because they are about the session or the user: names, declarations, arguments.

use longhaul_conversation::ToolDeclaration;
use longhaul_tools::{Preview, parse_arguments, schema_of};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// A tool that the agent itself answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnTool {
    RecallHistory,
    CompactNow,
    AskUser,
    CompleteTask,
}

/// Arguments of `recall_history`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct RecallArguments {
    /// Words to look for, or a "quoted phrase"; or a mark such as `m12` for that one message in full.
    pub(crate) query: String,
    /// How many messages to show, 5 unless given.
    #[serde(default)]
    pub(crate) limit: Option<usize>,
}

/// Arguments of `compact_now`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CompactArguments {
    /// What the summary should keep in detail.
    #[serde(default)]
    pub(crate) focus: Option<String>,
}

/// Arguments of `ask_user`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct AskArguments {
    /// The question, one sentence.
    pub(crate) question: String,
    /// Answers to choose from, if there are a few.
    #[serde(default)]
    pub(crate) options: Vec<String>,
}

/// Arguments of `complete_task`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CompleteArguments {
    /// The whole result, which is all that anybody sees of the work.
    pub(crate) result: String,
}

impl OwnTool {
    pub(crate) const ALL: [Self; 4] =
        [Self::RecallHistory, Self::CompactNow, Self::AskUser, Self::CompleteTask];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::RecallHistory => "recall_history",
            Self::CompactNow => "compact_now",
            Self::AskUser => "ask_user",
            Self::CompleteTask => "complete_task",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    pub(crate) fn declaration(self) -> ToolDeclaration {
        let (description, parameters) = match self {
            Self::RecallHistory => (
                "Finds what was said, read or printed earlier in this session, also what a snapshot stands for. Use it before you \
                 read a file or run a command again only to see an old result.",
                schema_of::<RecallArguments>(),
            ),
            Self::CompactNow => (
                "Shortens the conversation before your next step. Use it between two tasks, when the details of the finished one \
                 are no longer needed.",
                schema_of::<CompactArguments>(),
            ),
            Self::AskUser => (
                "Asks the user one question and waits for the answer. Only for a decision that you cannot make from what you know.",
                schema_of::<AskArguments>(),
            ),
            Self::CompleteTask => (
                "Hands over the result of your task and ends your work. Call it once, and nothing beside it.",
                schema_of::<CompleteArguments>(),
            ),
        };
        ToolDeclaration { name: self.name().to_string(), description: description.to_string(), parameters }
    }

    /// A preview of a call.
    pub(crate) fn preview(self, args: &Value) -> Result<Preview, String> {
        Ok(match self {
            Self::RecallHistory => {
                Preview::Look(parse_arguments::<RecallArguments>(self.name(), args)?.query)
            }
            Self::CompactNow => {
                let wanted = parse_arguments::<CompactArguments>(self.name(), args)?;
                let focus =
                    wanted.focus.map(|focus| format!(", with a focus on {focus}")).unwrap_or_default();
                Preview::Other(format!("compact the conversation{focus}"))
            }
            Self::AskUser => Preview::Other(parse_arguments::<AskArguments>(self.name(), args)?.question),
            Self::CompleteTask => {
                let done = parse_arguments::<CompleteArguments>(self.name(), args)?;
                if done.result.trim().is_empty() {
                    return Err("The result is empty. Say what came of the task.".to_string());
                }
                Preview::Other("hand over the result".to_string())
            }
        })
    }
}
