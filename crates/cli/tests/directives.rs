//! Drives `longhaul rules` and `longhaul requests` as a user would.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longhaul"));
    let home = folder.join("home");
    command
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("HOME", folder)
        .env("LONGHAUL_HOME", home);
    command.output().expect("it runs")
}

#[track_caller]
fn done(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn listed(folder: &Path, kind: &str) -> Vec<Value> {
    let text = done(folder, &[kind, "list", "s.jsonl", "--json"]);
    let all: Value = serde_json::from_str(&text).expect("one object");
    all[kind].as_array().expect("a list").clone()
}

/// A folder with a session of ours that states a rule and a request.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = [
        json!({"sessionId": "s", "projectHash": "p", "startTime": "2026-03-04T09:10:10.000Z", "lastUpdated": "2026-03-04T09:10:10.000Z", "kind": "main"}),
        json!({"id": "u1", "timestamp": "2026-03-04T09:10:10.000Z", "type": "user", "content": [{"text": "Never push to main. Fix the upload."}]}),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(folder.path().join("s.jsonl"), text).expect("written");
    folder
}

#[test]
fn rules_are_listed_and_corrected() {
    let folder = folder();
    let folder = folder.path();
    let rules = listed(folder, "rules");
    assert_eq!(rules[0]["text"], "Never push to main.");
    let id = rules[0]["id"].as_str().expect("an id");
    assert!(done(folder, &["rules", "list", "s.jsonl"]).contains(id));
    assert!(
        done(folder, &["rules", "wrong", "s.jsonl", &id[..6]]).starts_with("Removed: Never push to main.")
    );
    done(folder, &["rules", "add", "s.jsonl", "Answer", "in", "German."]);
    let rules = listed(folder, "rules");
    assert_eq!((&rules[0]["text"], &rules[0]["retired_by"]), (&json!("Answer in German."), &Value::Null));
    assert_eq!((&rules[1]["text"], &rules[1]["retired_by"]), (&json!("Never push to main."), &json!("hand")));
    let failed = run(folder, &["rules", "remove", "s.jsonl", "ffff"]);
    assert!(String::from_utf8_lossy(&failed.stderr).contains("no active rule has the id ffff"));
}

#[test]
fn requests_are_listed_and_corrected() {
    let folder = folder();
    let folder = folder.path();
    let requests = listed(folder, "requests");
    let id = requests[0]["id"].as_str().expect("an id");
    assert!(
        done(folder, &["requests", "done", "s.jsonl", id]).starts_with("Marked as done: Fix the upload.")
    );
    done(folder, &["requests", "add", "s.jsonl", "Write the docs"]);
    let requests = listed(folder, "requests");
    let states: Vec<_> = requests.iter().map(|request| (&request["text"], &request["state"])).collect();
    assert_eq!(
        states,
        [(&json!("Fix the upload."), &json!("done")), (&json!("Write the docs"), &json!("open"))]
    );
    let id = requests[1]["id"].as_str().expect("an id");
    assert!(done(folder, &["requests", "remove", "s.jsonl", id]).starts_with("Removed: Write the docs"));
    assert_eq!(listed(folder, "requests")[1]["state"], "replaced");
}

#[test]
fn a_foreign_session_is_listed_but_not_changed() {
    let folder = folder();
    let folder = folder.path();
    let foreign = json!({"contents": [{"role": "user", "parts": [{"text": "Never push to main."}]}]});
    fs::write(folder.join("s.jsonl"), foreign.to_string()).expect("written");
    assert_eq!(listed(folder, "rules")[0]["text"], "Never push to main.");
    let failed = run(folder, &["rules", "add", "s.jsonl", "Never rebase."]);
    let error = String::from_utf8_lossy(&failed.stderr).to_string();
    assert!(!failed.status.success() && error.contains("longhaul sessions import"), "{error}");
    assert_eq!(fs::read_to_string(folder.join("s.jsonl")).expect("there"), foreign.to_string());
}

#[test]
fn without_more_the_latest_session_is_listed() {
    let folder = folder();
    let nothing = run(folder.path(), &["rules"]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("no sessions of this folder"), "{nothing:?}");
    done(folder.path(), &["sessions", "import", "s.jsonl"]);
    for command in ["rules", "requests"] {
        assert_eq!(done(folder.path(), &[command]), done(folder.path(), &[command, "list", "latest"]));
    }
    assert!(done(folder.path(), &["rules"]).contains("Never push to main"));
}
