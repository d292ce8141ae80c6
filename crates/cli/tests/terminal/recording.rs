//! A disk that fills up during a conversation, and has room again; a session file that changes meanwhile.

use std::fs;
use std::path::PathBuf;

use longhaul_testkit::fake_provider::gemini;

use crate::support::Sandbox;

fn session(sandbox: &Sandbox) -> PathBuf {
    let files = longhaul_testkit::files_below(&sandbox.path("home/tmp"));
    files.into_iter().find(|path| path.extension().is_some_and(|end| end == "jsonl")).expect("a session")
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_stops_the_turn_and_a_retry_goes_on() {
    let sandbox = Sandbox::new(["One.", "Two.", "Three."].map(gemini::text));
    let mut terminal = sandbox.start_without_size_signal();
    terminal.wait_for("ask, or /help").enter("First words.").wait_for("One.").wait_for("ask, or /help");
    // No file may grow beyond what the session has: as on a full disk.
    terminal.limit_files(Some(fs::metadata(session(&sandbox)).expect("there").len()));
    terminal.enter("Second words.").wait_for("could not be saved").wait_for("/retry");
    assert_eq!(sandbox.server.requests().len(), 1);
    terminal.enter("Third words.").wait_for("send the message again").wait_for("❯ Third words.");
    assert_eq!(sandbox.server.requests().len(), 1, "nothing unrecorded is sent");
    terminal.limit_files(None);
    terminal.send("\x15").enter("/retry").wait_for("Two.").wait_for("ask, or /help");
    assert!(
        sandbox.last_request().contains("Second words.") && !sandbox.last_request().contains("Third words.")
    );
    assert!(sandbox.sessions().contains("Second words.") && sandbox.sessions().contains("Two."));
    // Who leaves something unrecorded behind is asked twice, and the exit code says it.
    terminal.limit_files(Some(fs::metadata(session(&sandbox)).expect("there").len()));
    terminal.enter("Third words.");
    terminal.wait_until("a second notice", |screen| screen.matches("then type /retry").count() == 2);
    terminal.enter("/quit").wait_for("Quit again");
    terminal.enter("/quit");
    assert_eq!(terminal.end(), 1);
    assert!(terminal.written().contains("of this session could not be saved"));
    assert_eq!(sandbox.server.requests().len(), 2);
}

#[test]
fn a_session_file_that_is_truncated_meanwhile_is_written_again() {
    let sandbox = Sandbox::new(["One.", "Two."].map(gemini::text));
    let mut terminal = sandbox.start_with(160, 30, &["-m", "gemini-2.5-flash"]);
    terminal.wait_for("ask, or /help").enter("First words.").wait_for("One.").wait_for("ask, or /help");
    let (path, before) = (session(&sandbox), sandbox.sessions());
    fs::write(&path, &before.as_bytes()[..20]).expect("truncated");
    terminal.enter("Second words.").wait_for("was truncated or overwritten while in use").wait_for("Two.");
    terminal.wait_for("ask, or /help").send("\x04");
    assert_eq!(terminal.end(), 0);
    let after = fs::read_to_string(&path).expect("it is there");
    for words in ["First words.", "One.", "Second words.", "Two."] {
        assert!(after.contains(words), "{after}");
    }
    let aside = fs::read_to_string(path.with_extension("jsonl.truncated")).expect("it is kept");
    assert_eq!(aside, before[..20]);
}
