//! The runtime that waits for the network.

use anyhow::Context;
use longhaul_workspace::{check_descriptors, check_threads};

/// A runtime for one thread. It is made only where something waits.
pub fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    // Without these checks the runtime itself would panic, here or later.
    check_descriptors()
        .and_then(|()| check_threads())
        .and_then(|()| tokio::runtime::Builder::new_current_thread().enable_all().build())
        .context("could not start the async runtime")
}
