//! Folders of the workspace, held open, and the files in them.
//!
//! [`Roots::resolve`] says where a path leads at one moment; a moment later a folder on the way may have been swapped for a
//! link. So nothing is opened by its path: the folders on the way are opened one from the other, no link is followed, and a
//! file is read, made or replaced by its name in a folder that is held open. A place without links that is opened without
//! following any is the place it says, or an error.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use crate::Roots;

#[cfg(not(unix))]
mod by_path;
#[cfg(not(unix))]
pub(crate) use by_path::Folder;
#[cfg(unix)]
mod by_handle;
#[cfg(unix)]
pub(crate) use by_handle::Folder;

/// What a folder holds under one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The name.
    pub(crate) name: OsString,
    /// What has it.
    pub(crate) kind: Kind,
}

/// What kind of thing has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A folder.
    Folder,
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// What a write expects to find under the name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Over<'a> {
    /// Nothing at all.
    Nothing,
    /// The file that was found before, unchanged since.
    Found(&'a Metadata),
}

/// Opens a regular file for reading. Nothing else is ever opened, so that no pipe makes it wait and no device acts.
///
/// # Errors
/// [`io::ErrorKind::IsADirectory`] for a folder; else what the system says.
pub(crate) fn open_file(roots: &Roots, place: &Path) -> io::Result<File> {
    let (folder, name) = split(roots, place)?;
    Folder::open(roots, folder)?.open_file(name)
}

/// The folder of a place and its name there.
pub(crate) fn split<'a>(roots: &Roots, place: &'a Path) -> io::Result<(&'a Path, &'a OsStr)> {
    // The folder of a root is outside.
    let is_root = roots.folders().iter().any(|root| root == place);
    let parts = place.parent().zip(place.file_name()).filter(|_| !is_root);
    parts.ok_or_else(|| io::ErrorKind::IsADirectory.into())
}

/// The folder of the workspace that a place is in, and the rest of the way.
fn root_of<'a>(roots: &'a Roots, place: &'a Path) -> io::Result<(&'a Path, &'a Path)> {
    let ways =
        roots.folders().iter().filter_map(|root| Some((root.as_path(), place.strip_prefix(root).ok()?)));
    ways.min_by_key(|(_, rest)| rest.components().count())
        .ok_or_else(|| io::Error::new(io::ErrorKind::PermissionDenied, "it is outside of the workspace"))
}

fn changed_meanwhile() -> io::Error {
    io::Error::other("it was changed by someone else meanwhile; read it again")
}

fn check_kind(kind: Kind) -> io::Result<()> {
    match kind {
        Kind::File => Ok(()),
        Kind::Folder => Err(io::ErrorKind::IsADirectory.into()),
        Kind::Link => Err(io::Error::other("a link has taken its place meanwhile")),
        Kind::Other => Err(io::Error::other("it is a pipe, a socket or a device, not a file")),
    }
}
