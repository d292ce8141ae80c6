//! OpenAI's chat completions, as OpenAI and the many servers that follow it speak them.

mod decode;
mod encode;

pub(crate) use decode::Decoder;
pub(crate) use encode::encode;

/// Says in a thought's fields under which name its server sent it, and wants it back.
const SENT_AS: &str = "sent_as";
/// Reasoning that some servers want back untouched, beside the readable one.
const DETAILS: &str = "reasoning_details";
