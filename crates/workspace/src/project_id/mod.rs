//! Gives every project a short id, one and the same whoever asks, and keeps it.
//!
//! A registry maps paths to ids, and a marker in each of a project's folders names the path again: each can be
//! rebuilt from the other. All changes are made under a lock that Gemini CLI knows, too, and a claim on a folder is one
//! exclusive creation, so that even a program that ignores the lock cannot share an id with us.

mod markers;
mod migrate;
mod registry;
mod slug;

use std::path::{Path, PathBuf};

use crate::home::canonical_workspace;
use crate::shared_lock::SharedLock;
use crate::{Home, LockTimeout, WorkspaceError};
use markers::{Bases, is_free, is_owned, may_be_owned};
use registry::ProjectRegistry;

pub use slug::{ProjectId, project_hash};

/// The projects of a home.
#[derive(Clone, Debug)]
pub struct Projects {
    registry: PathBuf,
    bases: Bases,
}

/// The id of a project, and what happened on the way to it.
#[derive(Debug)]
pub struct ProjectIdentity {
    /// The id.
    pub id: ProjectId,
    /// The path by which the project is known: absolute, with links followed.
    pub project: PathBuf,
    /// The way in which the id was found.
    pub found: IdOrigin,
    /// Notes for the user.
    pub notes: Vec<Note>,
}

/// A project as it was looked up, without changing anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookUp {
    /// The path by which the project is known: absolute, with links followed.
    pub project: PathBuf,
    /// Its id and how it is known, if it has one.
    pub id: Option<(ProjectId, IdOrigin)>,
    /// True if the registry could be understood whole. Where not, it is rebuilt when a project is next identified.
    pub is_registry_sound: bool,
}

/// The way in which an id was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdOrigin {
    /// The registry has it.
    Registered,
    /// The registry had lost it, or had it wrong, and a marker told.
    Healed,
    /// The project has a new one.
    New,
}

/// Something unusual that does not prevent a project from having an id.
#[derive(Debug)]
pub enum Note {
    /// Nothing could be written. A new id is provisional: it is this project's alone, and is kept if anything comes to be
    /// stored under it, but gives way to a shorter one otherwise.
    NotSaved(WorkspaceError),
    /// The registry could not be understood whole. It was rebuilt, and the old one copied here.
    RegistryKeptAside(PathBuf),
    /// Files under the hash of the path were copied from here.
    Migrated(PathBuf),
    /// Files under the hash of the path could not be copied, and stay there.
    NotMigrated(WorkspaceError),
    /// A new project has the folder name of a registered one that is gone: it may have been moved, see
    /// [`Projects::adopt_moved`].
    PerhapsMovedFrom(PathBuf),
}

impl Projects {
    /// The projects of this home. Nothing is read yet.
    pub fn of(home: &Home) -> Self {
        Self { registry: home.projects(), bases: Bases([home.tmp(), home.history()]) }
    }

    /// The id of the project in this folder, a new one if it has none. The folder need not exist.
    ///
    /// In the usual case this only reads three small files. In a home that cannot be written it answers as well as it
    /// can and adds [`Note::NotSaved`].
    ///
    /// # Errors
    /// [`WorkspaceError::NotAbsolute`]; [`WorkspaceError::Locked`]; [`WorkspaceError::Unreadable`] if the registry may
    /// not be read, which is never taken for an empty one.
    pub fn identify(&self, project: &Path, timeout: LockTimeout) -> Result<ProjectIdentity, WorkspaceError> {
        let project = canonical_workspace(project)?;
        if let Some(id) = self.settled(&project)? {
            return Ok(ProjectIdentity { id, project, found: IdOrigin::Registered, notes: Vec::new() });
        }
        match self.identify_locked(&project, timeout) {
            Err(error) if error.is_about_saving() => self.identify_unsaved(project, error),
            result => result,
        }
    }

    /// Looks up the id of the project in this folder. Nothing is made, locked or mended, other than by
    /// [`Projects::identify`].
    ///
    /// # Errors
    /// [`WorkspaceError::NotAbsolute`], or what prevents reading the registry.
    pub fn look_up(&self, project: &Path) -> Result<LookUp, WorkspaceError> {
        let project = canonical_workspace(project)?;
        let registry = ProjectRegistry::load(&self.registry)?;
        let id = self.known(&registry, &project);
        Ok(LookUp { project, id, is_registry_sound: registry.is_sound() })
    }

    /// Gives `to` the id, and with it the sessions and the memory, of a project that was at `from`.
    ///
    /// # Errors
    /// [`WorkspaceError::NotMoved`] if `from` has no id, is still there, or `to` has files under an id of its own;
    /// else as [`Projects::identify`], or what prevents writing.
    pub fn adopt_moved(
        &self,
        from: &Path,
        to: &Path,
        timeout: LockTimeout,
    ) -> Result<ProjectIdentity, WorkspaceError> {
        let (from, to) = (canonical_workspace(from)?, canonical_workspace(to)?);
        let refused = |reason| Err(WorkspaceError::NotMoved { from: from.clone(), reason });
        let _lock = self.lock(timeout)?;
        let mut registry = ProjectRegistry::load(&self.registry)?;
        if from.exists() {
            return refused("the folder still exists");
        }
        let Some(id) = self.known(&registry, &from).map(|(id, _)| id) else {
            return refused("it has no project id");
        };
        let mut notes = Vec::new();
        if let Some((own, _)) = self.known(&registry, &to) {
            if !self.bases.release(&own)? {
                return refused("its new location already has sessions or checkpoints");
            }
            // Should this be the last step that is done, the markers alone must tell.
            registry.remove(&to);
            notes.extend(registry.save(&self.registry)?.map(Note::RegistryKeptAside));
        }
        self.bases.hand_over(&id, &to)?;
        registry.remove(&from);
        registry.set(&to, &id);
        if let Some(aside) = registry.save(&self.registry)?
            && notes.is_empty()
        {
            notes.push(Note::RegistryKeptAside(aside));
        }
        Ok(ProjectIdentity { id, project: to, found: IdOrigin::Registered, notes })
    }

    /// Every registered project with its id, in the order of the registry.
    ///
    /// # Errors
    /// Any error that prevents reading the registry.
    pub fn list(&self) -> Result<Vec<(PathBuf, ProjectId)>, WorkspaceError> {
        let registry = ProjectRegistry::load(&self.registry)?;
        Ok(registry.projects().map(|(path, id)| (path.to_path_buf(), id.clone())).collect())
    }

    fn lock(&self, timeout: LockTimeout) -> Result<SharedLock, WorkspaceError> {
        SharedLock::beside(&self.registry, "looking up a project id", timeout)
    }

    /// The id of a project about which nothing is to be done.
    fn settled(&self, project: &Path) -> Result<Option<ProjectId>, WorkspaceError> {
        let registry = ProjectRegistry::load(&self.registry)?;
        let id = registry.id_of(project).filter(|id| {
            registry.is_sound()
                && self.bases.owners(id, project).iter().all(|owner| *owner == markers::Owner::This)
                && migrate::pending(&self.bases, id, project).is_empty()
        });
        Ok(id.cloned())
    }

    /// The id that a project has already.
    fn known(&self, registry: &ProjectRegistry, project: &Path) -> Option<(ProjectId, IdOrigin)> {
        let registered = registry.id_of(project).filter(|id| may_be_owned(self.bases.owners(id, project)));
        match registered {
            Some(id) => Some((id.clone(), IdOrigin::Registered)),
            None => {
                let found = self.bases.find(project).or_else(|| self.used_provisional(project));
                found.map(|id| (id, IdOrigin::Healed))
            }
        }
    }

    /// The provisional id of a project, if something was stored under it after all.
    fn used_provisional(&self, project: &Path) -> Option<ProjectId> {
        let id = ProjectId::provisional(project);
        let owners = self.bases.owners(&id, project);
        (owners.contains(&markers::Owner::Unmarked) && may_be_owned(owners)).then_some(id)
    }

    fn identify_locked(
        &self,
        project: &Path,
        timeout: LockTimeout,
    ) -> Result<ProjectIdentity, WorkspaceError> {
        let _lock = self.lock(timeout)?;
        let mut registry = ProjectRegistry::load(&self.registry)?;
        let mut notes = Vec::new();
        let (id, found) = match self.known(&registry, project) {
            Some((id, found)) => {
                self.bases.complete(&id, project)?;
                (id, found)
            }
            None => {
                notes.extend(perhaps_moved_from(&registry, project).map(Note::PerhapsMovedFrom));
                (self.claim(&registry, project)?, IdOrigin::New)
            }
        };
        for (old, new) in migrate::pending(&self.bases, &id, project) {
            notes.push(match migrate::run_migration(&old, &new, project) {
                Ok(()) => Note::Migrated(old),
                Err(error) => Note::NotMigrated(error),
            });
        }
        // A migration that failed half-way may have taken the marker along.
        self.bases.complete(&id, project)?;
        if registry.id_of(project) != Some(&id) || !registry.is_sound() {
            registry.set(project, &id);
            // The markers are there: a registry that cannot be saved now is mended later.
            match registry.save(&self.registry) {
                Ok(aside) => notes.extend(aside.map(Note::RegistryKeptAside)),
                Err(error) => notes.push(Note::NotSaved(error)),
            }
        }
        Ok(ProjectIdentity { id, project: project.to_path_buf(), found, notes })
    }

    fn claim(&self, registry: &ProjectRegistry, project: &Path) -> Result<ProjectId, WorkspaceError> {
        for id in ProjectId::candidates(project) {
            let is_free = !registry.is_taken(&id, project) && is_free(self.bases.owners(&id, project));
            if is_free && self.bases.claim(&id, project)? {
                return Ok(id);
            }
        }
        unreachable!("there are more numbers than folders")
    }

    /// The best answer that needs no writing.
    fn identify_unsaved(
        &self,
        project: PathBuf,
        why: WorkspaceError,
    ) -> Result<ProjectIdentity, WorkspaceError> {
        let registry = ProjectRegistry::load(&self.registry)?;
        let known = self.known(&registry, &project);
        let (id, found) = known.unwrap_or_else(|| (ProjectId::provisional(&project), IdOrigin::New));
        // Where the id is known already, nothing of importance was to be written.
        let is_certain = found == IdOrigin::Registered && is_owned(self.bases.owners(&id, &project));
        let notes = if is_certain { Vec::new() } else { vec![Note::NotSaved(why)] };
        Ok(ProjectIdentity { id, project, found, notes })
    }
}

/// Registered projects of the same folder name whose folders are gone. That a folder is gone must be certain.
fn perhaps_moved_from(registry: &ProjectRegistry, project: &Path) -> impl Iterator<Item = PathBuf> {
    registry
        .projects()
        .map(|(path, _)| path)
        .filter(|path| {
            path.file_name() == project.file_name() && path.try_exists().is_ok_and(|exists| !exists)
        })
        .map(Path::to_path_buf)
}

#[cfg(test)]
mod tests;
