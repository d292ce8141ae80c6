//! The choice of a proxy.

use std::fmt;
use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};

use super::dial::Target;
use crate::settings::Endpoint;

/// The proxies for either kind of address, and the hosts to be reached without.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    http: Option<Proxy>,
    https: Option<Proxy>,
    except: Vec<String>,
}

/// One proxy.
#[derive(Clone)]
pub(super) struct Proxy {
    pub(super) target: Target,
    /// `name:password`, where the proxy wants them.
    credentials: Option<SecretString>,
}

impl Proxies {
    /// Reads the variables that most programs know: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`, in either
    /// case. What is no address of a proxy is an error that names the variable.
    ///
    /// ```
    /// use longhaul_providers::Proxies;
    /// let proxies = Proxies::from_variables(|name| (name == "HTTPS_PROXY").then(|| "http://proxy:3128".to_string()));
    /// assert!(proxies.is_ok());
    /// ```
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let find = |name: &str| {
            let lower = name.to_ascii_lowercase();
            let value = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
            value(&lower)
                .map(|text| (lower.clone(), text))
                .or_else(|| value(name).map(|text| (name.to_string(), text)))
        };
        let proxy = |name: &str| match find(name).or_else(|| find("ALL_PROXY")) {
            Some((name, text)) => Proxy::parse(&text).map(Some).map_err(|reason| format!("{name}: {reason}")),
            None => Ok(None),
        };
        let except = find("NO_PROXY").map(|(_, text)| text).unwrap_or_default();
        let except = except.split(',').map(|host| host.trim().to_ascii_lowercase());
        Ok(Self {
            http: proxy("HTTP_PROXY")?,
            https: proxy("HTTPS_PROXY")?,
            except: except.filter(|host| !host.is_empty()).collect(),
        })
    }

    /// The proxy to reach `target` through.
    pub(super) fn for_target(&self, target: &Target) -> Option<&Proxy> {
        let is_excepted =
            self.except.iter().any(|pattern| matches(pattern, target)) || is_loopback(&target.host);
        let proxy = if target.is_secure { &self.https } else { &self.http };
        proxy.as_ref().filter(|_| !is_excepted)
    }

    /// The credentials to send with a request that a proxy passes on.
    pub(crate) fn authorisation(&self, target: &Target) -> Option<String> {
        if target.is_secure { None } else { self.for_target(target)?.authorisation() }
    }
}

/// A proxy elsewhere cannot reach what is on this machine.
fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// `*` is every host, `.example.com` and `example.com` a domain with all below it; a port narrows it.
fn matches(pattern: &str, target: &Target) -> bool {
    let (pattern, port) = match pattern.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') => (host, port.parse().ok()),
        _ => (pattern, None),
    };
    if port.is_some_and(|port: u16| port != target.port) {
        return false;
    }
    let host = target.host.to_ascii_lowercase();
    let domain = pattern.trim_start_matches('*').trim_start_matches('.');
    pattern == "*"
        || host == domain
        || (!domain.is_empty() && host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')))
}

impl Proxy {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        // A password may hold anything, slashes too.
        let (credentials, host) = match rest.rsplit_once('@') {
            Some((credentials, host)) => (Some(decode_percent(credentials).into()), host),
            None => (None, rest),
        };
        let host = host.split('/').next().unwrap_or(host);
        let endpoint = Endpoint::parse(&format!("{scheme}://{host}")).map_err(|error| error.to_string())?;
        let target = endpoint.target().ok_or_else(|| format!("{host:?} has no host"))?;
        Ok(Self { target, credentials })
    }

    /// The value of the header that carries the credentials.
    pub(super) fn authorisation(&self) -> Option<String> {
        let credentials = self.credentials.as_ref()?;
        Some(format!("Basic {}", STANDARD.encode(credentials.expose_secret())))
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({})", self.target)
    }
}

fn decode_percent(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, more)) = rest.split_first() {
        let digit = |place: usize| more.get(place).and_then(|byte| char::from(*byte).to_digit(16));
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &more[2..];
            }
            _ => {
                bytes.push(first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> Result<Proxies, String> {
        Proxies::from_variables(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
        })
    }

    #[track_caller]
    fn check(variables: &[(&str, &str)], url: &str, expected: Option<&str>) {
        let target = Endpoint::parse(url).expect("an address").target().expect("a host");
        let proxies = proxies(variables).expect("proxies");
        assert_eq!(
            proxies.for_target(&target).map(|proxy| proxy.target.to_string()).as_deref(),
            expected,
            "{url}"
        );
    }

    #[test]
    fn each_kind_of_address_has_its_proxy() {
        let both = [("HTTP_PROXY", "http://a:1"), ("https_proxy", "b:2"), ("HTTPS_PROXY", "c:3")];
        check(&both, "http://x.test", Some("a:1"));
        check(&both, "https://x.test", Some("b:2"));
        check(&[("ALL_PROXY", "http://all:9")], "https://x.test", Some("all:9"));
        check(&[], "https://x.test", None);
        check(&both, "http://127.0.0.1:5", None);
        check(&both, "http://localhost:5", None);
    }

    #[test]
    fn exceptions_are_reached_without() {
        let with = |except| [("ALL_PROXY", "p:1"), ("NO_PROXY", except)];
        check(&with("x.test"), "https://x.test", None);
        check(&with("x.test"), "https://a.x.test", None);
        check(&with(".x.test, y.test"), "https://a.x.test", None);
        check(&with("*.x.test"), "https://a.x.test", None);
        check(&with("x.test"), "https://notx.test", Some("p:1"));
        check(&with("x.test:8443"), "https://x.test", Some("p:1"));
        check(&with("x.test:443"), "https://x.test", None);
        check(&with("*"), "https://x.test", None);
    }

    #[test]
    fn passwords_are_sent_and_never_shown() {
        let proxies = proxies(&[("HTTP_PROXY", "http://me:p%40ss@p:1")]).expect("a proxy");
        let target = Endpoint::parse("http://x.test").expect("an address").target().expect("a host");
        assert_eq!(proxies.authorisation(&target).as_deref(), Some("Basic bWU6cEBzcw=="));
        assert!(!format!("{proxies:?}").contains("ss"), "{proxies:?}");
        let raw =
            super::Proxies::from_variables(|_| Some("http://me:a/b@c@p:1/".to_string())).expect("a proxy");
        assert_eq!(raw.authorisation(&target).as_deref(), Some("Basic bWU6YS9iQGM="));
        assert_eq!(format!("{:?}", raw.for_target(&target)), "Some(Proxy(p:1))");
        let odd = super::Proxies::from_variables(|_| Some("socks5://me:secret@p:1".to_string()));
        let error = odd.expect_err("no such proxies");
        assert!(error.contains("http_proxy") && !error.contains("secret"), "{error}");
    }
}
