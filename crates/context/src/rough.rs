//! The one place where this crate's planners ask how many tokens something is.
//!
//! Everything that cuts, masks or shortens calls these functions, so that one yardstick measures all of it.

use longhaul_conversation::{Body, Message, Output, Part, TokenCount};

use crate::json_size::{json_len, part_json_len, utf16_len};

/// Tokens of one ASCII character.
const ASCII: f64 = 0.25;
/// Tokens of one UTF-16 unit beyond ASCII.
const BEYOND_ASCII: f64 = 1.3;
/// Parts nested deeper than this are not counted.
const DEEPEST: usize = 3;

/// Estimates a whole message.
pub(crate) fn estimate_message(message: &Message) -> TokenCount {
    floor(message.parts.iter().map(|part| part_tokens(part, 0)).sum())
}

/// Estimates one part.
#[allow(dead_code)] // TEMP
pub(crate) fn estimate_part(part: &Part) -> TokenCount {
    floor(part_tokens(part, 0))
}

/// Estimates plain text.
#[allow(dead_code)] // TEMP
pub(crate) fn estimate_text(text: &str) -> TokenCount {
    floor(text_tokens(text))
}

/// Estimates media by its type; of some types nothing is known.
pub(crate) fn estimate_media(mime: &str) -> Option<TokenCount> {
    if mime.starts_with("image/") {
        Some(TokenCount(3_000))
    } else if mime.starts_with("application/pdf") {
        Some(TokenCount(25_800))
    } else {
        None
    }
}

fn part_tokens(part: &Part, depth: usize) -> f64 {
    if depth > DEEPEST {
        return 0.0;
    }
    let media = match &part.body {
        Body::Text(text) => return text_tokens(text),
        Body::Thought(thought) => return text_tokens(&thought.text),
        Body::Result(result) => {
            let name = result.name.as_deref().map_or(0, utf16_len);
            let output = match &result.output {
                Output::Empty => 0.0,
                Output::Text(text) => text_tokens(text),
                Output::Structured(value) => json_len(value) as f64 * ASCII,
            };
            let nested: f64 = result.nested.iter().map(|part| part_tokens(part, depth + 1)).sum();
            return name as f64 * ASCII + output + nested;
        }
        Body::Media(media) => estimate_media(&media.mime),
        Body::File(file) => file.mime.as_deref().and_then(estimate_media),
        Body::Call(_) | Body::Opaque(_) => None,
    };
    media.map_or_else(|| part_json_len(part) as f64 * ASCII, |tokens| tokens.0 as f64)
}

fn text_tokens(text: &str) -> f64 {
    let units = utf16_len(text);
    let ascii = text.bytes().filter(u8::is_ascii).count();
    ascii as f64 * ASCII + (units - ascii) as f64 * BEYOND_ASCII
}

fn floor(tokens: f64) -> TokenCount {
    TokenCount(tokens as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{Media, MediaData, Origin, ToolResult};

    #[track_caller]
    fn check_text(text: &str, expected: u64) {
        assert_eq!(estimate_text(text), TokenCount(expected), "{text}");
    }

    #[test]
    fn text_is_weighed_by_its_alphabet() {
        check_text("", 0);
        check_text("twelve chars", 3);
        check_text("日本語", 3);
        check_text("😀", 2);
        check_text(&"a".repeat(200_000), 50_000);
    }

    #[test]
    fn media_counts_by_kind_wherever_it_stands() {
        let media = Media { mime: "image/png".into(), data: MediaData::Base64("A".repeat(100_000)) };
        let image = Part::new(Origin::Tool, Body::Media(media));
        assert_eq!(estimate_part(&image), TokenCount(3_000));
        let mut result = ToolResult::text("c", "seen");
        result.nested.push(image);
        assert_eq!(estimate_part(&Part::result(result)), TokenCount(3_001));
    }
}
