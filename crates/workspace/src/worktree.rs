//! Leads from any folder of a repository, in any of its worktrees, to the one folder that stands for all of them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::paths::canonical;

/// No `.git` file is longer.
const LONGEST: u64 = 1 << 14;

/// The main worktree of the repository that `folder` lies in; the folder itself, with links followed, if it lies in none.
///
/// The folder need not exist any more: a worktree that was removed still belongs to the repository below which it lay.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// std::fs::create_dir_all(folder.path().join("shop/.git"))?;
/// let inside = longhaul_workspace::main_worktree(&folder.path().join("shop/src/cart"));
/// assert!(inside.ends_with("shop"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn main_worktree(folder: &Path) -> PathBuf {
    let folder = canonical(folder);
    let found = folder.ancestors().find_map(|ancestor| {
        let git = ancestor.join(".git");
        let meta = fs::metadata(&git).ok()?;
        if meta.is_dir() {
            return Some(ancestor.to_path_buf());
        }
        // A submodule is a repository of its own.
        Some(linked_to(&git, meta.len()).unwrap_or_else(|| ancestor.to_path_buf()))
    });
    found.unwrap_or(folder)
}

/// The repository of a linked worktree, whose `.git` is a file that names `REPOSITORY/.git/worktrees/NAME`.
fn linked_to(git: &Path, len: u64) -> Option<PathBuf> {
    let text = (len <= LONGEST).then(|| fs::read_to_string(git).ok())??;
    let named = PathBuf::from(text.lines().next()?.strip_prefix("gitdir:")?.trim());
    let private = git.parent()?.join(named);
    let worktrees = private.parent().filter(|folder| folder.ends_with("worktrees"))?;
    let common = worktrees.parent()?;
    let is_inside = common.file_name().is_some_and(|name| name == ".git");
    // A bare repository stands for itself.
    Some(canonical(if is_inside { common.parent()? } else { common }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worktrees_lead_to_their_repository() {
        let home = tempfile::tempdir().expect("a folder");
        let at = |path: &str| home.path().join(path);
        for folder in [
            "shop/.git/worktrees/fix",
            "shop/src",
            "fix/src",
            "alone",
            "shop/lib",
            "bare.git/worktrees/a",
            "a",
        ] {
            fs::create_dir_all(at(folder)).expect("made");
        }
        let link = |path: &str, to: &str| fs::write(at(path), format!("gitdir: {to}\n")).expect("written");
        link("fix/.git", &at("shop/.git/worktrees/fix").display().to_string());
        link("shop/lib/.git", "../.git/modules/lib");
        link("a/.git", "../bare.git/worktrees/a");
        let check = |folder: &str, expected: &str| {
            assert_eq!(main_worktree(&at(folder)), canonical(&at(expected)), "{folder}");
        };
        check("shop", "shop");
        check("shop/src", "shop");
        check("fix/src", "shop");
        check("shop/lib", "shop/lib");
        check("a", "bare.git");
        check("alone", "alone");
        check("shop/.claude/worktrees/gone/src", "shop");
        fs::write(at("alone/.git"), "nonsense").expect("written");
        check("alone", "alone");
    }
}
