//! Messages of clients, and the answers to what is none.

use rmcp::model::ClientJsonRpcMessage;
use serde_json::{Value, json};

/// The longest message that is read; requests of clients are far shorter.
pub(super) const LONGEST_MESSAGE: usize = 4 << 20;

/// Standard error codes of JSON-RPC.
const PARSE_ERROR: i32 = -32700;
pub(super) const INVALID_REQUEST: i32 = -32600;

/// A message, or the answer to what is none.
pub(super) fn parse(line: &[u8]) -> Result<ClientJsonRpcMessage, Value> {
    let value: Value = serde_json::from_slice(line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line))
        .map_err(|error| refusal(&Value::Null, PARSE_ERROR, &format!("not JSON: {error}")))?;
    let id = value.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
    serde_json::from_value(value).map_err(|error| {
        refusal(&id.unwrap_or_default(), INVALID_REQUEST, &format!("not a request of the protocol: {error}"))
    })
}

/// An answer by an error of the protocol.
pub(super) fn refusal(id: &Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}
