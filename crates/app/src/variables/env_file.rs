//! `.env` files: where they are, and what is in them.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use longhaul_workspace::{Environment, Home, WorkspaceFolder, decode_text};

use super::dotenv::{ParsedEnv, parse_env};
use super::role::role_in_project;

/// The name of the files.
const NAME: &str = ".env";

/// No such file is larger.
const LARGEST: u64 = 1 << 20;

/// The variables of a file.
#[derive(Clone, PartialEq)]
pub(crate) struct EnvFile {
    path: Arc<Path>,
    variables: BTreeMap<String, String>,
    faulty_lines: Vec<usize>,
}

/// Hides the values.
impl fmt::Debug for EnvFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EnvFile({}, {} variables)", self.path.display(), self.variables.len())
    }
}

impl EnvFile {
    /// Reads a file; `None` if there is none.
    pub(crate) fn load(path: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(path) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            opened => opened?,
        };
        // Some tools make a folder of this name.
        if !file.metadata()?.is_file() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        file.take(LARGEST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST {
            return Err(io::Error::other(format!("it is larger than {LARGEST} bytes")));
        }
        Ok(Some(Self::parse(path, &decode_text(&bytes).text)))
    }

    /// The variables of a text.
    pub(crate) fn parse(path: &Path, text: &str) -> Self {
        let ParsedEnv { variables, faulty_lines } = parse_env(text);
        Self { path: path.into(), variables: variables.into_iter().collect(), faulty_lines }
    }

    /// The same without the variables that `is_dropped` names.
    pub(crate) fn without(mut self, is_dropped: impl Fn(&str) -> bool) -> Self {
        self.variables.retain(|name, _| !is_dropped(name));
        self
    }

    /// The path.
    pub(crate) fn path(&self) -> Arc<Path> {
        Arc::clone(&self.path)
    }

    /// The value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// The variables by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The names of the variables that Longhaul would use or refuse in a project's file.
    pub(crate) fn for_longhaul(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str).filter(|name| role_in_project(name).is_some())
    }

    /// The numbers of lines that say nothing.
    pub(crate) fn faulty_lines(&self) -> &[usize] {
        &self.faulty_lines
    }
}

/// The kind of a project's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EnvFileKind {
    /// `.gemini/.env`, which is for agents alone.
    Gemini,
    /// `.env`, which is for the project's own programs, too.
    General,
}

/// A file of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProjectEnvFile {
    /// The folder that must be trusted.
    pub(crate) folder: PathBuf,
    /// The file.
    pub(crate) path: PathBuf,
    /// Its kind.
    pub(crate) kind: EnvFileKind,
}

impl ProjectEnvFile {
    /// True if the file is a link out of its folder.
    pub(crate) fn leads_out(&self) -> bool {
        let real = |path: &Path| fs::canonicalize(path).ok();
        match (real(&self.path), real(&self.folder)) {
            (Some(path), Some(folder)) => !path.starts_with(folder),
            _ => true,
        }
    }
}

/// The user's files, of which the first counts: in the home, then in the user's own folder.
pub(super) fn user_env_files(environment: &Environment, home: Option<&Home>) -> Vec<PathBuf> {
    let in_home = home.map(|home| home.root().join(NAME));
    // A home that was moved away does not share the folder of another.
    let own = environment.gemini_cli_home.as_ref().or(environment.user_home.as_ref());
    let own = own.filter(|_| environment.longhaul_home.is_none()).map(|folder| folder.join(NAME));
    in_home.into_iter().chain(own).collect()
}

/// The files of a project, of which the first counts: from `cwd` up to the root of its repository, in each folder
/// `.gemini/.env` before `.env`. Outside of repositories only those of `cwd` itself; none in the user's own folder.
pub(crate) fn project_env_files(home: Option<&Home>, cwd: &Path) -> Vec<ProjectEnvFile> {
    if !cwd.is_absolute() {
        return Vec::new();
    }
    let is_home = |folder: &Path| home.is_some_and(|home| home.is_folder_of(&WorkspaceFolder::of(folder)));
    let depth = cwd.ancestors().position(|folder| folder.join(".git").exists()).unwrap_or(0);
    let folders = cwd.ancestors().take(depth + 1).filter(|folder| !is_home(folder));
    let files = folders.flat_map(|folder| {
        let file = |path: PathBuf, kind| ProjectEnvFile { folder: folder.to_path_buf(), path, kind };
        [
            file(WorkspaceFolder::of(folder).root().join(NAME), EnvFileKind::Gemini),
            file(folder.join(NAME), EnvFileKind::General),
        ]
    });
    files.filter(|file| file.path.is_file()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home_in(folder: &Path) -> Home {
        let environment = Environment { user_home: Some(folder.into()), ..Environment::default() };
        Home::resolve(&environment).expect("an absolute path")
    }

    /// Makes the files below a folder, and checks which are found from `cwd`.
    #[track_caller]
    fn check_found(existing: &[&str], cwd: &str, expected: &[&str]) {
        let root = tempfile::tempdir().expect("a folder");
        for file in existing {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, "A=1").expect("written");
        }
        let cwd = root.path().join(cwd);
        fs::create_dir_all(&cwd).expect("made");
        let found = project_env_files(Some(&home_in(&root.path().join("home"))), &cwd);
        let found: Vec<_> =
            found.iter().map(|file| file.path.strip_prefix(root.path()).expect("below")).collect();
        assert_eq!(found, expected.iter().map(Path::new).collect::<Vec<_>>());
    }

    #[test]
    fn files_are_found_up_to_the_root_of_the_repository() {
        let (own, gemini, outer) = ("work/a/.env", "work/a/.gemini/.env", "work/.env");
        check_found(&[], "work/a", &[]);
        check_found(&[own, gemini, outer, "work/.git/HEAD", ".env"], "work/a", &[gemini, own, outer]);
        check_found(&[outer, "work/.git/HEAD", ".env"], "work/a", &[outer]);
        check_found(&[outer, ".env"], "work/a", &[]);
        check_found(&["work/.env/x"], "work", &[]);
        check_found(&["home/.env", "home/.gemini/.env", "home/.git/HEAD"], "home", &[]);
        check_found(&["home/.env", "home/.git/HEAD", "home/a/.env"], "home/a", &["home/a/.env"]);
        assert_eq!(project_env_files(None, Path::new("")), []);
    }

    #[test]
    fn the_users_file_is_in_the_home_or_beside_it() {
        let paths = |environment: &Environment| {
            let home = Home::resolve(environment).ok();
            user_env_files(environment, home.as_ref())
        };
        let usual = Environment { user_home: Some("/u".into()), ..Environment::default() };
        assert_eq!(paths(&usual), ["/u/.gemini/.env", "/u/.env"].map(PathBuf::from));
        let moved = Environment { gemini_cli_home: Some("/g".into()), ..usual.clone() };
        assert_eq!(paths(&moved), ["/g/.gemini/.env", "/g/.env"].map(PathBuf::from));
        let own = Environment { longhaul_home: Some("/l".into()), ..usual };
        assert_eq!(paths(&own), [PathBuf::from("/l/.env")]);
        assert_eq!(paths(&Environment::default()), [] as [PathBuf; 0]);
    }

    #[test]
    fn values_are_not_shown_and_huge_files_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(".env");
        assert_eq!(EnvFile::load(&path).expect("no fault"), None);
        fs::write(&path, "A_KEY=very-secret\nwhat?").expect("written");
        let file = EnvFile::load(&path).expect("readable").expect("a file");
        assert!(
            format!("{file:?}").ends_with("1 variables)") && !format!("{file:?}").contains("very-secret")
        );
        assert_eq!((file.get("A_KEY"), file.faulty_lines()), (Some("very-secret"), &[2][..]));
        fs::write(&path, " ".repeat(LARGEST as usize + 1)).expect("written");
        assert!(EnvFile::load(&path).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_folder_is_told_from_one_inside() {
        use std::os::unix::fs::symlink;
        let root = tempfile::tempdir().expect("a folder");
        let work = root.path().join("work");
        fs::create_dir_all(work.join(".gemini")).expect("made");
        fs::write(root.path().join("secrets"), "A=1").expect("written");
        fs::write(work.join("dev.env"), "A=1").expect("written");
        symlink(root.path().join("secrets"), work.join(".gemini/.env")).expect("linked");
        symlink("dev.env", work.join(".env")).expect("linked");
        let out: Vec<bool> = project_env_files(None, &work).iter().map(ProjectEnvFile::leads_out).collect();
        assert_eq!(out, [true, false]);
    }
}
