//! The arguments of the program.

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::error::ErrorKind;
use clap::{Args as ClapArgs, CommandFactory, Parser, Subcommand, ValueEnum};
use longhaul_compaction::Threshold;
use longhaul_compaction::parse_token_count;
use longhaul_conversation::TokenCount;

use crate::commands::agents::AgentsCommand;
use crate::commands::compress::CompressOptions;
use crate::commands::demo::DemoOptions;
use crate::commands::doctor::DoctorOptions;
use crate::commands::eval::EvalOptions;
use crate::commands::memory::MemoryArgs;
use crate::commands::policy::PolicyArgs;
use crate::commands::recall::RecallOptions;
use crate::commands::sessions::SessionsCommand;
use crate::commands::skills::SkillsArgs;
use crate::commands::talk::TalkOptions;
use crate::commands::trust::TrustCommand;

const STYLES: Styles =
    Styles::styled().header(AnsiColor::Green.on_default().bold()).literal(AnsiColor::Cyan.on_default());

/// Keeps long conversations with coding agents inside the context window.
#[derive(Debug, Parser)]
#[command(name = "longhaul", version, styles = STYLES)]
pub(crate) struct Args {
    /// When to use colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    #[command(flatten)]
    pub(crate) talk: TalkOptions,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// What the arguments say of colours where they make no sense otherwise.
    pub(crate) fn of_arguments() -> Self {
        Self::among(std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()))
    }

    fn among(arguments: impl Iterator<Item = String>) -> Self {
        let mut is_next = false;
        let mut color = Self::Auto;
        for argument in arguments.take_while(|argument| argument != "--") {
            let value = if is_next { Some(argument.as_str()) } else { argument.strip_prefix("--color=") };
            color = value.and_then(|value| Self::from_str(value, false).ok()).unwrap_or(color);
            is_next = argument == "--color";
        }
        color
    }
}

/// Who writes snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Summariser {
    /// Longhaul itself: no key, no network, always the same result.
    Offline,
    /// A model.
    Model,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Shows where the tokens of a recorded session are, and what is broken in it.
    Inspect(InspectOptions),
    /// Makes a recorded session smaller, so that an agent can go on from it as if nothing had happened.
    Compress(CompressOptions),
    /// Measures on recorded sessions what a compaction keeps of what is needed later.
    Eval(EvalOptions),
    /// Finds again what was said or compacted away in the sessions of the current folder.
    Recall(RecallOptions),
    /// Lists, shows, imports and deletes sessions, takes compactions back, repairs and converts recorded sessions.
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Shows a scripted session that outgrows its window and is compacted; no key and no network are needed.
    Demo(DemoOptions),
    /// Shows which memory files hold here and why, and adds facts to them; alone it is `memory show`.
    Memory(MemoryArgs),
    /// Lists, shows, installs and switches skills; alone it is `skills list`.
    Skills(SkillsArgs),
    /// Says which folders are trusted, so that their own settings and memory count.
    #[command(subcommand)]
    Trust(TrustCommand),
    /// Says which agents the model may hand tasks to here.
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// List and take back what you always allowed, and check which rule decides about a call; alone it is `policy list`.
    Policy(PolicyArgs),
    /// Says what Longhaul finds around it, what is wrong there, and what to do; changes nothing.
    Doctor(DoctorOptions),
    /// Prints a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct InspectOptions {
    /// The session: a file of any known format, - for standard input, or a session of this folder: latest, its number in
    /// `sessions list`, or its id.
    pub(crate) file: PathBuf,
    /// The size of the context window in tokens, such as 200000, 200k or 1m; otherwise the session's model decides.
    #[arg(long, value_name = "N", value_parser = parse_tokens)]
    pub(crate) window: Option<TokenCount>,
    /// Counts also what the agent compacted away or took back.
    #[arg(long)]
    pub(crate) all: bool,
    /// Prints one JSON object instead, as docs/json.md describes it.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Args {
    /// Whether models are asked, and with them perhaps commands and hooks run.
    pub(crate) fn asks_models(&self) -> bool {
        match &self.command {
            None => true,
            Some(Command::Compress(options)) => options.asks_models(),
            Some(Command::Eval(options)) => options.asks_models(),
            Some(Command::Skills(args)) => args.asks_models(),
            Some(_) => false,
        }
    }

    /// The error for options that mean nothing to the command they stand before.
    pub(crate) fn misplaced(&self) -> Option<clap::Error> {
        if self.command.is_some() && !self.talk.is_empty() {
            let message = "-p, -m, --resume and the other options of a conversation do not go before a command; \
                           options of the command stand behind it";
            return Some(Self::command().error(ErrorKind::ArgumentConflict, message));
        }
        let is_idle = match &self.command {
            Some(Command::Compress(options)) => options.names_idle_model(),
            Some(Command::Eval(options)) => options.names_idle_model(),
            _ => false,
        };
        is_idle.then(|| {
            let message = "-m and --ca-file mean something only with --summariser model";
            Self::command().error(ErrorKind::MissingRequiredArgument, message)
        })
    }

    /// The error where a model is to be talked to and nothing is said.
    pub(crate) fn nothing_said() -> clap::Error {
        let message = "there is nothing to say: give a prompt with -p, or on standard input";
        Self::command().error(ErrorKind::MissingRequiredArgument, message)
    }

    /// The help, as it is printed where nothing is asked for.
    pub(crate) fn help() -> clap::Error {
        let command = Self::command().arg_required_else_help(true);
        command.try_get_matches_from(["longhaul"]).expect_err("an argument is required, and none is given")
    }
}

/// Reads a part of a whole, such as 0.3 or 30%.
pub(crate) fn parse_share(text: &str) -> Result<f64, String> {
    match Threshold::parse(text) {
        Ok(Threshold::Share(share)) => Ok(share),
        // What would be one token elsewhere can only be the whole here.
        _ if text.trim() == "1" => Ok(1.0),
        _ => Err("expected a share above 0 and up to 1, such as 0.3 or 30%".into()),
    }
}

/// Reads a number of tokens of at least 1; k stands for a thousand and m for a million.
pub(crate) fn parse_tokens(text: &str) -> Result<TokenCount, String> {
    let tokens = parse_token_count(text).filter(|tokens| *tokens > TokenCount::ZERO);
    tokens.ok_or_else(|| {
        "expected a whole number of tokens of at least 1, such as 8000, 200k or 1m".to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn shares_have_a_point_or_a_sign() {
        assert_eq!(
            ["0.3", "30%", "1.0", "1"].map(|text| parse_share(text).ok()),
            [Some(0.3), Some(0.3), Some(1.0), Some(1.0)]
        );
        for wrong in ["", "3", "0.0", "1.5", "200k", "off", "NaN"] {
            assert!(parse_share(wrong).is_err(), "{wrong}");
        }
    }

    #[track_caller]
    fn check_color(arguments: &str, expected: Color) {
        assert_eq!(Color::among(arguments.split(' ').map(String::from)), expected, "{arguments}");
    }

    #[test]
    fn colours_are_known_before_the_rest() {
        check_color("--color always --nonsense", Color::Always);
        check_color("compress --nonsense --color=never", Color::Never);
        check_color("--color", Color::Auto);
        check_color("--color purple", Color::Auto);
        check_color("-- --color always", Color::Auto);
    }

    #[test]
    fn a_model_without_work_is_a_slip() {
        let misplaced = |arguments: &str| {
            let arguments = ["longhaul"].into_iter().chain(arguments.split(' '));
            Args::try_parse_from(arguments).expect("they can be read").misplaced().is_some()
        };
        assert!(misplaced("compress s.jsonl -m flash"));
        assert!(misplaced("eval s.jsonl --ca-file f.pem"));
        assert!(!misplaced("compress s.jsonl -m flash --summariser model"));
        assert!(!misplaced("eval s.jsonl"));
    }

    #[test]
    fn the_help_is_no_error() {
        let help = Args::help();
        assert_eq!(help.exit_code(), 2);
        assert!(help.to_string().starts_with("Keeps long conversations"), "{help}");
    }

    #[track_caller]
    fn check_tokens(text: &str, expected: Option<u64>) {
        assert_eq!(parse_tokens(text).ok().map(|tokens| tokens.0), expected, "{text}");
    }

    #[test]
    fn token_numbers_may_be_short() {
        check_tokens("8000", Some(8_000));
        check_tokens("200k", Some(200_000));
        check_tokens("1M", Some(1_000_000));
        check_tokens("1.5k", Some(1_500));
        check_tokens("1_048_576", Some(1_048_576));
        for wrong in ["", "k", "-5", "0", "0.5", "1e400", "many", "NaN", "١٢"] {
            check_tokens(wrong, None);
        }
    }
}
