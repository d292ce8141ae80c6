//! Saves facts: adds one to a memory file, under a lock and atomically, unless it is there already.

mod fact;
mod facts;
mod known;
mod proposal;
mod propose;
mod section;
mod tool;

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use longhaul_conversation::Timestamp;
use longhaul_workspace::{Lock, LockTimeout, WorkspaceError, write_private_atomically};

use crate::duplicates::Remembered;
use crate::error::MemoryError;
use crate::load::private_files;
use crate::places::Places;
use crate::read::LARGEST;
use crate::settings::MemorySettings;

pub use fact::Fact;
pub use facts::{
    FactEdit, FactPreview, RememberedFact, edit_fact, find_facts, pick_facts, preview_edit, preview_removal,
    remove_fact,
};
pub use known::KnownMemory;
pub use proposal::Proposal;
pub use propose::{ProposedScope, propose_scope};
pub use tool::{SAVE_TOOL, SaveCall, parse_save_call, save_failure, save_schema};

/// The scope of a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FactScope {
    /// Every project of the user.
    Global,
    /// This project, for this user.
    Project,
    /// This folder of a project, for everybody.
    Folder(PathBuf),
}

impl FactScope {
    /// Those that have no more to them than their names.
    pub(crate) const NAMED: [Self; 2] = [Self::Global, Self::Project];

    /// The word for it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Project => "project",
            Self::Folder(_) => "folder",
        }
    }
}

/// The outcome of saving a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedFact {
    /// The file.
    pub path: PathBuf,
    /// The fact as it was understood.
    pub fact: Fact,
    /// The change.
    pub change: FactChange,
}

/// The change that saving a fact made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FactChange {
    /// The fact was added.
    Added {
        /// The line that it stands in now, from 1.
        line: usize,
        /// A fact that says much the same.
        similar: Option<Remembered>,
        /// A fact that seems to contradict it; it is still there.
        contradicts: Option<Remembered>,
    },
    /// Nothing: the fact is there already.
    AlreadyThere {
        /// The place and the words.
        known: Remembered,
    },
    /// The file holds what the user made of the proposal.
    Edited,
}

impl FactChange {
    /// The remark about what the file says already that has to do with the fact, in a sentence.
    pub fn remark(&self) -> Option<String> {
        match self {
            Self::Edited => None,
            Self::AlreadyThere { known } => Some(known.remark("says so already")),
            Self::Added { similar, contradicts, .. } => {
                let opposite = contradicts.as_ref().map(|known| known.remark("seems to contradict it"));
                opposite.or_else(|| similar.as_ref().map(|known| known.remark("says much the same")))
            }
        }
    }
}

/// The message for a user or a model.
impl fmt::Display for SavedFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.change {
            FactChange::Edited => f.write_str("Okay, I've updated the memory file with your modifications."),
            FactChange::AlreadyThere { known } => {
                write!(
                    f,
                    "Nothing to save: line {} of {} says {:?} already.",
                    known.line,
                    known.file.as_ref().unwrap_or(&self.path).display(),
                    known.text
                )
            }
            FactChange::Added { contradicts, .. } => {
                write!(f, "Okay, I've remembered that: \"{}\"", self.fact)?;
                if let Some(remark) = self.change.remark() {
                    write!(f, " {remark}")?;
                }
                match contradicts {
                    Some(_) => f.write_str(" Ask the user which one holds."),
                    None => Ok(()),
                }
            }
        }
    }
}

/// The file that facts of this scope are saved to.
///
/// # Errors
/// [`MemoryError::NoPlace`] if nothing is known of the home, or of the project.
pub fn save_target(
    scope: FactScope,
    places: &Places,
    settings: &MemorySettings,
) -> Result<PathBuf, MemoryError> {
    let name = scope.name();
    let no_place = || MemoryError::NoPlace { scope: name };
    match scope {
        FactScope::Global => Ok(places.home.as_ref().ok_or_else(no_place)?.join(settings.names.first())),
        FactScope::Project => {
            let folder = places.private.as_ref().ok_or_else(no_place)?;
            // Of several files one is added to: another one would hide it from programs that read only the index.
            let first = private_files(places, settings).into_iter().next();
            Ok(first.unwrap_or_else(|| folder.join(settings.names.first())))
        }
        FactScope::Folder(folder) => {
            let files = settings.names.iter().map(|name| folder.join(name));
            let there: Vec<PathBuf> = files.filter(|file| file.symlink_metadata().is_ok()).collect();
            let own = there.iter().find(|file| !file.is_symlink()).cloned();
            match (own, there.into_iter().next()) {
                (Some(own), _) => Ok(own),
                // Whoever made the link may have meant it for anything.
                (None, Some(link)) => Err(MemoryError::Link { path: link }),
                (None, None) => Ok(folder.join(settings.names.first())),
            }
        }
    }
}

/// Adds a fact to the file of a project's folder, as [`save_fact`] does. `lock` is the file beside which the lock is made:
/// a project is left without one. A new file is as readable as others.
///
/// # Errors
/// [`MemoryError`]; the file is then as it was.
pub fn save_in_folder(
    path: &Path,
    lock_beside: &Path,
    fact: &Fact,
    known: KnownMemory,
    now: Timestamp,
    timeout: LockTimeout,
) -> Result<SavedFact, MemoryError> {
    let _lock = lock(lock_beside, timeout)?;
    let before = read_memory(path)?;
    let made = fs::OpenOptions::new().write(true).create_new(true).open(path);
    let saved = Proposal::new(path, &before, fact, known, now).write();
    if made.is_ok() && saved.is_err() {
        // Nobody misses an empty file.
        let _ = fs::remove_file(path);
    }
    saved
}

/// Adds a fact to a file, which need not exist, with the day on which that happened, unless it is `known`.
///
/// # Errors
/// [`MemoryError`]; the file is then as it was.
pub fn save_fact(
    path: &Path,
    fact: &Fact,
    known: KnownMemory,
    now: Timestamp,
    timeout: LockTimeout,
) -> Result<SavedFact, MemoryError> {
    let _lock = lock(path, timeout)?;
    let before = read_memory(path)?;
    Proposal::new(path, &before, fact, known, now).write()
}

fn lock(path: &Path, timeout: LockTimeout) -> Result<Lock, MemoryError> {
    Lock::beside(path, "saving a fact", timeout).map_err(|cause| failed(path, cause))
}

fn failed(path: &Path, cause: WorkspaceError) -> MemoryError {
    MemoryError::Files { path: path.to_path_buf(), cause }
}

/// The contents of a file; empty if there is none. A file that is no text is refused: writing it back would change it.
fn read_memory(path: &Path) -> Result<String, MemoryError> {
    let path_buf = || path.to_path_buf();
    match fs::metadata(path) {
        Ok(found) if found.len() > LARGEST => {
            return Err(MemoryError::TooLarge { path: path_buf(), limit: LARGEST });
        }
        Ok(found) if !found.is_file() => return Err(MemoryError::NotText { path: path_buf() }),
        _ => {}
    }
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(String::new()),
        Err(cause) => return Err(failed(path, WorkspaceError::Unreadable { path: path_buf(), cause })),
    };
    String::from_utf8(bytes).map_err(|_| MemoryError::NotText { path: path_buf() })
}

fn write_memory(path: &Path, text: &str) -> Result<(), MemoryError> {
    write_private_atomically(path, text.as_bytes()).map_err(|cause| failed(path, cause))
}
