//! Lays imports out as a tree: each text where it is imported.

use std::path::Path;

use super::tokens::{ImportToken, find_tokens};
use crate::estimate::estimate_tokens;

use super::{Import, ImportOutcome, ImportStep, Importing, safe};

/// Whatever users set, imports go no deeper than this: each level takes room on the stack.
const DEEPEST: usize = 100;

/// The text of a file with its imports in their places, and what they are. The file is in `folder`, and `depth` imports
/// led to it.
pub(super) fn expand(
    import: &mut Importing<'_>,
    text: &str,
    folder: &Path,
    depth: usize,
) -> (String, Vec<Import>) {
    // Made safe first, so that every byte of the result is either that or ours.
    let text = safe(text);
    let tokens = find_tokens(&text);
    let mut expanded = String::with_capacity(text.len());
    let mut imports = Vec::new();
    let mut copied = 0;
    for ImportToken { written, range, line } in tokens {
        if depth >= import.settings.imports.deepest.min(DEEPEST) {
            if super::tokens::looks_like_a_path(written, folder) {
                imports.push(Import { written: written.into(), line, outcome: ImportOutcome::TooDeep });
            }
            continue;
        }
        let (outcome, replacement) = match import.follow(written, folder) {
            ImportStep::LeftAlone => continue,
            ImportStep::Failed { reason } => {
                let comment = format!("<!-- Import failed: {written} - {reason} -->");
                (ImportOutcome::Failed { reason }, comment)
            }
            ImportStep::SeenFiles { path } => (
                ImportOutcome::AlreadyProcessed { path },
                format!("<!-- File already processed: {written} -->"),
            ),
            ImportStep::Read { path, text } => {
                let folder = path.parent().unwrap_or(folder).to_path_buf();
                let (inner, imports) = expand(import, &text, &folder, depth + 1);
                let inner = format!(
                    "<!-- Imported from: {written} -->\n{inner}\n<!-- End of import from: {written} -->"
                );
                (ImportOutcome::Included { path, imports, tokens: estimate_tokens(&inner) }, inner)
            }
        };
        expanded.push_str(&text[copied..range.start]);
        expanded.push_str(&replacement);
        copied = range.end;
        imports.push(Import { written: written.into(), line, outcome });
    }
    expanded.push_str(&text[copied..]);
    (expanded, imports)
}
