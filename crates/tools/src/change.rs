//! File changes: the old file, the new text, and the write.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use longhaul_workspace::Diff;

use crate::diff::{diff_of_binary, diff_of_text};
use crate::folder::{OpenFolder, Replaces, split};
use crate::read::{FileReadError, looks_binary, read_whole};
use crate::{Checkpoints, Preview, Proposal, Roots, ToolAnswer, ToolDisplay};
use longhaul_workspace::{Decoded, FolderRecorder, decode_text, encode_text};

/// A file before the change.
pub(crate) struct ExistingFile {
    pub(crate) decoded: Decoded,
    /// True if it is binary, so that its content is not shown.
    pub(crate) is_binary: bool,
    bytes: Vec<u8>,
    found: Metadata,
}

/// The records that a tool keeps of its changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangeRecords {
    /// The folders written into.
    pub(crate) folders: FolderRecorder,
    /// The earlier content of the files.
    pub(crate) checkpoints: Checkpoints,
}

/// A planned file change.
pub(crate) struct PlannedChange {
    place: PathBuf,
    /// The old file, if there was one.
    existing: Option<ExistingFile>,
    /// The new text, with the line endings of the file.
    text: String,
    pub(crate) diff: Diff,
    /// The path, relative to the workspace if possible.
    pub(crate) name: String,
}

/// Resolves a path to a file that may be changed.
pub(crate) fn resolve_for_change(roots: &Roots, path: &str) -> Result<PathBuf, String> {
    let place = roots.resolve(path).map_err(|refusal| format!("{refusal}."))?;
    let inside = roots.folders().iter().find_map(|root| place.strip_prefix(root).ok()).unwrap_or(&place);
    // Files in there run as commands or decide which commands run.
    if inside.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git")) {
        return Err(format!("{path:?} is in Git's own folder, which only commands of git change."));
    }
    if !roots.may_create_folders() && !place.parent().is_some_and(Path::is_dir) {
        return Err(format!("{path:?} is in no folder that exists."));
    }
    Ok(place)
}

/// Reads the file at a path, if there is one.
pub(crate) fn find_existing(roots: &Roots, place: &Path) -> Result<Option<ExistingFile>, String> {
    match read_whole(roots, place) {
        Ok((found, bytes)) => {
            let is_binary = looks_binary(&bytes);
            Ok(Some(ExistingFile { decoded: decode_text(&bytes), is_binary, bytes, found }))
        }
        Err(FileReadError::Missing { .. }) => Ok(None),
        Err(error) => Err(format!("{error}.")),
    }
}

impl PlannedChange {
    /// Plans the change of the file at `place` to this text.
    pub(crate) fn new(roots: &Roots, place: PathBuf, existing: Option<ExistingFile>, text: String) -> Self {
        let short = roots.shorten(&place);
        let before = existing.as_ref().map(|existing| existing.decoded.text.as_str());
        let diff = match &existing {
            Some(existing) if existing.is_binary => diff_of_binary(short, &text),
            _ => diff_of_text(short, before, &text),
        };
        let name = short.display().to_string();
        Self { place, existing, text, diff, name }
    }

    /// The preview for approval.
    pub(crate) fn preview(self) -> Preview {
        Preview::Change { path: self.place, diff: self.diff.text }
    }

    /// The file as it would be; none for a file that is no text.
    pub(crate) fn proposal(self) -> Option<Proposal> {
        let is_text = self.existing.as_ref().is_none_or(|was| !was.is_binary && was.decoded.is_exact);
        is_text.then_some(Proposal { path: self.place, text: self.text })
    }

    /// The text of the old file; empty if there was none.
    pub(crate) fn old_text(&self) -> &str {
        self.existing.as_ref().map_or("", |was| was.decoded.text.as_str())
    }

    /// True if the file already has this content.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.existing.as_ref().is_some_and(|was| was.decoded.is_exact && was.decoded.text == self.text)
    }

    /// A one-line description of the change.
    pub(crate) fn describe(&self) -> String {
        let lines = |count: usize| format!("{count} {}", if count == 1 { "line" } else { "lines" });
        let Diff { added, removed, .. } = self.diff;
        match &self.existing {
            None => format!("Made {} with {}.", self.name, lines(added)),
            Some(_) if added + removed == 0 => format!("Changed the line endings of {}.", self.name),
            Some(_) => format!("Changed {}: {} added, {removed} removed.", self.name, lines(added)),
        }
    }

    /// Writes the file and answers with a note.
    pub(crate) fn write(self, roots: &Roots, records: &ChangeRecords, note: String) -> ToolAnswer {
        if let Some(folder) = self.place.parent() {
            records.folders.note(folder);
        }
        let bytes = self.bytes();
        let before = self.existing.as_ref().map(|existing| existing.bytes.as_slice());
        records.checkpoints.record(&self.place, before, &bytes);
        match self.save(roots, &bytes) {
            Ok(()) => {
                let shown = ToolDisplay::Diff { path: self.place.clone(), diff: self.diff.text };
                ToolAnswer::succeeded(note).shown(shown).touching([self.place])
            }
            Err(error) => {
                ToolAnswer::failed(format!("Could not write {}: {error}. It is as it was.", self.name))
            }
        }
    }

    /// The bytes of the new file.
    fn bytes(&self) -> Vec<u8> {
        match &self.existing {
            Some(existing) => encode_text(&self.text, existing.decoded.encoding),
            None => self.text.clone().into_bytes(),
        }
    }

    fn save(&self, roots: &Roots, bytes: &[u8]) -> std::io::Result<()> {
        let (folder, name) = split(roots, &self.place)?;
        match &self.existing {
            Some(existing) => {
                OpenFolder::open(roots, folder)?.write(name, bytes, Replaces::Found(&existing.found))
            }
            None => {
                let folder = match roots.may_create_folders() {
                    true => OpenFolder::open_or_create(roots, folder)?,
                    false => OpenFolder::open(roots, folder)?,
                };
                folder.write(name, bytes, Replaces::Nothing)
            }
        }
    }
}
