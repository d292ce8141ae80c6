//! Finds tags in text that need not be XML.

use std::ops::Range;

/// A tag as it stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tag<'t> {
    pub(super) name: &'t str,
    pub(super) kind: TagKind,
    /// The text between the name and the end.
    pub(super) attributes: &'t str,
    /// The range of the tag, from `<` to behind `>`.
    pub(super) range: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TagKind {
    Open,
    Close,
    /// `<name/>`, which opens and closes.
    Empty,
}

/// The beginning of a tag: `<name` or `</name`.
struct Beginning<'t> {
    name: &'t str,
    closes: bool,
    /// The end of the name.
    end: usize,
}

/// The tag that begins at byte `start` of `text`. A tag ends on its own line, and before the next `<`.
pub(super) fn tag_at(text: &str, start: usize) -> Option<Tag<'_>> {
    let beginning = beginning(&text[start..])?;
    let name_end = start + beginning.end;
    let length = text[name_end..].find(['<', '>', '\n'])?;
    let end = name_end + length;
    if !text[end..].starts_with('>') {
        return None;
    }
    let attributes = &text[name_end..end];
    let kind = match (beginning.closes, attributes.trim_end().ends_with('/')) {
        (true, _) => TagKind::Close,
        (false, true) => TagKind::Empty,
        (false, false) => TagKind::Open,
    };
    Some(Tag { name: beginning.name, kind, attributes, range: start..end + 1 })
}

/// All tags of a text, in order, except those quoted as code.
pub(super) fn tags(text: &str) -> impl Iterator<Item = Tag<'_>> {
    text.match_indices('<').filter(|(at, _)| !is_quoted(&text[..*at])).filter_map(|(at, _)| tag_at(text, at))
}

/// Returns true if what follows `before` is quoted in single backticks: talk about a tag, not the tag. Three of them are a
/// fence.
fn is_quoted(before: &str) -> bool {
    before.ends_with('`') && !before.ends_with("```")
}

/// The name of the tag that begins with this text, whether or not the tag ever ends.
pub(super) fn begun_name(text: &str) -> Option<&str> {
    beginning(text).map(|beginning| beginning.name)
}

fn beginning(text: &str) -> Option<Beginning<'_>> {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let bytes = text.as_bytes();
    let skip_spaces = |at: usize| at + bytes[at..].iter().take_while(|byte| is_space(byte)).count();
    if bytes.first() != Some(&b'<') {
        return None;
    }
    let mut start = skip_spaces(1);
    let closes = bytes.get(start) == Some(&b'/');
    if closes {
        start = skip_spaces(start + 1);
    }
    let length = bytes[start..].iter().take_while(|byte| is_name_byte(**byte)).count();
    let name = &text[start..start + length];
    is_name(name).then_some(Beginning { name, closes, end: start + length })
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':')
}

/// Returns true if a tag can have this name.
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(is_name_byte)
}

/// Returns true if two names differ only in case and in how their words are joined.
pub(super) fn same_name(a: &str, b: &str) -> bool {
    letters(a).eq(letters(b))
}

fn letters(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().filter(|byte| !matches!(byte, b'_' | b'-' | b' ')).map(|byte| byte.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, TagKind, &str)]) {
        let found: Vec<_> = tags(text).map(|tag| (tag.name, tag.kind, &text[tag.range])).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn tags_are_found_however_they_are_written() {
        use TagKind::{Close, Empty, Open};
        check("", &[]);
        check("a <b> c", &[("b", Open, "<b>")]);
        check("<a></a>", &[("a", Open, "<a>"), ("a", Close, "</a>")]);
        check("< / A_b >", &[("A_b", Close, "< / A_b >")]);
        check("<a b='c'>", &[("a", Open, "<a b='c'>")]);
        check("<a/><b />", &[("a", Empty, "<a/>"), ("b", Empty, "<b />")]);
        check("<a <b>", &[("b", Open, "<b>")]);
        check("日<ä><é a><a é>", &[("a", Open, "<a é>")]);
    }

    #[test]
    fn other_uses_of_the_signs_are_no_tags() {
        for text in ["<", "<>", "</>", "a << b", "a <- b > c"] {
            check(text, &[]);
        }
        check("<a", &[]);
        check("<a\n>", &[]);
        check("<3>", &[]);
        check("<!-- a -->", &[]);
    }

    #[test]
    fn quoted_tags_do_not_count() {
        check("the `<a>` tag", &[]);
        check("```<a>", &[("a", TagKind::Open, "<a>")]);
        check("```\n<a>\n```", &[("a", TagKind::Open, "<a>")]);
    }
}
