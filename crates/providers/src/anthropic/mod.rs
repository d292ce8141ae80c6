//! Anthropic's messages, with their count.

mod decode;
mod encode;

pub(crate) use decode::Decoder;
pub(crate) use encode::{encode, encode_count};
