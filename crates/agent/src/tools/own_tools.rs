//! The tools that the agent itself answers, because they are about the session or the user.

use std::collections::HashSet;

use longhaul_archive::{Search, SessionRef, parse_mark};
use longhaul_conversation::{Body, CallId, FinishReason, Message, Part, ToolCall, ToolDeclaration};
use longhaul_tools::{Answer, Preview, Shown, parse_arguments, schema_of};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::turn::Agent;
use crate::turn::Wish;
use crate::{Host, Question, TurnEnd};

/// A tool that the agent itself answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnTool {
    RecallHistory,
    CompactNow,
    AskUser,
    CompleteTask,
}

/// The most hits that a search gives.
const MOST_HITS: usize = 20;

/// The most characters of one message that are given again.
const MOST_CHARACTERS: usize = 30_000;

/// What was said before is searched for.
#[derive(Debug, Deserialize, JsonSchema)]
struct RecallArguments {
    /// Words to look for, or a "quoted phrase"; or a mark such as `m12` for that one message in full.
    query: String,
    /// How many messages to show, 5 unless given.
    #[serde(default)]
    limit: Option<usize>,
}

/// The conversation is shortened.
#[derive(Debug, Deserialize, JsonSchema)]
struct CompactArguments {
    /// What the summary should keep in detail.
    #[serde(default)]
    focus: Option<String>,
}

/// The user is asked.
#[derive(Debug, Deserialize, JsonSchema)]
struct AskArguments {
    /// The question, one sentence.
    question: String,
    /// Answers to choose from, if there are a few.
    #[serde(default)]
    options: Vec<String>,
}

/// A sub-agent hands over what came of its task.
#[derive(Debug, Deserialize, JsonSchema)]
struct CompleteArguments {
    /// The whole result, which is all that anybody sees of the work.
    result: String,
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

    /// What a call would do.
    pub(crate) fn preview(self, args: &Value) -> Result<Preview, String> {
        Ok(match self {
            Self::RecallHistory => {
                Preview::Look(parse_arguments::<RecallArguments>(self.name(), args)?.query)
            }
            Self::CompactNow => {
                let wanted = parse_arguments::<CompactArguments>(self.name(), args)?;
                let focus =
                    wanted.focus.map(|focus| format!(", with a focus on {focus}")).unwrap_or_default();
                Preview::Other(format!("shorten the conversation{focus}"))
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

impl Agent {
    /// Whether the model is told of this tool.
    pub(crate) fn offers(&self, tool: OwnTool, _host: &Host<'_>) -> bool {
        let situation = self.settings.permissions.situation;
        match tool {
            OwnTool::RecallHistory => true,
            // Where nobody can allow it or answer, it would only tempt.
            OwnTool::CompactNow | OwnTool::AskUser => situation.is_interactive,
            OwnTool::CompleteTask => self.is_subagent(),
        }
    }

    /// Answers a call of one of the agent's own tools.
    pub(crate) async fn run_own(&mut self, tool: OwnTool, args: &Value, host: &Host<'_>) -> Answer {
        let answered = match tool {
            OwnTool::RecallHistory => parse_arguments(tool.name(), args).map(|args| self.recall(&args)),
            OwnTool::CompactNow => parse_arguments(tool.name(), args).map(|args: CompactArguments| {
                self.wish = Some(Wish { focus: args.focus });
                Answer::succeeded("The conversation is shortened before your next step.")
            }),
            OwnTool::CompleteTask => parse_arguments(tool.name(), args).map(|args: CompleteArguments| {
                self.result = Some(args.result);
                self.ending = Some(TurnEnd::Finished(FinishReason::Stop));
                Answer::succeeded("The result was handed over.")
            }),
            OwnTool::AskUser => match parse_arguments::<AskArguments>(tool.name(), args) {
                Ok(args) => {
                    let _turn = self.desk.lock().await;
                    Ok(ask(args, host).await)
                }
                Err(error) => Err(error),
            },
        };
        answered.unwrap_or_else(Answer::failed)
    }

    fn recall(&self, args: &RecallArguments) -> Answer {
        let said = self.conversation.said();
        if let Some(mark) = parse_mark(&args.query) {
            let found = said.iter().rfind(|message| message.ordinal == Some(mark));
            return match found {
                Some(message) => Answer::succeeded(in_full(message)).shown(Shown::Line(format!("[{mark}]"))),
                None => Answer::failed(format!("There is no message {mark} in this session.")),
            };
        }
        let mut search = Search::new(&args.query);
        let session = SessionRef::new(self.session_id());
        let own: HashSet<&CallId> = said
            .iter()
            .flat_map(|message| message.calls())
            .filter(|call| is_recall(call))
            .map(|call| &call.id)
            .collect();
        for message in said.iter().filter(|message| !is_about(message, &own)) {
            search.observe(&session, message);
        }
        let hits = search.hits(args.limit.unwrap_or(5).clamp(1, MOST_HITS));
        if hits.is_empty() {
            return Answer::failed(format!("Nothing in this session says {:?}.", args.query));
        }
        let told: Vec<String> = hits
            .iter()
            .map(|hit| {
                let mark = hit.mark.map(|mark| format!("[{mark}] ")).unwrap_or_default();
                let tool = hit.tool.as_deref().map(|tool| format!(" ({tool})")).unwrap_or_default();
                format!("{mark}{}{tool}:\n{}", hit.role.as_str(), hit.excerpt.text)
            })
            .collect();
        Answer::succeeded(told.join("\n\n")).shown(Shown::Line(format!("{} found", told.len())))
    }
}

fn is_recall(call: &ToolCall) -> bool {
    call.name == OwnTool::RecallHistory.name()
}

/// Whether a message only asks for what was said, or only says it again.
fn is_about(message: &Message, calls: &HashSet<&CallId>) -> bool {
    let is_own = |part: &Part| match &part.body {
        Body::Call(call) => calls.contains(&call.id),
        Body::Result(result) => calls.contains(&result.call),
        Body::Thought(_) => true,
        _ => false,
    };
    !message.parts.is_empty() && message.parts.iter().all(is_own)
}

async fn ask(args: AskArguments, host: &Host<'_>) -> Answer {
    let question = Question { text: args.question, options: args.options };
    match host.approver.answer(&question).await {
        Some(answer) if !answer.trim().is_empty() => Answer::succeeded(format!("The user answers: {answer}")),
        _ => Answer::failed("The user did not answer. Decide by yourself, and say what you assumed."),
    }
}

/// A message as it was, within limits.
fn in_full(message: &Message) -> String {
    let mut text = String::new();
    for part in &message.parts {
        match &part.body {
            Body::Text(said) => text.push_str(said),
            Body::Call(call) => text.push_str(&format!("[call of {}] {}", call.name, call.args)),
            Body::Result(result) => text.push_str(&result.readable()),
            Body::Thought(_) | Body::Media(_) | Body::File(_) | Body::Opaque(_) => continue,
        }
        text.push('\n');
    }
    match text.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => {
            let left = text[end..].chars().count();
            text.truncate(end);
            format!("{text}\n[{left} more characters]")
        }
        None => text,
    }
}
