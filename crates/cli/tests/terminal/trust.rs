//! The question whether to trust a folder, at the start.

use longhaul_testkit::fake_provider::gemini;

use crate::support::Desk;

/// A desk in a folder that nobody has decided about, which has a hook and memory.
fn desk() -> Desk {
    let desk = Desk::new((0..9).map(|_| gemini::text("Fine."))).without("GEMINI_CLI_TRUST_WORKSPACE");
    desk.write("work/GEMINI.md", "Use tabs.\n");
    hook(&desk, "first");
    desk
}

fn hook(desk: &Desk, file: &str) {
    let text = format!(
        r#"{{"hooks": {{"BeforeAgent": [{{"hooks": [{{"type": "command", "command": "touch {file}"}}]}}]}}}}"#
    );
    desk.write("work/.gemini/settings.json", &text);
}

#[test]
fn a_folder_is_trusted_by_an_answer_and_a_change_is_confirmed_by_another() {
    let desk = desk();
    let mut terminal = desk.start();
    terminal.wait_for("BeforeAgent: touch first").wait_for("Trust this folder?").enter("y");
    terminal.wait_for("ask, or").enter("Hi.").wait_for("Fine.");
    assert!(desk.path("work/first").exists() && desk.last_request().contains("Use tabs."));
    terminal.enter("/quit").end();

    hook(&desk, "second");
    let mut terminal = desk.start();
    terminal.wait_for("touch first → touch second").wait_for("Use them as they are now?").enter("n");
    terminal.wait_for("suspended until you confirm them").wait_for("ask, or").enter("Hi.").wait_for("Fine.");
    assert!(!desk.path("work/second").exists());
    terminal.enter("/quit").end();
    let mut terminal = desk.start();
    terminal.wait_for("Use them as they are now?").enter("y").wait_for("ask, or").enter("/quit").end();
    let mut terminal = desk.start();
    terminal.wait_for("ask, or");
    assert!(!terminal.text().contains("Use them"), "confirmed for good");
}

#[test]
fn anything_but_a_yes_leaves_the_folder_out() {
    let desk = desk();
    for answer in ["", "n", "sure"] {
        let mut terminal = desk.start();
        terminal.wait_for("Trust this folder?").enter(answer);
        terminal.wait_for("left out: GEMINI.md, settings, 1 hook").wait_for("ask, or").enter("/quit").end();
    }
    let mut terminal = desk.start();
    terminal
        .wait_for("Trust this folder?")
        .enter("v")
        .wait_for("DO_NOT_TRUST")
        .wait_for("ask, or")
        .enter("/quit")
        .end();
    let mut terminal = desk.start();
    terminal.wait_for("ask, or");
    assert!(!terminal.text().contains("Trust this folder?"), "never means never");
}

#[test]
fn yolo_stays_off_where_the_settings_switch_it_off() {
    let desk = Desk::new([]);
    desk.write("home/settings.json", r#"{"security": {"disableYoloMode": true}}"#);
    let mut terminal = desk.start();
    terminal.wait_for("ask, or").enter("/mode yolo");
    terminal.wait_for("The mode yolo is switched off by security.disableYoloMode");
    assert!(!terminal.text().contains("everything is free"));
}
