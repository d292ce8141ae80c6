//! Strategies for messages and requests, for laws that hold for any of them.

use longhaul_conversation::{
    Body, CallId, Extra, FileReference, Media, MediaData, Message, MessageId, Opaque, Ordinal, Origin,
    Output, Part, Request, Role, Signature, Thought, ToolCall, ToolDeclaration, ToolResult, ToolStatus,
    Vendor,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

/// Messages as no vendor alone would send them: parts of all kinds, a few where they do not belong, with fields of anyone.
pub fn messages() -> impl Strategy<Value = Message> {
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

/// Requests of such messages, each with an id and a mark of its own.
pub fn requests() -> impl Strategy<Value = Request> {
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
