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

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// Lists the sessions of the current folder.
    List(list::ListOptions),
    /// Shows what was said in a session.
    Show(show::ShowOptions),
    /// Makes a session of this folder from a recorded session of any format.
    Import(import::ImportOptions),
    /// Takes the newest compaction of a session back.
    Undo(undo::UndoOptions),
    /// Lets models write the snapshots of a session again after they failed too often.
    Reset(reset::ResetOptions),
    /// Deletes sessions with everything that belongs to them.
    Delete(delete::DeleteOptions),
    /// Deletes sessions that are older, or more, than the settings keep.
    Prune(prune::PruneOptions),
    /// Makes a session acceptable to every provider again, losing nothing, and lists each repair.
    Repair(RepairOptions),
    /// Writes a session in another format, and tells what that format cannot hold.
    Export(ExportOptions),
}

#[derive(Debug, Args)]
pub(crate) struct RepairOptions {
    #[command(flatten)]
    files: Files,
    /// The format to write; otherwise the session's own, or the neutral form where that cannot be written.
    #[arg(long, value_name = "FORMAT")]
    format: Option<TargetFormat>,
}

#[derive(Debug, Args)]
pub(crate) struct ExportOptions {
    #[command(flatten)]
    files: Files,
    /// The format to write.
    #[arg(long, value_name = "FORMAT")]
    format: TargetFormat,
}

#[derive(Debug, Args)]
struct Files {
    /// The session: a file of any known format, - for standard input, or a session of this folder: latest, its number
    /// in `sessions list`, or its id.
    file: PathBuf,
    /// Where to write the result, - for standard output; without it nothing is written.
    #[arg(short, long = "output", value_name = "OUT")]
    out: Option<PathBuf>,
    /// Replaces OUT if it exists; the input is never replaced.
    #[arg(long)]
    force: bool,
    /// Takes secrets out first: keys, tokens and passwords become REDACTED.
    #[arg(long)]
    redact: bool,
    /// Reports in one JSON object instead, as docs/json.md describes it.
    #[arg(long)]
    json: bool,
}

/// A format that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TargetFormat {
    /// A Gemini request.
    Gemini,
    /// An OpenAI chat-completions request.
    Openai,
    /// An Anthropic messages request.
    Anthropic,
    /// The neutral form, which keeps the most.
    Neutral,
    /// A Gemini CLI session.
    GeminiJsonl,
    /// A Claude Code session.
    ClaudeCode,
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
        }
    }
}

/// Runs one of the commands. Only some need settings.
pub(crate) fn run(
    command: &SessionsCommand,
    load_settings: impl FnOnce() -> anyhow::Result<Settings>,
    color: Color,
) -> anyhow::Result<()> {
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
        let existing = if self.force { Existing::Replaced } else { Existing::Kept };
        Destination::plan(self.out.as_deref(), &session_file(&self.file)?, existing)
    }

    /// Reads the whole session, and takes secrets out if that is asked for.
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

/// Opens a log that must be there already, and says what was mended.
fn open_log(path: &Path) -> anyhow::Result<Log> {
    // A missing file is named before anything could be made in its place.
    drop(input::open(path)?);
    let log = Log::open_existing(path).map_err(log_failure)?;
    for recovery in log.recovered() {
        eprintln!("warning: {}", visible(&recovery.to_string()));
    }
    Ok(log)
}
