//! `why`: the memory files that hold for a path.

use longhaul_app::settings::load_here;
use longhaul_app::workspace::WorkspaceContext;
use longhaul_memory::{When, explain};

use super::Request;
use crate::arguments::Arguments;
use crate::quote::shown;

pub(super) fn answer(request: &Request, arguments: &mut Arguments) -> Result<String, String> {
    let path = arguments.required("path")?;
    let settings = load_here().map_err(|error| format!("{error:#}"))?.settings;
    let context = WorkspaceContext::find(&settings, &[]).map_err(|error| format!("{error:#}"))?;
    let explanation = explain(&request.folder.join(&path), &context.places, &context.settings);
    let mut text = match explanation.applies.is_empty() {
        true => format!("No memory file holds for {path:?}.\n"),
        false => format!("Memory for {path:?}, weakest first:\n"),
    };
    for applied in &explanation.applies {
        let when = match applied.when {
            When::AtStart => "at start",
            When::JustInTime => "when touched",
            When::Written => "when written",
        };
        let through = applied
            .through
            .last()
            .map(|file| format!(", imported by {}", file.display()))
            .unwrap_or_default();
        let (tier, path, tokens) = (applied.tier.name(), applied.path.display(), applied.tokens.0);
        text.push_str(&format!("- {path} ({tier}, {when}, {tokens} tokens{through})\n"));
    }
    if !explanation.skipped.is_empty() {
        text.push_str("\nNot used:\n");
    }
    for skipped in &explanation.skipped {
        text.push_str(&format!("- {}: {}\n", skipped.path.display(), skipped.reason));
    }
    for import in &explanation.not_imported {
        text.push_str(&format!(
            "- {}:{}: @{}: {}\n",
            import.file.display(),
            import.line,
            import.written,
            import.reason
        ));
    }
    if !context.trust.is_trusted() {
        text.push_str("\nThis folder is not trusted, so its own memory files are left out.\n");
    }
    Ok(shown(text.trim_end()))
}
