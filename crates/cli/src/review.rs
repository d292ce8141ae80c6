//! What reviewing the inbox needs, whatever waits there: the evidence in words, and the user's editor.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, anyhow};
use serde_json::Value;

use crate::failure::hinted;

/// Where findings were seen, in lines: what it is, then each session with its messages.
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

/// The user's editor, with its arguments.
pub(crate) fn editor() -> Option<String> {
    let named = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    named("VISUAL").or_else(|| named("EDITOR"))
}

/// Opens files in the user's editor and waits until it is closed.
pub(crate) fn edit(files: &[PathBuf]) -> anyhow::Result<()> {
    let editor =
        editor().ok_or_else(|| hinted(anyhow!("no editor is known"), "set EDITOR, such as EDITOR=vi"))?;
    // An editor may come with arguments.
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or_default();
    let status = Command::new(program).args(words).args(files).status();
    let status = status.with_context(|| format!("could not run {editor:?}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(anyhow!("the editor ended with {status}, so that nothing was accepted")),
    }
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
