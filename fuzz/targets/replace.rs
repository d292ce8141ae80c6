//! A piece that is there once is replaced and nothing else is, whatever the text and its line ends.
#![no_main]

#[allow(dead_code, reason = "each target checks one of the laws")]
#[path = "../../crates/tools/tests/laws/mod.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|input: (&str, &str, &str)| {
    let (text, old, new) = input;
    laws::check_replace(text, old, new);
    laws::check_decode(text.as_bytes());
});
