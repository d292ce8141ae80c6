//! Prepares requests for servers that speak chat completions.

use longhaul_conversation::{
    Body, Extra, FileReference, Media, MediaData, Message, Origin, Output, Part, Request, Role, ToolCall,
    ToolResult, ToolStatus, Vendor,
};
use serde_json::Value;

use super::encode::encode;
use super::{DETAILS, sent_as};
use crate::fields::{Fields, add_missing, apply_overrides, into_object, object, says_something};
use crate::fit::{is_on_the_web, output_text};
use crate::options::EncodeOptions;
use crate::prepare::{as_note, fit_nested, keep_own_fields, make_plain, own_role, own_settings, prepare};

const OWN: Vendor = Vendor::OpenAiChat;

/// The body of a chat-completions call.
pub(crate) fn encode_to_send(mut request: Request, options: &EncodeOptions) -> Fields {
    let messages = prepare(request.messages, OWN, fit);
    // Reasoning goes back only within the turn it belongs to: servers drop older reasoning, or refuse it.
    let turn =
        messages.iter().rposition(|message| message.role == Role::User && message.results().next().is_none());
    request.messages = Vec::with_capacity(messages.len());
    for (index, message) in messages.into_iter().enumerate() {
        match message.role {
            Role::Model => {
                request.messages.push(settle_answer(message, turn.is_none_or(|turn| index > turn)));
            }
            Role::User => settle_user(message, &mut request.messages),
        }
    }
    request.system.retain(|part| says_something(part, OWN));
    request.system = settle_content(request.system);
    request.sampling.max_output = request.sampling.max_output.or(options.max_output);
    let mut body = encode(&request, options.limit_name);
    if options.streams {
        body.insert("stream".into(), true.into());
        body.insert("stream_options".into(), Value::Object(object([("include_usage", true.into())])));
    }
    add_missing(&mut body, own_settings(&request.fields, OWN));
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

fn takes(media: &Media) -> bool {
    let is_known = ["image/", "audio/", "application/pdf"].iter().any(|kind| media.mime.starts_with(kind));
    is_known && matches!(media.data, MediaData::Base64(_))
}

fn is_web_image(file: &FileReference) -> bool {
    is_on_the_web(file) && file.mime.as_ref().is_none_or(|mime| mime.starts_with("image/"))
}

/// Results are messages of their own; media that came with them follow with what the user says.
fn settle_user(message: Message, settled: &mut Vec<Message>) {
    let role = own_role(&message, OWN).map(|role| object([("role", role.into())]));
    let mut content = Vec::new();
    for part in message.parts {
        match part.body {
            Body::Result(result) => {
                let (result, media) = settle_result(*result);
                settled.push(Message::new(message.id.clone(), Role::User, vec![Part::result(result)]));
                content.extend(media);
            }
            _ => content.push(part),
        }
    }
    if !content.is_empty() {
        let mut said = Message::new(message.id, Role::User, settle_content(content));
        said.extra = role.and_then(|role| Extra::boxed(OWN, role));
        settled.push(said);
    }
}

/// The answer of a tool as text, and what else came with it.
fn settle_result(mut result: ToolResult) -> (ToolResult, impl Iterator<Item = Part>) {
    let text = if result.nested.is_empty() { output_text(&result) } else { result.readable() };
    let failed = matches!(result.status, ToolStatus::Failed | ToolStatus::Cancelled);
    // There is no other place to say that a call failed.
    let text = if failed && text.trim().is_empty() { "[failed]".to_string() } else { text.into_owned() };
    make_plain(&mut result.call);
    let media = result.nested.into_iter().filter(|part| part.as_text().is_none());
    (ToolResult { output: Output::Text(text), ..ToolResult::text(result.call, "") }, media)
}

fn settle_answer(message: Message, is_in_turn: bool) -> Message {
    let mut parts = Vec::new();
    let mut content = Vec::new();
    let mut calls = Vec::new();
    for mut part in message.parts {
        match &mut part.body {
            Body::Thought(_) => {
                // Servers that send reasoning inside the content do not want it back.
                if is_in_turn && sent_as(&part).is_some_and(|name| name != "content") {
                    parts.push(part);
                }
            }
            Body::Opaque(opaque) if opaque.value.get(DETAILS).is_some() => parts.push(part),
            Body::Call(call) => {
                settle_call(call);
                keep_own_fields(&mut part, OWN);
                if let Some(extra) = &mut part.extra {
                    // Servers know functions; what a custom tool was given is sent as its arguments.
                    extra.fields.retain(|key, _| !matches!(key.as_str(), "type" | "custom"));
                }
                part.extra = part.extra.filter(|extra| !extra.fields.is_empty());
                calls.push(part);
            }
            _ => content.push(part),
        }
    }
    parts.append(&mut settle_content(content));
    parts.append(&mut calls);
    Message::new(message.id, Role::Model, parts)
}

fn settle_call(call: &mut ToolCall) {
    make_plain(&mut call.id);
    match &call.args {
        Value::Null => call.args = Value::Object(Fields::new()),
        // Free text that is JSON is sent as such.
        Value::String(text) => {
            if let Ok(args) = serde_json::from_str(text) {
                call.args = args;
            }
        }
        _ => {}
    }
}

/// Texts alone become one text, which every server takes; anything else is sent as blocks.
fn settle_content(mut parts: Vec<Part>) -> Vec<Part> {
    for part in &mut parts {
        keep_own_fields(part, OWN);
        settle_block(part);
    }
    let is_plain = |part: &Part| part.as_text().is_some() && part.extra.is_none();
    if parts.len() < 2 || !parts.iter().all(is_plain) {
        return parts;
    }
    let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
    let origin = parts[0].origin;
    vec![Part::text(origin, texts.join(if origin == Origin::Model { "" } else { "\n\n" }))]
}

/// Names sounds and documents as servers know them; a refusal is sent as the text it is.
fn settle_block(part: &mut Part) {
    let mut fields = part.extra.take().map(|extra| extra.fields).unwrap_or_default();
    match &mut part.body {
        Body::Text(_) => {
            fields.shift_remove("type");
        }
        Body::Media(media) => match media.mime.split_once('/') {
            Some(("audio", kind)) => {
                media.mime = if kind.contains("wav") { "audio/wav" } else { "audio/mp3" }.into();
            }
            Some(("application", _)) => {
                let mut file = fields.shift_remove("file").map(into_object).unwrap_or_default();
                add_missing(&mut file, object([("filename", "document.pdf".into())]));
                fields.insert("file".into(), Value::Object(file));
            }
            _ => {}
        },
        _ => {}
    }
    part.extra = Extra::boxed(OWN, fields);
}

#[cfg(test)]
mod tests {
    use super::super::SENT_AS;
    use super::*;
    use crate::options::LimitName;
    use crate::prepare::plain_id;
    use longhaul_conversation::{Sampling, ToolChoice, ToolDeclaration};
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
        let body = encode_to_send(request, &EncodeOptions::default());
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
        assert_eq!(Value::Object(encode_to_send(request.clone(), &options)), expected);
        options.limit_name = LimitName::MaxCompletionTokens;
        request.extra = object([("stream_options", Value::Null), ("temperature", json!(1))]);
        let body = encode_to_send(request, &options);
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
        let body = encode_to_send(asked.clone(), &EncodeOptions::default());
        let found =
            ["tool_choice", "max_tokens", "temperature", "top_p", "stop"].map(|key| body[key].clone());
        assert_eq!(found, [json!("required"), json!(7), json!(0.5), json!(0.9), json!(["END"])]);
        assert!(!body.contains_key("top_k"));
        asked.tool_choice = ToolChoice::Forbidden;
        assert_eq!(encode_to_send(asked, &EncodeOptions::default())["tool_choice"], json!("none"));
    }
}
