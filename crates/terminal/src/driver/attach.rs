//! Attached files (`@name`) and the user's shell commands (`!command`), both through the tools and their limits.

use longhaul_agent::{Attachments, Event, attach_files};
use longhaul_conversation::{CallId, Origin, Part, ToolCall};
use longhaul_tools::{PermittedEffects, Preview, Tool, ToolAnswer, ToolInvocation};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Driver, DriverMessage};
use crate::notice::Notice;
use crate::services::Services;

const RUN: &str = "run_shell_command";

impl<S: Services> Driver<S> {
    /// The content of the files that a text names after an `@`.
    pub(super) async fn attachments(&self, text: &str) -> Vec<Part> {
        let host = self.services.host();
        let folder = &self.working_folder.path;
        let found = attach_files(text, folder, host.tools, host.servers, &CancellationToken::new()).await;
        found.describe_as_text().into_iter().for_each(|text| self.notify(Notice::info(text)));
        let Attachments { parts, attached, problems, .. } = found;
        attached.iter().for_each(|name| self.notify(Notice::info(format!("Attached {name}."))));
        problems.into_iter().for_each(|problem| self.notify(Notice::warning(problem)));
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
        let answer = self
            .commands
            .until_done(run(tool, &args, &progress, &cancel), &cancel, &self.prompt, &|_| false)
            .await;
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
    tool.run(ToolInvocation { id: &id, args, progress, cancel, permitted: PermittedEffects::Any }).await
}

pub(super) fn find<'a>(tools: &'a [Box<dyn Tool>], name: &str) -> Option<&'a dyn Tool> {
    tools.iter().map(AsRef::as_ref).find(|tool| tool.declaration().name == name)
}
