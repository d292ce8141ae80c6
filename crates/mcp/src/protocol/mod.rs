//! The protocol around the tools: requests and answers in every revision, over standard streams or HTTP.

mod handler;
mod http;
mod message;
mod stdio;

use std::path::PathBuf;

use anyhow::Context;
use longhaul_workspace::canonical_workspace;
use rmcp::ServiceExt;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::caller::CallerEnvironment;
use handler::Server;

pub use http::{AccessToken, serve_http};
use stdio::LineTransport;

/// What a server needs to know.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// The version that clients are told.
    pub version: String,
    /// How the client names its session.
    pub caller: CallerEnvironment,
}

/// Serves one client over a pair of streams until it is gone.
///
/// # Errors
/// If the current folder does not exist, or the client breaks the handshake.
pub async fn serve_stdio(
    options: ServerOptions,
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> anyhow::Result<()> {
    let server = Server::new(options, current_folder()?);
    let service = match server.serve(LineTransport::new(input, output)).await {
        Ok(service) => service,
        // A client that looks for a while and goes has done nothing wrong.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => {
            return Err(anyhow::Error::new(error).context("the client did not open the connection properly"));
        }
    };
    service.waiting().await.context("the connection ended with an error")?;
    Ok(())
}

fn current_folder() -> anyhow::Result<PathBuf> {
    let folder = std::env::current_dir().context("the current folder does not exist")?;
    Ok(canonical_workspace(&folder).unwrap_or(folder))
}
