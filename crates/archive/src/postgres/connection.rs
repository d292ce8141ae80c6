//! A connection to a server: driven by a thread of its own, used by waiting.
//!
//! Statements are never named and settings hold for one transaction, so that a pooler may give each transaction another
//! connection.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

use tokio_postgres::config::SslMode;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, NoTls, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::ArchiveError;

/// So long a server is waited for, unless the address says otherwise.
const CONNECT: Duration = Duration::from_secs(10);

/// A parameter with its type, so that the server need not be asked for it.
pub(crate) type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// A connection; it ends when it is dropped.
pub(crate) struct Connection {
    client: Option<Client>,
    driver: Option<JoinHandle<()>>,
}

impl Connection {
    pub(crate) fn open(config: &Config) -> Result<Self, ArchiveError> {
        let mut config = config.clone();
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_application_name().is_none() {
            config.application_name("longhaul");
        }
        let (send, receive) = mpsc::channel();
        let driver = thread::Builder::new().name("postgres".into()).spawn(move || drive(&config, &send));
        let driver = driver.map_err(|cause| ArchiveError::Connect { cause: Box::new(cause) })?;
        let client = receive.recv().unwrap_or_else(|_| {
            Err(ArchiveError::Connect { cause: "the connection's thread ended".into() })
        })?;
        Ok(Self { client: Some(client), driver: Some(driver) })
    }

    fn client(&self) -> &Client {
        self.client.as_ref().expect("it is only taken when the connection is dropped")
    }

    /// True if the server or the network has ended it.
    pub(crate) fn is_closed(&self) -> bool {
        self.client().is_closed()
    }

    /// Runs statements without parameters.
    pub(crate) fn run(&self, statements: &str) -> Result<(), ArchiveError> {
        Ok(wait(self.client().batch_execute(statements))?)
    }

    pub(crate) fn query(&self, query: &str, parameters: &[Parameter<'_>]) -> Result<Vec<Row>, ArchiveError> {
        Ok(wait(self.client().query_typed(query, parameters))?)
    }

    /// The only row of an answer.
    pub(crate) fn one(&self, query: &str, parameters: &[Parameter<'_>]) -> Result<Row, ArchiveError> {
        Ok(wait(self.client().query_typed_one(query, parameters))?)
    }

    /// Changes rows; their number.
    pub(crate) fn execute(&self, query: &str, parameters: &[Parameter<'_>]) -> Result<u64, ArchiveError> {
        Ok(wait(self.client().execute_typed(query, parameters))?)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Without its client the connection ends.
        self.client = None;
        if let Some(driver) = self.driver.take() {
            let _ = driver.join();
        }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

fn drive(config: &Config, client: &mpsc::Sender<Result<Client, ArchiveError>>) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(cause) => {
            let _ = client.send(Err(ArchiveError::Connect { cause: Box::new(cause) }));
            return;
        }
    };
    runtime.block_on(async {
        if config.get_ssl_mode() == SslMode::Disable {
            match config.connect(NoTls).await {
                Ok((made, connection)) => {
                    let _ = client.send(Ok(made));
                    // The client sees how it ended.
                    let _ = connection.await;
                }
                Err(cause) => {
                    let _ = client.send(Err(ArchiveError::Connect { cause: Box::new(cause) }));
                }
            }
            return;
        }
        let connected = match encryption() {
            Ok(tls) => config.connect(tls).await.map_err(|cause| Box::new(cause) as _),
            Err(cause) => Err(cause),
        };
        match connected {
            Ok((made, connection)) => {
                let _ = client.send(Ok(made));
                let _ = connection.await;
            }
            Err(cause) => {
                let _ = client.send(Err(ArchiveError::Connect { cause }));
            }
        }
    });
}

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// TLS with the certificates that this machine trusts.
fn encryption() -> Result<MakeRustlsConnect, Cause> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// Waits for an answer. The connection is driven by another thread, so that this works inside and outside of a runtime.
fn wait<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(answer) => return answer,
            Poll::Pending => thread::park(),
        }
    }
}
