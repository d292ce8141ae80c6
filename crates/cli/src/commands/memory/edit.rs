//! `longhaul memory edit FACT`: changes the wording of a fact.

use std::fs;

use anyhow::{Context, anyhow};
use clap::Args;
use longhaul_app::clock::now;
use longhaul_app::failure::hinted;
use longhaul_app::settings::Settings;
use longhaul_app::workspace::WorkspaceContext;
use longhaul_memory::{Fact, RememberedFact, edit_fact};
use longhaul_workspace::LockTimeout;
use serde_json::json;

use super::add::told;
use super::facts::{fact_json, find, remembered_json};
use crate::editor::{edit, editor};
use crate::output::{print, print_json, visible};

#[derive(Debug, Args)]
pub(crate) struct EditOptions {
    /// Number of the fact in `longhaul memory list`, or words of it.
    #[arg(required = true, value_name = "FACT")]
    which: Vec<String>,
    /// New wording; without it, the fact opens in $VISUAL or $EDITOR.
    #[arg(long)]
    text: Option<String>,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &EditOptions, settings: &Settings) -> anyhow::Result<()> {
    let context = WorkspaceContext::find(settings, &[])?;
    let fact = find(&options.which.join(" "), &context)?;
    let text = match &options.text {
        Some(text) => text.clone(),
        None => in_editor(&fact)?,
    };
    let after = Fact::parse(&text).map_err(told)?;
    if after.as_str() == fact.text {
        return match options.json {
            true => print_json(&json!({"schema": 1, "status": "unchanged", "fact": fact_json(&fact)})),
            false => print("Nothing changed.\n"),
        };
    }
    let (places, timeout) = (&context.places, LockTimeout::default());
    let edited = edit_fact(&fact, after, places, &context.settings, now(), timeout).map_err(told)?;
    if options.json {
        return print_json(&json!({
            "schema": 1,
            "status": "edited",
            "fact": fact_json(&RememberedFact { text: edited.after.to_string(), ..fact.clone() }),
            "before": fact.text,
            "same": remembered_json(edited.same.as_ref(), &fact.path),
            "contradicts": remembered_json(edited.contradicts.as_ref(), &fact.path),
        }));
    }
    let (before, path) = (visible(&fact.text), visible(&fact.path.display().to_string()));
    let remark = edited.remark().map(|remark| visible(&remark) + "\n").unwrap_or_default();
    let after = visible(edited.after.as_str());
    print(&format!("Changed {before:?} to {after:?}\n{remark}{path}:{}\n", fact.line))
}

/// The wording that the user's editor gives a fact.
fn in_editor(fact: &RememberedFact) -> anyhow::Result<String> {
    if editor().is_none() {
        return Err(hinted(anyhow!("no editor is set"), "pass the new wording with --text, or set EDITOR"));
    }
    let folder = tempfile::tempdir().context("could not create a temporary folder")?;
    let file = folder.path().join("fact.md");
    fs::write(&file, format!("{}\n", fact.text)).context("could not write a temporary file")?;
    edit(std::slice::from_ref(&file))?;
    fs::read_to_string(&file).context("could not read what the editor saved")
}
