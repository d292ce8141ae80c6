//! Laws of the wire formats, on made-up answers, on samples and on damaged samples.

mod laws;

use std::path::{Path, PathBuf};

use laws::{FORMATS, check_answer, check_sse};
use longhaul_conversation::{Message, Part, Request, ResponseBuilder, Role, ToolResult};
use longhaul_wire::{EncodeOptions, StreamDecoder, WireFormat, encode_request};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

/// The model's message in the request that follows an answer.
fn sent_back(format: WireFormat, answer: Value) -> Value {
    let mut events = Vec::new();
    StreamDecoder::new(format, "seed").take_whole(answer, &mut events).expect("an answer");
    let mut answer = ResponseBuilder::default();
    events.into_iter().for_each(|event| answer.add(event));
    let answer = answer.into_message("a1");
    let mut results: Vec<Part> =
        answer.calls().map(|call| Part::result(ToolResult::text(call.id.clone(), "done"))).collect();
    if results.is_empty() {
        results.push(Part::user_text("next"));
    }
    let messages = vec![
        Message::new("u1", Role::User, vec![Part::user_text("go")]),
        answer,
        Message::new("u2", Role::User, results),
    ];
    let request = Request { model: "gemini-3-pro-preview".into(), messages, ..Request::default() };
    let mut body = encode_request(format, request, &EncodeOptions::default());
    let key = if format == WireFormat::Gemini { "contents" } else { "messages" };
    body[key][1].take()
}

fn any_args() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::from),
        "[a-z é🦀\"\\\\\n]{0,8}".prop_map(Value::from),
        Just(Value::Null)
    ];
    let value = leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec(("[a-z]{1,4}", inner), 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    });
    prop::collection::vec(("[a-z]{1,4}", value), 0..3)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

const TEXT: &str = "[a-zé🦀]([a-z é🦀\"\n]{0,8}[a-z])?";

fn gemini_part() -> impl Strategy<Value = Value> {
    prop_oneof![
        TEXT.prop_map(|text| json!({"text": text})),
        (TEXT, TEXT).prop_map(|(text, signature)| json!({"text": text, "thoughtSignature": signature})),
        (TEXT, TEXT).prop_map(
            |(text, signature)| json!({"text": text, "thought": true, "thoughtSignature": signature})
        ),
        (TEXT, any_args(), TEXT).prop_map(|(name, args, signature)| {
            json!({"functionCall": {"name": name, "args": args}, "thoughtSignature": signature})
        }),
        (TEXT, any_args()).prop_map(|(code, more)| json!({"executableCode": {"code": code, "more": more}})),
        TEXT.prop_map(|mime| json!({"inlineData": {"mimeType": mime, "data": "AA=="}})),
    ]
}

fn anthropic_block() -> impl Strategy<Value = Value> {
    prop_oneof![
        TEXT.prop_map(|text| json!({"type": "text", "text": text})),
        (TEXT, any_args())
            .prop_map(|(text, cited)| json!({"type": "text", "text": text, "citations": [cited]})),
        (TEXT, TEXT).prop_map(
            |(text, signature)| json!({"type": "thinking", "thinking": text, "signature": signature})
        ),
        TEXT.prop_map(|data| json!({"type": "redacted_thinking", "data": data})),
        (TEXT, any_args())
            .prop_map(|(name, args)| json!({"type": "tool_use", "id": "", "name": name, "input": args})),
        (TEXT, any_args())
            .prop_map(|(name, args)| json!({"type": "server_tool_use", "name": name, "input": args})),
    ]
}

/// Ids of their own for all calls, and something behind the last thought, without which it would mean nothing.
fn finished(mut items: Vec<Value>, end: Value) -> Vec<Value> {
    for (place, item) in items.iter_mut().enumerate() {
        if item["type"] == "tool_use" {
            item["id"] = format!("toolu_{place}").into();
        }
    }
    items.push(end);
    items
}

proptest! {
    #[test]
    fn gemini_gets_back_what_it_sent(parts in prop::collection::vec(gemini_part(), 0..6)) {
        // Texts without signatures are joined; a neighbour with one keeps them apart here.
        let mut parts = parts;
        let is_plain = |part: &Value| part.get("text").is_some() && part.as_object().is_some_and(|part| part.len() == 1);
        parts.dedup_by(|a, b| is_plain(a) && is_plain(b));
        let parts = finished(parts, json!({"text": "end", "thoughtSignature": "x"}));
        let answer = json!({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]});
        prop_assert_eq!(sent_back(WireFormat::Gemini, answer), json!({"role": "model", "parts": parts}));
    }

    #[test]
    fn anthropic_gets_back_what_it_sent(blocks in prop::collection::vec(anthropic_block(), 0..6)) {
        let blocks = finished(blocks, json!({"type": "text", "text": "end"}));
        let answer = json!({"type": "message", "content": blocks, "stop_reason": "end_turn"});
        prop_assert_eq!(sent_back(WireFormat::Anthropic, answer), json!({"role": "assistant", "content": blocks}));
    }

    #[test]
    fn openai_gets_back_what_it_sent(
        text in TEXT,
        reasoning in prop::option::of((TEXT, prop::sample::select(vec!["reasoning", "reasoning_content"]))),
        details in prop::collection::vec(any_args(), 0..2),
        calls in prop::collection::vec((TEXT, any_args(), prop::option::of(TEXT)), 1..4),
    ) {
        let mut message = json!({"role": "assistant"});
        if let Some((thought, name)) = reasoning {
            message[name] = thought.into();
        }
        if !details.is_empty() {
            message["reasoning_details"] = details.into();
        }
        message["content"] = text.into();
        let calls = calls.into_iter().enumerate().map(|(place, (name, args, extra))| {
            let mut call = json!({"id": format!("call_{place}"), "type": "function",
                "function": {"name": name, "arguments": args.to_string()}});
            if let Some(extra) = extra {
                call["extra_content"] = extra.into();
            }
            call
        });
        message["tool_calls"] = calls.collect();
        let answer = json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]});
        prop_assert_eq!(sent_back(WireFormat::OpenAi, answer), message);
    }

    #[test]
    fn damaged_streams_do_no_harm(
        sample in any::<Index>(),
        damage in prop::collection::vec((any::<Index>(), any::<u8>()), 0..4),
        end in any::<Index>(),
    ) {
        let samples = samples();
        let (format, mut bytes) = sample.get(&samples).clone();
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.truncate(end.index(bytes.len() + 1));
        check_sse(&bytes);
        check_answer(format, &bytes);
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check_sse(&bytes);
        for format in FORMATS {
            check_answer(format, &bytes);
        }
    }
}

fn samples() -> Vec<(WireFormat, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let mut paths: Vec<PathBuf> = longhaul_testkit::files_below(&folder);
    paths.sort();
    let read = paths.into_iter().map(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let format = match name.split(['-', '.']).next() {
            Some("gemini") => WireFormat::Gemini,
            Some("openai") => WireFormat::OpenAi,
            Some("anthropic") => WireFormat::Anthropic,
            _ => panic!("{name} names no format"),
        };
        (format, std::fs::read(&path).expect("a sample can be read"))
    });
    read.collect()
}

#[test]
fn samples_are_whole_answers() {
    let samples = samples();
    assert!(samples.len() >= 3);
    for (format, bytes) in samples {
        let mut decoder = StreamDecoder::new(format, "seed");
        let mut events = Vec::new();
        decoder.feed(&bytes, &mut events).expect("no fault");
        decoder.finish(&mut events).expect("a whole answer");
        check_answer(format, &bytes);
        check_sse(&bytes);
    }
}
