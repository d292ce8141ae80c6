//! Memory just in time: when a tool touches a file, the memory files of its folder and of those above come in.

use std::path::{Path, PathBuf};

use longhaul_workspace::{IgnoreRules, canonical_workspace};

use crate::bounds::Bounds;
use crate::discover::{ceiling, owner, upward};
use crate::identity::FileIdentity;
use crate::load::Loading;
use crate::loaded::{Memory, MemoryFile, SkipReason, SkippedFile};
use crate::places::Places;
use crate::read::ReadFile;
use crate::render::render_block;
use crate::rules::{parse_rule, ruled_folder};
use crate::scan::PASSED_OVER;
use crate::settings::{Discovery, ImportFormat, IncludedFolders, MemorySettings};
use crate::tier::MemoryTier;

/// Memory files that come in when a tool touches their folder: those so far, and the places of more.
#[derive(Debug)]
pub struct JustInTime {
    folders: Vec<TrustedFolder>,
    home: Option<PathBuf>,
    settings: MemorySettings,
    bounds: Bounds,
    memory: Memory,
    /// Links that lead out and were not read, each once.
    links_out: Vec<SkippedFile>,
}

/// A folder whose files count.
#[derive(Debug)]
struct TrustedFolder {
    /// As it was given.
    given: PathBuf,
    /// Without links.
    real: PathBuf,
    /// Above it nothing counts; also without links.
    ceiling: PathBuf,
    rules: IgnoreRules,
}

/// The files that a call of a tool brings in.
#[derive(Clone, Debug, Default)]
pub struct Discovered {
    /// The files, from the outermost folder inwards.
    pub files: Vec<MemoryFile>,
    /// Those that do not count, and why.
    pub skipped: Vec<SkippedFile>,
}

impl JustInTime {
    /// Begins with what was loaded at the start. After a full scan, or in the user's own folder, nothing more comes in.
    pub fn new(places: &Places, settings: &MemorySettings, memory: &Memory) -> Self {
        let is_user_home = |folder: &Path| {
            places.user_home.as_deref().is_some_and(|user| crate::places::is_same_place(user, folder))
        };
        let counted = match settings.included {
            IncludedFolders::None => 1,
            IncludedFolders::ByDiscovery | IncludedFolders::All => usize::MAX,
        };
        let trusted = places.folders.iter().take(counted).filter(|folder| {
            folder.is_trusted && settings.discovery == Discovery::Tiered && !is_user_home(&folder.path)
        });
        let folders = trusted.filter_map(|folder| {
            let real = canonical_workspace(&folder.path).ok()?;
            let ceiling = ceiling(&real, &settings.markers).to_path_buf();
            let rules = IgnoreRules::load(&ceiling, &real, &settings.ignoring);
            Some(TrustedFolder { given: folder.path.clone(), real, ceiling, rules })
        });
        let home =
            places.home.as_ref().map(|home| canonical_workspace(home).unwrap_or_else(|_| home.clone()));
        let memory = Memory { seen: memory.seen.clone(), ..Memory::default() };
        let folders = folders.collect();
        // A block behind a result is read on its own, and imports are best where they are named.
        let settings = MemorySettings { import_format: ImportFormat::Tree, ..settings.clone() };
        let bounds = Bounds::of_projects(places, &settings.markers);
        Self { folders, home, settings, bounds, memory, links_out: Vec::new() }
    }

    /// Looks up the files that come in when a tool touches this path, which need not exist. Each file comes in once.
    pub fn look_up(&mut self, path: &Path) -> Discovered {
        let (files, skipped) = (self.memory.files.len(), self.memory.skipped.len());
        self.bring_in(path);
        let skipped = self.memory.skipped.split_off(skipped);
        for skipped in &skipped {
            if matches!(skipped.reason, SkipReason::Outside { .. }) && !self.links_out.contains(skipped) {
                self.links_out.push(skipped.clone());
            }
        }
        Discovered { files: self.memory.files[files..].to_vec(), skipped }
    }

    /// Looks up the files for several paths, as the block that goes behind the tool's result; `None` if there are none.
    pub fn block_for<'a>(&mut self, paths: impl IntoIterator<Item = &'a Path>) -> Option<String> {
        let files: Vec<MemoryFile> = paths.into_iter().flat_map(|path| self.look_up(path).files).collect();
        let workspace = self.folders.first().map(|folder| folder.given.clone());
        (!files.is_empty()).then(|| render_block(&files, workspace.as_deref(), &self.settings).text)
    }

    /// Everything that came in and was not forgotten.
    pub fn files(&self) -> &[MemoryFile] {
        &self.memory.files
    }

    /// The memory files that are links out of the project and were not read, each once.
    pub fn links_out(&self) -> &[SkippedFile] {
        &self.links_out
    }

    /// Forgets the files that are no longer in the transcript, as after a compaction, so that they come in again when a
    /// tool next touches their folder; and says which.
    pub fn rearm(&mut self, is_present: impl Fn(&MemoryFile) -> bool) -> Vec<PathBuf> {
        let files = std::mem::take(&mut self.memory.files);
        let (kept, lost): (Vec<_>, Vec<_>) = files.into_iter().partition(is_present);
        self.memory.files = kept;
        let sources: Vec<&Path> =
            lost.iter().flat_map(|file| &file.sources).map(|source| source.path.as_path()).collect();
        self.memory.seen.forget(&sources);
        lost.into_iter().map(|file| file.path).collect()
    }

    fn bring_in(&mut self, path: &Path) {
        let Ok(real) = canonical_workspace(path) else { return };
        // The innermost of the folders that hold it.
        let holding = self.folders.iter().filter(|folder| real.starts_with(&folder.real));
        let Some(folder) = holding.max_by_key(|folder| folder.real.components().count()) else { return };
        let start = if real.is_dir() { real.as_path() } else { real.parent().unwrap_or(&real) };
        let found = upward(start, &folder.ceiling, &self.settings.names, self.home.as_deref());
        let mut candidates = Vec::new();
        for file in found {
            let inside = file.strip_prefix(&folder.real).unwrap_or(&file);
            if inside.iter().any(|name| PASSED_OVER.iter().any(|passed| name == *passed)) {
                continue;
            }
            let identity = FileIdentity::of(&file);
            let tier = if folder.real.starts_with(owner(&file)) {
                MemoryTier::Project
            } else {
                MemoryTier::SubDirectory
            };
            // People know the folder by the name they gave it.
            let named =
                file.strip_prefix(&folder.real).map_or(file.clone(), |inside| folder.given.join(inside));
            if let Some(first) = self.memory.seen.get(&identity) {
                // What came in under this very name is no news.
                if first != named && first != file {
                    let reason = SkipReason::Duplicate { of: first.to_path_buf() };
                    self.memory.skipped.push(SkippedFile { path: named, tier, reason });
                }
            } else if folder.rules.hidden_by(&file, false).is_some() {
                self.memory.skipped.push(SkippedFile { path: named, tier, reason: SkipReason::Ignored });
            } else {
                candidates.push((tier, named, file));
            }
        }
        let memory = std::mem::take(&mut self.memory);
        let mut loading = Loading { settings: &self.settings, memory, leaves_waiting: false };
        for (tier, path, file) in candidates {
            let read = self.bounds.read(&path).and_then(|read| {
                let waiting = ruled_folder(&file).and_then(|ruled| waits_for(&read, ruled, &file, &real));
                waiting.map_or(Ok(read), Err)
            });
            loading.take(tier, path, read);
        }
        self.memory = loading.memory;
    }
}

/// The reason why a rule of this folder does not come in for a path: it is for others. Its own path it is always for.
fn waits_for(rule: &ReadFile, folder: &Path, file: &Path, path: &Path) -> Option<SkipReason> {
    let (_, globs) = parse_rule(&rule.text).ok()?;
    let globs = globs?;
    let is_match = path.strip_prefix(folder).is_ok_and(|inside| globs.is_match(inside));
    (!is_match && path != file).then(|| SkipReason::OtherPaths { globs: globs.to_string() })
}
