//! Reads a command line whole: its own commands, and those that they run.

use crate::lex::lex;
use crate::{ShellScript, wrapper};

/// Takes a command line apart, in time proportional to its length.
pub fn parse_script(text: &str) -> ShellScript {
    let mut script = lex(text, 0);
    wrapper::expand(&mut script);
    script
}
