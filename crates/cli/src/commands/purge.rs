//! `longhaul purge`: what Longhaul keeps on this machine, and its removal.

use clap::Args;
use longhaul_app::environment;
use longhaul_app::purge::KeptData;
use longhaul_workspace::Home;
use serde_json::json;

use crate::output::{Color, Page, Screen, path_json, plural, print, print_json, visible};
use crate::questions::confirm;

#[derive(Debug, Args)]
pub(crate) struct PurgeOptions {
    /// Remove the sessions that Longhaul wrote, too, in all projects.
    #[arg(long)]
    sessions: bool,
    /// Only show what is there.
    #[arg(long)]
    dry_run: bool,
    /// Skip the confirmation prompt; required without a terminal.
    #[arg(long)]
    yes: bool,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

/// Shows what is kept and, once confirmed, removes it.
pub(crate) fn run(options: &PurgeOptions, color: Color) -> anyhow::Result<()> {
    let home = Home::resolve(&environment::of_process())?;
    let kept = KeptData::find(&home)?;
    let own = kept.own.as_ref();
    let bytes: u64 = kept.sessions.iter().map(|session| session.size).sum();
    let is_empty = own.is_none() && (kept.sessions.is_empty() || !options.sessions);
    if !options.json {
        let mut page = Page::new(Screen::of_stdout(color));
        page.line(&visible(&format!("Longhaul keeps in {}:", home.root().display())));
        match own {
            Some((folder, size)) => {
                let line = format!(
                    "  {}  typed lines, calibration, trusted contents  {}",
                    folder.display(),
                    size_text(*size)
                );
                page.line(&visible(&line));
            }
            None => page.line("  nothing of its own"),
        }
        let sessions = plural(kept.sessions.len(), "session", "sessions");
        page.line(&format!("  {sessions} that Longhaul wrote or compacted, {}", size_text(bytes)));
        page.line("Settings, memory, skills, rules and Gemini CLI's sessions are yours and stay.");
        if !options.sessions && !kept.sessions.is_empty() {
            page.line("Sessions stay, too, unless you pass --sessions.");
        }
        print(&page.into_text())?;
    }
    let question = match options.sessions {
        true => format!(
            "Permanently remove its folder and {}?",
            plural(kept.sessions.len(), "session", "sessions")
        ),
        false => "Permanently remove its folder?".to_string(),
    };
    let is_removed = !options.dry_run && !is_empty && confirm(&question, options.yes)?;
    if is_removed {
        if options.sessions {
            for session in &kept.sessions {
                session.delete()?;
            }
        }
        kept.remove_own()?;
    }
    if options.json {
        return print_json(&json!({
            "schema": 1,
            "home": path_json(home.root()),
            "folder": own.map(|(folder, size)| json!({"path": path_json(folder), "bytes": size})),
            "sessions": kept.sessions.iter().map(|session| json!({"path": path_json(&session.path), "bytes": session.size}))
                .collect::<Vec<_>>(),
            "removed": is_removed,
            "sessions_removed": is_removed && options.sessions,
        }));
    }
    match (is_removed, is_empty) {
        (true, _) => print("Removed.\n"),
        (false, true) => Ok(()),
        (false, false) => print("Nothing was removed.\n"),
    }
}

fn size_text(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
