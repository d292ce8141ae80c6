//! Calls over TLS: whom to trust, and what is said of the others.

use longhaul_conversation::ModelError;
use longhaul_providers::{Certificates, HttpClient, HttpModel, Network, Proxies, RetrySettings};
use longhaul_testkit::fake_provider::{Authority, Certificate, FakeProvider, Validity};
use longhaul_wire::WireFormat;
use tempfile::NamedTempFile;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{ask, provider_at, question, surroundings, text_of, texts};

const FORMAT: WireFormat = WireFormat::Anthropic;
const HERE: &str = "127.0.0.1";

/// A model at an address where the certificates in `trusted` are named.
fn model_at(url: &str, proxies: Proxies, trusted: &str) -> HttpModel {
    let file = NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), trusted).expect("written");
    let certificates = Certificates::read(file.path()).expect("certificates");
    let network = Network { proxies, certificates, ..Network::default() };
    let once = RetrySettings { attempts: 1, ..RetrySettings::default() };
    HttpModel::new(provider_at(url, FORMAT), HttpClient::new(network), surroundings()).with_retry(once)
}

/// What comes of asking a server that shows `certificate` where those in `trusted` are named.
async fn ask_trusting(certificate: &Certificate, trusted: &str) -> Result<String, (String, String)> {
    let server = FakeProvider::start_secure(certificate, [texts(FORMAT, &["hello"])]);
    let (answer, error) = ask(&model_at(&server.url(), Proxies::default(), trusted), question(FORMAT)).await;
    match error {
        None => Ok(text_of(answer)),
        Some(error) => {
            assert!(server.requests().is_empty(), "nothing is said to a server that is not trusted");
            let hint = error.hint();
            let ModelError::Unreachable { reason, .. } = error else { panic!("{error:?}") };
            Err((reason, hint))
        }
    }
}

async fn check_trusted(certificate: &Certificate, trusted: &str) {
    assert_eq!(ask_trusting(certificate, trusted).await, Ok("hello".to_string()));
}

async fn check_refused(certificate: &Certificate, trusted: &str, expected: &str, hint: &str) {
    let (reason, told) = ask_trusting(certificate, trusted).await.expect_err("it is not to be trusted");
    assert_eq!(reason, expected);
    assert!(told.contains(hint), "{told}");
}

#[tokio::test]
async fn an_authority_vouches_for_a_server() {
    let authority = Authority::default();
    let server = authority.sign(HERE, Validity::Current);
    check_trusted(&server, &authority.pem()).await;
    let other = Authority::default();
    check_trusted(&server, &(other.pem() + &authority.pem())).await;
    check_refused(&server, &other.pem(), "its certificate is signed by an unknown authority", "--ca-file")
        .await;
}

#[tokio::test]
async fn a_server_vouches_for_itself_where_the_user_names_it() {
    let server = Certificate::self_signed(HERE, Validity::Current);
    check_trusted(&server, server.pem()).await;
    // Another one for the same host is another one.
    let other = Certificate::self_signed(HERE, Validity::Current);
    check_refused(&server, other.pem(), "its certificate is signed by an unknown authority", "--ca-file")
        .await;
    // So does one whose authority is not known.
    let signed = Authority::default().sign(HERE, Validity::Current);
    check_trusted(&signed, signed.pem()).await;
}

#[tokio::test]
async fn a_certificate_for_another_host_is_of_no_use() {
    let expected = "its certificate is for another host: elsewhere.test";
    let authority = Authority::default();
    let server = authority.sign("elsewhere.test", Validity::Current);
    check_refused(&server, &authority.pem(), expected, "check the endpoint address").await;
    check_refused(&server, server.pem(), expected, "check the endpoint address").await;
    let server = Certificate::self_signed("elsewhere.test", Validity::Current);
    check_refused(&server, server.pem(), expected, "check the endpoint address").await;
}

#[tokio::test]
async fn what_has_expired_is_not_trusted_whoever_names_it() {
    let expected = "its certificate has expired";
    let authority = Authority::default();
    let server = authority.sign(HERE, Validity::Expired);
    check_refused(&server, &authority.pem(), expected, "this machine's clock").await;
    check_refused(&server, server.pem(), expected, "this machine's clock").await;
    let server = Certificate::self_signed(HERE, Validity::Expired);
    check_refused(&server, server.pem(), expected, "this machine's clock").await;
}

#[tokio::test]
async fn a_tunnel_leads_to_the_host_that_was_asked_for() {
    let authority = Authority::default();
    let certificate = authority.sign("model.test", Validity::Current);
    let server = FakeProvider::start_secure(&certificate, [texts(FORMAT, &["hello"])]);
    let listener = TcpListener::bind((HERE, 0)).await.expect("a free port");
    let proxy = format!("http://{}", listener.local_addr().expect("an address"));
    let far = server.url().replace("https://", "");
    tokio::spawn(async move {
        let (mut near, _) = listener.accept().await.expect("a connection");
        let mut asked = Vec::new();
        while !asked.ends_with(b"\r\n\r\n") {
            asked.push(near.read_u8().await.expect("a request"));
        }
        let mut far = TcpStream::connect(far).await.expect("the server is there");
        near.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.expect("an answer");
        copy_bidirectional(&mut near, &mut far).await.ok();
    });
    let proxies = Proxies::from_variables(|name| (name == "HTTPS_PROXY").then(|| proxy.clone()));
    let model = model_at("https://model.test", proxies.expect("a proxy"), &authority.pem());
    let (answer, error) = ask(&model, question(FORMAT)).await;
    assert_eq!((error, text_of(answer).as_str()), (None, "hello"));
    assert_eq!(server.requests()[0].target, "/v1/messages");
}
