//! Commands without a session offer those of the folder.

use serde_json::json;

use crate::support::Sandbox;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new([]);
    let here = sandbox.path("work").canonicalize().expect("a folder");
    for (id, asked, at) in [
        ("aaaaaaaa-0000-4000-8000-000000000001", "Fix the cart", "2026-11-18T20:00:00Z"),
        ("bbbbbbbb-0000-4000-8000-000000000002", "Water the plants", "2026-11-17T20:00:00Z"),
    ] {
        let line = json!({"type": "user", "uuid": "u", "sessionId": id, "cwd": here, "timestamp": at,
            "message": {"role": "user", "content": asked}});
        sandbox.write(&format!("home/.claude/projects/-x/{id}.jsonl"), &format!("{line}\n"));
    }
    sandbox
}

#[test]
fn the_session_is_chosen_by_its_number() {
    let sandbox = sandbox();
    let mut terminal = sandbox.start_with(80, 40, &["inspect"]);
    terminal.wait_for("1  Claude Code session aaaaaaaa").wait_for("2  Claude Code session bbbbbbbb");
    terminal.wait_for("Number [1]").send("2\r").wait_for("note: Claude Code session bbbbbbbb");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn enter_takes_the_one_used_last_and_another_answer_none() {
    let sandbox = sandbox();
    let mut terminal = sandbox.start_with(80, 40, &["inspect"]);
    terminal.wait_for("Number [1]").send("\r").wait_for("note: Claude Code session aaaaaaaa");
    assert_eq!(terminal.end(), 0);
    let mut terminal = sandbox.start_with(80, 40, &["inspect"]);
    terminal.wait_for("Number [1]").send("7\r").wait_for("no such session").wait_for("one of the numbers");
    assert_eq!(terminal.end(), 1);
}
