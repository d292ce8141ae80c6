//! Feeds the guard what the real agents gave their hooks: recorded from the programs of the versions that stand beside each input.

use std::path::Path;

use longhaul_companion::{GuardMemory, HookCall, HookDialect, HookMoment, answer};
use serde_json::{Value, json};

struct Recorded {
    agent: String,
    moment: String,
    input: Value,
}

fn recorded() -> Vec<Recorded> {
    let lines = include_str!("recorded/hooks.jsonl").lines();
    lines
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).expect("JSON");
            let text = |key: &str| line[key].as_str().expect("a text").to_string();
            Recorded { agent: text("agent"), moment: text("moment"), input: line["input"].take() }
        })
        .collect()
}

fn word(moment: &HookMoment) -> &'static str {
    match moment {
        HookMoment::Started => "started",
        HookMoment::Compacted => "compacted",
        HookMoment::Resumed => "resumed",
        HookMoment::Prompted => "prompted",
        HookMoment::BeforeCompaction => "before compaction",
        HookMoment::BeforeRequest(_) => "before request",
        HookMoment::BehindCompaction(_) => "behind compaction",
        HookMoment::TurnEnded => "turn ended",
        HookMoment::Other => "other",
    }
}

#[test]
fn every_recorded_input_is_understood() {
    for Recorded { agent, moment, input } in recorded() {
        let call = HookCall::parse(&input.to_string()).expect("a call");
        let dialect = match agent.as_str() {
            "claude" => HookDialect::Claude,
            "codex" => HookDialect::Codex,
            _ => HookDialect::Gemini,
        };
        assert_eq!((call.dialect, word(&call.moment)), (dialect, moment.as_str()), "{input}");
        assert!(call.transcript.is_some() && call.session.is_some() && call.directory.is_some(), "{input}");
    }
}

/// A session of the agent's that it has compacted, with a rule that its summary does not name.
fn session(agent: &str) -> String {
    let line = |value: Value| format!("{value}\n");
    match agent {
        "claude" => {
            let head = |id: &str, parent: Value| json!({"uuid": id, "parentUuid": parent, "sessionId": "s", "timestamp": "2026-01-02T03:04:05Z"});
            let with = |mut head: Value, more: Value| {
                head.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
                line(head)
            };
            [
                with(head("1", Value::Null), json!({"type": "user", "message": {"role": "user", "content": "Never touch prod.db. Rename the flag."}})),
                with(head("2", Value::Null), json!({"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"})),
                with(head("3", "2".into()), json!({"type": "user", "isCompactSummary": true, "message": {"role": "user", "content": "Something was renamed."}})),
            ]
            .concat()
        }
        "codex" => {
            let record = |kind: &str, payload: Value| line(json!({"timestamp": "2026-01-02T03:04:05Z", "type": kind, "payload": payload}));
            let said = |text: &str| json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
            [
                record("session_meta", json!({"id": "s", "timestamp": "2026-01-02T03:04:05Z", "cwd": "/w"})),
                record("response_item", said("Never touch prod.db. Rename the flag.")),
                record("compacted", json!({"message": "Something was renamed.", "replacement_history": [said("Something was renamed.")]})),
            ]
            .concat()
        }
        _ => [
            line(json!({"sessionId": "s", "projectHash": "p", "startTime": "2026-01-02T03:04:05Z", "kind": "main"})),
            line(json!({"id": "1", "type": "user", "content": [{"text": "Never touch prod.db. Rename the flag."}]})),
            line(json!({"$set": {"messages": [
                {"id": "3", "type": "user", "content": "<state_snapshot>Something was renamed.</state_snapshot>"},
                {"id": "4", "type": "gemini", "content": "Got it. Thanks for the additional context!"},
            ]}})),
        ]
        .concat(),
    }
}

#[test]
fn the_rules_come_back_where_a_recorded_agent_asks_behind_its_compaction() {
    let root = tempfile::tempdir().expect("a folder");
    let open = |path: &Path| Ok(Box::new(std::fs::File::open(path)?) as Box<dyn std::io::Read>);
    let mut answered = Vec::new();
    for Recorded { agent, moment, mut input } in recorded() {
        // The folder tells Gemini CLI where nothing else does.
        let folder = root.path().join(&agent).join(if agent == "gemini" { "chats" } else { "sessions" });
        let name = Path::new(input["transcript_path"].as_str().expect("a path"))
            .file_name()
            .expect("a name")
            .to_owned();
        let path = folder.join(name);
        std::fs::create_dir_all(&folder).expect("made");
        std::fs::write(&path, session(&agent)).expect("written");
        input["transcript_path"] = path.display().to_string().into();
        if moment == "before request" {
            input["llm_request"]["messages"] = json!([
                {"role": "user", "content": "<state_snapshot>Something was renamed.</state_snapshot>"},
                {"role": "user", "content": "Now the docs."},
            ]);
        }
        let call = HookCall::parse(&input.to_string()).expect("a call");
        let memory = GuardMemory::at(root.path().join("guard"));
        let said = answer(&call, 1, &memory, &[], &open).expect("readable");
        let brings_rules = said.as_ref().is_some_and(|said| said.contains("- [m1] Never touch prod.db."));
        let is_due = matches!(moment.as_str(), "compacted" | "resumed" | "prompted" | "before request");
        assert_eq!(brings_rules, is_due, "{agent} {moment}: {said:?}");
        answered.extend(brings_rules.then_some(agent));
    }
    for agent in ["claude", "codex", "gemini"] {
        assert!(answered.iter().any(|known| known == agent), "nothing was recorded for {agent}");
    }
}

/// A session as opencode 1.18.33 keeps it behind its own compaction; `opencode run` puts its argument between quotation marks.
#[test]
fn the_rules_come_back_in_each_request_of_opencode() {
    let head = |id: &str, role: &str, more: Value| {
        let mut info =
            json!({"id": id, "role": role, "sessionID": "ses_1", "time": {"created": 1_795_127_000_000_u64}});
        info.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        info
    };
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let document = json!({
        "info": {"id": "ses_1", "projectID": "global", "directory": "/w", "title": "t"},
        "messages": [
            {"info": head("msg_1", "user", json!({})), "parts": text("\"Never touch prod.db.\nRename the flag in the docs.\"")},
            {"info": head("msg_2", "assistant", json!({})), "parts": text("Done, it works now.")},
            {"info": head("msg_3", "user", json!({})), "parts": [{"type": "compaction", "auto": true}]},
            {"info": head("msg_4", "assistant", json!({"summary": true, "parentID": "msg_3"})), "parts": text("Work goes on.")},
        ],
    });
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("session.json");
    std::fs::write(&path, document.to_string()).expect("written");
    let open = |path: &Path| Ok(Box::new(std::fs::File::open(path)?) as Box<dyn std::io::Read>);
    let input = json!({"agent": "opencode", "hook_event_name": "MessagesTransform", "session_id": "ses_1", "compaction": "msg_3"});
    let mut call = HookCall::parse(&input.to_string()).expect("a call");
    call.transcript = Some(path);
    let said = |folder: &str| {
        let said =
            answer(&call, 1, &GuardMemory::at(root.path().join(folder)), &[], &open).expect("readable");
        serde_json::from_str::<Value>(&said.expect("a text")).expect("JSON")["text"].clone()
    };
    let first = said("guard");
    assert!(first.as_str().is_some_and(|text| text.contains("- [m1] Never touch prod.db.")), "{first}");
    assert_eq!((said("guard"), said("other")), (first.clone(), first), "the same bytes each time");
}
