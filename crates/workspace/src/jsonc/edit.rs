//! Sets and removes keys in the text of JSON with comments, so that comments, order, layout and line endings stay.

use serde_json::Value;

use super::tree::{JsoncError, JsoncNode, parse_jsonc, start_of_text};

/// The text of JSON with comments, and its value.
///
/// ```
/// use longhaul_workspace::{JsoncDocument, NewKey};
///
/// let document = JsoncDocument::parse("{\n  \"a\": 1, // one\n}\n".into())?;
/// let changed = document.set(&["b"], &2.into(), NewKey::Last)?.remove("a")?;
/// assert_eq!(changed.text(), "{\n   // one\n  \"b\": 2\n}\n");
/// # Ok::<(), longhaul_workspace::JsoncError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct JsoncDocument {
    text: String,
    root: Option<JsoncNode>,
}

/// The place of a key that an object does not have yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewKey {
    /// Before the other keys.
    First,
    /// Behind the other keys.
    Last,
}

impl JsoncDocument {
    /// Reads a text.
    ///
    /// # Errors
    /// [`JsoncError`] where it is no JSON with comments.
    pub fn parse(text: String) -> Result<Self, JsoncError> {
        let root = parse_jsonc(text.as_bytes())?;
        Ok(Self { text, root })
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The outermost value; none where there is only space and comments.
    pub fn root(&self) -> Option<&JsoncNode> {
        self.root.as_ref()
    }

    /// The same document with this value under the last of `keys`, each of which stands in the object under the one before.
    /// Repeated keys all get the value; objects that are missing are added.
    ///
    /// # Errors
    /// [`JsoncError`] where something on the way is no object.
    pub fn set(&self, keys: &[&str], value: &Value, new_key: NewKey) -> Result<Self, JsoncError> {
        let Some(mut object) = self.root.as_ref() else {
            return Self::parse(self.with_first_object(&nested(keys, value)));
        };
        let mut above = None;
        for (depth, key) in keys.iter().enumerate() {
            if !object.is_object() {
                return Err(JsoncError::of_object(above));
            }
            let is_last = depth + 1 == keys.len();
            match object.get(key) {
                None => {
                    let member = member(key, &nested(&keys[depth + 1..], value), depth + 1);
                    return Self::parse(self.with_member(object, &member, depth + 1, new_key));
                }
                Some(_) if is_last => {
                    return Self::parse(self.with_value(object, key, &render(value, depth + 1)));
                }
                Some(inner) => (object, above) = (inner, Some(*key)),
            }
        }
        Ok(self.clone())
    }

    /// The same document without this key of the outermost object, repeated or not.
    ///
    /// # Errors
    /// [`JsoncError`], never of a document that was read.
    pub fn remove(&self, key: &str) -> Result<Self, JsoncError> {
        self.remove_at(&[key])
    }

    /// The same document without the last of `keys`, each of which stands in the object under the one before. Objects that
    /// it leaves empty stay.
    ///
    /// # Errors
    /// [`JsoncError`], never of a document that was read.
    pub fn remove_at(&self, keys: &[&str]) -> Result<Self, JsoncError> {
        let Some((last, above)) = keys.split_last() else { return Ok(self.clone()) };
        let mut document = self.clone();
        loop {
            let object = above.iter().try_fold(document.root.as_ref(), |object, key| Some(object?.get(key)));
            let entries = object.flatten().map(JsoncNode::entries).unwrap_or_default();
            let Some(index) = entries.iter().position(|(name, _)| name == last) else { return Ok(document) };
            document = Self::parse(document.without_entry(entries, index))?;
        }
    }

    /// The text with an object behind what is there, which is only space and comments.
    fn with_first_object(&self, value: &Value) -> String {
        let (mark, comments) = self.text.split_at(start_of_text(self.text.as_bytes()));
        let comments = comments.trim_end();
        let gap = if comments.is_empty() { "" } else { "\n" };
        format!("{mark}{comments}{}", self.with_line_ends(&format!("{gap}{}\n", render(value, 0))))
    }

    /// The text with another value behind every such key of an object.
    fn with_value(&self, object: &JsoncNode, key: &str, value: &str) -> String {
        let mut text = self.text.clone();
        // From the end, so that what is still to be changed does not move.
        for (_, node) in object.entries().iter().rev().filter(|(name, _)| name == key) {
            text.replace_range(node.span.clone(), &self.with_line_ends(value));
        }
        text
    }

    /// The text with one more member in an object.
    fn with_member(&self, object: &JsoncNode, member: &str, depth: usize, new_key: NewKey) -> String {
        let mut text = self.text.clone();
        let mut insert = |index: usize, new: &str| text.insert_str(index, &self.with_line_ends(new));
        let indent = "  ".repeat(depth);
        let last = object.entries().last();
        if new_key == NewKey::First {
            let end = if last.is_none() { "\n" } else { "," };
            insert(object.span.start + 1, &format!("\n{indent}{member}{end}"));
            return text;
        }
        let close = object.span.end - 1;
        let line = self.text[..close].rfind('\n').map_or(0, |end| end + 1);
        if line > 0 && self.text[line..close].trim().is_empty() {
            insert(line, &format!("{indent}{member}\n"));
        } else {
            insert(close, &format!("\n{indent}{member}\n{}", &indent[2..]));
        }
        if let Some((_, last)) = last
            && self.comma_after(last).is_none()
        {
            insert(last.span.end, ",");
        }
        text
    }

    /// The text without a member of an object, the comma that belongs to it, and its line if nothing else is on it.
    fn without_entry(&self, entries: &[(String, JsoncNode)], index: usize) -> String {
        let mut text = self.text.clone();
        let node = &entries[index].1;
        let comma = self.comma_after(node);
        let end = comma.map_or(node.span.end, |comma| comma + 1);
        let start = node.key_span.start;
        let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
        let rest = text[end..].find('\n').map_or(text.len(), |length| end + length + 1);
        let is_alone = line > 0 && text[line..start].trim().is_empty() && text[end..rest].trim().is_empty();
        text.replace_range(if is_alone { line..rest } else { start..end }, "");
        if comma.is_none()
            && let Some((_, before)) = index.checked_sub(1).map(|before| &entries[before])
            && let Some(comma) = self.comma_after(before)
        {
            text.remove(comma);
        }
        text
    }

    /// The comma between this value and whatever follows it, outside of comments.
    fn comma_after(&self, node: &JsoncNode) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut index = node.span.end;
        loop {
            let rest = bytes.get(index..)?;
            index += match rest {
                [b',', ..] => return Some(index),
                [b'/', b'/', ..] => rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
                [b'/', b'*', ..] => rest[2..].windows(2).position(|pair| pair == b"*/")? + 4,
                [byte, ..] if byte.is_ascii_whitespace() => 1,
                _ => return None,
            };
        }
    }

    /// New text with the line ends of this document.
    fn with_line_ends(&self, new: &str) -> String {
        if self.text.contains("\r\n") { new.replace('\n', "\r\n") } else { new.to_string() }
    }
}

/// A value below these keys, each in an object of its own.
fn nested(keys: &[&str], value: &Value) -> Value {
    let inside = |value: Value, key: &&str| Value::Object([(key.to_string(), value)].into_iter().collect());
    keys.iter().rev().fold(value.clone(), inside)
}

/// A key and its value as they are written at this depth.
fn member(key: &str, value: &Value, depth: usize) -> String {
    format!("{}: {}", Value::from(key), render(value, depth))
}

/// A value as it is written at this depth: an object on lines of its own, a list on one.
fn render(value: &Value, depth: usize) -> String {
    match value {
        Value::Object(object) if !object.is_empty() => {
            let (outer, inner) = ("  ".repeat(depth), "  ".repeat(depth + 1));
            let members =
                object.iter().map(|(key, value)| format!("{inner}{}", member(key, value, depth + 1)));
            format!("{{\n{}\n{outer}}}", members.collect::<Vec<_>>().join(",\n"))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| render(item, depth)).collect();
            format!("[{}]", items.join(", "))
        }
        plain => plain.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> JsoncDocument {
        JsoncDocument::parse(text.into()).expect("a document")
    }

    #[track_caller]
    fn check_with(text: &str, expected: &str) {
        let changed = parse(text).set(&["b"], &"B".into(), NewKey::Last).expect("a document");
        assert_eq!(changed.text(), expected);
    }

    #[track_caller]
    fn check_without(text: &str, expected: &str) {
        assert_eq!(parse(text).remove("b").expect("a document").text(), expected);
    }

    #[test]
    fn members_are_added_at_the_end() {
        check_with("", "{\n  \"b\": \"B\"\n}\n");
        check_with("// mine", "// mine\n{\n  \"b\": \"B\"\n}\n");
        check_with("{}", "{\n  \"b\": \"B\"\n}");
        check_with("{\"a\": 1}", "{\"a\": 1,\n  \"b\": \"B\"\n}");
        check_with("{\n  \"a\": 1\n}\n", "{\n  \"a\": 1,\n  \"b\": \"B\"\n}\n");
        check_with("{\n  \"a\": 1, // one\n}\n", "{\n  \"a\": 1, // one\n  \"b\": \"B\"\n}\n");
        check_with("{\n  \"a\": 1 // one, two\n}\n", "{\n  \"a\": 1, // one, two\n  \"b\": \"B\"\n}\n");
        check_with("{ // none yet\n}", "{ // none yet\n  \"b\": \"B\"\n}");
    }

    #[test]
    fn members_are_changed_in_place() {
        check_with("{\"b\": 1, \"a\": 2} // end", "{\"b\": \"B\", \"a\": 2} // end");
        check_with("{/*x*/\"b\"/*y*/:/*z*/[1, {\"b\": 2}]/*w*/,}", "{/*x*/\"b\"/*y*/:/*z*/\"B\"/*w*/,}");
        check_with("{\"\\u0062\": null}", "{\"\\u0062\": \"B\"}");
        check_with("{\"b\": 1, \"b\": 2}", "{\"b\": \"B\", \"b\": \"B\"}");
        check_with("{\"a\": {\"b\": 1}}", "{\"a\": {\"b\": 1},\n  \"b\": \"B\"\n}");
    }

    #[test]
    fn members_are_removed_with_their_comma_and_line() {
        check_without("{\"b\": 1}", "{}");
        check_without("{\"a\": 1}", "{\"a\": 1}");
        check_without("{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}", "{\n  \"a\": 1,\n  \"c\": 3\n}");
        check_without("{\n  \"a\": 1, // one\n  \"b\": 2\n}", "{\n  \"a\": 1 // one\n}");
        check_without("{\n  \"a\": 1,\n  \"b\": 2, // two\n}", "{\n  \"a\": 1,\n   // two\n}");
        check_without("{\"b\": 1, \"a\": 2, \"b\": 3,}", "{ \"a\": 2, }");
        check_without("", "");
        let inner = parse("{\n  \"a\": { // mine\n    \"b\": 1,\n    \"c\": 2 // two\n  }\n}");
        let left = inner.remove_at(&["a", "b"]).expect("a document");
        assert_eq!(left.text(), "{\n  \"a\": { // mine\n    \"c\": 2 // two\n  }\n}");
        assert_eq!(inner.remove_at(&["a", "x"]).expect("a document"), inner);
        assert_eq!(inner.remove_at(&["x", "b"]).expect("a document"), inner);
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in ["[]", "1", "{", "{} {}", "{\"a\" 1}", "/* open", "{,}", "nonsense"] {
            let document = JsoncDocument::parse(text.into());
            let changed = document.and_then(|document| document.set(&["k"], &Value::Null, NewKey::Last));
            assert!(changed.is_err(), "{text}");
        }
        let error =
            parse("{\"a\": [1]}").set(&["a", "b"], &Value::Null, NewKey::Last).expect_err("no object");
        assert_eq!(error.to_string(), "\"a\" is not an object");
    }

    #[track_caller]
    fn check_nested(text: &str, new_key: NewKey, expected: &str) {
        let value: Value = serde_json::json!(["B", 1]);
        assert_eq!(parse(text).set(&["a", "b"], &value, new_key).expect("a document").text(), expected);
    }

    #[test]
    fn members_of_inner_objects_are_set() {
        let whole = "{\n  \"a\": {\n    \"b\": [\"B\", 1]\n  }\n}";
        for new_key in [NewKey::First, NewKey::Last] {
            check_nested("", new_key, &format!("{whole}\n"));
            check_nested("{}", new_key, whole);
            check_nested("{\"a\": {\"b\": null,}}", new_key, "{\"a\": {\"b\": [\"B\", 1],}}");
        }
        let (text, line) = ("{ // x\n  \"a\": {\n    \"c\": 2\n  }\n}", "    \"b\": [\"B\", 1]");
        let first = format!("{{ // x\n  \"a\": {{\n{line},\n    \"c\": 2\n  }}\n}}");
        let last = format!("{{ // x\n  \"a\": {{\n    \"c\": 2,\n{line}\n  }}\n}}");
        check_nested(text, NewKey::First, &first);
        check_nested(text, NewKey::Last, &last);
        check_nested("{\"a\": {\"c\": 2}}", NewKey::Last, &format!("{{\"a\": {{\"c\": 2,\n{line}\n  }}}}"));
        // Of a repeated object, the last one counts.
        check_nested("{\"a\": 1, \"a\": {\"b\": 2}}", NewKey::Last, "{\"a\": 1, \"a\": {\"b\": [\"B\", 1]}}");
    }

    #[test]
    fn byte_order_marks_and_line_ends_stay() {
        check_with("\u{feff}{\"b\": 1}", "\u{feff}{\"b\": \"B\"}");
        check_with("\u{feff}// x", "\u{feff}// x\n{\n  \"b\": \"B\"\n}\n");
        check_with("{\r\n  \"a\": 1\r\n}\r\n", "{\r\n  \"a\": 1,\r\n  \"b\": \"B\"\r\n}\r\n");
        check_with("// x\r\n", "// x\r\n{\r\n  \"b\": \"B\"\r\n}\r\n");
        check_without("\u{feff}{\r\n  \"a\": 1,\r\n  \"b\": 2\r\n}\r\n", "\u{feff}{\r\n  \"a\": 1\r\n}\r\n");
    }

    #[test]
    fn space_is_what_json_has_for_space() {
        assert!(parse(" \t\r\n// x").set(&["k"], &Value::Null, NewKey::Last).is_ok());
        for text in ["\u{c}", "\u{b}", "\u{a0}"] {
            assert!(JsoncDocument::parse(text.to_string()).is_err(), "{text:?}");
        }
    }

    fn documents() -> impl Strategy<Value = String> {
        let space = "( |\n|\t|/\\* , \\} \\*/|// \" x\n){0,2}";
        let key = prop_oneof![Just("a"), Just("b"), Just("c\\\"}"), Just("\\u0062"), Just("é")];
        let value =
            prop_oneof![Just("1"), Just("\"// x\""), Just("[1, {\"b\": \"]\"}]"), Just("null"), Just("{}")];
        let member = (space, key, space, value, space);
        (proptest::collection::vec(member, 0..4), any::<bool>(), space, space).prop_map(
            |(members, trailing, before, after)| {
                let members: Vec<_> = members
                    .iter()
                    .map(|(a, key, b, value, c)| format!("{a}\"{key}\"{b}:{value}{c}"))
                    .collect();
                let comma = if trailing && !members.is_empty() { "," } else { "" };
                format!("{before}{{{}{comma}{after}}}", members.join(","))
            },
        )
    }

    fn values(document: &JsoncDocument) -> Vec<(String, Value)> {
        document
            .root()
            .map(JsoncNode::entries)
            .unwrap_or_default()
            .iter()
            .map(|(key, node)| (key.clone(), node.to_value()))
            .collect()
    }

    proptest! {
        #[test]
        fn an_edit_changes_what_it_says_and_nothing_else(text in documents(), is_removal in any::<bool>()) {
            let document = parse(&text);
            let mut expected = values(&document);
            let edited = if is_removal {
                expected.retain(|(key, _)| key != "b");
                document.remove("b")
            } else {
                expected.iter_mut().filter(|(key, _)| key == "b").for_each(|(_, value)| *value = "B".into());
                if !expected.iter().any(|(key, _)| key == "b") {
                    expected.push(("b".into(), "B".into()));
                }
                document.set(&["b"], &"B".into(), NewKey::Last)
            };
            prop_assert_eq!(values(&edited.unwrap()), expected);
        }

        #[test]
        fn any_text_is_read_without_panic(text in "[{}\\[\\]\",:/*a\\\\ \n\u{c}1é-]{0,40}") {
            if let Ok(document) = JsoncDocument::parse(text)
                && document.root().is_none_or(JsoncNode::is_object)
            {
                prop_assert!(document.set(&["k"], &Value::Null, NewKey::Last).is_ok());
            }
        }
    }
}
