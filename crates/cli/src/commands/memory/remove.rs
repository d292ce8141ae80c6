//! `longhaul memory remove FACT`: forgets a fact.

use clap::Args;
use longhaul_app::settings::Settings;
use longhaul_app::workspace::WorkspaceContext;
use longhaul_memory::remove_fact;
use longhaul_workspace::LockTimeout;
use serde_json::json;

use super::add::told;
use super::facts::{fact_json, find};
use crate::output::{print, print_json, visible};

#[derive(Debug, Args)]
pub(crate) struct RemoveOptions {
    /// Number of the fact in `longhaul memory list`, or words of it.
    #[arg(required = true, value_name = "FACT")]
    which: Vec<String>,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &RemoveOptions, settings: &Settings) -> anyhow::Result<()> {
    let context = WorkspaceContext::find(settings, &[])?;
    let fact = find(&options.which.join(" "), &context)?;
    remove_fact(&fact, &context.places, &context.settings, LockTimeout::default()).map_err(told)?;
    if options.json {
        return print_json(&json!({"schema": 1, "status": "removed", "fact": fact_json(&fact)}));
    }
    let (text, path) = (visible(&fact.text), visible(&fact.path.display().to_string()));
    print(&format!("Removed from {} memory: {text:?}\n{path}:{}\n", fact.tier, fact.line))
}
