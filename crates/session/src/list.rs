//! Long lists of files that are one JSON value: their items are parsed one by one, and never held all at once.

use std::borrow::Cow;

use crate::json::Json;
use crate::lines::{mend, text_of};
use crate::sketch::end_of_item;

/// An array of which only the first items are parsed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct List<'a> {
    ready: Vec<Json<'a>>,
    rest: Rest<'a>,
}

/// The texts of items that are not parsed yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rest<'a> {
    /// How many items there are.
    pub(crate) count: usize,
    /// Each is some of the items, with a comma before each.
    pub(crate) pieces: Vec<Cow<'a, [u8]>>,
}

/// One item of a list.
#[derive(Debug)]
pub(crate) enum Item<'a> {
    Whole(Json<'a>),
    /// Broken characters in it were replaced.
    Mended(Json<'a>),
    /// It cannot be read.
    Broken(serde_json::Error),
}

impl<'a> List<'a> {
    /// So many items are parsed at once: enough to tell what they are items of.
    pub(crate) const READY: usize = 200;

    /// A list of items that are parsed and of others behind them.
    pub(crate) fn new(ready: Vec<Json<'a>>, rest: Rest<'a>) -> Self {
        Self { ready, rest }
    }

    /// The first items.
    pub(crate) fn ready(&self) -> &[Json<'a>] {
        &self.ready
    }

    /// How many items there are.
    pub(crate) fn len(&self) -> usize {
        self.ready.len() + self.rest.count
    }

    /// Hands over the items in order. What was handed over is given up before the next is parsed.
    pub(crate) fn for_each(self, mut read: impl FnMut(Item<'_>)) {
        self.ready.into_iter().map(Item::Whole).for_each(&mut read);
        for piece in self.rest.pieces {
            match std::str::from_utf8(&piece) {
                Ok(text) => read_texts(text, &mut read),
                Err(_) => read_bytes(&piece, &mut read),
            }
        }
    }

    /// All items; what cannot be read is null.
    pub(crate) fn into_array(self) -> Vec<Json<'a>> {
        let Self { mut ready, rest } = self;
        List::new(Vec::new(), rest).for_each(|item| match item {
            Item::Whole(item) | Item::Mended(item) => ready.push(item.into_owned()),
            Item::Broken(_) => ready.push(Json::Null),
        });
        ready
    }
}

impl<'a> From<Vec<Json<'a>>> for List<'a> {
    fn from(items: Vec<Json<'a>>) -> Self {
        Self::new(items, Rest::default())
    }
}

/// Reads the items of a piece. Where the parser gets through an item, it has found its end as well.
fn read_texts(mut text: &str, read: &mut impl FnMut(Item<'_>)) {
    while let Some(item) = text.strip_prefix(',') {
        let mut stream = serde_json::Deserializer::from_str(item).into_iter::<Json<'_>>();
        let parsed = stream.next();
        let behind = item[stream.byte_offset()..].trim_ascii_start();
        text = match parsed {
            Some(Ok(parsed)) if behind.is_empty() || behind.starts_with(',') => {
                read(Item::Whole(parsed));
                behind
            }
            _ => {
                let (item, behind) = item.split_at(end_of_item(item.as_bytes()));
                read_one(item.as_bytes(), read);
                behind
            }
        }
    }
}

/// Reads the items of a piece in which characters are broken.
fn read_bytes(mut bytes: &[u8], read: &mut impl FnMut(Item<'_>)) {
    while let Some(item) = bytes.strip_prefix(b",") {
        let (item, behind) = item.split_at(end_of_item(item));
        read_one(item, read);
        bytes = behind;
    }
}

/// Reads one item, as well as it can be.
fn read_one(bytes: &[u8], read: &mut impl FnMut(Item<'_>)) {
    let (text, lossy) = text_of(bytes);
    match Json::parse(&text) {
        Ok(item) if lossy => read(Item::Mended(item)),
        Ok(item) => read(Item::Whole(item)),
        Err(error) => {
            let mended = mend(&text);
            let item = mended.as_deref().and_then(|mended| Json::parse(mended).ok());
            read(item.map_or(Item::Broken(error), Item::Mended));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::read::outline::read_text;
    use crate::{Format, read_session_in};

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
    fn large_files_are_read_however_their_lines_are_broken() {
        let text = |nth: usize| format!("{nth} {}", "word [, {\\\" ".repeat(100));
        let items: Vec<_> = (0..LENGTH).map(|nth| json!({"role": "user", "content": text(nth)})).collect();
        let lines = |between: &str| items.iter().map(Value::to_string).collect::<Vec<_>>().join(between);
        let long = json!({"role": "user", "content": "long ".repeat(100_000)}).to_string();
        let document = json!({"messages": items, "model": "m"});
        for (file, expected) in [
            (document.to_string(), LENGTH),
            (format!("\n{document}\n"), LENGTH),
            (format!("{document:#}"), LENGTH),
            (format!("[{}]", lines(",\n")), LENGTH),
            (format!("[{}\n]", lines(",")), LENGTH),
            (lines("\n"), LENGTH),
            (format!("{long}\n{}\n", lines("\n")), LENGTH + 1),
        ] {
            let streamed = read_text(&file);
            let in_memory = read_session_in(file.as_bytes(), &mut |_, _| {}).expect("the same");
            assert_eq!(streamed.transcript.messages(), in_memory.transcript.messages());
            assert_eq!((streamed.warnings.len(), in_memory.warnings.len()), (0, 0));
            assert_eq!(streamed.transcript.messages().len(), expected);
        }
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
        let rest = Rest { count: 4, pieces: vec![b", 2,\"\\ud83d\",\"\xff\"".into(), b",{]".into()] };
        let list = List::new(vec![Json::Bool(true)], rest);
        assert_eq!((list.len(), list.ready().len()), (5, 1));
        let array = Json::List(list).into_value();
        assert_eq!(array, json!([true, 2, "\u{fffd}", "\u{fffd}", null]));
    }
}
