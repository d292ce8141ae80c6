//! OpenAI's chat completions, as OpenAI and the many servers that follow it speak them.

mod send;
mod stream;

pub(crate) use send::encode;
pub(crate) use stream::Decoder;

/// Says in a thought's fields under which name its server sent it, and wants it back.
const SENT_AS: &str = "sent_as";
/// Reasoning that some servers want back untouched, beside the readable one.
const DETAILS: &str = "reasoning_details";
