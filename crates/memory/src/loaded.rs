//! Memory as it was loaded: the files that count, those that do not, and what the user should know.

use std::fmt;
use std::path::{Path, PathBuf};

use longhaul_conversation::TokenCount;

use crate::discover::owner;
use crate::estimate::estimate_tokens;
use crate::identity::SeenFiles;
use crate::imports::Import;
use crate::places::Instructions;
use crate::read::SourceFile;
use crate::rules::PathGlobs;
use crate::tier::MemoryTier;

/// Memory as it was loaded.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// The files: global, private, of extensions, then the project's from the outermost folder inwards.
    pub files: Vec<MemoryFile>,
    /// The instructions of tool servers, if the workspace is trusted.
    pub instructions: Vec<Instructions>,
    /// The files that do not count, and why.
    pub skipped: Vec<SkippedFile>,
    /// Notices about the search itself.
    pub notices: Vec<SearchNotice>,
    pub(crate) seen: SeenFiles,
}

impl Memory {
    /// The files of these tiers that say anything, in order.
    pub fn files_of(&self, tiers: &[MemoryTier]) -> impl Iterator<Item = &MemoryFile> {
        self.files.iter().filter(move |file| tiers.contains(&file.tier))
    }

    /// The files that say something else by now, or are gone; imports included, each once.
    pub fn changed_on_disk(&self) -> Vec<PathBuf> {
        let sources = self.files.iter().flat_map(|file| &file.sources);
        sources.filter(|source| source.has_changed()).map(|source| source.path.clone()).collect()
    }

    /// The characters that a model would read, labels left out.
    pub fn characters(&self) -> usize {
        self.files.iter().map(|file| file.text.chars().count()).sum()
    }
}

/// A memory file whose text is in the context.
#[derive(Clone, Debug)]
pub struct MemoryFile {
    /// The path.
    pub path: PathBuf,
    /// The tier.
    pub tier: MemoryTier,
    /// The text, imports included, trimmed and safe to put between tags. It is never blank.
    pub text: String,
    /// The imports, in order.
    pub imports: Vec<Import>,
    /// The file itself and those that it brought in, as they were when they were read.
    pub sources: Vec<SourceFile>,
    /// The bytes behind the text that were not read, as the file is too large.
    pub(crate) unread: u64,
    /// The paths that it is for, if it is not for everything in its folder.
    pub(crate) globs: Option<PathGlobs>,
}

impl MemoryFile {
    /// The folder that it is about: the one that it is in, or above that if it is in a `.gemini`.
    pub fn folder(&self) -> &Path {
        owner(&self.path)
    }

    /// True if it is about a path: one in its folder, or where it is for certain paths, one of those. Both paths are
    /// without links.
    pub fn is_about(&self, path: &Path, folder: &Path) -> bool {
        let inside = path.strip_prefix(folder);
        inside.is_ok_and(|inside| self.globs.as_ref().is_none_or(|globs| globs.is_match(inside)))
    }

    /// The tokens of the text, by estimate, with what was not read.
    pub fn tokens(&self) -> TokenCount {
        let unread = self.unread.div_ceil(BYTES_PER_TOKEN);
        estimate_tokens(&self.text) + TokenCount(unread)
    }
}

/// The bytes of a token in a text that was not read, roughly.
const BYTES_PER_TOKEN: u64 = 4;

/// A file that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedFile {
    /// The path.
    pub path: PathBuf,
    /// The tier that it would belong to.
    pub tier: MemoryTier,
    /// The reason why it does not count.
    pub reason: SkipReason,
}

/// The reason why a file does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// An ignore file hides it.
    Ignored,
    /// The folder is not trusted.
    Untrusted,
    /// It is a file that is in the context already, by this name, or all that it says is in another one.
    Duplicate {
        /// The name under which its text is there.
        of: PathBuf,
    },
    /// It is a link that leads out of the folder that it belongs to, and was not read.
    Outside {
        /// The target of the link.
        target: PathBuf,
    },
    /// It says nothing.
    Blank,
    /// It is called like memory of another agent, or almost like ours.
    OtherName {
        /// The names that count.
        names: String,
    },
    /// It is a rule for certain paths, and comes in when a tool touches one of them.
    OtherPaths {
        /// The paths, as globs.
        globs: String,
    },
    /// It is a note beside private memory, which the agent reads where it needs it.
    Note,
    /// It is in a folder that was added to the workspace, in which memory does not count.
    Included,
    /// The scan stopped at its limit before it came to the folder.
    BeyondLimit,
    /// It could not be read.
    Unreadable {
        /// The system's error.
        reason: String,
    },
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ignored => f.write_str("hidden by an ignore file"),
            Self::Untrusted => f.write_str("the folder is not trusted"),
            Self::Duplicate { of } => write!(f, "its text is already in {}", of.display()),
            Self::Outside { target } => {
                write!(f, "link to {}, which is outside; not read", target.display())
            }
            Self::Blank => f.write_str("empty"),
            Self::OtherName { names } => write!(f, "its name is not one of {names} (context.fileName)"),
            Self::OtherPaths { globs } => write!(f, "loaded when a file is touched that matches {globs}"),
            Self::Note => f.write_str("a note: the agent reads it when needed"),
            Self::Included => {
                f.write_str("in an included folder, and context.loadMemoryFromIncludeDirectories is false")
            }
            Self::BeyondLimit => f.write_str("not reached: the scan stopped at its folder limit"),
            Self::Unreadable { reason } => write!(f, "could not be read: {reason}"),
        }
    }
}

impl SkipReason {
    /// A stable name in lower case with hyphens.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ignored => "ignored",
            Self::Untrusted => "untrusted",
            Self::Duplicate { .. } => "duplicate",
            Self::Outside { .. } => "outside",
            Self::Blank => "blank",
            Self::OtherName { .. } => "other-name",
            Self::OtherPaths { .. } => "other-paths",
            Self::Note => "note",
            Self::Included => "included-folder",
            Self::BeyondLimit => "limit",
            Self::Unreadable { .. } => "unreadable",
        }
    }
}

/// A notice for the user about a search for memory files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchNotice {
    /// The limit of folders cut the scan short.
    ScanCutShort {
        /// The folder that was scanned.
        folder: PathBuf,
        /// The number of folders that were looked at.
        scanned: usize,
        /// The number of folders known and not looked at; there may be more below them.
        left: usize,
    },
    /// A folder could not be read, and what is in it is not known.
    UnreadableFolder {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// A line of an ignore file means nothing.
    BadIgnoreRule {
        /// The fault.
        reason: String,
    },
    /// The workspace is the user's own folder, in which no project's memory is looked for.
    WorkspaceIsUserHome {
        /// The folder.
        folder: PathBuf,
    },
}

impl fmt::Display for SearchNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ScanCutShort { folder, scanned, left } => write!(
                f,
                "the scan of {} stopped at its limit of {scanned} folders; at least {left} more were not searched",
                folder.display()
            ),
            Self::UnreadableFolder { folder, reason } => {
                write!(f, "could not search {}: {reason}", folder.display())
            }
            Self::BadIgnoreRule { reason } => write!(f, "ignored an invalid ignore rule: {reason}"),
            Self::WorkspaceIsUserHome { folder } => {
                write!(f, "{} is your home folder: it has no project memory", folder.display())
            }
        }
    }
}
