//! The places that the reading tools may look into: the workspace, and what a model is told of beside it: saved outputs and
//! the notes of memory.

use std::borrow::Cow;
use std::path::PathBuf;

use crate::Roots;

/// The workspace, and the folder of saved outputs as soon as it exists.
#[derive(Clone, Debug)]
pub(crate) struct ReadableRoots {
    roots: Roots,
    /// The folder of complete outputs that were truncated or masked for the model.
    outputs: fn() -> Option<PathBuf>,
    /// The folder of notes that memory points to.
    notes: fn() -> Option<PathBuf>,
}

impl ReadableRoots {
    /// The workspace alone.
    pub(crate) fn new(roots: Roots) -> Self {
        Self { roots, outputs: || None, notes: || None }
    }

    /// The same with the folder of saved outputs.
    pub(crate) fn with_outputs(self, outputs: fn() -> Option<PathBuf>) -> Self {
        Self { outputs, ..self }
    }

    /// The same with the Markdown files of a folder of notes, and nothing below it.
    pub(crate) fn with_notes(self, notes: fn() -> Option<PathBuf>) -> Self {
        Self { notes, ..self }
    }

    /// The workspace.
    pub(crate) fn workspace(&self) -> &Roots {
        &self.roots
    }

    /// The roots for this path: with the saved outputs or the notes only if it leads there.
    pub(crate) fn roots_for(&self, path: &str) -> Cow<'_, Roots> {
        let reaches = |roots: &Roots| roots.resolve_visible(path).is_ok();
        let with_outputs = || self.roots.and(&(self.outputs)()?).ok().filter(reaches);
        match reaches(&self.roots) {
            true => Cow::Borrowed(&self.roots),
            false => {
                let more = with_outputs().or_else(|| self.roots_with_note(path));
                more.map_or(Cow::Borrowed(&self.roots), Cow::Owned)
            }
        }
    }

    /// The roots with the folder of notes, if this path names one.
    fn roots_with_note(&self, path: &str) -> Option<Roots> {
        let folder = std::fs::canonicalize((self.notes)()?).ok()?;
        let roots = self.roots.and(&folder).ok()?;
        // It has no links any more, so a note that is one leads to what it is judged by.
        let place = roots.resolve(path).ok()?;
        let is_hidden = place.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let is_note = place.extension().is_some_and(|end| end == "md") && !is_hidden;
        (is_note && place.parent() == Some(&folder)).then_some(roots)
    }
}
