//! `longhaul sessions undo SESSION`: undoes a compaction.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use longhaul_app::clock::now;
use longhaul_app::failure::hinted;
use longhaul_app::project::{log_failure, session_file};
use longhaul_conversation::Estimator;
use longhaul_formats::{Rewrite, RewriteState};
use longhaul_sessions::LogError;
use serde_json::json;

use super::open_log;
use crate::output::{Color, Screen, plural, print_json, thousands, visible};

#[derive(Debug, Args)]
pub(crate) struct UndoOptions {
    /// Session: latest, its number in `sessions list`, its id, or its file.
    session: PathBuf,
    /// Id of the compaction to undo [default: the newest in effect].
    #[arg(long, value_name = "ID")]
    compaction: Option<String>,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &UndoOptions, color: Color) -> anyhow::Result<()> {
    let path = session_file(&options.session)?;
    let mut log = open_log(&path)?;
    let before = Estimator::default().messages(log.replay().transcript().messages());
    let name = options.session.display();
    let chosen = match &options.compaction {
        Some(given) => Some(choose(given, log.replay().rewrites())?),
        None => None,
    };
    let undone = log.undo(chosen.as_deref(), Some(now())).map_err(|error| match error {
        LogError::NothingToUndo { .. } => nothing(&name.to_string(), log.replay().rewrites()),
        error => log_failure(error),
    })?;
    log.sync().map_err(log_failure)?;
    let transcript = log.replay().transcript();
    let after = Estimator::default().messages(transcript.messages());
    if options.json {
        return print_json(&json!({
            "schema": 1,
            "undone": undone,
            "file": path,
            "messages": transcript.messages().len(),
            "before_tokens": before.0,
            "after_tokens": after.0,
        }));
    }
    let screen = Screen::of_stdout(color);
    crate::output::print(&format!(
        "Undid {}; the conversation now has {} and about {} tokens (before: {}).\n",
        screen.strong(&visible(&undone)),
        plural(transcript.messages().len(), "message", "messages"),
        thousands(after.0),
        thousands(before.0),
    ))
}

/// The compaction or masking with this id or id prefix.
fn choose(given: &str, rewrites: &[Rewrite]) -> anyhow::Result<String> {
    let hint = "run `longhaul sessions show` to list a session's compactions";
    let meant = rewrites.iter().find(|rewrite| rewrite.id == given);
    let begun = rewrites.iter().filter(|rewrite| !given.is_empty() && rewrite.id.starts_with(given));
    let meant: Vec<&Rewrite> = meant.map_or_else(|| begun.collect(), |meant| vec![meant]);
    match meant[..] {
        [Rewrite { state: RewriteState::Active, id, .. }] => Ok(id.clone()),
        [Rewrite { state: RewriteState::Undone, id, .. }] => {
            Err(hinted(anyhow!("{id} is already undone"), hint))
        }
        [Rewrite { state: RewriteState::Inert, id, .. }] => {
            Err(hinted(anyhow!("nothing to undo: {id} is no longer in effect"), hint))
        }
        [] => Err(hinted(anyhow!("no compaction with the id {given}"), hint)),
        _ => Err(hinted(anyhow!("{given} matches more than one compaction"), "use more of the id")),
    }
}

/// The error when there is nothing to undo.
fn nothing(name: &str, rewrites: &[Rewrite]) -> anyhow::Error {
    let hint = match rewrites.len() {
        0 => "nothing was compacted in it",
        _ => "all its compactions are undone or no longer in effect",
    };
    hinted(anyhow!("nothing to undo in {name}"), hint)
}
