//! However it ends, the terminal is as it was.

use longhaul_testkit::fake_provider::{Step, gemini};
use rustix::process::Signal;

use crate::support::Sandbox;

#[test]
fn ctrl_c_twice_leaves() {
    let sandbox = Sandbox::new([]);
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").send("\x03").wait_for("Press Ctrl-C again").send("\x03");
    assert_eq!(terminal.end(), 0);
    let sessions = longhaul_testkit::files_below(&sandbox.path("home"));
    let is_session = |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "jsonl");
    assert!(!sessions.iter().any(is_session), "who said nothing leaves nothing: {sessions:?}");
}

#[test]
fn quit_leaves_in_the_middle_of_an_answer() {
    let sandbox = Sandbox::new([gemini::texts(&["The beginning ", "and the end"]).only(1, Step::Stall)]);
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter("Go on forever.").wait_for("The beginning").enter("/quit");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn a_killed_program_gives_the_terminal_back() {
    let sandbox = Sandbox::new([gemini::texts(&["The beginning ", "and the end"]).only(1, Step::Stall)]);
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter("Go on forever.").wait_for("The beginning").kill(Signal::TERM);
    assert_eq!(terminal.end(), 128 + 15);
}

#[test]
fn without_a_key_nothing_begins() {
    // A provider on this machine needs no key.
    let sandbox = Sandbox::new([]).without("GEMINI_API_KEY").without("GOOGLE_GEMINI_BASE_URL");
    let mut terminal = sandbox.start();
    assert_eq!(terminal.end(), 1);
    let text = terminal.text();
    assert!(text.contains("error:") && text.contains("hint:"), "{text}");
}

#[test]
fn a_terminal_that_cannot_be_drawn_on_gets_lines() {
    let sandbox = Sandbox::new([gemini::text("Plain **words**.")]).set("TERM", "dumb");
    let mut terminal = sandbox.start();
    terminal.wait_for("> ").send("hello\n").wait_for("Plain words.").send("/quit\n");
    assert_eq!(terminal.end(), 0);
    assert!(!terminal.written().contains('\u{1b}'), "{:?}", terminal.written());
}

#[test]
fn screen_readers_get_lines_and_answer_in_lines() {
    let sandbox = Sandbox::new([
        crate::support::call("write_file", &serde_json::json!({"file_path": "a.txt", "content": "x\n"})),
        gemini::text("Written."),
    ]);
    let mut terminal = sandbox.start_with(200, 40, &["-m", "gemini-2.5-flash", "--screen-reader"]);
    terminal.wait_for("compaction due at 50 %").wait_for("Your message:").send("write it\n");
    terminal.wait_for("You: write it").wait_for("waiting for gemini-2.5-flash");
    terminal.wait_for("Question: write_file wants to").wait_for("Your answer, one letter:").send("y\n");
    terminal.wait_for("Done: allowed once").wait_for("Tool: write_file").wait_for("Written.");
    assert!(sandbox.path("work/a.txt").exists());
    let written = terminal.written();
    for drawn in ["\u{1b}", "❯", "●", "─", "█", "▸", "│"] {
        assert!(!written.contains(drawn), "{drawn:?} in {written}");
    }
    terminal.send("\x04");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn screen_readers_can_be_a_setting() {
    let sandbox = Sandbox::new([]);
    sandbox.write("home/settings.json", r#"{"ui": {"accessibility": {"screenReader": true}}}"#);
    let mut terminal = sandbox.start();
    terminal.wait_for("Your message:").send("/compress\n").wait_for("Note: Nothing to compact").send("\x04");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn a_command_is_changed_in_lines() {
    let sandbox = Sandbox::new([
        crate::support::call("run_shell_command", &serde_json::json!({"command": "echo one > out.txt"})),
        gemini::text("Done so."),
    ])
    .set("TERM", "dumb");
    let mut terminal = sandbox.start();
    terminal
        .wait_for("> ")
        .send("do it\n")
        .wait_for("an empty line to stop the turn")
        .wait_for_prompt()
        .send("e\n")
        .wait_for("Edit it.");
    terminal.wait_for_prompt().send("echo two > out.txt\n").wait_for("Done so.");
    assert_eq!(std::fs::read_to_string(sandbox.path("work/out.txt")).expect("written"), "two\n");
    terminal.send("\x04");
    assert_eq!(terminal.end(), 0);
}
