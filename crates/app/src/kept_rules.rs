//! Rules of the user that were kept for a session because an agent asked for it, with the user's words as evidence. They lie in
//! our own home: other agents' files are never written. Whoever reads the session's rules reads these, too.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use longhaul_conversation::Ordinal;
use longhaul_directives::QuotedRule;
use longhaul_workspace::{Home, Lock, LockTimeout, create_private_folder, write_private_atomically};
use serde_json::{Value, json};

use crate::clock::now;
use crate::environment;
use crate::failure::hinted;

/// A rule of a session, in the words the user typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRule {
    /// The id of the session.
    pub session: String,
    /// Its file.
    pub file: PathBuf,
    /// The sentence, and the message in which it was typed.
    pub quoted: QuotedRule,
}

/// The rules kept for the session in this file, oldest first.
///
/// # Errors
/// The file of kept rules is broken, or cannot be read.
pub fn kept_rules(file: &Path) -> anyhow::Result<Vec<QuotedRule>> {
    let Some(home) = environment::home(&environment::of_process())? else { return Ok(Vec::new()) };
    let known = read(&home.kept_rules())?;
    let canonical = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let is_of_file = |rule: &&Value| {
        let session = rule["session"].as_str().unwrap_or_default();
        // A session that was moved or archived still has its id in its name.
        rule["file"].as_str().is_some_and(|known| Path::new(known) == canonical)
            || session.len() >= LONG_ID && name.contains(session)
    };
    Ok(known.iter().filter(is_of_file).filter_map(quoted).collect())
}

/// An id of so many characters in a file's name is no accident.
const LONG_ID: usize = 16;

fn quoted(rule: &Value) -> Option<QuotedRule> {
    let number = rule["message"].as_str()?.strip_prefix('m')?.parse().ok()?;
    Some(QuotedRule { text: rule["text"].as_str()?.to_string(), message: Ordinal(number) })
}

/// Keeps a rule; tells whether it is new.
///
/// # Errors
/// The file of kept rules is broken, locked or cannot be written.
pub fn keep_rule(rule: &KeptRule) -> anyhow::Result<bool> {
    let path = Home::resolve(&environment::of_process())?.kept_rules();
    if let Some(folder) = path.parent() {
        create_private_folder(folder)?;
    }
    let _lock = Lock::beside(&path, "keep a rule", LockTimeout::default())?;
    let mut rules = read(&path)?;
    let is_known = |known: &Value| {
        known["session"] == rule.session.as_str() && known["text"] == rule.quoted.text.as_str()
    };
    if rules.iter().any(is_known) {
        return Ok(false);
    }
    let file = rule.file.canonicalize().unwrap_or_else(|_| rule.file.clone());
    rules.push(json!({
        "session": rule.session, "file": file, "text": rule.quoted.text, "message": rule.quoted.message.to_string(),
        "at": now().to_string(),
    }));
    let text = format!("{:#}\n", json!({"v": 1, "rules": rules}));
    write_private_atomically(&path, text.as_bytes())?;
    Ok(true)
}

/// The content of the file. One that is broken is an error, so that nothing is written over it.
fn read(path: &Path) -> anyhow::Result<Vec<Value>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("could not read {}", path.display())),
    };
    let value: Option<Value> = serde_json::from_str(&text).ok();
    let rules = value.and_then(|mut value| match value["rules"].take() {
        Value::Array(rules) => Some(rules),
        _ => None,
    });
    rules.ok_or_else(|| hinted(anyhow!("{} is broken", path.display()), "repair it or move it away"))
}
