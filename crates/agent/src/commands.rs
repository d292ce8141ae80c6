//! Custom commands: prompts that a user keeps in files, with the output of shell commands and the content of files in them.

use longhaul_conversation::Part;

/// A piece of a custom command, in the order of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandPiece {
    /// Text that stands as it is.
    Text(String),
    /// A shell command whose output takes its place. It runs under the rules for commands of the model.
    Shell(String),
    /// A file or folder whose content takes its place.
    File(String),
}

/// A custom command with everything filled in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FilledCommand {
    /// The prompt.
    pub text: String,
    /// Images and documents that it names.
    pub media: Vec<Part>,
}
