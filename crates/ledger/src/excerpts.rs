//! The beginnings and ends of texts, cut at characters.

/// The text, cut at a character behind `most` characters.
pub(crate) fn cut(text: &str, most: usize) -> String {
    // There are no more characters than bytes.
    let end = if text.len() > most { text.char_indices().nth(most) } else { None };
    match end {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_string(),
    }
}

/// The last bytes of a text, from a character's start on.
pub(crate) fn tail(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// The first bytes of a text, up to a character's end.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
