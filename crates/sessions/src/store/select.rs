//! Finds the session that a user means.

use super::StoreError;
use super::list::{ListedSession, Listing};

impl Listing {
    /// The session that was used last.
    pub(crate) fn latest(&self) -> Option<&ListedSession> {
        self.sessions.iter().max_by_key(|session| (session.last_used(), session.index))
    }

    /// The session that `given` means: `latest`, a whole id, or its number in the list.
    ///
    /// # Errors
    /// [`StoreError::NoSessions`] or [`StoreError::UnknownSession`].
    pub fn select(&self, given: &str) -> Result<&ListedSession, StoreError> {
        let latest = self.latest().ok_or(StoreError::NoSessions)?;
        let wanted = given.trim();
        if wanted == "latest" {
            return Ok(latest);
        }
        let by_id = self.sessions.iter().find(|session| session.id() == wanted);
        let by_index = || self.sessions.iter().find(|session| session.index.to_string() == wanted);
        by_id.or_else(by_index).ok_or_else(|| StoreError::UnknownSession { given: wanted.to_owned() })
    }
}
