//! Prompts of MCP servers as commands.

use longhaul_conversation::{Origin, Part, quote_in_tag};
use longhaul_tools::ToolOutcome;
use tokio_util::sync::CancellationToken;

use super::{Driver, DriverMessage};
use crate::notice::Notice;
use crate::services::Services;

impl<S: Services> Driver<S> {
    /// Sends the prompts that servers offer, for completion; servers connect in the background.
    pub(super) fn send_prompts(&self) {
        if let Some(servers) = self.services.host().servers {
            let prompts = servers.prompts().into_iter().map(|prompt| (prompt.name, prompt.description));
            self.send(DriverMessage::Prompts(prompts.collect()));
        }
    }

    /// Fills in a prompt of a server and sends it to the model. What the server says is not what the user typed.
    pub(super) async fn use_prompt(
        &mut self,
        name: &str,
        words: &str,
        unknown: String,
    ) -> Result<(), Notice> {
        let answer = {
            let cancel = CancellationToken::new();
            let Some(servers) = self.services.host().servers else { return Err(Notice::error(unknown)) };
            let filled = servers.fill_in_prompt(name, words, &cancel);
            self.commands.until_done(filled, &cancel, &self.prompt, &|_| false).await
        };
        let Some(answer) = answer else { return Err(Notice::error(unknown)) };
        match answer.outcome {
            ToolOutcome::Succeeded(text) => {
                let text = quote_in_tag("mcp_prompt", "name", name, &text);
                let parts = std::iter::once(Part::text(Origin::Hook, text)).chain(answer.media).collect();
                self.submit_with(format!("/{name} {words}").trim().to_string(), parts).await
            }
            ToolOutcome::Failed(reason) | ToolOutcome::Cancelled(reason) => Err(Notice::error(reason)),
        }
    }
}
