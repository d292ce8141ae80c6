//! What Longhaul keeps on this machine, and its removal.
//!
//! The home is shared with Gemini CLI: settings, memory and skills there are the user's own and stay. Sessions are ours where
//! their records say so.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use longhaul_sessions::{ListedSession, Store};
use longhaul_workspace::{Home, ProjectId};
use memchr::memmem;

/// What Longhaul keeps below a home.
#[derive(Debug, Default)]
pub struct KeptData {
    /// Longhaul's own folder: typed lines, calibration, what trusted folders held.
    pub own: Option<(PathBuf, u64)>,
    /// Sessions that Longhaul wrote or compacted.
    pub sessions: Vec<KeptSession>,
}

/// A session that Longhaul wrote or compacted.
#[derive(Debug)]
pub struct KeptSession {
    /// Its file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    id: String,
    store: Store,
}

impl KeptData {
    /// Finds everything below a home. Only files that may be sessions are opened.
    ///
    /// # Errors
    /// Fails if a folder cannot be read.
    pub fn find(home: &Home) -> anyhow::Result<Self> {
        let folder = home.root().join("longhaul");
        let own = folder.is_dir().then(|| (size_of(&folder), folder)).map(|(size, folder)| (folder, size));
        let mut sessions = Vec::new();
        let mut projects: Vec<String> = fs::read_dir(home.tmp())
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        projects.sort();
        for id in projects.iter().filter_map(|name| ProjectId::parse(name)) {
            let store = Store::of(&home.project(&id));
            let listing =
                store.list().with_context(|| format!("could not list the sessions of {}", id.as_str()))?;
            let ours = listing.sessions.into_iter().filter(|session| is_ours(&session.path));
            sessions.extend(ours.map(|session: ListedSession| KeptSession {
                id: session.id().to_string(),
                size: session.size,
                path: session.path,
                store: store.clone(),
            }));
        }
        Ok(Self { own, sessions })
    }

    /// Removes Longhaul's own folder.
    ///
    /// # Errors
    /// Fails if it cannot be removed whole.
    pub fn remove_own(&self) -> anyhow::Result<()> {
        let Some((folder, _)) = &self.own else { return Ok(()) };
        fs::remove_dir_all(folder).with_context(|| format!("could not remove {}", folder.display()))
    }
}

impl KeptSession {
    /// Deletes it with everything that belongs to it.
    ///
    /// # Errors
    /// Fails if any of it stays.
    pub fn delete(&self) -> anyhow::Result<()> {
        let deletion = self.store.delete(&self.id).map_err(crate::project::failure)?;
        match deletion.problems.first() {
            Some(problem) => Err(anyhow::anyhow!("{problem}")),
            None => Ok(()),
        }
    }
}

/// Returns true if a session has records that only Longhaul writes.
fn is_ours(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| memmem::find(&bytes, b"\"$longhaul\"").is_some())
}

/// The size of all files in a folder. Links are not followed.
fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => size_of(&entry.path()),
        Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |found| found.len()),
        _ => 0,
    };
    entries.map(size).sum()
}
