//! The searchable texts of a message.

use std::borrow::Cow;
use std::fmt::Write as _;

use longhaul_conversation::{Body, CallId, Origin, Part};
use serde_json::Value;

/// A searchable text of a message.
pub(crate) struct SearchField<'a> {
    pub(crate) origin: Origin,
    /// The tool that is called.
    pub(crate) tool: Option<&'a str>,
    /// The call that is answered.
    pub(crate) answers: Option<&'a CallId>,
    pub(crate) text: Cow<'a, str>,
    /// The weight of this kind of text.
    pub(crate) prior: f32,
}

impl<'a> SearchField<'a> {
    /// The text of a part, if it has one.
    pub(crate) fn of(part: &'a Part) -> Option<Self> {
        let origin = part.origin;
        let plain = |text| Self { origin, tool: None, answers: None, text, prior: prior_of(origin) };
        let field = match &part.body {
            Body::Text(text) => plain(Cow::Borrowed(text.as_str())),
            Body::Thought(thought) => Self { prior: 0.9, ..plain(Cow::Borrowed(thought.text.as_str())) },
            Body::Call(call) => {
                let mut text = call.name.clone();
                render(&call.args, "", &mut text);
                Self { tool: Some(&call.name), ..plain(Cow::Owned(text)) }
            }
            Body::Result(result) => {
                let text = result.readable();
                Self { tool: result.name.as_deref(), answers: Some(&result.call), ..plain(text) }
            }
            Body::File(file) => plain(Cow::Borrowed(file.uri.as_str())),
            Body::Media(_) | Body::Opaque(_) => return None,
        };
        (!field.text.is_empty()).then_some(field)
    }
}

/// The weight of an origin: messages of people and models are deliberate; tool output often matches by chance, and
/// summaries repeat.
fn prior_of(origin: Origin) -> f32 {
    match origin {
        Origin::User => 1.2,
        Origin::Model => 1.1,
        Origin::Tool => 1.0,
        Origin::Summary => 0.5,
        Origin::Memory | Origin::Hook => 0.8,
    }
}

/// Renders the arguments of a call as lines `name: value`, with strings verbatim.
fn render(value: &Value, name: &str, text: &mut String) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                render(value, &name, text);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| render(item, name, text)),
        Value::Null => {}
        Value::String(value) => push(name, value, text),
        other => push(name, &other.to_string(), text),
    }
}

fn push(name: &str, value: &str, text: &mut String) {
    let _ = if name.is_empty() { write!(text, "\n{value}") } else { write!(text, "\n{name}: {value}") };
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{ToolCall, ToolResult};
    use serde_json::json;

    #[track_caller]
    fn check(part: &Part, expected: Option<&str>) {
        assert_eq!(SearchField::of(part).map(|field| field.text.into_owned()).as_deref(), expected);
    }

    #[test]
    fn parts_are_searched_as_people_read_them() {
        check(&Part::user_text("Hello"), Some("Hello"));
        check(&Part::user_text(""), None);
        check(&Part::result(ToolResult::text("c", "a\nb")), Some("a\nb"));
        let call = ToolCall::new("c", "edit").with_args(json!({
            "path": "src/a.rs", "text": "x\n\"y\"", "at": {"line": 3, "marks": ["p", true, null]}
        }));
        check(
            &Part::call(call),
            Some("edit\npath: src/a.rs\ntext: x\n\"y\"\nat.line: 3\nat.marks: p\nat.marks: true"),
        );
        check(&Part::call(ToolCall::new("c", "ls")), Some("ls"));
    }
}
