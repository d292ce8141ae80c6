//! A call on its way to the task of its server.

use longhaul_tools::ToolAnswer;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// A call for a server's task.
pub(crate) struct CallRequest {
    pub(crate) tool: String,
    pub(crate) args: Map<String, Value>,
    pub(crate) cancel: CancellationToken,
    pub(crate) reply: oneshot::Sender<ToolAnswer>,
}

/// The calls of one server.
pub(crate) type Calls = mpsc::UnboundedReceiver<CallRequest>;
