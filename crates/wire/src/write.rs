//! Writes a request to be kept: what its format has no place for is left out and reported.
//!
//! It takes two steps. First the request is fitted: what the format has no place for is left out, what it wants in another
//! form takes that form. Then the fitted request is encoded, which loses nothing more: read back, it is equal but for
//! message ids, times and usage, which no wire format carries. Who produced a text on the user's side is told by tags
//! around it, where its reader would not find that out by itself.

use longhaul_conversation::Request;
use serde_json::Value;

use crate::anthropic::PlainContent;
use crate::fields::add_missing;
use crate::fit::fields_of;
use crate::format::WireFormat;
use crate::loss::{Loss, Losses};
use crate::options::LimitName;
use crate::{anthropic, gemini, openai};

/// A request in a wire format.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenRequest {
    /// The body of the request.
    pub value: Value,
    /// The losses, in the order of the conversation. Empty text, which says nothing and which some
    /// providers refuse, is left out without a word.
    pub lost: Vec<Loss>,
}

/// Writes a request, and tells what the format has no place for.
///
/// Calls and results are written as they stand: whether they pair up is for `find_faults` to say.
pub fn write_request(format: WireFormat, request: Request) -> WrittenRequest {
    let mut losses = Losses::default();
    let fitted = fit(format, &request, &mut losses);
    // Of a long conversation, no third copy is held.
    drop(request);
    WrittenRequest { value: encode(format, &fitted), lost: losses.into_list() }
}

/// Reduces a request to what the format can hold.
pub(crate) fn fit(format: WireFormat, request: &Request, losses: &mut Losses) -> Request {
    match format {
        WireFormat::Gemini => gemini::fit(request, losses),
        WireFormat::OpenAi => openai::fit(request, losses),
        WireFormat::Anthropic => anthropic::fit(request, losses),
    }
}

/// Encodes a request that was fitted.
pub(crate) fn encode(format: WireFormat, request: &Request) -> Value {
    let mut body = match format {
        WireFormat::Gemini => gemini::encode(request),
        WireFormat::OpenAi => openai::encode(request, LimitName::default()),
        WireFormat::Anthropic => anthropic::encode(request, PlainContent::Text),
    };
    add_missing(&mut body, request.extra.clone());
    add_missing(&mut body, fields_of(&request.fields));
    Value::Object(body)
}
