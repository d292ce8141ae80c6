//! The memory files that a manager may touch, shown as they are, and the tools that reach them alone.

use std::path::{Path, PathBuf};

use longhaul_conversation::{Timestamp, replace_bytes, tag_places};
use longhaul_memory::{
    Discovery, FactScope, MemorySettings, MemoryTier, Places, SkipReason, load_memory, save_target,
};
use longhaul_tools::{
    AllowedFiles, FileContent, Glob, GrepSearch, IgnoreFiles, ListDirectory, ReadFile, ReadRange, Replace,
    Roots, Tool, ToolAnswer, WriteFile, load_file,
};
use longhaul_workspace::{canonical_workspace, create_private_folder};

use super::write::{GuardedTool, WrittenFiles};

/// The most characters of all files together that are shown at the beginning.
const MOST_SHOWN: usize = 48_000;

/// The most lines of one file that are shown at the beginning.
const MOST_LINES: usize = 400;

/// The most characters of what the manager reports.
const LONGEST_REPORT: usize = 1_000;

/// The memory files that a manager may touch.
pub(crate) struct ManagedFiles {
    roots: Roots,
    places: Places,
    settings: MemorySettings,
    global: Option<PathBuf>,
    private: Option<PathBuf>,
    now: Timestamp,
    written: WrittenFiles,
}

impl ManagedFiles {
    /// Finds out which files may be touched: in trusted folders those that are called like memory files, in the home the
    /// global ones, and of private memory the one that is loaded.
    pub(super) fn open(places: &Places, settings: &MemorySettings, now: Timestamp) -> Result<Self, String> {
        let is_user_home = |folder: &Path| {
            let real = |path: &Path| canonical_workspace(path).ok();
            places.user_home.as_deref().is_some_and(|home| real(home).is_some() && real(home) == real(folder))
        };
        let trusted = places.folders.iter().filter(|folder| folder.is_trusted).map(|folder| &folder.path);
        let mut folders: Vec<PathBuf> =
            trusted.filter(|folder| folder.is_dir() && !is_user_home(folder)).cloned().collect();
        let home = places.home.clone().filter(|home| home.is_dir());
        let is_trusted = places.workspace().is_some_and(|workspace| workspace.is_trusted);
        // What is remembered for a project has its own folder, which need not have been used before.
        let notes =
            places.private.clone().filter(|folder| is_trusted && create_private_folder(folder).is_ok());
        folders.extend(home.iter().chain(&notes).cloned());
        let global = home.iter().flat_map(|home| settings.names.iter().map(move |name| home.join(name)));
        let places = Places { private: notes.clone(), ..places.clone() };
        let private = notes.as_ref().and_then(|_| save_target(FactScope::Project, &places, settings).ok());
        let only = AllowedFiles {
            names: settings.names.iter().map(ToString::to_string).collect(),
            closed: home.iter().chain(&notes).cloned().collect(),
            files: global.chain(private.clone()).collect(),
        };
        let (first, others) = folders.split_first().ok_or("There is no place for memory.")?;
        let roots =
            Roots::new(first, others).map_err(|error| format!("Memory cannot be reached: {error}."))?;
        let global = home.map(|home| file_in(&home, settings));
        let settings = settings.clone();
        Ok(Self {
            roots: roots.only(only),
            places,
            settings,
            global,
            private,
            now,
            written: WrittenFiles::default(),
        })
    }

    /// The tools of the manager. Whatever it names, these reach no other file.
    pub(crate) fn tools(&self) -> Vec<Box<dyn Tool>> {
        let ignoring = &self.settings.ignoring;
        let guarded = |tool: Box<dyn Tool>| -> Box<dyn Tool> {
            Box::new(GuardedTool::new(tool, self.global.clone(), self.private.clone(), self.written.clone()))
        };
        vec![
            Box::new(ReadFile::new(self.roots.clone(), ignoring.clone())),
            guarded(Box::new(Replace::new(self.roots.clone(), ignoring.clone()))),
            guarded(Box::new(WriteFile::new(self.roots.clone()))),
            Box::new(ListDirectory::new(self.roots.clone(), ignoring.clone())),
            Box::new(Glob::new(self.roots.clone(), ignoring.clone())),
            Box::new(GrepSearch::new(self.roots.clone(), ignoring.clone())),
        ]
    }

    /// The first message of the manager: the files and their content.
    pub(crate) fn opening(&self) -> String {
        let day = self.now.to_string();
        let mut text = format!("Today is {}. These are the memory files.\n\n", day.get(..10).unwrap_or(&day));
        let workspace = self.places.workspace().filter(|folder| folder.is_trusted);
        let root = workspace.map(|folder| file_in(&folder.path, &self.settings));
        let stores = [("Global", &self.global), ("Private", &self.private), ("Project root", &root)];
        for (name, file) in stores {
            text.push_str(&match file {
                Some(file) if file.exists() => format!("- {name}: {}\n", self.label(file)),
                Some(file) => format!("- {name}: {}, which does not exist yet\n", self.label(file)),
                None => format!("- {name}: there is none here, and nothing can be saved there\n"),
            });
        }
        let settings = MemorySettings {
            discovery: Discovery::Full { most_folders: Discovery::MOST_FOLDERS },
            ..self.settings.clone()
        };
        let memory = load_memory(&self.places, &settings);
        let ignored = IgnoreFiles::load(&self.roots, &self.settings.ignoring);
        let mut left = MOST_SHOWN;
        let loaded = memory.files.iter().map(|file| (&file.path, file.tier));
        // What another file imports has no place of its own in a prompt, but here it has.
        let imported =
            memory.skipped.iter().filter(|file| matches!(file.reason, SkipReason::Duplicate { .. }));
        for (path, tier) in loaded.chain(imported.map(|file| (&file.path, file.tier))) {
            text.extend(self.shown(path, tier, &ignored, &mut left));
        }
        text + "\nCarry out the request of your task now."
    }

    /// A file as it is; nothing of one that the manager may not touch, for instance above the workspace.
    fn shown(
        &self,
        path: &Path,
        tier: MemoryTier,
        ignored: &IgnoreFiles,
        left: &mut usize,
    ) -> Option<String> {
        let name = self.label(path);
        let range = ReadRange { start: None, end: Some(MOST_LINES) };
        let loaded = load_file(&self.roots, ignored, path.to_str()?, range).ok()?;
        let FileContent::Lines(slice) = loaded.content else { return None };
        let size = slice.text.chars().count();
        if size > *left {
            return Some(format!(
                "\n<memory_file path=\"{name}\" tier=\"{tier}\" shown=\"no, read_file shows it\" />\n"
            ));
        }
        *left -= size;
        let part = match slice.last < slice.total {
            true => format!(" lines=\"1 to {} of {}\"", slice.last, slice.total),
            false => String::new(),
        };
        let ends: Vec<(usize, &str)> =
            tag_places(&slice.text, &["memory_file"]).map(|at| (at, "&lt;")).collect();
        let said = replace_bytes(&slice.text, &ends);
        let said = said.trim_end();
        Some(format!("\n<memory_file path=\"{name}\" tier=\"{tier}\"{part}>\n{said}\n</memory_file>\n"))
    }

    /// A path as the manager writes it, unable to end the tag it stands in.
    fn label(&self, path: &Path) -> String {
        let real = canonical_workspace(path).unwrap_or_else(|_| path.to_path_buf());
        let label = self.roots.shorten(&real).display().to_string();
        label
            .chars()
            .map(|letter| if letter.is_control() || "<>\"".contains(letter) { '?' } else { letter })
            .collect()
    }

    /// The answer to the main agent: the report of the manager, and the files that really changed.
    pub(crate) fn conclude(&self, answer: ToolAnswer) -> ToolAnswer {
        let written = self.written.files();
        let said = answer.outcome.text();
        let said = match said.char_indices().nth(LONGEST_REPORT) {
            Some((end, _)) => format!("{}…", &said[..end]),
            None => said.to_string(),
        };
        let names: Vec<String> = written.iter().map(|file| self.label(file)).collect();
        let changed = match names.as_slice() {
            [] => "No memory file was changed.".to_string(),
            names => format!("Changed: {}.", names.join(", ")),
        };
        let outcome = answer.outcome.with_text(format!("{said}\n[{changed}]"));
        ToolAnswer { outcome, ..answer }.touching(written)
    }
}

/// The memory file of a folder: the first that there is, or the one that would be made.
fn file_in(folder: &Path, settings: &MemorySettings) -> PathBuf {
    let files = settings.names.iter().map(|name| folder.join(name));
    files.into_iter().find(|file| file.is_file()).unwrap_or_else(|| folder.join(settings.names.first()))
}
