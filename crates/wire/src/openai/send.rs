//! Writes chat-completions requests.

use longhaul_conversation::{
    Body, FileReference, Media, MediaData, Message, Origin, Part, Request, Role, Sampling, ToolCall,
    ToolChoice, ToolDeclaration, ToolResult, ToolStatus, Vendor,
};
use serde_json::Value;

use super::{DETAILS, SENT_AS};
use crate::fields::{Object, add_missing, apply_overrides, object, own_fields, said, says_something};
use crate::options::{EncodeOptions, LimitName};
use crate::prepare::{as_note, fit_nested, output_text, own_role, plain_id, prepare};

const OWN: Vendor = Vendor::OpenAiChat;

/// The body of a chat-completions call.
pub(crate) fn encode(request: Request, options: &EncodeOptions) -> Object {
    let messages = prepare(request.messages, OWN, fit);
    let mut encoded = Vec::with_capacity(messages.len() + 1);
    let system: Vec<&Part> = request.system.iter().filter(|part| says_something(part, OWN)).collect();
    if !system.is_empty() {
        let content = encode_content(&system);
        encoded.push(Value::Object(object([("role", "system".into()), ("content", content)])));
    }
    // Reasoning goes back only within the turn it belongs to: servers drop older reasoning, or refuse it.
    let turn =
        messages.iter().rposition(|message| message.role == Role::User && message.results().next().is_none());
    for (place, message) in messages.iter().enumerate() {
        match message.role {
            Role::Model => encoded.push(encode_answer(message, turn.is_none_or(|turn| place > turn))),
            Role::User => encode_user(message, &mut encoded),
        }
    }
    let mut body = object([("model", request.model.as_str().into()), ("messages", Value::Array(encoded))]);
    if !request.tools.is_empty() {
        body.insert("tools".into(), Value::Array(request.tools.iter().map(encode_tool).collect()));
        let choice = match request.tool_choice {
            ToolChoice::Free => None,
            ToolChoice::Required => Some("required"),
            ToolChoice::Forbidden => Some("none"),
        };
        body.extend(said([("tool_choice", choice.map(Value::from))]));
    }
    let Sampling { temperature, top_p, max_output, stop, .. } = request.sampling;
    if let Some(limit) = max_output.or(options.max_output) {
        let name = match options.limit_name {
            LimitName::MaxTokens => "max_tokens",
            LimitName::MaxCompletionTokens => "max_completion_tokens",
        };
        body.insert(name.into(), limit.0.into());
    }
    body.extend(said([
        ("temperature", temperature.map(Value::from)),
        ("top_p", top_p.map(Value::from)),
        ("stop", (!stop.is_empty()).then(|| stop.into())),
    ]));
    if options.streams {
        body.insert("stream".into(), true.into());
        body.insert("stream_options".into(), Value::Object(object([("include_usage", true.into())])));
    }
    apply_overrides(&mut body, request.extra);
    body
}

fn fit(part: Part, role: Role) -> Option<Part> {
    if !says_something(&part, OWN) {
        return None;
    }
    match &part.body {
        // Servers refuse reasoning that is not their own.
        Body::Thought(_) => (role == Role::Model && sent_as(&part).is_some()).then_some(part),
        Body::Opaque(opaque) => (opaque.vendor == OWN && opaque.value.is_object()).then_some(part),
        Body::Media(media) => {
            if role == Role::User && takes(media) {
                Some(part)
            } else {
                as_note(&part)
            }
        }
        Body::File(file) => {
            if role == Role::User && is_web_image(file) {
                Some(part)
            } else {
                as_note(&part)
            }
        }
        Body::Result(_) => Some(fit_nested(part, |part| fit(part, Role::User))),
        Body::Text(_) | Body::Call(_) => Some(part),
    }
}

fn sent_as(part: &Part) -> Option<&str> {
    part.extra.as_deref().filter(|extra| extra.vendor == OWN)?.fields.get(SENT_AS)?.as_str()
}

fn takes(media: &Media) -> bool {
    let is_known = ["image/", "audio/", "application/pdf"].iter().any(|kind| media.mime.starts_with(kind));
    is_known && matches!(media.data, MediaData::Base64(_))
}

fn is_web_image(file: &FileReference) -> bool {
    let is_web = ["https://", "http://"].iter().any(|scheme| file.uri.starts_with(scheme));
    is_web && file.mime.as_ref().is_none_or(|mime| mime.starts_with("image/"))
}

fn encode_tool(tool: &ToolDeclaration) -> Value {
    let mut function = object([("name", tool.name.as_str().into())]);
    if !tool.description.is_empty() {
        function.insert("description".into(), tool.description.as_str().into());
    }
    if !tool.parameters.is_null() {
        function.insert("parameters".into(), tool.parameters.clone());
    }
    Value::Object(object([("type", "function".into()), ("function", Value::Object(function))]))
}

/// Results are messages of their own; media that came with them follow with what the user says.
fn encode_user(message: &Message, encoded: &mut Vec<Value>) {
    let mut content: Vec<&Part> = Vec::new();
    for part in &message.parts {
        match &part.body {
            Body::Result(result) => {
                encoded.push(encode_result(result));
                content.extend(result.nested.iter().filter(|part| part.as_text().is_none()));
            }
            _ => content.push(part),
        }
    }
    if !content.is_empty() {
        let role = own_role(message, OWN).unwrap_or("user");
        let content = encode_content(&content);
        encoded.push(Value::Object(object([("role", role.into()), ("content", content)])));
    }
}

fn encode_result(result: &ToolResult) -> Value {
    let text = if result.nested.is_empty() { output_text(result) } else { result.readable() };
    let failed = matches!(result.status, ToolStatus::Failed | ToolStatus::Cancelled);
    // There is no other place to say that a call failed.
    let text = if failed && text.trim().is_empty() { "[failed]".into() } else { text };
    Value::Object(object([
        ("role", "tool".into()),
        ("tool_call_id", plain_id(&result.call).into()),
        ("content", text.into()),
    ]))
}

fn encode_answer(message: &Message, is_in_turn: bool) -> Value {
    let mut encoded = object([("role", "assistant".into())]);
    let mut content = Vec::new();
    let mut calls = Vec::new();
    for part in &message.parts {
        match &part.body {
            Body::Thought(thought) => {
                // Servers that send reasoning inside the content do not want it back.
                let name = sent_as(part).filter(|name| is_in_turn && *name != "content");
                if let Some(name) = name {
                    let known = encoded.get(name).and_then(Value::as_str).unwrap_or_default();
                    let text = format!("{known}{}", thought.text);
                    encoded.insert(name.to_string(), text.into());
                }
            }
            Body::Opaque(opaque) => match opaque.value.get(DETAILS) {
                Some(details) => {
                    encoded.insert(DETAILS.into(), details.clone());
                }
                None => content.push(part),
            },
            Body::Call(call) => calls.push(encode_call(call, own_fields(part, OWN))),
            _ => content.push(part),
        }
    }
    let says_nothing = content.is_empty() && !calls.is_empty();
    let content = if says_nothing { Value::Null } else { encode_content(&content) };
    encoded.insert("content".into(), content);
    if !calls.is_empty() {
        encoded.insert("tool_calls".into(), Value::Array(calls));
    }
    Value::Object(encoded)
}

fn encode_call(call: &ToolCall, mut fields: Object) -> Value {
    let arguments = match &call.args {
        // Arguments that were cut off, or free text.
        Value::String(text) => text.clone(),
        Value::Null => "{}".to_string(),
        args => args.to_string(),
    };
    let mut function = object([("name", call.name.as_str().into()), ("arguments", arguments.into())]);
    if let Some(Value::Object(rest)) = fields.shift_remove("function") {
        add_missing(&mut function, rest);
    }
    let mut encoded = object([
        ("id", plain_id(&call.id).into()),
        ("type", "function".into()),
        ("function", Value::Object(function)),
    ]);
    add_missing(&mut encoded, fields);
    Value::Object(encoded)
}

/// Texts alone are written as one text, which every server takes; anything else as blocks.
fn encode_content(parts: &[&Part]) -> Value {
    let is_plain = |part: &&Part| part.as_text().is_some() && own_fields(part, OWN).is_empty();
    if parts.iter().all(is_plain) {
        let texts: Vec<&str> = parts.iter().filter_map(|part| part.as_text()).collect();
        let is_model = parts.first().is_some_and(|part| part.origin == Origin::Model);
        return texts.join(if is_model { "" } else { "\n\n" }).into();
    }
    Value::Array(parts.iter().map(|part| encode_block(part)).collect())
}

fn encode_block(part: &Part) -> Value {
    let mut encoded = match &part.body {
        Body::Text(text) => object([("type", "text".into()), ("text", text.as_str().into())]),
        Body::Media(media) => encode_media(media),
        Body::File(file) => image_of(file.uri.clone()),
        Body::Opaque(opaque) => return opaque.value.clone(),
        Body::Thought(_) | Body::Call(_) | Body::Result(_) => {
            object([("type", "text".into()), ("text", "".into())])
        }
    };
    let mut fields = own_fields(part, OWN);
    for (key, value) in &mut encoded {
        if let (Value::Object(inner), Some(Value::Object(rest))) = (value, fields.shift_remove(key)) {
            add_missing(inner, rest);
        }
    }
    add_missing(&mut encoded, fields);
    Value::Object(encoded)
}

fn image_of(url: String) -> Object {
    object([("type", "image_url".into()), ("image_url", Value::Object(object([("url", url.into())])))])
}

fn encode_media(media: &Media) -> Object {
    let MediaData::Base64(data) = &media.data else { return image_of(String::new()) };
    let url = || format!("data:{};base64,{data}", media.mime);
    match media.mime.split_once('/') {
        Some(("audio", kind)) => {
            let format = if kind.contains("wav") { "wav" } else { "mp3" };
            let audio = object([("data", data.as_str().into()), ("format", format.into())]);
            object([("type", "input_audio".into()), ("input_audio", Value::Object(audio))])
        }
        Some(("application", _)) => {
            let file = object([("filename", "document.pdf".into()), ("file_data", url().into())]);
            object([("type", "file".into()), ("file", Value::Object(file))])
        }
        _ => image_of(url()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{Thought, TokenCount};
    use serde_json::json;

    fn user(parts: Vec<Part>) -> Message {
        Message::new("u", Role::User, parts)
    }

    fn model(parts: Vec<Part>) -> Message {
        Message::new("m", Role::Model, parts)
    }

    #[track_caller]
    fn check(messages: Vec<Message>, expected: Value) {
        let request = Request { model: "m".into(), messages, ..Request::default() };
        let body = encode(request, &EncodeOptions::default());
        assert_eq!(body.get("messages").cloned(), Some(expected));
    }

    #[test]
    fn a_streamed_request_asks_for_usage() {
        let mut request = Request {
            model: "m".into(),
            messages: vec![user(vec![Part::user_text("hi")])],
            ..Request::default()
        };
        request.system = vec![Part::text(Origin::Hook, "a"), Part::text(Origin::Memory, "b")];
        request.tools =
            vec![ToolDeclaration { name: "ls".into(), description: String::new(), parameters: Value::Null }];
        let mut options =
            EncodeOptions { streams: true, max_output: Some(TokenCount(9)), ..EncodeOptions::default() };
        let expected = json!({
            "model": "m",
            "messages": [{"role": "system", "content": "a\n\nb"}, {"role": "user", "content": "hi"}],
            "tools": [{"type": "function", "function": {"name": "ls"}}],
            "max_tokens": 9,
            "stream": true,
            "stream_options": {"include_usage": true},
        });
        assert_eq!(Value::Object(encode(request.clone(), &options)), expected);
        options.limit_name = LimitName::MaxCompletionTokens;
        request.extra = object([("stream_options", Value::Null), ("temperature", json!(1))]);
        let body = encode(request, &options);
        assert_eq!(body.get("max_completion_tokens"), Some(&json!(9)));
        assert_eq!((body.get("max_tokens"), body.get("stream_options")), (None, None));
    }

    fn thought(sent_as: &str) -> Part {
        let thought = Part::thought(Thought { text: "hm".into(), ..Thought::default() });
        thought.with_extra(OWN, object([(SENT_AS, sent_as.into())]))
    }

    #[test]
    fn reasoning_goes_back_within_its_turn() {
        let call = || Part::call(ToolCall::new("c", "ls").with_args(json!({"z": 1, "a": 2})));
        let ask = |part: Part| {
            vec![
                user(vec![Part::user_text("q")]),
                model(vec![part, call()]),
                user(vec![Part::result(ToolResult::text("c", "ok"))]),
            ]
        };
        let asked = |reasoning: Value| {
            let mut answer = json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{\"z\":1,\"a\":2}"}}]});
            crate::fields::apply_overrides(
                answer.as_object_mut().expect("an object"),
                crate::fields::into_object(reasoning),
            );
            json!([{"role": "user", "content": "q"}, answer, {"role": "tool", "tool_call_id": "c", "content": "ok"}])
        };
        check(ask(thought("reasoning")), asked(json!({"reasoning": "hm"})));
        check(ask(thought("reasoning_content")), asked(json!({"reasoning_content": "hm"})));
        check(ask(Part::thought(Thought { text: "foreign".into(), ..Thought::default() })), asked(json!({})));
        let mut later = ask(thought("reasoning"));
        later.push(model(vec![Part::model_text("done")]));
        later.push(user(vec![Part::user_text("next")]));
        let mut expected = asked(json!({}));
        let expected = expected.as_array_mut().expect("a list");
        expected.push(json!({"role": "assistant", "content": "done"}));
        expected.push(json!({"role": "user", "content": "next"}));
        check(later, Value::Array(expected.clone()));
    }

    #[test]
    fn images_are_sent_beside_the_text() {
        let image =
            Body::Media(Box::new(Media { mime: "image/png".into(), data: MediaData::Base64("AA==".into()) }));
        let sound =
            Body::Media(Box::new(Media { mime: "audio/wav".into(), data: MediaData::Base64("AA==".into()) }));
        let video =
            Body::Media(Box::new(Media { mime: "video/mp4".into(), data: MediaData::Base64("AA==".into()) }));
        let parts =
            [Body::Text("look".into()), image, sound, video].map(|body| Part::new(Origin::User, body));
        check(
            vec![user(parts.to_vec())],
            json!([{"role": "user", "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
                {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
                {"type": "text", "text": "[video/mp4, cannot be sent to this model]"},
            ]}]),
        );
    }

    #[test]
    fn ids_that_are_refused_are_replaced_on_both_sides() {
        let call = ToolCall::new("functions.ls:0", "ls");
        let messages = vec![
            user(vec![Part::user_text("q")]),
            model(vec![Part::model_text("a"), Part::call(call)]),
            user(vec![
                Part::result(ToolResult::text("functions.ls:0", "").with_status(ToolStatus::Failed)),
                Part::user_text("and"),
            ]),
        ];
        let id = plain_id(&"functions.ls:0".into()).into_owned();
        check(
            messages,
            json!([
                {"role": "user", "content": "q"},
                {"role": "assistant", "content": "a", "tool_calls": [
                    {"id": id, "type": "function", "function": {"name": "ls", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": id, "content": "[failed]"},
                {"role": "user", "content": "and"},
            ]),
        );
    }

    #[test]
    fn wishes_about_the_answer_are_passed_on() {
        let tool = ToolDeclaration { name: "ls".into(), description: String::new(), parameters: Value::Null };
        let mut asked = Request {
            model: "m".into(),
            messages: vec![user(vec![Part::user_text("hi")])],
            ..Request::default()
        };
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
        let found =
            ["tool_choice", "max_tokens", "temperature", "top_p", "stop"].map(|key| body[key].clone());
        assert_eq!(found, [json!("required"), json!(7), json!(0.5), json!(0.9), json!(["END"])]);
        assert!(!body.contains_key("top_k"));
        asked.tool_choice = ToolChoice::Forbidden;
        assert_eq!(encode(asked, &EncodeOptions::default())["tool_choice"], json!("none"));
    }
}
