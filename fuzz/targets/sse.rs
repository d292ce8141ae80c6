//! Any bytes are the same events, however they are cut.
#![no_main]

#[allow(dead_code, reason = "each target checks one of the laws")]
#[path = "../../crates/wire/tests/laws/mod.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    laws::check_sse(bytes);
});
