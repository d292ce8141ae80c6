//! Redacts what is copied, before it is written: the strings of JSON one by one, other text as it is.

use std::collections::BTreeMap;

use longhaul_redact::redact;
use serde_json::{Map, Value};

/// Fields that vendors seal: a changed character would make the value worthless.
const SEALED: &[&str] = &["signature", "thoughtSignature", "thought_signature", "encrypted_content"];

/// The longest secret that only its name reveals.
const LONGEST_NAMED: usize = 512;

/// The redaction of copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Redaction {
    /// Secrets are replaced.
    #[default]
    On,
    /// The copy is exact; for a private disk.
    Off,
}

/// Redacts lines, each by itself, and counts what was taken out by kind.
pub(crate) fn redact_lines(text: &[u8], counts: &mut BTreeMap<&'static str, u64>) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        redact_line(line, counts, &mut out);
    }
    out
}

/// Redacts a whole text, a JSON document if it is one.
pub(crate) fn redact_text(text: &[u8], counts: &mut BTreeMap<&'static str, u64>) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    redact_line(text, counts, &mut out);
    out
}

fn redact_line(line: &[u8], counts: &mut BTreeMap<&'static str, u64>, out: &mut Vec<u8>) {
    let body = line.trim_ascii_end();
    let end = &line[body.len()..];
    let before: u64 = counts.values().sum();
    if let Ok(mut value) = serde_json::from_slice::<Value>(body) {
        in_value(&mut value, counts);
        if counts.values().sum::<u64>() == before {
            // Nothing found: the bytes stay as they were.
            out.extend_from_slice(line);
            return;
        }
        if serde_json::to_writer(&mut *out, &value).is_ok() {
            out.extend_from_slice(end);
            return;
        }
    }
    let mut text = String::from_utf8_lossy(line).into_owned();
    in_text(&mut text, counts);
    out.extend_from_slice(text.as_bytes());
}

fn in_text(text: &mut String, counts: &mut BTreeMap<&'static str, u64>) {
    let redacted = redact(text);
    if !redacted.findings.is_empty() {
        for finding in &redacted.findings {
            *counts.entry(finding.kind.name()).or_default() += 1;
        }
        let clean = redacted.text.into_owned();
        *text = clean;
    }
}

fn in_value(value: &mut Value, counts: &mut BTreeMap<&'static str, u64>) {
    match value {
        Value::String(text) => in_text(text, counts),
        Value::Array(items) => items.iter_mut().for_each(|item| in_value(item, counts)),
        Value::Object(fields) => in_fields(fields, counts),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn in_fields(fields: &mut Map<String, Value>, counts: &mut BTreeMap<&'static str, u64>) {
    let is_media = ["mimeType", "mime_type", "media_type"].iter().any(|key| fields.contains_key(*key));
    for (key, value) in fields.iter_mut() {
        match value {
            Value::String(_) if is_media && key == "data" || SEALED.contains(&key.as_str()) => {}
            Value::String(text) => {
                in_text(text, counts);
                in_named(key, text, counts);
            }
            value => in_value(value, counts),
        }
    }
}

/// Redacts a value that only its name gives away.
fn in_named(name: &str, text: &mut String, counts: &mut BTreeMap<&'static str, u64>) {
    if text.len() > LONGEST_NAMED || text.contains(['\n', '"']) || text.is_empty() {
        return;
    }
    let line = format!("\"{name}\": \"{text}\"");
    let redacted = redact(&line);
    let start = name.len() + 5;
    let (Some(clean), false) =
        (redacted.text.get(start..redacted.text.len().saturating_sub(1)), redacted.findings.is_empty())
    else {
        return;
    };
    if redacted.findings.iter().all(|finding| finding.range.start >= start) {
        for finding in &redacted.findings {
            *counts.entry(finding.kind.name()).or_default() += 1;
        }
        let clean = clean.to_owned();
        *text = clean;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> String {
        ["ghp_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat()
    }

    #[track_caller]
    fn check(line: &str, expected: &str, count: u64) {
        let mut counts = BTreeMap::new();
        let clean = redact_lines(line.as_bytes(), &mut counts);
        assert_eq!(String::from_utf8_lossy(&clean), expected);
        assert_eq!(counts.values().sum::<u64>(), count);
    }

    #[test]
    fn strings_are_redacted_and_the_rest_stays() {
        let token = token();
        check("{ \"a\" : 1.50 }\r\nplain\n", "{ \"a\" : 1.50 }\r\nplain\n", 0);
        check(
            &format!("{{\"a\":[\"x {token}\"],\"signature\":\"{token}\"}}\n"),
            &format!("{{\"a\":[\"x [REDACTED]\"],\"signature\":\"{token}\"}}\n"),
            1,
        );
        // A torn line is text.
        check(&format!("{{\"a\":\"{token}\n"), "{\"a\":\"[REDACTED]\n", 1);
        check("{\"client_secret\":\"q8Zr2Lx0Vt5Nw9Kd3Hs7\"}", "{\"client_secret\":\"[REDACTED]\"}", 1);
    }
}
