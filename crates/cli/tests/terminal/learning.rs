//! Learning from past sessions in the background.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use longhaul_testkit::fake_provider::{Reply, Step, gemini};
use serde_json::json;

use crate::support::{Sandbox, call};

const SAID: &str = "Please always use tabs in this project";
const ELSEWHERE: &str = "The zebra is for other ears";

/// A session that is long enough and long over.
fn session(id: &str, said: &str, model_name: &str) -> String {
    let at = "2026-01-02T10:00:00.000Z";
    let head =
        json!({"sessionId": id, "projectHash": "abc", "startTime": at, "lastUpdated": at, "kind": "main"});
    let mut text = format!("{head}\n");
    for turn in 0..10 {
        let user =
            json!({"id": format!("u{turn}"), "timestamp": at, "type": "user", "content": [{"text": said}]});
        let model = json!({"id": format!("g{turn}"), "timestamp": at, "type": "gemini", "content": "Yes.", "model": model_name});
        let _ = writeln!(text, "{user}\n{model}");
    }
    text
}

/// A sandbox with such a session, on which past sessions are learned from.
fn sandbox(replies: impl IntoIterator<Item = Reply>) -> Sandbox {
    let sandbox = Sandbox::new([gemini::text("Good day.")].into_iter().chain(replies));
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter("hi").wait_for("Good day.").wait_for("ask, or").enter("/quit");
    assert_eq!(terminal.end(), 0);
    let is_session = |path: &PathBuf| path.extension().is_some_and(|end| end == "jsonl");
    let files = longhaul_testkit::files_below(&sandbox.path("home"));
    let file = files
        .iter()
        .find(|path| is_session(path) && path.parent().is_some_and(|folder| folder.ends_with("chats")));
    let chats = file.and_then(|file| file.parent()).expect("a session").to_path_buf();
    let write = |file: &str, text: String| fs::write(chats.join(file), text).expect("written");
    write("session-2026-01-02T10-00-aaaaaaaa.jsonl", session("aaaaaaaa-1", SAID, "gemini-2.5-pro"));
    // What others said to another provider is none of this one's business.
    write("session-2026-01-02T10-00-bbbbbbbb.jsonl", session("bbbbbbbb-1", ELSEWHERE, "claude-opus-4-5"));
    sandbox.write(
        "home/settings.json",
        r#"{"experimental": {"autoMemory": true}, "longhaul": {"compaction": {"summariser": "offline"}}}"#,
    );
    sandbox
}

#[test]
fn what_was_found_is_told_while_nobody_waits() {
    let fact =
        json!({"kind": "private", "fact": "Tabs are used here.", "quote": SAID, "session": "aaaaaaaa-1"});
    let sandbox = sandbox([
        call("read_session", &json!({"session": "aaaaaaaa-1"})),
        call("propose_fact", &fact),
        call("complete_task", &json!({"result": "One fact."})),
    ]);
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").wait_for("Learned from past sessions: facts to remember.");
    terminal.enter("/quit");
    assert_eq!(terminal.end(), 0);
    let names: Vec<PathBuf> = longhaul_testkit::files_below(&sandbox.path("home"));
    assert!(names.iter().any(|name| name.ends_with(".inbox/private/extraction.patch")), "{names:?}");
    assert!(!names.iter().any(|name| name.ends_with(".extraction.lock")), "{names:?}");
    let requests = sandbox.server.requests();
    assert!(requests.iter().any(|request| request.body.to_string().contains("tabs")));
    assert!(!requests.iter().any(|request| request.body.to_string().contains("zebra")));
}

#[test]
fn whoever_leaves_is_not_held_up() {
    let sandbox = sandbox([gemini::text("").only(0, Step::Stall)]);
    let mut terminal = sandbox.start();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    // The first was the greeting.
    runtime.block_on(sandbox.server.request_arrived());
    runtime.block_on(sandbox.server.request_arrived());
    terminal.wait_for("ask, or").enter("/quit");
    assert_eq!(terminal.end(), 0);
    let names: Vec<PathBuf> = longhaul_testkit::files_below(&sandbox.path("home"));
    let is_left =
        |name: &PathBuf| name.ends_with(".extraction.lock") || name.ends_with(".extraction-state.json");
    assert!(!names.iter().any(is_left), "{names:?}");
}
