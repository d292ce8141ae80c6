//! Explains which memory files apply when something is touched, and why others do not.

use std::path::{Path, PathBuf};

use longhaul_conversation::TokenCount;
use longhaul_workspace::{IgnoreRules, canonical_workspace};

use crate::budget::LeftOut;
use crate::discover::{ceiling, folders_upward, other_files_of, owner, upward};
use crate::identity::FileIdentity;
use crate::imports::{Import, ImportOutcome};
use crate::jit::JustInTime;
use crate::load::load_memory;
use crate::loaded::{MemoryFile, SearchNotice, SkipReason, SkippedFile};
use crate::places::{Places, WorkFolder, is_same_place};
use crate::render::{find_left_out, render_block};
use crate::settings::{Discovery, IncludedFolders, MemorySettings};
use crate::tier::MemoryTier;

/// The answer for a path.
#[derive(Clone, Debug)]
pub struct MemoryExplanation {
    /// The files that apply, in the order in which a model reads them.
    pub applies: Vec<AppliedFile>,
    /// The files that do not, and why.
    pub skipped: Vec<SkippedFile>,
    /// Imports that brought nothing in.
    pub not_imported: Vec<NotImported>,
    /// Files that are too large to be given to a model whole.
    pub left_out: Vec<LeftOut>,
    /// Notices about the search.
    pub notices: Vec<SearchNotice>,
}

/// A file that applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedFile {
    /// The path.
    pub path: PathBuf,
    /// The tier.
    pub tier: MemoryTier,
    /// When its text comes in.
    pub when: When,
    /// The files that import it, the outermost first; none for a memory file itself.
    pub through: Vec<PathBuf>,
    /// The tokens that come in with it, those of its imports included.
    pub tokens: TokenCount,
}

/// When the text of a file comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At the start of a session.
    AtStart,
    /// When a tool touches the path.
    JustInTime,
    /// When a tool writes to the path: those that read cannot touch it.
    Written,
}

/// An import that brought nothing in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotImported {
    /// The file that it stands in.
    pub file: PathBuf,
    /// The line there, from 1.
    pub line: usize,
    /// The path as it is written.
    pub written: String,
    /// The reason, in words.
    pub reason: String,
}

/// Which memory files apply when a tool touches this path, which need not exist.
pub fn explain(path: &Path, places: &Places, settings: &MemorySettings) -> MemoryExplanation {
    let memory = load_memory(places, settings);
    let discovered = JustInTime::new(places, settings, &memory).look_up(path);
    let mut left_out = find_left_out(&memory, settings);
    left_out.extend(render_block(&discovered.files, None, settings).left_out);
    let real = canonical_workspace(path).unwrap_or_else(|_| path.to_path_buf());
    // What a scan found in another folder is not about this path.
    let is_about = |tier: MemoryTier, file: &Path| {
        tier != MemoryTier::SubDirectory || path.starts_with(owner(file)) || real.starts_with(owner(file))
    };
    // What was skipped at the start may be met just in time once more.
    let mut skipped = memory.skipped;
    let new =
        discovered.skipped.into_iter().filter(|new| !skipped.iter().any(|known| known.path == new.path));
    let new: Vec<SkippedFile> = new.collect();
    skipped.extend(new);
    // A rule that waits at the start may be for this path.
    skipped.retain(|skipped| discovered.files.iter().all(|file| file.path != skipped.path));
    let mut explanation = MemoryExplanation {
        applies: Vec::new(),
        skipped: skipped.into_iter().filter(|skipped| is_about(skipped.tier, &skipped.path)).collect(),
        not_imported: Vec::new(),
        left_out,
        notices: memory.notices,
    };
    for (files, when) in [(&memory.files, When::AtStart), (&discovered.files, When::JustInTime)] {
        for file in files {
            if is_about(file.tier, &file.path) {
                explanation.add(file, when);
            }
        }
    }
    for (number, folder) in places.folders.iter().enumerate() {
        if path.starts_with(&folder.path) {
            let is_included = number > 0 && settings.included == IncludedFolders::None;
            explanation.add_unseen(path, folder, is_included, places, settings);
        }
    }
    explanation
}

impl MemoryExplanation {
    /// The same for a path that is hidden from tools that read.
    pub fn hidden_from_readers(&mut self) {
        for applied in self.applies.iter_mut().filter(|applied| applied.when == When::JustInTime) {
            applied.when = When::Written;
        }
    }

    fn add(&mut self, file: &MemoryFile, when: When) {
        let applied = AppliedFile {
            path: file.path.clone(),
            tier: file.tier,
            when,
            through: Vec::new(),
            tokens: file.tokens(),
        };
        self.applies.push(applied);
        self.add_imports(&file.imports, std::slice::from_ref(&file.path), file.tier, when);
    }

    fn add_imports(&mut self, imports: &[Import], through: &[PathBuf], tier: MemoryTier, when: When) {
        for import in imports {
            let reason = match &import.outcome {
                ImportOutcome::Included { path, imports, tokens } => {
                    let applied = AppliedFile {
                        path: path.clone(),
                        tier,
                        when,
                        through: through.to_vec(),
                        tokens: *tokens,
                    };
                    self.applies.push(applied);
                    let inner = [through, std::slice::from_ref(path)].concat();
                    self.add_imports(imports, &inner, tier, when);
                    continue;
                }
                ImportOutcome::AlreadyProcessed { path, imports } => {
                    let inner = [through, std::slice::from_ref(path)].concat();
                    self.add_imports(imports, &inner, tier, when);
                    "already included".to_owned()
                }
                ImportOutcome::TooDeep => "imports are nested too deeply".to_owned(),
                ImportOutcome::Failed { reason } => reason.clone(),
            };
            let file = through.last().cloned().unwrap_or_default();
            self.not_imported.push(NotImported {
                file,
                line: import.line,
                written: import.written.clone(),
                reason,
            });
        }
    }

    /// The files between a folder that is worked in and the path that neither came in nor were skipped: the folder is not
    /// trusted, a scan did not come that far, or their names do not count.
    fn add_unseen(
        &mut self,
        path: &Path,
        folder: &WorkFolder,
        is_included: bool,
        places: &Places,
        settings: &MemorySettings,
    ) {
        let home = places.home.as_deref();
        let start = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
        let rules =
            IgnoreRules::load(ceiling(&folder.path, &settings.markers), &folder.path, &settings.ignoring);
        let is_user_home = places.user_home.as_deref().is_some_and(|home| is_same_place(home, &folder.path));
        for file in upward(start, &folder.path, &settings.names, home) {
            let reason = match settings.discovery {
                _ if self.knows(&file) || is_user_home => continue,
                _ if !folder.is_trusted => SkipReason::Untrusted,
                _ if is_included => SkipReason::Included,
                Discovery::Tiered => continue,
                Discovery::Full { .. } if rules.hidden_by(&file, false).is_some() => SkipReason::Ignored,
                Discovery::Full { .. } => SkipReason::BeyondLimit,
            };
            self.skipped.push(SkippedFile { path: file, tier: MemoryTier::SubDirectory, reason });
        }
        if !folder.is_trusted || is_user_home {
            return;
        }
        let reason = SkipReason::OtherName { names: settings.names.to_string() };
        let applied: Vec<FileIdentity> =
            self.applies.iter().map(|applied| FileIdentity::of(&applied.path)).collect();
        for file in folders_upward(start, &folder.path, home)
            .into_iter()
            .flat_map(|folder| other_files_of(folder, &settings.names, home))
        {
            if !self.knows(&file) && !applied.contains(&FileIdentity::of(&file)) {
                let tier = MemoryTier::SubDirectory;
                self.skipped.push(SkippedFile { path: file, tier, reason: reason.clone() });
            }
        }
    }

    fn knows(&self, file: &Path) -> bool {
        self.applies.iter().any(|applied| applied.path == file)
            || self.skipped.iter().any(|skipped| skipped.path == file)
    }
}
