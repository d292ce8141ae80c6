//! Lists the entries of folders, with as little work as the system allows.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

/// The kind of an entry, links not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Folder,
    File,
    Other,
}

/// Lists folders one after the other.
#[derive(Debug, Default)]
pub(crate) struct Lister {
    #[cfg(target_os = "linux")]
    buffer: Vec<u8>,
}

#[cfg(target_os = "linux")]
impl Lister {
    /// The size of the buffer for one call of the system.
    const ROOM: usize = 32 * 1024;

    /// Tells every entry of a folder, in no order.
    pub(crate) fn list(&mut self, folder: &Path, mut each: impl FnMut(&OsStr, EntryKind)) -> io::Result<()> {
        use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, openat, statat};
        use std::os::unix::ffi::OsStrExt;

        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = openat(CWD, folder, flags, Mode::empty())?;
        self.buffer.reserve(Self::ROOM);
        let mut entries = RawDir::new(&opened, self.buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                // Some file systems tell only whoever asks about the entry itself.
                FileType::Unknown => statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |found| FileType::from_raw_mode(found.st_mode)),
                known => known,
            };
            let kind = match kind {
                FileType::Directory => EntryKind::Folder,
                FileType::RegularFile => EntryKind::File,
                _ => EntryKind::Other,
            };
            each(OsStr::from_bytes(name.to_bytes()), kind);
        }
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
impl Lister {
    /// Tells every entry of a folder, in no order.
    pub(crate) fn list(&mut self, folder: &Path, mut each: impl FnMut(&OsStr, EntryKind)) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let kind = match entry.file_type()? {
                kind if kind.is_dir() => EntryKind::Folder,
                kind if kind.is_file() => EntryKind::File,
                _ => EntryKind::Other,
            };
            each(&entry.file_name(), kind);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn every_entry_is_told_once_with_what_it_is() {
        let root = tempfile::tempdir().expect("a folder");
        // More than the system tells at once.
        for number in 0..1_500 {
            fs::write(root.path().join(format!("a file with a long name, number {number}")), "")
                .expect("written");
        }
        fs::create_dir(root.path().join(".inner")).expect("made");
        #[cfg(unix)]
        std::os::unix::fs::symlink(".inner", root.path().join("link")).expect("linked");
        let mut lister = Lister::default();
        for _ in 0..2 {
            let mut found = Vec::new();
            lister.list(root.path(), |name, kind| found.push((name.to_owned(), kind))).expect("listed");
            let is = |name: &str| found.iter().find(|(found, _)| found == name).map(|(_, kind)| *kind);
            assert_eq!(found.iter().filter(|(_, kind)| *kind == EntryKind::File).count(), 1_500);
            assert_eq!(is(".inner"), Some(EntryKind::Folder));
            #[cfg(unix)]
            assert_eq!(is("link"), Some(EntryKind::Other));
            assert_eq!((is("."), is("..")), (None, None));
        }
        assert!(lister.list(&root.path().join("none"), |_, _| ()).is_err());
    }
}
