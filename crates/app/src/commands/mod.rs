//! Custom commands: prompts in files of the user and, where its folder is trusted, of the project.
//!
//! `.gemini/commands/git/commit.toml` is `/git:commit`, and so is `.claude/commands/git/commit.md`. The project's own files go
//! before the user's, and `.gemini` before `.claude`.

mod file;
mod template;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use longhaul_agent::CommandPiece;
use longhaul_workspace::{Home, WorkspaceFolder};

use self::file::{parse_markdown, parse_toml};
use self::template::Template;
use crate::failure::hinted;

/// The largest file of a command.
const LARGEST: u64 = 256 << 10;
/// The most commands of one folder.
const MOST: usize = 1_000;
/// The deepest folder below one of commands.
const DEEPEST: usize = 5;

/// The custom commands of a folder.
#[derive(Clone, Debug, Default)]
pub struct CustomCommands {
    commands: BTreeMap<String, FoundCommand>,
}

/// A custom command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomCommand {
    /// The name, with a colon between folders.
    pub name: String,
    /// The description.
    pub description: String,
    /// The arguments, as the file describes them.
    pub argument_hint: String,
    /// The file.
    pub file: PathBuf,
    template: Template,
}

/// A file of a command: the command, or the reason why it is none.
#[derive(Clone, Debug)]
struct FoundCommand {
    file: PathBuf,
    command: Result<CustomCommand, String>,
}

/// The form of a command's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileForm {
    /// As Gemini CLI has them.
    Toml,
    /// As Claude Code has them.
    Markdown,
}

impl FileForm {
    fn extension(self) -> &'static str {
        match self {
            Self::Toml => "toml",
            Self::Markdown => "md",
        }
    }
}

impl CustomCommands {
    /// The commands of the user and of the project around `folder`; a project's only where its folder is trusted.
    pub fn load(home: &Home, user_home: Option<&Path>, folder: &Path, is_trusted: bool) -> Self {
        let mut found = Self::default();
        // The first file of a name counts.
        if is_trusted {
            let depth = folder.ancestors().position(|folder| folder.join(".git").exists()).unwrap_or(0);
            for folder in folder.ancestors().take(depth + 1) {
                if !home.is_folder_of(&WorkspaceFolder::of(folder)) {
                    found.add_project(folder);
                }
            }
        }
        found.add_folder(&home.commands(), FileForm::Toml);
        if let Some(user_home) = user_home {
            found.add_folder(&user_home.join(".claude").join("commands"), FileForm::Markdown);
        }
        found
    }

    /// Adds the commands of a project's folder.
    fn add_project(&mut self, folder: &Path) {
        self.add_folder(&WorkspaceFolder::of(folder).commands(), FileForm::Toml);
        self.add_folder(&folder.join(".claude").join("commands"), FileForm::Markdown);
    }

    fn add_folder(&mut self, folder: &Path, form: FileForm) {
        let mut files = Vec::new();
        collect(folder, form, 0, &mut files);
        for file in files {
            let Some(name) = name_of(folder, &file) else { continue };
            self.commands
                .entry(name.clone())
                .or_insert_with(|| FoundCommand { command: load(&name, &file, form), file });
        }
    }

    /// The commands that can be used, by name.
    pub fn iter(&self) -> impl Iterator<Item = &CustomCommand> {
        self.commands.values().filter_map(|found| found.command.as_ref().ok())
    }

    /// The names of files that are no commands, with the reasons.
    pub fn broken(&self) -> impl Iterator<Item = (&str, String)> {
        self.commands.iter().filter_map(|(name, found)| {
            let reason = found.command.as_ref().err()?;
            Some((name.as_str(), format!("{} is not a valid command: {reason}", found.file.display())))
        })
    }

    /// True if there is a file for a command of this name.
    pub fn has(&self, name: &str) -> bool {
        self.commands.contains_key(name)
    }

    /// The pieces of a command, with these arguments in their places.
    ///
    /// # Errors
    /// A name without a command, or a file that is none.
    pub fn fill(&self, name: &str, arguments: &str) -> anyhow::Result<Vec<CommandPiece>> {
        let found = self.commands.get(name).ok_or_else(|| anyhow!("unknown command: /{name}"))?;
        match &found.command {
            Ok(command) => Ok(command.template.fill(arguments)),
            Err(reason) => {
                let error = anyhow!("{} is not a valid command: {reason}", found.file.display());
                Err(hinted(error, "fix the file, then start again"))
            }
        }
    }
}

/// The files of commands below a folder, in the order of their names. Links are not followed.
fn collect(folder: &Path, form: FileForm, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if kind.is_dir() && depth < DEEPEST {
            collect(&path, form, depth + 1, files);
        } else if kind.is_file()
            && path.extension().is_some_and(|extension| extension == form.extension())
            && files.len() < MOST
        {
            files.push(path);
        }
    }
}

/// The name of a command by the place of its file.
fn name_of(folder: &Path, file: &Path) -> Option<String> {
    let inside = file.strip_prefix(folder).ok()?.with_extension("");
    let parts: Option<Vec<String>> = inside
        .components()
        .map(|part| Some(part.as_os_str().to_str()?.replace([':', ' ', '\t'], "-")))
        .collect();
    parts.map(|parts| parts.join(":")).filter(|name| !name.is_empty())
}

fn load(name: &str, file: &Path, form: FileForm) -> Result<CustomCommand, String> {
    let size = std::fs::metadata(file).map_err(|error| error.to_string())?.len();
    if size > LARGEST {
        return Err(format!("it is larger than {} KB", LARGEST >> 10));
    }
    let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_string())?;
    let parsed = match form {
        FileForm::Toml => parse_toml(&text)?,
        FileForm::Markdown => parse_markdown(&text)?,
    };
    let usual = || format!("Custom command of {}", file.display());
    Ok(CustomCommand {
        name: name.to_string(),
        description: parsed.description.unwrap_or_else(usual),
        argument_hint: parsed.argument_hint.unwrap_or_default(),
        file: file.to_path_buf(),
        template: parsed.template,
    })
}

#[cfg(test)]
mod tests {
    use longhaul_workspace::Environment;

    use super::*;
    use crate::failure::hint_for;

    struct Tree {
        root: tempfile::TempDir,
        home: Home,
    }

    impl Tree {
        fn new(files: &[(&str, &str)]) -> Self {
            let root = tempfile::tempdir().expect("a folder");
            for (name, text) in files {
                let path = root.path().join(name);
                std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("made");
                std::fs::write(path, text).expect("written");
            }
            let user_home = Some(root.path().join("me"));
            let home = Home::resolve(&Environment { user_home, ..Environment::default() }).expect("a home");
            Self { root, home }
        }

        fn load(&self, folder: &str, is_trusted: bool) -> CustomCommands {
            let user_home = self.root.path().join("me");
            let folder = self.root.path().join(folder);
            CustomCommands::load(&self.home, Some(&user_home), &folder, is_trusted)
        }
    }

    fn names(commands: &CustomCommands) -> Vec<&str> {
        commands.iter().map(|command| command.name.as_str()).collect()
    }

    #[test]
    fn folders_are_namespaces_and_projects_go_first() {
        let tree = Tree::new(&[
            ("me/.gemini/commands/git/commit.toml", "prompt = \"mine\"\n"),
            ("me/.gemini/commands/my review.toml", "prompt = \"x\"\ndescription = \"Review\"\n"),
            ("me/.claude/commands/git/commit.md", "not this"),
            ("me/.claude/commands/note.md", "Note $1"),
            ("app/.git/HEAD", ""),
            ("app/.gemini/commands/git/commit.toml", "prompt = \"theirs\"\n"),
            ("app/.claude/commands/ship.md", "---\ndescription: Ship it\nargument-hint: [tag]\n---\nShip."),
            ("app/src/x", ""),
        ]);
        let trusted = tree.load("app/src", true);
        assert_eq!(names(&trusted), ["git:commit", "my-review", "note", "ship"]);
        let text = |commands: &CustomCommands| commands.fill("git:commit", "").expect("a command");
        assert_eq!(text(&trusted), [CommandPiece::Text("theirs".into())]);
        let ship = trusted.iter().find(|command| command.name == "ship").expect("a command");
        assert_eq!((ship.description.as_str(), ship.argument_hint.as_str()), ("Ship it", "[tag]"));
        let untrusted = tree.load("app/src", false);
        assert_eq!(names(&untrusted), ["git:commit", "my-review", "note"]);
        assert_eq!(text(&untrusted), [CommandPiece::Text("mine".into())]);
    }

    #[test]
    fn files_that_are_no_commands_are_named() {
        let tree = Tree::new(&[
            ("me/.gemini/commands/broken.toml", "prompt = \n"),
            ("me/.gemini/commands/empty.toml", "description = \"x\"\n"),
        ]);
        let commands = tree.load("", false);
        assert_eq!(names(&commands), [""; 0]);
        let told: Vec<String> = commands.broken().map(|(_, reason)| reason).collect();
        let [broken, empty] = &told[..] else { panic!("{told:?}") };
        assert!(broken.contains("broken.toml is not a valid command: line 1: "), "{broken}");
        assert!(empty.ends_with("empty.toml is not a valid command: \"prompt\" is missing"), "{empty}");
        let error = commands.fill("broken", "").expect_err("no command");
        assert_eq!(hint_for(&error).as_deref(), Some("fix the file, then start again"));
        assert!(commands.has("broken") && !commands.has("other"));
        assert_eq!(commands.fill("other", "").expect_err("none").to_string(), "unknown command: /other");
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_nowhere() {
        let tree = Tree::new(&[
            ("me/.gemini/commands/a.toml", "prompt = \"x\"\n"),
            ("secret.toml", "prompt = \"s\""),
        ]);
        let link = tree.root.path().join("me/.gemini/commands/b.toml");
        std::os::unix::fs::symlink(tree.root.path().join("secret.toml"), link).expect("a link");
        assert_eq!(names(&tree.load("", false)), ["a"]);
    }
}
