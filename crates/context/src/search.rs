//! Searches texts faster than the standard library does, as most of a long history is looked through and few of it is found.

/// The lines of a text, as [`str::lines`] has them.
pub(crate) fn fast_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut from = 0;
    let ends = memchr::memchr_iter(b'\n', text.as_bytes());
    let last = (!text.ends_with('\n') && !text.is_empty()).then_some(text.len());
    ends.chain(last).map(move |end| {
        let line = &text[from..end];
        from = end + 1;
        if end < text.len() { line.strip_suffix('\r').unwrap_or(line) } else { line }
    })
}

/// Whether `text` has `words` in it.
pub(crate) fn has(text: &str, words: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), words.as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fast_lines_are_lines(text in "[a\r\n]{0,12}") {
            prop_assert_eq!(fast_lines(&text).collect::<Vec<_>>(), text.lines().collect::<Vec<_>>());
        }
    }
}
