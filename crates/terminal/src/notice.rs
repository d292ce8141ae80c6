//! Notices to the user.

/// The severity of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// For information.
    Info,
    /// Success.
    Good,
    /// Needs attention.
    Warning,
    /// Failure.
    Error,
}

/// A notice to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Its severity.
    pub level: Level,
    /// The text.
    pub text: String,
    /// The remedy, if there is one.
    pub hint: Option<String>,
}

impl Notice {
    /// A notice for information.
    pub fn info(text: impl Into<String>) -> Self {
        Self { level: Level::Info, text: text.into(), hint: None }
    }

    /// A notice of success.
    pub fn good(text: impl Into<String>) -> Self {
        Self { level: Level::Good, ..Self::info(text) }
    }

    /// A warning.
    pub fn warning(text: impl Into<String>) -> Self {
        Self { level: Level::Warning, ..Self::info(text) }
    }

    /// An error.
    pub fn error(text: impl Into<String>) -> Self {
        Self { level: Level::Error, ..Self::info(text) }
    }

    /// Adds a hint about the remedy.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}
