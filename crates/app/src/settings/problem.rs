//! Problems with settings: warnings that change nothing, and errors that stop the program.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A line of a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLine {
    /// The file.
    pub file: Arc<Path>,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for FileLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// Something odd in a settings file that was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsWarning {
    /// Its place.
    pub place: FileLine,
    /// The key, with dots between its parts.
    pub key: String,
    /// The kind of warning.
    pub(crate) kind: WarningKind,
}

/// The kind of a warning about a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WarningKind {
    /// Nobody knows it.
    Unknown {
        /// The known key that was probably meant.
        nearest: Option<String>,
    },
    /// It is the whole path of a known key in one piece.
    InOnePiece {
        /// The same as nested objects.
        nested: String,
    },
    /// It should match the names of models, and has a `*` where none may stand.
    StarInside,
    /// The same object has it once more, further down.
    Repeated,
}

impl fmt::Display for SettingsWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, key, kind } = self;
        match kind {
            WarningKind::Unknown { nearest: Some(nearest) } => {
                write!(f, "{place}: unknown key {key}; did you mean {nearest}?")
            }
            WarningKind::Unknown { nearest: None } => write!(f, "{place}: unknown key {key}"),
            WarningKind::InOnePiece { nested } => {
                write!(f, "{place}: unknown key {key}; write each part as an object of its own: {nested}")
            }
            WarningKind::StarInside => {
                write!(f, "{place}: {key} matches no model; one * may stand at the end")
            }
            WarningKind::Repeated => write!(f, "{place}: {key} is set again further down, which counts"),
        }
    }
}

/// A key of Gemini CLI that is set and that Longhaul does not honour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedKey {
    /// Its place.
    pub place: FileLine,
    /// The key, with dots between its parts.
    pub key: String,
    /// The restriction it asks for, if it restricts an agent, which therefore does not start.
    pub restricts: Option<&'static str>,
}

/// A settings file that could not be loaded.
#[derive(Debug, thiserror::Error)]
#[error("could not load the settings in {}", .file.display())]
pub struct SettingsError {
    /// The file at fault.
    pub file: Arc<Path>,
    /// Its fault.
    #[source]
    pub fault: SettingsFault,
}

/// A fault of a settings file.
#[derive(Debug, thiserror::Error)]
pub enum SettingsFault {
    /// It could not be read.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// It is no file of settings, to judge by its size.
    #[error("the file is larger than {limit} bytes")]
    TooLarge {
        /// The most that is read.
        limit: u64,
    },
    /// It is no JSON, comments and trailing commas allowed.
    #[error("line {line}, column {column}: {reason}")]
    Broken {
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// The reason.
        reason: String,
        /// The hint for it.
        hint: &'static str,
    },
    /// A value is not what its key takes.
    #[error("line {line}: {value}")]
    WrongValue {
        /// The line of the key, from 1.
        line: usize,
        /// The value and what is expected.
        value: WrongValue,
    },
}

/// A value that its key does not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} must be {expected}, not {found}")]
pub struct WrongValue {
    /// The key, with dots between its parts.
    pub key: String,
    /// The expected value, in words.
    pub(crate) expected: String,
    /// The found value, in words.
    pub found: String,
    /// A key and value that would do, as JSON.
    pub(crate) example: String,
}

impl WrongValue {
    /// The hint for it.
    pub(crate) fn hint(&self) -> String {
        format!("write for example {}", self.example)
    }
}

impl SettingsError {
    /// The hint for it.
    pub fn hint(&self) -> String {
        match &self.fault {
            SettingsFault::Unreadable(_) => "make the file readable, or remove it".into(),
            SettingsFault::TooLarge { .. } => "put a smaller file in its place".into(),
            SettingsFault::Broken { hint, .. } => (*hint).into(),
            SettingsFault::WrongValue { value, .. } => value.hint(),
        }
    }
}
