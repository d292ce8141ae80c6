//! Changes to memory that the user asks for, and the application's replies.

use std::path::PathBuf;

/// A change to memory that the user asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryRequest {
    /// Adds a fact; its scope may stand before it, as in `--scope global Use tabs`.
    Add(String),
    /// Removes a fact, named by its number or words of it.
    Remove(String),
    /// Edits a fact, named by its number or words of it; the new wording may follow `--text`.
    Edit(String),
    /// Takes the new wording of a fact from a file that the user edited.
    TakeEdited {
        /// The number or the words of the fact.
        which: String,
        /// The file.
        file: PathBuf,
    },
}

/// The reply to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryReply {
    /// It is done; the message tells what has changed.
    Done(String),
    /// The user has to choose what is meant.
    Choose {
        /// The question.
        question: String,
        /// The answers, each with the request it stands for.
        options: Vec<(String, MemoryRequest)>,
    },
    /// The user edits a file, then the request is made.
    Edit {
        /// The file.
        file: PathBuf,
        /// The request.
        then: MemoryRequest,
    },
}
