//! A session prepared for evaluation.

use longhaul_conversation::{Message, TokenCount, repair};
use longhaul_formats::{Question, Session};

use crate::paths::guess_directory;
use crate::text::count_tokens;

/// The fewest tokens of a session that would be compacted in practice.
const LEAST_TOKENS: TokenCount = TokenCount(8_000);

/// A session prepared for evaluation.
#[derive(Clone, Debug)]
pub struct EvalSession {
    /// The name in reports.
    pub name: String,
    /// The messages with repaired pairing, so that any fault afterwards is the method's.
    pub messages: Vec<Message>,
    /// The folder it worked in.
    pub directory: Option<String>,
    /// Questions with expected answers.
    pub questions: Vec<Question>,
    /// Its size.
    pub tokens: TokenCount,
}

/// The class of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A real session that is large enough; it counts for the headline.
    Real,
    /// A real session too small to be compacted.
    Small,
    /// A session written to carry questions.
    Scripted,
}

impl EvalSession {
    /// Prepares a session.
    pub fn new(name: impl Into<String>, session: &Session) -> Self {
        let messages = repair(session.transcript.messages().to_vec()).messages;
        let directory = session.info.directory.clone().or_else(|| guess_directory(&messages));
        let tokens = count_tokens(&messages);
        Self { name: name.into(), messages, directory, questions: session.info.questions.clone(), tokens }
    }

    /// The session's class.
    pub fn class(&self) -> Class {
        if !self.questions.is_empty() {
            Class::Scripted
        } else if self.tokens < LEAST_TOKENS {
            Class::Small
        } else {
            Class::Real
        }
    }
}

impl Class {
    /// The lowercase name in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::Small => "small",
            Self::Scripted => "scripted",
        }
    }
}
