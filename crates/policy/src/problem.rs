//! Problems of policy files, with place and consequence.

use std::fmt;
use std::path::PathBuf;

/// A problem in a policy file. None is fatal: at most the file is skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file or folder.
    pub path: PathBuf,
    /// The line, from 1, where one is to blame.
    pub line: Option<usize>,
    /// The part that is skipped because of it.
    pub effect: ProblemEffect,
    /// The fault.
    pub reason: String,
}

/// The part that is skipped because of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemEffect {
    /// The whole file, or folder.
    FileSkipped,
    /// One rule.
    RuleSkipped,
    /// Nothing.
    Warning,
}

/// `rules.toml:3: unknown field "decison" (rule skipped)`
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.reason)?;
        match self.effect {
            ProblemEffect::FileSkipped => f.write_str(" (file skipped)"),
            ProblemEffect::RuleSkipped => f.write_str(" (rule skipped)"),
            ProblemEffect::Warning => Ok(()),
        }
    }
}
