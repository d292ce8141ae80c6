//! Sessions go on where they ended, whoever began them.

use longhaul_testkit::fake_provider::gemini;
use serde_json::json;

use crate::support::{Sandbox, Wire, text};

#[test]
fn a_session_goes_on() {
    for wire in Wire::ALL {
        let sandbox =
            Sandbox::new(wire, ["One.", "Two.", "Three.", "Four."].map(|answer| wire.texts(&[answer])));
        sandbox.answer(&["-p", "first"]);
        sandbox.answer(&["--resume", "-p", "second"]);
        assert_eq!(sandbox.last_said(), ["first", "One.", "second"], "{wire:?}");
        sandbox.answer(&["-p", "third", "--resume", "latest"]);
        let session = sandbox.session();
        let id = serde_json::from_str::<serde_json::Value>(session.lines().next().expect("a header"))
            .expect("JSON");
        sandbox.answer(&["-p", "fourth", "--resume", id["sessionId"].as_str().expect("an id")]);
        let all = ["first", "One.", "second", "Two.", "third", "Three.", "fourth"];
        assert_eq!(sandbox.last_said(), all, "{wire:?}");
        // What was sent before is sent again byte for byte, so that caches keep working.
        let requests = sandbox.server.requests();
        let bodies: Vec<String> = requests.iter().map(|request| request.body.to_string()).collect();
        let context = |body: &str| {
            body.split("<session_context>")
                .nth(1)
                .and_then(|rest| rest.split("</session_context>").next())
                .map(str::to_string)
        };
        assert_eq!(context(&bodies[0]), context(&bodies[3]));
    }
}

#[test]
fn a_session_goes_on_under_the_name_that_the_list_shows() {
    let sandbox = Sandbox::gemini([gemini::text("One."), gemini::text("Two.")]);
    sandbox.answer(&["-p", "first"]);
    let list = String::from_utf8(sandbox.run(&["sessions", "list"]).stdout).expect("text");
    let shown = list.split_whitespace().nth(1).expect("an id");
    sandbox.answer(&["--resume", shown, "-p", "second"]);
    assert_eq!(sandbox.last_said(), ["first", "One.", "second"]);
    assert!(sandbox.run(&["sessions", "show", shown]).status.success());
    // Less than six characters are no name.
    sandbox.check_fails(&["--resume", &shown[..5], "-p", "x"], &["no file or session named"]);
}

#[test]
fn unknown_sessions_are_not_guessed() {
    let sandbox = Sandbox::gemini([gemini::text("One.")]);
    sandbox.check_fails(&["-p", "hi", "--resume"], &["no file or session named latest"]);
    sandbox.answer(&["-p", "first"]);
    sandbox.check_fails(&["-p", "hi", "--resume", "7"], &["no file or session named 7"]);
    sandbox.check_fails(&["-p", "hi", "--resume", "no/such.jsonl"], &["no such file:"]);
    assert_eq!(sandbox.sessions().len(), 1);
}

#[test]
fn a_rule_from_before_an_imported_compaction_comes_back_once() {
    let sandbox = Sandbox::gemini([gemini::text("One."), gemini::text("Two.")]);
    let said = |id: &str, kind: &str, text: &str| {
        json!({"type": kind, "uuid": id, "sessionId": "7d5a2b3c-0000-4000-8000-000000000001",
            "timestamp": "2026-01-02T03:04:05Z", "message": {"role": kind, "content": text}})
    };
    let mut summary = said("s", "user", "This session is being continued from a previous conversation.");
    summary["isCompactSummary"] = true.into();
    let lines = [
        said("a", "user", "Write the zebra notes. Never push to main."),
        said("b", "assistant", "Written."),
        json!({"type": "system", "subtype": "compact_boundary", "sessionId": "7d5a2b3c-0000-4000-8000-000000000001"}),
        summary,
        said("c", "user", "Now the changelog"),
        said("d", "assistant", "Changed."),
    ];
    sandbox.write("claude.jsonl", &lines.map(|line| format!("{line}\n")).concat());
    let file = sandbox.path("claude.jsonl");
    sandbox.answer(&["-p", "go on", "--resume", file.to_str().expect("a path")]);
    sandbox.answer(&["-p", "and on", "--resume"]);
    for request in sandbox.server.requests() {
        let sent = request.body.to_string();
        assert_eq!(sent.matches("Never push to main.").count(), 1, "{sent}");
        assert!(sent.contains("is being continued") && !sent.contains("zebra"), "{sent}");
    }
}

#[test]
fn a_rule_that_another_programs_compaction_dropped_comes_back_once() {
    let sandbox = Sandbox::gemini(["One.", "Two.", "Three."].map(gemini::text));
    sandbox.answer(&["-p", "Never touch vendor/legacy. Say hi."]);
    let path = sandbox.sessions().remove(0);
    let mut log = std::fs::read_to_string(&path).expect("a session");
    let messages = json!([
        {"id": "n1", "type": "user", "content": [{"text": "The user said hi. You may push to main."}]},
        {"id": "n2", "type": "gemini", "content": [{"text": "Got it. Thanks for the additional context!"}]},
    ]);
    log.push_str(&format!("{}\n", json!({"$set": {"messages": messages}})));
    std::fs::write(&path, log).expect("written");
    for prompt in ["second", "third"] {
        sandbox.answer(&["-p", prompt, "--resume"]);
        let body = sandbox.server.requests().last().expect("a request").body.to_string();
        assert_eq!(body.matches("Never touch vendor/legacy.").count(), 1, "{body}");
    }
    let inspected = sandbox.run(&["inspect", "latest"]);
    assert!(text(&inspected.stdout).contains("Never touch vendor/legacy."), "{}", text(&inspected.stdout));
    let list = text(&sandbox.run(&["sessions", "list"]).stdout);
    assert!(list.contains("Never touch vendor/legacy. Say hi."), "{list}");
}

#[test]
fn the_model_of_the_settings_goes_before_that_of_the_session() {
    let sandbox = Sandbox::gemini(["One.", "Two.", "Three."].map(gemini::text));
    sandbox.answer(&["-p", "first"]);
    for settings in ["{}", r#"{"model": {"name": "gemini-2.5-pro"}}"#] {
        sandbox.settings(settings);
        let output = sandbox.run(&["-p", "again", "--resume"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let requests = sandbox.server.requests();
    let is_pro = |target: &str| target.contains("gemini-2.5-pro");
    let models: Vec<bool> = requests.iter().map(|request| is_pro(&request.target)).collect();
    assert_eq!(models, [false, false, true]);
}

#[test]
fn gemini_clis_sessions_go_on_in_their_place() {
    let sandbox = Sandbox::gemini([gemini::text("Blue.")]);
    let records = [
        json!({"sessionId": "0f3c9a7e-11d2", "projectHash": "4e1f", "startTime": "2026-01-02T03:04:05Z",
            "lastUpdated": "2026-01-02T03:04:05Z", "kind": "main"}),
        json!({"id": "1", "timestamp": "2026-01-02T03:04:06Z", "type": "user",
            "content": [{"text": "<session_context>\nIt is here.\n</session_context>"}]}),
        json!({"id": "2", "timestamp": "2026-01-02T03:04:07Z", "type": "user", "content": "Choose a colour."}),
        json!({"id": "3", "timestamp": "2026-01-02T03:04:08Z", "type": "gemini", "content": "Red.",
            "model": "gemini-2.5-flash"}),
    ];
    let text: String = records.iter().map(|record| format!("{record}\n")).collect();
    sandbox.write("work/theirs.jsonl", &text);
    let output = sandbox.run(&["--resume", "theirs.jsonl", "-p", "Another."]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(sandbox.last_said(), ["Choose a colour.", "Red.", "Another."]);
    assert!(sandbox.server.requests()[0].target.contains("gemini-2.5-flash"));
    let now = std::fs::read_to_string(sandbox.path("work/theirs.jsonl")).expect("it is there");
    assert!(now.starts_with(&text) && now.contains("Blue."), "{now}");
    assert!(sandbox.sessions().is_empty());
}

fn check_imported(name: &str, file: &str, said: &[&str]) {
    let sandbox = Sandbox::gemini([gemini::text("Fine."), gemini::text("Good.")]);
    sandbox.write(&format!("work/{name}"), file);
    let output = sandbox.say(&["--resume", name, "-p", "Go on."]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let last = sandbox.server.requests().last().expect("a request").body["contents"].to_string();
    let mut from = 0;
    for words in said.iter().chain(&["Go on."]) {
        from += last[from..].find(words).unwrap_or_else(|| panic!("no {words:?} behind {from} in {last}"));
    }
    assert_eq!(std::fs::read_to_string(sandbox.path(&format!("work/{name}"))).expect("it is there"), file);
    assert!(text(&output.stderr).contains("imported"), "{}", text(&output.stderr));
    sandbox.answer(&["--resume", "-p", "And on."]);
    let last = sandbox.server.requests().last().expect("a request").body["contents"].to_string();
    assert!(last.contains("Fine.") && last.contains("And on."), "{last}");
}

#[test]
fn claude_codes_sessions_are_imported() {
    let common = json!({"isSidechain": false, "userType": "external", "cwd": "/app", "version": "2.0.0",
        "sessionId": "8b3c1e9a-7c55-4f3e-9d0c-5a7f0a7e1b11"});
    let record = |own: serde_json::Value| {
        let mut record = common.as_object().expect("an object").clone();
        record.extend(own.as_object().expect("an object").clone());
        format!("{}\n", serde_json::Value::Object(record))
    };
    let file = [
        record(json!({"parentUuid": null, "type": "user", "uuid": "u1", "timestamp": "2026-01-02T03:04:05Z",
            "message": {"role": "user", "content": "Why is the sky blue?"}})),
        record(
            json!({"parentUuid": "u1", "type": "assistant", "uuid": "a1", "timestamp": "2026-01-02T03:04:06Z",
            "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-5",
                "content": [{"type": "text", "text": "Rayleigh scattering."}]}}),
        ),
    ]
    .concat();
    check_imported("claude.jsonl", &file, &["Why is the sky blue?", "Rayleigh scattering."]);
}

#[test]
fn codexs_sessions_are_imported() {
    let line = |kind: &str, payload: serde_json::Value| {
        format!("{}\n", json!({"timestamp": "2026-01-02T03:04:05.000Z", "type": kind, "payload": payload}))
    };
    let message = |role: &str, kind: &str, text: &str| {
        line(
            "response_item",
            json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}),
        )
    };
    let file = [
        line(
            "session_meta",
            json!({"id": "019a1b2c-0000-7000-8000-000000000001", "timestamp": "2026-01-02T03:04:05.000Z",
            "cwd": "/app", "originator": "codex_cli_rs", "cli_version": "0.50.0"}),
        ),
        message("user", "input_text", "Why is the sky blue?"),
        message("assistant", "output_text", "Rayleigh scattering."),
    ]
    .concat();
    check_imported("rollout.jsonl", &file, &["Why is the sky blue?", "Rayleigh scattering."]);
}

#[test]
fn a_session_whose_model_cannot_be_asked_is_not_imported() {
    let mut sandbox = Sandbox::gemini([gemini::text("Fine.")]);
    sandbox.set("ANTHROPIC_API_KEY", "");
    sandbox.set("ANTHROPIC_BASE_URL", "");
    let record = json!({"type": "assistant", "uuid": "a1", "parentUuid": null, "sessionId": "s1",
        "timestamp": "2026-01-02T03:04:06Z", "message": {"id": "msg_1", "type": "message", "role": "assistant",
            "model": "claude-opus-4-5", "content": [{"type": "text", "text": "Good day."}]}});
    sandbox.write("work/claude.jsonl", &format!("{record}\n"));
    let said = text(&sandbox.run(&["--resume", "claude.jsonl", "-p", "Go on."]).stderr);
    assert!(said.contains("no API key for anthropic") && said.contains("another model with -m"), "{said}");
    assert!(sandbox.sessions().is_empty());
}
