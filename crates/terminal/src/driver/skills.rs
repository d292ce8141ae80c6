//! Skill commands and inbox commands.

use longhaul_conversation::{Origin, Part};
use longhaul_tools::ToolOutcome;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::attach::{find, run};
use super::{Driver, DriverMessage};
use crate::inbox::{InboxItem, InboxKind, ReviewDecision};
use crate::notice::Notice;
use crate::protocol::DriverCommand;
use crate::services::Services;

/// The tool that activates a skill.
const ACTIVATE: &str = "activate_skill";

impl<S: Services> Driver<S> {
    /// Sends the available skills, for completion.
    pub(super) fn send_skills(&self) {
        self.send(DriverMessage::Skills(self.services.skills()));
    }

    pub(super) fn show_skill(&self, name: &str) -> Result<(), Notice> {
        self.send(DriverMessage::Page(self.services.skill(name)?));
        Ok(())
    }

    pub(super) fn switch_skill(&mut self, name: &str, on: bool) -> Result<(), Notice> {
        let message = self.services.switch_skill(&mut self.agent, name, on)?;
        self.notify(Notice::good(message));
        self.send_skills();
        Ok(())
    }

    pub(super) fn reload_skills(&mut self) -> Result<(), Notice> {
        let message = self.services.reload_skills(&mut self.agent)?;
        self.notify(Notice::good(message));
        self.send_skills();
        Ok(())
    }

    /// Activates a skill without asking, and sends a message to the model.
    pub(super) async fn use_skill(&mut self, skill: &str, words: String) -> Result<(), Notice> {
        let activation = {
            let host = self.services.host();
            let Some(tool) = find(host.tools, ACTIVATE) else {
                return Err(Notice::error(
                    "Could not activate the skill: the activate_skill tool is not available.",
                ));
            };
            let cancel = CancellationToken::new();
            run(tool, &json!({"name": skill}), &|_| {}, &cancel).await.outcome
        };
        match activation {
            ToolOutcome::Succeeded(text) => {
                self.notify(Notice::info(format!("Activated skill {skill}.")));
                let words = if words.is_empty() { format!("Use the skill {skill}.") } else { words };
                self.submit_with(words, vec![Part::text(Origin::Hook, text)]).await
            }
            ToolOutcome::Failed(reason) | ToolOutcome::Cancelled(reason) => {
                Err(Notice::error(reason).with_hint("Type /skills reload to look for skills again."))
            }
        }
    }

    pub(super) fn open_inbox(&self, inbox: InboxKind) -> Result<(), Notice> {
        self.send(DriverMessage::Inbox(inbox, self.services.inbox(inbox)?));
        Ok(())
    }

    fn waiting(&self, inbox: InboxKind, name: &str) -> Result<InboxItem, Notice> {
        let items = self.services.inbox(inbox)?;
        let found = items.into_iter().find(|item| item.name == name);
        found.ok_or_else(|| {
            let hint = format!("Type {} to list the inbox.", inbox.command());
            Notice::error(format!("Not in the inbox: {name}.")).with_hint(hint)
        })
    }

    pub(super) fn show_waiting(&self, inbox: InboxKind, name: &str) -> Result<(), Notice> {
        self.send(DriverMessage::Page(self.waiting(inbox, name)?.page));
        Ok(())
    }

    pub(super) fn edit_waiting(&self, inbox: InboxKind, name: String) -> Result<(), Notice> {
        let files = self.waiting(inbox, &name)?.files;
        let then = DriverCommand::Review(inbox, ReviewDecision::AcceptEdited { name });
        self.send(DriverMessage::Edit { files, then });
        Ok(())
    }

    /// Carries out a decision about an inbox item. The new list is sent even if that failed.
    pub(super) fn review(&mut self, inbox: InboxKind, review: &ReviewDecision) -> Result<(), Notice> {
        let settled = self.services.review(&mut self.agent, inbox, review);
        match inbox {
            InboxKind::Skills => self.send_skills(),
            InboxKind::Memory => {
                let now = (self.services.host().now)();
                self.agent.memory_mut().into_iter().for_each(|memory| memory.reload(now));
            }
        }
        if let Ok(items) = self.services.inbox(inbox) {
            self.send(DriverMessage::InboxChanged(inbox, items));
        }
        self.notify(settled?);
        Ok(())
    }
}
