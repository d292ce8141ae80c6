//! What is kept, what is only kept here, how much room it takes, and what may go.

use std::collections::BTreeMap;

use longhaul_conversation::Timestamp;
use longhaul_workspace::LockTimeout;

use crate::archive::Archive;
use crate::error::ArchiveError;
use crate::source::ArchivedSession;

const DAY: i64 = 86_400_000;

/// The state of an archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchiveStatus {
    /// The sessions.
    pub sessions: usize,
    /// The sessions of each agent.
    pub agents: BTreeMap<String, usize>,
    /// The sessions whose own file is gone: they are only here.
    pub only_here: usize,
    /// The size of the copies before compression, in bytes.
    pub bytes: u64,
    /// The room of the blocks on disk, in bytes.
    pub blocks_room: u64,
    /// The room of the index on disk, in bytes.
    pub index_room: u64,
    /// The copied sessions that are not fully indexed.
    pub unindexed: usize,
    /// The time of the newest copy, in milliseconds.
    pub last_copy: Option<i64>,
}

/// Which sessions may leave the archive: those older than the age, and the oldest beyond the size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// The most days since the last change of a session.
    pub max_days: Option<u32>,
    /// The most bytes of all copies, before compression.
    pub max_bytes: Option<u64>,
    /// Only sessions of this agent.
    pub agent: Option<String>,
    /// Only sessions of this folder, as the agent names it.
    pub project: Option<String>,
}

impl Retention {
    /// The sessions that would be removed, oldest first.
    pub(crate) fn expired<'a>(
        &self,
        sessions: impl Iterator<Item = &'a ArchivedSession>,
        now: Timestamp,
    ) -> Vec<ArchivedSession> {
        let is_asked = |session: &&ArchivedSession| {
            let Self { agent, project, .. } = self;
            agent.as_ref().is_none_or(|agent| *agent == session.source.agent)
                && project.as_ref().is_none_or(|project| session.source.project.as_ref() == Some(project))
        };
        let mut sessions: Vec<&ArchivedSession> = sessions.filter(is_asked).collect();
        sessions.sort_by_key(|session| (session.state.changed, session.id));
        let mut bytes: u64 = sessions.iter().map(|session| session.bytes()).sum();
        let mut expired = Vec::new();
        for session in sessions {
            let age = now.as_millis() - session.state.changed / 1_000_000;
            let is_old = self.max_days.is_some_and(|days| age > i64::from(days) * DAY);
            if is_old || self.max_bytes.is_some_and(|most| bytes > most) {
                bytes -= session.bytes();
                expired.push(session.clone());
            }
        }
        expired
    }
}

impl Archive {
    /// The state.
    ///
    /// # Errors
    /// The archive cannot be read.
    pub fn status(&self) -> Result<ArchiveStatus, ArchiveError> {
        let indexed = self.index.indexed()?;
        let mut status = ArchiveStatus {
            blocks_room: self.blocks.room()?,
            index_room: self.index.room(),
            ..ArchiveStatus::default()
        };
        for session in self.log.sessions() {
            status.sessions += 1;
            *status.agents.entry(session.source.agent.clone()).or_default() += 1;
            status.only_here += usize::from(session.is_deleted());
            status.bytes += session.bytes();
            status.unindexed += usize::from(indexed.get(&session.id) != Some(&session.blocks.len()));
            status.last_copy = status.last_copy.max(Some(session.copied_at));
        }
        Ok(status)
    }

    /// The sessions that a retention would remove, oldest first.
    pub fn expired(&self, retention: &Retention, now: Timestamp) -> Vec<ArchivedSession> {
        retention.expired(self.log.sessions(), now)
    }

    /// Removes what a retention says; the sessions and the room that became free.
    ///
    /// # Errors
    /// Another process holds the lock, or a file cannot be removed.
    pub fn prune(&mut self, retention: &Retention, now: Timestamp) -> Result<(usize, u64), ArchiveError> {
        let _lock = self.lock("archive prune", LockTimeout::default())?;
        self.log.refresh()?;
        let expired = self.expired(retention, now);
        Ok((expired.len(), self.remove(&expired)?))
    }
}
