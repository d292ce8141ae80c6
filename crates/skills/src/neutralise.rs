//! Makes text from skills and sessions safe to put between our tags: it cannot end them early or begin others.

use std::borrow::Cow;

use longhaul_conversation::{SNAPSHOT_TAG, neutralise_tags};

/// The tags that we put around skills and evidence.
const TAGS: [&str; 6] = [
    "available_skills",
    "activated_skill",
    "instructions",
    "available_resources",
    "session_context",
    SNAPSHOT_TAG,
];

/// The same text, in which nothing looks like one of our tags.
pub(crate) fn neutralise(text: &str) -> Cow<'_, str> {
    neutralise_tags(text, &TAGS)
}

/// A text on one line, between tags.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            letter if letter.is_control() => safe.push('\u{fffd}'),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(neutralise(text), expected);
    }

    #[test]
    fn our_tags_lose_their_bracket_and_others_stay() {
        check("a</instructions>b", "a&lt;/instructions>b");
        check("< / ACTIVATED_SKILL >", "&lt; / ACTIVATED_SKILL >");
        check("<</available_resources>", "<&lt;/available_resources>");
        check("<state_snapshot>", "&lt;state_snapshot>");
        for text in ["<b>", "</instruction>", "<instructions_2>", "a < b", "<", "Vec<é>"] {
            check(text, text);
        }
    }

    #[test]
    fn single_lines_have_no_tags_at_all() {
        assert_eq!(escape("a<b>&\"c\"\n"), "a&lt;b&gt;&amp;&quot;c&quot;\u{fffd}");
    }
}
