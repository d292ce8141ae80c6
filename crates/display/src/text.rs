//! Text from models, tools and sessions: made safe to print, measured in columns, truncated to fit.

use std::io::{self, Write};

use unicode_width::UnicodeWidthChar;

/// Makes control characters, escape sequences and bidirectional marks visible.
pub fn visible(text: &str) -> String {
    text.chars().flat_map(visible_chars).collect()
}

/// Like [`visible`], for text of several lines: newlines, tabs and joiners stay.
pub fn visible_text(text: &str) -> String {
    let stays = |character| matches!(character, '\n' | '\t' | '\u{200c}' | '\u{200d}');
    if !text.chars().any(|character| acts_on_terminal(character) && !stays(character)) {
        return text.to_string();
    }
    text.chars()
        .flat_map(|character| if stays(character) { vec![character] } else { visible_chars(character) })
        .collect()
}

/// Escapes everything in JSON text that could act on a terminal; the value stays the same.
pub fn escape_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    let mut rest = json;
    // Newlines between tokens are layout; inside strings they are already escaped.
    while let Some((place, character)) = rest.char_indices().find(|(_, c)| acts_on_terminal(*c) && *c != '\n')
    {
        escaped.push_str(&rest[..place]);
        for unit in character.encode_utf16(&mut [0; 2]) {
            escaped.push_str(&format!("\\u{unit:04x}"));
        }
        rest = &rest[place + character.len_utf8()..];
    }
    escaped.push_str(rest);
    escaped
}

/// A writer that applies [`escape_json`]. Each write must consist of whole characters, as those of `serde_json` do.
#[derive(Debug)]
pub struct EscapeJson<W>(pub W);

impl<W: Write> Write for EscapeJson<W> {
    fn write(&mut self, json: &[u8]) -> io::Result<usize> {
        let text = str::from_utf8(json).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        self.0.write_all(escape_json(text).as_bytes())?;
        Ok(json.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// True for characters that act on a terminal: move, recolour, reorder or hide.
fn acts_on_terminal(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{061c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// The visible form of a character: itself, a control picture, or its code point.
fn visible_chars(character: char) -> Vec<char> {
    match character {
        '\t' => vec![' '],
        // The control pictures are in the order of the control characters.
        '\0'..='\x1f' => char::from_u32(0x2400 + character as u32).into_iter().collect(),
        '\x7f' => vec!['␡'],
        _ if acts_on_terminal(character) => format!("<U+{:04X}>", character as u32).chars().collect(),
        _ => vec![character],
    }
}

/// Makes the text visible and truncates it to `width` columns, with a `…` at the end.
pub fn fit(text: &str, width: usize) -> String {
    let text = visible(text);
    if columns(&text) <= width {
        return text;
    }
    let mut cut = String::new();
    let mut used = 0;
    for character in text.chars() {
        let wide = char_width(character);
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        cut.push(character);
    }
    cut.push('…');
    cut
}

/// Makes the text visible and wraps it at `width` columns, between words if possible.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = visible(word);
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(&word) <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.extend(pieces(&word, width)),
        }
    }
    lines
}

/// Splits a word into pieces of at most `width` columns; a wider character stands alone.
fn pieces(word: &str, width: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut used = 0;
    for character in word.chars() {
        let wide = char_width(character);
        if used > 0 && used + wide > width {
            pieces.push(String::new());
            used = 0;
        }
        used += wide;
        pieces.last_mut().expect("there is one from the start").push(character);
    }
    pieces
}

/// Truncates the text or pads it with spaces to `width` columns.
pub fn pad(text: &str, width: usize) -> String {
    let text = fit(text, width);
    let missing = width.saturating_sub(columns(&text));
    text + &" ".repeat(missing)
}

/// Right-aligns the text in `width` columns.
pub fn pad_left(text: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(columns(text))) + text
}

/// The width of a text in columns. Uncertain characters count as wide: a line that is too short does no harm.
pub fn columns(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// The width of a character in columns.
pub fn char_width(character: char) -> usize {
    match character {
        ' '..='~' => 1,
        // The emoji selector: some terminals then show the character before it wide.
        '\u{fe0f}' => 1,
        _ => character.width().unwrap_or(0),
    }
}

/// Capitalises the first letter.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + letters.as_str())
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
    fn lines_stay_lines() {
        assert_eq!(visible_text("a\tb\r\n\x1b[2J👨\u{200d}👩\u{202e}"), "a\tb␍\n␛[2J👨\u{200d}👩<U+202E>");
    }

    #[track_caller]
    fn check_json(text: &str, expected: &str) {
        let json = serde_json::to_string_pretty(&[text]).expect("texts are JSON");
        let escaped = escape_json(&json);
        assert_eq!(escaped, format!("[\n  \"{expected}\"\n]"));
        assert_eq!(serde_json::from_str::<[String; 1]>(&escaped).expect("still JSON"), [text]);
        let mut written = Vec::new();
        serde_json::to_writer_pretty(EscapeJson(&mut written), &[text]).expect("written to memory");
        assert_eq!(written, escaped.as_bytes());
    }

    #[test]
    fn json_cannot_touch_the_terminal_either() {
        check_json("plain, 日本語, 😀", "plain, 日本語, 😀");
        check_json("\x1b[31m\n\r\x7f\u{9b}", r"\u001b[31m\n\r\u007f\u009b");
        check_json("\u{202e}\u{61c}\u{e0041}", r"\u202e\u061c\udb40\udc41");
    }

    #[test]
    fn texts_are_wrapped_to_columns() {
        assert_eq!(wrapped("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrapped("a /very/long/path b", 6), ["a", "/very/", "long/p", "ath b"]);
        assert_eq!(wrapped("日本語です", 4), ["日本", "語で", "す"]);
        assert_eq!(wrapped("日", 1), ["日"]);
        assert_eq!(wrapped(" \n ", 7), [] as [&str; 0]);
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
