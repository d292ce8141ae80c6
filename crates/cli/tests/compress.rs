//! Drives `longhaul compress` as a user would.

mod sandbox;

use std::fs;
use std::process::Output;

use sandbox::{RULE, Sandbox, check_has, keys, long_session, text};
use serde_json::{Value, json};

/// A session of about 26,000 tokens.
fn sandbox() -> Sandbox {
    Sandbox::new().with("long.json", &long_session(30))
}

#[track_caller]
fn tokens(json: &Value, key: &str) -> u64 {
    json[key].as_u64().unwrap_or_else(|| panic!("{key} is no number: {}", json[key]))
}

#[test]
fn the_json_has_its_keys() {
    let json =
        sandbox().json(&["compress", "long.json", "--window", "20k", "--snapshot-budget", "300", "--json"]);
    assert_eq!(
        keys(&json),
        [
            "schema",
            "status",
            "reason",
            "before_tokens",
            "after_tokens",
            "added_tokens",
            "split_index",
            "coverage",
            "summary",
            "rules",
            "requests",
            "ledger",
            "snapshot",
            "contents",
            "repairs",
            "warnings",
            "report",
        ]
    );
    assert_eq!(keys(&json["coverage"]), ["share", "kept", "of", "kinds", "missing"]);
    assert_eq!(keys(&json["coverage"]["kinds"][0]), ["kind", "kept", "of"]);
    assert_eq!(keys(&json["rules"][0]), ["id", "text", "messages", "retired_by"]);
    assert_eq!(keys(&json["requests"][0]), ["id", "text", "state", "messages", "evidence"]);
    assert_eq!(keys(&json["ledger"])[..5], ["files", "commands", "tests", "errors", "jobs"]);
    assert_eq!(keys(&json["coverage"]["missing"][0]), ["text", "kind", "message"]);
}

#[test]
fn a_session_too_long_for_its_window_becomes_smaller() {
    let json = sandbox().json(&["compress", "long.json", "--window", "20k", "--json"]);
    assert_eq!(json["status"], "compressed");
    let (before, after) = (tokens(&json, "before_tokens"), tokens(&json, "after_tokens"));
    assert!(before > 20_000 && after < 10_000, "{before} became {after}");
    assert!(tokens(&json, "added_tokens") <= 3_000);
    assert_eq!((&json["rules"][0]["text"], &json["rules"][0]["messages"][0]), (&RULE.into(), &"m1".into()));
    check_has(json["snapshot"].as_str().expect("a text"), &["<state_snapshot", RULE]);
    let contents = json["contents"].as_array().expect("a list");
    assert!(contents.len() < 120 && contents[0]["role"] == "user", "{contents:?}");
    check_has(&contents[0]["parts"][0]["text"].to_string(), &["state_snapshot"]);
    let split = json["split_index"].as_u64().expect("a number");
    assert!(split > 0 && split < 120, "{split}");
    let (kept, of) = (tokens(&json["coverage"], "kept"), tokens(&json["coverage"], "of"));
    assert!(kept > 0 && kept <= of, "{kept} of {of}");
    assert!(json["coverage"]["share"].is_null() && json["summary"].is_null());
}

#[test]
fn a_small_session_stays_as_it_is() {
    let json = sandbox().json(&["compress", "in.jsonl", "--json"]);
    assert_eq!(
        (&json["status"], &json["split_index"], &json["snapshot"]),
        (&"noop".into(), &Value::Null, &"".into())
    );
    assert_eq!(json["before_tokens"], json["after_tokens"]);
    check_has(json["reason"].as_str().expect("a text"), &["below the threshold"]);
    // What a provider would refuse is repaired all the same.
    assert!(!json["repairs"].as_array().expect("a list").is_empty());
}

#[test]
fn force_compacts_below_the_threshold_and_off_never_does() {
    let sandbox = sandbox();
    let status = |arguments: &[&str]| {
        let arguments = [&["compress", "long.json", "--window", "200k", "--json"], arguments].concat();
        sandbox.json(&arguments)["status"].clone()
    };
    assert_eq!(status(&[]), "noop");
    assert_eq!(status(&["--force"]), "compressed");
    assert_ne!(status(&["--threshold", "5%"]), "noop");
    assert_ne!(status(&["--threshold", "20k"]), "noop");
    assert_eq!(status(&["--threshold", "off"]), "noop");
}

/// A session of one or two messages, in every format that is written, stays as it is: there is nothing to gain but the newest message of the user.
#[test]
fn force_never_takes_the_only_request_away() {
    let sandbox = sandbox();
    let asked: String = (0..40).map(|number| format!("Rename field{number} to column{number}. ")).collect();
    let exchange = json!([{"role": "user", "content": asked.trim_end()}, {"role": "assistant", "content": "Done, in three files."}]);
    let request = json!([exchange[0].clone()]);
    // Nobody typed a document, and still it is all that the user said.
    let document = json!([
        {"role": "user", "content": format!("<document>{}</document>", asked.trim_end())},
        {"role": "assistant", "content": "Done, in three files."},
    ]);
    for (messages, session) in [(1, request), (2, exchange), (2, document)] {
        fs::write(sandbox.path("session.json"), session.to_string()).expect("written");
        for format in ["gemini", "openai", "anthropic", "neutral", "gemini-jsonl", "claude-code"] {
            let path = sandbox.path("converted").display().to_string();
            let export = ["sessions", "export", "--format", format, "session.json", "--force", "-o", &path];
            let exported = sandbox.run(&export);
            assert!(exported.status.success(), "{format}: {}", text(&exported.stderr));
            let output = sandbox.run(&["compress", &path, "--force", "--json"]);
            let json: Value = serde_json::from_slice(&output.stdout).expect("one object");
            assert_eq!(json["status"], "noop", "{format} {messages}: {}", json["reason"]);
            assert!(
                json["reason"].as_str().expect("a reason").starts_with("nothing to gain"),
                "{format}: {json}"
            );
            assert!(json["contents"].to_string().contains("Rename field39 to column39."), "{format}: {json}");
        }
    }
}

#[test]
fn what_cannot_fit_is_refused_with_the_reason() {
    let long = format!("Please fix this. {}", "Keep every word of this message. ".repeat(400));
    let session = serde_json::json!({"contents": [{"role": "user", "parts": [{"text": "Hello"}]},
        {"role": "model", "parts": [{"text": "Hi."}]}, {"role": "user", "parts": [{"text": long}]}],
        "systemInstruction": {"parts": [{"text": "Be brief. ".repeat(2_000)}]}});
    let sandbox = sandbox().with("tight.json", &session.to_string());
    let output = sandbox.run(&["compress", "tight.json", "--window", "2k", "--json", "-o", "out.json"]);
    assert_eq!(output.status.code(), Some(1));
    let json: Value = serde_json::from_str(&text(&output.stdout)).expect("one object");
    assert_eq!((&json["status"], &json["report"]["written"]), (&"does_not_fit".into(), &Value::Null));
    check_has(json["reason"].as_str().expect("a text"), &["system"]);
    check_has(&text(&output.stderr), &["error: ", "caused by: ", "hint: "]);
    sandbox.check_refused(&["compress", "tight.json", "--window", "2k", "-o", "out.json"], 1, &["hint: "]);
}

#[test]
fn the_result_is_a_session_without_faults() {
    let sandbox = sandbox();
    for (input, window, rules) in
        [("long.json", "20k", "1 of 1 rule kept"), ("in.jsonl", "6k", "1 of 1 rule kept")]
    {
        let told =
            sandbox.done(&["compress", input, "--window", window, "--force", "-o", "out", "--overwrite"]);
        check_has(
            &told,
            &["Compacted ", rules, "before", "after", "Coverage: ", "Rules: ", "Wrote ", "offline"],
        );
        assert!(told.lines().all(|line| line.chars().count() <= 80 || line.starts_with("Wrote")), "{told}");
        let (was, is) =
            (sandbox.json(&["inspect", input, "--json"]), sandbox.json(&["inspect", "out", "--json"]));
        assert_eq!((&is["format"], &is["faults"]), (&was["format"], &Value::Array(Vec::new())));
        assert!(tokens(&is["tokens"], "total") < tokens(&was["tokens"], "total") / 2 + 2_000);
        // The rules are still known, under the marks they had.
        assert_eq!(is["rules"], was["rules"]);
    }
}

#[test]
fn without_out_and_in_a_dry_run_nothing_is_written() {
    let sandbox = sandbox();
    let before = sandbox.names();
    check_has(
        &sandbox.done(&["compress", "long.json", "--window", "20k"]),
        &["Nothing written; pass -o OUT"],
    );
    let plan = sandbox.done(&["compress", "long.json", "--window", "20k", "--dry-run", "-o", "out.json"]);
    check_has(&plan, &["Would compact:", "names that you or the model used"]);
    assert!(!plan.contains("Compacted"), "{plan}");
    check_has(&plan, &["Plan", "keep messages from", "snapshot of at most", "Dry run: nothing written"]);
    let json =
        sandbox.json(&["compress", "long.json", "--window", "20k", "--dry-run", "--json", "-o", "out.json"]);
    assert_eq!((&json["report"]["dry_run"], &json["report"]["written"]), (&true.into(), &Value::Null));
    assert_eq!(sandbox.names(), before);
}

#[test]
fn the_result_can_go_to_standard_output() {
    let sandbox = sandbox();
    let before = sandbox.names();
    let output = sandbox.feed(&["compress", "-", "--window", "20k", "-o", "-"], long_session(30).as_bytes());
    assert!(output.status.success());
    let session: Value = serde_json::from_str(&text(&output.stdout)).expect("a Gemini request alone");
    assert!(session["contents"].as_array().is_some_and(|contents| contents.len() < 120));
    check_has(&text(&output.stderr), &["Compacted ", "standard output"]);
    assert_eq!(sandbox.names(), before);
}

#[test]
fn the_input_is_never_overwritten() {
    let sandbox = sandbox();
    let input = sandbox.read("long.json");
    fs::hard_link(sandbox.path("long.json"), sandbox.path("twin.json")).expect("linked");
    #[cfg(unix)]
    std::os::unix::fs::symlink(sandbox.path("long.json"), sandbox.path("link.json")).expect("linked");
    for out in ["long.json", "./long.json", "twin.json", "link.json"] {
        let arguments = ["compress", "long.json", "--window", "20k", "--force", "-o", out];
        sandbox.check_refused(&arguments, 1, &["never overwritten", "hint: "]);
    }
    assert_eq!(sandbox.read("long.json"), input);
    // Another file is, if that is asked for.
    let sandbox = sandbox.with("old.json", "old");
    let arguments = ["compress", "long.json", "--window", "20k", "-o", "old.json"];
    sandbox.check_refused(&arguments, 1, &["old.json already exists", "hint: ", "--overwrite"]);
    assert_eq!(sandbox.read("old.json"), "old");
    sandbox.done(&[&arguments[..], &["--overwrite"]].concat());
    check_has(&sandbox.read("old.json"), &["state_snapshot"]);
}

#[test]
fn a_session_of_our_own_is_compacted_in_place_and_back() {
    let sandbox = sandbox();
    sandbox.check_refused(
        &["compress", "in.jsonl", "--in-place"],
        1,
        &["is no session of Longhaul's", "claude --resume OUT.jsonl"],
    );
    let input = sandbox.read("in.jsonl");
    sandbox.done(&["sessions", "import", "in.jsonl"]);
    let before = sandbox.json(&["inspect", "latest", "--json"]);
    let json = sandbox.json(&["compress", "latest", "--in-place", "--force", "--json"]);
    assert_eq!(json["status"], "compressed", "{}", json["reason"]);
    assert_eq!(tokens(&json, "before_tokens").abs_diff(tokens(&before["tokens"], "total")) / 100, 0);
    let after = sandbox.json(&["inspect", "latest", "--json"]);
    assert_eq!(after["compactions"], 1);
    // One yardstick, also where nothing was counted since.
    assert_eq!(tokens(&json, "after_tokens").abs_diff(tokens(&after["tokens"], "total")) / 100, 0);
    sandbox.done(&["sessions", "undo", "latest"]);
    let undone = sandbox.json(&["inspect", "latest", "--json"]);
    assert_eq!(undone["messages"], before["messages"]);
    assert_eq!(sandbox.read("in.jsonl"), input);
}

#[test]
fn whole_outputs_are_saved_beside_the_result() {
    let sandbox = sandbox().with("sub/placeholder", "");
    // Above the threshold, and masking is enough to get below it.
    let json = sandbox.json(&["compress", "long.json", "--window", "40k", "--json", "-o", "sub/out.json"]);
    assert_eq!(json["status"], "masked", "{}", json["reason"]);
    let saved = json["report"]["saved"].as_array().expect("a list");
    assert!(!saved.is_empty());
    for path in saved {
        let path = path.as_str().expect("a path");
        assert!(path.starts_with("sub/tool-outputs/"), "{path}");
        check_has(&sandbox.read(path), &["pub fn handle_"]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(
                fs::metadata(sandbox.path(path)).expect("it is there").permissions().mode() & 0o777,
                0o600
            );
        }
    }
    let result = sandbox.read("sub/out.json");
    let first = saved[0].as_str().and_then(|path| path.rsplit('/').next()).expect("a name");
    check_has(&result, &[first]);
}

#[test]
fn focus_weighs_what_is_kept() {
    let sandbox = sandbox();
    let kept = |focus: &[&str]| {
        let arguments =
            [&["compress", "long.json", "--window", "20k", "--snapshot-budget", "600", "--json"], focus]
                .concat();
        sandbox.json(&arguments)["snapshot"].as_str().expect("a text").matches("module_3/").count()
    };
    let focused = kept(&["--focus", "src/module_3/handler_3.rs handle_3_7"]);
    assert!(focused > 0 && focused >= kept(&[]), "{focused}");
}

#[test]
fn settings_are_honoured_and_flags_win() {
    let settings = r#"{"longhaul": {"compaction": {"threshold": "10k", "snapshotBudget": 900}}}"#;
    let sandbox = sandbox().with("home/settings.json", settings);
    let json = sandbox.json(&["compress", "long.json", "--window", "200k", "--json"]);
    let report = &json["report"];
    assert_eq!(report["threshold"], 10_000);
    assert_ne!(json["status"], "noop");
    assert!(tokens(&json, "added_tokens") <= 900, "{report}");
    check_has(report["set_by"]["threshold"].as_str().expect("a place"), &["settings.json"]);
    let json = sandbox.json(&["compress", "long.json", "--window", "200k", "--threshold", "off", "--json"]);
    assert_eq!((&json["status"], &json["report"]["threshold"]), (&"noop".into(), &Value::Null));
    assert_eq!(json["report"]["set_by"]["threshold"], "--threshold");
}

#[test]
fn a_model_has_its_own_threshold() {
    let settings = r#"{"longhaul": {"compaction": {"threshold": "100k",
        "thresholds": {"claude-*": "3k",
            "claude-sonnet-4-5": "off"}}}}"#;
    let sandbox = sandbox().with("home/settings.json", settings);
    let limit = |file: &str| {
        let (compressed, inspected) =
            (sandbox.json(&["compress", file, "--json"]), sandbox.json(&["inspect", file, "--json"]));
        let report = &compressed["report"];
        assert_eq!(report["threshold"], inspected["tokens"]["threshold"], "{file}");
        assert_eq!(report["set_by"]["threshold"], inspected["tokens"]["threshold_set_by"], "{file}");
        let place = report["set_by"]["threshold"].as_str().expect("a place");
        (report["threshold"].as_u64(), place.rsplit(':').next().unwrap_or_default().to_string())
    };
    assert_eq!(limit("in.jsonl"), (None, "3".into()));
    assert_eq!(limit("long.json"), (Some(100_000), "1".into()));
    check_has(&sandbox.done(&["inspect", "in.jsonl"]), &["compaction is off, set by "]);
    let other = sandbox.read("in.jsonl").replace("claude-sonnet-4-5", "claude-opus-4-1");
    let sandbox = sandbox.with("other.jsonl", &other);
    check_has(&sandbox.done(&["inspect", "other.jsonl"]), &["compacts at 3,000 tokens, set by "]);
    assert_eq!(
        sandbox.json(&["compress", "other.jsonl", "--threshold", "9k", "--json"])["report"]["threshold"],
        9_000
    );
}

#[test]
fn wrong_usage_is_refused() {
    let sandbox = sandbox();
    for arguments in [
        &["--threshold", "2.5"][..],
        &["--threshold", "never"],
        &["--keep", "3"],
        &["--window", "0"],
        &["--snapshot-budget", "x"],
        &["--summariser", "magic"],
    ] {
        sandbox.check_refused(&[&["compress", "long.json"], arguments].concat(), 2, &[arguments[0]]);
    }
    sandbox.check_refused(
        &["compress", "long.json", "--summariser", "model"],
        1,
        &["no model is set", "hint: "],
    );
    sandbox.check_refused(&["compress", "nowhere"], 1, &["no file or session named nowhere"]);
}

#[test]
fn a_model_that_is_not_asked_is_a_slip() {
    let sandbox = sandbox();
    for arguments in [&["compress", "long.json", "-m", "flash"][..], &["eval", "long.json", "-m", "flash"]] {
        sandbox.check_refused(arguments, 2, &["require --summariser model"]);
    }
}

#[test]
fn nothing_in_a_session_touches_the_terminal() {
    let session = long_session(30).replace("module_", "module\\u001b[31m\\u202e\\u0007_");
    let sandbox = sandbox().with("bad.json", &session);
    for arguments in
        [&["--window", "20k"][..], &["--window", "20k", "--json"], &["--window", "20k", "--dry-run"]]
    {
        let text = sandbox.done(&[&["compress", "bad.json"], arguments].concat());
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
    }
}

/// Checks that a file, whose beginning is let go as it is read, is compacted as standard input is, which is held whole.
#[track_caller]
fn check_same_as_held(sandbox: &Sandbox, name: &str, window: &str) {
    let compress = |output: Output| -> Value {
        let mut json: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{name}: {error}: {}", text(&output.stderr)));
        // Plans name files for saved outputs, which lie in a folder with the session's name; and the clock goes on.
        for key in ["file", "plan", "milliseconds"] {
            json["report"][key] = Value::Null;
        }
        json
    };
    let let_go = compress(sandbox.run(&["compress", name, "--window", window, "--json"]));
    let input = fs::read(sandbox.path(name)).expect("it is there");
    let held = compress(sandbox.feed(&["compress", "-", "--window", window, "--json"], &input));
    for key in ["status", "reason", "before_tokens", "after_tokens", "split_index", "coverage", "report"] {
        assert_eq!(let_go[key], held[key], "{name}: {key}");
    }
    for key in ["snapshot", "rules", "requests", "ledger"] {
        assert!(let_go[key] == held[key], "{name}: {key} differs");
    }
}

#[test]
fn what_is_let_go_while_reading_changes_nothing() {
    let (record, user) = (|id: usize, kind: &str| format!("{{\"id\":\"{id}\",\"type\":\"{kind}\""), "user");
    let said = |id: usize| match id % 2 {
        0 => {
            format!("{},\"content\":\"Look at part_{id}. {}\"}}", record(id, user), "It is slow. ".repeat(40))
        }
        _ => format!(
            "{},\"content\":\"It was {id} ms. {}\"}}",
            record(id, "gemini"),
            "Now it is not. ".repeat(40)
        ),
    };
    let log: Vec<String> = (0..200).map(said).collect();
    let changed = |change: &str| [&log.join("\n"), change, &said(300)].join("\n");
    let grown = changed(&said(4).replace("part_4", "part_4 and part_5"));
    let sandbox = Sandbox::new()
        .with("long.json", &long_session(90))
        .with("talk.jsonl", &log.join("\n"))
        .with("early.jsonl", &changed(r#"{"$rewindTo":"4"}"#))
        .with("late.jsonl", &changed(r#"{"$rewindTo":"190"}"#))
        .with("unknown.jsonl", &changed(r#"{"$rewindTo":"nobody"}"#))
        .with("grown.jsonl", &grown);
    for name in ["long.json", "talk.jsonl", "early.jsonl", "late.jsonl", "unknown.jsonl", "grown.jsonl"] {
        for window in ["500", "2k", "6k", "20k"] {
            check_same_as_held(&sandbox, name, window);
        }
    }
}

#[test]
fn real_sessions_become_smaller_and_stay_sound() {
    let Some(corpus) = longhaul_testkit::corpus() else { return };
    let sandbox = sandbox();
    for file in longhaul_testkit::files_below(&corpus.join("sessions/original")) {
        let file = file.to_str().expect("a plain name");
        let output = sandbox.run(&["compress", file, "--window", "8k", "--json", "-o", "out", "--overwrite"]);
        let json: Value = serde_json::from_str(&text(&output.stdout))
            .unwrap_or_else(|error| panic!("{file}: {error}: {}: {}", output.status, text(&output.stderr)));
        let status = json["status"].as_str().expect("a word");
        assert_eq!(output.status.success(), status != "does_not_fit", "{file}: {}", json["reason"]);
        if status == "compressed" || status == "last_resort" {
            let (before, after) = (tokens(&json, "before_tokens"), tokens(&json, "after_tokens"));
            assert!(after < before && after <= 8_000, "{file}: {before} became {after}");
            assert_eq!(json["report"]["rules_kept"], json["report"]["rules"], "{file}");
            assert_eq!(
                sandbox.json(&["inspect", "out", "--json"])["faults"],
                Value::Array(Vec::new()),
                "{file}"
            );
        }
    }
}
