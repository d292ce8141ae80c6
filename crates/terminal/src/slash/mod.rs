//! The commands that begin with a slash: their names, what they take, and what is meant by one.

mod parse;

pub(crate) use parse::{Meant, parse};

/// A command that begins with a slash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slash {
    /// Its name.
    pub(crate) name: &'static str,
    /// Other names.
    pub(crate) aliases: &'static [&'static str],
    /// What may stand behind it.
    pub(crate) takes: &'static str,
    /// What it does.
    pub(crate) does: &'static str,
    /// Words that may stand first behind it.
    pub(crate) words: &'static [&'static str],
}

const fn slash(name: &'static str, takes: &'static str, does: &'static str) -> Slash {
    Slash { name, aliases: &[], takes, does, words: &[] }
}

/// Every command, in the order they are shown.
pub(crate) const ALL: &[Slash] = &[
    slash("help", "", "lists commands and keys"),
    Slash {
        aliases: &["compact", "summarize"],
        words: &["undo", "preview"],
        ..slash("compress", "[undo | preview | focus]", "makes the conversation smaller, or takes that back")
    },
    slash("context", "", "shows what fills the window, and what a compaction would do"),
    Slash {
        words: &["add", "remove"],
        ..slash("pins", "[add TEXT | remove ID]", "lists the rules that always stay, adds and removes them")
    },
    Slash {
        words: &["show", "list", "reload", "add"],
        ..slash("memory", "[show | list | reload | add TEXT]", "shows what memory files say, or changes it")
    },
    slash("resume", "[session]", "goes on with an earlier session"),
    slash("rewind", "", "goes back to an earlier message and takes back what followed"),
    slash("clear", "", "starts over with an empty conversation; the log keeps everything"),
    slash("model", "[name]", "shows the model, or talks to another one"),
    Slash {
        words: &["default", "auto-edit", "yolo", "plan"],
        ..slash("mode", "[default | auto-edit | yolo | plan]", "says how much you want to be asked")
    },
    slash("stats", "", "shows tokens, cost, time and tools so far"),
    slash("tools", "", "lists what the model may call"),
    slash("policy", "", "shows which calls run, are asked for, or are refused"),
    slash("hooks", "", "lists your own commands that take part"),
    slash("trust", "", "says whether this folder is trusted"),
    slash("init", "", "drafts a GEMINI.md from this folder"),
    slash("export", "[file]", "writes the conversation to a file"),
    slash("copy", "", "copies the last answer to the clipboard"),
    slash("editor", "", "opens what you type in your editor"),
    slash("thoughts", "", "shows or hides what the model thinks"),
    Slash { aliases: &["exit"], ..slash("quit", "", "ends the program") },
];

impl Slash {
    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// The command with this name.
pub(crate) fn find(name: &str) -> Option<&'static Slash> {
    ALL.iter().find(|slash| slash.is_called(name))
}

/// The command whose name is nearest, if one is near at all.
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    let names = ALL.iter().flat_map(|slash| std::iter::once(slash.name).chain(slash.aliases.iter().copied()));
    let near = names.map(|known| (strsim::jaro_winkler(known, name), known));
    near.filter(|(near, _)| *near > 0.7).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}

/// The commands, or words behind one, that go on with what is typed; each with what it does.
pub(crate) fn complete(typed: &str) -> Vec<(String, &'static str)> {
    let Some(typed) = typed.strip_prefix('/') else { return Vec::new() };
    match typed.split_once(' ') {
        None => {
            let fits = |slash: &&Slash| {
                slash.name.starts_with(typed) || slash.aliases.iter().any(|alias| alias.starts_with(typed))
            };
            ALL.iter().filter(fits).map(|slash| (format!("/{}", slash.name), slash.does)).collect()
        }
        Some((name, rest)) if !rest.contains(' ') => {
            let words = find(name).map_or(&[] as &[&str], |slash| slash.words);
            let fitting = words.iter().filter(|word| word.starts_with(rest) && **word != rest);
            fitting.map(|word| (format!("/{name} {word}"), "")).collect()
        }
        Some(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(typed: &str, expected: &[&str]) {
        let found: Vec<String> = complete(typed).into_iter().map(|(text, _)| text).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn names_are_completed() {
        check("/co", &["/compress", "/context", "/copy"]);
        check("/compact", &["/compress"]);
        check("/compress u", &["/compress undo"]);
        check("/compress undo", &[]);
        check("/memory re", &["/memory reload"]);
        check("/zz", &[]);
        check("no", &[]);
        assert_eq!(complete("/").len(), ALL.len());
    }

    #[test]
    fn the_nearest_name_is_found() {
        assert_eq!(nearest("compres"), Some("compress"));
        assert_eq!(nearest("qit"), Some("quit"));
        assert_eq!(nearest("memroy"), Some("memory"));
        assert_eq!(nearest("xyzzy"), None);
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
