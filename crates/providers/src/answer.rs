//! Reads the answer to one call, whatever it turns out to be.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::{Response, StatusCode};
use longhaul_conversation::{FinishReason, ModelError, ResponseEvent};
use longhaul_wire::{Progress, StreamDecoder, StreamFault, WireFormat, parse_mended, text_of};
use tokio::time::{Instant, timeout, timeout_at};

use crate::failure::{Callee, judge_event, page_reason};
use crate::retry::Failure;
use crate::watch::Watch;

/// The most that an answer in one piece may have.
const LONGEST_WHOLE: usize = 64 << 20;
/// The time to wait for the end of a response whose content is complete.
const DRAIN: Duration = Duration::from_millis(100);

/// An answer that is being read.
pub(crate) struct Reading {
    body: Incoming,
    status: StatusCode,
    decoder: StreamDecoder,
    kind: Kind,
    has_content: bool,
    watch: Watch,
}

/// The kind of body. The content type does not tell: servers get it wrong.
enum Kind {
    Unknown,
    /// A stream, or a text that begins like one; a comment tells for certain.
    Stream {
        is_certain: bool,
    },
    /// One JSON value, or a web page, so far.
    Whole(Vec<u8>),
}

/// The result of one read.
pub(crate) enum Next {
    More,
    Finished,
}

impl Reading {
    pub(crate) fn new(response: Response<Incoming>, format: WireFormat, seed: String, watch: Watch) -> Self {
        Self {
            status: response.status(),
            body: response.into_body(),
            decoder: StreamDecoder::new(format, seed),
            kind: Kind::Unknown,
            has_content: false,
            watch,
        }
    }

    /// Reads what comes next and hands on what it holds.
    pub(crate) async fn next(
        &mut self,
        callee: Callee<'_>,
        out: &mut Vec<ResponseEvent>,
    ) -> Result<Next, Failure> {
        let next = self.step(callee, out).await;
        self.watch.take(out, self.decoder.held(), Instant::now())?;
        self.has_content |= out.iter().any(is_shown);
        if matches!(next, Ok(Next::Finished)) && !self.has_content && !out.iter().any(stopped_early) {
            out.retain(|event| !matches!(event, ResponseEvent::Finished(_)));
            return Err(Failure::once(empty()));
        }
        next
    }

    /// The bytes of the answer that have arrived, whatever they were sent in.
    pub(crate) fn content(&self) -> u64 {
        self.watch.content()
    }

    /// Reads the end of the answer, which says nothing more, so that the connection can be used again.
    pub(crate) async fn drain(&mut self) {
        let rest = async { while let Some(Ok(_)) = self.body.frame().await {} };
        timeout(DRAIN, rest).await.ok();
    }

    async fn step(&mut self, callee: Callee<'_>, out: &mut Vec<ResponseEvent>) -> Result<Next, Failure> {
        // A sender that never pauses would never be waited for, and so never be out of time.
        if let Some(expired) = self.watch.expiry(Instant::now()) {
            return self.give_up(expired, callee, out);
        }
        let ended = match timeout_at(self.watch.wait_until(), self.body.frame()).await {
            Ok(Some(Ok(frame))) => {
                let Ok(bytes) = frame.into_data() else { return Ok(Next::More) };
                self.watch.take_bytes(bytes.len())?;
                return self.take(&bytes, callee, out);
            }
            Ok(None) => None,
            Ok(Some(Err(error))) => Some(format!("connection lost: {}", crate::http::innermost(&error))),
            Err(_) => return Ok(Next::More),
        };
        match self.end(callee, out) {
            // Whatever happened to the connection, the answer is complete.
            Ok(()) => Ok(Next::Finished),
            Err(failure) => Err(match (ended, &failure.error) {
                (Some(reason), ModelError::Interrupted { .. }) => {
                    Failure::passing(ModelError::Interrupted { reason })
                }
                _ => failure,
            }),
        }
    }

    /// Reads no further; what has arrived may be the whole answer, only its end was not said.
    fn give_up(
        &mut self,
        expired: Failure,
        callee: Callee<'_>,
        out: &mut Vec<ResponseEvent>,
    ) -> Result<Next, Failure> {
        match self.end(callee, out) {
            Ok(()) => Ok(Next::Finished),
            Err(failure) if matches!(failure.error, ModelError::Interrupted { .. }) => Err(expired),
            Err(failure) => Err(failure),
        }
    }

    fn take(
        &mut self,
        bytes: &Bytes,
        callee: Callee<'_>,
        out: &mut Vec<ResponseEvent>,
    ) -> Result<Next, Failure> {
        if matches!(self.kind, Kind::Unknown) {
            let Some(first) = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) else {
                return Ok(Next::More);
            };
            self.kind = match first {
                b'{' | b'[' | b'<' => Kind::Whole(Vec::new()),
                // A comment, a field, or a byte order mark.
                b':' | b'd' | b'e' | b'i' | b'r' | b'\xef' => Kind::Stream { is_certain: *first == b':' },
                _ => return Err(Failure::lasting(not_a_stream(callee))),
            };
        }
        if let Kind::Whole(whole) = &mut self.kind {
            if whole.len() + bytes.len() > LONGEST_WHOLE {
                return Err(Failure::lasting(not_a_stream(callee)));
            }
            whole.extend_from_slice(bytes);
            return Ok(Next::More);
        }
        match self.decoder.feed(bytes, out) {
            Ok(Progress::More) => Ok(Next::More),
            Ok(Progress::Done) => self.end(callee, out).map(|()| Next::Finished),
            Err(fault) => Err(judge_fault(callee, fault)),
        }
    }

    fn end(&mut self, callee: Callee<'_>, out: &mut Vec<ResponseEvent>) -> Result<(), Failure> {
        let result = match &self.kind {
            Kind::Whole(bytes) if bytes.trim_ascii_start().starts_with(b"<") => {
                let page = String::from_utf8_lossy(bytes);
                let reason = page_reason(&page, self.status.as_u16(), &callee.provider.key);
                let host = callee.provider.endpoint.host().to_string();
                let reason = format!("returned {reason}");
                return Err(Failure::lasting(ModelError::NotAModel { host, reason }));
            }
            Kind::Whole(bytes) => match parse_mended(&text_of(bytes).0) {
                Some(answer) if !self.decoder.may_be_answer(&answer) => {
                    return Err(Failure::lasting(not_a_stream(callee)));
                }
                Some(answer) => self.decoder.take_whole(answer, out),
                None => Err(StreamFault::CutOff),
            },
            Kind::Stream { .. } | Kind::Unknown => self.decoder.finish(out),
        };
        match result {
            Err(StreamFault::CutOff)
                if matches!(self.kind, Kind::Stream { is_certain: false }) && !self.decoder.has_events() =>
            {
                Err(Failure::lasting(not_a_stream(callee)))
            }
            Err(StreamFault::CutOff) if matches!(self.kind, Kind::Unknown) || !self.decoder.has_events() => {
                Err(Failure::once(empty()))
            }
            result => result.map_err(|fault| judge_fault(callee, fault)),
        }
    }
}

/// True if an event shows the reader something.
pub(crate) fn is_shown(event: &ResponseEvent) -> bool {
    matches!(event, ResponseEvent::TextDelta(_) | ResponseEvent::ThoughtDelta(_) | ResponseEvent::Part(_))
}

/// True if an answer ends for a reason that explains why there is nothing in it.
fn stopped_early(event: &ResponseEvent) -> bool {
    matches!(event, ResponseEvent::Finished(reason) if !matches!(reason, FinishReason::Stop | FinishReason::ToolCalls))
}

fn empty() -> ModelError {
    ModelError::Interrupted { reason: "empty response".into() }
}

fn not_a_stream(callee: Callee<'_>) -> ModelError {
    let host = callee.provider.endpoint.host().to_string();
    ModelError::NotAModel { host, reason: "returned something other than an event stream".into() }
}

fn judge_fault(callee: Callee<'_>, fault: StreamFault) -> Failure {
    match fault {
        StreamFault::Error(event) => judge_event(callee, &event),
        // What has no end once has none the next time.
        StreamFault::TooLong(_) => Failure::lasting(ModelError::Interrupted { reason: fault.to_string() }),
        StreamFault::Garbled(_) | StreamFault::CutOff => {
            Failure::passing(ModelError::Interrupted { reason: fault.to_string() })
        }
    }
}
