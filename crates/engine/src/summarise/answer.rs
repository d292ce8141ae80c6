//! Reads a snapshot out of what a model answered.

use longhaul_snapshot::{Entry, OtherSection, Section, Snapshot, parse_snapshot};

use super::SummaryError;
use super::refusal::refusal_in;

/// Tags in which models think aloud; nothing of it is kept.
const SCRATCHPADS: [&str; 6] = ["scratchpad", "thinking", "think", "thought", "analysis", "reasoning"];

/// The snapshot in an answer; without one, the whole text counts. `None` where nothing is said.
///
/// What was thought aloud is dropped. Marks that the answer claims stay, to be checked.
///
/// # Errors
/// [`SummaryError::Refused`] where the model declines to write one.
pub(super) fn read_answer(text: &str) -> Result<Option<Snapshot>, SummaryError> {
    let Some(snapshot) = find_snapshot(text) else { return Ok(None) };
    let lines: Vec<&str> = snapshot.lines().map(|line| line.line).collect();
    match refusal_in(&lines) {
        Some(refusal) => Err(SummaryError::Refused(refusal)),
        None => Ok(Some(snapshot)),
    }
}

fn find_snapshot(text: &str) -> Option<Snapshot> {
    let found = match parse_snapshot(text) {
        Some(snapshot) => snapshot,
        // Thoughts may stand before the text or be all of it.
        None => {
            parse_snapshot(&format!("<state_snapshot>\n{}\n</state_snapshot>", without_scratchpads(text)))?
        }
    };
    let mut snapshot = Snapshot::default();
    for (section, entries) in found.sections() {
        entries.iter().for_each(|entry| snapshot.push(section, entry.clone()));
    }
    let others = found.others().iter().filter(|other| !is_scratchpad(other.name()));
    others.for_each(|other: &OtherSection| {
        snapshot.push(Section::KeyKnowledge, Entry::unmarked(other.text()));
    });
    (!snapshot.is_empty()).then_some(snapshot)
}

fn is_scratchpad(name: &str) -> bool {
    SCRATCHPADS.iter().any(|scratchpad| name.eq_ignore_ascii_case(scratchpad))
}

/// The text without what stands between the tags of scratchpads; one that is never closed goes to the end.
fn without_scratchpads(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::new();
    while let Some((start, name)) = next_scratchpad(rest) {
        kept.push_str(&rest[..start]);
        let close = format!("</{name}>");
        let inside = &rest[start..];
        let end = find_ignoring_case(inside, &close).map_or(inside.len(), |end| end + close.len());
        rest = &inside[end..];
    }
    kept.push_str(rest);
    kept
}

fn next_scratchpad(text: &str) -> Option<(usize, &'static str)> {
    let found = SCRATCHPADS.into_iter().filter_map(|name| {
        let start = find_ignoring_case(text, &format!("<{name}>"))?;
        Some((start, name))
    });
    found.min_by_key(|(start, _)| *start)
}

fn find_ignoring_case(text: &str, needle: &str) -> Option<usize> {
    text.as_bytes().windows(needle.len()).position(|window| window.eq_ignore_ascii_case(needle.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let read = read_answer(text).expect("it is no refusal").map(|snapshot| {
            snapshot
                .lines()
                .map(|line| format!("{}={}", line.section.name(), line.line))
                .collect::<Vec<_>>()
                .join("|")
        });
        assert_eq!(read.as_deref(), expected, "{text}");
    }

    #[test]
    fn only_the_snapshot_counts() {
        check(
            "<scratchpad>secret</scratchpad>\nHere:\n<state_snapshot><overall_goal>a</overall_goal></state_snapshot> bye",
            Some("overall_goal=a"),
        );
        check(
            "<state_snapshot><scratchpad>x</scratchpad><task_state>b</task_state></state_snapshot>",
            Some("task_state=b"),
        );
        check("<state_snapshot><notes>x</notes></state_snapshot>", Some("key_knowledge=x"));
    }

    #[test]
    fn without_one_the_whole_text_counts() {
        check("We fixed it.", Some("key_knowledge=We fixed it."));
        check("<Thinking>hm</thinking>We fixed it.", Some("key_knowledge=We fixed it."));
        check("## Task state\n1. done", Some("task_state=1. done"));
        check("<overall_goal>a</overall_goal>", Some("overall_goal=a"));
    }

    #[test]
    fn what_says_nothing_is_nothing() {
        for text in [
            "",
            " \n\t",
            "<state_snapshot></state_snapshot>",
            "<scratchpad>only thoughts",
            "<think>a</think>  ",
        ] {
            check(text, None);
        }
    }

    proptest! {
        #[test]
        fn no_answer_breaks_the_reader(text in "(<(/)?(state_snapshot|scratchpad|key_knowledge|a)>|[a-z \n\\[\\]m1]|\\PC){0,60}") {
            if let Ok(Some(snapshot)) = read_answer(&text) {
                prop_assert!(!snapshot.is_empty());
                let rendered = snapshot.render();
                prop_assert_eq!(rendered.matches("</state_snapshot>").count(), 1);
            }
        }
    }
}
