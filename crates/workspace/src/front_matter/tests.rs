use super::*;

/// Every field on a line of its own: a text as it is, a list with bars, a mapping with the lines of its keys.
fn fields(text: &str) -> Vec<String> {
    let text = format!("---\n{text}\n---\nbody");
    let found = FrontMatter::parse(&text).expect("front matter");
    assert_eq!(found.body, "body");
    let shown = |field: &FrontMatterField| {
        let FrontMatterField { key, line, value, .. } = field;
        match value {
            Ok(FrontMatterValue::Text(text)) => format!("{line} {key}={text}"),
            Ok(FrontMatterValue::List(items)) => format!("{line} {key}=[{}]", items.join("|")),
            Ok(FrontMatterValue::Mapping(inner)) => {
                let inner = inner.iter().map(|field| format!("{} {}", field.line, field.key));
                format!("{line} {key}={{{}}}", inner.collect::<Vec<_>>().join("|"))
            }
            Err(mistake) => format!("! line {line}: \"{key}\" {mistake}"),
        }
    };
    let unread = found.unread_lines.iter().map(|line| format!("! line {line}"));
    found.fields.iter().map(shown).chain(unread).collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(fields(text), expected, "{text}");
    // A colon with another behind it is no YAML, so that the lines are read one by one.
    let by_lines = format!("{text}\nz: y: x");
    let (source, expected_too) = (fields(&by_lines), format!("{} z=y: x", by_lines.lines().count() + 1));
    let expected: Vec<&str> = match expected.iter().position(|line| line.starts_with("! line")) {
        Some(first) if !expected[first].contains('"') => {
            [&expected[..first], &[&expected_too], &expected[first..]].concat()
        }
        _ => [expected, &[&expected_too]].concat(),
    };
    assert_eq!(source, expected, "{text}, line by line");
}

#[test]
fn texts_are_plain_or_quoted() {
    check("name: explorer", &["2 name=explorer"]);
    check("# said\n\nname:  a b # why\nurl: http://x#y", &["4 name=a b", "5 url=http://x#y"]);
    check(r#"a: "x: \"y\" # z\n" # more"#, &["2 a=x: \"y\" # z\n"]);
    check("a: 'it''s'\nb: ''", &["2 a=it's", "3 b="]);
    check("a: one\n  two\n  three\nb: c", &["2 a=one two three", "5 b=c"]);
    check("a:\n  one\n  two", &["2 a=one two"]);
}

#[test]
fn blocks_keep_or_fold_their_lines() {
    check("a: |\n  one\n    two\n\n  three\nb: c", &["2 a=one\n  two\n\nthree", "7 b=c"]);
    check("a: >-\n  one\n  two\n\n  three", &["2 a=one two\nthree"]);
    check("a: |\nb: c", &["2 a=", "3 b=c"]);
}

#[test]
fn lists_are_inline_or_dashed() {
    check("a: [x, 'y, z', \"q\"]", &["2 a=[x|y, z|q]"]);
    check("a: []\nb: [x,]", &["2 a=[]", "3 b=[x]"]);
    check("a: [\n  x,\n  y # why\n]\nb: c", &["2 a=[x|y]", "6 b=c"]);
    check("a:\n  - x # why\n  # not this\n  - 'y'\nb: c", &["2 a=[x|y]", "6 b=c"]);
    check("a:\n- x\n- y\nb:", &["2 a=[x|y]", "5 b=[]"]);
}

#[test]
fn mappings_hold_fields() {
    check("a:\n  b: c\n  d: [e]\nf: g", &["2 a={3 b|4 d}", "5 f=g"]);
    assert_eq!(fields("{a: b, c: {d: e}}"), ["2 a=b", "2 c={2 d}"]);
    assert_eq!(fields("a:\n  - x\n  - b: c"), ["! line 2: \"a\" has nested values, which are ignored"]);
}

#[test]
fn what_means_nothing_costs_only_itself() {
    check("nonsense\na: x\n{b: c}\n  d: e\nf: g", &["3 a=x", "6 f=g", "! line 2", "! line 4"]);
    check(
        "a: [x\nb: \"y\nc: 'z\nd: q",
        &[
            "! line 2: \"a\" has a \"[\" without a closing \"]\"",
            "! line 3: \"b\" has an unclosed quote",
            "! line 4: \"c\" has an unclosed quote",
            "5 d=q",
        ],
    );
    assert_eq!(fields("? [name]\n: x\nname: n"), ["4 name=n", "! line 2"]);
}

#[test]
fn what_is_almost_yaml_is_read() {
    check("a:b\n", &["2 a=b"]);
    check("  a: b: c\n d: e", &["2 a=b: c", "3 d=e"]);
    check("\ta: b\nc: d: e\n\tf: g", &["2 a=b", "3 c=d: e f: g"]);
    check("a: b\na: c", &["2 a=b", "3 a=c"]);
}

#[track_caller]
fn check_written(text: &str, expected: &[&str]) {
    let text = format!("---\n{text}\n---\n");
    let found = FrontMatter::parse(&text).expect("front matter");
    let written: Vec<&str> = found.fields.iter().map(|field| field.written.as_str()).collect();
    assert_eq!(written, expected, "{text}");
}

#[test]
fn a_value_is_known_as_it_is_written() {
    check_written("a: [x,\n  y] # why\nb: 'c'", &["[x, y] # why", "c"]);
    check_written("a: \"b\" or: c\nd: \"e", &["\"b\" or: c", "\"e"]);
    check_written("a: >-\n  b: c\n  d\ne:\n  f: g\n  - h", &["b: c d", "f: g - h"]);
    check_written("{a: b, c: [d]}", &["b", ""]);
    check_written("a: &x y\nb: *x", &["&x y", "*x"]);
}

#[track_caller]
fn check_split(text: &str, expected: Result<(&str, &str), FrontMatterError>) {
    assert_eq!(split(text), expected, "{text:?}");
}

#[test]
fn the_dashes_are_found() {
    check_split("---\na: b\n---\nbody\n", Ok(("a: b\n", "body\n")));
    check_split("---\r\na: b\r\n---\r\nbody", Ok(("a: b\r\n", "body")));
    check_split("\u{feff}---\n---", Ok(("", "")));
    check_split("--- \nx\n---  \n---\n", Ok(("x\n", "---\n")));
    check_split("# Title\n---\n---\n", Err(FrontMatterError::Missing));
    check_split(" ---\nx\n---\n", Err(FrontMatterError::Missing));
    check_split("---\nname: n\n ---\n----\n", Err(FrontMatterError::Unclosed));
}

#[test]
fn a_file_needs_two_fences() {
    for text in ["", "name: x", "---", "---\nname: x\n", "\n---\n---\n"] {
        assert!(FrontMatter::parse(text).is_err(), "{text:?}");
    }
    let found = FrontMatter::parse("\u{feff}---\r\na: b\r\n---\r\n\r\nBody.\r\n").expect("front matter");
    assert_eq!((found.fields.len(), found.body), (1, "\r\nBody.\r\n"));
}

#[test]
fn no_letter_is_split() {
    for hostile in
        ["a: |\n é\n\u{a0}\u{2003}é\n é", "a: 'é''", "a: [\"é\\", "é: é", "a:\n\u{2003}- é", "-\n- "]
    {
        FrontMatter::parse(&format!("---\n{hostile}\n---\n")).expect("front matter");
    }
}

mod any_text {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_read_without_panic(text in "(a: ?|b:|- |[a-z\"'>|\\-:#&*\\[\\]{}\n\t é]{0,12}|\n  ?){0,12}") {
            let text = format!("---\n{text}\n---\n");
            if let Ok(found) = FrontMatter::parse(&text) {
                let last = text.lines().count();
                prop_assert!(found.fields.iter().all(|field| (2..=last).contains(&field.line)));
                prop_assert!(found.unread_lines.iter().all(|line| (2..=last).contains(line)));
            }
        }
    }
}
