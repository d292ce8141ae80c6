//! Fills in a custom command: its shell commands run under the rules and with the user's approval, its files are read.

use std::path::Path;

use longhaul_conversation::{ToolCall, neutralise_snapshots};
use longhaul_policy::SHELL_TOOL;
use longhaul_tools::ToolOutcome;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::declare_tools;
use super::permission::{NOT_ALLOWED, PreparedCall, prepare_call};
use super::session::AgentSession;
use super::state::TurnState;
use super::tool_calls::run_for_user;
use super::tool_output::truncate;
use super::toolbox::ToolTarget;
use crate::attachments::{Attachments, attach_files};
use crate::commands::{CommandPiece, FilledCommand};
use crate::deps::AgentDeps;

/// The end of a successful command's output, which says nothing here.
const SUCCESS: &str = "\nExit code: 0";

/// Fills in the pieces of a command in their order. Fails with a sentence at the first one that may not run or is not there.
pub(crate) async fn fill_in(
    session: &mut AgentSession,
    turn: &mut TurnState,
    pieces: &[CommandPiece],
    folder: &Path,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Result<FilledCommand, String> {
    declare_tools(session, turn, deps);
    let mut filled = FilledCommand::default();
    for piece in pieces {
        match piece {
            CommandPiece::Text(text) => filled.text.push_str(text),
            CommandPiece::Shell(line) => {
                filled.text.push_str(&output_of(session, turn, line, deps, cancel).await?);
            }
            CommandPiece::File(name) => {
                let named = format!("@{}", name.replace(' ', "\\ "));
                let Attachments { parts, problems, .. } =
                    attach_files(&named, folder, deps.tools, None, cancel).await;
                if parts.is_empty() {
                    let missing = || format!("There is no file {name}.");
                    return Err(problems.into_iter().next().unwrap_or_else(missing));
                }
                for part in parts {
                    match part.as_text() {
                        Some(text) => filled.text.push_str(text),
                        None => filled.media.push(part),
                    }
                }
            }
        }
    }
    filled.text = neutralise_snapshots(&filled.text).into_owned();
    Ok(filled)
}

/// The output of a shell command, if it may run.
async fn output_of(
    session: &mut AgentSession,
    turn: &mut TurnState,
    line: &str,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Result<String, String> {
    let call = ToolCall::new((deps.new_id)().as_str(), SHELL_TOOL).with_args(json!({"command": line}));
    let ready = match prepare_call(session, turn, call, deps, cancel).await {
        PreparedCall::Ready(ready) => ready,
        PreparedCall::Answered { text, .. } => {
            let text = text.replace(NOT_ALLOWED, "you did not allow it.");
            return Err(format!("`{line}` did not run: {text}"));
        }
        PreparedCall::Ends { .. } => return Err(format!("Stopped before `{line}`.")),
    };
    let ToolTarget::Tool(tool) = ready.target else {
        return Err(format!("`{line}` did not run: the {SHELL_TOOL} tool is not available."));
    };
    let call = ready.call.clone();
    let answer = run_for_user(ready, tool, deps, cancel).await;
    match &answer.outcome {
        ToolOutcome::Cancelled(_) => Err(format!("Stopped during `{line}`.")),
        // A command that fails has still said something, such as a test run.
        ToolOutcome::Succeeded(text) | ToolOutcome::Failed(text) => {
            let text = text.strip_suffix(SUCCESS).unwrap_or(text);
            Ok(truncate(session, turn, &call, text, answer.left_out, deps).0)
        }
    }
}
