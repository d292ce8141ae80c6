//! Remembers what was found in files that have not changed since.
//!
//! It is a cache and nothing more: whatever is wrong with it costs time alone. It is never asked before something is
//! deleted.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use longhaul_workspace::write_private_cache;
use serde::{Deserialize, Serialize};

use super::metadata::SessionMetadata;

/// The name of the index, in the folder of the sessions.
pub(super) const NAME: &str = ".longhaul-index.json";

/// Changes whenever the same file would be understood otherwise.
const VERSION: u32 = 3;

/// A larger file is none of ours.
const LARGEST: u64 = 1 << 28;

/// A stamp that tells one state of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    pub(super) size: u64,
    /// Nanoseconds since 1970.
    pub(super) modified: i64,
}

impl Stamp {
    pub(super) fn of(metadata: &fs::Metadata) -> Self {
        let nanos = |time: SystemTime| match time.duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |nanos| -nanos),
        };
        Self { size: metadata.len(), modified: metadata.modified().map_or(0, nanos) }
    }
}

/// The contents of a file when it had this stamp; `None` if it was no session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) stamp: Stamp,
    pub(super) found: Option<SessionMetadata>,
}

/// The entries, by file name.
#[derive(Debug, Default)]
pub(super) struct Index {
    files: HashMap<String, Known>,
}

/// The index on disk; `R` is a row, borrowed to write it and owned to read it.
#[derive(Serialize, Deserialize)]
struct Shape<R> {
    v: u32,
    files: Vec<R>,
}

impl Index {
    /// The index in `folder`, or an empty one.
    pub(super) fn load(folder: &Path) -> Self {
        Self::read(&folder.join(NAME)).unwrap_or_default()
    }

    fn read(path: &Path) -> Option<Self> {
        let metadata = path.symlink_metadata().ok()?;
        if !metadata.is_file() || metadata.len() > LARGEST {
            return None;
        }
        let mut bytes = Vec::with_capacity(metadata.len() as usize);
        File::open(path).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
        type Row = (String, Stamp, Option<SessionMetadata>);
        let shape: Shape<Row> = serde_json::from_slice(&bytes).ok()?;
        let known = |(name, stamp, found): Row| (name, Known { stamp, found });
        (shape.v == VERSION).then(|| Self { files: shape.files.into_iter().map(known).collect() })
    }

    /// Takes out what is known of a file that has this stamp.
    pub(super) fn take(&mut self, name: &str, stamp: Stamp) -> Option<Known> {
        self.files.remove(name).filter(|known| known.stamp == stamp)
    }

    /// True if everything was taken out.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

/// Writes an index of these files. Where that is not possible, the next listing takes longer.
pub(super) fn save<'a>(folder: &Path, files: impl Iterator<Item = (&'a str, &'a Known)>) {
    let path = folder.join(NAME);
    // Whatever else has taken the name is left alone.
    if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return;
    }
    let row = |(name, known): (&'a str, &'a Known)| (name, known.stamp, known.found.as_ref());
    let shape = Shape { v: VERSION, files: files.map(row).collect() };
    if let Ok(bytes) = serde_json::to_vec(&shape) {
        let _ = write_private_cache(&path, &bytes);
    }
}
