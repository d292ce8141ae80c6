//! The arguments that choose a model for snapshots.

use std::path::PathBuf;

use clap::Args;

/// The model options of a command that writes snapshots.
#[derive(Debug, Default, Args)]
pub(crate) struct ModelOptions {
    /// Model that writes the snapshot, with --summariser model: a name, or provider/name.
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// PEM file of certificates to trust besides the system's.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
}

impl ModelOptions {
    /// Returns true if none of these options was given.
    pub(crate) fn is_empty(&self) -> bool {
        self.model.is_none() && self.ca_file.is_none()
    }
}
