//! Reads one text file, within limits, and knows it again when it has changed.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use longhaul_workspace::{decode_text, open_without_links};

use crate::identity::FileIdentity;

/// No memory file and no import is larger than this.
pub(crate) const LARGEST: u64 = 1 << 20;

/// The text of a file, with what it takes to notice a change.
#[derive(Clone, Debug)]
pub(crate) struct ReadFile {
    pub(crate) text: String,
    pub(crate) source: SourceFile,
    pub(crate) identity: FileIdentity,
}

/// A file as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The path.
    pub path: PathBuf,
    /// When it was last changed, as far as the system knows.
    pub modified: Option<SystemTime>,
    hash: [u8; 32],
}

impl SourceFile {
    /// True if the file on disk says something else by now, or is gone.
    pub fn has_changed(&self) -> bool {
        // Times are too coarse to tell: an editor can save twice within one tick.
        let read = self.path.canonicalize().and_then(|real| read_bytes(&real));
        read.map_or(true, |(bytes, _)| *blake3::hash(&bytes).as_bytes() != self.hash)
    }
}

/// Reads a file. What is not UTF-8 in a text is replaced; what is no text is refused.
pub(crate) fn read_file(path: &Path) -> io::Result<ReadFile> {
    read_real_file(path, &path.canonicalize()?)
}

/// Reads the file that `path` was found to lead to, without following any link from there.
pub(crate) fn read_real_file(path: &Path, real: &Path) -> io::Result<ReadFile> {
    let (bytes, found) = read_bytes(real)?;
    let text = decode_text(&bytes).text;
    if text.contains('\0') {
        return Err(io::Error::other("it is no text"));
    }
    let source = SourceFile {
        path: path.to_path_buf(),
        modified: found.modified().ok(),
        hash: *blake3::hash(&bytes).as_bytes(),
    };
    let identity = FileIdentity::from_metadata(path, &found);
    Ok(ReadFile { text, source, identity })
}

fn read_bytes(real: &Path) -> io::Result<(Vec<u8>, fs::Metadata)> {
    let file = open_without_links(real)?;
    let found = file.metadata()?;
    let mut bytes = Vec::with_capacity(usize::try_from(found.len().min(LARGEST)).unwrap_or_default());
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("it is larger than {LARGEST} bytes")));
    }
    Ok((bytes, found))
}

/// The system's error without its number, as models and users read it.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::IsADirectory => "it is a folder".into(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or(&text).to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_and_the_rest_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("f");
        let read = |bytes: &[u8]| {
            fs::write(&path, bytes).expect("written");
            read_file(&path).map(|file| file.text).map_err(|error| reason(&error))
        };
        assert_eq!(read(b"\xef\xbb\xbfa\r\nb").as_deref(), Ok("a\r\nb"));
        assert_eq!(read(b"caf\xe9").as_deref(), Ok("caf\u{fffd}"));
        assert_eq!(read(b"a\0b"), Err("it is no text".into()));
        assert_eq!(read(b"\xff\xfea\0\xe9\0").as_deref(), Ok("aé"));
        assert_eq!(read(b"\xfe\xff\0a\xd8\0").as_deref(), Ok("a\u{fffd}"));
        assert_eq!(read(&vec![b'a'; LARGEST as usize + 1]), Err("it is larger than 1048576 bytes".into()));
        assert_eq!(
            read_file(folder.path()).map(drop).map_err(|error| reason(&error)),
            Err("it is no file".into())
        );
        let missing = read_file(&folder.path().join("none")).map(drop).map_err(|error| reason(&error));
        assert_eq!(missing, Err("no such file".into()));
    }

    #[test]
    fn a_change_is_noticed_by_content() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("f");
        fs::write(&path, "one").expect("written");
        let source = read_file(&path).expect("readable").source;
        assert!(!source.has_changed());
        // Written anew with the same words: another time, and nothing to tell.
        fs::write(&path, "one").expect("written");
        assert!(!source.has_changed());
        fs::write(&path, "two!").expect("written");
        assert!(source.has_changed());
        fs::remove_file(&path).expect("removed");
        assert!(source.has_changed());
    }
}
