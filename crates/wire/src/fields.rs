//! Helpers for JSON objects that are written.

use longhaul_conversation::{Body, Part, TokenCount, Vendor};
use serde_json::{Map, Value};

/// The fields of a JSON object that is written, in order.
pub type Fields = Map<String, Value>;

/// An object of these fields.
pub fn object<const N: usize>(fields: [(&str, Value); N]) -> Fields {
    fields.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
}

/// An object of those fields that have a value.
pub(crate) fn said<const N: usize>(fields: [(&str, Option<Value>); N]) -> Fields {
    fields.into_iter().filter_map(|(key, value)| Some((key.to_string(), value?))).collect()
}

/// Takes fields out of an object, if they are of the wanted kind; others stay.
pub(crate) trait Take {
    fn take_string(&mut self, key: &str) -> Option<String>;
    fn take_object(&mut self, key: &str) -> Option<Fields>;
    fn take_array(&mut self, key: &str) -> Option<Vec<Value>>;
}

impl Take for Fields {
    fn take_string(&mut self, key: &str) -> Option<String> {
        self.get(key)?.as_str()?;
        if let Some(Value::String(text)) = self.shift_remove(key) { Some(text) } else { None }
    }

    fn take_object(&mut self, key: &str) -> Option<Fields> {
        self.get(key)?.as_object()?;
        if let Some(Value::Object(fields)) = self.shift_remove(key) { Some(fields) } else { None }
    }

    fn take_array(&mut self, key: &str) -> Option<Vec<Value>> {
        self.get(key)?.as_array()?;
        if let Some(Value::Array(items)) = self.shift_remove(key) { Some(items) } else { None }
    }
}

/// The number of tokens under `key`.
pub(crate) fn tokens(value: &Value, key: &str) -> Option<TokenCount> {
    value.get(key)?.as_u64().map(TokenCount)
}

/// About how many bytes a value takes.
pub(crate) fn size_of(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len() as u64,
        Value::Array(items) => items.iter().map(|item| 8 + size_of(item)).sum(),
        Value::Object(fields) => size_of_fields(fields),
    }
}

/// About how many bytes the fields of an object take.
pub(crate) fn size_of_fields(fields: &Fields) -> u64 {
    fields.iter().map(|(key, value)| key.len() as u64 + size_of(value)).sum()
}

/// The object in a value; anything else is an empty one.
pub(crate) fn into_object(value: Value) -> Fields {
    if let Value::Object(fields) = value { fields } else { Fields::new() }
}

/// The arguments of a call that were sent as text; what is no JSON stays text.
pub(crate) fn parse_arguments(text: String) -> Value {
    if text.trim().is_empty() {
        return Value::Object(Fields::new());
    }
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

/// The arguments of a call as an object.
pub(crate) fn arguments_object(args: &Value) -> Value {
    match args {
        Value::Object(_) => args.clone(),
        Value::Null => Value::Object(Fields::new()),
        other => Value::Object(object([("input", other.clone())])),
    }
}

/// The vendor's own fields of a part, to be written back; what only concerns us is left out.
pub(crate) fn own_fields(part: &Part, vendor: Vendor) -> Fields {
    const OURS: [&str; 3] = ["detachedSignature", "detachedReasoning", "callIndex"];
    let mut fields = match &part.extra {
        Some(extra) if extra.vendor == vendor => extra.fields.clone(),
        _ => Fields::new(),
    };
    fields.retain(|key, _| !OURS.contains(&key.as_str()));
    fields
}

/// Adds the fields that are not there yet.
pub fn add_missing(to: &mut Fields, fields: Fields) {
    for (key, value) in fields {
        to.entry(key).or_insert(value);
    }
}

/// Takes the object under `key` out of `fields` and adds it to `inner`: the way back for what a reader found beside the
/// fields it knew.
pub(crate) fn restore_rest(inner: &mut Fields, fields: &mut Fields, key: &str) {
    if let Some(Value::Object(rest)) = fields.shift_remove(key) {
        add_missing(inner, rest);
    }
}

/// True if a part has something to say to `vendor`.
pub(crate) fn says_something(part: &Part, vendor: Vendor) -> bool {
    match &part.body {
        Body::Text(text) => !text.is_empty() || !own_fields(part, vendor).is_empty(),
        _ => !part.is_empty(),
    }
}

/// Overrides `body` with what the caller asked for besides: a null takes a field out, objects are merged.
pub(crate) fn apply_overrides(body: &mut Fields, overrides: Fields) {
    for (key, value) in overrides {
        match (value, body.get_mut(&key)) {
            (Value::Null, _) => {
                body.shift_remove(&key);
            }
            (Value::Object(fields), Some(Value::Object(known))) => apply_overrides(known, fields),
            (value, _) => {
                body.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn overrides_merge_and_remove() {
        let mut body = into_object(json!({"a": 1, "b": {"c": 2, "d": 3}, "e": 4}));
        apply_overrides(&mut body, into_object(json!({"b": {"d": 5, "f": 6}, "e": null, "g": [7]})));
        assert_eq!(Value::Object(body), json!({"a": 1, "b": {"c": 2, "d": 5, "f": 6}, "g": [7]}));
    }

    #[test]
    fn arguments_that_are_no_json_stay_text() {
        assert_eq!(parse_arguments("{\"a\": 1}".into()), json!({"a": 1}));
        assert_eq!(parse_arguments(" ".into()), json!({}));
        assert_eq!(parse_arguments("{\"a\": ".into()), json!("{\"a\": "));
        assert_eq!(arguments_object(&json!("{\"a\": ")), json!({"input": "{\"a\": "}));
    }
}
