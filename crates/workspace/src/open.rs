//! Opens files by paths that are known to have no links, so that none that appears meanwhile is followed.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Opens a regular file for reading by its canonical path. A component that has become a link meanwhile is an error, and
/// nothing waits for a pipe.
///
/// # Errors
/// The system's; [`ErrorKind::InvalidInput`] for what is no regular file.
pub fn open_without_links(path: &Path) -> io::Result<File> {
    open(path)
}

/// Folder by folder, each from the one before, without reading any of them.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, statat};
    use std::path::Component;

    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Err(no_file()) };
    let hold = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut handle = openat(CWD, "/", hold, Mode::empty())?;
    for component in folder.components() {
        handle = match component {
            Component::RootDir => continue,
            Component::Normal(name) => openat(&handle, name, hold, Mode::empty())?,
            _ => return Err(io::Error::new(ErrorKind::InvalidInput, "it is not written in full")),
        };
    }
    let check = |mode| match FileType::from_raw_mode(mode) {
        FileType::RegularFile => Ok(()),
        _ => Err(no_file()),
    };
    // Asked before it is opened, as opening a device may do something.
    check(statat(&handle, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode)?;
    let read = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = openat(&handle, name, read, Mode::empty())?;
    check(fstat(&opened)?.st_mode)?;
    Ok(File::from(opened))
}

/// Opens a file and follows its path once more, for systems where folders cannot be held without reading them.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn open(path: &Path) -> io::Result<File> {
    if !std::fs::symlink_metadata(path)?.is_file() {
        return Err(no_file());
    }
    let file = File::open(path)?;
    match path.canonicalize()? == path {
        true => Ok(file),
        false => Err(io::Error::other("a link has taken its place meanwhile")),
    }
}

fn no_file() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "it is no file")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_regular_files_without_links_are_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("there");
        fs::create_dir(base.join("inner")).expect("made");
        fs::write(base.join("inner/file"), "text").expect("written");
        symlink("inner", base.join("way")).expect("linked");
        symlink("inner/file", base.join("link")).expect("linked");
        let read = |name: &str| {
            let mut text = String::new();
            open_without_links(&base.join(name))?.read_to_string(&mut text).map(|_| text)
        };
        assert_eq!(read("inner/file").expect("readable"), "text");
        for name in ["way/file", "link", "inner", "none", "none/file", "inner/file/x"] {
            assert!(read(name).is_err(), "{name}");
        }
        for path in ["/", "", "relative"] {
            assert!(open_without_links(Path::new(path)).is_err(), "{path}");
        }
        assert!(open_without_links(Path::new("/dev/null")).is_err());
    }
}
