//! Splits JSON into borrowed raw pieces: the fields of an object, the items of an array. What stands inside a piece is checked
//! to be JSON and otherwise not looked at, so that numbers, escapes, unknown fields and repeated keys stay as they were sent.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A field of an object, its value as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawField<'a> {
    /// The name, escapes resolved.
    pub key: Cow<'a, str>,
    /// The value, without white space around it.
    pub value: &'a str,
}

/// The fields of an object in their order, repeated ones included; none if the text is no object.
///
/// ```
/// use longhaul_wire::raw_fields;
/// let fields = raw_fields(r#"{"a": 1.0, "b":[ ]}"#).expect("an object");
/// assert_eq!(fields.iter().map(|field| field.value).collect::<Vec<_>>(), ["1.0", "[ ]"]);
/// ```
pub fn raw_fields(text: &str) -> Option<Vec<RawField<'_>>> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let fields = reader.deserialize_map(Fields).ok()?;
    reader.end().ok()?;
    Some(fields)
}

/// The items of an array; none if the text is no array.
pub fn raw_items(text: &str) -> Option<Vec<&str>> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let items = reader.deserialize_seq(Items).ok()?;
    reader.end().ok()?;
    Some(items)
}

/// True if a raw value is an object.
pub fn is_object(raw: &str) -> bool {
    raw.starts_with('{')
}

/// The place of a piece in the text that it was split from.
///
/// # Panics
/// If `piece` is no piece of `whole`.
pub fn range_in(whole: &str, piece: &str) -> Range<usize> {
    let start = (piece.as_ptr() as usize).checked_sub(whole.as_ptr() as usize);
    let start = start.filter(|start| start + piece.len() <= whole.len());
    let start = start.expect("pieces borrow from the text that they were split from");
    start..start + piece.len()
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Vec<RawField<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(Key(key)) = map.next_key()? {
            let value: &RawValue = map.next_value()?;
            fields.push(RawField { key, value: value.get() });
        }
        Ok(fields)
    }
}

struct Items;

impl<'de> Visitor<'de> for Items {
    type Value = Vec<&'de str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element::<&RawValue>()? {
            items.push(item.get());
        }
        Ok(items)
    }
}

/// A name that is borrowed where it has no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Name;
        impl<'de> Visitor<'de> for Name {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(name.to_string())))
            }
        }
        reader.deserialize_str(Name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_fields(text: &str, expected: Option<&[(&str, &str)]>) {
        let fields = raw_fields(text);
        let found: Option<Vec<(&str, &str)>> =
            fields.as_ref().map(|fields| fields.iter().map(|field| (&*field.key, field.value)).collect());
        assert_eq!(found.as_deref(), expected, "{text}");
        for field in fields.iter().flatten() {
            assert_eq!(&text[range_in(text, field.value)], field.value);
        }
    }

    #[test]
    fn values_stay_as_they_stand() {
        check_fields(r#"{}"#, Some(&[]));
        check_fields(
            " {\"a\" : 1.0 ,\"n\":9007199254740993, \"e\":1E+2}\n",
            Some(&[("a", "1.0"), ("n", "9007199254740993"), ("e", "1E+2")]),
        );
        check_fields(
            r#"{"s":"\u00e9\ud800 \/ \u0000","a":1,"a":2}"#,
            Some(&[("s", r#""\u00e9\ud800 \/ \u0000""#), ("a", "1"), ("a", "2")]),
        );
        check_fields(r#"{"\u0061b":[ 1 , {} ]}"#, Some(&[("ab", "[ 1 , {} ]")]));
    }

    #[test]
    fn what_is_no_object_has_no_fields() {
        for text in ["", "[]", "1", "{", "{\"a\":}", "{} {}", "{\"a\":1,}", "nul", "{\"a\":\"\u{1}\"}"] {
            check_fields(text, None);
        }
    }

    #[test]
    fn depth_is_no_matter() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(raw_fields(&deep).map(|fields| fields.len()), Some(1));
    }

    #[test]
    fn items_are_found_where_they_stand() {
        let text = " [ 1.50, \"a,]\" , {\"b\":[]} ] ";
        let items = raw_items(text).expect("an array");
        assert_eq!(items, ["1.50", "\"a,]\"", "{\"b\":[]}"]);
        assert_eq!(range_in(text, items[1]), 9..14);
        assert_eq!(raw_items("{}"), None);
    }
}
