//! Errors of the gateway's own, in the shape that a family's clients understand.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use longhaul_providers::RelayBody;
use serde_json::{Value, json};

use crate::family::Family;

/// A body that is there at once.
pub(crate) fn full(bytes: impl Into<Bytes>) -> RelayBody {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// An answer in JSON.
pub(crate) fn json_response(status: StatusCode, value: &Value) -> Response<RelayBody> {
    let mut response = Response::new(full(value.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An error of the gateway's.
pub(crate) fn error_response(
    family: Option<Family>,
    status: StatusCode,
    message: &str,
) -> Response<RelayBody> {
    let message = format!("longhaul gateway: {message}");
    let mut response = json_response(status, &error_value(family, status, &message));
    if status == StatusCode::TOO_MANY_REQUESTS {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("3600"));
    }
    response
}

fn error_value(family: Option<Family>, status: StatusCode, message: &str) -> Value {
    match family {
        Some(Family::Anthropic) | None => {
            let kind = match status.as_u16() {
                400 | 426 => "invalid_request_error",
                401 => "authentication_error",
                403 => "permission_error",
                404 => "not_found_error",
                413 => "request_too_large",
                429 => "rate_limit_error",
                _ => "api_error",
            };
            json!({"type": "error", "error": {"type": kind, "message": message}})
        }
        Some(Family::Chat | Family::Responses) => {
            let kind = match status.as_u16() {
                429 => "insufficient_quota",
                400..500 => "invalid_request_error",
                _ => "server_error",
            };
            json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
        }
        Some(Family::Gemini) => {
            let name = match status.as_u16() {
                400 => "INVALID_ARGUMENT",
                401 => "UNAUTHENTICATED",
                403 => "PERMISSION_DENIED",
                404 => "NOT_FOUND",
                429 => "RESOURCE_EXHAUSTED",
                _ => "UNAVAILABLE",
            };
            json!({"error": {"code": status.as_u16(), "message": message, "status": name}})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_gets_its_own_shape() {
        let value = |family| error_value(family, StatusCode::TOO_MANY_REQUESTS, "x");
        assert_eq!(value(Some(Family::Anthropic))["error"]["type"], "rate_limit_error");
        assert_eq!(value(Some(Family::Responses))["error"]["type"], "insufficient_quota");
        assert_eq!(value(Some(Family::Gemini))["error"]["status"], "RESOURCE_EXHAUSTED");
    }
}
