//! Reads data files: one item a line, empty lines and those that begin with `#` aside.

/// The items of a file whose lines have a word, a blank and a text.
pub(crate) fn items(file: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = file.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| {
        line.split_once(' ').unwrap_or_else(|| panic!("expected a word, a space and a text, found {line}"))
    })
}

/// The texts of a file under this word.
pub(crate) fn texts(file: &'static str, word: &str) -> Vec<&'static str> {
    items(file).filter(|(known, _)| *known == word).map(|(_, text)| text).collect()
}

/// A text in double quotes at the start of a line, written as in JSON, and the rest of the line.
pub(crate) fn quoted(line: &str) -> Option<(String, &str)> {
    let inner = line.strip_prefix('"')?;
    let mut is_escaped = false;
    let end = inner.find(|letter| {
        let is_end = letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        is_end
    })?;
    let (text, rest) = line.split_at(end + 2);
    Some((serde_json::from_str(text).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_words(file: &'static str, known: &[&str]) {
        for (word, text) in items(file) {
            assert!(known.contains(&word) && text.trim() == text && !text.is_empty(), "{word} {text}");
        }
    }

    #[test]
    fn every_line_is_of_use() {
        check_words(include_str!("../data/names.txt"), &["keyword", "password", "secret", "harmless"]);
        let roles = ["filler", "opening", "within", "stem", "test"];
        check_words(include_str!("../data/placeholders.txt"), &roles);
    }

    #[test]
    fn quoted_texts_end_at_their_quote() {
        assert_eq!(quoted(r#""a\\\"b" c"#), Some((r#"a\"b"#.to_string(), " c")));
        assert_eq!(quoted(r#""\t""#), Some(("\t".to_string(), "")));
        assert_eq!(quoted("x"), None);
        assert_eq!(quoted("\"x"), None);
    }
}
