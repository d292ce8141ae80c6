//! Tool declarations, shortened for a model with a small window.

use longhaul_conversation::{Estimator, TokenCount, ToolDeclaration};
use serde_json::Value;

/// Declarations may take one part in so many of the window; where they take more, less is said.
const SHARE: u64 = 8;

/// Keywords of schemas that a model can do without: they are checked anyway when a tool is called.
const DISPENSABLE: [&str; 6] = ["$schema", "title", "format", "minimum", "maximum", "default"];

/// The detail of a shortened declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    /// The first sentence of every description.
    FirstSentences,
    /// The first sentence on the tool, and of its parameters the names and types.
    Names,
}

/// The declarations as they are, or with as much detail as does not take too much of this window.
pub(crate) fn within_share(
    tools: Vec<ToolDeclaration>,
    window: TokenCount,
    estimator: &Estimator,
) -> Vec<ToolDeclaration> {
    let is_too_much = |tools: &[ToolDeclaration]| size_of(tools, estimator).0 * SHARE > window.0;
    [Detail::FirstSentences, Detail::Names].into_iter().fold(tools, |tools, detail| {
        match is_too_much(&tools) {
            true => tools.into_iter().map(|tool| in_brief(tool, detail)).collect(),
            false => tools,
        }
    })
}

/// Tokens of declarations.
pub(crate) fn size_of(tools: &[ToolDeclaration], estimator: &Estimator) -> TokenCount {
    let texts = tools.iter().map(|tool| format!("{} {} {}", tool.name, tool.description, tool.parameters));
    texts.map(|text| estimator.text(&text).tokens()).fold(TokenCount::ZERO, |sum, tokens| sum + tokens)
}

fn in_brief(tool: ToolDeclaration, detail: Detail) -> ToolDeclaration {
    let mut parameters = tool.parameters;
    shorten_schema(&mut parameters, detail);
    ToolDeclaration { description: first_sentence(&tool.description).to_string(), parameters, ..tool }
}

fn shorten_schema(schema: &mut Value, detail: Detail) {
    let Value::Object(schema) = schema else { return };
    DISPENSABLE.iter().for_each(|key| drop(schema.shift_remove(*key)));
    if detail == Detail::Names {
        schema.shift_remove("description");
    }
    for (key, value) in schema {
        match (key.as_str(), value) {
            ("description", Value::String(text)) => *text = first_sentence(text).to_string(),
            // What stands here are names, not keywords: one may be called "title" or "description".
            ("properties" | "$defs", Value::Object(named)) => {
                named.values_mut().for_each(|schema| shorten_schema(schema, detail));
            }
            ("anyOf" | "oneOf" | "allOf", Value::Array(schemas)) => {
                schemas.iter_mut().for_each(|schema| shorten_schema(schema, detail));
            }
            (_, value) => shorten_schema(value, detail),
        }
    }
}

/// A text up to its first full stop at the end of a word, or of its first paragraph.
fn first_sentence(text: &str) -> &str {
    let paragraph = text.split("\n\n").next().unwrap_or(text).trim();
    let end = paragraph
        .match_indices('.')
        .map(|(index, _)| index + 1)
        .find(|end| paragraph[*end..].chars().next().is_none_or(char::is_whitespace));
    &paragraph[..end.unwrap_or(paragraph.len())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check_sentence(text: &str, expected: &str) {
        assert_eq!(first_sentence(text), expected);
    }

    #[test]
    fn a_first_sentence_ends_where_the_next_begins() {
        check_sentence("Reads a file. At most 2000 lines.", "Reads a file.");
        check_sentence(
            "Finds `src/**/*.rs` and v1.2 of it.\nThen more.",
            "Finds `src/**/*.rs` and v1.2 of it.",
        );
        check_sentence("No full stop", "No full stop");
        check_sentence("A heading\n\nand more. So.", "A heading");
        check_sentence("Größe. Maß.", "Größe.");
        check_sentence("", "");
    }

    fn tool() -> ToolDeclaration {
        ToolDeclaration {
            name: "edit".into(),
            description: "Edits a file. Mind the lines.".into(),
            parameters: json!({
                "$schema": "x", "title": "Arguments", "type": "object", "required": ["title"],
                "properties": {
                    "title": {"type": "string", "description": "What it is called. In a few words."},
                    "description": {"anyOf": [{"type": "integer", "format": "uint32", "minimum": 0}], "default": null},
                    "items": {"type": "array", "items": {"type": "string", "description": "One. Of many."}},
                },
            }),
        }
    }

    #[test]
    fn what_a_call_must_look_like_is_still_said() {
        let brief = in_brief(tool(), Detail::FirstSentences);
        assert_eq!(brief.description, "Edits a file.");
        let expected = json!({
            "type": "object", "required": ["title"],
            "properties": {
                "title": {"type": "string", "description": "What it is called."},
                "description": {"anyOf": [{"type": "integer"}]},
                "items": {"type": "array", "items": {"type": "string", "description": "One."}},
            },
        });
        assert_eq!(brief.parameters, expected);
        let briefest = in_brief(tool(), Detail::Names);
        let expected = json!({
            "type": "object", "required": ["title"],
            "properties": {
                "title": {"type": "string"},
                "description": {"anyOf": [{"type": "integer"}]},
                "items": {"type": "array", "items": {"type": "string"}},
            },
        });
        assert_eq!((briefest.description, briefest.parameters), (brief.description, expected));
    }

    #[test]
    fn only_a_small_window_is_told_less() {
        let estimator = Estimator::default();
        let enough = |tool: ToolDeclaration| size_of(&[tool], &estimator).0 * SHARE;
        let told = |window: u64| within_share(vec![tool()], TokenCount(window), &estimator);
        let [sentences, names] =
            [Detail::FirstSentences, Detail::Names].map(|detail| in_brief(tool(), detail));
        assert_eq!(told(enough(tool())), [tool()]);
        assert_eq!(told(enough(tool()) - 1), std::slice::from_ref(&sentences));
        assert_eq!(told(enough(sentences) - 1), std::slice::from_ref(&names));
        assert_eq!(told(0), [names]);
    }
}
