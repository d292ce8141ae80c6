//! Asks at the start of an interactive session whether to trust a folder, or to accept what changed since.

use std::io::IsTerminal;
use std::path::Path;

use longhaul_app::environment;
use longhaul_app::settings::Settings;
use longhaul_app::trust::{TrustPreview, TrustReview, confirm, decide, review};
use longhaul_workspace::{Decider, Home, LockTimeout, Trust, TrustLevel, TrustedFolders, WorkspaceFolder};

use crate::output::{Color, Page, Screen, print};
use crate::questions::{TypedAhead, ask, is_yes};
use crate::reports::trust::{tell_changes, tell_preview};

/// Asks about the current folder if a user can answer, and saves the answer.
pub(crate) fn ask_at_start(color: Color) -> anyhow::Result<()> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Ok(());
    }
    let environment = environment::of_process();
    let (Ok(home), Ok(folder)) = (Home::resolve(&environment), std::env::current_dir()) else {
        return Ok(());
    };
    if home.is_folder_of(&WorkspaceFolder::of(&folder)) {
        return Ok(());
    }
    let loaded = Settings::load(Some(&home), Path::new(""), &environment)?;
    let memory = loaded.settings.memory().0;
    match decide(&folder, Some(&home), &environment, loaded.needs_trust)? {
        Trust::Undecided => {
            let preview = TrustPreview::of(&folder, &memory);
            if preview.is_empty() {
                return Ok(());
            }
            let mut page = Page::new(Screen::of_stdout(color));
            tell_preview(&mut page, &folder, &preview);
            print(&page.into_text())?;
            let level = match ask("Trust this folder? [y]es, [n]ot now, ne[v]er", TypedAhead::IsDropped)?
                .as_deref()
            {
                Some("y" | "yes") => TrustLevel::TrustFolder,
                Some("v" | "never") => TrustLevel::DoNotTrust,
                _ => return Ok(()),
            };
            TrustedFolders::at(home.trusted_folders()).set(&folder, level, LockTimeout::default())?;
            if level == TrustLevel::TrustFolder {
                confirm(&home, &folder, &memory)?;
            }
        }
        Trust::Trusted(Decider::Rule(_) | Decider::Editor) => {
            let TrustReview { changes, .. } = review(&home, &folder)?;
            if changes.is_empty() {
                return Ok(());
            }
            let mut page = Page::new(Screen::of_stdout(color));
            tell_changes(&mut page, &folder, &changes);
            print(&page.into_text())?;
            let answer = ask("Accept these changes? [y]es, [n]o", TypedAhead::IsDropped)?;
            if answer.is_some_and(|answer| is_yes(&answer)) {
                confirm(&home, &folder, &memory)?;
            }
        }
        Trust::Trusted(_) | Trust::Untrusted(_) => {}
    }
    Ok(())
}
