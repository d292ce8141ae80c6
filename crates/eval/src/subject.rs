//! A session made ready to be evaluated.

use longhaul_conversation::{Message, TokenCount, repair};
use longhaul_formats::{Question, Session};

use crate::paths::guess_directory;
use crate::text::count_tokens;

/// Sessions with fewer tokens are never compacted in practice.
const LEAST_TOKENS: TokenCount = TokenCount(8_000);

/// A session made ready to be evaluated.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Names it in reports.
    pub name: String,
    /// Its messages, paired without faults: what is wrong afterwards is a method's doing.
    pub messages: Vec<Message>,
    /// The folder it worked in.
    pub directory: Option<String>,
    /// Questions with expected answers that it carries.
    pub questions: Vec<Question>,
    /// Its size.
    pub tokens: TokenCount,
}

/// What a session's figures are good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A real session that is large enough; it counts for the headline.
    Real,
    /// A real session too small to be compacted.
    Small,
    /// A session written to carry questions.
    Scripted,
}

impl Subject {
    /// Makes a session ready.
    pub fn new(name: impl Into<String>, session: &Session) -> Self {
        let messages = repair(session.transcript.messages().to_vec()).messages;
        let directory = session.info.directory.clone().or_else(|| guess_directory(&messages));
        let tokens = count_tokens(&messages);
        Self { name: name.into(), messages, directory, questions: session.info.questions.clone(), tokens }
    }

    /// What its figures are good for.
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
    /// The lower-case word used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::Small => "small",
            Self::Scripted => "scripted",
        }
    }
}
