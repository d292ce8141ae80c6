//! Finds where to sign in: from the server's refusal to its authorization server, and that one's endpoints.

use hyper::header::WWW_AUTHENTICATE;
use hyper::{HeaderMap, StatusCode};
use longhaul_providers::HttpClient;
use serde_json::{Value, json};

use super::OAuthConfig;
use super::endpoints::{checked, origin, path};
use super::requests::{Asked, ask};

/// The endpoints of an authorization server, and what the MCP server wants of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Authorization {
    pub(crate) authorization_url: String,
    pub(crate) token_url: String,
    pub(crate) registration_url: Option<String>,
    /// The name that the authorization server answers by, where it says so.
    pub(crate) issuer: Option<String>,
    pub(crate) scopes: Vec<String>,
    /// The resource that tokens are for.
    pub(crate) resource: String,
}

/// Finds the endpoints for a server at this address.
pub(crate) async fn discover(
    client: &HttpClient,
    server: &str,
    config: &OAuthConfig,
) -> Result<Authorization, String> {
    let uri = checked(server)?;
    let challenge = challenge(client, server).await?;
    let told = challenge.as_deref().and_then(|challenge| parameter(challenge, "resource_metadata"));
    let mut addresses: Vec<String> = told.into_iter().collect();
    let place = format!("{}/.well-known/oauth-protected-resource", origin(&uri));
    addresses.extend([format!("{place}{}", path(&uri)), place]);
    let mut resource = None;
    for address in addresses {
        resource = ask(client, &address, Asked::Get).await.ok().and_then(super::requests::Answer::document);
        if resource.is_some() {
            break;
        }
    }
    let has_endpoints = config.authorization_url.is_some() && config.token_url.is_some();
    if challenge.is_none() && resource.is_none() && !has_endpoints {
        return Err("it answers without a sign-in and names no place for one".into());
    }
    let resource = resource.unwrap_or_default();
    let challenge = challenge.unwrap_or_default();
    let named = resource["resource"].as_str();
    if let Some(named) = named.filter(|named| !is_above(named, server)) {
        return Err(format!("it sends to a sign-in for another server, {named}"));
    }
    let scopes = match &config.scopes[..] {
        [] => parameter(&challenge, "scope")
            .map(|scopes| scopes.split_whitespace().map(str::to_string).collect())
            .unwrap_or_else(|| texts(&resource["scopes_supported"])),
        scopes => scopes.to_vec(),
    };
    let resource_name = named.unwrap_or(server).to_string();
    if let (Some(authorization_url), Some(token_url)) = (&config.authorization_url, &config.token_url) {
        return Ok(Authorization {
            authorization_url: authorization_url.clone(),
            token_url: token_url.clone(),
            registration_url: config.registration_url.clone(),
            issuer: None,
            scopes,
            resource: resource_name,
        });
    }
    let issuer = texts(&resource["authorization_servers"]).into_iter().next();
    let is_told = issuer.is_some();
    let issuer = issuer.unwrap_or_else(|| origin(&uri));
    let found = metadata(client, &issuer).await?;
    let endpoint =
        |key: &str, usual: &str| match (found.as_ref().and_then(|found| found[key].as_str()), is_told) {
            (Some(url), _) => Some(url.to_string()),
            // Servers of the first revisions have no metadata and these paths.
            (None, false) if found.is_none() => Some(format!("{issuer}{usual}")),
            (None, _) => None,
        };
    let missing = |what: &str| format!("its authorization server {issuer} does not say where its {what} is");
    Ok(Authorization {
        authorization_url: config
            .authorization_url
            .clone()
            .or_else(|| endpoint("authorization_endpoint", "/authorize"))
            .ok_or_else(|| missing("authorization endpoint"))?,
        token_url: config
            .token_url
            .clone()
            .or_else(|| endpoint("token_endpoint", "/token"))
            .ok_or_else(|| missing("token endpoint"))?,
        registration_url: config
            .registration_url
            .clone()
            .or_else(|| endpoint("registration_endpoint", "/register")),
        issuer: found.is_some().then_some(issuer),
        scopes,
        resource: resource_name,
    })
}

/// The server's challenge to a stranger, empty if it refuses without one; none if it lets them in.
async fn challenge(client: &HttpClient, server: &str) -> Result<Option<String>, String> {
    let stranger = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "longhaul", "version": env!("CARGO_PKG_VERSION")},
    }});
    let answer = ask(client, server, Asked::Json(stranger)).await?;
    Ok(match answer.status {
        StatusCode::UNAUTHORIZED => Some(bearer_challenge(&answer.headers)),
        status if status.is_success() => None,
        _ => Some(String::new()),
    })
}

/// The challenge for bearer tokens among those of a refusal.
fn bearer_challenge(headers: &HeaderMap) -> String {
    let challenges = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    let mut bearer =
        challenges.filter(|value| value.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("bearer")));
    bearer.next().unwrap_or_default().to_string()
}

/// A parameter of a challenge: a word, or a text in quotes.
fn parameter(challenge: &str, name: &str) -> Option<String> {
    let rest = challenge.split_once(' ')?.1;
    let start = format!("{name}=");
    let at = rest
        .match_indices(&start)
        .map(|(at, _)| at)
        .find(|at| rest[..*at].trim_end().is_empty() || rest[..*at].trim_end().ends_with(','))?;
    let value = &rest[at + start.len()..];
    let value = match value.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => value.split([',', ' ']).next()?,
    };
    (!value.is_empty()).then(|| value.to_string())
}

/// True if a resource's name is a server's address, or stands above it.
fn is_above(resource: &str, server: &str) -> bool {
    let (Ok(resource), Ok(server)) = (checked(resource), checked(server)) else { return false };
    let (above, below) = (path(&resource), path(&server));
    origin(&resource).eq_ignore_ascii_case(&origin(&server))
        && below.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The metadata of an authorization server; none if it has none.
async fn metadata(client: &HttpClient, issuer: &str) -> Result<Option<Value>, String> {
    let uri = checked(issuer)?;
    let (origin, path) = (origin(&uri), path(&uri));
    let addresses = [
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}/.well-known/openid-configuration{path}"),
        format!("{origin}{path}/.well-known/openid-configuration"),
    ];
    for address in addresses {
        let found = ask(client, &address, Asked::Get).await.ok().and_then(super::requests::Answer::document);
        let Some(found) = found.filter(|found| found["token_endpoint"].is_string()) else { continue };
        if found["issuer"]
            .as_str()
            .is_some_and(|named| named.trim_end_matches('/') != issuer.trim_end_matches('/'))
        {
            return Err(format!("the authorization server {issuer} calls itself otherwise"));
        }
        if !texts(&found["code_challenge_methods_supported"]).iter().any(|method| method == "S256") {
            return Err(format!(
                "the authorization server {issuer} does not support PKCE, without which codes can be stolen"
            ));
        }
        return Ok(Some(found));
    }
    Ok(None)
}

fn texts(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read() {
        let challenge = r#"Bearer error="invalid_token", resource_metadata="https://a.example/.well-known/x", scope="read write""#;
        assert_eq!(
            parameter(challenge, "resource_metadata").as_deref(),
            Some("https://a.example/.well-known/x")
        );
        assert_eq!(parameter(challenge, "scope").as_deref(), Some("read write"));
        assert_eq!(parameter("Bearer realm=mcp, scope=all", "scope").as_deref(), Some("all"));
        assert_eq!(parameter("Bearer", "scope"), None);
        assert_eq!(parameter(r#"Bearer my_scope="x""#, "scope"), None);
    }

    #[test]
    fn tokens_are_for_the_server_that_is_called() {
        assert!(is_above("https://a.example", "https://a.example/mcp"));
        assert!(is_above("https://a.example/mcp", "https://a.example/mcp"));
        assert!(!is_above("https://a.example/mc", "https://a.example/mcp"));
        assert!(!is_above("https://b.example", "https://a.example/mcp"));
        assert!(!is_above("https://a.example:444", "https://a.example/mcp"));
    }
}
