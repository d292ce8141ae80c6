//! Code shared by the readers of several wire formats.

use longhaul_conversation::{Body, FileReference, Media, MediaData, Origin, Part, Role};
use serde_json::{Map, Value};

use crate::intake::Intake;
use crate::json::{Json, Object};
use crate::list::{Item, List};
use crate::mend::explain;
use crate::origins::{PLAIN, close_references, split_user_text};

/// The text of a message; what stands on the user's side is split by who produced it.
pub fn text_parts(text: String, role: Role) -> Vec<Part> {
    match role {
        Role::Model => vec![Part::model_text(text)],
        Role::User => split_user_text(text, &PLAIN),
    }
}

/// The same parts, with the user's texts split by who produced what in them.
pub fn split_typed(parts: Vec<Part>) -> Vec<Part> {
    let split = |part: Part| match part {
        Part { origin: Origin::User, body: Body::Text(text), extra: None } => split_user_text(text, &PLAIN),
        part => vec![part],
    };
    let mut parts: Vec<Part> = parts.into_iter().flat_map(split).collect();
    close_references(&mut parts);
    parts
}

/// The messages of a document: a list, an object that has one, or one message alone.
pub fn messages_of<'j, 'a>(document: &'j Json<'a>) -> &'j [Json<'a>] {
    let messages = document.as_array().or_else(|| document.get("messages")?.as_array());
    messages.unwrap_or(if document.as_object().is_some() { std::slice::from_ref(document) } else { &[] })
}

/// Hands over the items of the list `name` one by one, with their places; what cannot be read is told and left out.
pub fn each_item<I: Intake + ?Sized>(
    items: List<'_>,
    name: &str,
    out: &mut I,
    mut read: impl FnMut(Json<'_>, usize, &mut I),
) {
    let mut place = 0;
    items.for_each(|item| {
        match item {
            Item::Whole(item) => read(item, place, out),
            Item::Mended(item) => {
                out.warn(format!("{name}[{place}]: invalid characters in a string were replaced"));
                read(item, place, out);
            }
            Item::Broken(error) => out.warn(format!("{name}[{place}]: {}", explain(&error, true))),
        }
        place += 1;
    });
}

/// As [`each_item`], where only objects can be read.
pub fn each_object<I: Intake + ?Sized>(
    items: List<'_>,
    name: &str,
    out: &mut I,
    mut read: impl FnMut(Object<'_>, usize, &mut I),
) {
    each_item(items, name, out, |item, place, out| match item {
        Json::Object(item) => read(item, place, out),
        other => out.warn(format!("{name}[{place}] is {}; skipped", other.kind())),
    });
}

/// The blocks of a message, if its content is made of blocks.
pub(crate) fn blocks_of<'j, 'a>(message: &'j Object<'a>) -> &'j [Json<'a>] {
    message.get("content").and_then(Json::as_array).unwrap_or_default()
}

/// Media or a file by its address: a `data:` URL carries its content along.
pub fn body_of_url(url: String) -> Body {
    match split_data_url(&url) {
        Some((mime, data)) => {
            Body::Media(Box::new(Media { mime: mime.to_string(), data: MediaData::Base64(data.to_string()) }))
        }
        None => Body::File(Box::new(FileReference { mime: None, uri: url })),
    }
}

fn split_data_url(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}

/// The arguments of a call, which travel as JSON inside a string; a model's broken JSON stays the string it is.
pub fn read_arguments(arguments: Option<Json<'_>>) -> Value {
    match arguments {
        None | Some(Json::Null) => Value::Object(Map::new()),
        Some(Json::String(text)) => {
            // Not at once as a value, whose maps take up room for fields to come.
            let read = serde_json::from_str(&text).map(Json::into_value);
            read.unwrap_or_else(|_| Value::String(text.into_owned()))
        }
        // Some servers send the object itself.
        Some(value) => value.into_value(),
    }
}

/// Adds to `fields` what is left of an object that stood under `key`, so that it can be written back into it.
pub(crate) fn keep_rest(mut fields: Map<String, Value>, key: &str, rest: Object<'_>) -> Map<String, Value> {
    if !rest.is_empty() {
        fields.insert(key.to_string(), Value::Object(rest.into_map()));
    }
    fields
}

/// The same parts, as they stand in a tool's answer.
pub(crate) fn from_tool(parts: Vec<Part>) -> impl Iterator<Item = Part> {
    parts.into_iter().map(|part| Part { origin: Origin::Tool, ..part })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check_url(url: &str, expected: Option<(&str, &str)>) {
        match (body_of_url(url.to_string()), expected) {
            (Body::Media(media), Some((mime, data))) => {
                assert_eq!((media.mime.as_str(), media.data), (mime, MediaData::Base64(data.into())));
            }
            (Body::File(file), None) => assert_eq!(file.uri, url),
            (other, _) => panic!("{url}: {other:?}"),
        }
    }

    #[test]
    fn only_base64_is_carried_along() {
        check_url("data:image/png;base64,AAAA", Some(("image/png", "AAAA")));
        check_url("data:text/plain;charset=utf-8;base64,eA==", Some(("text/plain;charset=utf-8", "eA==")));
        check_url("data:text/plain,hello", None);
        check_url("https://example.com/a.png", None);
    }

    #[track_caller]
    fn check_arguments(json: &str, expected: &Value) {
        assert_eq!(read_arguments(Some(Json::parse(json).expect("valid"))), *expected);
    }

    #[test]
    fn arguments_are_parsed_where_they_can_be() {
        check_arguments(r#""{\"b\":1,\"a\":2}""#, &json!({"b": 1, "a": 2}));
        check_arguments(r#""{\"path\": \"/tm""#, &json!("{\"path\": \"/tm"));
        check_arguments(r#""""#, &json!(""));
        check_arguments(r#"{"already": true}"#, &json!({"already": true}));
        check_arguments("null", &json!({}));
    }
}
