//! Makes a conversation acceptable to the vendor that it is sent to, before it is encoded.

use std::borrow::Cow;

use longhaul_conversation::{
    Body, CallId, Extra, Media, MediaData, Message, Origin, Part, Role, Vendor, repair,
};

use crate::fields::{Fields, own_fields};

/// The closing message for a conversation that ends with the model: providers answer users.
const CONTINUE: &str = "[please continue]";

/// The messages with what `fit` leaves of their parts, calls and results paired, sides taking turns, results first on
/// the user's side, and the user speaking last.
pub(crate) fn prepare(
    messages: Vec<Message>,
    vendor: Vendor,
    fit: impl Fn(Part, Role) -> Option<Part>,
) -> Vec<Message> {
    let fit_all = |messages: Vec<Message>| {
        let fitted = messages.into_iter().map(|mut message| {
            let role = message.role;
            message.parts = message.parts.into_iter().filter_map(|part| fit(part, role)).collect();
            message
        });
        fitted.filter(|message| !message.parts.is_empty()).collect::<Vec<_>>()
    };
    // Repairing may leave thoughts without a signature, which most vendors do not take, hence the second time.
    let repaired = fit_all(repair(fit_all(messages)).messages);
    let mut joined: Vec<Message> = Vec::with_capacity(repaired.len() + 1);
    for mut message in repaired {
        match joined.last_mut() {
            Some(last)
                if last.role == message.role
                    && !has_own_role(last, vendor)
                    && !has_own_role(&message, vendor) =>
            {
                last.parts.append(&mut message.parts);
            }
            _ => joined.push(message),
        }
    }
    for message in joined.iter_mut().filter(|message| message.role == Role::User) {
        message.parts.sort_by_key(|part| part.as_result().is_none());
    }
    if joined.last().is_none_or(|last| last.role == Role::Model) {
        let part = Part::text(Origin::Hook, CONTINUE);
        joined.push(Message::new("lh-continue", Role::User, vec![part]));
    }
    joined
}

/// The role a message was given by its vendor where that is neither of the two sides, such as `developer`.
pub(crate) fn own_role(message: &Message, vendor: Vendor) -> Option<&str> {
    let extra = message.extra.as_deref().filter(|extra| extra.vendor == vendor)?;
    extra.fields.get("role")?.as_str()
}

fn has_own_role(message: &Message, vendor: Vendor) -> bool {
    own_role(message, vendor).is_some()
}

/// A text that says what stood here: the vendor has no place for it.
pub(crate) fn as_note(part: &Part) -> Option<Part> {
    let note = match &part.body {
        Body::Media(media) => match &**media {
            Media { mime, data: MediaData::Omitted { bytes } } => {
                format!("[{mime}, {bytes} bytes, no longer here]")
            }
            Media { mime, .. } => format!("[{mime}, cannot be sent to this model]"),
        },
        Body::File(file) => format!("[file {}]", file.uri),
        _ => return None,
    };
    Some(Part::text(part.origin, note))
}

/// A result with what of the parts inside it `fit` leaves; any other part as it is.
pub(crate) fn fit_nested(mut part: Part, fit: impl Fn(Part) -> Option<Part>) -> Part {
    if let Body::Result(result) = &mut part.body {
        result.nested = std::mem::take(&mut result.nested).into_iter().filter_map(fit).collect();
    }
    part
}

/// The fields of a request that was read, if they are `vendor`'s; what is said otherwise now wins over them.
pub(crate) fn own_settings(fields: &Option<Box<Extra>>, vendor: Vendor) -> Fields {
    Extra::for_vendor(fields, vendor).cloned().unwrap_or_default()
}

/// Leaves a part, and what is inside of it, only the fields that `vendor` gets back.
pub(crate) fn keep_own_fields(part: &mut Part, vendor: Vendor) {
    part.extra = Extra::boxed(vendor, own_fields(part, vendor));
    if let Body::Result(result) = &mut part.body {
        result.nested.iter_mut().for_each(|part| keep_own_fields(part, vendor));
    }
}

/// A call's id as a vendor takes it: letters, digits, `_` and `-`, at most 40 of them. Another id always becomes the same
/// one, so that a result still finds its call.
/// Gives a call an id that vendors take.
pub(crate) fn make_plain(id: &mut CallId) {
    if let Cow::Owned(plain) = plain_id(id) {
        *id = CallId::new(plain);
    }
}

pub(crate) fn plain_id(id: &CallId) -> Cow<'_, str> {
    let id = id.as_str();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if (1..=40).contains(&id.len()) && id.bytes().all(is_plain) {
        return Cow::Borrowed(id);
    }
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Cow::Owned(format!("call_{hash:016x}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::ToolResult;
    use longhaul_conversation::{Extra, Thought, ToolCall};
    use serde_json::json;

    fn without_thoughts(part: Part, _: Role) -> Option<Part> {
        (!matches!(part.body, Body::Thought(_))).then_some(part)
    }

    fn outline(messages: &[Message]) -> Vec<String> {
        let word = |part: &Part| match &part.body {
            Body::Text(text) => text.clone(),
            Body::Call(call) => format!("call({})", call.id),
            Body::Result(result) => format!("result({})", result.call),
            _ => "?".into(),
        };
        let line = |message: &Message| {
            let parts: Vec<String> = message.parts.iter().map(word).collect();
            format!("{}: {}", message.role.as_str(), parts.join(" "))
        };
        messages.iter().map(line).collect()
    }

    #[track_caller]
    fn check(messages: Vec<Message>, expected: &[&str]) {
        assert_eq!(outline(&prepare(messages, Vendor::OpenAiChat, without_thoughts)), expected);
    }

    fn user(id: &str, parts: Vec<Part>) -> Message {
        Message::new(id, Role::User, parts)
    }

    fn model(id: &str, parts: Vec<Part>) -> Message {
        Message::new(id, Role::Model, parts)
    }

    #[test]
    fn sides_take_turns_and_the_user_speaks_last() {
        let thought = Part::thought(Thought { text: "hm".into(), ..Thought::default() });
        check(
            vec![
                user("1", vec![Part::user_text("a")]),
                model("2", vec![thought]),
                user("3", vec![Part::user_text("b")]),
            ],
            &["user: a b"],
        );
        check(
            vec![user("1", vec![Part::user_text("a")]), model("2", vec![Part::model_text("b")])],
            &["user: a", "model: b", "user: [please continue]"],
        );
        check(vec![], &["user: [please continue]"]);
    }

    #[test]
    fn results_come_first_and_every_call_has_one() {
        check(
            vec![
                user("1", vec![Part::user_text("a")]),
                model("2", vec![Part::call(ToolCall::new("x", "ls")), Part::call(ToolCall::new("y", "ls"))]),
                user("3", vec![Part::user_text("b"), Part::result(ToolResult::text("x", "ok"))]),
            ],
            &["user: a", "model: call(x) call(y)", "user: result(x) result(y) b"],
        );
    }

    #[test]
    fn a_role_of_its_own_keeps_a_message_apart() {
        let mut developer = user("2", vec![Part::user_text("rule")]);
        let fields = serde_json::from_value(json!({"role": "developer"})).expect("an object");
        developer.extra = Extra::boxed(Vendor::OpenAiChat, fields);
        check(vec![user("1", vec![Part::user_text("a")]), developer], &["user: a", "user: rule"]);
    }

    #[test]
    fn ids_become_plain() {
        assert_eq!(plain_id(&CallId::new("toolu_01-x")), "toolu_01-x");
        for id in ["", "a b", "functions.ls:0", &"x".repeat(41)] {
            let plain = plain_id(&CallId::new(id)).into_owned();
            assert_eq!(plain_id(&CallId::new(plain.as_str())), plain, "{id}");
            assert_ne!(plain, id);
        }
    }
}
