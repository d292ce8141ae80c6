//! Calls through proxies.

use longhaul_conversation::ModelError;
use longhaul_providers::{HttpClient, HttpModel, Network, Proxies, RetrySettings};
use longhaul_testkit::fake_provider::FakeProvider;
use longhaul_wire::WireFormat;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::{ask, provider_at, question, surroundings, text_of, texts};

const FORMAT: WireFormat = WireFormat::OpenAi;

fn model_through(proxy: &str, url: &str) -> HttpModel {
    let proxy = proxy.replace("http://", "http://me:secret@");
    let proxies = Proxies::from_variables(|name| {
        name.ends_with("_PROXY").then(|| proxy.clone()).filter(|_| name != "NO_PROXY")
    });
    let network = Network { proxies: proxies.expect("a proxy"), ..Network::default() };
    let once = RetrySettings { attempts: 1, ..RetrySettings::default() };
    HttpModel::new(provider_at(url, FORMAT), HttpClient::new(network), surroundings()).with_retry(once)
}

#[tokio::test]
async fn plain_requests_are_handed_to_the_proxy() {
    let proxy = FakeProvider::start([texts(FORMAT, &["hello"])]);
    let model = model_through(&proxy.url(), "http://model.test/v1");
    let (answer, error) = ask(&model, question(FORMAT)).await;
    assert_eq!((error, text_of(answer).as_str()), (None, "hello"));
    let [request] = &proxy.requests()[..] else { panic!("one request") };
    assert_eq!(request.target, "http://model.test/v1/chat/completions");
    assert_eq!(request.header("proxy-authorization"), Some("Basic bWU6c2VjcmV0"));
}

/// What is said when a proxy answers the wish for a tunnel like this.
async fn check_tunnel(answer: &'static str, expected: &str) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let proxy = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.expect("a connection");
        let mut asked = Vec::new();
        while !asked.ends_with(b"\r\n\r\n") {
            asked.push(connection.read_u8().await.expect("a request"));
        }
        connection.write_all(answer.as_bytes()).await.expect("an answer");
        String::from_utf8(asked).expect("text")
    });
    let model = model_through(&format!("http://{address}"), "https://model.test/v1");
    let (_, error) = ask(&model, question(FORMAT)).await;
    let Some(ModelError::Unreachable { host, reason }) = error else { panic!("{error:?}") };
    assert_eq!(
        (host.as_str(), reason.replace(&address.to_string(), "PROXY").as_str()),
        ("model.test", expected)
    );
    let asked = proxy.await.expect("the proxy was asked");
    assert!(asked.starts_with("CONNECT model.test:443 HTTP/1.1\r\nHost: model.test:443\r\n"), "{asked}");
    assert!(asked.contains("Proxy-Authorization: Basic bWU6c2VjcmV0\r\n"), "{asked}");
    assert!(!asked.contains("sk-"), "the key is for the provider alone");
}

#[tokio::test]
async fn secure_requests_want_a_tunnel() {
    check_tunnel(
        "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
        "proxy PROXY: authentication required",
    )
    .await;
    check_tunnel("HTTP/1.1 503 Busy\r\n\r\n", "proxy PROXY: returned 503").await;
    check_tunnel("HTTP/1.1 200 OK\r\n", "proxy PROXY: connection closed").await;
}
