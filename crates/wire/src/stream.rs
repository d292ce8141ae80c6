//! Reads one answer of a model, whole or as it streams: bytes in, events out.

use longhaul_conversation::ResponseEvent;
use serde_json::Value;

use crate::answer::{AnswerSize, Progress, StreamFault};
use crate::format::WireFormat;
use crate::mend::parse_mended;
use crate::sse::SseDecoder;
use crate::{anthropic, gemini, openai};

/// Reads one answer from the bytes of its stream.
///
/// ```
/// use longhaul_conversation::{Part, ResponseBuilder};
/// use longhaul_wire::{StreamDecoder, WireFormat};
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
/// # Ok::<(), longhaul_wire::StreamFault>(())
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

    /// The size the decoder took in besides the text and reasoning that it handed on.
    pub fn held(&self) -> AnswerSize {
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

    /// True if a JSON value that came whole may be an answer at all, and not something that another server says.
    pub fn may_be_answer(&self, whole: &Value) -> bool {
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

    /// True if any event has arrived.
    pub fn has_events(&self) -> bool {
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
    /// Takes the data of one event. Half of a surrogate pair, which JavaScript sends when it cuts a text, does not end an answer.
    fn event(&mut self, data: &str, out: &mut Vec<ResponseEvent>) -> Result<Progress, StreamFault> {
        match data.trim() {
            "" => Ok(Progress::More),
            "[DONE]" => Ok(Progress::Done),
            data => {
                let value = parse_mended(data);
                let value = value.ok_or_else(|| StreamFault::Garbled(data.chars().take(80).collect()))?;
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
