//! What a vendor sends that we do not model comes back to it in the next request, as it was.

use longhaul_conversation::{Message, Part, Request, Role, ToolResult, find_faults};
use longhaul_testkit::fake_provider::{FakeProvider, Reply, anthropic, gemini, openai};
use longhaul_wire::WireFormat;
use serde_json::{Value, json};

use crate::support::{ask, asking, model_at, texts};

/// Asks, answers all calls with `done`, asks again, and gives the body of the second request.
async fn second_request(format: WireFormat, model: &str, reply: Reply) -> Value {
    let server = FakeProvider::start([reply, texts(format, &["fine"])]);
    let http = model_at(&server, format);
    let mut messages = vec![Message::new("u1", Role::User, vec![Part::user_text("go")])];
    let ask_for = |messages: &[Message]| Request { model: model.into(), ..asking(format, messages.to_vec()) };
    let (answer, error) = ask(&http, ask_for(&messages)).await;
    assert_eq!(error, None);
    let answer = answer.into_message("a1");
    let results = answer.calls().map(|call| Part::result(ToolResult::text(call.id.clone(), "done")));
    let mut results: Vec<Part> = results.collect();
    if results.is_empty() {
        results.push(Part::user_text("next"));
    }
    messages.extend([answer, Message::new("u2", Role::User, results)]);
    assert!(find_faults(&messages).is_empty());
    let (_, error) = ask(&http, ask_for(&messages)).await;
    assert_eq!(error, None);
    server.requests()[1].body.clone()
}

#[tokio::test]
async fn gemini_gets_its_signatures_back() {
    let parts = [
        json!({"text": "let me see", "thought": true}),
        json!({"text": "Looking. "}),
        json!({"text": "Now.", "thoughtSignature": "c2lnLXRleHQ="}),
        json!({"functionCall": {"name": "ls", "args": {"z": 1, "a": [2]}}, "thoughtSignature": "c2lnLWNhbGw="}),
        json!({"functionCall": {"id": "own-id", "name": "cat", "args": {}}}),
        json!({"inlineData": {"mimeType": "image/png", "data": "AA=="}}),
        json!({"executableCode": {"language": "PYTHON", "code": "1"}}),
        json!({"text": "", "thoughtSignature": "c2lnLWVuZA=="}),
    ];
    let body = second_request(WireFormat::Gemini, "gemini-3-pro-preview", gemini::parts(&parts)).await;
    // The unsigned thought is ours to drop; everything else comes back as it was.
    assert_eq!(body["contents"][1], json!({"role": "model", "parts": parts[1..]}));
    assert_eq!(
        body["contents"][2]["parts"],
        json!([
            {"functionResponse": {"name": "ls", "response": {"output": "done"}}},
            {"functionResponse": {"id": "own-id", "name": "cat", "response": {"output": "done"}}},
        ])
    );
}

#[tokio::test]
async fn anthropic_gets_its_thoughts_back() {
    let blocks = [
        anthropic::block(
            0,
            &json!({"type": "thinking", "thinking": "", "signature": ""}),
            &[
                json!({"type": "thinking_delta", "thinking": "hm"}),
                json!({"type": "signature_delta", "signature": "sig"}),
            ],
        ),
        anthropic::block(1, &json!({"type": "redacted_thinking", "data": "xyz"}), &[]),
        anthropic::block(
            2,
            &json!({"type": "text", "text": ""}),
            &[json!({"type": "text_delta", "text": "Looking."})],
        ),
        anthropic::block(
            3,
            &json!({"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {}}),
            &[
                json!({"type": "input_json_delta", "partial_json": "{\"z\":1,"}),
                json!({"type": "input_json_delta", "partial_json": "\"a\":2}"}),
            ],
        ),
        anthropic::block(4, &json!({"type": "tool_use", "id": "toolu_2", "name": "pwd", "input": {}}), &[]),
    ];
    let body =
        second_request(WireFormat::Anthropic, "claude-opus-4-5", anthropic::blocks(&blocks, "tool_use"))
            .await;
    assert_eq!(
        body["messages"][1],
        json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            {"type": "redacted_thinking", "data": "xyz"},
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {"z": 1, "a": 2}},
            {"type": "tool_use", "id": "toolu_2", "name": "pwd", "input": {}},
        ]})
    );
    assert_eq!(
        body["messages"][2]["content"],
        json!([
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": "done", "cache_control": {"type": "ephemeral"}},
        ])
    );
}

#[tokio::test]
async fn openai_gets_its_reasoning_back() {
    let details = json!([{"type": "reasoning.encrypted", "data": "xyz", "index": 0}]);
    let signature = json!({"google": {"thought_signature": "s"}});
    for name in ["reasoning", "reasoning_content"] {
        let deltas = [
            json!({"role": "assistant", name: "let me "}),
            json!({name: "see", "reasoning_details": details}),
            json!({"content": "Looking."}),
            json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "extra_content": signature,
                "function": {"name": "ls", "arguments": ""}}]}),
            json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"z\":1,\"a\":2}"}}]}),
            json!({"tool_calls": [{"index": 1, "id": "call_2", "type": "function", "function": {"name": "pwd", "arguments": "{}"}}]}),
        ];
        let body =
            second_request(WireFormat::OpenAi, "deepseek", openai::deltas(&deltas, "tool_calls")).await;
        let expected = json!({"role": "assistant", name: "let me see", "reasoning_details": details, "content": "Looking.",
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "ls", "arguments": "{\"z\":1,\"a\":2}"},
             "extra_content": signature},
            {"id": "call_2", "type": "function", "function": {"name": "pwd", "arguments": "{}"}},
        ]});
        assert_eq!(body["messages"][1], expected);
        assert_eq!(body["messages"][3], json!({"role": "tool", "tool_call_id": "call_2", "content": "done"}));
    }
}

#[tokio::test]
async fn one_vendor_never_sees_the_opaque_fields_of_another() {
    let thought = anthropic::block(
        0,
        &json!({"type": "thinking", "thinking": "", "signature": ""}),
        &[
            json!({"type": "thinking_delta", "thinking": "hm"}),
            json!({"type": "signature_delta", "signature": "SEALED"}),
        ],
    );
    let redacted = anthropic::block(1, &json!({"type": "redacted_thinking", "data": "SEALED"}), &[]);
    let said = anthropic::block(2, &json!({"type": "text", "text": "plain"}), &[]);
    let server = FakeProvider::start([anthropic::blocks(&[thought, redacted, said], "end_turn")]);
    let http = model_at(&server, WireFormat::Anthropic);
    let start = Message::new("u1", Role::User, vec![Part::user_text("go")]);
    let (answer, _) = ask(&http, asking(WireFormat::Anthropic, vec![start.clone()])).await;
    let messages =
        vec![start, answer.into_message("a1"), Message::new("u2", Role::User, vec![Part::user_text("next")])];
    for format in [WireFormat::Gemini, WireFormat::OpenAi] {
        let server = FakeProvider::start([texts(format, &["fine"])]);
        ask(&model_at(&server, format), asking(format, messages.clone())).await;
        let body = server.requests()[0].body.to_string();
        assert!(body.contains("plain") && !body.contains("SEALED"), "{body}");
    }
}
