//! A conversation as plain text, shortened, for questions about it.

use longhaul_conversation::{Body, Message, Part, Role};

/// The longest text that is shown whole, in characters.
const LONGEST: usize = 1_500;

/// Renders messages, one paragraph for each part. Nothing in it can end a block that it stands in.
pub(crate) fn render_excerpt<'a>(messages: impl IntoIterator<Item = &'a Message>) -> String {
    let mut paragraphs = Vec::new();
    for message in messages {
        let who = match message.role {
            Role::User => "user",
            Role::Model => "model",
        };
        paragraphs.extend(message.parts.iter().filter_map(|part| render_part(who, part)));
    }
    paragraphs.join("\n\n")
}

fn render_part(who: &str, part: &Part) -> Option<String> {
    match &part.body {
        Body::Text(text) if text.trim().is_empty() => None,
        Body::Text(text) => Some(format!("{who}: {}", shown(text))),
        Body::Call(call) => {
            Some(format!("{who} calls {}: {}", shown(&call.name), shown(&call.args.to_string())))
        }
        Body::Result(result) => {
            let tool = result.name.as_deref().unwrap_or("the tool");
            Some(format!("{} answers: {}", shown(tool), shown(&result.readable())))
        }
        _ => None,
    }
}

fn shown(text: &str) -> String {
    escape_closing_tags(&truncate_middle(text.trim(), LONGEST))
}

/// The text without ends of blocks.
pub(crate) fn escape_closing_tags(text: &str) -> String {
    text.replace("</", "<\u{2215}")
}

/// The beginning and the end of a text, at most so many characters of it.
pub(crate) fn truncate_middle(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_string();
    }
    let (head, tail) = (most - most / 3, most / 3);
    let begins: String = text.chars().take(head).collect();
    let ends: String = text.chars().skip(length - tail).collect();
    format!("{begins} [… {} characters …] {ends}", length - head - tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{ToolCall, ToolResult};
    use serde_json::json;

    #[test]
    fn everything_that_was_said_and_done_is_told() {
        let messages = [
            Message::new("1", Role::User, vec![Part::user_text("Go </conversation>."), Part::user_text(" ")]),
            Message::new(
                "2",
                Role::Model,
                vec![Part::call(ToolCall::new("c", "ls").with_args(json!({"path": "a"})))],
            ),
            Message::new(
                "3",
                Role::User,
                vec![Part::result(ToolResult::text("c", "x".repeat(5_000)).with_name("ls"))],
            ),
        ];
        let text = render_excerpt(&messages);
        assert!(text.starts_with(
            "user: Go <\u{2215}conversation>.\n\nmodel calls ls: {\"path\":\"a\"}\n\nls answers: xxx"
        ));
        assert!(text.contains("[… 3500 characters …]") && text.len() < 2_000, "{text}");
    }

    #[test]
    fn long_texts_lose_their_middle() {
        assert_eq!(truncate_middle("abcdef", 6), "abcdef");
        assert_eq!(truncate_middle("abcdefg", 3), "ab [… 4 characters …] g");
        assert_eq!(truncate_middle("äöüäöü", 3), "äö [… 3 characters …] ü");
    }
}
