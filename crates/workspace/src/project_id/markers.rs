//! The files that say which project a folder of the home belongs to, so that ids survive the loss of the registry.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::slug::ProjectId;
use crate::WorkspaceError;
use crate::staged::is_own;
use crate::write::{Creation, create_private_atomically, write_private_atomically};

/// The file's name. It holds the path of the project.
const MARKER: &str = ".project_root";

/// Whose a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// There is no folder, or nothing in it.
    Nobody,
    /// Something is in the folder, and nothing says whose it is.
    Unmarked,
    /// A marker is there but says nothing, as after a crash of a program that does not write atomically.
    Blank,
    /// The project that was asked about.
    This,
    /// Another project.
    Other,
    /// It cannot be found out.
    Unknown,
}

/// The folders of the home that have one folder for each project.
#[derive(Clone, Debug)]
pub(super) struct Bases(pub(super) [PathBuf; 2]);

impl Bases {
    /// Whose each folder with this id is.
    pub(super) fn owners(&self, id: &ProjectId, project: &Path) -> [Owner; 2] {
        self.folders(id).map(|folder| owner(&folder, project))
    }

    /// The folders with this id.
    pub(super) fn folders(&self, id: &ProjectId) -> [PathBuf; 2] {
        self.0.each_ref().map(|base| base.join(id.as_str()))
    }

    /// The id under which a marker names the project, the shortest if there are several, and no marker contradicts.
    pub(super) fn find(&self, project: &Path) -> Option<ProjectId> {
        let entries = self.0.iter().filter_map(|base| fs::read_dir(base).ok()).flatten().flatten();
        let ids = entries.filter_map(|entry| ProjectId::parse(entry.file_name().to_str()?));
        ids.filter(|id| is_owned(self.owners(id, project)))
            .min_by(|one, other| (one.as_str().len(), one).cmp(&(other.as_str().len(), other)))
    }

    /// Puts markers where there are none; `false`, and nothing left behind, if another project was faster.
    pub(super) fn claim(&self, id: &ProjectId, project: &Path) -> Result<bool, WorkspaceError> {
        let mut made = Vec::new();
        let claimed = self.folders(id).into_iter().try_fold(true, |so_far, folder| {
            let is_ours = so_far && claim_folder(&folder, project, &mut made)?;
            Ok(is_ours)
        });
        if !matches!(claimed, Ok(true)) {
            for folder in made {
                let _ = fs::remove_file(folder.join(MARKER));
                // Goes only if nobody has put anything there.
                let _ = fs::remove_dir(folder);
            }
        }
        claimed
    }

    /// Puts a marker into every folder that has none or a blank one.
    pub(super) fn complete(&self, id: &ProjectId, project: &Path) -> Result<(), WorkspaceError> {
        for folder in self.folders(id) {
            if matches!(owner(&folder, project), Owner::Nobody | Owner::Unmarked | Owner::Blank) {
                write_private_atomically(&folder.join(MARKER), &contents(project))?;
            }
        }
        Ok(())
    }

    /// Gives the folders to another project. At every moment the markers that are there name one project.
    pub(super) fn hand_over(&self, id: &ProjectId, project: &Path) -> Result<(), WorkspaceError> {
        let [first, rest @ ..] = self.folders(id).map(|folder| folder.join(MARKER));
        for marker in rest {
            remove_file(&marker)?;
        }
        write_private_atomically(&first, &contents(project))?;
        self.complete(id, project)
    }

    /// Takes back the claim to folders that hold nothing but markers; `false` if one holds more.
    pub(super) fn release(&self, id: &ProjectId) -> Result<bool, WorkspaceError> {
        let folders = self.folders(id);
        if !folders.iter().all(|folder| holds_only_marker(folder)) {
            return Ok(false);
        }
        for folder in folders {
            remove_file(&folder.join(MARKER))?;
            remove_bare(&folder);
        }
        Ok(true)
    }
}

/// Claims a folder for the project; `true` if it is the project's now. One that was not before is added to `made`.
fn claim_folder(folder: &Path, project: &Path, made: &mut Vec<PathBuf>) -> Result<bool, WorkspaceError> {
    match create_private_atomically(&folder.join(MARKER), &contents(project))? {
        Creation::Created => {
            made.push(folder.to_path_buf());
            Ok(true)
        }
        Creation::AlreadyThere => Ok(owner(folder, project) == Owner::This),
    }
}

/// True if the project may have an id whose folders belong to these: a marker says so and none denies it.
pub(super) fn is_owned(owners: [Owner; 2]) -> bool {
    owners.contains(&Owner::This) && !owners.contains(&Owner::Other)
}

/// True if the registry's word is good: it says so, no marker denies it, and nothing that could is unknown.
pub(super) fn may_be_owned(owners: [Owner; 2]) -> bool {
    is_owned(owners) || !owners.iter().any(|owner| matches!(owner, Owner::Other | Owner::Unknown))
}

/// True if a project may claim an id anew: it must not find itself among the files of another one.
pub(super) fn is_free(owners: [Owner; 2]) -> bool {
    owners.iter().all(|owner| matches!(owner, Owner::Nobody | Owner::This))
}

/// True if nothing would be lost with the folder: there is none, or it holds at most a marker.
pub(super) fn holds_only_marker(folder: &Path) -> bool {
    is_bare(folder).unwrap_or(false)
}

fn is_bare(folder: &Path) -> io::Result<bool> {
    match fs::read_dir(folder) {
        Ok(mut entries) => entries.try_fold(true, |so_far, entry| {
            let name = entry?.file_name();
            Ok(so_far && (name == MARKER || is_own(&name)))
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// Removes a folder that [`holds_only_marker`]. What it holds besides makes it stay.
pub(super) fn remove_bare(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name() == MARKER || is_own(&entry.file_name()) {
            let _ = fs::remove_file(entry.path());
        }
    }
    let _ = fs::remove_dir(folder);
}

pub(super) fn marker_of(folder: &Path) -> PathBuf {
    folder.join(MARKER)
}

/// The contents of a marker of this project. Any path fits, Unicode or not.
pub(super) fn contents(project: &Path) -> Vec<u8> {
    project.as_os_str().as_encoded_bytes().to_vec()
}

fn owner(folder: &Path, project: &Path) -> Owner {
    match fs::read(folder.join(MARKER)) {
        Ok(bytes) if names(&bytes, project) => Owner::This,
        Ok(bytes) if bytes.trim_ascii().is_empty() => Owner::Blank,
        Ok(_) => Owner::Other,
        Err(error) if error.kind() == ErrorKind::NotFound => match is_bare(folder) {
            Ok(true) => Owner::Nobody,
            Ok(false) => Owner::Unmarked,
            Err(_) => Owner::Unknown,
        },
        Err(_) => Owner::Unknown,
    }
}

/// True if a marker names the project: to the byte, for a path may end in a space or even a line end.
fn names(marker: &[u8], project: &Path) -> bool {
    let project = contents(project);
    if cfg!(windows) { marker.to_ascii_lowercase() == project } else { marker == project }
}

fn remove_file(path: &Path) -> Result<(), WorkspaceError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(WorkspaceError::writing(path, error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixture {
        root: tempfile::TempDir,
        bases: Bases,
    }

    impl Fixture {
        /// Makes `tmp` and `history` with these files.
        fn new(files: &[(&str, &str)]) -> Self {
            let root = tempfile::tempdir().expect("a folder");
            for (name, text) in files {
                let path = root.path().join(name);
                fs::create_dir_all(path.parent().expect("a folder")).expect("made");
                fs::write(path, text).expect("written");
            }
            let bases = Bases(["tmp", "history"].map(|base| root.path().join(base)));
            Self { root, bases }
        }

        fn text(&self, name: &str) -> Option<String> {
            fs::read_to_string(self.root.path().join(name)).ok()
        }
    }

    fn id(text: &str) -> ProjectId {
        ProjectId::parse(text).expect("an id")
    }

    const TMP: &str = "tmp/app/.project_root";
    const HISTORY: &str = "history/app/.project_root";

    #[track_caller]
    fn check_owners(files: &[(&str, &str)], expected: [Owner; 2]) {
        assert_eq!(Fixture::new(files).bases.owners(&id("app"), Path::new("/w/app")), expected);
    }

    #[test]
    fn markers_tell_whose_a_folder_is() {
        check_owners(&[], [Owner::Nobody, Owner::Nobody]);
        check_owners(&[(TMP, "/w/app"), (HISTORY, "/w/ap")], [Owner::This, Owner::Other]);
        check_owners(&[(TMP, "/w/app "), (HISTORY, "/w/app\n")], [Owner::Other, Owner::Other]);
        check_owners(&[(TMP, ""), (HISTORY, " \n")], [Owner::Blank, Owner::Blank]);
        check_owners(&[("tmp/app/chats/a", ""), ("history/app", "")], [Owner::Unmarked, Owner::Unknown]);
    }

    #[track_caller]
    fn check_rights(owners: [Owner; 2], expected: (bool, bool, bool)) {
        assert_eq!((is_owned(owners), may_be_owned(owners), is_free(owners)), expected, "{owners:?}");
    }

    #[test]
    fn no_project_takes_what_may_be_another_ones() {
        use Owner::{Blank, Nobody, Other, This, Unknown, Unmarked};
        check_rights([This, This], (true, true, true));
        check_rights([This, Nobody], (true, true, true));
        check_rights([This, Unknown], (true, true, false));
        check_rights([This, Other], (false, false, false));
        check_rights([Nobody, Nobody], (false, true, true));
        check_rights([Unmarked, Blank], (false, true, false));
        check_rights([Unknown, Nobody], (false, false, false));
        check_rights([Nobody, Other], (false, false, false));
    }

    #[test]
    fn a_lost_race_leaves_nothing_behind() {
        let fixture = Fixture::new(&[(HISTORY, "/theirs")]);
        assert!(!fixture.bases.claim(&id("app"), Path::new("/ours")).expect("answered"));
        assert!(!fixture.root.path().join("tmp/app").exists());
        assert_eq!(fixture.text(HISTORY).as_deref(), Some("/theirs"));
        assert!(fixture.bases.claim(&id("app"), Path::new("/theirs")).expect("answered"));
        assert_eq!(fixture.text(TMP).as_deref(), Some("/theirs"));
    }

    #[test]
    fn the_shortest_id_that_nothing_contradicts_is_found() {
        let files = [
            ("tmp/app-1/.project_root", "/w/app"),
            ("tmp/app-22/.project_root", "/w/app"),
            (TMP, "/w/app"),
            (HISTORY, "/theirs"),
            ("tmp/Not An Id/.project_root", "/w/app"),
        ];
        assert_eq!(Fixture::new(&files).bases.find(Path::new("/w/app")), Some(id("app-1")));
        assert_eq!(Fixture::new(&files).bases.find(Path::new("/w")), None);
    }

    #[test]
    fn only_folders_without_contents_are_released() {
        let fixture = Fixture::new(&[(TMP, "/w/app"), ("history/app/objects/1", "x")]);
        assert!(!fixture.bases.release(&id("app")).expect("answered"));
        assert_eq!(fixture.text(TMP).as_deref(), Some("/w/app"));
        let fixture = Fixture::new(&[(TMP, "/w/app")]);
        assert!(fixture.bases.release(&id("app")).expect("answered"));
        assert!(!fixture.root.path().join("tmp/app").exists());
    }
}
