//! Reads a session for compaction: the conversation as it stands, and all that ever happened in it.

use std::path::Path;
use std::sync::mpsc::sync_channel;

use anyhow::Context;
use longhaul_app::sessions::{Redaction, SeenParts};
use longhaul_compaction::Tracker;
use longhaul_conversation::Message;
use longhaul_formats::{Session, read_session_watched};

use crate::input;

/// A session to be compacted.
pub(super) struct LoadedSession {
    pub(super) session: Session,
    /// Has observed the whole log, including what its agent compacted away.
    pub(super) tracker: Tracker,
}

/// The most messages queued for the tracker before the reader waits.
const MOST_WAITING: usize = 256;

impl LoadedSession {
    /// Reads a session. Secrets are redacted before anything else sees it.
    ///
    /// Messages are observed on a second thread while the next ones are read. Of 100 MB of tool outputs reading is a
    /// quarter of the work, which is what the second thread saves at most.
    pub(super) fn read(file: &Path, mut redaction: Option<&mut Redaction>) -> anyhow::Result<Self> {
        let name = input::display_name(file);
        let source = input::open(file)?;
        let mut seen = SeenParts::default();
        let (session, mut tracker) = std::thread::scope(|scope| {
            let (sender, receiver) = sync_channel::<Message>(MOST_WAITING);
            let observer = scope.spawn(move || {
                let mut tracker = Tracker::default();
                receiver.iter().for_each(|message| tracker.observe(&message));
                tracker
            });
            let session = read_session_watched(source, &mut |change, _| {
                if let Some(redaction) = &mut redaction {
                    redaction.change(change);
                }
                if let Some(message) = seen.new_parts(change) {
                    // The observer only hangs up when it panics, which is told where it is joined.
                    let _ = sender.send(message.into_owned());
                }
            });
            drop(sender);
            (session, observer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        let mut session = session.with_context(|| format!("could not read {name}"))?;
        if let Some(redaction) = redaction {
            redaction.surroundings(&mut session);
        }
        if let Some(directory) = &session.info.directory {
            tracker.learn_directory(directory);
        }
        Ok(Self { session, tracker })
    }
}
