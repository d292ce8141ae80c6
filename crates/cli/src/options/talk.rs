//! The arguments of a conversation with a model.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::WorkOptions;

#[derive(Debug, Default, Args)]
pub(crate) struct TalkOptions {
    /// Send this prompt and print the answer; standard input is sent before it, as data.
    #[arg(short, long, value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,
    /// Model to talk to: a name, provider/name, or auto, pro, flash or flash-lite.
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Resume a session: latest, its number in `sessions list`, its id, or a session file.
    #[arg(long, value_name = "SESSION", num_args = 0..=1, default_missing_value = "latest")]
    pub(crate) resume: Option<PathBuf>,
    /// With --resume: continue in a copy and leave the session unchanged, even while another program writes it.
    #[arg(long, requires = "resume")]
    pub(crate) fork: bool,
    /// Output format [default: text].
    #[arg(long, value_name = "FORMAT")]
    pub(crate) output_format: Option<OutputFormat>,
    /// PEM file of certificates to trust besides the system's.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Use plain lines, one after another, for screen readers.
    #[arg(long, conflicts_with_all = ["prompt", "output_format"])]
    screen_reader: bool,
    #[command(flatten)]
    pub(crate) work: WorkOptions,
}

/// The format of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Text, as it arrives.
    #[default]
    Text,
    /// One JSON object at the end.
    Json,
    /// One JSON object per line, as events happen.
    StreamJson,
}

impl TalkOptions {
    /// Returns true if none of these options was given.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { prompt, model, resume, fork, output_format, ca_file, screen_reader, work } = self;
        prompt.is_none()
            && model.is_none()
            && resume.is_none()
            && !fork
            && output_format.is_none()
            && ca_file.is_none()
            && !screen_reader
            && work.is_empty()
    }

    /// Returns true if output should be plain lines for a screen reader.
    pub(crate) fn is_for_screen_readers(&self) -> bool {
        self.screen_reader
    }

    /// Returns true if a user is at the terminal.
    pub(crate) fn is_interactive(&self) -> bool {
        let is_silent = self.prompt.is_none() && self.output_format.is_none();
        let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        is_silent && (is_terminal || self.screen_reader)
    }
}
