//! Lays imports out flat: one file after the other, each once.

use std::path::{Path, PathBuf};

use super::tokens::find_tokens;
use super::{Import, ImportOutcome, ImportStep, Importing, safe};
use crate::estimate::estimate_tokens;
use crate::neutralise::label;

/// A word that may be an import and waits for its turn.
struct WaitingImport {
    written: String,
    line: usize,
    /// The folder of the file that it stands in.
    folder: PathBuf,
}

/// The text of a file and then of those that it imports, however deep. Words that import stay as they are, and nothing
/// is said of those that cannot be imported.
///
/// The imports of a file are visited from its last to its first: that is the order in which Gemini CLI lays them out.
pub(super) fn expand(import: &mut Importing<'_>, text: &str, path: &Path) -> (String, Vec<Import>) {
    let mut blocks = Vec::new();
    let mut imports = Vec::new();
    let mut waiting = Vec::new();
    visit(text, path, &mut blocks, &mut waiting);
    while let Some(WaitingImport { written, line, folder }) = waiting.pop() {
        let outcome = match import.follow(&written, &folder) {
            ImportStep::LeftAlone => continue,
            ImportStep::SeenFiles { path, .. } => {
                ImportOutcome::AlreadyProcessed { path, imports: Vec::new() }
            }
            ImportStep::Failed { reason } => ImportOutcome::Failed { reason },
            ImportStep::Read { path, text, .. } => {
                visit(&text, &path, &mut blocks, &mut waiting);
                ImportOutcome::Included { path, imports: Vec::new(), tokens: estimate_tokens(&text) }
            }
        };
        imports.push(Import { written, line, outcome });
    }
    (blocks.join("\n\n"), imports)
}

/// Adds the text of a file, and what it imports to what is waiting.
fn visit(text: &str, path: &Path, blocks: &mut Vec<String>, waiting: &mut Vec<WaitingImport>) {
    let text = safe(text);
    let name = label(path);
    blocks.push(format!("--- File: {name} ---\n{}\n--- End of File: {name} ---", text.trim()));
    let folder = path.parent().unwrap_or(Path::new("/"));
    waiting.extend(find_tokens(&text).into_iter().map(|token| WaitingImport {
        written: token.written.to_owned(),
        line: token.line,
        folder: folder.to_path_buf(),
    }));
}
