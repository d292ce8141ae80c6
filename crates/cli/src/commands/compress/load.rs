//! Reads a session for compaction: the conversation as it stands, and all that ever happened in it.

use std::path::Path;

use anyhow::Context;
use longhaul_app::sessions::{Redaction, SeenParts};
use longhaul_compaction::{StaleCounts, Tracker};
use longhaul_formats::{Session, read_session_watched};

use crate::input;

/// A session to be compacted.
pub(super) struct LoadedSession {
    pub(super) session: Session,
    /// Has observed the whole log, including what its agent compacted away.
    pub(super) tracker: Tracker,
    /// The counts of its messages that no longer hold.
    pub(super) stale: StaleCounts,
}

impl LoadedSession {
    /// Reads a session. Secrets are redacted before anything else sees it.
    pub(super) fn read(file: &Path, mut redaction: Option<&mut Redaction>) -> anyhow::Result<Self> {
        let name = input::display_name(file);
        let source = input::open(file)?;
        let mut seen = SeenParts::default();
        let mut tracker = Tracker::default();
        let mut stale = StaleCounts::default();
        let session = read_session_watched(source, &mut |change, transcript| {
            stale.observe(change, transcript.messages().iter().map(|message| &message.id));
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
        Ok(Self { session, tracker, stale })
    }
}
