//! Parsing of slash commands.

use longhaul_conversation::Ordinal;
use longhaul_policy::ApprovalMode;

use super::{OfferedCommand, SkillCommand, SlashCommand, find, names, nearest};
use crate::inbox::{AcceptScope, InboxKind, ReviewDecision};
use crate::memory::MemoryRequest;
use crate::protocol::{DriverCommand, Topic};

/// The action of a slash command.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SlashAction {
    /// A command for the driver.
    Command(DriverCommand),
    /// Shows commands and keys.
    Help,
    /// Copies the last answer to the clipboard.
    Copy,
    /// Opens the input in an editor.
    Editor,
    /// Shows or hides thoughts.
    Thoughts,
    /// Chooses a theme from a list.
    Themes,
    /// Turns vim keys on or off.
    Vim,
    /// Ends the program.
    Quit,
    /// Not a valid command, with an explanation.
    Unknown(String),
}

/// Parses a line that starts with a slash.
pub(crate) fn parse(line: &str, custom: &[OfferedCommand], skills: &[SkillCommand]) -> SlashAction {
    let line = line.trim();
    let typed = line.strip_prefix('/').unwrap_or(line);
    let (name, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    let rest = rest.trim();
    let Some(slash) = find(name) else {
        if let Some(used) = custom.iter().find(|custom| custom.name == name) {
            return SlashAction::Command(DriverCommand::RunCustom {
                name: used.command.clone(),
                words: rest.to_string(),
            });
        }
        let used = skills.iter().find(|skill| skill.name == name.to_lowercase());
        return used.map_or_else(
            || unknown(name, custom, skills),
            |used| {
                SlashAction::Command(DriverCommand::UseSkill {
                    skill: used.skill.clone(),
                    words: rest.to_string(),
                })
            },
        );
    };
    let (word, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let behind = behind.trim();
    let given = |text: &str| (!text.is_empty()).then(|| text.to_string());
    let usage = || usage(slash, rest);
    let change = |key: &str, value: Option<&str>| DriverCommand::ChangeSetting {
        key: key.to_string(),
        value: value.map(str::to_string),
    };
    let command = match (slash.name, word, behind) {
        ("help", ..) => return SlashAction::Help,
        ("copy", ..) => return SlashAction::Copy,
        ("editor", ..) => return SlashAction::Editor,
        ("thoughts", ..) => return SlashAction::Thoughts,
        ("quit", ..) => return SlashAction::Quit,
        ("theme", "", _) => return SlashAction::Themes,
        ("theme", ..) => change("ui.theme", Some(rest)),
        ("vim", "", _) => return SlashAction::Vim,
        ("vim", ..) => return usage(),
        ("config", "" | "list", "") => DriverCommand::ShowSettings(None),
        ("config", "show", key) if !key.is_empty() => DriverCommand::ShowSettings(Some(key.to_string())),
        ("config", "unset", key) if !key.is_empty() => change(key, None),
        ("config", "set", setting) => match setting.split_once(char::is_whitespace) {
            Some((key, value)) => change(key, Some(value.trim())),
            None => return usage(),
        },
        ("config", key, "") if key.contains('.') => DriverCommand::ShowSettings(Some(key.to_string())),
        ("config", ..) => return usage(),
        ("retry", "", "") => DriverCommand::Retry,
        ("retry", ..) => return usage(),
        ("compress", "undo", "") => DriverCommand::UndoCompaction,
        ("compress", "preview", "") => DriverCommand::PreviewCompaction,
        ("compress", ..) => DriverCommand::Compact { focus: given(rest) },
        ("context", "", _) => DriverCommand::Show(Topic::Context),
        ("context", "drop", number) => match message_number(number) {
            Some(ordinal) => DriverCommand::DropOutputs(ordinal),
            None => return usage(),
        },
        ("context", ..) => return usage(),
        ("rules", "" | "list", "") => DriverCommand::Show(Topic::Rules),
        ("rules", "add", text) if !text.is_empty() => DriverCommand::AddRule(text.to_string()),
        ("rules", "remove" | "done" | "wrong", id) if !id.is_empty() => {
            DriverCommand::RemoveRule(id.to_string())
        }
        ("requests", "" | "list", "") => DriverCommand::Show(Topic::Requests),
        ("requests", "add", text) if !text.is_empty() => DriverCommand::AddRequest(text.to_string()),
        ("requests", "done", id) if !id.is_empty() => DriverCommand::FinishRequest(id.to_string()),
        ("requests", "remove" | "wrong", id) if !id.is_empty() => {
            DriverCommand::RemoveRequest(id.to_string())
        }
        ("memory", "" | "show", "") => DriverCommand::Show(Topic::Memory),
        ("memory", "list", "") => DriverCommand::Show(Topic::MemoryFiles),
        ("memory", "reload" | "refresh", "") => DriverCommand::ReloadMemory,
        ("memory", word @ ("add" | "remove" | "edit"), text) if !text.is_empty() => {
            let text = text.to_string();
            DriverCommand::ChangeMemory(match word {
                "add" => MemoryRequest::Add(text),
                "remove" => MemoryRequest::Remove(text),
                _ => MemoryRequest::Edit(text),
            })
        }
        ("skills", "" | "list", "") => DriverCommand::Show(Topic::Skills),
        ("skills", "list", "all") => DriverCommand::Show(Topic::AllSkills),
        ("skills", "show", name) if !name.is_empty() => DriverCommand::ShowSkill(name.to_string()),
        ("skills", "enable", name) if !name.is_empty() => DriverCommand::EnableSkill(name.to_string()),
        ("skills", "disable", name) if !name.is_empty() => DriverCommand::DisableSkill(name.to_string()),
        ("skills", "reload" | "refresh", "") => DriverCommand::ReloadSkills,
        ("skills" | "memory", "inbox", behind) => {
            let inbox = if slash.name == "skills" { InboxKind::Skills } else { InboxKind::Memory };
            match in_inbox(inbox, behind) {
                Some(command) => command,
                None => return usage(),
            }
        }
        ("rules" | "requests" | "memory" | "skills", ..) => return usage(),
        ("resume", "", _) => DriverCommand::ListSessions,
        ("resume", ..) => DriverCommand::Resume(rest.to_string()),
        ("rewind", "files", _) => DriverCommand::RestoreFiles,
        ("rewind", "undo", _) => DriverCommand::UndoRestore,
        ("rewind", ..) => DriverCommand::ListTurns,
        ("clear", ..) => DriverCommand::Clear,
        ("model", "", _) => DriverCommand::Show(Topic::Model),
        ("model", ..) => DriverCommand::SwitchModel(rest.to_string()),
        ("mode", "", _) => DriverCommand::Show(Topic::Policy),
        ("mode", word, _) => match ApprovalMode::parse(word) {
            Some(mode) => DriverCommand::SetMode(mode),
            None => return usage(),
        },
        ("stats", ..) => DriverCommand::Show(Topic::Statistics),
        ("tools", ..) => DriverCommand::Show(Topic::Tools),
        ("agents", ..) => DriverCommand::Show(Topic::Agents),
        ("mcp", ..) => DriverCommand::Show(Topic::Servers),
        ("policy", "" | "list", "") => DriverCommand::Show(Topic::Policy),
        ("policy", "revoke", given) if !given.is_empty() => DriverCommand::Revoke(given.to_string()),
        ("policy", ..) => return usage(),
        ("hooks", ..) => DriverCommand::Show(Topic::Hooks),
        ("trust", ..) => DriverCommand::Show(Topic::Trust),
        ("init", ..) => DriverCommand::Init,
        ("export", ..) => DriverCommand::Export(given(rest)),
        _ => return unknown(name, custom, skills),
    };
    SlashAction::Command(command)
}

/// The number of a message: `m12`, `[m12]` or `12`.
fn message_number(text: &str) -> Option<Ordinal> {
    let text = text.trim_start_matches('[').trim_end_matches(']');
    text.strip_prefix('m').unwrap_or(text).parse().ok().map(Ordinal)
}

/// Parses the words after `inbox`.
fn in_inbox(inbox: InboxKind, words: &str) -> Option<DriverCommand> {
    let (word, name) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let name = name.trim();
    let review = match (word, name) {
        ("" | "list", "") => return Some(DriverCommand::OpenInbox(inbox)),
        ("show", name) if !name.is_empty() => {
            return Some(DriverCommand::ShowWaiting(inbox, name.to_string()));
        }
        ("edit", name) if !name.is_empty() => {
            return Some(DriverCommand::EditWaiting(inbox, name.to_string()));
        }
        ("accept", name) if !name.is_empty() => {
            let (name, scope) = match name.rsplit_once(' ') {
                Some((name, "project" | "workspace")) => (name, AcceptScope::Project),
                Some((name, "user")) => (name, AcceptScope::User),
                // What sessions of a project taught is for that project, unless the user says otherwise.
                _ => (name, AcceptScope::Project),
            };
            ReviewDecision::Accept { name: name.trim().to_string(), scope }
        }
        ("dismiss", name) if !name.is_empty() => ReviewDecision::Dismiss { name: name.to_string() },
        ("undo", "") => ReviewDecision::Undo,
        _ => return None,
    };
    Some(DriverCommand::Review(inbox, review))
}

/// An explanation of a command's arguments, with a suggestion.
fn usage(slash: &SlashCommand, rest: &str) -> SlashAction {
    let begins =
        |words: &str| rest == words || rest.strip_prefix(words).is_some_and(|behind| behind.starts_with(' '));
    let known = slash.subs.iter().filter(|sub| begins(sub.words)).max_by_key(|sub| sub.words.len());
    if let Some(sub) = known.filter(|sub| !sub.needs.is_empty()) {
        return SlashAction::Unknown(format!("Usage: /{} {} {}", slash.name, sub.words, sub.needs));
    }
    let depth = known.map_or(1, |sub| sub.words.split(' ').count() + 1);
    let typed = rest.split_whitespace().take(depth).collect::<Vec<_>>().join(" ");
    let near = nearest(slash.subs.iter().map(|sub| sub.words), &typed).filter(|near| *near != typed);
    let near = near.map(|near| format!(". Did you mean /{} {near}?", slash.name)).unwrap_or_default();
    SlashAction::Unknown(format!("Usage: /{} {}{near}", slash.name, slash.takes).trim_end().to_string())
}

fn unknown(name: &str, custom: &[OfferedCommand], skills: &[SkillCommand]) -> SlashAction {
    let near = nearest(names(custom, skills), name).map(|near| format!(" Did you mean /{near}?"));
    SlashAction::Unknown(format!(
        "Unknown command: /{name}.{} Type /help to list all commands.",
        near.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tides() -> Vec<SkillCommand> {
        vec![SkillCommand { name: "tide-tables".into(), skill: "Tide tables".into(), does: String::new() }]
    }

    fn commits() -> Vec<OfferedCommand> {
        let (takes, does) = (String::new(), String::new());
        vec![OfferedCommand { name: "git:commit".into(), command: "git:commit".into(), takes, does }]
    }

    #[track_caller]
    fn check(line: &str, expected: DriverCommand) {
        assert_eq!(parse(line, &commits(), &tides()), SlashAction::Command(expected), "{line}");
    }

    #[test]
    fn lines_mean_commands() {
        check("/compress", DriverCommand::Compact { focus: None });
        check("/summarize", DriverCommand::Compact { focus: None });
        check("/compact undo", DriverCommand::UndoCompaction);
        check("/retry", DriverCommand::Retry);
        check("/compress preview", DriverCommand::PreviewCompaction);
        check("/compress undo the parser", DriverCommand::Compact { focus: Some("undo the parser".into()) });
        check("/cost", DriverCommand::Show(Topic::Statistics));
        check("/permissions", DriverCommand::Show(Topic::Policy));
        check("/agents", DriverCommand::Show(Topic::Agents));
        check("/context", DriverCommand::Show(Topic::Context));
        check("/context drop m12", DriverCommand::DropOutputs(Ordinal(12)));
        check("/context drop [m7]", DriverCommand::DropOutputs(Ordinal(7)));
        check("/rules add Never push.", DriverCommand::AddRule("Never push.".into()));
        check("/rules wrong 1a", DriverCommand::RemoveRule("1a".into()));
        check("/requests", DriverCommand::Show(Topic::Requests));
        check("/requests add Write docs", DriverCommand::AddRequest("Write docs".into()));
        check("/requests done 1a", DriverCommand::FinishRequest("1a".into()));
        check("/requests wrong 1a", DriverCommand::RemoveRequest("1a".into()));
        check("/memory", DriverCommand::Show(Topic::Memory));
        check("/memory refresh", DriverCommand::ReloadMemory);
        let change = |request: fn(String) -> MemoryRequest, text: &str| {
            DriverCommand::ChangeMemory(request(text.to_string()))
        };
        check("/memory add  Use tabs", change(MemoryRequest::Add, "Use tabs"));
        check("/memory remove 3", change(MemoryRequest::Remove, "3"));
        check("/memory edit tabs --text Use spaces", change(MemoryRequest::Edit, "tabs --text Use spaces"));
        check("/mode yolo", DriverCommand::SetMode(ApprovalMode::Yolo));
        check("/policy", DriverCommand::Show(Topic::Policy));
        check("/policy list", DriverCommand::Show(Topic::Policy));
        check("/policy revoke 2", DriverCommand::Revoke("2".into()));
        check("/policy revoke cargo test", DriverCommand::Revoke("cargo test".into()));
        check("/export  notes.md ", DriverCommand::Export(Some("notes.md".into())));
        assert_eq!(parse("/exit", &[], &[]), SlashAction::Quit);
    }

    #[test]
    fn settings_are_shown_and_changed() {
        check("/config", DriverCommand::ShowSettings(None));
        check("/config ui.theme", DriverCommand::ShowSettings(Some("ui.theme".into())));
        check("/config show ui.theme", DriverCommand::ShowSettings(Some("ui.theme".into())));
        let change = |key: &str, value: Option<&str>| DriverCommand::ChangeSetting {
            key: key.into(),
            value: value.map(String::from),
        };
        check("/config set ui.theme  dark ", change("ui.theme", Some("dark")));
        check("/config unset ui.theme", change("ui.theme", None));
        check("/theme my own", change("ui.theme", Some("my own")));
        assert_eq!(parse("/theme", &[], &[]), SlashAction::Themes);
        assert_eq!(parse("/vim", &[], &[]), SlashAction::Vim);
    }

    #[test]
    fn custom_commands_take_what_follows_their_name() {
        let run = |words: &str| DriverCommand::RunCustom { name: "git:commit".into(), words: words.into() };
        check("/git:commit", run(""));
        check("/git:commit  the parser ", run("the parser"));
    }

    #[test]
    fn skills_are_listed_switched_and_used() {
        check("/skills", DriverCommand::Show(Topic::Skills));
        check("/skills list all", DriverCommand::Show(Topic::AllSkills));
        check("/skills show Tide tables", DriverCommand::ShowSkill("Tide tables".into()));
        check("/skills disable x", DriverCommand::DisableSkill("x".into()));
        check("/skills refresh", DriverCommand::ReloadSkills);
        let used = |words: &str| DriverCommand::UseSkill { skill: "Tide tables".into(), words: words.into() };
        check("/tide-tables", used(""));
        check("/Tide-Tables  of today ", used("of today"));
    }

    #[test]
    fn inboxes_are_opened_and_settled() {
        check("/skills inbox", DriverCommand::OpenInbox(InboxKind::Skills));
        check("/memory inbox list", DriverCommand::OpenInbox(InboxKind::Memory));
        check("/skills inbox show a b", DriverCommand::ShowWaiting(InboxKind::Skills, "a b".into()));
        check("/memory inbox edit private", DriverCommand::EditWaiting(InboxKind::Memory, "private".into()));
        let accept = |name: &str, scope| {
            DriverCommand::Review(InboxKind::Skills, ReviewDecision::Accept { name: name.into(), scope })
        };
        check("/skills inbox accept a b", accept("a b", AcceptScope::Project));
        check("/skills inbox accept a b user", accept("a b", AcceptScope::User));
        check("/skills inbox accept a b project", accept("a b", AcceptScope::Project));
        check("/skills inbox accept project", accept("project", AcceptScope::Project));
        check("/memory inbox undo", DriverCommand::Review(InboxKind::Memory, ReviewDecision::Undo));
        let gone = ReviewDecision::Dismiss { name: "global".into() };
        check("/memory inbox dismiss global", DriverCommand::Review(InboxKind::Memory, gone));
    }

    #[track_caller]
    fn check_unknown(line: &str, word: &str) {
        let SlashAction::Unknown(text) = parse(line, &commits(), &tides()) else { panic!("{line} is known") };
        assert!(text.contains(word), "{text}");
    }

    #[test]
    fn what_is_not_known_is_said() {
        check_unknown("/compres", "Did you mean /compress?");
        check_unknown("/git:comit", "Did you mean /git:commit?");
        check_unknown("/config set ui.theme", "Usage: /config set KEY VALUE");
        check_unknown("/config sett x y", "Did you mean /config set?");
        check_unknown("/vim on", "Usage: /vim");
        check_unknown("/xyzzy", "Unknown command: /xyzzy. Type /help");
        check_unknown("/tide-table", "Did you mean /tide-tables?");
        check_unknown("/skills lsit", "Did you mean /skills list?");
        check_unknown("/skills inbox acept x", "Did you mean /skills inbox accept?");
        check_unknown("/skills show", "Usage: /skills show NAME");
        check_unknown("/memory inbox dismiss", "Usage: /memory inbox dismiss KIND");
        check_unknown("/rules add", "Usage: /rules add TEXT");
        check_unknown("/context drop", "Usage: /context drop NUMBER");
        check_unknown("/context drop all", "Usage: /context drop NUMBER");
        check_unknown("/context dorp m1", "Did you mean /context drop?");
        check_unknown("/mode wild", "Usage: /mode [default |");
        check_unknown("/policy revoke", "Usage: /policy revoke NUMBER");
        check_unknown("/policy rvoke 1", "Did you mean /policy revoke?");
        check_unknown("/memory forget", "Usage: /memory [show |");
    }

    #[test]
    fn every_command_means_something() {
        for slash in super::super::ALL {
            for name in std::iter::once(&slash.name).chain(slash.aliases) {
                assert!(!matches!(parse(&format!("/{name}"), &[], &[]), SlashAction::Unknown(_)), "{name}");
            }
        }
    }
}
