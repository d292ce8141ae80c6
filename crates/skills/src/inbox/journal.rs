//! Applies patches to all of their files or to none, and takes that back.
//!
//! The former and the new contents of every file are noted first; then the files are written, one by one; then it is noted that
//! this is done. A process that is killed between any two of these leaves a note, and the next act on the inbox ends what the
//! note says. Where a file was changed by somebody else meanwhile, the others are put back as they were.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use longhaul_conversation::Timestamp;
use longhaul_workspace::write_private_atomically;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::acceptance::{Settled, is_open};
use super::{Inbox, nothing_accepted};
use crate::patch::read_target;
use crate::read::read_text;
use crate::{PlannedWrite, SkillError};

/// The name of a note of this kind in the history.
const ACT: &str = "applied";

/// So many acceptances can be taken back; of older ones it is only known that they were.
const KEPT: usize = 20;

/// The subject of patches, by the name of the folder in which they wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PatchSubject {
    Private,
    Global,
    Skill,
}

/// The progress of an acceptance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AcceptanceStage {
    Begun,
    Done,
    Undoing,
    Undone,
    /// Something came between, and everything is as it was.
    Abandoned,
}

/// The note about an acceptance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Acceptance {
    act: String,
    subject: PatchSubject,
    at: String,
    stage: AcceptanceStage,
    patches: Vec<JournalEntry>,
    files: Vec<WrittenFile>,
}

/// A patch that was applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct JournalEntry {
    /// The name of its file in the inbox.
    pub(super) name: String,
    pub(super) text: String,
    /// The evidence that was noted beside it.
    pub(super) evidence: Value,
}

/// A file that is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct WrittenFile {
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
}

/// An acceptance of patches that was taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenBack {
    /// The patches that wait again, by the names of their files.
    pub patches: Vec<String>,
    /// The files that are as they were before.
    pub restored: Vec<PathBuf>,
}

impl Inbox {
    /// Applies patches together: all of their files are written, or none.
    pub(super) fn apply(
        &self,
        subject: PatchSubject,
        patches: Vec<JournalEntry>,
        writes: &[PlannedWrite],
        at: Timestamp,
    ) -> Result<(), SkillError> {
        let changes = writes.iter().filter(|write| write.before.as_ref() != Some(&write.after));
        let files = changes.map(|write| WrittenFile {
            path: write.path.clone(),
            before: write.before.clone(),
            after: Some(write.after.clone()),
        });
        let (act, at, files) = (ACT.to_string(), at.to_string(), files.collect());
        let mut history = self.read_history();
        let acceptance = Acceptance { act, subject, at, stage: AcceptanceStage::Begun, patches, files };
        history.push(as_json(&acceptance));
        forget_old(&mut history);
        self.write_history(&history)?;
        let place = history.len() - 1;
        self.carry_out(&mut history, place, acceptance)
    }

    /// Ends what a killed process began, if one did; tells whether it did. Every act does so by itself first.
    ///
    /// # Errors
    /// [`SkillError`] where that cannot be written; it is tried again next time.
    pub fn resume(&self) -> Result<bool, SkillError> {
        if !self.is_cut_off() {
            return Ok(false);
        }
        let _lock = self.lock()?;
        Ok(self.settle()? != Settled::default())
    }

    /// Ends what a killed process began; tells what that was.
    pub(super) fn settle(&self) -> Result<Settled, SkillError> {
        let mut settled = Settled { files: self.settle_patches()?, ..Settled::default() };
        self.settle_skills(&mut settled)?;
        Ok(settled)
    }

    fn settle_patches(&self) -> Result<Vec<PathBuf>, SkillError> {
        let mut history = self.read_history();
        let mut changed = Vec::new();
        for place in 0..history.len() {
            let Some(acceptance) = acceptance(&history[place]).filter(Acceptance::is_open) else { continue };
            let files: Vec<PathBuf> = acceptance.files.iter().map(|file| file.path.clone()).collect();
            match self.carry_out(&mut history, place, acceptance) {
                Ok(()) => changed.extend(files),
                Err(error) if acceptance_is_open(&history[place]) => return Err(error),
                // Somebody else changed a file since: everything is as it was, and the patch waits on.
                Err(_) => {}
            }
        }
        Ok(changed)
    }

    /// True if a process was killed while it accepted something or took it back; the next act ends that.
    pub fn is_cut_off(&self) -> bool {
        self.read_history().iter().any(|entry| acceptance_is_open(entry) || is_open(entry))
    }

    /// The index in the history of the acceptance that `undo` would take back: the last one that changed something, if it is not
    /// too long ago.
    pub(super) fn last_applied(history: &[Value], is_meant: impl Fn(PatchSubject) -> bool) -> Option<usize> {
        let is_it = |entry: Acceptance| {
            entry.stage == AcceptanceStage::Done && is_meant(entry.subject) && !entry.files.is_empty()
        };
        history.iter().rposition(|entry| acceptance(entry).is_some_and(is_it))
    }

    /// Takes an acceptance back: every file holds again what it held before, and the patches wait again.
    pub(super) fn take_back(&self, place: usize) -> Result<TakenBack, SkillError> {
        let mut history = self.read_history();
        let mut entry = history.get(place).and_then(acceptance).ok_or_else(nothing_accepted)?;
        for file in &entry.files {
            if read_target(&file.path)? != file.after {
                let shown = file.path.display();
                return Err(not_undone(format!("{shown} has changed since")));
            }
        }
        entry.stage = AcceptanceStage::Undoing;
        history[place] = as_json(&entry);
        self.write_history(&history)?;
        let restored = entry.files.iter().map(|file| file.path.clone()).collect();
        let patches = entry.patches.iter().map(|patch| patch.name.clone()).collect();
        self.carry_out(&mut history, place, entry)?;
        Ok(TakenBack { patches, restored })
    }

    /// Does what a note says, from wherever it was cut off.
    fn carry_out(
        &self,
        history: &mut [Value],
        place: usize,
        mut entry: Acceptance,
    ) -> Result<(), SkillError> {
        let is_undo = entry.stage == AcceptanceStage::Undoing;
        let moves: Vec<FileMove<'_>> = entry.files.iter().map(|file| FileMove::of(file, is_undo)).collect();
        let written = match self.write_all(&moves) {
            Err(Stopped::Killed(error)) => return Err(error),
            Err(Stopped::Failed(error)) => Err(error),
            Ok(()) => {
                for patch in &entry.patches {
                    if is_undo {
                        self.put_back(entry.subject, patch)?;
                    } else {
                        self.remove(entry.subject, patch)?;
                    }
                }
                Ok(())
            }
        };
        entry.stage = match (is_undo, written.is_ok()) {
            (false, true) | (true, false) => AcceptanceStage::Done,
            (true, true) => AcceptanceStage::Undone,
            (false, false) => AcceptanceStage::Abandoned,
        };
        let open = std::mem::replace(&mut history[place], as_json(&entry));
        self.write_history(history).inspect_err(|_| history[place] = open)?;
        written
    }

    /// Writes every file that is not written yet. Where one cannot be, or holds something else by now, those that are written
    /// get back what they held.
    fn write_all(&self, moves: &[FileMove<'_>]) -> Result<(), Stopped> {
        let failed = match self.try_write_all(moves) {
            Err(Stopped::Failed(error)) => error,
            ended => return ended,
        };
        for step in moves.iter().rev() {
            if read_target(step.path).is_ok_and(|now| now.as_deref() == step.to) {
                self.fuse.burn().map_err(Stopped::Killed)?;
                // What cannot be put back now could be written a moment ago; there is nothing more to try.
                let _ = put(step.path, step.from);
            }
        }
        Err(Stopped::Failed(failed))
    }

    fn try_write_all(&self, moves: &[FileMove<'_>]) -> Result<(), Stopped> {
        for step in moves {
            let now = read_target(step.path).map_err(Stopped::Failed)?;
            if now.as_deref() != step.from && now.as_deref() != step.to {
                let shown = step.path.display();
                return Err(Stopped::Failed(refused(format!("{shown} changed in the meantime"))));
            }
        }
        for step in moves {
            if read_target(step.path).map_err(Stopped::Failed)?.as_deref() != step.to {
                self.fuse.burn().map_err(Stopped::Killed)?;
                put(step.path, step.to).map_err(Stopped::Failed)?;
            }
        }
        Ok(())
    }

    /// Takes a patch out of the inbox, unless another one has its place by now.
    fn remove(&self, subject: PatchSubject, patch: &JournalEntry) -> Result<(), SkillError> {
        let file = self.place_of(subject).join(&patch.name);
        if read_text(&file).is_ok_and(|text| text.as_deref() == Ok(&patch.text)) {
            self.fuse.burn()?;
            fs::remove_file(&file).map_err(SkillError::files("remove", &file))?;
        }
        // Evidence without a patch means nothing, so that it does not matter if it stays.
        let _ = fs::remove_file(self.evidence_beside(subject, &patch.name));
        Ok(())
    }

    /// Lets a patch wait again; under another name where its own is taken.
    fn put_back(&self, subject: PatchSubject, patch: &JournalEntry) -> Result<(), SkillError> {
        let folder = self.place_of(subject);
        let stem = patch.name.strip_suffix(".patch").unwrap_or(&patch.name);
        let numbered = (2..).map(|number| format!("{stem}-{number}.patch"));
        for name in std::iter::once(patch.name.clone()).chain(numbered) {
            let file = folder.join(&name);
            let there = file.symlink_metadata().is_ok().then(|| read_text(&file)).transpose()?;
            match there {
                Some(Ok(text)) if text == patch.text => return Ok(()),
                Some(_) => continue,
                None => {
                    if !patch.evidence.is_null() {
                        self.write(&self.evidence_beside(subject, &name), &patch.evidence)?;
                    }
                    self.fuse.burn()?;
                    write_private_atomically(&file, patch.text.as_bytes())?;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The folder in which patches of this kind wait.
    pub(super) fn place_of(&self, subject: PatchSubject) -> PathBuf {
        match subject {
            PatchSubject::Private => self.folder.join("private"),
            PatchSubject::Global => self.folder.join("global"),
            PatchSubject::Skill => self.skills.clone(),
        }
    }

    /// The file in which it is noted where a patch comes from.
    pub(super) fn evidence_beside(&self, subject: PatchSubject, name: &str) -> PathBuf {
        let kind = match subject {
            PatchSubject::Private => "private",
            PatchSubject::Global => "global",
            PatchSubject::Skill => "updates",
        };
        self.evidence.join(kind).join(format!("{}.json", name.strip_suffix(".patch").unwrap_or(name)))
    }

    pub(super) fn write_history(&self, history: &[Value]) -> Result<(), SkillError> {
        self.write(&self.history, &json!({"entries": history}))
    }
}

/// The reason why writing stopped: a fault, after which everything is put back, or as if the process had been killed.
enum Stopped {
    Failed(SkillError),
    Killed(SkillError),
}

/// The change to a file.
struct FileMove<'a> {
    path: &'a Path,
    from: Option<&'a str>,
    to: Option<&'a str>,
}

impl<'a> FileMove<'a> {
    fn of(file: &'a WrittenFile, is_undo: bool) -> Self {
        let (before, after) = (file.before.as_deref(), file.after.as_deref());
        let (from, to) = if is_undo { (after, before) } else { (before, after) };
        Self { path: &file.path, from, to }
    }
}

impl Acceptance {
    fn is_open(&self) -> bool {
        matches!(self.stage, AcceptanceStage::Begun | AcceptanceStage::Undoing)
    }
}

/// The note about an acceptance, if an entry of the history is one.
fn acceptance(entry: &Value) -> Option<Acceptance> {
    if entry["act"] != ACT {
        return None;
    }
    serde_json::from_value(entry.clone()).ok()
}

fn acceptance_is_open(entry: &Value) -> bool {
    acceptance(entry).is_some_and(|entry| entry.is_open())
}

fn as_json(entry: &Acceptance) -> Value {
    serde_json::to_value(entry).expect("texts and paths of Unicode have a form in JSON")
}

/// Drops the former contents of files but for the newest acceptances.
fn forget_old(history: &mut [Value]) {
    let applied = history.iter_mut().rev().filter(|entry| entry["act"] == ACT);
    for entry in applied.skip(KEPT).filter(|entry| !acceptance_is_open(entry)) {
        entry["files"] = json!([]);
        entry["patches"] = json!([]);
    }
}

/// Lets a file hold this; without a text, there is no file.
fn put(path: &Path, text: Option<&str>) -> Result<(), SkillError> {
    match text {
        Some(text) => Ok(write_private_atomically(path, text.as_bytes())?),
        None => match fs::remove_file(path) {
            Err(cause) if cause.kind() != ErrorKind::NotFound => {
                Err(SkillError::files("remove", path)(cause))
            }
            _ => Ok(()),
        },
    }
}

fn not_undone(reason: impl Into<String>) -> SkillError {
    SkillError::NotUndone { reason: reason.into() }
}

fn refused(reason: impl Into<String>) -> SkillError {
    SkillError::Patch { reason: reason.into() }
}
