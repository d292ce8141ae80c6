//! The vendors' JSON, both ways and once: Gemini's `generateContent`, OpenAI's chat completions and Responses, Anthropic's
//! messages.
//!
//! | from | to | by |
//! | --- | --- | --- |
//! | a request to be sent | the body of a call | [`encode_request`], [`encode_count`] |
//! | a request to be kept | a body, and what it has no place for | [`write_request`] |
//! | a body | a request | [`decode_request`], or piece by piece [`RequestDecoder`] |
//! | an answer, whole or as it streams | `ResponseEvent`s | [`StreamDecoder`] |
//!
//! The modules named after vendors have what only one of them does, for files that are made of such pieces. What a vendor
//! sends that Longhaul does not model travels along and is written back to that vendor.
//!
//! ```
//! use longhaul_wire::{RequestFormat, WireFormat, decode_request, write_request};
//!
//! let body = r#"{"model":"gpt-5","messages":[{"role":"user","content":"Hello"}],"seed":7}"#;
//! let request = decode_request(RequestFormat::OpenAiChat, body)?.request;
//! assert_eq!(request.messages[0].parts[0].as_text(), Some("Hello"));
//!
//! let written = write_request(WireFormat::Gemini, request);
//! assert_eq!(written.value["contents"][0]["parts"][0]["text"], "Hello");
//! assert_eq!(written.lost[0].to_string(), "fields (seed)");
//! # Ok::<(), serde_json::Error>(())
//! ```

mod answer;
pub mod anthropic;
mod call_ids;
mod decode;
mod fields;
mod fit;
mod format;
pub mod gemini;
mod intake;
mod json;
#[cfg(test)]
mod laws;
mod list;
mod loss;
mod mend;
pub mod openai;
mod options;
mod origins;
mod pieces;
mod prepare;
mod raw;
mod request;
pub mod responses;
mod shared;
mod sse;
mod stream;
mod told;
mod usage;
mod write;

pub use answer::{AnswerSize, Progress, StreamFault};
pub use call_ids::CallIds;
pub use decode::{DecodedRequest, RequestDecoder, RequestFormat, decode_request};
pub use fields::{Fields, add_missing, object};
pub use fit::{call_names, fields_of, fit_call, keep_fields, lose_fields, lose_misplaced};
pub use format::WireFormat;
pub use intake::Intake;
pub use json::{Json, Object};
pub use list::{Item, List, Rest};
pub use loss::{Loss, LossKind, Losses};
pub use mend::{explain, mend, parse_mended, text_of};
pub use options::{EncodeOptions, LimitName};
pub use origins::{OriginRules, PLAIN, close_references, split_by_tags, split_pasted, split_user_text};
pub use pieces::{Piece, pieces, plain_origin, says_something};
pub use raw::{Edit, RawField, apply_edits, is_object, range_in, raw_fields, raw_items};
pub use request::{decode_count, encode_count, encode_request};
pub use shared::{body_of_url, each_item, each_object, messages_of, read_arguments, split_typed, text_parts};
pub use sse::{SseDecoder, SseEvent, SseTooLong};
pub use stream::StreamDecoder;
pub use usage::{anthropic_usage, chat_usage, gemini_usage, responses_usage};
pub use write::{WrittenRequest, write_request};
