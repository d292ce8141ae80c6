//! Serves, alone or before a client.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::{Context, anyhow};
use longhaul_app::failure::hinted;
use longhaul_app::gateway::{folder, secret};
use longhaul_app::network::load_network;
use longhaul_app::runtime::server_runtime;
use longhaul_app::settings::{GatewayConfig, Settings};
use longhaul_gateway::{
    Family, Gateway, GatewaySettings, GatewaySummary, GatewayToken, Mode, PlanSettings, RecordSessions,
    Upstream, Upstreams,
};
use longhaul_providers::MicroDollars;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::ServeOptions;
use super::client::{Client, arguments};
use crate::output::{plural, print_aside, visible};
use crate::running::watch;

/// Serves until it is interrupted, or until the client ends.
pub(super) fn run(
    options: &ServeOptions,
    load_settings: impl Fn() -> anyhow::Result<Settings>,
) -> anyhow::Result<ExitCode> {
    let Some((program, own)) = options.client.split_first() else {
        serve_alone(options, &load_settings()?)?;
        return Ok(ExitCode::SUCCESS);
    };
    match serve_client(options, load_settings, program, own) {
        Ok(code) => Ok(code),
        Err(NotServed::Started(error)) => Err(error),
        Err(NotServed::NotStarted(error)) => {
            // The user's work matters more than ours.
            print_aside(&format!(
                "warning: the gateway could not start: {}\nnote: starting {} without it\n",
                visible(&format!("{error:#}")),
                visible(&program.to_string_lossy())
            ));
            let status = Command::new(program).args(own).status();
            status.map(exit_code).map_err(|error| not_started(program, error))
        }
    }
}

/// A failure, and whether the client ran before it.
enum NotServed {
    NotStarted(anyhow::Error),
    Started(anyhow::Error),
}

fn serve_alone(options: &ServeOptions, settings: &Settings) -> anyhow::Result<()> {
    let runtime = server_runtime()?;
    let done = runtime.block_on(async {
        let cancel = CancellationToken::new();
        watch(&cancel)?;
        let (gateway, listener, base) = prepare(options, settings, None).await?;
        let mode = chosen_mode(options, &settings.gateway(), None);
        print_aside(&format!(
            "Longhaul gateway ({}): {base}\nPoint clients at it with ANTHROPIC_BASE_URL={base}, OPENAI_BASE_URL={base}/v1 or \
             GOOGLE_GEMINI_BASE_URL={base}\nPress Ctrl-C to end it.\n",
            mode.as_str()
        ));
        let summary = gateway.serve(listener, cancel).await?;
        tell_summary(summary);
        anyhow::Ok(())
    });
    runtime.shutdown_background();
    done
}

fn serve_client(
    options: &ServeOptions,
    load_settings: impl Fn() -> anyhow::Result<Settings>,
    program: &OsString,
    own: &[OsString],
) -> Result<ExitCode, NotServed> {
    let client = Client::of(program);
    let settings = load_settings().map_err(NotServed::NotStarted)?;
    let runtime = server_runtime().map_err(NotServed::NotStarted)?;
    let done = runtime.block_on(async {
        let (gateway, listener, base) =
            prepare(options, &settings, Some(client)).await.map_err(NotServed::NotStarted)?;
        // Signals are the client's: it shares our terminal.
        let signals = ClientSignals::new().map_err(|error| NotServed::NotStarted(error.into()))?;
        let cancel = CancellationToken::new();
        let serving = tokio::spawn(gateway.serve(listener, cancel.clone()));
        let variable = |name: &str| std::env::var(name).ok();
        let is_proxied = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
            .iter()
            .any(|name| variable(name).is_some_and(|value| !value.is_empty()));
        let except = variable("NO_PROXY").or_else(|| variable("no_proxy"));
        let launch = client.launch(&base, is_proxied, except.as_deref());
        let mut command = Command::new(program);
        command
            .args(arguments(&launch, own))
            .envs(launch.variables.iter().map(|(name, value)| (*name, value)));
        let mut child = command.spawn().map_err(|error| NotServed::Started(not_started(program, error)))?;
        let forwarding = tokio::spawn(signals.forward(child.id()));
        let ended = tokio::task::spawn_blocking(move || child.wait()).await;
        forwarding.abort();
        cancel.cancel();
        let summary = serving.await.ok().and_then(Result::ok);
        if let Some(summary) = summary {
            tell_summary(summary);
        }
        let status = ended
            .map_err(anyhow::Error::from)
            .and_then(|status| status.context("could not wait for the client"))
            .map_err(NotServed::Started)?;
        Ok(exit_code(status))
    });
    runtime.shutdown_background();
    done
}

/// A gateway that is ready to serve, its listener, and the address to give to clients.
async fn prepare(
    options: &ServeOptions,
    settings: &Settings,
    client: Option<Client>,
) -> anyhow::Result<(Gateway, TcpListener, String)> {
    let config = settings.gateway();
    let token = options.token_file.as_deref().map(read_token).transpose()?;
    if !options.bind.is_loopback() && token.is_none() {
        let error = anyhow!("{} can be reached from other machines", options.bind);
        return Err(hinted(error, "pass --token-file FILE, or listen on 127.0.0.1"));
    }
    let listener = listen(SocketAddr::new(options.bind, options.port)).await?;
    let address = listener.local_addr().context("could not tell the port")?;
    let folder = folder()?;
    let gateway_settings = GatewaySettings {
        mode: chosen_mode(options, &config, client),
        address,
        hosts: config.hosts.clone(),
        token,
        upstreams: upstreams(options, &config, client)?,
        secret: secret(&folder)?,
        folder,
        window: options.window.or(config.window),
        plan: plan_settings(&config),
        record: if config.is_recorded { RecordSessions::On } else { RecordSessions::Off },
        daily_cap: config.daily_cap.map(MicroDollars::from_dollars),
        user: settings.clone(),
    };
    let network = load_network(settings, options.ca_file.as_deref())?;
    let (gateway, fault) = Gateway::new(gateway_settings, network)?;
    if let Some(fault) = fault {
        print_aside(&format!("warning: requests pass as they are: {}\n", visible(&format!("{fault:#}"))));
    }
    Ok((gateway, listener, format!("http://{address}")))
}

fn chosen_mode(options: &ServeOptions, config: &GatewayConfig, client: Option<Client>) -> Mode {
    let stated = options.mode.as_deref().or(config.mode.as_deref()).and_then(Mode::parse);
    stated.unwrap_or(if client.is_some() { Mode::On } else { Mode::Observe })
}

fn plan_settings(config: &GatewayConfig) -> PlanSettings {
    let usual = PlanSettings::default();
    PlanSettings {
        tail: config.tail.map_or(usual.tail, |tail| tail.0 as f64),
        least_history: config.least_history.map_or(usual.least_history, |least| least.0 as f64),
    }
}

/// Upstreams: by flags, variables and the user's settings; else to the vendors.
fn upstreams(
    options: &ServeOptions,
    config: &GatewayConfig,
    client: Option<Client>,
) -> anyhow::Result<Upstreams> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let mut upstreams = Upstreams::new(client.and_then(Client::family));
    for family in Family::ALL {
        let (flag, name, vendor) = match family {
            Family::Anthropic => (&options.anthropic, "ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
            Family::Responses | Family::Chat => {
                (&options.openai, "OPENAI_BASE_URL", "https://api.openai.com/v1")
            }
            Family::Gemini => {
                (&options.gemini, "GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com")
            }
        };
        let stated = config.upstreams.get(family.as_str()).cloned();
        let (address, place) = match (flag.clone(), variable(name), stated) {
            (Some(address), ..) => (address, "the flag".to_string()),
            (None, Some(address), _) => (address, name.to_string()),
            (None, None, Some(address)) => (address, format!("longhaul.gateway.upstreams.{family}")),
            (None, None, None) => (vendor.to_string(), String::new()),
        };
        let upstream = Upstream::parse(&address)
            .map_err(|error| hinted(error, format!("correct the address in {place}")))?;
        upstreams.set(family, upstream);
    }
    Ok(upstreams)
}

fn read_token(file: &Path) -> anyhow::Result<GatewayToken> {
    let text = fs::read_to_string(file).with_context(|| format!("could not read {}", file.display()))?;
    GatewayToken::new(text.trim()).ok_or_else(|| {
        let error = anyhow!("{} holds no token", file.display());
        hinted(error, "put at least 24 letters and digits into it, for instance from `openssl rand -hex 24`")
    })
}

async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| {
        let in_use = error.kind() == ErrorKind::AddrInUse;
        let error = anyhow!(error).context(format!("could not listen on {address}"));
        match in_use {
            true => hinted(error, "another program uses it: pass another --port, or none for any free one"),
            false => error,
        }
    })
}

fn not_started(program: &OsString, error: std::io::Error) -> anyhow::Error {
    let name = program.to_string_lossy();
    let hint = match error.kind() {
        ErrorKind::NotFound => format!("install {name}, or pass the path of the program behind `--`"),
        _ => format!("check that {name} may be run"),
    };
    hinted(anyhow!(error).context(format!("could not start {name}")), hint)
}

fn tell_summary(summary: GatewaySummary) {
    let GatewaySummary { calls, compactions, bypassed } = summary;
    if compactions == 0 && bypassed == 0 {
        return;
    }
    let count = |count: i64, one: &str, many: &str| plural(usize::try_from(count).unwrap_or(0), one, many);
    let passed = match bypassed {
        0 => String::new(),
        bypassed => format!(", {} bypassed", count(bypassed, "conversation", "conversations")),
    };
    let (calls, compactions) =
        (count(calls, "call", "calls"), count(compactions, "compaction", "compactions"));
    print_aside(&format!("Longhaul gateway: {calls}, {compactions}{passed}\n"));
}

/// The exit code of a client, as shells tell it.
fn exit_code(status: ExitStatus) -> ExitCode {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return ExitCode::from(128_u8.saturating_add(u8::try_from(signal).unwrap_or(0)));
    }
    ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1))
}

/// Signals that come while a client runs. Those of the terminal reach it without us; a request to end is passed on.
#[cfg(unix)]
struct ClientSignals {
    interrupts: tokio::signal::unix::Signal,
    quits: tokio::signal::unix::Signal,
    ends: tokio::signal::unix::Signal,
    hangups: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl ClientSignals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Self {
            interrupts: signal(SignalKind::interrupt())?,
            quits: signal(SignalKind::quit())?,
            ends: signal(SignalKind::terminate())?,
            hangups: signal(SignalKind::hangup())?,
        })
    }

    async fn forward(mut self, client: u32) {
        use rustix::process::{Pid, Signal, kill_process};

        let Some(client) = i32::try_from(client).ok().and_then(Pid::from_raw) else { return };
        loop {
            let signal = tokio::select! {
                _ = self.interrupts.recv() => continue,
                _ = self.quits.recv() => continue,
                _ = self.ends.recv() => Signal::TERM,
                _ = self.hangups.recv() => Signal::HUP,
            };
            // One that has ended needs no signal.
            let _ = kill_process(client, signal);
        }
    }
}

#[cfg(not(unix))]
struct ClientSignals;

#[cfg(not(unix))]
impl ClientSignals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn forward(self, _: u32) {
        while tokio::signal::ctrl_c().await.is_ok() {}
    }
}
