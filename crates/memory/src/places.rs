//! The places where memory is looked for.

use std::path::{Path, PathBuf};

/// The places to look for memory. Nothing here need exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The home, in which global memory is.
    pub home: Option<PathBuf>,
    /// The user's own folder, on Unix `HOME`.
    pub user_home: Option<PathBuf>,
    /// The folder of the project's private memory.
    pub private: Option<PathBuf>,
    /// The folders that are worked in: the workspace itself, then those that were added to it.
    pub folders: Vec<WorkFolder>,
    /// The memory files of active extensions.
    pub extensions: Vec<ExtensionContext>,
    /// The instructions of tool servers.
    pub instructions: Vec<Instructions>,
}

impl Places {
    /// The workspace itself.
    pub fn workspace(&self) -> Option<&WorkFolder> {
        self.folders.first()
    }
}

/// A folder that is worked in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkFolder {
    /// The folder, as an absolute path.
    pub path: PathBuf,
    /// True if its own files count.
    pub is_trusted: bool,
}

/// The memory files of an active extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtensionContext {
    /// The name of the extension.
    pub name: String,
    /// The folder that it is installed in.
    pub folder: PathBuf,
    /// Its files.
    pub files: Vec<PathBuf>,
}

/// The instructions of a tool server, which belong to the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instructions {
    /// The name of the server.
    pub server: String,
    /// The text.
    pub text: String,
}

/// True if both lead to one existing place.
pub(crate) fn is_same_place(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}
