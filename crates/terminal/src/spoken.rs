//! Lines for screen readers: symbols, bars and rules become words or are left out.

use longhaul_conversation::grouped;
use longhaul_display::StyledLine;
use longhaul_policy::ApprovalMode;

use crate::status_line::{ContextMeter, StatusLine};
use crate::view::percent;

/// The words for the symbols at the start of a line.
const MARKS: &[(&str, &str)] = &[
    ("❯ ", "You: "),
    ("$ ", "Command: "),
    ("● ", "Tool: "),
    ("○ ", "Tool stopped: "),
    ("✓ ", "Done: "),
    ("✗ ", "Error: "),
    ("! ", "Warning: "),
    ("· ", "Note: "),
    ("? ", "Question: "),
    ("◆ ", ""),
    ("▸ ", ""),
    ("│ ", ""),
    ("┌ ", ""),
    ("└ ", ""),
    ("• ", ""),
    ("☑ ", "done: "),
    ("☐ ", "to do: "),
    ("☒ ", "cancelled: "),
];

/// A line in words; none if it only draws something.
pub(crate) fn words(line: &StyledLine) -> Option<String> {
    let text = line.text();
    let mut rest = text.trim();
    let is_drawn = |character: char| "─│┌└━═█░┃ ".contains(character);
    if !rest.is_empty() && rest.chars().all(is_drawn) {
        return None;
    }
    let mut said = String::new();
    while let Some((mark, word)) = MARKS.iter().find(|(mark, _)| rest.starts_with(mark)) {
        said.push_str(word);
        rest = rest[mark.len()..].trim_start();
    }
    Some(said + &rest.replace(" → ", " to ").replace(" · ", ", ").replace('−', "minus "))
}

/// The status line as a sentence.
pub(crate) fn status(status: &StatusLine) -> String {
    let mut facts = vec![status.model.clone(), status.folder.clone()];
    facts.extend(status.branch.as_ref().map(|branch| format!("branch {branch}")));
    facts.extend(match status.mode {
        ApprovalMode::Default => None,
        ApprovalMode::AutoEdit => Some("auto-edit mode".to_string()),
        ApprovalMode::Yolo => Some("yolo mode".to_string()),
        ApprovalMode::Plan => Some("plan mode".to_string()),
    });
    if !status.is_trusted {
        facts.push("folder not trusted".to_string());
    }
    facts.push(meter(&status.meter));
    facts.extend(status.cost.map(|cost| format!("{cost:.4} dollars so far")));
    facts.retain(|fact| !fact.is_empty());
    facts.join(", ")
}

/// The context usage in words.
fn meter(meter: &ContextMeter) -> String {
    if meter.room.0 == 0 {
        return String::new();
    }
    let guess = if meter.is_counted { "" } else { "about " };
    let mut text = format!(
        "context {guess}{} of {} tokens",
        percent(meter.used.share_of(meter.room)),
        grouped(meter.room.0)
    );
    if let Some(threshold) = meter.threshold {
        text.push_str(&format!(", compaction due at {}", percent(threshold.share_of(meter.room))));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::TokenCount;

    #[track_caller]
    fn check(line: &str, expected: Option<&str>) {
        assert_eq!(words(&StyledLine::plain(line)).as_deref(), expected, "{line}");
    }

    #[test]
    fn marks_become_words() {
        check("❯ hello", Some("You: hello"));
        check("  ✓ allowed once", Some("Done: allowed once"));
        check("  │ ☑ look", Some("done: look"));
        check("◆ Compacted 60 → 15 tokens", Some("Compacted 60 to 15 tokens"));
        check("● grep  x  30 ms · 6 lines", Some("Tool: grep  x  30 ms, 6 lines"));
        check("▸ y  yes, once", Some("y  yes, once"));
        check("  └ 2 more lines (Ctrl-O)", Some("2 more lines (Ctrl-O)"));
        check("", Some(""));
        check("────────  ──", None);
        check("日本語", Some("日本語"));
    }

    #[test]
    fn the_meter_is_a_sentence() {
        let meter = ContextMeter {
            used: TokenCount(160_000),
            room: TokenCount(1_000_000),
            threshold: Some(TokenCount(500_000)),
            is_counted: true,
            parts: Vec::new(),
        };
        let counted = StatusLine {
            model: "some-model".into(),
            folder: "~/app".into(),
            branch: Some("main".into()),
            is_trusted: true,
            cost: Some(0.02),
            meter,
            ..StatusLine::default()
        };
        assert_eq!(
            status(&counted),
            "some-model, ~/app, branch main, context 16 % of 1,000,000 tokens, compaction due at 50 %, 0.0200 \
             dollars so far"
        );
        let guessed = ContextMeter { is_counted: false, threshold: None, ..counted.meter };
        let (mode, is_trusted) = (ApprovalMode::Plan, false);
        let guessed = StatusLine { meter: guessed, mode, is_trusted, cost: None, branch: None, ..counted };
        assert_eq!(
            status(&guessed),
            "some-model, ~/app, plan mode, folder not trusted, context about 16 % of 1,000,000 tokens"
        );
        assert_eq!(status(&StatusLine { is_trusted: true, ..StatusLine::default() }), "");
    }
}
