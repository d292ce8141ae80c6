//! One server: what was configured, and what is known of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use longhaul_tools::ToolAnswer;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::calls::{self, CallRequest, Calls, Wanted};
use crate::config::ServerConfig;
use crate::listing::Listing;
use crate::offers::Offers;
use crate::tool::McpTool;

/// One server: what was configured, and what is known of it.
pub(crate) struct Server {
    pub(crate) config: ServerConfig,
    calls: mpsc::UnboundedSender<CallRequest>,
    status: watch::Sender<ServerStatus>,
    /// The tools that it listed when it was first connected: what is declared stays.
    tools: OnceLock<Vec<McpTool>>,
    left_out: OnceLock<Vec<String>>,
    offers: OnceLock<Offers>,
    restarts: Mutex<u32>,
    /// It let a call run out of time and answers nothing else, either.
    hangs: AtomicBool,
}

/// The state of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerStatus {
    /// It was started and has not listed its tools yet.
    Connecting,
    /// It can be called.
    Ready,
    /// It cannot be called, for this reason.
    Failed(String),
}

impl Server {
    /// A server that is about to connect, and the calls that its task is to answer.
    pub(crate) fn new(config: ServerConfig) -> (Self, Calls) {
        let (calls, receiver) = mpsc::unbounded_channel();
        let status = watch::Sender::new(ServerStatus::Connecting);
        let (tools, left_out, offers) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let (restarts, hangs) = (Mutex::default(), AtomicBool::default());
        (Self { config, calls, status, tools, left_out, offers, restarts, hangs }, receiver)
    }

    pub(crate) fn status(&self) -> ServerStatus {
        self.status.borrow().clone()
    }

    /// Waits until it is connected or has failed.
    pub(crate) async fn settle(&self) {
        let mut status = self.status.subscribe();
        let _ = status.wait_for(|status| *status != ServerStatus::Connecting).await;
    }

    pub(crate) fn set_status(&self, status: ServerStatus) {
        self.status.send_replace(status);
    }

    /// The reason why it cannot be called.
    pub(crate) fn failure(&self) -> Option<String> {
        match &*self.status.borrow() {
            ServerStatus::Failed(reason) => Some(reason.clone()),
            _ => None,
        }
    }

    pub(crate) fn set_listing(&self, listing: Listing, offers: Offers, problems: Vec<String>) {
        let tool = |listed| McpTool { server: self.config.name.clone(), listed, calls: self.calls.clone() };
        // After a restart the tools are those that the model knows already.
        let _ = self.tools.set(listing.tools.into_iter().map(tool).collect());
        let _ = self.left_out.set(listing.left_out.into_iter().chain(problems).collect());
        let _ = self.offers.set(offers);
    }

    /// The offers beside tools; none before it was connected.
    pub(crate) fn offers(&self) -> Option<&Offers> {
        self.offers.get()
    }

    /// Asks it for something; `None` if that was cancelled.
    pub(crate) async fn call(&self, wanted: Wanted, cancel: &CancellationToken) -> Option<ToolAnswer> {
        calls::call(&self.calls, &self.config.name, wanted, cancel).await
    }

    pub(crate) fn set_hangs(&self, hangs: bool) {
        self.hangs.store(hangs, Ordering::Relaxed);
    }

    pub(crate) fn hangs(&self) -> bool {
        self.hangs.load(Ordering::Relaxed)
    }

    pub(crate) fn count_restart(&self) {
        *self.restarts.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    }

    pub(crate) fn restarts(&self) -> u32 {
        *self.restarts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it listed and is not offered.
    pub(crate) fn left_out(&self) -> &[String] {
        self.left_out.get().map_or(&[], Vec::as_slice)
    }

    pub(crate) fn tools(&self) -> &[McpTool] {
        self.tools.get().map_or(&[], Vec::as_slice)
    }
}

/// The tools of all servers, in their order; of two with the same name the first.
pub(crate) fn all_tools(servers: &[Arc<Server>]) -> Vec<&McpTool> {
    let mut tools: Vec<&McpTool> = Vec::new();
    for tool in servers.iter().flat_map(|server| server.tools()) {
        let name = &tool.listed.declaration.name;
        if !tools.iter().any(|known| known.listed.declaration.name == *name) {
            tools.push(tool);
        }
    }
    tools
}
