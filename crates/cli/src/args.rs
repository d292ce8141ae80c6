//! The program's arguments.

use clap::builder::styling::{AnsiColor, Styles};
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::commands::agents::AgentsArgs;
use crate::commands::archive::ArchiveCommand;
use crate::commands::blame::BlameOptions;
use crate::commands::compress::CompressOptions;
use crate::commands::demo::DemoOptions;
use crate::commands::directives::DirectivesArgs;
use crate::commands::doctor::DoctorOptions;
use crate::commands::eval::EvalOptions;
use crate::commands::gateway::GatewayArgs;
use crate::commands::guard::GuardArgs;
use crate::commands::handoff::HandoffOptions;
use crate::commands::inspect::InspectOptions;
use crate::commands::install::{InstallOptions, UninstallOptions};
use crate::commands::man::ManOptions;
use crate::commands::mcp::McpArgs;
use crate::commands::memory::MemoryArgs;
use crate::commands::models::ModelsOptions;
use crate::commands::policy::PolicyArgs;
use crate::commands::purge::PurgeOptions;
use crate::commands::recall::RecallOptions;
use crate::commands::report::ReportOptions;
use crate::commands::sessions::SessionsArgs;
use crate::commands::skills::SkillsArgs;
use crate::commands::trust::TrustArgs;
use crate::commands::usage::UsageOptions;
use crate::commands::web::WebOptions;
use crate::options::TalkOptions;
use crate::output::Color;

const STYLES: Styles =
    Styles::styled().header(AnsiColor::Green.on_default().bold()).literal(AnsiColor::Cyan.on_default());

/// The commands by purpose. One that stands in no group is listed as the last of all.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Look into sessions of any agent",
        &["inspect", "recall", "blame", "sessions", "eval", "usage", "archive", "web", "report"],
    ),
    ("Shorten them", &["compress", "rules", "requests", "handoff"]),
    ("Work beside another agent", &["install", "uninstall", "guard", "mcp", "gateway"]),
    ("The agent", &["models", "memory", "skills", "agents", "policy", "trust"]),
    ("Longhaul itself", &["demo", "doctor", "purge", "completions", "man", "help"]),
];

const USAGE: &str = "longhaul [OPTIONS] [PROMPT]\n       longhaul COMMAND ...";

const EXAMPLES: &str = "\
Examples:
  longhaul                                    Start the agent in this folder
  longhaul \"fix the failing test\"             Start it with a prompt
  longhaul -c                                 Continue the latest session
  longhaul -p \"what changed?\" -m sonnet       Ask once, print the answer
  longhaul inspect session.jsonl              Show where a session's tokens went
  longhaul compress session.jsonl -o small.jsonl --force

Without a command, `longhaul` starts the agent. It needs a model: a key in GEMINI_API_KEY, ANTHROPIC_API_KEY
or OPENAI_API_KEY, or a local server. Everything else works without. More: `longhaul help COMMAND`.";

/// Keep long conversations with coding agents inside the context window.
#[derive(Debug, Parser)]
#[command(name = "longhaul", version = env!("LONGHAUL_VERSION"), styles = STYLES, after_help = EXAMPLES, override_usage = USAGE)]
pub(crate) struct Args {
    /// Use colours: auto, always or never.
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true,
        hide_possible_values = true,
        display_order = 1_000
    )]
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
    /// List models: what is known, and what your servers offer.
    Models(ModelsOptions),
    /// Copy every agent's sessions so that nothing is lost; show, prune and delete the copies.
    #[command(subcommand)]
    Archive(ArchiveCommand),
    /// Search this folder's sessions, or with --all every agent's, including what was compacted away.
    Recall(RecallOptions),
    /// Show which session and which request wrote each line of a file, or one line.
    Blame(BlameOptions),
    /// List, show, import, delete, repair and convert sessions, undo compactions; defaults to `sessions list`.
    Sessions(SessionsArgs),
    /// List and correct the rules recognised in a session; defaults to those of the latest one.
    Rules(DirectivesArgs),
    /// List and correct the requests recognised in a session; defaults to those of the latest one.
    Requests(DirectivesArgs),
    /// Show what sessions have used, in tokens and money, by day, model, project or agent.
    Usage(UsageOptions),
    /// Play a scripted session that gets compacted; needs no key and no network.
    Demo(DemoOptions),
    /// Show memory files and add facts to them; defaults to `memory show`.
    Memory(MemoryArgs),
    /// List, show, install, enable and disable skills; defaults to `skills list`.
    Skills(SkillsArgs),
    /// List, add and remove trusted folders; defaults to `trust list`.
    Trust(TrustArgs),
    /// Show the sub-agents available here; defaults to `agents list`.
    Agents(AgentsArgs),
    /// List and revoke tool approvals, and explain which rule applies to a call; defaults to `policy list`.
    Policy(PolicyArgs),
    /// Compact a session and continue it in Claude Code, Codex, Gemini CLI or opencode.
    Handoff(HandoffOptions),
    /// Guard Claude Code, Codex, Gemini CLI or opencode: bring rules and work back after their own compaction.
    Install(InstallOptions),
    /// Remove the guard from an agent.
    Uninstall(UninstallOptions),
    /// Answer an agent's hook, or report what the agent's own compactions lost.
    Guard(GuardArgs),
    /// Keep any client's conversations inside the window, and cheaper: `longhaul gateway -- claude`.
    Gateway(GatewayArgs),
    /// Serve recorded sessions, rules and memory to other agents (MCP); manage the servers that Longhaul's agent uses.
    Mcp(McpArgs),
    /// Write a session as one web page to share, secrets taken out.
    Report(ReportOptions),
    /// Open a page over all sessions, their contexts and compactions, search and memory; nothing leaves this machine.
    Web(WebOptions),
    /// Check your setup and report problems.
    Doctor(DoctorOptions),
    /// Print a shell completion script.
    Completions {
        /// Shell to print the script for.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one for each command.
    Man(ManOptions),
    /// Show what Longhaul keeps on this machine, and remove it.
    Purge(PurgeOptions),
}

impl Args {
    /// Reads the program's arguments.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        Self::from_arg_matches(&Self::definition().try_get_matches()?)
    }

    /// The definition of all arguments, with the commands of the help in groups.
    pub(crate) fn definition() -> clap::Command {
        let command = <Self as CommandFactory>::command();
        let template = help_template(&command);
        command.help_template(template)
    }

    /// Returns true if the command may call models, and so may run commands and hooks.
    pub(crate) fn asks_models(&self) -> bool {
        match &self.command {
            None | Some(Command::Models(_)) => true,
            Some(Command::Compress(options)) => options.asks_models(),
            Some(Command::Eval(options)) => options.asks_models(),
            Some(Command::Skills(args)) => args.asks_models(),
            Some(Command::Mcp(args)) => args.starts_servers(),
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
        if self.command.is_none() {
            let definition = Self::command();
            let names = definition.get_subcommands().map(clap::Command::get_name);
            if let Some(name) = self.talk.mistyped_command(names) {
                let message =
                    format!("unknown command; did you mean `{name}`? To send it as a prompt, use -p");
                return Some(Self::command().error(ErrorKind::InvalidSubcommand, message));
            }
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
        let message = "no prompt: pass one as an argument, with -p or on standard input";
        Self::command().error(ErrorKind::MissingRequiredArgument, message)
    }

    /// The help, printed when there is nothing to do.
    pub(crate) fn help() -> clap::Error {
        let command = Self::definition().arg_required_else_help(true);
        command.try_get_matches_from(["longhaul"]).expect_err("an argument is required, and none is given")
    }
}

/// The layout of the help: usage, the commands in groups, options.
fn help_template(command: &clap::Command) -> String {
    let (header, literal) = (STYLES.get_header(), STYLES.get_literal());
    let is_grouped = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let all: Vec<&clap::Command> = command.get_subcommands().filter(|known| !known.is_hide_set()).collect();
    let line = |name: &str| {
        let known = all.iter().find(|known| known.get_name() == name)?;
        let about = known.get_about().map(ToString::to_string).unwrap_or_default();
        Some(format!("  {literal}{name:<12}{literal:#} {about}\n"))
    };
    let mut groups = String::new();
    for (title, names) in GROUPS {
        let lines: String = names.iter().filter_map(|name| line(name)).collect();
        if !lines.is_empty() {
            groups.push_str(&format!("{header}{title}:{header:#}\n{lines}\n"));
        }
    }
    let rest: String =
        all.iter().map(|known| known.get_name()).filter(|name| !is_grouped(name)).filter_map(line).collect();
    if !rest.is_empty() {
        groups.push_str(&format!("{header}More:{header:#}\n{rest}\n"));
    }
    format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{groups}{header}Arguments:{header:#}\n{{positionals}}\n\n\
         {header}Options:{header:#}\n{{options}}{{after-help}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn every_command_is_in_the_help_once() {
        let help = Args::definition().render_help().to_string();
        for command in Args::command().get_subcommands() {
            let line = format!("\n  {:<12} ", command.get_name());
            assert_eq!(help.matches(&line).count(), 1, "{}", command.get_name());
        }
    }

    #[test]
    fn a_prompt_may_stand_alone_but_a_mistyped_command_is_none() {
        let read = |arguments: &[&str]| Args::try_parse_from([&["longhaul"], arguments].concat());
        let is_refused = |prompt: &str| read(&[prompt]).expect("one argument").misplaced().is_some();
        assert!(!is_refused("fix the failing test") && !is_refused("hi") && !is_refused("解释这个"));
        assert!(is_refused("inspct") && is_refused("session"));
        assert_eq!(read(&["fix it"]).expect("a prompt").talk.first_prompt(), Some("fix it"));
        assert!(read(&["fix it", "-p", "x"]).is_err() && read(&["-c", "--resume", "2"]).is_err());
        let resumed = read(&["-c"]).expect("a flag");
        assert_eq!(resumed.talk.resume(), Some(std::path::Path::new("latest")));
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
