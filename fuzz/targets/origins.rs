//! However a user's text is divided among its authors, nothing of it is lost.
#![no_main]

#[allow(dead_code, reason = "each target checks one of the laws")]
#[path = "../../crates/formats/tests/laws/mod.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|text: &str| {
    laws::check_origins(text);
});
