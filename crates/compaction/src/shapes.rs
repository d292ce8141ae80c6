//! Conversations for tests, written as one word for each message.

use longhaul_conversation::{Message, Origin, Part, Role, Signature, Thought, ToolCall, ToolResult, Vendor};
use proptest::prelude::*;

/// The words that [`conversation`] knows.
const WORDS: &[&str] = &["user", "hook", "empty", "reply", "thought", "signed", "call", "result", "mixed"];

/// Makes a conversation: `user call result reply`. A result answers the oldest open call, or none. `reply*400` has a text
/// of 400 characters; a word alone has a short one.
pub(crate) fn conversation(shape: &str) -> Vec<Message> {
    let mut calls = 0;
    let mut answered = 0;
    shape
        .split_whitespace()
        .enumerate()
        .map(|(index, word)| {
            let (kind, len) = word.split_once('*').unwrap_or((word, "4"));
            let text = "x".repeat(len.parse().expect("a number behind the star"));
            let (role, parts) = match kind {
                "user" => (Role::User, vec![Part::user_text(text)]),
                "hook" => (Role::User, vec![Part::text(Origin::Hook, text)]),
                "empty" => (Role::User, vec![]),
                "reply" => (Role::Model, vec![Part::model_text(text)]),
                "thought" => (Role::Model, vec![Part::thought(Thought { text, ..Thought::default() })]),
                "signed" => {
                    let signature = Some(Signature { vendor: Vendor::Anthropic, value: "sig".into() });
                    (Role::Model, vec![Part::thought(Thought { text, signature, item: None })])
                }
                "call" => {
                    calls += 1;
                    let args = serde_json::json!({ "text": text });
                    let call = ToolCall::new(format!("c{calls}"), "tool").with_args(args);
                    (Role::Model, vec![Part::call(call)])
                }
                "result" | "mixed" => {
                    answered += 1;
                    let result = ToolResult::text(format!("c{answered}"), text).with_name("tool");
                    let typed = (kind == "mixed").then(|| Part::user_text("and this"));
                    (Role::User, std::iter::once(Part::result(result)).chain(typed).collect())
                }
                other => panic!("no message is called {other}"),
            };
            Message::new(format!("m{index}"), role, parts)
        })
        .collect()
}

/// Any conversation, most of them broken.
pub(crate) fn any_conversation() -> impl Strategy<Value = Vec<Message>> {
    let word = (prop::sample::select(WORDS), prop_oneof![0usize..200, 1_000usize..4_000]);
    prop::collection::vec(word, 0..24).prop_map(|words| {
        let words: Vec<String> = words.into_iter().map(|(word, len)| format!("{word}*{len}")).collect();
        conversation(&words.join(" "))
    })
}
