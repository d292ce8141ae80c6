//! Talking: streaming, tools, approvals, cancelling, typing ahead, pasting, resizing.

use longhaul_testkit::fake_provider::{Step, gemini};
use serde_json::json;

use crate::support::{Sandbox, call};

#[test]
fn words_are_said_and_answered() {
    let sandbox =
        Sandbox::new([gemini::texts(&["# Hello\n\nGood **day", "**, `you`.\n\n- 日本語\n- 😀 done"])]);
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or /help").enter("How are you?");
    terminal.wait_for("😀 done").wait_for("ask, or /help");
    let rows = terminal.rows();
    for row in ["❯ How are you?", "Hello", "Good day, you.", "• 日本語", "• 😀 done"] {
        assert!(rows.iter().any(|shown| shown == row), "no {row:?} in {rows:#?}");
    }
    assert!(sandbox.last_request().contains("How are you?"));
    terminal.send("\x04");
    assert_eq!(terminal.end(), 0);
    // What was said is still in sight, and nothing of the input is.
    assert!(terminal.text().contains("Good day") && !terminal.text().contains("ask, or /help"));
}

#[test]
fn tools_run_once_they_are_allowed() {
    let sandbox = Sandbox::new([
        call("write_file", &json!({"file_path": "note.txt", "content": "remember\n"})),
        gemini::text("It is written."),
    ]);
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter("Write it down.");
    terminal.wait_for("+remember").wait_for("yes, once");
    assert!(!sandbox.path("work/note.txt").exists());
    terminal.answer("y").wait_for("It is written.");
    assert_eq!(std::fs::read_to_string(sandbox.path("work/note.txt")).expect("written"), "remember\n");
}

#[test]
fn who_says_no_says_why() {
    let sandbox = Sandbox::new([
        call("run_shell_command", &json!({"command": "touch made.txt"})),
        gemini::text("As you wish."),
    ]);
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter("Do it.");
    terminal.wait_for("touch made.txt").wait_for("no, with a reason");
    terminal.answer("n").wait_for("Why not?").enter("use another name").wait_for("As you wish.");
    assert!(!sandbox.path("work/made.txt").exists());
    assert!(sandbox.last_request().contains("use another name"), "{}", sandbox.last_request());
}

#[test]
fn a_command_is_changed_before_it_runs() {
    let sandbox = Sandbox::new([
        call("run_shell_command", &json!({"command": "echo one > out.txt"})),
        gemini::text("Done so."),
    ]);
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter("Do it.");
    terminal.wait_for("edit first").answer("e").wait_for("Edit it.");
    terminal.send("\x15").enter("echo two > out.txt").wait_for("Done so.");
    assert_eq!(std::fs::read_to_string(sandbox.path("work/out.txt")).expect("written"), "two\n");
}

#[test]
fn what_a_tool_writes_cannot_move_the_cursor() {
    let sandbox = Sandbox::new([
        call("run_shell_command", &json!({"command": "printf 'a\\033[2J\\033[10;10Hb\\007\\rc\\n'"})),
        gemini::text("Seen: \u{1b}[2J\u{1b}]0;title\u{7}."),
    ]);
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter("Be evil.").answer("y").wait_for("Seen:");
    terminal.wait_for("ask, or");
    let written = terminal.written();
    for sequence in ["\u{1b}[2J", "\u{1b}[10;10H", "\u{1b}]0;"] {
        assert!(!written.contains(sequence), "{sequence:?} went through");
    }
    assert!(terminal.text().contains("Be evil."), "{}", terminal.text());
}

#[test]
fn an_answer_is_stopped_and_the_conversation_goes_on() {
    let stalls = gemini::texts(&["The beginning ", "and the end"]).only(1, Step::Stall);
    let sandbox = Sandbox::new([stalls, gemini::text("Something else.")]);
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter("Go on forever.").wait_for("The beginning").send("\x1b");
    terminal.wait_for("Stopped.").wait_for("ask, or").enter("And now?").wait_for("Something else.");
    assert!(sandbox.last_request().contains("The beginning"));
}

#[test]
fn what_is_typed_ahead_is_said_next() {
    let stalls = gemini::texts(&["First ", "answer"]).only(1, Step::Stall);
    let sandbox = Sandbox::new([stalls, gemini::text("Second answer.")]);
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter("one").wait_for("First").enter("two").wait_for("next: two");
    // Stopping gives it back, to be sent or changed.
    terminal.send("\x1b").wait_for("Stopped.").wait_gone("next: two").wait_for("❯ two");
    terminal.send("\r").wait_for("Second answer.");
}

#[test]
fn pastes_are_folded_and_sent_in_whole() {
    let sandbox = Sandbox::new([gemini::text("Long.")]);
    let mut terminal = sandbox.start();
    let lines: String = (0..40).map(|number| format!("line {number}\r")).collect();
    terminal.wait_for("ask, or").send(&format!("\x1b[200~{lines}\x1b[201~")).wait_for("[paste 1: 40 lines]");
    terminal.send("\r").wait_for("Long.");
    assert!(sandbox.last_request().contains("line 0\\nline 1\\n"), "{}", sandbox.last_request());
}

#[test]
fn files_are_attached() {
    let sandbox = Sandbox::new([gemini::text("Read.")]);
    sandbox.write("work/src/parser.rs", "fn parse_everything() {}\n");
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").send("look at @pars").wait_for("▸ @src/parser.rs").send("\t");
    terminal.wait_for("look at @src/parser.rs").send("\r").wait_for("Read.");
    assert!(sandbox.last_request().contains("parse_everything"), "{}", sandbox.last_request());
}

#[test]
fn own_commands_are_run_and_read_with_the_next_message() {
    let sandbox = Sandbox::new([gemini::text("I see.")]);
    let mut terminal = sandbox.start();
    terminal
        .wait_for("ask, or")
        .enter("!echo from-the-$((40+2))")
        .wait_for("from-the-42")
        .wait_for("ask, or");
    terminal.enter("And?").wait_for("I see.");
    assert!(sandbox.last_request().contains("from-the-42"));
}

#[test]
fn a_flood_is_stopped_and_shortened() {
    let sandbox = Sandbox::new([gemini::text("Much.")]);
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter("!yes flooding").wait_for("run_shell_command  yes").send("\x1b");
    terminal.wait_for("$ yes flooding").wait_for("ask, or");
    terminal.enter("!yes flooding | head -c 300000; echo at the end").wait_for("more lines");
    terminal.wait_for("ask, or").enter("And?").wait_for("Much.");
    let request = sandbox.last_request();
    assert!(request.len() < 150_000 && request.contains("at the end"), "{} characters", request.len());
}

#[test]
fn the_screen_follows_its_size() {
    let words: String = (0..60).map(|number| format!("word{number} ")).collect();
    let sandbox = Sandbox::new([gemini::text(&words), gemini::text("Still here.")]);
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter("hello").wait_for("word59").wait_for("ask, or");
    for (width, height) in [(40, 20), (200, 50), (60, 12), (100, 30)] {
        terminal.resize(width, height).send("x").wait_for("❯ x").send("\x7f").wait_for("ask, or");
        let widest = terminal.rows().iter().map(|row| row.chars().count()).max().unwrap_or(0);
        assert!(widest <= usize::from(width), "{width}: {widest}");
    }
    terminal.enter("again").wait_for("Still here.");
}

#[test]
fn every_width_shows_a_whole_screen() {
    for width in [40, 57, 80, 132, 200] {
        let sandbox =
            Sandbox::new([gemini::text("| a | b |\n|---|---|\n| 日本語の長い文 | 😀😀😀 |\n\nEnd of it.")]);
        let mut terminal = sandbox.start_with(width, 24, &["-m", "gemini-2.5-flash"]);
        terminal
            .wait_for("ask, or")
            .enter("/help")
            .wait_for("!command")
            .enter("table")
            .wait_for("End of it.");
        terminal.wait_for("ask, or").wait_for("gemini-2.5-flash").wait_for("% of 1.0M");
    }
}
