//! `longhaul gateway`: serves in front of providers, starts a client behind it, and shows what it did.

mod anchors;
mod client;
mod serve;
mod status;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use longhaul_app::settings::Settings;
use longhaul_conversation::TokenCount;

use crate::options::parse_tokens;
use crate::output::Screen;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct GatewayArgs {
    #[command(subcommand)]
    command: Option<GatewayCommand>,
    #[command(flatten)]
    serve: ServeOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ServeOptions {
    /// Treatment of requests: observe (pass and record) or on (keep them inside the window) [default: on before a client].
    #[arg(long, value_name = "MODE", value_parser = ["observe", "on"])]
    mode: Option<String>,
    /// Port to listen on [default: any free one].
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Address to listen on; any but this machine's own needs --token-file.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", hide_default_value = true)]
    bind: std::net::IpAddr,
    /// File with the token that every request must bring in x-longhaul-token.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Address for Anthropic requests [default: ANTHROPIC_BASE_URL, else the vendor].
    #[arg(long, value_name = "URL")]
    anthropic: Option<String>,
    /// Address for OpenAI requests [default: OPENAI_BASE_URL, else the vendor].
    #[arg(long, value_name = "URL")]
    openai: Option<String>,
    /// Address for Gemini requests [default: GOOGLE_GEMINI_BASE_URL, else the vendor].
    #[arg(long, value_name = "URL")]
    gemini: Option<String>,
    /// Context window that requests must fit, such as 200k [default: the model's].
    #[arg(long, value_name = "N", value_parser = parse_tokens)]
    window: Option<TokenCount>,
    /// PEM file of certificates to trust beside the system's.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Client to start behind the gateway, with its arguments: claude, codex, gemini, opencode, aider, or any program.
    #[arg(last = true, value_name = "CLIENT")]
    client: Vec<OsString>,
}

#[derive(Debug, Subcommand)]
enum GatewayCommand {
    /// Show what the gateway did: calls, tokens, compactions, spend.
    Status,
    /// List compactions, newest first.
    List,
    /// Show the text that stands for older messages.
    Preview {
        /// Number in `gateway list`.
        number: i64,
    },
    /// Undo a compaction: the messages are sent again, and not compacted there anew.
    Undo {
        /// Number in `gateway list`.
        number: i64,
    },
}

/// Runs the command; the exit code is the client's, if one was started.
pub(crate) fn run(
    args: &GatewayArgs,
    load_settings: impl Fn() -> anyhow::Result<Settings>,
    screen: &Screen,
) -> anyhow::Result<ExitCode> {
    match &args.command {
        None => serve::run(&args.serve, load_settings),
        Some(GatewayCommand::Status) => status::run(screen).map(|()| ExitCode::SUCCESS),
        Some(GatewayCommand::List) => anchors::list().map(|()| ExitCode::SUCCESS),
        Some(GatewayCommand::Preview { number }) => anchors::preview(*number).map(|()| ExitCode::SUCCESS),
        Some(GatewayCommand::Undo { number }) => anchors::undo(*number).map(|()| ExitCode::SUCCESS),
    }
}
