//! Trusted servers: those with a certificate of an authority, and those whose own certificate the user names.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme};

use super::dial::DialError;

/// Certificates that are trusted beside the system's. Each counts as an authority, and as that of the very server that
/// shows it.
#[derive(Clone, Debug, Default)]
pub struct Certificates(Vec<CertificateDer<'static>>);

/// A certificate file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("certificate file {}: {reason}", .file.display())]
pub struct CertificatesError {
    /// The file.
    pub file: PathBuf,
    /// The fault.
    pub reason: String,
}

impl Certificates {
    /// Reads a file of certificates in PEM form. One without any, or with one that cannot be used, is an error.
    pub fn read(path: &Path) -> Result<Self, CertificatesError> {
        let failed = |reason: String| CertificatesError { file: path.to_path_buf(), reason };
        let bytes = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
        if bytes.trim_ascii().is_empty() {
            return Err(failed("the file is empty".into()));
        }
        let mut certificates = Vec::new();
        for certificate in CertificateDer::pem_reader_iter(Cursor::new(bytes)) {
            let number = certificates.len() + 1;
            let certificate = certificate.map_err(|error| {
                failed(format!("could not read certificate {number}: {}", in_words(&error)))
            })?;
            RootCertStore::empty()
                .add(certificate.clone())
                .map_err(|error| failed(format!("could not use certificate {number}: {error}")))?;
            certificates.push(certificate);
        }
        if certificates.is_empty() {
            return Err(failed("no PEM certificate found".into()));
        }
        Ok(Self(certificates))
    }
}

/// The system's authorities, and the certificates that the user names.
#[derive(Debug)]
pub(super) struct Trust {
    authorities: Arc<WebPkiServerVerifier>,
    named: Certificates,
}

impl Trust {
    /// Reads the system's certificates.
    pub(super) fn load(named: Certificates, provider: Arc<CryptoProvider>) -> Result<Self, DialError> {
        let mut roots = RootCertStore::empty();
        // A certificate that cannot be read trusts nobody; the others still do their work.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        roots.add_parsable_certificates(named.0.iter().cloned());
        if roots.is_empty() {
            let reason = "no certificate authorities found on this system; pass a file with --ca-file";
            return Err(DialError::lasting(reason));
        }
        let authorities = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .expect("there are authorities, and no lists of what was revoked");
        Ok(Self { authorities, named })
    }
}

/// The fault of a PEM text, in words.
fn in_words(error: &pem::Error) -> String {
    match error {
        pem::Error::MissingSectionEnd { .. } => "its END line is missing".into(),
        pem::Error::IllegalSectionStart { .. } => "its BEGIN line is malformed".into(),
        other => other.to_string(),
    }
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match self.authorities.verify_server_cert(shown, intermediates, name, ocsp_response, now) {
            // The dates of a certificate are looked at before anyone asks who vouches for it, so only the name is left.
            Err(rustls::Error::InvalidCertificate(error))
                if is_without_voucher(&error) && self.named.0.contains(shown) =>
            {
                verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.authorities.verify_tls12_signature(message, shown, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.authorities.verify_tls13_signature(message, shown, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.supported_verify_schemes()
    }
}

/// True if all that is wrong with a certificate is that no authority vouches for it, or that it is itself one.
fn is_without_voucher(error: &CertificateError) -> bool {
    match error {
        CertificateError::UnknownIssuer => true,
        CertificateError::Other(OtherError(error)) => {
            matches!(error.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
        }
        _ => false,
    }
}

/// The reason why a server is not trusted, in words.
pub(super) fn distrust(error: &CertificateError) -> String {
    match error {
        error if is_without_voucher(error) => "its certificate is signed by an unknown authority".into(),
        // One of the same name, but another one.
        CertificateError::BadSignature => "its certificate is signed by an unknown authority".into(),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired".into()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet".into()
        }
        CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => {
            "its certificate names no host".into()
        }
        CertificateError::NotValidForNameContext { presented, .. } => {
            // Each of them stands in quotes, behind its kind.
            let names = presented.iter().map(|name| name.split('"').nth(1).unwrap_or(name));
            format!("its certificate is for another host: {}", names.collect::<Vec<_>>().join(", "))
        }
        CertificateError::NotValidForName => "its certificate is for another host".into(),
        other => format!("its certificate is not trusted: {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_file(text: &str, expected: &str) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("written");
        let error = Certificates::read(file.path()).expect_err("there is nobody to trust in it");
        assert_eq!(error.reason, expected);
        assert!(error.to_string().starts_with(&format!("certificate file {}: ", file.path().display())));
    }

    #[test]
    fn a_file_must_hold_certificates() {
        check_file("", "the file is empty");
        check_file(" \n\n", "the file is empty");
        check_file("[package]\nname = \"x\"\n", "no PEM certificate found");
        let armoured =
            |text: &str| format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
        check_file(
            &armoured("aGVsbG8="),
            "could not use certificate 1: invalid peer certificate: BadEncoding",
        );
        check_file(
            "-----BEGIN CERTIFICATE-----\naGVsbG8=\n",
            "could not read certificate 1: its END line is missing",
        );
    }

    #[test]
    fn a_file_must_be_there() {
        let error = Certificates::read(Path::new("/longhaul/no/such/file.pem")).expect_err("it is not there");
        assert!(error.reason.contains("No such file"), "{error}");
    }
}
