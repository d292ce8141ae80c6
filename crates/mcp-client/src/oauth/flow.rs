//! A sign-in from the first question to the kept token.

use std::time::Duration;

use longhaul_providers::{HttpClient, Network};
use serde_json::json;
use tokio::time::timeout;

use super::discovery::{Authorization, discover};
use super::endpoints::{checked, form};
use super::keeper::read_token;
use super::pkce::{Verifier, random_word};
use super::redirect::Redirect;
use super::requests::{Asked, ask};
use super::store::Token;
use super::{OAuthConfig, unix_millis};
use crate::config::{ServerAddress, ServerConfig, ServerPlace};

/// The longest wait for a person at the browser.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// A sign-in that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignInError {
    /// The server has no address, so there is nothing to sign in at.
    #[error("it is started by a command and needs no sign-in")]
    NoAddress,
    /// Settings do not allow it.
    #[error("its settings disable signing in")]
    Disabled,
    /// Nobody came back from the browser.
    #[error("nobody came back from the browser within {} s", LONGEST_WAIT.as_secs())]
    NobodyCame,
    /// Something else went wrong, in words.
    #[error("{0}")]
    Failed(String),
}

impl From<String> for SignInError {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

/// Signs a person in at a server and keeps the token. `visit` gets the address to open in a browser.
///
/// # Errors
/// The server cannot be signed in at, or the person or the authorization server refuses.
pub async fn sign_in(config: &ServerConfig, visit: impl FnOnce(&str)) -> Result<(), SignInError> {
    let ServerPlace::Address(address) = &config.place else { return Err(SignInError::NoAddress) };
    let ServerAddress { url, oauth, tokens: Some(tokens), proxies, .. } = address else {
        return Err(SignInError::Failed("there is no home folder to keep a token in".into()));
    };
    if oauth.is_disabled {
        return Err(SignInError::Disabled);
    }
    let client = HttpClient::new(Network { proxies: proxies.clone(), ..Network::default() });
    let found = discover(&client, url, oauth).await?;
    let redirect = Redirect::open(oauth.redirect_uri.as_deref()).await?;
    let client_id = match &oauth.client_id {
        Some(id) => id.clone(),
        None => register(&client, &found, &redirect.uri).await?,
    };
    let (verifier, state) = (Verifier::new(), random_word());
    visit(&authorization_address(&found, oauth, &client_id, &redirect.uri, &verifier, &state)?);
    let returned =
        timeout(LONGEST_WAIT, redirect.wait(&state)).await.map_err(|_| SignInError::NobodyCame)??;
    if let (Some(named), Some(issuer)) = (&returned.issuer, &found.issuer)
        && named.trim_end_matches('/') != issuer.trim_end_matches('/')
    {
        return Err(SignInError::Failed(format!("the browser came back from {named} instead of {issuer}")));
    }
    let code = returned.code.map_err(|reason| format!("the sign-in was refused: {reason}"))?;
    let mut fields = vec![
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("redirect_uri", &redirect.uri),
        ("client_id", &client_id),
        ("code_verifier", verifier.as_str()),
        ("resource", &found.resource),
    ];
    fields.extend(oauth.client_secret.as_deref().map(|secret| ("client_secret", secret)));
    let answer = ask(&client, &found.token_url, Asked::Form(form(&fields))).await?;
    if !answer.status.is_success() {
        return Err(SignInError::Failed(format!("the code was refused: {}", answer.refusal())));
    }
    let empty = Token {
        server_url: url.clone(),
        access: String::new(),
        refresh: None,
        expires: None,
        scope: (!found.scopes.is_empty()).then(|| found.scopes.join(" ")),
        client_id,
        token_url: found.token_url,
        resource: Some(found.resource),
    };
    let now = unix_millis();
    tokens.save(&config.name, &read_token(answer, &empty, now)?, now)?;
    Ok(())
}

/// A client of this name and redirect, as the authorization server registers it.
async fn register(client: &HttpClient, found: &Authorization, redirect: &str) -> Result<String, SignInError> {
    let Some(url) = &found.registration_url else {
        let reason = "the authorization server registers no clients by itself: register one by hand and set oauth.clientId";
        return Err(SignInError::Failed(reason.into()));
    };
    let mut wanted = json!({
        "client_name": "Longhaul",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    });
    if !found.scopes.is_empty() {
        wanted["scope"] = json!(found.scopes.join(" "));
    }
    let answer = ask(client, url, Asked::Json(wanted)).await?;
    let refusal = answer.refusal();
    let document =
        answer.document().ok_or_else(|| format!("it could not be registered as a client: {refusal}"))?;
    let id = document["client_id"].as_str().filter(|id| !id.is_empty());
    Ok(id.ok_or_else(|| "it was registered without a client id".to_string())?.to_string())
}

fn authorization_address(
    found: &Authorization,
    config: &OAuthConfig,
    client_id: &str,
    redirect: &str,
    verifier: &Verifier,
    state: &str,
) -> Result<String, String> {
    let base = &found.authorization_url;
    checked(base)?;
    let (scopes, audiences) = (found.scopes.join(" "), config.audiences.join(" "));
    let challenge = verifier.challenge();
    let mut fields = vec![
        ("response_type", "code"),
        ("client_id", client_id),
        ("redirect_uri", redirect),
        ("state", state),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
        ("resource", &found.resource),
    ];
    if !scopes.is_empty() {
        fields.push(("scope", &scopes));
    }
    if !audiences.is_empty() {
        fields.push(("audience", &audiences));
    }
    let joint = if base.contains('?') { '&' } else { '?' };
    Ok(format!("{base}{joint}{}", form(&fields)))
}
