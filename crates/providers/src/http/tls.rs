//! TLS, with the system's certificates and the user's, which are only read when they are needed.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::dial::{DialError, Io};

pub(super) struct Tls {
    ca_file: Option<PathBuf>,
    connector: OnceLock<Result<TlsConnector, DialError>>,
}

impl Tls {
    pub(super) fn new(ca_file: Option<PathBuf>) -> Self {
        Self { ca_file, connector: OnceLock::new() }
    }

    /// Speaks TLS with `host` over `io`.
    pub(super) async fn secure<I: Io>(&self, io: I, host: &str) -> Result<TlsStream<I>, DialError> {
        let connector = self.connector.get_or_init(|| make_connector(self.ca_file.as_deref())).clone()?;
        let name = ServerName::try_from(host.to_string())
            .map_err(|_| DialError::lasting(format!("{host:?} is no name of a host")))?;
        connector.connect(name, io).await.map_err(|error| {
            let is_certificate = error
                .get_ref()
                .and_then(|inner| inner.downcast_ref())
                .is_some_and(|error| matches!(error, rustls::Error::InvalidCertificate(_)));
            if is_certificate {
                DialError::lasting(format!("its certificate is not trusted: {error}"))
            } else {
                DialError::passing(format!("no secure connection: {error}"))
            }
        })
    }
}

fn make_connector(ca_file: Option<&Path>) -> Result<TlsConnector, DialError> {
    let mut roots = RootCertStore::empty();
    // A certificate that cannot be read trusts nobody; the others still do their work.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = ca_file {
        add_file(&mut roots, path)?;
    }
    if roots.is_empty() {
        let reason =
            "there are no certificate authorities on this system; name a file of them with --ca-file";
        return Err(DialError::lasting(reason));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring supports the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

fn add_file(roots: &mut RootCertStore, path: &Path) -> Result<(), DialError> {
    let failed =
        |reason: String| DialError::lasting(format!("certificate file {}: {reason}", path.display()));
    let bytes = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
    let mut count = 0;
    for certificate in CertificateDer::pem_reader_iter(Cursor::new(bytes)) {
        let certificate = certificate.map_err(|error| failed(error.to_string()))?;
        roots.add(certificate).map_err(|error| failed(error.to_string()))?;
        count += 1;
    }
    if count == 0 { Err(failed("there is no certificate in it".into())) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_file_must_hold_certificates() {
        let folder = std::env::temp_dir();
        let missing = make_connector(Some(&folder.join("longhaul-no-such-file.pem")));
        assert!(
            missing.err().is_some_and(|error| error.is_lasting && error.reason.contains("no-such-file.pem"))
        );
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let empty = make_connector(Some(&manifest));
        assert!(empty.err().is_some_and(|error| error.reason.contains("no certificate in it")));
    }
}
