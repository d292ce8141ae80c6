//! One line for each event of a turn: tools, memory, instructions.

use std::path::{Path, PathBuf};

use longhaul_agent::{InstructionSource, MemoryNews, SourceState, ToolEnd};
use longhaul_conversation::{ToolCall, ToolStatus};
use longhaul_tools::Preview;

use crate::output::{plural, thousands};

/// The longest line, in characters.
const LONGEST: usize = 160;

/// The line for a tool call that begins.
pub(super) fn beginning(call: &ToolCall, preview: &Preview) -> String {
    let what = match preview {
        Preview::Look(what) | Preview::Other(what) => what.clone(),
        Preview::Command { command, is_background: false, .. } => command.clone(),
        Preview::Command { command, .. } => format!("{command} &"),
        Preview::Change { path, .. } => {
            let folder = std::env::current_dir().unwrap_or_default();
            path.strip_prefix(folder).unwrap_or(path).display().to_string()
        }
    };
    one_line(&format!("{}: {what}", call.name))
}

/// The line for its end, unless it ended as expected.
pub(super) fn ending(end: &ToolEnd) -> Option<String> {
    let word = match end.status {
        ToolStatus::Failed => "failed",
        ToolStatus::Cancelled => "was not run",
        ToolStatus::Succeeded | ToolStatus::Unstated => {
            let place = end.saved_as.as_ref()?;
            let lines = plural(end.text.lines().count(), "line", "lines");
            let saved = match end.left_out {
                0 => format!("full output in {place}"),
                bytes => format!("all but {} bytes in {place}", thousands(bytes)),
            };
            let name = &end.call.name;
            return Some(one_line(&format!("{name}: long output; the model reads {lines}, {saved}")));
        }
    };
    let reason = end.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Some(one_line(&format!("{} {word}: {}", end.call.name, reason.trim())))
}

/// The line for loaded or changed memory files.
pub(super) fn memory(files: &[PathBuf], why: MemoryNews) -> String {
    let what = match why {
        MemoryNews::CameIn => "memory loaded",
        MemoryNews::Changed => "memory changed",
    };
    one_line(&format!("{what}: {}", names(files.iter().map(PathBuf::as_path))))
}

/// The line for instructions after a compaction, unless the model still reads them all.
pub(super) fn instructions(sources: &[InstructionSource]) -> Option<String> {
    let in_state = |state: SourceState| {
        let meant = sources.iter().filter(|source| source.state == state);
        let names = meant.map(|source| source.what.to_string()).collect::<Vec<_>>().join(", ");
        (!names.is_empty()).then(|| format!("{}: {names}", state.as_str()))
    };
    let told: Vec<String> =
        [SourceState::Reinjected, SourceState::Lost].into_iter().filter_map(in_state).collect();
    (!told.is_empty()).then(|| one_line(&format!("instructions {}", told.join("; "))))
}

fn names<'a>(files: impl Iterator<Item = &'a Path>) -> String {
    files.map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn one_line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_agent::Instruction;
    use longhaul_tools::ToolDisplay;
    use std::time::Duration;

    fn end(status: ToolStatus, text: &str, saved_as: Option<&str>) -> ToolEnd {
        ToolEnd {
            call: ToolCall::new("c1", "glob"),
            status,
            text: text.into(),
            shown: ToolDisplay::Text,
            took: Duration::ZERO,
            saved_as: saved_as.map(str::to_string),
            left_out: 0,
        }
    }

    #[test]
    fn work_is_told_in_a_line() {
        let call = ToolCall::new("c1", "run_shell_command");
        let command = |command: &str, is_background| Preview::Command {
            command: command.into(),
            directory: "/app".into(),
            is_background,
        };
        assert_eq!(beginning(&call, &command("cargo\n  test", false)), "run_shell_command: cargo test");
        assert_eq!(beginning(&call, &command("cargo watch", true)), "run_shell_command: cargo watch &");
        assert_eq!(beginning(&call, &Preview::Look("x".repeat(500))).chars().count(), LONGEST + 1);
    }

    #[test]
    fn instructions_that_are_still_there_are_no_news() {
        let source = |path: &str, state| InstructionSource { what: Instruction::Memory(path.into()), state };
        let present = source("/w/GEMINI.md", SourceState::Present);
        assert_eq!(instructions(std::slice::from_ref(&present)), None);
        let (back, lost) = (source("/w/a", SourceState::Reinjected), source("/w/b", SourceState::Lost));
        let told = instructions(&[present, back, lost]);
        assert_eq!(told.as_deref(), Some("instructions re-injected: /w/a; lost: /w/b"));
        assert_eq!(memory(&["/w/a".into()], MemoryNews::CameIn), "memory loaded: /w/a");
    }

    #[test]
    fn only_what_is_unexpected_is_told_of_an_end() {
        assert_eq!(ending(&end(ToolStatus::Succeeded, "fine", None)), None);
        assert_eq!(
            ending(&end(ToolStatus::Failed, "\nno match\nat all", None)).as_deref(),
            Some("glob failed: no match")
        );
        assert_eq!(
            ending(&end(ToolStatus::Cancelled, "Not now.", None)).as_deref(),
            Some("glob was not run: Not now.")
        );
        let long = ending(&end(ToolStatus::Succeeded, "a\nb", Some("/h/x.txt")));
        assert_eq!(
            long.as_deref(),
            Some("glob: long output; the model reads 2 lines, full output in /h/x.txt")
        );
        let cut = ToolEnd { left_out: 12_345, ..end(ToolStatus::Succeeded, "a\nb", Some("/h/x.txt")) };
        assert_eq!(
            ending(&cut).as_deref(),
            Some("glob: long output; the model reads 2 lines, all but 12,345 bytes in /h/x.txt")
        );
    }
}
