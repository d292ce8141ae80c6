//! Proposed changes to memory, for front ends to show and settle.

use std::path::PathBuf;

use longhaul_memory::{FactScope, save_target};
use longhaul_skills::{AppliedPatches, Inbox, MemoryKind, PatchTargets, SkillError, TakenBack, WaitingPatch};

use crate::clock::now;
use crate::failure::hinted;
use crate::project::Project;
use crate::workspace::WorkspaceContext;

/// The inbox of the project, with where its patches may write.
pub struct MemoryInbox {
    inbox: Inbox,
    project: Project,
    context: WorkspaceContext,
}

impl MemoryInbox {
    /// The inbox of the current folder, if anything was ever stored of it.
    pub fn find(context: WorkspaceContext) -> anyhow::Result<Option<Self>> {
        Ok(Project::find()?.map(|project| Self { inbox: Inbox::of(&project.home), project, context }))
    }

    fn targets(&self, kind: MemoryKind) -> anyhow::Result<PatchTargets> {
        Ok(match kind {
            MemoryKind::Private => PatchTargets::NotesIn(self.project.home.memory()),
            MemoryKind::Global => PatchTargets::Only(save_target(
                FactScope::Global,
                &self.context.places,
                &self.context.settings,
            )?),
        })
    }

    /// The proposed changes of this kind.
    pub fn waiting(&self, kind: MemoryKind) -> anyhow::Result<Vec<WaitingPatch>> {
        // What a killed process began is ended or undone before anybody looks.
        self.inbox.resume().map_err(failure)?;
        Ok(self.inbox.patches(kind, &self.targets(kind)?))
    }

    /// Applies the pending changes of this kind.
    pub fn accept(&self, kind: MemoryKind) -> anyhow::Result<AppliedPatches> {
        self.inbox.accept_patches(kind, &self.targets(kind)?, now()).map_err(failure)
    }

    /// Dismisses the pending changes of this kind; returns the number of patches.
    pub fn dismiss(&self, kind: MemoryKind) -> anyhow::Result<usize> {
        self.inbox.dismiss_patches(kind, &self.targets(kind)?, now()).map_err(failure)
    }

    /// Corrects the line counts of edited patches.
    pub fn recount(&self, files: &[PathBuf]) -> anyhow::Result<()> {
        files.iter().try_for_each(|file| self.inbox.recount(file)).map_err(failure)
    }

    /// Undoes the last acceptance.
    pub fn undo(&self) -> anyhow::Result<TakenBack> {
        self.inbox.undo_patches().map_err(failure)
    }
}

/// The change that a patch makes, as a diff against the current files; if it does not fit, the patch itself.
pub fn diff_of(patch: &WaitingPatch) -> String {
    match &patch.plan {
        Ok(plan) => plan.iter().map(longhaul_skills::PlannedWrite::diff).collect(),
        Err(_) => patch.text.clone(),
    }
}

/// A failure with what to do about it.
pub fn failure(error: SkillError) -> anyhow::Error {
    match error {
        SkillError::NotUndone { .. } => {
            hinted(error, "run `longhaul memory list` to see where the files are")
        }
        error => error.into(),
    }
}
