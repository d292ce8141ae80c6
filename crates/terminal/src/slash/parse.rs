//! What is meant by a line that begins with a slash.

use longhaul_policy::ApprovalMode;

use super::{find, nearest};
use crate::command::{Command, Topic};

/// What is meant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Meant {
    /// Whoever holds the agent is to do this.
    Command(Command),
    /// The list of commands and keys.
    Help,
    /// The last answer goes to the clipboard.
    Copy,
    /// What is typed is opened in an editor.
    Editor,
    /// Thoughts are shown or hidden.
    Thoughts,
    /// The program ends.
    Quit,
    /// Nothing that is known, and why.
    Unknown(String),
}

/// What is meant by a line that begins with a slash.
pub(crate) fn parse(line: &str) -> Meant {
    let line = line.trim();
    let typed = line.strip_prefix('/').unwrap_or(line);
    let (name, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    let rest = rest.trim();
    let Some(slash) = find(name) else { return unknown(name) };
    let (word, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let behind = behind.trim();
    let given = |text: &str| (!text.is_empty()).then(|| text.to_string());
    let usage = || Meant::Unknown(format!("/{} takes {}", slash.name, slash.takes));
    let command = match (slash.name, word, behind) {
        ("help", ..) => return Meant::Help,
        ("copy", ..) => return Meant::Copy,
        ("editor", ..) => return Meant::Editor,
        ("thoughts", ..) => return Meant::Thoughts,
        ("quit", ..) => return Meant::Quit,
        ("compress", "undo", "") => Command::UndoCompaction,
        ("compress", "preview", "") => Command::PreviewCompaction,
        ("compress", ..) => Command::Compact { focus: given(rest) },
        ("context", ..) => Command::Show(Topic::Context),
        ("pins", "" | "list", "") => Command::Show(Topic::Pins),
        ("pins", "add", text) if !text.is_empty() => Command::Pin(text.to_string()),
        ("pins", "remove", id) if !id.is_empty() => Command::Unpin(id.to_string()),
        ("memory", "" | "show", "") => Command::Show(Topic::Memory),
        ("memory", "list", "") => Command::Show(Topic::MemoryFiles),
        ("memory", "reload" | "refresh", "") => Command::ReloadMemory,
        ("memory", "add", text) if !text.is_empty() => Command::AddMemory(text.to_string()),
        ("pins" | "memory", ..) => return usage(),
        ("resume", "", _) => Command::ListSessions,
        ("resume", ..) => Command::Resume(rest.to_string()),
        ("rewind", ..) => Command::ListTurns,
        ("clear", ..) => Command::Clear,
        ("model", "", _) => Command::Show(Topic::Model),
        ("model", ..) => Command::SwitchModel(rest.to_string()),
        ("mode", "", _) => Command::Show(Topic::Policy),
        ("mode", word, _) => match ApprovalMode::parse(word) {
            Some(mode) => Command::SetMode(mode),
            None => return usage(),
        },
        ("stats", ..) => Command::Show(Topic::Statistics),
        ("tools", ..) => Command::Show(Topic::Tools),
        ("policy", ..) => Command::Show(Topic::Policy),
        ("hooks", ..) => Command::Show(Topic::Hooks),
        ("trust", ..) => Command::Show(Topic::Trust),
        ("init", ..) => Command::Init,
        ("export", ..) => Command::Export(given(rest)),
        _ => return unknown(name),
    };
    Meant::Command(command)
}

fn unknown(name: &str) -> Meant {
    let nearest = nearest(name).map_or_else(|| ".".to_string(), |near| format!("; did you mean /{near}?"));
    Meant::Unknown(format!("There is no command /{name}{nearest} /help lists them all."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Command) {
        assert_eq!(parse(line), Meant::Command(expected), "{line}");
    }

    #[test]
    fn lines_mean_commands() {
        check("/compress", Command::Compact { focus: None });
        check("/summarize", Command::Compact { focus: None });
        check("/compact undo", Command::UndoCompaction);
        check("/compress preview", Command::PreviewCompaction);
        check("/compress undo the parser", Command::Compact { focus: Some("undo the parser".into()) });
        check("/pins add Never push.", Command::Pin("Never push.".into()));
        check("/memory", Command::Show(Topic::Memory));
        check("/memory refresh", Command::ReloadMemory);
        check("/mode yolo", Command::SetMode(ApprovalMode::Yolo));
        check("/export  notes.md ", Command::Export(Some("notes.md".into())));
        assert_eq!(parse("/exit"), Meant::Quit);
    }

    #[track_caller]
    fn check_unknown(line: &str, word: &str) {
        let Meant::Unknown(text) = parse(line) else { panic!("{line} is known") };
        assert!(text.contains(word), "{text}");
    }

    #[test]
    fn what_is_not_known_is_said() {
        check_unknown("/compres", "did you mean /compress?");
        check_unknown("/xyzzy", "no command /xyzzy. /help");
        check_unknown("/pins add", "/pins takes");
        check_unknown("/mode wild", "/mode takes");
        check_unknown("/memory forget", "/memory takes");
    }

    #[test]
    fn every_command_means_something() {
        for slash in super::super::ALL {
            for name in std::iter::once(&slash.name).chain(slash.aliases) {
                assert!(!matches!(parse(&format!("/{name}")), Meant::Unknown(_)), "{name}");
            }
        }
    }
}
