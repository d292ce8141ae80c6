//! Drives `longhaul sessions` as a user would.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const FORMATS: [(&str, &str); 6] = [
    ("gemini", "gemini-contents"),
    ("openai", "openai-chat"),
    ("anthropic", "anthropic"),
    ("neutral", "neutral"),
    ("gemini-jsonl", "gemini-jsonl"),
    ("claude-code", "claude-code"),
];

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/interrupted-session.jsonl")
}

/// A folder with a copy of the fixture as `in.jsonl`, in which the program is run.
struct Sandbox(tempfile::TempDir);

impl Sandbox {
    fn new() -> Self {
        let sandbox = Self(tempfile::tempdir().expect("a folder"));
        fs::copy(fixture(), sandbox.path("in.jsonl")).expect("copied");
        sandbox
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longhaul"));
        command.args(arguments).current_dir(self.0.path()).env("NO_COLOR", "1");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("it runs")
    }

    fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let mut stdin = child.stdin.take().expect("piped");
        stdin.write_all(input).expect("it reads");
        drop(stdin);
        child.wait_with_output().expect("it ends")
    }

    /// What a run that succeeds prints.
    #[track_caller]
    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.done(arguments)).expect("one object")
    }

    #[track_caller]
    fn check_refused(&self, arguments: &[&str], code: i32, reasons: &[&str]) {
        let before = self.names();
        let output = self.run(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        for reason in reasons {
            assert!(said.contains(reason), "{reason:?} is not in {said}");
        }
        assert_eq!(fs::read(self.path("in.jsonl")).ok(), fs::read(fixture()).ok());
        assert_eq!(self.names(), before);
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("a folder").flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn an_interrupted_session_is_repaired() {
    let sandbox = Sandbox::new();
    let faults = sandbox.json(&["inspect", "--json", "in.jsonl"])["faults"].clone();
    let faults = faults.as_array().expect("a list");
    assert!(!faults.is_empty());
    let said = sandbox.done(&["sessions", "repair", "in.jsonl", "-o", "out.jsonl"]);
    for fault in faults {
        let mark = fault["message"].as_str().expect("a mark");
        assert!(said.lines().any(|line| line.starts_with(&format!("{mark}: "))), "{mark} is not in {said}");
    }
    assert!(said.contains("filled in with a \"no result\" marker"), "{said}");
    assert!(!said.contains("cannot hold"), "{said}");
    let summary = said.lines().last().expect("a summary");
    assert!(summary.starts_with(&format!("{} repair", faults.len())), "{summary}");
    assert!(summary.contains("out.jsonl as Claude Code session"), "{summary}");
    let after = sandbox.json(&["inspect", "--json", "out.jsonl"]);
    assert_eq!(after["format"], "claude-code");
    assert_eq!(after["faults"], Value::Array(Vec::new()));
    let before = sandbox.json(&["inspect", "--json", "in.jsonl"]);
    for key in ["calls", "title", "session_id", "models", "directory", "side_chains"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    let again = sandbox.done(&["sessions", "repair", "out.jsonl", "-o", "copy.jsonl"]);
    assert!(again.starts_with("Nothing to repair; wrote "), "{again}");
    assert_eq!(fs::read(sandbox.path("copy.jsonl")).ok(), fs::read(sandbox.path("out.jsonl")).ok());
}

#[test]
fn a_repair_can_change_the_format() {
    for (name, format) in FORMATS {
        let sandbox = Sandbox::new();
        sandbox.done(&["sessions", "repair", "in.jsonl", "-o", "out", "--format", name]);
        let after = sandbox.json(&["inspect", "--json", "out"]);
        assert_eq!(
            (after["format"].as_str(), after["faults"].as_array().map(Vec::len)),
            (Some(format), Some(0))
        );
    }
}

#[test]
fn a_session_is_imported_once_unless_asked_again() {
    let sandbox = Sandbox::new();
    let import = |arguments: &[&str]| sandbox.run(&[&["sessions", "import", "in.jsonl"], arguments].concat());
    assert!(import(&[]).status.success());
    let again = import(&[]);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("has it already") && text(&again.stderr).contains("--again"));
    assert!(import(&["--again"]).status.success());
    assert_eq!(sandbox.json(&["sessions", "--json"])["sessions"].as_array().map(Vec::len), Some(2));
}

#[test]
fn the_repairs_can_be_read_by_machines() {
    let sandbox = Sandbox::new();
    let report = sandbox.json(&["sessions", "repair", "in.jsonl", "--json"]);
    assert_eq!(report["schema"], 1);
    assert_eq!(report["written"], Value::Null);
    assert_eq!(report["target"], "claude-code");
    let repairs = report["repairs"].as_array().expect("a list");
    let kinds: Vec<&str> = repairs.iter().filter_map(|repair| repair["kind"].as_str()).collect();
    let faults = sandbox.json(&["inspect", "--json", "in.jsonl"])["faults"].clone();
    let found: Vec<&str> =
        faults.as_array().expect("a list").iter().filter_map(|fault| fault["kind"].as_str()).collect();
    assert_eq!(kinds, found);
    assert_eq!(sandbox.names(), ["in.jsonl"]);
}

#[test]
fn without_a_destination_nothing_is_written() {
    let sandbox = Sandbox::new();
    let said = sandbox.done(&["sessions", "repair", "in.jsonl"]);
    assert!(said.contains("nothing written; pass -o OUT"), "{said}");
    let said = sandbox.done(&["sessions", "export", "in.jsonl", "--format", "openai"]);
    assert!(said.contains("nothing written; pass -o OUT"), "{said}");
    assert_eq!(sandbox.names(), ["in.jsonl"]);
}

#[test]
fn the_result_alone_goes_to_standard_output() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["sessions", "repair", "in.jsonl", "-o", "-"][..],
        &["sessions", "export", "in.jsonl", "-o", "-", "--format", "neutral"],
    ] {
        let output = sandbox.run(arguments);
        assert!(output.status.success());
        let read = sandbox.run_with_input(&["inspect", "--json", "-"], &output.stdout);
        assert!(read.status.success(), "{}", text(&read.stderr));
        let said = text(&output.stderr);
        assert!(said.contains("wrote it to standard output"), "{said}");
    }
}

#[test]
fn standard_input_is_read() {
    let sandbox = Sandbox::new();
    let input = fs::read(fixture()).expect("the fixture");
    let output = sandbox.run_with_input(&["sessions", "repair", "-", "-o", "out.jsonl"], &input);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let from_file = sandbox.done(&["sessions", "repair", "in.jsonl", "-o", "-"]);
    assert_eq!(fs::read_to_string(sandbox.path("out.jsonl")).ok(), Some(from_file));
}

#[test]
fn every_format_can_be_exported_and_read() {
    let sandbox = Sandbox::new();
    sandbox.done(&["sessions", "repair", "in.jsonl", "-o", "whole.jsonl"]);
    let whole = sandbox.json(&["inspect", "--json", "whole.jsonl"]);
    for (name, format) in FORMATS {
        let out = format!("{name}.out");
        let report =
            sandbox.json(&["sessions", "export", "whole.jsonl", "--format", name, "-o", &out, "--json"]);
        assert_eq!(report["target"], format);
        let after = sandbox.json(&["inspect", "--json", &out]);
        assert_eq!(after["format"], format);
        assert_eq!(after["faults"], Value::Array(Vec::new()), "{name}");
        for key in ["calls", "results"] {
            assert_eq!(after[key], whole[key], "{name}: {key}");
        }
    }
}

#[test]
fn what_a_format_cannot_hold_is_told_aside() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["sessions", "export", "in.jsonl", "--format", "gemini", "-o", "out.json"]);
    let said = text(&output.stderr);
    assert!(
        said.contains("this format cannot hold:") && said.contains("× signature from another vendor: m"),
        "{said}"
    );
    assert!(text(&output.stdout).contains("out.json as Gemini contents"));
    let output =
        sandbox.run(&["sessions", "export", "in.jsonl", "--format", "claude-code", "-o", "same.jsonl"]);
    assert!(!text(&output.stderr).contains("cannot hold"), "{}", text(&output.stderr));
}

#[test]
fn nothing_is_overwritten_by_accident() {
    let sandbox = Sandbox::new();
    let to = |out: &'static str| ["sessions", "repair", "in.jsonl", "-o", out];
    sandbox.check_refused(&to("in.jsonl"), 1, &["is the input file, which is never overwritten", "hint: "]);
    sandbox.check_refused(
        &["sessions", "repair", "in.jsonl", "-o", "./in.jsonl", "--force"],
        1,
        &["never overwritten"],
    );
    fs::write(sandbox.path("mine.txt"), "mine").expect("written");
    sandbox.check_refused(&to("mine.txt"), 1, &["mine.txt already exists", "--force"]);
    assert_eq!(fs::read_to_string(sandbox.path("mine.txt")).ok().as_deref(), Some("mine"));
    sandbox.done(&["sessions", "repair", "in.jsonl", "-o", "mine.txt", "--force"]);
    assert_eq!(sandbox.json(&["inspect", "--json", "mine.txt"])["faults"], Value::Array(Vec::new()));
}

#[cfg(unix)]
#[test]
fn the_input_is_recognised_behind_standard_input() {
    let sandbox = Sandbox::new();
    let file = fs::File::open(sandbox.path("in.jsonl")).expect("the copy");
    let mut command = sandbox.command(&["sessions", "repair", "-", "-o", "in.jsonl", "--force"]);
    let output = command.stdin(file).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("never overwritten"), "{}", text(&output.stderr));
    assert_eq!(fs::read(sandbox.path("in.jsonl")).ok(), fs::read(fixture()).ok());
}

#[test]
fn wrong_input_and_usage_are_told() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("empty"), "").expect("written");
    fs::write(sandbox.path("broken"), r#"{"contents": [{"role"#).expect("written");
    fs::write(sandbox.path("other"), r#"{"a": 1}"#).expect("written");
    for (file, reason) in [
        ("missing", "no file or session named missing"),
        ("empty", "the input is empty"),
        ("broken", "malformed"),
        ("other", "unknown session format"),
    ] {
        sandbox.check_refused(&["sessions", "repair", file, "-o", "out"], 1, &["error: ", reason]);
        sandbox.check_refused(
            &["sessions", "export", file, "-o", "out", "--format", "openai"],
            1,
            &["error: ", reason],
        );
    }
    sandbox.check_refused(&["sessions", "export", "in.jsonl"], 2, &["--format"]);
    sandbox.check_refused(&["sessions", "export", "in.jsonl", "--format", "docx"], 2, &["docx", "neutral"]);
    sandbox.check_refused(&["sessions", "mend"], 2, &["mend"]);
}

#[test]
fn what_the_reader_stumbled_over_is_told() {
    let sandbox = Sandbox::new();
    let mut torn = fs::read(fixture()).expect("the fixture");
    torn.extend_from_slice(b"{\"type\": \"user\", \"message\": {\"role\"");
    fs::write(sandbox.path("torn.jsonl"), torn).expect("written");
    let said = sandbox.done(&["sessions", "repair", "torn.jsonl"]);
    assert!(said.contains("while reading:") && said.contains("  line "), "{said}");
    let report = sandbox.json(&["sessions", "repair", "torn.jsonl", "--json"]);
    assert!(report["warning_count"].as_u64() > Some(0));
}

#[test]
fn text_from_a_session_cannot_touch_the_terminal() {
    let sandbox = Sandbox::new();
    let session =
        r#"[{"role":"model","parts":[{"functionCall":{"id":"c\u001b[31m","name":"ls","args":{}}}]}]"#;
    fs::write(sandbox.path("odd.json"), session).expect("written");
    let said = sandbox.done(&["sessions", "repair", "odd.json"]);
    assert!(said.contains("␛[31m") && !said.contains('\x1b'), "{said}");
}
