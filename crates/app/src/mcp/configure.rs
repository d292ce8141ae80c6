//! A server's fields, as Gemini CLI and `.mcp.json` write them.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use longhaul_mcp_client::{
    OAuthConfig, ServerAddress, ServerCommand, ServerConfig, ServerOrigin, ServerPlace, TokenStore,
};
use longhaul_providers::Proxies;
use serde_json::{Map, Value};

/// The wait for an answer where none is stated, as in Gemini CLI.
const USUAL_TIMEOUT: Duration = Duration::from_secs(600);

/// Fields that are read, and those that only describe.
const KNOWN: [&str; 16] = [
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "httpUrl",
    "headers",
    "timeout",
    "trust",
    "includeTools",
    "excludeTools",
    "description",
    "type",
    "extension",
    "oauth",
    "authProviderType",
];

/// Fields of `oauth` that are read.
const KNOWN_OAUTH: [&str; 9] = [
    "enabled",
    "clientId",
    "clientSecret",
    "authorizationUrl",
    "tokenUrl",
    "registrationUrl",
    "scopes",
    "audiences",
    "redirectUri",
];

/// A server that was configured, and whether its tools run without asking.
pub(super) struct Configured {
    pub(super) config: ServerConfig,
    pub(super) is_trusted: bool,
    /// Fields that nothing reads.
    pub(super) unknown: Vec<String>,
}

/// What every server gets.
pub(super) struct Surroundings<'s> {
    /// The folder that it starts in.
    pub(super) folder: &'s Path,
    /// The variables that it has beside its own.
    pub(super) environment: &'s [(OsString, OsString)],
    /// The proxies to go through.
    pub(super) proxies: Proxies,
    /// The file of tokens.
    pub(super) tokens: Option<TokenStore>,
}

/// Reads the fields of a server.
pub(super) fn configure(
    name: &str,
    fields: &Value,
    surroundings: &Surroundings<'_>,
    origin: &str,
) -> Result<Configured, String> {
    let Value::Object(object) = fields else { return Err("it is not an object".into()) };
    let text = |key: &str| match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(format!("{key} must be a string")),
    };
    let texts = |key: &str| match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(items)) => {
            let items: Option<Vec<String>> = items.iter().map(scalar).collect();
            items.map(Some).ok_or_else(|| format!("{key} must be a list of strings"))
        }
        Some(_) => Err(format!("{key} must be a list of strings")),
    };
    if name.trim().is_empty() {
        return Err("its name is empty".into());
    }
    let program = text("command")?.map(str::trim).filter(|program| !program.is_empty());
    let url = text("httpUrl")?.or(text("url")?).map(str::trim).filter(|url| !url.is_empty());
    let timeout = match object.get("timeout") {
        None | Some(Value::Null) => USUAL_TIMEOUT,
        Some(value) => match value.as_u64().filter(|millis| *millis > 0) {
            Some(millis) => Duration::from_millis(millis),
            None => return Err("timeout must be a number of milliseconds".into()),
        },
    };
    let is_trusted = match object.get("trust") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(trust)) => *trust,
        Some(_) => return Err("trust must be true or false".into()),
    };
    let place = match (program, url) {
        (Some(program), _) => ServerPlace::Command(ServerCommand {
            program: program.to_string(),
            args: texts("args")?.unwrap_or_default(),
            folder: surroundings.folder.join(text("cwd")?.unwrap_or_default()),
            environment: with_own(surroundings.environment, &pairs(object, "env")?),
        }),
        (None, Some(url)) => ServerPlace::Address(ServerAddress {
            url: url.to_string(),
            headers: pairs(object, "headers")?,
            proxies: surroundings.proxies.clone(),
            oauth: Box::new(oauth(object)?),
            tokens: surroundings.tokens.clone(),
        }),
        (None, None) => return Err("it has neither a command nor an httpUrl".into()),
    };
    let config = ServerConfig {
        name: name.to_string(),
        place,
        timeout,
        include: texts("includeTools")?,
        exclude: texts("excludeTools")?.unwrap_or_default(),
        origin: ServerOrigin(origin.to_string()),
    };
    let mut unknown: Vec<String> =
        object.keys().filter(|key| !KNOWN.contains(&key.as_str())).cloned().collect();
    let of_oauth = object.get("oauth").and_then(Value::as_object).into_iter().flatten();
    let unread = of_oauth.filter(|(key, _)| !KNOWN_OAUTH.contains(&key.as_str()));
    unknown.extend(unread.map(|(key, _)| format!("oauth.{key}")));
    Ok(Configured { config, is_trusted, unknown })
}

/// The fields about signing in.
fn oauth(object: &Map<String, Value>) -> Result<OAuthConfig, String> {
    match object.get("authProviderType").and_then(Value::as_str) {
        None | Some("dynamic_discovery") => {}
        Some(other) => return Err(format!("signing in by {other} is not supported: set a token in headers")),
    }
    let empty = Map::new();
    let fields = match object.get("oauth") {
        None | Some(Value::Null) => &empty,
        Some(Value::Object(fields)) => fields,
        Some(_) => return Err("oauth must be an object".into()),
    };
    let text = |key: &str| match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Some(_) => Err(format!("oauth.{key} must be a string")),
    };
    let texts = |key: &str| match fields.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            let items = items.iter().map(scalar).collect::<Option<Vec<_>>>();
            items.ok_or_else(|| format!("oauth.{key} must be a list of strings"))
        }
        Some(_) => Err(format!("oauth.{key} must be a list of strings")),
    };
    Ok(OAuthConfig {
        client_id: text("clientId")?,
        client_secret: text("clientSecret")?,
        authorization_url: text("authorizationUrl")?,
        token_url: text("tokenUrl")?,
        registration_url: text("registrationUrl")?,
        scopes: texts("scopes")?,
        audiences: texts("audiences")?,
        redirect_uri: text("redirectUri")?,
        is_disabled: fields.get("enabled") == Some(&Value::Bool(false)),
    })
}

/// The texts of an object by name, in order.
fn pairs(object: &Map<String, Value>, key: &str) -> Result<Vec<(String, String)>, String> {
    let wrong = || format!("{key} must be an object of strings");
    match object.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(entries)) => {
            let entry = |(name, value): (&String, &Value)| Some((name.clone(), scalar(value)?));
            entries.iter().map(entry).collect::<Option<Vec<_>>>().ok_or_else(wrong)
        }
        Some(_) => Err(wrong()),
    }
}

/// An environment in which a server's own variables replace others of their names.
fn with_own(environment: &[(OsString, OsString)], own: &[(String, String)]) -> Vec<(OsString, OsString)> {
    let others = environment.iter().filter(|(name, _)| !own.iter().any(|(own, _)| name == own.as_str()));
    let own = own.iter().map(|(name, value)| (name.into(), value.into()));
    others.cloned().chain(own).collect()
}

/// A string, or a number or boolean as one: people write ports and flags without quotes.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(fields: &Value) -> Result<Configured, String> {
        let environment = [("PATH".into(), "/bin".into()), ("MODE".into(), "usual".into())];
        let folder = Path::new("/home/dev/app");
        let surroundings =
            Surroundings { folder, environment: &environment, proxies: Proxies::default(), tokens: None };
        configure("files", fields, &surroundings, "settings.json:3")
    }

    #[test]
    fn fields_of_gemini_cli_are_read_unchanged() {
        let configured = of(&json!({
            "command": "npx", "args": ["-y", "server", 8080], "env": {"MODE": "own", "N": 1}, "cwd": "tools", "timeout": 5000,
            "trust": true, "includeTools": ["a"], "excludeTools": ["b"], "oauth": {"x": 1},
        }))
        .unwrap_or_else(|reason| panic!("{reason}"));
        let ServerConfig { place, timeout, include, exclude, .. } = configured.config;
        let ServerPlace::Command(command) = place else { panic!("it has a command") };
        assert_eq!((command.program.as_str(), command.args.join(" ")), ("npx", "-y server 8080".into()));
        assert_eq!(command.folder, Path::new("/home/dev/app/tools"));
        let variable = |name: &str| {
            command.environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        };
        assert_eq!(variable("PATH"), Some("/bin".into()));
        assert_eq!((variable("MODE"), variable("N")), (Some("own".into()), Some("1".into())));
        assert_eq!(
            (timeout, include, exclude),
            (Duration::from_secs(5), Some(vec!["a".into()]), vec!["b".into()])
        );
        assert!(configured.is_trusted);
        assert_eq!(configured.unknown, ["oauth.x"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (fields, reason) in [
            (json!([]), "not an object"),
            (json!({}), "neither a command nor"),
            (json!({"command": 3}), "command must be a string"),
            (json!({"command": "x", "args": "y"}), "args must be a list"),
            (json!({"command": "x", "env": ["A=B"]}), "env must be an object"),
            (json!({"command": "x", "timeout": "soon"}), "milliseconds"),
            (json!({"command": "x", "trust": "yes"}), "trust must be"),
            (json!({"httpUrl": "https://example.org", "headers": "x"}), "headers must be an object"),
            (json!({"httpUrl": "https://example.org", "oauth": 1}), "oauth must be an object"),
            (json!({"httpUrl": "https://example.org", "oauth": {"scopes": "x"}}), "oauth.scopes must be"),
            (json!({"httpUrl": "https://x.org", "authProviderType": "google_credentials"}), "not supported"),
        ] {
            assert!(of(&fields).err().is_some_and(|told| told.contains(reason)), "{fields}");
        }
        let usual = of(&json!({"command": "x"})).unwrap_or_else(|reason| panic!("{reason}"));
        assert_eq!((usual.config.timeout, usual.is_trusted), (Duration::from_secs(600), false));
    }

    #[test]
    fn a_server_may_be_an_address_with_headers() {
        for key in ["url", "httpUrl"] {
            let configured =
                of(&json!({key: "https://example.org/mcp", "headers": {"Authorization": "Bearer x"}}));
            let config = configured.unwrap_or_else(|reason| panic!("{reason}")).config;
            let ServerPlace::Address(address) = config.place else { panic!("it has an address") };
            assert_eq!(address.url, "https://example.org/mcp");
            assert_eq!(address.headers, [("Authorization".to_string(), "Bearer x".to_string())]);
            assert!(!format!("{address:?}").contains("Bearer"));
        }
    }
}
