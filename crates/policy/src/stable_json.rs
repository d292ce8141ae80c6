//! Writes arguments so that equal ones look equal, and so that a pattern can tell a key from text that looks like one.

use serde_json::{Map, Value};

/// The JSON of `args` with the keys of every object sorted and no spaces.
///
/// Each pair at the top is put between NUL characters, as in `{\0"file_path":"a.rs"\0,\0"limit":3\0}`. JSON writes a NUL
/// inside a string as an escape, so the pattern `\0"file_path":"a\.rs"\0` can match a real argument only, never a text
/// that imitates one.
pub fn stable_json(args: &Value) -> String {
    let mut out = String::new();
    match args {
        Value::Object(fields) => write_object(&mut out, fields, "\0"),
        other => write_value(&mut out, other),
    }
    out
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Object(fields) => write_object(out, fields, ""),
        Value::Array(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

fn write_object(out: &mut String, fields: &Map<String, Value>, around: &str) {
    let mut pairs: Vec<_> = fields.iter().collect();
    pairs.sort_unstable_by_key(|(key, _)| *key);
    out.push('{');
    for (place, (key, value)) in pairs.into_iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        out.push_str(around);
        out.push_str(&Value::from(key.as_str()).to_string());
        out.push(':');
        write_value(out, value);
        out.push_str(around);
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(args: &Value, expected: &str) {
        assert_eq!(stable_json(args).replace('\0', "@"), expected);
    }

    #[test]
    fn keys_are_sorted_at_every_level() {
        check(&json!({"b": {"d": 1, "c": [{"z": 1, "a": 2}]}, "a": 1}), {
            r#"{@"a":1@,@"b":{"c":[{"a":2,"z":1}],"d":1}@}"#
        });
    }

    #[test]
    fn only_top_level_pairs_are_delimited() {
        check(&json!({"a": {"b": 1}}), r#"{@"a":{"b":1}@}"#);
        check(&json!({}), "{}");
        check(&json!([{"b": 1}]), r#"[{"b":1}]"#);
        check(&json!("text"), r#""text""#);
        check(&json!(null), "null");
    }

    #[test]
    fn a_nul_in_a_text_is_escaped() {
        check(&json!({"a": "\0\"file_path\":\"x\"\0"}), r#"{@"a":"\u0000\"file_path\":\"x\"\u0000"@}"#);
    }
}
