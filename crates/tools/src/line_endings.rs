//! Line endings of text files.

/// Converts line endings to LF.
pub(crate) fn with_line_feeds(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Converts `text` to the line endings of `file`: CRLF if most lines of `file` have it.
pub(crate) fn with_endings_of(file: &str, text: &str) -> String {
    let returns = file.matches("\r\n").count();
    let feeds = file.matches('\n').count();
    match returns * 2 > feeds {
        true => with_line_feeds(text).replace('\n', "\r\n"),
        false => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_follow_the_file() {
        for (file, text, expected) in [
            ("a\r\nb\r\n", "x\ny", "x\r\ny"),
            ("a\r\nb\r\n", "x\r\ny\n", "x\r\ny\r\n"),
            ("a\nb\n", "x\ny", "x\ny"),
            ("a\nb\r\nc\n", "x\n", "x\n"),
            ("", "x\r\n", "x\r\n"),
        ] {
            assert_eq!(with_endings_of(file, text), expected, "{file:?} {text:?}");
        }
    }
}
