//! Drives `longhaul handoff` as a user would.

mod sandbox;

use std::path::PathBuf;

use sandbox::{Sandbox, text};
use serde_json::{Value, json};

/// A session of Claude Code in which a rule stands that its own compaction has lost.
fn session(folder: &str) -> String {
    let head = |id: u32, parent: Value| json!({"uuid": format!("00000000-0000-4000-8000-{id:012}"), "parentUuid": parent, "sessionId": "00000000-0000-4000-8000-aaaaaaaaaaaa", "cwd": folder, "version": "2.1.326", "timestamp": "2026-03-04T09:10:10.000Z"});
    let line = |id: u32, more: Value| {
        let parent = if id == 1 || id == 4 { Value::Null } else { head(id - 1, Value::Null)["uuid"].clone() };
        let mut record = head(id, parent);
        record.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        record.to_string()
    };
    let said = |role: &str, content: Value| json!({"type": role, "message": {"role": role, "id": "m", "content": content}});
    let lines = [
        line(1, said("user", "Never touch prod.db. Rename the flag in src/upload.rs.".into())),
        line(
            2,
            said(
                "assistant",
                json!([{"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": format!("{folder}/src/upload.rs"), "content": "fn upload() {}"}}]),
            ),
        ),
        line(
            3,
            said(
                "user",
                json!([{"type": "tool_result", "tool_use_id": "t1", "content": "File created successfully"}]),
            ),
        ),
        line(
            4,
            json!({"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"}),
        ),
        line(
            5,
            json!({"type": "user", "isCompactSummary": true, "message": {"role": "user", "content": "This session is being continued from a previous conversation. Something was renamed."}}),
        ),
        line(6, said("user", "Now the docs.".into())),
        line(7, said("assistant", json!([{"type": "text", "text": "The docs are done."}]))),
    ];
    lines.join("\n") + "\n"
}

fn sandbox() -> (Sandbox, Vec<(&'static str, String)>) {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("").canonicalize().expect("there").display().to_string();
    let sandbox = sandbox.with("in.jsonl", &session(folder.trim_end_matches('/')));
    let home = sandbox.path("user").display().to_string();
    let none = String::new;
    let variables = vec![
        ("HOME", home),
        ("CLAUDE_CONFIG_DIR", none()),
        ("CODEX_HOME", none()),
        ("XDG_CONFIG_HOME", none()),
        ("PATH", "/nowhere".into()),
    ];
    (sandbox, variables)
}

fn run(
    sandbox: &Sandbox,
    variables: &[(&'static str, String)],
    arguments: &[&str],
) -> (Option<i32>, String, String) {
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let output = sandbox.run_with(&variables, arguments);
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn each_agent_gets_a_session_with_every_rule_and_it_can_be_taken_back() {
    for agent in ["claude", "codex", "gemini", "opencode"] {
        let (sandbox, variables) = sandbox();
        let (code, said, error) = run(&sandbox, &variables, &["handoff", agent, "in.jsonl", "--json"]);
        assert_eq!(code, Some(0), "{error}");
        let said: Value = serde_json::from_str(&said).expect("JSON");
        assert_eq!(said["rules"], 1, "{said}");
        let file = PathBuf::from(said["file"].as_str().expect("a file"));
        let written = std::fs::read_to_string(&file).expect("there");
        assert!(
            written.contains("Never touch prod.db.") && written.contains("upload.rs"),
            "{agent}: {written}"
        );
        let id = said["id"].as_str().expect("an id");
        assert!(said["resume"].as_str().is_some_and(|command| command.contains(id)), "{said}");
        assert_eq!(said["import"].is_string(), agent == "opencode", "{said}");
        let (code, _, error) = run(&sandbox, &variables, &["handoff", agent, "--undo", id]);
        assert_eq!(code, Some(0), "{error}");
        assert!(!file.exists());
        let (code, _, error) = run(&sandbox, &variables, &["handoff", agent, "--undo"]);
        assert!(code == Some(1) && error.contains("no session was handed over"), "{error}");
    }
}

#[test]
fn a_session_is_compacted_in_its_own_file_and_taken_back_to_the_byte() {
    let (sandbox, variables) = sandbox();
    let before = sandbox.read("in.jsonl");
    let (code, said, error) = run(&sandbox, &variables, &["handoff", "claude", "in.jsonl", "--append"]);
    assert_eq!(code, Some(0), "{error}");
    assert!(said.contains("appended to") && said.contains("claude --resume"), "{said}");
    let after = sandbox.read("in.jsonl");
    assert!(after.starts_with(&before) && after[before.len()..].contains("Never touch prod.db."), "{after}");
    let (code, _, error) = run(&sandbox, &variables, &["handoff", "codex", "in.jsonl", "--append"]);
    assert!(code == Some(1) && error.contains("no session of Codex") && error.contains("hint: "), "{error}");
    std::fs::write(
        sandbox.path("in.jsonl"),
        format!("{after}{}\n", session("/w").lines().nth(5).expect("a line")),
    )
    .expect("written");
    let (code, _, error) = run(&sandbox, &variables, &["handoff", "claude", "--undo"]);
    assert!(code == Some(1) && error.contains("Now the docs."), "{error}");
    std::fs::write(sandbox.path("in.jsonl"), &after).expect("written");
    assert_eq!(run(&sandbox, &variables, &["handoff", "claude", "--undo"]).0, Some(0));
    assert_eq!(sandbox.read("in.jsonl"), before);
}

#[test]
fn what_is_no_session_is_refused() {
    let (sandbox, variables) = sandbox();
    let sandbox = sandbox.with("broken.jsonl", "{\"type\":\n\0");
    for arguments in [&["handoff", "claude", "broken.jsonl"][..], &["handoff", "claude", "gone.jsonl"]] {
        let (code, said, error) = run(&sandbox, &variables, arguments);
        assert!(code == Some(1) && said.is_empty() && error.starts_with("error: "), "{error}");
    }
    assert_eq!(run(&sandbox, &variables, &["handoff", "cursor", "in.jsonl"]).0, Some(2));
}
