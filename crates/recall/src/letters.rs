//! Character classes for the search.

/// True if the script of this character writes words without spaces, so that pairs take their place.
pub(crate) fn is_cjk(letter: char) -> bool {
    matches!(letter,
        '\u{3005}'..='\u{3007}'
        | '\u{3040}'..='\u{30FA}'
        | '\u{30FC}'..='\u{30FF}'
        | '\u{31F0}'..='\u{31FF}'
        | '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{FF66}'..='\u{FF9D}'
        | '\u{20000}'..='\u{323AF}')
}

/// True if the character is part of a word or an identifier.
pub(crate) fn is_word(letter: char) -> bool {
    if letter.is_ascii() {
        letter.is_ascii_alphanumeric() || letter == '_'
    } else {
        letter.is_alphanumeric() && !is_cjk(letter)
    }
}

/// Splits an identifier at `_`, at changes of case and between letters and digits.
pub(crate) fn split_identifier(name: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    for piece in name.split('_') {
        let letters: Vec<(usize, char)> = piece.char_indices().collect();
        let mut start = 0;
        for (place, (at, letter)) in letters.iter().enumerate().skip(1) {
            let before = letters[place - 1].1;
            let after = letters.get(place + 1).map(|(_, letter)| *letter);
            if is_hump(before, *letter, after) {
                pieces.push(&piece[start..*at]);
                start = *at;
            }
        }
        if start < piece.len() {
            pieces.push(&piece[start..]);
        }
    }
    pieces
}

/// True if a new piece of an identifier starts with `letter`.
pub(crate) fn is_hump(before: char, letter: char, after: Option<char>) -> bool {
    let begins_capital = letter.is_uppercase()
        && (before.is_lowercase() || before.is_uppercase() && after.is_some_and(char::is_lowercase));
    begins_capital
        || before.is_numeric() && letter.is_alphabetic()
        || before.is_alphabetic() && letter.is_numeric()
}

/// The bytes of `text` that match `lower`, ignoring case; none if it does not start so.
pub(crate) fn length_of_prefix(text: &str, lower: &str) -> Option<usize> {
    let mut rest = text.char_indices();
    let mut wanted = lower.chars();
    loop {
        let at = rest.offset();
        let Some(expected) = wanted.next() else { return Some(at) };
        let (_, found) = rest.next()?;
        let mut folded = found.to_lowercase();
        if folded.next() != Some(expected) {
            return None;
        }
        // One character may become several in lower case.
        for more in folded {
            if wanted.next() != Some(more) {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_split(name: &str, expected: &[&str]) {
        assert_eq!(split_identifier(name), expected);
    }

    #[test]
    fn identifiers_are_split_at_humps_and_underscores() {
        check_split("parseConfigFile", &["parse", "Config", "File"]);
        check_split("HTTPServer", &["HTTP", "Server"]);
        check_split("snake_case_name", &["snake", "case", "name"]);
        check_split("MAX_SIZE", &["MAX", "SIZE"]);
        check_split("sha256sum", &["sha", "256", "sum"]);
        check_split("__init__", &["init"]);
        check_split("größeÄndern", &["größe", "Ändern"]);
        check_split("word", &["word"]);
        check_split("", &[]);
    }

    #[track_caller]
    fn check_prefix(text: &str, lower: &str, expected: Option<usize>) {
        assert_eq!(length_of_prefix(text, lower), expected);
    }

    #[test]
    fn prefixes_are_compared_whatever_their_case() {
        check_prefix("ERROR: x", "error", Some(5));
        check_prefix("Über", "über", Some(5));
        check_prefix("İx", "i\u{307}x", Some(3));
        check_prefix("erro", "error", None);
        check_prefix("other", "error", None);
        check_prefix("", "", Some(0));
    }
}
