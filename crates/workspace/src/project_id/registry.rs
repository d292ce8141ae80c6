//! The file that maps projects to their ids.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::slug::ProjectId;
use crate::WorkspaceError;
use crate::write::{Creation, create_private_atomically, write_private_atomically};

const PROJECTS: &str = "projects";

/// The contents of `projects.json`: `{"projects": {"<path>": "<id>"}}`. Whatever else it holds is kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ProjectRegistry {
    /// Everything but the projects.
    rest: Map<String, Value>,
    projects: Vec<(String, ProjectId)>,
    /// The bytes of a file that could not be understood whole, to be kept before it is replaced.
    flawed: Option<Vec<u8>>,
}

impl ProjectRegistry {
    /// Reads the file; where there is none, nothing is registered.
    pub(super) fn load(path: &Path) -> Result<Self, WorkspaceError> {
        match fs::read(path) {
            Ok(bytes) => Ok(Self::parse(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(WorkspaceError::reading(path, error)),
        }
    }

    /// Takes over every entry that makes sense, whatever is wrong with the others.
    fn parse(bytes: Vec<u8>) -> Self {
        let Ok(Value::Object(mut rest)) = serde_json::from_slice(&bytes) else {
            return Self { flawed: Some(bytes), ..Self::default() };
        };
        let (mut projects, mut is_flawed) = (Vec::new(), false);
        match rest.remove(PROJECTS) {
            Some(Value::Object(entries)) => {
                for (path, id) in entries {
                    match id.as_str().and_then(ProjectId::parse) {
                        Some(id) => projects.push((path, id)),
                        None => is_flawed = true,
                    }
                }
            }
            _ => is_flawed = true,
        }
        Self { rest, projects, flawed: is_flawed.then_some(bytes) }
    }

    /// Replaces the file. What could not be understood is first copied beside it; where to is the answer.
    pub(super) fn save(&self, path: &Path) -> Result<Option<PathBuf>, WorkspaceError> {
        let aside = self.flawed.as_ref().map(|bytes| keep_aside(path, bytes)).transpose()?;
        write_private_atomically(path, self.render().as_bytes())?;
        Ok(aside)
    }

    fn render(&self) -> String {
        let entries = self.projects.iter().map(|(path, id)| (path.clone(), id.as_str().into()));
        let mut document = Map::from_iter([(PROJECTS.to_owned(), Value::Object(entries.collect()))]);
        document.extend(self.rest.clone());
        format!("{:#}\n", json!(document))
    }

    /// True if the file could be understood whole.
    pub(super) fn is_sound(&self) -> bool {
        self.flawed.is_none()
    }

    /// The id of a project. A path that is not Unicode is never registered.
    pub(super) fn id_of(&self, project: &Path) -> Option<&ProjectId> {
        let project = project.to_str()?;
        self.projects.iter().find(|(path, _)| path == project).map(|(_, id)| id)
    }

    /// True if any other project has this id.
    pub(super) fn is_taken(&self, id: &ProjectId, project: &Path) -> bool {
        self.projects.iter().any(|(path, taken)| taken == id && Path::new(path) != project)
    }

    /// The projects and their ids, in the order of the file.
    pub(super) fn projects(&self) -> impl Iterator<Item = (&Path, &ProjectId)> {
        self.projects.iter().map(|(path, id)| (Path::new(path), id))
    }

    pub(super) fn set(&mut self, project: &Path, id: &ProjectId) {
        let Some(key) = project.to_str() else { return };
        match self.projects.iter_mut().find(|(path, _)| path == key) {
            Some((_, registered)) => *registered = id.clone(),
            None => self.projects.push((key.to_owned(), id.clone())),
        }
    }

    pub(super) fn remove(&mut self, project: &Path) {
        self.projects.retain(|(path, _)| Path::new(path) != project);
    }
}

/// Keeps these bytes under the first name that is free or holds them already.
fn keep_aside(path: &Path, bytes: &[u8]) -> Result<PathBuf, WorkspaceError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let names = (0_u32..).map(|number| match number {
        0 => format!("{name}.corrupt"),
        _ => format!("{name}.corrupt-{number}"),
    });
    for name in names {
        let aside = path.with_file_name(name);
        if fs::read(&aside).is_ok_and(|kept| kept == bytes)
            || create_private_atomically(&aside, bytes)? == Creation::Created
        {
            return Ok(aside);
        }
    }
    unreachable!("a folder has fewer files than there are numbers")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> ProjectRegistry {
        ProjectRegistry::parse(text.as_bytes().to_vec())
    }

    #[track_caller]
    fn check(text: &str, is_sound: bool, expected: &[(&str, &str)]) {
        let registry = parse(text);
        let projects: Vec<_> =
            registry.projects().map(|(path, id)| (path.to_str().unwrap(), id.as_str())).collect();
        assert_eq!((registry.is_sound(), projects.as_slice()), (is_sound, expected), "{text}");
    }

    #[test]
    fn a_sound_registry_is_read_whole() {
        check(r#"{"projects": {}}"#, true, &[]);
        check(r#"{"projects": {"/b": "b", "/a": "a-1"}}"#, true, &[("/b", "b"), ("/a", "a-1")]);
    }

    #[test]
    fn from_a_flawed_one_is_taken_what_makes_sense() {
        for text in ["", "{", "[]", "null", "{}", r#"{"projects": []}"#, "\u{feff}{\"projects\": {}}"] {
            check(text, false, &[]);
        }
        check(r#"{"projects": {"/a": "../etc", "/b": "b", "/c": 1}}"#, false, &[("/b", "b")]);
    }

    #[test]
    fn what_we_do_not_know_is_kept() {
        let mut registry = parse(r#"{"version": 2, "projects": {"/a": "a"}, "note": {"x": [1]}}"#);
        registry.set(Path::new("/b"), &ProjectId::parse("b").unwrap());
        let again = parse(&registry.render());
        assert_eq!(again, registry);
        assert_eq!((&again.rest["version"], &again.rest["note"]), (&json!(2), &json!({"x": [1]})));
    }

    #[test]
    fn a_flawed_file_is_kept_once_for_each_contents() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("projects.json");
        let save = |text: &str| {
            fs::write(&path, text).unwrap();
            let aside = ProjectRegistry::load(&path).unwrap().save(&path).unwrap();
            aside.map(|aside| {
                assert_eq!(fs::read_to_string(&aside).unwrap(), text);
                aside.file_name().unwrap().to_string_lossy().into_owned()
            })
        };
        assert_eq!(save("{").as_deref(), Some("projects.json.corrupt"));
        assert_eq!(save("[").as_deref(), Some("projects.json.corrupt-1"));
        assert_eq!(save("{").as_deref(), Some("projects.json.corrupt"));
        assert_eq!(save(r#"{"projects": {}}"#), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_bytes_are_lost(bytes in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..80),
            r#"\{"projects": ?\{("/[a-z]": ?"[a-zA-Z.]{1,3}",?){0,3}\}?\}?"#.prop_map(String::into_bytes),
        ]) {
            let root = tempfile::tempdir().unwrap();
            let path = root.path().join("projects.json");
            fs::write(&path, &bytes).unwrap();
            let registry = ProjectRegistry::load(&path).unwrap();
            match registry.save(&path).unwrap() {
                Some(aside) => prop_assert_eq!(fs::read(aside).unwrap(), bytes),
                None => prop_assert!(serde_json::from_slice::<Value>(&bytes).is_ok()),
            }
            let again = ProjectRegistry::load(&path).unwrap();
            prop_assert!(again.is_sound());
            prop_assert_eq!(again.projects, registry.projects);
        }
    }
}
