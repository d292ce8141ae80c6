//! The inbox: skills, changes to skills and changes to memory that wait for the user, who accepts them, dismisses them, or takes
//! the last acceptance back.
//!
//! Every act is a row of steps, each of which happens whole or not at all, in such an order that after any of them a second try
//! ends what the first began.

mod acceptance;
mod journal;
mod learned;
mod memory;
mod updates;

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_conversation::Timestamp;
use longhaul_workspace::{
    Lock, LockTimeout, ProjectHome, StagedFolder, create_private_folder, remove_strays,
    write_private_atomically,
};
use serde_json::{Value, json};

use crate::discover::{SKILL_FILE, is_passed_over};
use crate::draft::DRAFT_MARK;
use crate::install::list_files;
use crate::learned::procedure_code;
use crate::mining::SkillCandidate;
use crate::read::{SkillFile, read_skill, read_text};
use crate::{Manifest, PlannedFile, PlannedWrite, SkillDraft, SkillError, SkillName};

pub use acceptance::{Accepted, Undone};
pub use journal::TakenBack;
pub use learned::{InboxNews, InboxSnapshot};
pub use memory::{AppliedPatches, MemoryKind, ProposedFact, WaitingPatch};
pub use updates::WaitingUpdate;

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
    /// The manifest, or the reason why it is no skill.
    pub manifest: Result<Manifest, String>,
    /// When it came in, where that is known.
    pub at: Option<Timestamp>,
    /// The evidence, as it was noted; empty if another program put the skill there.
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

    /// The changes to the folder of an existing skill, if this one took its place: its texts alone.
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

    /// The waiting skills, by name.
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

    /// The waiting skill of this name.
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

    /// True if the user was shown a skill of these commands before and did not want it, or has it waiting.
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
    pub fn add(&self, draft: &SkillDraft, at: Timestamp) -> Result<String, SkillError> {
        let _lock = self.lock()?;
        let plain = draft.name.as_str().to_string();
        let numbered = (2..).map(|number| format!("{plain}-{number}"));
        let mut names = std::iter::once(plain.clone()).chain(numbered);
        let is_free = |name: &String| self.skills.join(name).symlink_metadata().is_err();
        let name = names.find(is_free).expect("numbers do not end");
        let evidence: Vec<Value> = draft.sources.iter().map(candidate_json).collect();
        self.write(&self.evidence_of(&name), &json!({"at": at.to_string(), "evidence": evidence}))?;
        create_private_folder(&self.skills)?;
        let staged = self.stage()?;
        self.fuse.burn()?;
        write_private_atomically(&staged.path().join(SKILL_FILE), draft.text.as_bytes())?;
        self.fuse.burn()?;
        let target = self.skills.join(&name);
        staged.rename_to(&target).map_err(SkillError::files("write", &target))?;
        self.remove_superseded(&name, &draft.text)?;
        Ok(name)
    }

    /// Removes drafts that were made without a model and whose whole procedure this skill has: of one procedure, the better text
    /// waits alone.
    fn remove_superseded(&self, name: &str, text: &str) -> Result<(), SkillError> {
        for waiting in self.list().into_iter().filter(|waiting| waiting.name != name) {
            let Ok(manifest) = &waiting.manifest else { continue };
            let steps = procedure_code(&manifest.body);
            let is_covered = steps.iter().all(|step| text.contains(step.as_str()));
            if manifest.body.contains(DRAFT_MARK) && is_covered && !steps.is_empty() {
                self.fuse.burn()?;
                acceptance::remove_folder(&waiting.folder)?;
                self.forget_evidence(&waiting.name);
            }
        }
        Ok(())
    }

    /// A folder beside those that wait, and none that a killed process left there.
    fn stage(&self) -> Result<StagedFolder, SkillError> {
        remove_strays(&self.skills);
        StagedFolder::create(&self.skills).map_err(SkillError::files("write to", &self.skills))
    }

    fn lock(&self) -> Result<Lock, SkillError> {
        Ok(Lock::beside(&self.history, "changing the skill inbox", LockTimeout::default())?)
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
pub fn candidate_json(candidate: &SkillCandidate) -> Value {
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

fn nothing_accepted() -> SkillError {
    SkillError::NotUndone { reason: "nothing was accepted, or it is already gone".into() }
}

/// The contents of a file of ours; null if it is missing or broken.
fn read_json(path: &Path) -> Value {
    let text = read_text(path).ok().and_then(Result::ok).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or(Value::Null)
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
