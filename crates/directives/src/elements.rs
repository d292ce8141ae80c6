//! Elements in a text, `<issue> … </issue>`: what stands in them is quoted, unless their name says that it instructs.

use std::ops::Range;

/// Names of elements whose content speaks to the reader, as a text without them would.
const INSTRUCTING: &[&str] = &[
    "instruction",
    "rule",
    "task",
    "requirement",
    "constraint",
    "guideline",
    "important",
    "note",
    "convention",
    "query",
    "request",
    "prompt",
    "message",
    "reminder",
    "policy",
    "policies",
    "style",
    "format",
    "workflow",
    "restriction",
    "behavior",
    "behaviour",
    "goal",
    "system",
    "user",
    "role",
    "objective",
    "command",
    "editing",
    "caution",
    "warning",
];

/// Names that have one of [`INSTRUCTING`] in them and quote all the same.
const QUOTING: &[&str] = &[
    "change_request",
    "pull_request",
    "merge_request",
    "feature_request",
    "commit_message",
    "error_message",
    "task_description",
];

/// The ranges of the outermost elements that quote, from behind the opening tag to the closing one. Each begins and ends a line.
pub(crate) fn quoting_elements(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if !text.contains("</") {
        return found;
    }
    let (mut start, mut done) = (0, 0);
    for line in text.split_inclusive('\n') {
        let content = start + (line.len() - line.trim_start().len());
        start += line.len();
        let Some(name) = (content >= done).then(|| opening(line.trim())).flatten() else { continue };
        let closing = format!("</{name}>");
        let Some(length) = text[content..].find(&closing) else { continue };
        if !instructs(name) {
            done = content + length;
            found.push(content..done);
        }
    }
    found
}

/// The name of the element that a line opens.
fn opening(line: &str) -> Option<&str> {
    let inside = line.strip_prefix('<')?;
    let name = &inside[..inside.find(['>', ' '])?];
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    (is_name && !inside.contains("/>")).then_some(name)
}

/// Returns true if a line is a tag and nothing else.
pub(crate) fn is_tag(line: &str) -> bool {
    let line = line.trim();
    line.strip_prefix("</").is_some_and(|rest| rest.find('>') == Some(rest.len() - 1))
        || line.ends_with('>') && opening(line).is_some() && line.matches('>').count() == 1
}

fn instructs(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    INSTRUCTING.iter().any(|known| name.contains(known)) && !QUOTING.iter().any(|known| name.contains(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = quoting_elements(text).into_iter().map(|range| text[range].trim()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn elements_quote_unless_they_instruct() {
        check("a\n<issue>\nNever x.\n</issue>\nb", &["<issue>\nNever x."]);
        check("<rules>\nNever x.\n</rules>", &[]);
        check(
            "<doc id=\"1\">a</doc>\n<log>\n<p>\nb\n</p>\n</log>",
            &["<doc id=\"1\">a", "<log>\n<p>\nb\n</p>"],
        );
        check("<issue>\nnever closed", &[]);
        check("a < b and c > d </i>", &[]);
        check("<change-request>\nx\n</change-request>", &["<change-request>\nx"]);
    }

    #[test]
    fn tags_alone_on_a_line() {
        assert!(is_tag("<issue>") && is_tag("</issue>") && is_tag("<doc id=\"1\">"));
        assert!(!is_tag("<issue>text</issue>") && !is_tag("a <b>") && !is_tag("<br/>"));
    }
}
