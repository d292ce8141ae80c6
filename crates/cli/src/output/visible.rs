//! Text from sessions, made safe to print and cut to fit.

use unicode_width::UnicodeWidthChar;

/// The text with everything that could act on a terminal made visible: control characters, escape sequences, and the
/// marks that reorder text.
pub(crate) fn visible(text: &str) -> String {
    text.chars().flat_map(shown).collect()
}

/// A character as it is shown: itself, a picture of it, or its number.
fn shown(character: char) -> Vec<char> {
    match character {
        '\t' => vec![' '],
        // The pictures of the control characters stand in the same order.
        '\0'..='\x1f' => char::from_u32(0x2400 + character as u32).into_iter().collect(),
        '\x7f' => vec!['␡'],
        '\u{80}'..='\u{9f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => format!("<U+{:04X}>", character as u32).chars().collect(),
        _ => vec![character],
    }
}

/// The text on one line, made visible and cut to `width` columns, with `…` where something is missing.
pub(crate) fn fit(text: &str, width: usize) -> String {
    let text = visible(text);
    if columns(&text) <= width {
        return text;
    }
    let mut cut = String::new();
    let mut used = 0;
    for character in text.chars() {
        let wide = character.width().unwrap_or(0);
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        cut.push(character);
    }
    cut.push('…');
    cut
}

/// The text made to fill `width` columns: cut, or followed by spaces.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let text = fit(text, width);
    let missing = width.saturating_sub(columns(&text));
    text + &" ".repeat(missing)
}

/// The text behind as many spaces as fill `width` columns.
pub(crate) fn pad_left(text: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(columns(text))) + text
}

fn columns(text: &str) -> usize {
    text.chars().map(|character| character.width().unwrap_or(0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_touch_the_terminal() {
        assert_eq!(visible("\x1b[31mred\x07\r\n"), "␛[31mred␇␍␊");
        assert_eq!(visible("a\u{9b}31m\u{202e}b\x7f"), "a<U+009B>31m<U+202E>b␡");
        assert_eq!(visible("plain, 日本語, 😀"), "plain, 日本語, 😀");
    }

    #[test]
    fn texts_are_cut_to_columns() {
        assert_eq!(fit("short", 5), "short");
        assert_eq!(fit("longer", 5), "long…");
        assert_eq!(fit("日本語です", 6), "日本…");
        assert_eq!(pad("日本", 6), "日本  ");
        assert_eq!(pad_left("12", 4), "  12");
    }
}
