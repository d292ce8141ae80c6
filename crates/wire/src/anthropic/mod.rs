//! Anthropic's messages, with their count.

mod send;
mod stream;

pub use send::default_limit;
pub(crate) use send::{encode, encode_count};
pub(crate) use stream::Decoder;
