//! The error of the crate: variants are divided by what a caller can do.

use std::path::PathBuf;

use longhaul_workspace::WorkspaceError;

use crate::ApprovalMode;

/// An error of a policy file or a rule.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The mode is for trusted folders. The user trusts the folder or takes another mode.
    #[error("approval mode {mode} requires a trusted folder")]
    NeedsTrust {
        /// The mode that was asked for.
        mode: ApprovalMode,
    },
    /// A setting or an argument about tools says nothing that a rule can be made of. The user mends it.
    #[error("invalid policy rule {text:?}: {reason}")]
    NoRule {
        /// The text as it was given.
        text: String,
        /// The fault.
        reason: String,
    },
    /// The file of saved choices has mistakes, and a change would not take effect. The user mends it; it is left as it is.
    #[error("could not update {}: line {line}: {reason}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The line of the mistake, from 1.
        line: usize,
        /// The fault.
        reason: String,
    },
    /// No saved choice is meant. The user looks at the list.
    #[error("no saved approval matches {given:?}: {}", counted(*count))]
    UnknownSaved {
        /// The number or words that were given.
        given: String,
        /// The number of them.
        count: usize,
    },
    /// Several saved choices are meant. The user takes one of the numbers.
    #[error("{given:?} matches several saved approvals: {}", listed(numbers))]
    AmbiguousSaved {
        /// The words that were given.
        given: String,
        /// The numbers of those that have the words, from 1.
        numbers: Vec<usize>,
    },
    /// A choice could not be saved. It still counts for the rest of the session.
    #[error("could not update saved approvals")]
    NotSaved(#[from] WorkspaceError),
}

/// `3 are saved`
fn counted(count: usize) -> String {
    match count {
        0 => "none are saved".to_owned(),
        1 => "1 is saved".to_owned(),
        count => format!("{count} are saved"),
    }
}

/// `2, 5 and 7`
fn listed(numbers: &[usize]) -> String {
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    match numbers.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => numbers.join(", "),
    }
}
