//! Certificates generated for one test, so that the repository holds no key.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedKey, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

/// A server certificate with its private key.
#[derive(Debug)]
pub struct Certificate {
    pem: String,
    der: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

/// A certificate authority.
pub struct Authority(CertifiedKey);

/// The validity of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// Valid for far longer than any test runs.
    Current,
    /// No longer valid.
    Expired,
}

impl Certificate {
    /// A self-signed certificate for `host`, as `openssl req -x509` makes it.
    pub fn self_signed(host: &str, validity: Validity) -> Self {
        Self::new(&own_authority(host, validity))
    }

    /// The certificate in PEM, without its key.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    fn new(CertifiedKey { cert, key_pair }: &CertifiedKey) -> Self {
        let key = PrivatePkcs8KeyDer::from(key_pair.serialize_der()).into();
        Self { pem: cert.pem(), der: cert.der().clone(), key }
    }

    /// A TLS acceptor with this certificate.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring supports the default versions")
            .with_no_client_auth()
            .with_single_cert(vec![self.der.clone()], self.key.clone_key())
            .expect("the key belongs to the certificate");
        TlsAcceptor::from(Arc::new(config))
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self(own_authority("authority.test", Validity::Current))
    }
}

impl Authority {
    /// Signs a certificate for `host`.
    pub fn sign(&self, host: &str, validity: Validity) -> Certificate {
        let key_pair = new_key();
        let signed = params(host, validity).signed_by(&key_pair, &self.0.cert, &self.0.key_pair);
        Certificate::new(&CertifiedKey { cert: signed.expect("an authority can sign"), key_pair })
    }

    /// The authority's own certificate in PEM.
    pub fn pem(&self) -> String {
        self.0.cert.pem()
    }
}

fn own_authority(host: &str, validity: Validity) -> CertifiedKey {
    let mut params = params(host, validity);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key_pair = new_key();
    let cert = params.self_signed(&key_pair).expect("a key can sign itself");
    CertifiedKey { cert, key_pair }
}

fn new_key() -> KeyPair {
    KeyPair::generate().expect("there is randomness")
}

fn params(host: &str, validity: Validity) -> CertificateParams {
    let mut params = CertificateParams::new([host.to_string()]).expect("a name of a host");
    params.distinguished_name.push(DnType::CommonName, host);
    (params.not_before, params.not_after) = match validity {
        Validity::Current => (date_time_ymd(2020, 1, 1), date_time_ymd(2120, 1, 1)),
        Validity::Expired => (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1)),
    };
    params
}
