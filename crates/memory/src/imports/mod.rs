//! Imports: a word such as `@./notes.md` brings the text of a file in.
//!
//! A file is imported only from below the root of the file that began it, wherever its path, links or encoding lead, and
//! its text comes in once. What cannot be imported leaves a comment in the text; what was never meant as an import is
//! left alone.

mod flat;
mod resolve;
mod tokens;
mod tree;

use std::path::{Path, PathBuf};

use longhaul_conversation::TokenCount;

use crate::identity::{FileIdentity, SeenFiles};
use crate::neutralise::{label, neutralise};
use crate::read::{ReadFile, SourceFile, read_file, reason};
use crate::settings::{ImportFormat, MemorySettings};

use resolve::Root;
use tree::ImportingFile;

/// A word that names a file to import, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The path as it is written, without the `@`.
    pub written: String,
    /// The line that it stands in, from 1.
    pub line: usize,
    /// The outcome.
    pub outcome: ImportOutcome,
}

/// The outcome of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportOutcome {
    /// The file's text came in.
    Included {
        /// The path of the file.
        path: PathBuf,
        /// Its own imports.
        imports: Vec<Import>,
        /// The tokens that came in with it.
        tokens: TokenCount,
    },
    /// The file's text is there already.
    AlreadyProcessed {
        /// The path of the file.
        path: PathBuf,
        /// Its own imports that come in here: where its text is, they were nested too deeply.
        imports: Vec<Import>,
    },
    /// It stands in a file that is as deep as files may be, and was left as it is.
    TooDeep,
    /// It could not be imported.
    Failed {
        /// The reason, as the comment in the text gives it.
        reason: String,
    },
}

/// A text with its imports.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The whole text, safe to put between tags.
    pub text: String,
    /// The imports, in the order of the text.
    pub imports: Vec<Import>,
    /// The files whose text is in it, the first one included.
    pub sources: Vec<SourceFile>,
}

/// Reads a file with its imports.
///
/// # Errors
/// The system's error, if the file itself could not be read. An import that could not leaves a comment.
pub fn load_with_imports(path: &Path, settings: &MemorySettings) -> std::io::Result<Imported> {
    let file = read_file(path)?;
    let mut seen = SeenFiles::default();
    seen.claim(file.identity.clone(), path).expect("nothing was seen before");
    Ok(expand(path, &file, settings, &mut seen))
}

/// Brings the imports of a file in that was read and noted as seen.
pub(crate) fn expand(
    path: &Path,
    file: &ReadFile,
    settings: &MemorySettings,
    seen: &mut SeenFiles,
) -> Imported {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut import = Importing::new(folder, file, settings, seen);
    let (text, imports) = match settings.import_format {
        ImportFormat::Tree => tree::expand(&mut import, importing(file, folder)),
        ImportFormat::Flat => flat::expand(&mut import, &file.text, path),
    };
    Imported { text, imports, sources: import.sources }
}

/// Brings in the imports alone of a file whose own text is there, as deep as imports go.
pub(crate) fn expand_imports(
    path: &Path,
    file: &ReadFile,
    settings: &MemorySettings,
    seen: &mut SeenFiles,
) -> Imported {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut import = Importing::new(folder, file, settings, seen);
    let (text, imports) = tree::expand_imports(&mut import, importing(file, folder));
    Imported { text, imports, sources: import.sources }
}

fn importing<'a>(file: &'a ReadFile, folder: &'a Path) -> ImportingFile<'a> {
    ImportingFile { text: &file.text, folder, identity: &file.identity, depth: 0 }
}

/// The state while a file and everything that it imports is read.
struct Importing<'a> {
    root: Root<'a>,
    settings: &'a MemorySettings,
    seen: &'a mut SeenFiles,
    sources: Vec<SourceFile>,
}

/// The result of following a word that may be an import.
enum ImportStep {
    /// A file, whose text is safe and comes in here.
    Read { path: PathBuf, text: String, identity: FileIdentity },
    /// A file whose text is there already.
    SeenFiles { path: PathBuf, text: String, identity: FileIdentity },
    /// No import was meant.
    LeftAlone,
    /// None can be had.
    Failed { reason: String },
}

impl<'a> Importing<'a> {
    fn new(folder: &'a Path, file: &ReadFile, settings: &'a MemorySettings, seen: &'a mut SeenFiles) -> Self {
        let root = Root::above(folder, &settings.markers);
        Self { root, settings, seen, sources: vec![file.source.clone()] }
    }

    /// Follows a word in a file of this folder.
    fn follow(&mut self, written: &str, folder: &Path) -> ImportStep {
        let path = match self.root.resolve(written, folder) {
            Ok(path) => path,
            Err(resolve::ImportRefusal::Outside) => {
                return ImportStep::Failed { reason: "Path traversal attempt".into() };
            }
            Err(resolve::ImportRefusal::Missing) if tokens::looks_like_a_path(written, folder) => {
                return ImportStep::Failed { reason: "no such file".into() };
            }
            Err(resolve::ImportRefusal::Missing | resolve::ImportRefusal::NoPath) => {
                return ImportStep::LeftAlone;
            }
        };
        if path.is_dir() {
            // A folder that is called like somebody mentioned in passing.
            return match tokens::looks_like_a_path(written, folder) {
                true => ImportStep::Failed { reason: "it is a folder".into() },
                false => ImportStep::LeftAlone,
            };
        }
        if self.settings.imports.only_markdown && !is_markdown(&path) {
            return ImportStep::Failed { reason: "only Markdown files are imported".into() };
        }
        match read_file(&path) {
            Ok(ReadFile { text, source, identity, unread }) => match self.seen.claim(identity.clone(), &path)
            {
                Ok(()) => {
                    self.sources.push(source);
                    let text = match unread {
                        0 => text,
                        unread => format!("{text}\n{}", cut_note(&path, text.len() as u64, unread)),
                    };
                    ImportStep::Read { path, text, identity }
                }
                Err(_) => ImportStep::SeenFiles { path, text, identity },
            },
            Err(error) => ImportStep::Failed { reason: reason(&error) },
        }
    }
}

/// The note at the end of an import that is larger than memory reads.
fn cut_note(path: &Path, read: u64, unread: u64) -> String {
    let path = label(path);
    format!("[Cut here: the first {read} of {} bytes are shown. Read {path} for the rest.]", read + unread)
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| {
        ["md", "markdown", "mdx"].iter().any(|known| extension.eq_ignore_ascii_case(known))
    })
}

/// The text of a file as it goes between tags.
fn safe(text: &str) -> String {
    neutralise(text).into_owned()
}

#[cfg(test)]
mod tests;
