//! Gemini's `generateContent`, `streamGenerateContent` and `countTokens`.

mod decode;
mod encode;

pub(crate) use decode::Decoder;
pub(crate) use encode::{encode, encode_count};
