//! Changes one list in a settings file and keeps everything else, comments included.

use std::path::Path;

use anyhow::{Context, anyhow};
use longhaul_workspace::{JsoncDocument, JsoncFault, Lock, LockTimeout, NewKey, write_private_atomically};

use crate::failure::hinted;

/// Replaces the values of a list in a file with what `change` makes of them. An unchanged file is not written; a missing one
/// is created.
pub(crate) fn set_list(
    file: &Path,
    section: &str,
    key: &str,
    change: impl FnOnce(Vec<String>) -> Vec<String>,
) -> anyhow::Result<bool> {
    let name = file.display();
    let _lock = Lock::beside(file, "changing settings", LockTimeout::default())?;
    let bytes = match std::fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).context(format!("could not read {name}")),
    };
    let text = String::from_utf8(bytes).map_err(|_| anyhow!("{name} is not UTF-8 text"))?;
    let changed = with_list(&text, section, key, change).map_err(|reason| {
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
    let document = JsoncDocument::parse(text.to_string()).map_err(|error| match error.fault {
        JsoncFault::UnclosedComment => "unterminated comment".to_string(),
        _ => error.to_string(),
    })?;
    if document.root().is_some_and(|root| !root.is_object()) {
        return Err("not a JSON object".to_string());
    }
    let inner = document.root().and_then(|root| root.get(section));
    if inner.is_some_and(|inner| !inner.is_object()) {
        return Err(format!("{section:?} is not an object"));
    }
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
