//! Any policy file is read or refused, and what was read keeps the laws of deciding.
#![no_main]

#[allow(dead_code, reason = "each target checks one of the laws")]
#[path = "../../crates/policy/tests/laws/mod.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|text: &str| {
    laws::check_file(text);
});
