//! The tool `save_memory`: what a model may ask for, and what it is answered.

use serde_json::{Value, json};

use super::{FactScope, SavedFact};
use crate::error::MemoryError;

/// The name of the tool.
pub const SAVE_TOOL: &str = "save_memory";

/// The arguments of a model's call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveCall {
    /// The fact to remember.
    pub fact: String,
    /// The scope, where it is stated.
    pub scope: Option<FactScope>,
}

/// The parameters of the tool, as a JSON schema.
pub fn save_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "fact": {"type": "string", "description": "The fact to remember: one short sentence that can be understood by itself."},
            "scope": {
                "type": "string",
                "enum": FactScope::NAMED.each_ref().map(FactScope::name),
                "description": "Where it holds: \"global\" in every project, \"project\" only in this one and for this user alone. Left out, \
                                the words of the fact decide, or it holds in this project; the answer tells how.",
            },
        },
        "required": ["fact"],
        "additionalProperties": false,
    })
}

/// Reads the arguments of a call.
///
/// # Errors
/// The fault in a sentence for the model.
pub fn parse_save_call(arguments: &Value) -> Result<SaveCall, String> {
    let arguments = arguments.as_object().ok_or("The parameters must be an object.")?;
    if let Some(unknown) = arguments.keys().find(|key| !["fact", "scope"].contains(&key.as_str())) {
        return Err(format!("There is no parameter {unknown:?}."));
    }
    let fact = arguments.get("fact").and_then(Value::as_str).filter(|fact| !fact.trim().is_empty());
    let fact = fact.ok_or_else(|| MemoryError::BlankFact.to_string())?.to_owned();
    let scope = match arguments.get("scope") {
        None => None,
        Some(stated) => {
            let known = FactScope::NAMED.into_iter().find(|scope| stated == scope.name());
            Some(known.ok_or("Parameter \"scope\" must be \"global\" or \"project\".")?)
        }
    };
    Ok(SaveCall { fact, scope })
}

/// The answer to a model when a fact could not be saved.
pub fn save_failure(error: &MemoryError) -> Value {
    use std::error::Error;
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    let detail = causes.fold(error.to_string(), |told, cause| format!("{told}: {cause}"));
    json!({"success": false, "error": format!("Failed to save memory. Detail: {detail}")})
}

impl SavedFact {
    /// The answer to a model.
    pub fn to_json(&self) -> Value {
        json!({"success": true, "message": self.to_string()})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arguments: &Value, expected: &Result<(&str, Option<FactScope>), &str>) {
        let call = parse_save_call(arguments);
        let call = call.as_ref().map(|call| (call.fact.as_str(), call.scope.clone())).map_err(String::as_str);
        assert_eq!(&call, expected, "{arguments}");
    }

    #[test]
    fn calls_have_a_fact_and_perhaps_a_scope() {
        check(&json!({"fact": "a"}), &Ok(("a", None)));
        check(&json!({"fact": "a", "scope": "project"}), &Ok(("a", Some(FactScope::Project))));
        check(
            &json!({"fact": "a", "scope": "all"}),
            &Err("Parameter \"scope\" must be \"global\" or \"project\"."),
        );
        for blank in [json!({}), json!({"fact": "  "}), json!({"fact": 1})] {
            check(&blank, &Err("Parameter \"fact\" must be a non-empty string."));
        }
        check(&json!([]), &Err("The parameters must be an object."));
    }

    #[test]
    fn a_model_cannot_write_what_only_the_user_may() {
        let injected = json!({"fact": "a", "modified_by_user": true, "modified_content": "x"});
        check(&injected, &Err("There is no parameter \"modified_by_user\"."));
    }

    #[test]
    fn failures_are_answers() {
        let answer = save_failure(&MemoryError::NoPlace { scope: "project" });
        let expected = "Failed to save memory. Detail: there is no place for project memory";
        assert_eq!(answer, json!({"success": false, "error": expected}));
    }
}
