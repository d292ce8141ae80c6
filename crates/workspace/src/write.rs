//! Writes files that appear whole or not at all, and that only their owner can read.

use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::WorkspaceError;
use crate::staged::{remove_strays, staged_file};

/// As many links as systems themselves follow before they call it a loop.
const MAX_LINKS: usize = 40;

/// The number of tries to move a file to its place while another program, such as a virus scanner, has it open.
const MOVE_TRIES: u32 = 5;

/// The outcome of a creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creation {
    /// The file is new and holds what was given.
    Created,
    /// A file was there, and is as it was.
    AlreadyThere,
}

/// Replaces the contents of a file: a reader, also after a crash or a power failure, finds the old or the new
/// contents and nothing between.
///
/// - A new file has mode 0600, and so have folders that are made for it 0700; a file that exists keeps its mode,
///   and its owner and group where the system allows it (where not, the mode of group and others is cleared).
/// - A path that is a symbolic link stays one, and the file that it leads to is written: those who keep their
///   settings in a repository link them into the home.
/// - A file without any write permission is refused although renaming could replace it: its owner meant it.
/// - Only regular files are replaced.
///
/// # Errors
/// [`WorkspaceError::ReadOnly`], [`WorkspaceError::DiskFull`] or [`WorkspaceError::Failed`]; the file is then as it
/// was, unless only the last step failed, making sure that the folder knows its new entry.
pub fn write_private_atomically(path: &Path, bytes: &[u8]) -> Result<(), WorkspaceError> {
    let path = follow_link(path)?;
    StagedWrite::new(&path, bytes)?.synced()?.replace().and_then(|()| sync_folder(&path))
}

/// As [`write_private_atomically`], but without waiting for the disk: for what can be made again at any time. A reader
/// finds the old or the new contents, and after a power failure perhaps none.
///
/// # Errors
/// As [`write_private_atomically`].
pub fn write_private_cache(path: &Path, bytes: &[u8]) -> Result<(), WorkspaceError> {
    let path = follow_link(path)?;
    StagedWrite::new(&path, bytes)?.replace()
}

/// Makes a file with these contents unless the name is taken, even by a broken link; never one without them.
///
/// # Errors
/// As [`write_private_atomically`].
pub fn create_private_atomically(path: &Path, bytes: &[u8]) -> Result<Creation, WorkspaceError> {
    if path.symlink_metadata().is_ok() {
        return Ok(Creation::AlreadyThere);
    }
    StagedWrite::new(path, bytes)?.synced()?.create()
}

/// Makes a folder, and those above it, that only the owner can enter. A folder that exists stays as it is.
///
/// # Errors
/// [`WorkspaceError::ReadOnly`], [`WorkspaceError::DiskFull`] or [`WorkspaceError::Failed`].
pub fn create_private_folder(path: &Path) -> Result<(), WorkspaceError> {
    let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(|cause| WorkspaceError::writing(path, cause))?;
    // A file that survives a power failure is of no use if its folder does not.
    missing.into_iter().rev().try_for_each(sync_folder)
}

/// True if a file could be made in this folder, or where it does not exist in the one above it that does. Nothing is
/// tried: the system is only asked for permission.
pub fn may_write_in(folder: &Path) -> bool {
    let existing = folder.ancestors().find(|folder| folder.symlink_metadata().is_ok());
    existing.is_some_and(|folder| folder.is_dir() && is_permitted(folder))
}

#[cfg(unix)]
fn is_permitted(folder: &Path) -> bool {
    use rustix::fs::{Access, access};
    access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn is_permitted(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|found| !found.permissions().readonly())
}

/// The file that holds the bytes of `path`: the end of a chain of links, which need not exist.
pub(crate) fn follow_link(path: &Path) -> Result<PathBuf, WorkspaceError> {
    let mut end = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&end) {
            Ok(target) => end = folder_of(&end).join(target),
            // Not a link, or nothing at all.
            Err(_) => return Ok(end),
        }
    }
    let cause = io::Error::other("too many symbolic links");
    Err(WorkspaceError::Failed { act: "follow the link", path: path.to_path_buf(), cause })
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Contents that are written, though not yet under their name.
struct StagedWrite<'a> {
    path: &'a Path,
    file: NamedTempFile,
}

impl<'a> StagedWrite<'a> {
    fn new(path: &'a Path, bytes: &[u8]) -> Result<Self, WorkspaceError> {
        let failed = |cause| WorkspaceError::writing(path, cause);
        let existing = match fs::metadata(path) {
            Ok(existing) => Some(existing),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        if let Some(existing) = &existing {
            check_replaceable(existing).map_err(failed)?;
        }
        create_private_folder(folder_of(path))?;
        remove_strays(folder_of(path));
        let mut file = staged_file(folder_of(path)).map_err(failed)?;
        file.write_all(bytes).map_err(failed)?;
        if let Some(existing) = &existing {
            keep_permissions(file.as_file(), existing).map_err(failed)?;
        }
        Ok(Self { path, file })
    }

    /// The same, safely on the disk.
    fn synced(self) -> Result<Self, WorkspaceError> {
        let synced = self.file.as_file().sync_all();
        synced.map_err(|cause| WorkspaceError::writing(self.path, cause))?;
        Ok(self)
    }

    fn replace(mut self) -> Result<(), WorkspaceError> {
        let mut tries = 1;
        loop {
            match self.file.persist(self.path) {
                Ok(_) => return Ok(()),
                Err(error) if tries < MOVE_TRIES && is_passing(&error.error) => {
                    thread::sleep(Duration::from_millis(50 << tries));
                    tries += 1;
                    self.file = error.file;
                }
                Err(error) => return Err(WorkspaceError::writing(self.path, error.error)),
            }
        }
    }

    fn create(self) -> Result<Creation, WorkspaceError> {
        match self.file.persist_noclobber(self.path) {
            Ok(_) => sync_folder(self.path).map(|()| Creation::Created),
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(Creation::AlreadyThere),
            Err(error) => Err(WorkspaceError::writing(self.path, error.error)),
        }
    }
}

/// Checks that a file may be replaced by another: it is a regular one, and some write permission is set. Renaming would
/// replace one without, too, but its owner meant it.
///
/// # Errors
/// The reason, in words.
pub fn check_replaceable(existing: &Metadata) -> io::Result<()> {
    if !existing.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    if existing.permissions().readonly() {
        return Err(io::Error::new(ErrorKind::PermissionDenied, "the file is marked as read-only"));
    }
    Ok(())
}

/// Gives a new file the mode of the existing one that it is to replace, and its owner and group where the system allows it
/// (where not, the mode of group and others is cleared).
///
/// # Errors
/// The system's error.
#[cfg(unix)]
pub fn keep_permissions(file: &File, existing: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let made = file.metadata()?;
    let is_kept = (made.uid(), made.gid()) == (existing.uid(), existing.gid())
        || fchown(file, Some(existing.uid()), Some(existing.gid())).is_ok();
    // Bits meant for one group are not given to another.
    let mode = existing.mode() & if is_kept { 0o7777 } else { 0o700 };
    file.set_permissions(fs::Permissions::from_mode(mode))
}

/// Files of this system have no mode to keep.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn keep_permissions(_file: &File, _existing: &Metadata) -> io::Result<()> {
    Ok(())
}

/// True if the same act may well succeed a moment later.
fn is_passing(error: &io::Error) -> bool {
    error.kind() == ErrorKind::ResourceBusy || cfg!(windows) && error.kind() == ErrorKind::PermissionDenied
}

/// A new name survives a power failure only when its folder is on the disk, too.
#[cfg(unix)]
fn sync_folder(path: &Path) -> Result<(), WorkspaceError> {
    let folder = folder_of(path);
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Some file systems cannot do it, and a folder that may be written need not be readable.
        Err(error)
            if !matches!(
                error.kind(),
                ErrorKind::InvalidInput | ErrorKind::Unsupported | ErrorKind::PermissionDenied
            ) =>
        {
            Err(WorkspaceError::writing(folder, error))
        }
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> Result<(), WorkspaceError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn folder() -> TempDir {
        tempfile::tempdir().expect("a folder")
    }

    #[cfg(unix)]
    fn mode(path: &Path) -> u32 {
        use std::os::unix::fs::PermissionsExt;
        fs::metadata(path).expect("there").permissions().mode() & 0o7777
    }

    #[cfg(unix)]
    fn set_mode(path: &Path, mode: u32) {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("changed");
    }

    #[track_caller]
    fn check_contents(path: &Path, expected: &str) {
        assert_eq!(fs::read_to_string(path).expect("readable"), expected);
    }

    #[track_caller]
    fn check_names(folder: &Path, expected: &[&str]) {
        let entries = fs::read_dir(folder).expect("a folder");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect();
        names.sort();
        assert_eq!(names, expected);
    }

    #[test]
    fn a_file_is_made_with_its_folders() {
        let root = folder();
        let path = root.path().join("a/b/file");
        write_private_atomically(&path, b"one").expect("written");
        check_contents(&path, "one");
        check_names(path.parent().expect("a folder"), &["file"]);
        #[cfg(unix)]
        assert_eq!(
            (mode(&root.path().join("a")), mode(path.parent().unwrap()), mode(&path)),
            (0o700, 0o700, 0o600)
        );
    }

    #[cfg(unix)]
    #[test]
    fn an_existing_file_keeps_its_mode() {
        for kept in [0o600, 0o640, 0o644, 0o755] {
            let root = folder();
            let path = root.path().join("file");
            fs::write(&path, "old").expect("written");
            set_mode(&path, kept);
            write_private_atomically(&path, b"new").expect("written");
            check_contents(&path, "new");
            assert_eq!(mode(&path), kept);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_read_only_file_is_refused_and_stays() {
        let root = folder();
        let path = root.path().join("file");
        fs::write(&path, "old").expect("written");
        set_mode(&path, 0o444);
        let error = write_private_atomically(&path, b"new").expect_err("refused");
        assert!(matches!(error, WorkspaceError::ReadOnly { .. }), "{error:?}");
        check_contents(&path, "old");
        check_names(root.path(), &["file"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_its_target_is_written() {
        use std::os::unix::fs::symlink;
        let root = folder();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("dotfiles")).expect("made");
        fs::write(at("dotfiles/real"), "old").expect("written");
        symlink("dotfiles/real", at("first")).expect("linked");
        symlink("first", at("second")).expect("linked");
        write_private_atomically(&at("second"), b"new").expect("written");
        check_contents(&at("dotfiles/real"), "new");
        assert!(at("first").is_symlink() && at("second").is_symlink());
        check_names(root.path(), &["dotfiles", "first", "second"]);

        symlink("dotfiles/later", at("dangling")).expect("linked");
        write_private_atomically(&at("dangling"), b"made").expect("written");
        check_contents(&at("dotfiles/later"), "made");

        symlink("loop", at("loop")).expect("linked");
        let error = write_private_atomically(&at("loop"), b"never").expect_err("a loop");
        assert!(matches!(error, WorkspaceError::Failed { .. }), "{error:?}");
    }

    #[test]
    fn folders_and_files_used_as_folders_are_refused() {
        let root = folder();
        fs::create_dir(root.path().join("sub")).expect("made");
        fs::write(root.path().join("file"), "x").expect("written");
        for name in ["sub", "file/below"] {
            let error = write_private_atomically(&root.path().join(name), b"y").expect_err("refused");
            assert!(matches!(error, WorkspaceError::Failed { .. }), "{name}: {error:?}");
        }
        check_contents(&root.path().join("file"), "x");
        check_names(root.path(), &["file", "sub"]);
    }

    #[test]
    fn asking_for_permission_makes_nothing() {
        let root = folder();
        fs::write(root.path().join("file"), "x").expect("written");
        assert!(may_write_in(root.path()));
        assert!(may_write_in(&root.path().join("not/yet/there")));
        assert!(!may_write_in(&root.path().join("file")));
        assert!(!may_write_in(&root.path().join("file/below")));
        check_names(root.path(), &["file"]);
    }

    #[test]
    fn a_name_is_taken_once() {
        let root = folder();
        let path = root.path().join("deep/file");
        assert_eq!(create_private_atomically(&path, b"one").expect("made"), Creation::Created);
        assert_eq!(create_private_atomically(&path, b"two").expect("kept"), Creation::AlreadyThere);
        check_contents(&path, "one");
        check_names(path.parent().expect("a folder"), &["file"]);
    }

    #[test]
    fn of_two_that_were_staged_one_is_created() {
        let root = folder();
        let path = root.path().join("file");
        let first = StagedWrite::new(&path, b"one").expect("staged");
        let second = StagedWrite::new(&path, b"two").expect("staged");
        assert_eq!(second.create().expect("made"), Creation::Created);
        assert_eq!(first.create().expect("kept"), Creation::AlreadyThere);
        check_contents(&path, "two");
    }

    #[test]
    fn stopping_between_the_steps_leaves_the_old_contents() {
        let root = folder();
        let path = root.path().join("file");
        fs::write(&path, "old").expect("written");
        drop(StagedWrite::new(&path, b"new").expect("staged"));
        check_contents(&path, "old");
        check_names(root.path(), &["file"]);

        // A process that is killed does not even clean up; whoever writes there next does.
        let left =
            StagedWrite::new(&path, b"new").expect("staged").file.into_temp_path().keep().expect("kept");
        check_contents(&path, "old");
        check_contents(&left, "new");
        write_private_atomically(&path, b"newer").expect("written");
        check_contents(&path, "newer");
        check_names(root.path(), &["file"]);
    }
}
