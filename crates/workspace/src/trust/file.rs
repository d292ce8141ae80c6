//! The file of trust rules: read, asked, and changed under a lock with everything else in it kept.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::decide::{Trust, TrustQuery, decide};
use super::rule::{TrustLevel, TrustRule};
use crate::home::canonical_workspace;
use crate::jsonc::{JsoncDocument, JsoncError, JsoncNode, NewKey};
use crate::paths::is_same_folder;
use crate::shared_lock::SharedLock;
use crate::{LockTimeout, WorkspaceError, write_private_atomically};

/// The rules of trust in a file: an object of paths and levels, in which comments and trailing commas may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedFolders {
    path: PathBuf,
}

impl TrustedFolders {
    /// The rules in this file, which need not exist; see [`crate::Home::trusted_folders`].
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_path_buf() }
    }

    /// Answers whether a folder is trusted.
    ///
    /// # Errors
    /// [`WorkspaceError::Invalid`] if the file has any mistake: a rule that cannot be read might be the one that
    /// forbids. [`WorkspaceError::Unreadable`] or [`WorkspaceError::Failed`] if it cannot be read at all. The file is not
    /// read where something else decides.
    pub fn decide(&self, query: &TrustQuery<'_>) -> Result<Trust, WorkspaceError> {
        decide(query, || self.rules())
    }

    /// The rules, in the order of the file.
    ///
    /// # Errors
    /// As [`TrustedFolders::decide`].
    pub fn rules(&self) -> Result<Vec<TrustRule>, WorkspaceError> {
        self.load().map(|(_, rules)| rules)
    }

    /// Says of a folder what it is trusted with. This replaces rules that name it in other words, as by a link.
    ///
    /// # Errors
    /// As [`TrustedFolders::decide`], for a file with mistakes is not touched; or what prevents locking or writing.
    pub fn set(&self, folder: &Path, level: TrustLevel, timeout: LockTimeout) -> Result<(), WorkspaceError> {
        let folder = canonical_workspace(folder)?;
        let key = folder.to_str().ok_or_else(|| WorkspaceError::NotUnicode { path: folder.clone() })?;
        let change = |document: JsoncDocument, names: &[String]| {
            // The folder above a link is not the one above what it leads to, so that the link's name will not do.
            let other_names = names.iter().filter(|name| *name != key);
            let document = without_all(document, other_names)?;
            document.set(&[key], &level.as_str().into(), NewKey::Last)
        };
        self.edit(&folder, timeout, change).map(drop)
    }

    /// Takes away every rule that names this folder; whether there was any is the answer.
    ///
    /// # Errors
    /// As [`TrustedFolders::set`].
    pub fn remove(&self, folder: &Path, timeout: LockTimeout) -> Result<bool, WorkspaceError> {
        let folder = canonical_workspace(folder)?;
        self.edit(&folder, timeout, |document, names| without_all(document, names))
    }

    /// Changes the file under its lock; whether it did is the answer. `change` gets the keys that name `folder`.
    fn edit(
        &self,
        folder: &Path,
        timeout: LockTimeout,
        change: impl FnOnce(JsoncDocument, &[String]) -> Result<JsoncDocument, JsoncError>,
    ) -> Result<bool, WorkspaceError> {
        let _lock = SharedLock::beside(&self.path, "changing trusted folders", timeout)?;
        let (document, _) = self.load()?;
        let keys = entries(&document).iter().map(|(key, _)| key);
        let names: Vec<_> = keys
            .filter(|key| Path::new(key).is_absolute() && is_same_folder(Path::new(key), folder))
            .cloned()
            .collect();
        let before = document.text().to_owned();
        let changed = change(document, &names).map_err(|error| self.invalid(vec![error.to_string()]))?;
        if changed.text() == before {
            return Ok(false);
        }
        write_private_atomically(&self.path, changed.text().as_bytes())?;
        Ok(true)
    }

    fn load(&self) -> Result<(JsoncDocument, Vec<TrustRule>), WorkspaceError> {
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(WorkspaceError::reading(&self.path, error)),
        };
        let text =
            String::from_utf8(bytes).map_err(|_| self.invalid(vec!["the file is not UTF-8".into()]))?;
        let document = JsoncDocument::parse(text).map_err(|error| self.invalid(vec![error.to_string()]))?;
        if document.root().is_some_and(|root| !root.is_object()) {
            return Err(self.invalid(vec!["not a JSON object".into()]));
        }
        let mut problems = Vec::new();
        let mut rules = Vec::new();
        for (key, node) in entries(&document) {
            match parse_level(&node.to_value()) {
                Ok(level) => rules.push(TrustRule { path: key.into(), level }),
                Err(problem) => problems.push(format!("{key:?} {problem}")),
            }
        }
        if problems.is_empty() { Ok((document, rules)) } else { Err(self.invalid(problems)) }
    }

    fn invalid(&self, problems: Vec<String>) -> WorkspaceError {
        WorkspaceError::Invalid { path: self.path.clone(), problems }
    }
}

fn entries(document: &JsoncDocument) -> &[(String, JsoncNode)] {
    document.root().map(JsoncNode::entries).unwrap_or_default()
}

fn without_all<'a>(
    document: JsoncDocument,
    keys: impl IntoIterator<Item = &'a String>,
) -> Result<JsoncDocument, JsoncError> {
    keys.into_iter().try_fold(document, |document, key| document.remove(key))
}

fn parse_level(value: &Value) -> Result<TrustLevel, String> {
    value.as_str().and_then(TrustLevel::parse).ok_or_else(|| {
        let known = TrustLevel::ALL.map(TrustLevel::as_str).join(", ");
        format!("is {value}; expected one of {known}")
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::Decider;
    use tempfile::TempDir;

    use TrustLevel::{DoNotTrust, TrustFolder, TrustParent};

    struct Fixture {
        _root: TempDir,
        folders: TrustedFolders,
    }

    impl Fixture {
        fn new(bytes: &[u8]) -> Self {
            let root = tempfile::tempdir().expect("a folder");
            let folders = TrustedFolders::at(&root.path().join("trustedFolders.json"));
            fs::write(&folders.path, bytes).expect("written");
            Self { _root: root, folders }
        }

        fn set(&self, folder: &str, level: TrustLevel) -> Result<(), WorkspaceError> {
            self.folders.set(Path::new(folder), level, LockTimeout::default())
        }

        fn remove(&self, folder: &str) -> Result<bool, WorkspaceError> {
            self.folders.remove(Path::new(folder), LockTimeout::default())
        }

        fn bytes(&self) -> Vec<u8> {
            fs::read(&self.folders.path).expect("readable")
        }

        #[track_caller]
        fn check_text(&self, expected: &str) {
            assert_eq!(String::from_utf8(self.bytes()).expect("text"), expected);
        }
    }

    #[test]
    fn rules_are_kept_in_a_private_file() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().expect("a folder");
        let folders = TrustedFolders::at(&root.path().join("home/trustedFolders.json"));
        assert_eq!(folders.rules().expect("none"), []);
        assert!(!folders.remove(Path::new("/no/a"), LockTimeout::Immediate).expect("nothing to do"));
        folders.set(Path::new("/no/a/"), TrustFolder, LockTimeout::Immediate).expect("set");
        folders.set(Path::new("/no/b"), DoNotTrust, LockTimeout::Immediate).expect("set");
        folders.set(Path::new("/no/./a"), TrustParent, LockTimeout::Immediate).expect("set");
        let text = fs::read_to_string(&folders.path).expect("readable");
        assert_eq!(text, "{\n  \"/no/a\": \"TRUST_PARENT\",\n  \"/no/b\": \"DO_NOT_TRUST\"\n}\n");
        let mode = fs::metadata(&folders.path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let rule = TrustRule { path: "/no/b".into(), level: DoNotTrust };
        let answer = folders.decide(&TrustQuery::about(Path::new("/no/b/c"))).expect("answered");
        assert_eq!(answer, Trust::Untrusted(Decider::Rule(rule)));
        assert!(folders.remove(Path::new("/no/b"), LockTimeout::Immediate).expect("removed"));
        assert_eq!(folders.rules().expect("one").len(), 1);
    }

    #[test]
    fn comments_and_order_stay() {
        let fixture = Fixture::new(b"// mine\n{\n  // work\n  \"/no/b\": \"TRUST_FOLDER\", /* ! */\n  \"/no/a\": \"DO_NOT_TRUST\",\n}\n");
        fixture.set("/no/c", TrustFolder).expect("set");
        fixture.set("/no/b", DoNotTrust).expect("set");
        fixture.remove("/no/a").expect("removed");
        fixture.check_text("// mine\n{\n  // work\n  \"/no/b\": \"DO_NOT_TRUST\", /* ! */\n  \"/no/c\": \"TRUST_FOLDER\"\n}\n");
    }

    #[test]
    fn other_names_of_a_folder_do_not_contradict() {
        let root = tempfile::tempdir().expect("a folder");
        let real = root.path().canonicalize().expect("there");
        fs::create_dir(real.join("app")).expect("made");
        std::os::unix::fs::symlink("app", real.join("link")).expect("linked");
        let (app, link) = (real.join("app"), real.join("link"));
        let (app, link) = (app.to_str().expect("text"), link.to_str().expect("text"));
        let fixture = Fixture::new(format!("{{\"{link}/\": \"TRUST_FOLDER\"}}").as_bytes());
        fixture.set(app, TrustParent).expect("set");
        let rule = TrustRule { path: app.into(), level: TrustParent };
        assert_eq!(fixture.folders.rules().expect("one"), [rule]);
        assert!(fixture.remove(link).expect("removed"));
        assert_eq!(fixture.folders.rules().expect("none"), []);
        assert!(!fixture.remove(link).expect("none left"));
    }

    #[track_caller]
    fn check_invalid(text: &str, problem: &str) {
        let fixture = Fixture::new(text.as_bytes());
        let query = fixture.folders.decide(&TrustQuery::about(Path::new("/no"))).map(drop);
        for result in [query, fixture.set("/no", TrustFolder), fixture.remove("/no").map(drop)] {
            let error = result.expect_err("invalid");
            assert!(matches!(error, WorkspaceError::Invalid { .. }), "{error:?}");
            assert!(error.to_string().contains(problem), "{error}");
        }
        fixture.check_text(text);
    }

    #[test]
    fn a_file_with_mistakes_is_told_and_left_alone() {
        check_invalid("[]", "not a JSON object");
        check_invalid("{\"/a\": \"TRUST_FOLDER\"", "EOF");
        check_invalid("{\"/a\": true, \"/b\": \"TRUST\"}", "\"/a\" is true; expected one of TRUST_FOLDER");
        check_invalid("{\"/a\": true, \"/b\": \"TRUST\"}", "\"/b\" is \"TRUST\"");
        check_invalid("{} /*", "unclosed comment");
    }

    #[test]
    fn a_file_with_mistakes_does_not_matter_where_something_else_decides() {
        let fixture = Fixture::new(b"nonsense");
        let query = TrustQuery { editor: Some(true), ..TrustQuery::about(Path::new("/no")) };
        assert_eq!(fixture.folders.decide(&query).expect("answered"), Trust::Trusted(Decider::Editor));
    }

    #[test]
    fn threads_lose_no_rule() {
        let fixture = Fixture::new(b"");
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let fixture = &fixture;
                scope.spawn(move || {
                    for number in 0..5 {
                        fixture.set(&format!("/no/{thread}-{number}"), TrustFolder).expect("set");
                    }
                });
            }
        });
        assert_eq!(fixture.folders.rules().expect("valid").len(), 20);
    }
}
