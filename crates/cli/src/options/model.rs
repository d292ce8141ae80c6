//! The arguments that choose a model for snapshots.

use std::path::PathBuf;

use clap::Args;

/// What a person says about the model to ask.
#[derive(Debug, Default, Args)]
pub(crate) struct ModelOptions {
    /// The model that writes the snapshot, with --summariser model: a name, or provider/name.
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// A file of certificates to trust beside the system's.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
}

impl ModelOptions {
    /// Returns true if nothing of all this was given.
    pub(crate) fn is_empty(&self) -> bool {
        self.model.is_none() && self.ca_file.is_none()
    }
}
