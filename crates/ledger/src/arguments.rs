//! Reads single arguments of tool calls.

use serde_json::Value;

use crate::entries::LineRange;
use crate::fields::Field;
use crate::paths::file_name;

/// A field of an object. Where there are few, looking at each is faster than hashing the key.
pub(crate) fn get<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    match value {
        Value::Object(fields) if fields.len() <= 12 => {
            fields.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
        }
        value => value.get(key),
    }
}

/// The text in a field, under the first of its names that is there.
pub(crate) fn text_argument(args: &Value, field: Field) -> Option<&str> {
    field.names().iter().find_map(|key| get(args, key)?.as_str())
}

/// The id in a field: a text or a number.
pub(crate) fn argument_id(args: &Value, field: Field) -> Option<String> {
    field.names().iter().find_map(|key| match get(args, key)? {
        Value::String(id) => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    })
}

/// True if a field says so.
pub(crate) fn is_true(args: &Value, key: &str) -> bool {
    get(args, key).is_some_and(|value| value == &Value::Bool(true) || value.as_str() == Some("true"))
}

/// The path of a file among the arguments.
pub(crate) fn path_in(args: &Value) -> Option<String> {
    text_argument(args, Field::Path).and_then(file_name).map(str::to_string)
}

/// The new content of a file among the arguments.
pub(crate) fn content_in(args: &Value) -> Option<&str> {
    text_argument(args, Field::Content)
}

/// The patch among the arguments, in Codex's language.
pub(crate) fn patch_in(args: &Value) -> Option<&str> {
    text_argument(args, Field::Patch).filter(|text| text.trim_start().starts_with("*** Begin Patch"))
}

/// The lines that a reading asks for.
pub(crate) fn range_in(args: &Value) -> Option<LineRange> {
    let number = |keys: &[&str]| {
        keys.iter().find_map(|key| {
            let value = get(args, key)?;
            value.as_i64().or_else(|| value.as_str()?.parse().ok())
        })
    };
    let line = |number: i64| u32::try_from(number).ok();
    if let Some([first, last]) = get(args, "view_range").and_then(Value::as_array).map(Vec::as_slice) {
        let last = last.as_i64().filter(|last| *last > 0).and_then(line);
        return Some(LineRange { first: first.as_i64().and_then(line)?.max(1), last });
    }
    let first = number(&["start_line", "offset", "startLine", "line_start", "start"]);
    let end = number(&["end_line", "endLine", "line_end", "end"]).filter(|end| *end > 0);
    let limit = number(&["limit", "max_lines"]);
    if first.is_none_or(|first| first <= 1) && end.is_none() && limit.is_none() {
        return None;
    }
    let first = first.and_then(line).unwrap_or(1).max(1);
    let last = end
        .and_then(line)
        .or_else(|| limit.and_then(line).map(|limit| first.saturating_add(limit.saturating_sub(1))));
    Some(LineRange { first, last })
}
