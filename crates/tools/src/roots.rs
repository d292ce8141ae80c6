//! The folders in which tools may work. Every path that a model names is resolved here.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

/// The most links followed for one path.
const MAX_LINKS: usize = 40;

/// The folders in which tools may work; relative paths start at the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// Canonical paths.
    folders: Vec<PathBuf>,
    /// The only files that may be touched; none means all.
    only: Option<AllowedFiles>,
}

/// The only files that may be touched. No folders are created for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedFiles {
    /// Files with these names, in any folder that is not closed.
    pub names: Vec<String>,
    /// Closed folders: `names` does not apply in them or below.
    pub closed: Vec<PathBuf>,
    /// These files, in any place.
    pub files: Vec<PathBuf>,
}

impl AllowedFiles {
    /// True if a path without links is one of them.
    fn include(&self, place: &Path) -> bool {
        let is_named =
            place.file_name().is_some_and(|name| self.names.iter().any(|known| name == known.as_str()));
        self.files.iter().any(|file| file == place) || is_named && !self.is_closed(place)
    }

    fn is_closed(&self, place: &Path) -> bool {
        self.closed.iter().any(|folder| place.starts_with(folder))
    }

    /// Resolves links in the parent folders. The files themselves are resolved when they are touched.
    fn without_links(self) -> Self {
        let real = |folder: PathBuf| fs::canonicalize(&folder).unwrap_or(folder);
        let in_real = |file: PathBuf| match (file.parent(), file.file_name()) {
            (Some(folder), Some(name)) => real(folder.to_path_buf()).join(name),
            _ => file,
        };
        Self {
            names: self.names,
            closed: self.closed.into_iter().map(real).collect(),
            files: self.files.into_iter().map(in_real).collect(),
        }
    }

    /// The names and paths, for messages.
    fn names_and_paths(&self) -> Vec<String> {
        let files = self.files.iter().map(|file| file.display().to_string());
        self.names.iter().cloned().chain(files).collect()
    }
}

/// The reason why a path is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathRefusal {
    /// Outside the workspace.
    #[error("{path:?} is outside of the workspace, which is {}", list(.folders))]
    Outside {
        /// The path as given.
        path: String,
        /// The folders in which tools may work.
        folders: Vec<PathBuf>,
    },
    /// Inside the workspace, but not one of the allowed files.
    #[error("{path:?} is none of the files that may be touched here, which are {}", .files.join(", "))]
    NotAllowed {
        /// The path as given.
        path: String,
        /// The names and paths of the allowed files.
        files: Vec<String>,
    },
    /// Not a valid path.
    #[error("{path:?} is not a path: {reason}")]
    NoPath {
        /// The path as given.
        path: String,
        /// The problem.
        reason: &'static str,
    },
    /// A link or folder could not be followed.
    #[error("could not follow {path:?}: {reason}")]
    NotFollowed {
        /// The path as given.
        path: String,
        /// The error of the system.
        reason: String,
    },
}

fn list(folders: &[PathBuf]) -> String {
    folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
}

impl Roots {
    /// Allows `first`, at which relative paths start, and `others`.
    ///
    /// # Errors
    /// The system's error for a folder that cannot be found.
    pub fn new(first: &Path, others: &[PathBuf]) -> io::Result<Self> {
        let mut folders = vec![fs::canonicalize(first)?];
        for other in others {
            let folder = fs::canonicalize(other)?;
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        Ok(Self { folders, only: None })
    }

    /// Restricts tools to these files.
    #[must_use]
    pub fn only(self, only: AllowedFiles) -> Self {
        Self { only: Some(only.without_links()), ..self }
    }

    /// True if missing folders may be created for a file.
    pub(crate) fn may_create_folders(&self) -> bool {
        self.only.is_none()
    }

    /// Adds a folder.
    ///
    /// # Errors
    /// The system's error if it cannot be found.
    pub fn and(&self, folder: &Path) -> io::Result<Self> {
        let folders = self.folders.iter().cloned().chain([fs::canonicalize(folder)?]).collect();
        Ok(Self { folders, only: self.only.clone() })
    }

    /// The folder at which relative paths start, canonical.
    pub fn first(&self) -> &Path {
        &self.folders[0]
    }

    /// All folders, canonical.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Resolves a path to one without links inside the folders; it need not exist.
    ///
    /// # Errors
    /// [`PathRefusal`], in words for the model.
    pub fn resolve(&self, path: &str) -> Result<PathBuf, PathRefusal> {
        let place = self.resolve_inside(path)?;
        match &self.only {
            // The resolved path is the one that is opened, whatever becomes a link meanwhile.
            Some(only) if !only.include(&place) => {
                Err(PathRefusal::NotAllowed { path: path.to_string(), files: only.names_and_paths() })
            }
            _ => Ok(place),
        }
    }

    /// The same for a path to look at: where only some files may be touched, every folder may be listed and searched, and
    /// [shows](Self::shows) only these files.
    ///
    /// # Errors
    /// [`PathRefusal`], in words for the model.
    pub(crate) fn resolve_visible(&self, path: &str) -> Result<PathBuf, PathRefusal> {
        match self.resolve_inside(path)? {
            place if self.only.is_some() && !place.is_dir() => self.resolve(path),
            place => Ok(place),
        }
    }

    /// True if a list or a search may show the entry of a folder, a path without links.
    pub(crate) fn shows(&self, place: &Path, is_folder: bool) -> bool {
        match &self.only {
            None => true,
            Some(only) if is_folder => {
                !only.is_closed(place) && place.components().all(|part| part.as_os_str() != ".git")
            }
            Some(only) => only.include(place),
        }
    }

    fn resolve_inside(&self, path: &str) -> Result<PathBuf, PathRefusal> {
        let no_path = |reason| PathRefusal::NoPath { path: path.to_string(), reason };
        if path.trim().is_empty() {
            return Err(no_path("it is empty"));
        }
        if path.contains('\0') {
            return Err(no_path("it has a NUL in it"));
        }
        let place = follow(&self.first().join(path)).map_err(|error| PathRefusal::NotFollowed {
            path: path.to_string(),
            reason: error.to_string(),
        })?;
        if !self.contain(&place) {
            return Err(PathRefusal::Outside { path: path.to_string(), folders: self.folders.clone() });
        }
        Ok(place)
    }

    /// True if a path without links is inside one of the folders.
    pub(crate) fn contain(&self, place: &Path) -> bool {
        self.folders.iter().any(|folder| place.starts_with(folder))
    }

    /// The path relative to the first folder if it is below it, else the full path.
    pub fn shorten<'a>(&self, place: &'a Path) -> &'a Path {
        match place.strip_prefix(self.first()) {
            Ok(rest) if rest.as_os_str().is_empty() => Path::new("."),
            Ok(rest) => rest,
            Err(_) => place,
        }
    }
}

/// Resolves links and `..` component by component, so that `..` leaves the folder that a link leads to. Components that
/// do not exist stay as they are.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut place = PathBuf::new();
    let mut rest: Vec<OsString> = components_reversed(path);
    let mut links = 0;
    while let Some(next) = rest.pop() {
        match Path::new(&next).components().next() {
            Some(Component::ParentDir) => {
                place.pop();
            }
            Some(Component::CurDir) | None => {}
            Some(Component::Prefix(_) | Component::RootDir) => place = PathBuf::from(next),
            Some(Component::Normal(name)) => {
                let candidate = place.join(name);
                match fs::symlink_metadata(&candidate) {
                    Ok(found) if found.file_type().is_symlink() => {
                        links += 1;
                        if links > MAX_LINKS {
                            return Err(io::Error::new(
                                ErrorKind::InvalidInput,
                                "its links lead in a circle",
                            ));
                        }
                        rest.extend(components_reversed(&fs::read_link(&candidate)?));
                    }
                    Ok(_) => place = candidate,
                    Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                        place = candidate;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }
    Ok(place)
}

fn components_reversed(path: &Path) -> Vec<OsString> {
    path.components().rev().map(|component| component.as_os_str().to_os_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A workspace beside a folder that is out of bounds.
    fn workspace() -> (tempfile::TempDir, Roots) {
        let folder = tempfile::tempdir().unwrap();
        for name in ["work/src", "outside"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("outside/secret"), "s").unwrap();
        fs::write(folder.path().join("work/src/lib.rs"), "").unwrap();
        let roots = Roots::new(&folder.path().join("work"), &[]).unwrap();
        (folder, roots)
    }

    #[track_caller]
    fn check(path: &str, expected: Option<&str>) {
        let (_folder, roots) = workspace();
        let found = roots.resolve(path).ok().map(|place| roots.shorten(&place).to_path_buf());
        assert_eq!(found, expected.map(PathBuf::from), "{path:?}");
    }

    #[test]
    fn paths_stay_inside() {
        check("src/lib.rs", Some("src/lib.rs"));
        check("src/../src/./lib.rs", Some("src/lib.rs"));
        check(".", Some("."));
        check("src/new/deep.rs", Some("src/new/deep.rs"));
        check("no/../../work/src", Some("src"));
        for outside in ["..", "../outside/secret", "src/../../outside", "/etc/passwd", "no/../../outside", ""]
        {
            check(outside, None);
        }
        check("a\0b", None);
        check("%2e%2e/outside", Some("%2e%2e/outside"));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_may_not_lead_out() {
        use std::os::unix::fs::symlink;
        let (folder, roots) = workspace();
        let work = folder.path().join("work");
        symlink("src", work.join("inside")).unwrap();
        symlink("../outside", work.join("out")).unwrap();
        symlink("out/secret", work.join("far")).unwrap();
        symlink("/nowhere/file", work.join("dangling")).unwrap();
        symlink("loop", work.join("loop")).unwrap();
        let lib = roots.resolve("inside/lib.rs").unwrap();
        assert_eq!(roots.shorten(&lib), Path::new("src/lib.rs"));
        for outside in ["out/secret", "far", "dangling", "out/../secret", "inside/../../outside"] {
            assert!(matches!(roots.resolve(outside), Err(PathRefusal::Outside { .. })), "{outside}");
        }
        assert!(matches!(roots.resolve("loop"), Err(PathRefusal::NotFollowed { .. })));
    }

    #[test]
    fn further_folders_count_too() {
        let (folder, _) = workspace();
        let outside = folder.path().join("outside");
        let roots = Roots::new(&folder.path().join("work"), &[outside.clone(), outside.clone()]).unwrap();
        assert_eq!(roots.folders().len(), 2);
        assert!(roots.resolve("../outside/secret").is_ok());
        assert!(roots.resolve(outside.join("secret").to_str().unwrap()).is_ok());
        assert!(Roots::new(&folder.path().join("missing"), &[]).is_err());
    }

    #[test]
    fn only_some_files_may_be_touched() {
        let (folder, _) = workspace();
        let (work, home) = (folder.path().join("work"), folder.path().join("outside"));
        fs::create_dir_all(home.join("notes")).unwrap();
        let only = AllowedFiles {
            names: vec!["A.md".into(), "B.md".into()],
            closed: vec![home.clone()],
            files: vec![home.join("A.md"), home.join("notes/C.md")],
        };
        let roots = Roots::new(&work, std::slice::from_ref(&home)).unwrap().only(only);
        for path in ["A.md", "src/B.md", "src/../src/A.md", "../outside/A.md", "../outside/notes/C.md"] {
            assert!(roots.resolve(path).is_ok(), "{path}");
        }
        for path in [
            ".",
            "src",
            "src/lib.rs",
            "a.md",
            "A.MD",
            "A.md/x",
            "A.md.bak",
            "xA.md",
            "C.md",
            "../outside/secret",
            "../outside/B.md",
            "../outside/notes/A.md",
            "../outside/notes/C.md/x",
            "A%2emd",
            "src/lib.rs#A.md",
        ] {
            assert!(matches!(roots.resolve(path), Err(PathRefusal::NotAllowed { .. })), "{path}");
        }
        assert!(matches!(roots.resolve("../A.md"), Err(PathRefusal::Outside { .. })));
        let told = roots.resolve("src/lib.rs").unwrap_err().to_string();
        let start = "\"src/lib.rs\" is none of the files that may be touched here, which are A.md, B.md, /";
        assert!(told.starts_with(start), "{told}");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_counts_for_what_it_leads_to() {
        use std::os::unix::fs::symlink;
        let (folder, roots) = workspace();
        let work = folder.path().join("work");
        symlink("src/lib.rs", work.join("A.md")).unwrap();
        symlink("src/A.md", work.join("other")).unwrap();
        let roots = roots.only(AllowedFiles { names: vec!["A.md".into()], ..AllowedFiles::default() });
        assert!(matches!(roots.resolve("A.md"), Err(PathRefusal::NotAllowed { .. })));
        assert!(roots.resolve("other").is_ok_and(|place| place.ends_with("src/A.md")));
    }
}
