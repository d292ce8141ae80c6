//! `longhaul memory add TEXT`: remembers a fact.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use longhaul_app::failure::hinted;
use longhaul_app::memory::{folder, save};
use longhaul_app::project::Project;
use longhaul_app::settings::Settings;
use longhaul_app::workspace::WorkspaceContext;
use longhaul_memory::{Fact, FactChange, FactScope, MemoryError, Remembered, SavedFact};
use serde_json::{Value, json};

use super::facts::remembered_json;
use super::placing::Placed;
use crate::output::{Color, Screen, path_json, print_json, visible, visible_text};

#[derive(Debug, Args)]
pub(crate) struct AddOptions {
    /// Fact to remember.
    #[arg(required = true)]
    text: Vec<String>,
    /// Scope of the fact; without --scope or --folder, its wording decides, or you are asked.
    #[arg(long)]
    scope: Option<ScopeArgument>,
    /// Save it in this workspace folder's memory file, for everyone who works there.
    #[arg(long, value_name = "FOLDER", conflicts_with = "scope")]
    folder: Option<PathBuf>,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

/// The scope of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ScopeArgument {
    /// Every project.
    Global,
    /// This project, for you only.
    Project,
}

pub(super) fn run(options: &AddOptions, settings: &Settings, color: Color) -> anyhow::Result<()> {
    let fact = Fact::parse(&options.text.join(" ")).map_err(told)?;
    let mut context = WorkspaceContext::find(settings, &[])?;
    let placed = match (options.scope, &options.folder) {
        (Some(ScopeArgument::Global), _) => Placed::stated(FactScope::Global),
        (Some(ScopeArgument::Project), _) => Placed::stated(FactScope::Project),
        (None, Some(named)) => Placed::stated(folder(named, &context.places)?),
        (None, None) => Placed::find(&fact, &context.places)?,
    };
    if placed.scope == FactScope::Project {
        // The first thing that is remembered gives the project its place.
        let (project, notes) = Project::find_or_begin()?;
        context.places.private = Some(project.home.memory());
        for note in notes {
            eprintln!("{} {}", Screen::of_stderr(color).warning("warning:"), visible(&note));
        }
    }
    let saved = save(&fact, &placed.scope, &context.places, &context.settings).map_err(told)?;
    if options.json {
        return print_json(&json(&saved, &placed));
    }
    let mut text = match saved.change {
        FactChange::Added { .. } => {
            let remark = saved.change.remark().map(|remark| remark + "\n").unwrap_or_default();
            visible(&format!("Okay, I've remembered that: \"{}\"", saved.fact))
                + "\n"
                + &visible_text(&remark)
        }
        _ => visible(&saved.to_string()) + "\n",
    };
    if let FactChange::Added { line, ref contradicts, .. } = saved.change {
        if contradicts.is_some() {
            text.push_str("Both are kept; use `longhaul memory edit` or `remove` to change one.\n");
        }
        text.push_str(&format!("{}:{line}\n", visible(&saved.path.display().to_string())));
        text.extend(placed.remark().map(|remark| remark + "\n"));
    }
    crate::output::print(&text)
}

pub(super) fn told(error: MemoryError) -> anyhow::Error {
    match error {
        MemoryError::BlankFact => hinted(anyhow!("nothing to remember"), "pass a sentence"),
        MemoryError::Secret { .. } => hinted(error, "say where the secret is stored instead"),
        MemoryError::NoPlace { .. } => hinted(error, "set LONGHAUL_HOME to a folder"),
        error => error.into(),
    }
}

fn json(saved: &SavedFact, placed: &Placed) -> Value {
    let remembered = |known: &Option<Remembered>| remembered_json(known.as_ref(), &saved.path);
    let (status, line, similar, contradicts) = match &saved.change {
        FactChange::Added { line, similar, contradicts } => {
            ("added", Some(*line), remembered(similar), remembered(contradicts))
        }
        FactChange::AlreadyThere { known } => ("already_there", Some(known.line), Value::Null, Value::Null),
        FactChange::Edited => ("edited", None, Value::Null, Value::Null),
    };
    json!({
        "schema": 1,
        "status": status,
        "scope": placed.scope.name(),
        "decided_by": placed.by.name(),
        "path": path_json(&saved.path),
        "line": line,
        "fact": saved.fact.as_str(),
        "similar": similar,
        "contradicts": contradicts,
        "message": saved.to_string(),
    })
}
