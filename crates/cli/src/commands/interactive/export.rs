//! `/export`: the conversation as Markdown, or the session itself.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use longhaul_agent::Agent;
use longhaul_app::failure::hinted;
use longhaul_conversation::{Body, Message, Origin, Part, Role};
use longhaul_workspace::{Creation, create_private_atomically};

/// Longer outputs of tools are cut in Markdown.
const MOST_OUTPUT: usize = 4_000;

/// Exports the conversation, and returns where to.
pub(super) fn write(agent: &Agent, to: Option<&str>) -> anyhow::Result<String> {
    let log = agent.conversation().log();
    let id = log.replay().info().session_id.clone().unwrap_or_default();
    let name = to.map_or_else(|| format!("longhaul-{}.md", id.get(..8).unwrap_or(&id)), str::to_string);
    let path = std::env::current_dir()?.join(PathBuf::from(name));
    let bytes = match path.extension().and_then(|end| end.to_str()) {
        Some("jsonl") => std::fs::read(log.path()).context("could not read the session")?,
        Some("md") => markdown(log.replay().messages()).into_bytes(),
        _ => {
            let error = anyhow!("unknown export format: {}", path.display());
            let hint = "use .md for Markdown or .jsonl for the session itself; `longhaul sessions export` writes other \
                        formats";
            return Err(hinted(error, hint));
        }
    };
    match create_private_atomically(&path, &bytes)? {
        Creation::Created => Ok(format!("Exported the conversation to {}.", shown(&path))),
        Creation::AlreadyThere => {
            let error = anyhow!("{} already exists", shown(&path));
            Err(hinted(error, "choose another name; /export never overwrites files"))
        }
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn markdown(messages: &[Message]) -> String {
    let mut text = String::new();
    for message in messages {
        for part in &message.parts {
            text.push_str(&part_text(message.role, part));
        }
    }
    text
}

fn part_text(role: Role, part: &Part) -> String {
    match &part.body {
        Body::Text(said) if role == Role::User && part.origin == Origin::User => {
            format!("## You\n\n{}\n\n", said.trim_end())
        }
        Body::Text(said) if role == Role::Model => format!("## Model\n\n{}\n\n", said.trim_end()),
        Body::Call(call) => {
            let args = serde_json::to_string(&call.args).unwrap_or_default();
            format!("**{}** `{}`\n\n", call.name, args.replace('`', "'"))
        }
        Body::Result(result) => {
            let output = result.readable();
            let cut: String = output.chars().take(MOST_OUTPUT).collect();
            let more = if cut.len() < output.len() { "\n…" } else { "" };
            // A longer fence than any in the output keeps it together.
            let fence = "`".repeat(longest_fence(&cut).max(2) + 1);
            format!("{fence}\n{cut}{more}\n{fence}\n\n")
        }
        _ => String::new(),
    }
}

fn longest_fence(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{ToolCall, ToolResult};

    #[test]
    fn a_conversation_becomes_markdown() {
        let messages = [
            Message::new(
                "1",
                Role::User,
                vec![Part::text(Origin::Hook, "context"), Part::user_text("Hello")],
            ),
            Message::new(
                "2",
                Role::Model,
                vec![Part::model_text("Hi."), Part::call(ToolCall::new("c", "ls"))],
            ),
            Message::new("3", Role::User, vec![Part::result(ToolResult::text("c", "a ``` b"))]),
        ];
        let expected = "## You\n\nHello\n\n## Model\n\nHi.\n\n**ls** `null`\n\n````\na ``` b\n````\n\n";
        let text = markdown(&messages).replace("`{}`", "`null`");
        assert_eq!(text, expected);
    }
}
