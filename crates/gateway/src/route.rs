//! Routes: what a request is by its path, and where it goes. Paths are understood with and without a version; upstreams come
//! from configuration alone.

use std::collections::BTreeMap;

use hyper::header::HeaderMap;
use hyper::http::uri::InvalidUri;
use hyper::{Method, Uri};

use crate::family::Family;

/// The kind of a request, by method and path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// A call of a model with a history.
    Generate(Family),
    /// A count of what such a call would take.
    Count(Family),
    /// Anything else: passed on as it is.
    Other(Option<Family>),
    /// The gateway's own: what stands behind the prefix.
    Own,
}

/// The prefix of the gateway's own paths.
pub(crate) const OWN_PREFIX: &str = "/longhaul/";

/// Versions that a path may begin with.
const VERSIONS: &[&str] = &["v1", "v1beta", "v1beta1", "v1alpha"];

impl Route {
    /// The route of a request. `/anthropic/…` and the like, as some clients send them, are understood.
    pub(crate) fn of(method: &Method, path: &str, headers: &HeaderMap) -> Self {
        if path.starts_with(OWN_PREFIX) {
            return Self::Own;
        }
        let rest = unversioned(path).1;
        let is_post = *method == Method::POST;
        let known = match rest {
            "messages" => Some(Self::Generate(Family::Anthropic)),
            "messages/count_tokens" => Some(Self::Count(Family::Anthropic)),
            "responses" => Some(Self::Generate(Family::Responses)),
            "responses/input_tokens" => Some(Self::Count(Family::Responses)),
            "chat/completions" => Some(Self::Generate(Family::Chat)),
            _ => gemini(path, rest),
        };
        match known {
            Some(route) if is_post => route,
            Some(Self::Generate(family) | Self::Count(family)) => Self::Other(Some(family)),
            _ => Self::Other(by_path(rest).or_else(|| by_headers(headers))),
        }
    }

    /// The family, if it is known.
    pub(crate) fn family(self) -> Option<Family> {
        match self {
            Self::Generate(family) | Self::Count(family) => Some(family),
            Self::Other(family) => family,
            Self::Own => None,
        }
    }
}

/// Gemini's methods stand behind a colon; Code Assist has them behind `v1internal`.
fn gemini(path: &str, rest: &str) -> Option<Route> {
    let method = match path.strip_prefix("/v1internal:") {
        Some(method) => method,
        None if rest.starts_with("models/") => rest.rsplit_once(':')?.1,
        None => return None,
    };
    Some(match method {
        "generateContent" | "streamGenerateContent" => Route::Generate(Family::Gemini),
        "countTokens" => Route::Count(Family::Gemini),
        _ => Route::Other(Some(Family::Gemini)),
    })
}

fn by_path(rest: &str) -> Option<Family> {
    let first = rest.split('/').next().unwrap_or_default();
    match first {
        "messages" => Some(Family::Anthropic),
        "responses" => Some(Family::Responses),
        "chat" | "embeddings" | "audio" | "images" | "moderations" => Some(Family::Chat),
        "cachedContents" => Some(Family::Gemini),
        _ => None,
    }
}

fn by_headers(headers: &HeaderMap) -> Option<Family> {
    let has = |name: &str| headers.contains_key(name);
    let agent = headers.get("user-agent").and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    if has("anthropic-version") || has("x-api-key") || agent.starts_with("claude-cli") {
        Some(Family::Anthropic)
    } else if has("x-goog-api-key") || agent.starts_with("GeminiCLI") {
        Some(Family::Gemini)
    } else if agent.starts_with("codex") {
        Some(Family::Responses)
    } else {
        None
    }
}

/// The version that a path begins with, and the rest without slashes around it.
fn unversioned(path: &str) -> (Option<&str>, &str) {
    let path = path.trim_matches('/');
    let path =
        ["anthropic/", "openai/", "gemini/"].iter().find_map(|name| path.strip_prefix(name)).unwrap_or(path);
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    if VERSIONS.contains(&first) { (Some(first), rest) } else { (None, path) }
}

/// Upstreams by family.
#[derive(Clone, Debug, Default)]
pub struct Upstreams {
    by_family: BTreeMap<&'static str, Upstream>,
    /// The family that a request belongs to which says nothing about it.
    default: Option<Family>,
}

/// The base address of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// `https://host:port`.
    origin: String,
    /// The path of the base, without a slash at its end.
    path: String,
}

/// An address that cannot be a provider's.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// It is no address.
    #[error("{address:?} is no address")]
    Invalid {
        /// The address.
        address: String,
        /// The fault.
        #[source]
        cause: InvalidUri,
    },
    /// It lacks a scheme or a host.
    #[error("{0:?} is no address of a server: it must begin with https:// or http://")]
    Incomplete(String),
    /// It carries a name or a password.
    #[error("an address must not hold a name or a password")]
    Credentials,
}

impl Upstream {
    /// Reads the base address of a provider, with or without a version at its end.
    ///
    /// # Errors
    /// It is no address of a server.
    pub fn parse(address: &str) -> Result<Self, UpstreamError> {
        let invalid = |cause| UpstreamError::Invalid { address: address.to_string(), cause };
        let uri: Uri = address.trim().parse().map_err(invalid)?;
        let (Some(scheme @ ("http" | "https")), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(UpstreamError::Incomplete(address.to_string()));
        };
        if authority.as_str().contains('@') {
            return Err(UpstreamError::Credentials);
        }
        let path = uri.path().trim_end_matches('/').to_string();
        Ok(Self { origin: format!("{scheme}://{authority}"), path })
    }

    /// The address for a request. A version in the base takes the place of the request's own, and is not written twice.
    fn address(&self, family: Family, path: &str, query: Option<&str>) -> String {
        let (version, rest) = unversioned(path);
        let base_has_version = self.path.rsplit('/').next().is_some_and(|last| VERSIONS.contains(&last));
        let is_known = version.is_some() || is_api(rest);
        let path = match version {
            _ if !is_known => format!("{}{path}", self.path),
            _ if base_has_version => format!("{}/{rest}", self.path),
            Some(version) => format!("{}/{version}/{rest}", self.path),
            // Bases with a path of their own, as subscriptions have, know no version.
            None if family != Family::Anthropic && !self.path.is_empty() => format!("{}/{rest}", self.path),
            None if family == Family::Gemini => format!("{}/v1beta/{rest}", self.path),
            None => format!("{}/v1/{rest}", self.path),
        };
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}{path}{query}", self.origin)
    }

    /// The scheme, host and port.
    pub fn origin(&self) -> &str {
        &self.origin
    }
}

fn is_api(rest: &str) -> bool {
    by_path(rest).is_some() || rest == "models" || rest.starts_with("models/")
}

impl Upstreams {
    /// No upstream yet; requests that say nothing about themselves belong to this family.
    pub fn new(default: Option<Family>) -> Self {
        Self { by_family: BTreeMap::new(), default }
    }

    /// Sets where requests of a family go.
    pub fn set(&mut self, family: Family, upstream: Upstream) {
        self.by_family.insert(family.as_str(), upstream);
    }

    /// The upstream of a family.
    pub fn get(&self, family: Family) -> Option<&Upstream> {
        self.by_family.get(family.as_str())
    }

    /// The family and address that a request goes to.
    pub(crate) fn address(&self, route: Route, path: &str, query: Option<&str>) -> Option<(Family, Uri)> {
        let family = route.family().or(self.default).or_else(|| {
            let mut known = Family::ALL.into_iter().filter(|family| self.get(*family).is_some());
            let only = known.next();
            only.filter(|_| known.next().is_none())
        })?;
        let address = self.get(family)?.address(family, path, query);
        Some((family, address.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_route(method: &Method, path: &str, expected: Route) {
        assert_eq!(Route::of(method, path, &HeaderMap::new()), expected, "{path}");
    }

    #[test]
    fn paths_are_known_with_and_without_a_version() {
        for prefix in ["", "/v1", "/anthropic/v1", "/v1beta"] {
            check_route(&Method::POST, &format!("{prefix}/messages"), Route::Generate(Family::Anthropic));
            check_route(
                &Method::POST,
                &format!("{prefix}/messages/count_tokens"),
                Route::Count(Family::Anthropic),
            );
            check_route(&Method::POST, &format!("{prefix}/responses"), Route::Generate(Family::Responses));
            check_route(&Method::POST, &format!("{prefix}/chat/completions"), Route::Generate(Family::Chat));
        }
        for prefix in ["", "/v1", "/v1beta", "/v1beta1"] {
            let model = format!("{prefix}/models/gemini-3-pro");
            check_route(
                &Method::POST,
                &format!("{model}:streamGenerateContent"),
                Route::Generate(Family::Gemini),
            );
            check_route(&Method::POST, &format!("{model}:countTokens"), Route::Count(Family::Gemini));
            check_route(&Method::POST, &format!("{model}:embedContent"), Route::Other(Some(Family::Gemini)));
        }
        check_route(&Method::POST, "/v1internal:streamGenerateContent", Route::Generate(Family::Gemini));
        check_route(&Method::GET, "/v1/responses/resp_1", Route::Other(Some(Family::Responses)));
        check_route(&Method::POST, "/v1/responses/compact", Route::Other(Some(Family::Responses)));
        check_route(&Method::GET, "/v1/responses", Route::Other(Some(Family::Responses)));
        check_route(&Method::POST, "/v1/messages/batches", Route::Other(Some(Family::Anthropic)));
        check_route(&Method::HEAD, "/", Route::Other(None));
        check_route(&Method::GET, "/longhaul/metrics", Route::Own);
    }

    #[test]
    fn other_paths_go_where_their_headers_say() {
        let family = |name: &'static str, value: &str| {
            let headers =
                [(name.parse().expect("a name"), value.parse().expect("a value"))].into_iter().collect();
            Route::of(&Method::GET, "/v1/models", &headers).family()
        };
        assert_eq!(family("x-api-key", "k"), Some(Family::Anthropic));
        assert_eq!(family("x-goog-api-key", "k"), Some(Family::Gemini));
        assert_eq!(family("authorization", "Bearer k"), None);
    }

    #[track_caller]
    fn check_address(base: &str, family: Family, path: &str, expected: &str) {
        let mut upstreams = Upstreams::new(None);
        upstreams.set(family, Upstream::parse(base).expect("an address"));
        let route = Route::of(&Method::POST, path, &HeaderMap::new());
        let (_, address) = upstreams.address(route, path, Some("a=b%2Fc")).expect("an upstream");
        assert_eq!(address.to_string(), format!("{expected}?a=b%2Fc"));
    }

    #[test]
    fn versions_are_written_once() {
        let anthropic = Family::Anthropic;
        check_address(
            "https://api.anthropic.com",
            anthropic,
            "/v1/messages",
            "https://api.anthropic.com/v1/messages",
        );
        check_address(
            "https://api.anthropic.com/",
            anthropic,
            "/messages",
            "https://api.anthropic.com/v1/messages",
        );
        check_address("http://h:1/x/v1", anthropic, "/v1/messages", "http://h:1/x/v1/messages");
        check_address("http://h:1/x", anthropic, "/messages", "http://h:1/x/v1/messages");
        check_address(
            "https://api.openai.com/v1",
            Family::Responses,
            "/responses",
            "https://api.openai.com/v1/responses",
        );
        check_address(
            "https://api.openai.com",
            Family::Chat,
            "/v1/chat/completions",
            "https://api.openai.com/v1/chat/completions",
        );
        check_address(
            "https://c.com/backend-api/codex",
            Family::Responses,
            "/responses",
            "https://c.com/backend-api/codex/responses",
        );
        let gemini = "https://generativelanguage.googleapis.com";
        check_address(
            gemini,
            Family::Gemini,
            "/models/m:generateContent",
            &format!("{gemini}/v1beta/models/m:generateContent"),
        );
        check_address(
            gemini,
            Family::Gemini,
            "/v1/models/m:generateContent",
            &format!("{gemini}/v1/models/m:generateContent"),
        );
        check_address(
            gemini,
            Family::Gemini,
            "/v1internal:countTokens",
            &format!("{gemini}/v1internal:countTokens"),
        );
        check_address(
            "https://api.anthropic.com",
            anthropic,
            "/some/other",
            "https://api.anthropic.com/some/other",
        );
    }

    #[test]
    fn an_upstream_is_a_server_without_credentials() {
        assert!(matches!(Upstream::parse("api.anthropic.com"), Err(UpstreamError::Incomplete(_))));
        assert!(matches!(Upstream::parse("ftp://a.b"), Err(UpstreamError::Incomplete(_))));
        assert!(matches!(Upstream::parse("https://u:p@a.b"), Err(UpstreamError::Credentials)));
        assert!(Upstream::parse("https://a b").is_err());
    }

    /// A path that looks like another host stays a path of the configured one.
    #[test]
    fn no_path_leads_to_another_host() {
        let mut upstreams = Upstreams::new(Some(Family::Anthropic));
        upstreams.set(Family::Anthropic, Upstream::parse("https://api.anthropic.com").expect("an address"));
        for path in [
            "//evil.example/v1/messages",
            "/@evil.example/",
            "/http://evil.example/",
            "/v1/../..//evil.example",
        ] {
            let route = Route::of(&Method::POST, path, &HeaderMap::new());
            let (_, address) = upstreams.address(route, path, None).expect("an address");
            assert_eq!(address.host(), Some("api.anthropic.com"), "{path}");
        }
    }
}
