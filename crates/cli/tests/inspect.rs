//! Drives the program as a user does: what it prints, on which side, and with which exit code.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/interrupted-session.jsonl");

fn longhaul<A: AsRef<OsStr>>(arguments: &[A]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longhaul"));
    command.args(arguments).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").stdin(Stdio::null());
    command
}

fn run<A: AsRef<OsStr>>(arguments: &[A]) -> Output {
    longhaul(arguments).output().expect("the program starts")
}

/// Runs the program with `input` on its standard input.
fn feed(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = longhaul(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    // A program that refuses its input early may close it.
    child.stdin.take().expect("it is piped").write_all(input).ok();
    child.wait_with_output().expect("the program ends")
}

#[track_caller]
fn stdout(output: &Output) -> &str {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::str::from_utf8(&output.stdout).expect("the output is text")
}

#[test]
fn the_report_says_what_matters() {
    let output = run(&["inspect", FIXTURE]);
    let text = stdout(&output);
    for line in [
        "Claude Code session",
        "Retry failed uploads in ferry",
        "11,280 tokens, 6 % of a 200,000-token window (claude-sonnet-4-5)",
        "11,212 counted by the provider, 68 estimated since; 4,823 not in the file.",
        "not in the file ",
        "By kind",
        "Heaviest tools",
        "Heaviest files",
        "Heaviest messages",
        "Rules: 1 standing instruction",
        "Requests: ",
        "2 files changed",
        "src/retry.rs",
        "cargo test: 61 passed",
        "Pairing: ",
        "fix with: longhaul sessions repair ",
    ] {
        assert!(text.contains(line), "no {line:?} in:\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80 || line.contains("fix with")), "{text}");
    assert_eq!(output.stderr, b"");
}

#[test]
fn the_json_has_its_keys() {
    let output = run(&["inspect", "--json", FIXTURE]);
    let json: Value = serde_json::from_str(stdout(&output)).expect("one JSON object");
    let keys: Vec<&str> = json.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "schema",
            "file",
            "format",
            "session_id",
            "title",
            "models",
            "directory",
            "started",
            "ended",
            "messages",
            "turns",
            "calls",
            "results",
            "tokens",
            "usage",
            "tools",
            "files",
            "heaviest",
            "growth",
            "rules",
            "requests",
            "ledger",
            "compactions",
            "side_chains",
            "faults",
            "skipped",
            "warnings",
            "warning_count",
        ]
    );
    let tokens: Vec<&str> =
        json["tokens"].as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(tokens[..5], ["total", "estimated", "counted", "unrecorded", "dropped"]);
    assert_eq!(tokens[5..], ["window", "window_source", "threshold", "threshold_set_by", "share", "by_kind"]);
    assert_eq!((&json["schema"], &json["format"]), (&2.into(), &"claude-code".into()));
    assert_eq!(json["title"], "Retry failed uploads in ferry");
    let total = json["tokens"]["total"].as_u64().expect("a number");
    let kinds = json["tokens"]["by_kind"].as_object().expect("an object");
    let sum: u64 = kinds.values().filter_map(Value::as_u64).sum();
    assert!(total > 1000 && sum.abs_diff(total) <= kinds.len() as u64, "{total} is not about {sum}");
}

#[test]
fn the_json_has_what_was_tracked() {
    let output = run(&["inspect", "--json", FIXTURE]);
    let json: Value = serde_json::from_str(stdout(&output)).expect("one JSON object");
    assert_eq!(json["rules"][0]["messages"][0], "m1");
    assert_eq!(json["rules"][0]["retired_by"], Value::Null);
    assert_eq!(json["requests"][1]["state"], "open");
    let files: Vec<_> = json["ledger"]["files"].as_array().expect("a list").iter().collect();
    let states: Vec<_> = files.iter().map(|file| (file["path"].as_str(), file["state"].as_str())).collect();
    assert_eq!(
        states,
        [
            (Some("src/error.rs"), Some("read")),
            (Some("src/retry.rs"), Some("created")),
            (Some("src/upload.rs"), Some("modified")),
        ]
    );
    assert_eq!(json["ledger"]["tests"][0]["failed"], 1);
    assert_eq!(json["ledger"]["commands"][0]["fixed"], "m17");
}

#[test]
fn standard_input_is_read_for_a_dash() {
    let file = std::fs::read(FIXTURE).expect("the fixture is there");
    let json = |output: &Output| -> Value { serde_json::from_str(stdout(output)).expect("JSON") };
    let mut fed = json(&feed(&["inspect", "--json", "-"], &file));
    assert_eq!(fed["file"], "standard input");
    fed["file"] = FIXTURE.into();
    assert_eq!(fed, json(&run(&["inspect", "--json", FIXTURE])));
}

#[test]
fn the_window_can_be_stated() {
    let output = run(&["inspect", "--json", "--window", "8k", FIXTURE]);
    let json: Value = serde_json::from_str(stdout(&output)).expect("JSON");
    assert_eq!(json["tokens"]["window"], 8000);
    assert_eq!(json["tokens"]["window_source"], "stated");
}

/// A failure: exit code 1, nothing on standard output, an `error:` line first and a `hint:` line last.
#[track_caller]
fn check_failure(output: &Output, words: &[&str]) {
    let stderr = std::str::from_utf8(&output.stderr).expect("errors are text");
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert_eq!(output.stdout, b"");
    let lines: Vec<&str> = stderr.lines().collect();
    assert!(lines[0].starts_with("error: "), "{stderr}");
    assert!(lines.last().is_some_and(|line| line.starts_with("hint: ")), "{stderr}");
    assert_eq!(lines.iter().filter(|line| line.starts_with("error: ")).count(), 1, "{stderr}");
    assert!(lines[1..lines.len() - 1].iter().all(|line| line.starts_with("caused by: ")), "{stderr}");
    assert!(stderr.len() < 1200, "{stderr}");
    for word in words {
        assert!(stderr.contains(word), "no {word:?} in:\n{stderr}");
    }
}

#[test]
fn what_is_no_session_is_refused() {
    for (input, words) in [
        (&b""[..], &["empty", "~/.claude/projects"][..]),
        (b" \n\r\n\t", &["empty"]),
        (b"\x1f\x8b\x08\0\0\0\0\0", &["binary data (gzip)", "unpack it first"]),
        (b"\0\x01\x02", &["binary data"]),
        (b"\xff\xfe{\0\"\0", &["UTF-16", "convert it to UTF-8"]),
        (b"{\"name\":\"x\",\"version\":\"1\"}", &["the keys name, version", "supported formats: "]),
        (b"[1,2]", &["a JSON array whose first item is a number"]),
        (b"null", &["null in JSON"]),
        (b"# A readme\n\nwith text", &["text starting with \"# A readme\""]),
        (b"{\"contents\": [{\"role\": \"user\"", &["malformed", "EOF while parsing"]),
    ] {
        check_failure(&feed(&["inspect", "-"], input), words);
        check_failure(&feed(&["inspect", "--json", "-"], input), words);
    }
    let long = format!("{{\"{}\":1}}", "k".repeat(100_000));
    check_failure(&feed(&["inspect", "-"], long.as_bytes()), &["kkk"]);
}

#[test]
fn what_cannot_be_opened_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("missing.jsonl");
    check_failure(&run(&[Path::new("inspect"), &missing]), &["no such file: ", "missing.jsonl"]);
    check_failure(&run(&[Path::new("inspect"), folder.path()]), &["is a folder", "pass a session file"]);
    std::fs::write(folder.path().join("a.jsonl"), "").expect("a file");
    check_failure(&run(&[Path::new("inspect"), folder.path()]), &["is a folder", "a.jsonl"]);
}

#[test]
fn wrong_usage_has_its_own_exit_code() {
    for arguments in [
        &[][..],
        &["inspect", "a", "b"],
        &["inspekt"],
        &["inspect", "--window", "many", FIXTURE],
        &["--color", "sometimes", "inspect", FIXTURE],
        &["completions", "tcl"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(output.stdout, b"", "{arguments:?}");
        assert!(!output.stderr.is_empty(), "{arguments:?}");
    }
    for arguments in [&["--help"][..], &["--version"], &["inspect", "--help"]] {
        assert!(!stdout(&run(arguments)).is_empty());
    }
}

/// What could act on a terminal: colours and cursor moves, a bell, a return, C1 controls, deletion, marks that reorder.
const HOSTILE: &str = "\x1b[31m\x1b]0;title\x07\r\u{8}\u{9b}2J\u{9d}\u{7f}\u{202e}\u{2066}\u{200f}\u{61c}end";

#[track_caller]
fn check_harmless(bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).expect("the output is text");
    let acts = |c: char| {
        c.is_control() && c != '\n'
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert_eq!(text.chars().find(|c| acts(*c)), None, "{text:?}");
}

/// A session in which everything that can be a text is hostile.
fn hostile_session() -> String {
    let user = |id: &str, content: Value| {
        serde_json::json!({"type": "user", "uuid": id, "sessionId": HOSTILE, "cwd": HOSTILE,
            "message": {"role": "user", "content": content}})
    };
    let call = |id: &str, path: &str| {
        serde_json::json!({"type": "assistant", "sessionId": "s", "message": {"id": id, "role": "assistant",
            "model": HOSTILE, "content": [{"type": "text", "text": HOSTILE},
            {"type": "tool_use", "id": id, "name": HOSTILE, "input": {"file_path": path}}]}})
    };
    let text = |text: String| Value::String(text);
    let records = [
        serde_json::json!({"type": "summary", "summary": HOSTILE, "leafUuid": "x"}),
        user(HOSTILE, text(format!("{HOSTILE} please"))),
        user(HOSTILE, text(format!("{HOSTILE} again"))),
        call(&format!("{HOSTILE}1"), &format!("{HOSTILE}/a.rs")),
        call(&format!("{HOSTILE}2"), &format!("/elsewhere/{HOSTILE}.rs")),
        user(
            "r",
            serde_json::json!([{"type": "tool_result", "tool_use_id": format!("{HOSTILE}2"), "content": HOSTILE}]),
        ),
        serde_json::json!({"type": HOSTILE, "sessionId": "s"}),
    ];
    records.iter().map(|record| format!("{record}\n")).collect()
}

#[test]
fn nothing_in_a_session_touches_the_terminal() {
    let session = hostile_session();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(format!("{HOSTILE}.jsonl").replace('/', ""));
    std::fs::write(&path, &session).expect("a file with such a name");
    for output in [feed(&["inspect", "-"], session.as_bytes()), run(&[Path::new("inspect"), &path])] {
        check_harmless(stdout(&output).as_bytes());
        check_harmless(&output.stderr);
        let text = stdout(&output);
        for shown in
            ["␛[31m", "␇", "<U+202E>", "<U+009B>", "2 turns", "2 tool calls", "line 3: duplicate id ␛"]
        {
            assert!(text.contains(shown), "no {shown:?} in:\n{text}");
        }
    }
    let output = run(&[Path::new("inspect"), Path::new("--json"), &path]);
    check_harmless(stdout(&output).as_bytes());
    let json: Value = serde_json::from_str(stdout(&output)).expect("JSON");
    assert_eq!(json["title"], HOSTILE);
    assert_eq!(json["models"][0], HOSTILE);
    assert_eq!(json["tools"][0]["name"], HOSTILE);
    assert_eq!(json["file"], path.display().to_string());
}

#[test]
fn nothing_in_an_error_touches_the_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let named = folder.path().join(HOSTILE);
    let missing = run(&[Path::new("inspect"), &named]);
    check_failure(&missing, &["no such file:", "␛"]);
    std::fs::create_dir(&named).expect("a folder with such a name");
    std::fs::write(named.join(format!("{HOSTILE}.json")), "").expect("a file with such a name");
    let listed = run(&[Path::new("inspect"), &named]);
    check_failure(&listed, &["is a folder", "␛"]);
    let empty = run(&[Path::new("inspect"), &named.join(format!("{HOSTILE}.json"))]);
    check_failure(&empty, &["could not read", "empty"]);
    let text = feed(&["inspect", "-"], HOSTILE.as_bytes());
    check_failure(&text, &["text starting with"]);
    let keys = feed(&["inspect", "-"], serde_json::json!({HOSTILE: 1}).to_string().as_bytes());
    check_failure(&keys, &["the keys ␛"]);
    let usage = run(&[Path::new("inspect"), &named, &named]);
    assert_eq!(usage.status.code(), Some(2));
    for output in [missing, listed, empty, text, keys, usage, run(&[HOSTILE]), run(&["completions", HOSTILE])]
    {
        check_harmless(&output.stderr);
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn colours_are_used_when_wanted() {
    let is_coloured = |command: &mut Command| {
        let output = command.output().expect("the program starts");
        (output.stdout.contains(&0x1b), output.stderr.contains(&0x1b))
    };
    assert_eq!(is_coloured(&mut longhaul(&["inspect", FIXTURE])), (false, false));
    assert_eq!(is_coloured(&mut longhaul(&["--color", "always", "inspect", FIXTURE])), (true, false));
    assert_eq!(is_coloured(&mut longhaul(&["inspect", "--color", "never", FIXTURE])), (false, false));
    assert_eq!(is_coloured(longhaul(&["inspect", FIXTURE]).env("NO_COLOR", "1")), (false, false));
    // What is asked for on the command line comes before the environment.
    let mut asked = longhaul(&["--color=always", "inspect", FIXTURE]);
    assert_eq!(is_coloured(asked.env("NO_COLOR", "1")), (true, false));
    assert_eq!(is_coloured(&mut longhaul(&["--color=always", "inspect", "/nowhere"])), (false, true));
    assert_eq!(is_coloured(&mut longhaul(&["--color=never", "inspect", "/nowhere"])), (false, false));
    // Arguments that make no sense say it in the same way.
    assert_eq!(is_coloured(&mut longhaul(&["inspect", "--nonsense"])), (false, false));
    assert_eq!(is_coloured(&mut longhaul(&["inspect", "--nonsense", "--color", "always"])), (false, true));
    assert_eq!(is_coloured(&mut longhaul(&["--color=always", "--help"])), (true, false));
    assert_eq!(is_coloured(&mut longhaul(&["--color=always", "inspect", "--json", FIXTURE])), (false, false));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for arguments in [&["inspect", "-"][..], &["inspect", "--json", "-"]] {
        let mut command = longhaul(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        drop(child.stdout.take());
        // Only now is there anything to print.
        let file = std::fs::read(FIXTURE).expect("the fixture is there");
        child.stdin.take().expect("it is piped").write_all(&file).expect("the program reads");
        let output = child.wait_with_output().expect("the program ends");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert!(output.status.success());
    }
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = run(&["completions", shell]);
        let script = stdout(&output);
        assert!(script.contains("longhaul") && script.contains("inspect"), "{shell}");
    }
}
