//! The demonstration, on the screen that people work with.

use std::fs;

use rustix::process::Signal;

use crate::support::{Sandbox, Terminal};

/// A sandbox without a key, on which nothing but the demonstration leaves traces.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new([]).without("GEMINI_API_KEY").without("GOOGLE_GEMINI_BASE_URL");
    fs::create_dir(sandbox.path("scratch")).expect("made");
    let scratch = sandbox.path("scratch").display().to_string();
    sandbox.set("TMPDIR", &scratch)
}

#[track_caller]
fn check_ended(sandbox: &Sandbox, terminal: &mut Terminal, code: u32) {
    assert_eq!(terminal.end(), code, "{}", terminal.text());
    assert_eq!(fs::read_dir(sandbox.path("scratch")).expect("a folder").count(), 0, "something is left");
    assert_eq!(sandbox.sessions(), "");
}

#[test]
fn the_demo_is_played_on_the_screen() {
    for width in [40, 80, 200] {
        let sandbox = sandbox();
        let mut terminal = sandbox.start_with(width, 50, &["demo", "--speed", "max"]);
        check_ended(&sandbox, &mut terminal, 0);
        let written: String = terminal.written().split_whitespace().collect::<Vec<_>>().join(" ");
        let mut rest = written.as_str();
        for told in [
            "❯ Retry failed",
            "thought for",
            "grep_search",
            "one of them in legacy/",
            "replace wants to",
            "+ retry(&self.clock, ATTEMPTS, || {",
            "✓ allowed once",
            "✓ always allowed in this project:",
            "One test fails",
            "2 old outputs",
            "attempt",
            "/compress",
            "Compacted ",
            "2 rules kept",
            "❯ Which of my rules",
            "Always keep amounts",
            "❯ /compress undo",
            "Compaction undone:",
            "Try it on your own work",
        ] {
            let found = rest.find(told);
            assert!(found.is_some(), "{width}: no {told:?} in:\n{rest}");
            rest = &rest[found.unwrap_or_default() + told.len()..];
        }
        assert!(!written.contains('✗') && !written.contains('!'), "something went wrong:\n{written}");
    }
}

#[test]
fn whoever_has_seen_enough_of_the_demo_leaves() {
    for key in ["\x1b", "\x03", "\x04"] {
        let sandbox = sandbox();
        let mut terminal = sandbox.start_with(80, 30, &["demo", "--speed", "5"]);
        terminal.wait_for("❯ Retry").send(key);
        check_ended(&sandbox, &mut terminal, 0);
    }
    let sandbox = sandbox();
    let mut terminal = sandbox.start_with(80, 30, &["demo", "--speed", "5"]);
    terminal.wait_for("❯ Retry").kill(Signal::TERM);
    check_ended(&sandbox, &mut terminal, 128 + 15);
}

#[test]
fn whoever_is_in_a_hurry_presses_keys() {
    let sandbox = sandbox();
    let mut terminal = sandbox.start_with(80, 30, &["demo", "--speed", "0.05"]);
    terminal.wait_for("❯ ask").send(&"x".repeat(20)).wait_for("Try it on your own work");
    check_ended(&sandbox, &mut terminal, 0);
}

#[test]
fn lines_are_told_where_they_are_wanted() {
    let plain = sandbox();
    let mut terminal = plain.start_with(80, 300, &["demo", "--plain"]);
    check_ended(&plain, &mut terminal, 0);
    assert!(terminal.text().contains("1  The work"), "{}", terminal.text());
    let dumb = sandbox().set("TERM", "dumb");
    let mut terminal = dumb.start_with(80, 300, &["demo"]);
    check_ended(&dumb, &mut terminal, 0);
    assert!(terminal.text().contains("1  The work") && !terminal.written().contains('\x1b'));
}
