//! The arguments of a conversation with a model.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use longhaul_conversation::TokenCount;

use super::{WorkOptions, parse_tokens};

#[derive(Debug, Default, Args)]
pub(crate) struct TalkOptions {
    /// First prompt: at a terminal the session goes on after the answer, elsewhere it ends as with -p.
    #[arg(value_name = "PROMPT", conflicts_with = "prompt")]
    first_prompt: Option<String>,
    /// Send this prompt, print the answer and leave; standard input is sent before it, as data.
    #[arg(short, long, value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,
    /// Model to talk to: a name, provider/name, a provider, or a short name such as sonnet (see `longhaul models`).
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Context window of the model in tokens, such as 32k [default: the model's, asked of its server if unknown].
    #[arg(long, value_name = "N", value_parser = parse_tokens)]
    pub(crate) window: Option<TokenCount>,
    /// Continue the latest session of this folder; short for --resume latest.
    #[arg(short, long = "continue", group = "resumed")]
    continues: bool,
    /// Resume a session: latest, its number in `sessions list`, its id, or a session file.
    #[arg(long, group = "resumed", value_name = "SESSION", num_args = 0..=1, default_missing_value = "latest")]
    resume: Option<PathBuf>,
    /// With --resume or -c: continue in a copy and leave the session unchanged, even while another program writes it.
    #[arg(long, requires = "resumed")]
    pub(crate) fork: bool,
    /// Output format: text, json or stream-json [default: text].
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
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
        let Self {
            first_prompt,
            prompt,
            model,
            window,
            continues,
            resume,
            fork,
            output_format,
            ca_file,
            screen_reader,
            work,
        } = self;
        first_prompt.is_none()
            && prompt.is_none()
            && model.is_none()
            && window.is_none()
            && !continues
            && resume.is_none()
            && !fork
            && output_format.is_none()
            && ca_file.is_none()
            && !screen_reader
            && work.is_empty()
    }

    /// The session to resume.
    pub(crate) fn resume(&self) -> Option<&Path> {
        self.resume.as_deref().or_else(|| self.continues.then(|| Path::new("latest")))
    }

    /// The prompt to send at once.
    pub(crate) fn first_prompt(&self) -> Option<&str> {
        self.prompt.as_deref().or(self.first_prompt.as_deref())
    }

    /// A prompt of one word that is nearly a command's name: more likely a slip than a message for a model.
    pub(crate) fn mistyped_command<'n>(&self, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
        let word = self.first_prompt.as_deref().filter(|prompt| !prompt.contains(char::is_whitespace))?;
        let alike = names.map(|name| (strsim::jaro_winkler(name, &word.to_lowercase()), name));
        let nearest = alike.max_by(|a, b| a.0.total_cmp(&b.0))?;
        (nearest.0 >= 0.8).then_some(nearest.1)
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
