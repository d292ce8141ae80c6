//! A folder in which the program is run as a user would, and sessions to run it on.
#![allow(dead_code, reason = "each test uses some of it")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

/// A folder with a copy of the fixture as `in.jsonl`.
pub(crate) struct Sandbox(tempfile::TempDir);

impl Sandbox {
    pub(crate) fn new() -> Self {
        let sandbox = Self(tempfile::tempdir().expect("a folder"));
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/interrupted-session.jsonl");
        fs::copy(fixture, sandbox.path("in.jsonl")).expect("copied");
        sandbox
    }

    /// The same with a file more.
    pub(crate) fn with(self, name: &str, text: &str) -> Self {
        fs::create_dir_all(self.path(name).parent().expect("it is in a folder")).expect("made");
        fs::write(self.path(name), text).expect("written");
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("it is there")
    }

    /// The folder of private memory.
    pub(crate) fn private(&self) -> PathBuf {
        let project =
            fs::read_dir(self.path("home/tmp")).expect("projects").flatten().next().expect("a project");
        project.path().join("memory")
    }

    pub(crate) fn read_private(&self) -> String {
        fs::read_to_string(self.private().join("GEMINI.md")).expect("private memory")
    }

    /// The files that are there, with those in folders, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let files = longhaul_testkit::files_below(self.0.path());
        let inside = files.iter().filter_map(|file| file.strip_prefix(self.0.path()).ok());
        inside.map(|file| file.display().to_string()).collect()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longhaul"));
        command.args(arguments).current_dir(self.0.path()).env("NO_COLOR", "1").stdin(Stdio::null());
        command.env("LONGHAUL_HOME", self.path("home"));
        // Other agents' sessions are looked for in the user's folder, and where these say.
        command.env("HOME", self.path("user"));
        for key in ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCODE_DB", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
            command.env_remove(key);
        }
        for key in ["GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"] {
            command.env_remove(key);
        }
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("it runs")
    }

    /// A run in which these variables have other values; an empty one is not set.
    pub(crate) fn run_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
        let mut command = self.command(arguments);
        for (name, value) in variables {
            match *value {
                "" => command.env_remove(name),
                value => command.env(name, value),
            };
        }
        command.output().expect("it runs")
    }

    pub(crate) fn feed(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        child.stdin.take().expect("piped").write_all(input).expect("it reads");
        child.wait_with_output().expect("it ends")
    }

    /// What a run that succeeds prints.
    #[track_caller]
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// The object that a run that succeeds prints.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.done(arguments)).expect("one object")
    }

    /// A run that fails, changes nothing, and says why.
    #[track_caller]
    pub(crate) fn check_refused(&self, arguments: &[&str], code: i32, reasons: &[&str]) {
        // Whoever looks closer may take a lock, whose file means nothing.
        let names = || self.names().into_iter().filter(|name| !name.ends_with(".lock")).collect::<Vec<_>>();
        let before = names();
        let output = self.run(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.starts_with("error:"), "{said}");
        for reason in reasons {
            assert!(said.contains(reason), "no {reason:?} in {said}");
        }
        assert_eq!(names(), before);
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[track_caller]
pub(crate) fn check_has(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "no {word:?} in:\n{text}");
    }
}

#[track_caller]
pub(crate) fn keys(object: &Value) -> Vec<&str> {
    object.as_object().expect("an object").keys().map(String::as_str).collect()
}

/// A rule that a user gives in the first message of [`long_session`].
pub(crate) const RULE: &str = "Never touch the files under vendor/.";

/// A Gemini request of so many turns: the user asks, the model reads a file of about 700 tokens and answers.
pub(crate) fn long_session(turns: usize) -> String {
    let mut contents = Vec::new();
    for turn in 0..turns {
        let rule = if turn == 0 { format!(" {RULE}") } else { String::new() };
        let asked = format!("Please look at module_{turn} and fix what is broken in it.{rule}");
        let path = format!("src/module_{turn}/handler_{turn}.rs");
        let lines: Vec<String> = (0..60)
            .map(|line| format!("pub fn handle_{turn}_{line}(request: Request) -> Result<u32, ParseError>"))
            .collect();
        contents.push(json!({"role": "user", "parts": [{"text": asked}]}));
        let call = json!({"id": format!("c{turn}"), "name": "read_file", "args": {"path": path}});
        contents.push(json!({"role": "model", "parts": [{"functionCall": call}]}));
        let response =
            json!({"id": format!("c{turn}"), "name": "read_file", "response": {"output": lines.join("\n")}});
        contents.push(json!({"role": "user", "parts": [{"functionResponse": response}]}));
        let answer = format!("The timeout in {path} was {}00 ms; it is fixed now.", turn + 1);
        contents.push(json!({"role": "model", "parts": [{"text": answer}]}));
    }
    json!({"contents": contents}).to_string()
}
