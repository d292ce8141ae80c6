//! Sums a recorded session up for mining: what the user said, what ran and how it ended, what was changed.

use std::collections::HashMap;
use std::path::Path;

use longhaul_conversation::{Body, Message, Ordinal, Origin, Timestamp};
use longhaul_ledger::{CommandPurpose, Ledger, WorkOutcome};
use longhaul_skills::{DeedEnding, DeedPurpose, DigestStep, SessionDeed, SessionDigest};
use tokio_util::sync::CancellationToken;

use super::read::{Links, read_messages};

/// Sums a session up. `directory` is the project's folder, where it is known.
pub(super) fn load_digest(
    id: &str,
    path: &Path,
    links: Links,
    directory: Option<&Path>,
    cancel: &CancellationToken,
) -> anyhow::Result<SessionDigest> {
    let mut fold = Fold::new(directory);
    let recorded = read_messages(path, links, cancel, &mut |message| fold.observe(message))?;
    let directory = recorded.or_else(|| directory.map(|directory| directory.display().to_string()));
    Ok(SessionDigest { id: id.to_string(), directory, updated: None, steps: fold.finish() })
}

/// A session, as far as it was read.
struct Fold {
    ledger: Ledger,
    steps: Vec<DigestStep>,
    messages: u32,
    /// When each message was written.
    times: HashMap<Ordinal, Timestamp>,
    /// The edits of each file.
    edits: HashMap<String, u32>,
}

impl Fold {
    fn new(directory: Option<&Path>) -> Self {
        let ledger =
            directory.map(|directory| Ledger::in_directory(&directory.to_string_lossy())).unwrap_or_default();
        Self { ledger, steps: Vec::new(), messages: 0, times: HashMap::new(), edits: HashMap::new() }
    }

    fn observe(&mut self, message: &Message) {
        self.messages += 1;
        let mark = message.ordinal.unwrap_or(Ordinal(self.messages));
        let at = message.at;
        self.times.extend(at.map(|at| (mark, at)));
        for part in &message.parts {
            if let (Origin::User, Body::Text(text)) = (part.origin, &part.body) {
                self.steps.push(DigestStep { mark, at, deed: SessionDeed::Said(text.clone()) });
            }
        }
        self.ledger.observe(message);
        if message.results().next().is_none() && message.calls().next().is_none() {
            return;
        }
        for (path, file) in self.ledger.files() {
            let edits = file.change.as_ref().map_or(0, |change| change.edits);
            let known = self.edits.get(path).copied().unwrap_or(0);
            if edits > known {
                self.edits.insert(path.to_string(), edits);
                self.steps.push(DigestStep { mark, at, deed: SessionDeed::Changed(file.path.clone()) });
            }
        }
    }

    fn finish(mut self) -> Vec<DigestStep> {
        let commands = self.ledger.commands().iter().map(|command| {
            let is_about =
                |error: &&longhaul_ledger::ErrorEntry| error.at == command.at && error.source == command.text;
            let purpose = match command.purpose {
                CommandPurpose::Look => DeedPurpose::Look,
                CommandPurpose::Check | CommandPurpose::Build | CommandPurpose::Test => DeedPurpose::Check,
                CommandPurpose::Other => DeedPurpose::Work,
            };
            let ending = match command.outcome {
                WorkOutcome::Passed => DeedEnding::Passed,
                WorkOutcome::Failed => DeedEnding::Failed,
                WorkOutcome::Running | WorkOutcome::Cancelled | WorkOutcome::Unclear => DeedEnding::Unclear,
            };
            let error = self.ledger.errors().iter().find(is_about).map(|error| error.message.clone());
            DigestStep {
                mark: command.at,
                at: self.times.get(&command.at).copied(),
                deed: SessionDeed::Ran { command: command.text.clone(), purpose, ending, error },
            }
        });
        let commands: Vec<DigestStep> = commands.collect();
        self.steps.extend(commands);
        self.steps.sort_by_key(|step| step.mark);
        self.steps
    }
}
