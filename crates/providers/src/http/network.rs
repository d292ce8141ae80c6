//! The real network.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tower_service::Service;

use super::dial::{Connection, Connector, Dial, DialError, Dialling, Io, Target};
use super::proxy::{Proxies, Proxy};
use super::reach::Reach;
use super::tls::Tls;
use super::trust::Certificates;

/// The time an idle connection is kept.
pub(super) const KEPT: Duration = Duration::from_secs(60);

/// Makes HTTP calls and keeps their connections. Cheap to clone; clones share the connections.
#[derive(Clone)]
pub struct HttpClient {
    pub(crate) client: Client<Connector, Full<Bytes>>,
    pub(crate) proxies: Proxies,
}

/// Network settings.
#[derive(Clone, Debug)]
pub struct Network {
    /// The proxies to go through.
    pub proxies: Proxies,
    /// Certificates to trust beside the system's.
    pub certificates: Certificates,
    /// The connect timeout.
    pub connect_timeout: Duration,
    /// The addresses that may be connected to; a proxy is always reached.
    pub reach: Reach,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            proxies: Proxies::default(),
            certificates: Certificates::default(),
            connect_timeout: Duration::from_secs(15),
            reach: Reach::Anywhere,
        }
    }
}

impl HttpClient {
    /// A client for the real network. Nothing is opened or read until the first call.
    pub fn new(network: Network) -> Self {
        let proxies = network.proxies.clone();
        Self { proxies, ..Self::with_dial(Arc::new(Dialler::new(network))) }
    }

    /// Sends a request that is not for a model.
    ///
    /// # Errors
    /// The reason why no answer came.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, String> {
        self.client.request(request).await.map_err(|error| innermost(&error))
    }

    /// A client that opens its connections in another way.
    pub fn with_dial(dial: Arc<dyn Dial>) -> Self {
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(KEPT)
            .build(Connector(dial));
        Self { client, proxies: Proxies::default() }
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").field("proxies", &self.proxies).finish_non_exhaustive()
    }
}

pub(super) struct Dialler {
    tcp: HttpConnector,
    tls: Arc<Tls>,
    proxies: Proxies,
    reach: Reach,
}

impl Dialler {
    pub(super) fn new(network: Network) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        tcp.enforce_http(false);
        tcp.set_connect_timeout(Some(network.connect_timeout));
        let tls = Arc::new(Tls::new(network.certificates));
        Self { tcp, tls, proxies: network.proxies, reach: network.reach }
    }
}

impl Dial for Dialler {
    fn dial(&self, target: Target) -> Dialling {
        let tcp = self.tcp.clone();
        let tls = self.tls.clone();
        let proxy = self.proxies.for_target(&target).cloned();
        let reach = self.reach;
        Box::pin(async move {
            if !reach.allows_name(&target.host) {
                return Err(out_of_reach(&target));
            }
            let Some(proxy) = proxy else {
                let io = match reach {
                    Reach::Anywhere => open(tcp, &target).await?,
                    Reach::PublicInternet => open_public(tcp, &target).await?,
                };
                return secured(io, &target, &tls, target.is_secure).await;
            };
            let to_proxy = open(tcp, &proxy.target).await.map_err(|error| DialError {
                reason: format!("proxy {}: {}", proxy.target, error.reason),
                ..error
            })?;
            let to_proxy = secured(to_proxy, &proxy.target, &tls, proxy.target.is_secure).await?;
            if !target.is_secure {
                return Ok(Connection { is_proxied: true, ..to_proxy });
            }
            let tunnel = open_tunnel(to_proxy.io, &target, &proxy).await?;
            secured(tunnel, &target, &tls, true).await
        })
    }
}

/// Opens a TCP connection, trying all addresses of the host.
async fn open(mut tcp: HttpConnector, target: &Target) -> Result<TcpStream, DialError> {
    let uri: Uri = format!("http://{target}")
        .parse()
        .map_err(|_| DialError::lasting(format!("invalid host name {target}")))?;
    match tcp.call(uri).await {
        Ok(connection) => Ok(TokioIo::into_inner(connection)),
        Err(error) => Err(DialError::passing(innermost(&error))),
    }
}

/// Opens a TCP connection to an address of the host that is public: what was checked is what is connected to.
async fn open_public(tcp: HttpConnector, target: &Target) -> Result<TcpStream, DialError> {
    let found = tokio::net::lookup_host((target.host.as_str(), target.port)).await;
    let addresses: Vec<_> = found.map_err(|error| DialError::passing(error.to_string()))?.collect();
    let public = addresses.iter().filter(|address| Reach::PublicInternet.allows(address.ip()));
    let mut failed = out_of_reach(target);
    for address in public {
        let host = address.ip().to_string();
        match open(tcp.clone(), &Target { host, ..target.clone() }).await {
            Ok(connection) => return Ok(connection),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn out_of_reach(target: &Target) -> DialError {
    DialError::lasting(format!("{} is on this machine or in a private network", target.host))
}

async fn secured(
    io: impl Io + 'static,
    target: &Target,
    tls: &Tls,
    is_secure: bool,
) -> Result<Connection, DialError> {
    let io: Box<dyn Io> =
        if is_secure { Box::new(tls.secure(io, &target.host).await?) } else { Box::new(io) };
    Ok(Connection { io, is_proxied: false })
}

/// Asks a proxy to connect us to `target`.
async fn open_tunnel(mut io: Box<dyn Io>, target: &Target, proxy: &Proxy) -> Result<Box<dyn Io>, DialError> {
    const LONGEST: usize = 16 << 10;
    let failed = |reason: &str| DialError::passing(format!("proxy {}: {reason}", proxy.target));
    let credentials = proxy.authorisation();
    let credentials =
        credentials.map(|value| format!("Proxy-Authorization: {value}\r\n")).unwrap_or_default();
    let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{credentials}\r\n");
    io.write_all(request.as_bytes()).await.map_err(|error| failed(&error.to_string()))?;
    let mut answer = Vec::new();
    // Byte by byte, as what follows the answer belongs to the tunnel.
    while !answer.ends_with(b"\r\n\r\n") {
        if answer.len() > LONGEST {
            return Err(failed("response too long"));
        }
        let byte = io.read_u8().await.map_err(|_| failed("connection closed"))?;
        answer.push(byte);
    }
    let answer = String::from_utf8_lossy(&answer);
    match answer.split(' ').nth(1) {
        Some(status) if status.starts_with('2') => Ok(io),
        Some("407") => Err(DialError::lasting(format!("proxy {}: authentication required", proxy.target))),
        Some(status) => Err(failed(&format!("returned {status}"))),
        None => Err(failed("not an HTTP proxy")),
    }
}

/// The deepest cause, which says what really happened.
pub(crate) fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}
