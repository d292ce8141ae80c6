//! Reads the text of a settings file into a tree that knows the line of every key.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::problem::SettingsFault;
use longhaul_workspace::{Unclosed, blank_comments};

/// Keys further down need no lines. Each level is read once more to find them.
const DEEPEST: usize = 8;

/// A value with the line of its key.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    /// The line of the key, from 1.
    pub(super) line: usize,
    /// The value.
    pub(super) content: Content,
}

/// The value of a key.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    /// Keys with their values, in the order of the file; a repeated key stands here twice.
    Object(Vec<(String, Node)>),
    /// Anything else, and objects so deep that no known key can stand there.
    Plain(Value),
}

impl Node {
    /// The keys and values of this object; of what is no object, none.
    pub(super) fn entries(&self) -> &[(String, Node)] {
        match &self.content {
            Content::Object(entries) => entries,
            Content::Plain(_) => &[],
        }
    }

    /// The value without lines.
    pub(super) fn to_value(&self) -> Value {
        match &self.content {
            Content::Plain(value) => value.clone(),
            Content::Object(entries) => {
                entries.iter().map(|(name, node)| (name.clone(), node.to_value())).collect()
            }
        }
    }

    /// Takes a key out, if it is there.
    pub(super) fn remove(&mut self, steps: &[&str]) {
        let Content::Object(entries) = &mut self.content else { return };
        match steps {
            [] => {}
            [last] => entries.retain(|(name, _)| name != last),
            [first, rest @ ..] => {
                let inside = entries.iter_mut().filter(|(name, _)| name == first);
                inside.for_each(|(_, node)| node.remove(rest));
            }
        }
    }

    /// The value of a key in this object. If the key is repeated, the last one counts.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().rev().find(|(name, _)| name == key).map(|(_, node)| node)
    }
}

/// Reads JSON with comments and trailing commas. An empty file is an empty object.
pub(super) fn parse(bytes: &[u8]) -> Result<Node, SettingsFault> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
        return Err(broken(bytes, 0, "this is UTF-16 text".into(), "save the file as UTF-8"));
    }
    let blanked = blank_comments(bytes).map_err(|Unclosed(at)| {
        broken(bytes, at, "this comment is never closed".into(), "end the comment with */")
    })?;
    let text = std::str::from_utf8(&blanked).map_err(|error| {
        broken(bytes, error.valid_up_to(), "this is not UTF-8 text".into(), "save the file as UTF-8")
    })?;
    if text.trim_ascii().is_empty() {
        return Ok(Node { line: 1, content: Content::Object(Vec::new()) });
    }
    // A look at the whole finds every fault.
    let raw = serde_json::from_str::<Value>(text).and_then(|_| serde_json::from_str::<&RawValue>(text));
    let tree = raw.and_then(|raw| Tree::new(text).node(raw, raw, 0));
    tree.map_err(|error| syntax_fault(bytes, &error))
}

/// Builds the nodes of a text.
struct Tree<'a> {
    text: &'a str,
    /// The start of each line but the first.
    breaks: Vec<usize>,
}

impl<'a> Tree<'a> {
    fn new(text: &'a str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, breaks: breaks.collect() }
    }

    fn node(&self, key: &RawValue, value: &'a RawValue, depth: usize) -> serde_json::Result<Node> {
        let content = if value.get().starts_with('{') && depth < DEEPEST {
            let Entries(entries) = serde_json::from_str(value.get())?;
            let named = entries.into_iter().map(|(key, value)| {
                Ok((serde_json::from_str(key.get())?, self.node(key, value, depth + 1)?))
            });
            Content::Object(named.collect::<serde_json::Result<_>>()?)
        } else {
            Content::Plain(serde_json::from_str(value.get())?)
        };
        Ok(Node { line: self.line_of(key), content })
    }

    /// The line of a piece of the text.
    fn line_of(&self, piece: &RawValue) -> usize {
        let at = (piece.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        self.breaks.partition_point(|start| *start <= at) + 1
    }
}

/// The keys and values of an object as pieces of its text, which tell where they stand.
struct Entries<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(Collect)
    }
}

fn syntax_fault(bytes: &[u8], error: &serde_json::Error) -> SettingsFault {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let reason = message.strip_suffix(&place).unwrap_or(&message);
    let line_start = match error.line().checked_sub(2) {
        Some(breaks) => {
            let mut ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
            ends.nth(breaks).map_or(bytes.len(), |(at, _)| at + 1)
        }
        None => 0,
    };
    // Columns count from 1; column 0 is the line break before.
    let at = (line_start + error.column()).saturating_sub(1).min(bytes.len());
    broken(bytes, at, reason.to_string(), syntax_hint(reason, bytes.get(at).copied()))
}

/// The hint for an error of the JSON parser, which stopped at `byte`.
fn syntax_hint(reason: &str, byte: Option<u8>) -> &'static str {
    match byte {
        Some(b'\'') => return "write texts and keys in double quotes",
        Some(b',') => return "remove the comma that follows nothing",
        _ => {}
    }
    let hints = [
        ("EOF", "close the quote or bracket that is still open"),
        ("key must be a string", "write the key in double quotes"),
        ("expected `,`", "put a comma between this and what stands before it"),
        ("expected `:`", "put a colon between the key and its value"),
        ("control character", "close the quote on the line where it opens; a line break in a text is \\n"),
        ("invalid escape", "write a backslash as \\\\"),
        ("trailing characters", "keep one object in the file, and nothing behind it"),
        ("recursion limit", "nest the values less deeply"),
        (
            "expected value",
            "write texts in double quotes, or true, false, null, a number, a list or an object",
        ),
    ];
    let found = hints.into_iter().find(|(start, _)| reason.starts_with(start));
    found.map_or("mend the file at that place", |(_, hint)| hint)
}

/// A fault at a byte of the file.
fn broken(bytes: &[u8], at: usize, reason: String, hint: &'static str) -> SettingsFault {
    let before = &bytes[..at.min(bytes.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let column = String::from_utf8_lossy(&before[line_start..]).chars().count() + 1;
    SettingsFault::Broken { line, column, reason, hint }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The tree as lines: the line number, the dotted key and the value.
    fn outline(node: &Node, path: &str, lines: &mut Vec<String>) {
        match &node.content {
            Content::Object(entries) => {
                for (key, child) in entries {
                    outline(child, &format!("{path}.{key}"), lines);
                }
            }
            Content::Plain(value) => lines.push(format!("{}{path}={value}", node.line)),
        }
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let mut lines = Vec::new();
        outline(&parse(text.as_bytes()).unwrap(), "", &mut lines);
        assert_eq!(lines, expected, "{text}");
    }

    #[test]
    fn every_key_knows_its_line() {
        check(
            "{\"a\": 1,\n \"b\": {\"c\": [1, 2],\n\n\"d\": \"x\"}}",
            &["1.a=1", "2.b.c=[1,2]", "4.b.d=\"x\""],
        );
        check("// one\n{ /* two\n three */ \"a\"\n:\n1, }", &["3.a=1"]);
        check("\u{feff}{\r\n\"a\": 1,\r\n\"b\": null\r\n}\r\n", &["2.a=1", "3.b=null"]);
        check("{\"\\u0061\": true}", &["1.a=true"]);
        check("{\"a\": 1,\n\"a\": 2}", &["1.a=1", "2.a=2"]);
        check("\n\n[1,]", &["3=[1]"]);
        check(
            r#"{"a":{"b":{"c":{"d":{"e":{"f":{"g":{"h":{"i":{"j":1}}}}}}}}}}"#,
            &[r#"1.a.b.c.d.e.f.g.h={"i":{"j":1}}"#],
        );
    }

    #[test]
    fn an_empty_file_has_no_settings() {
        for text in ["", " \r\n\t", "\u{feff}", "// nothing yet", "/* nor\n here */\n"] {
            check(text, &[]);
        }
    }

    #[test]
    fn the_last_of_repeated_keys_counts() {
        let node = parse(b"{\"a\": 1, \"a\": 2}").unwrap();
        assert_eq!(node.get("a").unwrap().content, Content::Plain(2.into()));
        assert_eq!(node.get("b"), None);
    }

    #[track_caller]
    fn check_broken(bytes: &[u8], place: (usize, usize), reason: &str, hint: &str) {
        match parse(bytes) {
            Err(SettingsFault::Broken { line, column, reason: given, hint: advice }) => {
                assert_eq!((line, column), place, "{given}");
                assert!(given.contains(reason) && advice.contains(hint), "{given}; {advice}");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn broken_files_say_where_and_what_to_do() {
        check_broken(b"{\n  \"a\": 1\n  \"b\": 2\n}", (3, 3), "expected `,` or `}`", "put a comma");
        check_broken(b"{\n  'a': 1\n}", (2, 3), "key must be a string", "double quotes");
        check_broken(b"{a: 1}", (1, 2), "key must be a string", "double quotes");
        check_broken(b"{\"a\": yes}", (1, 7), "expected value", "double quotes");
        check_broken(b"{\"a\" 1}", (1, 6), "expected `:`", "colon");
        check_broken(b"{\"a\": 1,, \"b\": 2}", (1, 9), "key must be a string", "remove the comma");
        check_broken(b"{\"a\": [1,\n", (1, 10), "EOF", "still open");
        check_broken(b"{\"a\": \"x\n\"}", (1, 9), "control character", "close the quote");
        check_broken(b"{\"a\": \"C:\\x\"}", (1, 11), "invalid escape", "backslash");
        check_broken(b"{} {}", (1, 4), "trailing characters", "one object");
        check_broken(b"{}\n/* never", (2, 1), "never closed", "*/");
        check_broken(&[b"{\"a\": ".repeat(500), b"1".to_vec()].concat(), (1, 763), "recursion", "nest");
    }

    #[test]
    fn columns_count_characters_behind_comments() {
        check_broken("{\"ä\": /* ö */ x}".as_bytes(), (1, 15), "expected value", "double quotes");
        check_broken("\u{feff}{x".as_bytes(), (1, 2), "key must be a string", "double quotes");
    }

    #[test]
    fn other_encodings_are_named() {
        check_broken(b"\xff\xfe{\0}\0", (1, 1), "UTF-16", "UTF-8");
        check_broken(b"{\n\"a\": \"\xe4\"}", (2, 7), "not UTF-8", "UTF-8");
        // Nobody minds what stands in a comment.
        assert!(parse(b"// \xe4\n{}").is_ok());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(prop_oneof![
            any::<u8>(),
            proptest::sample::select(b"/*\"\\\n,[]{}:1a ".to_vec()),
        ], 0..200)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn no_mangled_file_panics(at in 0usize..120, byte: u8) {
            let text = "{ // ours\n \"longhaul\": {\"compaction\": {\"threshold\": \"50%\",}, \"windows\": {\"ä.b\": 8e3}}, /* x */ \"ui\": []}\n";
            let mut bytes = text.as_bytes().to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = parse(&bytes);
            let _ = parse(&text.as_bytes()[..at]);
        }
    }
}
