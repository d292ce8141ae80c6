//! The digest of a past session: messages of the user, commands with their outcome, and changed files.

use std::collections::HashSet;

use longhaul_conversation::{Ordinal, Timestamp};
use longhaul_redact::redact;

/// A past session, as its reader sums it up. Whoever reads sessions makes it; nothing a model said is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionDigest {
    /// The session's id.
    pub id: String,
    /// The folder that it was recorded in, where that is known.
    pub directory: Option<String>,
    /// When something was last added to it.
    pub updated: Option<Timestamp>,
    /// The steps, in order.
    pub steps: Vec<DigestStep>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestStep {
    /// The message in which it did.
    pub mark: Ordinal,
    /// The time, where the session has one.
    pub at: Option<Timestamp>,
    /// The deed.
    pub deed: SessionDeed,
}

/// A message, a command or a change in a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SessionDeed {
    /// The user said this.
    Said(String),
    /// A command ran.
    Ran {
        /// The command line.
        command: String,
        /// The purpose.
        purpose: DeedPurpose,
        /// The outcome.
        ending: DeedEnding,
        /// The line that tells what went wrong, where there is one.
        error: Option<String>,
    },
    /// A file was changed.
    Changed(String),
}

/// The purpose of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeedPurpose {
    /// It only looked at something.
    Look,
    /// It showed whether something is right: tests, a build, a checker.
    Check,
    /// Something else.
    Work,
}

/// The outcome of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeedEnding {
    /// It did what it should.
    Passed,
    /// It failed.
    Failed,
    /// Nothing tells.
    Unclear,
}

impl SessionDigest {
    /// The same without secrets.
    pub(crate) fn without_secrets(&self) -> Self {
        let clean = |text: &String| redact(text).text.into_owned();
        let steps = self.steps.iter().map(|step| {
            let deed = match &step.deed {
                SessionDeed::Said(text) => SessionDeed::Said(clean(text)),
                SessionDeed::Changed(path) => SessionDeed::Changed(clean(path)),
                SessionDeed::Ran { command, purpose, ending, error } => SessionDeed::Ran {
                    command: clean(command),
                    purpose: *purpose,
                    ending: *ending,
                    error: error.as_ref().map(clean),
                },
            };
            DigestStep { deed, ..step.clone() }
        });
        Self { steps: steps.collect(), ..self.clone() }
    }
}

/// The sessions without what one of them copied from another: a session that is resumed in a fork, or imported twice, begins with
/// what another holds, and would seem to confirm it. What happened at the same moment in the same way happened once.
pub(crate) fn without_copies(sessions: &[SessionDigest]) -> Vec<SessionDigest> {
    let mut seen: HashSet<(Timestamp, &SessionDeed)> = HashSet::new();
    let mut own = Vec::with_capacity(sessions.len());
    for session in sessions {
        let is_new = |step: &&DigestStep| step.at.is_none_or(|at| !seen.contains(&(at, &step.deed)));
        let steps: Vec<DigestStep> = session.steps.iter().filter(is_new).cloned().collect();
        seen.extend(session.steps.iter().filter_map(|step| Some((step.at?, &step.deed))));
        own.push(SessionDigest { steps, ..session.clone() });
    }
    own
}
