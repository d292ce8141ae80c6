//! `longhaul sessions`: repairs recorded sessions, and writes them in other formats.

mod export;
pub(crate) mod losses;
pub(crate) mod repair;
pub(crate) mod report;

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Subcommand, ValueEnum};
use longhaul_session::{Format, Session, read_session};

use crate::args::Color;
use crate::destination::{Destination, Existing};
use crate::input;
use crate::redaction::Redaction;

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
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
    /// The session: a file of any known format, or - for standard input.
    file: PathBuf,
    /// Where to write the result, - for standard output; without it nothing is written.
    #[arg(short, long = "output", value_name = "OUT")]
    out: Option<PathBuf>,
    /// Replaces OUT if it exists; the input is never replaced.
    #[arg(long)]
    force: bool,
    /// Takes secrets out first: keys, tokens and passwords become [REDACTED].
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

/// Runs one of the commands.
pub(crate) fn run(command: &SessionsCommand, color: Color) -> anyhow::Result<()> {
    match command {
        SessionsCommand::Repair(options) => repair::run(options, color),
        SessionsCommand::Export(options) => export::run(options, color),
    }
}

impl Files {
    /// Where the result goes; asked before the session is read.
    fn destination(&self) -> anyhow::Result<Destination> {
        let existing = if self.force { Existing::Replaced } else { Existing::Kept };
        Destination::plan(self.out.as_deref(), &self.file, existing)
    }

    /// Reads the whole session, and takes secrets out if that is asked for.
    fn load(&self) -> anyhow::Result<(Session, Option<Redaction>)> {
        let name = input::display_name(&self.file);
        let source = input::open(&self.file)?;
        let mut session = read_session(source).with_context(|| format!("could not read {name}"))?;
        let redaction = self.redact.then(|| {
            let mut redaction = Redaction::default();
            redaction.session(&mut session);
            redaction
        });
        Ok((session, redaction))
    }
}
