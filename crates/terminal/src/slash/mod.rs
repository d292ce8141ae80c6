//! Slash commands: names, arguments, completion and parsing.

mod complete;
mod custom;
mod parse;
mod skills;

pub(crate) use complete::{complete, needs_more};
pub(crate) use custom::{OfferedCommand, offered};
pub(crate) use parse::{SlashAction, parse};
pub(crate) use skills::{SkillCommand, commands_of};

/// A slash command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlashCommand {
    /// The name.
    pub(crate) name: &'static str,
    /// The aliases.
    pub(crate) aliases: &'static [&'static str],
    /// The arguments, as shown in the help.
    pub(crate) takes: &'static str,
    /// The description.
    pub(crate) does: &'static str,
    /// The subcommands.
    pub(crate) subs: &'static [Subcommand],
}

/// A subcommand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subcommand {
    /// The words, such as `inbox show`.
    pub(crate) words: &'static str,
    /// The required argument, if any.
    pub(crate) needs: &'static str,
    /// The description.
    pub(crate) does: &'static str,
}

const fn slash(name: &'static str, takes: &'static str, does: &'static str) -> SlashCommand {
    SlashCommand { name, aliases: &[], takes, does, subs: &[] }
}

const fn sub(words: &'static str, needs: &'static str, does: &'static str) -> Subcommand {
    Subcommand { words, needs, does }
}

/// The subcommands of `/memory`.
const MEMORY: &[Subcommand] = &[
    sub("show", "", "Show what the memory files say"),
    sub("list", "", "List the memory files and the facts in them"),
    sub("reload", "", "Reload the memory files (alias: refresh)"),
    sub("add", "TEXT", "Remember a fact"),
    sub("edit", "FACT", "Edit a fact, by number or words; append `--text TEXT` to skip the editor"),
    sub("remove", "FACT", "Forget a fact, by number or words"),
    sub("inbox", "", "Review proposed changes to memory"),
    sub("inbox show", "KIND", "Show the change proposed for private or global memory"),
    sub("inbox accept", "KIND", "Apply a change"),
    sub("inbox edit", "KIND", "Edit a change, then apply it"),
    sub("inbox dismiss", "KIND", "Dismiss a change for good"),
    sub("inbox undo", "", "Undo the last accepted change"),
];

const SKILLS: &[Subcommand] = &[
    sub("list", "", "List the active skills"),
    sub("list all", "", "Include inactive skills, with the reason"),
    sub("show", "NAME", "Show a skill as the model reads it"),
    sub("enable", "NAME", "Enable a skill"),
    sub("disable", "NAME", "Disable a skill"),
    sub("reload", "", "Look for skills again (alias: refresh)"),
    sub("inbox", "", "Review proposed skills and changes"),
    sub("inbox show", "NAME", "Show a proposal with its evidence"),
    sub("inbox accept", "NAME", "Accept a proposal for the project; append `user` for all of yours"),
    sub("inbox edit", "NAME", "Edit a proposal, then accept it"),
    sub("inbox dismiss", "NAME", "Dismiss a change for good"),
    sub("inbox undo", "", "Undo the last accepted change"),
];

const CONFIG: &[Subcommand] = &[
    sub("show", "KEY", "Show a setting: meaning, value and where it is set"),
    sub("set", "KEY VALUE", "Set a value in your settings"),
    sub("unset", "KEY", "Remove a value from your settings"),
];

/// All slash commands, in display order.
pub(crate) const ALL: &[SlashCommand] = &[
    slash("help", "", "Show commands and keys"),
    SlashCommand {
        aliases: &["compact", "summarize"],
        subs: &[
            sub("undo", "", "Undo the last compaction"),
            sub("preview", "", "Show what a compaction would do"),
        ],
        ..slash("compress", "[undo | preview | focus]", "Compact the conversation, or undo that")
    },
    slash("retry", "", "Continue a stopped turn and save anything unsaved"),
    SlashCommand {
        subs: &[sub("drop", "NUMBER", "Drop the tool outputs of a message or turn, such as m12")],
        ..slash("context", "[drop NUMBER]", "Show what fills the context window, or drop outputs")
    },
    SlashCommand {
        subs: &[
            sub("list", "", "List all rules, including withdrawn ones"),
            sub("add", "TEXT", "Add a rule"),
            sub("remove", "ID", "Remove a rule"),
            sub("wrong", "ID", "Remove what is no rule"),
        ],
        ..slash("rules", "[add TEXT | remove ID | wrong ID]", "List, add or remove rules")
    },
    SlashCommand {
        subs: &[
            sub("list", "", "List all requests with their state"),
            sub("add", "TEXT", "Add a request"),
            sub("done", "ID", "Mark a request as done"),
            sub("remove", "ID", "Remove a request"),
            sub("wrong", "ID", "Remove what is no request"),
        ],
        ..slash("requests", "[add TEXT | done ID | remove ID | wrong ID]", "List, add or end requests")
    },
    SlashCommand {
        subs: MEMORY,
        ..slash(
            "memory",
            "[show | list | reload | add TEXT | edit FACT | remove FACT | inbox]",
            "Show or change memory",
        )
    },
    SlashCommand {
        subs: SKILLS,
        ..slash(
            "skills",
            "[list | show NAME | enable NAME | disable NAME | reload | inbox]",
            "List, enable or disable skills, or review proposed ones",
        )
    },
    slash("resume", "[session]", "Resume an earlier session"),
    slash("rewind", "[files | undo]", "Go back to an earlier message; restore files"),
    slash("clear", "", "Start over; the session log keeps everything"),
    slash("model", "[name]", "Show or switch the model"),
    SlashCommand {
        subs: &[
            sub("default", "", "Reads run freely; edits and other commands need approval"),
            sub("auto-edit", "", "Reads and edits run freely; commands need approval"),
            sub("yolo", "", "Everything runs unless one of your rules forbids it"),
            sub("plan", "", "Read-only, for planning"),
        ],
        ..slash("mode", "[default | auto-edit | yolo | plan]", "Show or set the approval mode")
    },
    SlashCommand { aliases: &["cost"], ..slash("stats", "", "Show tokens, cost, time and tool calls") },
    slash("tools", "", "List the available tools"),
    slash("agents", "", "List the sub-agents"),
    slash("mcp", "", "Show the MCP servers, their state and tools"),
    SlashCommand {
        subs: &[
            sub("list", "", "List your saved approvals and all policy rules"),
            sub("revoke", "NUMBER", "Revoke a saved approval, by number or text"),
        ],
        aliases: &["permissions"],
        ..slash("policy", "[list | revoke NUMBER]", "Show which tool calls run, need approval or are denied")
    },
    slash("hooks", "", "List your hooks"),
    slash("trust", "", "Show whether this folder is trusted"),
    SlashCommand {
        subs: CONFIG,
        ..slash("config", "[show KEY | set KEY VALUE | unset KEY]", "Show or change settings")
    },
    slash("theme", "[name]", "Choose the colours"),
    slash("vim", "", "Turn vim keys on or off"),
    slash("init", "", "Draft a GEMINI.md for this folder"),
    slash("export", "[file]", "Export the conversation to a file"),
    slash("copy", "", "Copy the last answer to the clipboard"),
    slash("editor", "", "Compose a message in your editor"),
    slash("thoughts", "", "Show or hide the model's thoughts"),
    SlashCommand { aliases: &["exit"], ..slash("quit", "", "Quit") },
];

impl SlashCommand {
    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// Finds a command by name or alias.
pub(crate) fn find(name: &str) -> Option<&'static SlashCommand> {
    ALL.iter().find(|slash| slash.is_called(name))
}

/// True for the name of a command of our own.
pub(crate) fn is_known(name: &str) -> bool {
    find(name).is_some()
}

/// The most similar known name, if one is similar at all.
fn nearest<'a>(known: impl IntoIterator<Item = &'a str>, name: &str) -> Option<&'a str> {
    let near = known.into_iter().map(|known| (strsim::jaro_winkler(known, name), known));
    near.filter(|(near, _)| *near > 0.7).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}

/// All command names, including custom ones and those of skills.
fn names<'a>(custom: &'a [OfferedCommand], skills: &'a [SkillCommand]) -> impl Iterator<Item = &'a str> {
    let own = ALL.iter().flat_map(|slash| std::iter::once(slash.name).chain(slash.aliases.iter().copied()));
    own.chain(custom.iter().map(|custom| custom.name.as_str()))
        .chain(skills.iter().map(|skill| skill.name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found() {
        let near = |name| nearest(names(&[], &[]), name);
        assert_eq!(near("compres"), Some("compress"));
        assert_eq!(near("qit"), Some("quit"));
        assert_eq!(near("memroy"), Some("memory"));
        assert_eq!(near("xyzzy"), None);
        let tides = SkillCommand { name: "tides".into(), skill: "tides".into(), does: String::new() };
        assert_eq!(nearest(names(&[], &[tides]), "tidse"), Some("tides"));
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = ALL.iter().flat_map(|s| [&[s.name], s.aliases].concat()).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
