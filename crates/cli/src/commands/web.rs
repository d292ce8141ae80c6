//! `longhaul web`: serves the page on loopback and opens it in a browser.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};

use anyhow::{Context, anyhow};
use clap::Args;
use longhaul_app::clock::now;
use longhaul_app::failure::hinted;
use longhaul_app::sessions::new_id;
use longhaul_app::settings::Settings;
use longhaul_conversation::Timestamp;
use longhaul_gateway::Store;
use longhaul_web::{
    GatewayCalls, GatewayCompaction, GatewayConversation, GatewayHeld, GatewaySource, GatewaySpend,
    GatewayStatus, GatewayTokens, PageSecrets, SiteOptions, serve,
};
use tokio::net::TcpListener;

use crate::output::print_aside;
use crate::running::until_interrupted;

#[derive(Debug, Args)]
pub(crate) struct WebOptions {
    /// Port on 127.0.0.1 [default: any free one].
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Show everything and change nothing: no undo, no archive, no changes to memory.
    #[arg(long)]
    read_only: bool,
    /// Print the address instead of opening it in a browser.
    #[arg(long)]
    no_open: bool,
}

/// Serves until it is interrupted.
pub(crate) fn run(
    options: &WebOptions,
    load_settings: impl Fn() -> anyhow::Result<Settings>,
) -> anyhow::Result<()> {
    let settings = load_settings()?;
    let secrets = PageSecrets::new(&secret(), &secret()).context("could not make a key for the page")?;
    until_interrupted(async |cancel| {
        let listener = listen(options.port).await?;
        let address = listener.local_addr().context("could not tell the port")?;
        let url = format!("http://{address}{}", secrets.path());
        print_aside(&format!("Longhaul's page: {url}\nPress Ctrl-C to end it.\n"));
        if !options.no_open && !open(&url) {
            print_aside("No browser could be started: open the address yourself.\n");
        }
        let gateway = Some(GatewaySource::new(gateway_status));
        let site = SiteOptions { settings, is_read_only: options.read_only, gateway };
        cancel.run_until_cancelled(serve(site, listener, secrets)).await.unwrap_or(Ok(()))
    })?
}

/// So many conversations and compactions of the gateway are shown.
const LISTED: usize = 50;

/// Status of the gateway, from its database.
fn gateway_status() -> anyhow::Result<Option<GatewayStatus>> {
    let Some(store) = Store::open_existing(&longhaul_app::gateway::folder()?)? else { return Ok(None) };
    let figures = store.figures()?;
    let figure = |name: &str| u64::try_from(figures.get(name).copied().unwrap_or_default()).unwrap_or(0);
    let refused =
        figures.iter().filter(|(name, _)| name.starts_with("refusals:")).map(|(name, _)| figure(name)).sum();
    let day: String = now().to_string().chars().take(10).collect();
    let conversations = store.conversations(LISTED)?.into_iter().map(|record| GatewayConversation {
        client: record.client,
        model: record.model,
        session: record.session,
        calls: record.requests,
        tokens: record.tokens,
        compactions: record.compactions,
        last: Timestamp::from_millis(record.last),
    });
    let compactions = store.compactions(LISTED)?.into_iter().map(|record| GatewayCompaction {
        number: record.id,
        at: Timestamp::from_millis(record.at),
        occasion: record.occasion,
        messages: record.messages as u64,
        before: record.before,
        after: record.after,
        snapshot: record.snapshot,
        session: record.session,
    });
    Ok(Some(GatewayStatus {
        calls: GatewayCalls { all: figure("requests:generate"), rewritten: figure("rewritten"), refused },
        tokens: GatewayTokens {
            input: figure("tokens:input"),
            cached: figure("tokens:cached"),
            output: figure("tokens:output"),
        },
        held: GatewayHeld {
            calls: figure("held:calls"),
            microseconds: figure("held:microseconds"),
            slow: figure("held:slow"),
        },
        spend: GatewaySpend {
            today: u64::try_from(store.spent(&day)?).unwrap_or(0),
            all: figure("spent_microdollars"),
        },
        conversations: conversations.collect(),
        compactions: compactions.collect(),
    }))
}

async fn listen(port: u16) -> anyhow::Result<TcpListener> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpListener::bind(address).await.map_err(|error| {
        let in_use = error.kind() == std::io::ErrorKind::AddrInUse;
        let error = anyhow!(error).context(format!("could not listen on port {port}"));
        match in_use {
            true => hinted(error, "another program uses it: pass another --port, or none for any free one"),
            false => error,
        }
    })
}

/// 256 random bits.
fn secret() -> String {
    format!("{}{}", new_id(), new_id()).replace('-', "")
}

/// Starts the system's browser; false if there is none to start.
fn open(url: &str) -> bool {
    let program = match () {
        () if cfg!(target_os = "macos") => "open",
        () if cfg!(windows) => "explorer",
        () => "xdg-open",
    };
    // Without a screen a browser in the terminal would take it over.
    let has_screen = cfg!(not(target_os = "linux"))
        || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    let quiet = || {
        Command::new(program)
            .arg(url)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
    };
    has_screen && quiet().is_ok()
}
