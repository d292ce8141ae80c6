//! Proposed skills and changes to skills, for front ends to show and settle.

use std::path::PathBuf;

use anyhow::Context;
use longhaul_skills::{
    Inbox, PatchTargets, PlannedFile, PlannedWrite, SkillError, SkillTier, Undone, WaitingSkill,
    WaitingUpdate,
};
use longhaul_workspace::WorkspaceFolder;
use serde_json::Value;

use super::scope::SkillScope;
use super::{SkillLibrary, failure};
use crate::clock::now;
use crate::project::Project;

/// A pending skill or change.
#[derive(Clone, Debug)]
pub enum SkillProposal {
    /// A new skill.
    Skill(WaitingSkill),
    /// A change to skills that are there.
    Update(WaitingUpdate),
}

/// The contents of a proposal.
pub struct ProposalDetails {
    /// The text of a new skill; for a change, the patch as it is written.
    pub text: String,
    /// The files of a new skill.
    pub files: Vec<PlannedFile>,
    /// The tier of an existing skill of the same name, for a new one.
    pub twin: Option<SkillTier>,
    /// Changes to skills that are there, as unified diffs.
    pub diff: Option<String>,
}

/// Changes, one after the other.
fn diffs(changes: &[PlannedWrite]) -> String {
    changes.iter().map(PlannedWrite::diff).collect()
}

impl SkillProposal {
    /// The evidence for it, as recorded.
    pub fn evidence(&self) -> &[Value] {
        match self {
            Self::Skill(skill) => &skill.evidence,
            Self::Update(update) => &update.evidence,
        }
    }

    /// Its kind and the time it arrived, in a few words.
    pub fn kind(&self) -> String {
        let (kind, at) = match self {
            Self::Skill(skill) => ("new skill", skill.at),
            Self::Update(update) => ("change", update.at),
        };
        at.map_or_else(|| kind.to_string(), |at| format!("{kind}, {}", at.to_minute()))
    }

    /// The name that refers to it.
    pub fn name(&self) -> &str {
        match self {
            Self::Skill(skill) => &skill.name,
            Self::Update(update) => &update.name,
        }
    }

    /// The reason why it cannot be accepted as it is.
    pub fn problem(&self) -> Option<&str> {
        match self {
            Self::Skill(skill) => skill.manifest.as_ref().err().map(String::as_str),
            Self::Update(update) => update.plan.as_ref().err().map(String::as_str),
        }
    }

    /// The file a user may edit before accepting it.
    pub fn file(&self) -> PathBuf {
        match self {
            Self::Skill(skill) => skill.folder.join("SKILL.md"),
            Self::Update(update) => update.file.clone(),
        }
    }

    /// Its subject, in a line.
    pub fn about(&self) -> String {
        match self {
            Self::Skill(skill) => match &skill.manifest {
                Ok(manifest) => manifest.description.clone(),
                Err(_) => String::new(),
            },
            Self::Update(update) => {
                let plan = update.plan.as_deref().unwrap_or_default();
                let files: Vec<String> = plan.iter().map(|write| write.path.display().to_string()).collect();
                format!("changes {}", files.join(", "))
            }
        }
    }
}

impl SkillLibrary {
    /// The inbox of the project, if anything is stored for it.
    fn inbox(&self) -> anyhow::Result<Option<Inbox>> {
        Ok(Project::find()?.map(|project| Inbox::of(&project.home)))
    }

    /// Finishes or undoes what a killed process began in the inbox.
    pub fn resume_inbox(&self) -> anyhow::Result<()> {
        let Some(inbox) = self.inbox()? else { return Ok(()) };
        inbox.resume().map_err(failure)?;
        Ok(())
    }

    fn inbox_with(&self, name: &str) -> anyhow::Result<Inbox> {
        self.inbox()?.ok_or_else(|| failure(SkillError::NothingWaits { name: name.to_string() }))
    }

    /// The skills that changes may write to: the user's own, and those of a workspace that is trusted.
    fn targets(&self) -> PatchTargets {
        let place = WorkspaceFolder::of(&self.context.cwd);
        let with_shared = |own: PathBuf, shared: Vec<PathBuf>| -> Vec<PathBuf> {
            std::iter::once(own).chain(shared).collect()
        };
        let user = with_shared(self.home.skills(), self.home.shared_skills());
        let workspace = with_shared(place.skills(), place.shared_skills());
        match self.context.trust.is_trusted() {
            true => PatchTargets::Skills { roots: [user, workspace].concat(), untrusted: Vec::new() },
            false => PatchTargets::Skills { roots: user, untrusted: workspace },
        }
    }

    /// All pending items: new skills, then changes.
    pub fn proposals(&self) -> anyhow::Result<Vec<SkillProposal>> {
        self.resume_inbox()?;
        let Some(inbox) = self.inbox()? else { return Ok(Vec::new()) };
        let updates = inbox.updates(&self.targets()).into_iter().map(SkillProposal::Update);
        Ok(inbox.list().into_iter().map(SkillProposal::Skill).chain(updates).collect())
    }

    /// Finds the proposal of this name. If a new skill and a change share one, the change goes by its file's name.
    pub fn find_proposal(&self, name: &str) -> anyhow::Result<SkillProposal> {
        let inbox = self.inbox_with(name)?;
        match inbox.get(name) {
            Ok(skill) => Ok(SkillProposal::Skill(skill)),
            Err(SkillError::NothingWaits { .. }) => {
                inbox.update(name, &self.targets()).map(SkillProposal::Update).map_err(failure)
            }
            Err(error) => Err(failure(error)),
        }
    }

    /// The contents of a proposal.
    pub fn details(&self, waiting: &SkillProposal) -> anyhow::Result<ProposalDetails> {
        let skill = match waiting {
            SkillProposal::Skill(skill) => skill,
            SkillProposal::Update(update) => {
                let diff = update.plan.as_deref().map_or_else(|_| update.text.clone(), diffs);
                return Ok(ProposalDetails {
                    text: update.text.clone(),
                    files: Vec::new(),
                    twin: None,
                    diff: Some(diff),
                });
            }
        };
        let text = std::fs::read_to_string(waiting.file()).context("could not read the skill")?;
        let files = skill.files().map_err(failure)?;
        let skills = self.skills();
        let named = skill.manifest.as_ref().ok().and_then(|manifest| skills.get(manifest.name.as_str()));
        let (twin, changes) = match named.and_then(|twin| Some((twin.tier, twin.folder()?))) {
            Some((tier, folder)) => (Some(tier), Some(skill.changes_to(folder).map_err(failure)?)),
            None => (None, None),
        };
        Ok(ProposalDetails { text, files, twin, diff: changes.as_deref().map(diffs) })
    }

    /// Accepts a proposal; returns the written files.
    pub fn accept_proposal(&self, name: &str, scope: SkillScope) -> anyhow::Result<Vec<PathBuf>> {
        let inbox = self.inbox_with(name)?;
        // What was cut off is ended whatever became of its name.
        match self.find_proposal(name) {
            Ok(SkillProposal::Skill(_)) => {
                let accepted = inbox.accept(name, &self.skill_folder(scope)?, now()).map_err(failure)?;
                Ok(vec![accepted.target])
            }
            _ => inbox.accept_update(name, &self.targets(), now()).map_err(failure),
        }
    }

    /// Corrects the line counts of an edited change.
    pub fn recount_proposal(&self, waiting: &SkillProposal) -> anyhow::Result<()> {
        match waiting {
            SkillProposal::Skill(_) => Ok(()),
            SkillProposal::Update(update) => {
                self.inbox_with(&update.name)?.recount(&update.file).map_err(failure)
            }
        }
    }

    /// Dismisses a proposal.
    pub fn dismiss_proposal(&self, name: &str) -> anyhow::Result<()> {
        let inbox = self.inbox_with(name)?;
        match self.find_proposal(name)? {
            SkillProposal::Skill(_) => inbox.dismiss(name, now()),
            SkillProposal::Update(_) => inbox.dismiss_update(name, now()),
        }
        .map_err(failure)
    }

    /// Undoes the last acceptance.
    pub fn undo_acceptance(&self) -> anyhow::Result<Undone> {
        let nothing = || SkillError::NotUndone { reason: "nothing has been accepted here yet".into() };
        self.inbox()?.ok_or_else(nothing).and_then(|inbox| inbox.undo()).map_err(failure)
    }
}
