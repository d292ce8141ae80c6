//! Brings along what is kept under the older kind of id, a hash of the project's path.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::markers::{Bases, contents, holds_only_marker, marker_of, remove_bare};
use super::slug::{ProjectId, project_hash};
use crate::WorkspaceError;
use crate::write::{create_private_folder, write_private_atomically};

/// Says in a folder that was migrated where it came from, so that what users delete later does not come back.
const MIGRATED: &str = ".migrated_from";

/// The folders to copy: from those under the hash to those under the id that hold nothing yet.
pub(super) fn pending(bases: &Bases, id: &ProjectId, project: &Path) -> Vec<(PathBuf, PathBuf)> {
    let hash = project_hash(project);
    if id.as_str() == hash {
        return Vec::new();
    }
    let folders = bases.0.iter().map(|base| base.join(&hash)).zip(bases.folders(id));
    folders.filter(|(old, new)| old.is_dir() && holds_only_marker(new)).collect()
}

/// Copies a folder to its new name, whole or not at all. The old one stays for those who still look there.
///
/// Markers elsewhere hold the claim while this folder is exchanged for the copy.
pub(super) fn run_migration(old: &Path, new: &Path, project: &Path) -> Result<(), WorkspaceError> {
    let name = new.file_name().unwrap_or_default().to_string_lossy();
    let staging = new.with_file_name(format!(".{name}.migrating"));
    let failed = |cause| WorkspaceError::writing(new, cause);
    // What an earlier attempt left is not whole.
    if staging.symlink_metadata().is_ok() {
        fs::remove_dir_all(&staging).map_err(failed)?;
    }
    let copied = copy_folder(old, &staging).and_then(|()| {
        write_private_atomically(&marker_of(&staging), &contents(project))?;
        let from = old.file_name().unwrap_or_default();
        write_private_atomically(&staging.join(MIGRATED), from.as_encoded_bytes())?;
        remove_bare(new);
        fs::rename(&staging, new).map_err(failed)
    });
    if copied.is_err() {
        let _ = fs::remove_dir_all(&staging);
    }
    copied
}

/// Copies files with their modes and links as links; sockets and the like are not worth keeping.
fn copy_folder(from: &Path, to: &Path) -> Result<(), WorkspaceError> {
    create_private_folder(to)?;
    let entries = fs::read_dir(from).map_err(|cause| WorkspaceError::reading(from, cause))?;
    for entry in entries {
        let entry = entry.map_err(|cause| WorkspaceError::reading(from, cause))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(|cause| WorkspaceError::reading(&source, cause))?;
        if kind.is_dir() {
            copy_folder(&source, &target)?;
        } else if kind.is_symlink() {
            copy_link(&source, &target).map_err(|cause| WorkspaceError::writing(&target, cause))?;
        } else if kind.is_file() {
            fs::copy(&source, &target).map_err(|cause| WorkspaceError::writing(&target, cause))?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn copy_link(from: &Path, to: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(fs::read_link(from)?, to)
}

#[cfg(not(unix))]
fn copy_link(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_file() { fs::copy(from, to).map(drop) } else { Ok(()) }
}
