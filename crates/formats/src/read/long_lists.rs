//! Checks that long lists of messages are read to their end.

use longhaul_wire::List;
use serde_json::{Value, json};

use super::outline::read_text;
use crate::{Format, read_session_in};

const LENGTH: usize = 2 * List::READY + 50;

/// Checks that each of many items is read, in order: one message for each, which says its number.
#[track_caller]
fn check(format: Format, item: impl Fn(String) -> Value, document: impl Fn(Vec<Value>) -> Value) {
    let said = |nth| format!("number {nth}");
    let session = read_text(&document((0..LENGTH).map(|nth| item(said(nth))).collect()).to_string());
    assert_eq!(session.info.format, format);
    let parts = session.transcript.messages().iter().flat_map(|message| &message.parts);
    let read: Vec<_> = parts.filter_map(|part| part.as_text()).collect();
    assert_eq!(read, (0..LENGTH).map(said).collect::<Vec<_>>(), "{format:?}");
    assert!(session.warnings.is_empty(), "{:?}", session.warnings);
}

#[test]
fn long_conversations_are_read_to_their_end_in_every_format() {
    let content = |text| json!({"role": "user", "parts": [{"text": text}]});
    check(
        Format::Neutral,
        content,
        |items| json!({"contents": items, "format": "pi", "source": {"session": "s"}}),
    );
    check(Format::GeminiContents, content, |items| json!({"contents": items}));
    check(Format::GeminiContents, content, |items| json!({"history": items}));
    check(Format::GeminiContents, content, Value::Array);
    let chat = |text| json!({"role": "user", "content": text});
    check(Format::OpenAiChat, chat, |items| json!({"model": "m", "messages": items}));
    check(Format::OpenAiChat, chat, Value::Array);
    check(Format::Anthropic, chat, |items| json!({"system": "Be brief.", "messages": items}));
    let blocks = |text| json!({"role": "user", "content": [{"type": "text", "text": text}]});
    check(Format::Cline, blocks, |items| json!({"version": 1, "sessionId": "s", "messages": items}));
    check(Format::MiniSweAgent, chat, |items| json!({"info": {"mini_version": "1"}, "messages": items}));
    let typed = |text| json!({"role": "user", "content": [{"type": "input_text", "text": text}]});
    check(Format::OpenAiResponses, typed, |items| json!({"model": "m", "input": items}));
    check(Format::OpenAiResponses, typed, Value::Array);
    let of_gemini = |text: String| json!({"id": text, "type": "user", "content": text});
    check(
        Format::GeminiJson,
        of_gemini,
        |items| json!({"sessionId": "s", "projectHash": "p", "messages": items}),
    );
    let step = |text| json!({"role": "assistant", "content": text, "agent": "main"});
    check(Format::SweAgent, step, |items| json!({"history": items, "trajectory": []}));
    let action = |text| json!({"source": "agent", "action": "message", "args": {"content": text}});
    check(Format::OpenHands, action, Value::Array);
    check(Format::OpenHands, action, |items| json!({"instance_id": "i", "history": items}));
    let event = |text: String| {
        let message = json!({"role": "assistant", "content": [{"type": "text", "text": text}]});
        json!({"kind": "MessageEvent", "id": text, "source": "agent", "llm_message": message})
    };
    check(Format::OpenHands, event, Value::Array);
}

#[test]
fn large_files_are_read_however_their_lines_are_broken() {
    let text = |nth: usize| format!("{nth} {}", "word [, {\\\" ".repeat(100));
    let items: Vec<_> = (0..LENGTH).map(|nth| json!({"role": "user", "content": text(nth)})).collect();
    let lines = |between: &str| items.iter().map(Value::to_string).collect::<Vec<_>>().join(between);
    let long = json!({"role": "user", "content": "long ".repeat(100_000)}).to_string();
    let document = json!({"messages": items, "model": "m"});
    for (file, expected) in [
        (document.to_string(), LENGTH),
        (format!("\n{document}\n"), LENGTH),
        (format!("{document:#}"), LENGTH),
        (format!("[{}]", lines(",\n")), LENGTH),
        (format!("[{}\n]", lines(",")), LENGTH),
        (lines("\n"), LENGTH),
        (format!("{long}\n{}\n", lines("\n")), LENGTH + 1),
    ] {
        let streamed = read_text(&file);
        let in_memory = read_session_in(file.as_bytes(), &mut |_, _| {}).expect("the same");
        assert_eq!(streamed.transcript.messages(), in_memory.transcript.messages());
        assert_eq!((streamed.warnings.len(), in_memory.warnings.len()), (0, 0));
        assert_eq!(streamed.transcript.messages().len(), expected);
    }
}

#[test]
fn what_is_wrong_with_an_item_is_told_with_its_place() {
    let mut items = vec![r#"{"role":"user","parts":[{"text":"fine"}]}"#.to_string(); LENGTH];
    items[300] = r#"{"role":"user","parts":[{"text":"half \ud83d"}]}"#.into();
    items[301] = format!(r#"{{"role":"user","parts":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    items[302] = "7".into();
    let session = read_text(&format!("[{}]", items.join(",\n")));
    let messages = session.transcript.messages();
    assert_eq!(messages.len(), LENGTH - 2);
    assert_eq!(messages[300].parts[0].as_text(), Some("half \u{fffd}"));
    let told: Vec<_> = session.warnings.iter().map(|warning| warning.reason.as_str()).collect();
    let expected = [
        "contents[300]: invalid characters in a string were replaced",
        "contents[301]: nested deeper than 128 levels; skipped",
        "contents[302] is a number; skipped",
    ];
    assert_eq!(told, expected);
}
