//! The reasons why a decision is stricter than its rule.

use std::fmt;

use longhaul_shell::Unclear;

/// The reason why a decision is stricter than its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caution {
    /// It is not certain what the command line would run.
    Unclear(Unclear),
    /// An argument that the rule depends on is known only at run time.
    FilledArgument,
    /// The command writes to a file, and its rule does not allow redirection.
    Redirection,
    /// This option writes to a file, and the rule does not name it.
    WritingOption(&'static str),
    /// This option runs another program, and the rule does not name it.
    RunningOption(&'static str),
    /// A program that runs others is given the name of one that a rule forbids.
    Mentioned,
    /// A folder that is not trusted can make git run anything.
    GitWithoutTrust,
    /// A protected file would be changed.
    ProtectedFile,
    /// The call needs approval, and there is no terminal to ask on.
    NoTerminal,
}

/// The reason as a part of a sentence.
impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unclear(unclear) => return write!(f, "cannot tell everything it would run: {unclear}"),
            Self::FilledArgument => "an argument is known only at run time",
            Self::Redirection => "the command writes to a file, and its rule does not allow redirection",
            Self::WritingOption(option) => {
                return write!(f, "{option} writes to a file, and its rule does not allow that");
            }
            Self::RunningOption(option) => {
                return write!(f, "{option} can run another program, and no rule allows that");
            }
            Self::Mentioned => "the program can run others, and its arguments name one that a rule covers",
            Self::GitWithoutTrust => {
                "git runs what the folder's configuration says, and the folder is not trusted"
            }
            Self::ProtectedFile => {
                "it changes a protected file, and only a person at a terminal can approve that"
            }
            Self::NoTerminal => "it needs approval, and there is no terminal to ask on",
        })
    }
}
