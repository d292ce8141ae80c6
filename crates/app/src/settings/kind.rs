//! Value kinds of keys, and their parsers.

use std::time::Duration;

use longhaul_compaction::{Threshold, parse_token_count};
use longhaul_conversation::TokenCount;
use serde_json::Value;

/// The kind of value a key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    /// `true` or `false`.
    Boolean,
    /// A number without a fraction.
    WholeNumber,
    /// A string.
    Text,
    /// One of these strings, separated by spaces.
    OneOf(&'static str),
    /// A list of strings.
    Texts,
    /// A string or a list of strings.
    TextOrTexts,
    /// An object with any keys.
    Object,
    /// A compaction threshold, as [`Threshold::parse`] reads it; a number is a share up to 1, and tokens above.
    Threshold,
    /// The threshold as in Gemini CLI: a number, where 0 leaves it unset.
    GeminiThreshold,
    /// A share from 0 to 1.
    Share,
    /// A number of tokens, of at least 1.
    Tokens,
    /// Numbers of tokens by name.
    TokensByName,
    /// Thresholds by model name, or by name prefix followed by `*`.
    ThresholdsByModel,
    /// A number above 0 and up to 10.
    Weight,
    /// An amount of dollars, of at least 0.
    Price,
    /// A number of seconds, of at least 1 and up to a day.
    Seconds,
    /// A number of bytes, of at least 1.
    Bytes,
    /// A whole number of at least 1.
    Count,
}

impl ValueKind {
    /// The kind by its name in `keys.txt`.
    pub(super) fn parse(name: &'static str) -> Option<Self> {
        if let Some(choices) = name.strip_prefix("one of ") {
            return Some(Self::OneOf(choices));
        }
        Some(match name {
            "boolean" => Self::Boolean,
            "whole number" => Self::WholeNumber,
            "text" => Self::Text,
            "texts" => Self::Texts,
            "text or texts" => Self::TextOrTexts,
            "object" => Self::Object,
            "threshold" => Self::Threshold,
            "gemini threshold" => Self::GeminiThreshold,
            "share" => Self::Share,
            "tokens" => Self::Tokens,
            "tokens by name" => Self::TokensByName,
            "thresholds by model" => Self::ThresholdsByModel,
            "weight" => Self::Weight,
            "price" => Self::Price,
            "seconds" => Self::Seconds,
            "bytes" => Self::Bytes,
            "count" => Self::Count,
            _ => return None,
        })
    }

    /// The expected value, to follow "must be".
    pub(crate) fn words(self) -> String {
        let words = match self {
            Self::Boolean => "true or false",
            Self::WholeNumber => "a whole number",
            Self::Text => "a string",
            Self::OneOf(choices) => return one_of(choices),
            Self::Texts => "a list of strings",
            Self::TextOrTexts => "a string or a list of strings",
            Self::Object => "an object",
            Self::Threshold => r#"a share (0.5 or "50%"), a number of tokens (200000 or "200k") or "off""#,
            Self::GeminiThreshold => "a share (0.5) or a number of tokens (200000)",
            Self::Share => r#"a share from 0 to 1 (0.3 or "30%")"#,
            Self::Tokens => r#"a number of tokens (4000 or "4k")"#,
            Self::TokensByName => r#"an object with a number of tokens (128000 or "128k") for each name"#,
            Self::ThresholdsByModel => {
                r#"an object with a share, a number of tokens or "off" for each model, such as {"gemini-*": 0.7}"#
            }
            Self::Weight => "a number above 0 and up to 10",
            Self::Price => "a number of dollars (2.5)",
            Self::Seconds => "a number of seconds from 1 to 86400 (180)",
            Self::Bytes => r#"a number of bytes (4000000 or "4MB")"#,
            Self::Count => "a whole number of at least 1",
        };
        words.to_string()
    }

    /// An example value, as JSON.
    pub(crate) fn example(self) -> String {
        let example = match self {
            Self::Boolean => "true",
            Self::GeminiThreshold => "0.5",
            Self::WholeNumber => "100",
            Self::Text => r#""text""#,
            Self::OneOf(choices) => return format!("{:?}", choices.split(' ').next().unwrap_or_default()),
            Self::Texts | Self::TextOrTexts => r#"["one", "two"]"#,
            Self::Object => "{}",
            Self::Threshold => r#""50%""#,
            Self::Share => "0.3",
            Self::Tokens => r#""4k""#,
            Self::TokensByName => r#"{"my-model": "128k"}"#,
            Self::ThresholdsByModel => r#"{"gemini-*": 0.7}"#,
            Self::Weight => "1.3",
            Self::Price => "2.5",
            Self::Seconds => "180",
            Self::Bytes => r#""4MB""#,
            Self::Count => "100",
        };
        example.to_string()
    }

    /// Returns true if this kind accepts a value that is not an object.
    pub(super) fn takes(self, value: &Value) -> bool {
        match self {
            Self::Boolean => value.is_boolean(),
            Self::WholeNumber => value.as_f64().is_some_and(|number| number.fract() == 0.0),
            Self::Text => value.is_string(),
            Self::OneOf(choices) => {
                value.as_str().is_some_and(|text| choices.split(' ').any(|choice| choice == text))
            }
            Self::Texts => is_texts(value),
            Self::TextOrTexts => value.is_string() || is_texts(value),
            Self::Object | Self::TokensByName | Self::ThresholdsByModel => false,
            Self::Threshold => threshold(value).is_some(),
            Self::GeminiThreshold => {
                value.as_f64().is_some_and(|number| Threshold::from_number(number).is_ok())
            }
            Self::Share => share(value).is_some(),
            Self::Tokens => tokens(value).is_some(),
            Self::Weight => weight(value).is_some(),
            Self::Price => price(value).is_some(),
            Self::Seconds => seconds(value).is_some(),
            Self::Bytes => bytes(value).is_some(),
            Self::Count => count(value).is_some(),
        }
    }
}

fn one_of(choices: &str) -> String {
    let quoted: Vec<String> = choices.split(' ').map(|choice| format!("{choice:?}")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

fn is_texts(value: &Value) -> bool {
    value.as_array().is_some_and(|texts| texts.iter().all(Value::is_string))
}

/// Reads a threshold.
pub(super) fn threshold(value: &Value) -> Option<Threshold> {
    match value {
        Value::String(text) => Threshold::parse(text).ok(),
        value => gemini_threshold(value),
    }
}

/// Reads a numeric threshold; 0 is none.
pub(super) fn gemini_threshold(value: &Value) -> Option<Threshold> {
    Threshold::from_number(value.as_f64()?).ok().flatten()
}

/// Reads a share.
pub(super) fn share(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => match Threshold::parse(text).ok()? {
            Threshold::Share(share) => Some(share),
            Threshold::Tokens(_) | Threshold::Off => None,
        },
        value => value.as_f64().filter(|share| (0.0..=1.0).contains(share)),
    }
}

/// Reads a number of tokens.
pub(super) fn tokens(value: &Value) -> Option<TokenCount> {
    let tokens = match value {
        Value::String(text) => parse_token_count(text)?,
        // Numbers may be written as 2e5 or 200000.0.
        value => {
            let number = value.as_f64().filter(|number| number.fract() == 0.0)?;
            TokenCount((1.0..=1e15).contains(&number).then_some(number as u64)?)
        }
    };
    (tokens >= TokenCount(1)).then_some(tokens)
}

/// Reads an amount of dollars.
pub(super) fn price(value: &Value) -> Option<f64> {
    value.as_f64().filter(|dollars| (0.0..=1e6).contains(dollars))
}

/// Reads a number of seconds.
pub(super) fn seconds(value: &Value) -> Option<Duration> {
    value.as_f64().filter(|seconds| (1.0..=86_400.0).contains(seconds)).map(Duration::from_secs_f64)
}

/// Reads a number of bytes; a string may use KB, MB or GB.
pub(super) fn bytes(value: &Value) -> Option<u64> {
    let Value::String(text) = value else { return count(value) };
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let factor: u64 = match text[digits.len()..].trim().to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" => 1_000,
        "M" | "MB" => 1_000_000,
        "G" | "GB" => 1_000_000_000,
        _ => return None,
    };
    let number: u64 = digits.parse().ok()?;
    number.checked_mul(factor).filter(|bytes| *bytes > 0)
}

/// Reads a whole number of at least 1.
pub(super) fn count(value: &Value) -> Option<u64> {
    value.as_u64().filter(|count| *count > 0)
}

/// Reads the weight of a character.
pub(super) fn weight(value: &Value) -> Option<f64> {
    value.as_f64().filter(|weight| *weight > 0.0 && *weight <= 10.0)
}

/// True for a text that is not to be shown again, as it looks like a key.
pub(super) fn hidden_text(text: &str) -> bool {
    longhaul_redact::has_secret(text).is_some()
}

/// A value in words.
pub(super) fn describe(value: &Value) -> String {
    const LONGEST: usize = 40;
    match value {
        Value::Null => "null".into(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => format!("the number {number}"),
        // A key that stands in a wrong place is not to be seen in yet another.
        Value::String(text) if hidden_text(text) => "a string that looks like a key".into(),
        Value::String(text) if text.chars().count() > LONGEST => {
            format!("the string {:?}…", text.chars().take(LONGEST).collect::<String>())
        }
        Value::String(text) => format!("the string {text:?}"),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "an object".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(kind: ValueKind, good: &Value, bad: &Value) {
        for value in good.as_array().unwrap() {
            assert!(kind.takes(value), "{kind:?} refuses {value}");
        }
        for value in bad.as_array().unwrap() {
            assert!(!kind.takes(value), "{kind:?} takes {value}");
        }
    }

    #[test]
    fn bytes_and_counts_are_whole() {
        check(
            ValueKind::Bytes,
            &json!([1, 4_000_000, "4000", "4 MB", "16kb", "1G"]),
            &json!([0, -1, 1.5, "", "MB", "4XB", "-4", "4.5MB"]),
        );
        check(ValueKind::Count, &json!([1, 1000]), &json!([0, -1, 1.5, "7", true]));
        assert_eq!(bytes(&json!("16MB")), Some(16_000_000));
    }

    #[test]
    fn plain_kinds_take_their_type() {
        check(ValueKind::Boolean, &json!([true, false]), &json!(["true", 1, []]));
        check(ValueKind::WholeNumber, &json!([1, -1, 3.0]), &json!([0.5, "1"]));
        check(ValueKind::Text, &json!(["", "a"]), &json!([1, ["a"]]));
        check(ValueKind::OneOf("a b"), &json!(["a", "b"]), &json!(["c", "A", 1]));
        check(ValueKind::Texts, &json!([[], ["a"]]), &json!(["a", [1], ["a", null]]));
        check(ValueKind::TextOrTexts, &json!(["a", ["a", "b"]]), &json!([1, [1]]));
        check(ValueKind::Object, &json!([]), &json!([1, "a", []]));
    }

    #[test]
    fn quantities_are_numbers_or_texts() {
        check(
            ValueKind::Threshold,
            &json!([0.5, 1, 200_000, "50%", "0.5", "200k", "off"]),
            &json!([0, -1, 1.5, "half", "", true]),
        );
        check(ValueKind::GeminiThreshold, &json!([0, 0.5, 1, 200_000]), &json!([-0.1, 1.5, "50%", "off"]));
        check(ValueKind::Share, &json!([0, 0.3, 1, "30%", "0.3"]), &json!([-0.1, 1.1, "30", "off", "200k"]));
        check(
            ValueKind::Tokens,
            &json!([1, 4000, 2e5, "4k", "1m"]),
            &json!([0, -1, 0.5, 1e300, "0", "4 k?", "-4"]),
        );
        check(ValueKind::Weight, &json!([1.3, 10]), &json!([0, -1, 11, "1.3"]));
        check(ValueKind::Seconds, &json!([1, 2.5, 86_400]), &json!([0, 0.5, -1, 1e9, "60"]));
        check(ValueKind::Price, &json!([0, 0.05, 12]), &json!([-0.1, 1e9, "$2", true]));
    }

    #[test]
    fn examples_are_taken() {
        let kinds = [
            ValueKind::Boolean,
            ValueKind::WholeNumber,
            ValueKind::Text,
            ValueKind::OneOf("a b"),
            ValueKind::Texts,
            ValueKind::TextOrTexts,
            ValueKind::Threshold,
            ValueKind::GeminiThreshold,
            ValueKind::Share,
            ValueKind::Tokens,
            ValueKind::Weight,
            ValueKind::Price,
            ValueKind::Seconds,
        ];
        for kind in kinds {
            let example: Value = serde_json::from_str(&kind.example()).unwrap();
            assert!(kind.takes(&example), "{kind:?} refuses {example}");
        }
    }

    #[test]
    fn values_are_described() {
        assert_eq!(
            describe(&json!(["ghp_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat())),
            "a string that looks like a key"
        );
        assert_eq!(describe(&json!("a\"b")), r#"the string "a\"b""#);
        assert_eq!(describe(&json!("x".repeat(50))), format!("the string {:?}…", "x".repeat(40)));
        assert_eq!(describe(&json!(1.5)), "the number 1.5");
        assert_eq!(ValueKind::OneOf("a b c").words(), r#""a", "b" or "c""#);
        assert_eq!(ValueKind::OneOf("a").words(), r#""a""#);
    }
}
