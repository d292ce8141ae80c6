//! Reads the text of a settings file into a tree that knows the line of every key.

use longhaul_workspace::{JsoncContent, JsoncError, JsoncFault, JsoncNode, parse_jsonc};
use serde_json::Value;

use super::problem::SettingsFault;

/// The depth below which keys need no lines.
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
    /// Anything else, and objects too deep for any known key.
    Plain(Value),
}

impl Node {
    /// The keys and values of this object; empty if it is not one.
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
    let empty = Node { line: 1, content: Content::Object(Vec::new()) };
    Ok(parse_jsonc(bytes).map_err(broken)?.map_or(empty, |root| node(root, 0)))
}

fn node(node: JsoncNode, depth: usize) -> Node {
    let content = match node.content {
        JsoncContent::Object(entries) if depth < DEEPEST => {
            let inner = |(name, inner)| (name, self::node(inner, depth + 1));
            Content::Object(entries.into_iter().map(inner).collect())
        }
        JsoncContent::Object(_) => Content::Plain(node.to_value()),
        JsoncContent::Plain(value) => Content::Plain(value),
    };
    Node { line: node.line, content }
}

/// A file that cannot be read, with the place and what to do about it.
fn broken(error: JsoncError) -> SettingsFault {
    let JsoncError { line, column, byte, fault } = error;
    let (reason, hint) = match fault {
        JsoncFault::Utf16 => ("this is UTF-16 text".to_string(), "save the file as UTF-8"),
        JsoncFault::NotUtf8 => ("this is not UTF-8 text".to_string(), "save the file as UTF-8"),
        JsoncFault::UnclosedComment => {
            ("this comment is never closed".to_string(), "end the comment with */")
        }
        JsoncFault::Syntax { reason, .. } => {
            let hint = syntax_hint(&reason, byte);
            (reason, hint)
        }
        JsoncFault::NotAnObject { .. } => ("this is not an object".to_string(), "use an object here"),
    };
    SettingsFault::Broken { line, column, reason, hint }
}

/// The hint for a JSON error at `byte`.
fn syntax_hint(reason: &str, byte: Option<u8>) -> &'static str {
    match byte {
        Some(b'\'') => return "use double quotes for strings and keys",
        Some(b',') => return "remove the extra comma",
        _ => {}
    }
    let hints = [
        ("EOF", "close the quote or bracket that is still open"),
        ("key must be a string", "use double quotes for the key"),
        ("expected `,`", "add a comma before this"),
        ("expected `:`", "add a colon between the key and its value"),
        ("control character", "close the quote on the line where it opens; write a line break as \\n"),
        ("invalid escape", "write a backslash as \\\\"),
        ("trailing characters", "keep one object in the file, with nothing after it"),
        ("recursion limit", "nest the values less deeply"),
        ("expected value", "use a string in double quotes, true, false, null, a number, a list or an object"),
    ];
    let found = hints.into_iter().find(|(start, _)| reason.starts_with(start));
    found.map_or("fix the file at that place", |(_, hint)| hint)
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
        check_broken(b"{\n  \"a\": 1\n  \"b\": 2\n}", (3, 3), "expected `,` or `}`", "add a comma");
        check_broken(b"{\n  'a': 1\n}", (2, 3), "key must be a string", "double quotes");
        check_broken(b"{a: 1}", (1, 2), "key must be a string", "double quotes");
        check_broken(b"{\"a\": yes}", (1, 7), "expected value", "double quotes");
        check_broken(b"{\"a\" 1}", (1, 6), "expected `:`", "colon");
        check_broken(b"{\"a\": 1,, \"b\": 2}", (1, 9), "key must be a string", "remove the extra comma");
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
