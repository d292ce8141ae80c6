//! Ids of messages and tool calls.

use std::fmt::{self, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A message's id, stable for as long as its session exists.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageId(Arc<str>);

/// The id that ties a tool's result to its call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(Arc<str>);

/// The number of a message in its log, counted from 1 and never reused; written `m12`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ordinal(pub u32);

/// The prefix of generated ids, for sources that have none; fingerprints leave them out.
const GENERATED_PREFIX: &str = "lh-";

fn made_up(place: impl fmt::Display) -> String {
    // Enough capacity for all of it, so that it does not move as it grows.
    let mut id = String::with_capacity(32);
    write!(id, "{GENERATED_PREFIX}{place}").expect("strings can be written to");
    id
}

impl MessageId {
    /// Wraps a message's own id.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// Generates an id for a message without one, from its position in the source.
    pub fn made_up(place: impl fmt::Display) -> Self {
        Self(made_up(place).into())
    }

    /// True if the id was generated.
    pub fn is_made_up(&self) -> bool {
        self.0.starts_with(GENERATED_PREFIX)
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl CallId {
    /// Wraps a call's own id.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// Generates an id for a call without one.
    pub fn made_up(place: impl fmt::Display) -> Self {
        Self(made_up(format_args!("call-{place}")).into())
    }

    /// True if the id was generated.
    pub fn is_made_up(&self) -> bool {
        self.0.starts_with(GENERATED_PREFIX)
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
