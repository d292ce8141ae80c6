//! Prepares requests for Gemini.

use std::collections::HashMap;

use longhaul_conversation::{
    Body, CallId, Extra, MediaData, Message, Origin, Output, Part, Request, Role, ToolResult, ToolStatus,
    Vendor,
};
use serde_json::Value;

use super::encode::encode;
use crate::fields::{Fields, add_missing, apply_overrides, arguments_object, object, says_something};
use crate::fit::{call_names, output_text};
use crate::options::EncodeOptions;
use crate::prepare::{as_note, fit_nested, keep_own_fields, own_settings, prepare};

const OWN: Vendor = Vendor::Gemini;
const SIGNATURE: &str = "thoughtSignature";

/// Google's documented stand-in for the signature of a call that another model made.
const FOREIGN_CALL: &str = "skip_thought_signature_validator";

/// The body of a `generateContent` or `streamGenerateContent` call; the address names the model.
pub(crate) fn encode_to_send(mut request: Request, options: &EncodeOptions) -> Fields {
    let generation = generation_of(&request.model);
    let mut messages = prepare(request.messages, OWN, fit);
    let names = call_names(&messages).into_iter();
    let names: HashMap<CallId, String> = names.map(|(id, name)| (id.clone(), name.to_string())).collect();
    messages.iter_mut().for_each(|message| settle_message(message, &names, generation));
    if generation.signs_calls {
        sign_foreign_calls(&mut messages);
    }
    let system = request.system.iter().filter(|part| says_something(part, OWN)).filter_map(Part::as_text);
    request.system = system.map(|text| Part::text(Origin::Hook, text)).collect();
    request.messages = messages;
    request.model.clear();
    request.sampling.max_output = request.sampling.max_output.or(options.max_output);
    let mut body = encode(&request);
    add_missing(&mut body, own_settings(&request.fields, OWN));
    apply_overrides(&mut body, request.extra);
    body
}

/// The body of a `countTokens` call.
pub(crate) fn encode_count(request: Request) -> Fields {
    let model = format!("models/{}", request.model);
    let mut body = object([("model", model.into())]);
    add_missing(&mut body, encode_to_send(request, &EncodeOptions::default()));
    object([("generateContentRequest", Value::Object(body))])
}

/// Differences between generations of models.
#[derive(Clone, Copy)]
struct Generation {
    /// Calls of the turn under way are only taken with a signature.
    signs_calls: bool,
    /// Media may stand inside a function's response.
    nests_media: bool,
}

/// From the third generation on, models want signatures and take media from functions.
fn generation_of(model: &str) -> Generation {
    let number =
        model.strip_prefix("gemini-").and_then(|rest| rest.split(['.', '-']).next()?.parse::<u32>().ok());
    let is_third = number.is_some_and(|number| number >= 3);
    Generation { signs_calls: is_third, nests_media: is_third }
}

fn fit(part: Part, role: Role) -> Option<Part> {
    if !says_something(&part, OWN) {
        return None;
    }
    match &part.body {
        Body::Thought(thought) => {
            let is_own = thought.signature.as_ref().is_some_and(|signature| signature.vendor == OWN);
            (is_own && role == Role::Model).then_some(part)
        }
        Body::Opaque(opaque) => (opaque.vendor == OWN && opaque.value.is_object()).then_some(part),
        Body::Media(media) if matches!(media.data, MediaData::Omitted { .. }) => as_note(&part),
        Body::Result(_) => Some(fit_nested(part, |part| fit(part, Role::User))),
        Body::Text(_) | Body::Call(_) | Body::Media(_) | Body::File(_) => Some(part),
    }
}

/// Gives the parts of a message the form in which they are sent.
fn settle_message(message: &mut Message, names: &HashMap<CallId, String>, generation: Generation) {
    message.extra = None;
    let mut beside = Vec::new();
    for part in &mut message.parts {
        keep_own_fields(part, OWN);
        match &mut part.body {
            Body::Call(call) => call.args = arguments_object(&call.args),
            Body::Result(result) => {
                settle_result(result, names);
                if !generation.nests_media {
                    beside.append(&mut result.nested);
                }
            }
            _ => {}
        }
    }
    // What a function sent besides text stands behind all responses, which must stay together.
    message.parts.append(&mut beside);
}

/// A response is an object whose `error` says that the call failed; texts that came with the answer join it.
fn settle_result(result: &mut ToolResult, names: &HashMap<CallId, String>) {
    let name = result.name.take().or_else(|| names.get(&result.call).cloned());
    result.name = Some(name.unwrap_or_else(|| "unknown".into()));
    let failed = matches!(result.status, ToolStatus::Failed | ToolStatus::Cancelled);
    let has_texts = result.nested.iter().any(|part| part.as_text().is_some());
    let is_response = match &result.output {
        Output::Structured(Value::Object(fields)) => !has_texts && (!failed || fields.contains_key("error")),
        _ => false,
    };
    if !is_response {
        let text = if has_texts { result.readable() } else { output_text(result) };
        let response = object([(if failed { "error" } else { "output" }, text.into())]);
        result.output = Output::Structured(Value::Object(response));
    }
    result.nested.retain(|part| part.as_text().is_none());
}

/// In the turn under way, the first call of each of the model's messages must be signed; calls that another model made
/// get Google's stand-in.
fn sign_foreign_calls(messages: &mut [Message]) {
    let is_question = |message: &Message| {
        message.role == Role::User && message.parts.iter().any(|part| part.origin != Origin::Tool)
    };
    let start =
        messages.iter().rposition(|message| is_question(message) && message.results().next().is_none());
    for message in messages.iter_mut().skip(start.unwrap_or(0)) {
        if let Some(call) = message.parts.iter_mut().find(|part| part.as_call().is_some()) {
            let mut fields = call.extra.take().map(|extra| extra.fields).unwrap_or_default();
            fields.entry(SIGNATURE).or_insert_with(|| FOREIGN_CALL.into());
            call.extra = Extra::boxed(OWN, fields);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{FileReference, Media, Signature, Thought, TokenCount, ToolCall};
    use longhaul_conversation::{Sampling, ToolChoice, ToolDeclaration};
    use serde_json::json;

    fn request(model: &str, messages: Vec<Message>) -> Request {
        Request { model: model.into(), messages, ..Request::default() }
    }

    fn user(parts: Vec<Part>) -> Message {
        Message::new("u", Role::User, parts)
    }

    fn model(parts: Vec<Part>) -> Message {
        Message::new("m", Role::Model, parts)
    }

    #[track_caller]
    fn check(request: Request, expected: &Value) {
        let body = encode_to_send(request, &EncodeOptions::default());
        assert_eq!(Some(&body), expected.as_object());
    }

    #[test]
    fn a_request_has_its_instruction_its_tools_and_its_settings() {
        let tool = ToolDeclaration {
            name: "ls".into(),
            description: "lists".into(),
            parameters: json!({"type": "object"}),
        };
        let mut asked = request("gemini-2.5-pro", vec![user(vec![Part::user_text("hi")])]);
        asked.system = vec![Part::text(Origin::Hook, "be brief")];
        asked.tools = vec![tool];
        asked.extra = object([("generationConfig", json!({"temperature": 0}))]);
        let options = EncodeOptions { max_output: Some(TokenCount(100)), ..EncodeOptions::default() };
        let expected = json!({
            "systemInstruction": {"parts": [{"text": "be brief"}]},
            "tools": [{"functionDeclarations": [
                {"name": "ls", "description": "lists", "parametersJsonSchema": {"type": "object"}}]}],
            "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
            "generationConfig": {"maxOutputTokens": 100, "temperature": 0},
        });
        assert_eq!(Value::Object(encode_to_send(asked, &options)), expected);
    }

    #[test]
    fn only_thoughts_that_google_signed_are_sent() {
        let thought = |vendor, value: &str| {
            let signature = Some(Signature { vendor, value: value.into() });
            Part::thought(Thought { text: "t".into(), signature, item: None })
        };
        let parts =
            vec![thought(Vendor::Gemini, "g"), thought(Vendor::Anthropic, "a"), Part::model_text("x")];
        check(
            request(
                "gemini-2.5-pro",
                vec![user(vec![Part::user_text("q")]), model(parts), user(vec![Part::user_text("r")])],
            ),
            &json!({"contents": [
                {"role": "user", "parts": [{"text": "q"}]},
                {"role": "model", "parts": [{"text": "t", "thought": true, "thoughtSignature": "g"}, {"text": "x"}]},
                {"role": "user", "parts": [{"text": "r"}]},
            ]}),
        );
    }

    fn with_image(model_name: &str) -> Request {
        let image =
            Body::Media(Box::new(Media { mime: "image/png".into(), data: MediaData::Base64("AA==".into()) }));
        let mut result = ToolResult::text("c1", "shown");
        result.nested = vec![Part::new(Origin::Tool, image)];
        request(
            model_name,
            vec![
                user(vec![Part::user_text("q")]),
                model(vec![
                    Part::call(ToolCall::new("c1", "shot")),
                    Part::call(ToolCall::new("lh-call-1", "ls")),
                ]),
                user(vec![
                    Part::result(result),
                    Part::result(ToolResult::text("lh-call-1", "").with_status(ToolStatus::Failed)),
                ]),
            ],
        )
    }

    #[test]
    fn media_of_results_stand_where_the_model_takes_them() {
        let image = json!({"inlineData": {"mimeType": "image/png", "data": "AA=="}});
        let failed = json!({"functionResponse": {"name": "ls", "response": {"error": ""}}});
        check(
            with_image("gemini-2.5-pro"),
            &json!({"contents": [
                {"role": "user", "parts": [{"text": "q"}]},
                {"role": "model", "parts": [
                    {"functionCall": {"id": "c1", "name": "shot", "args": {}}}, {"functionCall": {"name": "ls", "args": {}}}]},
                {"role": "user", "parts": [
                    {"functionResponse": {"id": "c1", "name": "shot", "response": {"output": "shown"}}}, failed, image]},
            ]}),
        );
        check(
            with_image("gemini-3-pro-preview"),
            &json!({"contents": [
                {"role": "user", "parts": [{"text": "q"}]},
                {"role": "model", "parts": [
                    {"functionCall": {"id": "c1", "name": "shot", "args": {}}, "thoughtSignature": FOREIGN_CALL},
                    {"functionCall": {"name": "ls", "args": {}}}]},
                {"role": "user", "parts": [
                    {"functionResponse": {"id": "c1", "name": "shot", "response": {"output": "shown"}, "parts": [image]}},
                    failed]},
            ]}),
        );
    }

    #[test]
    fn a_count_names_the_model_and_wraps_the_request() {
        let asked = request("gemini-2.5-pro", vec![user(vec![Part::user_text("hi")])]);
        assert_eq!(
            Value::Object(encode_count(asked)),
            json!({"generateContentRequest": {
                "model": "models/gemini-2.5-pro", "contents": [{"role": "user", "parts": [{"text": "hi"}]}]}})
        );
    }

    #[test]
    fn what_is_not_there_is_told_and_files_are_named() {
        let gone =
            Body::Media(Box::new(Media { mime: "image/png".into(), data: MediaData::Omitted { bytes: 7 } }));
        let file =
            Body::File(Box::new(FileReference { mime: Some("text/plain".into()), uri: "gs://x".into() }));
        let opaque = Part::opaque(Origin::User, Vendor::Anthropic, json!({"type": "x"}));
        let parts = vec![Part::new(Origin::User, gone), Part::new(Origin::User, file), opaque];
        check(
            request("gemini-2.5-pro", vec![user(parts)]),
            &json!({"contents": [{"role": "user", "parts": [
                {"text": "[image/png, 7 bytes, no longer here]"},
                {"fileData": {"fileUri": "gs://x", "mimeType": "text/plain"}},
            ]}]}),
        );
    }

    #[test]
    fn wishes_about_the_answer_are_passed_on() {
        let tool = ToolDeclaration { name: "ls".into(), description: String::new(), parameters: Value::Null };
        let mut asked = request("gemini-2.5-pro", vec![user(vec![Part::user_text("hi")])]);
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
        let expected = json!({"maxOutputTokens": 7, "temperature": 0.5, "topP": 0.9, "topK": 40, "stopSequences": ["END"]});
        assert_eq!(body["generationConfig"], expected);
        assert_eq!(body["toolConfig"], json!({"functionCallingConfig": {"mode": "ANY"}}));
        asked.tool_choice = ToolChoice::Forbidden;
        let body = encode_to_send(asked, &EncodeOptions::default());
        assert_eq!(body["toolConfig"], json!({"functionCallingConfig": {"mode": "NONE"}}));
    }
}
