//! Slash commands: names, arguments, completion and parsing.

mod complete;
mod parse;
mod skills;

pub(crate) use complete::{complete, needs_more};
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
    sub("show", "", "what the files say"),
    sub("list", "", "which files are in use"),
    sub("reload", "", "reads them again; also refresh"),
    sub("add", "TEXT", "remembers a fact"),
    sub("inbox", "", "changes that wait for you"),
    sub("inbox show", "KIND", "what waits for private or global memory"),
    sub("inbox accept", "KIND", "applies it"),
    sub("inbox edit", "KIND", "opens it in your editor, then applies it"),
    sub("inbox dismiss", "KIND", "removes it for good"),
    sub("inbox undo", "", "takes back what was accepted last"),
];

const SKILLS: &[Subcommand] = &[
    sub("list", "", "those that count here"),
    sub("list all", "", "also those that do not, and why"),
    sub("show", "NAME", "one, as the model reads it"),
    sub("enable", "NAME", "switches one on again"),
    sub("disable", "NAME", "switches one off"),
    sub("reload", "", "looks for skills again; also refresh"),
    sub("inbox", "", "skills and changes that wait for you"),
    sub("inbox show", "NAME", "one of them with its evidence"),
    sub("inbox accept", "NAME", "makes it yours; with project behind it, the project's"),
    sub("inbox edit", "NAME", "opens it in your editor, then makes it yours"),
    sub("inbox dismiss", "NAME", "removes it for good"),
    sub("inbox undo", "", "takes back what was accepted last"),
];

/// All slash commands, in display order.
pub(crate) const ALL: &[SlashCommand] = &[
    slash("help", "", "lists commands and keys"),
    SlashCommand {
        aliases: &["compact", "summarize"],
        subs: &[
            sub("undo", "", "takes the last one back"),
            sub("preview", "", "shows what it would do, and changes nothing"),
        ],
        ..slash("compress", "[undo | preview | focus]", "makes the conversation smaller, or takes that back")
    },
    slash("retry", "", "continues a turn that stopped, and records what could not be recorded"),
    slash("context", "", "shows what fills the window, and what a compaction would do"),
    SlashCommand {
        subs: &[
            sub("list", "", "every rule, also those taken back"),
            sub("add", "TEXT", "adds a rule"),
            sub("remove", "ID", "takes one back"),
        ],
        ..slash("rules", "[add TEXT | remove ID]", "lists the rules that always stay, adds and removes them")
    },
    SlashCommand {
        subs: MEMORY,
        ..slash(
            "memory",
            "[show | list | reload | add TEXT | inbox]",
            "shows what memory files say, or changes it",
        )
    },
    SlashCommand {
        subs: SKILLS,
        ..slash(
            "skills",
            "[list | show NAME | enable NAME | disable NAME | reload | inbox]",
            "lists the skills, switches them, and shows those that wait",
        )
    },
    slash("resume", "[session]", "goes on with an earlier session"),
    slash("rewind", "", "goes back to an earlier message and takes back what followed"),
    slash("clear", "", "starts over with an empty conversation; the log keeps everything"),
    slash("model", "[name]", "shows the model, or talks to another one"),
    SlashCommand {
        subs: &[
            sub("default", "", "reading is free, changing and running are asked for"),
            sub("auto-edit", "", "edits of files are free, too"),
            sub("yolo", "", "everything is free that no rule of yours forbids"),
            sub("plan", "", "only reading, for making a plan"),
        ],
        ..slash("mode", "[default | auto-edit | yolo | plan]", "says how much you want to be asked")
    },
    slash("stats", "", "shows tokens, cost, time and tools so far"),
    slash("tools", "", "lists what the model may call"),
    SlashCommand {
        subs: &[
            sub("list", "", "what you always allowed, and every rule"),
            sub("revoke", "NUMBER", "takes back something you always allowed; also its words"),
        ],
        ..slash("policy", "[list | revoke NUMBER]", "shows which calls run, are asked for, or are refused")
    },
    slash("hooks", "", "lists your own commands that take part"),
    slash("trust", "", "says whether this folder is trusted"),
    slash("init", "", "drafts a GEMINI.md from this folder"),
    slash("export", "[file]", "writes the conversation to a file"),
    slash("copy", "", "copies the last answer to the clipboard"),
    slash("editor", "", "opens what you type in your editor"),
    slash("thoughts", "", "shows or hides what the model thinks"),
    SlashCommand { aliases: &["exit"], ..slash("quit", "", "ends the program") },
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

/// The most similar known name, if one is similar at all.
fn nearest<'a>(known: impl IntoIterator<Item = &'a str>, name: &str) -> Option<&'a str> {
    let near = known.into_iter().map(|known| (strsim::jaro_winkler(known, name), known));
    near.filter(|(near, _)| *near > 0.7).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}

/// All command names, including those of skills.
fn names(skills: &[SkillCommand]) -> impl Iterator<Item = &str> {
    let own = ALL.iter().flat_map(|slash| std::iter::once(slash.name).chain(slash.aliases.iter().copied()));
    own.chain(skills.iter().map(|skill| skill.name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found() {
        let near = |name| nearest(names(&[]), name);
        assert_eq!(near("compres"), Some("compress"));
        assert_eq!(near("qit"), Some("quit"));
        assert_eq!(near("memroy"), Some("memory"));
        assert_eq!(near("xyzzy"), None);
        let tides = SkillCommand { name: "tides".into(), skill: "tides".into(), does: String::new() };
        assert_eq!(nearest(names(&[tides]), "tidse"), Some("tides"));
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
