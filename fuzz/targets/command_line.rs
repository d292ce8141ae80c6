//! Any command line is taken apart, none hides a command behind it, and policies decide accordingly.
#![no_main]

#[path = "../../crates/shell/tests/laws/mod.rs"]
mod shell_laws;

#[allow(dead_code, reason = "each target checks some of the laws")]
#[path = "../../crates/policy/tests/laws/mod.rs"]
mod policy_laws;

libfuzzer_sys::fuzz_target!(|line: &str| {
    shell_laws::check_line(line);
    policy_laws::check_command_line(line);
});
