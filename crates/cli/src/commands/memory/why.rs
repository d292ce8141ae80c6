//! `longhaul memory why PATH`: explains which memory files apply to a path, and why others do not.

use std::path::{Path, PathBuf};

use clap::Args;
use longhaul_app::settings::Settings;
use longhaul_app::workspace::WorkspaceContext;
use longhaul_memory::{MemoryExplanation, When, explain};
use longhaul_tools::{IgnoreFiles, Roots};
use longhaul_workspace::HiddenBy;
use serde_json::{Value, json};

use super::report::{
    left_out_json, left_out_text, notices_json, notices_text, skipped_json, skipped_text, trusted_json,
};
use crate::output::{Color, Page, Screen, pad, pad_left, path_json, print_json, thousands, visible};

#[derive(Debug, Args)]
pub(crate) struct WhyOptions {
    /// File or folder; need not exist.
    path: PathBuf,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &WhyOptions, settings: &Settings, color: Color) -> anyhow::Result<()> {
    let mut context = WorkspaceContext::find(settings, &[])?;
    let path = std::path::absolute(&options.path)?;
    let mut explanation = explain(&path, &context.places, &context.settings);
    if let Some(reason) = hidden_from_readers(&path, &context) {
        explanation.hidden_from_readers();
        let path = path.strip_prefix(&context.cwd).unwrap_or(&path);
        context.notes.push(format!(
            "{} is hidden from tools that read {reason}: memory of its folder is loaded only when a file is written there",
            path.display()
        ));
    }
    if options.json {
        return print_json(&json(&explanation, &path, &context));
    }
    let mut page = Page::new(Screen::of_stdout(color));
    text(&mut page, &explanation, &path, &context);
    crate::output::print(&page.into_text())
}

/// The rule that hides a path from tools that read, as the end of a sentence.
fn hidden_from_readers(path: &Path, context: &WorkspaceContext) -> Option<String> {
    let others: Vec<PathBuf> =
        context.places.folders.iter().skip(1).map(|folder| folder.path.clone()).collect();
    let roots = Roots::new(&context.cwd, &others).ok()?;
    let place = roots.resolve(path.to_str()?).ok()?;
    let reason = IgnoreFiles::load(&roots, &context.hidden).is_ignored(&place, place.is_dir())?;
    Some(match reason.by {
        HiddenBy::Line { file, pattern } => {
            let file = file.strip_prefix(roots.first()).unwrap_or(&file);
            format!("by {pattern:?} in {}", file.display())
        }
        HiddenBy::GitFolder => "as it is Git's".to_owned(),
    })
}

/// The tokens that are loaded. A file's figure includes its imports.
fn total(explanation: &MemoryExplanation) -> u64 {
    explanation
        .applies
        .iter()
        .filter(|applied| applied.through.is_empty())
        .map(|applied| applied.tokens.0)
        .sum()
}

fn text(
    page: &mut Page,
    explanation: &MemoryExplanation,
    path: &std::path::Path,
    context: &WorkspaceContext,
) {
    let path = visible(&path.display().to_string());
    if explanation.applies.is_empty() {
        page.line(&format!("No memory file applies to {path}."));
    } else {
        page.line(&format!("Memory for {path}, weakest tier first, outer folders before inner ones:"));
        page.gap();
    }
    for applied in &explanation.applies {
        let when = match applied.when {
            When::AtStart => "at start",
            When::JustInTime => "when touched",
            When::Written => "when written",
        };
        let front = format!(
            "{}  {}  {}  ",
            pad(applied.tier.name(), 13),
            pad(when, 12),
            pad_left(&thousands(applied.tokens.0), 7)
        );
        let through = match applied.through.last() {
            Some(file) => format!("  (imported by {})", file.display()),
            None => String::new(),
        };
        let indent = "  ".repeat(applied.through.len());
        page.line(&visible(&format!("{front}{indent}{}{through}", applied.path.display())));
    }
    if !explanation.applies.is_empty() {
        let line = format!("{}  {}  tokens", pad("", 27), pad_left(&thousands(total(explanation)), 7));
        page.line(&page.screen.faint(&line));
    }
    skipped_text(page, &explanation.skipped);
    if !explanation.not_imported.is_empty() {
        page.gap();
        page.line(&page.screen.strong("Imports that add nothing:"));
    }
    for import in &explanation.not_imported {
        let line =
            format!("  {}:{}: @{}: {}", import.file.display(), import.line, import.written, import.reason);
        page.line(&visible(&line));
    }
    left_out_text(page, &explanation.left_out);
    notices_text(page, &explanation.notices, context);
}

fn json(explanation: &MemoryExplanation, path: &std::path::Path, context: &WorkspaceContext) -> Value {
    let applies = explanation.applies.iter().map(|applied| {
        json!({
            "path": path_json(&applied.path),
            "tier": applied.tier.name(),
            "when": match applied.when {
                When::AtStart => "start",
                When::JustInTime => "touch",
                When::Written => "write",
            },
            "through": applied.through.iter().map(|file| path_json(file)).collect::<Vec<_>>(),
            "tokens": applied.tokens.0,
        })
    });
    let not_imported = explanation.not_imported.iter().map(|import| {
        json!({"file": path_json(&import.file), "line": import.line, "written": import.written, "reason": import.reason})
    });
    json!({
        "schema": 1,
        "path": path_json(path),
        "trusted": trusted_json(&context.trust),
        "applies": applies.collect::<Vec<_>>(),
        "tokens": total(explanation),
        "skipped": skipped_json(&explanation.skipped),
        "left_out": left_out_json(&explanation.left_out),
        "not_imported": not_imported.collect::<Vec<_>>(),
        "notices": notices_json(&explanation.notices, context),
    })
}
