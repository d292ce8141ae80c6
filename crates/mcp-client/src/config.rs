//! A server as it was configured.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use longhaul_providers::Proxies;

use crate::oauth::{OAuthConfig, TokenStore};

/// A server to connect to.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Its name, which its tools carry.
    pub name: String,
    /// How it is reached.
    pub place: ServerPlace,
    /// The longest wait for an answer.
    pub timeout: Duration,
    /// The only tools to offer, by the server's own names.
    pub include: Option<Vec<String>>,
    /// Tools that are not offered.
    pub exclude: Vec<String>,
    /// Where it was configured.
    pub origin: ServerOrigin,
}

/// The way to a server.
#[derive(Clone, Debug)]
pub enum ServerPlace {
    /// It is started, and ends with the agent.
    Command(ServerCommand),
    /// It runs elsewhere.
    Address(ServerAddress),
}

/// The address of a server that speaks streamable HTTP.
#[derive(Clone, Default)]
pub struct ServerAddress {
    /// Where messages are sent.
    pub url: String,
    /// Headers of every request; they may hold secrets and are not printed.
    pub headers: Vec<(String, String)>,
    /// The proxies to go through.
    pub proxies: Proxies,
    /// Settings for signing in.
    pub oauth: Box<OAuthConfig>,
    /// The file of tokens; without one nobody signs in.
    pub tokens: Option<TokenStore>,
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerAddress").field("url", &self.url).finish_non_exhaustive()
    }
}

/// The command that starts a server, which talks over its standard streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerCommand {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// The folder it starts in.
    pub folder: PathBuf,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
}

/// The file that a server was configured in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerOrigin(pub String);

impl ServerConfig {
    /// Returns true if a tool of this name is to be offered. Names may have arguments behind them, as Gemini CLI allows.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        let is_meant = |name: &String| name.split('(').next().is_some_and(|name| name.trim() == tool);
        !self.exclude.iter().any(is_meant)
            && self.include.as_ref().is_none_or(|included| included.iter().any(is_meant))
    }
}
