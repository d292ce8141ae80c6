//! Tool arguments: parsing, and the JSON Schema for the model.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Parses the arguments of a call to `tool`.
///
/// # Errors
/// A sentence for the model about the invalid argument.
pub fn parse_arguments<T: DeserializeOwned>(tool: &str, args: &Value) -> Result<T, String> {
    let empty = Value::Object(Map::new());
    let args = if args.is_null() { &empty } else { args };
    serde_path_to_error::deserialize(args).map_err(|error| {
        let place = error.path().to_string();
        let cause = error.into_inner();
        match place.as_str() {
            "." => format!("The arguments of {tool} are not valid: {cause}."),
            place => format!("The arguments of {tool} are not valid: {place}: {cause}."),
        }
    })
}

/// The JSON Schema of the arguments, with all definitions inlined, as every provider accepts it.
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>().to_value();
    if let Value::Object(fields) = &mut schema {
        fields.remove("title");
        fields.remove("description");
        fields.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    struct Sample {
        /// The file.
        path: String,
        /// How many lines.
        #[serde(default)]
        limit: Option<u32>,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    struct Nothing {}

    #[track_caller]
    fn check_refused(args: &Value, expected: &str) {
        assert_eq!(parse_arguments::<Sample>("look", args).unwrap_err(), expected);
    }

    #[test]
    fn arguments_are_taken_or_refused_in_a_sentence() {
        let taken = parse_arguments::<Sample>("look", &json!({"path": "a", "other": 1}));
        assert_eq!(taken, Ok(Sample { path: "a".into(), limit: None }));
        check_refused(&Value::Null, "The arguments of look are not valid: missing field `path`.");
        check_refused(
            &json!({"path": "a", "limit": -1}),
            "The arguments of look are not valid: limit: invalid value: integer `-1`, expected u32.",
        );
        check_refused(
            &json!({"path": 3}),
            "The arguments of look are not valid: path: invalid type: integer `3`, expected a string.",
        );
    }

    #[test]
    fn a_schema_is_one_object() {
        let schema = schema_of::<Sample>();
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["required"], json!(["path"]));
        assert_eq!(schema["properties"]["path"], json!({"description": "The file.", "type": "string"}));
        assert!(!schema.to_string().contains("$ref"));
        assert_eq!(schema_of::<Nothing>(), json!({"type": "object", "properties": {}}));
    }
}
