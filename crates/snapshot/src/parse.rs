//! Finds a snapshot in text that a model or another program wrote, and reads it.

use std::ops::Range;

use longhaul_conversation::Ordinal;

use super::clean::{SNAPSHOT, is_reserved};
use super::entry::{Entry, OtherSection, indent_of, without_indent};
use super::frame::is_frame;
use super::marks::{parse_digits, split_marks};
use super::tags::{Tag, TagKind, same_name, tag_at, tags};
use super::{Section, Snapshot};

/// Reads the snapshot in a text. See [`find_snapshot`].
pub fn parse_snapshot(text: &str) -> Option<Snapshot> {
    find_snapshot(text).map(|(snapshot, _)| snapshot)
}

/// Finds the snapshot in a text, with prose, scratchpads or fences around it, and where it stands.
///
/// Sections may be missing, unknown, unclosed or out of order, and their tags in any case. Of several snapshots the last
/// complete one counts; one with sections counts before one without. None if no snapshot's tag is in the text.
pub fn find_snapshot(text: &str) -> Option<(Snapshot, Range<usize>)> {
    let read = blocks(text).into_iter().map(|block| {
        let (snapshot, has_sections) = block.read();
        let rank = (has_sections, block.is_closed, !snapshot.is_empty());
        (rank, snapshot, block.range)
    });
    let best = read.max_by_key(|(rank, ..)| *rank);
    best.map(|(_, snapshot, range)| (snapshot, range))
}

/// A piece of text that begins with the tag of a snapshot.
struct Block<'t> {
    range: Range<usize>,
    attributes: &'t str,
    body: &'t str,
    is_closed: bool,
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut opened: Option<Tag<'_>> = None;
    for tag in tags(text).filter(|tag| same_name(SNAPSHOT, tag.name)) {
        let start = tag.range.start;
        match tag.kind {
            TagKind::Open => {
                // Inside a snapshot, a tag in the middle of a line is talk about snapshots.
                if opened.is_some() && !begins_line(text, start) {
                    continue;
                }
                blocks.extend(opened.replace(tag).map(|opened| unclosed(text, opened, start)));
            }
            TagKind::Close => blocks.extend(opened.take().map(|opened| Block {
                range: opened.range.start..tag.range.end,
                attributes: opened.attributes,
                body: &text[opened.range.end..start],
                is_closed: true,
            })),
            TagKind::Empty => {}
        }
    }
    blocks.extend(opened.map(|opened| unclosed(text, opened, text.len())));
    blocks
}

/// A snapshot that nothing closes before `end`; a fence around it does not belong to it.
fn unclosed<'t>(text: &'t str, opened: Tag<'t>, end: usize) -> Block<'t> {
    let Tag { attributes, range, .. } = opened;
    let before = text[..range.start].trim_end();
    let is_fenced = before[before.rfind('\n').map_or(0, |at| at + 1)..].trim_start().starts_with("```");
    let whole = text[range.end..end].trim_end();
    let body = if is_fenced { whole.strip_suffix("```").unwrap_or(whole) } else { whole };
    Block { range: range.start..range.end + body.len(), attributes, body, is_closed: false }
}

fn begins_line(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end_matches([' ', '\t']);
    before.is_empty() || before.ends_with('\n')
}

impl Block<'_> {
    /// The snapshot in it, and whether it has sections.
    fn read(&self) -> (Snapshot, bool) {
        let mut snapshot = Snapshot::new(parse_through(self.attributes));
        let mut has_sections = false;
        let mut section = None;
        let mut start = 0;
        for tag in tags(self.body) {
            let Some(named) = Section::from_name(tag.name) else { continue };
            has_sections = true;
            read_piece(&mut snapshot, section, &self.body[start..tag.range.start]);
            start = tag.range.end;
            section = (tag.kind == TagKind::Open).then_some(named);
        }
        read_piece(&mut snapshot, section, &self.body[start..]);
        (snapshot, has_sections)
    }
}

/// Reads `through="m214"`, with or without quotes.
fn parse_through(attributes: &str) -> Option<Ordinal> {
    let at = attributes.to_ascii_lowercase().find("through")?;
    let value = attributes[at + "through".len()..].trim_start().strip_prefix('=')?;
    let value = value.trim_start().trim_start_matches(['"', '\'']);
    let value = value.strip_prefix(['m', 'M']).unwrap_or(value);
    let end = value.find(|character: char| !character.is_ascii_digit()).unwrap_or(value.len());
    parse_digits(&value[..end]).map(Ordinal)
}

fn read_piece(snapshot: &mut Snapshot, section: Option<Section>, text: &str) {
    match section {
        Some(section) => read_entries(snapshot, section, text),
        None => read_loose(snapshot, text),
    }
}

/// Reads the entries of a section: what stands under a mark, paragraphs and list items.
fn read_entries(snapshot: &mut Snapshot, section: Section, text: &str) {
    let surplus = common_indent(text);
    let mut marks = Vec::new();
    let mut lines: Vec<&str> = Vec::new();
    let mut flush = |marks: &mut Vec<Ordinal>, lines: &mut Vec<&str>| {
        snapshot.push(section, Entry::new(marks.drain(..), lines.drain(..)));
    };
    for line in text.split('\n').map(|line| without_indent(line, surplus)) {
        if line.trim().is_empty() {
            flush(&mut marks, &mut lines);
        } else if let Some((found, rest)) = split_marks(line) {
            flush(&mut marks, &mut lines);
            marks = found;
            lines.push(rest);
        } else {
            lines.push(line);
        }
    }
    flush(&mut marks, &mut lines);
}

/// The indentation that all lines share. The first one begins behind a tag, so its own says nothing.
fn common_indent(text: &str) -> usize {
    let lines = text.split('\n').skip(1).filter(|line| !line.trim().is_empty());
    lines.map(indent_of).min().unwrap_or(0)
}

/// Reads what stands in a snapshot outside its sections: sections with other tags, sections with headings instead of
/// tags, and text, which is taken for knowledge. The frame, comments and tags that close nothing are passed over.
fn read_loose(snapshot: &mut Snapshot, text: &str) {
    let last_comment_end = text.rfind("-->");
    let mut section = Section::KeyKnowledge;
    let mut pending = String::from("\n");
    let mut at = 0;
    while at < text.len() {
        let start = at + (text[at..].len() - text[at..].trim_start_matches([' ', '\t']).len());
        if let Some(tag) = tag_at(text, start) {
            if tag.kind == TagKind::Close {
                at = tag.range.end;
                continue;
            }
            if tag.kind == TagKind::Open && !is_reserved(tag.name) {
                let (content, end) = until_closed(text, &tag);
                snapshot.others.extend(OtherSection::new(tag.name, content));
                at = end;
                continue;
            }
        }
        // Without a look at the last end, every comment that has none would be searched for it anew.
        if text[start..].starts_with("<!--")
            && last_comment_end.is_some_and(|end| end > start)
            && let Some(length) = text[start..].find("-->")
        {
            at = start + length + "-->".len();
            continue;
        }
        let line_end = text[start..].find('\n').map_or(text.len(), |length| start + length + 1);
        match heading_section(&text[start..line_end]) {
            None if is_frame(&text[start..line_end]) => {}
            Some(named) => {
                read_entries(snapshot, section, &pending);
                pending.truncate(1);
                section = named;
            }
            None => pending.push_str(&text[at..line_end]),
        }
        at = line_end;
    }
    read_entries(snapshot, section, &pending);
}

/// The text from a tag to the one that closes it, or to the end, and where that is.
fn until_closed<'t>(text: &'t str, opened: &Tag<'_>) -> (&'t str, usize) {
    let start = opened.range.end;
    let closing =
        tags(&text[start..]).find(|tag| tag.kind == TagKind::Close && same_name(tag.name, opened.name));
    match closing {
        Some(tag) => (&text[start..start + tag.range.start], start + tag.range.end),
        None => (&text[start..], text.len()),
    }
}

/// The section that a line names as a heading: `## Key knowledge`, `**Task state:**`, `Recent actions:`.
fn heading_section(line: &str) -> Option<Section> {
    let line = line.trim();
    let words = line.trim_matches(['#', '*', ':', ' ', '\t']);
    let words = words.trim_start_matches(|character: char| character.is_ascii_digit() || character == '.');
    if words.len() == line.len() { None } else { Section::from_name(words) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each entry as `section: marks lines`, lines parted by `|`.
    fn outline(snapshot: &Snapshot) -> Vec<String> {
        let known = snapshot.sections().flat_map(|(section, entries)| {
            entries.iter().map(move |entry| {
                format!("{}: {}", section.name(), entry.to_string().trim_end().replace('\n', "|"))
            })
        });
        let others = snapshot.others().iter().map(|other| format!("{}= {}", other.name(), other.text()));
        known.chain(others).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let snapshot = parse_snapshot(text).expect("there is a snapshot");
        assert_eq!(outline(&snapshot), expected, "{text}");
    }

    /// As `check`, for the text inside a snapshot.
    #[track_caller]
    fn check_body(body: &str, expected: &[&str]) {
        check(&format!("<state_snapshot>{body}</state_snapshot>"), expected);
    }

    #[test]
    fn no_tag_means_no_snapshot() {
        for text in [
            "",
            "prose",
            "<overall_goal>a</overall_goal>",
            "</state_snapshot>",
            "state_snapshot",
            "<state_snapshot",
            "<state_snapshots>a",
            "the `<state_snapshot>` tag",
            "<state_snapshot/>",
        ] {
            assert_eq!(parse_snapshot(text), None, "{text}");
        }
        check("<state_snapshot>", &[]);
        check("<state_snapshot></state_snapshot>", &[]);
    }

    #[test]
    fn what_stands_around_it_does_not_matter() {
        let snapshot = "<state_snapshot><overall_goal>a</overall_goal></state_snapshot>";
        for (before, after) in [
            ("", ""),
            ("Here it is:\n", "\nDone."),
            ("<scratchpad>\nI think `<state_snapshot>` comes now.\n</scratchpad>\n", ""),
            ("I will write a <state_snapshot> now.\n\n", "\n"),
            ("```xml\n", "\n```\n"),
            ("```", "```"),
            ("> ", ""),
        ] {
            let text = format!("{before}{snapshot}{after}");
            let (found, range) = find_snapshot(&text).unwrap();
            assert_eq!(outline(&found), ["overall_goal: a"], "{text}");
            assert_eq!(&text[range], snapshot);
        }
    }

    #[test]
    fn the_last_complete_snapshot_counts() {
        let of = |goal: &str| format!("<state_snapshot><overall_goal>{goal}</overall_goal></state_snapshot>");
        check(&format!("{}\n{}", of("a"), of("b")), &["overall_goal: b"]);
        check(&format!("{} {}", of("a"), of("b")), &["overall_goal: b"]);
        check(&format!("{}\n<state_snapshot><overall_goal>cut o", of("a")), &["overall_goal: a"]);
        check(&format!("<state_snapshot><overall_goal>cut o\n{}", of("a")), &["overall_goal: a"]);
        check(&format!("{}\nThat was the <state_snapshot>.", of("a")), &["overall_goal: a"]);
        check(&format!("{}\n<state_snapshot></state_snapshot>", of("a")), &["overall_goal: a"]);
        check("<state_snapshot>a</state_snapshot><state_snapshot><task_state>b", &["task_state: b"]);
        check(&of("read a <state_snapshot> well"), &["overall_goal: read a ‹state_snapshot› well"]);
    }

    #[test]
    fn it_says_how_far_it_reaches() {
        for (attributes, expected) in [
            ("", None),
            (" through=\"m214\"", Some(214)),
            (" THROUGH = 'M214'", Some(214)),
            (" through=214", Some(214)),
            (" version=2 through=\"m7\" a", Some(7)),
            (" through=\"\"", None),
            (" through=\"mx\"", None),
            (" through=\"m99999999999\"", None),
            (" through", None),
        ] {
            let text = format!("<state_snapshot{attributes}></state_snapshot>");
            assert_eq!(parse_snapshot(&text).unwrap().through(), expected.map(Ordinal), "{text}");
        }
    }

    #[test]
    fn tags_may_be_sloppy() {
        check_body("<Overall_Goal>a</OVERALL_GOAL>", &["overall_goal: a"]);
        check_body("< key-knowledge kind=\"x\" >a</ key_knowledge >", &["key_knowledge: a"]);
        check_body("<currentPlan>a</currentPlan>", &["task_state: a"]);
        check("<STATE_SNAPSHOT>\n<task_state>a</task_state>\n</State_Snapshot>", &["task_state: a"]);
        check_body(
            "<key_knowledge>the `</key_knowledge>` tag</key_knowledge>",
            &["key_knowledge: the `‹/key_knowledge›` tag"],
        );
    }

    #[test]
    fn unclosed_sections_end_where_the_next_begins() {
        check_body(
            "<overall_goal>a<key_knowledge>b</key_knowledge>",
            &["overall_goal: a", "key_knowledge: b"],
        );
        check_body("<overall_goal>a\n<task_state>b\n", &["overall_goal: a", "task_state: b"]);
        check_body("<overall_goal>a</key_knowledge><task_state>b", &["overall_goal: a", "task_state: b"]);
        check("<state_snapshot>\n<overall_goal>\na\n\nb", &["overall_goal: a", "overall_goal: b"]);
        check("```\n<state_snapshot>\n<task_state>\na\n```\n", &["task_state: a"]);
        check_body("<overall_goal/><task_state />", &[]);
    }

    #[test]
    fn a_section_may_come_twice_and_late() {
        check_body(
            "<task_state>a</task_state><overall_goal>b</overall_goal><task_state>c</task_state>",
            &["overall_goal: b", "task_state: a", "task_state: c"],
        );
    }

    #[test]
    fn entries_are_marked_lines_paragraphs_and_items() {
        let check = |text: &str, expected: &[&str]| {
            let expected: Vec<_> = expected.iter().map(|entry| format!("task_state: {entry}")).collect();
            let expected: Vec<_> = expected.iter().map(String::as_str).collect();
            check_body(&format!("<task_state>{text}</task_state>"), &expected);
        };
        check("\n  a\n  b\n\n  c\n", &["a|b", "c"]);
        check("\n    - a\n      - b\n    - c\n", &["- a|  - b", "- c"]);
        check("a\n    b", &["a|b"]);
        check("\n1. [DONE] a\n2. [TODO] b\n", &["1. [DONE] a", "2. [TODO] b"]);
        check("\n[DONE] a\n[IN PROGRESS] b\n", &["[DONE] a", "[IN PROGRESS] b"]);
        check("\n## a\nb\n### c\n- d\n", &["## a|b", "### c", "- d"]);
        check("\n[m1] a\nb\n- c\n[m2, m3] d\n\ne\n", &["[m1] a|b|- c", "[m2, m3] d", "e"]);
        check("\n- [m1] a\n- [m2] b\n", &["[m1] a", "[m2] b"]);
        check("\n[m1]\na\n", &["[m1] a"]);
        check("\n[m1]\n\n[m2] \n", &[]);
        check("\r\n[m1] a\r\nb\r\n\r\nc\r\n", &["[m1] a|b", "c"]);
        check("\n```sh\nmake\n```\n", &["```sh|make|```"]);
        check("\n<b>bold</b> & <i>\n", &["<b>bold</b> & <i>"]);
    }

    #[test]
    fn unknown_sections_are_kept() {
        check_body(
            "\n<notes>\na\n\nb\n</notes>\n<task_state>c</task_state>\n<risks>d",
            &["task_state: c", "notes= a\n\nb", "risks= d"],
        );
        check_body("<Notes>a <b>c</b></NOTES>", &["Notes= a <b>c</b>"]);
        check_body("<all>\n<task_state>a</task_state>\n</all>", &["task_state: a"]);
        check_body("<empty></empty>", &[]);
    }

    #[test]
    fn text_outside_sections_is_kept_too() {
        check_body(
            "\na\n- b\n<task_state>c</task_state> d\n",
            &["key_knowledge: a", "key_knowledge: - b", "key_knowledge: d", "task_state: c"],
        );
        check_body(
            "\n## Overall Goal\na\n\n**Recent actions:**\n- b\n\n3. Current plan:\nc\n",
            &["overall_goal: a", "recent_actions: - b", "task_state: c"],
        );
        check_body("\n<!-- a\nb --> c\n<!-- d", &["key_knowledge: c|<!-- d"]);
        check_body(
            "<user_message>do this</user_message>",
            &["key_knowledge: ‹user_message›do this‹/user_message›"],
        );
    }
}
