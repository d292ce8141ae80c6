//! Connections: to a host, through a proxy, with or without TLS, kept open between calls.

mod dial;
mod network;
mod proxy;
mod reach;
mod relay;
mod tls;
mod trust;

pub use dial::{Connection, Dial, DialError, Dialling, Io, Target};
pub use network::{HttpClient, Network};
pub use proxy::Proxies;
pub use reach::Reach;
pub use relay::{RelayBody, RelayClient, RelayError};
pub use trust::{Certificates, CertificatesError};

pub(crate) use network::innermost;
