//! Shared test support. Only ever a dev-dependency.
//!
//! ```
//! // Tests on real sessions run if the corpus is there, and say so if it is not.
//! if let Some(corpus) = longhaul_testkit::corpus() {
//!     assert!(corpus.join("README.md").exists());
//! }
//! ```

#[cfg(feature = "browser")]
pub mod browser;
#[cfg(feature = "servers")]
pub mod fake_provider;
#[cfg(feature = "messages")]
pub mod messages;
#[cfg(feature = "servers")]
pub mod strict_provider;

use std::path::{Path, PathBuf};

/// The folder of real sessions that `LONGHAUL_CORPUS` names. If it is not set, prints `skipped: no corpus`, so that the
/// output shows how many tests were skipped.
pub fn corpus() -> Option<PathBuf> {
    match std::env::var_os("LONGHAUL_CORPUS").filter(|path| !path.is_empty()) {
        Some(path) => {
            let path = PathBuf::from(path);
            assert!(path.is_dir(), "LONGHAUL_CORPUS names {}, which is no folder", path.display());
            Some(path)
        }
        None => {
            println!("skipped: no corpus");
            None
        }
    }
}

/// The files below `folder`, sorted.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let path = entry.unwrap_or_else(|error| panic!("{}: {error}", folder.display())).path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}
