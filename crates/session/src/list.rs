//! Long lists in files that are one JSON value: their items are parsed when they are taken, and never held all at once.

use std::vec;

use crate::json::Json;
use crate::lines::mend;

/// An array of which only the first items are parsed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct List<'a> {
    ready: Vec<Json<'a>>,
    /// The texts of the others.
    rest: Vec<&'a str>,
}

/// The items of a list, parsed one by one.
#[derive(Default)]
pub(crate) struct Items<'a> {
    ready: vec::IntoIter<Json<'a>>,
    rest: vec::IntoIter<&'a str>,
}

/// One item of a list.
#[derive(Debug)]
pub(crate) enum Item<'a> {
    Whole(Json<'a>),
    /// It was read after [`mend`] had replaced broken characters in it.
    Mended(Json<'static>),
    /// It cannot be read.
    Broken(serde_json::Error),
}

impl<'a> List<'a> {
    /// So many items are parsed at once: enough to tell what they are items of.
    pub(crate) const READY: usize = 200;

    /// A list of items that are parsed and of others, each the text of one JSON value.
    pub(crate) fn new(ready: Vec<Json<'a>>, rest: Vec<&'a str>) -> Self {
        Self { ready, rest }
    }

    /// The first items.
    pub(crate) fn ready(&self) -> &[Json<'a>] {
        &self.ready
    }

    pub(crate) fn into_items(self) -> Items<'a> {
        Items { ready: self.ready.into_iter(), rest: self.rest.into_iter() }
    }

    /// All items; what cannot be read is null.
    pub(crate) fn into_array(self) -> Vec<Json<'a>> {
        let parsed = self.into_items().map(|item| match item {
            Item::Whole(item) | Item::Mended(item) => item,
            Item::Broken(_) => Json::Null,
        });
        parsed.collect()
    }
}

impl<'a> From<Vec<Json<'a>>> for Items<'a> {
    fn from(items: Vec<Json<'a>>) -> Self {
        List::new(items, Vec::new()).into_items()
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Item<'a>;

    fn next(&mut self) -> Option<Item<'a>> {
        self.ready.next().map(Item::Whole).or_else(|| self.rest.next().map(parse))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let length = self.ready.len() + self.rest.len();
        (length, Some(length))
    }
}

impl ExactSizeIterator for Items<'_> {}

/// Parses one item. What surrounds it was checked, but not whether its strings are whole.
fn parse(text: &str) -> Item<'_> {
    match Json::parse(text) {
        Ok(item) => Item::Whole(item),
        Err(error) => {
            let mended = mend(text);
            let item = mended.as_deref().and_then(|mended| Json::parse(mended).ok());
            item.map_or(Item::Broken(error), |item| Item::Mended(item.into_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::Format;
    use crate::read::outline::read_text;

    const LENGTH: usize = 2 * List::READY + 50;

    /// Checks that each of many items is read, in order: one message for each, which says its number.
    #[track_caller]
    fn check(format: Format, item: impl Fn(String) -> Value, document: impl Fn(Vec<Value>) -> Value) {
        let said = |nth| format!("number {nth}");
        let session = read_text(&document((0..LENGTH).map(|nth| item(said(nth))).collect()).to_string());
        assert_eq!(session.info.format, format);
        let parts = session.transcript.messages().iter().flat_map(|message| &message.parts);
        let read: Vec<_> = parts.filter_map(|part| part.as_text()).collect();
        assert_eq!(read, (0..LENGTH).map(said).collect::<Vec<_>>(), "{format:?}");
        assert!(session.warnings.is_empty(), "{:?}", session.warnings);
    }

    #[test]
    fn long_conversations_are_read_to_their_end_in_every_format() {
        let content = |text| json!({"role": "user", "parts": [{"text": text}]});
        check(
            Format::Neutral,
            content,
            |items| json!({"contents": items, "format": "pi", "source": {"session": "s"}}),
        );
        check(Format::GeminiContents, content, |items| json!({"contents": items}));
        check(Format::GeminiContents, content, |items| json!({"history": items}));
        check(Format::GeminiContents, content, Value::Array);
        let chat = |text| json!({"role": "user", "content": text});
        check(Format::OpenAiChat, chat, |items| json!({"model": "m", "messages": items}));
        check(Format::OpenAiChat, chat, Value::Array);
        check(Format::Anthropic, chat, |items| json!({"system": "Be brief.", "messages": items}));
        let blocks = |text| json!({"role": "user", "content": [{"type": "text", "text": text}]});
        check(Format::Cline, blocks, |items| json!({"version": 1, "sessionId": "s", "messages": items}));
        check(Format::MiniSweAgent, chat, |items| json!({"info": {"mini_version": "1"}, "messages": items}));
        let typed = |text| json!({"role": "user", "content": [{"type": "input_text", "text": text}]});
        check(Format::OpenAiResponses, typed, |items| json!({"model": "m", "input": items}));
        check(Format::OpenAiResponses, typed, Value::Array);
        let of_gemini = |text: String| json!({"id": text, "type": "user", "content": text});
        check(
            Format::GeminiJson,
            of_gemini,
            |items| json!({"sessionId": "s", "projectHash": "p", "messages": items}),
        );
        let step = |text| json!({"role": "assistant", "content": text, "agent": "main"});
        check(Format::SweAgent, step, |items| json!({"history": items, "trajectory": []}));
        let action = |text| json!({"source": "agent", "action": "message", "args": {"content": text}});
        check(Format::OpenHands, action, Value::Array);
        check(Format::OpenHands, action, |items| json!({"instance_id": "i", "history": items}));
        let event = |text: String| {
            let message = json!({"role": "assistant", "content": [{"type": "text", "text": text}]});
            json!({"kind": "MessageEvent", "id": text, "source": "agent", "llm_message": message})
        };
        check(Format::OpenHands, event, Value::Array);
    }

    #[test]
    fn what_is_wrong_with_an_item_is_told_with_its_place() {
        let mut items = vec![r#"{"role":"user","parts":[{"text":"fine"}]}"#.to_string(); LENGTH];
        items[300] = r#"{"role":"user","parts":[{"text":"half \ud83d"}]}"#.into();
        items[301] = format!(r#"{{"role":"user","parts":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        items[302] = "7".into();
        let session = read_text(&format!("[{}]", items.join(",\n")));
        let messages = session.transcript.messages();
        assert_eq!(messages.len(), LENGTH - 2);
        assert_eq!(messages[300].parts[0].as_text(), Some("half \u{fffd}"));
        let told: Vec<_> = session.warnings.iter().map(|warning| warning.reason.as_str()).collect();
        let expected = [
            "contents[300]: broken characters in a string were replaced",
            "contents[301]: nested deeper than 128 levels; skipped",
            "contents[302] is a number; skipped",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn an_array_of_all_items_can_still_be_had() {
        let text = format!("[{}\"\\ud83d\"]", "1,".repeat(List::READY));
        let list = Json::parse_record(&text, &[]).expect("only its last string is broken");
        assert_eq!(list.as_array().map(<[_]>::len), Some(List::READY));
        let items = list.clone().into_items().expect("it is an array");
        assert_eq!(items.len(), List::READY + 1);
        let array = list.into_array().expect("it is an array");
        assert_eq!(array.last().and_then(Json::as_str), Some("\u{fffd}"));
    }
}
