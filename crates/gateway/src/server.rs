//! The server: connections, each request checked, considered and passed on.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, UPGRADE};
use hyper::http::request::Parts;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use longhaul_app::clock::now;
use longhaul_providers::{MicroDollars, Network, RelayBody, RelayClient};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, spawn_blocking};
use tokio_util::sync::CancellationToken;

use crate::access::Access;
use crate::encoding::Encoding;
use crate::engine::{Call, CallNotes, Considered, Engine};
use crate::family::Family;
use crate::own_errors::{error_response, full, json_response};
use crate::relay::{CopiedBody, OFF_HEADER, ReadBody, passed_headers, read_body, streamed, with_new_body};
use crate::route::{OWN_PREFIX, Route};
use crate::settings::{GatewaySettings, Mode};
use crate::store::Store;
use crate::worker::{PassedCall, WorkerQueue, day_of, start_worker};

/// So many connections are served at the same time.
const MOST_CONNECTIONS: usize = 1_024;

/// A longer request passes as a stream: no provider takes as much.
const LONGEST_BODY: usize = 64 << 20;

/// A request that takes longer to consider passes as it is.
const PATIENCE: Duration = Duration::from_secs(3);

/// The time for a client to send its headers.
const HEADER_TIME: Duration = Duration::from_secs(60);

/// The time that calls in flight have when the gateway ends.
const DRAIN_TIME: Duration = Duration::from_secs(5);

/// A gateway that is ready to serve.
pub struct Gateway {
    shared: Arc<Shared>,
    worker: std::thread::JoinHandle<()>,
}

struct Shared {
    engine: Arc<Engine>,
    access: Access,
    client: RelayClient,
    queue: WorkerQueue,
}

/// A summary of what a gateway did, for the end of its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GatewaySummary {
    /// Calls of models.
    pub calls: i64,
    /// Compactions.
    pub compactions: i64,
    /// Conversations that were passed as they are because a provider refused our part.
    pub bypassed: i64,
}

impl Gateway {
    /// A gateway with these settings. A store that cannot be opened makes it pass everything as it is; the reason is told.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn new(settings: GatewaySettings, network: Network) -> anyhow::Result<(Self, Option<anyhow::Error>)> {
        let (store, fault) = match Store::open(&settings.folder) {
            Ok(store) => (Some(store), None),
            Err(error) => (None, Some(error.into())),
        };
        let access = Access {
            address: settings.address,
            hosts: settings.hosts.clone(),
            token: settings.token.clone(),
        };
        let engine = Arc::new(Engine::new(settings, store));
        let (queue, worker) = start_worker(Arc::clone(&engine)).context("could not start a thread")?;
        let shared = Shared { engine, access, client: RelayClient::new(network), queue };
        Ok((Self { shared: Arc::new(shared), worker }, fault))
    }

    /// Serves until it is cancelled; then calls in flight may end, and what waits is recorded.
    ///
    /// # Errors
    /// Connections cannot be accepted.
    pub async fn serve(
        self,
        listener: TcpListener,
        cancel: CancellationToken,
    ) -> anyhow::Result<GatewaySummary> {
        let slots = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                biased;
                () = cancel.cancelled() => break,
                accepted = accept(&listener, &slots) => accepted,
            };
            let (stream, slot) = match accepted {
                Ok(accepted) => accepted,
                // Too many files are open, or the peer is gone already: others go on.
                Err(_) => {
                    self.shared.engine.figures.count("not_accepted");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            };
            while connections.try_join_next().is_some() {}
            let shared = Arc::clone(&self.shared);
            let cancel = cancel.clone();
            connections.spawn(async move {
                let _slot = slot;
                let answer = service_fn(move |request| answer(request, Arc::clone(&shared)));
                let connection = hyper::server::conn::http1::Builder::new()
                    .preserve_header_case(true)
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEADER_TIME)
                    .serve_connection(TokioIo::new(stream), answer)
                    .with_upgrades();
                let mut connection = std::pin::pin!(connection);
                tokio::select! {
                    // A client that breaks off has its own reasons.
                    _ = connection.as_mut() => {}
                    () = cancel.cancelled() => {
                        connection.as_mut().graceful_shutdown();
                        let _ = connection.await;
                    }
                }
            });
        }
        drop(listener);
        let drained = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(DRAIN_TIME, drained).await.is_err() {
            connections.shutdown().await;
        }
        Ok(self.end().await)
    }

    async fn end(self) -> GatewaySummary {
        let engine = Arc::clone(&self.shared.engine);
        // The worker ends when no connection can hand it anything more.
        drop(self.shared);
        let worker = self.worker;
        let ended = spawn_blocking(move || worker.join().is_ok());
        let _ = tokio::time::timeout(DRAIN_TIME, ended).await;
        let all = |names: &[&str]| names.iter().map(|name| engine.figures.get(name)).sum();
        GatewaySummary {
            calls: engine.figures.get("requests:generate"),
            compactions: all(&["compactions:hard", "compactions:pays", "compactions:cold"]),
            bypassed: engine.figures.get("bypassed"),
        }
    }
}

async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> std::io::Result<(tokio::net::TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await.map_err(std::io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    // Small pieces of a stream are not held back.
    let _ = stream.set_nodelay(true);
    Ok((stream, slot))
}

async fn answer(request: Request<Incoming>, shared: Arc<Shared>) -> Result<Response<RelayBody>, Infallible> {
    let (head, body) = request.into_parts();
    let route = Route::of(&head.method, head.uri.path(), &head.headers);
    if let Err(refusal) = shared.access.check(&head.headers) {
        shared.engine.figures.count("refused_access");
        return Ok(error_response(route.family(), StatusCode::FORBIDDEN, &refusal.to_string()));
    }
    if route == Route::Own {
        return Ok(own_answer(&head, &shared));
    }
    let address = shared.engine.settings.upstreams.address(route, head.uri.path(), head.uri.query());
    let Some((family, address)) = address else {
        let message = format!("no upstream is configured for {}", head.uri.path());
        return Ok(error_response(route.family(), StatusCode::NOT_FOUND, &message));
    };
    if head.headers.contains_key(UPGRADE) {
        return Ok(upgrade(head, body, family, address, &shared).await);
    }
    let is_off =
        head.headers.get(OFF_HEADER).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"off"));
    Ok(match route {
        Route::Generate(_) | Route::Count(_) if !is_off => {
            let is_count = matches!(route, Route::Count(_));
            consider_and_pass(head, body, family, is_count, address, &shared).await
        }
        _ => {
            shared.engine.figures.count("requests:raw");
            pass(head, streamed(body), None, family, address, &shared)
                .await
                .unwrap_or_else(|response| *response)
        }
    })
}

/// Reads a request, considers it, and passes on what came of that.
async fn consider_and_pass(
    head: Parts,
    body: Incoming,
    family: Family,
    is_count: bool,
    address: Uri,
    shared: &Arc<Shared>,
) -> Response<RelayBody> {
    let figures = &shared.engine.figures;
    figures.count(if is_count { "requests:count" } else { "requests:generate" });
    if !is_count && is_spend_capped(&shared.engine) {
        figures.count("spend_capped");
        let message = "the spend cap of the day is reached; it is set by longhaul.gateway.maxDollarsPerDay";
        return error_response(Some(family), StatusCode::TOO_MANY_REQUESTS, message);
    }
    let body = match read_body(body, LONGEST_BODY).await {
        Ok(ReadBody::Whole(body)) => body,
        Ok(ReadBody::TooLong(stream)) => {
            figures.count("passed:too_long");
            return pass(head, stream, None, family, address, shared)
                .await
                .unwrap_or_else(|response| *response);
        }
        Err(_) => return error_response(Some(family), StatusCode::BAD_REQUEST, "the request broke off"),
    };
    let started = Instant::now();
    let plain = match Encoding::of(&head.headers) {
        Some(Encoding::Identity) => Some(body.clone()),
        Some(encoding) => encoding.decode(&body, LONGEST_BODY).map(Bytes::from),
        None => None,
    };
    let Some(plain) = plain else {
        figures.count("passed:encoding");
        return pass(head, full(body), None, family, address, shared)
            .await
            .unwrap_or_else(|response| *response);
    };
    let considered = consider(shared, family, is_count, &head, &plain).await;
    figures.hold(started.elapsed());
    let Considered { body: rewritten, notes } = considered;
    if rewritten.is_some() {
        figures.count("rewritten");
    }
    let headers = head.headers.clone();
    let mut head = head;
    let sent = match rewritten {
        Some(text) => {
            head.headers = with_new_body(&head.headers, text.len());
            full(text)
        }
        None => {
            // One that came in chunks has a length now.
            if !head.headers.contains_key(CONTENT_LENGTH) {
                head.headers.insert(CONTENT_LENGTH, body.len().into());
            }
            full(body)
        }
    };
    let noted = notes.map(|notes| Noted { notes, is_count, headers, body: plain });
    pass(head, sent, noted, family, address, shared).await.unwrap_or_else(|response| *response)
}

/// Considers a request off the threads that serve connections. What fails or takes too long passes as it is.
async fn consider(
    shared: &Arc<Shared>,
    family: Family,
    is_count: bool,
    head: &Parts,
    body: &Bytes,
) -> Considered {
    let engine = Arc::clone(&shared.engine);
    let (headers, body) = (head.headers.clone(), body.clone());
    let path_model = model_of_path(head.uri.path());
    let work = spawn_blocking(move || {
        let now = now().as_millis();
        let path_model = path_model.as_deref();
        engine.consider(&Call { family, is_count, headers: &headers, path_model, body: &body, now })
    });
    let unchanged = |reason: &str| {
        shared.engine.figures.count(reason);
        Considered { body: None, notes: None }
    };
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(Ok(considered)) => considered,
        Ok(Err(_)) => unchanged("passed:fault"),
        Err(_) => unchanged("passed:time"),
    }
}

/// The model in a path of Gemini's.
fn model_of_path(path: &str) -> Option<String> {
    let (_, rest) = path.split_once("/models/")?;
    Some(rest.rsplit_once(':').map_or(rest, |(model, _)| model).to_string())
}

/// Facts of a request when it is passed on.
struct Noted {
    notes: CallNotes,
    is_count: bool,
    headers: HeaderMap,
    body: Bytes,
}

/// Passes a request on and its answer back.
async fn pass(
    head: Parts,
    body: RelayBody,
    noted: Option<Noted>,
    family: Family,
    address: Uri,
    shared: &Arc<Shared>,
) -> Result<Response<RelayBody>, Box<Response<RelayBody>>> {
    let request = upstream_request(head, body, address, passed_headers)?;
    let answered = shared.client.send(request).await;
    let response = answered.map_err(|error| {
        shared.engine.figures.count("upstream_failures");
        let message = format!("could not reach the provider: {error}");
        Box::new(error_response(Some(family), StatusCode::BAD_GATEWAY, &message))
    })?;
    let (mut head, body) = response.into_parts();
    head.headers = passed_headers(&head.headers);
    let Some(Noted { notes, is_count, headers, body: own_body }) = noted else {
        return Ok(Response::from_parts(head, streamed(body)));
    };
    let shared = Arc::clone(shared);
    let done = move |answer| {
        let call = PassedCall { notes, is_count, headers, body: own_body, answer };
        shared.queue.put(call, &shared.engine);
    };
    let copied = CopiedBody::new(body, head.status, head.headers.clone(), done);
    Ok(Response::from_parts(head, copied.boxed_unsync()))
}

/// The request as it goes to the provider: everything but the host and the headers of one hop as it came.
fn upstream_request(
    mut head: Parts,
    body: RelayBody,
    address: Uri,
    headers: impl FnOnce(&HeaderMap) -> HeaderMap,
) -> Result<Request<RelayBody>, Box<Response<RelayBody>>> {
    head.headers = headers(&head.headers);
    let host = address.authority().map(|authority| authority.as_str().to_string()).unwrap_or_default();
    let host = HeaderValue::from_str(&host).map_err(|_| {
        Box::new(error_response(
            None,
            StatusCode::BAD_GATEWAY,
            "the upstream's host cannot stand in a header",
        ))
    })?;
    // In place: the order of headers stays.
    if let Some(own) = head.headers.get_mut(HOST) {
        *own = host;
    }
    head.uri = address;
    head.version = hyper::Version::HTTP_11;
    Ok(Request::from_parts(head, body))
}

/// A websocket: refused in `on`, as its messages are no history, so that clients fall back; relayed in `observe`.
async fn upgrade(
    head: Parts,
    body: Incoming,
    family: Family,
    address: Uri,
    shared: &Arc<Shared>,
) -> Response<RelayBody> {
    let figures = &shared.engine.figures;
    if shared.engine.settings.mode == Mode::On {
        figures.count("upgrades:refused");
        let message = "websockets carry no history; use plain requests";
        return error_response(Some(family), StatusCode::UPGRADE_REQUIRED, message);
    }
    figures.count("upgrades:relayed");
    let mut asked = Request::from_parts(head.clone(), body);
    let client_side = hyper::upgrade::on(&mut asked);
    let request = match upstream_request(head, full(Bytes::new()), address, with_upgrade) {
        Ok(request) => request,
        Err(response) => return *response,
    };
    let mut response = match shared.client.send(request).await {
        Ok(response) => response,
        Err(error) => {
            let message = format!("could not reach the provider: {error}");
            return error_response(Some(family), StatusCode::BAD_GATEWAY, &message);
        }
    };
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        let (mut head, body) = response.into_parts();
        head.headers = passed_headers(&head.headers);
        return Response::from_parts(head, streamed(body));
    }
    let provider_side = hyper::upgrade::on(&mut response);
    tokio::spawn(async move {
        if let (Ok(client), Ok(provider)) = tokio::join!(client_side, provider_side) {
            let (mut client, mut provider) = (TokioIo::new(client), TokioIo::new(provider));
            // Either side may end it at any time.
            let _ = tokio::io::copy_bidirectional(&mut client, &mut provider).await;
        }
    });
    let (mut head, _) = response.into_parts();
    head.headers = with_upgrade(&head.headers);
    Response::from_parts(head, full(Bytes::new()))
}

/// The headers to pass on where the upgrade itself is passed on.
fn with_upgrade(headers: &HeaderMap) -> HeaderMap {
    let mut passed = passed_headers(headers);
    for value in headers.get_all(UPGRADE) {
        passed.append(UPGRADE, value.clone());
    }
    passed.insert(hyper::header::CONNECTION, HeaderValue::from_static("upgrade"));
    passed
}

/// The gateway's own addresses.
fn own_answer(head: &Parts, shared: &Shared) -> Response<RelayBody> {
    if head.method != Method::GET && head.method != Method::HEAD {
        return error_response(None, StatusCode::METHOD_NOT_ALLOWED, "only GET is answered here");
    }
    let engine = &shared.engine;
    match head.uri.path().strip_prefix(OWN_PREFIX).unwrap_or_default() {
        "metrics" => {
            let mut response = Response::new(full(engine.figures.render()));
            let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
            response.headers_mut().insert(CONTENT_TYPE, kind);
            response
        }
        "health" => {
            let upstreams: serde_json::Map<_, _> = Family::ALL
                .into_iter()
                .filter_map(|family| {
                    let origin = engine.settings.upstreams.get(family)?.origin();
                    Some((family.as_str().to_string(), json!(origin)))
                })
                .collect();
            let value =
                json!({"gateway": "longhaul", "mode": engine.settings.mode.as_str(), "upstreams": upstreams});
            json_response(StatusCode::OK, &value)
        }
        _ => error_response(
            None,
            StatusCode::NOT_FOUND,
            "nothing is here; see /longhaul/health and /longhaul/metrics",
        ),
    }
}

/// True if no more may be spent today. Without a store, what this run has spent counts.
fn is_spend_capped(engine: &Engine) -> bool {
    let Some(MicroDollars(cap)) = engine.settings.daily_cap else { return false };
    let spent = engine.spent_on(&day_of(now())).unwrap_or_else(|| engine.figures.get("spent_microdollars"));
    u64::try_from(spent).unwrap_or(0) >= cap
}
