//! OpenAI's chat completions, as OpenAI and the many servers that follow it speak them.

mod encode;
mod fit;
mod read;
mod send;
mod stream;

use longhaul_conversation::{Extra, Part, Vendor};

pub(crate) use encode::encode;
pub(crate) use fit::fit;
pub use read::{ChatDecoder, has_marks, read_head, read_rest};
pub(crate) use send::encode_to_send;
pub(crate) use stream::Decoder;

/// Says in a thought's fields under which name its server sent it, and wants it back.
const SENT_AS: &str = "sent_as";
/// Reasoning that some servers want back untouched, beside the readable one.
const DETAILS: &str = "reasoning_details";

/// The name under which a thought's server sent it.
fn sent_as(part: &Part) -> Option<&str> {
    Extra::for_vendor(&part.extra, Vendor::OpenAiChat)?.get(SENT_AS)?.as_str()
}
