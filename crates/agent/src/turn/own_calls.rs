//! Answers calls of the agent's own tools: recall, compaction, questions to the user, the result of a sub-agent.

use longhaul_conversation::{Body, FinishReason, Message};
use longhaul_recall::{Search, SessionRef, parse_message_number};
use longhaul_tools::{ToolAnswer, ToolDisplay, parse_arguments};
use serde_json::Value;

use super::session::{AgentSession, CompactionRequest};
use super::state::TurnState;
use crate::approval::UserQuestion;
use crate::deps::AgentDeps;
use crate::event::TurnEnd;
use crate::tools::{AskArguments, CompactArguments, CompleteArguments, OwnTool, RecallArguments};

/// The most hits that a search gives.
const MOST_HITS: usize = 20;

/// The most characters of one message that are given again.
const MOST_CHARACTERS: usize = 30_000;

/// Answers a call of one of the agent's own tools.
pub(super) async fn run_own_tool(
    session: &mut AgentSession,
    turn: &mut TurnState,
    tool: OwnTool,
    args: &Value,
    deps: &AgentDeps<'_>,
) -> ToolAnswer {
    let answered = match tool {
        OwnTool::RecallHistory => parse_arguments(tool.name(), args).map(|args| recall(session, &args)),
        OwnTool::CompactNow => parse_arguments(tool.name(), args).map(|args: CompactArguments| {
            session.compaction_request = Some(CompactionRequest { focus: args.focus });
            ToolAnswer::succeeded("The conversation is shortened before your next step.")
        }),
        OwnTool::CompleteTask => parse_arguments(tool.name(), args).map(|args: CompleteArguments| {
            turn.set_result(args.result);
            turn.end_with(TurnEnd::Finished(FinishReason::Stop));
            ToolAnswer::succeeded("The result was handed over.")
        }),
        OwnTool::AskUser => match parse_arguments::<AskArguments>(tool.name(), args) {
            Ok(args) => {
                let _lock = turn.approvals.lock().await;
                Ok(ask_user(args, deps).await)
            }
            Err(error) => Err(error),
        },
    };
    answered.unwrap_or_else(ToolAnswer::failed)
}

/// Searches everything that was said in the session, also what a compaction left out.
fn recall(session: &AgentSession, args: &RecallArguments) -> ToolAnswer {
    let said = session.conversation.said();
    if let Some(mark) = parse_message_number(&args.query) {
        let found = said.iter().rfind(|message| message.ordinal == Some(mark));
        return match found {
            Some(message) => {
                ToolAnswer::succeeded(render_in_full(message)).shown(ToolDisplay::Line(format!("[{mark}]")))
            }
            None => ToolAnswer::failed(format!("There is no message {mark} in this session.")),
        };
    }
    let mut search = Search::new(&args.query);
    let session = SessionRef::new(session.id());
    for message in &said {
        search.observe(&session, message);
    }
    let limit = args.limit.unwrap_or(5).clamp(1, MOST_HITS);
    let hits = search.hits_in(&session, said.iter().copied(), limit);
    if hits.is_empty() {
        return ToolAnswer::failed(format!("Nothing in this session says {:?}.", args.query));
    }
    let excerpts: Vec<String> = hits
        .iter()
        .map(|hit| {
            let mark = hit.number.map(|mark| format!("[{mark}] ")).unwrap_or_default();
            let tool = hit.tool.as_deref().map(|tool| format!(" ({tool})")).unwrap_or_default();
            format!("{mark}{}{tool}:\n{}", hit.role.as_str(), hit.excerpt.text)
        })
        .collect();
    ToolAnswer::succeeded(excerpts.join("\n\n")).shown(ToolDisplay::Line(format!("{} found", excerpts.len())))
}

/// Asks the user a question of the model's.
async fn ask_user(args: AskArguments, deps: &AgentDeps<'_>) -> ToolAnswer {
    let question = UserQuestion { text: args.question, options: args.options };
    match deps.approver.answer(&question).await {
        Some(answer) if !answer.trim().is_empty() => {
            ToolAnswer::succeeded(format!("The user answers: {answer}"))
        }
        _ => ToolAnswer::failed("The user did not answer. Decide by yourself, and say what you assumed."),
    }
}

/// A message as it was, within limits.
fn render_in_full(message: &Message) -> String {
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
