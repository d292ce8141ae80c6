//! What could not be read and was left out.

use std::path::{Path, PathBuf};

use crate::agent::Agent;
use crate::error::StoreReadError;

/// A file, folder or database that was left out, and why. Nothing in it was changed.
#[derive(Debug)]
pub struct Notice {
    /// The agent it belongs to.
    pub agent: Agent,
    /// Its path.
    pub path: PathBuf,
    /// The fault.
    pub error: StoreReadError,
}

impl Notice {
    pub(crate) fn new(agent: Agent, path: &Path, error: StoreReadError) -> Self {
        Self { agent, path: path.to_path_buf(), error }
    }
}
