//! A parsed JSON value that borrows from its text.
//!
//! Session records are read into this instead of `serde_json::Value`: strings without escapes are not copied,
//! objects are plain lists, and a reader takes what it knows out of an object and keeps the rest.

use std::borrow::Cow;
use std::fmt;

use longhaul_conversation::Timestamp;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::list::List;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Json<'a>>),
    /// An array that is too long to hold parsed.
    List(List<'a>),
    /// An object.
    Object(Object<'a>),
}

/// The fields of a JSON object, in order. Of a repeated key the last one counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object<'a>(Vec<(Cow<'a, str>, Json<'a>)>);

impl<'a> Json<'a> {
    /// Parses a whole text.
    pub fn parse(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// Parses a record whose fields in `unread`, at the top level, are not looked at.
    pub fn parse_without(text: &'a str, unread: &'static [&'static str]) -> serde_json::Result<Self> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let value = TopLevel { unread }.deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(value)
    }

    /// The text, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Json::String(text) = self { Some(text) } else { None }
    }

    /// The boolean, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Json::Bool(value) = self { Some(*value) } else { None }
    }

    /// The number, if this is one that a count can be; fractions are cut off.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Json::Number(number) => number
                .as_u64()
                .or_else(|| number.as_f64().filter(|n| (0.0..1.8e19).contains(n)).map(|n| n as u64)),
            _ => None,
        }
    }

    /// The object, if this is one.
    pub fn as_object(&self) -> Option<&Object<'a>> {
        if let Json::Object(object) = self { Some(object) } else { None }
    }

    /// The items of an array; of a list those that are parsed.
    pub fn as_array(&self) -> Option<&[Json<'a>]> {
        match self {
            Json::Array(items) => Some(items),
            Json::List(list) => Some(list.ready()),
            _ => None,
        }
    }

    /// The field `key`, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Json<'a>> {
        self.as_object()?.get(key)
    }

    /// A time given as text or as a number.
    pub fn as_time(&self) -> Option<Timestamp> {
        match self {
            Json::String(text) => Timestamp::parse(text),
            Json::Number(number) => Timestamp::from_number(number.as_f64()?),
            _ => None,
        }
    }

    /// The text, if this is one.
    pub fn into_string(self) -> Option<String> {
        if let Json::String(text) = self { Some(text.into_owned()) } else { None }
    }

    /// The object, if this is one.
    pub fn into_object(self) -> Option<Object<'a>> {
        if let Json::Object(object) = self { Some(object) } else { None }
    }

    /// The items of an array or a list.
    pub(crate) fn into_array(self) -> Option<Vec<Json<'a>>> {
        match self {
            Json::Array(items) => Some(items),
            Json::List(list) => Some(list.into_array()),
            _ => None,
        }
    }

    /// The items of an array or a list, to be read one by one.
    pub fn into_list(self) -> Option<List<'a>> {
        match self {
            Json::Array(items) => Some(items.into()),
            Json::List(list) => Some(list),
            _ => None,
        }
    }

    /// The value without what it borrows.
    pub fn into_owned(self) -> Json<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        match self {
            Json::Null => Json::Null,
            Json::Bool(value) => Json::Bool(value),
            Json::Number(number) => Json::Number(number),
            Json::String(text) => Json::String(owned(text)),
            Json::Array(items) => Json::Array(items.into_iter().map(Json::into_owned).collect()),
            Json::List(list) => Json::Array(list.into_array().into_iter().map(Json::into_owned).collect()),
            Json::Object(Object(fields)) => {
                let fields = fields.into_iter().map(|(key, value)| (owned(key), value.into_owned()));
                Json::Object(Object(fields.collect()))
            }
        }
    }

    /// The value on its own, key order kept.
    pub fn into_value(self) -> Value {
        match self {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(value),
            Json::Number(number) => Value::Number(number),
            Json::String(text) => Value::String(text.into_owned()),
            Json::Array(items) => Value::Array(items.into_iter().map(Json::into_value).collect()),
            Json::List(list) => Json::Array(list.into_array()).into_value(),
            Json::Object(object) => Value::Object(object.into_map()),
        }
    }

    /// The kind of value, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Number(_) => "a number",
            Json::String(_) => "a string",
            Json::Array(_) | Json::List(_) => "an array",
            Json::Object(_) => "an object",
        }
    }
}

impl<'a> Object<'a> {
    /// The field `key`.
    pub fn get(&self, key: &str) -> Option<&Json<'a>> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// True if there is a field `key`.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The text under `key`.
    pub fn str(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    /// True if `key` is true.
    pub fn is_true(&self, key: &str) -> bool {
        self.get(key).and_then(Json::as_bool) == Some(true)
    }

    /// The time under `key`.
    pub fn time(&self, key: &str) -> Option<Timestamp> {
        self.get(key)?.as_time()
    }

    /// Takes the field out; every repetition of the key goes with it.
    pub fn take(&mut self, key: &str) -> Option<Json<'a>> {
        self.0.extract_if(.., |(name, _)| name == key).last().map(|(_, value)| value)
    }

    /// Takes the text under `key` out; a field that is no text stays.
    pub fn take_string(&mut self, key: &str) -> Option<String> {
        self.str(key)?;
        self.take(key)?.into_string()
    }

    /// Takes the object under `key` out; a field that is no object stays.
    pub fn take_object(&mut self, key: &str) -> Option<Object<'a>> {
        self.get(key)?.as_object()?;
        self.take(key)?.into_object()
    }

    /// Takes the array under `key` out; a field that is no array stays.
    pub fn take_array(&mut self, key: &str) -> Option<Vec<Json<'a>>> {
        self.get(key)?.as_array()?;
        self.take(key)?.into_array()
    }

    /// Takes the array or list under `key` out, to be read item by item; a field that is neither stays.
    pub fn take_list(&mut self, key: &str) -> Option<List<'a>> {
        self.get(key)?.as_array()?;
        self.take(key)?.into_list()
    }

    /// The value of the field that stands at `place`.
    pub fn at_mut(&mut self, place: usize) -> Option<&mut Json<'a>> {
        self.0.get_mut(place).map(|(_, value)| value)
    }

    /// The names of the fields, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.as_ref())
    }

    /// True if there are no fields.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The remaining fields, in order.
    pub fn into_fields(self) -> impl Iterator<Item = (Cow<'a, str>, Json<'a>)> {
        self.0.into_iter()
    }

    /// The remaining fields, as a map that owns its content.
    pub fn into_map(self) -> Map<String, Value> {
        self.0.into_iter().map(|(key, value)| (key.into_owned(), value.into_value())).collect()
    }
}

impl<'de> Deserialize<'de> for Json<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor { unread: &[], fields: 0 })
    }
}

struct TopLevel {
    unread: &'static [&'static str],
}

impl<'de> DeserializeSeed<'de> for TopLevel {
    type Value = Json<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(JsonVisitor { unread: self.unread, fields: USUAL_FIELDS })
    }
}

/// Text or a key, borrowed where it has no escapes.
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text)))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

/// A record has hardly more fields than this.
const USUAL_FIELDS: usize = 16;

struct JsonVisitor {
    unread: &'static [&'static str],
    /// For how many fields there is room at once.
    fields: usize,
}

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Number::from_f64(number).map_or(Json::Null, Json::Number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Json::String(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Json::String(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Json::String(Cow::Owned(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element()? {
            array.push(item);
        }
        Ok(Json::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut object = Vec::with_capacity(self.fields);
        while let Some(Text(key)) = fields.next_key()? {
            if self.unread.contains(&key.as_ref()) {
                fields.next_value::<IgnoredAny>()?;
            } else {
                object.push((key, fields.next_value()?));
            }
        }
        Ok(Json::Object(Object(object)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_comes_back_equal_with_its_order() {
        let text = r#"{"z":1,"a":[true,null,-2,1.5,"x\n",{"k":"v"}],"m":{"y":18446744073709551615,"b":0}}"#;
        assert_eq!(Json::parse(text).expect("valid").into_value().to_string(), text);
    }

    #[test]
    fn plain_strings_are_borrowed() {
        let value = Json::parse(r#"["plain","esc\"aped"]"#).expect("valid");
        let [Json::String(plain), Json::String(escaped)] = value.as_array().expect("array") else {
            panic!("two strings")
        };
        assert!(matches!(plain, Cow::Borrowed("plain")));
        assert!(matches!(escaped, Cow::Owned(_)));
    }

    #[test]
    fn of_a_repeated_key_the_last_counts() {
        let mut object = Json::parse(r#"{"a":1,"b":2,"a":3}"#).expect("valid").into_object().expect("object");
        assert_eq!(object.get("a").and_then(Json::as_u64), Some(3));
        assert_eq!(object.take("a").and_then(|a| a.as_u64()), Some(3));
        assert_eq!(object.keys().collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn a_key_may_be_repeated_without_end() {
        let text = format!("{{{}\"b\":1}}", "\"a\":0,".repeat(300_000));
        let mut object = Json::parse(&text).expect("valid").into_object().expect("object");
        assert!(object.take("a").is_some());
        assert_eq!(object.keys().collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn unread_fields_are_checked_but_not_kept() {
        let value = Json::parse_without(r#"{"big":[1,2],"x":{"big":1}}"#, &["big"]).expect("valid");
        assert_eq!(value.into_value().to_string(), r#"{"x":{"big":1}}"#);
        assert!(Json::parse_without(r#"{"big":[1,2}"#, &["big"]).is_err());
    }
}
