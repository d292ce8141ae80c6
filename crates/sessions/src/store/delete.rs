//! Deletes a session with everything that belongs to it, and nothing else.
//!
//! All that is deleted is in the project's own folder. Links are not followed and not deleted: a link in the place of a
//! file or folder is somebody's intention, or an attack. What the name of a file promises is checked against the id in
//! it, for two sessions may begin with the same eight letters.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use longhaul_workspace::{Lock, LockTimeout, WorkspaceError};

use super::metadata::id_in_head;
use super::names::{SHORT, fault_of_id, is_remnant_of, short_in, short_of, stem_of};
use super::{Store, StoreError};

/// The result of deleting a session.
#[derive(Debug, Default)]
pub struct Deletion {
    /// The sessions that the deleted files held; usually one, or none where the file was broken.
    pub ids: Vec<String>,
    /// Every file and folder that was removed.
    pub removed: Vec<PathBuf>,
    /// Items of the session that could not or must not be removed.
    pub problems: Vec<StoreError>,
}

/// The file of a main session.
struct MainFile {
    name: String,
    /// The session that it says it is.
    id: Option<String>,
}

impl Store {
    /// Deletes the session with this id, its first eight letters, or the name of its file, together with its log, tool
    /// outputs, plans and tasks, and those of its sub-agents.
    ///
    /// # Errors
    /// [`StoreError::InvalidName`], [`StoreError::UnknownSession`], [`StoreError::Ambiguous`], [`StoreError::InUse`],
    /// [`StoreError::Misplaced`] or [`StoreError::Failed`]. But for the last, nothing was touched.
    pub fn delete(&self, given: &str) -> Result<Deletion, StoreError> {
        let stem = stem_of(given).unwrap_or(given);
        if let Some(reason) = fault_of_id(stem) {
            return Err(StoreError::InvalidName { given: given.to_owned(), reason });
        }
        if !is_real_folder(&self.root)? || !is_real_folder(&self.chats)? {
            return Err(StoreError::UnknownSession { given: given.to_owned() });
        }
        let names = self.names()?;
        let named: Vec<&String> = names.iter().filter(|name| stem_of(name) == Some(stem)).collect();
        let meant = if named.is_empty() {
            if given.len() < SHORT {
                let reason = "at least eight characters are needed";
                return Err(StoreError::InvalidName { given: given.to_owned(), reason });
            }
            self.files_of_id(given, &names)?
        } else {
            self.files_of_name(&named, &names)?
        };
        if meant.is_empty() {
            return Err(StoreError::UnknownSession { given: given.to_owned() });
        }
        self.delete_files(&meant)
    }

    /// Deletes files of one session by their names, as far as they still hold the session `id` or none.
    pub(super) fn delete_named(&self, names: &[String], id: Option<&str>) -> Result<Deletion, StoreError> {
        let unknown = || StoreError::UnknownSession { given: names.first().cloned().unwrap_or_default() };
        if !is_real_folder(&self.root)? || !is_real_folder(&self.chats)? {
            return Err(unknown());
        }
        let mut meant = Vec::new();
        for name in names.iter().filter(|name| stem_of(name).is_some() && !name.contains(['/', '\\'])) {
            let file = self.main_file(name)?;
            if id.is_none() || file.id.is_none() || file.id.as_deref() == id {
                meant.push(file);
            }
        }
        if meant.is_empty() { Err(unknown()) } else { self.delete_files(&meant) }
    }

    /// The names in the folder of the main sessions.
    fn names(&self) -> Result<Vec<String>, StoreError> {
        let failed = |cause| StoreError::Failed { act: "list", path: self.chats.clone(), cause };
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.chats).map_err(failed)? {
            names.extend(entry.map_err(failed)?.file_name().into_string().ok());
        }
        names.sort();
        Ok(names)
    }

    /// A file with the session that it holds. It is not opened unless it is one.
    fn main_file(&self, name: &str) -> Result<MainFile, StoreError> {
        let path = self.chats.join(name);
        check_file(&path)?;
        let id = id_in_head(&path).map_err(|cause| StoreError::Failed { act: "read", path, cause })?;
        Ok(MainFile { name: name.to_owned(), id })
    }

    /// The files that are called by the first letters of `given`, but for those of other sessions.
    fn files_of_id(&self, given: &str, names: &[String]) -> Result<Vec<MainFile>, StoreError> {
        let mut files = self.files_of_short(&short_of(given), names)?;
        let mut ids: Vec<String> = files.iter().filter_map(|file| file.id.clone()).collect();
        ids.sort();
        ids.dedup();
        if ids.iter().any(|id| id == given) {
            files.retain(|file| file.id.as_deref().is_none_or(|id| id == given));
        } else if given.len() > SHORT {
            files.retain(|file| file.id.is_none());
        } else if ids.len() > 1 {
            return Err(StoreError::Ambiguous { given: given.to_owned(), ids });
        }
        if files.is_empty() {
            // A file that was renamed still says which session it is.
            let all = names.iter().filter(|name| stem_of(name).is_some());
            let known = all.filter_map(|name| self.main_file(name).ok());
            files.extend(known.filter(|file| file.id.as_deref() == Some(given)));
        }
        Ok(files)
    }

    /// The named files, with the others of their session.
    fn files_of_name(&self, named: &[&String], names: &[String]) -> Result<Vec<MainFile>, StoreError> {
        let mut files = Vec::new();
        for name in named {
            files.push(self.main_file(name)?);
        }
        let ids: HashSet<String> = files.iter().filter_map(|file| file.id.clone()).collect();
        let short = stem_of(named[0]).map(short_in).unwrap_or_default();
        for other in self.files_of_short(short, names)? {
            let is_new = !named.iter().any(|name| **name == other.name);
            if is_new && other.id.as_ref().is_some_and(|id| ids.contains(id)) {
                files.push(other);
            }
        }
        Ok(files)
    }

    fn files_of_short(&self, short: &str, names: &[String]) -> Result<Vec<MainFile>, StoreError> {
        let has_short = |name: &&String| stem_of(name).is_some_and(|stem| short_in(stem) == short);
        names.iter().filter(has_short).map(|name| self.main_file(name)).collect()
    }

    /// Deletes files of main sessions, then what belongs to these sessions and to no other file.
    fn delete_files(&self, files: &[MainFile]) -> Result<Deletion, StoreError> {
        // All are locked before the first one goes.
        let locks = files.iter().map(|file| self.lock(&file.name)).collect::<Result<Vec<_>, _>>()?;
        let names = self.names()?;
        let mut deletion = Deletion::default();
        for file in files {
            deletion.ids.extend(file.id.clone());
            for name in names.iter().filter(|name| **name == file.name || is_remnant_of(name, &file.name)) {
                let path = self.chats.join(name);
                check_file(&path)?;
                fs::remove_file(&path).map_err(|cause| failed_removal(&path, cause))?;
                deletion.removed.push(path);
            }
            // The lock is still held, and nobody needs it any more.
            let _ = fs::remove_file(self.lock_path(&file.name));
        }
        drop(locks);
        deletion.ids.sort();
        deletion.ids.dedup();
        for id in deletion.ids.clone() {
            self.remove_artefacts(&id, &mut deletion, &mut HashSet::new());
        }
        Ok(deletion)
    }

    fn lock_path(&self, name: &str) -> PathBuf {
        self.chats.join(format!(".{name}.lock"))
    }

    fn lock(&self, name: &str) -> Result<Lock, StoreError> {
        let path = self.chats.join(name);
        let place = self.lock_path(name);
        // Locking writes to the lock file, so it must not be a link to another one.
        if place.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Err(StoreError::Misplaced { path: place, reason: "not a regular file" });
        }
        Lock::beside(&path, "deleting the session", LockTimeout::Immediate).map_err(|error| match error {
            WorkspaceError::Locked { holder, .. } => StoreError::InUse { file: name.to_owned(), holder },
            other => StoreError::Failed { act: "lock", path, cause: io::Error::other(other) },
        })
    }

    /// Removes what belongs to the session `id`, unless a main session of that id is left.
    fn remove_artefacts(&self, id: &str, deletion: &mut Deletion, done: &mut HashSet<String>) {
        if let Some(reason) = fault_of_id(id) {
            deletion.problems.push(StoreError::InvalidName { given: id.to_owned(), reason });
            return;
        }
        if !done.insert(id.to_owned()) || self.has_main_file(id) {
            return;
        }
        let found = [
            self.remove_in(&self.logs, &format!("session-{id}.jsonl"), Thing::File),
            self.remove_in(&self.tool_outputs, &format!("session-{id}"), Thing::Folder),
            self.remove_in(&self.root, id, Thing::Folder),
        ];
        for outcome in found {
            deletion.note(outcome);
        }
        for agent in self.subagents_of(id) {
            self.remove_artefacts(&agent, deletion, done);
        }
        let chats = self.remove_in(&self.chats, id, Thing::Folder);
        deletion.note(chats);
    }

    /// True if some main session of this id is there.
    fn has_main_file(&self, id: &str) -> bool {
        let short = short_of(id);
        let may_be = |name: &&String| stem_of(name).is_some_and(|stem| short_in(stem) == short);
        let Ok(names) = self.names() else { return true };
        names.iter().filter(may_be).any(|name| {
            let path = self.chats.join(name);
            // Of a file that cannot be read nobody knows whose it is.
            check_file(&path).is_ok() && id_in_head(&path).map_or(true, |found| found.as_deref() == Some(id))
        })
    }

    /// The sub-agents that worked for a session, by the names of their files.
    fn subagents_of(&self, id: &str) -> Vec<String> {
        let folder = self.chats.join(id);
        if !is_real_folder(&folder).unwrap_or(false) {
            return Vec::new();
        }
        let Ok(entries) = fs::read_dir(&folder) else { return Vec::new() };
        let agent = |entry: fs::DirEntry| {
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            let name = entry.file_name().into_string().ok().filter(|_| is_file)?;
            name.strip_suffix(".jsonl").filter(|agent| fault_of_id(agent).is_none()).map(str::to_owned)
        };
        let mut agents: Vec<String> = entries.flatten().filter_map(agent).collect();
        agents.sort();
        agents
    }

    /// Removes one thing from a folder of the project's own; `None` if it is not there.
    pub(super) fn remove_in(
        &self,
        folder: &Path,
        name: &str,
        thing: Thing,
    ) -> Result<Option<PathBuf>, StoreError> {
        if !is_real_folder(&self.root)? || !is_real_folder(folder)? {
            return Ok(None);
        }
        let path = folder.join(name);
        match thing {
            Thing::File => match check_file(&path) {
                Err(StoreError::Failed { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
                Ok(()) => {
                    fs::remove_file(&path).map_err(|cause| failed_removal(&path, cause))?;
                    Ok(Some(path))
                }
            },
            Thing::Folder if is_real_folder(&path)? => {
                // This does not follow links, neither the folder itself nor any in it.
                fs::remove_dir_all(&path).map_err(|cause| failed_removal(&path, cause))?;
                Ok(Some(path))
            }
            Thing::Folder => Ok(None),
        }
    }
}

/// The item to remove; anything else of the same name stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thing {
    File,
    Folder,
}

impl Deletion {
    fn note(&mut self, outcome: Result<Option<PathBuf>, StoreError>) {
        match outcome {
            Ok(removed) => self.removed.extend(removed),
            Err(problem) => self.problems.push(problem),
        }
    }
}

fn failed_removal(path: &Path, cause: io::Error) -> StoreError {
    StoreError::Failed { act: "delete", path: path.to_path_buf(), cause }
}

/// True if the folder is there. A link or a file in its place is an error.
pub(super) fn is_real_folder(path: &Path) -> Result<bool, StoreError> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => Ok(true),
        Ok(_) => Err(StoreError::Misplaced { path: path.to_path_buf(), reason: "not a folder" }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(cause) => Err(StoreError::Failed { act: "access", path: path.to_path_buf(), cause }),
    }
}

/// Checks that this is a regular file, and no link.
pub(super) fn check_file(path: &Path) -> Result<(), StoreError> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_file() => Ok(()),
        Ok(_) => Err(StoreError::Misplaced { path: path.to_path_buf(), reason: "not a regular file" }),
        Err(cause) => Err(StoreError::Failed { act: "access", path: path.to_path_buf(), cause }),
    }
}
