//! Searches texts faster than the standard library does, as most of a long history is looked through and few of it is found.

use aho_corasick::packed::Searcher;

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

/// The lines of a text in which something is found.
pub(crate) fn lines_with<'t>(search: &Searcher, text: &'t str) -> impl Iterator<Item = &'t str> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let found = from + search.find(&text[from..])?.start();
        let start = memchr::memrchr(b'\n', &text.as_bytes()[from..found]).map_or(from, |end| from + end + 1);
        let end =
            memchr::memchr(b'\n', &text.as_bytes()[found..]).map_or(text.len(), |length| found + length);
        from = (end + 1).min(text.len());
        Some(&text[start..end])
    })
}

/// A text without white space around it, as [`str::trim`] has it.
pub(crate) fn fast_trim(text: &str) -> &str {
    let is_bare = |byte: Option<&u8>| byte.is_none_or(|byte| byte.is_ascii() && *byte > b' ');
    let trimmed = text.trim_ascii();
    if is_bare(trimmed.as_bytes().first()) && is_bare(trimmed.as_bytes().last()) {
        trimmed
    } else {
        text.trim()
    }
}

/// Whether `text` has `words` in it.
pub(crate) fn has(text: &str, words: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), words.as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aho_corasick::packed;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_are_found_by_what_they_have(text in "([xyz]{0,2}|abc|defg|\n|é){0,12}") {
            let mut patterns = packed::Config::new().builder();
            let search = patterns.extend(["abc", "efg"]).build().expect("two words can be looked for");
            let found: Vec<&str> = lines_with(&search, &text).collect();
            let has = |line: &&str| line.contains("abc") || line.contains("efg");
            prop_assert_eq!(found, text.split('\n').filter(has).collect::<Vec<_>>());
        }

        #[test]
        fn fast_trim_trims(text in "[a \t\n\r\u{b}\u{c}\u{85}\u{a0}\u{3000}é\u{1c}]{0,8}") {
            prop_assert_eq!(fast_trim(&text), text.trim());
        }

        #[test]
        fn fast_lines_are_lines(text in "[a\r\n]{0,12}") {
            prop_assert_eq!(fast_lines(&text).collect::<Vec<_>>(), text.lines().collect::<Vec<_>>());
        }
    }
}
