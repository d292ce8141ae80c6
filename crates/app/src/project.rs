//! The project of the current folder, and its sessions.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use longhaul_sessions::{ListedSession, Listing, LogError, Store, StoreError};
use longhaul_workspace::{Home, LockTimeout, Note, ProjectHome, ProjectIdentity, Projects, project_hash};

use crate::failure::hinted;
use crate::{environment, found};

/// The name of the session that was used last.
pub const LATEST: &str = "latest";

/// A project, with its part of the home.
#[derive(Debug)]
pub struct Project {
    /// The folder.
    pub folder: PathBuf,
    /// Its part of the home.
    pub home: ProjectHome,
}

impl Project {
    /// The project of the current folder; `None` if nothing is stored for it. Creates nothing.
    pub fn find() -> anyhow::Result<Option<Self>> {
        let (home, cwd) = surroundings()?;
        let found = Projects::of(&home).look_up(&cwd)?;
        Ok(found.id.map(|(id, _)| Self { folder: found.project, home: home.project(&id) }))
    }

    /// The project of the current folder, created in the home if needed; with notes for the user.
    pub fn find_or_begin() -> anyhow::Result<(Self, Vec<String>)> {
        let (home, cwd) = surroundings()?;
        let ProjectIdentity { id, project, notes, .. } =
            Projects::of(&home).identify(&cwd, LockTimeout::default())?;
        let notes = notes.iter().map(told).collect();
        Ok((Self { folder: project, home: home.project(&id) }, notes))
    }

    /// Its sessions.
    pub fn store(&self) -> Store {
        Store::of(&self.home)
    }

    /// The hash that its sessions carry.
    pub(crate) fn hash(&self) -> String {
        project_hash(&self.folder)
    }
}

/// The sessions of the current folder; an error if nothing is stored for it.
pub fn store() -> anyhow::Result<Store> {
    Project::find()?.map(|project| project.store()).ok_or_else(|| failure(StoreError::NoSessions))
}

/// The file for an argument: a path, else a session by `latest`, its number or its id: one of this project's own, else one
/// that another agent keeps.
pub fn session_file(given: &Path) -> anyhow::Result<PathBuf> {
    // A link is meant as a file, also where it leads nowhere.
    let is_file = || given.symlink_metadata().is_ok();
    let Some(name) = given.to_str().filter(|_| given != Path::new("-") && !is_file()) else {
        return Ok(given.to_path_buf());
    };
    let looks_like_a_path = name.contains('/') || name.contains('\\') || name.contains('.');
    if looks_like_a_path {
        return Ok(given.to_path_buf());
    }
    let unknown = || {
        let hint = "check the path; run `longhaul sessions list` to see this folder's sessions";
        hinted(anyhow!("no file or session named {name}"), hint)
    };
    let project = Project::find()?;
    let listing = match &project {
        Some(project) => project.store().list().context("could not list the sessions")?,
        None => Listing::default(),
    };
    match select(&listing, name) {
        Ok(session) => Ok(session.path.clone()),
        Err(StoreError::UnknownSession { .. } | StoreError::NoSessions) => {
            match found::by_name(name, project.as_ref(), listing.sessions.len())? {
                Some(path) => Ok(path),
                None => archived(name)?.ok_or_else(unknown),
            }
        }
        Err(error) => Err(failure(error)),
    }
}

/// The file of a session that only the archive knows by this name.
fn archived(name: &str) -> anyhow::Result<Option<PathBuf>> {
    let Some(archive) = crate::archive::find()? else { return Ok(None) };
    archive.find(name).map(|session| crate::archive::session_file(&archive, session)).transpose()
}

/// The session for a name: as the store resolves it, or by the id prefix that `sessions list` shows.
fn select<'a>(listing: &'a Listing, name: &str) -> Result<&'a ListedSession, StoreError> {
    const SHOWN: usize = 8;
    let unknown = match listing.select(name) {
        Err(error @ StoreError::UnknownSession { .. }) if name.len() >= SHOWN => error,
        found => return found,
    };
    let alike: Vec<&ListedSession> =
        listing.sessions.iter().filter(|session| session.id().starts_with(name)).collect();
    match alike[..] {
        [] => Err(unknown),
        [only] => Ok(only),
        [..] => {
            let ids = alike.iter().map(|session| session.id().to_string()).collect();
            Err(StoreError::Ambiguous { given: name.to_string(), ids })
        }
    }
}

/// A store error with its hint.
pub fn failure(error: StoreError) -> anyhow::Error {
    let hint = match &error {
        StoreError::NoSessions => {
            "import one with `longhaul sessions import FILE`; sessions belong to the folder they were made in"
        }
        StoreError::UnknownSession { .. } | StoreError::InvalidName { .. } => {
            "use latest, its number in `longhaul sessions list`, or its id"
        }
        StoreError::Ambiguous { .. } => "use more of the id",
        StoreError::InUse { .. } => "end the program that is writing it, then try again",
        StoreError::Misplaced { .. } => "check it, and move it away",
        StoreError::Failed { .. } => return error.into(),
    };
    hinted(error, hint)
}

/// A log error with its hint.
pub fn log_failure(error: LogError) -> anyhow::Error {
    let hint = match &error {
        LogError::InUse { .. } => "end the program that is writing it, then try again",
        LogError::OtherFormat { .. } => "import it with `longhaul sessions import FILE` to continue it",
        LogError::NoSession { .. } => "pass a session; run `longhaul sessions list` to see this folder's",
        LogError::NothingToUndo { .. } => "run `longhaul sessions show` to list a session's compactions",
        _ => return error.into(),
    };
    hinted(error, hint)
}

fn surroundings() -> anyhow::Result<(Home, PathBuf)> {
    let home = Home::resolve(&environment::of_process())?;
    let cwd = std::env::current_dir().map_err(|cause| {
        hinted(anyhow!(cause).context("the current folder does not exist"), "change to an existing folder")
    })?;
    Ok((home, cwd))
}

fn told(note: &Note) -> String {
    match note {
        Note::NotSaved(error) => format!("could not save this project's id: {error}"),
        Note::RegistryKeptAside(path) => {
            format!("the project registry was broken and has been rebuilt; the old one is {}", path.display())
        }
        Note::Migrated(path) => format!("copied sessions from {}", path.display()),
        Note::NotMigrated(error) => format!("could not copy older sessions: {error}"),
        Note::PerhapsMovedFrom(path) => {
            format!("a project of this name was at {}; its sessions stay there", path.display())
        }
    }
}
