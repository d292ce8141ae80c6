//! Loads memory: finds the files of every tier and reads each once.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread;

use longhaul_workspace::{IgnoreRules, SafeName};

use crate::bounds::Bounds;
use crate::discover::{
    ceiling, find_root, folders_upward, other_files_of, other_names_in, owner, sort_outer_first, upward,
};
use crate::identity::FileIdentity;
use crate::imports::{Import, ImportOutcome, Imported, expand, expand_imports};
use crate::loaded::{Memory, MemoryFile, SearchNotice, SkipReason, SkippedFile};
use crate::neutralise::label;
use crate::places::{Places, WorkFolder, is_same_place};
use crate::read::ReadFile;
use crate::rules::{parse_rule, ruled_folder};
use crate::scan::scan;
use crate::settings::{DEFAULT_NAME, Discovery, IncludedFolders, MemorySettings};
use crate::tier::MemoryTier;

/// The name of private memory, which other files lie beside.
pub(crate) const PRIVATE_NAME: &str = "MEMORY.md";

/// Fewer files than this are read one after the other: starting threads would take longer.
const MANY: usize = 64;

/// The number of files that are read at once.
const MOST_READERS: usize = 8;

/// Loads the memory that holds at the start of a session. What cannot be read is told, and never an error.
pub fn load_memory(places: &Places, settings: &MemorySettings) -> Memory {
    let leaves_waiting = settings.discovery == Discovery::Tiered;
    let mut loading = Loading { settings, memory: Memory::default(), leaves_waiting };
    // Of one file in two tiers, the first of this order has it.
    let global = Bounds::of_global(places);
    loading.take_all(MemoryTier::Global, global_files(places, settings), |file| global.read(file));
    let others = places.home.iter().flat_map(|home| other_names_in(home, &settings.names));
    loading.name_others(MemoryTier::Global, others.collect());
    loading.take_extensions(places);
    loading.take_project(places);
    let private = Bounds::of(places.private.as_deref());
    loading.take_all(MemoryTier::Private, private_files(places, settings), |file| private.read(file));
    loading.skip(MemoryTier::Private, private_notes(places, settings), &SkipReason::Note);
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

pub(crate) fn global_files(places: &Places, settings: &MemorySettings) -> Vec<PathBuf> {
    let home = places.home.iter();
    home.flat_map(|home| settings.names.iter().map(|name| home.join(name)))
        .filter(|file| file.is_file())
        .collect()
}

/// The files of private memory, which are one to their reader: the index, then what other programs and other settings
/// call it.
pub(crate) fn private_files(places: &Places, settings: &MemorySettings) -> Vec<PathBuf> {
    let Some(folder) = &places.private else { return Vec::new() };
    let mut names = vec![PRIVATE_NAME];
    for name in settings.names.iter().map(SafeName::as_str).chain([DEFAULT_NAME]) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.into_iter().map(|name| folder.join(name)).filter(|file| file.is_file()).collect()
}

/// The notes beside private memory.
fn private_notes(places: &Places, settings: &MemorySettings) -> Vec<PathBuf> {
    let Some(folder) = &places.private else { return Vec::new() };
    let memory = private_files(places, settings);
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut notes: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| is_note(path) && !memory.contains(path)).collect();
    notes.sort();
    notes
}

/// True if a file in the folder of private memory is a note, as far as its name tells.
pub(crate) fn is_note(path: &Path) -> bool {
    let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    path.extension().is_some_and(|end| end == "md") && !is_hidden && path.is_file()
}

/// Memory in the making.
pub(crate) struct Loading<'a> {
    pub(crate) settings: &'a MemorySettings,
    pub(crate) memory: Memory,
    /// True if rules for certain paths are left for when a tool touches one of them.
    pub(crate) leaves_waiting: bool,
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
        if let Err(reason) = read.and_then(|file| self.try_take(tier, &path, file)) {
            self.memory.skipped.push(SkippedFile { path, tier, reason });
        }
    }

    fn try_take(&mut self, tier: MemoryTier, path: &Path, mut file: ReadFile) -> Result<(), SkipReason> {
        let mut globs = None;
        if ruled_folder(path).is_some() {
            (file.text, globs) =
                parse_rule(&file.text).map_err(|reason| SkipReason::Unreadable { reason })?;
        }
        if file.text.trim().is_empty() {
            return Err(SkipReason::Blank);
        }
        if let Some(waiting) = globs.as_ref().filter(|_| self.leaves_waiting) {
            return Err(SkipReason::OtherPaths { globs: waiting.to_string() });
        }
        let seen = &mut self.memory.seen;
        let unread = file.unread;
        let imported = match seen.claim(file.identity.clone(), path) {
            // Another file imports it where its own imports were nested too deeply.
            Err(of) if seen.take_imports(&file.identity) => {
                let mut imported = expand_imports(path, &file, self.settings, seen);
                imported.text = format!("<!-- File already processed: {} -->\n{}", label(&of), imported.text);
                imported
            }
            Err(of) => return Err(SkipReason::Duplicate { of }),
            Ok(()) => {
                // What is imported is looked for in another folder there.
                let folder =
                    if file.text.contains('@') { path.parent().unwrap_or(path) } else { owner(path) };
                let is_first = seen.claim_text(folder, &file.text, path);
                is_first.map_err(|of| SkipReason::Duplicate { of })?;
                expand(path, &file, self.settings, seen)
            }
        };
        if let Some(of) = only_imports(&imported) {
            return Err(SkipReason::Duplicate { of });
        }
        // What a model reads begins with what it is about.
        let about = globs
            .as_ref()
            .map(|globs| format!("(For files that match {}.)\n", label(Path::new(&globs.to_string()))));
        let text = about.unwrap_or_default() + imported.text.trim();
        let (path, imports, sources) = (path.to_path_buf(), imported.imports, imported.sources);
        self.memory.files.push(MemoryFile { path, tier, text, imports, sources, unread, globs });
        Ok(())
    }

    fn take_project(&mut self, places: &Places) {
        let home = places.home.as_deref();
        let (mut found, mut others) = (Vec::new(), Vec::new());
        for (number, folder) in places.folders.iter().enumerate() {
            if places.user_home.as_deref().is_some_and(|user| is_same_place(user, &folder.path)) {
                self.memory.notices.push(SearchNotice::WorkspaceIsUserHome { folder: folder.path.clone() });
                continue;
            }
            let root = ceiling(&folder.path, &self.settings.markers);
            if number > 0 && self.settings.included == IncludedFolders::None {
                let files = upward(&folder.path, root, &self.settings.names, home);
                self.skip(MemoryTier::Project, files, &SkipReason::Included);
                continue;
            }
            let files = match self.settings.discovery {
                Discovery::Tiered => self.find_upward(folder, root, home),
                Discovery::Full { .. } if number > 0 && self.settings.included != IncludedFolders::All => {
                    continue;
                }
                Discovery::Full { most_folders } => {
                    let top = scan_ceiling(&folder.path, places, self.settings);
                    let mut files = self.find_upward(folder, &top, home);
                    files.extend(self.find_downward(folder, most_folders, home));
                    files
                }
            };
            found.extend(files);
            if folder.is_trusted {
                let folders = folders_upward(&folder.path, root, home).into_iter().rev();
                others.extend(folders.flat_map(|folder| other_files_of(folder, &self.settings.names, home)));
            }
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
        self.name_others(MemoryTier::Project, others);
    }

    /// Names files that look like memory files and do not count. Where letters are the same, large or small, they do.
    pub(crate) fn name_others(&mut self, tier: MemoryTier, mut files: Vec<PathBuf>) {
        files.retain(|file| self.memory.seen.get(&FileIdentity::of(file)).is_none());
        let reason = SkipReason::OtherName { names: self.settings.names.to_string() };
        self.skip(tier, files, &reason);
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

/// The file whose text a file imports, if it says nothing else and that is there already.
fn only_imports(imported: &Imported) -> Option<PathBuf> {
    let seen = imported.imports.iter().map(|import| match &import.outcome {
        ImportOutcome::AlreadyProcessed { path, imports } if imports.is_empty() => Some((import, path)),
        _ => None,
    });
    let seen: Vec<(&Import, &PathBuf)> = seen.collect::<Option<_>>()?;
    let comment = |import: &Import| format!("<!-- File already processed: {} -->", import.written);
    let rest =
        seen.iter().fold(imported.text.clone(), |text, (import, _)| text.replace(&comment(import), ""));
    seen.first().filter(|_| rest.trim().is_empty()).map(|(_, path)| path.to_path_buf())
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
