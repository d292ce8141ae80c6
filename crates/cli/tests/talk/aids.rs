//! What helps a conversation along: a choice of models, an editor, summaries.

use longhaul_testkit::fake_provider::{FakeProvider, gemini, openai};
use serde_json::json;

use crate::support::{Sandbox, lines, text};

/// The models that were asked, in order.
fn asked(sandbox: &Sandbox) -> Vec<String> {
    let name = |target: &str| {
        let rest = target.split("/models/").nth(1).unwrap_or_default();
        rest.split(':').next().unwrap_or_default().to_string()
    };
    sandbox.server.requests().iter().map(|request| name(&request.target)).collect()
}

#[test]
fn auto_finds_the_model_for_each_prompt() {
    let choice = json!({"reasoning": "A greeting.", "model_choice": "flash"}).to_string();
    let sandbox = Sandbox::gemini([gemini::text(&choice), gemini::text("Hello.")]);
    let output = sandbox.run(&["-m", "auto", "-p", "Say hello.", "--output-format", "stream-json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(asked(&sandbox), ["gemini-2.5-flash-lite", "gemini-3-flash-preview"]);
    let lines = lines(&text(&output.stdout));
    let routed = lines.iter().find(|line| line["type"] == "routed").expect("it is told");
    assert_eq!(routed["reason"], "A greeting.");
    let result = lines.last().expect("a result");
    assert_eq!((&result["model"], &result["text"]), (&json!("gemini-3-flash-preview"), &json!("Hello.")));
    assert!(sandbox.session().contains("gemini-3-flash-preview"));
}

#[test]
fn where_nobody_chooses_the_usual_model_answers() {
    // What the small model says is no choice.
    let sandbox = Sandbox::gemini([gemini::text("Hm."), gemini::text("Hello.")]);
    let output = sandbox.run(&["-m", "auto", "-p", "Say hello."]);
    assert_eq!(text(&output.stdout), "Hello.\n");
    let models = asked(&sandbox);
    assert!(models[0] == "gemini-2.5-flash-lite" && models[1].contains("pro"), "{models:?}");

    let sandbox = Sandbox::gemini([gemini::text("Hello.")]);
    sandbox.settings(r#"{"longhaul": {"routing": {"perPrompt": false}}}"#);
    sandbox.run(&["-m", "auto", "-p", "Say hello."]);
    let models = asked(&sandbox);
    assert!(models.len() == 1 && models[0].contains("pro"), "{models:?}");
}

#[test]
fn the_editor_has_its_say() {
    let sandbox = Sandbox::gemini(["One.", "Two."].map(gemini::text));
    sandbox.settings(r#"{"longhaul": {"ide": {"file": "editor.json"}}}"#);
    let file = json!({"path": "/app/main.rs", "timestamp": 7, "isActive": true, "selectedText": "fn main"});
    sandbox.write("work/editor.json", &json!({"workspaceState": {"openFiles": [file]}}).to_string());
    sandbox.answer(&["-p", "What is this?"]);
    let said = sandbox.last_said();
    assert!(said[0].contains("\"selectedText\": \"fn main\"") && said[1] == "What is this?", "{said:?}");

    sandbox.write("work/editor.json", "{");
    let output = sandbox.say(&["-p", "And now?", "--resume"]);
    assert!(
        output.status.success() && text(&output.stderr).contains("editor.json"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(sandbox.last_said().last().map(String::as_str), Some("And now?"));
}

#[test]
fn a_session_says_at_its_end_what_it_was_about() {
    let sandbox = Sandbox::gemini(["It is 48213.", "\"Find the port\""].map(gemini::text));
    sandbox.settings(
        r#"{"longhaul": {"summary": {"atEnd": true}, "helper": {"model": "gemini-3-flash-preview"}}}"#,
    );
    assert_eq!(sandbox.answer(&["-p", "Which port?"]), "It is 48213.\n");
    assert_eq!(asked(&sandbox), ["gemini-2.5-flash", "gemini-3-flash-preview"]);
    assert!(text(&sandbox.run(&["sessions", "list"]).stdout).contains("Find the port"));
    assert!(sandbox.session().contains("\"memoryScratchpad\":{\"version\":1}"), "{}", sandbox.session());
}

#[test]
fn a_helper_of_another_provider_is_not_told_what_a_session_was_about() {
    let other = FakeProvider::start([openai::text("Find the port")]);
    let mut sandbox = Sandbox::gemini(["It is 48213.", "Find the port"].map(gemini::text));
    sandbox.set("OPENAI_BASE_URL", &format!("{}/v1", other.url()));
    sandbox.settings(r#"{"longhaul": {"summary": {"atEnd": true}, "helper": {"model": "gpt-4o"}}}"#);
    assert_eq!(sandbox.answer(&["-p", "Which port?"]), "It is 48213.\n");
    assert_eq!(asked(&sandbox), ["gemini-2.5-flash", "gemini-2.5-flash"]);
    assert!(other.requests().is_empty());
}

#[test]
fn long_outputs_of_commands_are_summarised_as_set() {
    let run =
        json!({"functionCall": {"name": "run_shell_command", "args": {"command": "seq 1 900; exit 3"}}});
    let mut sandbox = Sandbox::gemini([
        gemini::parts(&[run]),
        gemini::text("Numbers.\n<warning>They end at 900.</warning>"),
        gemini::text("Seen."),
    ]);
    sandbox.set("GEMINI_CLI_TRUST_WORKSPACE", "true");
    sandbox.settings(r#"{"model": {"summarizeToolOutput": {"run_shell_command": {"tokenBudget": 100}}}}"#);
    assert_eq!(sandbox.answer(&["-p", "Count.", "--yolo"]), "Seen.\n");
    assert_eq!(asked(&sandbox)[1], "gemini-2.5-flash-lite");
    let body = sandbox.server.requests()[2].body.to_string();
    assert!(body.contains("<warning>They end at 900.</warning>") && body.contains("Exit code: 3"), "{body}");
    assert!(!body.contains("899"), "{body}");
}
