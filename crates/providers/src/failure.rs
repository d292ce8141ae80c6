//! Classification of a provider's errors by what can be done about them.

use std::time::Duration;

use hyper::{HeaderMap, StatusCode};
use longhaul_conversation::{ModelError, Timestamp};
use secrecy::ExposeSecret;
use serde_json::Value;

use crate::names::nearest_models;
use crate::retry::{Again, Failure, parse_google_delay, retry_after};
use crate::settings::{Key, ProviderSettings};

/// The longest message of a provider's that is shown.
const LONGEST_REASON: usize = 300;

/// The provider and model of a call, for error messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callee<'a> {
    pub(crate) provider: &'a ProviderSettings,
    pub(crate) model: &'a str,
}

/// Judges an answer that is no success.
pub(crate) fn judge_answer(
    callee: Callee<'_>,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    now: Timestamp,
) -> Failure {
    let host = || callee.provider.endpoint.host().to_string();
    if status.is_redirection() {
        let reason = format!("redirected to another address ({})", status.as_u16());
        return Failure::lasting(ModelError::NotAModel { host: host(), reason });
    }
    if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
        let reason = "the proxy requires authentication".to_string();
        return Failure::lasting(ModelError::Unreachable { host: host(), reason });
    }
    let asked = retry_after(headers, now);
    let text = String::from_utf8_lossy(body);
    if text.trim_start().starts_with('<') {
        return judge_page(callee, status, &text, asked);
    }
    let value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let told = Told::read(&value, &text);
    told.judge(callee, status.as_u16(), asked)
}

/// Judges an error that came inside a stream.
pub(crate) fn judge_event(callee: Callee<'_>, event: &Value) -> Failure {
    let told = Told::read(event, "");
    told.judge(callee, told.status().unwrap_or(500), None)
}

/// Judges a web page: something stands between us and the provider, or in its place.
fn judge_page(callee: Callee<'_>, status: StatusCode, page: &str, asked: Option<Duration>) -> Failure {
    let reason = page_reason(page, status.as_u16(), &callee.provider.key);
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        let again = asked.map_or(Again::Soon, Again::After);
        let reason = format!("the endpoint returned {reason}");
        return Failure { error: ModelError::Busy { reason, retry_after: asked }, again };
    }
    let host = callee.provider.endpoint.host().to_string();
    Failure::lasting(ModelError::NotAModel { host, reason: format!("returned {reason}") })
}

/// A web page that came instead of a response, with its title.
pub(crate) fn page_reason(page: &str, status: u16, key: &Key) -> String {
    let lower = page.to_ascii_lowercase();
    let title = lower.find("<title").and_then(|start| {
        let open = start + lower[start..].find('>')? + 1;
        let end = open + lower[open..].find("</title")?;
        Some(shown(&page[open..end], key))
    });
    match title.filter(|title| !title.is_empty()) {
        Some(title) => format!("a web page, {title:?} ({status})"),
        None => format!("a web page ({status})"),
    }
}

/// A provider's error report, in any of the formats.
#[derive(Debug, Default)]
struct Told {
    message: String,
    /// The words and numbers that classify the error: `status`, `type`, `code`, and the reasons in Google's details.
    marks: Vec<String>,
    retry_after: Option<Duration>,
    daily: bool,
}

impl Told {
    fn read(value: &Value, text: &str) -> Self {
        // Google sends the error of a stream inside a list.
        let value = value.get(0).unwrap_or(value);
        let error = value.get("error").unwrap_or(value);
        let message = [error.get("message"), value.get("message"), value.get("detail"), value.get("error")];
        let message = message.into_iter().flatten().find_map(Value::as_str).unwrap_or(text);
        let mut told = Self { message: message.to_string(), ..Self::default() };
        for key in ["status", "type", "code"] {
            match error.get(key) {
                Some(Value::String(mark)) => told.marks.push(mark.clone()),
                Some(Value::Number(number)) => told.marks.push(number.to_string()),
                _ => {}
            }
        }
        for detail in error.get("details").and_then(Value::as_array).into_iter().flatten() {
            told.read_detail(detail);
        }
        told
    }

    fn read_detail(&mut self, detail: &Value) {
        let text = |key: &str| detail.get(key).and_then(Value::as_str);
        if let Some(delay) = text("retryDelay") {
            self.retry_after = parse_google_delay(delay);
        }
        if let Some(reason) = text("reason") {
            self.marks.push(reason.to_string());
        }
        let violations = detail.get("violations").and_then(Value::as_array).into_iter().flatten();
        let quotas = violations.filter_map(|violation| violation.get("quotaId")?.as_str());
        self.daily |= quotas.into_iter().any(|quota| quota.contains("PerDay"));
    }

    fn has(&self, mark: &str) -> bool {
        self.marks.iter().any(|known| known == mark)
    }

    fn says(&self, phrases: &[&str]) -> bool {
        let message = self.message.to_ascii_lowercase();
        phrases.iter().any(|phrase| message.contains(phrase))
    }

    /// The status that an error inside a stream stands for.
    fn status(&self) -> Option<u16> {
        let number =
            self.marks.iter().find_map(|mark| mark.parse().ok().filter(|code| (400..600).contains(code)));
        let by_word = || {
            self.marks.iter().find_map(|mark| match mark.as_str() {
                "invalid_request_error" | "exceed_context_size_error" => Some(400),
                "authentication_error" => Some(401),
                "permission_error" => Some(403),
                "not_found_error" => Some(404),
                "request_too_large" => Some(413),
                "rate_limit_error" | "rate_limit_exceeded" => Some(429),
                "overloaded_error" => Some(529),
                _ => None,
            })
        };
        number.or_else(by_word)
    }

    fn judge(&self, callee: Callee<'_>, status: u16, asked: Option<Duration>) -> Failure {
        let provider = || callee.provider.name.clone();
        let reason = || self.reason(&callee.provider.key, status);
        if self.is_too_long(status) {
            return Failure::lasting(ModelError::TooLong);
        }
        if self.is_exhausted(status) {
            return Failure::lasting(ModelError::Exhausted { provider: provider(), reason: reason() });
        }
        let is_key = self.has("API_KEY_INVALID") || self.says(&["api key not valid", "api key expired"]);
        match status {
            400..500 if is_key => {
                Failure::lasting(ModelError::Unauthorised { provider: provider(), reason: None })
            }
            // The provider may repeat parts of the key.
            401 => Failure::lasting(ModelError::Unauthorised { provider: provider(), reason: None }),
            403 => {
                Failure::lasting(ModelError::Unauthorised { provider: provider(), reason: Some(reason()) })
            }
            404 if self.is_about_the_model(callee.model) => Failure::lasting(unknown_model(callee)),
            404 | 405 => {
                let host = callee.provider.endpoint.host().to_string();
                let said = shown(&self.message, &callee.provider.key);
                let said = if said.is_empty() { said } else { format!(" ({said})") };
                let reason = format!("returned {status}: wrong endpoint or unknown model{said}");
                Failure::lasting(ModelError::NotAModel { host, reason })
            }
            400 if self.says(&["model_not_found", "unexpected model name", "is not a valid model"]) => {
                Failure::lasting(unknown_model(callee))
            }
            408 | 409 | 425 | 429 | 500.. => {
                let asked = asked.or(self.retry_after);
                let again = asked.map_or(Again::Soon, Again::After);
                Failure { error: ModelError::Busy { reason: reason(), retry_after: asked }, again }
            }
            _ => Failure::lasting(ModelError::Refused { reason: reason() }),
        }
    }

    fn is_too_long(&self, status: u16) -> bool {
        let marked = ["context_length_exceeded", "exceed_context_size_error", "request_too_large"];
        let phrases = [
            "exceeds the maximum number of tokens",
            "maximum context length",
            "maximum model length",
            "prompt is too long",
            "exceed context limit",
            "exceeds the available context size",
            "context window",
            "context size has been exceeded",
            "input is too long",
        ];
        let may_be = matches!(status, 400 | 413 | 422 | 500);
        may_be && (status == 413 || marked.iter().any(|mark| self.has(mark)) || self.says(&phrases))
    }

    fn is_exhausted(&self, status: u16) -> bool {
        status == 402
            || self.has("insufficient_quota")
            || (status == 429 && self.daily)
            || ((400..500).contains(&status) && self.says(&["credit balance is too low"]))
    }

    fn is_about_the_model(&self, model: &str) -> bool {
        self.has("model_not_found")
            || self.has("not_found_error")
            || self.says(&["model"])
            || (!model.is_empty() && self.message.contains(model))
    }

    /// The provider's message, sanitised for display.
    fn reason(&self, key: &Key, status: u16) -> String {
        let said = shown(&self.message, key);
        if said.is_empty() { format!("status {status}") } else { format!("{said} ({status})") }
    }
}

fn unknown_model(callee: Callee<'_>) -> ModelError {
    let stated: Vec<&str> = callee.provider.models.keys().map(String::as_str).collect();
    let nearest = nearest_models(callee.model, &stated);
    ModelError::UnknownModel { model: callee.model.to_string(), nearest }
}

/// Foreign text, sanitised for display: without the key, on one line and not too long.
fn shown(text: &str, key: &Key) -> String {
    // A key that is cut off would not be recognised.
    one_line(&without_key(text, key))
}

/// The text without control characters and line ends, and not too long.
fn one_line(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    let line = words.join(" ");
    match line.char_indices().nth(LONGEST_REASON) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The text without the key, whoever repeated it.
fn without_key(text: &str, key: &Key) -> String {
    // It is sent without the spaces and line ends around it.
    match key {
        Key::Given(key) if !key.expose_secret().trim().is_empty() => {
            text.replace(key.expose_secret().trim(), "[key]")
        }
        _ => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_wire::WireFormat;
    use serde_json::json;

    fn judge(status: u16, body: &str) -> Failure {
        let provider = ProviderSettings::usual(WireFormat::OpenAi, Key::Given("sk-secret".into()));
        let callee = Callee { provider: &provider, model: "gpt-4p" };
        let status = StatusCode::from_u16(status).expect("a status");
        judge_answer(callee, status, &HeaderMap::new(), body.as_bytes(), Timestamp::from_millis(0))
    }

    /// The error and what comes next, in short.
    #[track_caller]
    fn check(status: u16, body: &impl ToString, expected: &str) {
        let Failure { error, again } = judge(status, &body.to_string());
        let kind = format!("{error:?}");
        let kind = kind.split([' ', '(']).next().unwrap_or_default();
        let again = match again {
            Again::Never => "never".to_string(),
            Again::Soon | Again::Briefly | Again::Once => "soon".to_string(),
            Again::After(wait) => format!("{} s", wait.as_secs_f64()),
        };
        assert_eq!(format!("{kind}, {again}"), expected, "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }

    fn openai(kind: &str, code: &str, message: &str) -> Value {
        json!({"error": {"message": message, "type": kind, "code": code}})
    }

    fn google(code: u16, message: &str, details: Value) -> Value {
        let mut error = json!({"code": code, "message": message, "status": "X"});
        error["details"] = details;
        json!({ "error": error })
    }

    #[test]
    fn too_long_is_known_in_every_dialect() {
        check(400, &openai("invalid_request_error", "context_length_exceeded", "too many"), "TooLong, never");
        check(
            400,
            &json!({"object": "error", "message": "This model's maximum context length is 4096 tokens."}),
            "TooLong, never",
        );
        check(
            400,
            &json!({"error": {"code": 400, "type": "exceed_context_size_error", "message": "request (9000 tokens) exceeds"}}),
            "TooLong, never",
        );
        check(
            400,
            &google(
                400,
                "The input token count (2) exceeds the maximum number of tokens allowed (1).",
                json!([]),
            ),
            "TooLong, never",
        );
        check(
            400,
            &json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 2 > 1"}}),
            "TooLong, never",
        );
        check(
            413,
            &json!({"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds"}}),
            "TooLong, never",
        );
        check(400, &openai("invalid_request_error", "x", "tools[0] is wrong"), "Refused, never");
    }

    #[test]
    fn keys_that_are_refused_are_told_from_requests_that_are() {
        check(
            401,
            &openai("x", "invalid_api_key", "Incorrect API key provided: sk-secret"),
            "Unauthorised, never",
        );
        check(
            403,
            &google(403, "Generative Language API has not been used", json!([])),
            "Unauthorised, never",
        );
        check(
            400,
            &google(400, "API key not valid.", json!([{"reason": "API_KEY_INVALID"}])),
            "Unauthorised, never",
        );
        check(400, &openai("x", "y", "bad\nthing sk-secret \u{1b}[31m"), "Refused, never");
        assert_eq!(
            judge(400, r#"{"error":{"message":"your sk-secret\nis odd"}}"#).error,
            ModelError::Refused { reason: "your [key] is odd (400)".into() }
        );
        assert_eq!(
            judge(400, r#"{"error":"plain"}"#).error,
            ModelError::Refused { reason: "plain (400)".into() }
        );
        assert_eq!(judge(418, "").error, ModelError::Refused { reason: "status 418".into() });
    }

    #[test]
    fn busy_providers_are_asked_again_and_exhausted_ones_are_not() {
        check(429, &openai("requests", "rate_limit_exceeded", "slow down"), "Busy, soon");
        check(429, &openai("insufficient_quota", "insufficient_quota", "You exceeded"), "Exhausted, never");
        check(402, &json!({"error": {"message": "Insufficient credits", "code": 402}}), "Exhausted, never");
        check(
            400,
            &json!({"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit balance is too low"}}),
            "Exhausted, never",
        );
        let delay = json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3.5s"}]);
        check(
            429,
            &google(
                429,
                "You exceeded your current quota, please check your plan and billing details.",
                delay,
            ),
            "Busy, 3.5 s",
        );
        let daily = json!([{"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}, {"retryDelay": "20s"}]);
        check(429, &google(429, "quota", daily), "Exhausted, never");
        check(503, &google(503, "The model is overloaded.", json!([])), "Busy, soon");
        check(
            529,
            &json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
            "Busy, soon",
        );
        check(500, &"", "Busy, soon");
    }

    #[test]
    fn models_and_pages_that_are_not_there() {
        check(
            404,
            &openai("invalid_request_error", "model_not_found", "The model `gpt-4p` does not exist"),
            "UnknownModel, never",
        );
        let nearest =
            judge(404, r#"{"error":{"message":"model \"gpt-4p\" not found, try pulling it first"}}"#);
        assert!(
            matches!(nearest.error, ModelError::UnknownModel { nearest, .. } if nearest.contains(&"gpt-4o".to_string()))
        );
        check(404, &json!({"detail": "Not Found"}), "NotAModel, never");
        check(200, &"<html><title>Sign in</title>", "NotAModel, never");
        check(403, &"  <html>", "NotAModel, never");
        check(502, &"<html><title>Bad Gateway</title>", "Busy, soon");
        check(302, &"", "NotAModel, never");
        check(407, &"", "Unreachable, never");
        assert_eq!(
            page_reason("<HTML><Title lang=en>Log\n in</Title>", 200, &Key::NotNeeded),
            "a web page, \"Log in\" (200)"
        );
        assert_eq!(page_reason("<p>", 404, &Key::NotNeeded), "a web page (404)");
    }

    #[track_caller]
    fn check_hidden(key: &str, status: u16, body: &str) {
        let provider = ProviderSettings::usual(WireFormat::OpenAi, Key::Given(key.into()));
        let callee = Callee { provider: &provider, model: "m" };
        let status = StatusCode::from_u16(status).expect("a status");
        let now = Timestamp::from_millis(0);
        let error = judge_answer(callee, status, &HeaderMap::new(), body.as_bytes(), now).error.to_string();
        assert!(error.contains("[key]") && !error.contains("sk"), "{error}");
    }

    #[test]
    fn a_key_that_is_repeated_is_not_shown() {
        let told = |message: &str| json!({"error": {"message": message}}).to_string();
        check_hidden("sk-secret", 400, &told("what is sk-secret?"));
        check_hidden("  sk-secret\n", 400, &told("what is sk-secret?"));
        check_hidden("sk-secret", 403, "<title>Not for sk-secret</title>");
        check_hidden("sk-secret", 502, "<title>Not for sk-secret</title>");
        let long = "x".repeat(LONGEST_REASON - "[key]".len());
        check_hidden("sk-secret", 400, &told(&format!("{long}sk-secret")));
    }

    #[test]
    fn errors_inside_streams_are_judged_alike() {
        let provider = ProviderSettings::usual(WireFormat::Anthropic, Key::NotNeeded);
        let callee = Callee { provider: &provider, model: "m" };
        let judge = |event: Value| judge_event(callee, &event);
        let anthropic = |kind: &str, message: &str| {
            judge(json!({"type": "error", "error": {"type": kind, "message": message}}))
        };
        assert!(matches!(
            anthropic("overloaded_error", "Overloaded"),
            Failure { error: ModelError::Busy { .. }, again: Again::Soon }
        ));
        assert!(matches!(
            anthropic("invalid_request_error", "prompt is too long"),
            Failure { error: ModelError::TooLong, .. }
        ));
        assert!(matches!(
            judge(google(503, "overloaded", json!([]))),
            Failure { error: ModelError::Busy { .. }, again: Again::Soon }
        ));
        assert!(matches!(
            judge(json!({"error": {"message": "odd", "code": 400}})),
            Failure { error: ModelError::Refused { .. }, .. }
        ));
        assert!(matches!(
            judge(json!({"error": "boom"})),
            Failure { error: ModelError::Busy { .. }, again: Again::Soon }
        ));
    }
}
