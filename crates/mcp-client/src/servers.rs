//! All servers of an agent, and the tools they offer now.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use longhaul_tools::{Tool, ToolSource};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::config::ServerConfig;
use crate::search::{LoadedTools, ToolSearch};
use crate::server::{Server, ServerStatus, all_tools};
use crate::worker;

/// Beyond so many tools of servers only their names are declared.
pub(crate) const DECLARED_AT_ONCE: usize = 15;

/// The servers of an agent. Dropping them ends their processes.
pub struct McpServers {
    servers: Arc<[Arc<Server>]>,
    search: ToolSearch,
    loaded: LoadedTools,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

/// A server as it is shown to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerReport {
    /// Its name.
    pub name: String,
    /// The file it was configured in.
    pub origin: String,
    /// Its state.
    pub status: ServerStatus,
    /// The names under which its tools are called.
    pub tools: Vec<String>,
    /// What it listed and is not offered, with the reasons.
    pub left_out: Vec<String>,
    /// The number of restarts.
    pub restarts: u32,
}

impl McpServers {
    /// Starts these servers on a thread of their own and returns at once.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(configs: Vec<ServerConfig>) -> std::io::Result<Self> {
        let made = configs.into_iter().map(|config| {
            let (server, calls) = Server::new(config);
            (Arc::new(server), calls)
        });
        let made: Vec<_> = made.collect();
        let servers: Arc<[Arc<Server>]> = made.iter().map(|(server, _)| Arc::clone(server)).collect();
        let stop = CancellationToken::new();
        let thread = match made.is_empty() {
            true => None,
            false => {
                let stop = stop.clone();
                Some(std::thread::Builder::new().name("mcp".into()).spawn(move || worker::run(made, &stop))?)
            }
        };
        let loaded = LoadedTools::default();
        let search = ToolSearch::new(Arc::clone(&servers), loaded.clone());
        Ok(Self { servers, search, loaded, stop, thread })
    }

    /// Waits until every server is connected or has failed, but no longer than `limit`.
    pub async fn settle(&self, limit: Duration) {
        let all = async {
            for server in self.servers.iter() {
                server.settle().await;
            }
        };
        let _ = timeout(limit, all).await;
    }

    /// Every server, in the order of its configuration.
    pub fn reports(&self) -> Vec<ServerReport> {
        let report = |server: &Arc<Server>| ServerReport {
            name: server.config.name.clone(),
            origin: server.config.origin.0.clone(),
            status: server.status(),
            tools: server.tools().iter().map(|tool| tool.listed.declaration.name.clone()).collect(),
            left_out: server.left_out().to_vec(),
            restarts: server.restarts(),
        };
        self.servers.iter().map(report).collect()
    }

    /// Returns true if no server is configured.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }
}

impl ToolSource for McpServers {
    fn tools(&self) -> Vec<&dyn Tool> {
        let all = all_tools(&self.servers);
        if all.len() <= DECLARED_AT_ONCE {
            return all.into_iter().map(|tool| tool as &dyn Tool).collect();
        }
        let mut tools: Vec<&dyn Tool> = vec![&self.search];
        for name in self.loaded.names() {
            tools.extend(
                all.iter().find(|tool| tool.listed.declaration.name == name).map(|tool| *tool as &dyn Tool),
            );
        }
        tools
    }
}

impl Drop for McpServers {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
