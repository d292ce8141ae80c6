//! `longhaul memory imports FILE`: a file with its imports expanded.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum};
use longhaul_app::settings::Settings;
use longhaul_memory::{Import, ImportFormat, ImportOutcome, estimate_tokens, load_with_imports};
use serde_json::json;

use super::report::imports_json;
use crate::output::{path_json, print_json, visible};

#[derive(Debug, Args)]
pub(crate) struct ImportsOptions {
    /// Memory file to expand.
    file: PathBuf,
    /// Import layout [default: from settings].
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

/// The layout of imports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Each import in place.
    Tree,
    /// One file after another.
    Flat,
}

pub(super) fn run(options: &ImportsOptions, settings: &Settings) -> anyhow::Result<()> {
    let (mut memory, _) = settings.memory();
    if let Some(format) = options.format {
        memory.import_format = match format {
            Format::Tree => ImportFormat::Tree,
            Format::Flat => ImportFormat::Flat,
        };
    }
    let file = std::path::absolute(&options.file)?;
    let imported = load_with_imports(&file, &memory)
        .with_context(|| format!("could not read {}", options.file.display()))?;
    if options.json {
        return print_json(&json!({
            "schema": 1,
            "file": path_json(&file),
            "format": if memory.import_format == ImportFormat::Flat { "flat" } else { "tree" },
            "tokens": estimate_tokens(&imported.text).0,
            "files": imported.sources.iter().map(|source| path_json(&source.path)).collect::<Vec<_>>(),
            "imports": imports_json(&imported.imports),
            "text": imported.text,
        }));
    }
    let mut text: String = imported.text.lines().map(|line| visible(line) + "\n").collect();
    if !imported.imports.is_empty() {
        text.push_str("\nImports:\n");
        outline(&imported.imports, 1, &mut text);
    }
    crate::output::print(&text)
}

/// The imports as an outline.
fn outline(imports: &[Import], depth: usize, text: &mut String) {
    for Import { written, line, outcome } in imports {
        let state = match outcome {
            ImportOutcome::Included { tokens, .. } => format!("{tokens} tokens"),
            ImportOutcome::AlreadyProcessed { .. } => "already included".into(),
            ImportOutcome::TooDeep => "too deep".into(),
            ImportOutcome::Failed { reason } => format!("failed: {reason}"),
        };
        let indent = "  ".repeat(depth);
        text.push_str(&format!("{indent}{} (line {line}): {}\n", visible(written), visible(&state)));
        if let ImportOutcome::Included { imports, .. } = outcome {
            outline(imports, depth + 1, text);
        }
    }
}
