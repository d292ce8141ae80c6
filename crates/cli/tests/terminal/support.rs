//! The program in a terminal of its own, with a provider to talk to, seen as a person sees it.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use longhaul_testkit::fake_provider::{FakeProvider, Reply, gemini};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use serde_json::{Value, json};

/// Whoever waits longer than this has seen a fault.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder to work in, a home beside it, and a provider.
pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
    pub(crate) server: FakeProvider,
    variables: Vec<(String, String)>,
}

impl Sandbox {
    pub(crate) fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("work")).expect("made");
        fs::create_dir_all(folder.path().join("home")).expect("made");
        let server = FakeProvider::start(replies);
        let variables = vec![
            ("GEMINI_API_KEY".to_string(), "a-key".to_string()),
            ("GOOGLE_GEMINI_BASE_URL".to_string(), server.url()),
            ("GEMINI_CLI_TRUST_WORKSPACE".to_string(), "true".to_string()),
            ("NO_COLOR".to_string(), "1".to_string()),
            ("TERM".to_string(), "xterm-256color".to_string()),
        ];
        let sandbox = Self { folder, server, variables };
        // Snapshots without a model, so that replies stay for the conversation.
        sandbox.write("home/settings.json", r#"{"longhaul": {"compaction": {"summariser": "offline"}}}"#);
        sandbox
    }

    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.into(), value.into()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.variables.retain(|(known, _)| known != name);
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().expect("it is in a folder")).expect("made");
        fs::write(self.path(name), text).expect("written");
    }

    /// What all sessions say.
    pub(crate) fn sessions(&self) -> String {
        let is_session = |path: &PathBuf| path.extension().is_some_and(|end| end == "jsonl");
        let files = longhaul_testkit::files_below(&self.path("home")).into_iter().filter(is_session);
        files.filter_map(|file| fs::read_to_string(file).ok()).collect()
    }

    /// Starts the program in a terminal of 80 columns.
    pub(crate) fn start(&self) -> Terminal {
        self.start_with(80, 30, &["-m", "gemini-2.5-flash"])
    }

    /// Starts the program so that a limit to the size of files makes writing fail rather than end it.
    #[cfg(target_os = "linux")]
    pub(crate) fn start_without_size_signal(&self) -> Terminal {
        let mut command = CommandBuilder::new("sh");
        command.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_longhaul")]);
        command.args(["-m", "gemini-2.5-flash"]);
        self.start_command(command, "work", 160, 60)
    }

    /// Starts it in another folder.
    pub(crate) fn start_in(&self, folder: &str) -> Terminal {
        self.start_at(folder, 80, 30, &["-m", "gemini-2.5-flash"])
    }

    pub(crate) fn start_with(&self, width: u16, height: u16, arguments: &[&str]) -> Terminal {
        self.start_at("work", width, height, arguments)
    }

    /// Starts it as soon as a line was typed, behind which more may have been typed by then.
    pub(crate) fn start_behind_line(&self, arguments: &[&str]) -> Terminal {
        let mut command = CommandBuilder::new("sh");
        command.args(["-c", "read line; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_longhaul")]);
        command.args(arguments);
        self.start_command(command, "work", 80, 30)
    }

    fn start_at(&self, folder: &str, width: u16, height: u16, arguments: &[&str]) -> Terminal {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_longhaul"));
        command.args(arguments);
        self.start_command(command, folder, width, height)
    }

    fn start_command(&self, mut command: CommandBuilder, folder: &str, width: u16, height: u16) -> Terminal {
        command.cwd(self.path(folder));
        command.env_clear();
        command.env("LONGHAUL_HOME", self.path("home"));
        command.env("HOME", self.path("home"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        Terminal::start(command, width, height)
    }

    /// The texts of the latest request.
    pub(crate) fn last_request(&self) -> String {
        self.server.requests().last().map(|request| request.body.to_string()).unwrap_or_default()
    }
}

/// A terminal in which something runs.
pub(crate) struct Terminal {
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    writer: Box<dyn Write + Send>,
    seen: Arc<(Mutex<Seen>, Condvar)>,
}

/// What is seen of it.
struct Seen {
    parser: vt100::Parser,
    /// Everything that was ever written.
    bytes: Vec<u8>,
    is_over: bool,
}

impl Terminal {
    fn start(command: CommandBuilder, width: u16, height: u16) -> Self {
        let size = PtySize { rows: height, cols: width, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a terminal");
        let child = pair.slave.spawn_command(command).expect("it starts");
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().expect("a reader");
        let writer = pair.master.take_writer().expect("a writer");
        let parser = vt100::Parser::new(height, width, 2_000);
        let seen = Arc::new((Mutex::new(Seen { parser, bytes: Vec::new(), is_over: false }), Condvar::new()));
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            loop {
                let count = reader.read(&mut buffer).unwrap_or(0);
                let mut seen = shared.0.lock().expect("nobody panics here");
                seen.parser.process(&buffer[..count]);
                seen.bytes.extend(&buffer[..count]);
                seen.is_over |= count == 0;
                shared.1.notify_all();
                if count == 0 {
                    break;
                }
            }
        });
        Self { master: pair.master, child, writer, seen }
    }

    pub(crate) fn send(&mut self, text: &str) -> &mut Self {
        self.writer.write_all(text.as_bytes()).expect("it reads");
        self.writer.flush().expect("it reads");
        self
    }

    /// Types a line and waits until it is seen before it is sent.
    #[track_caller]
    pub(crate) fn enter(&mut self, text: &str) -> &mut Self {
        self.send(text);
        let end: String = text.chars().rev().take(12).collect::<Vec<_>>().into_iter().rev().collect();
        self.wait_for(end.trim());
        self.send("\r")
    }

    /// Waits until a line is asked for, where lines are.
    #[track_caller]
    pub(crate) fn wait_for_prompt(&mut self) -> &mut Self {
        self.wait_until("a prompt", |screen| screen.trim_end().ends_with("\n>"))
    }

    /// Answers a question about a call, once keys answer it.
    #[track_caller]
    pub(crate) fn answer(&mut self, key: &str) -> &mut Self {
        self.wait_for("press a letter").send(key)
    }

    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) -> &mut Self {
        self.wait_until(text, |screen| screen.contains(text))
    }

    #[track_caller]
    pub(crate) fn wait_gone(&mut self, text: &str) -> &mut Self {
        self.wait_until(&format!("no {text}"), |screen| !screen.contains(text))
    }

    /// Waits until the screen shows what is wanted.
    #[track_caller]
    pub(crate) fn wait_until(&mut self, what: &str, is_there: impl Fn(&str) -> bool) -> &mut Self {
        let until = Instant::now() + PATIENCE;
        let mut seen = self.lock();
        while !is_there(&seen.parser.screen().contents()) {
            let left = until.saturating_duration_since(Instant::now());
            let shown = seen.parser.screen().contents();
            assert!(!left.is_zero() && !seen.is_over, "no {what:?} in:\n{shown}");
            seen = self.seen.1.wait_timeout(seen, left).expect("nobody panics here").0;
        }
        drop(seen);
        self
    }

    /// The text of the screen.
    pub(crate) fn text(&self) -> String {
        self.lock().parser.screen().contents()
    }

    /// The rows of the screen.
    pub(crate) fn rows(&self) -> Vec<String> {
        let seen = self.lock();
        let (_, width) = seen.parser.screen().size();
        seen.parser.screen().rows(0, width).map(|row| row.trim_end().to_string()).collect()
    }

    /// Everything that was ever written.
    pub(crate) fn written(&self) -> String {
        String::from_utf8_lossy(&self.lock().bytes).into_owned()
    }

    pub(crate) fn resize(&mut self, width: u16, height: u16) -> &mut Self {
        self.lock().parser.screen_mut().set_size(height, width);
        let size = PtySize { rows: height, cols: width, pixel_width: 0, pixel_height: 0 };
        self.master.resize(size).expect("resized");
        self
    }

    #[cfg(unix)]
    pub(crate) fn kill(&mut self, signal: rustix::process::Signal) -> &mut Self {
        rustix::process::kill_process(self.process(), signal).expect("it is there");
        self
    }

    #[cfg(unix)]
    fn process(&self) -> rustix::process::Pid {
        let id = self.child.process_id().expect("it runs");
        rustix::process::Pid::from_raw(i32::try_from(id).expect("a small number")).expect("not zero")
    }

    /// Lets no file of the program grow beyond so many bytes from now on, or any again.
    #[cfg(target_os = "linux")]
    pub(crate) fn limit_files(&mut self, bytes: Option<u64>) -> &mut Self {
        use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
        let maximum = getrlimit(Resource::Fsize).maximum;
        let limit = Rlimit { current: bytes.or(maximum), maximum };
        prlimit(Some(self.process()), Resource::Fsize, limit).expect("it is ours");
        self
    }

    /// Waits for the end; tells the exit code and checks that the terminal is as it was.
    #[track_caller]
    pub(crate) fn end(&mut self) -> u32 {
        let until = Instant::now() + PATIENCE;
        let mut seen = self.lock();
        while !seen.is_over {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "it does not end:\n{}", seen.parser.screen().contents());
            seen = self.seen.1.wait_timeout(seen, left).expect("nobody panics here").0;
        }
        assert!(!seen.parser.screen().hide_cursor(), "the cursor is gone");
        assert!(!seen.parser.screen().bracketed_paste(), "pastes are still marked");
        drop(seen);
        self.child.wait().expect("it ends").exit_code()
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.0.lock().expect("nobody panics here")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A test that fails leaves nothing behind.
        self.child.kill().ok();
    }
}

/// A model that calls a tool.
pub(crate) fn call(name: &str, args: &Value) -> Reply {
    gemini::parts(&[json!({"functionCall": {"id": "c1", "name": name, "args": args}})])
}
