//! `longhaul sessions`: the sessions of a project, and recorded sessions of any format.

mod delete;
mod export;
mod import;
mod list;
mod prune;
mod repair;
mod reset;
mod show;
mod state;
mod undo;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use longhaul_app::project::{log_failure, session_file};
use longhaul_app::sessions::{Redaction, load};
use longhaul_app::settings::Settings;
use longhaul_formats::{Format, Session};
use longhaul_sessions::Log;

use crate::destination::{Destination, Existing};
use crate::input;
use crate::output::{Color, visible};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SessionsArgs {
    #[command(flatten)]
    list: list::ListOptions,
    #[command(subcommand)]
    command: Option<SessionsCommand>,
}

#[derive(Debug, Subcommand)]
enum SessionsCommand {
    /// List this project's sessions, of all agents; with --all those of every project.
    List(list::ListOptions),
    /// Show a session's messages.
    Show(show::ShowOptions),
    /// Import a recorded session of any supported format.
    Import(import::ImportOptions),
    /// Undo a session's newest compaction.
    Undo(undo::UndoOptions),
    /// Let models write a session's snapshots again after repeated failures.
    Reset(reset::ResetOptions),
    /// Delete sessions with all their files.
    Delete(delete::DeleteOptions),
    /// Delete sessions beyond the age or number that settings keep.
    Prune(prune::PruneOptions),
    /// Repair a session so that every provider accepts it, and list each repair.
    Repair(RepairOptions),
    /// Convert a session to another format, and list what that format cannot hold.
    Export(ExportOptions),
}

#[derive(Debug, Args)]
pub(crate) struct RepairOptions {
    #[command(flatten)]
    files: Files,
    /// Format to write [default: the session's own, or neutral where that cannot be written].
    #[arg(long, value_name = "FORMAT")]
    format: Option<TargetFormat>,
}

#[derive(Debug, Args)]
pub(crate) struct ExportOptions {
    #[command(flatten)]
    files: Files,
    /// Format to write.
    #[arg(long, value_name = "FORMAT")]
    format: TargetFormat,
}

#[derive(Debug, Args)]
struct Files {
    /// Session file (format detected automatically), - for standard input, or a session of this folder: latest, its number in
    /// `sessions list`, or its id.
    file: PathBuf,
    /// Output file, or - for standard output; without it, nothing is written.
    #[arg(short, long = "output", value_name = "OUT")]
    out: Option<PathBuf>,
    /// Replace OUT if it exists; the input is never replaced.
    #[arg(long)]
    force: bool,
    /// Redact secrets first: keys, tokens and passwords become REDACTED.
    #[arg(long)]
    redact: bool,
    /// Report as one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

/// A format that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TargetFormat {
    /// Gemini request.
    Gemini,
    /// OpenAI chat-completions request.
    Openai,
    /// Anthropic messages request.
    Anthropic,
    /// Neutral format, which keeps the most.
    Neutral,
    /// Gemini CLI session.
    GeminiJsonl,
    /// Claude Code session.
    ClaudeCode,
    /// Codex rollout.
    Codex,
    /// opencode session, for `opencode import`.
    Opencode,
}

impl From<TargetFormat> for Format {
    fn from(format: TargetFormat) -> Self {
        match format {
            TargetFormat::Gemini => Self::GeminiContents,
            TargetFormat::Openai => Self::OpenAiChat,
            TargetFormat::Anthropic => Self::Anthropic,
            TargetFormat::Neutral => Self::Neutral,
            TargetFormat::GeminiJsonl => Self::GeminiJsonl,
            TargetFormat::ClaudeCode => Self::ClaudeCode,
            TargetFormat::Codex => Self::Codex,
            TargetFormat::Opencode => Self::OpenCode,
        }
    }
}

/// Runs one of the commands. Only some need settings.
pub(crate) fn run(
    args: &SessionsArgs,
    load_settings: impl FnOnce() -> anyhow::Result<Settings>,
    color: Color,
) -> anyhow::Result<()> {
    let Some(command) = &args.command else { return list::run(&args.list, color) };
    match command {
        SessionsCommand::List(options) => list::run(options, color),
        SessionsCommand::Show(options) => show::run(options, color),
        SessionsCommand::Import(options) => import::run(options, color),
        SessionsCommand::Undo(options) => undo::run(options, color),
        SessionsCommand::Reset(options) => reset::run(options, color),
        SessionsCommand::Delete(options) => delete::run(options, color),
        SessionsCommand::Prune(options) => prune::run(options, &load_settings()?, color),
        SessionsCommand::Repair(options) => repair::run(options, color),
        SessionsCommand::Export(options) => export::run(options, color),
    }
}

impl Files {
    /// Plans the destination, before the session is read.
    fn destination(&self) -> anyhow::Result<Destination> {
        let existing = if self.force { Existing::Replaced } else { Existing::Kept { unless: "--force" } };
        Destination::plan(self.out.as_deref(), &session_file(&self.file)?, existing)
    }

    /// Reads the whole session, and redacts secrets if requested.
    fn load(&self) -> anyhow::Result<(Session, Option<Redaction>)> {
        let mut session = load(&self.file, &input::showing_progress)?;
        let redaction = self.redact.then(|| {
            let mut redaction = Redaction::default();
            redaction.session(&mut session);
            redaction
        });
        Ok((session, redaction))
    }
}

/// Opens an existing log, and reports what was repaired.
fn open_log(path: &Path) -> anyhow::Result<Log> {
    // A missing file is named before anything could be made in its place.
    drop(input::open(path)?);
    let log = Log::open_existing(path).map_err(log_failure)?;
    for recovery in log.recovered() {
        eprintln!("warning: {}", visible(&recovery.to_string()));
    }
    Ok(log)
}
