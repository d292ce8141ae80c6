//! Reads recorded sessions of any supported format, message by message, until cancelled.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::Context;
use longhaul_conversation::Message;
use longhaul_formats::{Event, read};
use tokio_util::sync::CancellationToken;

use crate::sessions::SeenParts;

/// The treatment of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    /// The user named it.
    Followed,
    /// It was found among a project's sessions, which are never links.
    Refused,
}

/// Reads a session; returns the folder that it was recorded in, where it says so.
pub(super) fn read_messages(
    path: &Path,
    links: Links,
    cancel: &CancellationToken,
    hear: &mut dyn FnMut(&Message),
) -> anyhow::Result<Option<String>> {
    let file = open(path, links).context("could not open it")?;
    let mut seen = SeenParts::default();
    let info = read(Watched { file, cancel }, &mut |event| {
        if let Event::Change(change) = event
            && let Some(message) = seen.new_parts(&change)
        {
            hear(&message);
        }
    })?;
    Ok(info.directory)
}

fn open(path: &Path, links: Links) -> io::Result<File> {
    let named = path.symlink_metadata()?;
    if links == Links::Refused && !named.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let file = File::open(path)?;
    // Whatever took its place meanwhile is not what was found.
    #[cfg(unix)]
    if links == Links::Refused {
        use std::os::unix::fs::MetadataExt;

        let opened = file.metadata()?;
        if (opened.dev(), opened.ino()) != (named.dev(), named.ino()) {
            return Err(io::Error::other("the file was replaced while it was opened"));
        }
    }
    Ok(file)
}

/// A file that ends early when cancelled.
struct Watched<'a> {
    file: File,
    cancel: &'a CancellationToken,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("reading was cancelled"));
        }
        self.file.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const SESSION: &str = r#"{"contents":[{"role":"user","parts":[{"text":"Hello"}]}]}"#;

    fn count(path: &Path, links: Links, cancel: &CancellationToken) -> anyhow::Result<usize> {
        let mut messages = 0;
        read_messages(path, links, cancel, &mut |_| messages += 1).map(|_| messages)
    }

    #[test]
    fn sessions_are_read_until_somebody_has_enough() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.json");
        fs::write(&path, SESSION).expect("written");
        let cancel = CancellationToken::new();
        assert_eq!(count(&path, Links::Refused, &cancel).expect("read"), 1);
        assert!(count(&folder.path().join("none"), Links::Followed, &cancel).is_err());
        cancel.cancel();
        assert!(count(&path, Links::Refused, &cancel).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_among_the_sessions_are_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, link) = (folder.path().join("a.json"), folder.path().join("b.json"));
        fs::write(&path, SESSION).expect("written");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        let cancel = CancellationToken::new();
        assert!(count(&link, Links::Refused, &cancel).is_err());
        assert_eq!(count(&link, Links::Followed, &cancel).expect("read"), 1);
    }
}
