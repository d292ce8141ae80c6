//! Anthropic's messages, with their count.

mod encode;
mod fit;
mod read;
mod send;
mod stream;

pub use encode::encode_block;
pub(crate) use encode::{PlainContent, encode};
pub(crate) use fit::fit;
pub use fit::fit_part;
pub use read::{
    SKILL_START, has_blocks, is_answer, is_block, read_block, read_head, read_message, read_rest, read_tool,
    user_text,
};
pub use send::default_limit;
pub(crate) use send::{encode_count, encode_to_send};
pub(crate) use stream::Decoder;
