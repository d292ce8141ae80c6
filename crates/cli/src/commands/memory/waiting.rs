//! What waits for memory, as the commands and the terminal show and settle it.

use std::path::PathBuf;

use longhaul_memory::{FactScope, save_target};
use longhaul_skills::{AppliedPatches, Inbox, MemoryKind, PatchTargets, SkillError, TakenBack, WaitingPatch};

use super::surroundings::Surroundings;
use crate::clock::now;
use crate::failure::hinted;
use crate::project::Project;

/// The inbox of the project, with where its patches may write.
pub(crate) struct MemoryInbox {
    inbox: Inbox,
    project: Project,
    around: Surroundings,
}

impl MemoryInbox {
    /// The inbox of the current folder, if anything was ever stored of it.
    pub(crate) fn find(around: Surroundings) -> anyhow::Result<Option<Self>> {
        Ok(Project::find()?.map(|project| Self { inbox: Inbox::of(&project.home), project, around }))
    }

    fn targets(&self, kind: MemoryKind) -> anyhow::Result<PatchTargets> {
        Ok(match kind {
            MemoryKind::Private => PatchTargets::NotesIn(self.project.home.memory()),
            MemoryKind::Global => PatchTargets::Only(save_target(
                FactScope::Global,
                &self.around.places,
                &self.around.settings,
            )?),
        })
    }

    /// What waits of this kind.
    pub(crate) fn waiting(&self, kind: MemoryKind) -> anyhow::Result<Vec<WaitingPatch>> {
        // What a killed process began is ended or undone before anybody looks.
        self.inbox.resume().map_err(failure)?;
        Ok(self.inbox.patches(kind, &self.targets(kind)?))
    }

    /// Applies what waits of this kind.
    pub(crate) fn accept(&self, kind: MemoryKind) -> anyhow::Result<AppliedPatches> {
        self.inbox.accept_patches(kind, &self.targets(kind)?, now()).map_err(failure)
    }

    /// Removes what waits of this kind; tells how many patches that were.
    pub(crate) fn dismiss(&self, kind: MemoryKind) -> anyhow::Result<usize> {
        self.inbox.dismiss_patches(kind, &self.targets(kind)?, now()).map_err(failure)
    }

    /// Puts patches right whose lines were edited.
    pub(crate) fn recount(&self, files: &[PathBuf]) -> anyhow::Result<()> {
        files.iter().try_for_each(|file| self.inbox.recount(file)).map_err(failure)
    }

    /// Takes the last acceptance back.
    pub(crate) fn undo(&self) -> anyhow::Result<TakenBack> {
        self.inbox.undo_patches().map_err(failure)
    }
}

/// The change that a patch makes, as a diff of what is there now; where it does not fit, the patch as it is written.
pub(crate) fn diff_of(patch: &WaitingPatch) -> String {
    match &patch.plan {
        Ok(plan) => plan.iter().map(longhaul_skills::PlannedWrite::diff).collect(),
        Err(_) => patch.text.clone(),
    }
}

/// A failure with what to do about it.
pub(super) fn failure(error: SkillError) -> anyhow::Error {
    match error {
        SkillError::NotUndone { .. } => hinted(error, "`longhaul memory list` says where the files are"),
        error => error.into(),
    }
}
