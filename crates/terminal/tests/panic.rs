//! A panic restores the terminal before it is printed.
#![cfg(unix)]

use std::io::Read;

use longhaul_agent::{Agent, AgentDeps};
use longhaul_conversation::Usage;
use longhaul_terminal::{
    MemoryReply, MemoryRequest, Notice, NoticeSender, OpenedSession, Options, Page, Preferences, Services,
    SessionChoice, Spender, Surface,
};
use longhaul_tools::BoxFuture;
use portable_pty::{CommandBuilder, PtySize, native_pty_system};

/// Services that are never called, as no session starts.
enum Nobody {}

#[rustfmt::skip]
impl Services for Nobody {
    fn host(&self) -> AgentDeps<'_> { match *self {} }
    fn model(&self) -> String { match *self {} }
    fn models(&self) -> Vec<String> { match *self {} }
    fn switch_model(&mut self, _: &mut Agent, _: &str) -> Result<Vec<Notice>, Notice> { match *self {} }
    fn cost(&self, _: Spender<'_>, _: &Usage) -> Option<f64> { match *self {} }
    fn sessions(&self) -> Result<Vec<SessionChoice>, Notice> { match *self {} }
    fn open(&mut self, _: &str) -> Result<OpenedSession, Notice> { match *self {} }
    fn export(&self, _: &Agent, _: Option<&str>) -> Result<String, Notice> { match *self {} }
    fn change_memory(&mut self, _: &MemoryRequest) -> Result<MemoryReply, Notice> { match *self {} }
    fn trust(&self) -> Page { match *self {} }
    fn end<'a>(&'a self, _: &'a Agent) -> BoxFuture<'a, ()> { match *self {} }
}

/// Run by the other test, in a terminal of its own.
#[test]
#[ignore = "it panics"]
fn panics() {
    let options = Options {
        preferences: Preferences { palette: None, ..Preferences::default() },
        surface: Surface::Screen,
        folder: ".".into(),
        folder_name: ".".into(),
        user_home: None,
        history: None,
        editor: "vi".into(),
        greeting: Vec::new(),
        first_prompt: None,
    };
    let start = |_: &NoticeSender| -> Result<(Nobody, OpenedSession), Notice> { panic!("as it was to") };
    longhaul_terminal::run(start, &options).expect("a terminal");
}

#[test]
fn a_panic_gives_the_terminal_back() {
    let size = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size).expect("a terminal");
    let mut command = CommandBuilder::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "panics", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env("RUST_BACKTRACE", "0");
    let mut child = pair.slave.spawn_command(command).expect("it starts");
    let mut reader = pair.master.try_clone_reader().expect("a reader");
    drop(pair.slave);
    let mut written = Vec::new();
    // The other side hangs up at the end, which is an error on some systems.
    reader.read_to_end(&mut written).ok();
    child.wait().expect("it ends");
    let mut terminal = vt100::Parser::new(24, 80, 100);
    terminal.process(&written);
    let screen = terminal.screen();
    assert!(!screen.bracketed_paste() && !screen.hide_cursor());
    let text = screen.contents();
    assert!(text.contains("as it was to"), "{text}");
    let told = String::from_utf8_lossy(&written).into_owned();
    assert!(told.find("\x1b[?2004l") < told.find("as it was to"), "{told:?}");
    #[cfg(target_os = "linux")]
    {
        let flags = pair.master.get_termios().expect("a terminal").local_flags;
        assert!(format!("{flags:?}").contains("ICANON"), "{flags:?}");
    }
}
