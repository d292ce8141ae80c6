//! Approvals: none is given by accident, "always" names its reach, and what was saved is taken back.

use longhaul_testkit::fake_provider::{Reply, gemini};
use serde_json::json;

use crate::support::{Sandbox, Terminal, call};

/// Each of its letters is an answer somewhere.
const SENTENCE: &str = "and please also add a test for that, and a changelog entry as always";

fn touch() -> Reply {
    call("run_shell_command", &json!({"command": "touch made.txt"}))
}

/// A sandbox on which the model first runs something that ends when the test says so, then wants to make a file.
fn busy_desk() -> Sandbox {
    let waits = call("run_shell_command", &json!({"command": "sh wait.sh"}));
    let sandbox = Sandbox::new([waits, touch(), gemini::text("Then not.")]);
    sandbox.write("work/wait.sh", "while [ ! -e go ]; do sleep 0.01; done\n");
    sandbox.write(
        "home/policies/mine.toml",
        "[[rule]]\ntoolName = 'run_shell_command'\ncommandPrefix = 'sh wait.sh'\ndecision = 'allow'\npriority = 1\n",
    );
    sandbox
}

/// The files of saved rules.
fn saved(sandbox: &Sandbox) -> Vec<std::path::PathBuf> {
    let files = longhaul_testkit::files_below(&sandbox.path("home"));
    files.into_iter().filter(|file| file.ends_with("auto-saved.toml")).collect()
}

fn type_keys<'t>(terminal: &'t mut Terminal, text: &str) -> &'t mut Terminal {
    for letter in text.chars() {
        terminal.send(&letter.to_string());
    }
    terminal
}

#[test]
fn a_sentence_that_is_being_typed_answers_nothing() {
    for begun in [0, 6] {
        let sandbox = busy_desk();
        let mut terminal = sandbox.start();
        terminal.wait_for("ask, or").enter("Do it.").wait_for("sh wait.sh");
        type_keys(&mut terminal, &SENTENCE[..begun]);
        if begun > 0 {
            terminal.wait_for(&format!("❯ {}", &SENTENCE[..begun - 1]));
        }
        sandbox.write("work/go", "");
        terminal.wait_for("Allow run_shell_command?");
        type_keys(&mut terminal, &SENTENCE[begun..]).wait_for(&format!("❯ {SENTENCE}"));
        terminal.wait_for("Allow run_shell_command?").wait_for("Tab to answer");
        assert!(!sandbox.path("work/made.txt").exists());
        assert!(saved(&sandbox).is_empty(), "{:?}", saved(&sandbox));
        // It is sent when there is time, and the question is answered by who turns to it.
        terminal.send("\r").wait_for("next: and please also").answer("n").wait_for("Why not?");
        terminal.enter("not that").wait_for("Then not.");
        assert!(!sandbox.path("work/made.txt").exists());
        assert!(
            sandbox.server.requests().iter().any(|request| request.body.to_string().contains("not that"))
        );
    }
}

#[test]
fn the_question_is_answered_beside_a_draft() {
    let sandbox = busy_desk();
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter("Do it.").wait_for("sh wait.sh");
    terminal.send("and yes").wait_for("❯ and yes");
    sandbox.write("work/go", "");
    terminal.wait_for("Tab to answer").send("\t").wait_for("Tab to return").answer("y");
    terminal.wait_for("Then not.").wait_for("❯ and yes");
    assert!(sandbox.path("work/made.txt").exists());
}

/// Asks the model to make the file, and answers with these keys, each once it can.
#[track_caller]
fn allow<'t>(terminal: &'t mut Terminal, keys: &[(&str, &str)]) -> &'t mut Terminal {
    terminal.wait_for("ask, or").enter("Do it.");
    for (seen, key) in keys {
        terminal.wait_for(seen).answer(key);
    }
    terminal
}

#[test]
fn always_in_this_project_holds_here_and_is_revoked() {
    let sandbox = Sandbox::new([
        touch(),
        gemini::text("First."),
        touch(),
        gemini::text("Second."),
        touch(),
        gemini::text("Third."),
        touch(),
        gemini::text("Fourth."),
    ]);
    // Replies stay for the conversation.
    let summaries =
        r#"{"longhaul": {"compaction": {"summariser": "offline"}, "summary": {"atStart": false}}}"#;
    sandbox.write("home/settings.json", summaries);
    let mut terminal = sandbox.start();
    allow(&mut terminal, &[("yes, once", "a"), ("everywhere, in every project", "p")]);
    terminal.wait_for("always allowed in this project").wait_for("First.");
    let files = saved(&sandbox);
    assert!(files.len() == 1 && files[0].starts_with(sandbox.path("home/tmp")), "{files:?}");
    terminal.wait_for("ask, or").send("\x04");
    assert_eq!(terminal.end(), 0);
    // In a later session it runs; elsewhere it is asked about.
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter("Again.").wait_for("Second.").wait_for("ask, or").send("\x04");
    assert_eq!(terminal.end(), 0);
    sandbox.write("other/x", "");
    let mut elsewhere = sandbox.start_in("other");
    allow(&mut elsewhere, &[("yes, once", "y")]).wait_for("Third.").wait_for("ask, or").send("\x04");
    assert_eq!(elsewhere.end(), 0);
    // Who takes it back is asked again, in the same session.
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter("/policy").wait_for("Saved approvals");
    terminal.enter("/policy revoke touch").wait_for("Revoked in this project: commands like");
    assert_eq!(std::fs::read_to_string(&files[0]).expect("there"), "");
    allow(&mut terminal, &[("yes, once", "y")]).wait_for("Fourth.");
}

#[test]
fn always_in_this_session_leaves_nothing_behind() {
    let sandbox = Sandbox::new([touch(), touch(), gemini::text("Done.")]);
    let mut terminal = sandbox.start();
    allow(&mut terminal, &[("yes, once", "a"), ("everywhere, in every project", "s")]);
    terminal.wait_for("always allowed in this session").wait_for("Done.");
    terminal.wait_for("ask, or").enter("/policy revoke 1").wait_for("Revoked in this session");
    assert!(saved(&sandbox).is_empty(), "{:?}", saved(&sandbox));
}

#[test]
fn a_line_typed_ahead_is_no_answer() {
    let sandbox = busy_desk().set("TERM", "dumb");
    let mut terminal = sandbox.start();
    terminal.wait_for("> ").send("do it\n").wait_for("sh wait.sh");
    sandbox.write("work/go", "");
    // The question stands there, and the prompt does not yet.
    terminal.wait_for("an empty line to stop the turn").send("y\n");
    terminal.wait_for("You answered before the question was shown");
    terminal.send(&format!("{SENTENCE}\n")).wait_for("queued as your next message");
    terminal.wait_for_prompt().send("yes please\n").wait_for("> yes please").wait_for_prompt();
    assert!(!sandbox.path("work/made.txt").exists());
    terminal.send("n\n").wait_for("Why not?").send("never\n");
    terminal.wait_for("Then not.");
    assert!(!sandbox.path("work/made.txt").exists() && saved(&sandbox).is_empty());
}

#[test]
fn who_closes_the_input_allows_nothing() {
    let sandbox = Sandbox::new([touch(), gemini::text("Then not.")]).set("TERM", "dumb");
    let mut terminal = sandbox.start();
    terminal.wait_for("> ").send("do it\n").wait_for("an empty line to stop").wait_for_prompt().send("\x04");
    assert_eq!(terminal.end(), 0);
    assert!(!sandbox.path("work/made.txt").exists());
}

#[test]
fn a_command_is_not_confirmed_by_a_line_from_before() {
    let sandbox = Sandbox::new([]);
    sandbox.write(
        "work/new/SKILL.md",
        "---\nname: tides\ndescription: Reads tables of tides.\n---\nOpen the table.\n",
    );
    let mut terminal = sandbox.start_behind_line(&["skills", "install", "new"]);
    terminal
        .send("go\ny\n")
        .wait_for("Not confirmed: a line was typed before")
        .wait_for("Nothing was installed.");
    assert_eq!(terminal.end(), 0);
    assert!(!sandbox.path("home/skills/tides").exists());
    let mut terminal = sandbox.start_with(80, 30, &["skills", "install", "new"]);
    terminal.wait_for("[y/N]").send("y\n").wait_for("Installed 1 skill.");
    assert!(sandbox.path("home/skills/tides").exists());
}
