//! The instructions from memory files in a session: loaded at the start, brought in by tools, noticed when they change,
//! and put back when a compaction left them out.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use longhaul_conversation::{Message, Origin, Timestamp, split_memory};
use longhaul_memory::{
    Discovery, JustInTime, LeftOut, Memory, MemoryEvent, MemoryFile, MemorySettings, MemoryTier, Places,
    RememberedFact, RenderOptions, SkipReason, SkippedFile, Told, ToldFiles, Update, find_facts, is_put_back,
    load_memory, render_first_message, render_system, render_update,
};
use longhaul_workspace::canonical_workspace;

use crate::event::{Instruction, InstructionSource, SourceState};
use crate::prompt::has_session_context;
use crate::tools::tells_skill;

/// The number of paths, touched last by tools, that count as in work.
const IN_WORK: usize = 16;

/// The instructions from memory files in a session.
#[derive(Debug)]
pub struct SessionMemory {
    places: Places,
    settings: MemorySettings,
    memory: Memory,
    jit: JustInTime,
    /// Its part of the system instruction.
    system: String,
    left_out: Vec<LeftOut>,
    /// The paths that tools touched last, without links.
    touched: VecDeque<PathBuf>,
    /// Links out of the project that tools came by, of which the user was warned.
    warned: Vec<SkippedFile>,
}

/// Files that changed, and the text in which the model learns what they say now.
pub(crate) struct Reloaded {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) text: Option<String>,
}

impl SessionMemory {
    /// Loads the files of every tier.
    pub fn load(places: Places, settings: MemorySettings, now: Timestamp) -> Self {
        let memory = load_memory(&places, &settings);
        let jit = JustInTime::new(&places, &settings, &memory);
        let mut loaded = Self {
            places,
            settings,
            memory,
            jit,
            system: String::new(),
            left_out: Vec::new(),
            touched: VecDeque::new(),
            warned: Vec::new(),
        };
        loaded.render(now);
        loaded
    }

    /// Loads everything again. What tools had brought in comes in again when they next touch it.
    pub fn reload(&mut self, now: Timestamp) {
        let (places, settings) = (self.places.clone(), self.settings.clone());
        *self = Self::load(places, settings, now);
    }

    /// Looks for private memory in this folder from the next turn on. A project has none before its first session is begun.
    pub fn keep_private_in(&mut self, folder: PathBuf) {
        self.places.private = Some(folder);
    }

    /// The memory that was loaded at the start.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The places that are searched for memory files.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// The settings of memory.
    pub fn settings(&self) -> &MemorySettings {
        &self.settings
    }

    /// The files that did not fit into the budgets of their tiers.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Every active file, those loaded by tools last.
    pub fn files(&self) -> impl Iterator<Item = &MemoryFile> {
        self.memory.files.iter().chain(self.jit.files())
    }

    /// The facts in the files, which the user can remove and edit.
    pub fn facts(&self) -> Vec<RememberedFact> {
        find_facts(&self.places, &self.settings)
    }

    /// The names of all files, as the model reads them.
    pub(crate) fn names(&self) -> Vec<String> {
        self.files().map(|file| self.name(&file.path)).collect()
    }

    fn name(&self, path: &Path) -> String {
        let inside = self.workspace().and_then(|folder| path.strip_prefix(folder).ok());
        inside.unwrap_or(path).display().to_string()
    }

    fn workspace(&self) -> Option<&Path> {
        self.places.workspace().map(|folder| folder.path.as_path())
    }

    /// Its part of the system instruction.
    pub(crate) fn system(&self) -> &str {
        &self.system
    }

    /// Its part of the first message.
    pub(crate) fn first_message(&self, now: Timestamp) -> String {
        render_first_message(&self.memory, &self.options(now)).text
    }

    fn options(&self, now: Timestamp) -> RenderOptions<'_> {
        RenderOptions { settings: &self.settings, workspace: self.workspace(), now }
    }

    fn render(&mut self, now: Timestamp) {
        let system = render_system(&self.memory, &self.options(now));
        let first = render_first_message(&self.memory, &self.options(now));
        self.left_out = system.left_out.into_iter().chain(first.left_out).collect();
        self.system = system.text;
    }

    /// `true` if the system instruction holds a file, so that no message has to.
    fn is_in_system(&self, file: &MemoryFile) -> bool {
        self.settings.discovery != Discovery::Tiered
            || matches!(file.tier, MemoryTier::Global | MemoryTier::Private)
    }

    /// The version of a file that the conversation holds.
    fn version_in(&self, told: &ToldFiles<'_>, file: &MemoryFile) -> Told {
        told.of(file, self.workspace(), &self.settings)
    }

    /// Goes on with a conversation in which tools have brought files in: they need not come in again.
    pub(crate) fn follow(&mut self, messages: &[Message]) {
        let passages = passages(messages);
        self.bring_in_told(&ToldFiles::read(passages.iter().map(String::as_str)));
    }

    /// Begins anew with the files that the conversation holds beside those that were loaded.
    fn bring_in_told(&mut self, told: &ToldFiles<'_>) {
        self.jit = JustInTime::new(&self.places, &self.settings, &self.memory);
        for path in told.paths(self.workspace()) {
            self.jit.look_up(&path);
        }
        let (workspace, settings) = (self.places.workspace().map(|folder| &*folder.path), &self.settings);
        self.jit.rearm(|file| told.of(file, workspace, settings) != Told::Nothing);
    }

    /// Reads everything again that may have changed on the disk since the last turn.
    pub(crate) fn refresh(&mut self, now: Timestamp, messages: &[Message]) -> Option<Reloaded> {
        // Where the first message is yet to come, it will hold what was loaded.
        let is_begun = messages.iter().any(has_session_context);
        let before = self.memory.clone();
        // A scan of the whole workspace is worth it only where something is known to have changed.
        if self.settings.discovery == Discovery::Tiered || !before.changed_on_disk().is_empty() {
            self.memory = load_memory(&self.places, &self.settings);
        }
        self.render(now);
        let passages = passages(messages);
        let told = ToldFiles::read(passages.iter().map(String::as_str));
        self.bring_in_told(&told);
        let loaded = self.memory.files.iter().filter(|file| is_begun && !self.is_in_system(file));
        let news: Vec<MemoryFile> = loaded
            .chain(self.jit.files())
            .filter(|file| self.version_in(&told, file) != Told::Now)
            .cloned()
            .collect();
        let is_ours =
            |path: &PathBuf| self.places.folders.iter().any(|folder| path.starts_with(&folder.path));
        let gone: Vec<PathBuf> = told
            .paths(self.workspace())
            .into_iter()
            .filter(|path| is_ours(path) && !self.files().any(|file| file.path == *path))
            .collect();
        self.reloaded(&before, &news, &gone)
    }

    /// Reads everything again because a tool changed one of the files. Its part of the system instruction changes
    /// with the next turn.
    pub(crate) fn refresh_touched(&mut self, touched: &[PathBuf]) -> Option<Reloaded> {
        let real = |path: &Path| canonical_workspace(path).unwrap_or_else(|_| path.to_path_buf());
        let is_changed = |file: &MemoryFile| {
            file.sources.iter().any(|source| touched.contains(&real(&source.path)) && source.has_changed())
        };
        // A new file of the user's own is in no folder in which one is looked for when it is touched.
        let own = [&self.places.home, &self.places.private].map(|folder| folder.as_deref().map(real));
        let is_new = |path: &PathBuf| {
            own.iter().flatten().any(|folder| path.parent() == Some(folder))
                && !self.files().any(|file| real(&file.path) == *path)
        };
        if !self.files().any(is_changed) && !touched.iter().any(is_new) {
            return None;
        }
        let before = self.memory.clone();
        let known: Vec<MemoryFile> = self.files().cloned().collect();
        self.memory = load_memory(&self.places, &self.settings);
        let came_in: Vec<PathBuf> = self.jit.files().iter().map(|file| file.path.clone()).collect();
        self.jit = JustInTime::new(&self.places, &self.settings, &self.memory);
        for path in &came_in {
            self.jit.look_up(path);
        }
        self.jit.rearm(|file| came_in.contains(&file.path));
        let is_known =
            |file: &&MemoryFile| known.iter().any(|old| (&old.path, &old.text) == (&file.path, &file.text));
        let news = self
            .files()
            .filter(|file| !is_known(file) && !self.is_in_system(file))
            .cloned()
            .collect::<Vec<_>>();
        let gone: Vec<PathBuf> = known
            .iter()
            .map(|file| file.path.clone())
            .filter(|path| !self.files().any(|file| file.path == *path))
            .collect();
        self.reloaded(&before, &news, &gone)
    }

    /// The changes that a reload brought, if any.
    fn reloaded(&self, before: &Memory, news: &[MemoryFile], gone: &[PathBuf]) -> Option<Reloaded> {
        let MemoryEvent::MemoryChanged { changed: mut files, .. } =
            MemoryEvent::between(before, &self.memory);
        files.extend(news.iter().map(|file| file.path.clone()).chain(gone.iter().cloned()));
        files.sort();
        files.dedup();
        let gone: Vec<&Path> = gone.iter().map(PathBuf::as_path).collect();
        let text = render_update(Update::Changed, news, &gone, self.workspace(), &self.settings);
        (!files.is_empty()).then_some(Reloaded { files, text })
    }

    /// The files that come in behind the result of a tool that touched these paths.
    pub(crate) fn come_in(&mut self, touched: &[PathBuf]) -> Option<(String, Vec<PathBuf>)> {
        self.touched.extend(touched.iter().cloned());
        let old = self.touched.len().saturating_sub(IN_WORK);
        self.touched.drain(..old);
        let known = self.jit.files().len();
        let block = self.jit.block_for(touched.iter().map(PathBuf::as_path))?;
        Some((block, self.jit.files()[known..].iter().map(|file| file.path.clone()).collect()))
    }

    /// The state of each file after the conversation was shortened to these messages, and the text that puts back what
    /// the work still needs, as far as it fits. The rest comes in again when a tool next touches it.
    pub(crate) fn after_compaction(
        &mut self,
        messages: &[Message],
        fits: impl Fn(&str) -> bool,
    ) -> (Vec<InstructionSource>, Option<String>) {
        let passages = passages(messages);
        let told = ToldFiles::read(passages.iter().map(String::as_str));
        let is_there =
            |file: &MemoryFile| self.is_in_system(file) || self.version_in(&told, file) == Told::Now;
        let mut back: VecDeque<MemoryFile> =
            self.files().filter(|file| !is_there(file) && self.is_needed(file)).cloned().collect();
        let text = loop {
            let files = back.make_contiguous();
            match render_update(Update::Shortened, files, &[], self.workspace(), &self.settings) {
                Some(text) if !fits(&text) => back.pop_front(),
                text => break text,
            };
        };
        let state = |file: &MemoryFile| match back.iter().any(|other| other.path == file.path) {
            true => SourceState::Reinjected,
            false if is_there(file) => SourceState::Present,
            false => SourceState::Lost,
        };
        let sources: Vec<InstructionSource> = self
            .files()
            .map(|file| InstructionSource {
                what: Instruction::Memory(file.path.clone()),
                state: state(file),
            })
            .collect();
        let is_lost = |file: &MemoryFile| {
            let what = Instruction::Memory(file.path.clone());
            sources.iter().any(|source| source.what == what && source.state == SourceState::Lost)
        };
        self.jit.rearm(|file| !is_lost(file));
        (sources, text)
    }

    /// Every file that is active or was read in this conversation, with its state, where `said` is all that
    /// was said and `messages` what is left of it.
    pub(crate) fn standing(&self, messages: &[Message], said: &[Message]) -> Vec<InstructionSource> {
        let (now, ever) = (passages(messages), passages(said));
        let put_back = ToldFiles::read(now.iter().map(String::as_str).filter(|passage| is_put_back(passage)));
        let ever = ToldFiles::read(ever.iter().map(String::as_str));
        let now = ToldFiles::read(now.iter().map(String::as_str));
        // Before the first words, everything is about to be read.
        let is_begun = said.iter().any(has_session_context);
        let state = |file: &MemoryFile| match self.version_in(&now, file) {
            _ if self.is_in_system(file) || !is_begun => SourceState::Present,
            Told::Now if self.version_in(&put_back, file) == Told::Now => SourceState::Reinjected,
            Told::Now => SourceState::Present,
            Told::Older | Told::Nothing => SourceState::Lost,
        };
        let known = self.files().map(|file| (file.path.clone(), state(file)));
        // What came in with a tool and fell out again is forgotten until a tool next touches its folder.
        let is_lost = |path: &PathBuf| path.is_file() && self.files().all(|file| file.path != *path);
        let lost = ever.paths(self.workspace()).into_iter().filter(is_lost);
        known
            .chain(lost.map(|path| (path, SourceState::Lost)))
            .map(|(path, state)| InstructionSource { what: Instruction::Memory(path), state })
            .collect()
    }

    /// `true` if the work still needs a file: what was loaded at the start always, the rest while its folder is in work.
    fn is_needed(&self, file: &MemoryFile) -> bool {
        let came_in = self.jit.files().iter().any(|other| other.path == file.path);
        let Ok(folder) = canonical_workspace(file.folder()) else { return false };
        !came_in || self.touched.iter().any(|path| file.is_about(path, &folder))
    }

    /// Notices for the user about files that are not active.
    pub fn notices(&self) -> Vec<String> {
        let unreadable = self.memory.skipped.iter().filter_map(|skipped| match &skipped.reason {
            SkipReason::Unreadable { .. } | SkipReason::Outside { .. } => Some(self.describe(skipped)),
            _ => None,
        });
        let links_out = self.warned.iter().map(|skipped| self.describe(skipped));
        let notices = self.memory.notices.iter().map(ToString::to_string);
        let left_out = self.left_out.iter().map(|file| {
            format!(
                "{} is too large: loaded {} of {} tokens",
                self.name(&file.path),
                file.kept.0,
                file.tokens.0
            )
        });
        notices.chain(unreadable).chain(links_out).chain(left_out).collect()
    }

    /// Links out of the project that tools came by since the last call, in words.
    pub(crate) fn new_links_out(&mut self) -> Vec<String> {
        let at_start = &self.memory.skipped;
        let is_new = |skipped: &&SkippedFile| !self.warned.contains(skipped) && !at_start.contains(skipped);
        let new: Vec<SkippedFile> = self.jit.links_out().iter().filter(is_new).cloned().collect();
        let warnings = new.iter().map(|skipped| self.describe(skipped)).collect();
        self.warned.extend(new);
        warnings
    }

    fn describe(&self, skipped: &SkippedFile) -> String {
        format!("{}: {}", self.name(&skipped.path), skipped.reason)
    }
}

/// The passages of a conversation that hold memory files. Whatever else quotes one holds none.
fn passages(messages: &[Message]) -> Vec<String> {
    let mut passages = Vec::new();
    for part in messages.iter().flat_map(|message| &message.parts) {
        if matches!(part.origin, Origin::Hook | Origin::Memory) {
            // A quotation in a skill is no memory.
            passages.extend(part.as_text().filter(|text| !tells_skill(text)).map(str::to_string));
        }
        if let Some(result) = part.as_result() {
            passages.push(split_memory(&result.readable()).1.to_string());
        }
    }
    passages
}
