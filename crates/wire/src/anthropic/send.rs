//! Prepares requests for Anthropic.

use longhaul_conversation::{
    Body, Media, MediaData, Message, Origin, Output, Part, Request, Role, Sampling, TokenCount, ToolResult,
    ToolStatus, Vendor,
};
use serde_json::Value;

use super::encode::{PlainContent, encode};
use super::fit::require_schemas;
use crate::fields::{Fields, add_missing, apply_overrides, arguments_object, object};
use crate::fit::{is_on_the_web, output_text};
use crate::options::EncodeOptions;
use crate::prepare::{as_note, fit_nested, keep_own_fields, make_plain, own_settings, prepare};

const OWN: Vendor = Vendor::Anthropic;
const CACHE_MARK: &str = "cache_control";

/// The limit of an answer where none is stated: Anthropic wants one, and older models refuse more than they can give.
pub fn default_limit(model: &str) -> TokenCount {
    let name = model.rsplit('/').next().unwrap_or(model);
    match name.strip_prefix("claude-3-") {
        Some(rest) if rest.starts_with("5-") => TokenCount(8_192),
        Some(rest) if !rest.starts_with("7-") => TokenCount(4_096),
        _ => TokenCount(32_000),
    }
}

/// The body of a messages call.
pub(crate) fn encode_to_send(mut request: Request, options: &EncodeOptions) -> Fields {
    let fields = own_settings(&request.fields, OWN);
    let limit = request.sampling.max_output.or(options.max_output);
    let usual = (!fields.contains_key("max_tokens")).then(|| default_limit(&request.model));
    request.sampling.max_output = limit.or(usual);
    let extra = std::mem::take(&mut request.extra);
    let mut body = encode(&settle(request), PlainContent::Block);
    if options.streams {
        body.insert("stream".into(), true.into());
    }
    if options.marks_cache {
        mark_cache(&mut body);
    }
    add_missing(&mut body, fields);
    apply_overrides(&mut body, extra);
    body
}

/// The body of a call that counts tokens.
pub(crate) fn encode_count(request: Request) -> Fields {
    encode(&settle(Request { sampling: Sampling::default(), ..request }), PlainContent::Block)
}

/// The request in the form in which it is sent.
fn settle(mut request: Request) -> Request {
    let system = request.system.into_iter().filter(|part| part.as_text().is_some());
    request.system = system.filter_map(|part| fit(part, Role::User)).collect();
    request.system.iter_mut().for_each(settle_part);
    require_schemas(&mut request.tools);
    request.messages = prepare(request.messages, OWN, fit);
    for Message { parts, extra, .. } in &mut request.messages {
        *extra = None;
        parts.iter_mut().for_each(settle_part);
    }
    request
}

fn fit(part: Part, role: Role) -> Option<Part> {
    match &part.body {
        // Blank text is refused.
        Body::Text(text) => (!text.trim().is_empty()).then_some(part),
        Body::Thought(thought) => {
            let is_own = thought.signature.as_ref().is_some_and(|signature| signature.vendor == OWN);
            (is_own && role == Role::Model).then_some(part)
        }
        Body::Opaque(opaque) => (opaque.vendor == OWN && opaque.value.is_object()).then_some(part),
        Body::Media(media) => {
            if role == Role::User && takes(media) {
                Some(part)
            } else {
                as_note(&part)
            }
        }
        Body::File(file) => {
            if role == Role::User && is_on_the_web(file) {
                Some(part)
            } else {
                as_note(&part)
            }
        }
        Body::Result(_) => Some(fit_nested(part, |part| fit(part, Role::User))),
        Body::Call(_) => Some(part),
    }
}

fn takes(media: &Media) -> bool {
    const KNOWN: [&str; 5] = ["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"];
    KNOWN.contains(&media.mime.as_str()) && matches!(media.data, MediaData::Base64(_))
}

fn settle_part(part: &mut Part) {
    keep_own_fields(part, OWN);
    match &mut part.body {
        Body::Call(call) => {
            make_plain(&mut call.id);
            call.args = arguments_object(&call.args);
        }
        Body::Result(result) => settle_result(result),
        _ => {}
    }
}

fn settle_result(result: &mut ToolResult) {
    make_plain(&mut result.call);
    let text = output_text(result).into_owned();
    if result.nested.is_empty() {
        if !matches!(result.output, Output::Empty) {
            result.output = Output::Text(text);
        }
    } else {
        if !text.trim().is_empty() {
            result.nested.insert(0, Part::text(Origin::Tool, text));
        }
        result.output = Output::Empty;
    }
    let failed = matches!(result.status, ToolStatus::Failed | ToolStatus::Cancelled);
    result.status = if failed { ToolStatus::Failed } else { ToolStatus::Unstated };
}

/// Marks the end of what never changes and the end of the conversation, so that the next request finds both in the
/// cache. A request with marks of its own is left as it is.
fn mark_cache(body: &mut Fields) {
    let is_marked = |block: &Value| block.get(CACHE_MARK).is_some();
    let blocks_in =
        |message: &Value| message.get("content").and_then(Value::as_array).cloned().unwrap_or_default();
    let list =
        |body: &Fields, key: &str| body.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let messages = list(body, "messages");
    let has_marks = ["system", "tools"].iter().any(|key| list(body, key).iter().any(is_marked))
        || messages.iter().any(|message| blocks_in(message).iter().any(is_marked));
    if has_marks {
        return;
    }
    let fixed = if body.contains_key("system") { "system" } else { "tools" };
    if let Some(Value::Array(blocks)) = body.get_mut(fixed) {
        blocks.last_mut().map(mark);
    }
    if let Some(Value::Array(messages)) = body.get_mut("messages")
        && let Some(Value::Array(blocks)) = messages.last_mut().and_then(|last| last.get_mut("content"))
    {
        blocks.last_mut().map(mark);
    }
}

fn mark(block: &mut Value) {
    if let Value::Object(block) = block {
        block.insert(CACHE_MARK.into(), Value::Object(object([("type", "ephemeral".into())])));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{Signature, Thought, ToolCall};
    use longhaul_conversation::{ToolChoice, ToolDeclaration};
    use serde_json::json;

    fn user(parts: Vec<Part>) -> Message {
        Message::new("u", Role::User, parts)
    }

    fn model(parts: Vec<Part>) -> Message {
        Message::new("m", Role::Model, parts)
    }

    fn request(messages: Vec<Message>) -> Request {
        Request { model: "claude".into(), messages, ..Request::default() }
    }

    #[track_caller]
    fn check(messages: Vec<Message>, expected: Value) {
        assert_eq!(
            encode_to_send(request(messages), &EncodeOptions::default()).get("messages").cloned(),
            Some(expected)
        );
    }

    #[test]
    fn a_request_has_a_limit_and_marks_what_to_cache() {
        let mut asked = request(vec![user(vec![Part::user_text("hi")])]);
        asked.system = vec![Part::text(Origin::Hook, "be brief"), Part::text(Origin::Hook, " ")];
        asked.tools =
            vec![ToolDeclaration { name: "ls".into(), description: "lists".into(), parameters: Value::Null }];
        let options = EncodeOptions { streams: true, marks_cache: true, ..EncodeOptions::default() };
        let mark = json!({"type": "ephemeral"});
        let expected = json!({
            "model": "claude",
            "system": [{"type": "text", "text": "be brief", "cache_control": mark}],
            "tools": [{"name": "ls", "description": "lists", "input_schema": {"type": "object"}}],
            "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": mark}]}],
            "max_tokens": 32000,
            "stream": true,
        });
        assert_eq!(Value::Object(encode_to_send(asked.clone(), &options)), expected);
        let fields = crate::fields::into_object(json!({"cache_control": {"type": "ephemeral", "ttl": "1h"}}));
        asked.system = vec![Part::text(Origin::Hook, "be brief").with_extra(OWN, fields)];
        let body = encode_to_send(asked, &options);
        assert_eq!(body["system"][0]["cache_control"]["ttl"], "1h");
        assert_eq!(body["messages"][0]["content"][0].get("cache_control"), None);
    }

    #[test]
    fn signed_thoughts_and_calls_go_back_as_they_came() {
        let thought = |vendor| {
            let signature = Some(Signature { vendor, value: "s".into() });
            Part::thought(Thought { text: "hm".into(), signature, item: None })
        };
        let redacted = json!({"type": "redacted_thinking", "data": "x"});
        let call = ToolCall::new("t1", "ls").with_args(json!({"z": 1, "a": 2}));
        let mut result = ToolResult::text("t1", "no").with_status(ToolStatus::Failed);
        let image =
            Body::Media(Box::new(Media { mime: "image/png".into(), data: MediaData::Base64("AA==".into()) }));
        result.nested = vec![Part::new(Origin::Tool, image)];
        check(
            vec![
                user(vec![Part::user_text("q")]),
                model(vec![
                    thought(Vendor::Gemini),
                    thought(Vendor::Anthropic),
                    Part::opaque(Origin::Model, Vendor::Anthropic, redacted.clone()),
                    Part::call(call),
                ]),
                user(vec![Part::user_text("and"), Part::result(result)]),
            ],
            json!([
                {"role": "user", "content": [{"type": "text", "text": "q"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"}, redacted,
                    {"type": "tool_use", "id": "t1", "name": "ls", "input": {"z": 1, "a": 2}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": [
                        {"type": "text", "text": "no"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}]},
                    {"type": "text", "text": "and"}]},
            ]),
        );
    }

    #[test]
    fn limits_are_what_the_model_can_give() {
        for (model, limit) in [
            ("claude-3-haiku-20240307", 4_096),
            ("claude-3-5-sonnet-latest", 8_192),
            ("claude-3-7-sonnet-latest", 32_000),
            ("anthropic/claude-opus-4-5", 32_000),
        ] {
            assert_eq!(default_limit(model), TokenCount(limit), "{model}");
        }
    }

    #[test]
    fn a_count_has_no_limit() {
        let body = encode_count(request(vec![user(vec![Part::user_text("hi")])]));
        assert_eq!(body.keys().collect::<Vec<_>>(), ["model", "messages"]);
    }

    #[test]
    fn wishes_about_the_answer_are_passed_on() {
        let tool = ToolDeclaration { name: "ls".into(), description: String::new(), parameters: Value::Null };
        let mut asked = request(vec![user(vec![Part::user_text("hi")])]);
        asked.tools = vec![tool];
        asked.tool_choice = ToolChoice::Required;
        asked.sampling = Sampling {
            temperature: Some(0.5),
            top_p: Some(0.9),
            top_k: Some(40),
            max_output: Some(TokenCount(7)),
            stop: vec!["END".into()],
        };
        let body = encode_to_send(asked.clone(), &EncodeOptions::default());
        let keys = ["tool_choice", "max_tokens", "temperature", "top_p", "top_k", "stop_sequences"];
        let found = keys.map(|key| body[key].clone());
        let any = json!({"type": "any"});
        assert_eq!(found, [any, json!(7), json!(0.5), json!(0.9), json!(40), json!(["END"])]);
        asked.tool_choice = ToolChoice::Forbidden;
        assert_eq!(encode_to_send(asked, &EncodeOptions::default())["tool_choice"], json!({"type": "none"}));
    }
}
