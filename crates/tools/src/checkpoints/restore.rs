//! Restores files: what would change, which files somebody else has changed since, and the writing itself.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use longhaul_conversation::Timestamp;

use super::Checkpoints;
use super::journal::{Content, Entry, Journal, hash};
use crate::Roots;
use crate::diff::diff_of_text;
use crate::folder::{OpenFolder, Replaces, split};
use crate::read::{FileReadError, looks_binary, read_whole};

/// Files to restore, as planned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restoration {
    /// The files that can be restored.
    pub files: Vec<FileRestoration>,
    /// The files that cannot, each with the reason.
    pub refused: Vec<(PathBuf, String)>,
}

/// A file to restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRestoration {
    /// The file.
    pub path: PathBuf,
    /// The path, relative to the workspace if possible.
    pub name: String,
    /// The change made to it.
    pub kind: RestorationKind,
    /// The hash of its content now; none if there is no file.
    now: Option<String>,
    /// The content to restore; none if there was no file.
    then: Option<String>,
}

/// The effect of a restoration on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestorationKind {
    /// It gets its earlier content.
    Changed {
        /// Lines that come back.
        added: usize,
        /// Lines that go.
        removed: usize,
    },
    /// It is removed, as it was made since.
    Removed,
    /// It is made again.
    Created,
}

/// Files that were restored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoredFiles {
    /// The names of the files.
    pub restored: Vec<String>,
    /// The files that could not be restored, each with the reason. They are as they were.
    pub failed: Vec<(String, String)>,
}

impl Restoration {
    /// True if there is nothing to restore, and nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.refused.is_empty()
    }
}

impl FileRestoration {
    /// The change in a few words: `src/a.rs +3 −1`.
    pub fn describe(&self) -> String {
        match self.kind {
            RestorationKind::Changed { added, removed } => format!("{} +{added} −{removed}", self.name),
            RestorationKind::Removed => format!("{} (made since: to be removed)", self.name),
            RestorationKind::Created => format!("{} (to be made again)", self.name),
        }
    }
}

impl Checkpoints {
    /// Plans to bring files back to what they were at a time. Nothing is changed.
    pub fn plan(&self, since: Timestamp) -> Restoration {
        self.plan_of(|entries| entries.into_iter().filter(|entry| entry.at >= since).collect())
    }

    /// Plans to take back the latest restoration; nothing where files were changed by tools since, and none is left.
    pub fn plan_undo(&self) -> Restoration {
        self.plan_of(|entries| {
            let latest = entries.iter().filter_map(|entry| entry.restored).max();
            entries.into_iter().filter(|entry| latest.is_some() && entry.restored == latest).collect()
        })
    }

    fn plan_of(&self, choose: impl FnOnce(Vec<Entry>) -> Vec<Entry>) -> Restoration {
        let state = self.state();
        let (Some(roots), Some(journal)) = (&state.roots, &state.journal) else {
            return Restoration::default();
        };
        let entries = choose(journal.entries());
        let mut restoration = Restoration::default();
        let mut seen = HashSet::new();
        for first in &entries {
            if !seen.insert(&first.path) {
                continue;
            }
            let known: Vec<&Entry> = entries.iter().filter(|entry| entry.path == first.path).collect();
            match plan_file(roots, journal, first, &known) {
                Ok(file) => restoration.files.extend(file),
                Err(reason) => restoration.refused.push((first.path.clone(), reason)),
            }
        }
        restoration
    }

    /// Carries a plan out, file by file; what is there now is kept, so that this can be taken back, too. A file that was changed
    /// since the plan was made is left alone.
    pub fn restore(&self, plan: &Restoration) -> RestoredFiles {
        let mut state = self.state();
        let super::State { roots: Some(roots), journal: Some(journal) } = &mut *state else {
            return RestoredFiles::default();
        };
        let number =
            journal.entries().iter().filter_map(|entry| entry.restored).max().map_or(1, |last| last + 1);
        let mut done = RestoredFiles::default();
        for file in &plan.files {
            match restore_file(roots, journal, file, number) {
                Ok(()) => done.restored.push(file.name.clone()),
                Err(error) => done.failed.push((file.name.clone(), error.to_string())),
            }
        }
        done
    }
}

/// The plan for one file; none if it is already as it was.
fn plan_file(
    roots: &Roots,
    journal: &Journal,
    first: &Entry,
    known: &[&Entry],
) -> Result<Option<FileRestoration>, String> {
    let path = resolved(roots, &first.path)?;
    let now = match read_whole(roots, &path) {
        Ok((_, bytes)) => Some(bytes),
        Err(FileReadError::Missing { .. }) => None,
        Err(error) => return Err(error.to_string()),
    };
    let now_hash = now.as_deref().map(hash);
    let target = first.before.hash();
    if now_hash.as_deref() == target {
        return Ok(None);
    }
    // Content that no tool of this session left there is somebody else's work.
    let is_ours = known
        .iter()
        .any(|entry| entry.before.hash() == now_hash.as_deref() || entry.after.hash() == now_hash.as_deref());
    if !is_ours {
        return Err(match now {
            Some(_) => "it was changed by someone else since".to_string(),
            None => "it was removed by someone else since".to_string(),
        });
    }
    let then = match &first.before {
        Content::Absent => None,
        Content::Unsaved(_) => return Err("its earlier content was too large to keep".to_string()),
        Content::Saved(hash) => {
            Some(journal.load(hash).ok_or_else(|| "its earlier content is gone".to_string())?)
        }
    };
    let kind = match (&now, &then) {
        (_, None) => RestorationKind::Removed,
        (None, Some(_)) => RestorationKind::Created,
        (Some(now), Some(then)) if looks_binary(now) || looks_binary(then) => {
            RestorationKind::Changed { added: 0, removed: 0 }
        }
        (Some(now), Some(then)) => {
            let (now, then) = (String::from_utf8_lossy(now), String::from_utf8_lossy(then));
            let diff = diff_of_text(&path, Some(&now), &then);
            RestorationKind::Changed { added: diff.added, removed: diff.removed }
        }
    };
    let name = roots.shorten(&path).display().to_string();
    Ok(Some(FileRestoration { path, name, kind, now: now_hash, then: target.map(str::to_string) }))
}

/// The place of a recorded path, if it still is in the workspace and no link leads elsewhere.
fn resolved(roots: &Roots, path: &Path) -> Result<PathBuf, String> {
    let text = path.to_str().ok_or_else(|| "its name is no text".to_string())?;
    let place = roots.resolve(text).map_err(|refusal| refusal.to_string())?;
    if place == path { Ok(place) } else { Err("a link leads elsewhere now".to_string()) }
}

fn restore_file(roots: &Roots, journal: &mut Journal, file: &FileRestoration, number: u64) -> io::Result<()> {
    let place = resolved(roots, &file.path).map_err(io::Error::other)?;
    let found = match read_whole(roots, &place) {
        Ok(found) => Some(found),
        Err(FileReadError::Missing { .. }) => None,
        Err(error) => return Err(io::Error::other(error.to_string())),
    };
    if found.as_ref().map(|(_, bytes)| hash(bytes)) != file.now {
        return Err(io::Error::other("it was changed meanwhile"));
    }
    let then = match &file.then {
        Some(hash) => {
            Some(journal.load(hash).ok_or_else(|| io::Error::other("its earlier content is gone"))?)
        }
        None => None,
    };
    let before = found.as_ref().map_or(Content::Absent, |(_, bytes)| journal.save(bytes));
    if matches!(before, Content::Unsaved(_)) {
        return Err(io::Error::other("its present content could not be kept"));
    }
    let after = file.then.clone().map_or(Content::Absent, Content::Saved);
    journal.append(&Entry { restored: Some(number), ..Entry::now(journal, &place, before, after) })?;
    let (folder, name) = split(roots, &place)?;
    match (then, found) {
        (Some(bytes), Some((metadata, _))) => {
            OpenFolder::open(roots, folder)?.write(name, &bytes, Replaces::Found(&metadata))
        }
        (Some(bytes), None) => {
            OpenFolder::open_or_create(roots, folder)?.write(name, &bytes, Replaces::Nothing)
        }
        (None, Some((metadata, _))) => OpenFolder::open(roots, folder)?.remove(name, &metadata),
        (None, None) => Ok(()),
    }
}
