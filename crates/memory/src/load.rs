//! Loads memory: finds the files of every tier and reads each once.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread;

use longhaul_workspace::IgnoreRules;

use crate::bounds::Bounds;
use crate::discover::{ceiling, find_root, owner, sort_outer_first, upward};
use crate::imports::expand;
use crate::loaded::{Memory, MemoryFile, SearchNotice, SkipReason, SkippedFile};
use crate::places::{Places, WorkFolder, is_same_place};
use crate::read::ReadFile;
use crate::scan::scan;
use crate::settings::{Discovery, MemorySettings};
use crate::tier::MemoryTier;

/// The name of private memory, which other files lie beside.
const PRIVATE_NAME: &str = "MEMORY.md";

/// Fewer files than this are read one after the other: starting threads would take longer.
const MANY: usize = 64;

/// The number of files that are read at once.
const MOST_READERS: usize = 8;

/// Loads the memory that holds at the start of a session. What cannot be read is told, and never an error.
pub fn load_memory(places: &Places, settings: &MemorySettings) -> Memory {
    let mut loading = Loading { settings, memory: Memory::default() };
    // Of one file in two tiers, the first of this order has it.
    let global = Bounds::of_global(places);
    loading.take_all(MemoryTier::Global, global_files(places, settings), |file| global.read(file));
    loading.take_extensions(places);
    loading.take_project(places);
    let private = Bounds::of(places.private.as_deref());
    loading.take_all(MemoryTier::Private, private_files(places, settings), |file| private.read(file));
    loading.memory.files.sort_by_key(|file| place(file.tier));
    if places.workspace().is_some_and(|workspace| workspace.is_trusted) {
        loading.memory.instructions = places.instructions.clone();
    }
    loading.memory
}

/// The rank of a tier's files among the others.
fn place(tier: MemoryTier) -> usize {
    match tier {
        MemoryTier::Global => 0,
        MemoryTier::Private => 1,
        MemoryTier::Extension => 2,
        MemoryTier::Project | MemoryTier::SubDirectory => 3,
    }
}

fn global_files(places: &Places, settings: &MemorySettings) -> Vec<PathBuf> {
    let home = places.home.iter();
    home.flat_map(|home| settings.names.iter().map(|name| home.join(name)))
        .filter(|file| file.is_file())
        .collect()
}

/// The private memory, or where it was before under the names of memory files.
fn private_files(places: &Places, settings: &MemorySettings) -> Vec<PathBuf> {
    let Some(folder) = &places.private else { return Vec::new() };
    let memory = folder.join(PRIVATE_NAME);
    if memory.is_file() {
        return vec![memory];
    }
    settings.names.iter().map(|name| folder.join(name)).filter(|file| file.is_file()).collect()
}

/// Memory in the making.
pub(crate) struct Loading<'a> {
    pub(crate) settings: &'a MemorySettings,
    pub(crate) memory: Memory,
}

impl Loading<'_> {
    fn take_all(
        &mut self,
        tier: MemoryTier,
        files: Vec<PathBuf>,
        read: impl Fn(&Path) -> Result<ReadFile, SkipReason>,
    ) {
        for path in files {
            let file = read(&path);
            self.take(tier, path, file);
        }
    }

    /// The files of extensions, sorted.
    fn take_extensions(&mut self, places: &Places) {
        let mut files: Vec<(&PathBuf, &Path)> = places
            .extensions
            .iter()
            .flat_map(|extension| extension.files.iter().map(|file| (file, extension.folder.as_path())))
            .collect();
        files.sort();
        files.dedup_by_key(|(file, _)| *file);
        for (file, folder) in files {
            let read = Bounds::of([folder]).read(file);
            self.take(MemoryTier::Extension, file.clone(), read);
        }
    }

    /// Takes a file in, unless its text is there already or it has none.
    pub(crate) fn take(&mut self, tier: MemoryTier, path: PathBuf, read: Result<ReadFile, SkipReason>) {
        let skipped = match read {
            Err(reason) => reason,
            Ok(file) if file.text.trim().is_empty() => SkipReason::Blank,
            Ok(file) => match self.memory.seen.claim(file.identity.clone(), &path) {
                Err(of) => SkipReason::Duplicate { of },
                Ok(()) => {
                    let imported = expand(&path, file, self.settings, &mut self.memory.seen);
                    let text = imported.text.trim().to_owned();
                    let (imports, sources) = (imported.imports, imported.sources);
                    self.memory.files.push(MemoryFile { path, tier, text, imports, sources });
                    return;
                }
            },
        };
        self.memory.skipped.push(SkippedFile { path, tier, reason: skipped });
    }

    fn take_project(&mut self, places: &Places) {
        let home = places.home.as_deref();
        let mut found = Vec::new();
        for (number, folder) in places.folders.iter().enumerate() {
            if places.user_home.as_deref().is_some_and(|user| is_same_place(user, &folder.path)) {
                self.memory.notices.push(SearchNotice::WorkspaceIsUserHome { folder: folder.path.clone() });
                continue;
            }
            let files = match self.settings.discovery {
                Discovery::Tiered => {
                    self.find_upward(folder, ceiling(&folder.path, &self.settings.markers), home)
                }
                Discovery::Full { .. } if number > 0 && !self.settings.scans_included => continue,
                Discovery::Full { most_folders } => {
                    let top = scan_ceiling(&folder.path, places, self.settings);
                    let mut files = self.find_upward(folder, &top, home);
                    files.extend(self.find_downward(folder, most_folders, home));
                    files
                }
            };
            found.extend(files);
        }
        sort_outer_first(&mut found, &self.settings.names);
        let bounds = Bounds::of_projects(places, &self.settings.markers);
        let ceilings: Vec<&Path> =
            places.folders.iter().map(|folder| ceiling(&folder.path, &self.settings.markers)).collect();
        let read = |file: &Path| match ceilings.iter().any(|ceiling| file.starts_with(ceiling)) {
            true => bounds.read(file),
            // Above every root, where only a full scan goes, a file stays in its own folder.
            false => Bounds::of([owner(file)]).read(file),
        };
        let mut contents = read_many(&found, read);
        for path in found {
            let tier =
                if is_below(&path, &places.folders) { MemoryTier::SubDirectory } else { MemoryTier::Project };
            let read = contents.remove(&path).unwrap_or_else(|| read(&path));
            self.take(tier, path, read);
        }
    }

    /// The files from a folder upwards that count.
    fn find_upward(&mut self, folder: &WorkFolder, top: &Path, home: Option<&Path>) -> Vec<PathBuf> {
        let files = upward(&folder.path, top, &self.settings.names, home);
        if !folder.is_trusted {
            self.skip(MemoryTier::Project, files, &SkipReason::Untrusted);
            return Vec::new();
        }
        let rules = self.rules(&folder.path);
        let (hidden, shown): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|file| rules.hidden_by(file, false).is_some());
        self.skip(MemoryTier::Project, hidden, &SkipReason::Ignored);
        shown
    }

    /// The files in and below a folder that count.
    fn find_downward(
        &mut self,
        folder: &WorkFolder,
        most_folders: usize,
        home: Option<&Path>,
    ) -> Vec<PathBuf> {
        if !folder.is_trusted {
            return Vec::new();
        }
        let rules = self.rules(&folder.path);
        let scan = scan(&folder.path, &self.settings.names, &rules, most_folders);
        if scan.left > 0 {
            let (folder, scanned, left) = (folder.path.clone(), scan.scanned, scan.left);
            self.memory.notices.push(SearchNotice::ScanCutShort { folder, scanned, left });
        }
        let unreadable = scan.unreadable.into_iter();
        self.memory
            .notices
            .extend(unreadable.map(|(folder, reason)| SearchNotice::UnreadableFolder { folder, reason }));
        self.skip(MemoryTier::SubDirectory, scan.ignored, &SkipReason::Ignored);
        let mut found = scan.found;
        found.retain(|file| home.is_none_or(|home| file.parent() != Some(home)));
        found
    }

    fn rules(&mut self, folder: &Path) -> IgnoreRules {
        let root = ceiling(folder, &self.settings.markers);
        let rules = IgnoreRules::load(root, folder, &self.settings.ignoring);
        for problem in &rules.problems {
            let notice = SearchNotice::BadIgnoreRule { reason: problem.clone() };
            if !self.memory.notices.contains(&notice) {
                self.memory.notices.push(notice);
            }
        }
        rules
    }

    fn skip(&mut self, tier: MemoryTier, files: Vec<PathBuf>, reason: &SkipReason) {
        for path in files {
            if !self.memory.skipped.iter().any(|known| known.path == path && known.reason == *reason) {
                self.memory.skipped.push(SkippedFile { path, tier, reason: reason.clone() });
            }
        }
    }
}

/// The highest folder of a full scan: the folder above the root, or without one the one above the user's own. Without
/// markers it does not go up at all.
fn scan_ceiling(folder: &Path, places: &Places, settings: &MemorySettings) -> PathBuf {
    if settings.markers.is_empty() {
        return folder.to_path_buf();
    }
    let stop = match find_root(folder, &settings.markers) {
        Some(root) => root.parent(),
        None => places.user_home.as_deref().and_then(Path::parent).filter(|stop| folder.starts_with(stop)),
    };
    // The root of the disk is nobody's project.
    let is_nothing = |path: &&Path| path.parent().is_some();
    let top = folder.ancestors().filter(is_nothing).last().unwrap_or(folder);
    stop.filter(is_nothing).unwrap_or(top).to_path_buf()
}

/// True if a file is in a folder that is below those that are worked in, and not above any.
fn is_below(file: &Path, folders: &[WorkFolder]) -> bool {
    let own = owner(file);
    !folders.iter().any(|folder| folder.path.starts_with(own))
}

/// Reads many files at once; few are not worth it, and then nothing is read.
fn read_many(
    files: &[PathBuf],
    read: impl Fn(&Path) -> Result<ReadFile, SkipReason> + Sync,
) -> HashMap<PathBuf, Result<ReadFile, SkipReason>> {
    if files.len() < MANY {
        return HashMap::new();
    }
    let readers = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MOST_READERS);
    let share = files.len().div_ceil(readers);
    thread::scope(|scope| {
        let parts: Vec<_> = files
            .chunks(share)
            .map(|part| {
                let read = || part.iter().map(|file| (file.clone(), read(file))).collect::<Vec<_>>();
                thread::Builder::new().spawn_scoped(scope, read)
            })
            .collect();
        // What no thread could be started for is read later.
        parts.into_iter().flatten().flat_map(|part| part.join().unwrap_or_default()).collect()
    })
}
