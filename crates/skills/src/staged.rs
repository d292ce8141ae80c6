//! Folders that are not yet, or no longer, under their own name. A killed process leaves one behind, which means nothing.

use std::io;
use std::path::Path;

use tempfile::TempDir;

/// How the names of such folders begin.
pub(crate) const PREFIX: &str = ".longhaul-";

/// A new folder in this one, which only its owner can enter and which is gone when it is dropped.
pub(crate) fn staged_folder(beside: &Path) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o700));
    }
    builder.tempdir_in(beside)
}
