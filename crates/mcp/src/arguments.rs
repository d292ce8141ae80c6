//! Arguments of a tool call, taken one by one; a wrong one is named.

use serde_json::{Map, Value};

/// The arguments of a call. What is left at the end is unknown.
#[derive(Debug)]
pub(crate) struct Arguments(Map<String, Value>);

impl Arguments {
    pub(crate) fn new(fields: Option<Map<String, Value>>) -> Self {
        let mut fields = fields.unwrap_or_default();
        // Some clients fill in every argument that is not required.
        fields.retain(|_, value| !value.is_null());
        Self(fields)
    }

    /// A text, if it is given and not blank.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, String> {
        match self.0.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.trim().to_string()).filter(|text| !text.is_empty())),
            Some(other) => Err(format!("{name} must be a string, not {}", kind(&other))),
        }
    }

    /// A text that must be given.
    pub(crate) fn required(&mut self, name: &str) -> Result<String, String> {
        self.text(name)?.ok_or_else(|| format!("{name} is missing"))
    }

    /// A whole number up to `most`.
    pub(crate) fn number(&mut self, name: &str, usual: usize, most: usize) -> Result<usize, String> {
        let wrong = || format!("{name} must be a whole number of at most {most}");
        let number = match self.0.remove(name) {
            None => return Ok(usual),
            // Models write numbers as text or with a fraction at times.
            Some(Value::String(text)) if text.trim().is_empty() => return Ok(usual),
            Some(Value::String(text)) => text.trim().parse().map_err(|_| wrong())?,
            Some(Value::Number(number)) => match number.as_u64() {
                Some(whole) => usize::try_from(whole).map_err(|_| wrong())?,
                None => return Err(wrong()),
            },
            Some(_) => return Err(wrong()),
        };
        if number > most { Err(wrong()) } else { Ok(number) }
    }

    /// One of these words.
    pub(crate) fn choice(
        &mut self,
        name: &str,
        words: &[&'static str],
    ) -> Result<Option<&'static str>, String> {
        let Some(given) = self.text(name)? else { return Ok(None) };
        let found = words.iter().find(|word| word.eq_ignore_ascii_case(&given));
        found.copied().map(Some).ok_or_else(|| format!("{name} must be one of: {}", words.join(", ")))
    }

    /// An error if there is an argument that the tool does not have.
    pub(crate) fn finish(self) -> Result<(), String> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => Err(format!("there is no argument {name:?}")),
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn arguments(value: &Value) -> Arguments {
        Arguments::new(value.as_object().cloned())
    }

    #[test]
    fn wrong_arguments_are_named() {
        assert_eq!(arguments(&json!({"a": 1})).text("a").unwrap_err(), "a must be a string, not a number");
        assert_eq!(arguments(&json!({"a": "  "})).required("a").unwrap_err(), "a is missing");
        assert_eq!(
            arguments(&json!({"a": -1})).number("a", 0, 9).unwrap_err(),
            "a must be a whole number of at most 9"
        );
        assert!(arguments(&json!({"a": 10})).number("a", 0, 9).is_err());
        assert_eq!(
            arguments(&json!({"a": "x"})).choice("a", &["y", "z"]).unwrap_err(),
            "a must be one of: y, z"
        );
        assert_eq!(arguments(&json!({"a": true})).finish().unwrap_err(), "there is no argument \"a\"");
    }

    #[test]
    fn null_and_blank_count_as_not_given() {
        let mut given = arguments(&json!({"a": null, "b": "", "c": "7", "d": "Y"}));
        assert_eq!(given.text("a"), Ok(None));
        assert_eq!(given.number("b", 3, 9), Ok(3));
        assert_eq!(given.number("c", 3, 9), Ok(7));
        assert_eq!(given.choice("d", &["y"]), Ok(Some("y")));
        assert_eq!(given.finish(), Ok(()));
    }
}
