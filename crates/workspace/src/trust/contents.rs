//! The contents of trusted folders when they were trusted, so that a later change is noticed and can be shown.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::home::canonical_workspace;
use crate::{Lock, LockTimeout, WorkspaceError, write_private_atomically};

/// The contents of a folder: by kind, then by name.
pub type Contents = BTreeMap<String, BTreeMap<String, Fingerprint>>;

/// One thing that a folder holds, as far as it is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    hash: String,
    shown: String,
}

impl Fingerprint {
    /// The fingerprint of these bytes, and what a person is shown of them.
    pub fn of(bytes: &[u8], shown: impl Into<String>) -> Self {
        let hash = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        Self { hash, shown: shown.into() }
    }

    /// The text that a person is shown.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

/// A difference between what a folder held and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentChange {
    /// The kind of thing.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The former fingerprint, if it was there.
    pub before: Option<Fingerprint>,
    /// The present fingerprint, if it is there.
    pub after: Option<Fingerprint>,
}

/// Such as `hooks BeforeTool "lint": make lint → curl …`.
impl fmt::Display for ContentChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, before, after } = self;
        write!(f, "{kind}: {name}")?;
        let shown = |one: &Fingerprint| match one.shown() {
            "" => String::new(),
            shown => format!(": {shown}"),
        };
        match (before, after) {
            (Some(before), Some(after)) if before.shown() != after.shown() => {
                write!(f, ": {} → {}", before.shown(), after.shown())
            }
            (Some(_), Some(after)) => write!(f, "{} (changed)", shown(after)),
            (None, Some(after)) => write!(f, "{} (new)", shown(after)),
            (Some(before), None) => write!(f, "{} (removed)", shown(before)),
            (None, None) => Ok(()),
        }
    }
}

/// The differences, in the order of kinds and names. Kinds that only one side knows are left out.
pub fn changes_between(before: &Contents, after: &Contents) -> Vec<ContentChange> {
    let mut changes = Vec::new();
    for (kind, now) in after {
        let Some(then) = before.get(kind) else { continue };
        let names: std::collections::BTreeSet<&String> = then.keys().chain(now.keys()).collect();
        for name in names {
            let (was, is) = (then.get(name), now.get(name));
            if was.map(|one| &one.hash) != is.map(|one| &one.hash) {
                changes.push(ContentChange {
                    kind: kind.clone(),
                    name: name.clone(),
                    before: was.cloned(),
                    after: is.cloned(),
                });
            }
        }
    }
    changes
}

/// The file that remembers what trusted folders held; see [`crate::Home::trusted_contents`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedContents {
    path: PathBuf,
}

impl TrustedContents {
    /// The record in this file, which need not exist.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_path_buf() }
    }

    /// The contents of a folder when it was trusted, if they were ever noted.
    ///
    /// # Errors
    /// [`WorkspaceError::Invalid`] if the file has a mistake: then nobody knows whether anything changed. Otherwise why it
    /// cannot be read.
    pub fn of(&self, folder: &Path) -> Result<Option<Contents>, WorkspaceError> {
        let key = key(folder)?;
        self.load()?.get(&key).map(|value| self.parse(value)).transpose()
    }

    /// Notes what a folder holds. What was noted of other kinds stays.
    ///
    /// # Errors
    /// As [`TrustedContents::of`]; or what prevents locking or writing.
    pub fn remember(
        &self,
        folder: &Path,
        contents: &Contents,
        timeout: LockTimeout,
    ) -> Result<(), WorkspaceError> {
        let key = key(folder)?;
        self.edit(timeout, |folders| {
            let entry = folders.entry(key).or_insert_with(|| json!({}));
            if !entry.is_object() {
                *entry = json!({});
            }
            for (kind, items) in contents {
                let items: Map<String, Value> = items
                    .iter()
                    .map(|(name, one)| (name.clone(), json!({"sha256": one.hash, "shown": one.shown})))
                    .collect();
                entry[kind] = items.into();
            }
        })
    }

    /// Forgets a folder.
    ///
    /// # Errors
    /// As [`TrustedContents::remember`].
    pub fn forget(&self, folder: &Path, timeout: LockTimeout) -> Result<(), WorkspaceError> {
        let key = key(folder)?;
        if !self.load()?.contains_key(&key) {
            return Ok(());
        }
        self.edit(timeout, |folders| drop(folders.remove(&key)))
    }

    fn edit(
        &self,
        timeout: LockTimeout,
        change: impl FnOnce(&mut Map<String, Value>),
    ) -> Result<(), WorkspaceError> {
        let _lock = Lock::beside(&self.path, "recording the contents of a trusted folder", timeout)?;
        let mut folders = self.load()?;
        change(&mut folders);
        let text = serde_json::to_string_pretty(&json!({"v": 1, "folders": folders})).unwrap_or_default();
        write_private_atomically(&self.path, (text + "\n").as_bytes())
    }

    fn load(&self) -> Result<Map<String, Value>, WorkspaceError> {
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(Map::new());
            }
            Err(error) => return Err(WorkspaceError::reading(&self.path, error)),
        };
        let value: Value = serde_json::from_slice(&bytes).map_err(|error| self.invalid(error.to_string()))?;
        match value.get("folders") {
            Some(Value::Object(folders)) => Ok(folders.clone()),
            _ => Err(self.invalid("\"folders\" is missing".into())),
        }
    }

    fn parse(&self, value: &Value) -> Result<Contents, WorkspaceError> {
        let wrong = || self.invalid("unknown folder entry".into());
        let kinds = value.as_object().ok_or_else(wrong)?.iter().map(|(kind, items)| {
            let items = items.as_object().ok_or_else(wrong)?.iter().map(|(name, one)| {
                let text = |key: &str| one[key].as_str().map(str::to_owned).ok_or_else(wrong);
                Ok((name.clone(), Fingerprint { hash: text("sha256")?, shown: text("shown")? }))
            });
            Ok((kind.clone(), items.collect::<Result<_, WorkspaceError>>()?))
        });
        kinds.collect()
    }

    fn invalid(&self, problem: String) -> WorkspaceError {
        WorkspaceError::Invalid { path: self.path.clone(), problems: vec![problem] }
    }
}

fn key(folder: &Path) -> Result<String, WorkspaceError> {
    let folder = canonical_workspace(folder)?;
    Ok(folder.to_str().ok_or_else(|| WorkspaceError::NotUnicode { path: folder.clone() })?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn contents(kinds: &[(&str, &[(&str, &str)])]) -> Contents {
        let items = |items: &[(&str, &str)]| {
            items
                .iter()
                .map(|(name, text)| (name.to_string(), Fingerprint::of(text.as_bytes(), *text)))
                .collect()
        };
        kinds.iter().map(|(kind, named)| (kind.to_string(), items(named))).collect()
    }

    #[track_caller]
    fn check(before: &[(&str, &[(&str, &str)])], after: &[(&str, &[(&str, &str)])], expected: &[&str]) {
        let changes = changes_between(&contents(before), &contents(after));
        let told: Vec<String> = changes.iter().map(ToString::to_string).collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn changes_are_told_by_name() {
        let before: &[(&str, &[(&str, &str)])] = &[("hooks", &[("a", "make"), ("b", "ls")]), ("agents", &[])];
        check(before, before, &[]);
        check(
            before,
            &[("hooks", &[("a", "curl"), ("c", "rm")]), ("agents", &[("x", "")]), ("skills", &[("y", "z")])],
            &["agents: x (new)", "hooks: a: make → curl", "hooks: b: ls (removed)", "hooks: c: rm (new)"],
        );
        let same_words = |bytes: &str| {
            Contents::from([(
                "hooks".into(),
                BTreeMap::from([("a".into(), Fingerprint::of(bytes.as_bytes(), "make"))]),
            )])
        };
        let [change] = &changes_between(&same_words("1"), &same_words("2"))[..] else { panic!("one change") };
        assert_eq!(change.to_string(), "hooks: a: make (changed)");
    }

    #[test]
    fn contents_are_noted_and_forgotten() {
        let root = tempfile::tempdir().expect("a folder");
        let record = TrustedContents::at(&root.path().join("home/longhaul/trusted_contents.json"));
        let (one, other) = (root.path().join("one"), root.path().join("other"));
        assert_eq!(record.of(&one).expect("read"), None);
        record.forget(&one, LockTimeout::Immediate).expect("nothing to do");
        assert!(!root.path().join("home").exists());
        let (hooks, skills) =
            (contents(&[("hooks", &[("a", "make")])]), contents(&[("skills", &[("s", "x")])]));
        record.remember(&one, &hooks, LockTimeout::Immediate).expect("noted");
        record.remember(&other, &hooks, LockTimeout::Immediate).expect("noted");
        record.remember(&one, &skills, LockTimeout::Immediate).expect("noted");
        let both = hooks.clone().into_iter().chain(skills).collect();
        assert_eq!(record.of(&one).expect("read"), Some(both));
        record.forget(&one, LockTimeout::Immediate).expect("forgotten");
        assert_eq!(record.of(&one).expect("read"), None);
        assert_eq!(record.of(&other).expect("read"), Some(hooks));
    }

    #[test]
    fn a_broken_record_is_an_error_and_stays_as_it_is() {
        let root = tempfile::tempdir().expect("a folder");
        let file = root.path().join("record.json");
        for text in ["", "{", "[]", "{\"folders\": 1}"] {
            fs::write(&file, text).expect("written");
            let record = TrustedContents::at(&file);
            assert!(matches!(record.of(root.path()), Err(WorkspaceError::Invalid { .. })), "{text}");
            assert!(record.remember(root.path(), &Contents::new(), LockTimeout::Immediate).is_err());
            assert_eq!(fs::read_to_string(&file).expect("read"), text);
        }
    }

    proptest! {
        /// Contents that were noted are read again, and differ in nothing.
        #[test]
        fn contents_survive_the_disk(kinds in proptest::collection::btree_map(
            "[a-z]{1,4}",
            proptest::collection::btree_map(".{0,6}", (any::<Vec<u8>>(), ".{0,9}"), 0..4),
            0..4,
        )) {
            let root = tempfile::tempdir().expect("a folder");
            let record = TrustedContents::at(&root.path().join("record.json"));
            let noted: Contents = kinds.into_iter().map(|(kind, items)| {
                (kind, items.into_iter().map(|(name, (bytes, shown))| (name, Fingerprint::of(&bytes, shown))).collect())
            }).collect();
            record.remember(root.path(), &noted, LockTimeout::Immediate).expect("noted");
            let read = record.of(root.path()).expect("read").expect("there");
            prop_assert!(changes_between(&noted, &read).is_empty());
            prop_assert_eq!(read, noted);
        }
    }
}
