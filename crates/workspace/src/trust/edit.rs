//! Changes members of a JSON object in its text, so that comments, order and layout stay.

use std::ops::Range;

use serde_json::Value;

use crate::jsonc::blank_comments;

/// A member of the outermost object: its key, and where key and value are in the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) value: Value,
    key_at: Range<usize>,
    value_at: Range<usize>,
}

/// The text of an object with comments, and its members in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Document {
    text: String,
    members: Vec<Member>,
    /// Where the closing brace is; nowhere if the text has no object, only space and comments.
    close: Option<usize>,
}

impl Document {
    /// Reads a text, or says in a sentence what is wrong with it.
    pub(super) fn parse(text: String) -> Result<Self, String> {
        let Ok(blanked) = blank_comments(text.as_bytes()) else { return Err("a comment never ends".into()) };
        // Only what JSON has for space: a form feed would be in the way of what is added later.
        if blanked.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
            return Ok(Self { text, members: Vec::new(), close: None });
        }
        match serde_json::from_slice(&blanked) {
            Ok(Value::Object(_)) => {}
            Ok(_) => return Err("it is no object".into()),
            Err(error) => return Err(error.to_string()),
        }
        let (members, close) = find_members(&blanked).ok_or("it is no object")?;
        Ok(Self { text, members, close: Some(close) })
    }

    pub(super) fn members(&self) -> &[Member] {
        &self.members
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The same document with this value under the key: every member of that key changed, or one added at the end.
    pub(super) fn with(&self, key: &str, value: &Value) -> Result<Self, String> {
        let mut text = self.text.clone();
        let mut is_there = false;
        // From the end, so that what is still to be changed does not move.
        for member in self.members.iter().rev().filter(|member| member.key == key) {
            text.replace_range(member.value_at.clone(), &value.to_string());
            is_there = true;
        }
        if !is_there {
            self.append(&mut text, &format!("{}: {value}", Value::from(key)));
        }
        Self::parse(text)
    }

    /// The same document without the members of this key.
    pub(super) fn without(&self, key: &str) -> Result<Self, String> {
        let mut document = self.clone();
        while let Some(place) = document.members.iter().position(|member| member.key == key) {
            let mut text = document.text.clone();
            document.cut(&mut text, place);
            document = Self::parse(text)?;
        }
        Ok(document)
    }

    fn append(&self, text: &mut String, member: &str) {
        let Some(close) = self.close else {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&format!("{{\n  {member}\n}}\n"));
            return;
        };
        let line = text[..close].rfind('\n').map_or(0, |end| end + 1);
        if line > 0 && text[line..close].trim().is_empty() {
            text.insert_str(line, &format!("  {member}\n"));
        } else {
            text.insert_str(close, &format!("\n  {member}\n"));
        }
        if let Some(last) = self.members.last()
            && self.comma_after(last).is_none()
        {
            text.insert(last.value_at.end, ',');
        }
    }

    /// Takes a member out with the comma that belongs to it, and its line if nothing else is on it.
    fn cut(&self, text: &mut String, place: usize) {
        let member = &self.members[place];
        let comma = self.comma_after(member);
        let end = comma.map_or(member.value_at.end, |comma| comma + 1);
        let start = member.key_at.start;
        let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
        let rest = text[end..].find('\n').map_or(text.len(), |length| end + length + 1);
        let is_alone = line > 0 && text[line..start].trim().is_empty() && text[end..rest].trim().is_empty();
        text.replace_range(if is_alone { line..rest } else { start..end }, "");
        if comma.is_none()
            && let Some(before) = place.checked_sub(1).map(|before| &self.members[before])
            && let Some(comma) = self.comma_after(before)
        {
            text.remove(comma);
        }
    }

    /// The comma between this member and whatever follows it, outside of comments.
    fn comma_after(&self, member: &Member) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut at = member.value_at.end;
        loop {
            let rest = bytes.get(at..)?;
            at += match rest {
                [b',', ..] => return Some(at),
                [b'/', b'/', ..] => rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
                [b'/', b'*', ..] => rest[2..].windows(2).position(|pair| pair == b"*/")? + 4,
                [byte, ..] if byte.is_ascii_whitespace() => 1,
                _ => return None,
            };
        }
    }
}

/// The members of the outermost object and where it closes. The bytes are known to be JSON.
fn find_members(json: &[u8]) -> Option<(Vec<Member>, usize)> {
    let mut at = skip_space(json, 0);
    (*json.get(at)? == b'{').then_some(())?;
    at = skip_space(json, at + 1);
    let mut members = Vec::new();
    while *json.get(at)? != b'}' {
        let key_at = at..value_end(json, at)?;
        let colon = skip_space(json, key_at.end);
        let start = skip_space(json, colon + 1);
        let value_at = start..value_end(json, start)?;
        let key = serde_json::from_slice(json.get(key_at.clone())?).ok()?;
        let value = serde_json::from_slice(json.get(value_at.clone())?).ok()?;
        at = skip_space(json, value_at.end);
        members.push(Member { key, value, key_at, value_at });
        if *json.get(at)? == b',' {
            at = skip_space(json, at + 1);
        }
    }
    Some((members, at))
}

fn skip_space(json: &[u8], from: usize) -> usize {
    let rest = json.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Where the value that begins here ends.
fn value_end(json: &[u8], from: usize) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, from);
    loop {
        match *json.get(at)? {
            b'"' => at = string_end(json, at)?,
            b'[' | b'{' => {
                depth += 1;
                at += 1;
            }
            b']' | b'}' | b',' | b':' if depth == 0 => return Some(at),
            b']' | b'}' => {
                depth -= 1;
                at += 1;
            }
            byte if byte.is_ascii_whitespace() && depth == 0 => return Some(at),
            _ => {
                at += 1;
                continue;
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

fn string_end(json: &[u8], from: usize) -> Option<usize> {
    let mut at = from + 1;
    loop {
        match *json.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Document {
        Document::parse(text.into()).expect("a document")
    }

    #[track_caller]
    fn check_with(text: &str, expected: &str) {
        let changed = parse(text).with("b", &"B".into()).expect("a document");
        assert_eq!(changed.text(), expected);
    }

    #[track_caller]
    fn check_without(text: &str, expected: &str) {
        assert_eq!(parse(text).without("b").expect("a document").text(), expected);
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
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in ["[]", "1", "{", "{} {}", "{\"a\" 1}", "/* open", "{,}", "nonsense"] {
            assert!(Document::parse(text.into()).is_err(), "{text}");
        }
    }

    #[test]
    fn space_is_what_json_has_for_space() {
        assert!(parse(" \t\r\n// x").with("k", &Value::Null).is_ok());
        for text in ["\u{c}", "\u{b}", "\u{a0}"] {
            assert!(Document::parse(text.to_string()).is_err(), "{text:?}");
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

    fn values(document: &Document) -> Vec<(String, Value)> {
        document.members.iter().map(|member| (member.key.clone(), member.value.clone())).collect()
    }

    proptest! {
        #[test]
        fn an_edit_changes_what_it_says_and_nothing_else(text in documents(), is_removal in any::<bool>()) {
            let document = parse(&text);
            let mut expected = values(&document);
            let edited = if is_removal {
                expected.retain(|(key, _)| key != "b");
                document.without("b")
            } else {
                expected.iter_mut().filter(|(key, _)| key == "b").for_each(|(_, value)| *value = "B".into());
                if !expected.iter().any(|(key, _)| key == "b") {
                    expected.push(("b".into(), "B".into()));
                }
                document.with("b", &"B".into())
            };
            prop_assert_eq!(values(&edited.unwrap()), expected);
        }

        #[test]
        fn any_text_is_read_without_panic(text in "[{}\\[\\]\",:/*a\\\\ \n\u{c}1é-]{0,40}") {
            if let Ok(document) = Document::parse(text) {
                prop_assert!(document.with("k", &Value::Null).is_ok());
            }
        }
    }
}
