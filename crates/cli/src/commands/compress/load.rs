//! Reads a session for compaction: the conversation as it stands, and all that ever happened in it.

use std::path::Path;

use anyhow::Context;
use longhaul_context::Tracker;
use longhaul_session::{Session, read_session_watched};

use crate::input;
use crate::redaction::Redaction;
use crate::told::Told;

/// The session, and a tracker that has seen its whole log: also what its agent compacted away. What is to be redacted is
/// gone before anything looks at it.
pub(super) fn session(
    file: &Path,
    mut redaction: Option<&mut Redaction>,
) -> anyhow::Result<(Session, Tracker)> {
    let name = input::display_name(file);
    let source = input::open(file)?;
    let mut tracker = Tracker::default();
    let mut told = Told::default();
    let session = tracker.observe_while(|observe| {
        read_session_watched(source, &mut |change| {
            if let Some(redaction) = &mut redaction {
                redaction.change(change);
            }
            if let Some(message) = told.news(change) {
                observe(&message);
            }
        })
    });
    let mut session = session.with_context(|| format!("could not read {name}"))?;
    if let Some(redaction) = redaction {
        redaction.surroundings(&mut session);
    }
    if let Some(directory) = &session.info.directory {
        tracker.learn_directory(directory);
    }
    Ok((session, tracker))
}
