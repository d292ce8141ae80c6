//! Tells how long values and messages are as compact JSON, without writing the JSON.
//!
//! Lengths are in UTF-16 units, as the reference counts them; nothing but quotes, backslashes and control characters is
//! escaped.

use std::fmt::Write;

use serde_json::Value;

/// The length of `value` as compact JSON.
pub(crate) fn json_len(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => display_len(number),
        Value::String(text) => string_json_len(text),
        Value::Array(items) => list_len(items.iter().map(json_len)),
        Value::Object(fields) => list_len(fields.iter().map(field_len)),
    }
}

/// The length of `text` as a JSON string, quotes included.
pub(crate) fn string_json_len(text: &str) -> usize {
    sum_bytes(text, escaped_units) + 2
}

/// Adds up a weight of at most six for each byte. Short runs are summed in bytes, so that the compiler can take many at
/// a time.
fn sum_bytes(text: &str, weight: impl Fn(u8) -> u8) -> usize {
    const RUN: usize = 32;
    text.as_bytes().chunks(RUN).map(|run| usize::from(run.iter().map(|byte| weight(*byte)).sum::<u8>())).sum()
}

/// UTF-16 units that begin with this byte: a character of four bytes takes two.
fn units(byte: u8) -> u8 {
    u8::from(byte & 0xC0 != 0x80) + u8::from(byte >= 0xF0)
}

/// The same with JSON's escapes: `\n` and its like take two, other control characters six.
fn escaped_units(byte: u8) -> u8 {
    let quoted = (byte == b'"') | (byte == b'\\');
    let control = byte < 0x20;
    let short = matches!(byte, 0x08 | b'\t' | b'\n' | 0x0C | b'\r');
    units(byte) + u8::from(quoted) + 5 * u8::from(control) - 4 * u8::from(short)
}

/// The length of a list with these members: brackets and commas are added.
fn list_len(members: impl Iterator<Item = usize>) -> usize {
    let (count, sum) = members.fold((0usize, 0), |(count, sum), len| (count + 1, sum + len));
    2 + sum + count.saturating_sub(1)
}

fn field_len((key, value): (&String, &Value)) -> usize {
    named(key, json_len(value))
}

/// The length of `"key":` and a value of this length.
fn named(key: &str, value: usize) -> usize {
    string_json_len(key) + 1 + value
}

fn display_len(value: &impl std::fmt::Display) -> usize {
    /// Counts what is written to it.
    struct Count(usize);
    impl Write for Count {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0 += text.len();
            Ok(())
        }
    }
    let mut count = Count(0);
    write!(count, "{value}").expect("counting cannot fail");
    count.0
}
