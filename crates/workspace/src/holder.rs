//! The holder of a lock, as it signs the lock file.

use std::fmt;

/// The holder of a lock, for messages only: it may have been released since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The number of the process.
    pub process: u32,
    /// The purpose, in its own words.
    pub purpose: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "held by process {}", self.process)?;
        if self.purpose.is_empty() { Ok(()) } else { write!(f, " ({})", self.purpose) }
    }
}

impl Holder {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (process, purpose) = text.split_once(' ')?;
        Some(Self { process: process.parse().ok()?, purpose: purpose.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_are_read_with_care() {
        let parse = |text| Holder::parse(text).map(|holder| holder.to_string());
        assert_eq!(parse("12 compacting").as_deref(), Some("held by process 12 (compacting)"));
        assert_eq!(parse("12 ").as_deref(), Some("held by process 12"));
        for text in ["", "12", "x y", "-1 y"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
