//! Edits of agents without tool calls: Aider's blocks stand in the model's text, and a line behind it tells that they were
//! applied.

use longhaul_conversation::Ordinal;

use super::calls::blocks_change;
use super::effect::{FileEffect, FileOperation, count};
use super::entries::{CommitEntry, FileChange};
use super::patch::read_patch;
use super::paths::file_name;
use super::symbols::symbols_in;
use crate::excerpts::cut;
use crate::ledger::Ledger;
use crate::proposed::ProposedEdits;

/// The sign that begins a block, from which on a model proposes edits.
const SEARCH: &str = "<<<<<<< SEARCH";
const REPLACE: &str = ">>>>>>> REPLACE";
const FENCE: &str = "```";

impl Ledger {
    /// Notes the edits that a model proposes in its text.
    pub(super) fn note_proposals(&mut self, text: &str, at: Ordinal) {
        if text.contains(FENCE) {
            let edits = read_proposals(text);
            if !edits.is_empty() {
                self.proposed = ProposedEdits { at: Some(at), edits };
            }
        }
    }

    /// Reads what a program tells behind a model's text: which edits it applied, which commits it made or took back.
    pub(super) fn note_report(&mut self, text: &str, at: Ordinal) {
        for line in text.lines() {
            let line = line.trim_start_matches("> ").trim();
            if let Some(path) = line.strip_prefix("Applied edit to ").and_then(file_name) {
                self.apply_proposal(path, at);
            } else if let Some((hash, message)) = line.strip_prefix("Commit ").and_then(hash_and_message) {
                self.commits.push(CommitEntry { hash: Some(hash), message: cut(message, 200), at });
            } else if let Some((hash, _)) = line.strip_prefix("Removed: ").and_then(hash_and_message) {
                self.take_back(&hash, at);
            } else if let Some(path) = line.strip_prefix("Added ").and_then(added_file) {
                self.apply(&FileEffect::read(path, None), None, at);
            }
        }
    }

    fn apply_proposal(&mut self, path: &str, at: Ordinal) {
        let is_named =
            |(named, _): &(String, FileChange)| named == path || path.ends_with(&format!("/{named}"));
        let place = self.proposed.edits.iter().position(is_named);
        let change = place.map_or_else(
            || FileChange { edits: 1, ..FileChange::default() },
            |place| self.proposed.edits.remove(place).1,
        );
        let at = self.proposed.at.filter(|_| place.is_some()).unwrap_or(at);
        self.apply(&FileEffect::new(path, FileOperation::Edit { change }), None, at);
    }

    /// Takes a commit back: its message is dropped, and the files are told as they were before.
    fn take_back(&mut self, hash: &str, at: Ordinal) {
        let Some(place) = self.commits.iter().rposition(|commit| commit.hash.as_deref() == Some(hash)) else {
            return;
        };
        let from = self.commits.remove(place).at;
        let until = self.commits.get(place).map_or(Ordinal(u32::MAX), |next| next.at);
        let since = self.commits[..place].last().map_or(Ordinal(0), |earlier| earlier.at);
        for file in self.files.values_mut() {
            // The edits of a commit were proposed between the one before it and itself.
            let is_of = |step_at: Ordinal| step_at >= since && step_at <= from && step_at < until;
            if file.steps.iter().rev().find(|step| step.change.is_some()).is_some_and(|step| is_of(step.at)) {
                file.undo_last_change(at);
            }
        }
    }
}

/// `15443ec fix: Resolve it`
fn hash_and_message(rest: &str) -> Option<(String, &str)> {
    let (hash, message) = rest.trim().split_once(' ')?;
    let is_hash = (7..=40).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| (hash.to_string(), message.trim()))
}

/// `src/a.rs to the chat.`
fn added_file(rest: &str) -> Option<&str> {
    let path = rest.trim_end_matches('.').strip_suffix(" to the chat")?;
    file_name(path).filter(|path| !path.contains(' '))
}

/// The edits that a text proposes: blocks of searches and replacements, diffs and whole files in fences, each under the
/// name of its file.
fn read_proposals(text: &str) -> Vec<(String, FileChange)> {
    let mut proposals: Vec<(String, FileChange)> = Vec::new();
    let mut named: Option<&str> = None;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(kind) = line.trim_start().strip_prefix(FENCE) else {
            named = file_line(line).or(if line.trim().is_empty() { named } else { None });
            continue;
        };
        let mut block: Vec<&str> = Vec::new();
        let mut in_search = false;
        for inside in lines.by_ref() {
            // A fence inside a replacement belongs to the file.
            if inside.trim_start().starts_with(FENCE) && !in_search {
                break;
            }
            in_search = (in_search || inside.starts_with(SEARCH)) && !inside.starts_with(REPLACE);
            block.push(inside);
        }
        // The name may stand inside the fence, before the block.
        let inside = block.first().filter(|_| block.get(1).is_some_and(|line| line.starts_with(SEARCH)));
        let path = inside.and_then(|line| file_line(line)).or(named);
        let body = block.join("\n");
        if body.contains(SEARCH) {
            add_to(&mut proposals, path, blocks_change(&body));
        } else if kind.trim() == "diff" {
            for effect in read_patch(&body) {
                if let FileOperation::Edit { change } | FileOperation::Create { change, .. } = effect.act {
                    add_to(&mut proposals, Some(&effect.path), change);
                }
            }
        } else if path.is_some() && !kind.contains("sh") {
            let change = FileChange {
                edits: 1,
                added: count(block.len()),
                symbols: symbols_in(&body),
                ..FileChange::default()
            };
            add_to(&mut proposals, path, change);
        }
        named = None;
    }
    proposals
}

fn add_to(proposals: &mut Vec<(String, FileChange)>, path: Option<&str>, change: FileChange) {
    // A block without a name goes to the file of the block before it.
    let Some(path) = path.map(str::to_string).or_else(|| proposals.last().map(|(path, _)| path.clone()))
    else {
        return;
    };
    match proposals.iter_mut().find(|(known, _)| *known == path) {
        Some((_, known)) => known.add(&change, Ordinal(0)),
        None => proposals.push((path, change)),
    }
}

/// The file that a line names, and nothing else: `src/a.rs`, `**src/a.rs**`, `` `src/a.rs`: ``
fn file_line(line: &str) -> Option<&str> {
    let name = line.trim().trim_end_matches(':').trim_matches(['*', '`', '#', ' ']);
    let is_name = !name.contains([' ', '\t', '(', ')', ',']) && (name.contains('/') || name.contains('.'));
    file_name(name).filter(|_| is_name && !name.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::{Message, Origin, Part, Role, TokenCount};

    use super::*;

    const BLOCK: &str = "I change it.\n\nsrc/chart.py\n```python\n<<<<<<< SEARCH\ndef draw():\n    pass\n=======\n\
                         def draw(size):\n    plot(size)\n>>>>>>> REPLACE\n```\n\nDone.";

    fn ledger_of(texts: &[(Role, &str)]) -> Ledger {
        let mut ledger = Ledger::default();
        for (place, (role, text)) in texts.iter().enumerate() {
            let part = match role {
                Role::Model => Part::model_text(*text),
                Role::User => match text.strip_prefix("T:") {
                    Some(text) => Part::text(Origin::Tool, text),
                    None => Part::user_text(*text),
                },
            };
            ledger.observe(&Message::new(format!("m{place}"), *role, vec![part]));
        }
        ledger
    }

    #[track_caller]
    fn check(texts: &[(Role, &str)], expected: &[&str]) {
        let lines = ledger_of(texts).render_lines(TokenCount(1_000));
        let lines: Vec<String> = lines.iter().map(|line| format!("{:?} {}", line.marks, line.text)).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn edits_that_were_applied_count() {
        let report =
            "T:Applied edit to src/chart.py\nCommit 6a478b4 feat: Draw with a size\nYou can use /undo.";
        let expected = [
            "[Ordinal(1)] src/chart.py modified (+2 -2; draw)",
            "[Ordinal(2)] committed 6a478b4: feat: Draw with a size",
        ];
        check(&[(Role::Model, BLOCK), (Role::User, report)], &expected);
        let in_text = report.replace("T:", "[tool output]\n");
        check(&[(Role::Model, BLOCK), (Role::User, &in_text)], &expected);
    }

    #[test]
    fn edits_that_were_not_applied_do_not() {
        check(&[(Role::Model, BLOCK), (Role::User, "T:The LLM did not conform to the edit format.")], &[]);
        check(&[(Role::Model, BLOCK), (Role::User, "Applied edit to src/chart.py")], &[]);
        check(&[(Role::Model, "I say: Applied edit to src/chart.py")], &[]);
    }

    #[test]
    fn what_was_undone_is_gone() {
        let commit = "T:Applied edit to src/chart.py\nCommit 6a478b4 feat: Draw with a size";
        check(
            &[
                (Role::Model, BLOCK),
                (Role::User, commit),
                (Role::User, "T:Removed: 6a478b4 feat: Draw with a size"),
            ],
            &["[Ordinal(3)] src/chart.py restored"],
        );
    }

    #[test]
    fn files_are_named_in_several_ways() {
        for text in [
            "**a/b.py**\n```\nx\n```",
            "`a/b.py`:\n```\nx\n```",
            "```diff\n--- a/a/b.py\n+++ b/a/b.py\n@@ @@\n+x\n```",
        ] {
            let proposals = read_proposals(text);
            assert_eq!(proposals.len(), 1, "{text}");
            assert_eq!((proposals[0].0.as_str(), proposals[0].1.added), ("a/b.py", 1), "{text}");
        }
        for text in ["Run it:\n```sh\nls\n```", "As in v1.2 of it:\n```\nx\n```", "no fence"] {
            assert_eq!(read_proposals(text), [], "{text}");
        }
    }
}
