//! Changes one list in a settings file and leaves everything else as it is, comments included.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, anyhow};
use longhaul_workspace::{Lock, Patience, blank_comments, write_private_atomically};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::failure::hinted;

/// Gives a list in a file the values that `change` makes of its old ones. A file that would stay the same is not touched, and
/// one that does not exist is made.
pub(crate) fn set_list(
    file: &Path,
    section: &str,
    key: &str,
    change: impl FnOnce(Vec<String>) -> Vec<String>,
) -> anyhow::Result<bool> {
    let name = file.display();
    let _lock = Lock::beside(file, "changing settings", Patience::default())?;
    let bytes = match std::fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).context(format!("could not read {name}")),
    };
    let text = String::from_utf8(bytes).map_err(|_| anyhow!("{name} is not UTF-8 text"))?;
    let changed = with_list(&text, section, key, change).map_err(|reason| {
        hinted(anyhow!("could not change {name}: {reason}"), "correct the file by hand, then try again")
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
    let (mark, body) = text.split_at(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 });
    let blanked = blank_comments(body.as_bytes()).map_err(|_| "a comment in it never ends")?;
    // Only comments and commas were blanked, so that every place is where it was.
    let blanked = String::from_utf8(blanked).map_err(|error| error.to_string())?;
    if blanked.trim().is_empty() {
        let values = change(Vec::new());
        if values.is_empty() {
            return Ok(text.to_string());
        }
        let comments = body.trim_end();
        let gap = if comments.is_empty() { "" } else { "\n" };
        let list = render(&values);
        return Ok(format!(
            "{mark}{comments}{gap}{{\n  \"{section}\": {{\n    \"{key}\": {list}\n  }}\n}}\n"
        ));
    }
    let root = object(&blanked, 0..blanked.len())?.ok_or("it is no JSON object")?;
    let inner = match root.get(section) {
        Some(place) => {
            let inner = object(&blanked, place.clone())?;
            Some((place.clone(), inner.ok_or_else(|| format!("{section:?} is no object"))?))
        }
        None => None,
    };
    let place = inner.as_ref().and_then(|(_, inner)| inner.get(key).cloned());
    let old = match &place {
        Some(place) => serde_json::from_str(&blanked[place.clone()])
            .map_err(|_| format!("{key:?} is no list of texts"))?,
        None => Vec::new(),
    };
    let values = change(old.clone());
    if values == old {
        return Ok(text.to_string());
    }
    let list = render(&values);
    let (range, new) = match (place, inner) {
        (Some(place), _) => (place, list),
        (None, Some((place, inner))) => {
            behind_brace(&blanked, place, inner.is_empty(), &format!("\"{key}\": {list}"), "    ")
        }
        (None, None) => {
            let added = format!("\"{section}\": {{\n    \"{key}\": {list}\n  }}");
            behind_brace(&blanked, 0..blanked.len(), root.is_empty(), &added, "  ")
        }
    };
    Ok(format!("{mark}{}{new}{}", &body[..range.start], &body[range.end..]))
}

/// The range and text that insert an entry as the first of an object.
fn behind_brace(
    text: &str,
    object: Range<usize>,
    is_empty: bool,
    entry: &str,
    indent: &str,
) -> (Range<usize>, String) {
    let brace = object.start + text[object].find('{').expect("an object begins with a brace") + 1;
    let end = if is_empty { "\n" } else { "," };
    (brace..brace, format!("\n{indent}{entry}{end}"))
}

/// The ranges of an object's values; `None` if there is something else.
fn object(text: &str, range: Range<usize>) -> Result<Option<HashMap<String, Range<usize>>>, String> {
    let piece = &text[range];
    let value: Value = serde_json::from_str(piece).map_err(|error| error.to_string())?;
    if !value.is_object() {
        return Ok(None);
    }
    let values: HashMap<String, &RawValue> =
        serde_json::from_str(piece).map_err(|error| error.to_string())?;
    let place = |raw: &RawValue| {
        let start = raw.get().as_ptr() as usize - text.as_ptr() as usize;
        start..start + raw.get().len()
    };
    Ok(Some(values.into_iter().map(|(name, raw)| (name, place(raw))).collect()))
}

fn render(values: &[String]) -> String {
    let values: Vec<String> = values.iter().map(|value| Value::from(value.as_str()).to_string()).collect();
    format!("[{}]", values.join(", "))
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
