//! Changes to skills that are there: unified diffs beside the skills that wait.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_conversation::Timestamp;
use serde_json::{Value, json};

use super::journal::{JournalEntry, PatchSubject};
use super::{Inbox, read_json};
use crate::discover::is_passed_over;
use crate::patch::recount;
use crate::patch::{parse_patch, plan_patch};
use crate::read::read_text;
use crate::{PatchTargets, PlannedWrite, SkillError};

/// The extension of patches.
const END: &str = ".patch";

/// A change to skills that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingUpdate {
    /// The name of its file without the end, by which it is meant.
    pub name: String,
    /// The file of the patch.
    pub file: PathBuf,
    /// The patch itself.
    pub text: String,
    /// The planned writes, or the reason why it cannot be applied.
    pub plan: Result<Vec<PlannedWrite>, String>,
    /// When it came in, where that is known.
    pub at: Option<Timestamp>,
    /// The evidence, as it was noted.
    pub evidence: Vec<Value>,
}

impl Inbox {
    /// The changes to skills that wait, by name.
    pub fn updates(&self, targets: &PatchTargets) -> Vec<WaitingUpdate> {
        let entries = fs::read_dir(&self.skills).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter(|entry| entry.path().is_file())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !is_passed_over(name))
            .filter_map(|name| name.strip_suffix(END).map(str::to_string))
            .collect();
        names.sort();
        names.into_iter().map(|name| self.load_update(name, targets)).collect()
    }

    /// The change that waits under this name, which may be that of its file.
    ///
    /// # Errors
    /// [`SkillError::NothingWaits`] where there is none, or where the name is none.
    pub fn update(&self, name: &str, targets: &PatchTargets) -> Result<WaitingUpdate, SkillError> {
        let stem = name.strip_suffix(END).unwrap_or(name);
        let is_name = !stem.contains(['/', '\\']) && !stem.is_empty() && !is_passed_over(stem);
        if !is_name || !self.skills.join(format!("{stem}{END}")).is_file() {
            return Err(SkillError::NothingWaits { name: name.to_string() });
        }
        Ok(self.load_update(stem.to_string(), targets))
    }

    fn load_update(&self, name: String, targets: &PatchTargets) -> WaitingUpdate {
        let file = self.skills.join(format!("{name}{END}"));
        let text = read_text(&file).map_err(|error| error.to_string()).and_then(|text| text);
        let plan = text.clone().and_then(|text| {
            let plan = parse_patch(&text).and_then(|patch| plan_patch(&patch, targets));
            plan.map_err(|error| error.to_string())
        });
        let noted = read_json(&self.evidence_beside(PatchSubject::Skill, &name));
        let written = || {
            let since = file.metadata().ok()?.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
            i64::try_from(since.as_millis()).ok().map(Timestamp::from_millis)
        };
        let at = noted.get("at").and_then(Value::as_str).and_then(Timestamp::parse).or_else(written);
        let evidence = noted.get("evidence").and_then(Value::as_array).cloned().unwrap_or_default();
        WaitingUpdate { name, text: text.unwrap_or_default(), plan, at, evidence, file }
    }

    /// Applies a change to all of its files; tells which they are.
    ///
    /// # Errors
    /// [`SkillError`] where nothing waits under this name, or where it does not fit; it then goes on waiting.
    pub fn accept_update(
        &self,
        name: &str,
        targets: &PatchTargets,
        at: Timestamp,
    ) -> Result<Vec<PathBuf>, SkillError> {
        let _lock = self.lock()?;
        let mut changed = self.settle()?.files;
        let waiting = match self.update(name, targets) {
            // It was this one that had been cut off.
            Err(SkillError::NothingWaits { .. }) if !changed.is_empty() => return Ok(changed),
            waiting => waiting?,
        };
        let plan =
            waiting.plan.map_err(|reason| SkillError::NotAcceptable { name: name.to_string(), reason })?;
        let file = format!("{}{END}", waiting.name);
        let evidence = read_json(&self.evidence_beside(PatchSubject::Skill, &file));
        let patch = JournalEntry { name: file, text: waiting.text, evidence };
        self.apply(PatchSubject::Skill, vec![patch], &plan, at)?;
        changed.extend(plan.into_iter().map(|write| write.path));
        Ok(changed)
    }

    /// Removes a change; one like it is not proposed again.
    ///
    /// # Errors
    /// [`SkillError`] where nothing waits under this name, or it cannot be removed.
    pub fn dismiss_update(&self, name: &str, at: Timestamp) -> Result<(), SkillError> {
        let _lock = self.lock()?;
        self.settle()?;
        let anywhere = PatchTargets::Skills { roots: Vec::new(), untrusted: Vec::new() };
        let waiting = self.update(name, &anywhere)?;
        let note =
            json!({"act": "dismissed", "name": waiting.name, "at": at.to_string(), "text": waiting.text});
        self.note(note)?;
        self.fuse.burn()?;
        fs::remove_file(&waiting.file).map_err(SkillError::files("remove", &waiting.file))?;
        let _ = fs::remove_file(self.evidence_beside(PatchSubject::Skill, &waiting.name));
        Ok(())
    }

    /// Puts a patch right that was changed by hand, as far as its numbers of lines go.
    ///
    /// # Errors
    /// [`SkillError`] where the file cannot be read or written.
    pub fn recount(&self, file: &Path) -> Result<(), SkillError> {
        let _lock = self.lock()?;
        let Ok(text) = read_text(file)? else { return Ok(()) };
        let right = recount(&text);
        if right != text {
            longhaul_workspace::write_private_atomically(file, right.as_bytes())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
