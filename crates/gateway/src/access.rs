//! Access to the gateway: this machine's own programs, by its own names; from elsewhere only with the token.

use std::fmt;
use std::net::SocketAddr;

use hyper::header::{HOST, HeaderMap, HeaderName, ORIGIN};

/// The header with the gateway's own token.
pub(crate) const TOKEN_HEADER: HeaderName = HeaderName::from_static("x-longhaul-token");

/// The gateway's own token. It cannot print itself.
#[derive(Clone, PartialEq, Eq)]
pub struct GatewayToken(String);

impl GatewayToken {
    /// A token of this text; none if it is too short to be a secret or cannot stand in a header.
    pub fn new(text: &str) -> Option<Self> {
        let is_usable = text.len() >= 24 && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_usable.then(|| Self(text.to_string()))
    }

    fn is(&self, given: &str) -> bool {
        // Compares without telling by its time how much is right.
        let differs = |(own, given): (u8, u8)| own ^ given;
        self.0.len() == given.len()
            && self.0.bytes().zip(given.bytes()).map(differs).fold(0, |all, one| all | one) == 0
    }
}

impl fmt::Debug for GatewayToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GatewayToken(..)")
    }
}

/// The conditions of access.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// The address that is listened on.
    pub(crate) address: SocketAddr,
    /// Names beside this machine's own by which the gateway is reached.
    pub(crate) hosts: Vec<String>,
    /// The token that every request must bring; needed beyond loopback.
    pub(crate) token: Option<GatewayToken>,
}

/// The reason for a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("this gateway does not answer to that name: use 127.0.0.1 or localhost")]
    ForeignHost,
    #[error("this gateway is not for web pages")]
    ForeignOrigin,
    #[error("this gateway wants its token in the header x-longhaul-token")]
    NoToken,
}

impl Access {
    /// Checks a request by its headers.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        // A page that a browser opened may be anybody's; programs send no origin.
        if headers.contains_key(ORIGIN) {
            return Err(Refusal::ForeignOrigin);
        }
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        if hosts.next().is_some() || !host.is_some_and(|host| self.is_own(host)) {
            return Err(Refusal::ForeignHost);
        }
        let Some(token) = &self.token else { return Ok(()) };
        let given = headers.get(TOKEN_HEADER).and_then(|given| given.to_str().ok());
        given.filter(|given| token.is(given)).map(|_| ()).ok_or(Refusal::NoToken)
    }

    /// True for this machine's own names with the right port, and for those that are configured.
    fn is_own(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !name.ends_with(':') && !port.ends_with(']') => (name, Some(port)),
            _ => (host, None),
        };
        let is_named = |own: &String| own.eq_ignore_ascii_case(name);
        if self.hosts.iter().any(is_named) {
            return true;
        }
        let is_loopback = matches!(name, "127.0.0.1" | "[::1]") || name.eq_ignore_ascii_case("localhost");
        let is_bound = name.trim_matches(['[', ']']) == self.address.ip().to_string();
        (is_loopback || is_bound) && port.unwrap_or("80") == self.address.port().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef01234567";

    fn access(token: Option<&str>) -> Access {
        Access {
            address: "127.0.0.1:8080".parse().expect("an address"),
            hosts: vec!["gateway.internal".into()],
            token: token.and_then(GatewayToken::new),
        }
    }

    #[track_caller]
    fn check(token: Option<&str>, headers: &[(&'static str, &str)], expected: Result<(), Refusal>) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().expect("a header"));
        }
        assert_eq!(access(token).check(&map), expected, "{headers:?}");
    }

    #[test]
    fn only_own_names_are_answered() {
        for host in [
            "127.0.0.1:8080",
            "localhost:8080",
            "LOCALHOST:8080",
            "[::1]:8080",
            "gateway.internal",
            "gateway.internal:443",
        ] {
            check(None, &[("host", host)], Ok(()));
        }
        // Names that a stranger can point here.
        for host in [
            "example.org:8080",
            "127.0.0.1.example.org:8080",
            "localhost.example.org:8080",
            "127.0.0.1:8081",
            "127.0.0.1",
            "",
            "evil:127.0.0.1:8080",
            "[::1]",
        ] {
            check(None, &[("host", host)], Err(Refusal::ForeignHost));
        }
        check(None, &[], Err(Refusal::ForeignHost));
        check(None, &[("host", "127.0.0.1:8080"), ("host", "example.org")], Err(Refusal::ForeignHost));
    }

    #[test]
    fn web_pages_are_refused_whatever_they_know() {
        for origin in ["https://example.org", "null", "http://127.0.0.1:8080", "http://localhost:8080"] {
            check(
                Some(TOKEN),
                &[("host", "127.0.0.1:8080"), ("origin", origin), ("x-longhaul-token", TOKEN)],
                Err(Refusal::ForeignOrigin),
            );
        }
    }

    #[test]
    fn a_token_opens_where_one_is_wanted() {
        let host = ("host", "127.0.0.1:8080");
        check(Some(TOKEN), &[host], Err(Refusal::NoToken));
        check(Some(TOKEN), &[host, ("x-longhaul-token", "0123456789abcdef01234568")], Err(Refusal::NoToken));
        check(Some(TOKEN), &[host, ("x-longhaul-token", TOKEN)], Ok(()));
        assert!(GatewayToken::new("short").is_none() && GatewayToken::new(&"\n".repeat(30)).is_none());
        assert_eq!(format!("{:?}", GatewayToken::new(TOKEN)), "Some(GatewayToken(..))");
    }
}
