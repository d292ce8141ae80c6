//! All servers of an agent, and the tools they offer now.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use longhaul_tools::{BoxFuture, OfferedPrompt, Tool, ToolAnswer, ToolOutcome, ToolSource};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::calls::Wanted;
use crate::config::ServerConfig;
use crate::offers::{ListedPrompt, read_arguments};
use crate::search::{LoadedTools, TOOL_SEARCH, ToolSearch};
use crate::server::{Server, ServerStatus, all_tools};
use crate::worker;

/// Beyond so many tools of servers only their names are declared.
pub(crate) const DECLARED_AT_ONCE: usize = 15;

/// The longest that a command waits for servers that are still starting.
const LONGEST_START: Duration = Duration::from_secs(15);

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
    /// The resources that it lists, each as a prompt names it behind an `@`.
    pub resources: Vec<String>,
    /// The commands that fill in its prompts.
    pub prompts: Vec<String>,
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
            resources: resources_of(server),
            prompts: server
                .offers()
                .map(|offers| {
                    offers.prompts.iter().map(|prompt| format!("/{}", prompt.offered.name)).collect()
                })
                .unwrap_or_default(),
        };
        self.servers.iter().map(report).collect()
    }

    /// Returns true if no server is configured.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }
}

impl ToolSource for McpServers {
    fn declared_by(&self, name: &str) -> Option<&str> {
        let all = all_tools(&self.servers);
        let is_offered = all.iter().any(|tool| tool.listed.declaration.name == name);
        let is_declared =
            all.len() <= DECLARED_AT_ONCE || self.loaded.names().iter().any(|known| known == name);
        (is_offered && !is_declared).then_some(TOOL_SEARCH)
    }

    fn resources(&self) -> Vec<String> {
        self.servers.iter().flat_map(resources_of).collect()
    }

    fn read_resource<'a>(
        &'a self,
        name: &'a str,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Option<ToolAnswer>> {
        Box::pin(self.answer_resource(name, cancel))
    }

    fn prompts(&self) -> Vec<OfferedPrompt> {
        let offers = self.servers.iter().filter_map(|server| server.offers());
        offers.flat_map(|offers| &offers.prompts).map(|prompt| prompt.offered.clone()).collect()
    }

    fn fill_in_prompt<'a>(
        &'a self,
        name: &'a str,
        words: &'a str,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Option<ToolAnswer>> {
        Box::pin(self.answer_prompt(name, words, cancel))
    }

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

/// The resources of a server, as a prompt names them.
fn resources_of(server: &Arc<Server>) -> Vec<String> {
    let offers = server.offers().into_iter();
    offers
        .flat_map(|offers| &offers.resources)
        .map(|resource| format!("{}:{}", server.config.name, resource.uri))
        .collect()
}

impl McpServers {
    /// The prompt of a name, as `NAME` or `SERVER:NAME`; of two with the same name the first.
    fn find_prompt(&self, name: &str) -> Option<(&Server, &ListedPrompt)> {
        let (server, own) = name.split_once(':').map_or((None, name), |(server, own)| (Some(server), own));
        let meant =
            self.servers.iter().filter(|known| server.is_none_or(|server| known.config.name == server));
        let mut prompts = meant.filter_map(|server| {
            let mut prompts = server.offers()?.prompts.iter();
            Some((&**server, prompts.find(|prompt| prompt.offered.name == own)?))
        });
        prompts.next()
    }

    async fn answer_prompt(&self, name: &str, words: &str, cancel: &CancellationToken) -> Option<ToolAnswer> {
        if self.find_prompt(name).is_none() {
            // A server may still be starting.
            cancel.run_until_cancelled(self.settle(LONGEST_START)).await;
        }
        let (server, prompt) = self.find_prompt(name)?;
        let args = match read_arguments(&prompt.offered, words) {
            Ok(args) => args.into_iter().map(|(name, value)| (name, value.into())).collect(),
            Err(reason) => return Some(ToolAnswer::failed(format!("Could not fill in /{name}: {reason}."))),
        };
        let wanted = Wanted::Prompt { name: prompt.own_name.clone(), args };
        let answer = server.call(wanted, cancel).await;
        Some(answer.unwrap_or_else(|| ToolAnswer::new(ToolOutcome::Cancelled("Stopped.".into()))))
    }

    async fn answer_resource(&self, name: &str, cancel: &CancellationToken) -> Option<ToolAnswer> {
        let (server, given) = name.split_once(':')?;
        let server = self.servers.iter().find(|known| known.config.name == server)?;
        let uri = match server.offers() {
            Some(offers) => offers.address(&server.config.name, given),
            None => given.to_string(),
        };
        let answer = server.call(Wanted::Resource { uri }, cancel).await;
        Some(answer.unwrap_or_else(|| ToolAnswer::new(ToolOutcome::Cancelled("Stopped.".into()))))
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
