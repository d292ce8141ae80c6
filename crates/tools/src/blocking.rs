//! Blocking work.

use crate::tool::{BoxFuture, ToolAnswer};

/// Runs work on a thread that may block. The work checks for cancellation itself.
pub(crate) fn blocking<'a>(work: impl FnOnce() -> ToolAnswer + Send + 'static) -> BoxFuture<'a, ToolAnswer> {
    Box::pin(async move {
        let answered = tokio::task::spawn_blocking(work).await;
        answered.unwrap_or_else(|error| ToolAnswer::failed(format!("The tool broke off: {error}.")))
    })
}
