//! Compares a trusted folder with its content when it was trusted.

use std::collections::BTreeSet;
use std::path::Path;

use longhaul_conversation::plural;
use longhaul_memory::MemorySettings;
use longhaul_workspace::{
    ContentChange, Contents, Decider, Home, LockTimeout, Trust, TrustedContents, WorkspaceError,
    WorkspaceFolder, changes_between,
};

use super::grants::{GrantKind, rights_of, texts_of};
use crate::settings_files::settings_files;

/// The changes in a folder since it was trusted, and the kinds that are therefore suspended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustReview {
    /// The kinds that are suspended until a user confirms the change.
    pub(crate) suspended: BTreeSet<GrantKind>,
    /// The changes of those kinds.
    pub changes: Vec<ContentChange>,
}

impl TrustReview {
    fn of(mut changes: Vec<ContentChange>) -> Self {
        // That the section changed is worth a line only where nothing in it says more.
        let is_section =
            |change: &ContentChange| change.kind == GrantKind::Hooks.name() && change.name == "hooks";
        let says_more =
            |change: &ContentChange| change.kind == GrantKind::Hooks.name() && change.name != "hooks";
        if changes.iter().any(says_more) {
            changes.retain(|change| !is_section(change));
        }
        let suspended = changes.iter().filter_map(|change| GrantKind::named(&change.kind)).collect();
        Self { suspended, changes }
    }

    /// A warning that names what is suspended and how to confirm it; `None` if nothing is.
    pub fn warning(&self, folder: &Path) -> Option<String> {
        let kinds: Vec<&str> = self.suspended.iter().map(|kind| kind.name()).collect();
        let [first, others @ ..] = self.changes.as_slice() else { return None };
        let more = match others.len() {
            0 => String::new(),
            count => format!(", and {}", plural(count, "more change", "more changes")),
        };
        Some(format!(
            "suspended until you confirm them: {} of {}, changed since it was trusted ({first}{more}); run \
             `longhaul trust add` to review the change",
            kinds.join(", "),
            folder.display(),
        ))
    }
}

/// Compares the content that grants rights with the recorded one. Without a record, nothing is suspended.
///
/// # Errors
/// The record cannot be read.
pub fn review(home: &Home, folder: &Path) -> Result<TrustReview, WorkspaceError> {
    if !folder.is_absolute() || home.is_folder_of(&WorkspaceFolder::of(folder)) {
        return Ok(TrustReview::default());
    }
    let Some(noted) = TrustedContents::at(&home.trusted_contents()).of(folder)? else {
        return Ok(TrustReview::default());
    };
    Ok(TrustReview::of(changes_between(&noted, &rights(home, folder))))
}

/// Records all content of a folder as confirmed.
///
/// # Errors
/// The content cannot be recorded.
pub fn confirm(home: &Home, folder: &Path, memory: &MemorySettings) -> Result<(), WorkspaceError> {
    let mut contents = rights(home, folder);
    contents.extend(texts_of(folder, memory));
    TrustedContents::at(&home.trusted_contents()).remember(folder, &contents, LockTimeout::default())
}

/// Records a folder in which a session begins: the first time as it is, later with a notice of changed memory, skills and
/// commands.
pub(crate) fn note_texts(home: &Home, folder: &Path, trust: &Trust, memory: &MemorySettings) -> Vec<String> {
    // Where the environment or a setting says so, every folder is trusted as it is.
    let is_by_rule = matches!(trust, Trust::Trusted(Decider::Rule(_) | Decider::Editor));
    if !is_by_rule || home.is_folder_of(&WorkspaceFolder::of(folder)) {
        return Vec::new();
    }
    try_note_texts(home, folder, memory).unwrap_or_else(|error| match error {
        // The session itself says that nothing can be kept.
        WorkspaceError::ReadOnly { .. } | WorkspaceError::DiskFull { .. } => Vec::new(),
        error => vec![format!("could not record what this folder holds: {error}")],
    })
}

fn try_note_texts(
    home: &Home,
    folder: &Path,
    memory: &MemorySettings,
) -> Result<Vec<String>, WorkspaceError> {
    let record = TrustedContents::at(&home.trusted_contents());
    let texts = texts_of(folder, memory);
    let Some(noted) = record.of(folder)? else {
        confirm(home, folder, memory)?;
        return Ok(Vec::new());
    };
    let changes = changes_between(&noted, &texts);
    let is_known = GrantKind::ALL.iter().all(|kind| noted.contains_key(kind.name()));
    if changes.is_empty() && is_known {
        return Ok(Vec::new());
    }
    record.remember(folder, &texts, LockTimeout::default())?;
    let names: Vec<&str> = changes.iter().map(|change| change.name.as_str()).collect();
    Ok(match names.as_slice() {
        [] => Vec::new(),
        names => vec![format!("changed since the last session here: {}", few(names))],
    })
}

/// The first of these, and how many more there are.
fn few(names: &[&str]) -> String {
    const SHOWN: usize = 5;
    match names.len().checked_sub(SHOWN) {
        Some(more) if more > 0 => format!("{} and {more} more", names[..SHOWN].join(", ")),
        _ => names.join(", "),
    }
}

fn rights(home: &Home, folder: &Path) -> Contents {
    let settings = settings_files(Some(home), folder).workspace.map(|workspace| workspace.file);
    let settings = settings.unwrap_or_else(|| WorkspaceFolder::of(folder).settings());
    rights_of(folder, &settings, Some(home))
}
