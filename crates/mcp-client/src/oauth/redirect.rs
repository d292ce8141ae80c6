//! The address on loopback to which the browser returns with a code.

use std::net::{IpAddr, Ipv4Addr};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::endpoints::{checked, field};

/// The path without a setting.
const USUAL_PATH: &str = "/oauth/callback";
/// The longest request line that is read.
const LONGEST_LINE: u64 = 16 * 1024;

/// A listener for the browser.
pub(crate) struct Redirect {
    listener: TcpListener,
    /// The address as the authorization server knows it.
    pub(crate) uri: String,
    path: String,
}

/// The credentials that the browser brought.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Returned {
    pub(crate) code: Result<String, String>,
    pub(crate) state: String,
    pub(crate) issuer: Option<String>,
}

impl Redirect {
    /// Listens at an address of the settings, or at any free port.
    pub(crate) async fn open(given: Option<&str>) -> Result<Self, String> {
        let (host, port, path) = match given {
            None => ("127.0.0.1".to_string(), 0, USUAL_PATH.to_string()),
            Some(given) => {
                let uri = checked(given)?;
                let host = uri.host().unwrap_or_default().to_string();
                if uri.scheme_str() != Some("http") {
                    return Err(format!("redirectUri must be an address on this machine, not {given}"));
                }
                (host, uri.port_u16().unwrap_or(80), uri.path().to_string())
            }
        };
        let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let address = if host == "[::1]" { IpAddr::V6(std::net::Ipv6Addr::LOCALHOST) } else { loopback };
        let listener = TcpListener::bind((address, port))
            .await
            .map_err(|error| format!("could not listen at {host}:{port} for the browser: {error}"))?;
        let port = listener.local_addr().map_err(|error| error.to_string())?.port();
        Ok(Self { listener, uri: format!("http://{host}:{port}{path}"), path })
    }

    /// Waits for the browser. Requests for anything else, or with another state, change nothing.
    pub(crate) async fn wait(&self, state: &str) -> Result<Returned, String> {
        loop {
            let (stream, _) = self.listener.accept().await.map_err(|error| error.to_string())?;
            // A browser may open connections that it never uses.
            let read = tokio::time::timeout(std::time::Duration::from_secs(5), request_target(stream)).await;
            let Ok(Some((target, stream))) = read else { continue };
            let returned = self.read(&target).filter(|returned| returned.state == state);
            answer(stream, returned.as_ref()).await;
            if let Some(returned) = returned {
                return Ok(returned);
            }
        }
    }

    fn read(&self, target: &str) -> Option<Returned> {
        let (path, query) = target.split_once('?')?;
        if path != self.path {
            return None;
        }
        let code = match (field(query, "code"), field(query, "error")) {
            (Some(code), None) => Ok(code),
            (_, Some(error)) => Err(field(query, "error_description").unwrap_or(error)),
            (None, None) => return None,
        };
        Some(Returned { code, state: field(query, "state")?, issuer: field(query, "iss") })
    }
}

/// The request of a connection.
async fn request_target(mut stream: TcpStream) -> Option<(String, TcpStream)> {
    let mut line = String::new();
    BufReader::new((&mut stream).take(LONGEST_LINE)).read_line(&mut line).await.ok()?;
    let target = line.strip_prefix("GET ")?.split(' ').next()?.to_string();
    Some((target, stream))
}

async fn answer(mut stream: TcpStream, returned: Option<&Returned>) {
    let (status, text) = match returned.map(|returned| &returned.code) {
        Some(Ok(_)) => ("200 OK", "Signed in. You can close this window and return to the terminal."),
        Some(Err(_)) => ("200 OK", "Not signed in. The terminal says why; you can close this window."),
        None => ("404 Not Found", "There is nothing here."),
    };
    let page = format!("<!doctype html><meta charset=utf-8><title>Longhaul</title><p>{text}</p>");
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
        page.len()
    );
    // Whatever the browser shows, the code is here.
    let _ = stream.write_all(format!("{head}{page}").as_bytes()).await;
    let _ = stream.shutdown().await;
    // Closing with unread bytes would reset the connection before the page is shown.
    let mut rest = [0; 4096];
    let drained = async { while stream.read(&mut rest).await.is_ok_and(|count| count > 0) {} };
    let _ = tokio::time::timeout(std::time::Duration::from_millis(500), drained).await;
}
