//! Problems with settings: warnings, and errors that stop the program.

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

/// A problem in a settings file that was ignored.
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
    /// It is unknown.
    Unknown {
        /// The known key that was probably meant.
        nearest: Option<String>,
    },
    /// It is the dotted path of a known key.
    InOnePiece {
        /// The same as nested objects.
        nested: String,
    },
    /// It should match model names, and has a `*` in the wrong place.
    StarInside,
    /// The same object has it again, further down.
    Repeated,
    /// Its value refers to a variable that is not set.
    UnsetVariable {
        /// The name of the variable.
        name: String,
    },
    /// Its value refers to a variable with a secret, and the file is a workspace's.
    SecretVariable {
        /// The name of the variable.
        name: String,
    },
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
                write!(f, "{place}: unknown key {key}; nest each part in its own object: {nested}")
            }
            WarningKind::StarInside => {
                write!(f, "{place}: {key} matches no model; * is only allowed at the end")
            }
            WarningKind::Repeated => {
                write!(f, "{place}: {key} is set again further down, which takes effect")
            }
            WarningKind::UnsetVariable { name } => {
                write!(f, "{place}: {key} refers to ${name}, which is not set")
            }
            WarningKind::SecretVariable { name } => {
                write!(
                    f,
                    "{place}: {key} refers to ${name}, which holds a secret; the settings of a workspace cannot use it"
                )
            }
        }
    }
}

/// A Gemini CLI key that is set but not supported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedKey {
    /// Its place.
    pub place: FileLine,
    /// The key, with dots between its parts.
    pub key: String,
    /// The restriction it asks for, if it restricts an agent, which then does not start.
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
    /// It is too large to be a settings file.
    #[error("the file is larger than {limit} bytes")]
    TooLarge {
        /// The most that is read.
        limit: u64,
    },
    /// It is not valid JSON, with comments and trailing commas allowed.
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
    /// A value that its key does not accept.
    #[error("line {line}: {value}")]
    WrongValue {
        /// The line of the key, from 1.
        line: usize,
        /// The value and what is expected.
        value: WrongValue,
    },
}

/// A value that its key does not accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} must be {expected}, not {found}")]
pub struct WrongValue {
    /// The key, with dots between its parts.
    pub key: String,
    /// The expected value, in words.
    pub(crate) expected: String,
    /// The found value, in words.
    pub found: String,
    /// A key and value that would be accepted, as JSON.
    pub(crate) example: String,
}

impl WrongValue {
    /// The hint for it.
    pub(crate) fn hint(&self) -> String {
        format!("for example {}", self.example)
    }
}

impl SettingsError {
    /// The hint for it.
    pub fn hint(&self) -> String {
        match &self.fault {
            SettingsFault::Unreadable(_) => "make the file readable, or remove it".into(),
            SettingsFault::TooLarge { .. } => "replace it with a smaller file".into(),
            SettingsFault::Broken { hint, .. } => (*hint).into(),
            SettingsFault::WrongValue { value, .. } => value.hint(),
        }
    }
}
