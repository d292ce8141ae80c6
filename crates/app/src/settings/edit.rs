//! Changes one list in a settings file and keeps everything else, comments included.

use std::path::Path;

use anyhow::{Context, anyhow};
use longhaul_workspace::{
    JsoncDocument, JsoncFault, JsoncNode, Lock, LockTimeout, NewKey, write_private_atomically,
};
use serde_json::Value;

use crate::failure::hinted;

/// Replaces the values of a list in a file with what `change` makes of them. An unchanged file is not written; a missing one
/// is created.
pub(crate) fn set_list(
    file: &Path,
    section: &str,
    key: &str,
    change: impl FnOnce(Vec<String>) -> Vec<String>,
) -> anyhow::Result<bool> {
    change_file(file, |text| with_list(text, section, key, change))
}

/// Puts a value below a section of a file, or removes it; returns whether the file was changed. A missing file is created.
pub(crate) fn set_entry(
    file: &Path,
    section: &str,
    key: &str,
    value: Option<&Value>,
) -> anyhow::Result<bool> {
    change_file(file, |text| with_entry(text, section, key, value))
}

/// Sets the value that these steps lead to, or removes it; returns whether the file was changed. A missing file is created.
pub(crate) fn set_at(file: &Path, steps: &[&str], value: Option<&Value>) -> anyhow::Result<bool> {
    change_file(file, |text| {
        let (_, sections) = steps.split_last().ok_or("no key")?;
        let document = match sections.first() {
            Some(section) => parse_with(text, section)?,
            None => parse_object(text)?,
        };
        let changed = match value {
            Some(value) if value_at(&document, steps).as_ref() == Some(value) => return Ok(text.to_string()),
            Some(value) => document.set(steps, value, NewKey::Last),
            None => document.remove_at(steps),
        };
        changed.map(|changed| changed.text().to_string()).map_err(|error| error.to_string())
    })
}

fn value_at(document: &JsoncDocument, steps: &[&str]) -> Option<Value> {
    steps.iter().try_fold(document.root()?, |node, step| node.get(step)).map(JsoncNode::to_value)
}

/// Writes what `change` makes of a file's text, under its lock.
fn change_file(file: &Path, change: impl FnOnce(&str) -> Result<String, String>) -> anyhow::Result<bool> {
    let name = file.display();
    let _lock = Lock::beside(file, "changing settings", LockTimeout::default())?;
    let bytes = match std::fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).context(format!("could not read {name}")),
    };
    let text = String::from_utf8(bytes).map_err(|_| anyhow!("{name} is not UTF-8 text"))?;
    let changed = change(&text).map_err(|reason| {
        hinted(anyhow!("could not change {name}: {reason}"), "fix the file by hand, then try again")
    })?;
    let is_changed = changed != text;
    if is_changed {
        write_private_atomically(file, changed.as_bytes())?;
    }
    Ok(is_changed)
}

/// The text with other values in the list `section.key`.
fn with_list(
    text: &str,
    section: &str,
    key: &str,
    change: impl FnOnce(Vec<String>) -> Vec<String>,
) -> Result<String, String> {
    let document = parse_with(text, section)?;
    let inner = document.root().and_then(|root| root.get(section));
    let old: Vec<String> = match inner.and_then(|inner| inner.get(key)) {
        Some(list) => serde_json::from_value(list.to_value())
            .map_err(|_| format!("{key:?} is not a list of strings"))?,
        None => Vec::new(),
    };
    let values = change(old.clone());
    if values == old {
        return Ok(text.to_string());
    }
    let changed = document.set(&[section, key], &values.into(), NewKey::First);
    changed.map(|changed| changed.text().to_string()).map_err(|error| error.to_string())
}

/// The text with another value for `section.key`, or without it.
fn with_entry(text: &str, section: &str, key: &str, value: Option<&Value>) -> Result<String, String> {
    let document = parse_with(text, section)?;
    let inner = document.root().and_then(|root| root.get(section));
    let changed = match value {
        Some(value) => document.set(&[section, key], value, NewKey::Last),
        None if inner.is_none_or(|inner| inner.get(key).is_none()) => return Ok(text.to_string()),
        None => {
            let left = inner.into_iter().flat_map(|inner| inner.entries()).filter(|(name, _)| name != key);
            let left: serde_json::Map<String, Value> =
                left.map(|(name, node)| (name.clone(), node.to_value())).collect();
            document.set(&[section], &Value::Object(left), NewKey::Last)
        }
    };
    changed.map(|changed| changed.text().to_string()).map_err(|error| error.to_string())
}

/// A document that is an object, if it is anything.
fn parse_object(text: &str) -> Result<JsoncDocument, String> {
    let document = JsoncDocument::parse(text.to_string()).map_err(|error| match error.fault {
        JsoncFault::UnclosedComment => "unterminated comment".to_string(),
        _ => error.to_string(),
    })?;
    if document.root().is_some_and(|root| !root.is_object()) {
        return Err("not a JSON object".to_string());
    }
    Ok(document)
}

/// A document in which a section is an object, if it is there.
fn parse_with(text: &str, section: &str) -> Result<JsoncDocument, String> {
    let document = parse_object(text)?;
    let inner = document.root().and_then(|root| root.get(section));
    if inner.is_some_and(|inner| !inner.is_object()) {
        return Err(format!("{section:?} is not an object"));
    }
    Ok(document)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn add(names: Vec<String>) -> Vec<String> {
        names.into_iter().chain(["new".to_string()]).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(with_list(text, "skills", "disabled", add).as_deref(), Ok(expected));
    }

    #[test]
    fn a_list_is_changed_in_its_place() {
        check(
            r#"{"a": 1, "skills": {"disabled": ["old"]}}"#,
            r#"{"a": 1, "skills": {"disabled": ["old", "new"]}}"#,
        );
        check(
            "{\n  // mine\n  \"skills\": {\"disabled\": [],},\n}",
            "{\n  // mine\n  \"skills\": {\"disabled\": [\"new\"],},\n}",
        );
    }

    #[test]
    fn a_list_is_added_where_there_is_none() {
        check("", "{\n  \"skills\": {\n    \"disabled\": [\"new\"]\n  }\n}\n");
        check("// mine\n", "// mine\n{\n  \"skills\": {\n    \"disabled\": [\"new\"]\n  }\n}\n");
        check("{}", "{\n  \"skills\": {\n    \"disabled\": [\"new\"]\n  }\n}");
        check(
            "\u{feff}{ // first\n  \"a\": 1\n}\n",
            "\u{feff}{\n  \"skills\": {\n    \"disabled\": [\"new\"]\n  }, // first\n  \"a\": 1\n}\n",
        );
        check(
            "{\n  \"skills\": {\n    \"enabled\": true\n  }\n}",
            "{\n  \"skills\": {\n    \"disabled\": [\"new\"],\n    \"enabled\": true\n  }\n}",
        );
    }

    #[test]
    fn an_entry_is_added_replaced_and_removed() {
        let set = |text: &str, value: Option<Value>| with_entry(text, "mcpServers", "a", value.as_ref());
        let one = set("{ // mine\n  \"x\": 1\n}\n", Some(serde_json::json!({"command": "run"}))).unwrap();
        assert!(one.contains("// mine") && one.contains("\"command\": \"run\""), "{one}");
        let two = set(&one, Some(serde_json::json!({"command": "walk"}))).unwrap();
        assert!(two.contains("walk") && !two.contains("run"), "{two}");
        let none = set(&two, None).unwrap();
        assert!(none.contains("// mine") && !none.contains("walk"), "{none}");
        assert_eq!(set(&none, None), Ok(none));
        assert!(set("{\"mcpServers\": 1}", None).is_err());
    }

    #[test]
    fn nothing_to_change_changes_nothing() {
        for text in ["{ }", "", "{\"skills\": {\"disabled\" : [ \"a\" ]}}"] {
            assert_eq!(with_list(text, "skills", "disabled", |names| names).as_deref(), Ok(text));
        }
    }

    #[test]
    fn files_that_are_no_settings_are_refused() {
        for text in ["[]", "{", "{\"skills\": 1}", "{\"skills\": {\"disabled\": \"x\"}}", "/* {}"] {
            assert!(with_list(text, "skills", "disabled", add).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(text in "(\\{|\\}|\"skills\": |\"disabled\": |\\[\\]|,| |// x\n|\"a\": 1){0,12}") {
            if let Ok(changed) = with_list(&text, "skills", "disabled", add) {
                let again = with_list(&changed, "skills", "disabled", |names| {
                    assert_eq!(names.last().map(String::as_str), Some("new"));
                    names
                });
                prop_assert_eq!(again, Ok(changed));
            }
        }
    }
}
