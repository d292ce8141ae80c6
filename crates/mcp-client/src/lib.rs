//! Other programs' tools for an agent: servers of the Model Context Protocol, started and called in the background.
//!
//! [`McpServers::start`] returns at once; a thread of its own connects, so that a slow or broken server costs nobody else. What a
//! server says is untrusted and bounded: lists, schemas, descriptions, results and restarts have limits, and what passes one is
//! left out and [reported](ServerReport).
//!
//! Nothing here reads settings or the environment: a [`ServerConfig`] says what to start, and the caller which variables it gets.

mod address;
mod answer;
mod calls;
mod config;
mod connection;
mod lines;
mod listing;
mod naming;
mod oauth;
mod offers;
mod search;
mod server;
mod servers;
mod tool;
mod worker;

pub use config::{ServerAddress, ServerCommand, ServerConfig, ServerOrigin, ServerPlace};
pub use naming::{TOOL_PREFIX, tool_name};
pub use oauth::{OAuthConfig, SignInError, TokenStore, sign_in};
pub use search::TOOL_SEARCH;
pub use server::ServerStatus;
pub use servers::{McpServers, ServerReport};
