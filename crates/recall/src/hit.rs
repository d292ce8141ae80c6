//! Search results.

use std::fmt;
use std::sync::Arc;

use longhaul_conversation::{MessageId, Ordinal, Origin, Role, Timestamp};

use crate::Excerpt;

/// The id of a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionRef(Arc<str>);

impl SessionRef {
    /// Wraps a session id.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// The id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A matching message.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Its session.
    pub session: SessionRef,
    /// The message.
    pub message: MessageId,
    /// Its number in the log, written `m12`.
    pub number: Option<Ordinal>,
    /// Its role.
    pub role: Role,
    /// The origin of the part in the excerpt.
    pub origin: Origin,
    /// The tool that was called or answered there.
    pub tool: Option<String>,
    /// Its time.
    pub at: Option<Timestamp>,
    /// The score; only comparable within one search.
    pub score: f64,
    /// The lines around the best match.
    pub excerpt: Excerpt,
    /// The number of other messages with the same lines.
    pub repeats: usize,
}
