//! Tells by what Gemini CLI showed of a message what the user typed of it: commands and named files add the rest.

use longhaul_conversation::{Body, Origin, Part};
use longhaul_wire::Json;

/// The text of a record's `displayContent`; none if it shows no text.
pub(super) fn shown_text(shown: &Json<'_>) -> Option<String> {
    let text = match shown {
        Json::String(text) => text.to_string(),
        Json::Array(parts) => parts.iter().filter_map(text_of).collect::<Vec<_>>().concat(),
        part => text_of(part)?.to_string(),
    };
    (!text.trim().is_empty()).then_some(text)
}

fn text_of<'j>(part: &'j Json<'_>) -> Option<&'j str> {
    part.as_str().or_else(|| part.get("text")?.as_str())
}

/// Takes from the user what is not in `shown`. Behind what was typed stand the contents of files; where nothing of it was
/// shown, a command's own text stands in the place of what was typed.
pub(super) fn keep_typed(parts: Vec<Part>, shown: &str) -> Vec<Part> {
    let shown = shown.trim();
    let is_known = |part: &Part| {
        part.origin == Origin::User && part.as_text().is_some_and(|text| typed_in(text, shown).is_some())
    };
    let others = if parts.iter().any(is_known) { Origin::Tool } else { Origin::Memory };
    parts.into_iter().flat_map(|part| split_typed(part, shown, others)).collect()
}

fn split_typed(part: Part, shown: &str, others: Origin) -> Vec<Part> {
    let Part { origin: Origin::User, body: Body::Text(text), extra } = &part else { return vec![part] };
    match typed_in(text, shown) {
        _ if text.trim().is_empty() => vec![part],
        None => vec![Part { origin: others, ..part }],
        Some(end) if text[end..].trim().is_empty() => vec![part],
        Some(end) => {
            let behind = Part { extra: extra.clone(), ..Part::text(others, &text[end..]) };
            vec![Part::user_text(&text[..end]), behind]
        }
    }
}

/// The end of the typed text, if the text begins with it.
fn typed_in(text: &str, shown: &str) -> Option<usize> {
    if shown.contains(text.trim()) {
        return Some(text.len());
    }
    let start = text.len() - text.trim_start().len();
    if text[start..].starts_with(shown) {
        return Some(start + shown.len());
    }
    // Paths are written out before they are sent, so that a few words differ.
    let words: Vec<&str> = shown.split_whitespace().collect();
    let same = text.split_whitespace().zip(&words).filter(|(one, other)| one == *other).count();
    (same * 2 > words.len() && text.len() <= 2 * shown.len() + 200).then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(texts: &[&str], shown: &str, expected: &[(Origin, &str)]) {
        let parts = keep_typed(texts.iter().map(|text| Part::user_text(*text)).collect(), shown);
        let seen: Vec<_> =
            parts.iter().map(|part| (part.origin, part.as_text().unwrap_or_default())).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn what_was_shown_was_typed() {
        check(&["explain it"], "explain it", &[(Origin::User, "explain it")]);
        check(&["explain ", "it"], "explain it", &[(Origin::User, "explain "), (Origin::User, "it")]);
        check(
            &["explain @src/a.rs please"],
            "explain @a.rs please",
            &[(Origin::User, "explain @src/a.rs please")],
        );
    }

    #[test]
    fn what_was_not_shown_is_a_files_or_a_commands() {
        check(
            &["explain @a.md\nAlways use tabs."],
            "explain @a.md",
            &[(Origin::User, "explain @a.md"), (Origin::Tool, "\nAlways use tabs.")],
        );
        check(
            &["explain @a.md", "Always use tabs."],
            "explain @a.md",
            &[(Origin::User, "explain @a.md"), (Origin::Tool, "Always use tabs.")],
        );
        check(
            &["You are a reviewer. Never push."],
            "/review now",
            &[(Origin::Memory, "You are a reviewer. Never push.")],
        );
    }

    #[test]
    fn a_display_is_a_text_or_parts() {
        let read = |text: &str| shown_text(&Json::parse(text).expect("JSON"));
        assert_eq!(read(r#""a b""#).as_deref(), Some("a b"));
        assert_eq!(read(r#"[{"text":"a "},"b"]"#).as_deref(), Some("a b"));
        assert_eq!(read(r#"{"text":"a"}"#).as_deref(), Some("a"));
        assert_eq!(read(r#"[{"inlineData":{}}]"#), None);
        assert_eq!(read("null"), None);
    }
}
