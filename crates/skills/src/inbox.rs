//! The inbox: skills, changes to skills and changes to memory that wait for the user, who accepts them, dismisses them, or takes
//! the last acceptance back.
//!
//! Every act is a row of steps, each of which happens whole or not at all, in such an order that after any of them a second try
//! ends what the first began.

mod journal;
mod learned;
mod memory;
mod updates;

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_conversation::Timestamp;
use longhaul_workspace::{Lock, Patience, ProjectHome, create_private_folder, write_private_atomically};
use serde_json::{Value, json};

use crate::discover::{SKILL_FILE, is_passed_over};
use crate::install::{copy_files, find_secrets_in, free_target, list_files};
use crate::mining::Candidate;
use crate::read::{SkillFile, read_skill, read_text};
use crate::staged::staged_folder;
use crate::{Draft, Manifest, PlannedFile, PlannedWrite, SkillError, SkillName};

pub use journal::TakenBack;
pub use learned::{InboxNews, InboxSnapshot};
pub use memory::{AppliedPatches, MemoryKind, ProposedFact, WaitingPatch};
pub use updates::WaitingUpdate;

use journal::Subject;

/// The inbox of a project.
#[derive(Clone, Debug)]
pub struct Inbox {
    folder: PathBuf,
    skills: PathBuf,
    evidence: PathBuf,
    history: PathBuf,
    fuse: Fuse,
}

/// A skill that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingSkill {
    /// The name of its folder, by which it is meant.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// What it says, or why it is no skill.
    pub manifest: Result<Manifest, String>,
    /// When it came in, where that is known.
    pub at: Option<Timestamp>,
    /// Where what it says was seen, as it was noted; nothing if another program put the skill there.
    pub evidence: Vec<Value>,
}

impl WaitingSkill {
    /// Its files, in order.
    ///
    /// # Errors
    /// [`SkillError`] where one of them must not be copied, or cannot be read.
    pub fn files(&self) -> Result<Vec<PlannedFile>, SkillError> {
        list_files(&self.folder.canonicalize().map_err(SkillError::files("read", &self.folder))?)
    }

    /// What would change in the folder of a skill that is there, if this one took its place: its texts alone.
    ///
    /// # Errors
    /// [`SkillError`] where the files of the two cannot be listed.
    pub fn changes_to(&self, existing: &Path) -> Result<Vec<PlannedWrite>, SkillError> {
        let mut changes = Vec::new();
        for file in self.files()? {
            let (path, Ok(after)) = (existing.join(&file.path), read_text(&self.folder.join(&file.path))?)
            else {
                continue;
            };
            let before = match path.is_file() {
                true => read_text(&path)?.ok(),
                false => None,
            };
            if before.as_ref() != Some(&after) {
                changes.push(PlannedWrite { path, before, after });
            }
        }
        Ok(changes)
    }
}

/// What became of a skill that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Its name in the inbox.
    pub name: String,
    /// Where it is now.
    pub target: PathBuf,
}

/// What was taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undone {
    /// A skill, which waits again.
    Skill(Accepted),
    /// A change to skills, which waits again.
    Update(TakenBack),
}

impl Inbox {
    /// The inbox of this project.
    pub fn of(project: &ProjectHome) -> Self {
        let folder = project.memory().join(".inbox");
        Self {
            skills: project.extracted_skills(),
            evidence: folder.join("evidence"),
            history: folder.join("history.json"),
            fuse: Fuse::default(),
            folder,
        }
    }

    /// What waits, by name.
    pub fn list(&self) -> Vec<WaitingSkill> {
        let entries = fs::read_dir(&self.skills).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter(|entry| entry.path().join(SKILL_FILE).symlink_metadata().is_ok())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !is_passed_over(name))
            .collect();
        names.sort();
        names.into_iter().map(|name| self.load(name)).collect()
    }

    /// What waits under this name.
    ///
    /// # Errors
    /// [`SkillError::NothingWaits`] where nothing does, or where the name is none.
    pub fn get(&self, name: &str) -> Result<WaitingSkill, SkillError> {
        let is_name = !name.contains(['/', '\\']) && !is_passed_over(name) && SkillName::parse(name).is_ok();
        if !is_name || self.skills.join(name).join(SKILL_FILE).symlink_metadata().is_err() {
            return Err(SkillError::NothingWaits { name: name.to_string() });
        }
        Ok(self.load(name.to_string()))
    }

    fn load(&self, name: String) -> WaitingSkill {
        let folder = self.skills.join(&name);
        let manifest = match read_skill(&folder.join(SKILL_FILE)) {
            Ok(SkillFile::Skill(manifest)) => Ok(manifest),
            Ok(SkillFile::Broken(error)) => Err(error.to_string()),
            Ok(SkillFile::None { reason }) => Err(reason),
            Err(error) => Err(crate::discover::in_words(&error)),
        };
        let noted = read_json(&self.evidence_of(&name));
        let at = noted.get("at").and_then(Value::as_str).and_then(Timestamp::parse);
        let evidence = noted.get("evidence").and_then(Value::as_array).cloned().unwrap_or_default();
        WaitingSkill { name, folder, manifest, at, evidence }
    }

    fn evidence_of(&self, name: &str) -> PathBuf {
        self.evidence.join(format!("{name}.json"))
    }

    /// Whether the user was shown a skill of these commands before and did not want it, or has it waiting.
    pub fn knows(&self, commands: &[String]) -> bool {
        let dismissed = self.read_history();
        let dismissed = dismissed
            .iter()
            .filter(|entry| entry["act"] == "dismissed")
            .filter_map(|entry| entry["text"].as_str());
        let waiting = self.list();
        let waiting = waiting
            .iter()
            .filter_map(|waiting| waiting.manifest.as_ref().ok())
            .map(|skill| skill.body.as_str());
        dismissed.chain(waiting).any(|text| commands.iter().all(|command| text.contains(command.as_str())))
    }

    /// Puts a draft in, with its evidence; returns the name by which it waits.
    ///
    /// # Errors
    /// [`SkillError`] where it cannot be written; nothing is then half-done.
    pub fn add(&self, draft: &Draft, at: Timestamp) -> Result<String, SkillError> {
        let _lock = self.lock()?;
        let plain = draft.name.as_str().to_string();
        let numbered = (2..).map(|number| format!("{plain}-{number}"));
        let mut names = std::iter::once(plain.clone()).chain(numbered);
        let is_free = |name: &String| self.skills.join(name).symlink_metadata().is_err();
        let name = names.find(is_free).expect("numbers do not end");
        let evidence: Vec<Value> = draft.sources.iter().map(candidate_json).collect();
        self.write(&self.evidence_of(&name), &json!({"at": at.to_string(), "evidence": evidence}))?;
        create_private_folder(&self.skills)?;
        let staged = staged_folder(&self.skills).map_err(SkillError::files("write to", &self.skills))?;
        self.fuse.burn()?;
        write_private_atomically(&staged.path().join(SKILL_FILE), draft.text.as_bytes())?;
        self.fuse.burn()?;
        let target = self.skills.join(&name);
        fs::rename(staged.path(), &target).map_err(SkillError::files("write", &target))?;
        let _ = staged.keep();
        Ok(name)
    }

    /// Makes a waiting skill one of those in `skills`.
    ///
    /// # Errors
    /// [`SkillError`] where nothing waits under this name, where it is no skill, or where the name is taken there; it then goes
    /// on waiting.
    pub fn accept(&self, name: &str, skills: &Path, at: Timestamp) -> Result<Accepted, SkillError> {
        let _lock = self.lock()?;
        self.settle()?;
        let waiting = self.get(name)?;
        let manifest = waiting
            .manifest
            .map_err(|reason| SkillError::NotAcceptable { name: name.to_string(), reason })?;
        let source = waiting.folder.canonicalize().map_err(SkillError::files("read", &waiting.folder))?;
        if let Some(secret) = find_secrets_in(&source, &list_files(&source)?).first() {
            let (file, kind) = (secret.path.display(), secret.kind.name());
            let reason = format!("{file} holds a secret ({kind})");
            return Err(SkillError::NotAcceptable { name: name.to_string(), reason });
        }
        let target = skills.join(manifest.name.as_str());
        // Somebody was interrupted between copying it and taking it out of the inbox.
        let is_noted = |entry: &Value| {
            let to = entry["to"].as_str().map(Path::new);
            is_accepted_skill(entry) && entry["name"] == name && to == Some(&target)
        };
        let is_there = self.read_history().iter().any(is_noted) && is_same(&waiting.folder, &target)?;
        if !is_there {
            free_target(&manifest.name, skills)?;
        }
        let entry = json!({
            "act": "accepted", "name": name, "at": at.to_string(), "to": target.to_string_lossy(),
            "evidence": waiting.evidence, "came": waiting.at.map(|at| at.to_string()),
        });
        self.note(entry)?;
        if !is_there {
            self.fuse.burn()?;
            copy_skill(&waiting.folder, &target)?;
        }
        self.fuse.burn()?;
        remove_folder(&waiting.folder)?;
        self.fuse.burn()?;
        self.forget_evidence(name);
        Ok(Accepted { name: name.to_string(), target })
    }

    /// Removes a waiting skill; one like it is not proposed again.
    ///
    /// # Errors
    /// [`SkillError`] where nothing waits under this name, or it cannot be removed.
    pub fn dismiss(&self, name: &str, at: Timestamp) -> Result<(), SkillError> {
        let _lock = self.lock()?;
        self.settle()?;
        let waiting = self.get(name)?;
        let text = waiting.manifest.map(|manifest| manifest.body).unwrap_or_default();
        self.note(json!({"act": "dismissed", "name": name, "at": at.to_string(), "text": text}))?;
        self.fuse.burn()?;
        remove_folder(&waiting.folder)?;
        self.fuse.burn()?;
        self.forget_evidence(name);
        Ok(())
    }

    /// Takes back what was accepted last of skills and of changes to them. A skill waits again with whatever was changed in it
    /// since; a change is undone where nobody has changed its files since.
    ///
    /// # Errors
    /// [`SkillError::NotUndone`] where nothing was accepted, or where that was changed since; [`SkillError::Exists`] where
    /// something else waits under its name by now.
    pub fn undo(&self) -> Result<Undone, SkillError> {
        let _lock = self.lock()?;
        self.settle()?;
        let history = self.read_history();
        let skill = history.iter().rposition(is_accepted_skill);
        let update = Self::last_applied(&history, |subject| subject == Subject::Skill);
        match (skill, update) {
            (skill, Some(update)) if skill.is_none_or(|skill| skill < update) => {
                Ok(Undone::Update(self.take_back(update)?))
            }
            (Some(skill), _) => Ok(Undone::Skill(self.undo_skill(history, skill)?)),
            (None, _) => Err(nothing_accepted()),
        }
    }

    fn undo_skill(&self, mut history: Vec<Value>, last: usize) -> Result<Accepted, SkillError> {
        let (name, target) = (text_of(&history[last], "name"), PathBuf::from(text_of(&history[last], "to")));
        SkillName::parse(&name).map_err(|cause| SkillError::NoSkill { path: self.history.clone(), cause })?;
        let place = self.skills.join(&name);
        if place.symlink_metadata().is_err() {
            let evidence = json!({"at": history[last]["came"], "evidence": history[last]["evidence"]});
            self.write(&self.evidence_of(&name), &evidence)?;
            self.fuse.burn()?;
            copy_skill(&target, &place)?;
        } else if !is_same(&place, &target)? {
            return Err(SkillError::Exists { name, path: place });
        }
        self.fuse.burn()?;
        remove_folder(&target)?;
        history[last]["undone"] = true.into();
        self.write_history(&history)?;
        Ok(Accepted { name, target })
    }

    fn lock(&self) -> Result<Lock, SkillError> {
        Ok(Lock::beside(&self.history, "changing the inbox of skills", Patience::default())?)
    }

    fn read_history(&self) -> Vec<Value> {
        read_json(&self.history).get("entries").and_then(Value::as_array).cloned().unwrap_or_default()
    }

    fn note(&self, entry: Value) -> Result<(), SkillError> {
        let mut entries = self.read_history();
        entries.push(entry);
        self.write_history(&entries)
    }

    fn write(&self, path: &Path, value: &Value) -> Result<(), SkillError> {
        self.fuse.burn()?;
        Ok(write_private_atomically(path, format!("{value:#}\n").as_bytes())?)
    }

    /// Evidence without a skill means nothing, so that it does not matter if it stays.
    fn forget_evidence(&self, name: &str) {
        let _ = fs::remove_file(self.evidence_of(name));
    }
}

/// A finding as it is noted beside a skill.
pub fn candidate_json(candidate: &Candidate) -> Value {
    let seen = candidate.evidence.iter().map(|evidence| {
        let marks: Vec<String> = evidence.marks.iter().map(ToString::to_string).collect();
        json!({"session": evidence.session, "marks": marks})
    });
    json!({
        "kind": candidate.finding.kind(),
        "title": candidate.finding.title(),
        "score": candidate.score,
        "sessions": candidate.sessions(),
        "times": candidate.times(),
        "seen": seen.collect::<Vec<_>>(),
    })
}

/// Whether an entry of the history is a skill that was accepted and is still there.
fn is_accepted_skill(entry: &Value) -> bool {
    let target = entry["to"].as_str().map(Path::new);
    entry["act"] == "accepted" && entry["undone"] != true && target.is_some_and(Path::is_dir)
}

fn nothing_accepted() -> SkillError {
    SkillError::NotUndone { reason: "nothing was accepted that is still there".into() }
}

fn text_of(entry: &Value, key: &str) -> String {
    entry[key].as_str().unwrap_or_default().to_string()
}

/// What a file of ours holds; nothing if it is missing or broken.
fn read_json(path: &Path) -> Value {
    let text = read_text(path).ok().and_then(Result::ok).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

/// Copies a skill to a place that is free, whole or not at all.
fn copy_skill(source: &Path, target: &Path) -> Result<(), SkillError> {
    let source = source.canonicalize().map_err(SkillError::files("read", source))?;
    copy_files(&source, &list_files(&source)?, target)
}

/// Removes a folder so that it is there with all its files or not at all.
fn remove_folder(folder: &Path) -> Result<(), SkillError> {
    let failed = || SkillError::files("remove", folder);
    let staged = staged_folder(folder.parent().unwrap_or(Path::new("."))).map_err(failed())?;
    fs::rename(folder, staged.path().join("gone")).map_err(failed())?;
    // It is out of the way; what cannot be deleted means nothing there.
    let _ = staged.close();
    Ok(())
}

/// Whether two folders hold the same files.
fn is_same(one: &Path, other: &Path) -> Result<bool, SkillError> {
    let real = |path: &Path| path.canonicalize().map_err(SkillError::files("read", path));
    let (one, other) = (real(one)?, real(other)?);
    let (files, others) = (list_files(&one)?, list_files(&other)?);
    let same = |path: &Path| {
        fs::read(one.join(path)).ok().is_some_and(|bytes| fs::read(other.join(path)).ok() == Some(bytes))
    };
    Ok(files.len() == others.len()
        && files.iter().zip(&others).all(|(file, twin)| file.path == twin.path && same(&file.path)))
}

/// Lets tests end an act before any of its steps, as a kill would.
#[derive(Clone, Debug, Default)]
struct Fuse {
    #[cfg(test)]
    left: std::sync::Arc<std::sync::Mutex<Option<u32>>>,
}

impl Fuse {
    #[cfg(not(test))]
    fn burn(&self) -> Result<(), SkillError> {
        Ok(())
    }

    #[cfg(test)]
    fn burn(&self) -> Result<(), SkillError> {
        let mut left = self.left.lock().unwrap();
        match &mut *left {
            Some(0) => Err(SkillError::Patch { reason: "killed".into() }),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
