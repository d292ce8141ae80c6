//! Makes the best of text that should be JSON and is not quite.

use std::borrow::Cow;

use serde_json::Value;

/// Text of bytes that should be UTF-8; broken places become U+FFFD, and then `true` is returned with it.
pub fn text_of(bytes: &[u8]) -> (Cow<'_, str>, bool) {
    // Checking is several times faster than looking for broken places, and nearly always enough.
    match std::str::from_utf8(bytes) {
        Ok(text) => (Cow::Borrowed(text), false),
        Err(_) => (Cow::Owned(String::from_utf8_lossy(bytes).into_owned()), true),
    }
}

/// The reason why a line is no JSON, in words.
pub fn explain(error: &serde_json::Error, closed: bool) -> String {
    let text = error.to_string();
    if text.starts_with("recursion limit") {
        "nested deeper than 128 levels; skipped".into()
    } else if error.is_eof() && !closed {
        format!("the last line is truncated at column {}; skipped", error.column())
    } else {
        let reason = text.split(" at line ").next().unwrap_or(&text);
        format!("invalid JSON at column {} ({reason}); skipped", error.column())
    }
}

/// The JSON value of a text that may have to be mended first; `None` if it is none all the same.
pub fn parse_mended(text: &str) -> Option<Value> {
    let parsed = serde_json::from_str(text).ok();
    parsed.or_else(|| serde_json::from_str(&mend(text)?).ok())
}

/// Makes JSON of text that almost is: halves of surrogate pairs, which JavaScript writes when it cuts a string, become
/// U+FFFD, and raw control characters inside strings are escaped. `None` if there was nothing of the kind.
pub fn mend(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut mended = String::new();
    let mut copied = 0;
    let mut in_string = false;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => in_string = !in_string,
            b'\\' if in_string => {
                let lone = match escape(bytes, at) {
                    Some(0xD800..=0xDBFF) => !matches!(escape(bytes, at + 6), Some(0xDC00..=0xDFFF)),
                    Some(0xDC00..=0xDFFF) => true,
                    _ => false,
                };
                if lone {
                    mended.push_str(&text[copied..at]);
                    mended.push_str("\\ufffd");
                    copied = at + 6;
                    at += 6;
                } else if matches!(escape(bytes, at), Some(0xD800..=0xDBFF)) {
                    at += 12;
                } else {
                    at += 2;
                }
                continue;
            }
            control @ 0..0x20 if in_string => {
                mended.push_str(&text[copied..at]);
                mended.push_str(&format!("\\u{control:04x}"));
                copied = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    (copied > 0).then(|| mended + &text[copied..])
}

/// The code unit of the `\uXXXX` that stands at `at`.
fn escape(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    #[track_caller]
    fn check_mend(text: &str, expected: Option<&str>) {
        assert_eq!(mend(text).as_deref(), expected);
        if let Some(mended) = expected {
            assert!(Json::parse(mended).is_ok());
        }
    }

    #[test]
    fn half_surrogates_and_raw_controls_are_mended() {
        check_mend(r#"{"a":"x\ud83d"}"#, Some(r#"{"a":"x\ufffd"}"#));
        check_mend(r#"{"a":"\udc00\ud83d\ude00"}"#, Some(r#"{"a":"\ufffd\ud83d\ude00"}"#));
        check_mend("{\"a\":\"tab\there\"}", Some(r#"{"a":"tab\u0009here"}"#));
        check_mend(r#"{"a":"\\ud83d \ud83d\ude00"}"#, None);
        check_mend("{\"a\":\n1}", None);
    }
}
