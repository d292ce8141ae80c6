//! Writes the result, and beside it the whole texts that it only points to.

use std::path::{Component, Path, PathBuf};

use anyhow::anyhow;
use longhaul_workspace::create_private_folder;

use super::Compression;
use crate::destination::{Destination, Existing};

/// Writes the saved texts first, so that the result never points to a missing file. A session that did not fit is not written
/// at all.
pub(super) fn write(compression: &mut Compression, input: &Path) -> anyhow::Result<()> {
    if compression.outcome.status.is_failure() {
        compression.destination = Destination::Nowhere;
    }
    if let Destination::File { path, .. } = &compression.destination {
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        for file in &compression.outcome.files {
            let path = beside(&folder, &file.file)?;
            create_private_folder(path.parent().unwrap_or(&folder))?;
            Destination::plan(Some(&path), input, Existing::Replaced)?.write(&file.text)?;
            compression.saved.push(path);
        }
    }
    compression.destination.write(&compression.written.text)
}

/// A path below the folder; rejects names that would lead out of it.
fn beside(folder: &Path, file: &str) -> anyhow::Result<PathBuf> {
    let file = Path::new(file);
    if !file.components().all(|component| matches!(component, Component::Normal(_))) {
        return Err(anyhow!("invalid path for a saved text: {}", file.display()));
    }
    Ok(folder.join(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_texts_stay_below_the_folder() {
        assert_eq!(beside(Path::new("a"), "b/c.txt").ok(), Some(PathBuf::from("a/b/c.txt")));
        for outside in ["../b", "/etc/b", "b/../../c"] {
            assert!(beside(Path::new("a"), outside).is_err(), "{outside}");
        }
    }
}
