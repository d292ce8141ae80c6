//! `longhaul sessions undo SESSION`: takes a compaction back.

use clap::Args;
use longhaul_context::Estimator;
use longhaul_conversation::{Message, TokenCount};
use longhaul_session::Log;
use serde_json::json;
use std::path::{Path, PathBuf};

use super::report::print_all;
use crate::args::Color;
use crate::clock::now;
use crate::output::{Screen, plural, thousands, visible};
use crate::project::{log_failure, session_file};

#[derive(Debug, Args)]
pub(crate) struct UndoOptions {
    /// The session: latest, its number in `sessions list`, its id, or its file.
    session: PathBuf,
    /// The compaction to take back, by its id; otherwise the newest one that still counts.
    #[arg(long, value_name = "ID")]
    compaction: Option<String>,
    /// Prints one JSON object instead, as docs/json.md describes it.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &UndoOptions, color: Color) -> anyhow::Result<()> {
    let path = session_file(&options.session)?;
    let mut log = open(&path)?;
    let before = size(log.replay().transcript().messages());
    let undone = log.undo(options.compaction.as_deref(), Some(now())).map_err(log_failure)?;
    log.sync().map_err(log_failure)?;
    let transcript = log.replay().transcript();
    let after = size(transcript.messages());
    if options.json {
        return print_all(&json!({
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
        "Took back {}; the conversation has {} and about {} tokens now (it had {}).\n",
        screen.strong(&visible(&undone)),
        plural(transcript.messages().len(), "message", "messages"),
        thousands(after.0),
        thousands(before.0),
    ))
}

/// Opens a log that must be there already, and says what was mended.
fn open(path: &Path) -> anyhow::Result<Log> {
    // A missing file is named before anything could be made in its place.
    drop(crate::input::open(path)?);
    let log = Log::open_existing(path).map_err(log_failure)?;
    for recovery in log.recovered() {
        eprintln!("warning: {}", visible(&recovery.to_string()));
    }
    Ok(log)
}

fn size(messages: &[Message]) -> TokenCount {
    let estimator = Estimator::default();
    messages.iter().map(|message| estimator.message(message)).sum::<longhaul_context::Estimate>().tokens()
}
