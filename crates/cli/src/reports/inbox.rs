//! Texts about inbox proposals: their evidence, and what an undo restored.

use longhaul_skills::{TakenBack, Undone};
use serde_json::Value;

/// The evidence in lines: each finding, then each session with its messages.
pub(crate) fn evidence_lines(evidence: &[Value]) -> Vec<String> {
    let mut lines = Vec::new();
    for found in evidence {
        let text = |key: &str| found[key].as_str().unwrap_or_default();
        lines.push(format!("{}: {}", text("kind"), text("title")));
        for seen in found["seen"].as_array().into_iter().flatten() {
            let marks = seen["marks"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let marks = marks.collect::<Vec<_>>().join(", ");
            lines.push(format!("  session {}, {marks}", seen["session"].as_str().unwrap_or_default()));
        }
    }
    lines
}

/// A sentence on an undone acceptance.
pub(crate) fn undone_words(undone: &Undone) -> String {
    match undone {
        Undone::Skill(skill) => {
            format!("{} is pending again; removed {}.", skill.name, skill.target.display())
        }
        Undone::Update(update) => taken_back_words(update),
    }
}

/// A sentence on undone patches.
pub(crate) fn taken_back_words(undone: &TakenBack) -> String {
    let files: Vec<String> = undone.restored.iter().map(|path| path.display().to_string()).collect();
    let are = if undone.patches.len() == 1 { "is" } else { "are" };
    format!("{} {are} pending again; restored {}.", undone.patches.join(", "), files.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn evidence_is_told_in_lines() {
        let found = json!({"kind": "procedure", "title": "a → b", "seen": [{"session": "s1", "marks": ["m2", "m3"]}, {}]});
        let expected = ["procedure: a → b", "  session s1, m2, m3", "  session , "];
        assert_eq!(evidence_lines(&[found]), expected);
        assert_eq!(evidence_lines(&[json!(3)]), [": "]);
    }
}
