//! The folders in which tools may work. Every path that a model names goes through here.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

/// How many links are followed for one path.
const MAX_LINKS: usize = 40;

/// The folders in which tools may work, the first of which is where relative paths begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// Without links.
    folders: Vec<PathBuf>,
    /// What alone may be touched there, where that is not all.
    only: Option<OnlyFiles>,
}

/// Files that alone may be touched. Where they are, no folder is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnlyFiles {
    /// Files of these names, in any folder that is not closed.
    pub names: Vec<String>,
    /// Closed folders: neither in them nor below does a name count.
    pub closed: Vec<PathBuf>,
    /// These files, wherever they are.
    pub files: Vec<PathBuf>,
}

impl OnlyFiles {
    /// Whether a place without links is one of them.
    fn include(&self, place: &Path) -> bool {
        let is_named =
            place.file_name().is_some_and(|name| self.names.iter().any(|known| name == known.as_str()));
        let is_closed = || self.closed.iter().any(|folder| place.starts_with(folder));
        self.files.iter().any(|file| file == place) || is_named && !is_closed()
    }

    /// The same without links on the way to them. What a file itself leads to is found out when it is touched.
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

    /// What they are called.
    fn told(&self) -> Vec<String> {
        let files = self.files.iter().map(|file| file.display().to_string());
        self.names.iter().cloned().chain(files).collect()
    }
}

/// Why a path is not to be touched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It leads out of the workspace.
    #[error("{path:?} is outside of the workspace, which is {}", list(.folders))]
    Outside {
        /// The path, as it was given.
        path: String,
        /// The folders in which tools may work.
        folders: Vec<PathBuf>,
    },
    /// It is inside, and none of the files that alone may be touched.
    #[error("{path:?} is none of the files that may be touched here, which are {}", .files.join(", "))]
    NotMeant {
        /// The path, as it was given.
        path: String,
        /// The names and the places of those files.
        files: Vec<String>,
    },
    /// It is none.
    #[error("{path:?} is not a path: {reason}")]
    NoPath {
        /// The path, as it was given.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// It could not be followed.
    #[error("could not follow {path:?}: {reason}")]
    NotFollowed {
        /// The path, as it was given.
        path: String,
        /// What the system said.
        reason: String,
    },
}

fn list(folders: &[PathBuf]) -> String {
    folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
}

impl Roots {
    /// Tools may work below `first`, where relative paths begin, and below `others`.
    ///
    /// # Errors
    /// The folder that cannot be found, by the error of the system.
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

    /// The same folders, in which only these files may be touched: read, made or changed.
    #[must_use]
    pub fn only(self, only: OnlyFiles) -> Self {
        Self { only: Some(only.without_links()), ..self }
    }

    /// Whether folders may be made for a file.
    pub(crate) fn may_grow(&self) -> bool {
        self.only.is_none()
    }

    /// These folders and another one.
    ///
    /// # Errors
    /// Why it cannot be found.
    pub fn and(&self, folder: &Path) -> io::Result<Self> {
        let folders = self.folders.iter().cloned().chain([fs::canonicalize(folder)?]).collect();
        Ok(Self { folders, only: self.only.clone() })
    }

    /// Where relative paths begin, without links.
    pub fn first(&self) -> &Path {
        &self.folders[0]
    }

    /// Every folder in which tools may work, without links.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// The place that a path names, without links, be there something or not; it is inside one of the folders.
    ///
    /// # Errors
    /// [`Refusal`], in words for the model.
    pub fn resolve(&self, path: &str) -> Result<PathBuf, Refusal> {
        let no_path = |reason| Refusal::NoPath { path: path.to_string(), reason };
        if path.trim().is_empty() {
            return Err(no_path("it is empty"));
        }
        if path.contains('\0') {
            return Err(no_path("it has a NUL in it"));
        }
        let place = follow(&self.first().join(path))
            .map_err(|error| Refusal::NotFollowed { path: path.to_string(), reason: error.to_string() })?;
        if !self.contain(&place) {
            return Err(Refusal::Outside { path: path.to_string(), folders: self.folders.clone() });
        }
        match &self.only {
            // The place is the one that will be opened: whatever becomes a link meanwhile, no other file is.
            Some(only) if !only.include(&place) => {
                Err(Refusal::NotMeant { path: path.to_string(), files: only.told() })
            }
            _ => Ok(place),
        }
    }

    /// Whether a place without links is inside one of the folders.
    pub fn contain(&self, place: &Path) -> bool {
        self.folders.iter().any(|folder| place.starts_with(folder))
    }

    /// The path as a model or a person best knows it: below the first folder from there, else in full.
    pub fn shorten<'a>(&self, place: &'a Path) -> &'a Path {
        match place.strip_prefix(self.first()) {
            Ok(rest) if rest.as_os_str().is_empty() => Path::new("."),
            Ok(rest) => rest,
            Err(_) => place,
        }
    }
}

/// The path without links and without `..`, component by component, so that `..` leaves the folder that a link leads to.
/// What does not exist stays as it is written.
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

    /// A workspace beside something that is none of its business.
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
            assert!(matches!(roots.resolve(outside), Err(Refusal::Outside { .. })), "{outside}");
        }
        assert!(matches!(roots.resolve("loop"), Err(Refusal::NotFollowed { .. })));
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
        let only = OnlyFiles {
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
            assert!(matches!(roots.resolve(path), Err(Refusal::NotMeant { .. })), "{path}");
        }
        assert!(matches!(roots.resolve("../A.md"), Err(Refusal::Outside { .. })));
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
        let roots = roots.only(OnlyFiles { names: vec!["A.md".into()], ..OnlyFiles::default() });
        assert!(matches!(roots.resolve("A.md"), Err(Refusal::NotMeant { .. })));
        assert!(roots.resolve("other").is_ok_and(|place| place.ends_with("src/A.md")));
    }
}
