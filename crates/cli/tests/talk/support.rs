//! A folder to talk in, and a provider to talk to.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use longhaul_testkit::fake_provider::{FakeProvider, Reply, anthropic, gemini, openai};
use serde_json::Value;

/// The key that must be nowhere but in the header that carries it.
pub(crate) const KEY: &str = "sk-very-secret-key-0123456789";

/// How a provider wants to be spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Gemini,
    OpenAi,
    Anthropic,
}

impl Wire {
    pub(crate) const ALL: [Self; 3] = [Self::Gemini, Self::OpenAi, Self::Anthropic];

    pub(crate) fn model(self) -> &'static str {
        match self {
            Self::Gemini => "gemini-2.5-flash",
            Self::OpenAi => "gpt-4o",
            Self::Anthropic => "claude-opus-4-5",
        }
    }

    pub(crate) fn texts(self, pieces: &[&str]) -> Reply {
        match self {
            Self::Gemini => gemini::texts(pieces),
            Self::OpenAi => openai::texts(pieces),
            Self::Anthropic => anthropic::texts(pieces),
        }
    }

    /// What was said in a request, in order, surroundings left out.
    pub(crate) fn said(self, body: &Value) -> Vec<String> {
        let messages = match self {
            Self::Gemini => &body["contents"],
            Self::OpenAi | Self::Anthropic => &body["messages"],
        };
        let mut said = Vec::new();
        for message in messages.as_array().expect("messages") {
            if message["role"] == "system" {
                continue;
            }
            let content = match self {
                Self::Gemini => &message["parts"],
                _ => &message["content"],
            };
            match content {
                Value::String(text) => said.push(text.clone()),
                parts => {
                    let texts = parts.as_array().expect("parts").iter();
                    said.extend(texts.filter_map(|part| part["text"].as_str()).map(str::to_string));
                }
            }
        }
        let (context, rest) = said.split_first().expect("something was said");
        assert!(context.starts_with("<session_context>"), "{context}");
        // Some formats put neighbouring texts of one side into one.
        match context.split_once("</session_context>") {
            Some((_, joined)) if !joined.trim().is_empty() => [&[joined.trim().to_string()], rest].concat(),
            _ => rest.to_vec(),
        }
    }
}

/// A folder of a user's, with a home beside it, and a provider.
pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
    pub(crate) server: FakeProvider,
    pub(crate) wire: Wire,
    variables: Vec<(String, String)>,
}

impl Sandbox {
    pub(crate) fn new(wire: Wire, replies: impl IntoIterator<Item = Reply>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("work")).expect("made");
        fs::create_dir_all(folder.path().join("home")).expect("made");
        let server = FakeProvider::start(replies);
        let mut sandbox = Self { folder, server, wire, variables: Vec::new() };
        for name in ["GEMINI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"] {
            sandbox.set(name, KEY);
        }
        let url = sandbox.server.url();
        sandbox.set("GOOGLE_GEMINI_BASE_URL", &url);
        sandbox.set("OPENAI_BASE_URL", &format!("{url}/v1"));
        sandbox.set("ANTHROPIC_BASE_URL", &url);
        sandbox
    }

    /// A sandbox with a provider of Gemini's kind.
    pub(crate) fn gemini(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::new(Wire::Gemini, replies)
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.into(), value.into()));
    }

    pub(crate) fn unset(&mut self, name: &str) {
        self.variables.retain(|(known, _)| known != name);
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().expect("it is in a folder")).expect("made");
        fs::write(self.path(name), text).expect("written");
    }

    /// The user's settings.
    pub(crate) fn settings(&self, text: &str) {
        self.write("home/settings.json", text);
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longhaul"));
        command.args(arguments).current_dir(self.path("work"));
        command.env_clear().env("NO_COLOR", "1").env("LONGHAUL_HOME", self.path("home"));
        command.env("HOME", self.path("home")).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let output = self.command(arguments).output().expect("it runs");
        self.check_no_key(&output);
        output
    }

    pub(crate) fn feed(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().expect("it runs");
        child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("it reads");
        child.wait_with_output().expect("it ends")
    }

    /// Says something to the sandbox's own model.
    pub(crate) fn say(&self, arguments: &[&str]) -> Output {
        self.run(&[&["-m", self.wire.model()], arguments].concat())
    }

    /// What a run that succeeds prints.
    #[track_caller]
    pub(crate) fn answer(&self, arguments: &[&str]) -> String {
        let output = self.say(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// A run that fails and says why.
    #[track_caller]
    pub(crate) fn check_fails(&self, arguments: &[&str], reasons: &[&str]) {
        let output = self.say(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for reason in reasons {
            assert!(said.contains(reason), "no {reason:?} in {said}");
        }
        assert!(said.lines().any(|line| line.starts_with("error:")), "{said}");
        assert!(said.lines().any(|line| line.starts_with("hint:")), "{said}");
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.command(&[&["-m", self.wire.model()], arguments].concat()).spawn().expect("it runs")
    }

    /// The files of sessions.
    pub(crate) fn sessions(&self) -> Vec<PathBuf> {
        let is_session = |path: &PathBuf| path.extension().is_some_and(|end| end == "jsonl");
        longhaul_testkit::files_below(&self.path("home")).into_iter().filter(is_session).collect()
    }

    /// The text of the only session.
    #[track_caller]
    pub(crate) fn session(&self) -> String {
        let [only] = self.sessions().try_into().expect("one session");
        fs::read_to_string(only).expect("it is text")
    }

    /// What was said in the latest request.
    #[track_caller]
    pub(crate) fn last_said(&self) -> Vec<String> {
        self.wire.said(&self.server.requests().last().expect("a request").body)
    }

    /// The key stands in the header of requests and nowhere else.
    #[track_caller]
    pub(crate) fn check_no_key(&self, output: &Output) {
        for bytes in [&output.stdout, &output.stderr] {
            assert!(!text(bytes).contains(KEY), "{}", text(bytes));
        }
        for file in longhaul_testkit::files_below(self.folder.path()) {
            check_without_key(&file);
        }
    }
}

#[track_caller]
fn check_without_key(file: &Path) {
    let bytes = fs::read(file).expect("it can be read");
    assert!(!String::from_utf8_lossy(&bytes).contains(KEY), "{}", file.display());
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The lines of a stream of JSON.
#[track_caller]
pub(crate) fn lines(stdout: &str) -> Vec<Value> {
    stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

pub(crate) fn types(lines: &[Value]) -> Vec<&str> {
    lines.iter().filter_map(|line| line["type"].as_str()).collect()
}

/// Words that are all different.
pub(crate) fn words(count: usize) -> String {
    (0..count).map(|number| format!("word{number:04} ")).collect()
}
