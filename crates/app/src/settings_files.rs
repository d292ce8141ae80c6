//! The settings files in use: the user's in the home, and the nearest one of a workspace.

use std::path::{Path, PathBuf};

use longhaul_workspace::{Home, WorkspaceFolder};

/// The settings files of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingsFiles {
    /// The user's, which need not exist.
    pub user: Option<PathBuf>,
    /// The workspace's, used only if its folder is trusted.
    pub workspace: Option<WorkspaceFile>,
}

/// A workspace's own settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceFile {
    /// The folder that must be trusted.
    pub folder: PathBuf,
    /// The file.
    pub file: PathBuf,
}

/// The settings files of this folder.
pub fn settings_files(home: Option<&Home>, cwd: &Path) -> SettingsFiles {
    let is_home = |folder: &Path| home.is_some_and(|home| home.is_folder_of(&WorkspaceFolder::of(folder)));
    let workspace = workspace_folder(cwd).filter(|folder| !is_home(folder)).map(|folder| WorkspaceFile {
        folder: folder.to_path_buf(),
        file: WorkspaceFolder::of(folder).settings(),
    });
    SettingsFiles { user: home.map(Home::settings), workspace }
}

/// The first folder with settings from `cwd` up to the root of its repository; outside of repositories only `cwd`
/// itself.
fn workspace_folder(cwd: &Path) -> Option<&Path> {
    let depth = cwd.ancestors().position(|folder| folder.join(".git").exists()).unwrap_or(0);
    // A file that cannot be examined is taken: reading it will say why.
    let has_settings = |folder: &&Path| WorkspaceFolder::of(folder).settings().try_exists().unwrap_or(true);
    cwd.ancestors().take(depth + 1).find(has_settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_workspace::Environment;
    use std::fs;

    fn home_in(folder: &Path) -> Home {
        let environment = Environment { user_home: Some(folder.into()), ..Environment::default() };
        Home::resolve(&environment).expect("an absolute path")
    }

    /// Both files, the weakest first.
    fn files(home: Option<&Home>, cwd: &Path) -> Vec<PathBuf> {
        let SettingsFiles { user, workspace } = settings_files(home, cwd);
        user.into_iter().chain(workspace.map(|workspace| workspace.file)).collect()
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
        let found = files(Some(&home_in(&root.path().join("home"))), &cwd);
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
    fn without_a_home_the_workspace_has_settings() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(files(None, root.path()), [] as [PathBuf; 0]);
        let file = root.path().join(".gemini/settings.json");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "{}").unwrap();
        assert_eq!(files(None, root.path()), [file]);
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
        assert_eq!(files(Some(&home_in(&home)), &link).len(), 1);
    }
}
