//! The one who may see the page: a secret in the address that was opened, then in a cookie, from this machine's own name.

use std::fmt;

use hyper::header::{COOKIE, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::{Method, StatusCode};

/// The secrets of one run of the page. They cannot print themselves.
#[derive(Clone)]
pub struct PageSecrets {
    /// Stands in the address that is opened.
    token: String,
    /// Stands in the cookie, so that no history of addresses holds it.
    cookie: String,
}

/// The fate of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is answered.
    Allowed,
    /// It brought the token: it gets the cookie.
    Welcome,
    /// It is refused.
    Refused(StatusCode, &'static str),
}

impl PageSecrets {
    /// Secrets of these texts; none if one is too short to be a secret or cannot stand in an address.
    pub fn new(token: &str, cookie: &str) -> Option<Self> {
        let is_usable =
            |text: &str| text.len() >= 32 && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        (is_usable(token) && is_usable(cookie) && token != cookie)
            .then(|| Self { token: token.into(), cookie: cookie.into() })
    }

    /// The path to open in a browser.
    pub fn path(&self) -> String {
        format!("/?token={}", self.token)
    }

    /// The header that gives a browser the cookie. Cookies know no ports, so the port is in its name.
    pub(crate) fn cookie_header(&self, port: u16) -> String {
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict", cookie_name(port), self.cookie)
    }

    /// Checks a request to the server on this port.
    pub(crate) fn check(
        &self,
        method: &Method,
        token: Option<&str>,
        headers: &HeaderMap,
        port: u16,
    ) -> Verdict {
        let Some(host) = text(headers, &HOST).filter(|host| is_own(host, port)) else {
            return Verdict::Refused(
                StatusCode::FORBIDDEN,
                "This page answers only to 127.0.0.1 and localhost.",
            );
        };
        let origin = headers.get(ORIGIN).map(|origin| origin.to_str().unwrap_or_default());
        if origin.is_some_and(|origin| origin.strip_prefix("http://") != Some(host)) {
            return Verdict::Refused(StatusCode::FORBIDDEN, "Not for pages of other origins.");
        }
        let changes = !matches!(*method, Method::GET | Method::HEAD);
        if changes && origin.is_none() {
            return Verdict::Refused(StatusCode::FORBIDDEN, "Changes must come from the page itself.");
        }
        if !changes && token.is_some_and(|given| is_same(&self.token, given)) {
            return Verdict::Welcome;
        }
        let name = cookie_name(port);
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        match pairs.any(|(key, value)| key == name && is_same(&self.cookie, value)) {
            true => Verdict::Allowed,
            false => Verdict::Refused(
                StatusCode::UNAUTHORIZED,
                "Open the address that `longhaul web` printed: it holds the key to this page.",
            ),
        }
    }
}

impl fmt::Debug for PageSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PageSecrets(..)")
    }
}

fn cookie_name(port: u16) -> String {
    format!("longhaul_{port}")
}

/// Compares without telling by its time how much is right.
fn is_same(own: &str, given: &str) -> bool {
    let differs = |(own, given): (u8, u8)| own ^ given;
    own.len() == given.len() && own.bytes().zip(given.bytes()).map(differs).fold(0, |all, one| all | one) == 0
}

/// True for this machine's own names: any other may be somebody's that points here.
fn is_own(host: &str, port: u16) -> bool {
    let Some((name, given)) = host.rsplit_once(':') else { return false };
    given == port.to_string() && matches!(name, "127.0.0.1" | "localhost" | "[::1]")
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";
    const COOKIE_VALUE: &str = "fedcba9876543210fedcba9876543210";

    fn secrets() -> PageSecrets {
        PageSecrets::new(TOKEN, COOKIE_VALUE).expect("long enough")
    }

    fn check(method: &Method, token: Option<&str>, headers: &[(&'static str, &str)]) -> Result<Verdict, u16> {
        let headers = headers.iter().map(|(name, value)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).expect("a header"))
        });
        match secrets().check(method, token, &headers.collect(), 8080) {
            Verdict::Refused(status, _) => Err(status.as_u16()),
            verdict => Ok(verdict),
        }
    }

    #[test]
    fn only_the_token_and_then_the_cookie_open_the_page() {
        let host = ("host", "127.0.0.1:8080");
        let cookie = format!("other=1; longhaul_8080={COOKIE_VALUE}");
        assert_eq!(check(&Method::GET, None, &[host]), Err(401));
        assert_eq!(check(&Method::GET, Some(TOKEN), &[host]), Ok(Verdict::Welcome));
        assert_eq!(check(&Method::GET, Some("0123456789abcdef0123456789abcdeg"), &[host]), Err(401));
        assert_eq!(check(&Method::GET, None, &[host, ("cookie", &cookie)]), Ok(Verdict::Allowed));
        // The cookie of another server of ours, and the token where the cookie belongs.
        let other = format!("longhaul_8081={COOKIE_VALUE}");
        let mixed = format!("longhaul_8080={TOKEN}");
        assert_eq!(check(&Method::GET, None, &[host, ("cookie", &other)]), Err(401));
        assert_eq!(check(&Method::GET, None, &[host, ("cookie", &mixed)]), Err(401));
    }

    #[test]
    fn other_hosts_and_origins_are_refused_whatever_they_know() {
        let cookie = format!("longhaul_8080={COOKIE_VALUE}");
        let cookie = ("cookie", cookie.as_str());
        for host in [
            "example.org:8080",
            "127.0.0.1.example.org:8080",
            "127.0.0.1:8081",
            "127.0.0.1",
            "evil:127.0.0.1",
        ] {
            assert_eq!(check(&Method::GET, Some(TOKEN), &[("host", host), cookie]), Err(403), "{host}");
        }
        let host = ("host", "localhost:8080");
        for origin in ["https://example.org", "null", "http://localhost:8081", "http://127.0.0.1:8080"] {
            assert_eq!(check(&Method::POST, None, &[host, cookie, ("origin", origin)]), Err(403), "{origin}");
        }
        let own = ("origin", "http://localhost:8080");
        assert_eq!(check(&Method::POST, None, &[host, cookie, own]), Ok(Verdict::Allowed));
        assert_eq!(check(&Method::POST, None, &[host, cookie]), Err(403));
        // The token opens the page and changes nothing.
        assert_eq!(check(&Method::POST, Some(TOKEN), &[host, own]), Err(401));
    }

    #[test]
    fn secrets_are_long_and_keep_to_themselves() {
        assert!(
            PageSecrets::new("short", COOKIE_VALUE).is_none() && PageSecrets::new(TOKEN, TOKEN).is_none()
        );
        assert_eq!(format!("{:?}", secrets()), "PageSecrets(..)");
        assert_eq!(secrets().path(), format!("/?token={TOKEN}"));
    }
}
