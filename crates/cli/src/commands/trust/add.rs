//! `longhaul trust add [FOLDER]`: trusts a folder, after showing what it would activate.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use longhaul_app::environment;
use longhaul_app::failure::hinted;
use longhaul_app::settings::Settings;
use longhaul_app::trust::{self, TrustPreview, TrustReview};
use longhaul_workspace::{LockTimeout, TrustLevel, TrustedContents};
use serde_json::json;

use super::rules_and_folder;
use crate::output::{Color, Page, Screen, path_json, print_json, visible};
use crate::questions::confirm;
use crate::reports::trust::{preview_json, tell_changes, tell_preview};

#[derive(Debug, Args)]
pub(crate) struct AddOptions {
    /// Folder [default: the current one].
    folder: Option<PathBuf>,
    /// Trust the parent folder, with everything in it.
    #[arg(long, conflicts_with = "never")]
    parent: bool,
    /// Never trust the folder, even if one above it is trusted.
    #[arg(long)]
    never: bool,
    /// Show what the folder would activate without trusting it.
    #[arg(long)]
    dry_run: bool,
    /// Skip the confirmation prompt; required without a terminal.
    #[arg(long)]
    yes: bool,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &AddOptions, color: Color) -> anyhow::Result<()> {
    let (home, rules, folder) = rules_and_folder(options.folder.as_ref())?;
    if !folder.is_dir() {
        return Err(hinted(anyhow!("{} is not a folder", folder.display()), "pass an existing folder"));
    }
    let level = match (options.parent, options.never) {
        (true, _) => TrustLevel::TrustParent,
        (_, true) => TrustLevel::DoNotTrust,
        _ => TrustLevel::TrustFolder,
    };
    // The user's names of memory files count there, too.
    let loaded = Settings::load(Some(&home), Path::new(""), &environment::of_process())?;
    let memory = loaded.settings.memory().0;
    let preview = TrustPreview::of(&folder, &memory);
    let TrustReview { changes, .. } = trust::review(&home, &folder)?;
    if !options.json && level != TrustLevel::DoNotTrust {
        let mut page = Page::new(Screen::of_stdout(color));
        tell_preview(&mut page, &folder, &preview);
        if !changes.is_empty() {
            tell_changes(&mut page, &folder, &changes);
        }
        crate::output::print(&page.into_text())?;
    }
    // To trust less needs no second thought.
    let is_harmless = options.dry_run || level == TrustLevel::DoNotTrust;
    let is_confirmed = is_harmless || confirm("Trust it?", options.yes)?;
    let is_set = is_confirmed && !options.dry_run;
    if is_set {
        rules.set(&folder, level, LockTimeout::default())?;
        match level {
            TrustLevel::DoNotTrust => {
                TrustedContents::at(&home.trusted_contents()).forget(&folder, LockTimeout::default())?;
            }
            TrustLevel::TrustFolder | TrustLevel::TrustParent => trust::confirm(&home, &folder, &memory)?,
        }
    }
    if options.json {
        return print_json(&json!({
            "schema": 1,
            "folder": path_json(&folder),
            "level": level.as_str(),
            "saved": is_set,
            "activates": preview_json(&preview),
            "changes": changes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }));
    }
    let name = visible(&folder.display().to_string());
    let text = match (is_set, level) {
        (false, _) => "Nothing was changed.\n".to_owned(),
        (true, TrustLevel::TrustFolder) => format!("{name} is now trusted.\n"),
        (true, TrustLevel::TrustParent) => format!("The folder above {name} is now trusted.\n"),
        (true, TrustLevel::DoNotTrust) => format!("{name} is now marked as never trusted.\n"),
    };
    crate::output::print(&text)
}
