//! The settings of memory.

use std::fmt;

use longhaul_conversation::TokenCount;
use longhaul_workspace::{Ignoring, SafeName};

use crate::tier::MemoryTier;

/// The name of memory files that is ours.
pub(crate) const DEFAULT_NAME: &str = "GEMINI.md";

/// The name under which Claude Code keeps memory, in `.claude` as well.
pub(crate) const CLAUDE_NAME: &str = "CLAUDE.md";

/// The names that memory files have unless users choose others. Most repositories have only the latter two.
pub(crate) const DEFAULT_NAMES: [&str; 3] = [DEFAULT_NAME, "AGENTS.md", CLAUDE_NAME];

/// Everything that can be set about memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemorySettings {
    /// The names of memory files.
    pub names: ContextNames,
    /// The markers of the folder above which nothing counts; none of them means that no folder above counts.
    pub markers: Vec<String>,
    /// The way in which memory files are found.
    pub discovery: Discovery,
    /// The folders that were added to the workspace in which memory files count.
    pub included: IncludedFolders,
    /// The ignore rules that hide memory files.
    pub ignoring: Ignoring,
    /// The layout of imports.
    pub import_format: ImportFormat,
    /// The rules of imports.
    pub imports: ImportRules,
    /// The form of paths in the text that models read.
    pub labels: Labels,
    /// The budgets of the tiers.
    pub budgets: Budgets,
    /// After how many days without a change a model is told that what a file says may be out of date.
    pub stale_after_days: u32,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self {
            names: ContextNames::default(),
            markers: vec![".git".into()],
            discovery: Discovery::Tiered,
            included: IncludedFolders::ByDiscovery,
            ignoring: Ignoring::default(),
            import_format: ImportFormat::Tree,
            imports: ImportRules::default(),
            labels: Labels::Absolute,
            budgets: Budgets::default(),
            stale_after_days: 90,
        }
    }
}

/// The names of memory files. Invariant: there is at least one, and each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextNames(Vec<SafeName>);

impl Default for ContextNames {
    fn default() -> Self {
        Self(DEFAULT_NAMES.map(|name| SafeName::parse(name).expect("it is a plain name")).to_vec())
    }
}

impl ContextNames {
    /// These names in place of the default ones, which hold where none is left; and those that are no file names.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> (Self, Vec<String>) {
        let mut safe = Vec::new();
        let mut refused = Vec::new();
        for name in names {
            let name = name.trim();
            let plain = name.trim_start_matches("./");
            match SafeName::parse(plain) {
                Ok(plain) if !safe.contains(&plain) => safe.push(plain),
                Ok(_) => {}
                Err(_) if name.is_empty() => {}
                Err(_) => refused.push(name.to_owned()),
            }
        }
        (if safe.is_empty() { Self::default() } else { Self(safe) }, refused)
    }

    /// The names in their order.
    pub fn iter(&self) -> impl Iterator<Item = &SafeName> {
        self.0.iter()
    }

    /// The name of files that facts are saved to.
    pub fn first(&self) -> &SafeName {
        self.0.first().expect("there is at least one name")
    }

    /// The place of a file's name among them.
    pub(crate) fn position(&self, name: &std::ffi::OsStr) -> Option<usize> {
        self.0.iter().position(|known| name == known.as_str())
    }

    /// True if what Claude Code keeps in `.claude` counts: its own name does.
    pub(crate) fn has_claude(&self) -> bool {
        self.position(CLAUDE_NAME.as_ref()).is_some()
    }
}

/// The names with commas between them.
impl fmt::Display for ContextNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(SafeName::as_str).collect();
        f.write_str(&names.join(", "))
    }
}

/// The folders that were added to the workspace in which memory files count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncludedFolders {
    /// All of them in the tiered way, none in a full scan, as Gemini CLI does.
    ByDiscovery,
    /// All of them.
    All,
    /// None, neither at the start nor when a tool touches something there.
    None,
}

/// The way in which memory files of a workspace are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discovery {
    /// Upwards from the workspace at the start, and below it when a tool touches something there.
    Tiered,
    /// By a scan of the whole workspace at the start.
    Full {
        /// The most folders that are looked at.
        most_folders: usize,
    },
}

impl Discovery {
    /// The default number of folders that are looked at.
    pub const MOST_FOLDERS: usize = 200;
}

/// The layout of imports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    /// Each in its place.
    Tree,
    /// One file after the other, with the words that import them left as they are.
    Flat,
}

/// The rules of imports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportRules {
    /// The deepest nesting of imports.
    pub deepest: usize,
    /// True if only Markdown is imported.
    pub only_markdown: bool,
}

impl Default for ImportRules {
    fn default() -> Self {
        Self { deepest: 5, only_markdown: false }
    }
}

/// The form of paths in the text that models read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labels {
    /// From the root on.
    Absolute,
    /// From the workspace on, where they are in it.
    Relative,
}

/// The tokens of each tier that are given to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// Of global memory.
    pub global: TokenCount,
    /// Of extensions.
    pub extension: TokenCount,
    /// Of private memory.
    pub private: TokenCount,
    /// Of a project, with what a scan found below its folder.
    pub project: TokenCount,
    /// Of what one call of a tool brings in.
    pub just_in_time: TokenCount,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            global: TokenCount(16_000),
            extension: TokenCount(16_000),
            private: TokenCount(16_000),
            project: TokenCount(40_000),
            just_in_time: TokenCount(16_000),
        }
    }
}

impl Budgets {
    /// The same for a model with a small window: no tier takes more than a part of it.
    #[must_use]
    pub fn within_small_window(self, window: TokenCount) -> Self {
        let most = |budget: TokenCount, share: u64| budget.min(TokenCount(window.0 / share));
        Self {
            global: most(self.global, 40),
            extension: most(self.extension, 16),
            private: most(self.private, 40),
            project: most(self.project, 8),
            just_in_time: most(self.just_in_time, 16),
        }
    }

    /// The budget of a tier. What is below a project's folder shares the project's.
    pub fn of(&self, tier: MemoryTier) -> TokenCount {
        match tier {
            MemoryTier::Global => self.global,
            MemoryTier::Extension => self.extension,
            MemoryTier::Private => self.private,
            MemoryTier::Project | MemoryTier::SubDirectory => self.project,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(set: &[&str], expected: &[&str], refused: &[&str]) {
        let (names, not_taken) = ContextNames::of(set.iter().copied());
        assert_eq!(names.iter().map(SafeName::as_str).collect::<Vec<_>>(), expected);
        assert_eq!(not_taken, refused);
        assert_eq!(names.first().as_str(), expected[0]);
    }

    #[test]
    fn a_small_window_gives_memory_a_part_of_it() {
        let budgets = Budgets::default().within_small_window(TokenCount(8_000));
        assert_eq!((budgets.global, budgets.private), (TokenCount(200), TokenCount(200)));
        assert_eq!((budgets.project, budgets.just_in_time), (TokenCount(1_000), TokenCount(500)));
        let own = Budgets { global: TokenCount(10), ..Budgets::default() };
        assert_eq!(own.within_small_window(TokenCount(8_000)).global, TokenCount(10));
    }

    #[test]
    fn names_replace_the_default_ones() {
        check(&[], &["GEMINI.md", "AGENTS.md", "CLAUDE.md"], &[]);
        check(&["AGENTS.md", " CONTEXT.md "], &["AGENTS.md", "CONTEXT.md"], &[]);
        check(&["./AGENTS.md", "GEMINI.md", "AGENTS.md", " "], &["AGENTS.md", "GEMINI.md"], &[]);
        let refused = ["../x.md", "a/b.md", "/etc/passwd"];
        check(&refused, &["GEMINI.md", "AGENTS.md", "CLAUDE.md"], &refused);
    }
}
