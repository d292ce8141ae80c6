//! Reads what agents borrow from the OpenAI chat form: contents, tool calls, tool declarations and usage.

use longhaul_conversation::{
    Body, CallId, Origin, Output, Part, ToolCall, ToolDeclaration, ToolResult, Vendor,
};
use longhaul_wire::{Json, Object, body_of_url, read_arguments};
use serde_json::Value;

/// Reads the content of a message: a text, or a list of texts and images. Empty texts are left out.
pub(super) fn read_content(content: Option<Json<'_>>, origin: Origin) -> Vec<Part> {
    match content {
        None | Some(Json::Null) => Vec::new(),
        Some(Json::String(text)) if text.is_empty() => Vec::new(),
        Some(Json::String(text)) => vec![Part::text(origin, text)],
        Some(Json::Array(items)) => items.into_iter().flat_map(|item| read_item(item, origin)).collect(),
        Some(other) => vec![Part::opaque(origin, Vendor::Agent, other.into_value())],
    }
}

fn read_item(item: Json<'_>, origin: Origin) -> Vec<Part> {
    let mut item = match item {
        Json::Object(item) => item,
        other => return read_content(Some(other), origin),
    };
    if let Some(text) = item.take_string("text") {
        return read_content(Some(Json::String(text.into())), origin);
    }
    let urls: Vec<String> = match item.get("image_url").or_else(|| item.get("image_urls")) {
        Some(Json::String(url)) => vec![url.to_string()],
        Some(Json::Array(urls)) => urls.iter().filter_map(Json::as_str).map(str::to_string).collect(),
        Some(image) => image.get("url").and_then(Json::as_str).map(str::to_string).into_iter().collect(),
        None => Vec::new(),
    };
    if urls.is_empty() {
        return vec![Part::opaque(origin, Vendor::Agent, Value::Object(item.into_map()))];
    }
    urls.into_iter().map(|url| read_image(url, origin)).collect()
}

/// An image given by its address, or carried in a `data:` address.
pub(super) fn read_image(url: String, origin: Origin) -> Part {
    Part::new(origin, body_of_url(url))
}

/// A tool's answer to `call`, of such content.
pub(super) fn read_answer(call: CallId, content: Option<Json<'_>>) -> ToolResult {
    let mut parts = read_content(content, Origin::Tool);
    let output = match parts.as_mut_slice() {
        [Part { body: Body::Text(text), .. }] => Output::Text(std::mem::take(text)),
        _ => Output::Empty,
    };
    let nested = if output == Output::Empty { parts } else { Vec::new() };
    ToolResult { output, nested, ..ToolResult::text(call, "") }
}

/// Reads one tool call, whose name and arguments may stand under `function`; `id` is for a call that has none.
pub(super) fn read_call(mut call: Object<'_>, id: impl FnOnce() -> CallId) -> ToolCall {
    let id = call.take_string("id").map_or_else(id, CallId::new);
    let mut function = call.take_object("function").unwrap_or(call);
    let name = function.take_string("name").unwrap_or_default();
    // Agents write an empty text for a call without arguments.
    let arguments = function.take("arguments").filter(|text| text.as_str() != Some(""));
    ToolCall { id, name, args: read_arguments(arguments), reasoning: None }
}

/// Reads tool declarations, each bare or under `function`.
pub(super) fn read_declarations(tools: Vec<Json<'_>>) -> Vec<ToolDeclaration> {
    let tools = tools.into_iter().filter_map(Json::into_object);
    tools
        .filter_map(|mut tool| {
            let mut tool = tool.take_object("function").unwrap_or(tool);
            Some(ToolDeclaration {
                name: tool.take_string("name")?,
                description: tool.take_string("description").unwrap_or_default(),
                parameters: tool.take("parameters").map_or(Value::Null, Json::into_value),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{FileReference, Media, MediaData};
    use serde_json::json;

    fn parse(text: &str) -> Json<'_> {
        Json::parse(text).expect("the test gives JSON")
    }

    #[track_caller]
    fn check_content(text: &str, expected: &[Part]) {
        assert_eq!(read_content(Some(parse(text)), Origin::Tool), expected);
    }

    #[test]
    fn contents_are_texts_and_images() {
        let text = |text: &str| Part::text(Origin::Tool, text);
        check_content(r#""a""#, &[text("a")]);
        check_content(r#""""#, &[]);
        check_content("null", &[]);
        check_content(
            r#"[{"type":"text","text":"a"},"b",{"type":"text","text":""}]"#,
            &[text("a"), text("b")],
        );
        check_content(
            r#"[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]"#,
            &[Part::new(
                Origin::Tool,
                Body::Media(Box::new(Media {
                    mime: "image/png".into(),
                    data: MediaData::Base64("AA==".into()),
                })),
            )],
        );
        check_content(
            r#"[{"type":"image","image_urls":["https://example.org/a.png"]}]"#,
            &[Part::new(
                Origin::Tool,
                Body::File(Box::new(FileReference { mime: None, uri: "https://example.org/a.png".into() })),
            )],
        );
        check_content("[7]", &[Part::opaque(Origin::Tool, Vendor::Agent, json!(7))]);
    }

    #[track_caller]
    fn check_call(text: &str, id: &str, name: &str, args: Value) {
        let call = parse(text).into_object().expect("the test gives an object");
        let expected = ToolCall::new(id, name).with_args(args);
        assert_eq!(read_call(call, || CallId::new("none")), expected);
    }

    #[test]
    fn calls_are_read_bare_or_wrapped() {
        check_call(
            r#"{"id":"c1","type":"function","function":{"name":"open","arguments":"{\"path\":\"a\"}"}}"#,
            "c1",
            "open",
            json!({"path": "a"}),
        );
        check_call(
            r#"{"id":"c1","name":"open","arguments":{"path":"a"}}"#,
            "c1",
            "open",
            json!({"path": "a"}),
        );
        check_call(r#"{"function":{"name":"open","arguments":"{oops"}}"#, "none", "open", json!("{oops"));
        check_call(r#"{"name":"submit","arguments":""}"#, "none", "submit", json!({}));
    }

    #[test]
    fn an_answer_of_one_text_is_text() {
        let one = read_answer(CallId::new("c"), Some(parse(r#"[{"text":"a"}]"#)));
        assert_eq!((one.output, one.nested), (Output::Text("a".into()), vec![]));
        let two = read_answer(CallId::new("c"), Some(parse(r#"["a","b"]"#)));
        assert_eq!(two.nested, [Part::text(Origin::Tool, "a"), Part::text(Origin::Tool, "b")]);
        assert_eq!(read_answer(CallId::new("c"), None).output, Output::Empty);
    }
}
