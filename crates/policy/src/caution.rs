//! The reasons why a decision is stricter than its rule.

use std::fmt;

use longhaul_shell::Unclear;

/// The reason why a decision is stricter than its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caution {
    /// Not all that the command line would run can be told.
    Unclear(Unclear),
    /// An argument that decides about the rule is only known when the line runs.
    FilledArgument,
    /// The command writes to a file, and its rule does not say that it may.
    Redirection,
    /// This option writes to a file, and the rule does not name it.
    WritingOption(&'static str),
    /// This option runs another program, and the rule does not name it.
    RunningOption(&'static str),
    /// A program that runs others is given the name of one that a rule forbids.
    Mentioned,
    /// A folder that is not trusted can make git run anything.
    GitWithoutTrust,
    /// A file that grants rights would be changed.
    ProtectedFile,
    /// The user would have to be asked, and there is none.
    NobodyToAsk,
}

/// The reason as a part of a sentence.
impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unclear(unclear) => return write!(f, "not all that it would run can be told: {unclear}"),
            Self::FilledArgument => "an argument is only known when the line runs",
            Self::Redirection => "the command writes to a file, which its rule does not allow",
            Self::WritingOption(option) => {
                return write!(f, "{option} writes to a file, which its rule does not allow");
            }
            Self::RunningOption(option) => {
                return write!(f, "{option} can run another program, which no rule allows");
            }
            Self::Mentioned => "the program can run others, and its arguments name one that a rule is about",
            Self::GitWithoutTrust => {
                "git runs what the folder's own configuration says, and the folder is not trusted"
            }
            Self::ProtectedFile => {
                "it changes a file that grants rights, and only a person at a terminal can allow that"
            }
            Self::NobodyToAsk => "the user would have to be asked, and nobody is there to answer",
        })
    }
}
