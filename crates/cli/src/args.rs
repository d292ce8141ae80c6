//! The arguments of the program.

use clap::builder::styling::{AnsiColor, Styles};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};

use crate::commands::agents::AgentsCommand;
use crate::commands::compress::CompressOptions;
use crate::commands::demo::DemoOptions;
use crate::commands::doctor::DoctorOptions;
use crate::commands::eval::EvalOptions;
use crate::commands::inspect::InspectOptions;
use crate::commands::memory::MemoryArgs;
use crate::commands::policy::PolicyArgs;
use crate::commands::recall::RecallOptions;
use crate::commands::sessions::SessionsCommand;
use crate::commands::skills::SkillsArgs;
use crate::commands::trust::TrustCommand;
use crate::options::TalkOptions;
use crate::output::Color;

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

impl Args {
    /// Returns true if models are asked, and with them perhaps commands and hooks run.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Args::command().debug_assert();
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
}
