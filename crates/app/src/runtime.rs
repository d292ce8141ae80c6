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

/// A runtime with two threads, for a server whose connections must not wait for each other.
pub fn server_runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    check_descriptors()
        .and_then(|()| check_threads())
        .and_then(|()| tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build())
        .context("could not start the async runtime")
}
