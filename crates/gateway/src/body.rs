//! The body of a request, split into borrowed raw pieces.

use std::borrow::Cow;

use longhaul_wire::{RawField, raw_fields, raw_items};

use crate::family::Family;

/// The body of a request whose history is in it.
#[derive(Debug)]
pub(crate) struct RequestBody<'a> {
    /// The whole body.
    pub(crate) text: &'a str,
    pub(crate) family: Family,
    fields: Vec<RawField<'a>>,
    /// The messages, contents or items of the history, as they stand.
    pub(crate) items: Vec<&'a str>,
}

/// The reason why a body passes as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NotSplit {
    /// It is no JSON object in UTF-8.
    NotJson,
    /// It has no list of messages.
    NoHistory,
    /// A field that decides stands in it twice, so that two readers may see two bodies.
    Repeated,
    /// Its history is kept by the provider.
    Elsewhere,
}

impl NotSplit {
    /// The stable word for it in metrics.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::NotJson => "not_json",
            Self::NoHistory => "no_history",
            Self::Repeated => "repeated_field",
            Self::Elsewhere => "history_elsewhere",
        }
    }
}

impl<'a> RequestBody<'a> {
    /// Splits a body. Gemini's Code Assist wraps its request in one more object.
    pub(crate) fn split(family: Family, bytes: &'a [u8]) -> Result<Self, NotSplit> {
        let text = std::str::from_utf8(bytes).map_err(|_| NotSplit::NotJson)?;
        let mut fields = raw_fields(text).ok_or(NotSplit::NotJson)?;
        let is_wrapped = family == Family::Gemini && !fields.iter().any(|field| field.key == "contents");
        if is_wrapped && let Some(inner) = sole(&fields, "request")? {
            // The model's name stands outside.
            let model = fields.iter().find(|field| field.key == "model").cloned();
            fields = raw_fields(inner).ok_or(NotSplit::NoHistory)?;
            fields.extend(model);
        }
        for key in family.handles() {
            if sole(&fields, key)?.is_some_and(|value| value != "null") {
                return Err(NotSplit::Elsewhere);
            }
        }
        let list = sole(&fields, family.list())?.ok_or(NotSplit::NoHistory)?;
        let items = raw_items(list).ok_or(NotSplit::NoHistory)?;
        Ok(Self { text, family, fields, items })
    }

    /// The raw value of a field; of a repeated one the last, as readers of JSON take it.
    pub(crate) fn field(&self, key: &str) -> Option<&'a str> {
        self.fields.iter().rev().find(|field| field.key == key).map(|field| field.value)
    }

    /// The text of a field.
    pub(crate) fn text_field(&self, key: &str) -> Option<Cow<'a, str>> {
        read_text(self.field(key)?)
    }

    /// The number in a field.
    pub(crate) fn number_field(&self, key: &str) -> Option<u64> {
        serde_json::from_str(self.field(key)?).ok()
    }

    /// The most tokens that the answer may take, if the request says so.
    pub(crate) fn max_output(&self) -> Option<u64> {
        match self.family {
            Family::Anthropic => self.number_field("max_tokens"),
            Family::Chat => {
                self.number_field("max_completion_tokens").or_else(|| self.number_field("max_tokens"))
            }
            Family::Responses => self.number_field("max_output_tokens"),
            Family::Gemini => {
                let config = raw_fields(self.field("generationConfig")?)?;
                let limit = config.iter().find(|field| field.key == "maxOutputTokens")?;
                serde_json::from_str(limit.value).ok()
            }
        }
    }

    /// True if the request declares tools.
    pub(crate) fn has_tools(&self) -> bool {
        self.field("tools").and_then(raw_items).is_some_and(|tools| !tools.is_empty())
    }

    /// The bytes beside the history: instruction, tools, settings.
    pub(crate) fn fixed_len(&self) -> usize {
        self.text.len().saturating_sub(self.items.iter().map(|item| item.len()).sum())
    }
}

/// The value of a field that must not stand twice.
fn sole<'a>(fields: &[RawField<'a>], key: &str) -> Result<Option<&'a str>, NotSplit> {
    let mut found = fields.iter().filter(|field| field.key == key).map(|field| field.value);
    let first = found.next();
    if found.next().is_some() { Err(NotSplit::Repeated) } else { Ok(first) }
}

/// A raw string without its quotes and escapes.
pub(crate) fn read_text(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str(raw).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(family: Family, body: &str, expected: Result<usize, NotSplit>) {
        let split = RequestBody::split(family, body.as_bytes());
        assert_eq!(split.map(|body| body.items.len()), expected, "{body}");
    }

    #[test]
    fn a_body_without_its_history_passes() {
        check(Family::Anthropic, r#"{"model":"m","messages":[{},{}]}"#, Ok(2));
        check(Family::Anthropic, r#"{"model":"m"}"#, Err(NotSplit::NoHistory));
        check(Family::Anthropic, r#"{"messages":"x"}"#, Err(NotSplit::NoHistory));
        check(Family::Anthropic, r#"{"messages":[],"thread":{"id":"t"}}"#, Err(NotSplit::Elsewhere));
        check(Family::Anthropic, r#"{"messages":[],"thread":null}"#, Ok(0));
        check(Family::Responses, r#"{"input":"hello"}"#, Err(NotSplit::NoHistory));
        check(Family::Responses, r#"{"input":[],"previous_response_id":"r"}"#, Err(NotSplit::Elsewhere));
        check(Family::Responses, r#"{"input":[],"previous_response_id":null}"#, Ok(0));
        check(Family::Gemini, r#"{"contents":[],"cachedContent":"c"}"#, Err(NotSplit::Elsewhere));
        check(Family::Gemini, r#"{"model":"m","request":{"contents":[{}]}}"#, Ok(1));
        check(Family::Chat, r#"{"messages":[],"messages":[{}]}"#, Err(NotSplit::Repeated));
        check(Family::Chat, r#"[]"#, Err(NotSplit::NotJson));
        check(Family::Chat, "", Err(NotSplit::NotJson));
    }

    #[test]
    fn what_is_no_text_is_no_body() {
        assert_eq!(RequestBody::split(Family::Chat, b"{\"a\":\"\xff\"}").err(), Some(NotSplit::NotJson));
    }

    #[test]
    fn fields_are_read_where_they_stand() {
        let body = r#"{"messages":[],"model":"a\u002db","max_tokens":12,"tools":[ ]}"#;
        let body = RequestBody::split(Family::Anthropic, body.as_bytes()).expect("a request");
        assert_eq!(body.text_field("model").as_deref(), Some("a-b"));
        assert_eq!(body.max_output(), Some(12));
        assert!(!body.has_tools());
    }
}
