//! The token of one connection: read when it is needed, renewed when it has run out.

use longhaul_providers::HttpClient;

use super::endpoints::form;
use super::requests::{Answer, Asked, ask};
use super::store::{Token, TokenStore};
use super::{OAuthConfig, unix_millis};

/// A token is renewed so long before it runs out, in milliseconds.
const EARLY: i64 = 60_000;

/// Gives the requests of one server their token.
pub(crate) struct TokenKeeper {
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) config: OAuthConfig,
    pub(crate) store: TokenStore,
    /// Held while a token is renewed: of several requests one does it.
    pub(crate) renewing: tokio::sync::Mutex<()>,
}

impl TokenKeeper {
    /// The token to send; none if nobody has signed in.
    pub(crate) async fn token(&self, client: &HttpClient) -> Result<Option<String>, String> {
        let Some(token) = self.store.load(&self.name, &self.url)? else { return Ok(None) };
        let has_run_out = token.expires.is_some_and(|expires| expires - EARLY <= unix_millis());
        match has_run_out && token.refresh.is_some() {
            true => self.renewed(client, &token.access).await.map(Some),
            false => Ok(Some(token.access)),
        }
    }

    /// A token in place of one that was refused or has run out.
    pub(crate) async fn renewed(&self, client: &HttpClient, refused: &str) -> Result<String, String> {
        let _turn = self.renewing.lock().await;
        let token =
            self.store.load(&self.name, &self.url)?.ok_or_else(|| "nobody has signed in".to_string())?;
        // Another request, or another process, was faster.
        if token.access != refused {
            return Ok(token.access);
        }
        let Some(refresh) = &token.refresh else { return Err("the sign-in has ended".into()) };
        let mut fields = vec![
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh),
            ("client_id", &token.client_id),
        ];
        fields.extend(token.resource.as_deref().map(|resource| ("resource", resource)));
        fields.extend(self.config.client_secret.as_deref().map(|secret| ("client_secret", secret)));
        let answer = ask(client, &token.token_url, Asked::Form(form(&fields))).await?;
        if !answer.status.is_success() {
            return Err(format!("the sign-in was not renewed: {}", answer.refusal()));
        }
        let renewed = read_token(answer, &token, unix_millis())?;
        self.store.save(&self.name, &renewed, unix_millis())?;
        Ok(renewed.access)
    }
}

/// The token in an answer; what it does not say is as before.
pub(crate) fn read_token(answer: Answer, before: &Token, now: i64) -> Result<Token, String> {
    let missing = || "the authorization server answered without a token".to_string();
    let document = answer.document().ok_or_else(missing)?;
    let text = |key: &str| document[key].as_str().filter(|text| !text.is_empty()).map(str::to_string);
    if text("token_type").is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return Err("the authorization server answered with a token of another type than Bearer".into());
    }
    let seconds = document["expires_in"].as_i64().or_else(|| document["expires_in"].as_str()?.parse().ok());
    Ok(Token {
        access: text("access_token").ok_or_else(missing)?,
        refresh: text("refresh_token").or_else(|| before.refresh.clone()),
        expires: seconds.map(|seconds| now.saturating_add(seconds.saturating_mul(1000))),
        scope: text("scope").or_else(|| before.scope.clone()),
        ..before.clone()
    })
}
