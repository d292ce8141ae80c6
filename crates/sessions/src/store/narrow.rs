//! The few fields of a record that tell what a session is about; all else is skipped without being kept.
//!
//! Nothing is refused for its type: a field of another type than expected counts as missing, and of a repeated key the
//! last one counts, as in the readers. Only of a message that is written in the usual way nobody looks further than to the
//! field that tells the last of it, mostly its content: what follows, often the outputs of tools, neither changes what is
//! listed nor is searched for mistakes.

#[cfg(test)]
mod laws;

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::skim::{Wanted, each_field, plain_string};

/// As many bytes of what a user said are kept.
const CLIP: usize = 500;

/// The content of a record: a header, a message, or a change; a nested one of `$set`.
#[derive(Debug, Default)]
pub(super) struct Fields<'a> {
    pub(super) rewind_to: Option<Cow<'a, str>>,
    pub(super) set: Option<Box<Fields<'a>>>,
    pub(super) is_ours: bool,
    pub(super) session_id: Option<Cow<'a, str>>,
    pub(super) project_hash: Option<Cow<'a, str>>,
    pub(super) start_time: Option<Cow<'a, str>>,
    pub(super) last_updated: Option<Cow<'a, str>>,
    pub(super) imported_at: Option<Cow<'a, str>>,
    pub(super) session_kind: Option<Cow<'a, str>>,
    pub(super) summary: Option<Cow<'a, str>>,
    pub(super) notes: Notes<'a>,
    pub(super) messages: Option<Vec<(Box<str>, Told)>>,
    id: Option<Cow<'a, str>>,
    kind: Option<Cow<'a, str>>,
    content: Option<Content>,
    tool_calls: Option<Filled>,
    thoughts: Filled,
}

/// The metadata of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) side: Side,
    /// True if there is something in it to go on with.
    pub(super) is_resumable: bool,
    /// A user's text, shortened.
    pub(super) words: Option<Box<str>>,
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// A user's text.
    User,
    /// Answers of tools alone, though a user's by type.
    Tool,
    Model,
    /// A message of the program to its user.
    Notice,
}

impl<'a> Fields<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> serde_json::Result<Self> {
        match Self::skim(bytes) {
            Some(fields) => Ok(fields),
            None => parse(bytes),
        }
    }

    /// The same of a message that is written in the usual way, as far as the session's list depends on it; what follows in
    /// the record is not looked at.
    fn skim(bytes: &'a [u8]) -> Option<Self> {
        let mut found = Self::default();
        each_field(bytes, |key, value| {
            found.put(key, InBytes(value)).ok()?;
            Some(if found.is_known() { Wanted::Enough } else { Wanted::More })
        })?;
        Some(found)
    }

    /// True if nothing that follows in the record matters: it is a message, and what there is to tell of it is known.
    fn is_known(&self) -> bool {
        let is_work = || self.thoughts.0 || self.tool_calls.as_ref().is_some_and(|calls| calls.0);
        let Some(content) = self.content.as_ref().filter(|_| self.id.is_some()) else { return false };
        match self.kind.as_deref() {
            Some("user") => true,
            Some("gemini") => !content.text.trim().is_empty() || content.has_work || is_work(),
            _ => false,
        }
    }

    /// Takes over a field.
    fn put<V: Value<'a>>(&mut self, key: &[u8], value: V) -> Result<(), V::Error> {
        match key {
            b"$rewindTo" => self.rewind_to = value.read()?,
            b"$set" => self.set = Some(Box::new(value.read()?)),
            b"$longhaul" => {
                value.skip()?;
                self.is_ours = true;
            }
            b"sessionId" => self.session_id = value.read()?,
            b"projectHash" => self.project_hash = value.read()?,
            b"startTime" => self.start_time = value.read()?,
            b"lastUpdated" => self.last_updated = value.read()?,
            b"importedAt" => self.imported_at = value.read()?,
            b"kind" => self.session_kind = value.read()?,
            b"summary" => self.summary = value.read()?,
            b"memoryScratchpad" => self.notes = value.read()?,
            b"messages" => self.messages = value.read::<Messages>()?.0,
            b"id" => self.id = value.read()?,
            b"type" => self.kind = value.read()?,
            b"content" => self.content = Some(value.read()?),
            b"toolCalls" => self.tool_calls = Some(value.read()?),
            b"thoughts" => self.thoughts = value.read()?,
            _ => value.skip()?,
        }
        Ok(())
    }

    /// True if this says what the session is, and is no message.
    pub(super) fn is_head(&self) -> bool {
        self.session_id.is_some() && self.kind.is_none()
    }

    /// The message that this record is, if it is one, with its id.
    pub(super) fn into_message(self) -> Option<(Box<str>, Told)> {
        let kind = self.kind?;
        let id = self.id?.into();
        let has_calls = self.tool_calls.as_ref().is_some_and(|calls| calls.0);
        if self.content.is_none() && self.tool_calls.is_none() {
            return None;
        }
        let content = self.content.unwrap_or_default();
        let told = |side, is_resumable| Told { side, is_resumable, words: None };
        let message = match kind.as_ref() {
            "user" if content.is_answer() => told(Side::Tool, false),
            "user" => {
                let words = content.text.trim();
                let words = (!words.is_empty()).then(|| words.into());
                Told { words, ..told(Side::User, is_request(&content.text)) }
            }
            "gemini" => {
                let says =
                    !content.text.trim().is_empty() || content.has_work || has_calls || self.thoughts.0;
                told(Side::Model, says)
            }
            "info" | "error" | "warning" => told(Side::Notice, false),
            _ => return None,
        };
        Some((id, message))
    }
}

/// True if a user's text is a request and no command, question mark or text of the program's own.
pub(super) fn is_request(text: &str) -> bool {
    let text = text.trim_start();
    !text.is_empty() && !text.starts_with(['/', '?']) && !is_injected(text)
}

/// True if a program wrote a text in the user's place.
pub(super) fn is_injected(text: &str) -> bool {
    const STARTS: [&str; 7] = [
        "<session_context>",
        "<hook_context>",
        "<state_snapshot",
        "<system-reminder",
        "<environment_context",
        "<user_instructions",
        "This session is being continued from a previous conversation",
    ];
    let text = text.trim_start();
    STARTS.iter().any(|start| text.starts_with(start))
}

/// The content of a message: a text, a part or a list of parts.
#[derive(Debug, Default)]
struct Content {
    /// The beginning of its text, with at most one space before it.
    text: String,
    /// True if there are calls or thoughts among the parts.
    has_work: bool,
    has_response: bool,
    has_other: bool,
}

impl Content {
    fn add_text(&mut self, text: &str) {
        // What was piped in stands before what was typed, and names no session.
        let text = match text.trim_start().strip_prefix("<piped_input>") {
            Some(piped) => piped.split_once("</piped_input>").map_or("", |(_, typed)| typed),
            None => text,
        };
        let trimmed = text.trim_start();
        let is_first = self.text.trim_start().is_empty();
        if is_first && self.text.is_empty() && trimmed.len() < text.len() {
            self.text.push(' ');
        }
        let text = if is_first { trimmed } else { text };
        let room = CLIP.saturating_sub(self.text.len());
        self.text.push_str(&text[..text.floor_char_boundary(room)]);
    }

    fn join(&mut self, other: &Self) {
        self.add_text(&other.text);
        self.has_work |= other.has_work;
        self.has_response |= other.has_response;
        self.has_other |= other.has_other;
    }

    fn is_answer(&self) -> bool {
        self.has_response && !self.has_other && self.text.trim().is_empty()
    }
}

/// True if a list, an object or a text has anything in it.
#[derive(Debug, Default)]
struct Filled(bool);

/// Notes on a session.
#[derive(Debug, Default)]
pub(super) struct Notes<'a> {
    /// True if there are any.
    pub(super) is_filled: bool,
    /// The outcome of the work, in a line.
    pub(super) workflow: Option<Cow<'a, str>>,
}

/// A value of which one or another type is of use, and all others mean nothing.
trait Lenient<'de>: Default {
    /// Of a value that is known to be JSON.
    fn of_json(value: &'de [u8]) -> serde_json::Result<Self> {
        parse(value)
    }

    fn of_text(_text: Cow<'de, str>) -> Self {
        Self::default()
    }

    fn of_bool(_value: bool) -> Self {
        Self::default()
    }

    fn of_list<A: SeqAccess<'de>>(mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    fn of_object<A: MapAccess<'de>>(mut fields: A) -> Result<Self, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

/// The value of a field that was found one way or the other.
trait Value<'de>: Sized {
    type Error;

    fn read<T: Lenient<'de>>(self) -> Result<T, Self::Error>;

    fn skip(self) -> Result<(), Self::Error>;
}

/// A value that the parser has come to.
struct InMap<'m, A>(&'m mut A);

impl<'de, A: MapAccess<'de>> Value<'de> for InMap<'_, A> {
    type Error = A::Error;

    fn read<T: Lenient<'de>>(self) -> Result<T, A::Error> {
        next(self.0)
    }

    fn skip(self) -> Result<(), A::Error> {
        self.0.next_value::<IgnoredAny>().map(drop)
    }
}

/// A value by its bytes.
struct InBytes<'de>(&'de [u8]);

impl<'de> Value<'de> for InBytes<'de> {
    type Error = serde_json::Error;

    fn read<T: Lenient<'de>>(self) -> serde_json::Result<T> {
        T::of_json(self.0)
    }

    fn skip(self) -> serde_json::Result<()> {
        Ok(())
    }
}

fn parse<'de, T: Lenient<'de>>(bytes: &'de [u8]) -> serde_json::Result<T> {
    serde_json::from_slice::<Any<T>>(bytes).map(|any| any.0)
}

struct Any<T>(T);

impl<'de, T: Lenient<'de>> Deserialize<'de> for Any<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyVisitor(PhantomData)).map(Any)
    }
}

struct AnyVisitor<T>(PhantomData<T>);

impl<'de, T: Lenient<'de>> Visitor<'de> for AnyVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_bool<E>(self, value: bool) -> Result<T, E> {
        Ok(T::of_bool(value))
    }

    fn visit_u64<E>(self, _: u64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::of_text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::of_text(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<T, E> {
        Ok(T::of_text(Cow::Owned(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<T, A::Error> {
        T::of_list(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
        T::of_object(fields)
    }
}

/// The next value of a map, whatever its type.
fn next<'de, T: Lenient<'de>, A: MapAccess<'de>>(fields: &mut A) -> Result<T, A::Error> {
    fields.next_value::<Any<T>>().map(|any| any.0)
}

impl<'de> Lenient<'de> for Option<Cow<'de, str>> {
    fn of_json(value: &'de [u8]) -> serde_json::Result<Self> {
        match plain_string(value) {
            Some(text) => Ok(Self::of_text(Cow::Borrowed(text))),
            None => parse(value),
        }
    }

    fn of_text(text: Cow<'de, str>) -> Self {
        Some(text)
    }
}

impl<'de> Lenient<'de> for Filled {
    fn of_json(value: &'de [u8]) -> serde_json::Result<Self> {
        let is_empty = |inside: &[u8]| inside.iter().all(|byte| *byte == b' ');
        match value {
            [b'[', inside @ .., b']'] => Ok(Self(!is_empty(inside))),
            _ => parse(value),
        }
    }

    fn of_text(text: Cow<'de, str>) -> Self {
        Self(!text.is_empty())
    }

    fn of_bool(value: bool) -> Self {
        Self(value)
    }

    fn of_list<A: SeqAccess<'de>>(mut items: A) -> Result<Self, A::Error> {
        let mut filled = false;
        while items.next_element::<IgnoredAny>()?.is_some() {
            filled = true;
        }
        Ok(Self(filled))
    }

    fn of_object<A: MapAccess<'de>>(mut fields: A) -> Result<Self, A::Error> {
        let mut filled = false;
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            filled = true;
        }
        Ok(Self(filled))
    }
}

impl<'de> Lenient<'de> for Notes<'de> {
    fn of_text(text: Cow<'de, str>) -> Self {
        Self { is_filled: !text.is_empty(), workflow: None }
    }

    fn of_bool(value: bool) -> Self {
        Self { is_filled: value, workflow: None }
    }

    fn of_list<A: SeqAccess<'de>>(items: A) -> Result<Self, A::Error> {
        Ok(Self { is_filled: Filled::of_list(items)?.0, workflow: None })
    }

    fn of_object<A: MapAccess<'de>>(mut fields: A) -> Result<Self, A::Error> {
        let mut notes = Self::default();
        while let Some(Any(key)) = fields.next_key::<Any<Option<Cow<'de, str>>>>()? {
            notes.is_filled = true;
            match key.as_deref() {
                Some("workflowSummary") => notes.workflow = next(&mut fields)?,
                _ => fields.next_value::<IgnoredAny>().map(drop)?,
            }
        }
        Ok(notes)
    }
}

impl<'de> Lenient<'de> for Content {
    fn of_text(text: Cow<'de, str>) -> Self {
        let mut content = Self { has_other: true, ..Self::default() };
        content.add_text(&text);
        content
    }

    fn of_list<A: SeqAccess<'de>>(mut items: A) -> Result<Self, A::Error> {
        let mut content = Self::default();
        while let Some(Any(part)) = items.next_element::<Any<Self>>()? {
            content.join(&part);
        }
        Ok(content)
    }

    fn of_object<A: MapAccess<'de>>(mut fields: A) -> Result<Self, A::Error> {
        let mut content = Self::default();
        let mut is_thought = false;
        while let Some(Any(key)) = fields.next_key::<Any<Option<Cow<'de, str>>>>()? {
            match key.as_deref() {
                Some("text") => {
                    let text: Option<Cow<'de, str>> = next(&mut fields)?;
                    content.has_other = true;
                    content.text.clear();
                    content.add_text(text.as_deref().unwrap_or_default());
                }
                Some("thought") => is_thought = next::<Filled, _>(&mut fields)?.0,
                Some("functionCall") => content.has_work = next::<Filled, _>(&mut fields)?.0,
                Some("functionResponse") => content.has_response = next::<Filled, _>(&mut fields)?.0,
                key => {
                    content.has_other |= matches!(key, Some("inlineData" | "fileData"));
                    fields.next_value::<IgnoredAny>()?;
                }
            }
        }
        if is_thought {
            content.has_work |= !content.text.trim().is_empty();
            content.text.clear();
        }
        Ok(content)
    }
}

/// The messages of a checkpoint or of the older form.
#[derive(Default)]
struct Messages(Option<Vec<(Box<str>, Told)>>);

impl<'de> Lenient<'de> for Messages {
    fn of_list<A: SeqAccess<'de>>(mut items: A) -> Result<Self, A::Error> {
        let mut messages = Vec::new();
        while let Some(Any(fields)) = items.next_element::<Any<Fields<'de>>>()? {
            messages.extend(fields.into_message());
        }
        Ok(Self(Some(messages)))
    }
}

impl<'de> Lenient<'de> for Fields<'de> {
    fn of_json(value: &'de [u8]) -> serde_json::Result<Self> {
        Self::parse(value)
    }

    fn of_object<A: MapAccess<'de>>(mut fields: A) -> Result<Self, A::Error> {
        let mut found = Self::default();
        while let Some(Any(key)) = fields.next_key::<Any<Option<Cow<'de, str>>>>()? {
            found.put(key.as_deref().unwrap_or_default().as_bytes(), InMap(&mut fields))?;
        }
        Ok(found)
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Any::<Self>::deserialize(deserializer).map(|any| any.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message as `side`, with `+` if it is resumable, and the words of a user behind it.
    #[track_caller]
    fn check(record: &str, expected: &str) {
        let told = Fields::parse(record.as_bytes()).expect("JSON").into_message();
        let sketch = told.map_or("none".into(), |(_, told)| {
            let mark = if told.is_resumable { "+" } else { "" };
            format!("{:?}{mark} {}", told.side, told.words.as_deref().unwrap_or_default())
                .trim_end()
                .to_owned()
        });
        assert_eq!(sketch, expected, "{record}");
    }

    #[test]
    fn what_a_user_asked_can_be_resumed() {
        check(r#"{"id":"1","type":"user","content":"Fix it"}"#, "User+ Fix it");
        check(r#"{"id":"1","type":"user","content":{"text":"Fix it"}}"#, "User+ Fix it");
        check(r#"{"id":"1","type":"user","content":[{"text":" Fix"},{"text":" it "}]}"#, "User+ Fix it");
        check(r#"{"id":"1","type":"user","content":"/help"}"#, "User /help");
        check(r#"{"id":"1","type":"user","content":"  ?"}"#, "User ?");
        check(r#"{"id":"1","type":"user","content":"<session_context>x"}"#, "User <session_context>x");
        check(r#"{"id":"1","type":"user","content":"<hook_context>x"}"#, "User <hook_context>x");
        let piped = r#"{"id":"1","type":"user","content":[{"text":"<piped_input>\nlog\n</piped_input>"},{"text":"Why?"}]}"#;
        check(piped, "User+ Why?");
        let joined =
            r#"{"id":"1","type":"user","content":[{"text":"<piped_input>\nlog\n</piped_input>Why?"}]}"#;
        check(joined, "User+ Why?");
        check(r#"{"id":"1","type":"user","content":" \n"}"#, "User");
        check(r#"{"id":"1","type":"user","content":[{"inlineData":{"data":""}}]}"#, "User");
        check(r#"{"id":"1","type":"user","content":[{"functionResponse":{"id":"c"}}]}"#, "Tool");
    }

    #[test]
    fn what_a_model_did_can_be_resumed() {
        check(r#"{"id":"1","type":"gemini","content":"Done"}"#, "Model+");
        check(r#"{"id":"1","type":"gemini","content":"","toolCalls":[{"id":"c"}]}"#, "Model+");
        check(r#"{"id":"1","type":"gemini","toolCalls":[{"id":"c"}]}"#, "Model+");
        check(r#"{"id":"1","type":"gemini","content":"","thoughts":[{"subject":"s"}]}"#, "Model+");
        check(r#"{"id":"1","type":"gemini","content":[{"functionCall":{"name":"ls"}}]}"#, "Model+");
        check(r#"{"id":"1","type":"gemini","content":[{"text":"hm","thought":true}]}"#, "Model+");
        check(r#"{"id":"1","type":"gemini","content":" ","toolCalls":[],"thoughts":[]}"#, "Model");
        check(r#"{"id":"1","type":"info","content":"hello"}"#, "Notice");
        check(r#"{"id":"1","type":"error","content":"no"}"#, "Notice");
    }

    #[test]
    fn other_records_are_no_messages() {
        for record in [
            "{}",
            "[]",
            "3",
            "null",
            r#""text""#,
            r#"{"type":"user","content":"no id"}"#,
            r#"{"id":"1","content":"no type"}"#,
            r#"{"id":"1","type":"user"}"#,
            r#"{"id":1,"type":"user","content":"x"}"#,
            r#"{"id":"1","type":"agent","content":"x"}"#,
        ] {
            check(record, "none");
        }
    }

    #[test]
    fn wrong_types_and_repeated_keys_do_no_harm() {
        check(r#"{"id":"0","id":"1","type":"info","type":"user","content":"a"}"#, "User+ a");
        check(r#"{"id":"1","type":"gemini","content":"","toolCalls":[],"toolCalls":[1]}"#, "Model+");
        check(r#"{"id":"1","type":"user","content":[{"text":5},7,null,{"text":"x"},"y"]}"#, "User+ xy");
        check(r#"{"id":"1","type":"gemini","content":true,"toolCalls":"none","thoughts":0}"#, "Model+");
        let fields = Fields::parse(br#"{"$set":[1],"sessionId":{},"messages":3}"#).expect("JSON");
        assert!(fields.session_id.is_none() && fields.messages.is_none());
    }

    #[test]
    fn only_the_beginning_of_words_is_kept() {
        let record =
            format!(r#"{{"id":"1","type":"user","content":"{}{}"}}"#, " ".repeat(900), "日".repeat(900));
        let told = Fields::parse(record.as_bytes()).expect("JSON").into_message().expect("a message").1;
        assert_eq!(told.words.expect("words").chars().count(), CLIP / "日".len());
    }
}
