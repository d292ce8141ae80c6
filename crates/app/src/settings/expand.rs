//! Variables in the values of settings: `$NAME`, `${NAME}` and `${NAME:-default}`.
//!
//! Commands of hooks are left to the shell that runs them: its environment has no secrets.

use serde_json::Value;

use super::document::{Content, Node};

/// The section whose values are commands.
const HOOKS: &str = "hooks";

/// Finds the variables that a settings file may refer to.
pub(super) type VariableLookup<'a> = &'a dyn Fn(&str) -> FoundVariable;

/// A variable that was looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FoundVariable {
    /// Its value.
    Value(String),
    /// It is not set.
    Unset,
    /// It holds a secret, which this file may not have.
    Secret,
}

/// A reference that stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpenReference {
    /// The steps to the key.
    pub(super) steps: Vec<String>,
    /// The line of the key.
    pub(super) line: usize,
    /// The name of the variable.
    pub(super) name: String,
    /// True if it is set, but secret.
    pub(super) is_secret: bool,
}

/// The outcome of an expansion.
#[derive(Debug, Default)]
pub(super) struct Expansion {
    /// The steps to the keys whose values came from variables.
    pub(super) expanded: Vec<Vec<String>>,
    /// References that stay.
    pub(super) open: Vec<OpenReference>,
}

/// Replaces references by the values of variables.
pub(super) fn expand(root: &mut Node, variables: VariableLookup<'_>) -> Expansion {
    let mut expansion = Expansion::default();
    let Content::Object(sections) = &mut root.content else { return expansion };
    for (name, section) in sections.iter_mut().filter(|(name, _)| name != HOOKS) {
        expand_node(section, &mut vec![name.clone()], variables, &mut expansion);
    }
    expansion
}

/// The same in plain JSON; what cannot be replaced stays.
pub(super) fn expand_json(value: &mut Value, variables: VariableLookup<'_>) {
    expand_value(value, variables, &mut |_, _| {});
}

fn expand_node(
    node: &mut Node,
    steps: &mut Vec<String>,
    variables: VariableLookup<'_>,
    expansion: &mut Expansion,
) {
    match &mut node.content {
        Content::Object(entries) => {
            for (name, inner) in entries {
                steps.push(name.clone());
                expand_node(inner, steps, variables, expansion);
                steps.pop();
            }
        }
        Content::Plain(value) => {
            let (line, before) = (node.line, value.clone());
            expand_value(value, variables, &mut |name, is_secret| {
                let steps = steps.clone();
                expansion.open.push(OpenReference { steps, line, name: name.to_string(), is_secret });
            });
            if *value != before {
                expansion.expanded.push(steps.clone());
            }
        }
    }
}

fn expand_value(value: &mut Value, variables: VariableLookup<'_>, stays: &mut dyn FnMut(&str, bool)) {
    match value {
        Value::String(text) => *text = expand_text(text, variables, stays),
        Value::Array(items) => items.iter_mut().for_each(|item| expand_value(item, variables, stays)),
        Value::Object(entries) => {
            entries.values_mut().for_each(|entry| expand_value(entry, variables, stays));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The text with the values of its variables, which are not expanded themselves.
fn expand_text(text: &str, variables: VariableLookup<'_>, stays: &mut dyn FnMut(&str, bool)) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        expanded.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(Reference { name, default, length }) = reference(rest) else {
            expanded.push('$');
            rest = &rest[1..];
            continue;
        };
        match (variables(name), default) {
            (FoundVariable::Value(value), None) => expanded.push_str(&value),
            (FoundVariable::Value(value), Some(default)) => {
                expanded.push_str(if value.is_empty() { default } else { &value });
            }
            (FoundVariable::Unset, Some(default)) => expanded.push_str(default),
            (found, _) => {
                stays(name, found == FoundVariable::Secret);
                expanded.push_str(&rest[..length]);
            }
        }
        rest = &rest[length..];
    }
    expanded + rest
}

/// A reference to a variable at the start of a text.
struct Reference<'t> {
    name: &'t str,
    default: Option<&'t str>,
    length: usize,
}

fn reference(text: &str) -> Option<Reference<'_>> {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let rest = text.strip_prefix('$')?;
    if let Some(braced) = rest.strip_prefix('{') {
        let inside = &braced[..braced.find('}')?];
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        return is_name(name).then_some(Reference { name, default, length: inside.len() + 3 });
    }
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
    let name = &rest[..end];
    is_name(name).then_some(Reference { name, default: None, length: end + 1 })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::settings::document::parse;

    fn variables(name: &str) -> FoundVariable {
        match name {
            "A" => FoundVariable::Value("a".into()),
            "EMPTY" => FoundVariable::Value(String::new()),
            "NESTED" => FoundVariable::Value("$A ${A}".into()),
            "KEY" => FoundVariable::Secret,
            _ => FoundVariable::Unset,
        }
    }

    #[track_caller]
    fn check(text: &str, expected: &str, stays: &[(&str, bool)]) {
        let mut open = Vec::new();
        let expanded = expand_text(text, &variables, &mut |name, is_secret| {
            open.push((name.to_string(), is_secret));
        });
        let open: Vec<(&str, bool)> =
            open.iter().map(|(name, is_secret)| (name.as_str(), *is_secret)).collect();
        assert_eq!((expanded.as_str(), open.as_slice()), (expected, stays), "{text}");
    }

    #[test]
    fn references_become_values() {
        check("$A", "a", &[]);
        check("x-${A}-$A.y", "x-a-a.y", &[]);
        check("$A$A", "aa", &[]);
        check("$EMPTY|${EMPTY}|${EMPTY:-d}|${NO:-d}|${A:-d}|${NO:-}", "||d|d|a|", &[]);
        check("$NESTED", "$A ${A}", &[]);
    }

    #[test]
    fn what_is_unknown_or_secret_stays() {
        check("$NO ${NO}", "$NO ${NO}", &[("NO", false), ("NO", false)]);
        check("https://x/$KEY ${KEY:-d}", "https://x/$KEY ${KEY:-d}", &[("KEY", true), ("KEY", true)]);
        for text in ["^a.*$", "$", "$5", "${}", "${A", "${A B}", "a$-b", "$(A)", "$$"] {
            check(text, text, &[]);
        }
    }

    #[test]
    fn values_are_expanded_wherever_they_stand_but_not_in_hooks() {
        let text = "{\"model\": {\"name\": \"$A\"}, \"$A\": 1,\n\"tools\": {\"core\": [\"$A\", {\"x\": \"$NO\"}]},\n\
                    \"hooks\": {\"BeforeTool\": \"$A $KEY\"}}";
        let mut root = parse(text.as_bytes()).unwrap();
        let Expansion { expanded, open } = expand(&mut root, &variables);
        let expected = serde_json::json!({
            "model": {"name": "a"}, "$A": 1, "tools": {"core": ["a", {"x": "$NO"}]}, "hooks": {"BeforeTool": "$A $KEY"},
        });
        assert_eq!(root.to_value(), expected);
        let steps = vec!["tools".to_string(), "core".to_string()];
        assert_eq!(expanded, [vec!["model".to_string(), "name".into()], steps.clone()]);
        assert_eq!(open, [OpenReference { steps, line: 2, name: "NO".into(), is_secret: false }]);
    }

    proptest! {
        #[test]
        fn a_text_without_variables_is_as_it_was(text in "[${}A-Z:ü -]{0,20}") {
            let nothing = |_: &str| FoundVariable::Secret;
            prop_assert_eq!(expand_text(&text, &nothing, &mut |_, _| {}), text);
        }
    }
}
