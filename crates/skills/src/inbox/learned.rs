//! The results of an extraction in the inbox: skills that a model wrote, changes to skills that count already, and the news after
//! a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use longhaul_conversation::Timestamp;
use longhaul_workspace::{create_private_folder, write_private_atomically};
use serde_json::{Value, json};

use super::journal::PatchSubject;
use super::{Inbox, MemoryKind};
use crate::discover::SKILL_FILE;
use crate::draft::DRAFT_MARK;
use crate::patch::whole_file_patch;
use crate::patch::{parse_patch, plan_patch};
use crate::read::read_text;
use crate::{LearnedSkill, PatchTargets, SkillError};

/// The folder of scripts.
const SCRIPTS: &str = "scripts";

/// Everything that waits, as it is at some moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InboxSnapshot {
    skills: BTreeMap<String, String>,
    updates: BTreeMap<String, String>,
    memory: BTreeMap<String, String>,
}

/// The news of an inbox: by name, only items whose content is another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InboxNews {
    /// Skills.
    pub skills: Vec<String>,
    /// Changes to skills that count already, by the names of those.
    pub updates: Vec<String>,
    /// Changes to memory, such as `private/extraction.patch`.
    pub memory: Vec<String>,
}

impl InboxNews {
    /// True if nothing is new.
    pub fn is_empty(&self) -> bool {
        self.skills.is_empty() && self.updates.is_empty() && self.memory.is_empty()
    }
}

impl InboxSnapshot {
    /// The news since this moment.
    pub fn news(&self, now: &Self) -> InboxNews {
        let new = |before: &BTreeMap<String, String>, after: &BTreeMap<String, String>| {
            let changed = after.iter().filter(|(name, text)| before.get(*name) != Some(*text));
            changed.map(|(name, _)| name.clone()).collect()
        };
        InboxNews {
            skills: new(&self.skills, &now.skills),
            updates: new(&self.updates, &now.updates),
            memory: new(&self.memory, &now.memory),
        }
    }
}

impl Inbox {
    /// Puts a skill in, with where what it says was seen. One that waits under its name is replaced, file by file, so that a
    /// whole skill is there at any time.
    ///
    /// # Errors
    /// [`SkillError`] where it cannot be written; what was there is then still a whole skill.
    pub fn put(&self, skill: &LearnedSkill, evidence: &[Value], at: Timestamp) -> Result<(), SkillError> {
        let _lock = self.lock()?;
        let name = skill.name().as_str();
        self.write(&self.evidence_of(name), &json!({"at": at.to_string(), "evidence": evidence}))?;
        create_private_folder(&self.skills)?;
        let target = self.skills.join(name);
        match target.symlink_metadata() {
            Err(_) => {
                let staged = self.stage()?;
                self.write_skill(skill, staged.path())?;
                self.fuse.burn()?;
                staged.rename_to(&target).map_err(SkillError::files("write", &target))?;
            }
            // What is no folder of ours is not written through.
            Ok(found) if !found.is_dir() => {
                return Err(SkillError::Exists { name: name.to_string(), path: target });
            }
            Ok(_) => {
                self.write_skill(skill, &target)?;
                self.remove_scripts(skill, &target.join(SCRIPTS))?;
            }
        }
        self.remove_superseded(name, skill.text())
    }

    /// Writes the scripts, and then what refers to them.
    fn write_skill(&self, skill: &LearnedSkill, folder: &Path) -> Result<(), SkillError> {
        let scripts = folder.join(SCRIPTS);
        if scripts.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
            return Err(SkillError::Refused { path: scripts, reason: "not a folder".into() });
        }
        for script in skill.scripts() {
            self.fuse.burn()?;
            write_private_atomically(&scripts.join(script.name()), script.text().as_bytes())?;
        }
        self.fuse.burn()?;
        Ok(write_private_atomically(&folder.join(SKILL_FILE), skill.text().as_bytes())?)
    }

    /// Removes the scripts that a skill no longer has.
    fn remove_scripts(&self, skill: &LearnedSkill, folder: &Path) -> Result<(), SkillError> {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let is_kept = skill.scripts().iter().any(|script| entry.file_name() == script.name());
            if !is_kept && entry.file_type().is_ok_and(|kind| kind.is_file()) {
                self.fuse.burn()?;
                fs::remove_file(entry.path()).map_err(SkillError::files("remove", entry.path()))?;
            }
        }
        Ok(())
    }

    /// Proposes another text for a skill that counts already, as a patch beside the waiting skills. A patch that waits for the
    /// same skill is replaced.
    ///
    /// # Errors
    /// [`SkillError`] where the file is none that may be changed, or where nothing can be written.
    pub fn propose_update(
        &self,
        file: &Path,
        skill: &LearnedSkill,
        evidence: &[Value],
        targets: &PatchTargets,
        at: Timestamp,
    ) -> Result<(), SkillError> {
        let _lock = self.lock()?;
        let file = file.canonicalize().map_err(SkillError::files("read", file))?;
        let refused = |reason: String| SkillError::Patch { reason };
        let before = read_text(&file)?.map_err(refused)?;
        let text = whole_file_patch(&file, &before, skill.text())
            .ok_or_else(|| refused("it changes nothing".to_string()))?;
        plan_patch(&parse_patch(&text)?, targets)?;
        let name = format!("{}.patch", skill.name());
        let beside = self.evidence_beside(PatchSubject::Skill, &name);
        self.write(&beside, &json!({"at": at.to_string(), "evidence": evidence}))?;
        self.fuse.burn()?;
        Ok(write_private_atomically(&self.skills.join(name), text.as_bytes())?)
    }

    /// True if the user was shown a skill of these commands before and did not want it. A draft that was made without a model
    /// says nothing against a better one.
    pub fn was_dismissed(&self, commands: &[String]) -> bool {
        let history = self.read_history();
        let dismissed = history.iter().filter(|entry| entry["act"] == "dismissed");
        dismissed
            .filter_map(|entry| entry["text"].as_str())
            .filter(|text| !text.contains(DRAFT_MARK))
            .any(|text| commands.iter().all(|command| text.contains(command.as_str())))
    }

    /// Everything that waits now.
    pub fn snapshot(&self) -> InboxSnapshot {
        let mut snapshot = InboxSnapshot::default();
        for waiting in self.list() {
            let mut text = text_in(&waiting.folder.join(SKILL_FILE));
            for script in files_in(&waiting.folder.join(SCRIPTS)) {
                text.push_str(&text_in(&script));
            }
            snapshot.skills.insert(waiting.name, text);
        }
        for file in files_in(&self.skills).into_iter().filter(|file| is_patch(file)) {
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            snapshot.updates.insert(name, text_in(&file));
        }
        for kind in MemoryKind::ALL {
            for file in files_in(&self.folder.join(kind.name())).into_iter().filter(|file| is_patch(file)) {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                snapshot.memory.insert(format!("{}/{name}", kind.name()), text_in(&file));
            }
        }
        snapshot
    }
}

fn is_patch(file: &Path) -> bool {
    file.extension().is_some_and(|end| end == "patch")
}

/// The files of a folder, by name; none where it cannot be read.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

fn text_in(file: &Path) -> String {
    read_text(file).ok().and_then(Result::ok).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mining::{mine, trial::session};
    use crate::{LearnedScript, SkillDraft, write_drafts};
    use longhaul_workspace::{Environment, Home, LockTimeout, Projects};

    const AT: i64 = 1_767_323_045_000;

    fn desk() -> (tempfile::TempDir, Inbox) {
        let root = tempfile::tempdir().unwrap();
        let environment =
            Environment { longhaul_home: Some(root.path().join("home")), ..Environment::default() };
        let home = Home::resolve(&environment).unwrap();
        let id = Projects::of(&home).identify(root.path(), LockTimeout::default()).unwrap().id;
        let inbox = Inbox::of(&home.project(&id));
        (root, inbox)
    }

    /// The next act is cut off before its step of this number.
    fn cut_off(inbox: &Inbox, step: Option<u32>) {
        *inbox.fuse.left.lock().unwrap() = step;
    }

    fn learned(name: &str, script: Option<&str>) -> LearnedSkill {
        let text = format!(
            "---\nname: {name}\ndescription: Releases.\n---\n## When to Use\n- x\n## Procedure\n1. `make dist`\n## Verification\n- z\n"
        );
        let scripts = script.map(|text| LearnedScript::parse("up.sh", text).unwrap());
        LearnedSkill::parse(&text, scripts.into_iter().collect()).unwrap()
    }

    #[test]
    fn a_learned_skill_is_there_whole_whenever_it_is_cut_off() {
        let at = Timestamp::from_millis(AT);
        for steps in 0.. {
            let (_root, inbox) = desk();
            cut_off(&inbox, Some(steps));
            let done = inbox.put(&learned("release", Some("usage: 1")), &[json!({"kind": "x"})], at);
            let waiting = inbox.list();
            assert_eq!(waiting.len(), usize::from(done.is_ok()));
            cut_off(&inbox, None);
            inbox.put(&learned("release", Some("usage: 1")), &[json!({"kind": "x"})], at).unwrap();
            let waiting = inbox.get("release").unwrap();
            assert_eq!((waiting.at, waiting.evidence.len(), waiting.manifest.is_ok()), (Some(at), 1, true));
            assert!(waiting.folder.join("scripts/up.sh").is_file());
            if done.is_ok() {
                break;
            }
        }
    }

    #[test]
    fn a_waiting_skill_is_improved_and_never_broken() {
        let at = Timestamp::from_millis(AT);
        for steps in 0.. {
            let (_root, inbox) = desk();
            inbox.put(&learned("release", Some("usage: 1")), &[], at).unwrap();
            let before = inbox.snapshot();
            cut_off(&inbox, Some(steps));
            let done = inbox.put(&learned("release", None), &[], at);
            assert!(inbox.get("release").unwrap().manifest.is_ok());
            cut_off(&inbox, None);
            inbox.put(&learned("release", None), &[], at).unwrap();
            assert!(!inbox.get("release").unwrap().folder.join("scripts/up.sh").exists());
            let news = before.news(&inbox.snapshot());
            assert_eq!(news.skills, ["release"]);
            if done.is_ok() {
                break;
            }
        }
    }

    #[test]
    fn a_change_to_a_skill_waits_as_a_patch() {
        let (root, inbox) = desk();
        let at = Timestamp::from_millis(AT);
        let file = root.path().join("skills").join("release/SKILL.md");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "---\nname: release\ndescription: Old.\n---\nOld.\n").unwrap();
        let skills_in = |folder: &str| PatchTargets::Skills {
            roots: vec![root.path().join(folder)],
            untrusted: Vec::new(),
        };
        let targets = skills_in("skills");
        let before = inbox.snapshot();
        let seen = [json!({"session": "s1"})];
        inbox.propose_update(&file, &learned("release", None), &seen, &targets, at).unwrap();
        assert_eq!(inbox.update("release", &targets).unwrap().evidence, seen);
        let news = before.news(&inbox.snapshot());
        assert_eq!(
            (news.updates.as_slice(), news.skills.len(), inbox.list().len()),
            (&["release".to_string()][..], 0, 0)
        );
        assert!(fs::read_to_string(&file).unwrap().contains("Old."), "nothing is applied by itself");
        let elsewhere = skills_in("work");
        assert!(inbox.propose_update(&file, &learned("release", None), &[], &elsewhere, at).is_err());
    }

    #[test]
    fn what_was_dismissed_is_known() {
        let (_root, inbox) = desk();
        let at = Timestamp::from_millis(AT);
        inbox.put(&learned("release", None), &[], at).unwrap();
        let commands = ["make dist".to_string()];
        assert!(!inbox.was_dismissed(&commands));
        inbox.dismiss("release", at).unwrap();
        assert!(inbox.was_dismissed(&commands) && !inbox.was_dismissed(&["make other".to_string()]));
    }

    fn draft(lines: &[&str]) -> SkillDraft {
        let sessions = [session("a", lines), session("b", lines)];
        write_drafts(&mine(&sessions), 1, |_| false).remove(0)
    }

    #[test]
    fn a_draft_stands_in_no_better_ones_way() {
        let (_root, inbox) = desk();
        let at = Timestamp::from_millis(AT);
        let names = || inbox.list().into_iter().map(|waiting| waiting.name).collect::<Vec<_>>();
        let short = draft(&["~ a.c", "$ make lint", "$ make dist"]);
        inbox.add(&short, at).unwrap();
        inbox.dismiss("lint-dist", at).unwrap();
        let commands = ["make lint".to_string(), "make dist".to_string()];
        assert!(!inbox.was_dismissed(&commands), "a model may do better");
        assert!(inbox.knows(&commands), "without a model it would be the same again");
        // One that waits gives way to a longer one, and that to a model's.
        inbox.add(&short, at).unwrap();
        inbox.add(&draft(&["~ a.c", "$ make lint", "$ make dist", "$ make check"]), at).unwrap();
        assert_eq!(names(), ["lint-dist-check"]);
        let text = learned("release", None)
            .text()
            .replace("`make dist`", "`make lint`, `make dist` and `make check`");
        inbox.put(&LearnedSkill::parse(&text, Vec::new()).unwrap(), &[], at).unwrap();
        assert_eq!(names(), ["release"]);
        // What a model wrote is not removed by what the sessions alone say.
        inbox.add(&short, at).unwrap();
        assert_eq!(names(), ["lint-dist", "release"]);
    }
}
