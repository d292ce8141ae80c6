//! Terminal output as plain lines: the final state of each line, without colours.

/// The longest line, in bytes, that can still be rewritten. A longer one is final.
const LONGEST_LINE: usize = 64 << 10;

/// Converts bytes, split at any place, to text.
#[derive(Debug, Default)]
pub(super) struct TerminalText {
    /// The first bytes of an incomplete character.
    partial: Vec<u8>,
    /// The current line, which may still be rewritten.
    line: String,
    /// True after a carriage return: the next character overwrites the line.
    is_returned: bool,
    state: EscapeState,
}

/// The state of the escape sequence parser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum EscapeState {
    #[default]
    Text,
    /// After an escape.
    Escape,
    /// After an escape and a character that needs one more.
    EscapeMore,
    /// In a control sequence, with its first argument so far.
    Control(u16),
    /// In a string such as a window title, which ends with BEL, with ESC and a backslash, or with the line.
    Words,
    /// In such a string, after an escape.
    WordsEscape,
}

impl TerminalText {
    /// Appends bytes; `settle` receives the text that can no longer change.
    pub(super) fn show(&mut self, bytes: &[u8], mut settle: impl FnMut(&str)) {
        let whole;
        let mut rest = match self.partial.is_empty() {
            true => bytes,
            false => {
                let mut joined = std::mem::take(&mut self.partial);
                joined.extend_from_slice(bytes);
                whole = joined;
                &whole[..]
            }
        };
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => return self.show_text(text, &mut settle),
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    self.show_text(std::str::from_utf8(valid).expect("it was found valid"), &mut settle);
                    let Some(length) = error.error_len() else {
                        self.partial = after.to_vec();
                        return;
                    };
                    self.put(char::REPLACEMENT_CHARACTER, &mut settle);
                    rest = &after[length..];
                }
            }
        }
    }

    /// The current line, which may still be rewritten.
    pub(super) fn line(&self) -> &str {
        &self.line
    }

    /// Ends the output.
    pub(super) fn finish(&mut self, mut settle: impl FnMut(&str)) {
        if !std::mem::take(&mut self.partial).is_empty() {
            self.put(char::REPLACEMENT_CHARACTER, &mut settle);
        }
        settle(&std::mem::take(&mut self.line));
    }

    fn show_text(&mut self, text: &str, settle: &mut impl FnMut(&str)) {
        let mut rest = text;
        while !rest.is_empty() {
            // Most text is plain and copied at once.
            let plain = if self.state == EscapeState::Text {
                rest.find(|c: char| c.is_control() && c != '\t').unwrap_or(rest.len())
            } else {
                0
            };
            if plain > 0 {
                self.put_str(&rest[..plain], settle);
                rest = &rest[plain..];
            } else if let Some(next) = rest.chars().next() {
                self.state = self.step(next, settle);
                rest = &rest[next.len_utf8()..];
            }
        }
    }

    fn put(&mut self, c: char, settle: &mut impl FnMut(&str)) {
        self.put_str(c.encode_utf8(&mut [0; 4]), settle);
    }

    fn put_str(&mut self, text: &str, settle: &mut impl FnMut(&str)) {
        if std::mem::take(&mut self.is_returned) {
            self.line.clear();
        }
        self.line.push_str(text);
        if self.line.len() > LONGEST_LINE {
            settle(&self.line);
            self.line.clear();
        }
    }

    fn step(&mut self, c: char, settle: &mut impl FnMut(&str)) -> EscapeState {
        match (self.state, c) {
            (EscapeState::EscapeMore, c) if c != '\n' => EscapeState::Text,
            (EscapeState::WordsEscape, '\\') | (EscapeState::Words, '\x07') => EscapeState::Text,
            (EscapeState::Words, '\x1b') => EscapeState::WordsEscape,
            (EscapeState::Words | EscapeState::WordsEscape, c) if c != '\n' => EscapeState::Words,
            (_, '\x1b') => EscapeState::Escape,
            (_, '\n') => {
                self.is_returned = false;
                self.line.push('\n');
                settle(&self.line);
                self.line.clear();
                EscapeState::Text
            }
            (EscapeState::Escape, '[') => EscapeState::Control(0),
            (EscapeState::Escape, ']' | 'P' | '_' | '^' | 'X') => EscapeState::Words,
            (EscapeState::Escape, ' '..='/') => EscapeState::EscapeMore,
            (EscapeState::Control(number), '0'..='9') => {
                let digit = c as u16 - '0' as u16;
                EscapeState::Control(number.saturating_mul(10).saturating_add(digit))
            }
            (state @ EscapeState::Control(_), ' '..='?') => state,
            (EscapeState::Control(number), c) => {
                self.control(number, c);
                EscapeState::Text
            }
            (_, '\r') => {
                self.is_returned = true;
                EscapeState::Text
            }
            (_, '\x08') => {
                self.line.pop();
                EscapeState::Text
            }
            (EscapeState::Escape, _) => EscapeState::Text,
            (EscapeState::Text, c) => {
                if !c.is_control() || c == '\t' {
                    self.put(c, settle);
                }
                EscapeState::Text
            }
            // Their other characters are handled above, and so is a line feed.
            (EscapeState::EscapeMore | EscapeState::Words | EscapeState::WordsEscape, _) => EscapeState::Text,
        }
    }

    /// Handles a control sequence; only those that rewrite a line matter.
    fn control(&mut self, number: u16, function: char) {
        match (function, number) {
            ('K', 1 | 2) => self.line.clear(),
            ('K', 0) if self.is_returned => self.line.clear(),
            ('G', 0 | 1) => self.is_returned = true,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> String {
        let mut screen = TerminalText::default();
        let mut text = String::new();
        for chunk in chunks {
            screen.show(chunk, |settled| text.push_str(settled));
        }
        screen.finish(|settled| text.push_str(settled));
        text
    }

    #[track_caller]
    fn check(written: impl AsRef<[u8]>, expected: &str) {
        let written = written.as_ref();
        assert_eq!(shown([written]), expected);
        assert_eq!(shown(written.chunks(1)), expected, "byte by byte");
    }

    #[test]
    fn plain_text_stays() {
        for text in ["", "a", "a\n", "a\n\nb", "\tx = \"ä€𝄞\"\n", "Ω\u{301}"] {
            check(text, text);
        }
    }

    #[test]
    fn escapes_go() {
        check("\x1b[1;31merror\x1b[0m: x", "error: x");
        check("\x1b[38;2;1;2;3mc\x1b[m", "c");
        check("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink");
        check("\x1b(Bb\x1b7\x1b8\x1b=c\x1bM", "bc");
        check("\x1b[?25lhidden\x1b[?25h\x1b[2J\x1b[H", "hidden");
        check("bell\x07 nul\0 del\x7f", "bell nul del");
        check("\x1b]never ended\nnext", "\nnext");
        check("\x1b[31\nnext", "\nnext");
        check("end\x1b", "end");
        check("\x1b\x1b[31mred", "red");
    }

    #[test]
    fn the_last_state_of_a_line_wins() {
        check("a\r\nb\r\r\n", "a\nb\n");
        check("10%\r50%\r100%\ndone", "100%\ndone");
        check("10%\r\x1b[Kdone\n", "done\n");
        check("10%\r\x1b[K\n", "\n");
        check("Building\x1b[2K\x1b[1GBuilt\n", "Built\n");
        check("|\x08/\x08-\x08done", "done");
        check("\x08\x08a", "a");
        check("kept\r", "kept");
        check("one\r\x1b[31mtwo\x1b[0m\n", "two\n");
    }

    #[test]
    fn what_is_no_text_is_replaced() {
        check(b"a\xffb", "a\u{fffd}b");
        check(b"a\xe2\x82", "a\u{fffd}");
        check(b"\xe2\x82\xacx\xe2", "€x\u{fffd}");
        check(b"\xe2\x82\n", "\u{fffd}\n");
    }

    #[test]
    fn an_endless_line_is_settled_in_time() {
        let mut screen = TerminalText::default();
        let mut settled = 0;
        for _ in 0..100 {
            screen.show(&[b'x'; 10_000], |text| settled += text.len());
            assert!(screen.line().len() <= LONGEST_LINE);
        }
        screen.finish(|text| settled += text.len());
        assert_eq!(settled, 1_000_000);
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_bytes_are_cut(
            bytes in prop::collection::vec(
                prop_oneof![
                    any::<u8>().prop_map(|byte| vec![byte]),
                    Just(b"\x1b[".to_vec()), Just(b"\x1b]".to_vec()), Just(b"\r".to_vec()), Just("é€𝄞".into()),
                ],
                0..60,
            ).prop_map(|pieces| pieces.concat()),
            size in 1usize..9,
        ) {
            let whole = shown([&bytes[..]]);
            prop_assert_eq!(&shown(bytes.chunks(size)), &whole);
            prop_assert!(!whole.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')));
        }
    }
}
