//! The content of the status line.

use std::path::{Path, PathBuf};

use longhaul_agent::AgentView;
use longhaul_compaction::{Breakdown, Kind, Survey, Threshold, Trigger};
use longhaul_conversation::{Change, TokenCount};

use super::WorkingFolder;
use crate::status_line::{ContextMeter, Segment, StatusLine};

pub(super) fn status_line(
    agent: AgentView<'_>,
    model: String,
    cost: Option<f64>,
    folder: &WorkingFolder,
) -> StatusLine {
    let tracker = agent.conversation().tracker();
    let situation = agent.settings().permissions.situation;
    StatusLine {
        model,
        folder: folder.name.clone(),
        branch: branch(&folder.path),
        mode: situation.mode,
        is_trusted: situation.is_trusted,
        memory_files: agent.memory().map_or(0, |memory| memory.files().count()),
        rules: tracker.rules().active().count(),
        changed_files: tracker.ledger().files().filter(|(_, file)| file.state.is_change()).count(),
        cost,
        meter: meter(agent),
    }
}

/// The usage of the context window.
pub(super) fn meter(agent: AgentView<'_>) -> ContextMeter {
    let budget = agent.compaction_options(Trigger::Automatic).budget;
    ContextMeter {
        used: agent.used(),
        room: agent.input_limit(),
        threshold: match budget.threshold {
            Threshold::Off => None,
            threshold => threshold.tokens(agent.input_limit()),
        },
        is_counted: agent.is_counted(),
        parts: parts(agent, &breakdown(agent)),
    }
}

/// The breakdown of the conversation's tokens.
pub(super) fn breakdown(agent: AgentView<'_>) -> Breakdown {
    let mut survey = Survey::new(agent.settings().estimator);
    for message in agent.conversation().transcript().messages() {
        survey.apply(&Change::Put(message.clone()));
    }
    survey.breakdown(&[], &[])
}

/// The usage by segment, scaled to the total.
pub(super) fn parts(agent: AgentView<'_>, breakdown: &Breakdown) -> Vec<(Segment, TokenCount)> {
    let fixed = agent.fixed();
    let of_kinds = |segment: Segment| {
        let kinds = breakdown.kinds.iter().filter(|kind| segment_of(kind.kind) == segment);
        kinds.map(|kind| kind.tokens).fold(TokenCount::ZERO, |sum, tokens| sum + tokens)
    };
    let estimated: Vec<(Segment, TokenCount)> = Segment::ALL
        .into_iter()
        .map(|segment| {
            let beside = match segment {
                Segment::System => fixed.system + fixed.tools,
                Segment::Memory => fixed.memory,
                _ => TokenCount::ZERO,
            };
            (segment, of_kinds(segment) + beside)
        })
        .collect();
    let total: u64 = estimated.iter().map(|(_, tokens)| tokens.0).sum();
    let scale = if total == 0 { 1.0 } else { agent.used().0 as f64 / total as f64 };
    estimated
        .into_iter()
        .map(|(segment, tokens)| (segment, TokenCount((tokens.0 as f64 * scale).round() as u64)))
        .collect()
}

fn segment_of(kind: Kind) -> Segment {
    match kind {
        Kind::Unrecorded | Kind::System => Segment::System,
        Kind::Memory => Segment::Memory,
        Kind::Summary => Segment::Snapshot,
        Kind::ToolOutput => Segment::Tools,
        Kind::User
        | Kind::ModelText
        | Kind::Thoughts
        | Kind::CallArguments
        | Kind::Media
        | Kind::Added
        | Kind::Other => Segment::History,
    }
}

/// The checked-out branch, or a short commit hash if there is none.
fn branch(folder: &Path) -> Option<String> {
    let git = folder.ancestors().map(|folder| folder.join(".git")).find(|path| path.exists())?;
    let head = std::fs::read_to_string(git_folder(&git)?.join("HEAD")).ok()?;
    let head = head.trim();
    match head.strip_prefix("ref: ") {
        Some(name) => Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_string()),
        None => head.get(..8).map(str::to_string),
    }
}

/// The `.git` folder, or the one that a worktree's `.git` file names.
fn git_folder(git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git.to_path_buf());
    }
    let text = std::fs::read_to_string(git).ok()?;
    let named = text.trim().strip_prefix("gitdir:")?.trim();
    Some(git.parent()?.join(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_branch_is_found_from_below() {
        let folder = tempfile::tempdir().expect("a folder");
        let inside = folder.path().join("src/deep");
        std::fs::create_dir_all(&inside).expect("made");
        assert_eq!(branch(&inside), None);
        let git = folder.path().join(".git");
        std::fs::create_dir(&git).expect("made");
        std::fs::write(git.join("HEAD"), "ref: refs/heads/feature/x\n").expect("written");
        assert_eq!(branch(&inside).as_deref(), Some("feature/x"));
        std::fs::write(git.join("HEAD"), "0123456789abcdef\n").expect("written");
        assert_eq!(branch(folder.path()).as_deref(), Some("01234567"));
        std::fs::write(inside.join(".git"), "gitdir: ../../.git\n").expect("written");
        assert_eq!(branch(&inside).as_deref(), Some("01234567"));
    }
}
