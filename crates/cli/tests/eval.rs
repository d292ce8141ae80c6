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
            "(sessions)",
            "ledger+names",
            "Columns: percent, if not said otherwise",
            "lines no reader can use",
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
    assert_eq!(
        keys(&json),
        ["schema", "budgets", "half", "other_half", "real", "scripted", "small", "sessions", "skipped"]
    );
    assert_eq!((&json["half"], &json["other_half"]), (&serde_json::Value::Null, &0.into()));
    assert_eq!(json["budgets"], serde_json::json!([1000, 2000]));
    assert_eq!((&json["real"]["sessions"], &json["small"]["sessions"]), (&1.into(), &1.into()));
    let cell = &json["real"]["cells"][0];
    assert_eq!((&cell["method"], &cell["budget"]), (&"longhaul".into(), &1000.into()));
    for share in ["planted", "sentences"] {
        assert!(cell[share].as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)), "{share}: {cell}");
    }
    assert_eq!((&cell["sessions"]["planted"], &cell["sessions"]["junk"]), (&1.into(), &1.into()));
    assert!(cell["names"].as_f64().is_some_and(|names| names > 0.0), "{cell}");
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

#[test]
fn a_half_is_evaluated_by_its_list() {
    let list = "# half\tproject\tsessions\nfit\tme/app\tlong\ncheck\tme/web\tweb-*\n";
    let sandbox = sandbox().with("old/web-1.json", &long_session(20)).with("halves.tsv", list);
    let half = |half: &str| {
        sandbox.json(&[
            "eval",
            "old",
            "--json",
            "--only",
            "--budget",
            "1k",
            "--half",
            half,
            "--split",
            "halves.tsv",
        ])
    };
    let names = |json: &serde_json::Value| json["sessions"][0]["name"].clone();
    let (fit, check) = (half("fit"), half("check"));
    assert_eq!((names(&fit), names(&check)), ("old/long.json".into(), "old/web-1.json".into()));
    for json in [&fit, &check] {
        assert_eq!((&json["other_half"], &json["real"]["sessions"]), (&1.into(), &1.into()));
    }
    assert_eq!(check["half"], "check");
    let arguments = ["eval", "old", "--only", "--budget", "1k", "--half", "check", "--split", "halves.tsv"];
    check_has(
        &sandbox.done(&arguments),
        &["1 session, real, checking half", "1 session in the other half left out"],
    );
}

#[test]
fn without_a_list_a_project_is_in_one_half_as_a_whole() {
    let source = r#"{"source":{"directory":"/home/me/app"},"format":"pi","contents""#;
    let session = long_session(20).replacen(r#"{"contents""#, source, 1);
    let sandbox = sandbox().with("one.json", &session).with("two.json", &session);
    let session = |half: &str| sandbox.run(&["eval", "one.json", "two.json", "--only", "--half", half]);
    let done = ["fit", "check"].map(|half| session(half).status.success());
    assert!(done == [true, false] || done == [false, true], "{done:?}");
}

#[test]
fn a_broken_list_and_an_unknown_project_are_named() {
    let sandbox =
        sandbox().with("halves.tsv", "fit long\n").with("empty.tsv", "").with("bare.json", &bare_session());
    let eval = |list: &'static str| ["eval", "bare.json", "--half", "fit", "--split", list];
    sandbox.check_refused(
        &eval("halves.tsv"),
        1,
        &["could not read the list of halves halves.tsv", "line 1: expected three fields", "hint: a line is"],
    );
    sandbox.check_refused(&eval("nowhere.tsv"), 1, &["could not read the list of halves nowhere.tsv"]);
    sandbox.check_refused(&eval("empty.tsv"), 1, &["bare.json: unknown project"]);
    sandbox.check_refused(&["eval", "bare.json", "--split", "empty.tsv"], 2, &["--half"]);
    sandbox.check_refused(&["eval", "bare.json", "--half", "third"], 2, &["fit", "check"]);
}

/// A session that names no folder.
fn bare_session() -> String {
    let turn = |nth: usize| {
        format!(
            r#"{{"role": "user", "parts": [{{"text": "Question {nth}: {}"}}]}}, {{"role": "model", "parts": [{{"text": "Yes."}}]}}"#,
            "why is this so slow ".repeat(100)
        )
    };
    let turns: Vec<String> = (0..20).map(turn).collect();
    format!(r#"{{"contents": [{}]}}"#, turns.join(", "))
}
