//! A client for programs that pass requests on: bodies of any kind, headers as they were written.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use hyper::header::{HeaderValue, PROXY_AUTHORIZATION};
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::dial::{Connector, Target};
use super::network::{Dialler, KEPT, Network, innermost};
use super::proxy::Proxies;

/// A body that is passed on, piece by piece.
pub type RelayBody = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;

/// Passes requests on and keeps connections. Cheap to clone; clones share the connections.
#[derive(Clone)]
pub struct RelayClient {
    client: Client<Connector, RelayBody>,
    proxies: Proxies,
}

/// A request that was not answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct RelayError {
    /// The reason.
    pub reason: String,
    /// True if no connection was made, so that nothing can have been sent.
    pub is_unconnected: bool,
}

impl RelayClient {
    /// A client for the real network. Nothing is opened or read until the first request.
    pub fn new(network: Network) -> Self {
        let proxies = network.proxies.clone();
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(KEPT)
            .http1_preserve_header_case(true)
            .build(Connector(Arc::new(Dialler::new(network))));
        Self { client, proxies }
    }

    /// Passes a request on.
    ///
    /// # Errors
    /// No answer came.
    pub async fn send(&self, mut request: Request<RelayBody>) -> Result<Response<Incoming>, RelayError> {
        let credentials = Target::of(request.uri()).and_then(|target| self.proxies.authorisation(&target));
        if let Some(value) = credentials.and_then(|value| HeaderValue::from_str(&value).ok()) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, value);
        }
        let failed = |error: hyper_util::client::legacy::Error| RelayError {
            reason: innermost(&error),
            is_unconnected: error.is_connect(),
        };
        self.client.request(request).await.map_err(failed)
    }
}

impl fmt::Debug for RelayClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelayClient").field("proxies", &self.proxies).finish_non_exhaustive()
    }
}
