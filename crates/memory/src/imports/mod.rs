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

use crate::identity::SeenFiles;
use crate::neutralise::neutralise;
use crate::read::{ReadFile, SourceFile, read_file, reason};
use crate::settings::{ImportFormat, MemorySettings};

use resolve::Root;

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
    Ok(expand(path, file, settings, &mut seen))
}

/// Brings the imports of a file in that was read and noted as seen.
pub(crate) fn expand(
    path: &Path,
    file: ReadFile,
    settings: &MemorySettings,
    seen: &mut SeenFiles,
) -> Imported {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut import = Importing {
        root: Root::above(folder, &settings.markers),
        settings,
        seen,
        sources: vec![file.source],
    };
    let (text, imports) = match settings.import_format {
        ImportFormat::Tree => tree::expand(&mut import, &file.text, folder, 0),
        ImportFormat::Flat => flat::expand(&mut import, &file.text, path),
    };
    Imported { text, imports, sources: import.sources }
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
    Read { path: PathBuf, text: String },
    /// A file whose text is there already.
    SeenFiles { path: PathBuf },
    /// No import was meant.
    LeftAlone,
    /// None can be had.
    Failed { reason: String },
}

impl Importing<'_> {
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
            Ok(file) => match self.seen.claim(file.identity, &path) {
                Ok(()) => {
                    self.sources.push(file.source);
                    ImportStep::Read { path, text: file.text }
                }
                Err(_) => ImportStep::SeenFiles { path },
            },
            Err(error) => ImportStep::Failed { reason: reason(&error) },
        }
    }
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
