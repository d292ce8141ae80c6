//! Renders memory as the text that a model reads, within a budget for each tier.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use longhaul_conversation::{
    DISCOVERED_MEMORY_MARKS, Timestamp, TokenCount, UPDATED_MEMORY_MARKS as UPDATED,
};

use crate::budget::{Fitted, LeftOut, fit};
use crate::loaded::{Memory, MemoryFile};
use crate::neutralise::{label, neutralise};
use crate::settings::{Discovery, Labels, MemorySettings};
use crate::tier::MemoryTier;

const PRECEDENCE: &str = include_str!("prompts/precedence.md");

const CHANGED: &str = include_str!("prompts/changed.md");

const SHORTENED: &str = include_str!("prompts/shortened.md");

const GONE: &str = include_str!("prompts/gone.md");

/// The beginnings of the lines before and behind a file's text.
pub(crate) const BEGIN: &str = "--- Context from: ";
pub(crate) const END: &str = "--- End of Context from: ";

/// The prompt about saving facts.
pub const SAVE_GUIDANCE: &str = include_str!("prompts/save_memory.md");

/// A text for a model, and what had to be left out of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The text; empty if there is nothing to say.
    pub text: String,
    /// The files that are not in it whole. The text names them, too.
    pub left_out: Vec<LeftOut>,
}

/// The options of rendering.
#[derive(Clone, Copy, Debug)]
pub struct RenderOptions<'a> {
    /// The settings.
    pub settings: &'a MemorySettings,
    /// The folder that relative labels begin at.
    pub workspace: Option<&'a Path>,
    /// The time, to tell what is old.
    pub now: Timestamp,
}

/// Renders the part of the system instruction: the order of precedence, global and private memory, and after a full scan
/// everything. Project memory stays out otherwise, so that reloading it leaves the prompt as it was.
pub fn render_system(memory: &Memory, options: &RenderOptions<'_>) -> Rendered {
    let mut rendered = Rendered::default();
    let mut tiers = vec![MemorySection::Global, MemorySection::Private];
    if options.settings.discovery != Discovery::Tiered {
        tiers.extend([MemorySection::Extension, MemorySection::Project]);
    }
    let body = loaded_context(memory, &tiers, options, &mut rendered.left_out);
    if !body.is_empty() || memory.files.iter().any(|file| !file.text.is_empty()) || has_instructions(memory) {
        rendered.text = format!("---\n\n{}", precedence(options.settings));
        if !body.is_empty() {
            rendered.text.push_str(&format!("\n\n{body}"));
        }
    }
    rendered
}

/// Renders the text before the first message: memory of extensions and of the project, unless a full scan put it elsewhere.
pub fn render_first_message(memory: &Memory, options: &RenderOptions<'_>) -> Rendered {
    let mut rendered = Rendered::default();
    if options.settings.discovery == Discovery::Tiered {
        let tiers = [MemorySection::Extension, MemorySection::Project];
        rendered.text = loaded_context(memory, &tiers, options, &mut rendered.left_out);
    }
    rendered
}

/// Renders the block behind the result of a tool that brought these files in; with two empty lines before it.
pub(crate) fn render_block(
    files: &[MemoryFile],
    workspace: Option<&Path>,
    settings: &MemorySettings,
) -> Rendered {
    let budget = settings.budgets.just_in_time;
    let Fitted { texts, left_out } = fit(&files.iter().collect::<Vec<_>>(), budget);
    let blocks: Vec<String> =
        files.iter().zip(&texts).map(|(file, text)| block(&file.path, text, workspace, settings)).collect();
    let (before, behind) = DISCOVERED_MEMORY_MARKS;
    let text = format!("{before}{}{behind}", blocks.join("\n\n"));
    Rendered { text, left_out }
}

/// The reason why files are told again in the middle of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// They say something else, or are new.
    Changed,
    /// A compaction left them out.
    Shortened,
}

/// True if a passage of a conversation puts files back that a compaction left out.
pub fn is_put_back(passage: &str) -> bool {
    passage
        .trim_start()
        .strip_prefix("<memory_update>\n")
        .is_some_and(|text| text.starts_with(SHORTENED.trim_end()))
}

/// Renders what files say now and which no longer count, for the middle of a conversation; nothing if there are
/// neither.
pub fn render_update(
    why: Update,
    files: &[MemoryFile],
    gone: &[&Path],
    workspace: Option<&Path>,
    settings: &MemorySettings,
) -> Option<String> {
    if files.is_empty() && gone.is_empty() {
        return None;
    }
    let fitted = fit(&files.iter().collect::<Vec<_>>(), settings.budgets.project);
    let blocks =
        files.iter().zip(&fitted.texts).map(|(file, text)| block(&file.path, text, workspace, settings));
    let gone = (!gone.is_empty()).then(|| render_gone(gone, workspace, settings));
    let lead = match why {
        Update::Changed => CHANGED,
        Update::Shortened => SHORTENED,
    };
    let body: Vec<String> = blocks.chain(gone).collect();
    let (before, behind) = UPDATED;
    Some(format!("{}{}\n\n{}{behind}", before.trim_start(), lead.trim_end(), body.join("\n\n")))
}

/// In place of their texts, that files no longer count.
pub(crate) fn render_gone(files: &[&Path], workspace: Option<&Path>, settings: &MemorySettings) -> String {
    let blocks = files.iter().map(|path| block(path, gone_note(), workspace, settings));
    blocks.collect::<Vec<_>>().join("\n\n")
}

/// The note in place of the text of a file that no longer counts.
pub(crate) fn gone_note() -> &'static str {
    GONE.trim_end()
}

/// All of memory as people read it: one section for each tier that says anything.
pub fn flatten(memory: &Memory, workspace: Option<&Path>, settings: &MemorySettings) -> String {
    let sections = MemorySection::ALL.into_iter().filter_map(|section| {
        let blocks = memory
            .files_of(section.tiers())
            .map(|file| block(&file.path, &file.text, workspace, settings))
            .collect::<Vec<_>>();
        let text = section.with_instructions(blocks.join("\n\n"), memory);
        (!text.trim().is_empty()).then(|| format!("--- {} ---\n{}", section.title(), text.trim()))
    });
    sections.collect::<Vec<_>>().join("\n\n")
}

/// The files that do not fit into the budgets of their tiers.
pub(crate) fn find_left_out(memory: &Memory, settings: &MemorySettings) -> Vec<LeftOut> {
    let sections = MemorySection::ALL.into_iter();
    sections.flat_map(|section| section.fit(memory, settings).1.left_out).collect()
}

/// A part of memory that has tags of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemorySection {
    Global,
    Private,
    Extension,
    Project,
}

impl MemorySection {
    const ALL: [Self; 4] = [Self::Global, Self::Private, Self::Extension, Self::Project];

    fn tiers(self) -> &'static [MemoryTier] {
        match self {
            Self::Global => &[MemoryTier::Global],
            Self::Private => &[MemoryTier::Private],
            Self::Extension => &[MemoryTier::Extension],
            Self::Project => &[MemoryTier::Project, MemoryTier::SubDirectory],
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Global => "Global",
            Self::Private => "Private Project Memory",
            Self::Extension => "Extension",
            Self::Project => "Project",
        }
    }

    fn tag(self) -> &'static str {
        match self {
            Self::Global => "global_context",
            Self::Private => "user_project_memory",
            Self::Extension => "extension_context",
            Self::Project => "project_context",
        }
    }

    /// Its files, and what of them fits.
    fn fit<'a>(self, memory: &'a Memory, settings: &MemorySettings) -> (Vec<&'a MemoryFile>, Fitted) {
        let files: Vec<&MemoryFile> = memory.files_of(self.tiers()).collect();
        let budget = self.tiers().first().map_or(TokenCount::ZERO, |tier| settings.budgets.of(*tier));
        let fitted = fit(&files, budget);
        (files, fitted)
    }

    /// Servers speak at the end of the project's part.
    fn with_instructions(self, text: String, memory: &Memory) -> String {
        if self != Self::Project {
            return text;
        }
        let said = memory.instructions.iter().map(|said| neutralise(said.text.trim_start()).into_owned());
        let said = said.filter(|said| !said.is_empty());
        Some(text).filter(|text| !text.is_empty()).into_iter().chain(said).collect::<Vec<_>>().join("\n\n")
    }
}

fn has_instructions(memory: &Memory) -> bool {
    memory.instructions.iter().any(|said| !said.text.trim().is_empty())
}

fn precedence(settings: &MemorySettings) -> String {
    let names: Vec<String> = settings.names.iter().map(|name| format!("`{name}`")).collect();
    PRECEDENCE.trim_end().replace("{{names}}", &names.join(", "))
}

/// The tags with what these sections say in them; nothing if they say nothing.
fn loaded_context(
    memory: &Memory,
    sections: &[MemorySection],
    options: &RenderOptions<'_>,
    left_out: &mut Vec<LeftOut>,
) -> String {
    let parts: Vec<String> =
        sections.iter().filter_map(|section| render_section(*section, memory, options, left_out)).collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!("<loaded_context>\n{}\n</loaded_context>", parts.join("\n"))
    }
}

fn render_section(
    section: MemorySection,
    memory: &Memory,
    options: &RenderOptions<'_>,
    left_out: &mut Vec<LeftOut>,
) -> Option<String> {
    let (files, fitted) = section.fit(memory, options.settings);
    left_out.extend(fitted.left_out);
    let blocks = files.iter().zip(&fitted.texts).map(|(file, text)| {
        let text = format!("{}{text}", staleness(file, options));
        block(&file.path, &text, options.workspace, options.settings)
    });
    let text = section.with_instructions(blocks.collect::<Vec<_>>().join("\n\n"), memory);
    if text.trim().is_empty() {
        return None;
    }
    let text = match section {
        MemorySection::Private => format!(
            "--- Private project memory: the user's own, not part of the repository ---\n{text}\n--- End of private project memory ---"
        ),
        _ => text,
    };
    let tag = section.tag();
    Some(format!("<{tag}>\n{text}\n</{tag}>"))
}

fn block(path: &Path, text: &str, workspace: Option<&Path>, settings: &MemorySettings) -> String {
    let label = file_label(path, workspace, settings);
    format!("{BEGIN}{label} ---\n{}\n{END}{label} ---", text.trim())
}

pub(crate) fn file_label(path: &Path, workspace: Option<&Path>, settings: &MemorySettings) -> String {
    let inside = workspace.filter(|_| settings.labels == Labels::Relative);
    label(inside.and_then(|workspace| path.strip_prefix(workspace).ok()).unwrap_or(path))
}

/// A line that says since when a file of facts was not changed, if that is long. It names a day and no age, so that the
/// same text is sent every day.
fn staleness(file: &MemoryFile, options: &RenderOptions<'_>) -> String {
    // Files of a repository are as old as its last checkout.
    if !matches!(file.tier, MemoryTier::Global | MemoryTier::Private) {
        return String::new();
    }
    let Some(modified) = file.sources.iter().filter_map(|source| source.modified).max().and_then(timestamp)
    else {
        return String::new();
    };
    let age = options.now.as_millis() - modified.as_millis();
    let limit = Duration::from_secs(u64::from(options.settings.stale_after_days) * 86_400).as_millis();
    if i128::from(age) < i128::try_from(limit).unwrap_or(i128::MAX) {
        return String::new();
    }
    let day = modified.to_string();
    let day = day.get(..10).unwrap_or(&day);
    format!("(Last changed on {day}. What it says may be out of date: check it before you rely on it.)\n")
}

fn timestamp(time: SystemTime) -> Option<Timestamp> {
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp::from_millis(i64::try_from(since.as_millis()).ok()?))
}

#[cfg(test)]
mod tests;
