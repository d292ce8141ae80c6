//! Whatever the registry of projects holds, every project has an id of its own, and nothing is lost.
#![no_main]

#[allow(dead_code, reason = "each target checks one of the laws")]
#[path = "../../crates/workspace/tests/laws/mod.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    laws::check_registry(bytes);
});
