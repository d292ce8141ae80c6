//! Parsing of slash commands.

use longhaul_policy::ApprovalMode;

use super::{SkillCommand, Slash, find, names, nearest};
use crate::command::{Command, Topic};
use crate::review::{Inbox, Review, Whose};

/// The action of a slash command.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Meant {
    /// A command for the driver.
    Command(Command),
    /// Shows commands and keys.
    Help,
    /// Copies the last answer to the clipboard.
    Copy,
    /// Opens the input in an editor.
    Editor,
    /// Shows or hides thoughts.
    Thoughts,
    /// Ends the program.
    Quit,
    /// Not a valid command, with an explanation.
    Unknown(String),
}

/// Parses a line that starts with a slash.
pub(crate) fn parse(line: &str, skills: &[SkillCommand]) -> Meant {
    let line = line.trim();
    let typed = line.strip_prefix('/').unwrap_or(line);
    let (name, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    let rest = rest.trim();
    let Some(slash) = find(name) else {
        let used = skills.iter().find(|skill| skill.name == name.to_lowercase());
        return used.map_or_else(
            || unknown(name, skills),
            |used| Meant::Command(Command::UseSkill { skill: used.skill.clone(), words: rest.to_string() }),
        );
    };
    let (word, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let behind = behind.trim();
    let given = |text: &str| (!text.is_empty()).then(|| text.to_string());
    let usage = || usage(slash, rest);
    let command = match (slash.name, word, behind) {
        ("help", ..) => return Meant::Help,
        ("copy", ..) => return Meant::Copy,
        ("editor", ..) => return Meant::Editor,
        ("thoughts", ..) => return Meant::Thoughts,
        ("quit", ..) => return Meant::Quit,
        ("retry", "", "") => Command::Retry,
        ("retry", ..) => return usage(),
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
        ("skills", "" | "list", "") => Command::Show(Topic::Skills),
        ("skills", "list", "all") => Command::Show(Topic::AllSkills),
        ("skills", "show", name) if !name.is_empty() => Command::ShowSkill(name.to_string()),
        ("skills", "enable", name) if !name.is_empty() => Command::EnableSkill(name.to_string()),
        ("skills", "disable", name) if !name.is_empty() => Command::DisableSkill(name.to_string()),
        ("skills", "reload" | "refresh", "") => Command::ReloadSkills,
        ("skills" | "memory", "inbox", behind) => {
            let inbox = if slash.name == "skills" { Inbox::Skills } else { Inbox::Memory };
            match in_inbox(inbox, behind) {
                Some(command) => command,
                None => return usage(),
            }
        }
        ("pins" | "memory" | "skills", ..) => return usage(),
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
        ("policy", "" | "list", "") => Command::Show(Topic::Policy),
        ("policy", "revoke", given) if !given.is_empty() => Command::Revoke(given.to_string()),
        ("policy", ..) => return usage(),
        ("hooks", ..) => Command::Show(Topic::Hooks),
        ("trust", ..) => Command::Show(Topic::Trust),
        ("init", ..) => Command::Init,
        ("export", ..) => Command::Export(given(rest)),
        _ => return unknown(name, skills),
    };
    Meant::Command(command)
}

/// Parses the words after `inbox`.
fn in_inbox(inbox: Inbox, words: &str) -> Option<Command> {
    let (word, name) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let name = name.trim();
    let review = match (word, name) {
        ("" | "list", "") => return Some(Command::OpenInbox(inbox)),
        ("show", name) if !name.is_empty() => return Some(Command::ShowWaiting(inbox, name.to_string())),
        ("edit", name) if !name.is_empty() => return Some(Command::EditWaiting(inbox, name.to_string())),
        ("accept", name) if !name.is_empty() => {
            let (name, whose) = match name.rsplit_once(' ') {
                Some((name, "project" | "workspace")) => (name, Whose::Projects),
                Some((name, "user")) => (name, Whose::Users),
                _ => (name, Whose::Users),
            };
            Review::Accept { name: name.trim().to_string(), whose }
        }
        ("dismiss", name) if !name.is_empty() => Review::Dismiss { name: name.to_string() },
        ("undo", "") => Review::Undo,
        _ => return None,
    };
    Some(Command::Review(inbox, review))
}

/// An explanation of a command's arguments, with a suggestion.
fn usage(slash: &Slash, rest: &str) -> Meant {
    let begins =
        |words: &str| rest == words || rest.strip_prefix(words).is_some_and(|behind| behind.starts_with(' '));
    let known = slash.subs.iter().filter(|sub| begins(sub.words)).max_by_key(|sub| sub.words.len());
    if let Some(sub) = known.filter(|sub| !sub.needs.is_empty()) {
        return Meant::Unknown(format!(
            "/{} {} takes {}: it {}.",
            slash.name, sub.words, sub.needs, sub.does
        ));
    }
    let depth = known.map_or(1, |sub| sub.words.split(' ').count() + 1);
    let typed = rest.split_whitespace().take(depth).collect::<Vec<_>>().join(" ");
    let near = nearest(slash.subs.iter().map(|sub| sub.words), &typed).filter(|near| *near != typed);
    let near = near.map(|near| format!("; did you mean /{} {near}?", slash.name)).unwrap_or_default();
    Meant::Unknown(format!("/{} takes {}{near}", slash.name, slash.takes))
}

fn unknown(name: &str, skills: &[SkillCommand]) -> Meant {
    let near = nearest(names(skills), name).map(|near| format!("; did you mean /{near}?"));
    Meant::Unknown(format!("There is no command /{name}{} /help lists them all.", near.unwrap_or(".".into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tides() -> Vec<SkillCommand> {
        vec![SkillCommand { name: "tide-tables".into(), skill: "Tide tables".into(), does: String::new() }]
    }

    #[track_caller]
    fn check(line: &str, expected: Command) {
        assert_eq!(parse(line, &tides()), Meant::Command(expected), "{line}");
    }

    #[test]
    fn lines_mean_commands() {
        check("/compress", Command::Compact { focus: None });
        check("/summarize", Command::Compact { focus: None });
        check("/compact undo", Command::UndoCompaction);
        check("/retry", Command::Retry);
        check("/compress preview", Command::PreviewCompaction);
        check("/compress undo the parser", Command::Compact { focus: Some("undo the parser".into()) });
        check("/pins add Never push.", Command::Pin("Never push.".into()));
        check("/memory", Command::Show(Topic::Memory));
        check("/memory refresh", Command::ReloadMemory);
        check("/mode yolo", Command::SetMode(ApprovalMode::Yolo));
        check("/policy", Command::Show(Topic::Policy));
        check("/policy list", Command::Show(Topic::Policy));
        check("/policy revoke 2", Command::Revoke("2".into()));
        check("/policy revoke cargo test", Command::Revoke("cargo test".into()));
        check("/export  notes.md ", Command::Export(Some("notes.md".into())));
        assert_eq!(parse("/exit", &[]), Meant::Quit);
    }

    #[test]
    fn skills_are_listed_switched_and_used() {
        check("/skills", Command::Show(Topic::Skills));
        check("/skills list all", Command::Show(Topic::AllSkills));
        check("/skills show Tide tables", Command::ShowSkill("Tide tables".into()));
        check("/skills disable x", Command::DisableSkill("x".into()));
        check("/skills refresh", Command::ReloadSkills);
        let used = |words: &str| Command::UseSkill { skill: "Tide tables".into(), words: words.into() };
        check("/tide-tables", used(""));
        check("/Tide-Tables  of today ", used("of today"));
    }

    #[test]
    fn inboxes_are_opened_and_settled() {
        check("/skills inbox", Command::OpenInbox(Inbox::Skills));
        check("/memory inbox list", Command::OpenInbox(Inbox::Memory));
        check("/skills inbox show a b", Command::ShowWaiting(Inbox::Skills, "a b".into()));
        check("/memory inbox edit private", Command::EditWaiting(Inbox::Memory, "private".into()));
        let accept =
            |name: &str, whose| Command::Review(Inbox::Skills, Review::Accept { name: name.into(), whose });
        check("/skills inbox accept a b", accept("a b", Whose::Users));
        check("/skills inbox accept a b project", accept("a b", Whose::Projects));
        check("/skills inbox accept project", accept("project", Whose::Users));
        check("/memory inbox undo", Command::Review(Inbox::Memory, Review::Undo));
        let gone = Review::Dismiss { name: "global".into() };
        check("/memory inbox dismiss global", Command::Review(Inbox::Memory, gone));
    }

    #[track_caller]
    fn check_unknown(line: &str, word: &str) {
        let Meant::Unknown(text) = parse(line, &tides()) else { panic!("{line} is known") };
        assert!(text.contains(word), "{text}");
    }

    #[test]
    fn what_is_not_known_is_said() {
        check_unknown("/compres", "did you mean /compress?");
        check_unknown("/xyzzy", "no command /xyzzy. /help");
        check_unknown("/tide-table", "did you mean /tide-tables?");
        check_unknown("/skills lsit", "did you mean /skills list?");
        check_unknown("/skills inbox acept x", "did you mean /skills inbox accept?");
        check_unknown("/skills show", "/skills show takes NAME");
        check_unknown("/memory inbox dismiss", "/memory inbox dismiss takes KIND");
        check_unknown("/pins add", "/pins add takes TEXT");
        check_unknown("/mode wild", "/mode takes");
        check_unknown("/policy revoke", "/policy revoke takes NUMBER");
        check_unknown("/policy rvoke 1", "did you mean /policy revoke?");
        check_unknown("/memory forget", "/memory takes");
    }

    #[test]
    fn every_command_means_something() {
        for slash in super::super::ALL {
            for name in std::iter::once(&slash.name).chain(slash.aliases) {
                assert!(!matches!(parse(&format!("/{name}"), &[]), Meant::Unknown(_)), "{name}");
            }
        }
    }
}
