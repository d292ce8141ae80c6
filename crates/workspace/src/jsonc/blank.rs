//! Makes JSON of a file with comments and trailing commas, without moving anything.

/// A block comment that is never closed begins at this byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unclosed(pub usize);

/// The same bytes with comments and trailing commas overwritten by spaces, so that every line and column stays right.
///
/// Whatever else is wrong with them stays as it is, for the parser to find.
///
/// # Errors
/// [`Unclosed`], when a comment never ends.
pub fn blank_comments(bytes: &[u8]) -> Result<Vec<u8>, Unclosed> {
    let mut blanked = bytes.to_vec();
    // The last byte that means something, and the comma that is too much if a bracket closes next.
    let mut before = b'[';
    let mut comma = None;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let length = match byte {
            b'/' if rest.starts_with(b"//") => line_length(rest),
            b'/' if rest.starts_with(b"/*") => comment_length(rest).ok_or(Unclosed(at))?,
            b'"' => string_length(rest),
            _ => 1,
        };
        if byte == b'/' && length > 1 {
            let comment = &mut blanked[at..at + length];
            comment.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        } else if !byte.is_ascii_whitespace() {
            if let (b']' | b'}', Some(comma)) = (byte, comma) {
                blanked[comma] = b' ';
            }
            let follows_value = !matches!(before, b'[' | b'{' | b',' | b':');
            comma = (byte == b',' && follows_value).then_some(at);
            before = byte;
        }
        at += length;
    }
    Ok(blanked)
}

/// The length of the line, without its end.
fn line_length(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len())
}

/// The length of the block comment that begins here, if it ends.
fn comment_length(bytes: &[u8]) -> Option<usize> {
    let inside = &bytes[2..];
    inside.windows(2).position(|pair| pair == b"*/").map(|end| end + 4)
}

/// The length of the string that begins here. One that is not closed ends with its line.
fn string_length(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\n' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let blanked = blank_comments(text.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(blanked.as_deref(), Ok(expected));
    }

    #[track_caller]
    fn check_untouched(text: &str) {
        check(text, text);
    }

    #[test]
    fn comments_become_spaces() {
        check("{} // end", "{}       ");
        check("// a\r\n{}\n", "     \n{}\n");
        check("[1, /* two */ 2]", "[1,           2]");
        check("/* a\n b */{}", "    \n     {}");
        check("/**/[]/***/", "    []     ");
        check("[1] /* // */ // /*", "[1]               ");
    }

    #[test]
    fn trailing_commas_become_spaces() {
        check("[1,]", "[1 ]");
        check("{\"a\": [1, 2, ],\n}", "{\"a\": [1, 2  ] \n}");
        check("[1, // one\n]", "[1        \n]");
        check("[{},/**/]", "[{}     ]");
    }

    #[test]
    fn commas_that_follow_no_value_stay_wrong() {
        for text in ["[,]", "{,}", "[1,,]", "{\"a\":,}", ",", "[1],"] {
            check_untouched(text);
        }
    }

    #[test]
    fn strings_keep_what_looks_like_a_comment() {
        check_untouched(r#"{"url": "https://example.org/*", "a": ",]"}"#);
        check_untouched(r#"["\"// not", "\\", "*/"]"#);
        check("[\"open\n, 1 // two\n]", "[\"open\n, 1       \n]");
        check_untouched("\"ends in a backslash\\");
    }

    #[test]
    fn a_comment_must_end() {
        assert_eq!(blank_comments(b"{} /* never"), Err(Unclosed(3)));
        assert_eq!(blank_comments(b"/*/"), Err(Unclosed(0)));
        check_untouched("/");
        check_untouched("1 / 2");
    }

    proptest! {
        #[test]
        fn nothing_moves(bytes in proptest::collection::vec(prop_oneof![
            any::<u8>(),
            proptest::sample::select(b"/*\"\\\n,[]{} ".to_vec()),
        ], 0..200)) {
            if let Ok(blanked) = blank_comments(&bytes) {
                prop_assert_eq!(blanked.len(), bytes.len());
                for (before, after) in bytes.iter().zip(&blanked) {
                    prop_assert!(before == after || *after == b' ');
                    prop_assert_eq!(*before == b'\n', *after == b'\n');
                }
            }
        }

        #[test]
        fn plain_json_stays_as_it_is(text in "(\\[|\\{|\"[a-z/*,]{0,5}\"|:|1|\n| )*") {
            check_untouched(&text);
        }
    }
}
