//! Pages over everything that Longhaul knows, served on loopback: sessions of all agents, what fills their contexts, what a
//! compaction kept and lost, what is remembered, what the gateway did.
//!
//! HTML is rendered here; one small script and one style sheet come with it, and no request leaves the machine. Reading works
//! without the script. What sessions say is data: it is escaped wherever it appears, and no policy lets it load or run
//! anything. hyper is used directly, as the MCP server does: some twenty addresses need no framework, and the build no more
//! crates.
//!
//! ```no_run
//! use longhaul_app::settings::Settings;
//! use longhaul_web::{PageSecrets, SiteOptions, serve};
//!
//! # async fn run() -> anyhow::Result<()> {
//! let settings = Settings::load(None, std::path::Path::new(""), &Default::default())?.settings;
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! let secrets = PageSecrets::new(&"t".repeat(32), &"c".repeat(32)).expect("long enough");
//! println!("http://{}{}", listener.local_addr()?, secrets.path());
//! serve(SiteOptions { settings, is_read_only: true, gateway: None }, listener, secrets).await
//! # }
//! ```

mod access;
mod chart;
mod chronicle;
mod found_list;
mod gateway;
mod layout;
mod live;
mod pages;
mod reply;
mod report;
mod request;
mod routes;
mod server;
mod site;
mod syncing;
mod words;

pub use access::PageSecrets;
pub use gateway::{
    GatewayCalls, GatewayCompaction, GatewayConversation, GatewayHeld, GatewaySource, GatewaySpend,
    GatewayStatus, GatewayTokens,
};
pub use report::{SessionReport, render_report};
pub use server::serve;
pub use site::SiteOptions;
