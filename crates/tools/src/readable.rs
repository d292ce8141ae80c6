//! The places that the reading tools may look into: the workspace, and the saved outputs that a model is told of.

use std::borrow::Cow;
use std::path::PathBuf;

use crate::Roots;

/// The workspace, and the folder of saved outputs as soon as it exists.
#[derive(Clone, Debug)]
pub(crate) struct ReadableRoots {
    roots: Roots,
    /// The folder of complete outputs that were truncated or masked for the model.
    outputs: fn() -> Option<PathBuf>,
}

impl ReadableRoots {
    /// The workspace alone.
    pub(crate) fn new(roots: Roots) -> Self {
        Self { roots, outputs: || None }
    }

    /// The same with the folder of saved outputs.
    pub(crate) fn with_outputs(self, outputs: fn() -> Option<PathBuf>) -> Self {
        Self { outputs, ..self }
    }

    /// The workspace.
    pub(crate) fn workspace(&self) -> &Roots {
        &self.roots
    }

    /// The roots for this path: with the saved outputs only if it leads there.
    pub(crate) fn roots_for(&self, path: &str) -> Cow<'_, Roots> {
        let reaches = |roots: &Roots| roots.resolve_visible(path).is_ok();
        let with_outputs = || self.roots.and(&(self.outputs)()?).ok().filter(reaches);
        match reaches(&self.roots) {
            true => Cow::Borrowed(&self.roots),
            false => with_outputs().map_or(Cow::Borrowed(&self.roots), Cow::Owned),
        }
    }
}
