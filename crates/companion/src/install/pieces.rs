//! The pieces of an installation: entries in an agent's own files, and files of ours beside them.

use std::path::{Path, PathBuf};

use longhaul_workspace::{JsoncDocument, JsoncError, NewKey};
use serde_json::Value;

use super::{FileOwner, InstallError};

/// The beginning of every command of the guard.
pub(super) const COMMAND: &str = "longhaul guard";

/// One thing that an installation adds to a file.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    /// Groups of hooks by their events, beside those of others. Without groups, hooks of an older guard are taken out.
    Hooks(Vec<(&'static str, Value)>),
    /// A value under a path of keys.
    Entry(Vec<String>, Value),
    /// Lines at the end of a file.
    Lines(String),
    /// A file of ours.
    File(String),
}

/// A file with what an installation adds to it, in order.
#[derive(Clone, Debug)]
pub(super) struct InstalledFile {
    pub(super) path: PathBuf,
    pub(super) pieces: Vec<Piece>,
}

impl InstalledFile {
    pub(super) fn new(path: PathBuf, pieces: Vec<Piece>) -> Self {
        Self { path, pieces }
    }

    pub(super) fn own(path: PathBuf, text: impl Into<String>) -> Self {
        Self::new(path, vec![Piece::File(text.into())])
    }

    /// Longhaul, if the whole file is ours.
    pub(super) fn owner(&self) -> FileOwner {
        match self.pieces.iter().any(|piece| matches!(piece, Piece::File(_))) {
            true => FileOwner::Longhaul,
            false => FileOwner::Agent,
        }
    }

    /// The file's text with everything in it; none where it neither exists nor needs anything.
    pub(super) fn with(&self, before: Option<&str>) -> Result<Option<String>, InstallError> {
        let mut text = before.map(str::to_string);
        for piece in &self.pieces {
            text = piece.with(&self.path, text)?;
        }
        Ok(text)
    }

    /// The file's text with nothing of ours in it; none if nothing else is in it.
    pub(super) fn without(&self, now: &str) -> Result<Option<String>, InstallError> {
        let mut text = Some(now.to_string());
        for piece in self.pieces.iter().rev() {
            let Some(now) = text else { return Ok(None) };
            text = piece.without(&self.path, now)?;
        }
        Ok(text)
    }

    /// True if anything of ours is in a text of this file.
    pub(super) fn is_in(&self, text: &str) -> bool {
        self.pieces.iter().any(|piece| match piece {
            Piece::Hooks(_) => text.contains(COMMAND),
            Piece::Entry(keys, _) => {
                JsoncDocument::parse(text.to_string()).is_ok_and(|document| has_entry(&document, keys))
            }
            Piece::Lines(lines) => head_of(lines).is_some_and(|head| text.lines().any(|line| line == head)),
            Piece::File(_) => true,
        })
    }
}

impl Piece {
    fn with(&self, path: &Path, before: Option<String>) -> Result<Option<String>, InstallError> {
        let malformed = |cause| InstallError::Malformed { path: path.to_path_buf(), cause };
        match self {
            Self::Hooks(groups) if groups.is_empty() => match before {
                Some(now) => without_hooks(&now, malformed),
                None => Ok(None),
            },
            Self::Hooks(groups) => with_hooks(groups, path, before, malformed).map(Some),
            Self::Entry(keys, value) => {
                let document = parse(before, malformed)?;
                check_objects(&document, keys, path)?;
                let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
                let known = keys.iter().try_fold(document.root(), |node, key| Some(node?.get(key)));
                if known.flatten().is_some_and(|known| known.to_value() == *value) {
                    return Ok(Some(document.text().to_string()));
                }
                let document = document.set(&keys, value, NewKey::Last).map_err(malformed)?;
                Ok(Some(document.text().to_string()))
            }
            Self::Lines(lines) => {
                let before = before.unwrap_or_default();
                if before.contains(lines.as_str()) {
                    return Ok(Some(before));
                }
                let others = without_block(&before, lines);
                let gap = match others.as_str() {
                    "" => "",
                    text if text.ends_with("\n\n") => "",
                    text if text.ends_with('\n') => "\n",
                    _ => "\n\n",
                };
                Ok(Some(format!("{others}{gap}{lines}")))
            }
            Self::File(text) => Ok(Some(text.clone())),
        }
    }

    fn without(&self, path: &Path, now: String) -> Result<Option<String>, InstallError> {
        let malformed = |cause| InstallError::Malformed { path: path.to_path_buf(), cause };
        match self {
            Self::Hooks(_) => without_hooks(&now, malformed),
            Self::Entry(keys, _) => {
                let mut document = JsoncDocument::parse(now).map_err(malformed)?;
                if !has_entry(&document, keys) {
                    return Ok(Some(document.text().to_string()));
                }
                document = without_entry(document, keys).map_err(malformed)?;
                Ok(something(&document))
            }
            Self::Lines(lines) => {
                let left = without_block(&now, lines);
                Ok((!left.trim().is_empty()).then_some(left))
            }
            Self::File(_) => Ok(None),
        }
    }
}

fn parse(
    before: Option<String>,
    malformed: impl Fn(JsoncError) -> InstallError,
) -> Result<JsoncDocument, InstallError> {
    JsoncDocument::parse(before.unwrap_or_default()).map_err(malformed)
}

/// The text of a document, if anything is in it.
fn something(document: &JsoncDocument) -> Option<String> {
    let is_empty = document.root().is_none_or(|root| root.is_object() && root.entries().is_empty());
    (!is_empty || document.text().contains("//")).then(|| document.text().to_string())
}

fn has_entry(document: &JsoncDocument, keys: &[String]) -> bool {
    keys.iter().try_fold(document.root(), |node, key| Some(node?.get(key))).flatten().is_some()
}

/// The document without an entry, and without the objects that it alone was in.
fn without_entry(document: JsoncDocument, keys: &[String]) -> Result<JsoncDocument, JsoncError> {
    let Some((first, rest)) = keys.split_first() else { return Ok(document) };
    let mut value =
        document.root().and_then(|root| root.get(first)).map(|node| node.to_value()).unwrap_or_default();
    if !rest.is_empty() && !take_entry(&mut value, rest) {
        return document.set(&[first], &value, NewKey::Last);
    }
    document.remove(first)
}

/// Takes an entry out of an object; true if nothing is left of it.
fn take_entry(value: &mut Value, keys: &[String]) -> bool {
    let (Some(object), Some((first, rest))) = (value.as_object_mut(), keys.split_first()) else {
        return false;
    };
    if rest.is_empty() || object.get_mut(first).is_some_and(|inner| take_entry(inner, rest)) {
        object.shift_remove(first);
    }
    object.is_empty()
}

fn check_objects(document: &JsoncDocument, keys: &[String], path: &Path) -> Result<(), InstallError> {
    let unexpected = |key: &str| InstallError::Unexpected {
        path: path.to_path_buf(),
        key: key.to_string(),
        expected: "object",
    };
    let Some(mut node) = document.root() else { return Ok(()) };
    if !node.is_object() {
        return Err(unexpected("the file"));
    }
    for (place, key) in keys.iter().enumerate() {
        let Some(inner) = node.get(key) else { return Ok(()) };
        if place + 1 < keys.len() && !inner.is_object() {
            return Err(unexpected(&keys[..=place].join(".")));
        }
        node = inner;
    }
    Ok(())
}

/// The first line of a block, which finds an older form of it.
fn head_of(lines: &str) -> Option<&str> {
    lines.lines().find(|line| line.starts_with('['))
}

/// A text without a block of ours, in whatever form it is: its tables, to the next line that begins another one.
fn without_block(text: &str, lines: &str) -> String {
    if let Some(start) = text.find(lines) {
        let head = &text[..start];
        let head = head.strip_suffix('\n').filter(|head| head.ends_with('\n')).unwrap_or(head);
        return format!("{head}{}", &text[start + lines.len()..]);
    }
    let heads: Vec<&str> = lines.lines().filter(|line| line.starts_with('[')).collect();
    let mut kept = String::new();
    let mut is_own = false;
    for line in text.split_inclusive('\n') {
        if line.starts_with('[') {
            is_own = heads.contains(&line.trim_end());
        }
        if !is_own {
            kept.push_str(line);
        }
    }
    kept
}

fn with_hooks(
    wanted_groups: &[(&'static str, Value)],
    path: &Path,
    before: Option<String>,
    malformed: impl Fn(JsoncError) -> InstallError,
) -> Result<String, InstallError> {
    let mut document = parse(before, &malformed)?;
    for (event, group) in wanted_groups {
        let groups = groups_of(&document, event, path)?;
        let mut wanted = without_own(&groups);
        wanted.push(group.clone());
        if groups == wanted {
            continue;
        }
        document =
            document.set(&["hooks", event], &Value::Array(wanted), NewKey::Last).map_err(&malformed)?;
    }
    Ok(document.text().to_string())
}

fn without_hooks(
    now: &str,
    malformed: impl Fn(JsoncError) -> InstallError,
) -> Result<Option<String>, InstallError> {
    let mut document = JsoncDocument::parse(now.to_string()).map_err(&malformed)?;
    let Some(hooks) = document.root().and_then(|root| root.get("hooks")) else {
        return Ok(Some(now.to_string()));
    };
    let Value::Object(mut hooks) = hooks.to_value() else { return Ok(Some(now.to_string())) };
    let before = hooks.clone();
    for groups in hooks.values_mut() {
        if let Value::Array(list) = groups {
            *list = without_own(list);
        }
    }
    hooks.retain(|event, groups| {
        before.get(event) == Some(groups) || groups.as_array().is_none_or(|it| !it.is_empty())
    });
    if hooks == before {
        return Ok(Some(now.to_string()));
    }
    document = match hooks.is_empty() {
        true => document.remove("hooks").map_err(malformed)?,
        false => document.set(&["hooks"], &Value::Object(hooks), NewKey::Last).map_err(malformed)?,
    };
    Ok(something(&document))
}

/// The groups of hooks of an event.
fn groups_of(document: &JsoncDocument, event: &str, path: &Path) -> Result<Vec<Value>, InstallError> {
    check_objects(document, &["hooks".to_string(), event.to_string()], path)?;
    let groups = document.root().and_then(|root| root.get("hooks")).and_then(|hooks| hooks.get(event));
    match groups.map(|groups| groups.to_value()) {
        None => Ok(Vec::new()),
        Some(Value::Array(groups)) => Ok(groups),
        Some(_) => Err(InstallError::Unexpected {
            path: path.to_path_buf(),
            key: format!("hooks.{event}"),
            expected: "list",
        }),
    }
}

/// The groups without hooks of ours; a group that had no others is gone.
fn without_own(groups: &[Value]) -> Vec<Value> {
    let is_own = |hook: &Value| {
        hook.get("command").and_then(Value::as_str).is_some_and(|command| command.starts_with(COMMAND))
    };
    let mut kept = Vec::new();
    for group in groups {
        let Some(hooks) = group.get("hooks").and_then(Value::as_array) else {
            kept.push(group.clone());
            continue;
        };
        if !hooks.iter().any(is_own) {
            kept.push(group.clone());
            continue;
        }
        let others: Vec<Value> = hooks.iter().filter(|hook| !is_own(hook)).cloned().collect();
        if !others.is_empty() {
            let mut group = group.clone();
            group["hooks"] = Value::Array(others);
            kept.push(group);
        }
    }
    kept
}
