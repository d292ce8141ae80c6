//! Fields of a request that Longhaul does not model survive being read and written again, for their vendor only.

use longhaul_wire::{
    EncodeOptions, LossKind, RequestFormat, WireFormat, decode_request, encode_request, write_request,
};
use serde_json::{Map, Value, json};

/// Each format with a request and the fields of it that are not modelled.
fn requests() -> [(RequestFormat, WireFormat, Value, Value); 3] {
    [
        (
            RequestFormat::Anthropic,
            WireFormat::Anthropic,
            json!({"model": "claude-opus-4-5", "system": "Be brief.",
                "tools": [{"name": "ls", "input_schema": {"type": "object"}}],
                "messages": [{"role": "user", "content": "hi"}]}),
            json!({"max_tokens": 1000, "thinking": {"type": "enabled", "budget_tokens": 500},
                "metadata": {"user_id": "u"}, "context_management": {"edits": []}, "stream": true,
                "tool_choice": {"type": "tool", "name": "ls"}, "temperature": 0.5}),
        ),
        (
            RequestFormat::OpenAiChat,
            WireFormat::OpenAi,
            json!({"model": "gpt-5", "messages": [{"role": "user", "content": "hi"}],
                "tools": [{"type": "function", "function": {"name": "ls"}}]}),
            json!({"max_completion_tokens": 1000, "reasoning_effort": "low", "seed": 7, "stream": true,
                "stream_options": {"include_usage": true}, "response_format": {"type": "json_object"},
                "tool_choice": "required", "user": "u"}),
        ),
        (
            RequestFormat::Gemini,
            WireFormat::Gemini,
            json!({"model": "models/gemini-2.5-pro", "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
                "tools": [{"functionDeclarations": [{"name": "ls"}]}]}),
            json!({"generationConfig": {"maxOutputTokens": 1000, "topK": 4}, "safetySettings": [],
                "toolConfig": {"functionCallingConfig": {"mode": "ANY"}}, "cachedContent": "c", "labels": {"a": "b"}}),
        ),
    ]
}

fn with_fields(request: &Value, fields: &Value) -> String {
    let mut whole = request.as_object().cloned().unwrap_or_default();
    whole.extend(fields.as_object().cloned().unwrap_or_default());
    Value::Object(whole).to_string()
}

#[test]
fn fields_are_written_back_as_they_came() {
    for (format, wire, request, fields) in requests() {
        let text = with_fields(&request, &fields);
        let decoded = decode_request(format, &text).expect("JSON");
        assert!(decoded.warnings.is_empty() && decoded.skipped.is_empty(), "{decoded:?}");
        let written = write_request(wire, decoded.request);
        assert_eq!(written.value, serde_json::from_str::<Value>(&text).expect("JSON"), "{wire:?}");
        assert_eq!(written.lost, [], "{wire:?}");
    }
}

#[test]
fn another_vendor_does_not_get_them() {
    for (format, wire, request, fields) in requests() {
        let names: Vec<&str> = fields.as_object().expect("fields").keys().map(String::as_str).collect();
        for target in WireFormat::ALL.into_iter().filter(|target| *target != wire) {
            let decoded = decode_request(format, &with_fields(&request, &fields)).expect("JSON").request;
            let bare = decode_request(format, &request.to_string()).expect("JSON").request;
            let written = write_request(target, decoded);
            assert_eq!(written.value, write_request(target, bare).value, "{wire:?} as {target:?}");
            let lost: Vec<_> = written.lost.iter().map(|loss| (loss.kind, loss.detail.as_str())).collect();
            assert_eq!(lost, [(LossKind::Fields, names.join(", ").as_str())], "{wire:?} as {target:?}");
        }
    }
}

#[test]
fn a_request_that_is_sent_on_has_them_too() {
    for (format, wire, request, fields) in requests() {
        let decoded = decode_request(format, &with_fields(&request, &fields)).expect("JSON").request;
        let sent = encode_request(wire, decoded, &EncodeOptions::default());
        for (name, value) in fields.as_object().unwrap_or(&Map::new()) {
            assert_eq!(sent.get(name), Some(value), "{wire:?}");
        }
    }
}

#[test]
fn what_is_said_now_wins() {
    let [(format, wire, request, fields), ..] = requests();
    let mut decoded = decode_request(format, &with_fields(&request, &fields)).expect("JSON").request;
    decoded.sampling.temperature = Some(0.25);
    let options = EncodeOptions { streams: false, ..EncodeOptions::default() };
    assert_eq!(encode_request(wire, decoded, &options)["temperature"], json!(0.25));
}

#[test]
fn the_choice_among_functions_becomes_one_among_tools() {
    for (choice, expected) in [
        (json!("auto"), json!("auto")),
        (json!({"name": "ls"}), json!({"type": "function", "function": {"name": "ls"}})),
    ] {
        let request = json!({"messages": [{"role": "user", "content": "hi"}], "functions": [{"name": "ls"}],
            "function_call": choice});
        let decoded = decode_request(RequestFormat::OpenAiChat, &request.to_string()).expect("JSON");
        let written = write_request(WireFormat::OpenAi, decoded.request).value;
        assert_eq!((&written["tool_choice"], written.get("function_call")), (&expected, None));
    }
}
