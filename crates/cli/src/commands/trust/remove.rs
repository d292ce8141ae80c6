//! `longhaul trust remove [FOLDER]`: removes the trust rule of a folder.

use std::path::PathBuf;

use clap::Args;
use longhaul_workspace::{LockTimeout, TrustedContents};
use serde_json::json;

use super::rules_and_folder;
use crate::output::{path_json, print_json, visible};

#[derive(Debug, Args)]
pub(crate) struct RemoveOptions {
    /// Folder [default: the current one].
    folder: Option<PathBuf>,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &RemoveOptions) -> anyhow::Result<()> {
    let (home, rules, folder) = rules_and_folder(options.folder.as_ref())?;
    let is_removed = rules.remove(&folder, LockTimeout::default())?;
    TrustedContents::at(&home.trusted_contents()).forget(&folder, LockTimeout::default())?;
    if options.json {
        return print_json(&json!({"schema": 1, "folder": path_json(&folder), "removed": is_removed}));
    }
    let name = folder.display();
    let text = match is_removed {
        true => format!("Removed the rule for {name}.\n"),
        false => format!("No rule for {name}; one for a folder above it may still apply.\n"),
    };
    crate::output::print(&text.lines().map(|line| visible(line) + "\n").collect::<String>())
}
