//! The sessions of a project: what there are, which one is meant, and which ones go.

mod delete;
mod display;
mod error;
mod index;
mod list;
mod metadata;
mod names;
mod narrow;
mod retention;
mod select;
mod skim;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use longhaul_workspace::ProjectHome;

pub use delete::Deletion;
pub use display::title_from;
pub use error::StoreError;
pub use list::{Flaw, FlawedFile, ListedSession, Listing};
pub use metadata::{Scratchpad, SessionMetadata, SessionRole, load_metadata};
pub use names::session_file_name;
pub(crate) use names::{sanitise_name, subagent_file_name};
pub use retention::{
    Counts, Doomed, DoomedItem, Pruned, Retention, RetentionConfig, RetentionLimits, RetentionPlan,
    RetentionReason, ToolOutput, parse_period, plan_retention,
};

/// The sessions of one project, with all that belongs to them.
///
/// ```
/// use longhaul_sessions::Store;
/// use longhaul_workspace::{Environment, Home, LockTimeout, Projects};
///
/// # let folder = tempfile::tempdir()?;
/// # let work = folder.path().join("app");
/// # std::fs::create_dir(&work)?;
/// let environment = Environment { user_home: Some(folder.path().to_path_buf()), ..Environment::default() };
/// let home = Home::resolve(&environment)?;
/// let project = home.project(&Projects::of(&home).identify(&work, LockTimeout::default())?.id);
/// std::fs::create_dir_all(project.chats())?;
/// std::fs::write(
///     project.chats().join("session-2026-01-02T03-04-0f3c9a7e.jsonl"),
///     concat!(
///         r#"{"sessionId":"0f3c9a7e-11d2","projectHash":"4e1f","startTime":"2026-01-02T03:04:05Z"}"#, "\n",
///         r#"{"id":"1","type":"user","content":"Why does the build fail?"}"#, "\n",
///     ),
/// )?;
///
/// let store = Store::of(&project);
/// let listing = store.list()?;
/// let session = listing.select("latest")?;
/// assert_eq!((session.index, session.display_name().as_str()), (1, "Why does the build fail?"));
///
/// let deletion = store.delete(session.id())?;
/// assert_eq!(deletion.removed.len(), 1);
/// assert!(store.list()?.sessions.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
    chats: PathBuf,
    logs: PathBuf,
    tool_outputs: PathBuf,
}

impl Store {
    /// The sessions of this project. Nothing is read or made.
    pub fn of(project: &ProjectHome) -> Self {
        Self {
            root: project.root().to_path_buf(),
            chats: project.chats(),
            logs: project.logs(),
            tool_outputs: project.tool_outputs(),
        }
    }

    /// The folder of the main sessions.
    pub fn chats(&self) -> &Path {
        &self.chats
    }
}
