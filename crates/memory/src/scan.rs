//! Scans a folder downwards, breadth first, with several threads and a limit.

use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use longhaul_workspace::{GitChain, IgnoreRules};

use crate::entries::{EntryKind, Lister};
use crate::read::reason;
use crate::settings::ContextNames;

/// Folders that hold nobody's instructions: Git's own, and the packages of others.
pub(crate) const PASSED_OVER: [&str; 2] = [".git", "node_modules"];

/// More threads than this only wait for the disk.
const MOST_THREADS: usize = 8;

/// The number of folders that a thread takes at once.
const SHARE: usize = 32;

/// The result of a scan.
#[derive(Debug, Default)]
pub(crate) struct FolderScan {
    /// The memory files, in no order.
    pub(crate) found: Vec<PathBuf>,
    /// Memory files that are hidden.
    pub(crate) ignored: Vec<PathBuf>,
    /// Folders that could not be read, with what the system said.
    pub(crate) unreadable: Vec<(PathBuf, String)>,
    /// The number of folders that were looked at, the first one included.
    pub(crate) scanned: usize,
    /// The number of folders that were found and not looked at.
    pub(crate) left: usize,
    next: Vec<ScannedFolder>,
}

/// A folder to look at, with Git's rules that hold in it.
#[derive(Debug)]
struct ScannedFolder {
    path: PathBuf,
    chain: GitChain,
}

/// Looks for memory files in `start` and below it, in at most so many folders, the nearest first. Links are not followed.
pub(crate) fn scan(
    start: &Path,
    names: &ContextNames,
    rules: &IgnoreRules,
    most_folders: usize,
) -> FolderScan {
    let mut total = FolderScan::default();
    let mut level = vec![ScannedFolder { path: start.to_path_buf(), chain: GitChain::default() }];
    while !level.is_empty() {
        let room = most_folders - total.scanned;
        if level.len() > room {
            // Which folders are left out must not depend on the order in which the system lists them.
            level.sort_unstable_by(|one, other| one.path.cmp(&other.path));
            total.left = level.len() - room;
            level.truncate(room);
        }
        total.scanned += level.len();
        for part in scan_level(&level, names, rules) {
            total.found.extend(part.found);
            total.ignored.extend(part.ignored);
            total.unreadable.extend(part.unreadable);
            total.next.extend(part.next);
        }
        level = std::mem::take(&mut total.next);
        if total.scanned == most_folders {
            total.left += level.len();
            break;
        }
    }
    total
}

/// Looks at folders of one level. Each thread takes some until none are left.
fn scan_level(level: &[ScannedFolder], names: &ContextNames, rules: &IgnoreRules) -> Vec<FolderScan> {
    let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = processors.min(MOST_THREADS).min(level.len().div_ceil(SHARE));
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(threads));
    let work = || {
        let (mut part, mut lister) = (FolderScan::default(), Lister::default());
        loop {
            let from = next.fetch_add(SHARE, Ordering::Relaxed);
            let Some(mine) = level.get(from..level.len().min(from + SHARE)).filter(|mine| !mine.is_empty())
            else {
                break;
            };
            for folder in mine {
                if let Err(error) = scan_folder(folder, names, rules, &mut lister, &mut part) {
                    part.unreadable.push((folder.path.clone(), reason(&error)));
                }
            }
        }
        if let Ok(mut done) = done.lock() {
            done.push(part);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // Where no other thread can be started, this one does all of it.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    done.into_inner().unwrap_or_default()
}

fn scan_folder(
    folder: &ScannedFolder,
    names: &ContextNames,
    rules: &IgnoreRules,
    lister: &mut Lister,
    part: &mut FolderScan,
) -> io::Result<()> {
    let is_open = rules.hides_nothing();
    let chain = if is_open { GitChain::default() } else { rules.enter(&folder.path, &folder.chain) };
    lister.list(&folder.path, |name, kind| match kind {
        EntryKind::Folder if !PASSED_OVER.iter().any(|passed| name == *passed) => {
            let path = folder.path.join(name);
            if is_open || rules.entry_hidden_by(&path, true, &chain).is_none() {
                part.next.push(ScannedFolder { path, chain: chain.clone() });
            }
        }
        EntryKind::File if names.position(name).is_some() => {
            let path = folder.path.join(name);
            let is_hidden = !is_open && rules.entry_hidden_by(&path, false, &chain).is_some();
            if is_hidden { part.ignored.push(path) } else { part.found.push(path) }
        }
        _ => {}
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    use longhaul_workspace::Ignoring;
    use tempfile::TempDir;

    fn tree(files: &[&str]) -> TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("it is in a folder")).expect("made");
            fs::write(path, if file.ends_with("ignore") { "hidden/\nb/GEMINI.md\n" } else { "text" })
                .expect("written");
        }
        root
    }

    fn run(root: &Path, most_folders: usize, ignoring: &Ignoring) -> FolderScan {
        let rules = IgnoreRules::load(root, root, ignoring);
        scan(root, &ContextNames::default(), &rules, most_folders)
    }

    fn relative(root: &Path, files: &[PathBuf]) -> Vec<String> {
        let mut names: Vec<String> =
            files.iter().map(|file| file.strip_prefix(root).expect("inside").display().to_string()).collect();
        names.sort();
        names
    }

    #[test]
    fn everything_below_is_found() {
        let root = tree(&[
            "GEMINI.md",
            "a/b/GEMINI.md",
            ".gemini/GEMINI.md",
            "a/gemini.md",
            "node_modules/x/GEMINI.md",
        ]);
        let scan = run(root.path(), 100, &Ignoring::default());
        assert_eq!(relative(root.path(), &scan.found), [".gemini/GEMINI.md", "GEMINI.md", "a/b/GEMINI.md"]);
        assert_eq!((scan.scanned, scan.left), (4, 0));
    }

    #[test]
    fn hidden_folders_are_not_entered_and_hidden_files_are_named() {
        let root =
            tree(&[".geminiignore", "hidden/GEMINI.md", "a/hidden/GEMINI.md", "b/GEMINI.md", "c/GEMINI.md"]);
        let scan = run(root.path(), 100, &Ignoring::default());
        assert_eq!(relative(root.path(), &scan.found), ["c/GEMINI.md"]);
        assert_eq!(relative(root.path(), &scan.ignored), ["b/GEMINI.md"]);
        let git = tree(&[".git/HEAD", "sub/.gitignore", "sub/hidden/GEMINI.md", "hidden/GEMINI.md"]);
        let ignoring = Ignoring { git: true, ..Ignoring::default() };
        assert_eq!(relative(git.path(), &run(git.path(), 100, &ignoring).found), ["hidden/GEMINI.md"]);
    }

    #[test]
    fn the_limit_counts_folders_and_tells_how_many_were_left() {
        let root = tree(&["c/GEMINI.md", "a/GEMINI.md", "b/GEMINI.md", "a/x/GEMINI.md"]);
        let found = |most| {
            let scan = run(root.path(), most, &Ignoring::default());
            (relative(root.path(), &scan.found), scan.scanned, scan.left)
        };
        assert_eq!(found(0), (vec![], 0, 1));
        assert_eq!(found(1), (vec![], 1, 3));
        assert_eq!(found(2), (vec!["a/GEMINI.md".into()], 2, 3));
        assert_eq!(found(4).1, 4);
        assert_eq!((found(4).0.len(), found(4).2), (3, 1));
        assert_eq!((found(5).0.len(), found(5).2), (4, 0));
    }

    #[test]
    fn many_folders_are_looked_at_by_several_threads() {
        let files: Vec<String> = (0..200).map(|number| format!("d{number}/e/GEMINI.md")).collect();
        let root = tree(&files.iter().map(String::as_str).collect::<Vec<_>>());
        let scan = run(root.path(), 1_000, &Ignoring::default());
        assert_eq!((scan.found.len(), scan.scanned, scan.left), (200, 401, 0));
        assert_eq!(run(root.path(), 250, &Ignoring::default()).found.len(), 49);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed_and_closed_folders_are_told() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let root = tree(&["a/GEMINI.md", "closed/GEMINI.md"]);
        symlink("a", root.path().join("link")).expect("linked");
        symlink(root.path(), root.path().join("a/loop")).expect("linked");
        symlink("a/GEMINI.md", root.path().join("GEMINI.md")).expect("linked");
        let closed = root.path().join("closed");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).expect("closed");
        let scan = run(root.path(), 100, &Ignoring::default());
        // The administrator may look everywhere.
        if fs::read_dir(&closed).is_err() {
            assert_eq!(relative(root.path(), &scan.found), ["a/GEMINI.md"]);
            assert_eq!(scan.unreadable, [(closed.clone(), "permission denied".to_owned())]);
        }
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).expect("opened");
        assert!(!scan.found.iter().any(|file| file.starts_with(root.path().join("link"))));
    }
}
