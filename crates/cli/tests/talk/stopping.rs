//! Ctrl-C stops, as does a request to end, and leaves everything in order.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command};

use longhaul_testkit::fake_provider::{FakeProvider, Step, gemini};
use serde_json::json;

use crate::support::{Sandbox, lines, text, words};

/// Presses Ctrl-C.
fn interrupt(child: &Child) {
    signal(child, "-INT");
}

fn signal(child: &Child, signal: &str) {
    let done = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill runs");
    assert!(done.success());
}

fn wait_for_request(server: &FakeProvider) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(server.request_arrived());
}

#[test]
fn an_answer_under_way_is_cut_short_and_kept() {
    let stalls = gemini::texts(&["Hel\n", "lo."]).only(1, Step::Stall);
    let sandbox = Sandbox::gemini([stalls, gemini::text("Hello to you.")]);
    let mut child = sandbox.start(&["-p", "hi"]);
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    let mut first = String::new();
    stdout.read_line(&mut first).expect("it prints");
    assert_eq!(first, "Hel\n");
    interrupt(&child);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "cancelled\n");
    sandbox.check_no_key(&output);
    assert_eq!(sandbox.answer(&["--resume", "-p", "Go on."]), "Hello to you.\n");
    assert_eq!(sandbox.last_said(), ["hi", "Hel\n", "Go on."]);
}

#[test]
fn a_request_to_end_is_heard() {
    let stalls = gemini::texts(&["Hel\n", "lo."]).only(1, Step::Stall);
    let sandbox = Sandbox::gemini([stalls, gemini::text("Hello to you.")]);
    let mut child = sandbox.start(&["-p", "hi"]);
    let mut first = String::new();
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    stdout.read_line(&mut first).expect("it prints");
    signal(&child, "-TERM");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(143), "cancelled\n"));
    assert_eq!(sandbox.answer(&["--resume", "-p", "Go on."]), "Hello to you.\n");
    assert_eq!(sandbox.last_said(), ["hi", "Hel\n", "Go on."]);
    assert!(sandbox.run(&["inspect", "latest"]).status.success());
}

#[test]
fn a_model_that_says_nothing_can_be_stopped() {
    let sandbox = Sandbox::gemini([gemini::text("").only(0, Step::Stall), gemini::text("Yes.")]);
    let mut child = sandbox.start(&["-p", "hi", "--output-format", "stream-json"]);
    wait_for_request(&sandbox.server);
    interrupt(&child);
    let mut printed = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut printed).expect("text");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let lines = lines(&printed);
    assert_eq!(lines.last().expect("a result")["status"], "cancelled");
    assert_eq!(sandbox.answer(&["--resume", "-p", "Are you there?"]), "Yes.\n");
    // Neighbouring messages of the user's stand side by side.
    assert!(sandbox.last_said().concat().ends_with("hiAre you there?"), "{:?}", sandbox.last_said());
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let stalls = gemini::texts(&["one\n", "two\n"]).only(2, Step::Stall);
    let sandbox = Sandbox::gemini([stalls]);
    let mut child = sandbox.start(&["-p", "hi"]);
    drop(child.stdout.take());
    // The second piece finds nobody, which ends the call although the server stalls.
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn a_compaction_under_way_leaves_nothing_behind() {
    let sandbox = Sandbox::gemini([gemini::text("").only(0, Step::Stall)]);
    let contents: Vec<_> = (0..20)
        .map(|turn| json!({"role": if turn % 2 == 0 { "user" } else { "model" }, "parts": [{"text": words(200)}]}))
        .collect();
    sandbox.write("work/in.json", &json!({"contents": contents}).to_string());
    let arguments =
        ["compress", "in.json", "--force", "--summariser", "model", "-m", "flash", "-o", "out.json"];
    let child = sandbox.command(&arguments).spawn().expect("it runs");
    wait_for_request(&sandbox.server);
    interrupt(&child);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let left = longhaul_testkit::files_below(&sandbox.path("work"));
    assert_eq!(left, [sandbox.path("work/in.json")]);
}

#[test]
fn a_session_has_one_writer_and_survives_its_sudden_end() {
    let stalls = gemini::texts(&["Hel\n", "lo."]).only(1, Step::Stall);
    let sandbox = Sandbox::gemini([stalls, gemini::text("Yes.")]);
    let mut child = sandbox.start(&["-p", "hi"]);
    wait_for_request(&sandbox.server);
    let told = ["is in use", "--fork to continue in a copy", "end the program that is writing it"];
    sandbox.check_fails(&["--resume", "-p", "Me too."], &told);
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    assert_eq!(sandbox.answer(&["--resume", "-p", "Are you there?"]), "Yes.\n");
    let said = sandbox.last_said().concat();
    assert!(
        said.starts_with("hi") && said.ends_with("Are you there?") && !said.contains("Me too."),
        "{said}"
    );
}

#[test]
fn a_session_in_use_can_be_forked() {
    let stalls = gemini::texts(&["Hel\n", "lo."]).only(1, Step::Stall);
    let sandbox =
        Sandbox::gemini([gemini::text("Blue."), stalls, gemini::text("Yes."), gemini::text("Still.")]);
    sandbox.answer(&["-p", "Which colour?"]);
    let original = sandbox.sessions();
    let mut child = sandbox.start(&["--resume", "-p", "Go on."]);
    while sandbox.server.requests().len() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let before = sandbox.session();
    let forked = sandbox.say(&["--resume", "--fork", "-p", "Me too."]);
    assert_eq!(text(&forked.stdout), "Yes.\n", "{}", text(&forked.stderr));
    assert!(text(&forked.stderr).contains("continue with --resume "), "{}", text(&forked.stderr));
    let said = sandbox.last_said().concat();
    assert!(said.starts_with("Which colour?") && said.ends_with("Me too."), "{said}");
    assert_eq!(std::fs::read_to_string(&original[0]).expect("the original"), before);
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    let sessions = sandbox.sessions();
    assert_eq!(sessions.len(), 2, "{sessions:?}");
    // The copy goes on by itself; nothing but a session can be forked.
    assert_eq!(sandbox.answer(&["--resume", "-p", "And now?"]), "Still.\n");
    assert!(sandbox.last_said().concat().ends_with("And now?"));
    assert_eq!(sandbox.run(&["--fork", "-p", "hi"]).status.code(), Some(2));
}
