//! Checks that nothing is lost in writing but what is reported.

use longhaul_conversation::{
    Body, CallId, Media, MediaData, Message, MessageId, Origin, Part, Request, Role, Signature, Thought,
    ToolCall, ToolDeclaration, ToolResult, ToolStatus, Vendor,
};
use longhaul_testkit::messages::requests;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::decode::{RequestFormat, decode_request};
use crate::format::WireFormat;
use crate::loss::{LossKind, Losses};
use crate::write::{encode, fit, write_request};

/// Reads a written request.
fn decode(format: WireFormat, value: &Value) -> Request {
    let text = value.to_string();
    let format = match format {
        WireFormat::Gemini => RequestFormat::Gemini,
        WireFormat::OpenAi => RequestFormat::OpenAiChat,
        WireFormat::Anthropic => RequestFormat::Anthropic,
    };
    let decoded = decode_request(format, &text).expect("we wrote it");
    assert_eq!(decoded.warnings, [""; 0], "{text}");
    decoded.request
}

/// The request without what no wire format carries.
fn bare(mut request: Request) -> Request {
    request.system.iter_mut().for_each(bare_part);
    for message in &mut request.messages {
        message.id = MessageId::new("");
        message.ordinal = None;
        message.parts.iter_mut().for_each(bare_part);
    }
    request
}

fn bare_part(part: &mut Part) {
    part.origin = Origin::User;
    match &mut part.body {
        Body::Call(call) if call.id.is_made_up() => call.id = CallId::made_up(0),
        Body::Result(result) => {
            if result.call.is_made_up() {
                result.call = CallId::made_up(0);
            }
            result.nested.iter_mut().for_each(bare_part);
        }
        _ => {}
    }
}

/// Every text that says something, without its blanks: of messages, of results and of what came with them.
fn pieces(request: &Request) -> Vec<String> {
    let messages = request.messages.iter().flat_map(|message| &message.parts);
    let texts = request.system.iter().chain(messages).flat_map(|part| match &part.body {
        Body::Text(text) => vec![text.clone()],
        Body::Result(result) => vec![result.readable().into_owned()],
        _ => Vec::new(),
    });
    texts.map(|text| text.split_whitespace().collect()).filter(|text: &String| !text.is_empty()).collect()
}

fn targets() -> impl Strategy<Value = WireFormat> {
    select(WireFormat::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_fits_comes_back_equal(target in targets(), request in requests()) {
        let fitted = fit(target, &request, &mut Losses::default());
        let decoded = decode(target, &encode(target, &fitted));
        // Compared as text, because maps of another order are equal otherwise.
        prop_assert_eq!(format!("{:#?}", bare(decoded)), format!("{:#?}", bare(fitted)));
    }

    #[test]
    fn what_fits_loses_nothing(target in targets(), request in requests()) {
        let fitted = fit(target, &request, &mut Losses::default());
        let mut losses = Losses::default();
        let again = fit(target, &fitted, &mut losses);
        prop_assert_eq!(losses.into_list(), vec![]);
        prop_assert_eq!(again, fitted);
    }

    #[test]
    fn no_text_is_lost(target in targets(), request in requests()) {
        let written = pieces(&decode(target, &write_request(target, request.clone()).value));
        for said in pieces(&request) {
            prop_assert!(written.iter().any(|text| text.contains(&said)), "{:?} is not in {:?}", said, written);
        }
    }

    #[test]
    fn a_loss_names_its_message(target in targets(), request in requests()) {
        for loss in write_request(target, request.clone()).lost {
            let place = request.messages.iter().position(|message| Some(&message.id) == loss.message.as_ref());
            prop_assert_eq!(loss.ordinal.map(|mark| mark.0 as usize), place.map(|place| place + 1));
        }
    }
}

fn call(id: CallId, args: Value) -> Part {
    Part::call(ToolCall::new(id, "ls").with_args(args))
}

fn user(parts: Vec<Part>) -> Message {
    Message::new("u", Role::User, parts)
}

fn model(parts: Vec<Part>) -> Message {
    Message::new("a", Role::Model, parts)
}

#[track_caller]
fn check(target: WireFormat, messages: &[Message], expected: &Value, lost: &[LossKind]) {
    let written = write_request(target, Request { messages: messages.to_vec(), ..Request::default() });
    let key = if target == WireFormat::Gemini { "contents" } else { "messages" };
    assert_eq!(written.value[key].to_string(), expected.to_string());
    assert_eq!(written.lost.iter().map(|loss| loss.kind).collect::<Vec<_>>(), lost);
}

#[test]
fn each_target_wants_results_its_own_way() {
    let turn = [
        model(vec![call("c1".into(), json!({})), call("c2".into(), json!({}))]),
        user(vec![
            Part::user_text("wait"),
            Part::result(ToolResult::text("c1", "one")),
            Part::result(ToolResult::text("c2", "no").with_status(ToolStatus::Failed)),
        ]),
    ];
    let gemini_call = |id: &str| json!({"functionCall": {"id": id, "name": "ls", "args": {}}});
    check(
        WireFormat::Gemini,
        &turn,
        &json!([
            {"role": "model", "parts": [gemini_call("c1"), gemini_call("c2")]},
            {"role": "user", "parts": [
                {"text": "wait"},
                {"functionResponse": {"id": "c1", "name": "ls", "response": {"output": "one"}}},
                {"functionResponse": {"id": "c2", "name": "ls", "response": {"error": "no"}}}]},
        ]),
        &[],
    );
    let openai_call =
        |id: &str| json!({"id": id, "type": "function", "function": {"name": "ls", "arguments": "{}"}});
    check(
        WireFormat::OpenAi,
        &turn,
        &json!([
            {"role": "assistant", "content": null, "tool_calls": [openai_call("c1"), openai_call("c2")]},
            {"role": "tool", "tool_call_id": "c1", "content": "one"},
            {"role": "tool", "tool_call_id": "c2", "content": "no"},
            {"role": "user", "content": "wait"},
        ]),
        &[LossKind::Status, LossKind::Order],
    );
    let anthropic_call = |id: &str| json!({"type": "tool_use", "id": id, "name": "ls", "input": {}});
    check(
        WireFormat::Anthropic,
        &turn,
        &json!([
            {"role": "assistant", "content": [anthropic_call("c1"), anthropic_call("c2")]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "one"},
                {"type": "tool_result", "tool_use_id": "c2", "content": "no", "is_error": true},
                {"type": "text", "text": "wait"}]},
        ]),
        &[LossKind::Order],
    );
}

#[test]
fn made_up_ids_are_written_only_where_ids_are_required() {
    let made_up = [model(vec![call(CallId::made_up(1), json!({}))])];
    check(
        WireFormat::Gemini,
        &made_up,
        &json!([{"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {}}}]}]),
        &[],
    );
    check(
        WireFormat::Anthropic,
        &made_up,
        &json!([{"role": "assistant", "content": [{"type": "tool_use", "id": "lh-call-1", "name": "ls", "input": {}}]}]),
        &[],
    );
}

#[test]
fn ids_that_would_be_refused_are_replaced_in_pairs() {
    let id = "functions.ls:0";
    let pair = [
        model(vec![call(CallId::made_up(1), json!({})), call(id.into(), json!({}))]),
        user(vec![Part::result(ToolResult::text(id, "one"))]),
    ];
    let tool_use = |id: &str| json!({"type": "tool_use", "id": id, "name": "ls", "input": {}});
    check(
        WireFormat::Anthropic,
        &pair,
        &json!([
            {"role": "assistant", "content": [tool_use("lh-call-1"), tool_use("lh-call-2")]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "lh-call-2", "content": "one"}]},
        ]),
        &[LossKind::CallId],
    );
}

#[test]
fn thoughts_go_where_they_are_taken() {
    let signed = |vendor| Some(Signature { vendor, value: "S".into() });
    let thought = |signature| Part::thought(Thought { text: "hm".into(), signature, item: None });
    let unsigned = [model(vec![thought(None), Part::model_text("x")])];
    check(
        WireFormat::Gemini,
        &unsigned,
        &json!([{"role": "model", "parts": [{"text": "hm", "thought": true}, {"text": "x"}]}]),
        &[],
    );
    check(
        WireFormat::OpenAi,
        &unsigned,
        &json!([{"role": "assistant", "reasoning_content": "hm", "content": "x"}]),
        &[],
    );
    check(
        WireFormat::Anthropic,
        &unsigned,
        &json!([{"role": "assistant", "content": "x"}]),
        &[LossKind::Thought],
    );
    let own = [model(vec![thought(signed(Vendor::Anthropic))])];
    check(
        WireFormat::Anthropic,
        &own,
        &json!([{"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "S"}]}]),
        &[],
    );
    check(
        WireFormat::Gemini,
        &own,
        &json!([{"role": "model", "parts": [{"text": "hm", "thought": true}]}]),
        &[LossKind::Signature],
    );
}

#[test]
fn neighbours_are_joined_for_anthropic_alone() {
    let twice = [user(vec![Part::user_text("a")]), user(vec![Part::user_text("b")])];
    check(
        WireFormat::Anthropic,
        &twice,
        &json!([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]),
        &[],
    );
    check(
        WireFormat::OpenAi,
        &twice,
        &json!([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]),
        &[],
    );
}

#[test]
fn fields_go_back_to_their_own_vendor_only() {
    let fields = json!({"cache_control": {"type": "ephemeral"}}).as_object().cloned().unwrap_or_default();
    let marked = [user(vec![Part::user_text("a").with_extra(Vendor::Anthropic, fields)])];
    check(
        WireFormat::Anthropic,
        &marked,
        &json!([{"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]}]),
        &[],
    );
    check(WireFormat::OpenAi, &marked, &json!([{"role": "user", "content": "a"}]), &[LossKind::Fields]);
}

#[test]
fn what_is_left_out_is_reported() {
    let lost = |target, parts: Vec<Part>| {
        write_request(target, Request { messages: vec![user(parts)], ..Request::default() }).lost
    };
    let image = || {
        Part::new(
            Origin::Tool,
            Body::Media(Box::new(Media { mime: "image/png".into(), data: MediaData::Base64("AA".into()) })),
        )
    };
    let seen = Part::result(ToolResult { nested: vec![image()], ..ToolResult::text("c", "seen") });
    assert_eq!(lost(WireFormat::OpenAi, vec![seen.clone()])[0].to_string(), "u: media (image/png)");
    assert_eq!(lost(WireFormat::Anthropic, vec![seen]), []);
    assert_eq!(lost(WireFormat::OpenAi, vec![image()]), []);
    let odd = Part::opaque(Origin::Hook, Vendor::Anthropic, json!({"type": "odd"}));
    assert_eq!(lost(WireFormat::Gemini, vec![odd])[0].to_string(), "u: item from another vendor (odd)");
}

#[test]
fn a_request_says_its_model_system_tools_and_settings() {
    let request = Request {
        model: "m-1".into(),
        system: vec![Part::text(Origin::Hook, "Be brief.")],
        tools: vec![ToolDeclaration {
            name: "ls".into(),
            description: "Lists.".into(),
            parameters: json!({"type": "object"}),
        }],
        messages: vec![user(vec![Part::user_text("hi")])],
        extra: json!({"temperature": 0, "model": "ignored"}).as_object().cloned().unwrap_or_default(),
        ..Request::default()
    };
    let written = |target| write_request(target, request.clone()).value;
    assert_eq!(
        written(WireFormat::Gemini),
        json!({"model": "models/m-1", "systemInstruction": {"parts": [{"text": "Be brief."}]},
               "tools": [{"functionDeclarations": [
                   {"name": "ls", "description": "Lists.", "parametersJsonSchema": {"type": "object"}}]}],
               "contents": [{"role": "user", "parts": [{"text": "hi"}]}], "temperature": 0})
    );
    assert_eq!(
        written(WireFormat::OpenAi),
        json!({"model": "m-1", "temperature": 0,
               "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
               "tools": [{"type": "function", "function":
                   {"name": "ls", "description": "Lists.", "parameters": {"type": "object"}}}]})
    );
    assert_eq!(
        written(WireFormat::Anthropic),
        json!({"model": "m-1", "system": "Be brief.", "temperature": 0,
               "tools": [{"name": "ls", "description": "Lists.", "input_schema": {"type": "object"}}],
               "messages": [{"role": "user", "content": "hi"}]})
    );
}
