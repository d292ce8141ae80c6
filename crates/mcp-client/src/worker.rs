//! The thread that talks to all servers: each has a task that connects, answers calls, and restarts the server a few times.

use std::sync::Arc;
use std::time::Duration;

use longhaul_tools::ToolAnswer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientRequest, ContentBlock, GetPromptRequestParams,
    GetPromptResponse, PingRequest, ReadResourceRequestParams, ReadResourceResponse,
};
use rmcp::service::{Peer, RoleClient, ServiceError};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::answer::{answer, answer_of};
use crate::calls::{CallRequest, Calls, Wanted};
use crate::connection::Connection;
use crate::offers::Offers;
use crate::server::{Server, ServerStatus};

/// A server that ended is started so many times again, each time for a call.
pub(crate) const MOST_RESTARTS: u32 = 3;

/// After a call that ran out of time, a server that answers no ping within this time hangs.
const LONGEST_PING: Duration = Duration::from_secs(5);

/// Serves calls until `stop`; then every server is ended.
pub(crate) fn run(servers: Vec<(Arc<Server>, Calls)>, stop: &CancellationToken) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            servers.iter().for_each(|(server, _)| server.set_status(ServerStatus::Failed(error.to_string())));
            return;
        }
    };
    runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for (server, calls) in servers {
            tasks.spawn(serve(server, calls));
        }
        stop.cancelled().await;
        // Dropping the tasks drops the connections, which ends the processes.
        tasks.shutdown().await;
    });
}

async fn serve(server: Arc<Server>, mut calls: Calls) {
    let mut connection = open(&server).await;
    let mut restarts = 0;
    let mut running = JoinSet::new();
    while let Some(call) = calls.recv().await {
        while running.try_join_next().is_some() {}
        if server.hangs() || connection.as_ref().is_none_or(Connection::is_closed) {
            let reason = match &connection {
                Some(hanging) if server.hangs() => hanging.explain("it hangs"),
                Some(ended) => ended.explain("it ended"),
                None => server.failure().unwrap_or_else(|| "it is not connected".into()),
            };
            if restarts == MOST_RESTARTS {
                server.set_status(ServerStatus::Failed(reason.clone()));
                refuse(
                    call,
                    &server,
                    &format!("{reason}. It was restarted {MOST_RESTARTS} times and is left alone now"),
                );
                continue;
            }
            restarts += 1;
            server.count_restart();
            // The old process is ended before another one starts.
            drop(connection.take());
            connection = open(&server).await;
        }
        let Some(open) = &connection else {
            let reason = server.failure().unwrap_or_default();
            refuse(call, &server, &reason);
            continue;
        };
        running.spawn(make_call(Arc::clone(&server), open.peer().clone(), call));
    }
}

async fn open(server: &Server) -> Option<Connection> {
    server.set_status(ServerStatus::Connecting);
    server.set_hangs(false);
    match Connection::open(&server.config).await {
        Ok((connection, listing)) => {
            let (offers, problems) = Offers::of(connection.peer(), server.config.timeout).await;
            server.set_listing(listing, offers, problems);
            server.set_status(ServerStatus::Ready);
            Some(connection)
        }
        Err(reason) => {
            server.set_status(ServerStatus::Failed(reason));
            None
        }
    }
}

fn refuse(call: CallRequest, server: &Server, reason: &str) {
    let text = format!("The MCP server {} cannot be called: {reason}.", server.config.name);
    // Nobody waits for a call that was given up.
    let _ = call.reply.send(ToolAnswer::failed(text));
}

async fn make_call(server: Arc<Server>, peer: Peer<RoleClient>, call: CallRequest) {
    let CallRequest { wanted, cancel, reply } = call;
    let name = &server.config.name;
    // Whatever ends the wait, a request that is dropped is cancelled at the server.
    let asked = cancel.run_until_cancelled(timeout(server.config.timeout, ask(&peer, wanted))).await;
    let failed =
        |reason: String| ToolAnswer::failed(format!("The MCP server {name} did not answer: {reason}."));
    let answered = match asked {
        None => return,
        Some(Err(_)) => {
            let seconds = server.config.timeout.as_secs_f32();
            match is_alive(&peer, server.config.timeout.min(LONGEST_PING)).await {
                true => failed(format!("no answer within {seconds} s")),
                false => {
                    server.set_hangs(true);
                    failed(format!(
                        "no answer within {seconds} s, and it hangs: the next call starts it again"
                    ))
                }
            }
        }
        Some(Ok(Ok(Some(answer)))) => answer,
        Some(Ok(Ok(None))) => failed("it asks for input or a task, which Longhaul does not offer".into()),
        Some(Ok(Err(ServiceError::McpError(error)))) => {
            ToolAnswer::failed(format!("The MCP server {name} refused the call: {}", error.message))
        }
        Some(Ok(Err(error))) => failed(error.to_string()),
    };
    let _ = reply.send(answered);
}

/// Returns true if a server answers anything at all, even that it knows no ping.
async fn is_alive(peer: &Peer<RoleClient>, limit: Duration) -> bool {
    let ping = peer.send_request(ClientRequest::PingRequest(PingRequest::default()));
    matches!(timeout(limit, ping).await, Ok(Ok(_) | Err(ServiceError::McpError(_))))
}

/// Asks the server; none if it does not answer with what is wanted.
async fn ask(peer: &Peer<RoleClient>, wanted: Wanted) -> Result<Option<ToolAnswer>, ServiceError> {
    Ok(match wanted {
        Wanted::Tool { name, args } => {
            match peer.call_tool_once(CallToolRequestParams::new(name).with_arguments(args)).await? {
                CallToolResponse::Complete(result) => Some(answer(result)),
                _ => None,
            }
        }
        Wanted::Resource { uri } => match peer.read_resource_once(ReadResourceRequestParams::new(uri)).await?
        {
            ReadResourceResponse::Complete(read) => {
                Some(answer_of(read.contents.into_iter().map(ContentBlock::resource).collect()))
            }
            _ => None,
        },
        Wanted::Prompt { name, args } => {
            let params = GetPromptRequestParams::new(name).with_arguments(args);
            match peer.get_prompt_once(params).await? {
                GetPromptResponse::Complete(prompt) => {
                    Some(answer_of(prompt.messages.into_iter().map(|message| message.content).collect()))
                }
                _ => None,
            }
        }
    })
}
