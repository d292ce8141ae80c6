//! TLS, with the user's certificates and the system's, which are only read when they are needed.

use std::io;
use std::sync::{Arc, OnceLock};

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::dial::{DialError, Io};
use super::trust::{Certificates, Trust, distrust};

pub(super) struct Tls {
    named: Certificates,
    connector: OnceLock<Result<TlsConnector, DialError>>,
}

impl Tls {
    pub(super) fn new(named: Certificates) -> Self {
        Self { named, connector: OnceLock::new() }
    }

    /// Speaks TLS with `host` over `io`.
    pub(super) async fn secure<I: Io>(&self, io: I, host: &str) -> Result<TlsStream<I>, DialError> {
        let connector = self.connector.get_or_init(|| make_connector(self.named.clone())).clone()?;
        let name = ServerName::try_from(host.to_string())
            .map_err(|_| DialError::lasting(format!("invalid host name {host:?}")))?;
        connector.connect(name, io).await.map_err(|error| judge(&error))
    }
}

/// Classifies a failed handshake.
fn judge(error: &io::Error) -> DialError {
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(rustls::Error::InvalidCertificate(reason)) => DialError::lasting(distrust(reason)),
        _ => DialError::passing(format!("TLS handshake failed: {error}")),
    }
}

fn make_connector(named: Certificates) -> Result<TlsConnector, DialError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let trust = Trust::load(named, provider.clone())?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring supports the default versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(trust))
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
