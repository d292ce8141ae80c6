//! The file of tokens: Gemini CLI's own, a list with an entry for each server, readable by its owner alone.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use longhaul_workspace::{Lock, LockTimeout, create_private_folder, write_private_atomically};
use serde_json::{Map, Value, json};

/// The file in which tokens are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenStore {
    file: PathBuf,
}

/// A token for a server, and what renews it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token {
    /// The address of the server that it is for. It is sent nowhere else.
    pub(crate) server_url: String,
    pub(crate) access: String,
    pub(crate) refresh: Option<String>,
    /// In milliseconds since 1970.
    pub(crate) expires: Option<i64>,
    pub(crate) scope: Option<String>,
    pub(crate) client_id: String,
    pub(crate) token_url: String,
    pub(crate) resource: Option<String>,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("server_url", &self.server_url).finish_non_exhaustive()
    }
}

impl TokenStore {
    /// The store in this file, which is made when the first token is kept.
    pub fn at(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into() }
    }

    /// True if there is a token for a server of this name at this address.
    pub fn has_token(&self, name: &str, url: &str) -> bool {
        self.load(name, url).is_ok_and(|token| token.is_some())
    }

    /// The token of a server; none if it is for another address.
    pub(crate) fn load(&self, name: &str, url: &str) -> Result<Option<Token>, String> {
        let entries = read(&self.file)?;
        Ok(entries
            .iter()
            .find(|entry| is_of(entry, name))
            .and_then(parse)
            .filter(|token| token.server_url == url))
    }

    /// Keeps a token in place of an earlier one. Other entries, and fields that are not ours, stay.
    pub(crate) fn save(&self, name: &str, token: &Token, now: i64) -> Result<(), String> {
        self.change(|entries| {
            let entry = match entries.iter_mut().position(|entry| is_of(entry, name)) {
                Some(index) => &mut entries[index],
                None => {
                    entries.push(json!({"serverName": name}));
                    entries.last_mut().expect("just added")
                }
            };
            let mut fields = Map::new();
            fields.insert("accessToken".into(), json!(token.access));
            fields.insert("tokenType".into(), json!("Bearer"));
            let optional = [
                ("refreshToken", token.refresh.clone().map(Value::from)),
                ("expiresAt", token.expires.map(Value::from)),
                ("scope", token.scope.clone().map(Value::from)),
            ];
            fields.extend(optional.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))));
            entry["token"] = Value::Object(fields);
            entry["clientId"] = json!(token.client_id);
            entry["tokenUrl"] = json!(token.token_url);
            entry["mcpServerUrl"] = json!(token.server_url);
            entry["resource"] = json!(token.resource);
            entry["updatedAt"] = json!(now);
            true
        })
        .map(|_| ())
    }

    /// Forgets the token of a server; tells whether there was one.
    ///
    /// # Errors
    /// The file is broken, locked or cannot be written.
    pub fn forget(&self, name: &str) -> Result<bool, String> {
        self.change(|entries| {
            let count = entries.len();
            entries.retain(|entry| !is_of(entry, name));
            entries.len() < count
        })
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Value>) -> bool) -> Result<bool, String> {
        let failed = |error: &dyn fmt::Display| format!("could not change {}: {error}", self.file.display());
        if let Some(folder) = self.file.parent() {
            create_private_folder(folder).map_err(|error| failed(&error))?;
        }
        let lock = Lock::beside(&self.file, "keep a token", LockTimeout::default());
        let _lock = lock.map_err(|error| failed(&error))?;
        let mut entries = read(&self.file)?;
        let has_changed = change(&mut entries);
        if has_changed {
            let text = format!("{:#}\n", Value::Array(entries));
            // A file that was made by hand keeps its mode otherwise.
            make_private(&self.file).map_err(|error| failed(&error))?;
            write_private_atomically(&self.file, text.as_bytes()).map_err(|error| failed(&error))?;
        }
        Ok(has_changed)
    }
}

/// Takes the rights of others off a file that is there.
#[cfg(unix)]
fn make_private(file: &Path) -> std::io::Result<()> {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    match set_permissions(file, Permissions::from_mode(0o600)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(not(unix))]
fn make_private(_: &Path) -> std::io::Result<()> {
    Ok(())
}

fn is_of(entry: &Value, name: &str) -> bool {
    entry["serverName"] == name
}

fn parse(entry: &Value) -> Option<Token> {
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_string);
    Some(Token {
        server_url: text(&entry["mcpServerUrl"])?,
        access: text(&entry["token"]["accessToken"])?,
        refresh: text(&entry["token"]["refreshToken"]),
        expires: entry["token"]["expiresAt"].as_i64(),
        scope: text(&entry["token"]["scope"]),
        client_id: text(&entry["clientId"]).unwrap_or_default(),
        token_url: text(&entry["tokenUrl"]).unwrap_or_default(),
        resource: text(&entry["resource"]),
    })
}

/// The entries. A broken file is an error, so that nothing is written over it.
fn read(file: &Path) -> Result<Vec<Value>, String> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("could not read {}: {error}", file.display())),
    };
    match serde_json::from_str(&text) {
        Ok(Value::Array(entries)) => Ok(entries),
        _ => Err(format!("{} is broken: repair it or move it away", file.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> Token {
        Token {
            server_url: "https://a.example/mcp".into(),
            access: "at".into(),
            refresh: Some("rt".into()),
            expires: Some(1_800_000_000_000),
            scope: None,
            client_id: "c".into(),
            token_url: "https://a.example/token".into(),
            resource: None,
        }
    }

    #[test]
    fn tokens_are_private_and_for_one_address() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("mcp-oauth-tokens.json");
        std::fs::write(&file, r#"[{"serverName":"other","token":{"accessToken":"x"},"own":1}]"#)
            .expect("written");
        let store = TokenStore::at(&file);
        store.save("a", &token(), 5).expect("saved");
        store.save("a", &Token { access: "at2".into(), ..token() }, 6).expect("saved");
        assert_eq!(store.load("a", "https://a.example/mcp").expect("read").expect("there").access, "at2");
        assert_eq!(store.load("a", "https://b.example/mcp"), Ok(None));
        let text = std::fs::read_to_string(&file).expect("there");
        assert!(text.contains("\"own\": 1") && text.matches("serverName").count() == 2, "{text}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o600);
        }
        assert_eq!((store.forget("a"), store.forget("a")), (Ok(true), Ok(false)));
        assert!(!format!("{:?}", token()).contains("at"), "a token is not printed");
    }

    #[test]
    fn a_broken_file_is_not_written_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("t.json");
        std::fs::write(&file, "oops").expect("written");
        let store = TokenStore::at(&file);
        assert!(store.save("a", &token(), 5).unwrap_err().contains("is broken"));
        assert_eq!(std::fs::read_to_string(&file).expect("there"), "oops");
    }
}
