//! Rules of the user that an agent asked to keep, beside the sessions they were typed in: other agents' files are never written.

use std::path::PathBuf;

use longhaul_app::clock::now;
use longhaul_app::project::Project;
use longhaul_workspace::{Lock, LockTimeout, write_private_atomically};
use serde_json::{Value, json};

/// A rule of a session, in the words the user typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptRule {
    pub(crate) session: String,
    pub(crate) text: String,
    /// The message in which it was typed, as `m12`.
    pub(crate) message: String,
}

fn file(project: &Project) -> PathBuf {
    project.home.root().join("longhaul").join("rules.json")
}

/// The rules kept for a session, oldest first.
pub(crate) fn load(project: &Project, session: &str) -> Result<Vec<KeptRule>, String> {
    let rules = read(&file(project))?;
    let field = |rule: &Value, name: &str| rule[name].as_str().unwrap_or_default().to_string();
    let kept = rules.iter().filter(|rule| rule["session"] == session).map(|rule| KeptRule {
        session: session.to_string(),
        text: field(rule, "text"),
        message: field(rule, "message"),
    });
    Ok(kept.collect())
}

/// Keeps a rule; tells whether it is new.
pub(crate) fn keep(project: &Project, rule: &KeptRule) -> Result<bool, String> {
    let path = file(project);
    let _lock =
        Lock::beside(&path, "keep a rule", LockTimeout::default()).map_err(|error| error.to_string())?;
    let mut rules = read(&path)?;
    if rules
        .iter()
        .any(|known| known["session"] == rule.session.as_str() && known["text"] == rule.text.as_str())
    {
        return Ok(false);
    }
    rules.push(json!({
        "session": rule.session, "text": rule.text, "message": rule.message, "at": now().to_string(),
    }));
    let text = format!("{:#}\n", json!({"v": 1, "rules": rules}));
    write_private_atomically(&path, text.as_bytes()).map_err(|error| error.to_string())?;
    Ok(true)
}

/// What the file holds. One that is broken is an error, so that nothing is written over it.
fn read(path: &std::path::Path) -> Result<Vec<Value>, String> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("could not read {}: {error}", path.display())),
    };
    let broken = || format!("{} is broken: repair it or move it away", path.display());
    let value: Value = serde_json::from_str(&text).map_err(|_| broken())?;
    value["rules"].as_array().cloned().ok_or_else(broken)
}
