//! Events of reading a session, one after the other.

use std::fmt;

use longhaul_conversation::{Change, Message};

/// One piece of a session, in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The transcript changes.
    Change(Change),
    /// The agent compacted the transcript: the changes from here to [`Event::CompactionEnd`] are its doing, and what they put
    /// was not said.
    CompactionStart,
    /// The transcript is as the compaction left it.
    CompactionEnd,
    /// A message of a sub-agent, which the main conversation did not see.
    Side {
        /// Names the sub-agent's conversation.
        chain: String,
        /// The message.
        message: Message,
    },
    /// Something could not be read as it should.
    Warning(Warning),
}

/// Something that could not be read as it should; everything around it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The line of the file, counted from 1, where one line is to blame.
    pub line: Option<usize>,
    /// The fault.
    pub reason: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}
