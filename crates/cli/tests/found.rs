//! Drives the program over sessions that other agents keep.

mod sandbox;

use std::path::{Path, PathBuf};

use sandbox::{Sandbox, text};
use serde_json::{Value, json};

/// Claude Code's records of one question and its answer, of this folder.
fn claude(folder: &Path, id: &str, asked: &str, output: u64) -> String {
    let record = |kind: &str, uuid: &str, message: Value| json!({"type": kind, "uuid": uuid, "sessionId": id, "cwd": folder, "timestamp": "2026-11-18T20:00:00Z", "message": message});
    let usage = json!({"input_tokens": 10, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 100, "output_tokens": output});
    let answer = json!({"id": format!("msg-{id}"), "role": "assistant", "model": "claude-sonnet-4-5", "usage": usage,
        "content": [{"type": "text", "text": "Done."}]});
    let asked = record("user", "a", json!({"role": "user", "content": asked}));
    format!("{asked}\n{}\n", record("assistant", "b", answer))
}

fn with_sessions() -> Sandbox {
    let sandbox = Sandbox::new();
    let here = sandbox.path("");
    let here: PathBuf = here.canonicalize().expect("it is there");
    let put = |sandbox: Sandbox, name: &str, text: &str| {
        sandbox.with(&format!("user/.claude/projects/{name}"), text)
    };
    let sandbox = put(sandbox, "-here/aaaaaaaa-1.jsonl", &claude(&here, "aaaaaaaa-1", "Fix the cart", 5));
    let sandbox = put(
        sandbox,
        "-here/aaaaaaaa-1/subagents/agent-x.jsonl",
        &claude(&here, "aaaaaaaa-1", "Look around", 5).replace("msg-", "sub-"),
    );
    put(
        sandbox,
        "-there/bbbbbbbb-2.jsonl",
        &claude(Path::new("/nowhere/else"), "bbbbbbbb-2", "Water the plants", 7),
    )
}

#[test]
fn sessions_of_this_folder_are_listed_and_with_all_those_of_others() {
    let sandbox = with_sessions();
    let listed = sandbox.done(&["sessions"]);
    assert!(listed.contains("Claude Code") && listed.contains("Fix the cart · 1 sub-agent"), "{listed}");
    assert!(!listed.contains("Water the plants"), "{listed}");
    assert!(sandbox.done(&["sessions", "list", "--all"]).contains("Water the plants"));
    let listed = sandbox.json(&["sessions", "list", "--json"]);
    let other = &listed["others"][0];
    assert_eq!((&other["index"], &other["id"]), (&json!(1), &json!("aaaaaaaa-1")));
    assert_eq!((&other["tokens"], &other["tokens_estimated"]), (&json!(1115), &json!(false)));
    assert_eq!(listed["skipped"], json!([]));
    // Nothing was made for so few, and nothing of the agent's was touched.
    let names = sandbox.names();
    assert!(!names.iter().any(|name| name.contains("found_sessions")), "{names:?}");
}

#[test]
fn a_session_is_chosen_by_default_by_number_and_by_id() {
    let sandbox = with_sessions();
    let chosen = sandbox.run(&["inspect", "--json"]);
    assert!(chosen.status.success(), "{}", text(&chosen.stderr));
    assert!(
        text(&chosen.stderr).starts_with("note: Claude Code session aaaaaaaa, "),
        "{}",
        text(&chosen.stderr)
    );
    let named = |name: &str| sandbox.json(&["inspect", name, "--json"])["turns"][0]["text"].clone();
    assert_eq!(named("1"), named("aaaaaaaa"));
    assert_eq!(named("latest"), named("1"));
    assert_ne!(named("bbbbbbbb"), named("1"));
    let unknown = sandbox.run(&["inspect", "2"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(text(&unknown.stderr).contains("no file or session named 2"), "{}", text(&unknown.stderr));
    let compressed = sandbox.run(&["compress", "--dry-run", "--force"]);
    assert!(compressed.status.success(), "{}", text(&compressed.stderr));
}

#[test]
fn without_any_session_the_program_says_where_it_looked() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["inspect"]);
    assert_eq!(output.status.code(), Some(1));
    let told = text(&output.stderr);
    assert!(told.contains("no sessions of this folder were found") && told.contains("--all"), "{told}");
    assert!(sandbox.done(&["sessions", "list", "--all"]).contains("No sessions found."));
}

#[test]
fn everything_said_is_searched() {
    let sandbox = with_sessions();
    assert!(sandbox.done(&["recall", "cart"]).contains("Fix the cart"));
    assert!(sandbox.done(&["recall", "look", "around"]).contains("Look around"));
    assert!(sandbox.done(&["recall", "plants"]).starts_with("No matches"));
    assert!(sandbox.done(&["recall", "--all", "plants"]).contains("Water the plants"));
}

#[test]
fn what_was_used_is_summed_up() {
    let sandbox = with_sessions();
    let total = |arguments: &[&str]| {
        let used = sandbox.json(&[&["usage", "--json"], arguments].concat());
        let figure = |key: &str| used["total"][key].as_u64().expect("a number");
        [
            figure("calls"),
            figure("input_tokens"),
            figure("cache_read_tokens"),
            figure("cache_write_tokens"),
            figure("output_tokens"),
        ]
    };
    assert_eq!(total(&[]), [3, 30, 3000, 300, 17]);
    assert_eq!(total(&["--here"]), [2, 20, 2000, 200, 10]);
    assert_eq!(total(&["--since", "2026-11-19"]), [0; 5]);
    assert_eq!(total(&["--since", "2026-11-18", "--until", "2026-11-18"]), [3, 30, 3000, 300, 17]);
    let used = sandbox.json(&["usage", "--json", "--by", "project,model"]);
    assert_eq!(used["rows"][0]["project"], "/nowhere/else");
    // $3, $0.3, $3.75 and $15 a million.
    assert_eq!(used["rows"][0]["cost_usd"], json!(0.00081));
    let shown = sandbox.done(&["usage", "--by", "week"]);
    assert!(shown.contains("2026-11-16") && shown.contains("total"), "{shown}");
}

#[test]
fn what_cannot_be_read_is_named_and_nothing_fails() {
    let sandbox = with_sessions()
        .with("user/.local/share/opencode/opencode.db", "no database at all, but a file of that name")
        .with("user/.claude/projects/-here/broken.jsonl", "\u{0}\u{1}\u{2}");
    let output = sandbox.run(&["sessions"]);
    assert!(output.status.success());
    let told = text(&output.stderr);
    assert!(told.contains("note: skipped") && told.contains("opencode.db (opencode)"), "{told}");
    assert!(text(&output.stdout).contains("Fix the cart"));
    let skipped = sandbox.json(&["sessions", "list", "--json"])["skipped"].clone();
    assert_eq!(skipped.as_array().map(Vec::len), Some(2));
    assert!(sandbox.run(&["usage"]).status.success());
    let database = sandbox.path("user/.local/share/opencode/opencode.db");
    let opened = sandbox.run(&["inspect", &database.display().to_string()]);
    assert_eq!(opened.status.code(), Some(1));
}
