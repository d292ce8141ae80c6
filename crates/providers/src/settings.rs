//! Settings of a provider, filled in by whoever reads settings and environment.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use hyper::Uri;
use longhaul_conversation::{TokenCount, context_window};
use longhaul_wire::WireFormat;
use longhaul_wire::anthropic::default_limit;
use secrecy::SecretString;

use crate::http::Target;
use crate::known::usual_provider;
use crate::limits::AnswerLimits;
use crate::prices::Prices;

/// The default time to wait for the next piece of a response. Some models think for minutes and say nothing of it.
const IDLE: Duration = Duration::from_secs(180);

/// A provider: where it is, how to speak to it and with which key.
#[derive(Clone, Debug)]
pub struct ProviderSettings {
    /// The name before the slash in `provider/model`, and in messages.
    pub name: String,
    /// Its wire format.
    pub format: WireFormat,
    /// Its location.
    pub endpoint: Endpoint,
    /// The key to give.
    pub key: Key,
    /// The user's settings for its models, by name; they override the tables.
    pub models: BTreeMap<String, ModelSettings>,
    /// True if Anthropic is told what to cache where the request does not say.
    pub marks_cache: bool,
    /// The time without any piece of a response before a call counts as failed; pings and empty pieces do not count. Models
    /// may think before they say anything.
    pub idle: Duration,
    /// Limits of a response: its size and its time.
    pub limits: AnswerLimits,
}

/// A key, or why there is none.
#[derive(Clone)]
pub enum Key {
    /// This one.
    Given(SecretString),
    /// The provider wants none.
    NotNeeded,
    /// There should be one.
    Missing {
        /// The places searched.
        looked_at: Vec<String>,
    },
}

/// The user's settings for a model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ModelSettings {
    /// Its context window.
    pub window: Option<TokenCount>,
    /// The room reserved for a response.
    pub output_reserve: Option<TokenCount>,
    /// Its prices.
    pub prices: Option<Prices>,
}

/// The address that a provider's paths are added to.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    base: Uri,
}

/// Text that is no address of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid address{}: {reason}", shown(.text))]
pub struct EndpointError {
    /// The text, without anything that might be a key or a password; empty where it may be one altogether.
    pub text: String,
    /// The fault.
    pub reason: &'static str,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(_) => f.write_str("Given(..)"),
            Self::NotNeeded => f.write_str("NotNeeded"),
            Self::Missing { looked_at } => f.debug_struct("Missing").field("looked_at", looked_at).finish(),
        }
    }
}

impl ProviderSettings {
    /// A provider at its usual address, under its usual name.
    pub fn usual(format: WireFormat, key: Key) -> Self {
        Self::at(usual_provider(format).name, format, Endpoint::usual(format), key)
    }

    /// A provider at another address.
    pub fn at(name: impl Into<String>, format: WireFormat, endpoint: Endpoint, key: Key) -> Self {
        Self {
            name: name.into(),
            format,
            endpoint,
            key,
            models: BTreeMap::new(),
            marks_cache: true,
            idle: IDLE,
            limits: AnswerLimits::default(),
        }
    }

    /// True if a call can be made: there is a key, or none is needed.
    pub fn is_callable(&self) -> bool {
        !matches!(self.key, Key::Missing { .. }) || self.endpoint.is_local()
    }

    /// A model's context window: what the user states, else the table's.
    pub fn window(&self, model: &str) -> TokenCount {
        context_window(Some(model), self.models.get(model).and_then(|model| model.window)).0
    }

    /// The room reserved for a response: what the user states, else, where the provider must be told, what is
    /// usual for the model.
    pub fn output_reserve(&self, model: &str) -> Option<TokenCount> {
        let stated = self.models.get(model).and_then(|model| model.output_reserve);
        stated.or_else(|| (self.format == WireFormat::Anthropic).then(|| default_limit(model)))
    }

    /// A model's prices: what the user states, else the table's, if either knows.
    pub fn prices(&self, model: &str) -> Option<Prices> {
        let stated = self.models.get(model).and_then(|model| model.prices);
        stated.or_else(|| crate::prices::known_prices(model))
    }
}

impl Endpoint {
    /// Reads an address such as `https://api.openai.com/v1`.
    pub fn parse(text: &str) -> Result<Self, EndpointError> {
        let fail = |reason| EndpointError { text: without_secrets(text), reason };
        let trimmed = text.trim().trim_end_matches('/');
        if !trimmed.starts_with("https://") && !trimmed.starts_with("http://") {
            return Err(fail("must start with https:// or http://"));
        }
        let base: Uri = trimmed.parse().map_err(|_| fail("malformed"))?;
        let authority = base.authority().map_or("", |authority| authority.as_str());
        if authority.contains('@') {
            return Err(fail("must not contain a user name or password"));
        }
        if base.query().is_some() {
            return Err(fail("must not have a query string"));
        }
        if base.host().is_none_or(str::is_empty) {
            return Err(fail("has no host"));
        }
        Ok(Self { base })
    }

    /// The default endpoint of this format.
    pub fn usual(format: WireFormat) -> Self {
        Self { base: Uri::from_static(usual_provider(format).endpoint) }
    }

    /// The host, with its port where that is not the usual one.
    pub fn host(&self) -> &str {
        self.base.authority().map_or("", |authority| authority.as_str())
    }

    /// The host and port to connect to.
    pub(crate) fn target(&self) -> Option<Target> {
        Target::of(&self.base)
    }

    /// True if it is on this machine; such an endpoint needs no key.
    pub fn is_local(&self) -> bool {
        let host = self.base.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        let is_loopback = host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback() || ip.is_unspecified());
        is_loopback || host == "localhost" || host.ends_with(".localhost")
    }

    /// The address of `path` on the same server, whatever path the endpoint itself has.
    pub(crate) fn at_root(&self, path: &str) -> Option<Uri> {
        let (scheme, authority) = (self.base.scheme_str()?, self.base.authority()?);
        format!("{scheme}://{authority}{path}").parse().ok()
    }

    /// The address with `path` behind it. A version at the beginning of `path` is left out where the base ends with one.
    pub(crate) fn join(&self, path: &str) -> Option<Uri> {
        let base = self.base.to_string();
        let base = base.trim_end_matches('/');
        let last = base.rsplit('/').next().unwrap_or_default();
        let has_version =
            last.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let path = match path.split_once('/') {
            Some((version, rest)) if has_version && version.starts_with("v1") => rest,
            _ => path,
        };
        format!("{base}/{path}").parse().ok()
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.base.to_string().trim_end_matches('/'))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
}

fn shown(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" {text:?}") }
}

/// An address without the places where keys and passwords stand: before an `@` and behind a `?`. What does not begin as
/// an address does may be a key in the wrong place.
fn without_secrets(text: &str) -> String {
    let Some(start) = text.find("://").map(|scheme| scheme + 3) else { return String::new() };
    let (start, rest) = text.split_at(start);
    let rest = match rest.rsplit_once('@') {
        Some((_, host)) => format!("…@{host}"),
        None => rest.to_string(),
    };
    match rest.split_once('?') {
        Some((path, _)) => format!("{start}{path}?…"),
        None => format!("{start}{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_join(base: &str, path: &str, expected: &str) {
        let endpoint = Endpoint::parse(base).expect("an address");
        assert_eq!(endpoint.join(path).expect("an address").to_string(), expected);
    }

    #[test]
    fn paths_are_added_once() {
        check_join(
            "https://x.test",
            "v1beta/models/m:generateContent",
            "https://x.test/v1beta/models/m:generateContent",
        );
        check_join("https://x.test/v1beta/", "v1beta/models/m", "https://x.test/v1beta/models/m");
        check_join("https://x.test/proxy", "v1/messages", "https://x.test/proxy/v1/messages");
        check_join("https://x.test/v1", "v1/messages", "https://x.test/v1/messages");
        check_join(
            "http://localhost:11434/v1",
            "chat/completions",
            "http://localhost:11434/v1/chat/completions",
        );
    }

    #[test]
    fn only_addresses_are_taken() {
        for text in [
            "",
            "api.openai.com",
            "ftp://x",
            "https://",
            "https://x?key=secret",
            "https://me:secret@x.test/v1",
        ] {
            let error = Endpoint::parse(text).expect_err(text);
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn what_may_be_secret_in_an_address_is_not_shown() {
        for (text, shown) in [
            ("https://x.test/v1?key=secret", "https://x.test/v1?…"),
            ("https://me:secret@x.test/v1", "https://…@x.test/v1"),
            ("me:secret@x.test/v1", ""),
            ("sk-secret", ""),
            ("ftp://me:sec?ret@x?key=secret", "ftp://…@x?…"),
        ] {
            assert_eq!(Endpoint::parse(text).expect_err(text).text, shown);
        }
    }

    #[test]
    fn local_endpoints_are_known() {
        for (text, local) in [
            ("http://localhost:1/v1", true),
            ("http://127.0.0.1:1", true),
            ("http://[::1]:1", true),
            ("http://a.localhost", true),
            ("https://api.openai.com/v1", false),
            ("http://localhost.example.com", false),
        ] {
            assert_eq!(Endpoint::parse(text).expect(text).is_local(), local, "{text}");
        }
    }

    #[test]
    fn a_key_does_not_print_itself() {
        let settings = ProviderSettings::usual(WireFormat::OpenAi, Key::Given("sk-secret".into()));
        assert!(!format!("{settings:?}").contains("secret"));
    }
}
