//! `longhaul sessions import FILE`: imports a recorded session of any format into this project.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use longhaul_app::failure::hinted;
use longhaul_app::project::{Project, log_failure};
use longhaul_app::sessions::{ImportedSession, already_here, bring_in, read};
use serde_json::json;

use crate::input;
use crate::output::{Color, Screen, plural, print, print_json, visible};
use crate::reports::written as report;

#[derive(Debug, Args)]
pub(crate) struct ImportOptions {
    /// Session file (format detected automatically), or - for standard input.
    file: PathBuf,
    /// Import it even if this folder has it already, as another session.
    #[arg(long)]
    again: bool,
    /// Report as one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &ImportOptions, color: Color) -> anyhow::Result<()> {
    let recorded = read(&options.file, &input::showing_progress)?;
    let session = recorded.session();
    let (project, notes) = Project::find_or_begin()?;
    if let Some(id) = already_here(&project, &recorded).filter(|_| !options.again) {
        let error = anyhow!("this folder has it already, as session {id}");
        return Err(hinted(
            error,
            "continue that one with `longhaul --resume ID`, or pass --again to import another copy",
        ));
    }
    let ImportedSession { log, id } = bring_in(&project, &recorded).map_err(log_failure)?;
    let replay = log.replay();
    let (count, in_context) = (replay.history().len(), replay.transcript().messages().len());
    if options.json {
        return print_json(&json!({
            "schema": 1,
            "id": id,
            "file": log.path(),
            "format": session.info.format.as_str(),
            "messages": count,
            "in_context": in_context,
            "compactions": replay.info().compactions,
            "subagents": session.side_chains.len(),
            "warnings": session.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "notes": notes,
        }));
    }
    let aside = Screen::of_stderr(color);
    eprint!("{}", report::warnings(session, &aside));
    for note in notes {
        eprintln!("{} {}", aside.faint("note:"), visible(&note));
    }
    let screen = Screen::of_stdout(color);
    let mut text = format!(
        "Imported {} from {} as session {}.\n",
        plural(count, "message", "messages"),
        session.info.format,
        screen.strong(&id),
    );
    if !session.side_chains.is_empty() {
        let chains = plural(session.side_chains.len(), "sub-agent", "sub-agents");
        text.push_str(&format!("Imported {chains} with it.\n"));
    }
    let compactions = replay.info().compactions;
    if compactions > 0 {
        let compactions = plural(compactions, "compaction", "compactions");
        let shown = plural(in_context, "message", "messages");
        text.push_str(&format!(
            "It was compacted before ({compactions}): the model sees {shown}; `longhaul recall` finds the rest, and \
             `longhaul sessions undo {id}` restores it.\n"
        ));
    }
    text.push_str(&format!("Show it with `longhaul sessions show {id}`.\n"));
    print(&text)
}
