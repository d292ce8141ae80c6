//! Passing on: headers without those of one hop, bodies piece by piece, a copy of the answer for what is recorded.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use http_body_util::{BodyExt, StreamBody};
use hyper::StatusCode;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use longhaul_providers::RelayBody;

use crate::access::TOKEN_HEADER;
use crate::answer::{AnswerCopy, MOST_COPIED};

/// The header with which a client asks for its request to be passed as it is.
pub(crate) const OFF_HEADER: HeaderName = HeaderName::from_static("x-longhaul");

/// Headers that hold for one hop alone.
fn is_for_one_hop(name: &HeaderName) -> bool {
    [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE].contains(name)
        || name == "keep-alive"
        || name.as_str().starts_with("proxy-")
}

/// The headers to pass on, in their order: without those of one hop, those that `connection` names, and our own.
pub(crate) fn passed_headers(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<String> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let mut passed = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let is_ours = *name == OFF_HEADER || *name == TOKEN_HEADER;
        // Lengths and encodings are the body's own affair; a host that `connection` names is no trick of ours to fall for.
        let is_named =
            named.iter().any(|own| own == name.as_str()) && *name != HOST && *name != CONTENT_LENGTH;
        if !is_for_one_hop(name) && !is_named && !is_ours {
            passed.append(name, value.clone());
        }
    }
    passed
}

/// The headers to pass on with a request whose body is another one now.
pub(crate) fn with_new_body(headers: &HeaderMap, length: usize) -> HeaderMap {
    let mut passed = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        if *name == CONTENT_LENGTH {
            passed.insert(CONTENT_LENGTH, length.into());
        } else if *name != CONTENT_ENCODING {
            passed.append(name, value.clone());
        }
    }
    passed.insert(CONTENT_LENGTH, length.into());
    passed
}

/// A body that came, or as much of one as is looked at.
pub(crate) enum ReadBody {
    /// All of it.
    Whole(Bytes),
    /// It is longer than what is looked at: it passes as a stream.
    TooLong(RelayBody),
}

/// Reads a body up to a limit; a longer one stays a stream that begins with what was read.
pub(crate) async fn read_body(mut body: Incoming, limit: usize) -> Result<ReadBody, hyper::Error> {
    let mut pieces: Vec<Bytes> = Vec::new();
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame?.into_data() else { continue };
        length += piece.len();
        pieces.push(piece);
        if length > limit {
            let read = stream::iter(pieces.into_iter().map(|piece| Ok(Frame::data(piece))));
            let rest = body.into_data_stream().map(|piece| {
                piece.map(Frame::data).map_err(|error| Box::new(error) as Box<dyn Error + Send + Sync>)
            });
            return Ok(ReadBody::TooLong(StreamBody::new(read.chain(rest)).boxed_unsync()));
        }
    }
    Ok(ReadBody::Whole(match pieces.len() {
        1 => pieces.swap_remove(0),
        _ => pieces.concat().into(),
    }))
}

/// A body that passes as it comes.
pub(crate) fn streamed(body: Incoming) -> RelayBody {
    body.map_err(|error| Box::new(error) as Box<dyn Error + Send + Sync>).boxed_unsync()
}

/// An answer that passes as it comes, frame by frame; when it ends, `done` gets a copy of it.
pub(crate) struct CopiedBody<F: FnOnce(AnswerCopy)> {
    body: Incoming,
    copy: Option<AnswerCopy>,
    copied: usize,
    done: Option<F>,
}

impl<F: FnOnce(AnswerCopy) + Send + Unpin + 'static> CopiedBody<F> {
    /// The body of an answer with this status and these headers.
    pub(crate) fn new(body: Incoming, status: StatusCode, headers: HeaderMap, done: F) -> Self {
        let copy = AnswerCopy { status, headers, pieces: Vec::new(), is_whole: false };
        Self { body, copy: Some(copy), copied: 0, done: Some(done) }
    }
}

impl<F: FnOnce(AnswerCopy)> CopiedBody<F> {
    fn finish(&mut self, is_whole: bool) {
        if let (Some(copy), Some(done)) = (self.copy.take(), self.done.take()) {
            done(AnswerCopy { is_whole, ..copy });
        }
    }
}

impl<F: FnOnce(AnswerCopy) + Unpin> Body for CopiedBody<F> {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.body).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                if let (Some(piece), Some(copy)) = (frame.data_ref(), &mut this.copy) {
                    this.copied += piece.len();
                    if this.copied <= MOST_COPIED {
                        copy.pieces.push(piece.clone());
                    }
                }
            }
            Poll::Ready(Some(Err(_))) => this.finish(false),
            Poll::Ready(None) => this.finish(this.copied <= MOST_COPIED),
            Poll::Pending => {}
        }
        polled.map(|frame| frame.map(|frame| frame.map_err(|error| Box::new(error) as Self::Error)))
    }

    fn is_end_stream(&self) -> bool {
        // The end is told by a frame that is not there, so that the copy is handed over.
        false
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A client that goes away ends the answer where it is.
impl<F: FnOnce(AnswerCopy)> Drop for CopiedBody<F> {
    fn drop(&mut self) {
        self.finish(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in lines {
            map.append(*name, value.parse().expect("a header"));
        }
        map
    }

    fn names(map: &HeaderMap) -> Vec<(&str, &str)> {
        map.iter().map(|(name, value)| (name.as_str(), value.to_str().expect("text"))).collect()
    }

    #[test]
    fn headers_of_one_hop_stay_behind_and_the_rest_keeps_its_order() {
        let given = headers(&[
            ("accept", "a"),
            ("connection", "keep-alive, X-Drop"),
            ("x-api-key", "k"),
            ("keep-alive", "5"),
            ("x-drop", "d"),
            ("proxy-authorization", "p"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("x-longhaul", "off"),
            ("x-longhaul-token", "t"),
            ("anthropic-beta", "b"),
            ("upgrade", "h2c"),
        ]);
        assert_eq!(
            names(&passed_headers(&given)),
            [("accept", "a"), ("x-api-key", "k"), ("anthropic-beta", "b")]
        );
    }

    #[test]
    fn connection_cannot_take_away_what_frames_a_request() {
        let given =
            headers(&[("host", "h"), ("connection", "host, content-length"), ("content-length", "4")]);
        assert_eq!(names(&passed_headers(&given)), [("host", "h"), ("content-length", "4")]);
    }

    #[test]
    fn a_new_body_has_its_own_length_and_no_encoding() {
        let given = headers(&[("content-length", "4"), ("content-encoding", "zstd"), ("x", "y")]);
        assert_eq!(names(&with_new_body(&given, 9)), [("content-length", "9"), ("x", "y")]);
    }
}
