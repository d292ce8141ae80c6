//! Runs `longhaul demo` as a stranger would: in an empty folder with an empty home.

use std::process::Command;

#[test]
fn the_demo_tells_its_story_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_longhaul"))
        .arg("demo")
        .current_dir(folder.path())
        .env_clear()
        .env("HOME", folder.path())
        .env("TMPDIR", folder.path())
        .output()
        .expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
    let wide = text.lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None);
    let words: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in [
        "The work",
        "it left out 2 of 2 rules",
        "using the offline summariser",
        "2 of 2 rules kept",
        "Always keep amounts as integer cents.",
        "Do not touch anything under legacy/ without asking me first.",
        "<active_constraints>",
        "cargo test: 42 passed, 0 failed",
        "no longer sees",
        "idempotency ttl 17 minutes",
        "matches the session file",
    ] {
        assert!(words.contains(told), "{told:?} is missing in:\n{text}");
    }
    assert!(!text.contains('\u{1b}'));
}
