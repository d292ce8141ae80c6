//! Anthropic's messages, with their count.

mod decode;
mod encode;

pub(crate) use decode::Decoder;
pub(crate) use encode::{default_limit, encode, encode_count};
