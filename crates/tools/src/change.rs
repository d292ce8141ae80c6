//! Changing a file: what it was, what it will be, and how it gets there.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use longhaul_workspace::Diff;

use crate::diff::{diff_of_binary, diff_of_text};
use crate::folder::{Folder, Over, split};
use crate::read::{ReadError, looks_binary, read_whole};
use crate::text::{Decoded, decode_text, encode_text};
use crate::{Answer, Preview, Roots, Shown};

/// A file as it was found.
pub(crate) struct Existing {
    pub(crate) decoded: Decoded,
    /// Whether it is no text, so that nobody wants to see it.
    pub(crate) is_binary: bool,
    found: Metadata,
}

/// What is to become of a file.
pub(crate) struct Change {
    place: PathBuf,
    /// What it was, if there was one.
    existing: Option<Existing>,
    /// Its new text, with the line endings that it is to have.
    text: String,
    pub(crate) diff: Diff,
    /// The path, as it is best known.
    pub(crate) name: String,
}

/// The place that a path names, if files there may be changed.
pub(crate) fn resolve_for_change(roots: &Roots, path: &str) -> Result<PathBuf, String> {
    let place = roots.resolve(path).map_err(|refusal| format!("{refusal}."))?;
    let inside = roots.folders().iter().find_map(|root| place.strip_prefix(root).ok()).unwrap_or(&place);
    // What is in there runs as a command or decides which commands run.
    if inside.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git")) {
        return Err(format!("{path:?} is in Git's own folder, which only commands of git change."));
    }
    if !roots.may_grow() && !place.parent().is_some_and(Path::is_dir) {
        return Err(format!("{path:?} is in no folder that exists."));
    }
    Ok(place)
}

/// The file at a place, if there is one.
pub(crate) fn find_existing(roots: &Roots, place: &Path) -> Result<Option<Existing>, String> {
    match read_whole(roots, place) {
        Ok((found, bytes)) => {
            let is_binary = looks_binary(&bytes);
            Ok(Some(Existing { decoded: decode_text(&bytes), is_binary, found }))
        }
        Err(ReadError::Missing { .. }) => Ok(None),
        Err(error) => Err(format!("{error}.")),
    }
}

impl Change {
    /// The change of the file at `place` to this text.
    pub(crate) fn new(roots: &Roots, place: PathBuf, existing: Option<Existing>, text: String) -> Self {
        let short = roots.shorten(&place);
        let before = existing.as_ref().map(|existing| existing.decoded.text.as_str());
        let diff = match &existing {
            Some(existing) if existing.is_binary => diff_of_binary(short, &text),
            _ => diff_of_text(short, before, &text),
        };
        let name = short.display().to_string();
        Self { place, existing, text, diff, name }
    }

    /// What a person is asked to allow.
    pub(crate) fn preview(self) -> Preview {
        Preview::Change { path: self.place, diff: self.diff.text }
    }

    /// Whether the file is already as it would be.
    pub(crate) fn is_nothing(&self) -> bool {
        self.existing.as_ref().is_some_and(|was| was.decoded.is_exact && was.decoded.text == self.text)
    }

    /// What was done, in a line.
    pub(crate) fn describe(&self) -> String {
        let lines = |count: usize| format!("{count} {}", if count == 1 { "line" } else { "lines" });
        let Diff { added, removed, .. } = self.diff;
        match &self.existing {
            None => format!("Made {} with {}.", self.name, lines(added)),
            Some(_) if added + removed == 0 => format!("Changed the line endings of {}.", self.name),
            Some(_) => format!("Changed {}: {} added, {removed} removed.", self.name, lines(added)),
        }
    }

    /// Writes it, and answers with a note.
    pub(crate) fn write(self, roots: &Roots, note: String) -> Answer {
        match self.save(roots) {
            Ok(()) => {
                let shown = Shown::Diff { path: self.place.clone(), diff: self.diff.text };
                Answer::succeeded(note).shown(shown).touching([self.place])
            }
            Err(error) => Answer::failed(format!("Could not write {}: {error}. It is as it was.", self.name)),
        }
    }

    fn save(&self, roots: &Roots) -> std::io::Result<()> {
        let (folder, name) = split(roots, &self.place)?;
        match &self.existing {
            Some(existing) => {
                let bytes = encode_text(&self.text, existing.decoded.encoding);
                Folder::open(roots, folder)?.write(name, &bytes, Over::Found(&existing.found))
            }
            None => {
                let folder = match roots.may_grow() {
                    true => Folder::open_or_create(roots, folder)?,
                    false => Folder::open(roots, folder)?,
                };
                folder.write(name, self.text.as_bytes(), Over::Nothing)
            }
        }
    }
}
