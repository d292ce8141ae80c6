//! Workspace folders, held open, and the files in them.
//!
//! [`Roots::resolve`] is right about a path for one moment only; a moment later a folder on the way may have been
//! swapped for a link. So nothing is opened by its path: folders are opened one from another, no link is followed, and
//! a file is read, created or replaced by its name in a folder that is held open. A path without links that is opened
//! without following any is the right one, or an error.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use crate::Roots;

#[cfg(not(unix))]
mod by_path;
#[cfg(not(unix))]
pub(crate) use by_path::OpenFolder;
#[cfg(unix)]
mod by_handle;
#[cfg(unix)]
pub(crate) use by_handle::OpenFolder;

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FolderEntry {
    /// The name.
    pub(crate) name: OsString,
    /// Its kind.
    pub(crate) kind: FolderEntryKind,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FolderEntryKind {
    /// A folder.
    Folder,
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// The file that a write expects to replace.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Replaces<'a> {
    /// None: the name must be free.
    Nothing,
    /// This file, unchanged since it was found.
    Found(&'a Metadata),
}

/// Opens a regular file for reading. Nothing else is ever opened, so that no pipe blocks and no device acts.
///
/// # Errors
/// [`io::ErrorKind::IsADirectory`] for a folder, else the error of the system.
pub(crate) fn open_file(roots: &Roots, place: &Path) -> io::Result<File> {
    let (folder, name) = split(roots, place)?;
    OpenFolder::open(roots, folder)?.open_file(name)
}

/// Splits a path into its folder and its name.
pub(crate) fn split<'a>(roots: &Roots, place: &'a Path) -> io::Result<(&'a Path, &'a OsStr)> {
    // The parent folder of a root is outside.
    let is_root = roots.folders().iter().any(|root| root == place);
    let parts = place.parent().zip(place.file_name()).filter(|_| !is_root);
    parts.ok_or_else(|| io::ErrorKind::IsADirectory.into())
}

/// The root that a path is in, and the path relative to it.
fn root_of<'a>(roots: &'a Roots, place: &'a Path) -> io::Result<(&'a Path, &'a Path)> {
    let ways =
        roots.folders().iter().filter_map(|root| Some((root.as_path(), place.strip_prefix(root).ok()?)));
    ways.min_by_key(|(_, rest)| rest.components().count())
        .ok_or_else(|| io::Error::new(io::ErrorKind::PermissionDenied, "it is outside of the workspace"))
}

fn changed_meanwhile() -> io::Error {
    io::Error::other("it was changed by someone else meanwhile; read it again")
}

fn check_kind(kind: FolderEntryKind) -> io::Result<()> {
    match kind {
        FolderEntryKind::File => Ok(()),
        FolderEntryKind::Folder => Err(io::ErrorKind::IsADirectory.into()),
        FolderEntryKind::Link => Err(io::Error::other("a link has taken its place meanwhile")),
        FolderEntryKind::Other => Err(io::Error::other("it is a pipe, a socket or a device, not a file")),
    }
}
