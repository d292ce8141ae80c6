//! A call on its way to the task of its server.

use longhaul_tools::ToolAnswer;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// A call for a server's task.
pub(crate) struct CallRequest {
    pub(crate) wanted: Wanted,
    pub(crate) cancel: CancellationToken,
    pub(crate) reply: oneshot::Sender<ToolAnswer>,
}

/// The demand on a server.
pub(crate) enum Wanted {
    /// A tool's result.
    Tool { name: String, args: Map<String, Value> },
    /// A resource's content.
    Resource { uri: String },
    /// A prompt's text.
    Prompt { name: String, args: Map<String, Value> },
}

/// The calls of one server.
pub(crate) type Calls = mpsc::UnboundedReceiver<CallRequest>;

/// Makes a call and waits for its answer; `None` if it was cancelled.
pub(crate) async fn call(
    calls: &mpsc::UnboundedSender<CallRequest>,
    server: &str,
    wanted: Wanted,
    cancel: &CancellationToken,
) -> Option<ToolAnswer> {
    let stopped = || ToolAnswer::failed(format!("The MCP server {server} was stopped."));
    let (reply, answer) = oneshot::channel();
    let answered = match calls.send(CallRequest { wanted, cancel: cancel.clone(), reply }) {
        Ok(()) => cancel.run_until_cancelled(answer).await,
        Err(_) => return Some(stopped()),
    };
    match answered {
        Some(Ok(answer)) => Some(answer),
        Some(Err(_)) if !cancel.is_cancelled() => Some(stopped()),
        _ => None,
    }
}
