//! Answers: pages, files, redirects and streams, each with the headers that keep a page to itself.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION};
use hyper::{Response, StatusCode};
use maud::Markup;
use tokio::sync::mpsc::Receiver;

pub(crate) type Body = BoxBody<Bytes, Infallible>;

/// Nothing is loaded from elsewhere, nothing runs that is not a file of ours, and no other page may hold this one.
const POLICY: &str =
    "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'none'";

/// The answer of a page.
pub(crate) enum Reply {
    /// A page, or a piece of one.
    Page(StatusCode, Markup),
    /// Go there, by GET.
    SeeOther(String),
    /// Bytes of a kind.
    File { kind: &'static str, bytes: Bytes },
    /// Server-sent events.
    Events(Receiver<Bytes>),
}

impl Reply {
    pub(crate) fn page(markup: Markup) -> Self {
        Self::Page(StatusCode::OK, markup)
    }

    pub(crate) fn into_response(self) -> Response<Body> {
        let mut response = match self {
            Self::Page(status, markup) => {
                with(status, "text/html; charset=utf-8", markup.into_string().into())
            }
            Self::SeeOther(location) => {
                let mut response = with(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", Bytes::new());
                if let Ok(location) = HeaderValue::from_str(&location) {
                    response.headers_mut().insert(LOCATION, location);
                }
                response
            }
            Self::File { kind, bytes } => with(StatusCode::OK, kind, bytes),
            Self::Events(receiver) => {
                let frames = futures_util::stream::unfold(receiver, async |mut receiver| {
                    receiver.recv().await.map(|bytes| (Ok(Frame::data(bytes)), receiver))
                });
                let mut response = Response::new(BodyExt::boxed(StreamBody::new(Box::pin(frames))));
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
                response
            }
        };
        for (name, value) in [
            ("content-security-policy", POLICY),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        // Sessions are nobody else's business, nor a disk cache's.
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

fn with(status: StatusCode, kind: &'static str, bytes: Bytes) -> Response<Body> {
    let mut response = Response::new(Full::new(bytes).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
