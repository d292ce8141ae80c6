//! Reads one text file, within limits, and knows it again when it has changed.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use longhaul_workspace::{decode_text, open_without_links};

use crate::identity::FileIdentity;

/// Of a memory file or an import, no more bytes than this are read.
pub(crate) const LARGEST: u64 = 1 << 20;

/// The text of a file, with what it takes to notice a change.
#[derive(Clone, Debug)]
pub(crate) struct ReadFile {
    pub(crate) text: String,
    pub(crate) source: SourceFile,
    pub(crate) identity: FileIdentity,
    /// The bytes behind the text that were not read, as the file is too large.
    pub(crate) unread: u64,
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
        read.map_or(true, |read| read.hash() != self.hash)
    }
}

/// Reads a file. What is not UTF-8 in a text is replaced; what is no text is refused.
pub(crate) fn read_file(path: &Path) -> io::Result<ReadFile> {
    read_real_file(path, &path.canonicalize()?)
}

/// Reads the file that `path` was found to lead to, without following any link from there.
pub(crate) fn read_real_file(path: &Path, real: &Path) -> io::Result<ReadFile> {
    let read = read_bytes(real)?;
    let mut text = decode_text(&read.bytes).text;
    if text.contains('\0') {
        return Err(io::Error::other("it is no text"));
    }
    if read.unread > 0 {
        // The last line read may have lost its end, or half a letter.
        let end = text.rfind('\n').map_or(text.trim_end_matches('\u{fffd}').len(), |end| end + 1);
        text.truncate(end);
    }
    let source =
        SourceFile { path: path.to_path_buf(), modified: read.found.modified().ok(), hash: read.hash() };
    let identity = FileIdentity::from_metadata(path, &read.found);
    Ok(ReadFile { text, source, identity, unread: read.unread })
}

/// The beginning of a file, and how much there is behind it.
struct ReadBytes {
    bytes: Vec<u8>,
    unread: u64,
    found: fs::Metadata,
}

impl ReadBytes {
    /// Tells one content from another, as far as it was read.
    fn hash(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.bytes).update(&self.unread.to_le_bytes());
        *hasher.finalize().as_bytes()
    }
}

fn read_bytes(real: &Path) -> io::Result<ReadBytes> {
    let file = open_without_links(real)?;
    let found = file.metadata()?;
    let mut bytes = Vec::with_capacity(usize::try_from(found.len().min(LARGEST)).unwrap_or_default());
    file.take(LARGEST).read_to_end(&mut bytes)?;
    let unread = found.len().saturating_sub(bytes.len() as u64);
    Ok(ReadBytes { bytes, unread, found })
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
        assert_eq!(
            read_file(folder.path()).map(drop).map_err(|error| reason(&error)),
            Err("it is no file".into())
        );
        let missing = read_file(&folder.path().join("none")).map(drop).map_err(|error| reason(&error));
        assert_eq!(missing, Err("no such file".into()));
    }

    #[test]
    fn of_a_large_file_whole_lines_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("f");
        let line = "é is two bytes\n";
        let lines = LARGEST as usize / line.len();
        fs::write(&path, line.repeat(lines + 10)).expect("written");
        let file = read_file(&path).expect("readable");
        assert_eq!(file.text, line.repeat(lines));
        assert_eq!(file.unread, (line.len() * (lines + 10)) as u64 - LARGEST);
        assert!(!file.source.has_changed());
        fs::write(&path, line.repeat(lines + 11)).expect("written");
        assert!(file.source.has_changed());
        // Without any line end, half a letter is left out.
        fs::write(&path, format!("a{}", "é".repeat(LARGEST as usize))).expect("written");
        let text = read_file(&path).expect("readable").text;
        assert!(text.ends_with('é') && text.len() as u64 == LARGEST - 1);
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
