//! Reads a session for compaction: the conversation as it stands, and all that ever happened in it.

use std::path::Path;

use anyhow::Context;
use longhaul_context::{Horizon, Tracker};
use longhaul_conversation::TokenCount;
use longhaul_session::{Session, read_session_watched};

use crate::input;
use crate::redaction::Redaction;
use crate::told::Told;

/// A session to be compacted.
pub(super) struct Loaded {
    pub(super) session: Session,
    /// Has seen the whole log: also what its agent compacted away, and what was let go.
    pub(super) tracker: Tracker,
    /// Lets messages go as they are read, where it may.
    pub(super) horizon: Option<Horizon>,
}

impl Loaded {
    /// Reads a session. What is to be redacted is gone before anything looks at it. With a horizon, only the part of the
    /// session is held that a plan can keep.
    pub(super) fn read(
        file: &Path,
        mut redaction: Option<&mut Redaction>,
        mut horizon: Option<Horizon>,
    ) -> anyhow::Result<Self> {
        let name = input::display_name(file);
        let source = input::open(file)?;
        let mut tracker = Tracker::default();
        let mut told = Told::default();
        let session = tracker.observe_while(|observe| {
            read_session_watched(source, &mut |change, transcript| {
                if let Some(redaction) = &mut redaction {
                    redaction.change(change);
                }
                if let Some(message) = told.news(change) {
                    observe(&message);
                }
                if let Some(horizon) = &mut horizon {
                    horizon.follow(change, transcript);
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
        Ok(Self { session, tracker, horizon })
    }

    /// Whether everything is there that a plan for this window needs.
    pub(super) fn holds_for(&self, window: TokenCount) -> bool {
        self.horizon.as_ref().is_none_or(|horizon| horizon.holds_for(window))
    }
}
