//! The instructions from memory files in a session: loaded at the start, brought in by tools, noticed when they change.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use longhaul_conversation::{Message, Origin, Part, Timestamp};
use longhaul_memory::{
    JIT_TOOLS, JustInTime, LeftOut, Memory, MemoryFile, MemorySettings, Places, RenderOptions, SkipReason,
    load_memory, opening_mark, render_block, render_first_message, render_system,
};

use crate::turn::Agent;
use crate::{Event, Host, InstructionSource, MemoryNews, SourceState};

/// The instructions from memory files in a session.
#[derive(Debug)]
pub struct SessionMemory {
    places: Places,
    settings: MemorySettings,
    memory: Memory,
    jit: JustInTime,
    /// What the system instruction says of it.
    system: String,
    left_out: Vec<LeftOut>,
}

impl SessionMemory {
    /// Loads the files of every tier.
    pub fn load(places: Places, settings: MemorySettings, now: Timestamp) -> Self {
        let memory = load_memory(&places, &settings);
        let jit = JustInTime::new(&places, &settings, &memory);
        let mut loaded = Self { places, settings, memory, jit, system: String::new(), left_out: Vec::new() };
        loaded.render(now);
        loaded
    }

    /// Loads everything again. What tools had brought in comes in again when they next touch it.
    pub fn reload(&mut self, now: Timestamp) {
        let (places, settings) = (self.places.clone(), self.settings.clone());
        *self = Self::load(places, settings, now);
    }

    /// What was loaded at the start.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Where memory is looked for.
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

    /// Every file that counts now, those that tools brought in last.
    pub fn files(&self) -> impl Iterator<Item = &MemoryFile> {
        self.memory.files.iter().chain(self.jit.files())
    }

    /// The names of all files, as they are told to the model.
    pub(crate) fn names(&self) -> Vec<String> {
        self.files().map(|file| self.name(&file.path)).collect()
    }

    fn name(&self, path: &Path) -> String {
        let workspace = self.places.workspace().map(|folder| folder.path.as_path());
        let inside = workspace.and_then(|folder| path.strip_prefix(folder).ok());
        inside.unwrap_or(path).display().to_string()
    }

    /// What the system instruction says of it.
    pub(crate) fn system(&self) -> &str {
        &self.system
    }

    /// What stands before the first message.
    pub(crate) fn first_message(&self, host: &Host<'_>) -> String {
        render_first_message(&self.memory, &self.options((host.now)())).text
    }

    fn options(&self, now: Timestamp) -> RenderOptions<'_> {
        let workspace = self.places.workspace().map(|folder| folder.path.as_path());
        RenderOptions { settings: &self.settings, workspace, now }
    }

    fn render(&mut self, now: Timestamp) {
        let system = render_system(&self.memory, &self.options(now));
        let first = render_first_message(&self.memory, &self.options(now));
        self.left_out = system.left_out.into_iter().chain(first.left_out).collect();
        self.system = system.text;
    }

    /// What comes in behind the result of a tool that touched these.
    fn come_in(&mut self, tool: &str, touched: &[PathBuf]) -> Option<(String, Vec<PathBuf>)> {
        if !JIT_TOOLS.contains(&tool) {
            return None;
        }
        let known = self.jit.files().len();
        let block = self.jit.block_for(touched.iter().map(PathBuf::as_path))?;
        Some((block, self.jit.files()[known..].iter().map(|file| file.path.clone()).collect()))
    }

    /// Reads again what changed on the disk: tells the files, and the text in which the model learns of those that it
    /// reads in the conversation.
    fn refresh(&mut self, now: Timestamp) -> Option<(Vec<PathBuf>, Option<String>)> {
        let mut changed = self.memory.changed_on_disk();
        let come_in_again = self.jit.forget_changed();
        if changed.is_empty() && come_in_again.is_empty() {
            return None;
        }
        let known: HashSet<(PathBuf, String)> =
            self.memory.files.iter().map(|file| (file.path.clone(), file.text.clone())).collect();
        let before = self.memory.files.iter().map(|file| file.path.clone()).collect::<HashSet<_>>();
        self.memory = load_memory(&self.places, &self.settings);
        self.render(now);
        let news: Vec<MemoryFile> = self
            .memory
            .files
            .iter()
            .filter(|file| !known.contains(&(file.path.clone(), file.text.clone())))
            .filter(|file| !self.system.contains(&self.mark(&file.path)))
            .cloned()
            .collect();
        let gone = before.iter().filter(|path| !self.memory.files.iter().any(|file| file.path == **path));
        let gone: Vec<String> = gone.map(|path| self.name(path)).collect();
        changed.extend(come_in_again);
        changed.sort();
        changed.dedup();
        let mut text = String::new();
        if !news.is_empty() {
            let workspace = self.places.workspace().map(|folder| folder.path.as_path());
            let block = render_block(&news, workspace, &self.settings).text;
            text = format!(
                "These instruction files changed on disk. What they say now takes the place of what they said.{block}"
            );
        }
        if !gone.is_empty() {
            let lead = if text.is_empty() { "" } else { "\n\n" };
            text.push_str(&format!(
                "{lead}These instruction files are gone and no longer count: {}.",
                gone.join(", ")
            ));
        }
        Some((changed, (!text.is_empty()).then(|| format!("<memory_update>\n{text}\n</memory_update>"))))
    }

    fn mark(&self, path: &Path) -> String {
        let workspace = self.places.workspace().map(|folder| folder.path.as_path());
        opening_mark(path, workspace, &self.settings)
    }

    /// What became of each file when the conversation was shortened to these messages.
    fn after_compaction(&mut self, messages: &[Message]) -> Vec<InstructionSource> {
        let mut texts: Vec<String> = vec![self.system.clone()];
        for part in messages.iter().flat_map(|message| &message.parts) {
            texts.extend(part.as_text().map(str::to_string));
            texts.extend(part.as_result().map(|result| result.readable().into_owned()));
        }
        let is_there = |mark: &str| texts.iter().any(|text| text.contains(mark));
        let state = |there| if there { SourceState::Present } else { SourceState::Lost };
        let marks: Vec<(PathBuf, String)> =
            self.files().map(|file| (file.path.clone(), self.mark(&file.path))).collect();
        let sources = marks
            .iter()
            .map(|(path, mark)| InstructionSource { path: path.clone(), state: state(is_there(mark)) })
            .collect();
        self.jit.rearm(|file| marks.iter().any(|(path, mark)| *path == file.path && is_there(mark)));
        sources
    }

    /// What the user should know about files that do not count.
    pub fn notices(&self) -> Vec<String> {
        let unreadable = self.memory.skipped.iter().filter_map(|skipped| match &skipped.reason {
            SkipReason::Unreadable { .. } => {
                Some(format!("{}: {}", self.name(&skipped.path), skipped.reason))
            }
            _ => None,
        });
        let notices = self.memory.notices.iter().map(ToString::to_string);
        let left_out = self.left_out.iter().map(|file| {
            format!(
                "{} is too large for memory: {} of {} tokens are read",
                self.name(&file.path),
                file.kept.0,
                file.tokens.0
            )
        });
        notices.chain(unreadable).chain(left_out).collect()
    }
}

impl Agent {
    /// Reads memory files again that changed, and tells the model.
    pub(crate) fn reload_memory(&mut self, host: &Host<'_>) -> Option<Part> {
        let (files, text) = self.memory.as_mut()?.refresh((host.now)())?;
        host.tell(Event::Memory { files, why: MemoryNews::Changed });
        let is_new = self.conversation.transcript().messages().is_empty();
        text.filter(|_| !is_new).map(|text| Part::text(Origin::Memory, text))
    }

    /// What comes in behind the result of a tool that touched these.
    pub(crate) fn bring_in_memory(
        &mut self,
        tool: &str,
        touched: &[PathBuf],
        host: &Host<'_>,
    ) -> Option<String> {
        let (block, files) = self.memory.as_mut()?.come_in(tool, touched)?;
        host.tell(Event::Memory { files, why: MemoryNews::CameIn });
        Some(block)
    }

    /// Sees to the instructions after the conversation was shortened.
    pub(crate) fn after_compaction(&mut self, host: &Host<'_>) {
        let Some(memory) = &mut self.memory else { return };
        let sources = memory.after_compaction(self.conversation.transcript().messages());
        if !sources.is_empty() {
            host.tell(Event::Instructions(sources));
        }
    }
}
