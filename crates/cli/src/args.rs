//! The program's arguments.

use clap::builder::styling::{AnsiColor, Styles};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};

use crate::commands::agents::AgentsCommand;
use crate::commands::archive::ArchiveCommand;
use crate::commands::compress::CompressOptions;
use crate::commands::demo::DemoOptions;
use crate::commands::directives::DirectivesArgs;
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

/// Keep long conversations with coding agents inside the context window.
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
    /// Show where a session's tokens went, and what is broken in it.
    Inspect(InspectOptions),
    /// Shorten a recorded session so that an agent can continue from it.
    Compress(CompressOptions),
    /// Measure how well compaction keeps what later work needed.
    Eval(EvalOptions),
    /// Copy every agent's sessions so that nothing is lost; show, prune and delete the copies.
    #[command(subcommand)]
    Archive(ArchiveCommand),
    /// Search this folder's sessions, or with --all every agent's, including what was compacted away.
    Recall(RecallOptions),
    /// List, show, import, delete, repair and convert sessions; undo compactions.
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// List and correct the rules recognised in a session.
    Rules(DirectivesArgs),
    /// List and correct the requests recognised in a session.
    Requests(DirectivesArgs),
    /// Play a scripted session that gets compacted; needs no key and no network.
    Demo(DemoOptions),
    /// Show memory files and add facts to them; defaults to `memory show`.
    Memory(MemoryArgs),
    /// List, show, install, enable and disable skills; defaults to `skills list`.
    Skills(SkillsArgs),
    /// Manage trusted folders.
    #[command(subcommand)]
    Trust(TrustCommand),
    /// Show the sub-agents available here.
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// List and revoke tool approvals, and explain which rule applies to a call; defaults to `policy list`.
    Policy(PolicyArgs),
    /// Check your setup and report problems.
    Doctor(DoctorOptions),
    /// Print a shell completion script.
    Completions {
        /// Shell to print the script for.
        shell: clap_complete::Shell,
    },
}

impl Args {
    /// Returns true if the command may call models, and so may run commands and hooks.
    pub(crate) fn asks_models(&self) -> bool {
        match &self.command {
            None => true,
            Some(Command::Compress(options)) => options.asks_models(),
            Some(Command::Eval(options)) => options.asks_models(),
            Some(Command::Skills(args)) => args.asks_models(),
            Some(_) => false,
        }
    }

    /// The error for conversation options given together with a subcommand.
    pub(crate) fn misplaced(&self) -> Option<clap::Error> {
        if self.command.is_some() && !self.talk.is_empty() {
            let message = "-p, -m, --resume and other conversation options cannot precede a command; put the command's own \
                           options after it";
            return Some(Self::command().error(ErrorKind::ArgumentConflict, message));
        }
        let is_idle = match &self.command {
            Some(Command::Compress(options)) => options.names_idle_model(),
            Some(Command::Eval(options)) => options.names_idle_model(),
            _ => false,
        };
        is_idle.then(|| {
            let message = "-m and --ca-file require --summariser model";
            Self::command().error(ErrorKind::MissingRequiredArgument, message)
        })
    }

    /// The error for a headless run without a prompt.
    pub(crate) fn nothing_said() -> clap::Error {
        let message = "no prompt: pass one with -p or on standard input";
        Self::command().error(ErrorKind::MissingRequiredArgument, message)
    }

    /// The help, printed when there is nothing to do.
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
        assert!(help.to_string().starts_with("Keep long conversations"), "{help}");
    }
}
