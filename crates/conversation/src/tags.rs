//! Finds what looks like a tag of ours in text that others wrote, and makes it harmless.

use std::borrow::Cow;

/// The same text, in which nothing looks like one of the named tags: their brackets are escaped.
///
/// ```
/// use longhaul_conversation::neutralise_tags;
///
/// assert_eq!(neutralise_tags("a </note> <b>", &["note"]), "a &lt;/note> <b>");
/// ```
pub fn neutralise_tags<'t>(text: &'t str, tags: &[&str]) -> Cow<'t, str> {
    let places: Vec<(usize, &str)> = tag_places(text, tags).map(|at| (at, "&lt;")).collect();
    match places.as_slice() {
        [] => Cow::Borrowed(text),
        places => Cow::Owned(replace_bytes(text, places)),
    }
}

/// The positions of brackets that start or end one of the named tags, in order.
///
/// Spaces, slashes and capitals do not hide a tag, because a model would not be fooled by them either; a longer name is
/// another tag.
///
/// ```
/// use longhaul_conversation::tag_places;
///
/// assert_eq!(tag_places("a </ NOTE > b <notes>", &["note"]).collect::<Vec<_>>(), [2]);
/// ```
pub fn tag_places<'a>(text: &'a str, tags: &'a [&str]) -> impl Iterator<Item = usize> + 'a {
    text.match_indices('<').map(|(at, _)| at).filter(|at| is_tag(&text[at + 1..], tags))
}

fn is_tag(rest: &str, tags: &[&str]) -> bool {
    let name = rest.trim_start().trim_start_matches('/').trim_start();
    tags.iter().any(|tag| {
        name.get(..tag.len()).is_some_and(|head| head.eq_ignore_ascii_case(tag))
            && !name[tag.len()..]
                .starts_with(|letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-')
    })
}

/// Replaces the bytes at some positions, given in order.
///
/// # Panics
///
/// If a position is not that of a single-byte character.
pub fn replace_bytes(text: &str, places: &[(usize, &str)]) -> String {
    let mut safe = String::with_capacity(text.len() + places.iter().map(|(_, by)| by.len()).sum::<usize>());
    let mut from = 0;
    for (at, by) in places {
        safe.push_str(&text[from..*at]);
        safe.push_str(by);
        from = at + 1;
    }
    safe.push_str(&text[from..]);
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[usize]) {
        assert_eq!(tag_places(text, &["note", "session_context"]).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn tags_are_found_however_they_are_written() {
        check("<note>", &[0]);
        check("<<note/></ NOTE>", &[1, 8]);
        check("< / \nSession_Context attribute>", &[0]);
        check("é<note", &[2]);
    }

    #[test]
    fn other_tags_are_not() {
        for text in
            ["<notes>", "<note-2>", "<note_>", "<no", "<", "a < b", "<é>", "note", "<session context>"]
        {
            check(text, &[]);
        }
    }

    #[test]
    fn bytes_are_replaced_where_they_stand() {
        assert_eq!(replace_bytes("a<b<é", &[(1, "&lt;"), (3, "")]), "a&lt;bé");
        assert_eq!(replace_bytes("", &[]), "");
    }
}
