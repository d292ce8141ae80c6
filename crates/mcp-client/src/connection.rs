//! A connection to a server: its process if it has one, the handshake, and what it said on standard error.

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use longhaul_display::text::visible_text;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, RoleClient, RunningService, serve_client_with_lifecycle,
};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::address::ServerRequests;
use crate::config::{ServerCommand, ServerConfig, ServerPlace};
use crate::lines::ServerLines;
use crate::listing::{Listing, list_tools};

/// The longest wait for a server to open its connection; package runners may have to fetch it first.
const LONGEST_START: Duration = Duration::from_secs(60);

/// So much of the end of what it wrote to standard error is kept, to tell why it failed.
const KEPT_ERRORS: usize = 2_000;

/// The longest wait for the last words of a server that failed.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A server that is connected. Dropping it ends its process and everything that it started.
pub(crate) struct Connection {
    service: RunningService<RoleClient, ClientConfig>,
    process: Option<ServerProcess>,
}

/// A process in a group of its own.
struct ServerProcess {
    child: Child,
    /// The end of its standard error.
    errors: Arc<Mutex<Vec<u8>>>,
    /// Reads its standard error.
    reader: JoinHandle<()>,
}

impl Connection {
    /// Starts a server and lists its tools.
    pub(crate) async fn open(config: &ServerConfig) -> Result<(Self, Listing), String> {
        let limit = config.timeout.min(LONGEST_START);
        let opened = match Self::connect(config, ClientLifecycleMode::Initialize, limit).await {
            Ok(opened) => opened,
            // A server of the newest revision alone knows no handshake.
            Err((reason, true)) => {
                let discover =
                    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
                Self::connect(config, discover, limit).await.map_err(|_| reason)?
            }
            Err((reason, false)) => return Err(reason),
        };
        match list_tools(opened.service.peer(), config, limit).await {
            Ok(listing) => Ok((opened, listing)),
            Err(reason) => Err(opened.explain(&reason)),
        }
    }

    /// Starts the process and opens the connection; an error says whether the server answered at all.
    async fn connect(
        config: &ServerConfig,
        lifecycle: ClientLifecycleMode,
        limit: Duration,
    ) -> Result<Self, (String, bool)> {
        let client = Implementation::new("longhaul", env!("CARGO_PKG_VERSION")).with_title("Longhaul");
        let client = ClientConfig::new(ClientCapabilities::default(), client);
        let (opened, mut process) = match &config.place {
            ServerPlace::Command(command) => {
                let (process, transport) = ServerProcess::start(command).map_err(|reason| (reason, false))?;
                let opened = timeout(limit, serve_client_with_lifecycle(client, transport, lifecycle));
                (opened.await, Some(process))
            }
            ServerPlace::Address(address) => {
                let transport =
                    ServerRequests::new(&config.name, address).map_err(|reason| (reason, false))?;
                (timeout(limit, serve_client_with_lifecycle(client, transport, lifecycle)).await, None)
            }
        };
        let (reason, has_answered) = match opened {
            Ok(Ok(service)) => return Ok(Self { service, process }),
            Ok(Err(ClientInitializeError::JsonRpcError(error))) => {
                (format!("refused the connection: {}", error.message), true)
            }
            Ok(Err(error)) => {
                let status = match &mut process {
                    Some(process) => process.wait_briefly().await,
                    None => None,
                };
                let reason = match status {
                    Some(status) => format!("ended before it answered ({status})"),
                    None => format!("could not open the connection: {error}"),
                };
                (reason, false)
            }
            Err(_) => (format!("did not answer within {} s", limit.as_secs_f32()), false),
        };
        Err((explain(process.as_ref(), &reason), has_answered))
    }

    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.service.is_transport_closed()
    }

    /// A reason with what the server wrote last to standard error.
    pub(crate) fn explain(&self, reason: &str) -> String {
        explain(self.process.as_ref(), reason)
    }
}

fn explain(process: Option<&ServerProcess>, reason: &str) -> String {
    process.map_or_else(|| reason.to_string(), |process| process.explain(reason))
}

type ProcessLines = ServerLines<tokio::process::ChildStdout, tokio::process::ChildStdin>;

impl ServerProcess {
    fn start(command: &ServerCommand) -> Result<(Self, ProcessLines), String> {
        let mut process = Command::new(&command.program);
        process.args(&command.args).current_dir(&command.folder);
        process.env_clear().envs(command.environment.iter().map(|(name, value)| (name, value)));
        process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        // It must not get the keys that are pressed at the terminal, Ctrl+C among them.
        #[cfg(unix)]
        process.process_group(0);
        let program = visible_text(&command.program);
        let failed = |error: std::io::Error| match command.folder.is_dir() {
            true => format!("could not start {program}: {error}"),
            false => format!("its folder {} does not exist", command.folder.display()),
        };
        let mut child = process.spawn().map_err(failed)?;
        let (Some(input), Some(output), Some(stderr)) =
            (child.stdout.take(), child.stdin.take(), child.stderr.take())
        else {
            return Err(format!("could not reach the streams of {program}"));
        };
        let errors = Arc::default();
        let reader = tokio::spawn(keep_end(stderr, Arc::clone(&errors)));
        Ok((Self { child, errors, reader }, ServerLines::new(input, output)))
    }

    /// Waits a moment for the end of a process that closed its streams, and for its last words.
    async fn wait_briefly(&mut self) -> Option<std::process::ExitStatus> {
        let status = timeout(LAST_WORDS, self.child.wait()).await.ok()?.ok();
        let _ = timeout(LAST_WORDS, &mut self.reader).await;
        status
    }

    fn explain(&self, reason: &str) -> String {
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&errors);
        let mut last: Vec<&str> = text.lines().rev().filter(|line| !line.trim().is_empty()).take(3).collect();
        last.reverse();
        match last.is_empty() {
            true => reason.to_string(),
            false => format!("{reason}; it said: {}", visible_text(&last.join(" / "))),
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(group) = self.child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

/// Reads a stream to its end and keeps the last of it.
async fn keep_end(mut stream: impl AsyncRead + Unpin, kept: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = vec![0; 4096];
    while let Ok(count) = stream.read(&mut buffer).await {
        if count == 0 {
            break;
        }
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&buffer[..count]);
        let surplus = kept.len().saturating_sub(KEPT_ERRORS);
        kept.drain(..surplus);
    }
}
