//! The question whether to trust a folder, at the start.

use longhaul_testkit::fake_provider::gemini;

use crate::support::Sandbox;

/// A sandbox in a folder that nobody has decided about, which has a hook and memory.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new((0..9).map(|_| gemini::text("Fine."))).without("GEMINI_CLI_TRUST_WORKSPACE");
    sandbox.write("work/GEMINI.md", "Use tabs.\n");
    hook(&sandbox, "first");
    sandbox
}

fn hook(sandbox: &Sandbox, file: &str) {
    let text = format!(
        r#"{{"hooks": {{"BeforeAgent": [{{"hooks": [{{"type": "command", "command": "touch {file}"}}]}}]}}}}"#
    );
    sandbox.write("work/.gemini/settings.json", &text);
}

#[test]
fn a_folder_is_trusted_by_an_answer_and_a_change_is_confirmed_by_another() {
    let sandbox = sandbox();
    let mut terminal = sandbox.start();
    terminal.wait_for("BeforeAgent: touch first").wait_for("Trust this folder?").enter("y");
    terminal.wait_for("ask, or").enter("Hi.").wait_for("Fine.");
    assert!(sandbox.path("work/first").exists() && sandbox.last_request().contains("Use tabs."));
    terminal.enter("/quit").end();

    hook(&sandbox, "second");
    let mut terminal = sandbox.start();
    terminal.wait_for("touch first → touch second").wait_for("Accept these changes?").enter("n");
    terminal.wait_for("suspended until you confirm them").wait_for("ask, or").enter("Hi.").wait_for("Fine.");
    assert!(!sandbox.path("work/second").exists());
    terminal.enter("/quit").end();
    let mut terminal = sandbox.start();
    terminal.wait_for("Accept these changes?").enter("y").wait_for("ask, or").enter("/quit").end();
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or");
    assert!(!terminal.text().contains("Accept these"), "confirmed for good");
}

#[test]
fn anything_but_a_yes_leaves_the_folder_out() {
    let sandbox = sandbox();
    for answer in ["", "n", "sure"] {
        let mut terminal = sandbox.start();
        terminal.wait_for("Trust this folder?").enter(answer);
        terminal.wait_for("ignored: GEMINI.md, settings, 1 hook").wait_for("ask, or").enter("/quit").end();
    }
    let mut terminal = sandbox.start();
    terminal
        .wait_for("Trust this folder?")
        .enter("v")
        .wait_for("DO_NOT_TRUST")
        .wait_for("ask, or")
        .enter("/quit")
        .end();
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or");
    assert!(!terminal.text().contains("Trust this folder?"), "never means never");
}

#[test]
fn yolo_stays_off_where_the_settings_switch_it_off() {
    let sandbox = Sandbox::new([]);
    sandbox.write("home/settings.json", r#"{"security": {"disableYoloMode": true}}"#);
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter("/mode yolo");
    terminal.wait_for("Yolo mode is disabled by security.disableYoloMode");
    assert!(!terminal.text().contains("· yolo"));
}
