//! Tool calls and their results.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::{Body, CallId, Part};

/// A tool call of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The id that ties the call to its result.
    pub id: CallId,
    /// The tool's name.
    pub name: String,
    /// The arguments, usually an object; the order of keys is kept.
    pub args: Value,
    /// The vendor's id of the reasoning item that this call must be sent with, if the vendor ties them.
    pub reasoning: Option<String>,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// The call this answers.
    pub call: CallId,
    /// The tool's name, if the source gives it.
    pub name: Option<String>,
    /// The status.
    pub status: ToolStatus,
    /// The main output.
    pub output: Output,
    /// Additional texts and media, in order.
    pub nested: Vec<Part>,
}

/// The status of a tool result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ToolStatus {
    /// Not stated by the source.
    #[default]
    Unstated,
    /// It succeeded.
    Succeeded,
    /// It failed; the output says why.
    Failed,
    /// It was stopped or refused before it finished.
    Cancelled,
}

/// The main output of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Output {
    /// None, or only nested parts.
    #[default]
    Empty,
    /// Text.
    Text(String),
    /// Structured data, usually an object.
    Structured(Value),
}

impl ToolCall {
    /// A call without arguments.
    pub fn new(id: impl Into<CallId>, name: impl Into<String>) -> Self {
        Self { id: id.into(), name: name.into(), args: Value::Object(Map::new()), reasoning: None }
    }

    /// Sets the arguments.
    #[must_use]
    pub fn with_args(mut self, args: Value) -> Self {
        self.args = args;
        self
    }
}

impl ToolResult {
    /// A text result of `call`.
    pub fn text(call: impl Into<CallId>, text: impl Into<String>) -> Self {
        Self {
            call: call.into(),
            name: None,
            status: ToolStatus::Unstated,
            output: Output::Text(text.into()),
            nested: Vec::new(),
        }
    }

    /// Sets the tool's name.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the status.
    #[must_use]
    pub fn with_status(mut self, status: ToolStatus) -> Self {
        self.status = status;
        self
    }

    /// All text of the result as a reader sees it: the output, then the nested texts.
    ///
    /// In structured output, a string under `output`, `content` or `error` is the text; otherwise its JSON is.
    pub fn readable(&self) -> Cow<'_, str> {
        let main = match &self.output {
            Output::Empty => Cow::Borrowed(""),
            Output::Text(text) => Cow::Borrowed(text.as_str()),
            Output::Structured(value) => readable_structure(value),
        };
        let mut nested = self.nested.iter().filter_map(|part| match &part.body {
            Body::Text(text) if !text.is_empty() => Some(text.as_str()),
            _ => None,
        });
        let Some(first) = nested.next() else { return main };
        if main.is_empty() && nested.clone().next().is_none() {
            return Cow::Borrowed(first);
        }
        let mut joined = main.into_owned();
        for text in std::iter::once(first).chain(nested) {
            if !joined.is_empty() {
                joined.push('\n');
            }
            joined.push_str(text);
        }
        Cow::Owned(joined)
    }
}

fn readable_structure(value: &Value) -> Cow<'_, str> {
    let named = match value {
        Value::String(text) => Some(text),
        Value::Object(fields) if fields.len() == 1 => ["output", "content", "error"]
            .iter()
            .find_map(|key| fields.get(*key))
            .and_then(|value| if let Value::String(text) = value { Some(text) } else { None }),
        _ => None,
    };
    named.map_or_else(|| Cow::Owned(value.to_string()), |text| Cow::Borrowed(text.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Origin;
    use serde_json::json;

    #[track_caller]
    fn check_readable(output: Output, nested: &[&str], expected: &str) {
        let result = ToolResult {
            output,
            nested: nested.iter().map(|text| Part::text(Origin::Tool, *text)).collect(),
            ..ToolResult::text("c", "")
        };
        assert_eq!(result.readable(), expected);
    }

    #[test]
    fn a_result_reads_as_its_text() {
        check_readable(Output::Empty, &[], "");
        check_readable(Output::Text("plain".into()), &[], "plain");
        check_readable(Output::Structured(json!({"output": "listed"})), &[], "listed");
        check_readable(Output::Structured(json!({"error": "no such file"})), &[], "no such file");
        check_readable(Output::Structured(json!({"a": 1, "output": "x"})), &[], r#"{"a":1,"output":"x"}"#);
        check_readable(Output::Empty, &["only"], "only");
        check_readable(Output::Text("main".into()), &["more", "", "last"], "main\nmore\nlast");
    }
}
