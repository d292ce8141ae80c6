//! What cannot be recorded is not sent: full disks, and places that cannot be written.

use std::fs;
use std::path::Path;
use std::process::Output;

use longhaul_testkit::fake_provider::gemini;
use serde_json::Value;

use crate::support::{Sandbox, text, words};

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::gemini((0..9).map(|turn| gemini::text(&format!("Answer {turn}."))));
    sandbox.answer(&["-p", "first words"]);
    sandbox
}

/// The turn is refused before anything is sent, and nothing is recorded.
#[track_caller]
fn check_refused(sandbox: &Sandbox, arguments: &[&str]) {
    let recorded = || -> Vec<_> {
        sandbox.sessions().into_iter().map(|path| fs::read_to_string(path).expect("it is text")).collect()
    };
    let (before, sent) = (recorded(), sandbox.server.requests().len());
    sandbox.check_fails(arguments, &["error: could not ", "recorded: free some disk space"]);
    assert_eq!((recorded(), sandbox.server.requests().len()), (before, sent));
}

/// Puts a file where a folder should be, or a folder where a file should be: that stops everybody.
fn block(path: &Path) {
    if path.exists() {
        fs::rename(path, path.with_extension("aside")).expect("moved");
    }
    match path.extension() {
        Some(_) => fs::create_dir(path).expect("made"),
        None => fs::write(path, "").expect("written"),
    }
}

#[test]
fn where_no_session_can_be_begun_nothing_is_sent() {
    let sandbox = sandbox();
    block(&sandbox.path("home/tmp/work/chats"));
    check_refused(&sandbox, &["-p", "hi"]);
    let output = sandbox.say(&["-p", "hi", "--output-format", "json"]);
    let result: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert_eq!((output.status.code(), &result["status"]), (Some(1), &"failed".into()), "{result}");
    assert!(result["error"]["hint"].as_str().is_some_and(|hint| hint.contains("LONGHAUL_HOME")), "{result}");
}

#[test]
fn a_session_that_cannot_be_locked_goes_on_in_a_copy_alone() {
    let sandbox = sandbox();
    let [session] = sandbox.sessions().try_into().expect("one session");
    let name = session.file_name().expect("it has one").to_string_lossy().into_owned();
    block(&session.with_file_name(format!(".{name}.lock")));
    check_refused(&sandbox, &["-p", "second words", "--resume"]);
    let refused = sandbox.run(&["sessions", "undo", "latest"]);
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stderr));
    assert_eq!(sandbox.answer(&["-p", "second words", "--resume", "--fork"]), "Answer 1.\n");
    assert_eq!(sandbox.last_said(), ["first words", "Answer 0.", "second words"]);
}

#[test]
fn sessions_of_other_programs_are_not_sent_unrecorded() {
    let sandbox = sandbox();
    sandbox.write("work/other.json", r#"{"contents":[{"role":"user","parts":[{"text":"foreign words"}]},{"role":"model","parts":[{"text":"Yes."}]}]}"#);
    block(&sandbox.path("home/tmp/work/chats"));
    check_refused(&sandbox, &["-p", "hi", "--resume", "other.json"]);
    let refused = text(&sandbox.run(&["sessions", "import", "other.json"]).stderr);
    assert!(refused.starts_with("error:") && refused.contains("chats"), "{refused}");
}

/// Takes the right to write from everything, for as long as this lives.
#[cfg(unix)]
struct ReadOnly<'a>(&'a Sandbox);

#[cfg(unix)]
impl<'a> ReadOnly<'a> {
    /// Nothing where modes do not bind, as for the superuser.
    fn home_of(sandbox: &'a Sandbox) -> Option<Self> {
        let read_only = Self(sandbox);
        read_only.set(0o500, 0o400);
        let probe = sandbox.path("home/probe");
        match fs::write(&probe, "") {
            Ok(()) => {
                fs::remove_file(probe).expect("it was just made");
                println!("skipped: modes do not bind this user");
                None
            }
            Err(_) => Some(read_only),
        }
    }

    fn set(&self, folder: u32, file: u32) {
        let home = self.0.path("home");
        let files = longhaul_testkit::files_below(&home);
        let parents = files.iter().flat_map(|file| file.ancestors().skip(1));
        let mut folders: Vec<&Path> = parents.filter(|folder| folder.starts_with(&home)).collect();
        folders.sort();
        folders.dedup();
        for (path, mode) in folders
            .into_iter()
            .map(|path| (path, folder))
            .chain(files.iter().map(|path| (path.as_path(), file)))
        {
            fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
                .expect("it is ours");
        }
    }
}

#[cfg(unix)]
impl Drop for ReadOnly<'_> {
    fn drop(&mut self) {
        self.set(0o700, 0o600);
    }
}

#[cfg(unix)]
#[test]
fn a_home_that_cannot_be_written_can_still_be_read() {
    let sandbox = sandbox();
    let Some(_read_only) = ReadOnly::home_of(&sandbox) else { return };
    check_refused(&sandbox, &["-p", "hi"]);
    check_refused(&sandbox, &["-p", "hi", "--resume"]);
    check_refused(&sandbox, &["-p", "hi", "--resume", "--fork"]);
    let quiet = |output: Output| {
        assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert!(quiet(sandbox.run(&["sessions", "list"])).contains("first words"));
    assert!(quiet(sandbox.run(&["sessions", "show", "latest"])).contains("first words"));
    assert!(quiet(sandbox.run(&["recall", "words"])).contains("first words"));
    assert!(quiet(sandbox.run(&["inspect", "latest"])).contains("3 messages"));
}

/// Runs with a limit to the size of files, in units of the shell: beyond it writing fails, as on a full disk.
#[cfg(unix)]
fn say_within(sandbox: &Sandbox, units: usize, arguments: &[&str]) -> Output {
    let script = r#"trap '' XFSZ; ulimit -f "$1"; shift; exec "$@""#;
    let plain = sandbox.command(&[&["-m", sandbox.wire.model()], arguments].concat());
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script, "sh", &units.to_string()]).arg(plain.get_program()).args(plain.get_args());
    command.current_dir(sandbox.path("work")).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(std::process::Stdio::null()).output().expect("it runs")
}

/// Everything that was said in requests, each text as it stands in JSON.
#[cfg(unix)]
fn sent(sandbox: &Sandbox) -> Vec<String> {
    let mut sent = Vec::new();
    for request in sandbox.server.requests() {
        let body = &request.body;
        let contents =
            body["contents"].as_array().expect("contents").iter().chain([&body["systemInstruction"]]);
        for part in contents.flat_map(|content| content["parts"].as_array().expect("parts")) {
            let texts = [&part["text"], &part["functionResponse"]["response"]["output"]];
            sent.extend(texts.iter().filter(|text| text.is_string()).map(|text| {
                let encoded = text.to_string();
                encoded[1..encoded.len() - 1].to_string()
            }));
        }
    }
    sent
}

/// What every session holds; no line of it is torn.
#[cfg(unix)]
#[track_caller]
fn whole_sessions(sandbox: &Sandbox) -> String {
    let texts = sandbox.sessions().into_iter().map(|path| fs::read_to_string(path).expect("it is text"));
    let recorded: String = texts.collect();
    assert!(recorded.is_empty() || recorded.ends_with('\n'), "{recorded}");
    for line in recorded.lines() {
        assert!(serde_json::from_str::<Value>(line).is_ok(), "torn: {line}");
    }
    recorded
}

#[cfg(unix)]
#[test]
fn wherever_the_disk_fills_the_turn_fails_and_can_go_on() {
    let mut stopped_after = [0; 3];
    for units in 0..500 {
        let note = words(200);
        let replies = [
            super::tools::call("read_file", serde_json::json!({"file_path": "note.txt"})),
            gemini::text(&format!("All is well. {}", words(150))),
            gemini::text("Gone on."),
            gemini::text("Gone on."),
        ];
        let sandbox = super::tools::trusted(crate::support::Wire::Gemini, replies);
        sandbox.write("work/note.txt", &note);
        let output = say_within(&sandbox, units, &["-p", "What does note.txt say?"]);
        let (recorded, said) = (whole_sessions(&sandbox), text(&output.stderr));
        for part in sent(&sandbox) {
            assert!(recorded.contains(&part), "{units}: sent and not recorded: {part}");
        }
        if output.status.success() {
            assert_eq!(sandbox.server.requests().len(), 2);
            println!("stopped before the first request, the second, and the end: {stopped_after:?}");
            assert!(stopped_after.iter().all(|times| *times > 0), "{stopped_after:?}");
            return;
        }
        assert_eq!(output.status.code(), Some(1), "{units}: {said}");
        assert!(said.lines().any(|line| line.starts_with("error: ")), "{said}");
        assert!(said.contains("caused by: File too large"), "{said}");
        assert!(
            said.lines().any(|line| line.starts_with("hint: ") && line.contains("free some disk space")),
            "{said}"
        );
        stopped_after[sandbox.server.requests().len()] += 1;
        // The answer that arrived is shown although it could not be recorded.
        assert_eq!(text(&output.stdout).contains("All is well."), sandbox.server.requests().len() == 2);
        // There is room again: the session goes on, and nothing of it is lost.
        let before = sandbox.server.requests().len();
        match sandbox.sessions().as_slice() {
            [] => {
                assert_eq!(before, 0);
                sandbox.answer(&["-p", "What does note.txt say?"]);
            }
            [session] => {
                sandbox.answer(&["-p", "Go on.", "--resume", session.to_str().expect("text")]);
                assert!(whole_sessions(&sandbox).starts_with(&recorded), "{units}: the log only grows");
                let requests = sandbox.server.requests();
                let first = requests[before].body.to_string();
                let had_words = recorded.contains("What does note.txt say?");
                assert_eq!(first.contains("What does note.txt say?"), had_words, "{units}: {first}");
            }
            several => panic!("{several:?}"),
        }
    }
    panic!("there is never enough room");
}

#[cfg(unix)]
#[test]
fn a_turn_that_could_not_be_recorded_is_told_as_json() {
    // The largest limit at which it fails: the answer has arrived and cannot be recorded.
    let run = |units: usize| {
        let sandbox = Sandbox::gemini([gemini::text(&format!("All is well. {}", words(150)))]);
        let output = say_within(&sandbox, units, &["-p", "hi", "--output-format", "json"]);
        (output, sandbox)
    };
    let units = (0..500).find(|units| run(*units).0.status.success()).expect("there is room at last");
    let (output, sandbox) = run(units - 1);
    let result: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert_eq!((output.status.code(), &result["status"]), (Some(1), &"failed".into()), "{result}");
    assert!(result["text"].as_str().is_some_and(|text| text.starts_with("All is well.")), "{result}");
    let (message, hint) = (&result["error"]["message"], &result["error"]["hint"]);
    assert!(
        message
            .as_str()
            .is_some_and(|text| text.starts_with("the turn stopped because it could not be recorded"))
    );
    let id = result["session_id"].as_str().expect("an id");
    assert!(hint.as_str().is_some_and(|text| text.ends_with(&format!("--resume {id}"))), "{hint}");
    assert_eq!(result["file"], sandbox.sessions()[0].to_str().expect("text"));
}
