//! The server, on a local port or in memory.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::certificate::Certificate;
use super::reply::{Reply, Signal, Step};

/// A server that answers each request with the next reply of its script. It ends with the test.
#[derive(Clone, Debug)]
pub struct FakeProvider {
    shared: Arc<SharedState>,
    address: Option<SocketAddr>,
    is_secure: bool,
}

/// A logged request.
#[derive(Clone, Debug)]
pub struct LoggedRequest {
    /// `GET` or `POST`.
    pub method: String,
    /// The path with its query; through a proxy, the whole URL.
    pub target: String,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; null if it is not JSON.
    pub body: Value,
}

#[derive(Debug, Default)]
struct SharedState {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<LoggedRequest>>,
    connections: AtomicUsize,
    sent: AtomicUsize,
    arrived: Signal,
    abandoned: Signal,
}

impl LoggedRequest {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl FakeProvider {
    /// Starts a server on a free local port, on a thread of its own, so that tests need not be async.
    pub fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::listen(replies, None)
    }

    /// Starts a server over TLS.
    pub fn start_secure(certificate: &Certificate, replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::listen(replies, Some(certificate.acceptor()))
    }

    fn listen(replies: impl IntoIterator<Item = Reply>, tls: Option<TlsAcceptor>) -> Self {
        let mut server = Self { is_secure: tls.is_some(), ..Self::in_memory(replies) };
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        listener.set_nonblocking(true).expect("a socket can be non-blocking");
        server.address = Some(listener.local_addr().expect("a bound socket has an address"));
        let shared = server.shared.clone();
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).expect("a listener");
                while let Ok((connection, _)) = listener.accept().await {
                    // Each chunk of a reply has to arrive on its own.
                    connection.set_nodelay(true).ok();
                    let (shared, tls) = (shared.clone(), tls.clone());
                    tokio::spawn(async move {
                        match tls {
                            // A client that does not trust the server may disconnect.
                            Some(tls) => {
                                if let Ok(connection) = tls.accept(connection).await {
                                    serve(connection, shared).await;
                                }
                            }
                            None => serve(connection, shared).await,
                        }
                    });
                }
            });
        });
        server
    }

    /// A server without a port, reached by [`Self::connect`]. It needs neither threads nor sockets, so that time can be
    /// paused.
    pub fn in_memory(replies: impl IntoIterator<Item = Reply>) -> Self {
        let shared =
            SharedState { replies: Mutex::new(replies.into_iter().collect()), ..SharedState::default() };
        Self { shared: Arc::new(shared), address: None, is_secure: false }
    }

    /// A connection to the server, served on the current runtime.
    pub fn connect(&self) -> DuplexStream {
        let (near, far) = tokio::io::duplex(64 << 10);
        tokio::spawn(serve(far, self.shared.clone()));
        near
    }

    /// The server's URL.
    pub fn url(&self) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        self.address
            .map_or_else(|| format!("{scheme}://fake.invalid"), |address| format!("{scheme}://{address}"))
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<LoggedRequest> {
        lock(&self.shared.requests).clone()
    }

    /// The number of connections opened.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// The number of body bytes sent. Some of them may not have reached the client.
    pub fn bytes_sent(&self) -> usize {
        self.shared.sent.load(Ordering::Relaxed)
    }

    /// The number of unused replies.
    pub fn replies_left(&self) -> usize {
        lock(&self.shared.replies).len()
    }

    /// Waits for a request that no earlier call has waited for.
    pub async fn request_arrived(&self) {
        self.shared.arrived.wait().await;
    }

    /// Waits until a client has disconnected in the middle of a reply.
    pub async fn answer_abandoned(&self) {
        self.shared.abandoned.wait().await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(connection: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, shared: Arc<SharedState>) {
    shared.connections.fetch_add(1, Ordering::Relaxed);
    let answer = service_fn(move |request| answer(request, shared.clone()));
    // A connection cut by either side is expected.
    http1::Builder::new().serve_connection(TokioIo::new(connection), answer).await.ok();
}

type Chunks = std::pin::Pin<Box<dyn stream::Stream<Item = Result<Frame<Bytes>, ConnectionCut>> + Send>>;

async fn answer(
    request: Request<Incoming>,
    shared: Arc<SharedState>,
) -> Result<Response<StreamBody<Chunks>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let headers = head.headers.iter();
    lock(&shared.requests).push(LoggedRequest {
        method: head.method.to_string(),
        target: head.uri.to_string(),
        headers: headers
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect(),
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    });
    shared.arrived.raise();
    let reply = lock(&shared.replies).pop_front().unwrap_or_else(|| {
        Reply::json(500, &json!({"error": {"message": "the script has no further reply"}}))
    });
    let mut response = Response::builder().status(reply.status);
    for (name, value) in &reply.headers {
        response = response.header(name, value);
    }
    let sender = ReplyBody { steps: reply.steps.into(), shared };
    let chunks: Chunks = Box::pin(stream::unfold(sender, |mut sender| async {
        let chunk = sender.next().await?;
        Some((chunk, sender))
    }));
    Ok(response.body(StreamBody::new(chunks)).expect("replies have valid headers"))
}

/// Sends the steps of a reply.
struct ReplyBody {
    steps: VecDeque<Step>,
    shared: Arc<SharedState>,
}

impl ReplyBody {
    async fn next(&mut self) -> Option<Result<Frame<Bytes>, ConnectionCut>> {
        loop {
            // A step is only removed when it is done: the rest tells whether the client disconnected too early.
            match self.steps.front()? {
                Step::Send(bytes) => {
                    let bytes = bytes.clone();
                    self.steps.pop_front();
                    return self.frame(bytes);
                }
                Step::Repeat(bytes) => {
                    let bytes = bytes.clone();
                    return self.frame(bytes);
                }
                Step::Every(time, bytes) => {
                    let bytes = bytes.clone();
                    tokio::time::sleep(*time).await;
                    return self.frame(bytes);
                }
                Step::Wait(signal) => signal.clone().wait().await,
                Step::Raise(signal) => signal.raise(),
                Step::Stall => std::future::pending().await,
                Step::Cut => {
                    self.steps.clear();
                    // Bytes that hyper still holds would be lost with the connection.
                    for _ in 0..8 {
                        tokio::task::yield_now().await;
                    }
                    return Some(Err(ConnectionCut));
                }
            }
            self.steps.pop_front();
        }
    }
}

impl ReplyBody {
    fn frame(&self, bytes: Bytes) -> Option<Result<Frame<Bytes>, ConnectionCut>> {
        self.shared.sent.fetch_add(bytes.len(), Ordering::Relaxed);
        Some(Ok(Frame::data(bytes)))
    }
}

impl Drop for ReplyBody {
    fn drop(&mut self) {
        if !self.steps.is_empty() {
            self.shared.abandoned.raise();
        }
    }
}

/// The error that cuts the connection.
#[derive(Debug)]
struct ConnectionCut;

impl std::fmt::Display for ConnectionCut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("cut by the script")
    }
}

impl std::error::Error for ConnectionCut {}
