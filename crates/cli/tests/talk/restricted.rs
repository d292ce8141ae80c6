//! Keys of Gemini CLI that restrict an agent: honoured, or it does not start.

use longhaul_testkit::fake_provider::gemini;
use serde_json::json;

use crate::support::{Sandbox, Wire, text};
use crate::tools::{answered, call, trusted};

#[test]
fn an_agent_that_would_not_be_restricted_does_not_start() {
    let mut sandbox = Sandbox::gemini([gemini::text("Yes."), gemini::text("Yes.")]);
    for (settings, key) in [
        (r#"{"tools": {"sandbox": "docker"}}"#, "tools.sandbox"),
        (r#"{"security": {"enableConseca": true}}"#, "security.enableConseca"),
        (r#"{"admin": {"brandNew": true}}"#, "admin.brandNew"),
    ] {
        sandbox.settings(settings);
        sandbox.check_fails(&["-p", "hi"], &["could not start an agent", key, "settings.json:1", "hint: "]);
    }
    assert!(sandbox.server.requests().is_empty());
    sandbox.settings(r#"{"tools": {"sandbox": "docker"}}"#);
    sandbox.set("SANDBOX", "mine");
    sandbox.answer(&["-p", "hi"]);
    sandbox.set("SANDBOX", "");
    sandbox.settings("{}");
    sandbox.set("GEMINI_SANDBOX", "docker");
    sandbox.check_fails(&["-p", "hi"], &["GEMINI_SANDBOX"]);
}

#[test]
fn yolo_can_be_switched_off_by_anybody_and_on_again_by_nobody() {
    let mut sandbox = trusted(Wire::Gemini, [gemini::text("Yes.")]);
    let off = r#"{"security": {"disableYoloMode": true}}"#;
    sandbox.settings(off);
    sandbox.write("work/.gemini/settings.json", r#"{"security": {"disableYoloMode": false}}"#);
    for flag in [&["--yolo"][..], &["--approval-mode", "yolo"]] {
        let arguments = [&["-p", "hi"], flag].concat();
        sandbox.check_fails(&arguments, &["yolo mode is disabled by security.disableYoloMode", "home"]);
    }
    sandbox.settings("{}");
    sandbox.write("work/.gemini/settings.json", off);
    sandbox.check_fails(&["-p", "hi", "--yolo"], &["security.disableYoloMode"]);
    // The administrator's file wins over all others.
    sandbox.write("work/.gemini/settings.json", r#"{"admin": {"secureModeEnabled": false}}"#);
    sandbox.write("system.json", r#"{"admin": {"secureModeEnabled": true}}"#);
    let system = sandbox.path("system.json").display().to_string();
    sandbox.set("GEMINI_CLI_SYSTEM_SETTINGS_PATH", &system);
    sandbox.check_fails(&["-p", "hi", "--yolo"], &["admin.secureModeEnabled", "system.json:1"]);
    assert!(sandbox.server.requests().is_empty());
    sandbox.answer(&["-p", "hi"]);
}

#[test]
fn a_tool_that_the_user_excludes_stays_so_whatever_the_workspace_says() {
    let run = json!({"command": "touch ran"});
    let sandbox = trusted(Wire::Gemini, [call("run_shell_command", run), gemini::text("Well.")]);
    sandbox.settings(r#"{"tools": {"exclude": ["run_shell_command"]}}"#);
    sandbox.write(
        "work/.gemini/settings.json",
        r#"{"tools": {"exclude": [], "allowed": ["run_shell_command"]}}"#,
    );
    sandbox.say(&["-p", "hi", "--yolo"]);
    assert!(answered(&sandbox)[0].to_string().contains("no tool"), "{:?}", answered(&sandbox));
    assert!(!sandbox.path("work/ran").exists());
}

#[test]
fn what_is_not_honoured_is_named_in_one_line() {
    let sandbox = Sandbox::gemini([gemini::text("Yes.")]);
    sandbox.settings(r#"{"useWriteTodos": true, "ui": {"theme": "x"}, "telemetry": {"enabled": true}}"#);
    let told = text(&sandbox.say(&["-p", "hi"]).stderr);
    let lines: Vec<&str> = told.lines().filter(|line| line.contains("not supported")).collect();
    assert_eq!(lines.len(), 1, "{told}");
    assert!(lines[0].contains("useWriteTodos, telemetry;") && lines[0].contains("longhaul doctor"), "{told}");
}

#[test]
fn policies_that_settings_name_count_unless_the_workspace_names_them() {
    let rule =
        "[[rule]]\ntoolName = 'read_file'\ndecision = 'deny'\npriority = 9\ndenyMessage = 'Not read.'\n";
    for is_users in [true, false] {
        let read = json!({"file_path": "a.txt"});
        let sandbox = trusted(Wire::Gemini, [call("read_file", read), gemini::text("Well.")]);
        sandbox.write("work/a.txt", "x");
        sandbox.write("rules.toml", rule);
        let paths = json!({"policyPaths": [sandbox.path("rules.toml")]}).to_string();
        if is_users {
            sandbox.settings(&paths);
        } else {
            sandbox.write("work/.gemini/settings.json", &paths);
        }
        sandbox.say(&["-p", "hi"]);
        assert_eq!(answered(&sandbox)[0].to_string().contains("Not read."), is_users);
    }
}
