//! A home, a project and a user's folder, to look for memory in.
#![allow(dead_code, reason = "each test uses some of it")]

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_memory::{ContextNames, Discovery, Memory, MemorySettings, Places, WorkFolder, load_memory};
use tempfile::TempDir;

/// A folder with `user/.gemini` as the home, `user/.gemini/tmp/app/memory` as the private memory, and `user/work/app` as
/// the workspace.
pub(crate) struct World {
    root: TempDir,
    pub(crate) places: Places,
    pub(crate) settings: MemorySettings,
}

pub(crate) const HOME: &str = "user/.gemini";
pub(crate) const PRIVATE: &str = "user/.gemini/tmp/app/memory";
pub(crate) const APP: &str = "user/work/app";

impl World {
    /// A world with these files, each of which says its own name.
    pub(crate) fn new(files: &[&str]) -> Self {
        let root = tempfile::tempdir().expect("a folder");
        // Folders of temporary files may be links.
        let base = root.path().canonicalize().expect("there");
        let folder = WorkFolder { path: base.join(APP), is_trusted: true };
        let places = Places {
            home: Some(base.join(HOME)),
            user_home: Some(base.join("user")),
            private: Some(base.join(PRIVATE)),
            folders: vec![folder],
            ..Places::default()
        };
        let world = Self { root, places, settings: MemorySettings::default() };
        fs::create_dir_all(world.path(APP)).expect("made");
        files.iter().fold(world, |world, file| world.with(file, file))
    }

    /// The same with a file more, or with another text in it.
    pub(crate) fn with(self, file: &str, text: &str) -> Self {
        let path = self.path(file);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("made");
        fs::write(path, text).expect("written");
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().expect("there").join(name)
    }

    /// The name of a path in this world.
    pub(crate) fn name(&self, path: &Path) -> String {
        path.strip_prefix(self.path("")).unwrap_or(path).display().to_string()
    }

    pub(crate) fn named(mut self, names: &[&str]) -> Self {
        self.settings.names = ContextNames::of(names.iter().copied()).0;
        self
    }

    pub(crate) fn full(mut self, most_folders: usize) -> Self {
        self.settings.discovery = Discovery::Full { most_folders };
        self
    }

    /// Another folder that is worked in.
    pub(crate) fn working_in(mut self, folder: &str) -> Self {
        let folder = WorkFolder { path: self.path(folder), is_trusted: true };
        self.places.folders.push(folder);
        self
    }

    pub(crate) fn untrusted(mut self) -> Self {
        self.places.folders.iter_mut().for_each(|folder| folder.is_trusted = false);
        self
    }

    pub(crate) fn load(&self) -> Memory {
        load_memory(&self.places, &self.settings)
    }

    /// Checks which files are loaded, as `tier name`.
    #[track_caller]
    pub(crate) fn check(&self, expected: &[&str]) {
        let memory = self.load();
        let files: Vec<String> =
            memory.files.iter().map(|file| format!("{} {}", file.tier, self.name(&file.path))).collect();
        assert_eq!(files, expected);
    }

    /// Checks which files are not, as `reason name`.
    #[track_caller]
    pub(crate) fn check_skipped(&self, expected: &[&str]) {
        let memory = self.load();
        let skipped = memory
            .skipped
            .iter()
            .map(|skipped| format!("{} {}", skipped.reason.name(), self.name(&skipped.path)));
        assert_eq!(skipped.collect::<Vec<_>>(), expected);
    }
}
