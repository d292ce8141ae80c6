//! The error of the crate: variants are divided by what a caller can do.

use std::path::PathBuf;

use longhaul_workspace::WorkspaceError;

use crate::ApprovalMode;

/// An error of a policy file or a rule.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The mode is for trusted folders. The user trusts the folder or takes another mode.
    #[error("could not use the approval mode {mode} in a folder that is not trusted")]
    NeedsTrust {
        /// The mode that was asked for.
        mode: ApprovalMode,
    },
    /// A setting or an argument about tools says nothing that a rule can be made of. The user mends it.
    #[error("could not make a rule of {text:?}: {reason}")]
    NoRule {
        /// The text as it was given.
        text: String,
        /// The fault.
        reason: String,
    },
    /// The file of saved choices has mistakes, and a change would not take effect. The user mends it; it is left as it is.
    #[error("could not change {}, line {line}: {reason}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The line of the mistake, from 1.
        line: usize,
        /// The fault.
        reason: String,
    },
    /// No saved choice is meant. The user looks at the list.
    #[error("could not find the saved rule {given:?}: {}", counted(*count))]
    UnknownSaved {
        /// The number or words that were given.
        given: String,
        /// The number of them.
        count: usize,
    },
    /// Several saved choices are meant. The user takes one of the numbers.
    #[error("could not tell which saved rule {given:?} means: {}", listed(numbers))]
    AmbiguousSaved {
        /// The words that were given.
        given: String,
        /// The numbers of those that have the words, from 1.
        numbers: Vec<usize>,
    },
    /// A choice could not be saved. It still counts for the rest of the session.
    #[error("could not save what is always allowed")]
    NotSaved(#[from] WorkspaceError),
}

/// `there are 3`
fn counted(count: usize) -> String {
    match count {
        0 => "nothing is saved".to_owned(),
        1 => "there is 1".to_owned(),
        count => format!("there are {count}"),
    }
}

/// `2, 5 and 7 match`
fn listed(numbers: &[usize]) -> String {
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    match numbers.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} and {last} match", first.join(", ")),
        _ => format!("{} matches", numbers.join(", ")),
    }
}
