//! Where the settings files are: what the environment says of the home, and where a workspace begins.

use std::path::{Path, PathBuf};

/// What the environment says about where Longhaul's files are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Environment {
    /// `LONGHAUL_HOME`: the home itself.
    pub(crate) longhaul_home: Option<PathBuf>,
    /// `GEMINI_CLI_HOME`: the folder that holds the home `.gemini`.
    pub(crate) gemini_cli_home: Option<PathBuf>,
    /// The user's own folder.
    pub(crate) user_home: Option<PathBuf>,
}

impl Environment {
    /// The environment of this process. Nothing else in the settings reads it.
    pub(crate) fn of_process() -> Self {
        let folder = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            longhaul_home: folder("LONGHAUL_HOME"),
            gemini_cli_home: folder("GEMINI_CLI_HOME"),
            user_home: std::env::home_dir().filter(|home| !home.as_os_str().is_empty()),
        }
    }

    /// The home: `LONGHAUL_HOME`, else `.gemini` in `GEMINI_CLI_HOME`, else in the user's folder.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        let beside = || self.gemini_cli_home.as_ref().or(self.user_home.as_ref());
        self.longhaul_home.clone().or_else(|| Some(beside()?.join(".gemini")))
    }
}

/// The settings files that count in this folder, the weakest first. They need not exist.
pub(super) fn settings_files(environment: &Environment, cwd: &Path) -> Vec<PathBuf> {
    let user = environment.home().map(|home| home.join("settings.json"));
    let workspace = workspace_file(cwd)
        .filter(|workspace| user.as_ref().is_none_or(|user| !is_same_file(user, workspace)));
    user.into_iter().chain(workspace).collect()
}

/// The first file from `cwd` up to the root of its repository; outside of repositories only that of `cwd` itself.
fn workspace_file(cwd: &Path) -> Option<PathBuf> {
    let depth = cwd.ancestors().position(|folder| folder.join(".git").exists()).unwrap_or(0);
    let files = cwd.ancestors().take(depth + 1).map(|folder| folder.join(".gemini").join("settings.json"));
    // A file that cannot be examined is taken: reading it will say why.
    files.into_iter().find(|file| file.try_exists().unwrap_or(true))
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn environment(longhaul: Option<&str>, gemini: Option<&str>, user: Option<&str>) -> Environment {
        Environment {
            longhaul_home: longhaul.map(PathBuf::from),
            gemini_cli_home: gemini.map(PathBuf::from),
            user_home: user.map(PathBuf::from),
        }
    }

    #[test]
    fn the_home_is_the_first_that_is_named() {
        let home = |longhaul, gemini, user| environment(longhaul, gemini, user).home();
        assert_eq!(home(Some("/l"), Some("/g"), Some("/u")), Some("/l".into()));
        assert_eq!(home(None, Some("/g"), Some("/u")), Some("/g/.gemini".into()));
        assert_eq!(home(None, None, Some("/u")), Some("/u/.gemini".into()));
        assert_eq!(home(None, None, None), None);
    }

    /// Creates the files below a temporary folder whose `home` is the user's, and checks which count in `cwd`.
    #[track_caller]
    fn check_files(existing: &[&str], cwd: &str, expected: &[&str]) {
        let root = tempfile::tempdir().unwrap();
        for file in existing {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "{}").unwrap();
        }
        let cwd = root.path().join(cwd);
        fs::create_dir_all(&cwd).unwrap();
        let environment = Environment { user_home: Some(root.path().join("home")), ..Environment::default() };
        let found = settings_files(&environment, &cwd);
        let found: Vec<_> = found.iter().map(|file| file.strip_prefix(root.path()).unwrap()).collect();
        assert_eq!(found, expected.iter().map(Path::new).collect::<Vec<_>>());
    }

    const USER: &str = "home/.gemini/settings.json";

    #[test]
    fn the_nearest_file_of_the_repository_is_the_workspaces() {
        check_files(&[], "work/deep", &[USER]);
        let outer = "work/.gemini/settings.json";
        let inner = "work/deep/.gemini/settings.json";
        check_files(&[inner], "work/deep", &[USER, inner]);
        check_files(&[outer, inner, "work/.git/HEAD"], "work/deep", &[USER, inner]);
        check_files(&[outer, "work/.git/HEAD"], "work/deep", &[USER, outer]);
        // In a worktree `.git` is a file.
        check_files(&[outer, "work/.git"], "work/deep/er", &[USER, outer]);
    }

    #[test]
    fn nothing_above_the_repository_counts() {
        let outer = "work/.gemini/settings.json";
        check_files(&[outer], "work/deep", &[USER]);
        check_files(&[outer, "work/deep/.git/HEAD"], "work/deep", &[USER]);
    }

    #[test]
    fn in_the_users_folder_the_file_counts_once() {
        check_files(&[USER], "home", &[USER]);
        check_files(&[USER, "home/.git/HEAD"], "home/deep", &[USER]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_the_home_is_the_home() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("home");
        fs::create_dir_all(home.join(".gemini")).unwrap();
        fs::write(home.join(".gemini/settings.json"), "{}").unwrap();
        let link = root.path().join("link");
        std::os::unix::fs::symlink(&home, &link).unwrap();
        let environment = Environment { user_home: Some(home), ..Environment::default() };
        assert_eq!(settings_files(&environment, &link).len(), 1);
    }
}
