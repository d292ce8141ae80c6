//! The server: connections on loopback, each request checked before anything looks at it.

use std::convert::Infallible;
use std::sync::Arc;

use anyhow::Context;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{HeaderValue, SET_COOKIE};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, spawn_blocking};

use crate::access::{PageSecrets, Verdict};
use crate::layout;
use crate::reply::{Body, Reply};
use crate::request::{LONGEST_BODY, PageRequest, Parameters};
use crate::routes;
use crate::site::{Site, SiteOptions};

/// So many connections are served at the same time.
const MOST_CONNECTIONS: usize = 128;

/// The needs of a connection.
struct Doorway {
    site: Arc<Site>,
    secrets: PageSecrets,
    port: u16,
}

/// Serves the page at this listener, which must be on loopback, until the future is dropped.
///
/// # Errors
/// If connections cannot be accepted.
pub async fn serve(options: SiteOptions, listener: TcpListener, secrets: PageSecrets) -> anyhow::Result<()> {
    let port = listener.local_addr().context("could not tell the port")?.port();
    let doorway = Arc::new(Doorway { site: Arc::new(Site::new(options)), secrets, port });
    // The list is found while the browser starts.
    let site = Arc::clone(&doorway.site);
    drop(spawn_blocking(move || site.found()));
    let slots = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let slot = Arc::clone(&slots).acquire_owned().await?;
        let (stream, _) = listener.accept().await.context("could not accept a connection")?;
        // Small answers are not held back.
        let _ = stream.set_nodelay(true);
        while connections.try_join_next().is_some() {}
        let doorway = Arc::clone(&doorway);
        connections.spawn(async move {
            let _slot = slot;
            let answer = service_fn(|request| answer(request, Arc::clone(&doorway)));
            // A browser that breaks off has its own reasons.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer)
                .await;
        });
    }
}

async fn answer(request: Request<Incoming>, doorway: Arc<Doorway>) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    let query = Parameters::parse(head.uri.query().unwrap_or_default());
    let verdict = doorway.secrets.check(&head.method, query.get("token"), &head.headers, doorway.port);
    let reply = match verdict {
        Verdict::Refused(status, reason) => Reply::Page(status, layout::refusal(reason)),
        Verdict::Welcome => {
            // A redirect would come without the cookie where another site led here; a page of ours sends it.
            let mut response = Reply::page(layout::welcome(head.uri.path())).into_response();
            if let Ok(cookie) = HeaderValue::from_str(&doorway.secrets.cookie_header(doorway.port)) {
                response.headers_mut().insert(SET_COOKIE, cookie);
            }
            return Ok(response);
        }
        Verdict::Allowed if !matches!(head.method, Method::GET | Method::HEAD | Method::POST) => {
            Reply::Page(StatusCode::METHOD_NOT_ALLOWED, layout::refusal("Only GET and POST are answered."))
        }
        Verdict::Allowed => match Limited::new(body, LONGEST_BODY).collect().await {
            Err(_) => Reply::Page(
                StatusCode::PAYLOAD_TOO_LARGE,
                layout::refusal("The form is larger than 256 kB, or broke off."),
            ),
            Ok(body) => {
                let request =
                    PageRequest::new(head.method, head.uri.path(), head.uri.query(), &body.to_bytes());
                let site = Arc::clone(&doorway.site);
                // Pages read files: they must not hold up the others.
                let answered = spawn_blocking(move || routes::answer(&site, &request)).await;
                answered.unwrap_or_else(|_| {
                    let reason = "Longhaul stumbled over this page. Please report what you opened.";
                    Reply::Page(StatusCode::INTERNAL_SERVER_ERROR, layout::refusal(reason))
                })
            }
        },
    };
    Ok(reply.into_response())
}
