//! Opening of connections, behind a trait so that tests can open them in memory.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection as Linked};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tower_service::Service;

/// Opens connections.
pub trait Dial: Send + Sync {
    /// Connects to `target`; where that is secure, including TLS.
    fn dial(&self, target: Target) -> Dialling;
}

/// A connection that is being opened.
pub type Dialling = Pin<Box<dyn Future<Output = Result<Connection, DialError>> + Send>>;

/// The host and port to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// True if TLS is to be used.
    pub is_secure: bool,
    /// The host's name or address.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// Bytes in both directions.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// An open connection.
pub struct Connection {
    /// The connection itself.
    pub io: Box<dyn Io>,
    /// True if the other end is a proxy that passes requests on, and so wants whole addresses.
    pub is_proxied: bool,
}

/// A connection that could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct DialError {
    /// The cause.
    pub reason: String,
    /// True if another attempt would fail as well.
    pub is_lasting: bool,
}

impl DialError {
    /// An error that may pass.
    pub fn passing(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_lasting: false }
    }

    /// An error that will stay.
    pub fn lasting(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_lasting: true }
    }
}

impl Target {
    /// The host and port of an address.
    pub(crate) fn of(uri: &Uri) -> Option<Self> {
        let is_secure = uri.scheme_str() == Some("https");
        let host = uri.host()?.trim_start_matches('[').trim_end_matches(']').to_string();
        let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        Some(Self { is_secure, host, port })
    }
}

/// `host:port`, with brackets around an IPv6 address.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Opens connections for hyper's client.
#[derive(Clone)]
pub(crate) struct Connector(pub(crate) Arc<dyn Dial>);

impl Service<Uri> for Connector {
    type Response = Link;
    type Error = DialError;
    type Future = Pin<Box<dyn Future<Output = Result<Link, DialError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let dialling = Target::of(&uri).map(|target| self.0.dial(target));
        Box::pin(async move {
            let dialling = dialling.ok_or_else(|| DialError::lasting("the address has no host"))?;
            let Connection { io, is_proxied } = dialling.await?;
            Ok(Link { io: TokioIo::new(io), is_proxied })
        })
    }
}

/// An open connection as hyper wants it.
pub(crate) struct Link {
    io: TokioIo<Box<dyn Io>>,
    is_proxied: bool,
}

impl Linked for Link {
    fn connected(&self) -> Connected {
        Connected::new().proxy(self.is_proxied)
    }
}

impl Read for Link {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl Write for Link {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}
