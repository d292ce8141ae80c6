//! Findings: the kind and the place of each secret, and the text with a mark in its place.

use std::borrow::Cow;
use std::ops::Range;

use crate::SecretKind;

/// The text in the place of a secret.
pub const MARK: &str = "[REDACTED]";

/// The kind and the place of a secret; never the secret itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretFinding {
    /// The kind of the secret.
    pub kind: SecretKind,
    /// The bytes of the input that are the secret. They begin and end between characters.
    pub range: Range<usize>,
}

/// A text without its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redacted<'a> {
    /// The text with [`MARK`] in the place of each secret; the input itself where there was none.
    pub text: Cow<'a, str>,
    /// The secrets that were replaced, in the order of the text.
    pub findings: Vec<SecretFinding>,
}
