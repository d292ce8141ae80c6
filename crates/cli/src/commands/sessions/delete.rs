//! `longhaul sessions delete SESSION...`: deletes sessions with all their files.

use anyhow::{Context, anyhow};
use clap::Args;
use longhaul_app::project;
use longhaul_sessions::{Deletion, Store};
use serde_json::{Value, json};

use crate::output::{Color, Screen, plural, print_json, visible};
use crate::questions::confirm;

#[derive(Debug, Args)]
pub(crate) struct DeleteOptions {
    /// Sessions: numbers in `sessions list`, ids, or latest.
    #[arg(required = true, value_name = "SESSION")]
    sessions: Vec<String>,
    /// Skip the confirmation prompt; required without a terminal.
    #[arg(long)]
    yes: bool,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &DeleteOptions, color: Color) -> anyhow::Result<()> {
    let store = project::store()?;
    // All are found before the first one goes: numbers move up when it does.
    let ids = resolve(&store, &options.sessions)?;
    let question = format!("Permanently delete {}?", plural(ids.len(), "session", "sessions"));
    if !confirm(&question, options.yes)? {
        return crate::output::print("Nothing was deleted.\n");
    }
    let mut failed = 0;
    let mut objects = Vec::new();
    let screen = Screen::of_stdout(color);
    let mut text = String::new();
    for id in &ids {
        match store.delete(id) {
            Ok(deletion) => {
                failed += deletion.problems.len();
                objects.push(json(id, &deletion));
                text.push_str(&told(id, &deletion, &screen));
            }
            Err(error) if ids.len() == 1 => return Err(project::failure(error)),
            Err(error) => {
                failed += 1;
                objects.push(json!({"id": id, "removed": [], "problems": [error.to_string()]}));
                let line = format!("{}: {error}", visible(id));
                text.push_str(&format!("{}\n", screen.warning(&line)));
            }
        }
    }
    if options.json {
        print_json(&json!({"schema": 1, "sessions": objects}))?;
    } else {
        crate::output::print(&text)?;
    }
    match failed {
        0 => Ok(()),
        count => Err(anyhow!("could not delete {}", plural(count, "item", "items"))),
    }
}

fn resolve(store: &Store, given: &[String]) -> anyhow::Result<Vec<String>> {
    let listing = store.list().context("could not list the sessions")?;
    let mut ids: Vec<String> = Vec::new();
    for given in given {
        let id = match listing.select(given) {
            Ok(session) => session.id().to_string(),
            // Files that are not listed can be deleted too, by their name or the id in it.
            Err(_) if given.len() >= 8 => given.clone(),
            Err(error) => return Err(project::failure(error)),
        };
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

fn told(id: &str, deletion: &Deletion, screen: &Screen) -> String {
    let removed = plural(deletion.removed.len(), "file or folder", "files and folders");
    let mut text = format!("Deleted {}: {removed}.\n", screen.strong(&visible(id)));
    for problem in &deletion.problems {
        text.push_str(&format!("{}\n", screen.warning(&visible(&format!("  {problem}")))));
    }
    text
}

fn json(id: &str, deletion: &Deletion) -> Value {
    let problems: Vec<String> = deletion.problems.iter().map(ToString::to_string).collect();
    json!({"id": id, "removed": deletion.removed, "problems": problems})
}
