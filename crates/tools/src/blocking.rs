//! Work that waits for the disk.

use crate::tool::{Answer, BoxFuture};

/// Does the work on a thread where it may wait. It looks itself whether it is cancelled.
pub(crate) fn blocking<'a>(work: impl FnOnce() -> Answer + Send + 'static) -> BoxFuture<'a, Answer> {
    Box::pin(async move {
        let answered = tokio::task::spawn_blocking(work).await;
        answered.unwrap_or_else(|error| Answer::failed(format!("The tool broke off: {error}.")))
    })
}
