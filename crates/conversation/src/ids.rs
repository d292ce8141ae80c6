//! Names of messages and tool calls.

use std::fmt::{self, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Names one message for as long as its session exists.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageId(Arc<str>);

/// Ties a tool's result to the call that asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(Arc<str>);

/// The place of a message in its log, counted from 1 and never reused; written `m12`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ordinal(pub u32);

/// Marks the ids that a source lacked and we invented; fingerprints leave them out.
const MADE_UP: &str = "lh-";

fn made_up(place: impl fmt::Display) -> String {
    // There is room for all, so that it is not moved as it grows.
    let mut id = String::with_capacity(32);
    write!(id, "{MADE_UP}{place}").expect("strings can be written to");
    id
}

impl MessageId {
    /// Takes a message's own id.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// Invents an id for a message whose source has none, from its place in the source.
    pub fn made_up(place: impl fmt::Display) -> Self {
        Self(made_up(place).into())
    }

    /// Whether the source had no id of its own.
    pub fn is_made_up(&self) -> bool {
        self.0.starts_with(MADE_UP)
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl CallId {
    /// Takes a call's own id.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// Invents an id for a call whose source has none.
    pub fn made_up(place: impl fmt::Display) -> Self {
        Self(made_up(format_args!("call-{place}")).into())
    }

    /// Whether the source had no id of its own.
    pub fn is_made_up(&self) -> bool {
        self.0.starts_with(MADE_UP)
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for MessageId {
    fn from(id: &str) -> Self {
        Self::new(id)
    }
}

impl From<String> for MessageId {
    fn from(id: String) -> Self {
        Self::new(id)
    }
}

impl From<&str> for CallId {
    fn from(id: &str) -> Self {
        Self::new(id)
    }
}

impl From<String> for CallId {
    fn from(id: String) -> Self {
        Self::new(id)
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Ordinal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "m{}", self.0)
    }
}
