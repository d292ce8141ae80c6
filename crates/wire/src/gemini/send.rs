//! Writes Gemini requests.

use std::collections::HashMap;

use longhaul_conversation::{
    Body, CallId, MediaData, Message, Origin, Output, Part, Request, Role, Sampling, ToolChoice,
    ToolDeclaration, ToolResult, ToolStatus, Vendor,
};
use serde_json::Value;

use crate::fields::{
    Object, add_missing, apply_overrides, arguments_object, object, own_fields, said, says_something,
};
use crate::options::EncodeOptions;
use crate::prepare::{as_note, call_names, fit_nested, output_text, prepare};

const OWN: Vendor = Vendor::Gemini;
const SIGNATURE: &str = "thoughtSignature";

/// Google's documented stand-in for the signature of a call that another model made.
const FOREIGN_CALL: &str = "skip_thought_signature_validator";

/// The body of a `generateContent` or `streamGenerateContent` call.
pub(crate) fn encode(request: Request, options: &EncodeOptions) -> Object {
    let generation = generation_of(&request.model);
    let messages = prepare(request.messages, OWN, fit);
    let names = call_names(&messages);
    let mut contents: Vec<Value> =
        messages.iter().map(|message| encode_message(message, &names, generation)).collect();
    if generation.signs_calls {
        sign_foreign_calls(&messages, &mut contents);
    }
    let mut body = Object::new();
    let system = request.system.iter().filter(|part| says_something(part, OWN)).filter_map(Part::as_text);
    let system: Vec<Value> = system.map(|text| Value::Object(object([("text", text.into())]))).collect();
    if !system.is_empty() {
        body.insert("systemInstruction".into(), Value::Object(object([("parts", Value::Array(system))])));
    }
    if !request.tools.is_empty() {
        let declared = Value::Array(request.tools.iter().map(encode_tool).collect());
        let tool = Value::Object(object([("functionDeclarations", declared)]));
        body.insert("tools".into(), Value::Array(vec![tool]));
        let mode = match request.tool_choice {
            ToolChoice::Free => None,
            ToolChoice::Required => Some("ANY"),
            ToolChoice::Forbidden => Some("NONE"),
        };
        if let Some(mode) = mode {
            let config = Value::Object(object([("mode", mode.into())]));
            body.insert("toolConfig".into(), Value::Object(object([("functionCallingConfig", config)])));
        }
    }
    body.insert("contents".into(), Value::Array(contents));
    let config = generation_config(&request.sampling, options);
    if !config.is_empty() {
        body.insert("generationConfig".into(), Value::Object(config));
    }
    apply_overrides(&mut body, request.extra);
    body
}

fn generation_config(sampling: &Sampling, options: &EncodeOptions) -> Object {
    let limit = sampling.max_output.or(options.max_output);
    let stop = (!sampling.stop.is_empty()).then(|| Value::from(sampling.stop.clone()));
    let fields = [
        ("maxOutputTokens", limit.map(|limit| limit.0.into())),
        ("temperature", sampling.temperature.map(Value::from)),
        ("topP", sampling.top_p.map(Value::from)),
        ("topK", sampling.top_k.map(Value::from)),
        ("stopSequences", stop),
    ];
    said(fields)
}

/// The body of a `countTokens` call.
pub(crate) fn encode_count(request: Request) -> Object {
    let model = format!("models/{}", request.model);
    let mut body = object([("model", model.into())]);
    add_missing(&mut body, encode(request, &EncodeOptions::default()));
    object([("generateContentRequest", Value::Object(body))])
}

/// What the generations of models differ in.
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

fn encode_tool(tool: &ToolDeclaration) -> Value {
    let mut declared = object([("name", tool.name.as_str().into())]);
    if !tool.description.is_empty() {
        declared.insert("description".into(), tool.description.as_str().into());
    }
    if !tool.parameters.is_null() {
        declared.insert("parametersJsonSchema".into(), tool.parameters.clone());
    }
    Value::Object(declared)
}

fn encode_message(message: &Message, names: &HashMap<CallId, String>, generation: Generation) -> Value {
    let mut parts = Vec::with_capacity(message.parts.len());
    let mut beside = Vec::new();
    for part in &message.parts {
        parts.push(encode_part(part, names, generation));
        if let Some(result) = part.as_result().filter(|_| !generation.nests_media) {
            beside.extend(media_of(result).map(|part| encode_part(part, names, generation)));
        }
    }
    // What a function sent besides text stands behind all responses, which must stay together.
    parts.append(&mut beside);
    let role = message.role.as_str();
    Value::Object(object([("role", role.into()), ("parts", Value::Array(parts))]))
}

fn encode_part(part: &Part, names: &HashMap<CallId, String>, generation: Generation) -> Value {
    let mut encoded = match &part.body {
        Body::Text(text) => object([("text", text.as_str().into())]),
        Body::Thought(thought) => {
            let mut encoded = object([("text", thought.text.as_str().into()), ("thought", true.into())]);
            if let Some(signature) = &thought.signature {
                encoded.insert(SIGNATURE.into(), signature.value.as_str().into());
            }
            encoded
        }
        Body::Call(call) => {
            let mut inner = encode_id(&call.id);
            inner.insert("name".into(), call.name.as_str().into());
            inner.insert("args".into(), arguments_object(&call.args));
            object([("functionCall", Value::Object(inner))])
        }
        Body::Result(result) => {
            object([("functionResponse", Value::Object(encode_result(result, names, generation)))])
        }
        Body::Media(media) => {
            let data = match &media.data {
                MediaData::Base64(data) => data.as_str(),
                MediaData::Omitted { .. } => "",
            };
            let inner = object([("mimeType", media.mime.as_str().into()), ("data", data.into())]);
            object([("inlineData", Value::Object(inner))])
        }
        Body::File(file) => {
            let mut inner = object([("fileUri", file.uri.as_str().into())]);
            if let Some(mime) = &file.mime {
                inner.insert("mimeType".into(), mime.as_str().into());
            }
            object([("fileData", Value::Object(inner))])
        }
        Body::Opaque(opaque) => return opaque.value.clone(),
    };
    let mut fields = own_fields(part, OWN);
    for (key, value) in &mut encoded {
        // Fields that stood inside the call, the response or the file go back into it.
        if let (Value::Object(inner), Some(Value::Object(rest))) = (value, fields.shift_remove(key)) {
            add_missing(inner, rest);
        }
    }
    add_missing(&mut encoded, fields);
    Value::Object(encoded)
}

fn encode_id(id: &CallId) -> Object {
    if id.is_made_up() { Object::new() } else { object([("id", id.as_str().into())]) }
}

fn media_of(result: &ToolResult) -> impl Iterator<Item = &Part> {
    result.nested.iter().filter(|part| !matches!(part.body, Body::Text(_)))
}

/// A response is an object whose `error` says that the call failed; texts that came with the answer join it.
fn encode_result(result: &ToolResult, names: &HashMap<CallId, String>, generation: Generation) -> Object {
    let mut inner = encode_id(&result.call);
    let name = result.name.as_ref().or_else(|| names.get(&result.call));
    inner.insert("name".into(), name.map_or("unknown", String::as_str).into());
    let failed = matches!(result.status, ToolStatus::Failed | ToolStatus::Cancelled);
    let has_texts = result.nested.iter().any(|part| part.as_text().is_some());
    let response = match &result.output {
        Output::Structured(Value::Object(fields))
            if !has_texts && (!failed || fields.contains_key("error")) =>
        {
            fields.clone()
        }
        _ => {
            let text = if has_texts { result.readable() } else { output_text(result) };
            object([(if failed { "error" } else { "output" }, text.into())])
        }
    };
    inner.insert("response".into(), Value::Object(response));
    if generation.nests_media {
        let nested: Vec<Value> = media_of(result).map(|part| encode_part(part, names, generation)).collect();
        if !nested.is_empty() {
            inner.insert("parts".into(), Value::Array(nested));
        }
    }
    inner
}

/// In the turn under way, the first call of each of the model's messages must be signed; calls that another model made
/// get Google's stand-in.
fn sign_foreign_calls(messages: &[Message], contents: &mut [Value]) {
    let is_question = |message: &Message| {
        message.role == Role::User && message.parts.iter().any(|part| part.origin != Origin::Tool)
    };
    let start =
        messages.iter().rposition(|message| is_question(message) && message.results().next().is_none());
    for content in contents.iter_mut().skip(start.unwrap_or(0)) {
        let parts = content.get_mut("parts").and_then(Value::as_array_mut);
        let first = parts.into_iter().flatten().find(|part| part.get("functionCall").is_some());
        if let Some(Value::Object(call)) = first {
            call.entry(SIGNATURE).or_insert_with(|| FOREIGN_CALL.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{FileReference, Media, Signature, Thought, TokenCount, ToolCall};
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
        let body = encode(request, &EncodeOptions::default());
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
        assert_eq!(Value::Object(encode(asked, &options)), expected);
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
        let body = encode(asked.clone(), &EncodeOptions::default());
        let expected = json!({"maxOutputTokens": 7, "temperature": 0.5, "topP": 0.9, "topK": 40, "stopSequences": ["END"]});
        assert_eq!(body["generationConfig"], expected);
        assert_eq!(body["toolConfig"], json!({"functionCallingConfig": {"mode": "ANY"}}));
        asked.tool_choice = ToolChoice::Forbidden;
        let body = encode(asked, &EncodeOptions::default());
        assert_eq!(body["toolConfig"], json!({"functionCallingConfig": {"mode": "NONE"}}));
    }
}
