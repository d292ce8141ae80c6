//! The three wire formats behind one face: requests in, JSON out; bytes in, events out.

use longhaul_conversation::{FinishReason, Request, ResponseEvent, TokenCount};
use serde_json::{Map, Value};

use crate::json::tokens;
use crate::limits::AnswerSize;
use crate::sse::{SseDecoder, SseTooLong};
use crate::{anthropic, gemini, openai};

/// How a provider wants to be spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WireFormat {
    /// Gemini's `generateContent`.
    Gemini,
    /// OpenAI's chat completions, which most other servers speak too.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
}

/// What a request is encoded with besides its content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EncodeOptions {
    /// Whether the answer is to come in pieces. Gemini says this in the address instead.
    pub streams: bool,
    /// The most the answer may have; Anthropic, which wants a limit, is told the usual one without one.
    pub max_output: Option<TokenCount>,
    /// What the server calls that limit; only OpenAI's format has two names.
    pub limit_name: LimitName,
    /// Whether to mark what Anthropic is to cache, where the request has no marks of its own.
    pub marks_cache: bool,
}

/// What an OpenAI-compatible server calls the limit of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LimitName {
    /// `max_tokens`: what nearly every server knows.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`: what OpenAI's own newer models insist on.
    MaxCompletionTokens,
}

/// Encodes the body of a call. Fields of the request's `extra` are merged into it, and a null takes one out.
pub fn encode_request(format: WireFormat, request: Request, options: &EncodeOptions) -> Map<String, Value> {
    match format {
        WireFormat::Gemini => gemini::encode(request, options),
        WireFormat::OpenAi => openai::encode(request, options),
        WireFormat::Anthropic => anthropic::encode(request, options),
    }
}

/// Encodes the body of a call that counts tokens; OpenAI's format has none.
pub(crate) fn encode_count(format: WireFormat, request: Request) -> Option<Map<String, Value>> {
    match format {
        WireFormat::Gemini => Some(gemini::encode_count(request)),
        WireFormat::OpenAi => None,
        WireFormat::Anthropic => Some(anthropic::encode_count(request)),
    }
}

/// Reads the answer to a call that counts tokens.
pub(crate) fn decode_count(format: WireFormat, answer: &Value) -> Option<TokenCount> {
    match format {
        WireFormat::Gemini => tokens(answer, "totalTokens"),
        WireFormat::OpenAi => None,
        WireFormat::Anthropic => tokens(answer, "input_tokens"),
    }
}

/// How far an answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There may be more.
    More,
    /// The sender said that this was all.
    Done,
}

/// Why an answer cannot be read on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StreamFault {
    /// The provider sent an error in place of the rest.
    #[error("the provider sent an error")]
    Error(Value),
    /// Something arrived that is no JSON.
    #[error("the stream holds something that is no JSON: {0}")]
    Garbled(String),
    /// One event is larger than allowed.
    #[error(transparent)]
    TooLong(#[from] SseTooLong),
    /// The bytes ended before the answer did.
    #[error("the stream ended in the middle of the answer")]
    CutOff,
}

/// Reads one answer from the bytes of its stream.
///
/// ```
/// use longhaul_conversation::{Part, ResponseBuilder};
/// use longhaul_providers::{StreamDecoder, WireFormat};
///
/// let stream = br#"data: {"candidates":[{"content":{"parts":[{"text":"Hello"}]},"finishReason":"STOP"}]}"#;
/// let mut events = Vec::new();
/// let mut decoder = StreamDecoder::new(WireFormat::Gemini, "1");
/// for byte in stream.chunks(1) {
///     decoder.feed(byte, &mut events)?;
/// }
/// decoder.finish(&mut events)?;
///
/// let mut answer = ResponseBuilder::default();
/// events.into_iter().for_each(|event| answer.add(event));
/// assert_eq!(answer.into_message("a1").parts, [Part::model_text("Hello")]);
/// # Ok::<(), longhaul_providers::StreamFault>(())
/// ```
#[derive(Debug)]
pub struct StreamDecoder {
    sse: SseDecoder,
    answer: AnswerDecoder,
    is_done: bool,
    is_finished: bool,
    has_events: bool,
}

#[derive(Debug)]
enum AnswerDecoder {
    Gemini(gemini::Decoder),
    OpenAi(openai::Decoder),
    Anthropic(anthropic::Decoder),
}

impl StreamDecoder {
    /// A decoder for one answer. `seed` sets apart the ids of calls that come without one, so it must be another for
    /// each answer of a conversation.
    pub fn new(format: WireFormat, seed: impl Into<String>) -> Self {
        let answer = match format {
            WireFormat::Gemini => AnswerDecoder::Gemini(gemini::Decoder::new(seed.into())),
            WireFormat::OpenAi => AnswerDecoder::OpenAi(openai::Decoder::new(seed.into())),
            WireFormat::Anthropic => AnswerDecoder::Anthropic(anthropic::Decoder::default()),
        };
        Self { sse: SseDecoder::default(), answer, is_done: false, is_finished: false, has_events: false }
    }

    /// Takes the next bytes of the stream; what follows the end of the answer is ignored.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<ResponseEvent>) -> Result<Progress, StreamFault> {
        let Self { sse, answer, is_done, has_events, .. } = self;
        let mut result = Ok(());
        let fed = sse.feed(bytes, |event| {
            *has_events = true;
            if result.is_ok() && !*is_done {
                result = answer.event(&event.data, out).map(|progress| *is_done = progress == Progress::Done);
            }
        });
        // What went wrong first counts.
        result?;
        fed?;
        Ok(if self.is_done { Progress::Done } else { Progress::More })
    }

    /// What the decoder took in beside the text and the reasoning that it handed on.
    pub(crate) fn held(&self) -> AnswerSize {
        match &self.answer {
            AnswerDecoder::Gemini(decoder) => decoder.held(),
            AnswerDecoder::OpenAi(decoder) => decoder.held(),
            AnswerDecoder::Anthropic(decoder) => decoder.held(),
        }
    }

    /// The stream has ended, or its sender said that this was all: hands on what is left, and why the model stopped.
    pub fn finish(&mut self, out: &mut Vec<ResponseEvent>) -> Result<(), StreamFault> {
        if std::mem::replace(&mut self.is_finished, true) {
            return Ok(());
        }
        let Self { sse, answer, is_done, has_events, .. } = self;
        let mut result = Ok(());
        sse.finish(|event| {
            *has_events = true;
            if !*is_done {
                result = answer.event(&event.data, out).map(|progress| *is_done = progress == Progress::Done);
            }
        })?;
        result?;
        self.end(out)
    }

    /// Takes an answer that came whole, as one JSON value.
    pub fn take_whole(&mut self, answer: Value, out: &mut Vec<ResponseEvent>) -> Result<(), StreamFault> {
        match answer {
            Value::Array(chunks) => {
                for chunk in chunks {
                    self.answer.value(chunk, out)?;
                }
            }
            answer => {
                self.answer.value(answer, out)?;
            }
        }
        self.is_finished = true;
        self.end(out)
    }

    /// Whether a JSON value that came whole may be an answer at all, and not something that another server says.
    pub(crate) fn may_be_answer(&self, whole: &Value) -> bool {
        let keys: &[&str] = match &self.answer {
            AnswerDecoder::Gemini(_) => {
                &["candidates", "promptFeedback", "usageMetadata", "responseId", "error"]
            }
            AnswerDecoder::OpenAi(_) => &["choices", "error"],
            AnswerDecoder::Anthropic(_) => &["content", "error"],
        };
        match whole {
            Value::Array(chunks) => chunks.is_empty() || chunks.iter().any(|chunk| self.may_be_answer(chunk)),
            whole => keys.iter().any(|key| whole.get(key).is_some()),
        }
    }

    /// Whether any event has arrived.
    pub(crate) fn has_events(&self) -> bool {
        self.has_events
    }

    fn end(&mut self, out: &mut Vec<ResponseEvent>) -> Result<(), StreamFault> {
        let reason = match &mut self.answer {
            AnswerDecoder::Gemini(decoder) => decoder.end(),
            AnswerDecoder::OpenAi(decoder) => decoder.end(self.is_done, out),
            AnswerDecoder::Anthropic(decoder) => decoder.end(out),
        };
        out.push(ResponseEvent::Finished(reason.ok_or(StreamFault::CutOff)?));
        Ok(())
    }
}

impl AnswerDecoder {
    fn event(&mut self, data: &str, out: &mut Vec<ResponseEvent>) -> Result<Progress, StreamFault> {
        match data.trim() {
            "" => Ok(Progress::More),
            "[DONE]" => Ok(Progress::Done),
            data => {
                let value = serde_json::from_str(data)
                    .map_err(|_| StreamFault::Garbled(data.chars().take(80).collect()))?;
                self.value(value, out)
            }
        }
    }

    fn value(&mut self, value: Value, out: &mut Vec<ResponseEvent>) -> Result<Progress, StreamFault> {
        match self {
            Self::Gemini(decoder) => decoder.chunk(value, out),
            Self::OpenAi(decoder) => decoder.chunk(value, out),
            Self::Anthropic(decoder) => decoder.event(value, out),
        }
    }
}

/// Whether an event shows the reader something.
pub(crate) fn is_shown(event: &ResponseEvent) -> bool {
    matches!(event, ResponseEvent::TextDelta(_) | ResponseEvent::ThoughtDelta(_) | ResponseEvent::Part(_))
}

/// Whether an answer that stopped like this may well have nothing in it.
pub(crate) fn may_be_empty(reason: &FinishReason) -> bool {
    !matches!(reason, FinishReason::Stop | FinishReason::ToolCalls)
}
