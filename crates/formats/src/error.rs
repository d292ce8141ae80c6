//! Errors that prevent a session from being read at all.

/// An error that prevents a session from being read at all. Faults inside a readable session are [`crate::Warning`]s instead.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The input could not be read.
    #[error("could not read the input")]
    Io(#[from] std::io::Error),
    /// There is nothing in it.
    #[error("the input is empty")]
    Empty,
    /// It is not text.
    #[error("the input is binary data{}", .looks_like.map(|what| format!(" ({what})")).unwrap_or_default())]
    Binary {
        /// The kind of data by its first bytes.
        looks_like: Option<&'static str>,
    },
    /// It starts as JSON and breaks off or goes wrong.
    #[error("the input starts as JSON but is malformed: {reason}")]
    BrokenJson {
        /// The JSON parser's error, with line and column.
        reason: String,
    },
    /// It is text or JSON of a kind nobody here knows.
    #[error("unknown session format: found {found}")]
    Unknown {
        /// A description of the input.
        found: String,
    },
}
