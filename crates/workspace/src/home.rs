//! The layout on disk: the home of a user, a project's part of it, and a workspace's own folder.

use std::path::{Path, PathBuf};

use crate::paths::{canonical, is_same_folder};
use crate::{ProjectId, SafeName, WorkspaceError};

/// The folder that both a user's and a workspace's files are in.
const FOLDER: &str = ".gemini";

/// Environment variables about files and trust. This crate reads no environment: the program fills it in.
///
/// Empty values count as not set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `LONGHAUL_HOME`: the home itself.
    pub longhaul_home: Option<PathBuf>,
    /// `GEMINI_CLI_HOME`: the folder that holds the home `.gemini`.
    pub gemini_cli_home: Option<PathBuf>,
    /// The user's own folder, on Unix `HOME`.
    pub user_home: Option<PathBuf>,
    /// `GEMINI_CLI_TRUSTED_FOLDERS_PATH`: the file of trust rules.
    pub trusted_folders_path: Option<PathBuf>,
    /// `GEMINI_CLI_SYSTEM_SETTINGS_PATH`: the administrator's settings, which win over all others.
    pub system_settings_path: Option<PathBuf>,
    /// `GEMINI_CLI_SYSTEM_DEFAULTS_PATH`: the administrator's defaults, over which all others win.
    pub system_defaults_path: Option<PathBuf>,
    /// `GEMINI_CLI_TRUST_WORKSPACE`: `true` or `false` overrides every rule; see [`crate::TrustQuery`].
    pub trust_workspace: Option<String>,
}

impl Environment {
    /// The administrator's settings, which win over all others.
    pub fn system_settings(&self) -> PathBuf {
        set(&self.system_settings_path)
            .map_or_else(|| system_folder().join("settings.json"), Path::to_path_buf)
    }

    /// The administrator's defaults, over which all other settings win: beside the administrator's settings, unless they are
    /// named.
    pub fn system_defaults(&self) -> PathBuf {
        set(&self.system_defaults_path)
            .map_or_else(|| self.system_settings().with_file_name("system-defaults.json"), Path::to_path_buf)
    }
}

/// The home of a user, with the place of everything in it. Nothing is read or made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
    named_by: &'static str,
    user_home: Option<PathBuf>,
    trusted_folders: PathBuf,
}

const LONGHAUL_HOME: &str = "LONGHAUL_HOME";
const GEMINI_CLI_HOME: &str = "GEMINI_CLI_HOME";
const USER_HOME: &str = "the home folder";

impl Home {
    /// The home that the environment names: `LONGHAUL_HOME`, else `.gemini` in `GEMINI_CLI_HOME`, else in the user's
    /// folder.
    ///
    /// There is no fallback to a folder for temporary files: others could put rules there before us.
    ///
    /// # Errors
    /// [`WorkspaceError::NoHome`] if none is named, [`WorkspaceError::NotAbsolute`] if the one that counts depends on
    /// the current folder: a home must not change with it.
    pub fn resolve(environment: &Environment) -> Result<Self, WorkspaceError> {
        let Environment { longhaul_home, gemini_cli_home, user_home, trusted_folders_path, .. } = environment;
        let (named_by, root) = match (set(longhaul_home), set(gemini_cli_home), set(user_home)) {
            (Some(root), _, _) => (LONGHAUL_HOME, absolute(LONGHAUL_HOME, root)?),
            (None, Some(folder), _) => (GEMINI_CLI_HOME, absolute(GEMINI_CLI_HOME, folder)?.join(FOLDER)),
            (None, None, Some(folder)) => (USER_HOME, absolute(USER_HOME, folder)?.join(FOLDER)),
            (None, None, None) => return Err(WorkspaceError::NoHome),
        };
        let trusted_folders = match set(trusted_folders_path) {
            Some(path) => absolute("GEMINI_CLI_TRUSTED_FOLDERS_PATH", path)?,
            None => root.join("trustedFolders.json"),
        };
        Ok(Self { root, named_by, user_home: set(user_home).map(Path::to_path_buf), trusted_folders })
    }

    /// The origin of the home's path: a variable, or `the user's folder`.
    pub fn named_by(&self) -> &'static str {
        self.named_by
    }

    /// The home itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The global memory of this name, usually `GEMINI.md`.
    pub fn global_memory(&self, name: &SafeName) -> PathBuf {
        self.root.join(name)
    }

    /// The user's settings.
    pub fn settings(&self) -> PathBuf {
        self.root.join("settings.json")
    }

    /// The rules of trust, see [`crate::TrustedFolders`].
    pub fn trusted_folders(&self) -> &Path {
        &self.trusted_folders
    }

    /// The contents of trusted folders when they were trusted, see [`crate::TrustedContents`].
    pub fn trusted_contents(&self) -> PathBuf {
        self.root.join("longhaul").join("trusted_contents.json")
    }

    /// The index of sessions found in the places of other agents; it can be deleted at any time.
    pub fn found_sessions(&self) -> PathBuf {
        self.root.join("longhaul").join("found_sessions.json")
    }

    /// The tokens of MCP servers that somebody signed in at; Gemini CLI has them there, too.
    pub fn mcp_tokens(&self) -> PathBuf {
        self.root.join("mcp-oauth-tokens.json")
    }

    /// Rules of the user that were kept beside sessions of other agents.
    pub fn kept_rules(&self) -> PathBuf {
        self.root.join("longhaul").join("kept_rules.json")
    }

    /// Which hooks of projects the user has been told of.
    pub fn trusted_hooks(&self) -> PathBuf {
        self.root.join("trusted_hooks.json")
    }

    /// The registry of projects, see [`crate::Projects`].
    pub fn projects(&self) -> PathBuf {
        self.root.join("projects.json")
    }

    /// The folder of the user's policies.
    pub fn policies(&self) -> PathBuf {
        self.root.join("policies")
    }

    /// The policy that holds what the user always allows, in every project.
    pub fn saved_policy(&self) -> PathBuf {
        self.policies().join("auto-saved.toml")
    }

    /// The user's skills.
    pub fn skills(&self) -> PathBuf {
        self.root.join("skills")
    }

    /// The folders of the user's skills that other programs share: `~/.claude/skills` and `~/.agents/skills`. Skills of the
    /// latter take precedence.
    pub fn shared_skills(&self) -> Vec<PathBuf> {
        self.user_home.as_deref().map(shared_skills_in).unwrap_or_default()
    }

    /// The user's agents.
    pub fn agents(&self) -> PathBuf {
        self.root.join("agents")
    }

    /// The user's commands.
    pub fn commands(&self) -> PathBuf {
        self.root.join("commands")
    }

    /// The installed extensions.
    pub fn extensions(&self) -> PathBuf {
        self.root.join("extensions")
    }

    /// The folder of what the guard of other agents remembers.
    pub fn guard(&self) -> PathBuf {
        self.root.join("longhaul").join("guard")
    }

    /// The folder of the gateway's database.
    pub fn gateway(&self) -> PathBuf {
        self.root.join("longhaul").join("gateway")
    }

    /// The folder that has one folder of sessions, logs and memory for each project.
    pub fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// The folder that has one folder of checkpoints for each project.
    pub fn history(&self) -> PathBuf {
        self.root.join("history")
    }

    /// The part of one project.
    pub fn project(&self, id: &ProjectId) -> ProjectHome {
        ProjectHome { root: self.tmp().join(id.as_str()), history: self.history().join(id.as_str()) }
    }

    /// True if this workspace's own folder is the home, by whatever links: then its files count once, as the user's.
    pub fn is_folder_of(&self, workspace: &WorkspaceFolder) -> bool {
        is_same_folder(&self.root, &workspace.root)
    }
}

/// The folders below another that several programs read skills from.
fn shared_skills_in(folder: &Path) -> Vec<PathBuf> {
    [".claude", ".agents"].map(|program| folder.join(program).join("skills")).to_vec()
}

/// A project's part of the home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectHome {
    root: PathBuf,
    history: PathBuf,
}

impl ProjectHome {
    /// The folder of everything but the checkpoints' contents.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The repository of checkpoints.
    pub fn history(&self) -> &Path {
        &self.history
    }

    /// The folder of sessions.
    pub fn chats(&self) -> PathBuf {
        self.root.join("chats")
    }

    /// The folder of logs.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// The log of a session.
    pub fn log(&self, session: &SafeName) -> PathBuf {
        self.logs().join(format!("session-{session}.jsonl"))
    }

    /// The folder of tool outputs that were shortened.
    pub fn tool_outputs(&self) -> PathBuf {
        self.root.join("tool-outputs")
    }

    /// The record of folders that tools wrote into.
    pub fn written_folders(&self) -> PathBuf {
        self.root.join("longhaul-written-folders.txt")
    }

    /// The plans of a session, or those that belong to none.
    pub fn plans(&self, session: Option<&SafeName>) -> PathBuf {
        session.map_or(self.root.clone(), |session| self.root.join(session)).join("plans")
    }

    /// The checkpoints of the files that a session's tools change.
    pub fn checkpoints(&self, session: &SafeName) -> PathBuf {
        self.root.join(session).join("files")
    }

    /// The task tracker of a session.
    pub fn tracker(&self, session: &SafeName) -> PathBuf {
        self.root.join(session).join("tracker")
    }

    /// The tasks of a session.
    pub fn tasks(&self, session: &SafeName) -> PathBuf {
        self.root.join(session).join("tasks")
    }

    /// The policy that holds what the user always allows in this project.
    pub fn saved_policy(&self) -> PathBuf {
        self.root.join("auto-saved.toml")
    }

    /// The folder of private memory.
    pub fn memory(&self) -> PathBuf {
        self.root.join("memory")
    }

    /// The private memory itself, which lists the notes beside it.
    pub fn private_memory(&self) -> PathBuf {
        self.memory().join("MEMORY.md")
    }

    /// The file that Gemini CLI holds while it extracts skills.
    pub fn extraction_lock(&self) -> PathBuf {
        self.memory().join(".extraction.lock")
    }

    /// Which sessions skills were extracted from.
    pub fn extraction_state(&self) -> PathBuf {
        self.memory().join(".extraction-state.json")
    }

    /// The skills that wait for the user's review, and patches of skills.
    pub fn extracted_skills(&self) -> PathBuf {
        self.memory().join("skills")
    }
}

/// The folder `.gemini` of a workspace, and what belongs to it. Only a trusted workspace's files count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceFolder {
    workspace: PathBuf,
    root: PathBuf,
}

impl WorkspaceFolder {
    /// The folder of this workspace. It need not exist.
    pub fn of(workspace: &Path) -> Self {
        Self { workspace: workspace.to_path_buf(), root: workspace.join(FOLDER) }
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The workspace's settings.
    pub fn settings(&self) -> PathBuf {
        self.root.join("settings.json")
    }

    /// The workspace's policies.
    pub fn policies(&self) -> PathBuf {
        self.root.join("policies")
    }

    /// The workspace's skills.
    pub fn skills(&self) -> PathBuf {
        self.root.join("skills")
    }

    /// The folders of the workspace's skills that other programs share. Skills of the last take precedence.
    pub fn shared_skills(&self) -> Vec<PathBuf> {
        shared_skills_in(&self.workspace)
    }

    /// The workspace's agents.
    pub fn agents(&self) -> PathBuf {
        self.root.join("agents")
    }

    /// The workspace's commands.
    pub fn commands(&self) -> PathBuf {
        self.root.join("commands")
    }

    /// The workspace's extensions.
    pub fn extensions(&self) -> PathBuf {
        self.root.join("extensions")
    }

    /// The text that replaces the system prompt.
    pub fn system_prompt(&self) -> PathBuf {
        self.root.join("system.md")
    }
}

/// The folder of settings and policies that whoever administers this machine has made.
pub fn system_folder() -> &'static Path {
    Path::new(if cfg!(target_os = "macos") {
        "/Library/Application Support/GeminiCli"
    } else if cfg!(windows) {
        "C:\\ProgramData\\gemini-cli"
    } else {
        "/etc/gemini-cli"
    })
}

fn set(path: &Option<PathBuf>) -> Option<&Path> {
    path.as_deref().filter(|path| !path.as_os_str().is_empty())
}

fn absolute(what: &'static str, path: &Path) -> Result<PathBuf, WorkspaceError> {
    if path.is_absolute() {
        Ok(path.to_path_buf())
    } else {
        Err(WorkspaceError::NotAbsolute { what, path: path.to_path_buf() })
    }
}

/// The path of a workspace as ids and rules know it: links followed as far as they lead anywhere, `.` and `..` resolved.
///
/// # Errors
/// [`WorkspaceError::NotAbsolute`].
pub fn canonical_workspace(path: &Path) -> Result<PathBuf, WorkspaceError> {
    Ok(canonical(&absolute("the workspace", path)?))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn environment(longhaul: &str, gemini: &str, user: &str) -> Environment {
        let set = |value: &str| Some(PathBuf::from(value));
        Environment {
            longhaul_home: set(longhaul),
            gemini_cli_home: set(gemini),
            user_home: set(user),
            ..Environment::default()
        }
    }

    #[track_caller]
    fn check_root(longhaul: &str, gemini: &str, user: &str, expected: &str) {
        let home = Home::resolve(&environment(longhaul, gemini, user));
        let root = home.map_or_else(|error| error.to_string(), |home| home.root().display().to_string());
        assert_eq!(root, expected);
    }

    #[test]
    fn the_first_that_is_named_is_the_home() {
        check_root("/l", "/g", "/u", "/l");
        check_root("", "/g", "/u", "/g/.gemini");
        check_root("", "", "/u", "/u/.gemini");
        check_root("", "", "", "could not find a home folder");
        assert!(Home::resolve(&Environment::default()).is_err());
        let named_by = |longhaul, gemini| {
            Home::resolve(&environment(longhaul, gemini, "/u")).map(|home| home.named_by()).ok()
        };
        assert_eq!(named_by("/l", "/g"), Some("LONGHAUL_HOME"));
        assert_eq!(named_by("", "/g"), Some("GEMINI_CLI_HOME"));
        assert_eq!(named_by("", ""), Some("the home folder"));
    }

    #[test]
    fn a_home_must_not_move_with_the_current_folder() {
        check_root("l", "/g", "/u", "LONGHAUL_HOME is not an absolute path: l");
        check_root("", "~/g", "/u", "GEMINI_CLI_HOME is not an absolute path: ~/g");
        check_root("", "", ".", "the home folder is not an absolute path: .");
        // What does not count may be wrong.
        check_root("/l", "g", "u", "/l");
    }

    #[test]
    fn everything_has_its_place() {
        let home = Home::resolve(&environment("/h", "", "/u")).expect("a home");
        let name = |name| SafeName::parse(name).expect("safe");
        let project = home.project(&ProjectId::parse("app-1").expect("an id"));
        let session = &name("s1");
        let workspace = WorkspaceFolder::of(Path::new("/w"));
        let places = [
            (home.global_memory(&name("GEMINI.md")), "/h/GEMINI.md"),
            (home.settings(), "/h/settings.json"),
            (home.trusted_folders().into(), "/h/trustedFolders.json"),
            (home.trusted_hooks(), "/h/trusted_hooks.json"),
            (home.projects(), "/h/projects.json"),
            (home.saved_policy(), "/h/policies/auto-saved.toml"),
            (home.skills(), "/h/skills"),
            (home.agents(), "/h/agents"),
            (home.commands(), "/h/commands"),
            (home.extensions(), "/h/extensions"),
            (home.shared_skills()[0].clone(), "/u/.claude/skills"),
            (home.shared_skills()[1].clone(), "/u/.agents/skills"),
            (project.root().into(), "/h/tmp/app-1"),
            (project.history().into(), "/h/history/app-1"),
            (project.log(session), "/h/tmp/app-1/logs/session-s1.jsonl"),
            (project.plans(None), "/h/tmp/app-1/plans"),
            (project.plans(Some(session)), "/h/tmp/app-1/s1/plans"),
            (project.tracker(session), "/h/tmp/app-1/s1/tracker"),
            (project.tasks(session), "/h/tmp/app-1/s1/tasks"),
            (project.saved_policy(), "/h/tmp/app-1/auto-saved.toml"),
            (project.private_memory(), "/h/tmp/app-1/memory/MEMORY.md"),
            (project.extraction_lock(), "/h/tmp/app-1/memory/.extraction.lock"),
            (project.extraction_state(), "/h/tmp/app-1/memory/.extraction-state.json"),
            (project.extracted_skills(), "/h/tmp/app-1/memory/skills"),
            (workspace.settings(), "/w/.gemini/settings.json"),
            (workspace.policies(), "/w/.gemini/policies"),
            (workspace.skills(), "/w/.gemini/skills"),
            (workspace.agents(), "/w/.gemini/agents"),
            (workspace.commands(), "/w/.gemini/commands"),
            (workspace.extensions(), "/w/.gemini/extensions"),
            (workspace.system_prompt(), "/w/.gemini/system.md"),
            (workspace.shared_skills()[0].clone(), "/w/.claude/skills"),
            (workspace.shared_skills()[1].clone(), "/w/.agents/skills"),
        ];
        for (place, expected) in places {
            assert_eq!(place, Path::new(expected));
        }
        assert!(system_folder().is_absolute());
    }

    #[test]
    fn the_trust_file_may_be_elsewhere() {
        let elsewhere = |path: &str| {
            let environment =
                Environment { trusted_folders_path: Some(path.into()), ..environment("/h", "", "") };
            Home::resolve(&environment).map(|home| home.trusted_folders().to_path_buf())
        };
        assert_eq!(elsewhere("/etc/trust.json").ok(), Some("/etc/trust.json".into()));
        assert_eq!(elsewhere("").ok(), Some("/h/trustedFolders.json".into()));
        assert!(elsewhere("trust.json").is_err());
    }

    #[test]
    fn the_users_folder_as_a_workspace_is_recognised() {
        let root = tempfile::tempdir().expect("a folder");
        let user = root.path().join("user");
        std::fs::create_dir_all(user.join(".gemini")).expect("made");
        std::os::unix::fs::symlink(&user, root.path().join("link")).expect("linked");
        let home = Home::resolve(&Environment { user_home: Some(user.clone()), ..Environment::default() });
        let home = home.expect("a home");
        assert!(home.is_folder_of(&WorkspaceFolder::of(&user)));
        assert!(home.is_folder_of(&WorkspaceFolder::of(&root.path().join("link"))));
        assert!(!home.is_folder_of(&WorkspaceFolder::of(root.path())));
    }
}
