//! The tool `web_fetch`.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderValue, LOCATION, USER_AGENT};
use hyper::{Request, Response, Uri, body::Incoming};
use longhaul_conversation::ToolDeclaration;
use longhaul_providers::{HttpClient, Network, Proxies, Reach};
use longhaul_tools::{
    BoxFuture, Preview, Tool, ToolAnswer, ToolDisplay, ToolInvocation, ToolOutcome, parse_arguments,
    schema_of,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::address::{parse_address, resolve};
use crate::answer::{ContentType, framed, read_page};

/// The tool's name.
const NAME: &str = "web_fetch";

/// The most redirects that are followed.
const MOST_REDIRECTS: usize = 5;

/// Settings of the tool.
#[derive(Clone, Debug)]
pub struct FetchSettings {
    /// The proxies to go through.
    pub proxies: Proxies,
    /// The addresses that may be connected to.
    pub reach: Reach,
    /// The most bytes of a page that are read.
    pub most_bytes: usize,
    /// The most time for a page, redirects included.
    pub time: Duration,
    /// The program's version, which is told to servers.
    pub version: &'static str,
}

impl Default for FetchSettings {
    fn default() -> Self {
        Self {
            proxies: Proxies::default(),
            reach: Reach::PublicInternet,
            most_bytes: 5 << 20,
            time: Duration::from_secs(30),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

/// The tool `web_fetch`: reads a page of the web as text.
#[derive(Clone, Debug)]
pub struct WebFetch {
    client: HttpClient,
    settings: FetchSettings,
}

/// The arguments of `web_fetch`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WebFetchArguments {
    /// The page's address, beginning with https:// or http://.
    url: String,
}

/// An answer that was read.
struct Fetched {
    address: Uri,
    kind: ContentType,
    body: Vec<u8>,
    is_cut: bool,
}

impl WebFetch {
    /// The tool with these settings. Nothing is opened before the first call.
    pub fn new(settings: FetchSettings) -> Self {
        let network =
            Network { proxies: settings.proxies.clone(), reach: settings.reach, ..Network::default() };
        Self { client: HttpClient::new(network), settings }
    }

    async fn answer(&self, args: &Value) -> ToolAnswer {
        let address = match address_of(args) {
            Ok(address) => address,
            Err(why) => return ToolAnswer::failed(why),
        };
        let fetched = match tokio::time::timeout(self.settings.time, self.fetch(address.clone())).await {
            Ok(Ok(fetched)) => fetched,
            Ok(Err(why)) => return ToolAnswer::failed(why),
            Err(_) => {
                let seconds = self.settings.time.as_secs_f64();
                return ToolAnswer::failed(format!("{address} did not answer within {seconds} s."));
            }
        };
        let Fetched { address, kind, body, is_cut } = fetched;
        let page = if kind.is_text() { read_page(&kind, &body, &address) } else { None };
        let Some(page) = page else {
            let media = if kind.media.is_empty() { "binary data" } else { &kind.media };
            return ToolAnswer::failed(format!("{address} is no text but {media}; it was not read."));
        };
        let shown = match page.title.as_str() {
            "" => format!("{} characters", page.text.chars().count()),
            title => format!("{title}, {} characters", page.text.chars().count()),
        };
        ToolAnswer::succeeded(framed(&page, &address, is_cut)).shown(ToolDisplay::Line(shown))
    }

    /// Fetches a page; follows redirects that stay with the host.
    async fn fetch(&self, mut address: Uri) -> Result<Fetched, String> {
        for _ in 0..=MOST_REDIRECTS {
            let response = self.send(&address).await?;
            let status = response.status();
            if status.is_redirection() && response.headers().contains_key(LOCATION) {
                address = redirected(&address, &response)?;
                continue;
            }
            let header = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
            let kind = ContentType::parse(header.unwrap_or_default());
            if !status.is_success() {
                return Err(format!("{address} answered {status}."));
            }
            if !kind.is_text() {
                return Ok(Fetched { address, kind, body: Vec::new(), is_cut: false });
            }
            let (body, is_cut) = self.read(response, &address).await?;
            return Ok(Fetched { address, kind, body, is_cut });
        }
        Err(format!("{address} redirects more than {MOST_REDIRECTS} times."))
    }

    async fn send(&self, address: &Uri) -> Result<Response<Incoming>, String> {
        let agent = format!("longhaul/{}", self.settings.version);
        let request = Request::get(address.clone())
            .header(USER_AGENT, agent)
            .header(
                ACCEPT,
                HeaderValue::from_static("text/html, text/*;q=0.9, application/json;q=0.8, */*;q=0.1"),
            )
            .header(ACCEPT_ENCODING, HeaderValue::from_static("identity"))
            .body(Full::new(Bytes::new()))
            .map_err(|error| format!("{address} cannot be asked for: {error}."))?;
        let sent = self.client.send(request).await;
        sent.map_err(|reason| {
            let hint = match reason.contains("private network") {
                true => " Only the user can allow that, with longhaul.tools.fetchPrivate in settings.json.",
                false => "",
            };
            format!("Could not fetch {address}: {reason}.{hint}")
        })
    }

    /// The body, and true if it goes on.
    async fn read(&self, response: Response<Incoming>, address: &Uri) -> Result<(Vec<u8>, bool), String> {
        let encoding = response.headers().get(hyper::header::CONTENT_ENCODING);
        if let Some(encoding) =
            encoding.and_then(|value| value.to_str().ok()).filter(|value| *value != "identity")
        {
            return Err(format!("{address} sends its text as {encoding:?}, which was not asked for."));
        }
        let mut body = response.into_body();
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| format!("The answer of {address} broke off: {error}."))?;
            let Ok(data) = frame.into_data() else { continue };
            let room = self.settings.most_bytes - bytes.len();
            bytes.extend_from_slice(&data[..data.len().min(room)]);
            if data.len() > room {
                return Ok((bytes, true));
            }
        }
        Ok((bytes, false))
    }
}

/// The target of a redirect, if that is the same host and no less secure.
fn redirected(from: &Uri, response: &Response<Incoming>) -> Result<Uri, String> {
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let target = location.and_then(|location| resolve(from, location));
    let target = target.ok_or_else(|| format!("{from} redirects to nowhere."))?;
    let address = parse_address(&target)?;
    let host = |uri: &Uri| uri.host().unwrap_or_default().to_ascii_lowercase();
    let is_weaker = from.scheme_str() == Some("https") && address.scheme_str() != Some("https");
    if is_weaker {
        return Err(format!("{from} redirects to {address}, which is not encrypted."));
    }
    let port = |uri: &Uri| uri.port_u16();
    if host(from) != host(&address) || port(from) != port(&address) {
        return Err(format!(
            "{from} redirects to {address}, another host. Fetch that address if you want it."
        ));
    }
    Ok(address)
}

fn address_of(args: &Value) -> Result<Uri, String> {
    let asked: WebFetchArguments = parse_arguments(NAME, args)?;
    parse_address(&asked.url)
}

impl Tool for WebFetch {
    fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: NAME.to_string(),
            description: include_str!("prompts/web_fetch.md").trim_end().to_string(),
            parameters: schema_of::<WebFetchArguments>(),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        address_of(args).map(|address| Preview::Other(format!("fetch {address}")))
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async move {
            let answer = call.cancel.run_until_cancelled(self.answer(call.args)).await;
            let stopped = || ToolOutcome::Cancelled("The user stopped this call.".to_string());
            answer.unwrap_or_else(|| ToolAnswer::new(stopped()))
        })
    }
}
