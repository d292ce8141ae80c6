//! Any bytes are read as an answer of OpenAI's format, however they are cut, and the answer can be sent on.
#![no_main]

#[allow(dead_code, reason = "each target checks one of the laws")]
#[path = "../../crates/wire/tests/laws/mod.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    laws::check_answer(longhaul_wire::WireFormat::OpenAi, bytes);
});
