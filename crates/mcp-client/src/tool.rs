//! A server's tool as the agent calls it.

use longhaul_conversation::ToolDeclaration;
use longhaul_display::text::fit;
use longhaul_tools::{BoxFuture, Preview, Tool, ToolAnswer, ToolInvocation, ToolOutcome};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::calls::{self, CallRequest, Wanted};
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
            let args = call.args.as_object().cloned().unwrap_or_default();
            let wanted = Wanted::Tool { name: self.listed.name.clone(), args };
            calls::call(&self.calls, &self.server, wanted, call.cancel).await.unwrap_or_else(|| {
                ToolAnswer::new(ToolOutcome::Cancelled(
                    "The user stopped this call. The server was told; what it had done by then stays done."
                        .into(),
                ))
            })
        })
    }
}
