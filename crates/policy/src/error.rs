//! The error of the crate: variants are divided by what a caller can do.

use std::path::PathBuf;

use longhaul_workspace::WorkspaceError;

use crate::ApprovalMode;

/// An error of a policy file or a rule.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The mode requires a trusted folder. The user trusts the folder or chooses another mode.
    #[error("approval mode {mode} requires a trusted folder")]
    NeedsTrust {
        /// The requested mode.
        mode: ApprovalMode,
    },
    /// A setting or argument about tools is not a valid rule. The user corrects it.
    #[error("invalid policy rule {text:?}: {reason}")]
    NoRule {
        /// The text as it was given.
        text: String,
        /// The fault.
        reason: String,
    },
    /// The file of saved approvals is invalid and left unchanged. The user corrects it.
    #[error("could not update {}: line {line}: {reason}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The line of the mistake, from 1.
        line: usize,
        /// The fault.
        reason: String,
    },
    /// No saved approval matches. The user looks at the list.
    #[error("no saved approval matches {given:?}: {}", counted(*count))]
    UnknownSaved {
        /// The number or words that were given.
        given: String,
        /// The number of them.
        count: usize,
    },
    /// Several saved approvals match. The user chooses one of the numbers.
    #[error("{given:?} matches several saved approvals: {}", listed(numbers))]
    AmbiguousSaved {
        /// The words that were given.
        given: String,
        /// The numbers of those that have the words, from 1.
        numbers: Vec<usize>,
    },
    /// An approval could not be saved. It still applies for the rest of the session.
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
