//! Breaks small sessions of every format in every way we can think of: reading them never panics, and what is broken
//! costs only itself.

mod laws;

use std::path::PathBuf;

use longhaul_conversation::Message;
use longhaul_formats::{Format, Session, Warning};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use crate::laws::{any_conversation, check_origins, check_reading, check_repair};

struct Sample {
    name: &'static str,
    format: Format,
    shape: Shape,
    /// Something that is said in it.
    said: &'static str,
    text: &'static str,
}

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    /// A record a line.
    Lines,
    /// One JSON value.
    Document,
    /// No JSON.
    Text,
}

macro_rules! sample {
    ($name:literal, $format:ident, $shape:ident, $said:literal) => {
        Sample {
            name: $name,
            format: Format::$format,
            shape: Shape::$shape,
            said: $said,
            text: include_str!(concat!("samples/", $name)),
        }
    };
}

const SAMPLES: &[Sample] = &[
    sample!("claude-code.jsonl", ClaudeCode, Lines, "Done."),
    sample!("gemini.jsonl", GeminiJsonl, Lines, "Deleted."),
    sample!("longhaul.jsonl", GeminiJsonl, Lines, "Agreed."),
    sample!("gemini.json", GeminiJson, Document, "It is not there."),
    sample!("gemini-contents.json", GeminiContents, Document, "One file."),
    sample!("neutral.json", Neutral, Document, "Hello."),
    sample!("codex.jsonl", Codex, Lines, "go on"),
    sample!("codex-2025-08.jsonl", Codex, Lines, "Fixed."),
    sample!("openai-chat.json", OpenAiChat, Document, "One file."),
    sample!("openai-chat.jsonl", OpenAiChat, Lines, "Thanks"),
    sample!("openai-responses.json", OpenAiResponses, Document, "One file."),
    sample!("openai-responses.jsonl", OpenAiResponses, Lines, "thanks"),
    sample!("anthropic.json", Anthropic, Document, "Try again"),
    sample!("anthropic.jsonl", Anthropic, Lines, "Read."),
    sample!("pi.jsonl", Pi, Lines, "go on"),
    sample!("cline.json", Cline, Document, "Done."),
    sample!("cline-session.json", Cline, Document, "fix it"),
    sample!("openhands.json", OpenHands, Document, "Rename it"),
    sample!("openhands-evaluation.jsonl", OpenHands, Lines, "Fix it"),
    sample!("openhands-sdk.jsonl", OpenHands, Lines, "Thanks"),
    sample!("swe-agent.traj", SweAgent, Document, "a.py"),
    sample!("mini-swe-agent.traj.json", MiniSweAgent, Document, "Rules"),
    sample!("aider.md", Aider, Text, "Sure."),
    sample!("qwen.jsonl", QwenCode, Lines, "Which tests fail?"),
    sample!("cursor.jsonl", Cursor, Lines, "Searching first."),
    sample!("cursor-composer.json", Cursor, Document, "Renamed in two files."),
    sample!("copilot.jsonl", CopilotCli, Lines, "Only the cart test."),
    sample!("vscode-chat.json", VsCodeChat, Document, "Only the cart test."),
    sample!("vscode-chat.jsonl", VsCodeChat, Lines, "Only the cart test."),
    sample!("kimi.jsonl", Kimi, Lines, "Only the cart test."),
    sample!("kimi-python.jsonl", Kimi, Lines, "Only the cart test."),
    sample!("antigravity.jsonl", Antigravity, Lines, "Only the cart test."),
    sample!("droid.jsonl", Droid, Lines, "Only the cart test."),
    sample!("opencode.json", OpenCode, Document, "Only the cart test."),
    sample!("goose.json", Goose, Document, "Only the cart test."),
    sample!("recorded.responses", RecordedResponses, Lines, "ANA"),
];

fn samples(shape: Shape) -> impl Iterator<Item = &'static Sample> {
    SAMPLES.iter().filter(move |sample| sample.shape == shape)
}

#[track_caller]
fn read(name: &str, bytes: &[u8]) -> Session {
    check_reading(bytes).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn messages(session: &Session) -> (&[Message], Vec<&[Message]>) {
    (session.transcript.messages(), session.side_chains.iter().map(|side| side.messages.as_slice()).collect())
}

#[test]
fn every_format_has_a_sample_that_is_read_without_warnings() {
    for sample in SAMPLES {
        let session = read(sample.name, sample.text.as_bytes());
        assert_eq!(session.info.format, sample.format, "{}", sample.name);
        assert_eq!(session.warnings, [], "{}", sample.name);
        assert!(session.transcript.messages().len() > 1, "{}", sample.name);
    }
    for format in Format::ALL {
        assert!(SAMPLES.iter().any(|sample| sample.format == format), "{format} has no sample");
    }
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples"));
    assert_eq!(longhaul_testkit::files_below(&folder).len(), SAMPLES.len());
}

#[test]
fn a_session_may_break_off_anywhere() {
    for sample in SAMPLES {
        let whole = read(sample.name, sample.text.as_bytes());
        let known = whole.transcript.messages().len() + whole.info.compactions * 10;
        for end in 0..sample.text.len() {
            if let Ok(session) = check_reading(&sample.text.as_bytes()[..end]) {
                let count = session.transcript.messages().len();
                assert!(count <= known, "{} up to byte {end}", sample.name);
            }
        }
    }
}

#[test]
fn ends_of_lines_and_marks_change_nothing() {
    for sample in SAMPLES {
        let plain = read(sample.name, sample.text.as_bytes());
        let marked = format!("\u{feff}{}", sample.text);
        let mut variants =
            vec![marked.clone(), sample.text.replace('\n', "\r\n"), marked.replace('\n', "\r\n")];
        if sample.shape != Shape::Text {
            variants.push(format!("\n \r\n{}", sample.text.replace('\n', "\n\n\t\n")));
            variants.push(sample.text.trim_end().to_string());
        }
        for variant in variants {
            let session = read(sample.name, variant.as_bytes());
            assert_eq!(messages(&session), messages(&plain), "{}", sample.name);
            assert_eq!(session.warnings, [], "{}", sample.name);
        }
    }
}

/// Lines that are no record of any format.
const GARBAGE: &[&[u8]] = &[
    b"garbage",
    b"{\"type\":\"user\",\"message\":{\"ro",
    b"[",
    b"}",
    b"42",
    b"null",
    b"\"text\"",
    b"[1]",
    b"{\"a\":1}}",
    b"\xff\xfe\x80",
    b"{\"role\":\"user\",\"content\":\"\xc3",
    b"{\"role\":\0\0\0\0",
];

/// Puts `line` before the line with this index.
fn insert_line(text: &str, place: usize, line: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = text.lines().map(str::as_bytes).collect();
    lines.insert(place, line);
    let mut bytes = lines.join(&b'\n');
    bytes.push(b'\n');
    bytes
}

#[track_caller]
fn check_costs_only_itself(sample: &Sample, place: usize, garbage: &[u8]) {
    let what = format!("{} with {:?} in line {}", sample.name, garbage.escape_ascii().to_string(), place + 1);
    let plain = read(sample.name, sample.text.as_bytes());
    let session = read(&what, &insert_line(sample.text, place, garbage));
    assert_eq!(session.info.format, sample.format, "{what}");
    assert_eq!(messages(&session), messages(&plain), "{what}");
    assert_eq!(session.info.system, plain.info.system, "{what}");
    let lines: Vec<_> = session.warnings.iter().map(|warning| warning.line).collect();
    assert_eq!(lines, [Some(place + 1)], "{what}: {:?}", session.warnings);
}

#[test]
fn a_broken_line_costs_only_itself() {
    for sample in samples(Shape::Lines) {
        for place in 0..=sample.text.lines().count() {
            for garbage in GARBAGE {
                // Bytes that are no text at the very start are another kind of file.
                let is_text = garbage[0].is_ascii();
                if is_text || place > 0 {
                    check_costs_only_itself(sample, place, garbage);
                }
            }
        }
    }
}

#[test]
fn lines_are_counted_as_an_editor_does() {
    for sample in samples(Shape::Lines) {
        let text = format!("\n\n{{broken\n\n{}", sample.text);
        let session = read(sample.name, text.as_bytes());
        let lines: Vec<_> = session.warnings.iter().map(|warning| warning.line).collect();
        assert_eq!(lines, [Some(3)], "{}", sample.name);
    }
}

#[test]
fn a_broken_character_is_replaced_and_told() {
    for sample in SAMPLES {
        let plain = read(sample.name, sample.text.as_bytes());
        for (broken, reason) in [
            (&b"\xff"[..], "invalid UTF-8; invalid characters were replaced"),
            (b"\\ud83d", "invalid characters in a string were replaced"),
            (b"\x01", "invalid characters in a string were replaced"),
        ] {
            if sample.shape == Shape::Text && broken != b"\xff" {
                continue;
            }
            let at = sample.text.rfind(sample.said).expect("it is said") + 1;
            let bytes = [&sample.text.as_bytes()[..at], broken, &sample.text.as_bytes()[at..]].concat();
            let session = read(sample.name, &bytes);
            let reasons: Vec<_> = session.warnings.iter().map(|warning| warning.reason.as_str()).collect();
            assert_eq!(reasons, [reason], "{}", sample.name);
            assert_eq!(
                session.transcript.messages().len(),
                plain.transcript.messages().len(),
                "{}",
                sample.name
            );
        }
    }
}

/// What a value is replaced by, as it is written: other types, extremes, and what no parser expects.
fn odd_values() -> Vec<String> {
    let mut values: Vec<String> = [
        "null",
        "true",
        "false",
        "0",
        "-1",
        "0.5",
        "18446744073709551615",
        "-9223372036854775808",
        "1e308",
        "1e400",
        "123456789012345678901234567890",
        "\"\"",
        "\" \"",
        "\"c1\"",
        "\"lh-m2\"",
        "\"lh-call-1\"",
        "\"1\"",
        "\"user\"",
        "\"assistant\"",
        "\"2026-01-02T03:04:05Z\"",
        "\"\\ud800\"",
        "\"\\u0000\\u001b[31m\\u202e\"",
        "\"<system-reminder>\"",
        "\"{\\\"a\\\":\"",
        "[]",
        "[null]",
        "[[]]",
        "{}",
        "{\"type\":\"text\"}",
        "{\"type\":\"text\",\"text\":7}",
        "{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"ls\",\"input\":{}}",
        "{\"type\":\"tool_result\",\"tool_use_id\":\"c1\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c1\"}]}",
    ]
    .map(str::to_string)
    .into();
    for depth in [100, 126, 200] {
        values.push("[".repeat(depth) + &"]".repeat(depth));
        values.push("{\"content\":".repeat(depth) + "0" + &"}".repeat(depth));
    }
    values
}

/// One way to break a text.
#[derive(Clone, Debug)]
enum Break {
    Cut(Index),
    Flip(Index, u8),
    Insert(Index, Vec<u8>),
    Delete(Index, usize),
    DropLine(Index),
    RepeatLine(Index, Index),
    SwapLines(Index, Index),
    /// Another value in the place of one in some line, or before it under the same key.
    Replace {
        line: Index,
        value: Index,
        by: Index,
        doubled: bool,
    },
    /// A value of one place is written in another, so that ids and kinds meet.
    Copy {
        line: Index,
        from: Index,
        to: Index,
    },
}

fn any_break() -> impl Strategy<Value = Break> {
    use Break::*;
    let index = any::<Index>;
    prop_oneof![
        1 => index().prop_map(Cut),
        2 => (index(), any::<u8>()).prop_map(|(at, byte)| Flip(at, byte)),
        2 => (index(), prop::collection::vec(any::<u8>(), 1..6)).prop_map(|(at, bytes)| Insert(at, bytes)),
        2 => (index(), 1usize..20).prop_map(|(at, count)| Delete(at, count)),
        1 => index().prop_map(DropLine),
        2 => (index(), index()).prop_map(|(line, to)| RepeatLine(line, to)),
        2 => (index(), index()).prop_map(|(line, other)| SwapLines(line, other)),
        6 => (index(), index(), index(), any::<bool>())
            .prop_map(|(line, value, by, doubled)| Replace { line, value, by, doubled }),
        3 => (index(), index(), index()).prop_map(|(line, from, to)| Copy { line, from, to }),
    ]
}

fn apply(text: Vec<u8>, shape: Shape, change: &Break) -> Vec<u8> {
    if text.is_empty() {
        return text;
    }
    let mut bytes = text;
    match change {
        Break::Cut(at) => bytes.truncate(at.index(bytes.len())),
        Break::Flip(at, by) => {
            let at = at.index(bytes.len());
            bytes[at] ^= by;
        }
        Break::Insert(at, more) => {
            let at = at.index(bytes.len());
            bytes.splice(at..at, more.iter().copied());
        }
        Break::Delete(at, count) => {
            let at = at.index(bytes.len());
            bytes.drain(at..(at + count).min(bytes.len()));
        }
        Break::DropLine(_) | Break::RepeatLine(..) | Break::SwapLines(..) => {
            let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
            let count = lines.len();
            match change {
                Break::DropLine(line) => drop(lines.remove(line.index(count))),
                Break::RepeatLine(line, to) => lines.insert(to.index(count), lines[line.index(count)]),
                Break::SwapLines(line, other) => lines.swap(line.index(count), other.index(count)),
                _ => {}
            }
            bytes = lines.join(&b'\n');
        }
        Break::Replace { line, value, by, doubled } => {
            let values = odd_values();
            let by = &values[by.index(values.len())];
            bytes = in_json(bytes, shape, line, |json| replace(json, value, by, *doubled));
        }
        Break::Copy { line, from, to } => {
            bytes = in_json(bytes, shape, line, |json| {
                let mut json = json;
                let mut places = Vec::new();
                visit(&mut json, &mut |value, _| places.push(value.clone()));
                let by = places[from.index(places.len())].to_string();
                replace(json, to, &by, false)
            });
        }
    }
    bytes
}

/// Changes the JSON of one line, or of the whole where it is one value.
fn in_json(bytes: Vec<u8>, shape: Shape, line: &Index, change: impl FnOnce(Value) -> String) -> Vec<u8> {
    if shape != Shape::Lines {
        return match serde_json::from_slice(&bytes) {
            Ok(value) => change(value).into_bytes(),
            Err(_) => bytes,
        };
    }
    let mut lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let place = line.index(lines.len());
    if let Ok(value) = serde_json::from_slice(&lines[place]) {
        lines[place] = change(value).into_bytes();
    }
    lines.join(&b'\n')
}

/// Calls `look` with every value and the key it stands under.
fn visit(value: &mut Value, look: &mut impl FnMut(&mut Value, Option<&str>)) {
    fn walk(value: &mut Value, key: Option<&str>, look: &mut impl FnMut(&mut Value, Option<&str>)) {
        look(value, key);
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| walk(item, None, look)),
            Value::Object(fields) => fields.iter_mut().for_each(|(key, value)| walk(value, Some(key), look)),
            _ => {}
        }
    }
    walk(value, None, look);
}

/// The JSON with one of its values replaced; `doubled` leaves the old one behind under the same key.
fn replace(mut json: Value, place: &Index, by: &str, doubled: bool) -> String {
    const HOLE: &str = "(a hole to be filled)";
    let mut count = 0;
    visit(&mut json, &mut |_, _| count += 1);
    let place = place.index(count);
    let (mut at, mut by) = (0, by.to_string());
    visit(&mut json, &mut |value, key| {
        if at == place {
            if let Some(key) = key.filter(|_| doubled) {
                by = format!("{by},{}:{value}", Value::from(key));
            }
            *value = HOLE.into();
        }
        at += 1;
    });
    json.to_string().replace(&format!("\"{HOLE}\""), &by)
}

/// A sample that is one JSON value, with its lists so long that they are not parsed at once.
fn lengthened(sample: &Sample, is_pretty: bool) -> Vec<u8> {
    let lengthen = |list: &mut Vec<Value>| {
        let items = list.clone();
        list.extend(items.iter().cycle().take(if items.is_empty() { 0 } else { 220 }).cloned());
    };
    let mut value: Value = serde_json::from_str(sample.text).expect("it is a document");
    match &mut value {
        Value::Array(list) => lengthen(list),
        Value::Object(fields) => fields.values_mut().filter_map(Value::as_array_mut).for_each(lengthen),
        _ => {}
    }
    if is_pretty { format!("{value:#}").into_bytes() } else { value.to_string().into_bytes() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_broken_item_makes_reading_panic(
        sample in any::<Index>(),
        is_pretty in any::<bool>(),
        breaks in prop::collection::vec(any_break(), 0..4),
    ) {
        let documents: Vec<_> = samples(Shape::Document).collect();
        let sample = documents[sample.index(documents.len())];
        let mut bytes = lengthened(sample, is_pretty);
        for change in &breaks {
            bytes = apply(bytes, sample.shape, change);
        }
        let session = check_reading(&bytes);
        if breaks.is_empty() {
            let session = session.expect("nothing is broken");
            prop_assert_eq!(session.info.format, sample.format);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_broken_session_makes_reading_panic(
        sample in any::<Index>(),
        breaks in prop::collection::vec(any_break(), 1..6),
    ) {
        let sample = &SAMPLES[sample.index(SAMPLES.len())];
        let mut bytes = sample.text.as_bytes().to_vec();
        for change in &breaks {
            bytes = apply(bytes, sample.shape, change);
        }
        check_reading(&bytes).ok();
    }

    #[test]
    fn any_line_may_be_broken(
        sample in any::<Index>(),
        place in any::<Index>(),
        garbage in "[^\\n\\r\\x00]{1,40}",
    ) {
        let lines: Vec<_> = samples(Shape::Lines).collect();
        let sample = lines[sample.index(lines.len())];
        let place = place.index(sample.text.lines().count() + 1);
        // No record of any format begins with a closing bracket.
        check_costs_only_itself(sample, place, format!("]{garbage}").as_bytes());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check_reading(&bytes).ok();
    }

    #[test]
    fn any_conversation_can_be_repaired(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        check_repair(any_conversation(&bytes));
    }

    #[test]
    fn no_text_is_lost_between_its_authors(
        pieces in prop::collection::vec(prop_oneof![
            prop::sample::select(TAGS).prop_map(|name| format!("<{name}>")),
            prop::sample::select(TAGS).prop_map(|name| format!("</{name}>")),
            prop::sample::select(TAGS).prop_map(|name| format!("<{name} a=\"b\"")),
            prop::sample::select(&["\n", " ", "<", ">", "</", "## My request for Codex:", "[read_file] Result:"][..])
                .prop_map(str::to_string),
            "\\PC{0,6}",
        ], 0..12),
    ) {
        check_origins(&pieces.concat());
    }
}

const TAGS: &[&str] = &[
    "system-reminder",
    "command-args",
    "task",
    "user_input",
    "environment_context",
    "skill",
    "feedback",
    "b",
];

#[test]
fn every_seed_of_the_fuzzers_passes() {
    for sample in SAMPLES {
        check_reading(sample.text.as_bytes()).ok();
        check_repair(any_conversation(sample.text.as_bytes()));
        check_origins(sample.text);
    }
}

/// Every file of the corpus that could be a session.
#[test]
fn every_real_file_is_read_or_refused_in_words() {
    let Some(corpus) = longhaul_testkit::corpus() else { return };
    let mut read = 0;
    for folder in ["sessions/original", "parser-only", "recall"] {
        for file in longhaul_testkit::files_below(&corpus.join(folder)) {
            let bytes = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            match check_reading(&bytes) {
                Ok(_) => read += 1,
                Err(error) => println!("{}: {error}", file.display()),
            }
        }
    }
    assert!(read > 0);
}

/// The same for every real session that was cut in the middle: a torn write is the commonest fault.
#[test]
fn a_torn_write_loses_one_line() {
    let Some(corpus) = longhaul_testkit::corpus() else { return };
    for file in longhaul_testkit::files_below(&corpus.join("sessions/original")) {
        let bytes = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        if file.extension().is_none_or(|extension| extension != "jsonl") || bytes.len() > 2_000_000 {
            continue;
        }
        let end = bytes.len() / 2;
        let is_line_end = bytes[end - 1] == b'\n' || bytes[end] == b'\n';
        let Ok(session) = check_reading(&bytes[..end]) else { continue };
        let is_torn = |warning: &Warning| warning.reason.starts_with("the last line is truncated");
        let torn = session.warnings.iter().filter(|warning| is_torn(warning)).count();
        assert_eq!(torn, usize::from(!is_line_end), "{}", file.display());
    }
}
