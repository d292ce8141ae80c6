//! Languages for syntax highlighting: a few lexical rules each, none of which has to be right for the code to be readable.
//! They are data, in `languages.txt`.

use std::sync::LazyLock;

/// The lexical rules of a language.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Language {
    /// The names used in code fences.
    names: Vec<&'static str>,
    pub(super) keywords: Vec<&'static str>,
    /// The openings of line comments.
    pub(super) line_comments: Vec<&'static str>,
    /// The opening and the end of block comments.
    pub(super) block_comment: Option<(&'static str, &'static str)>,
    /// String delimiters; longer ones come before their prefixes.
    pub(super) quotes: Vec<StringDelimiters>,
    /// The mark after keys, in configuration languages.
    pub(super) key_mark: Option<char>,
}

/// The delimiters of a string literal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StringDelimiters {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    /// True if a backslash escapes the next character.
    pub(super) escapes: bool,
    /// True if it may span several lines.
    pub(super) is_long: bool,
    /// True for character literals of exactly one character; anything else, such as a lifetime, is not a literal.
    pub(super) is_character: bool,
}

/// The language that a code fence names, if it is known.
pub(super) fn find(fence: &str) -> Option<&'static Language> {
    static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| parse(include_str!("languages.txt")));
    // Some fences have more after the name, such as `rust,ignore` or `js title="a.js"`.
    let name = fence.trim().split([' ', ',', '{', ':']).next().unwrap_or_default().to_ascii_lowercase();
    LANGUAGES.iter().find(|language| language.names.contains(&name.as_str()))
}

/// Parses the blocks of `languages.txt`, whose head describes the form.
fn parse(text: &'static str) -> Vec<Language> {
    let mut languages: Vec<Language> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let kind = words.next().unwrap_or_default();
        if kind == "names" {
            languages.push(Language { names: words.collect(), ..Language::default() });
            continue;
        }
        let language = languages.last_mut().unwrap_or_else(|| panic!("{line:?} belongs to no language"));
        match (kind, words.clone().collect::<Vec<_>>().as_slice()) {
            ("keywords", _) => language.keywords.extend(words),
            ("comment", [open]) => language.line_comments.push(open),
            ("block", [open, close]) => language.block_comment = Some((open, close)),
            ("string", [open, close, flags @ ..]) => language.quotes.push(StringDelimiters {
                open,
                close,
                escapes: !flags.contains(&"raw"),
                is_long: flags.contains(&"long"),
                is_character: flags.contains(&"character"),
            }),
            ("key", [mark]) => language.key_mark = mark.chars().next(),
            _ => panic!("{line:?} has no known form"),
        }
    }
    languages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_understood() {
        let [language] = &parse(
            "# one\nnames toy t\n\nkeywords a b\nkeywords c\ncomment #\nblock /* */\nstring ' ' raw long\nkey =",
        )[..] else {
            panic!("one language")
        };
        assert_eq!(
            (language.names.as_slice(), language.keywords.as_slice()),
            (&["toy", "t"][..], &["a", "b", "c"][..])
        );
        assert_eq!(
            (language.line_comments.as_slice(), language.block_comment),
            (&["#"][..], Some(("/*", "*/")))
        );
        let quote =
            StringDelimiters { open: "'", close: "'", escapes: false, is_long: true, is_character: false };
        assert_eq!((language.quotes.as_slice(), language.key_mark), (&[quote][..], Some('=')));
    }

    #[test]
    fn every_language_of_the_list_can_be_read() {
        let languages = parse(include_str!("languages.txt"));
        assert!(languages.len() >= 10);
        for language in &languages {
            for name in &language.names {
                assert_eq!(find(name), Some(language), "{name} is taken by another language");
            }
            assert!(!language.keywords.is_empty() && !language.quotes.is_empty(), "{:?}", language.names);
        }
    }
}
