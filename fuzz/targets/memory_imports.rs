//! Whatever a memory file says, imports stay below their root and every text comes in once.
#![no_main]

#[allow(dead_code, reason = "each target checks one of the laws")]
#[path = "../../crates/memory/tests/laws/mod.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|text: &str| {
    laws::check_imports(text);
});
