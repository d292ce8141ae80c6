//! Errors with hints.

use std::io;

use longhaul_conversation::ModelError;
use longhaul_formats::{Format, ReadError};
use longhaul_workspace::{WorkspaceError, is_out_of_descriptors};

use crate::settings::SettingsError;

/// An error with the hint that belongs to it.
#[derive(Debug)]
struct Hinted {
    error: anyhow::Error,
    hint: String,
}

impl std::fmt::Display for Hinted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Hinted {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

/// An error with a hint.
pub fn hinted(error: impl Into<anyhow::Error>, hint: impl Into<String>) -> anyhow::Error {
    Hinted { error: error.into(), hint: hint.into() }.into()
}

fn is_forbidden(error: &anyhow::Error) -> bool {
    is_caused_by(error, &[io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem])
}

fn is_full(error: &anyhow::Error) -> bool {
    let kinds = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::FileTooLarge];
    is_caused_by(error, &kinds)
}

/// Returns true if one of these failures of the system is among the causes.
pub fn is_caused_by(error: &anyhow::Error, kinds: &[io::ErrorKind]) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| kinds.contains(&cause.kind()))
}

/// Returns true if the system is out of file descriptors. Some errors hold only the text of their cause.
fn has_too_many_files(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(is_out_of_descriptors)
        || error.chain().any(|cause| cause.to_string().contains("Too many open files"))
}

/// The hint for an error.
pub fn hint_for(error: &anyhow::Error) -> Option<String> {
    if let Some(hinted) = error.downcast_ref::<Hinted>() {
        return Some(hinted.hint.clone());
    }
    if has_too_many_files(error) {
        return Some(
            "close other programs, or raise the limit on open files, such as `ulimit -n 1024`".into(),
        );
    }
    if let Some(error) = error.chain().find_map(|cause| cause.downcast_ref::<ModelError>()) {
        return Some(error.hint());
    }
    if let Some(error) = error.downcast_ref::<SettingsError>() {
        return Some(error.hint());
    }
    if let Some(error) = error.chain().find_map(|cause| cause.downcast_ref::<WorkspaceError>()) {
        return workspace_hint(error).map(Into::into);
    }
    let Some(unread) = error.chain().find_map(|cause| cause.downcast_ref::<ReadError>()) else {
        let hint = match () {
            () if is_forbidden(error) => "change its permissions, or choose another place",
            () if is_full(error) => "free some disk space",
            () => return None,
        };
        return Some(hint.into());
    };
    let hint = match unread {
        ReadError::Unknown { .. } => {
            let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
            format!("supported formats: {}", names.join(", "))
        }
        ReadError::Empty => {
            "pass a session file, such as one below ~/.claude/projects or ~/.gemini/tmp".into()
        }
        ReadError::Binary { looks_like: Some("gzip" | "zstd" | "zip") } => "unpack it first".into(),
        ReadError::Binary { looks_like: Some("UTF-16 text") } => "convert it to UTF-8 first".into(),
        ReadError::Binary { .. } => "a session is text: JSON, JSON Lines or Markdown".into(),
        ReadError::BrokenJson { .. } => "fix the file at that place, or export the session again".into(),
        ReadError::Io(_) => return None,
    };
    Some(hint)
}

/// The hint for a failure with files and folders.
pub fn workspace_hint(error: &WorkspaceError) -> Option<&'static str> {
    Some(match error {
        WorkspaceError::NoHome => "set LONGHAUL_HOME to a folder",
        WorkspaceError::NotAbsolute { .. } => "use an absolute path",
        WorkspaceError::ReadOnly { .. } => "change its permissions, or choose another place",
        WorkspaceError::Unreadable { .. } => "make it readable",
        WorkspaceError::DiskFull { .. } => "free some disk space",
        WorkspaceError::Locked { .. } => "wait until the other program has finished",
        WorkspaceError::Invalid { .. } => "fix the file; it is left unchanged",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: io::ErrorKind, expected: Option<&str>) {
        let error = anyhow::Error::new(io::Error::from(kind)).context("could not write it");
        assert_eq!(hint_for(&error).as_deref(), expected);
    }

    #[test]
    fn a_place_that_cannot_be_written_gets_a_hint() {
        let hint = Some("change its permissions, or choose another place");
        check(io::ErrorKind::PermissionDenied, hint);
        check(io::ErrorKind::ReadOnlyFilesystem, hint);
        check(io::ErrorKind::StorageFull, Some("free some disk space"));
        check(io::ErrorKind::TimedOut, None);
    }
}
