//! Gemini's `generateContent`, `streamGenerateContent` and `countTokens`.

mod send;
mod stream;

pub(crate) use send::{encode, encode_count};
pub(crate) use stream::Decoder;
