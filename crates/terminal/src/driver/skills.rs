//! Skill commands and inbox commands.

use longhaul_conversation::{Origin, Part};
use longhaul_tools::Outcome;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::attach::{find, run};
use super::{Driver, Message};
use crate::command::{Command, Notice};
use crate::review::{Inbox, InboxItem, Review};
use crate::services::Services;

/// The tool that activates a skill.
const ACTIVATE: &str = "activate_skill";

impl<S: Services> Driver<S> {
    /// Sends the available skills, for completion.
    pub(super) fn tell_skills(&self) {
        self.tell(Message::Skills(self.services.skills()));
    }

    pub(super) fn show_skill(&self, name: &str) -> Result<(), Notice> {
        self.tell(Message::Page(self.services.skill(name)?));
        Ok(())
    }

    pub(super) fn switch_skill(&mut self, name: &str, on: bool) -> Result<(), Notice> {
        let told = self.services.switch_skill(&mut self.agent, name, on)?;
        self.say(Notice::good(told));
        self.tell_skills();
        Ok(())
    }

    pub(super) fn reload_skills(&mut self) -> Result<(), Notice> {
        let told = self.services.reload_skills(&mut self.agent)?;
        self.say(Notice::good(told));
        self.tell_skills();
        Ok(())
    }

    /// Activates a skill without asking, and sends a message to the model.
    pub(super) async fn use_skill(&mut self, skill: &str, words: String) -> Result<(), Notice> {
        let activation = {
            let host = self.services.host();
            let Some(tool) = find(host.tools, ACTIVATE) else {
                return Err(Notice::error("There is no tool here that activates skills."));
            };
            let cancel = CancellationToken::new();
            run(tool, &json!({"name": skill}), &|_| {}, &cancel).await.outcome
        };
        match activation {
            Outcome::Succeeded(text) => {
                self.say(Notice::info(format!("The skill {skill} is active.")));
                let words = if words.is_empty() { format!("Use the skill {skill}.") } else { words };
                self.submit_with(words, vec![Part::text(Origin::Hook, text)]).await
            }
            Outcome::Failed(reason) | Outcome::Cancelled(reason) => {
                Err(Notice::error(reason).with_hint("/skills reload looks for skills again."))
            }
        }
    }

    pub(super) fn open_inbox(&self, inbox: Inbox) -> Result<(), Notice> {
        self.tell(Message::Inbox(inbox, self.services.inbox(inbox)?));
        Ok(())
    }

    fn waiting(&self, inbox: Inbox, name: &str) -> Result<InboxItem, Notice> {
        let items = self.services.inbox(inbox)?;
        let found = items.into_iter().find(|item| item.name == name);
        found.ok_or_else(|| {
            let hint = format!("{} lists what waits.", inbox.command());
            Notice::error(format!("Nothing waits under the name {name}.")).with_hint(hint)
        })
    }

    pub(super) fn show_waiting(&self, inbox: Inbox, name: &str) -> Result<(), Notice> {
        self.tell(Message::Page(self.waiting(inbox, name)?.page));
        Ok(())
    }

    pub(super) fn edit_waiting(&self, inbox: Inbox, name: String) -> Result<(), Notice> {
        let files = self.waiting(inbox, &name)?.files;
        let then = Command::Review(inbox, Review::AcceptEdited { name });
        self.tell(Message::Edit { files, then });
        Ok(())
    }

    /// Carries out a decision about an inbox item. The new list is sent even if that failed.
    pub(super) fn review(&mut self, inbox: Inbox, review: &Review) -> Result<(), Notice> {
        let settled = self.services.review(&mut self.agent, inbox, review);
        match inbox {
            Inbox::Skills => self.tell_skills(),
            Inbox::Memory => {
                let now = (self.services.host().now)();
                self.agent.memory_mut().into_iter().for_each(|memory| memory.reload(now));
            }
        }
        if let Ok(items) = self.services.inbox(inbox) {
            self.tell(Message::InboxChanged(inbox, items));
        }
        self.say(settled?);
        Ok(())
    }
}
