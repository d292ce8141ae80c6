//! What is remembered already, beside the file that a new fact is for.

use std::path::{Path, PathBuf};

use super::{Fact, FactScope};
use crate::bounds::Bounds;
use crate::discover::{ceiling, upward};
use crate::duplicates::{Likeness, Remembered, compare};
use crate::load::{global_files, private_files};
use crate::places::Places;
use crate::settings::MemorySettings;

/// What is remembered already, beside the file that a new fact is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownMemory(Vec<KnownText>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct KnownText {
    path: PathBuf,
    text: String,
    /// True if a fact in it need not be saved again: it holds wherever the new one would.
    covers: bool,
}

impl KnownMemory {
    /// Reads the user's own memory and the workspace's, for a fact of this scope that goes to `target`.
    pub fn load(scope: &FactScope, target: &Path, places: &Places, settings: &MemorySettings) -> Self {
        let mut known = Self::default();
        let mut add = |files: Vec<PathBuf>, bounds: &Bounds, covers: bool| {
            for path in files {
                let is_known = path == target || known.0.iter().any(|text| text.path == path);
                if let Some(file) = (!is_known).then(|| bounds.read(&path).ok()).flatten() {
                    known.0.push(KnownText { path, text: file.text, covers });
                }
            }
        };
        let is_shared = matches!(scope, FactScope::Folder(_));
        let private = Bounds::of(places.private.as_deref());
        add(private_files(places, settings), &private, *scope == FactScope::Project);
        add(global_files(places, settings), &Bounds::of_global(places), !is_shared);
        let projects = Bounds::of_projects(places, &settings.markers);
        let trusted = places.workspace().filter(|workspace| workspace.is_trusted);
        if let Some(folder) = trusted.map(|workspace| workspace.path.as_path()) {
            let top = ceiling(folder, &settings.markers);
            add(upward(folder, top, &settings.names, places.home.as_deref()), &projects, is_shared);
        }
        known
    }

    /// The place where a fact is remembered already, in these or other words.
    pub(super) fn same(&self, fact: &Fact) -> Option<Remembered> {
        let covering = self.0.iter().filter(|known| known.covers);
        let same = |known: &KnownText| match compare(fact.as_str(), &known.text) {
            Likeness::Same(line) => Some(Remembered { file: Some(known.path.clone()), ..line }),
            _ => None,
        };
        covering.into_iter().find_map(same)
    }

    /// The first fact that a new one seems to contradict.
    pub(super) fn contradicted_by(&self, fact: &Fact) -> Option<Remembered> {
        let opposite = |known: &KnownText| match compare(fact.as_str(), &known.text) {
            Likeness::Opposite(line) => Some(Remembered { file: Some(known.path.clone()), ..line }),
            _ => None,
        };
        self.0.iter().find_map(opposite)
    }
}
