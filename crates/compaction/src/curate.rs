//! Leaves out what the model said when it said nothing: turns that ended empty would only confuse it.

use longhaul_conversation::{Body, Message, Part, Role};
use serde_json::Value;

/// Treatment of the model's messages that have no parts at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EmptyMessages {
    /// They are left out, with the run of model messages they stand in.
    #[default]
    Drop,
    /// They stay.
    Keep,
}

/// The conversation without the model's failed turns.
///
/// Every message on the user's side stays. Model messages that follow each other stay if all of them say something. A run
/// with tool calls always stays, as its results do; what says nothing is then taken out of it.
pub fn curate(messages: Vec<Message>, empty: EmptyMessages) -> Vec<Message> {
    let mut curated = Vec::with_capacity(messages.len());
    let mut run = Vec::new();
    for message in messages {
        match message.role {
            Role::Model => run.push(message),
            Role::User => {
                close_run(&mut run, empty, &mut curated);
                curated.push(message);
            }
        }
    }
    close_run(&mut run, empty, &mut curated);
    curated
}

/// Tells whether [`curate`] would leave everything as it is.
pub(crate) fn is_curated(messages: &[Message], empty: EmptyMessages) -> bool {
    messages.iter().filter(|message| message.role == Role::Model).all(|message| is_valid(message, empty))
}

fn close_run(run: &mut Vec<Message>, empty: EmptyMessages, curated: &mut Vec<Message>) {
    if run.iter().all(|message| is_valid(message, empty)) {
        curated.append(run);
    } else if run.iter().any(|message| message.calls().next().is_some()) {
        curated.extend(run.drain(..).filter_map(without_nothing));
    } else {
        run.clear();
    }
}

fn is_valid(message: &Message, empty: EmptyMessages) -> bool {
    match message.parts.as_slice() {
        [] => empty == EmptyMessages::Keep,
        parts => parts.iter().all(says_something),
    }
}

/// The message without the parts that say nothing, if anything is left.
fn without_nothing(mut message: Message) -> Option<Message> {
    message.parts.retain(says_something);
    (!message.parts.is_empty()).then_some(message)
}

/// Tells whether a part has content. An empty thought counts, since its signature may matter; so does an empty text beside which
/// the vendor put something of its own.
fn says_something(part: &Part) -> bool {
    match &part.body {
        Body::Text(text) => !text.is_empty() || has_payload(part),
        Body::Opaque(opaque) => match &opaque.value {
            Value::Null => false,
            Value::Object(fields) => !fields.is_empty(),
            _ => true,
        },
        Body::Thought(_) | Body::Call(_) | Body::Result(_) | Body::Media(_) | Body::File(_) => true,
    }
}

fn has_payload(part: &Part) -> bool {
    const NO_PAYLOAD: &[&str] = &["text", "thought", "callIndex"];
    let fields = part.extra.iter().flat_map(|extra| extra.fields.keys());
    fields.into_iter().any(|key| !NO_PAYLOAD.contains(&key.as_str()))
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::{Origin, Thought, ToolCall, Vendor};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::shapes::{any_conversation, conversation};

    fn model(parts: Vec<Part>) -> Message {
        Message::new("model", Role::Model, parts)
    }

    fn empty() -> Part {
        Part::model_text("")
    }

    /// Checks which of `user`, the model's messages, `user` stay, and how many parts each has.
    #[track_caller]
    fn check_with(policy: EmptyMessages, run: &[Message], expected: &[usize]) {
        let mut messages = conversation("user");
        messages.extend_from_slice(run);
        messages.extend(conversation("user"));
        let curated = curate(messages, policy);
        let (first, rest) = curated.split_first().expect("user messages stay");
        let (last, rest) = rest.split_last().expect("user messages stay");
        assert_eq!((first.role, last.role), (Role::User, Role::User));
        assert_eq!(rest.iter().map(|message| message.parts.len()).collect::<Vec<_>>(), expected);
    }

    #[track_caller]
    fn check(run: &[Message], expected: &[usize]) {
        check_with(EmptyMessages::Drop, run, expected);
        check_with(EmptyMessages::Keep, run, expected);
    }

    #[test]
    fn a_turn_that_ended_empty_is_left_out() {
        check(&[model(vec![Part::model_text("yes")])], &[1]);
        check(&[model(vec![empty()])], &[]);
        check(&[model(vec![Part::model_text("yes"), empty()])], &[]);
        check(&[model(vec![Part::opaque(Origin::Model, Vendor::Gemini, json!({}))])], &[]);
        check(&[model(vec![Part::opaque(Origin::Model, Vendor::Gemini, json!(null))])], &[]);
    }

    #[test]
    fn a_run_stays_or_goes_as_one() {
        let fine = || model(vec![Part::model_text("yes")]);
        check(&[fine(), fine()], &[1, 1]);
        check(&[fine(), model(vec![empty()]), fine()], &[]);
    }

    #[test]
    fn messages_without_parts_follow_the_policy() {
        let run = [model(vec![Part::model_text("yes")]), model(vec![])];
        check_with(EmptyMessages::Drop, &run, &[]);
        check_with(EmptyMessages::Keep, &run, &[1, 0]);
    }

    #[test]
    fn an_empty_text_with_a_payload_says_something() {
        let with = |key: &str| {
            let fields = json!({ key: {"x": 1} });
            empty().with_extra(Vendor::Gemini, fields.as_object().cloned().unwrap_or_default())
        };
        for key in ["functionCall", "functionResponse", "inlineData", "fileData", "executableCode"] {
            check(&[model(vec![with(key)])], &[1]);
        }
        check(&[model(vec![with("callIndex")])], &[]);
        check(&[model(vec![Part::thought(Thought::default())])], &[1]);
    }

    #[test]
    fn a_run_with_calls_is_cleaned_and_stays() {
        let call = || Part::call(ToolCall::new("c", "ls"));
        check(&[model(vec![empty(), call()])], &[1]);
        check_with(EmptyMessages::Drop, &[model(vec![]), model(vec![call()]), model(vec![empty()])], &[1]);
    }

    #[test]
    fn the_users_side_stays_as_it_is() {
        let messages = conversation("empty user*0 result hook");
        assert_eq!(curate(messages.clone(), EmptyMessages::Drop), messages);
    }

    proptest! {
        #[test]
        fn curating_twice_changes_nothing_more(messages in any_conversation()) {
            let once = curate(messages.clone(), EmptyMessages::Drop);
            let calls = |messages: &[Message]| messages.iter().flat_map(Message::calls).count();
            prop_assert_eq!(calls(&once), calls(&messages));
            prop_assert_eq!(is_curated(&messages, EmptyMessages::Drop), once == messages);
            prop_assert_eq!(curate(once.clone(), EmptyMessages::Drop), once);
        }
    }
}
