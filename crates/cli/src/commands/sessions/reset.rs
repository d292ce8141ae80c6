//! `longhaul sessions reset SESSION`: lets models write snapshots again after failures.

use std::path::PathBuf;

use clap::Args;
use longhaul_app::clock::now;
use longhaul_app::project::{log_failure, session_file};
use longhaul_engine::{Spend, State};
use longhaul_formats::CompactionState;
use serde_json::json;

use super::{open_log, state};
use crate::output::{Color, Screen, print_json, thousands};

#[derive(Debug, Args)]
pub(crate) struct ResetOptions {
    /// Session: latest, its number in `sessions list`, its id, or its file.
    session: PathBuf,
    /// Also reset the cost of snapshots, so that spending caps start from zero.
    #[arg(long)]
    spend: bool,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &ResetOptions, color: Color) -> anyhow::Result<()> {
    let path = session_file(&options.session)?;
    let mut log = open_log(&path)?;
    let before = State::recorded_in(log.replay());
    let mut after = before.clone();
    after.reset();
    if options.spend {
        after.spend = Spend::default();
    }
    let is_news = after != before;
    if is_news {
        log.keep_state(&CompactionState::from(&after), Some(now())).map_err(log_failure)?;
        log.sync().map_err(log_failure)?;
    }
    if options.json {
        return print_json(&json!({
            "schema": 1,
            "file": path,
            "reset": is_news,
            "state": state::json(&after),
        }));
    }
    let screen = Screen::of_stdout(color);
    let mut text = match is_news {
        true => format!("{}: models may write snapshots again.", screen.strong("Reset")),
        false => "Nothing to reset: no snapshot has failed.".to_string(),
    };
    if after.spend.tokens.0 > 0 {
        let tokens = thousands(after.spend.tokens.0);
        text.push_str(&format!(" The {tokens} tokens already spent still count; --spend resets them."));
    }
    crate::output::print(&(text + "\n"))
}
