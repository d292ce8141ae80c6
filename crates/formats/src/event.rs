//! Events of reading a session, one after the other.

use std::fmt;

use longhaul_conversation::{Change, Message, MessageId, Timestamp, Usage};

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
    /// A provider counted a call of the model.
    Call(Box<CountedCall>),
    /// Something could not be read as it should.
    Warning(Warning),
}

/// The figures of one call of a model. A session may tell them several times as the answer grows: the last of an id counts.
#[derive(Clone, Debug, PartialEq)]
pub struct CountedCall {
    /// The message that the call made, where the session ties them.
    pub message: Option<MessageId>,
    /// The time.
    pub at: Option<Timestamp>,
    /// The model.
    pub model: Option<String>,
    /// The figures.
    pub usage: Usage,
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
