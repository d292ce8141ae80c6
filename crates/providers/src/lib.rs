//! Speaks to models over the network: Gemini, everything that follows OpenAI, and Anthropic.

mod anthropic;
mod gemini;
mod json;
mod openai;
mod prepare;
mod sse;
mod wire;

pub use sse::{SseDecoder, SseEvent, SseTooLong};
pub use wire::{EncodeOptions, LimitName, Progress, StreamDecoder, StreamFault, WireFormat, encode_request};
