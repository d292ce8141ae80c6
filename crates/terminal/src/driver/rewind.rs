//! `/rewind`: the conversation goes back to before a message and, where the user wants it, the files that tools changed since.

use longhaul_agent::{Approver, UserQuestion};
use longhaul_conversation::{MessageId, Timestamp};
use longhaul_tools::{Checkpoints, FileRestoration, Restoration};
use tokio_util::sync::CancellationToken;

use super::{Driver, failure};
use crate::notice::Notice;
use crate::services::Services;

/// The answers to the question about files.
const RESTORE: &str = "Restore these files";
const KEEP: &str = "Keep files as they are";

/// The most files that are named.
const NAMED: usize = 12;

impl<S: Services> Driver<S> {
    pub(super) async fn rewind_to(&mut self, message: &MessageId) -> Result<(), Notice> {
        let since = self.agent.conversation().log().replay().message(message).and_then(|message| message.at);
        self.agent.conversation_mut().rewind_to(message).map_err(|error| failure(&error))?;
        self.notify(Notice::good("Rewound to before that message."));
        self.rewound_to = since;
        if since.is_some() {
            self.offer_files_since(since).await;
        }
        Ok(())
    }

    /// Offers once more to restore files to the point of the latest rewind.
    pub(super) async fn restore_files(&mut self) -> Result<(), Notice> {
        if self.offer_files_since(self.rewound_to).await {
            return Ok(());
        }
        Err(Notice::info("No files to restore: tools have changed none since the latest rewind."))
    }

    /// Offers to restore files to a point; false if there is nothing to restore.
    async fn offer_files_since(&mut self, since: Option<Timestamp>) -> bool {
        let checkpoints = self.services.host().checkpoints.cloned();
        let (Some(checkpoints), Some(since)) = (checkpoints, since) else { return false };
        let plan = checkpoints.plan(since);
        self.offer_to_restore(&checkpoints, &plan, "since then").await;
        !plan.is_empty()
    }

    /// Takes back the latest restoration of files.
    pub(super) async fn undo_restore(&mut self) -> Result<(), Notice> {
        let checkpoints = self.services.host().checkpoints.cloned().unwrap_or_default();
        let plan = checkpoints.plan_undo();
        if plan.is_empty() {
            return Err(Notice::info("No restored files to take back."));
        }
        self.offer_to_restore(&checkpoints, &plan, "by the last restoration").await;
        Ok(())
    }

    /// Shows what would change in files, and asks.
    async fn offer_to_restore(&mut self, checkpoints: &Checkpoints, plan: &Restoration, when: &str) {
        for (path, reason) in plan.refused.iter().take(NAMED) {
            self.notify(Notice::warning(format!("{} cannot be restored: {reason}.", path.display())));
        }
        if plan.files.is_empty() {
            return;
        }
        let mut named: Vec<String> = plan.files.iter().take(NAMED).map(FileRestoration::describe).collect();
        if plan.files.len() > NAMED {
            named.push(format!("and {} more", plan.files.len() - NAMED));
        }
        let text = format!("Files changed {when}: {}. Restore them, too?", named.join(", "));
        let question = UserQuestion { text, options: vec![RESTORE.to_string(), KEEP.to_string()] };
        let cancel = CancellationToken::new();
        let prompt = &self.prompt;
        let asked = Approver::answer(prompt, &question);
        let answer = self.commands.until_done(asked, &cancel, prompt, &|_| false).await;
        if answer.as_deref() != Some(RESTORE) {
            let notice = Notice::info("Files are unchanged.");
            self.notify(notice.with_hint("/rewind files asks once more."));
            return;
        }
        let done = checkpoints.restore(plan);
        for (name, reason) in &done.failed {
            self.notify(Notice::warning(format!("{name} was not restored: {reason}.")));
        }
        if !done.restored.is_empty() {
            let notice = Notice::good(format!("Restored {}.", done.restored.join(", ")));
            self.notify(
                notice.with_hint("/rewind undo takes this back. What commands changed is not restored."),
            );
        }
    }
}
