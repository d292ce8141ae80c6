//! The destination of a command's result: a new file, standard output, or nowhere.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use longhaul_app::failure::hinted;
use longhaul_workspace::{Creation, create_private_atomically, write_private_atomically};

use crate::input::{display_name, is_stdin};

/// The destination of a result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Not requested.
    Nowhere,
    /// The session itself: recorded in its log.
    Recorded(PathBuf),
    /// Standard output.
    Stdout,
    /// A file, written whole or not at all.
    File { path: PathBuf, existing: Existing },
    /// A device or a pipe, written to directly.
    Stream(PathBuf),
}

/// The policy for an existing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// It stays, unless this flag is passed.
    Kept { unless: &'static str },
    /// It is replaced.
    Replaced,
}

impl Destination {
    /// Checks up front that `out` may be written, given the input's path.
    pub(crate) fn plan(out: Option<&Path>, input: &Path, existing: Existing) -> anyhow::Result<Self> {
        let Some(out) = out else { return Ok(Self::Nowhere) };
        if is_stdin(out) {
            return Ok(Self::Stdout);
        }
        let name = display_name(out);
        if is_same_file(out, input) {
            let error = anyhow!("{name} is the input file, which is never overwritten");
            return Err(hinted(error, "choose another file"));
        }
        let found = fs::metadata(out);
        if found.as_ref().is_ok_and(Metadata::is_dir) {
            return Err(hinted(anyhow!("{name} is a folder"), "pass a file in it"));
        }
        if found.as_ref().is_ok_and(|found| !found.is_file()) {
            return Ok(Self::Stream(out.to_path_buf()));
        }
        if let Existing::Kept { unless } = existing
            && fs::symlink_metadata(out).is_ok()
        {
            return Err(exists_already(out, unless));
        }
        let folder = out.parent().unwrap_or(Path::new(""));
        if !folder.as_os_str().is_empty() && !folder.is_dir() {
            let missing = anyhow!("no such folder: {}", folder.display());
            return Err(hinted(missing, "create it first, or choose another file"));
        }
        Ok(Self::File { path: out.to_path_buf(), existing })
    }

    /// Its name in JSON; `None` if not requested.
    pub(crate) fn name(&self) -> Option<String> {
        match self {
            Self::Nowhere => None,
            Self::Stdout => Some("-".to_string()),
            Self::File { path, .. } | Self::Stream(path) | Self::Recorded(path) => {
                Some(path.display().to_string())
            }
        }
    }

    /// Writes the result.
    pub(crate) fn write(&self, text: &str) -> anyhow::Result<()> {
        match self {
            Self::Nowhere | Self::Recorded(_) => Ok(()),
            Self::Stdout => Ok(io::stdout().lock().write_all(text.as_bytes())?),
            Self::Stream(path) => {
                let failed = || format!("could not write {}", path.display());
                let mut stream = OpenOptions::new().write(true).open(path).with_context(failed)?;
                stream.write_all(text.as_bytes()).with_context(failed)
            }
            Self::File { path, existing: Existing::Replaced } => {
                Ok(write_private_atomically(path, text.as_bytes())?)
            }
            Self::File { path, existing: Existing::Kept { unless } } => {
                match create_private_atomically(path, text.as_bytes())? {
                    Creation::Created => Ok(()),
                    Creation::AlreadyThere => Err(exists_already(path, unless)),
                }
            }
        }
    }
}

fn exists_already(path: &Path, unless: &str) -> anyhow::Error {
    let hint = format!("choose another file, or pass {unless} to replace this one");
    hinted(anyhow!("{} already exists", path.display()), hint)
}

/// Returns true if both paths lead to the same file, through whatever links.
fn is_same_file(out: &Path, input: &Path) -> bool {
    // Standard input can be a file, too.
    let input = if is_stdin(input) { Path::new("/dev/stdin") } else { input };
    let (Ok(out_found), Ok(input_found)) = (fs::metadata(out), fs::metadata(input)) else { return false };
    out_found.is_file()
        && input_found.is_file()
        && (have_one_identity(&out_found, &input_found)
            || fs::canonicalize(out).ok().is_some_and(|out| fs::canonicalize(input).ok() == Some(out)))
}

#[cfg(unix)]
fn have_one_identity(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn have_one_identity(_one: &Metadata, _other: &Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            let folder = Self(tempfile::tempdir().expect("a folder"));
            fs::write(folder.path("in"), "input").expect("written");
            folder
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn plan(&self, out: &str, existing: Existing) -> anyhow::Result<Destination> {
            Destination::plan(Some(&self.path(out)), &self.path("in"), existing)
        }

        #[track_caller]
        fn check_refused(&self, out: &str, existing: Existing, reason: &str) {
            let error = self.plan(out, existing).expect_err("refused").to_string();
            assert!(error.contains(reason), "{error}");
            assert_eq!(fs::read_to_string(self.path("in")).ok().as_deref(), Some("input"));
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(self.0.path()).expect("a folder").flatten();
            let mut names: Vec<_> =
                entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names
        }
    }

    #[test]
    fn a_file_appears_whole_and_private() {
        let folder = Folder::new();
        folder
            .plan("out", Existing::Kept { unless: "--force" })
            .expect("planned")
            .write("result")
            .expect("written");
        assert_eq!(fs::read_to_string(folder.path("out")).ok().as_deref(), Some("result"));
        assert_eq!(folder.names(), ["in", "out"]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(folder.path("out")).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn a_file_that_exists_is_replaced_only_on_demand() {
        let folder = Folder::new();
        fs::write(folder.path("out"), "old").expect("written");
        folder.check_refused("out", Existing::Kept { unless: "--force" }, "already exists");
        folder.plan("out", Existing::Replaced).expect("planned").write("new").expect("written");
        assert_eq!(fs::read_to_string(folder.path("out")).ok().as_deref(), Some("new"));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_replaced_keeps_its_mode_and_a_link_stays_one() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new();
        fs::write(folder.path("out"), "old").expect("written");
        fs::set_permissions(folder.path("out"), fs::Permissions::from_mode(0o640)).expect("changed");
        std::os::unix::fs::symlink("out", folder.path("link")).expect("linked");
        folder.plan("link", Existing::Replaced).expect("planned").write("new").expect("written");
        assert!(folder.path("link").is_symlink());
        assert_eq!(fs::read_to_string(folder.path("out")).ok().as_deref(), Some("new"));
        let mode = fs::metadata(folder.path("out")).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }

    #[test]
    fn a_file_that_appears_meanwhile_is_kept() {
        let folder = Folder::new();
        let planned = folder.plan("out", Existing::Kept { unless: "--force" }).expect("planned");
        fs::write(folder.path("out"), "theirs").expect("written");
        planned.write("ours").expect_err("kept");
        assert_eq!(fs::read_to_string(folder.path("out")).ok().as_deref(), Some("theirs"));
        assert_eq!(folder.names(), ["in", "out"]);
    }

    #[test]
    fn the_input_is_never_overwritten() {
        let folder = Folder::new();
        folder.check_refused("in", Existing::Replaced, "never overwritten");
        fs::create_dir(folder.path("sub")).expect("made");
        folder.check_refused("sub/../in", Existing::Replaced, "never overwritten");
        fs::hard_link(folder.path("in"), folder.path("hard")).expect("linked");
        folder.check_refused("hard", Existing::Replaced, "never overwritten");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(folder.path("in"), folder.path("soft")).expect("linked");
            folder.check_refused("soft", Existing::Replaced, "never overwritten");
        }
    }

    #[test]
    fn folders_are_refused_and_missing_ones_told() {
        let folder = Folder::new();
        fs::create_dir(folder.path("sub")).expect("made");
        folder.check_refused("sub", Existing::Replaced, "is a folder");
        folder.check_refused("missing/out", Existing::Kept { unless: "--force" }, "no such folder:");
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_written_to_and_not_replaced() {
        let planned = Destination::plan(Some(Path::new("/dev/null")), Path::new("-"), Existing::Replaced);
        let planned = planned.expect("planned");
        assert_eq!(planned, Destination::Stream("/dev/null".into()));
        planned.write("gone").expect("written");
    }

    #[test]
    fn nothing_is_written_unasked() {
        let plan = |out: Option<&str>| {
            Destination::plan(out.map(Path::new), Path::new("in"), Existing::Kept { unless: "--force" })
        };
        assert_eq!(plan(None).ok(), Some(Destination::Nowhere));
        assert_eq!(plan(Some("-")).ok(), Some(Destination::Stdout));
    }
}
