//! Files that grant rights: whoever changes one of them decides what later sessions may do, read or run.

use std::fmt;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::paths::canonical;

/// A file that grants rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectedFile {
    /// The path, from the folder of the workspace that it is in.
    pub path: PathBuf,
    /// The kind of file.
    pub kind: ProtectedKind,
}

impl fmt::Display for ProtectedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.path.display(), self.kind)
    }
}

/// The kind of a file that grants rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProtectedKind {
    /// Settings: hooks, servers, endpoints, tools that run without asking.
    Settings,
    /// A policy.
    Policy,
    /// A hook, or a script that hooks run.
    Hook,
    /// The definition of a sub-agent.
    Agent,
    /// A skill.
    Skill,
    /// A custom command.
    Command,
    /// A list of MCP servers.
    McpServers,
    /// A part of an extension.
    Extension,
    /// A text in place of the system prompt.
    SystemPrompt,
    /// A memory file.
    Memory,
    /// A file that says what tools do not see.
    IgnoreFile,
    /// A part of a git repository's own data.
    Git,
    /// A file of the home that Longhaul and Gemini CLI share, or another one of a workspace's `.gemini`.
    Home,
}

impl ProtectedKind {
    /// The kind in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Policy => "policy",
            Self::Hook => "hook",
            Self::Agent => "sub-agent",
            Self::Skill => "skill",
            Self::Command => "custom command",
            Self::McpServers => "MCP servers",
            Self::Extension => "extension",
            Self::SystemPrompt => "system prompt",
            Self::Memory => "memory",
            Self::IgnoreFile => "ignore file",
            Self::Git => "git's own data",
            Self::Home => "configuration",
        }
    }
}

impl fmt::Display for ProtectedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.describe())
    }
}

/// The files that grant rights in a workspace. The usual ones are known by their names alone; the rest is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProtectedFiles {
    /// The folders of the workspace, without links; relative paths begin in the first.
    roots: Vec<PathBuf>,
    /// Homes, without links: everything in them is protected.
    homes: Vec<PathBuf>,
    /// More names of memory files, in small letters.
    memory: Vec<String>,
    /// More files, or folders with all that is in them, without links.
    more: Vec<(PathBuf, ProtectedKind)>,
}

/// The folders in which links are looked for go no deeper than this.
const DEEPEST: usize = 3;

/// More entries of such folders are not looked at.
const MOST_ENTRIES: usize = 2_000;

impl ProtectedFiles {
    /// The files of a workspace with these folders, the first of which is where relative paths begin.
    pub fn of(roots: &[PathBuf]) -> Self {
        let roots: Vec<PathBuf> = roots.iter().map(|root| canonical(root)).collect();
        let mut found = Self { roots, ..Self::default() };
        // A link from a protected place makes whatever it leads to a protected file.
        for root in found.roots.clone() {
            for name in [
                ".gemini",
                ".agents",
                ".claude",
                ".git",
                ".mcp.json",
                "GEMINI.md",
                ".geminiignore",
                ".gitignore",
            ] {
                found.follow(&root.join(name), DEEPEST, &mut MOST_ENTRIES.clone());
            }
        }
        found
    }

    /// The same with a home, in which everything is protected.
    #[must_use]
    pub fn with_home(mut self, home: &Path) -> Self {
        self.homes.push(canonical(home));
        self
    }

    /// The same with other names of memory files.
    #[must_use]
    pub fn with_memory<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        for name in names {
            for root in self.roots.clone() {
                self.follow(&root.join(name), 1, &mut MOST_ENTRIES.clone());
            }
            self.memory.push(name.to_lowercase());
        }
        self
    }

    /// The same with this file, or this folder with all that is in it.
    #[must_use]
    pub fn with(mut self, path: &Path, kind: ProtectedKind) -> Self {
        let path = self.absolute(path);
        self.more.push((canonical(&path), kind));
        self
    }

    /// The protected file that a path names, by its words or by where its links lead.
    pub fn find(&self, path: &Path) -> Option<ProtectedFile> {
        let whole = self.absolute(path);
        let kind = self.classify(&whole).or_else(|| self.classify(&canonical(&whole)))?;
        let inside = self.roots.iter().find_map(|root| path.strip_prefix(root).ok());
        Some(ProtectedFile { path: inside.unwrap_or(path).to_path_buf(), kind })
    }

    /// The kind of a place, if it is protected. Letters count the same, large or small: on some file systems they are.
    pub fn classify(&self, place: &Path) -> Option<ProtectedKind> {
        let place = by_words(place);
        if self.homes.iter().any(|home| is_within(&place, home)) {
            return Some(ProtectedKind::Home);
        }
        if let Some((_, kind)) = self.more.iter().find(|(path, _)| is_within(&place, path)) {
            return Some(*kind);
        }
        // Of a workspace that is itself below a folder of such a name, only what is inside counts.
        let root = self
            .roots
            .iter()
            .filter(|root| is_within(&place, root))
            .max_by_key(|root| root.components().count());
        let skipped = root.map_or(0, |root| root.components().count());
        let names: Vec<String> = place
            .components()
            .skip(skipped)
            .filter_map(|component| match component {
                Component::Normal(name) => Some(name.to_string_lossy().to_lowercase()),
                _ => None,
            })
            .collect();
        let names: Vec<&str> = names.iter().map(|name| plain_name(name)).collect();
        self.kind_by_names(&names)
    }

    fn kind_by_names(&self, names: &[&str]) -> Option<ProtectedKind> {
        for (index, name) in names.iter().enumerate() {
            let rest = &names[index + 1..];
            match *name {
                ".git" => return Some(ProtectedKind::Git),
                ".gemini" => return Some(kind_in_folder(rest, self)),
                ".claude" if matches!(rest, ["rules", ..]) => return Some(ProtectedKind::Memory),
                ".agents" | ".claude" if matches!(rest, [] | ["skills", ..]) => {
                    return Some(ProtectedKind::Skill);
                }
                _ => {}
            }
        }
        let last = *names.last()?;
        match last {
            ".mcp.json" => Some(ProtectedKind::McpServers),
            ".gitignore" | ".geminiignore" => Some(ProtectedKind::IgnoreFile),
            "gemini.md" => Some(ProtectedKind::Memory),
            _ if self.memory.iter().any(|name| name == last) => Some(ProtectedKind::Memory),
            _ => None,
        }
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        self.roots.first().map_or_else(|| path.to_path_buf(), |root| root.join(path))
    }

    /// Notes where the links in a protected place lead to.
    fn follow(&mut self, path: &Path, depth: usize, left: &mut usize) {
        let Ok(found) = path.symlink_metadata() else { return };
        let Some(rest) = left.checked_sub(1) else { return };
        *left = rest;
        if found.is_symlink() {
            let kind = self.classify(path).unwrap_or(ProtectedKind::Home);
            let target = canonical(path);
            // A link to the workspace itself would protect all of it.
            if !self.roots.iter().any(|root| root.starts_with(&target)) {
                self.more.push((target, kind));
            }
        } else if found.is_dir() && depth > 0 && path.file_name().is_none_or(|name| name != ".git") {
            for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                self.follow(&entry.path(), depth - 1, left);
            }
        }
    }
}

/// The kind of a file in a folder `.gemini`.
fn kind_in_folder(rest: &[&str], files: &ProtectedFiles) -> ProtectedKind {
    match rest {
        ["policies", ..] => ProtectedKind::Policy,
        ["hooks", ..] => ProtectedKind::Hook,
        ["agents", ..] => ProtectedKind::Agent,
        ["skills", ..] => ProtectedKind::Skill,
        ["commands", ..] => ProtectedKind::Command,
        ["extensions", ..] => ProtectedKind::Extension,
        ["system.md"] => ProtectedKind::SystemPrompt,
        ["settings.json"] => ProtectedKind::Settings,
        [name] if *name == "gemini.md" || files.memory.iter().any(|known| known == name) => {
            ProtectedKind::Memory
        }
        _ => ProtectedKind::Home,
    }
}

/// A name without what some file systems leave out at its end, or put behind it for a stream.
fn plain_name(name: &str) -> &str {
    let name = name.split_once(':').map_or(name, |(name, _)| name);
    match name.trim_end_matches(['.', ' ']) {
        "" => name,
        plain => plain,
    }
}

/// The path without `.` and `..`, by its words alone.
fn by_words(path: &Path) -> PathBuf {
    let mut words = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                words.pop();
            }
            other => words.push(other),
        }
    }
    words
}

/// True if a place is a folder or in it, whatever the size of letters.
fn is_within(place: &Path, folder: &Path) -> bool {
    let mut place = place.components();
    folder.components().all(|step| {
        place.next().is_some_and(|own| {
            own == step
                || own.as_os_str().to_string_lossy().to_lowercase()
                    == step.as_os_str().to_string_lossy().to_lowercase()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ProtectedKind::*;

    #[track_caller]
    fn check(path: &str, expected: Option<ProtectedKind>) {
        let files = ProtectedFiles::of(&["/no/work".into(), "/no/.gemini/tree".into()])
            .with_home(Path::new("/no/home"))
            .with_memory(["AGENTS.md"])
            .with(Path::new("tools/lint.sh"), Hook)
            .with(Path::new(".hidden"), IgnoreFile);
        assert_eq!(files.find(Path::new(path)).map(|found| found.kind), expected, "{path}");
    }

    #[test]
    fn files_that_grant_rights_are_known_by_their_places() {
        for (path, kind) in [
            (".gemini/settings.json", Settings),
            ("/no/work/.gemini/settings.json", Settings),
            ("deep/er/.gemini/settings.json", Settings),
            (".gemini/policies/mine.toml", Policy),
            (".gemini/hooks/a.sh", Hook),
            (".gemini/agents/a.md", Agent),
            (".gemini/skills/a/run.sh", Skill),
            (".agents/skills/a/SKILL.md", Skill),
            (".claude/skills/a/SKILL.md", Skill),
            (".Claude/Skills", Skill),
            (".claude", Skill),
            ("/elsewhere/.claude/skills/a/SKILL.md", Skill),
            (".gemini/commands/a.toml", Command),
            (".gemini/extensions/x/gemini-extension.json", Extension),
            (".gemini/system.md", SystemPrompt),
            (".gemini/GEMINI.md", Memory),
            (".gemini/anything", Home),
            (".gemini", Home),
            (".mcp.json", McpServers),
            ("GEMINI.md", Memory),
            ("src/GEMINI.md", Memory),
            ("docs/AGENTS.md", Memory),
            (".claude/rules/style.md", Memory),
            ("web/.claude/rules", Memory),
            (".gitignore", IgnoreFile),
            ("src/.geminiignore", IgnoreFile),
            (".hidden", IgnoreFile),
            (".git", Git),
            (".git/hooks/pre-commit", Git),
            ("vendor/lib/.git/config", Git),
            ("tools/lint.sh", Hook),
            ("/no/home/settings.json", Home),
            ("/no/home", Home),
        ] {
            check(path, Some(kind));
        }
    }

    #[test]
    fn other_spellings_of_a_path_change_nothing() {
        for path in [
            ".GEMINI/Settings.JSON",
            "./.gemini/./settings.json",
            "src/../.gemini/settings.json",
            "src/../../work/.gemini/settings.json",
            ".gemini//settings.json",
            ".gemini./settings.json ",
            ".gemini/settings.json::$DATA",
            "/NO/WORK/.gemini/settings.json",
        ] {
            check(path, Some(Settings));
        }
        check("Gemini.md", Some(Memory));
        check(".Git/config", Some(Git));
    }

    #[test]
    fn everything_else_is_free() {
        for path in [
            "src/main.rs",
            "settings.json",
            "gemini/settings.json",
            "docs/policies/a.toml",
            ".github/workflows/ci.yml",
            "a.git/config",
            ".gitattributes",
            "notes/GEMINI.md.txt",
            ".agents/notes.md",
            ".claude/notes.md",
            "agents/a.md",
            "tools/lint.sh.bak",
            // The workspace is itself below a folder of that name.
            "/no/.gemini/tree/src/a.rs",
            "",
        ] {
            check(path, None);
        }
        check("/no/.gemini/tree/.git/config", Some(Git));
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_to_protected_files_and_from_them() {
        use std::os::unix::fs::symlink;
        let root = tempfile::tempdir().expect("a folder");
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("work/.gemini/skills")).expect("made");
        fs::create_dir_all(at("work/shared/skill")).expect("made");
        fs::write(at("work/.gemini/settings.json"), "{}").expect("written");
        fs::write(at("work/rules.md"), "x").expect("written");
        symlink(".gemini", at("work/alias")).expect("linked");
        symlink("../../shared/skill", at("work/.gemini/skills/mine")).expect("linked");
        symlink("rules.md", at("work/GEMINI.md")).expect("linked");
        symlink("..", at("work/.gemini/loop")).expect("linked");
        let files = ProtectedFiles::of(&[at("work")]);
        let kind = |path: &str| files.find(Path::new(path)).map(|found| found.kind);
        assert_eq!(kind("alias/settings.json"), Some(Settings));
        assert_eq!(kind("alias/new.json"), Some(Home));
        assert_eq!(kind("shared/skill/SKILL.md"), Some(Skill));
        assert_eq!(kind("rules.md"), Some(Memory));
        assert_eq!(kind("shared/other.md"), None);
    }
}
