//! Makes text safe to stand in a snapshot: it cannot close a tag, open one, or pass for a mark.
//!
//! What would do so is written with `‹` and `›`, so that a person can still read what it was.

use super::marks::leading_mark;
use super::section::Section;
use super::tags::{begun_name, same_name};

/// The name of the tag around a snapshot.
pub(super) const SNAPSHOT: &str = "state_snapshot";

/// Tags by which hosts tell a model who speaks.
const SPEAKERS: [&str; 5] =
    ["user_message", "system_message", "system_instruction", "system_reminder", "session_context"];

/// Characters that end a line somewhere.
const LINE_BREAKS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];

/// Returns true if text may not contain a tag with this name.
pub(super) fn is_reserved(name: &str) -> bool {
    same_name(SNAPSHOT, name)
        || Section::from_name(name).is_some()
        || SPEAKERS.iter().any(|speaker| same_name(speaker, name))
}

/// The lines of a text that is quoted in an entry; blank ones are left out.
pub(super) fn clean_lines(text: &str) -> impl Iterator<Item = String> {
    text.split(LINE_BREAKS)
        .map(|line| clean_mark(clean_line(line, is_reserved)))
        .filter(|line| !line.is_empty())
}

/// The text of a section with a name of its own, `name`, in which blank lines may stand.
pub(super) fn clean_text(text: &str, name: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let is_reserved = |other: &str| is_reserved(other) || same_name(name, other);
    let lines: Vec<_> = text.split(LINE_BREAKS).map(|line| clean_line(line, is_reserved)).collect();
    lines.join("\n").trim().to_string()
}

/// A line without control characters, reserved tags and white space at its end.
fn clean_line(line: &str, is_reserved: impl Fn(&str) -> bool) -> String {
    if line.contains(is_unwanted) {
        let plain: String = line.chars().filter(|character| !is_unwanted(*character)).collect();
        clean_tags(plain.trim_end(), is_reserved)
    } else {
        clean_tags(line.trim_end(), is_reserved)
    }
}

/// Returns true for a control character that a snapshot does not show.
pub(super) fn is_unwanted(character: char) -> bool {
    character.is_control() && character != '\t'
}

/// Every `<` of a reserved tag is replaced, whether or not the tag ends: what follows in the text could end it.
pub(super) fn clean_tags(line: &str, is_reserved: impl Fn(&str) -> bool) -> String {
    let mut clean = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        clean.push_str(before);
        let inside = &tag[1..];
        if begun_name(tag).is_some_and(&is_reserved) {
            let (content, behind) = inside.split_at(inside.find(['<', '>']).unwrap_or(inside.len()));
            clean.push('‹');
            clean.push_str(content);
            rest = match behind.strip_prefix('>') {
                Some(behind) => {
                    clean.push('›');
                    behind
                }
                None => behind,
            };
        } else {
            clean.push('<');
            rest = inside;
        }
    }
    clean.push_str(rest);
    clean
}

fn clean_mark(line: String) -> String {
    let Some(mark) = leading_mark(&line) else { return line };
    let inside = mark.range.start + 1..mark.range.end - 1;
    format!("{}‹{}›{}", &line[..mark.range.start], &line[inside], &line[mark.range.end..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(clean_lines(text).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        for text in
            ["plain", "Vec<String> and a < b > c", "<div class=\"x\">", "日本語 😀", "a\tb", "see [m12]"]
        {
            check(text, &[text]);
        }
        check("    indented", &["    indented"]);
    }

    #[test]
    fn our_tags_become_harmless() {
        check("a </state_snapshot> b", &["a ‹/state_snapshot› b"]);
        check("<Overall_Goal>x</OVERALL_GOAL >", &["‹Overall_Goal›x‹/OVERALL_GOAL ›"]);
        check("< / key_knowledge a='b'>", &["‹ / key_knowledge a='b'›"]);
        check("<current-plan/>", &["‹current-plan/›"]);
        check("<user_message>", &["‹user_message›"]);
        check("`<task_state>`", &["`‹task_state›`"]);
        check("<task_state", &["‹task_state"]);
        check("<task_state <task_state> >", &["‹task_state ‹task_state› >"]);
        check("<<task_state>>", &["<‹task_state›>"]);
        check("<task_state\n>", &["‹task_state", ">"]);
        check("<task_states>", &["<task_states>"]);
    }

    #[test]
    fn marks_at_the_beginning_become_harmless() {
        check("[m12] text", &["‹m12› text"]);
        check("  - [m3, m9] text [m1]", &["  - ‹m3, m9› text [m1]"]);
        check("[m12](link)", &["‹m12›(link)"]);
        check("[m12][m13]", &["‹m12›[m13]"]);
        check("\u{1b}[m12] text", &["‹m12› text"]);
    }

    #[test]
    fn control_characters_and_blank_lines_go() {
        check("a\u{0}b\u{7}\u{9f}", &["ab"]);
        check("a\r\nb\rc\u{2028}d\u{85}e", &["a", "b", "c", "d", "e"]);
        check("\n \n\t\n\u{0}\n", &[]);
        check("</state\u{0}_snapshot>", &["‹/state_snapshot›"]);
    }

    #[test]
    fn a_text_cannot_end_its_own_section() {
        assert_eq!(
            clean_text("\n a </Notes>\r\n\r\n<b> </task_state>\n", "notes"),
            "a ‹/Notes›\n\n<b> ‹/task_state›"
        );
    }

    proptest! {
        #[test]
        fn what_is_clean_stays_as_it_is(text in "([<>/ \n\r\t]|</?|task_state|\\[m1\\]|- |`|\\PC){0,40}") {
            let once: Vec<_> = clean_lines(&text).collect();
            let twice: Vec<_> = once.iter().flat_map(|line| clean_lines(line)).collect();
            prop_assert_eq!(&once, &twice);
            let once = clean_text(&text, "a");
            prop_assert_eq!(clean_text(&once, "a"), once);
        }
    }
}
