//! Looks at the disk for commands that only read: they run without approval if what they read is in the workspace, and
//! neither hidden nor ignored.

mod repository;

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use longhaul_policy::{CommandReading, LineReading, NotReading, ReadPathKind, ReadSource, ReadingVerdicts};
use longhaul_tools::{IgnoreFiles, Roots};
use longhaul_workspace::Ignoring;
use serde_json::Value;

/// The places that commands may read without approval.
#[derive(Clone, Debug)]
pub struct ReadingScope {
    /// The folders that are worked in.
    pub roots: Roots,
    /// The ignore files that count.
    pub ignoring: Ignoring,
    /// The folders in which a shell looks for programs, as `PATH` has them.
    pub search_path: Option<OsString>,
}

/// The arguments that name the folder of a command.
const FOLDERS: [&str; 2] = ["directory", "dir_path"];

impl ReadingScope {
    /// The commands of a call's line that only read, and only what may be read.
    pub fn verdicts(&self, line: &str, args: &Value) -> ReadingVerdicts {
        let folder = FOLDERS.iter().find_map(|name| args.get(name)?.as_str()).filter(|name| !name.is_empty());
        let reading = LineReading::parse(line);
        let view = View { scope: self, ignored: IgnoreFiles::load(&self.roots, &self.ignoring) };
        let base = view.folder(self.roots.first(), folder);
        let base = base.and_then(|base| view.folder(&base, reading.folder.as_deref()));
        reading.check(|command| {
            view.check_program(&command.program)?;
            match command.source {
                ReadSource::Input => Ok(()),
                ReadSource::Files | ReadSource::Repository => {
                    view.check(command, base.as_ref().map_err(Clone::clone)?)
                }
            }
        })
    }
}

/// The scope with what its ignore files say now.
struct View<'s> {
    scope: &'s ReadingScope,
    ignored: IgnoreFiles,
}

impl View<'_> {
    /// The folder that a command runs in.
    fn folder(&self, base: &Path, named: Option<&str>) -> Result<PathBuf, NotReading> {
        let Some(named) = named else { return Ok(base.to_path_buf()) };
        let place = self.visible(base, named)?;
        if place.is_dir() { Ok(place) } else { Err(refused(named, "is no folder")) }
    }

    fn check(&self, command: &CommandReading, base: &Path) -> Result<(), NotReading> {
        let repository = match command.source {
            ReadSource::Repository => self.repository(base)?,
            ReadSource::Input | ReadSource::Files => None,
        };
        if command.shows_contents {
            self.check_contents()?;
        }
        for path in &command.paths {
            let base = match path.kind {
                ReadPathKind::InRepository => repository.as_deref().unwrap_or(base),
                ReadPathKind::File | ReadPathKind::Any => base,
            };
            let place = self.visible(base, &path.text)?;
            if path.kind == ReadPathKind::File && place.is_dir() {
                return Err(refused(&path.text, "is a folder"));
            }
        }
        Ok(())
    }

    /// A path inside the workspace that is neither hidden nor ignored; it need not exist.
    fn visible(&self, base: &Path, text: &str) -> Result<PathBuf, NotReading> {
        let path = base.join(text);
        let path = path.to_str().ok_or_else(|| refused(text, "cannot be read"))?;
        let roots = &self.scope.roots;
        let place = roots.resolve(path).map_err(|_| refused(text, "is outside the workspace"))?;
        let inside = roots.folders().iter().filter_map(|root| place.strip_prefix(root).ok());
        let Some(inside) = inside.min_by_key(|rest| rest.as_os_str().len()) else {
            return Err(refused(text, "is outside the workspace"));
        };
        let is_hidden = |part: Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(b".");
        if inside.components().any(is_hidden) {
            return Err(refused(text, "is hidden"));
        }
        match self.ignored.is_ignored(&place, place.is_dir()) {
            Some(_) => Err(refused(text, "is ignored")),
            None => Ok(place),
        }
    }

    /// A command that shows files which it does not name knows nothing of our own ignore files.
    fn check_contents(&self) -> Result<(), NotReading> {
        let Ignoring { gemini, custom, .. } = &self.scope.ignoring;
        let folders = self.scope.roots.folders().iter().flat_map(|folder| folder.ancestors());
        let mut ignore_files = folders.map(|folder| folder.join(".geminiignore"));
        if !custom.is_empty() || *gemini && ignore_files.any(|file| file.exists()) {
            return Err(NotReading::Path(
                "it may show files that .geminiignore or a custom file ignores".into(),
            ));
        }
        Ok(())
    }

    /// The top folder of the repository that git finds, if it finds one.
    fn repository(&self, base: &Path) -> Result<Option<PathBuf>, NotReading> {
        let Some(top) = repository::find(base).map_err(NotReading::Path)? else { return Ok(None) };
        if !self.scope.roots.folders().iter().any(|root| top.starts_with(root)) {
            return Err(NotReading::Path("its repository is larger than the workspace".into()));
        }
        repository::check(&top).map_err(NotReading::Path)?;
        Ok(Some(top))
    }

    /// A program of the workspace may be anything.
    fn check_program(&self, program: &str) -> Result<(), NotReading> {
        let folders = self.scope.search_path.iter().flat_map(std::env::split_paths);
        for folder in folders {
            let is_fixed = folder.is_absolute();
            let place = std::fs::canonicalize(&folder).unwrap_or(folder);
            let is_own = !is_fixed || self.scope.roots.folders().iter().any(|root| place.starts_with(root));
            if is_own && (!is_fixed || place.join(program).exists()) {
                return Err(NotReading::Path(format!("PATH leads into the workspace for {program:?}")));
            }
        }
        Ok(())
    }
}

/// `"x" is ignored`
fn refused(path: &str, clause: &str) -> NotReading {
    NotReading::Path(format!("{path:?} {clause}"))
}

#[cfg(all(test, unix))]
mod tests;
