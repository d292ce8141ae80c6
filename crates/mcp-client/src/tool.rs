//! A server's tool as the agent calls it.

use longhaul_conversation::ToolDeclaration;
use longhaul_display::text::fit;
use longhaul_tools::{BoxFuture, Preview, Tool, ToolAnswer, ToolInvocation, ToolOutcome};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::calls::CallRequest;
use crate::listing::ListedTool;

/// The most columns of the arguments in a question.
const PREVIEW: usize = 400;

/// A tool of a server.
pub(crate) struct McpTool {
    pub(crate) server: String,
    pub(crate) listed: ListedTool,
    pub(crate) calls: mpsc::UnboundedSender<CallRequest>,
}

impl Tool for McpTool {
    fn declaration(&self) -> ToolDeclaration {
        self.listed.declaration.clone()
    }

    fn server(&self) -> Option<&str> {
        Some(&self.server)
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        if !args.is_object() && !args.is_null() {
            return Err("The arguments must be an object.".into());
        }
        // What a server says of a tool decides nothing: each call may change anything.
        let args = fit(&args.to_string(), PREVIEW);
        Ok(Preview::Other(format!("{} of the MCP server {} with {args}", self.listed.name, self.server)))
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            let request = CallRequest {
                tool: self.listed.name.clone(),
                args: call.args.as_object().cloned().unwrap_or_default(),
                cancel: call.cancel.clone(),
                reply,
            };
            let sent = self.calls.send(request);
            let answered = match sent {
                Ok(()) => call.cancel.run_until_cancelled(answer).await,
                Err(_) => return ToolAnswer::failed(format!("The MCP server {} was stopped.", self.server)),
            };
            match answered {
                Some(Ok(answer)) => answer,
                Some(Err(_)) if !call.cancel.is_cancelled() => {
                    ToolAnswer::failed(format!("The MCP server {} was stopped.", self.server))
                }
                _ => ToolAnswer::new(ToolOutcome::Cancelled(
                    "The user stopped this call. The server was told; what it had done by then stays done."
                        .into(),
                )),
            }
        })
    }
}
