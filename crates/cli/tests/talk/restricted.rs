//! Keys of Gemini CLI that restrict an agent: honoured, or it does not start.

use longhaul_testkit::fake_provider::gemini;
use serde_json::json;

use crate::support::{Desk, Wire, text};
use crate::tools::{answered, call, trusted};

#[test]
fn an_agent_that_would_not_be_restricted_does_not_start() {
    let mut desk = Desk::gemini([gemini::text("Yes."), gemini::text("Yes.")]);
    for (settings, key) in [
        (r#"{"tools": {"sandbox": true}}"#, "tools.sandbox"),
        (r#"{"security": {"enableConseca": true}}"#, "security.enableConseca"),
        (r#"{"admin": {"brandNew": true}}"#, "admin.brandNew"),
    ] {
        desk.settings(settings);
        desk.check_fails(&["-p", "hi"], &["could not start an agent", key, "settings.json:1", "hint: "]);
    }
    assert!(desk.server.requests().is_empty());
    desk.settings(r#"{"tools": {"sandbox": true}}"#);
    desk.set("SANDBOX", "mine");
    desk.answer(&["-p", "hi"]);
    desk.set("SANDBOX", "");
    desk.settings("{}");
    desk.set("GEMINI_SANDBOX", "docker");
    desk.check_fails(&["-p", "hi"], &["GEMINI_SANDBOX"]);
}

#[test]
fn yolo_can_be_switched_off_by_anybody_and_on_again_by_nobody() {
    let mut desk = trusted(Wire::Gemini, [gemini::text("Yes.")]);
    let off = r#"{"security": {"disableYoloMode": true}}"#;
    desk.settings(off);
    desk.write("work/.gemini/settings.json", r#"{"security": {"disableYoloMode": false}}"#);
    for flag in [&["--yolo"][..], &["--approval-mode", "yolo"]] {
        let arguments = [&["-p", "hi"], flag].concat();
        desk.check_fails(&arguments, &["yolo is switched off by security.disableYoloMode", "home"]);
    }
    desk.settings("{}");
    desk.write("work/.gemini/settings.json", off);
    desk.check_fails(&["-p", "hi", "--yolo"], &["security.disableYoloMode"]);
    // The administrator's file wins over all others.
    desk.write("work/.gemini/settings.json", r#"{"admin": {"secureModeEnabled": false}}"#);
    desk.write("system.json", r#"{"admin": {"secureModeEnabled": true}}"#);
    let system = desk.path("system.json").display().to_string();
    desk.set("GEMINI_CLI_SYSTEM_SETTINGS_PATH", &system);
    desk.check_fails(&["-p", "hi", "--yolo"], &["admin.secureModeEnabled", "system.json:1"]);
    assert!(desk.server.requests().is_empty());
    desk.answer(&["-p", "hi"]);
}

#[test]
fn a_tool_that_the_user_excludes_stays_so_whatever_the_workspace_says() {
    let run = json!({"command": "touch ran"});
    let desk = trusted(Wire::Gemini, [call("run_shell_command", run), gemini::text("Well.")]);
    desk.settings(r#"{"tools": {"exclude": ["run_shell_command"]}}"#);
    desk.write(
        "work/.gemini/settings.json",
        r#"{"tools": {"exclude": [], "allowed": ["run_shell_command"]}}"#,
    );
    desk.say(&["-p", "hi", "--yolo"]);
    assert!(answered(&desk)[0].to_string().contains("no tool"), "{:?}", answered(&desk));
    assert!(!desk.path("work/ran").exists());
}

#[test]
fn what_is_not_honoured_is_named_in_one_line() {
    let desk = Desk::gemini([gemini::text("Yes.")]);
    desk.settings(r#"{"mcpServers": {"a": {}}, "ui": {"theme": "x"}, "telemetry": {"enabled": true}}"#);
    let told = text(&desk.say(&["-p", "hi"]).stderr);
    let lines: Vec<&str> = told.lines().filter(|line| line.contains("not honoured")).collect();
    assert_eq!(lines.len(), 1, "{told}");
    assert!(lines[0].contains("mcpServers, telemetry;") && lines[0].contains("longhaul doctor"), "{told}");
}

#[test]
fn policies_that_settings_name_count_unless_the_workspace_names_them() {
    let rule =
        "[[rule]]\ntoolName = 'read_file'\ndecision = 'deny'\npriority = 9\ndenyMessage = 'Not read.'\n";
    for is_users in [true, false] {
        let read = json!({"file_path": "a.txt"});
        let desk = trusted(Wire::Gemini, [call("read_file", read), gemini::text("Well.")]);
        desk.write("work/a.txt", "x");
        desk.write("rules.toml", rule);
        let paths = json!({"policyPaths": [desk.path("rules.toml")]}).to_string();
        if is_users {
            desk.settings(&paths);
        } else {
            desk.write("work/.gemini/settings.json", &paths);
        }
        desk.say(&["-p", "hi"]);
        assert_eq!(answered(&desk)[0].to_string().contains("Not read."), is_users);
    }
}
