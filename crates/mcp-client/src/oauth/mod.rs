//! Signing in at servers that ask for it: OAuth 2.1 with a redirect to loopback and PKCE.
//!
//! [`sign_in`] is what a person starts; [`TokenKeeper`] gives connections a token and renews it.

mod discovery;
mod endpoints;
mod flow;
mod keeper;
mod pkce;
mod redirect;
mod requests;
mod store;

pub(crate) use endpoints::checked;
pub use flow::{SignInError, sign_in};
pub(crate) use keeper::TokenKeeper;
pub use store::TokenStore;

/// Settings for signing in at a server.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OAuthConfig {
    /// The id of a client that was registered by hand; without one, the authorization server is asked for one.
    pub client_id: Option<String>,
    /// Its secret, if it has one.
    pub client_secret: Option<String>,
    /// The authorization endpoint, instead of a discovered one.
    pub authorization_url: Option<String>,
    /// The token endpoint, instead of a discovered one.
    pub token_url: Option<String>,
    /// The registration endpoint, instead of a discovered one.
    pub registration_url: Option<String>,
    /// The scopes to ask for, instead of those that the server names.
    pub scopes: Vec<String>,
    /// Audiences that the authorization server wants to know.
    pub audiences: Vec<String>,
    /// The address on loopback to which the browser returns; any free port without it.
    pub redirect_uri: Option<String>,
    /// False if nobody is to sign in here.
    pub is_disabled: bool,
}

impl std::fmt::Debug for OAuthConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OAuthConfig")
            .field("client_id", &self.client_id)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

/// The time in milliseconds since 1970.
fn unix_millis() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
