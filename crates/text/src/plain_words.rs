//! Counts the plain words of a text: those that are no piece of a name.

/// The number of plain words in a text: letters only, and no piece of a name such as `os.path` or `max_size`.
///
/// The counting ends at `most`: few are many enough.
pub fn count_plain_words(text: &str, most: usize) -> usize {
    let bytes = text.as_bytes();
    let joins =
        |index: usize| bytes.get(index).is_some_and(|byte| matches!(byte, b'_' | b'.' | b'/' | b'\\' | b':'));
    let is_digit = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_digit);
    let (mut count, mut index) = (0, 0);
    while count < most {
        let Some(between) = bytes[index..].iter().position(u8::is_ascii_alphabetic) else { break };
        let start = index + between;
        let length = bytes[start..].iter().position(|byte| !byte.is_ascii_alphabetic());
        index = length.map_or(bytes.len(), |length| start + length);
        if index - start < 2 {
            continue;
        }
        let is_joined = start.checked_sub(1).is_some_and(|before| joins(before) || is_digit(before));
        let leads_on = joins(index) && bytes.get(index + 1).is_some_and(u8::is_ascii_alphanumeric);
        let is_name = is_joined || is_digit(index) || bytes.get(index) == Some(&b'_') || leads_on;
        count += usize::from(!is_name && !has_hump(&bytes[start..index]));
    }
    count
}

/// Returns true if a capital stands behind a small letter.
fn has_hump(letters: &[u8]) -> bool {
    letters.array_windows().any(|[one, other]| one.is_ascii_lowercase() && other.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_words_are_no_pieces_of_names() {
        for (text, expected) in [
            ("the cache is full.", 4),
            ("os.path max_size readFile a/b x", 0),
            ("see src/main.rs: it fails", 3),
            ("return err2 or nil", 3),
            ("日本語", 0),
            ("", 0),
        ] {
            assert_eq!(count_plain_words(text, 9), expected, "{text}");
            assert_eq!(count_plain_words(text, 2), expected.min(2), "{text}");
        }
    }

    /// Counts plain words one byte after the other.
    fn count_slowly(text: &str) -> usize {
        let bytes = text.as_bytes();
        let is_letter = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphabetic);
        let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let is_sign = |at: usize, signs: &[u8]| bytes.get(at).is_some_and(|byte| signs.contains(byte));
        let starts = (0..bytes.len()).filter(|at| is_letter(*at) && (*at == 0 || !is_letter(at - 1)));
        let is_plain = |start: &usize| {
            let end = (*start..).find(|at| !is_letter(*at)).expect("a text ends");
            let joined = *start > 0 && (is_digit(start - 1) || is_sign(start - 1, b"_./\\:"));
            let goes_on = is_digit(end) || is_sign(end, b"_");
            let leads_on = is_sign(end, b"./\\:") && (is_letter(end + 1) || is_digit(end + 1));
            end - start >= 2 && !joined && !goes_on && !leads_on && !has_hump(&bytes[*start..end])
        };
        starts.filter(is_plain).count()
    }

    proptest! {
        #[test]
        fn plain_words_are_counted_as_if_one_by_one(text in "([a-z]{0,11}|[aB]{0,18}|[ .:_/1é]){0,12}", most in 0usize..6) {
            prop_assert_eq!(count_plain_words(&text, most), count_slowly(&text).min(most));
        }
    }
}
