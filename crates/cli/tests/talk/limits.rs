//! Answers without end, and what they and their retries cost.

use std::fs;

use longhaul_testkit::fake_provider::{Reply, anthropic, gemini, openai};
use serde_json::{Value, json};

use crate::support::{Sandbox, Wire, text};

const PIECE: &str = "0123456789 0123456789 0123456789 0123456789\n";
const LIMITS: &str = r#"{"model": {"disableLoopDetection": true}, "longhaul": {"answers": {"textBytes": "20KB", "thoughtBytes": "20KB", "argumentBytes": "20KB", "streamBytes": "1MB"}}}"#;

fn endless_text(wire: Wire) -> Reply {
    match wire {
        Wire::Gemini => gemini::endless(&json!({"text": PIECE})),
        Wire::OpenAi => openai::endless(&json!({"content": PIECE})),
        Wire::Anthropic => {
            let delta = json!({"type": "text_delta", "text": PIECE});
            anthropic::endless(&json!({"type": "text", "text": ""}), &delta)
        }
    }
}

#[test]
fn an_answer_without_end_is_cut_off_and_kept() {
    for wire in Wire::ALL {
        let sandbox = Sandbox::new(wire, [endless_text(wire), wire.texts(&["Hello."])]);
        sandbox.settings(LIMITS);
        let output = sandbox.say(&["-p", "hi"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("error: the response was cut off: more than 20,000 bytes of text"), "{said}");
        assert!(said.contains("hint: raise \"longhaul.answers.textBytes\" in settings.json"), "{said}");
        assert!(said.contains("what arrived is kept in the session"), "{said}");
        assert_eq!(output.stdout.len(), 20_001, "the text, and the end of its line");
        assert!(sandbox.server.bytes_sent() < 16 << 20, "{} bytes", sandbox.server.bytes_sent());
        assert_eq!(sandbox.server.requests().len(), 1, "it is not asked for again");
        assert_eq!(sandbox.answer(&["--resume", "-p", "Go on."]), "Hello.\n");
        let said = sandbox.last_said();
        assert_eq!((said[1].len(), said[2].as_str()), (20_000, "Go on."), "{wire:?}");
    }
}

#[test]
fn whatever_has_no_end_names_its_limit() {
    let thought = json!({"reasoning": PIECE});
    let call =
        json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "ls", "arguments": PIECE}}]});
    for (reply, reason, setting) in [
        (openai::endless(&thought), "20,000 bytes of thoughts", "longhaul.answers.thoughtBytes"),
        (openai::endless(&call), "20,000 bytes of tool arguments", "longhaul.answers.argumentBytes"),
        (openai::endless(&json!({})), "1,000,000 bytes", "longhaul.answers.streamBytes"),
        (
            Reply::events([": ping\n\n"]).then_repeat(": ping\n\n".repeat(99)),
            "1,000,000 bytes",
            "streamBytes",
        ),
        (Reply::events(["data: "]).then_repeat(PIECE.trim_end()), "1,000,000 bytes", "streamBytes"),
    ] {
        let sandbox = Sandbox::new(Wire::OpenAi, [reply]);
        sandbox.settings(LIMITS);
        sandbox.check_fails(&["-p", "hi"], &[reason, setting]);
        assert!(sandbox.server.bytes_sent() < 16 << 20, "{} bytes", sandbox.server.bytes_sent());
    }
}

#[test]
fn every_request_that_was_sent_is_told() {
    let nothing = || Reply::events::<String>([]);
    let busy = || openai::error(503, "server_error", "", "overloaded");
    let sandbox = Sandbox::new(Wire::OpenAi, [busy(), nothing(), openai::text("Hello.")]);
    let result: Value =
        serde_json::from_str(&sandbox.answer(&["-p", "hi", "--output-format", "json"])).expect("one object");
    assert_eq!(result["requests"], sandbox.server.requests().len(), "{result}");
    assert_eq!((&result["requests"], &result["steps"]), (&json!(3), &json!(1)));
    assert_eq!(result["usage"]["input"], 100, "what was reported");
    assert!(result["estimated"]["input"].as_u64().is_some_and(|tokens| tokens > 100), "{result}");
    let once = desk_cost(&[openai::text("Hello.")]);
    assert!(result["cost"]["answer"].as_f64() > once, "{result}");
}

fn desk_cost(replies: &[Reply]) -> Option<f64> {
    let sandbox = Sandbox::new(Wire::OpenAi, replies.to_vec());
    let result: Value =
        serde_json::from_str(&sandbox.answer(&["-p", "hi", "--output-format", "json"])).expect("one object");
    result["cost"]["answer"].as_f64()
}

#[cfg(unix)]
#[test]
fn a_command_without_end_is_stopped() {
    let args = json!({"command": "while echo up; do :; done"});
    let call = json!({"functionCall": {"id": "c1", "name": "run_shell_command", "args": args}});
    let mut sandbox = Sandbox::gemini([gemini::parts(&[call]), gemini::text("It never ends.")]);
    sandbox.set("GEMINI_CLI_TRUST_WORKSPACE", "true");
    sandbox.settings(r#"{"longhaul": {"tools": {"commandSeconds": 1}}}"#);
    assert_eq!(sandbox.answer(&["-p", "Run it.", "--approval-mode", "yolo"]), "It never ends.\n");
    let request = sandbox.server.requests()[1].body.to_string();
    assert!(request.contains("Stopped: it had not ended after 1 s, its time limit."), "{request}");
    assert!(fs::read_dir(sandbox.path("work")).expect("readable").next().is_none());
}
