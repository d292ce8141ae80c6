//! The heads of sessions as they were read last, so that a list reads only what has changed since. It can be deleted at any
//! time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use longhaul_workspace::{create_private_folder, write_private_cache};
use serde::{Deserialize, Serialize};

use crate::head::Head;
use crate::walk::Stamp;

/// Raised whenever heads are read differently, so that older ones are read again.
const VERSION: u32 = 3;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Stored {
    version: u32,
    files: Vec<StoredFile>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredFile {
    path: PathBuf,
    modified: i64,
    size: u64,
    heads: Vec<Head>,
}

/// The heads by file.
#[derive(Debug, Default)]
pub(crate) struct Index {
    files: HashMap<PathBuf, (Stamp, Vec<Head>)>,
}

impl Index {
    /// The index in this file; an empty one if there is none or it cannot be used.
    pub(crate) fn load(path: &Path) -> Self {
        let stored = std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice::<Stored>(&bytes).ok());
        let files = stored.filter(|stored| stored.version == VERSION).unwrap_or_default().files;
        let entry =
            |file: StoredFile| (file.path, (Stamp { modified: file.modified, size: file.size }, file.heads));
        Self { files: files.into_iter().map(entry).collect() }
    }

    /// Takes out the heads of a file that has not changed since.
    pub(crate) fn take(&mut self, path: &Path, stamp: Stamp) -> Option<Vec<Head>> {
        match self.files.get(path) {
            Some((known, _)) if *known == stamp => self.files.remove(path).map(|(_, heads)| heads),
            _ => None,
        }
    }

    /// True if there are entries that nothing asked for.
    pub(crate) fn has_rest(&self) -> bool {
        !self.files.is_empty()
    }

    /// Writes the heads of these files, and no others.
    pub(crate) fn save<'h>(
        path: &Path,
        files: impl Iterator<Item = (&'h Path, Stamp, &'h [Head])>,
    ) -> Result<(), longhaul_workspace::WorkspaceError> {
        let files = files.map(|(path, stamp, heads)| StoredFile {
            path: path.to_path_buf(),
            modified: stamp.modified,
            size: stamp.size,
            heads: heads.to_vec(),
        });
        let stored = Stored { version: VERSION, files: files.collect() };
        let bytes = serde_json::to_vec(&stored).expect("heads are plain values");
        if let Some(folder) = path.parent() {
            create_private_folder(folder)?;
        }
        write_private_cache(path, &bytes)
    }
}
