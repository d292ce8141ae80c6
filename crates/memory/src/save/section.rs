//! Adds an item to the end of the section of facts in a file.

/// The heading of the facts that were saved; other programs know it, too.
pub(super) const HEADER: &str = "## Gemini Added Memories";

/// The same text with an item more at the end of the section, which is made if there is none; and the line that it stands
/// in, from 1. Line ends are those of the text.
pub(super) fn with_item(text: &str, item: &str) -> (String, usize) {
    let end = line_end(text);
    let before_item = match find_section(text) {
        None => format!("{}{HEADER}{end}", with_gap(text, end)),
        Some(FileSection { start, stop }) => {
            let (head, section) = (text[..start].trim_end(), text[start..stop].trim());
            let gap = if section.is_empty() { "" } else { end };
            format!("{head}{end}{section}{gap}")
        }
    };
    let rest = find_section(text).map_or("", |section| &text[section.stop..]);
    let line = before_item.matches('\n').count() + 1;
    let whole = format!("{before_item}{item}{end}{rest}");
    (format!("{}{end}", whole.trim_end()), line)
}

/// The same text without the section if nothing is left in it.
pub(super) fn without_empty_section(text: &str) -> String {
    let Some(FileSection { start, stop }) = find_section(text) else { return text.to_owned() };
    if !text[start..stop].trim().is_empty() {
        return text.to_owned();
    }
    let (head, rest) = (text[..start - HEADER.len()].trim_end(), &text[stop..]);
    match (head, rest.trim_start()) {
        ("", rest) => rest.to_owned(),
        (head, "") => format!("{head}{}", line_end(text)),
        (head, _) => format!("{head}{}{rest}", line_end(text)),
    }
}

/// The place of a section: from behind its heading to before the line end ahead of the next one.
struct FileSection {
    start: usize,
    stop: usize,
}

fn find_section(text: &str) -> Option<FileSection> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_end() == HEADER {
            let start = at + HEADER.len();
            let next = text[start..].find("\n## ").map(|next| start + next);
            // A carriage return belongs to the line end behind it.
            let next = next.map(|next| if text[..next].ends_with('\r') { next - 1 } else { next });
            return Some(FileSection { start, stop: next.unwrap_or(text.len()) });
        }
        at += line.len();
    }
    None
}

/// The text, and what sets a new section apart from it.
fn with_gap(text: &str, end: &str) -> String {
    let gap = if text.is_empty() || text.ends_with("\n\n") || text.ends_with("\n\r\n") {
        ""
    } else if text.ends_with('\n') {
        end
    } else {
        return format!("{text}{end}{end}");
    };
    format!("{text}{gap}")
}

/// The line end that most lines have.
fn line_end(text: &str) -> &'static str {
    let both = text.matches("\r\n").count();
    let all = text.matches('\n').count();
    if both * 2 > all { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `H` stands for the heading, `N` for the new item.
    #[track_caller]
    fn check(before: &str, after: &str) {
        let (text, line) = with_item(&before.replace('H', HEADER), "- N");
        assert_eq!(text, after.replace('H', HEADER));
        assert_eq!(text.lines().nth(line - 1), Some("- N"), "line {line}");
        let windows = with_item(&before.replace('H', HEADER).replace('\n', "\r\n"), "- N");
        if before.contains('\n') {
            assert_eq!(windows, (after.replace('H', HEADER).replace('\n', "\r\n"), line));
        }
    }

    #[test]
    fn a_section_is_made_where_there_is_none() {
        check("", "H\n- N\n");
        check("text", "text\n\nH\n- N\n");
        check("text\n", "text\n\nH\n- N\n");
        check("text\n\n", "text\n\nH\n- N\n");
        check("text\n\n\n", "text\n\n\nH\n- N\n");
    }

    #[test]
    fn items_go_to_the_end_of_the_section() {
        check("H\n- a\n", "H\n- a\n- N\n");
        check("H\n- a", "H\n- a\n- N\n");
        check("H", "H\n- N\n");
        check("H\n\n", "H\n- N\n");
        check("x\n\nH\n\n- a\n- b\n\n\n", "x\n\nH\n- a\n- b\n- N\n");
    }

    #[test]
    fn what_follows_the_section_stays() {
        check("H\n- a\n\n## Next\ntext\n", "H\n- a\n- N\n\n## Next\ntext\n");
        check("H\n- a\n## Next\n", "H\n- a\n- N\n\n## Next\n");
        // Only a heading of the same level ends it.
        check("H\n- a\n### Part\n- b\n# Top\n", "H\n- a\n### Part\n- b\n# Top\n- N\n");
    }

    #[test]
    fn only_a_line_of_its_own_is_the_heading() {
        check("see H above\n", "see H above\n\nH\n- N\n");
    }

    #[test]
    fn few_odd_line_ends_do_not_count() {
        assert_eq!(
            with_item("a\r\nb\r\nc\nd\r\n", "- N").0,
            format!("a\r\nb\r\nc\nd\r\n\r\n{HEADER}\r\n- N\r\n")
        );
    }
}
