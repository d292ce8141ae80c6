//! Lays imports out as a tree: each text where it is imported.

use std::ops::Range;
use std::path::Path;

use super::tokens::{ImportToken, find_tokens};
use crate::estimate::estimate_tokens;
use crate::identity::FileIdentity;

use super::{Import, ImportOutcome, ImportStep, Importing, safe};

/// Whatever users set, imports go no deeper than this: each level takes room on the stack.
const DEEPEST: usize = 100;

/// A file whose imports are followed.
#[derive(Clone, Copy)]
pub(super) struct ImportingFile<'a> {
    pub(super) text: &'a str,
    pub(super) folder: &'a Path,
    pub(super) identity: &'a FileIdentity,
    /// The number of imports that led to it.
    pub(super) depth: usize,
}

/// The text of a file with its imports in their places, and what they are.
pub(super) fn expand(import: &mut Importing<'_>, file: ImportingFile<'_>) -> (String, Vec<Import>) {
    // Made safe first, so that every byte of the result is either that or ours.
    let text = safe(file.text);
    let mut expanded = String::with_capacity(text.len());
    let mut imports = Vec::new();
    let mut copied = 0;
    for followed in follow_all(import, ImportingFile { text: &text, ..file }) {
        if let Some(replacement) = followed.replacement {
            expanded.push_str(&text[copied..followed.range.start]);
            expanded.push_str(&replacement);
            copied = followed.range.end;
        }
        imports.push(followed.import);
    }
    expanded.push_str(&text[copied..]);
    (expanded, imports)
}

/// The imports of a file alone, for one whose own text came in where its imports could not.
pub(super) fn expand_imports(import: &mut Importing<'_>, file: ImportingFile<'_>) -> (String, Vec<Import>) {
    let text = safe(file.text);
    let followed = follow_all(import, ImportingFile { text: &text, ..file });
    let (texts, imports): (Vec<_>, Vec<_>) =
        followed.into_iter().map(|followed| (followed.replacement, followed.import)).unzip();
    (texts.into_iter().flatten().collect::<Vec<_>>().join("\n"), imports)
}

/// A word that was followed.
struct Followed {
    range: Range<usize>,
    /// The text in its place; none if it stays as it is.
    replacement: Option<String>,
    import: Import,
}

fn follow_all(import: &mut Importing<'_>, file: ImportingFile<'_>) -> Vec<Followed> {
    let ImportingFile { text, folder, identity, depth } = file;
    let deepest = import.settings.imports.deepest.min(DEEPEST);
    let mut all = Vec::new();
    for ImportToken { written, range, line } in find_tokens(text) {
        if depth >= deepest {
            if super::tokens::looks_like_a_path(written, folder) {
                import.seen.leave_imports(identity.clone());
                let import = Import { written: written.into(), line, outcome: ImportOutcome::TooDeep };
                all.push(Followed { range, replacement: None, import });
            }
            continue;
        }
        let (outcome, replacement) = match import.follow(written, folder) {
            ImportStep::LeftAlone => continue,
            ImportStep::Failed { reason } => {
                let comment = format!("<!-- Import failed: {written} - {reason} -->");
                (ImportOutcome::Failed { reason }, comment)
            }
            ImportStep::SeenFiles { path, text, identity } => {
                let mut comment = format!("<!-- File already processed: {written} -->");
                let mut imports = Vec::new();
                // Here, nearer to the top, its imports can come in that were too deep where its text is.
                if depth + 1 < deepest && import.seen.take_imports(&identity) {
                    let folder = path.parent().unwrap_or(folder).to_path_buf();
                    let file =
                        ImportingFile { text: &text, folder: &folder, identity: &identity, depth: depth + 1 };
                    let (inner, found) = expand_imports(import, file);
                    comment = format!("{comment}\n{inner}");
                    imports = found;
                }
                (ImportOutcome::AlreadyProcessed { path, imports }, comment)
            }
            ImportStep::Read { path, text, identity } => {
                let folder = path.parent().unwrap_or(folder).to_path_buf();
                let file =
                    ImportingFile { text: &text, folder: &folder, identity: &identity, depth: depth + 1 };
                let (inner, imports) = expand(import, file);
                let inner = format!(
                    "<!-- Imported from: {written} -->\n{inner}\n<!-- End of import from: {written} -->"
                );
                (ImportOutcome::Included { path, imports, tokens: estimate_tokens(&inner) }, inner)
            }
        };
        let import = Import { written: written.into(), line, outcome };
        all.push(Followed { range, replacement: Some(replacement), import });
    }
    all
}
