//! Attached files (`@name`) and the user's shell commands (`!command`), both through the tools and their limits.

use longhaul_agent::Event;
use longhaul_conversation::{CallId, Origin, Part, ToolCall, neutralise_snapshots};
use longhaul_tools::{Preview, Tool, ToolAnswer, ToolInvocation, ToolOutcome};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Driver, DriverMessage};
use crate::notice::Notice;
use crate::services::Services;

const READ: &str = "read_file";
const RUN: &str = "run_shell_command";

impl<S: Services> Driver<S> {
    /// The content of the files that a text names after an `@`.
    pub(super) async fn attachments(&self, text: &str) -> Vec<Part> {
        let names: Vec<String> = named_files(text)
            .into_iter()
            .filter(|name| self.working_folder.path.join(name).is_file())
            .collect();
        let host = self.services.host();
        let Some(tool) = find(host.tools, READ) else {
            if !names.is_empty() {
                self.notify(Notice::info("Nothing attached: the read_file tool is not available."));
            }
            return Vec::new();
        };
        let mut parts = Vec::new();
        for name in names {
            let args = path_args(tool, &name);
            let cancel = CancellationToken::new();
            let answer = run(tool, &args, &|_| {}, &cancel).await;
            match &answer.outcome {
                ToolOutcome::Succeeded(text) => {
                    let text = neutralise_snapshots(text);
                    let text = format!("<attached_file path=\"{name}\">\n{text}\n</attached_file>");
                    parts.push(Part::text(Origin::Hook, text));
                    parts.extend(answer.media);
                    self.notify(Notice::info(format!("Attached {name}.")));
                }
                ToolOutcome::Failed(reason) | ToolOutcome::Cancelled(reason) => {
                    self.notify(Notice::warning(format!("Could not attach {name}: {reason}")));
                }
            }
        }
        parts
    }

    /// Runs a shell command that the user typed; the model gets its output with the next message.
    pub(super) async fn run_user_command(&mut self, line: String) -> Result<(), Notice> {
        let host = self.services.host();
        let Some(tool) = find(host.tools, RUN) else {
            return Err(Notice::error(
                "Could not run the command: the run_shell_command tool is not available.",
            ));
        };
        let args = json!({"command": line});
        let call = ToolCall::new((host.new_id)().as_str(), RUN).with_args(args.clone());
        let preview = tool.preview(&args).unwrap_or_else(|_| Preview::Other(line.clone()));
        let id = call.id.clone();
        self.send(DriverMessage::Event(Event::ToolBegan { call: call.clone(), preview }));
        let messages = self.messages.clone();
        let progress = move |text: &str| {
            let event = Event::ToolProgress { call: id.clone(), text: text.to_string() };
            messages.send(DriverMessage::Event(event)).ok();
        };
        let cancel = CancellationToken::new();
        let answer =
            self.commands.until_done(run(tool, &args, &progress, &cancel), &cancel, &self.prompt).await;
        let (output, _) = self.agent.truncate_output(&call, answer.outcome.text(), answer.left_out, &host);
        let note =
            format!("<user_command>\nThe user ran this themselves: {line}\n\n{output}\n</user_command>");
        self.notes.push(Part::text(Origin::Hook, note));
        self.send(DriverMessage::CommandOutput { command: line, output });
        Ok(())
    }
}

pub(super) async fn run(
    tool: &dyn Tool,
    args: &Value,
    progress: &(dyn Fn(&str) + Send + Sync),
    cancel: &CancellationToken,
) -> ToolAnswer {
    let id = CallId::from("own-call");
    tool.run(ToolInvocation { id: &id, args, progress, cancel }).await
}

pub(super) fn find<'a>(tools: &'a [Box<dyn Tool>], name: &str) -> Option<&'a dyn Tool> {
    tools.iter().map(AsRef::as_ref).find(|tool| tool.declaration().name == name)
}

/// The path under the argument name that the tool declares.
fn path_args(tool: &dyn Tool, path: &str) -> Value {
    let parameters = tool.declaration().parameters;
    let name = ["file_path", "absolute_path", "path"]
        .into_iter()
        .find(|name| parameters["properties"].get(name).is_some())
        .unwrap_or("file_path");
    json!({name: path})
}

/// The distinct file names after an `@` in a text.
fn named_files(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('@') {
        let begins_word =
            rest[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || "([\"'`".contains(c));
        rest = &rest[at + 1..];
        if !begins_word {
            continue;
        }
        let mut name = String::new();
        let mut letters = rest.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                // A space inside a name is escaped with a backslash.
                '\\' if letters.peek() == Some(&' ') => {
                    letters.next();
                    name.push(' ');
                }
                letter if letter.is_whitespace() || ")]\"'`".contains(letter) => break,
                letter => name.push(letter),
            }
        }
        let name = name.trim_end_matches([',', ';', ':', '.', '?', '!']).to_string();
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(named_files(text), expected, "{text}");
    }

    #[test]
    fn files_are_named_behind_an_at() {
        check("look at @src/main.rs, then @Cargo.toml.", &["src/main.rs", "Cargo.toml"]);
        check("me@home.org", &[]);
        check("(@a.md) @a.md \"@b.md\"", &["a.md", "b.md"]);
        check(r"@my\ notes.txt now", &["my notes.txt"]);
        check("@ nothing", &[]);
    }
}
