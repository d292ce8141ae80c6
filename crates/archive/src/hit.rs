//! What a search finds.

use std::fmt;
use std::sync::Arc;

use longhaul_conversation::{MessageId, Ordinal, Origin, Role, Timestamp};

use crate::Excerpt;

/// Names the session that a message belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionRef(Arc<str>);

impl SessionRef {
    /// The session with this id.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// Its id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A message that has what was sought.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The session it was said in.
    pub session: SessionRef,
    /// The message.
    pub message: MessageId,
    /// Its place in the log, written `m12`.
    pub mark: Option<Ordinal>,
    /// The side it stands on.
    pub role: Role,
    /// Who produced the part that the excerpt is from.
    pub origin: Origin,
    /// The tool that was called or answered there.
    pub tool: Option<String>,
    /// When it was said.
    pub at: Option<Timestamp>,
    /// How well it fits; only to be compared with other hits of the same search.
    pub score: f64,
    /// The lines around the best match.
    pub excerpt: Excerpt,
    /// How many other messages have the very same lines.
    pub repeats: usize,
}
