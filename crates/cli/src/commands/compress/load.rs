//! Reads a session for compaction: the conversation as it stands, and all that ever happened in it.

use std::path::Path;

use anyhow::Context;
use longhaul_app::kept_rules::kept_rules;
use longhaul_app::sessions::{Redaction, SeenParts};
use longhaul_compaction::{CountHistory, MeasuredMessage, Tracker};
use longhaul_conversation::{Estimator, Message};
use longhaul_formats::{Session, read_session_watched};

use crate::input;

/// A session to be compacted.
pub(super) struct LoadedSession {
    pub(super) session: Session,
    /// Has observed the whole log, including what its agent compacted away.
    pub(super) tracker: Tracker,
    /// What its provider counted.
    pub(super) counts: CountHistory,
}

impl LoadedSession {
    /// Reads a session. Secrets are redacted before anything else sees it.
    pub(super) fn read(
        file: &Path,
        estimator: &Estimator,
        mut redaction: Option<&mut Redaction>,
    ) -> anyhow::Result<Self> {
        let name = input::display_name(file);
        let source = input::open(file)?;
        let mut seen = SeenParts::default();
        let mut tracker = Tracker::default();
        tracker.rules_mut().expect_quoted(kept_rules(file)?);
        let mut counts = CountHistory::default();
        let session = read_session_watched(source, &mut |change, transcript| {
            counts.observe(change, |counts| {
                let messages = transcript.messages().iter();
                let measured = |message: &Message| (message.id.clone(), measured(message, counts, estimator));
                messages.map(measured).collect::<Vec<_>>()
            });
            if let Some(redaction) = &mut redaction {
                redaction.change(change);
            }
            if let Some(message) = seen.new_parts(change) {
                tracker.observe(&message);
            }
        });
        let mut session = session.with_context(|| format!("could not read {name}"))?;
        if let Some(redaction) = redaction {
            redaction.surroundings(&mut session);
        }
        if let Some(directory) = &session.info.directory {
            tracker.learn_directory(directory);
        }
        Ok(Self { session, tracker, counts })
    }
}

/// A message as it is measured.
pub(super) fn measured(message: &Message, counts: &CountHistory, estimator: &Estimator) -> MeasuredMessage {
    MeasuredMessage { size: estimator.message(message), counted: counts.count_of(message) }
}
