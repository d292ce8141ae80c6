//! The arguments of a conversation with a model.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::WorkOptions;

#[derive(Debug, Default, Args)]
pub(crate) struct TalkOptions {
    /// Asks a model this and prints its answer; what comes on standard input stands before it, as data.
    #[arg(short, long, value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,
    /// The model to talk to: a name, provider/name, or auto, pro, flash or flash-lite.
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Goes on with a session of this folder: latest, its number in `sessions list`, its id; or with one in a file.
    #[arg(long, value_name = "SESSION", num_args = 0..=1, default_missing_value = "latest")]
    pub(crate) resume: Option<PathBuf>,
    /// With --resume: goes on in a copy of the session, which stays as it is; another program may be writing it.
    #[arg(long, requires = "resume")]
    pub(crate) fork: bool,
    /// How the answer is printed [default: text].
    #[arg(long, value_name = "FORMAT")]
    pub(crate) output_format: Option<OutputFormat>,
    /// A file of certificates to trust beside the system's.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Talks in plain lines, one after the other, as screen readers like it.
    #[arg(long, conflicts_with_all = ["prompt", "output_format"])]
    screen_reader: bool,
    #[command(flatten)]
    pub(crate) work: WorkOptions,
}

/// How an answer is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The text, as it arrives.
    #[default]
    Text,
    /// One JSON object when everything is over.
    Json,
    /// One JSON object a line, as things happen.
    StreamJson,
}

impl TalkOptions {
    /// Returns true if nothing of all this was given.
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

    /// Returns true if the user wants to be talked to in plain lines.
    pub(crate) fn is_for_screen_readers(&self) -> bool {
        self.screen_reader
    }

    /// Returns true if somebody is there to talk with.
    pub(crate) fn is_interactive(&self) -> bool {
        let is_silent = self.prompt.is_none() && self.output_format.is_none();
        let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        is_silent && (is_terminal || self.screen_reader)
    }
}
