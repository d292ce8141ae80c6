//! Accepts waiting skills, dismisses them and takes the last acceptance back.
//!
//! Each act is noted with how far it is, then carried out step by step, then noted as done. What a killed process left
//! between is ended by the next act on the inbox, or undone where nothing had happened yet.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_conversation::Timestamp;
use longhaul_workspace::{StagedFolder, remove_strays};
use serde_json::{Value, json};

use super::journal::{PatchSubject, TakenBack};
use super::{Inbox, nothing_accepted};
use crate::install::{copy_files, find_secrets_in, free_target, is_same, list_files};
use crate::{SkillError, SkillName};

/// The outcome of accepting a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Its name in the inbox.
    pub name: String,
    /// Its new place.
    pub target: PathBuf,
}

/// The acceptance that was taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undone {
    /// A skill, which waits again.
    Skill(Accepted),
    /// A change to skills, which waits again.
    Update(TakenBack),
}

/// The acts of a killed process that were finished.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Settled {
    /// The files that patches were applied to, or taken back from.
    pub(super) files: Vec<PathBuf>,
    /// The skills that count now.
    pub(super) accepted: Vec<Accepted>,
    /// The names of skills that wait no longer because the user did not want them.
    pub(super) dismissed: Vec<String>,
    /// The skills that wait again.
    pub(super) undone: Vec<Accepted>,
}

/// The progress of an act on a skill. Entries of older versions do not state it, and are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ActProgress {
    Begun,
    Done,
    Undoing,
    /// Nothing came of it.
    Abandoned,
}

impl ActProgress {
    const KEY: &str = "stage";

    fn of(entry: &Value) -> Self {
        match entry[Self::KEY].as_str() {
            Some("begun") => Self::Begun,
            Some("undoing") => Self::Undoing,
            Some("abandoned") => Self::Abandoned,
            _ => Self::Done,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Done => "done",
            Self::Undoing => "undoing",
            Self::Abandoned => "abandoned",
        }
    }
}

impl Inbox {
    /// Makes a waiting skill one of those in `skills`.
    ///
    /// # Errors
    /// [`SkillError`] where nothing waits under this name, where it is no skill, or where the name is taken there; it then goes
    /// on waiting.
    pub fn accept(&self, name: &str, skills: &Path, at: Timestamp) -> Result<Accepted, SkillError> {
        let _lock = self.lock()?;
        let settled = self.settle()?;
        let waiting = match (self.get(name), settled.accepted.into_iter().find(|done| done.name == name)) {
            // It was this one that had been cut off.
            (Err(SkillError::NothingWaits { .. }), Some(accepted)) => return Ok(accepted),
            (waiting, _) => waiting?,
        };
        let manifest = waiting
            .manifest
            .map_err(|reason| SkillError::NotAcceptable { name: name.to_string(), reason })?;
        let source = waiting.folder.canonicalize().map_err(SkillError::files("read", &waiting.folder))?;
        if let Some(secret) = find_secrets_in(&source, &list_files(&source)?).first() {
            let (file, kind) = (secret.path.display(), secret.kind.name());
            let reason = format!("{file} contains a secret ({kind})");
            return Err(SkillError::NotAcceptable { name: name.to_string(), reason });
        }
        let target = free_target(&manifest.name, skills)?;
        self.begin(json!({
            "act": "accepted", "name": name, "at": at.to_string(), "to": target.to_string_lossy(),
            "evidence": waiting.evidence, "came": waiting.at.map(|at| at.to_string()),
        }))?;
        self.fuse.burn()?;
        if let Err(error) = copy_skill(&waiting.folder, &target) {
            self.advance_last(ActProgress::Abandoned)?;
            return Err(error);
        }
        self.take_out(name)?;
        self.advance_last(ActProgress::Done)?;
        Ok(Accepted { name: name.to_string(), target })
    }

    /// Removes a waiting skill; one like it is not proposed again.
    ///
    /// # Errors
    /// [`SkillError`] where nothing waits under this name, or it cannot be removed.
    pub fn dismiss(&self, name: &str, at: Timestamp) -> Result<(), SkillError> {
        let _lock = self.lock()?;
        let settled = self.settle()?;
        let waiting = match self.get(name) {
            Err(SkillError::NothingWaits { .. }) if settled.dismissed.iter().any(|done| done == name) => {
                return Ok(());
            }
            waiting => waiting?,
        };
        let text = waiting.manifest.map(|manifest| manifest.body).unwrap_or_default();
        self.begin(json!({"act": "dismissed", "name": name, "at": at.to_string(), "text": text}))?;
        self.take_out(name)?;
        self.advance_last(ActProgress::Done)
    }

    /// Takes back what was accepted last of skills and of changes to them. A skill waits again with whatever was changed in it
    /// since; a change is undone where nobody has changed its files since.
    ///
    /// # Errors
    /// [`SkillError::NotUndone`] where nothing was accepted, or where that was changed since; [`SkillError::Exists`] where
    /// something else waits under its name by now.
    pub fn undo(&self) -> Result<Undone, SkillError> {
        let _lock = self.lock()?;
        if let Some(undone) = self.settle()?.undone.pop() {
            // It was this that had been cut off.
            return Ok(Undone::Skill(undone));
        }
        let history = self.read_history();
        let skill = history.iter().rposition(is_accepted_skill);
        let update = Self::last_applied(&history, |subject| subject == PatchSubject::Skill);
        match (skill, update) {
            (skill, Some(update)) if skill.is_none_or(|skill| skill < update) => {
                Ok(Undone::Update(self.take_back(update)?))
            }
            (Some(skill), _) => Ok(Undone::Skill(self.undo_skill(history, skill)?)),
            (None, _) => Err(nothing_accepted()),
        }
    }

    fn undo_skill(&self, mut history: Vec<Value>, last: usize) -> Result<Accepted, SkillError> {
        let Accepted { name, target } = self.meant_by(&history[last])?;
        let place = self.skills.join(&name);
        if place.symlink_metadata().is_ok() && !is_same(&place, &target)? {
            return Err(SkillError::Exists { name, path: place });
        }
        self.advance(&mut history, last, ActProgress::Undoing)?;
        self.go_on_undoing(&mut history, last)
    }

    /// Brings an accepted skill back into the inbox, from wherever that was cut off.
    fn go_on_undoing(&self, history: &mut [Value], place: usize) -> Result<Accepted, SkillError> {
        let Accepted { name, target } = self.meant_by(&history[place])?;
        let waiting = self.skills.join(&name);
        if waiting.symlink_metadata().is_err() {
            let evidence = json!({"at": history[place]["came"], "evidence": history[place]["evidence"]});
            self.write(&self.evidence_of(&name), &evidence)?;
            self.fuse.burn()?;
            copy_skill(&target, &waiting)?;
        }
        if target.symlink_metadata().is_ok() {
            self.fuse.burn()?;
            remove_folder(&target)?;
        }
        history[place]["undone"] = true.into();
        self.advance(history, place, ActProgress::Done)?;
        Ok(Accepted { name, target })
    }

    /// Ends what a killed process began with skills that wait, or undoes it where nothing had happened yet.
    pub(super) fn settle_skills(&self, settled: &mut Settled) -> Result<(), SkillError> {
        let mut history = self.read_history();
        for place in 0..history.len() {
            if !is_open(&history[place]) {
                continue;
            }
            let Ok(meant) = self.meant_by(&history[place]) else {
                self.advance(&mut history, place, ActProgress::Abandoned)?;
                continue;
            };
            let waiting = self.skills.join(&meant.name);
            let waits = waiting.symlink_metadata().is_ok();
            let act = history[place]["act"].as_str().unwrap_or_default().to_string();
            match (act.as_str(), ActProgress::of(&history[place])) {
                ("dismissed", _) => {
                    self.take_out(&meant.name)?;
                    self.advance(&mut history, place, ActProgress::Done)?;
                    settled.dismissed.push(meant.name);
                }
                (_, ActProgress::Undoing) => {
                    // Somebody changed one of the two since: both stay.
                    if waits && meant.target.is_dir() && !is_same(&waiting, &meant.target)? {
                        self.advance(&mut history, place, ActProgress::Done)?;
                    } else {
                        settled.undone.push(self.go_on_undoing(&mut history, place)?);
                    }
                }
                _ if meant.target.is_dir() && (!waits || is_same(&waiting, &meant.target)?) => {
                    self.take_out(&meant.name)?;
                    self.advance(&mut history, place, ActProgress::Done)?;
                    settled.accepted.push(meant);
                }
                // It was not copied, or somebody else put something there.
                _ => self.advance(&mut history, place, ActProgress::Abandoned)?,
            }
        }
        Ok(())
    }

    /// The skill that an entry of the history is about.
    fn meant_by(&self, entry: &Value) -> Result<Accepted, SkillError> {
        let text = |key: &str| entry[key].as_str().unwrap_or_default().to_string();
        let name = text("name");
        SkillName::parse(&name).map_err(|cause| SkillError::NoSkill { path: self.history.clone(), cause })?;
        Ok(Accepted { name, target: PathBuf::from(text("to")) })
    }

    /// Takes a skill out of the inbox, if it is there.
    fn take_out(&self, name: &str) -> Result<(), SkillError> {
        let folder = self.skills.join(name);
        if folder.symlink_metadata().is_ok() {
            self.fuse.burn()?;
            remove_folder(&folder)?;
        }
        self.fuse.burn()?;
        self.forget_evidence(name);
        Ok(())
    }

    /// Notes that an act begins.
    fn begin(&self, mut entry: Value) -> Result<(), SkillError> {
        entry[ActProgress::KEY] = ActProgress::Begun.as_str().into();
        self.note(entry)
    }

    /// Notes how far an act is.
    fn advance(&self, history: &mut [Value], place: usize, progress: ActProgress) -> Result<(), SkillError> {
        history[place][ActProgress::KEY] = progress.as_str().into();
        self.write_history(history)
    }

    fn advance_last(&self, progress: ActProgress) -> Result<(), SkillError> {
        let mut history = self.read_history();
        match history.len().checked_sub(1) {
            Some(last) => self.advance(&mut history, last, progress),
            None => Ok(()),
        }
    }
}

/// True if an entry of the history is an act on a skill that was cut off.
pub(super) fn is_open(entry: &Value) -> bool {
    let is_act = entry["act"] == "accepted" || entry["act"] == "dismissed";
    is_act && matches!(ActProgress::of(entry), ActProgress::Begun | ActProgress::Undoing)
}

/// True if an entry of the history is a skill that was accepted and is still there.
fn is_accepted_skill(entry: &Value) -> bool {
    let target = entry["to"].as_str().map(Path::new);
    let is_accepted = entry["act"] == "accepted" && entry["undone"] != true;
    is_accepted && ActProgress::of(entry) == ActProgress::Done && target.is_some_and(Path::is_dir)
}

/// Copies a skill to a place that is free, whole or not at all.
pub(super) fn copy_skill(source: &Path, target: &Path) -> Result<(), SkillError> {
    let source = source.canonicalize().map_err(SkillError::files("read", source))?;
    copy_files(&source, &list_files(&source)?, target)
}

/// Removes a folder so that it is there with all its files or not at all.
pub(super) fn remove_folder(folder: &Path) -> Result<(), SkillError> {
    let failed = || SkillError::files("remove", folder);
    let beside = folder.parent().unwrap_or(Path::new("."));
    remove_strays(beside);
    let staged = StagedFolder::create(beside).map_err(failed())?;
    fs::rename(folder, staged.path().join("gone")).map_err(failed())?;
    // It is out of the way; what cannot be deleted means nothing there.
    let _ = staged.remove();
    Ok(())
}
