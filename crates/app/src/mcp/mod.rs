//! The MCP servers of an agent: those of settings, and of a trusted project's `.mcp.json`.

mod configure;
mod edit;
mod load;

pub use edit::{ServerScope, add_server, remove_server};
pub use load::{ConfiguredServers, load_servers};
