//! Carries out a plan of what goes.

use std::fs;
use std::io;
use std::path::Path;

use longhaul_conversation::Timestamp;

use super::{DoomedItem, RetentionPlan, ToolOutput};
use crate::store::delete::{Thing, is_real_folder};
use crate::store::index::Stamp;
use crate::store::metadata::{SessionMetadata, SessionRole, load_metadata};
use crate::store::names::is_sanitised;
use crate::store::{Store, StoreError};

/// The result of a plan.
#[derive(Debug, Default)]
pub struct Pruned {
    /// Of sessions and flawed files.
    pub sessions: Counts,
    /// Of tool outputs.
    pub tool_outputs: Counts,
    /// Failed deletions with their errors.
    pub problems: Vec<StoreError>,
}

/// The number of items by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All that were looked at.
    pub scanned: usize,
    /// Those that are gone.
    pub deleted: usize,
    /// Those that stay: nothing was planned for them, they are in use, or they were used since the plan was made.
    pub skipped: usize,
    /// Those that should be gone and are not.
    pub failed: usize,
}

/// The outcome of one item.
enum Fate {
    Deleted,
    Skipped,
    Failed,
}

impl Counts {
    fn of(scanned: usize, planned: usize) -> Self {
        Self { scanned, skipped: scanned.saturating_sub(planned), ..Self::default() }
    }

    fn add(&mut self, fate: &Fate) {
        match fate {
            Fate::Deleted => self.deleted += 1,
            Fate::Skipped => self.skipped += 1,
            Fate::Failed => self.failed += 1,
        }
    }
}

impl Store {
    /// The saved outputs of tools: single files, and the folders of sessions whose names are sanitised.
    ///
    /// # Errors
    /// The error that prevents the folder from being listed.
    pub fn tool_outputs(&self) -> Result<Vec<ToolOutput>, StoreError> {
        let failed = |cause| StoreError::Failed { act: "list", path: self.tool_outputs.clone(), cause };
        if !is_real_folder(&self.tool_outputs)? {
            return Ok(Vec::new());
        }
        let mut outputs = Vec::new();
        for entry in fs::read_dir(&self.tool_outputs).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (Ok(name), Ok(metadata)) = (entry.file_name().into_string(), entry.metadata()) else {
                continue;
            };
            let is_folder = metadata.is_dir() && name.starts_with("session-") && is_sanitised(&name);
            if is_folder || metadata.is_file() {
                let modified = modified(&metadata);
                outputs.push(ToolOutput { path: entry.path(), name, is_folder, modified });
            }
        }
        outputs.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(outputs)
    }

    /// Deletes what a plan names, as far as it is still as it was then. Failures are counted and told, and stop nothing.
    pub fn run_retention(&self, plan: &RetentionPlan) -> Pruned {
        let is_output = |item: &DoomedItem| matches!(item, DoomedItem::ToolOutput(_));
        let outputs = plan.doomed.iter().filter(|doomed| is_output(&doomed.item)).count();
        let mut pruned = Pruned {
            sessions: Counts::of(plan.sessions, plan.doomed.len() - outputs),
            tool_outputs: Counts::of(plan.tool_outputs, outputs),
            problems: Vec::new(),
        };
        for doomed in &plan.doomed {
            let fate = match self.carry_out(&doomed.item, &mut pruned.problems) {
                Ok(fate) => fate,
                Err(problem) => {
                    let is_in_use = matches!(problem, StoreError::InUse { .. });
                    pruned.problems.push(problem);
                    if is_in_use { Fate::Skipped } else { Fate::Failed }
                }
            };
            let counts =
                if is_output(&doomed.item) { &mut pruned.tool_outputs } else { &mut pruned.sessions };
            counts.add(&fate);
        }
        pruned
    }

    fn carry_out(&self, item: &DoomedItem, problems: &mut Vec<StoreError>) -> Result<Fate, StoreError> {
        let (files, id) = match item {
            DoomedItem::ToolOutput(output) => return self.remove_output(output),
            DoomedItem::Session { id, files, .. } => (files.as_slice(), Some(id.as_str())),
            DoomedItem::Flawed { file } => (std::slice::from_ref(file), None),
        };
        for file in files {
            let path = self.chats.join(file);
            match load_metadata(&path) {
                Ok(found) if is_as_planned(item, found.as_ref(), &path) => {}
                Ok(_) => return Ok(Fate::Skipped),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Fate::Skipped),
                Err(cause) => return Err(StoreError::Failed { act: "read", path, cause }),
            }
        }
        let deletion = self.delete_named(files, id)?;
        problems.extend(deletion.problems);
        Ok(Fate::Deleted)
    }

    fn remove_output(&self, output: &ToolOutput) -> Result<Fate, StoreError> {
        let path = self.tool_outputs.join(&output.name);
        // A plan may be made of anything; only what lies directly in the folder is removed.
        let is_plain = path.parent() == Some(self.tool_outputs.as_path())
            && path.file_name().is_some_and(|name| name == output.name.as_str())
            && (!output.is_folder || is_sanitised(&output.name));
        if !is_plain {
            return Err(StoreError::Misplaced { path, reason: "not in the tool output folder" });
        }
        let is_changed = path.symlink_metadata().is_ok_and(|metadata| modified(&metadata) > output.modified);
        if is_changed {
            return Ok(Fate::Skipped);
        }
        let thing = if output.is_folder { Thing::Folder } else { Thing::File };
        let removed = self.remove_in(&self.tool_outputs, &output.name, thing)?;
        Ok(if removed.is_some() { Fate::Deleted } else { Fate::Skipped })
    }
}

/// True if a file still deserves what was planned for it. A listing may come from the index, and time has passed: the
/// file itself has the last word.
fn is_as_planned(item: &DoomedItem, found: Option<&SessionMetadata>, path: &Path) -> bool {
    match (item, found) {
        (DoomedItem::Session { id, updated, .. }, Some(found)) => {
            let written = || path.symlink_metadata().ok().map(|metadata| modified(&metadata));
            let at = found.updated.or(found.started).or_else(written);
            found.id == *id && at.is_some_and(|at| at <= *updated)
        }
        (DoomedItem::Flawed { .. }, Some(found)) => {
            found.kind == SessionRole::Subagent || !found.has_resumable_content
        }
        (DoomedItem::Flawed { .. }, None) => true,
        _ => false,
    }
}

fn modified(metadata: &fs::Metadata) -> Timestamp {
    Timestamp::from_millis(Stamp::of(metadata).modified.div_euclid(1_000_000))
}
