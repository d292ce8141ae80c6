//! Encodes a request to be sent: repaired, sides taking turns, with notes in the place of what the vendor does not take.

use longhaul_conversation::{Request, TokenCount};
use serde_json::{Map, Value};

use crate::fields::tokens;
use crate::format::WireFormat;
use crate::options::EncodeOptions;
use crate::{anthropic, gemini, openai};

/// Encodes the body of a call. Fields of the request's `extra` are merged into it, and a null takes one out.
pub fn encode_request(format: WireFormat, request: Request, options: &EncodeOptions) -> Map<String, Value> {
    match format {
        WireFormat::Gemini => gemini::encode_to_send(request, options),
        WireFormat::OpenAi => openai::encode_to_send(request, options),
        WireFormat::Anthropic => anthropic::encode_to_send(request, options),
    }
}

/// Encodes the body of a call that counts tokens; OpenAI's format has none.
pub fn encode_count(format: WireFormat, request: Request) -> Option<Map<String, Value>> {
    match format {
        WireFormat::Gemini => Some(gemini::encode_count(request)),
        WireFormat::OpenAi => None,
        WireFormat::Anthropic => Some(anthropic::encode_count(request)),
    }
}

/// Reads the answer to a call that counts tokens.
pub fn decode_count(format: WireFormat, answer: &Value) -> Option<TokenCount> {
    match format {
        WireFormat::Gemini => tokens(answer, "totalTokens"),
        WireFormat::OpenAi => None,
        WireFormat::Anthropic => tokens(answer, "input_tokens"),
    }
}
