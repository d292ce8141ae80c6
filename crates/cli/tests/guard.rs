//! Drives `longhaul guard`, `install` and `uninstall` as an agent and a user would.

mod sandbox;

use sandbox::{Sandbox, text};
use serde_json::{Value, json};

/// A session of Claude Code that was compacted: a rule, a changed file, and a summary that names neither.
fn compacted() -> String {
    let head = |id: &str, parent: Value| json!({"uuid": id, "parentUuid": parent, "sessionId": "s", "cwd": "/app", "timestamp": "2026-03-04T09:10:10.000Z"});
    let line = |id: &str, parent: Value, more: Value| {
        let mut record = head(id, parent);
        record.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        record.to_string()
    };
    let lines = [
        line(
            "1",
            Value::Null,
            json!({"type": "user", "message": {"role": "user", "content": "Never touch prod.db. Rename the flag in src/upload.rs."}}),
        ),
        line(
            "2",
            "1".into(),
            json!({"type": "assistant", "message": {"id": "m2", "role": "assistant", "model": "claude-sonnet-4-5", "content": [
            {"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": "/app/src/upload.rs", "content": "fn upload() {}"}}]}}),
        ),
        line(
            "3",
            "2".into(),
            json!({"type": "user", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "File created successfully at: /app/src/upload.rs"}]}}),
        ),
        line(
            "4",
            Value::Null,
            json!({"type": "system", "subtype": "compact_boundary", "logicalParentUuid": "3", "content": "Conversation compacted"}),
        ),
        line(
            "5",
            "4".into(),
            json!({"type": "user", "isCompactSummary": true, "message": {"role": "user", "content":
            "This session is being continued from a previous conversation that ran out of context. Something was renamed."}}),
        ),
    ];
    lines.join("\n") + "\n"
}

fn call(sandbox: &Sandbox, event: &str, source: &str) -> Vec<u8> {
    let path = sandbox.path("claude.jsonl");
    json!({"session_id": "s", "transcript_path": path, "cwd": sandbox.path(""), "hook_event_name": event, "source": source})
        .to_string()
        .into_bytes()
}

#[test]
fn after_a_compaction_the_rules_stand_in_the_answer() {
    let sandbox = Sandbox::new().with("claude.jsonl", &compacted());
    let output = sandbox.feed(&["guard"], &call(&sandbox, "SessionStart", "compact"));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let added = answer["hookSpecificOutput"]["additionalContext"].as_str().expect("a text");
    for expected in
        ["- [m1] Never touch prod.db.", "upload.rs", "longhaul recall QUERY --session", "</longhaul_guard>"]
    {
        assert!(added.contains(expected), "no {expected} in {added}");
    }
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "SessionStart");
    // There is no more to say for the other handlers.
    let second = sandbox.feed(&["guard", "--handler", "2"], &call(&sandbox, "SessionStart", "compact"));
    assert_eq!((second.status.code(), text(&second.stdout).as_str()), (Some(0), ""));
}

#[test]
fn a_hook_never_fails_and_is_silent_without_a_reason() {
    let sandbox = Sandbox::new().with("claude.jsonl", &compacted()).with("broken.jsonl", "{\"type\":\n\0");
    let broken = json!({"hook_event_name": "SessionStart", "source": "compact", "transcript_path": sandbox.path("broken.jsonl")});
    let gone = json!({"hook_event_name": "SessionStart", "source": "compact", "transcript_path": sandbox.path("gone.jsonl")});
    let inputs: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"garbage \xff".to_vec(),
        b"{}".to_vec(),
        call(&sandbox, "SessionStart", "startup"),
        call(&sandbox, "PostToolUse", ""),
        broken.to_string().into_bytes(),
        gone.to_string().into_bytes(),
    ];
    for input in &inputs {
        let output = sandbox.feed(&["guard"], input);
        let seen = (output.status.code(), text(&output.stdout), text(&output.stderr));
        assert_eq!(seen, (Some(0), String::new(), String::new()), "{}", text(input));
    }
    let log = sandbox.read("home/longhaul/guard/guard.log");
    assert!(log.contains("gone.jsonl") && log.contains("broken.jsonl"), "{log}");
}

#[test]
fn a_prompt_is_guarded_once() {
    let sandbox = Sandbox::new().with("claude.jsonl", &compacted());
    let prompt = call(&sandbox, "UserPromptSubmit", "");
    let said = text(&sandbox.feed(&["guard"], &prompt).stdout);
    assert!(said.contains("UserPromptSubmit") && said.contains("Never touch prod.db."), "{said}");
    let added: Value = serde_json::from_str(&said).expect("JSON");
    let context = added["hookSpecificOutput"]["additionalContext"].as_str().expect("a text");
    let guarded = json!({"type": "user", "isMeta": true, "uuid": "6", "parentUuid": "5", "sessionId": "s", "timestamp": "2026-03-04T09:10:11.000Z",
        "message": {"role": "user", "content": format!("<system-reminder>\n{context}\n</system-reminder>")}});
    let sandbox = Sandbox::new().with("claude.jsonl", &format!("{}{guarded}\n", compacted()));
    assert_eq!(text(&sandbox.feed(&["guard"], &call(&sandbox, "UserPromptSubmit", "")).stdout), "");
}

#[test]
fn the_report_names_what_the_agent_lost() {
    let sandbox = Sandbox::new().with("claude.jsonl", &compacted());
    let report = sandbox.done(&["guard", "report", "claude.jsonl"]);
    for expected in [
        "Compaction 1 after m3",
        "1 of 1 rule lost:",
        "m1 Never touch prod.db.",
        "1 of 1 changed file lost:",
        "upload.rs",
    ] {
        assert!(report.contains(expected), "no {expected} in {report}");
    }
    let report = sandbox.json(&["guard", "report", "claude.jsonl", "--json"]);
    assert_eq!(report["compactions"][0]["rules"][0]["fate"], "lost");
    let sandbox = Sandbox::new();
    assert!(sandbox.done(&["guard", "report", "in.jsonl"]).contains("never compacted"));
    sandbox.check_refused(&["guard", "report", "gone.jsonl"], 1, &["could not read gone.jsonl", "hint: "]);
}

#[test]
fn an_agent_is_guarded_and_let_go_again() {
    let settings = "{\n  // mine\n  \"model\": \"opus\"\n}\n";
    let sandbox = Sandbox::new().with("user/.claude/settings.json", settings);
    let home = sandbox.path("user").display().to_string();
    let run = |arguments: &[&str]| {
        let output =
            sandbox.run_with(&[("HOME", &home), ("CLAUDE_CONFIG_DIR", ""), ("CODEX_HOME", "")], arguments);
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, _, said) = run(&["install", "claude"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("--yes"), "{said}");
    assert_eq!(sandbox.read("user/.claude/settings.json"), settings);
    let (code, shown, _) = run(&["install", "claude", "--yes"]);
    assert_eq!(code, Some(0));
    assert!(shown.contains("enabledPlugins") && shown.contains("Claude Code is now guarded"), "{shown}");
    let installed = sandbox.read("user/.claude/settings.json");
    assert!(installed.contains("// mine") && installed.contains("longhaul@longhaul-tools"), "{installed}");
    let plugin = sandbox.read("home/longhaul/guard/plugin-claude/longhaul/hooks/hooks.json");
    assert!(plugin.contains("longhaul guard --handler 3"), "{plugin}");
    assert!(run(&["install", "claude", "--yes"]).1.contains("already guarded"));
    assert!(run(&["install", "--list"]).1.contains("guarded in all projects"));
    assert!(run(&["install", "codex", "--scope", "project", "--yes"]).1.contains("press t"));
    assert!(run(&["uninstall", "claude", "--yes"]).1.contains("no longer guarded"));
    assert_eq!(sandbox.read("user/.claude/settings.json"), settings);
    assert!(run(&["uninstall", "codex", "--scope", "project", "--yes"]).1.contains("no longer guarded"));
    assert!(!sandbox.path(".codex/hooks.json").exists());
}

#[test]
fn a_turns_end_is_answered_at_once_and_kept_afterwards() {
    let sandbox = Sandbox::new().with("claude.jsonl", &compacted());
    let output = sandbox.feed(&["guard"], &call(&sandbox, "Stop", ""));
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), ""));
    // What that starts in the background.
    sandbox.done(&["guard", "keep", "--agent", "claude", "claude.jsonl"]);
    let kept = sandbox.done(&["recall", "flag", "--all"]);
    assert!(kept.contains("Rename the flag"), "{kept}");
}

#[test]
fn rules_of_earlier_sessions_are_offered_only_when_asked_for() {
    let start =
        |sandbox: &Sandbox| text(&sandbox.feed(&["guard"], &call(sandbox, "SessionStart", "startup")).stdout);
    let sandbox = Sandbox::new().with("claude.jsonl", &compacted());
    sandbox.done(&["guard", "keep", "--agent", "claude", "claude.jsonl"]);
    assert_eq!(start(&sandbox), "");
    let settings = r#"{"longhaul": {"guard": {"offerRules": true}}}"#;
    let sandbox = Sandbox::new().with("claude.jsonl", &compacted()).with("home/settings.json", settings);
    assert_eq!(start(&sandbox), "", "there is nothing to offer yet");
    sandbox.done(&["guard", "keep", "--agent", "claude", "claude.jsonl"]);
    let offered = start(&sandbox);
    assert!(
        offered.contains("Never touch prod.db.") && offered.contains("longhaul memory inbox"),
        "{offered}"
    );
    assert!(sandbox.done(&["memory", "inbox"]).contains("Never touch prod.db."));
    sandbox.done(&["memory", "inbox", "accept", "private"]);
    assert_eq!(start(&sandbox), "", "what was accepted is no offer");
    sandbox.done(&["guard", "keep", "--agent", "claude", "claude.jsonl"]);
    assert_eq!(start(&sandbox), "", "and is not proposed again");
}

#[test]
fn opencode_gets_the_guards_text_behind_its_compaction() {
    let sandbox = Sandbox::new();
    let session = json!({
        "agent": "opencode", "hook_event_name": "MessagesTransform", "session_id": "ses_1", "compaction": "msg_2",
    });
    // Without a database of opencode's there is nothing to say.
    let output = sandbox.feed(&["guard"], session.to_string().as_bytes());
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), ""));
}
