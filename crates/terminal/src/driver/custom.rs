//! Custom commands and settings.

use longhaul_agent::{AgentDeps, FilledCommand};
use longhaul_conversation::{Origin, Part};
use tokio_util::sync::CancellationToken;

use super::{Driver, DriverMessage, event_handler};
use crate::notice::Notice;
use crate::services::{ChangedSetting, Services};

impl<S: Services> Driver<S> {
    /// Fills in a custom command and sends it to the model. What its file says is not what the user typed.
    pub(super) async fn run_custom(&mut self, name: &str, words: &str) -> Result<(), Notice> {
        let pieces = self.services.custom_command(name, words)?;
        let filled = {
            let cancel = CancellationToken::new();
            let events = event_handler(&self.messages, &self.services, &self.spent);
            let host = AgentDeps { events: &events, approver: &self.prompt, ..self.services.host() };
            let folder = &self.working_folder.path;
            let filled = self.agent.fill_in_command(&pieces, folder, &host, &cancel);
            self.commands.until_done(filled, &cancel, &self.prompt, &|_| false).await
        };
        let FilledCommand { text, media } =
            filled.map_err(|reason| Notice::error(format!("/{name} was not sent. {reason}")))?;
        let text = format!("<custom_command name=\"{name}\">\n{text}\n</custom_command>");
        let parts = std::iter::once(Part::text(Origin::Hook, text)).chain(media).collect();
        self.submit_with(format!("/{name} {words}").trim().to_string(), parts).await
    }

    /// Changes the user's settings; what is about looks and keys applies at once.
    pub(super) fn change_setting(&mut self, key: &str, value: Option<&str>) -> Result<(), Notice> {
        let ChangedSetting { notice, preferences } = self.services.change_setting(key, value)?;
        self.send(DriverMessage::Preferences(preferences));
        self.send(DriverMessage::Offers(self.services.offers()));
        self.notify(notice);
        Ok(())
    }
}
