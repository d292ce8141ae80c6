//! Gemini's `generateContent`, `streamGenerateContent` and `countTokens`.

mod encode;
mod fit;
mod read;
mod send;
mod stream;

pub(crate) use encode::encode;
pub use encode::{MadeUpIds, encode_part, encode_tool};
pub(crate) use fit::fit;
pub use fit::{fit_part, fit_result, fit_system};
pub use read::{read_content, read_head, read_part, read_rest, status_when_read};
pub(crate) use send::{encode_count, encode_to_send};
pub(crate) use stream::Decoder;
