//! The vendors' JSON, both ways: Gemini's `generateContent`, OpenAI's chat completions, Anthropic's messages.
//!
//! [`encode_request`] writes the body of a call; [`StreamDecoder`] reads the answer, whole or as it streams.
//!
//! ```
//! use longhaul_conversation::{Message, Part, Request, Role};
//! use longhaul_wire::{EncodeOptions, WireFormat, encode_request};
//!
//! let hello = Message::new("u1", Role::User, vec![Part::user_text("Hello")]);
//! let request = Request { model: "gpt-5".into(), messages: vec![hello], ..Request::default() };
//! let body = encode_request(WireFormat::OpenAi, request, &EncodeOptions::default());
//! assert_eq!(body["messages"][0]["content"], "Hello");
//! ```

mod answer;
mod anthropic;
mod fields;
mod format;
mod gemini;
mod openai;
mod options;
mod prepare;
mod request;
mod sse;
mod stream;

pub use answer::{AnswerSize, Progress, StreamFault};
pub use anthropic::default_limit;
pub use format::WireFormat;
pub use options::{EncodeOptions, LimitName};
pub use request::{decode_count, encode_count, encode_request};
pub use sse::{SseDecoder, SseEvent, SseTooLong};
pub use stream::StreamDecoder;
