//! Reads JSON with comments into a tree that knows the line of every key and the place of every value.

use std::fmt;
use std::ops::Range;

use serde_json::Value;

use super::blank::{Unclosed, blank_comments};

/// A value and its place in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct JsoncNode {
    /// The line of the key, from 1; of the outermost value, its own.
    pub line: usize,
    /// The value.
    pub content: JsoncContent,
    /// The bytes of the key, quotes included; none for the outermost value.
    pub(super) key_span: Range<usize>,
    /// The bytes of the value.
    pub(super) span: Range<usize>,
}

/// The content of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum JsoncContent {
    /// Keys with their values, in the order of the text; a repeated key stands here twice.
    Object(Vec<(String, JsoncNode)>),
    /// Anything else.
    Plain(Value),
}

impl JsoncNode {
    /// The keys and values of an object; of anything else, none.
    pub fn entries(&self) -> &[(String, JsoncNode)] {
        match &self.content {
            JsoncContent::Object(entries) => entries,
            JsoncContent::Plain(_) => &[],
        }
    }

    /// The value of a key. Of a repeated key, the last one counts.
    pub fn get(&self, key: &str) -> Option<&JsoncNode> {
        self.entries().iter().rev().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// The value without places.
    pub fn to_value(&self) -> Value {
        match &self.content {
            JsoncContent::Plain(value) => value.clone(),
            JsoncContent::Object(entries) => {
                entries.iter().map(|(name, node)| (name.clone(), node.to_value())).collect()
            }
        }
    }

    /// Set for objects.
    pub fn is_object(&self) -> bool {
        matches!(self.content, JsoncContent::Object(_))
    }
}

/// A text that is no JSON with comments, and the place of the first fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsoncError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// The byte that the place is at; none at the end of the text.
    pub byte: Option<u8>,
    /// The fault.
    pub fault: JsoncFault,
}

/// A fault of a text that should be JSON with comments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsoncFault {
    /// The text is UTF-16.
    Utf16,
    /// The text is not UTF-8 outside of comments.
    NotUtf8,
    /// A comment never ends.
    UnclosedComment,
    /// The text is no JSON.
    Syntax {
        /// The reason as the parser of JSON gives it, without a place.
        reason: String,
        /// The line and column that it gives, which stand at the end of its message.
        place: (usize, usize),
    },
    /// A value that is edited as an object is none.
    NotAnObject {
        /// The key of the value; none of the outermost one.
        key: Option<String>,
    },
}

impl fmt::Display for JsoncError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fault {
            JsoncFault::Utf16 => f.write_str("the file is UTF-16, not UTF-8"),
            JsoncFault::NotUtf8 => f.write_str("the file is not UTF-8"),
            JsoncFault::UnclosedComment => f.write_str("unclosed comment"),
            JsoncFault::Syntax { reason, place: (0, _) } => f.write_str(reason),
            JsoncFault::Syntax { reason, place: (line, column) } => {
                write!(f, "{reason} at line {line} column {column}")
            }
            JsoncFault::NotAnObject { key: None } => f.write_str("not a JSON object"),
            JsoncFault::NotAnObject { key: Some(key) } => write!(f, "{key:?} is not an object"),
        }
    }
}

impl std::error::Error for JsoncError {}

/// Reads JSON with comments and trailing commas, behind a byte order mark if there is one. A text of space and comments alone
/// has no value.
///
/// # Errors
/// [`JsoncError`] with the place of the first fault.
///
/// ```
/// use longhaul_workspace::parse_jsonc;
///
/// let root = parse_jsonc(b"{\n  // usual\n  \"model\": \"flash\",\n}")?.expect("an object");
/// let model = root.get("model").expect("a key");
/// assert_eq!((model.line, model.to_value()), (3, "flash".into()));
/// # Ok::<(), longhaul_workspace::JsoncError>(())
/// ```
pub fn parse_jsonc(bytes: &[u8]) -> Result<Option<JsoncNode>, JsoncError> {
    let start = start_of_text(bytes);
    let text = &bytes[start..];
    if matches!(text, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
        return Err(JsoncError::at(text, 0, JsoncFault::Utf16));
    }
    let blanked = blank_comments(text)
        .map_err(|Unclosed(index)| JsoncError::at(text, index, JsoncFault::UnclosedComment))?;
    if let Err(error) = std::str::from_utf8(&blanked) {
        return Err(JsoncError::at(text, error.valid_up_to(), JsoncFault::NotUtf8));
    }
    // Only what JSON has for space: a form feed would be in the way of what is added later.
    if blanked.iter().all(|byte| is_space(*byte)) {
        return Ok(None);
    }
    // A look at the whole finds every fault, so that the places need not be looked for with care.
    if let Err(error) = serde_json::from_slice::<Value>(&blanked) {
        return Err(JsoncError::of_syntax(text, &error));
    }
    let lines = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(index, _)| index + 1);
    let tree = JsoncTree { json: &blanked, line_starts: lines.collect(), start };
    let root = skip_space(&blanked, 0);
    Ok(tree.node(root..root, root).map(|(node, _)| node))
}

/// The place where the text behind a byte order mark begins.
pub(super) fn start_of_text(bytes: &[u8]) -> usize {
    if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 }
}

impl JsoncError {
    /// A fault at this byte of the text, of which the byte order mark is no part.
    fn at(text: &[u8], index: usize, fault: JsoncFault) -> Self {
        let before = &text[..index.min(text.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let column = String::from_utf8_lossy(&before[line_start..]).chars().count() + 1;
        Self { line, column, byte: text.get(index).copied(), fault }
    }

    /// A fault that belongs to no place of the text.
    pub(super) fn of_object(key: Option<&str>) -> Self {
        Self {
            line: 1,
            column: 1,
            byte: None,
            fault: JsoncFault::NotAnObject { key: key.map(str::to_string) },
        }
    }

    fn of_syntax(text: &[u8], error: &serde_json::Error) -> Self {
        let place = (error.line(), error.column());
        let message = error.to_string();
        let end = format!(" at line {} column {}", place.0, place.1);
        let reason = message.strip_suffix(&end).unwrap_or(&message).to_string();
        let line_start = match error.line().checked_sub(2) {
            Some(breaks) => {
                let mut ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
                ends.nth(breaks).map_or(text.len(), |(index, _)| index + 1)
            }
            None => 0,
        };
        // Columns count from 1; column 0 is the line break before.
        let index = (line_start + error.column()).saturating_sub(1).min(text.len());
        Self::at(text, index, JsoncFault::Syntax { reason, place })
    }
}

/// Finds the values of a text that is known to be JSON.
struct JsoncTree<'j> {
    json: &'j [u8],
    /// The places where all lines but the first begin.
    line_starts: Vec<usize>,
    /// The length of the byte order mark before the JSON.
    start: usize,
}

impl JsoncTree<'_> {
    /// The value that begins here, and its end in the JSON.
    fn node(&self, key: Range<usize>, from: usize) -> Option<(JsoncNode, usize)> {
        let (content, end) = match *self.json.get(from)? {
            b'{' => self.object(from + 1)?,
            _ => {
                let end = value_end(self.json, from)?;
                let value = serde_json::from_slice(self.json.get(from..end)?).ok()?;
                (JsoncContent::Plain(value), end)
            }
        };
        let line = self.line_starts.partition_point(|start| *start <= key.start) + 1;
        let (key_span, span) = (self.in_text(key), self.in_text(from..end));
        Some((JsoncNode { line, content, key_span, span }, end))
    }

    /// The members of an object behind its brace, and its end.
    fn object(&self, from: usize) -> Option<(JsoncContent, usize)> {
        let mut entries = Vec::new();
        let mut index = skip_space(self.json, from);
        while *self.json.get(index)? != b'}' {
            let key = index..value_end(self.json, index)?;
            let colon = skip_space(self.json, key.end);
            let name = serde_json::from_slice(self.json.get(key.clone())?).ok()?;
            let (node, end) = self.node(key, skip_space(self.json, colon + 1))?;
            entries.push((name, node));
            index = skip_space(self.json, end);
            if *self.json.get(index)? == b',' {
                index = skip_space(self.json, index + 1);
            }
        }
        Some((JsoncContent::Object(entries), index + 1))
    }

    fn in_text(&self, range: Range<usize>) -> Range<usize> {
        range.start + self.start..range.end + self.start
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn skip_space(json: &[u8], from: usize) -> usize {
    let rest = json.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| is_space(**byte)).count()
}

/// The end of the value that begins here.
fn value_end(json: &[u8], from: usize) -> Option<usize> {
    let (mut depth, mut index) = (0_usize, from);
    loop {
        match *json.get(index)? {
            b'"' => index = string_end(json, index)?,
            b'[' | b'{' => {
                depth += 1;
                index += 1;
            }
            b']' | b'}' | b',' | b':' if depth == 0 => return Some(index),
            b']' | b'}' => {
                depth -= 1;
                index += 1;
            }
            byte if is_space(byte) && depth == 0 => return Some(index),
            _ => {
                index += 1;
                // A number or a word at the end of the text.
                if index == json.len() && depth == 0 {
                    return Some(index);
                }
                continue;
            }
        }
        if depth == 0 {
            return Some(index);
        }
    }
}

fn string_end(json: &[u8], from: usize) -> Option<usize> {
    let mut index = from + 1;
    loop {
        match *json.get(index)? {
            b'"' => return Some(index + 1),
            b'\\' => index += 2,
            _ => index += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tree as lines: the line number, the dotted key, the value, and what stands at its place.
    fn outline(text: &str, node: &JsoncNode, path: &str, lines: &mut Vec<String>) {
        match &node.content {
            JsoncContent::Object(entries) => {
                assert!(text[node.span.clone()].starts_with('{') && text[node.span.clone()].ends_with('}'));
                for (key, child) in entries {
                    assert!(text[child.key_span.clone()].starts_with('"'));
                    outline(text, child, &format!("{path}.{key}"), lines);
                }
            }
            JsoncContent::Plain(value) => {
                lines.push(format!("{}{path}={value} {}", node.line, &text[node.span.clone()]));
            }
        }
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let mut lines = Vec::new();
        let root = parse_jsonc(text.as_bytes()).expect("JSON with comments").expect("a value");
        outline(text, &root, "", &mut lines);
        assert_eq!(lines, expected, "{text}");
    }

    #[test]
    fn every_value_knows_its_place() {
        check(
            "{\"a\": 1,\n \"b\": {\"c\": [1,2],\n\n\"d\": \"x\"}}",
            &["1.a=1 1", "2.b.c=[1,2] [1,2]", "4.b.d=\"x\" \"x\""],
        );
        check("// one\n{ /* two\n three */ \"a\"\n:\n1, }", &["3.a=1 1"]);
        check("\u{feff}{\r\n\"a\": 1,\r\n\"b\": null\r\n}\r\n", &["2.a=1 1", "3.b=null null"]);
        check("{\"\\u0061\": \"é\"}", &["1.a=\"é\" \"é\""]);
        check(
            "{\"a\": 1,\n\"a\": {},\"a\": [{\"b\": \"]\"}]}",
            &["1.a=1 1", "2.a=[{\"b\":\"]\"}] [{\"b\": \"]\"}]"],
        );
        check("\n\n[1]", &["3=[1] [1]"]);
        check("1e3", &["1=1000.0 1e3"]);
        assert_eq!(parse_jsonc("\u{feff} // nothing\r\n".as_bytes()), Ok(None));
    }

    #[test]
    fn faults_are_told_as_the_parser_of_json_tells_them() {
        for text in ["{\n \"a\" 1}", "{", "[1,,2]", "{} {}", "nonsense", "{\"a\": \"\n\"}", "\u{c}"] {
            let error = parse_jsonc(text.as_bytes()).expect_err("no JSON");
            let plain = serde_json::from_str::<Value>(text).expect_err("no JSON");
            assert_eq!(error.to_string(), plain.to_string());
        }
    }
}
