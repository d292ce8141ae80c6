//! Output that the commands about memory share.

use longhaul_app::workspace::WorkspaceContext;
use longhaul_memory::{
    Import, ImportOutcome, LeftOut, Memory, MemoryFile, SearchNotice, SkipReason, SkippedFile,
};
use longhaul_workspace::Trust;
use serde_json::{Value, json};

use crate::output::{Page, path_json, plural, thousands, visible};

/// A file as JSON.
pub(super) fn file_json(file: &MemoryFile) -> Value {
    json!({
        "path": path_json(&file.path),
        "tier": file.tier.name(),
        "tokens": file.tokens().0,
        "imports": imports_json(&file.imports),
    })
}

/// Imports as JSON.
pub(super) fn imports_json(imports: &[Import]) -> Value {
    let imports = imports.iter().map(|import| {
        let mut object = json!({"written": import.written, "line": import.line});
        let (state, more) = match &import.outcome {
            ImportOutcome::Included { path, imports, tokens } => (
                "included",
                json!({"path": path_json(path), "tokens": tokens.0, "imports": imports_json(imports)}),
            ),
            ImportOutcome::AlreadyProcessed { path, imports } => {
                ("already_processed", json!({"path": path_json(path), "imports": imports_json(imports)}))
            }
            ImportOutcome::TooDeep => ("too_deep", json!({})),
            ImportOutcome::Failed { reason } => ("failed", json!({"reason": reason})),
        };
        object["state"] = state.into();
        if let Value::Object(more) = more {
            more.into_iter().for_each(|(key, value)| object[key] = value);
        }
        object
    });
    imports.collect::<Vec<_>>().into()
}

/// Skipped files as JSON.
pub(super) fn skipped_json(skipped: &[SkippedFile]) -> Value {
    let skipped = skipped.iter().map(|skipped| {
        let of = match &skipped.reason {
            SkipReason::Duplicate { of } => Some(path_json(of)),
            _ => None,
        };
        json!({
            "path": path_json(&skipped.path),
            "tier": skipped.tier.name(),
            "reason": skipped.reason.name(),
            "detail": skipped.reason.to_string(),
            "of": of,
        })
    });
    skipped.collect::<Vec<_>>().into()
}

/// The notices of the search, as JSON.
pub(super) fn notices_json(notices: &[SearchNotice], context: &WorkspaceContext) -> Value {
    notices.iter().map(ToString::to_string).chain(context.notes.iter().cloned()).collect::<Vec<_>>().into()
}

/// The fields that all reports about loaded memory share.
pub(super) fn memory_json(memory: &Memory, context: &WorkspaceContext) -> Value {
    json!({
        "schema": 1,
        "folder": path_json(&context.cwd),
        "trusted": trusted_json(&context.trust),
        "files": memory.files.iter().map(file_json).collect::<Vec<_>>(),
        "skipped": skipped_json(&memory.skipped),
        "notices": notices_json(&memory.notices, context),
    })
}

/// Trust in the folder; `None` if undecided.
pub(super) fn trusted_json(trust: &Trust) -> Option<bool> {
    match trust {
        Trust::Trusted(_) => Some(true),
        Trust::Untrusted(_) => Some(false),
        Trust::Undecided => None,
    }
}

/// Skipped files as text.
pub(super) fn skipped_text(page: &mut Page, skipped: &[SkippedFile]) {
    if skipped.is_empty() {
        return;
    }
    page.gap();
    let count = plural(skipped.len(), "file skipped:", "files skipped:");
    page.line(&page.screen.strong(&count));
    for skipped in skipped {
        let line = format!("  {}: {}", skipped.path.display(), skipped.reason);
        page.line(&visible(&line));
    }
}

/// The notices of the search, for people.
pub(super) fn notices_text(page: &mut Page, notices: &[SearchNotice], context: &WorkspaceContext) {
    let mut told: Vec<String> =
        notices.iter().map(ToString::to_string).chain(context.notes.iter().cloned()).collect();
    if !context.trust.is_trusted() {
        told.push(format!(
            "{} is not trusted, so its own memory is ignored; run `longhaul trust add` to trust it",
            context.cwd.display()
        ));
    }
    if !told.is_empty() {
        page.gap();
    }
    for notice in told {
        let line = page.screen.warning(&visible(&format!("note: {notice}")));
        page.line(&line);
    }
}

/// Files that a model does not get in full, as JSON.
pub(super) fn left_out_json(left_out: &[LeftOut]) -> Value {
    let left_out = left_out.iter().map(|left| {
        json!({
            "path": path_json(&left.path),
            "tier": left.tier.name(),
            "tokens": left.tokens.0,
            "kept": left.kept.0,
            "budget": left.budget.0,
        })
    });
    left_out.collect::<Vec<_>>().into()
}

/// Files that a model does not get in full, as text.
pub(super) fn left_out_text(page: &mut Page, left_out: &[LeftOut]) {
    if !left_out.is_empty() {
        page.gap();
    }
    for left in left_out {
        let line = format!(
            "note: {} has about {} tokens; models get {} of them, as {} memory is limited to {}",
            left.path.display(),
            thousands(left.tokens.0),
            thousands(left.kept.0),
            left.tier,
            thousands(left.budget.0)
        );
        page.line(&page.screen.warning(&visible(&line)));
    }
}
