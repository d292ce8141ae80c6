//! Any text is a skill or is refused, and what was read keeps the laws of skills.
#![no_main]

#[allow(dead_code, reason = "each target checks one of the laws")]
#[path = "../../crates/skills/tests/laws/mod.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|text: &str| {
    laws::check_manifest(text);
});
