//! Checks that nothing is lost in writing but what is reported.

use longhaul_conversation::{
    Body, CallId, Extra, FileReference, Media, MediaData, Message, MessageId, Opaque, Ordinal, Origin,
    Output, Part, Request, Role, Signature, Thought, ToolCall, ToolDeclaration, ToolResult, ToolStatus,
    Transcript, Vendor,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::loss::Losses;
use super::{LossKind, Target, encode, fit, write};
use crate::Event;
use crate::json::Json;
use crate::out::Out;
use crate::read::{anthropic, contents, openai};

/// Reads a written request with the reader of its format.
fn decode(target: Target, value: &Value) -> Request {
    let known = match target {
        Target::Gemini => contents::GEMINI,
        Target::OpenAiChat => openai::KNOWN,
        Target::Anthropic => anthropic::KNOWN,
    };
    let text = value.to_string();
    let mut transcript = Transcript::default();
    let mut sink = |event| match event {
        Event::Change(change) => transcript.apply(change),
        other => panic!("{other:?} in {text}"),
    };
    let mut out = Out::new(known.format, &mut sink);
    let mut reader = (known.open)();
    reader.record(Json::parse(&text).expect("we wrote it"), &mut out);
    reader.finish(&mut out);
    let info = out.info;
    Request {
        model: info.model().unwrap_or_default().to_string(),
        system: info.system,
        tools: info.tools,
        messages: transcript.into_messages(),
        ..Request::default()
    }
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

fn vendors() -> impl Strategy<Value = Vendor> {
    select(vec![
        Vendor::Gemini,
        Vendor::OpenAiChat,
        Vendor::OpenAiResponses,
        Vendor::Anthropic,
        Vendor::Agent,
    ])
}

fn texts() -> impl Strategy<Value = String> {
    "[a-zé \n\"\\\\]{0,8}"
}

fn thoughts() -> impl Strategy<Value = Body> {
    let signatures = (vendors(), "[A-Z]{1,4}").prop_map(|(vendor, value)| Signature { vendor, value });
    (texts(), option::of(signatures), option::weighted(0.2, "rs[0-9]"))
        .prop_map(|(text, signature, item)| Body::Thought(Box::new(Thought { text, signature, item })))
}

fn call_ids() -> impl Strategy<Value = CallId> {
    prop_oneof![
        6 => "c[0-9]".prop_map(CallId::new),
        3 => (0..4).prop_map(CallId::made_up),
        1 => "functions[.]ls:[0-9]".prop_map(CallId::new),
        1 => "[ab]{41}".prop_map(CallId::new),
    ]
}

fn calls() -> impl Strategy<Value = Body> {
    let args = select(vec![
        json!({}),
        json!({"path": "a", "deep": {"z": [1, 2.5, null], "a": "é\n"}, "big": u64::MAX}),
        json!("{\"broken"),
        json!("[1]"),
        json!(""),
        json!([1, 2]),
        json!(null),
    ]);
    (call_ids(), "[a-c]", args, option::weighted(0.2, "rs[0-9]"))
        .prop_map(|(id, name, args, reasoning)| Body::Call(Box::new(ToolCall { id, name, args, reasoning })))
}

fn media() -> impl Strategy<Value = Body> {
    let mimes = ["image/png", "audio/wav", "application/pdf", "text/plain", "video/mp4"].map(String::from);
    let data = prop_oneof![
        4 => "[A-Z]{4}".prop_map(MediaData::Base64),
        1 => (0u64..99).prop_map(|bytes| MediaData::Omitted { bytes }),
    ];
    (select(mimes.to_vec()), data).prop_map(|(mime, data)| Body::Media(Box::new(Media { mime, data })))
}

fn files() -> impl Strategy<Value = Body> {
    let mimes = ["image/png", "application/pdf"].map(String::from).to_vec();
    let uris = ["https://example.com/a", "gs://bucket/a"].map(String::from).to_vec();
    (option::of(select(mimes)), select(uris))
        .prop_map(|(mime, uri)| Body::File(Box::new(FileReference { mime, uri })))
}

fn opaques() -> impl Strategy<Value = Body> {
    let values =
        select(vec![json!({"type": "odd", "z": 1, "a": [2]}), json!(7), json!({"executableCode": {}})]);
    (vendors(), values).prop_map(|(vendor, value)| Body::Opaque(Box::new(Opaque { vendor, value })))
}

fn results() -> impl Strategy<Value = Body> {
    let outputs = prop_oneof![
        Just(Output::Empty),
        texts().prop_map(Output::Text),
        select(vec![
            json!({"output": "listed"}),
            json!({"error": "no"}),
            json!({"error": null, "b": 1, "a": 2}),
            json!({"error": {"code": 1}, "output": "x"}),
            json!([1]),
            json!("text"),
            json!(null),
        ])
        .prop_map(Output::Structured),
    ];
    let statuses =
        select(vec![ToolStatus::Unstated, ToolStatus::Succeeded, ToolStatus::Failed, ToolStatus::Cancelled]);
    let bodies = prop_oneof![
        4 => texts().prop_map(Body::Text),
        2 => media(),
        1 => files(),
        1 => opaques(),
        1 => thoughts(),
    ];
    let nested = vec(with_fields(bodies), 0..3);
    (call_ids(), option::of("[a-c]"), statuses, outputs, nested).prop_map(
        |(call, name, status, output, nested)| {
            Body::Result(Box::new(ToolResult { call, name, status, output, nested }))
        },
    )
}

/// Under which key a vendor's reader keeps what it found inside such a part.
fn inner_key(vendor: Vendor, body: &Body) -> Option<&'static str> {
    Some(match (vendor, body) {
        (Vendor::Gemini, Body::Call(_)) => "functionCall",
        (Vendor::Gemini, Body::Result(_)) => "functionResponse",
        (Vendor::Gemini, Body::Media(_)) => "inlineData",
        (Vendor::Gemini, Body::File(_)) => "fileData",
        (Vendor::OpenAiChat, Body::Call(_)) => "function",
        (Vendor::OpenAiChat, Body::File(_)) => "image_url",
        (Vendor::OpenAiChat, Body::Media(media)) if media.mime.starts_with("image/") => "image_url",
        (Vendor::OpenAiChat, Body::Media(media)) if media.mime != "audio/wav" => "file",
        (Vendor::Anthropic, Body::Media(_) | Body::File(_)) => "source",
        _ => return None,
    })
}

fn with_fields(bodies: impl Strategy<Value = Body>) -> impl Strategy<Value = Part> {
    (bodies, option::weighted(0.4, (vendors(), any::<bool>()))).prop_map(|(body, fields)| {
        let extra = fields.map(|(vendor, inside)| {
            let mut fields = json!({"z_note": {"b": 1, "a": 2}, "cache": "x"});
            if let Some(key) = inner_key(vendor, &body).filter(|_| inside) {
                fields[key] = json!({"y": 1, "x": 2});
            }
            Box::new(Extra { vendor, fields: fields.as_object().cloned().unwrap_or_default() })
        });
        Part { origin: Origin::Hook, body, extra }
    })
}

fn parts(role: Role) -> impl Strategy<Value = Part> {
    // Most parts stand where they should; a few do not.
    let (model, user) = if role == Role::Model { (6, 1) } else { (1, 6) };
    with_fields(prop_oneof![
        6 => texts().prop_map(Body::Text),
        model => thoughts(),
        model => calls(),
        user => results(),
        2 => media(),
        1 => files(),
        1 => opaques(),
    ])
}

pub(crate) fn messages() -> impl Strategy<Value = Message> {
    select(vec![Role::User, Role::Model]).prop_flat_map(|role| {
        let fields =
            select(vec![json!({"z": 1, "a": {"k": 2}}), json!({"name": "ann", "role": "developer"})]);
        let extra = option::weighted(0.2, (vendors(), fields));
        (vec(parts(role), 0..5), extra).prop_map(move |(parts, extra)| {
            let mut message = Message::new("m", role, parts);
            message.extra = extra.map(|(vendor, mut fields)| {
                let mut fields = fields.as_object_mut().map(std::mem::take).unwrap_or_default();
                if role == Role::Model || vendor != Vendor::OpenAiChat {
                    fields.shift_remove("role");
                }
                Box::new(Extra { vendor, fields })
            });
            message
        })
    })
}

pub(super) fn requests() -> impl Strategy<Value = Request> {
    let tools =
        vec(("[a-c]", texts(), select(vec![json!(null), json!({"type": "object", "b": 1, "a": 2})])), 0..2);
    (vec(with_fields(texts().prop_map(Body::Text)), 0..3), tools, vec(messages(), 0..7)).prop_map(
        |(system, tools, mut messages)| {
            for (place, message) in messages.iter_mut().enumerate() {
                message.id = MessageId::made_up(place);
                message.ordinal = Some(Ordinal(place as u32 + 1));
            }
            let tools = tools.into_iter().map(|(name, description, parameters)| ToolDeclaration {
                name,
                description,
                parameters,
            });
            Request { model: "m-1".into(), system, tools: tools.collect(), messages, ..Request::default() }
        },
    )
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

fn targets() -> impl Strategy<Value = Target> {
    select(Target::ALL.to_vec())
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
        let written = pieces(&decode(target, &write(target, &request).value));
        for said in pieces(&request) {
            prop_assert!(written.iter().any(|text| text.contains(&said)), "{:?} is not in {:?}", said, written);
        }
    }

    #[test]
    fn a_loss_names_its_message(target in targets(), request in requests()) {
        for loss in write(target, &request).lost {
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
fn check(target: Target, messages: &[Message], expected: &Value, lost: &[LossKind]) {
    let written = write(target, &Request { messages: messages.to_vec(), ..Request::default() });
    let key = if target == Target::Gemini { "contents" } else { "messages" };
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
        Target::Gemini,
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
        Target::OpenAiChat,
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
        Target::Anthropic,
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
        Target::Gemini,
        &made_up,
        &json!([{"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {}}}]}]),
        &[],
    );
    check(
        Target::Anthropic,
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
        Target::Anthropic,
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
        Target::Gemini,
        &unsigned,
        &json!([{"role": "model", "parts": [{"text": "hm", "thought": true}, {"text": "x"}]}]),
        &[],
    );
    check(
        Target::OpenAiChat,
        &unsigned,
        &json!([{"role": "assistant", "reasoning_content": "hm", "content": "x"}]),
        &[],
    );
    check(
        Target::Anthropic,
        &unsigned,
        &json!([{"role": "assistant", "content": "x"}]),
        &[LossKind::Thought],
    );
    let own = [model(vec![thought(signed(Vendor::Anthropic))])];
    check(
        Target::Anthropic,
        &own,
        &json!([{"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "S"}]}]),
        &[],
    );
    check(
        Target::Gemini,
        &own,
        &json!([{"role": "model", "parts": [{"text": "hm", "thought": true}]}]),
        &[LossKind::Signature],
    );
}

#[test]
fn neighbours_are_joined_for_anthropic_alone() {
    let twice = [user(vec![Part::user_text("a")]), user(vec![Part::user_text("b")])];
    check(
        Target::Anthropic,
        &twice,
        &json!([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]),
        &[],
    );
    check(
        Target::OpenAiChat,
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
        Target::Anthropic,
        &marked,
        &json!([{"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]}]),
        &[],
    );
    check(Target::OpenAiChat, &marked, &json!([{"role": "user", "content": "a"}]), &[LossKind::Fields]);
}

#[test]
fn what_is_left_out_is_reported() {
    let lost = |target, parts: Vec<Part>| {
        write(target, &Request { messages: vec![user(parts)], ..Request::default() }).lost
    };
    let image = || {
        Part::new(
            Origin::Tool,
            Body::Media(Box::new(Media { mime: "image/png".into(), data: MediaData::Base64("AA".into()) })),
        )
    };
    let seen = Part::result(ToolResult { nested: vec![image()], ..ToolResult::text("c", "seen") });
    assert_eq!(lost(Target::OpenAiChat, vec![seen.clone()])[0].to_string(), "u: media (image/png)");
    assert_eq!(lost(Target::Anthropic, vec![seen]), []);
    assert_eq!(lost(Target::OpenAiChat, vec![image()]), []);
    let odd = Part::opaque(Origin::Hook, Vendor::Anthropic, json!({"type": "odd"}));
    assert_eq!(lost(Target::Gemini, vec![odd])[0].to_string(), "u: item of another vendor (odd)");
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
    let written = |target| write(target, &request).value;
    assert_eq!(
        written(Target::Gemini),
        json!({"model": "models/m-1", "systemInstruction": {"parts": [{"text": "Be brief."}]},
               "tools": [{"functionDeclarations": [
                   {"name": "ls", "description": "Lists.", "parametersJsonSchema": {"type": "object"}}]}],
               "contents": [{"role": "user", "parts": [{"text": "hi"}]}], "temperature": 0})
    );
    assert_eq!(
        written(Target::OpenAiChat),
        json!({"model": "m-1", "temperature": 0,
               "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
               "tools": [{"type": "function", "function":
                   {"name": "ls", "description": "Lists.", "parameters": {"type": "object"}}}]})
    );
    assert_eq!(
        written(Target::Anthropic),
        json!({"model": "m-1", "system": "Be brief.", "temperature": 0,
               "tools": [{"name": "ls", "description": "Lists.", "input_schema": {"type": "object"}}],
               "messages": [{"role": "user", "content": "hi"}]})
    );
}
