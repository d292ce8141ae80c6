//! Drives `longhaul eval` as a user would.

mod sandbox;

use sandbox::{Sandbox, check_has, keys, long_session};

fn sandbox() -> Sandbox {
    Sandbox::new()
        .with("old/long.json", &long_session(20))
        .with("old/notes.json", "[1, 2]")
        .with("old/readme.txt", "hello")
}

#[test]
fn the_report_fits_and_says_what_was_skipped() {
    let sandbox = sandbox();
    let text =
        sandbox.done(&["eval", "old", "in.jsonl", "nowhere.json", "--budget", "1k,2000", "--sessions"]);
    check_has(
        &text,
        &[
            "1 session, real: means in percent",
            "1,000 tokens",
            "2,000 tokens",
            "longhaul",
            "tail-only",
            "After five compactions",
            "By session",
            "old/long.json",
            "Skipped: 3 files",
            "in.jsonl: only 4,260 tokens",
            "old/notes.json: ",
            "no such file: nowhere.json",
        ],
    );
    assert!(!text.contains("8,000 tokens") && !text.contains("readme.txt"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn one_method_can_stand_alone() {
    let text = sandbox().done(&["eval", "old/long.json", "--only", "--budget", "1k"]);
    assert!(text.contains("longhaul") && !text.contains("tail-only"), "{text}");
}

#[test]
fn the_json_has_its_keys() {
    let json =
        sandbox().json(&["eval", "--json", "--small", "--only", "--budget", "2k,1k,2k", "old", "in.jsonl"]);
    assert_eq!(keys(&json), ["schema", "budgets", "real", "scripted", "small", "sessions", "skipped"]);
    assert_eq!(json["budgets"], serde_json::json!([1000, 2000]));
    assert_eq!((&json["real"]["sessions"], &json["small"]["sessions"]), (&1.into(), &1.into()));
    let cell = &json["real"]["cells"][0];
    assert_eq!((&cell["method"], &cell["budget"]), (&"longhaul".into(), &1000.into()));
    for share in ["planted", "sentences"] {
        assert!(cell[share].as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)), "{share}: {cell}");
    }
    for defect in ["pairing_faults", "bad_starts", "over_budget", "changed_tails"] {
        assert_eq!(cell[defect], 0, "{defect}");
    }
    assert_eq!(json["sessions"][0]["name"], "old/long.json");
    assert_eq!(json["skipped"][0]["file"], "old/notes.json");
}

#[test]
fn nothing_to_evaluate_is_a_failure() {
    let sandbox = sandbox();
    sandbox.check_refused(&["eval", "in.jsonl"], 1, &["no session could be evaluated", "--small", "hint: "]);
    sandbox.check_refused(&["eval", "nowhere"], 1, &["no such file: nowhere"]);
    sandbox.check_refused(&["eval"], 2, &[]);
    sandbox.check_refused(&["eval", "in.jsonl", "--budget", "0"], 2, &["--budget"]);
}

#[test]
fn a_session_can_come_from_standard_input() {
    let sandbox = sandbox();
    let output =
        sandbox.feed(&["eval", "-", "--only", "--budget", "1k", "--sessions"], long_session(20).as_bytes());
    assert!(output.status.success(), "{}", sandbox::text(&output.stderr));
    check_has(&sandbox::text(&output.stdout), &["standard input", "longhaul"]);
}

#[test]
fn names_cannot_touch_the_terminal() {
    let sandbox = sandbox().with("old/\u{1b}[31m\u{202e}.json", &long_session(20));
    for arguments in [
        &["eval", "old", "--only", "--budget", "1k", "--sessions"][..],
        &["eval", "old", "--json", "--only", "--budget", "1k"],
    ] {
        let text = sandbox.done(arguments);
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    }
}
