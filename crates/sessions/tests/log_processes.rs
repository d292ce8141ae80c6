//! What holds of a log between processes: a writer that is killed loses at most what it was writing, a second writer is
//! told, and what is written is private.
#![cfg(unix)]

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use longhaul_conversation::{Message, Origin, Part, Role, Timestamp};
use longhaul_formats::{Compaction, CompactionReport, Entry, EntryKind, Replay, RewriteState};
use longhaul_sessions::{Log, LogError, NewSession, Recovery, SessionKind};

/// Where a child process writes.
const PLACE: &str = "LONGHAUL_TEST_LOG";
/// How a child says what it has written.
const WRITTEN: &str = "written ";

fn session(id: &str) -> NewSession {
    NewSession {
        id: id.into(),
        project_hash: "p".into(),
        kind: SessionKind::Main,
        directories: Vec::new(),
        at: Timestamp::from_millis(1_767_323_045_000),
    }
}

/// The message of a number. Some are long, so that writing them takes a while, and some need an exact record.
fn numbered(number: usize) -> Message {
    let text = format!("{number} ").repeat(if number.is_multiple_of(10) { 4000 } else { 1 + number % 50 });
    let origin = if number.is_multiple_of(3) { Origin::Memory } else { Origin::User };
    let mut message = Message::new(format!("x{number}"), Role::User, vec![Part::text(origin, text)]);
    message.at = Some(Timestamp::from_millis(number as i64));
    message
}

fn compaction(number: usize, log: &Log) -> Entry {
    let snapshot = vec![Part::text(Origin::Summary, "<state_snapshot>s</state_snapshot>")];
    let kept = log.replay().messages().last().cloned();
    let messages =
        [Message::new(format!("s{number}"), Role::User, snapshot)].into_iter().chain(kept).collect();
    let kind = EntryKind::Compaction(Compaction { report: CompactionReport::default(), messages });
    Entry { id: format!("k{number}"), at: None, kind }
}

/// Not a test of its own: a process that writes until it is killed.
#[test]
fn child() {
    let Some(path) = std::env::var_os(PLACE).map(PathBuf::from) else { return };
    let mut log = Log::open(&path, &session("child")).expect("opened");
    println!("{WRITTEN}{}", log.replay().messages().len());
    for number in log.replay().messages().len() + 1..100_000 {
        log.append(&numbered(number)).expect("appended");
        println!("{WRITTEN}{number}");
        if number.is_multiple_of(7) {
            let entry = compaction(number, &log);
            log.record(&entry).expect("recorded");
        }
        if number.is_multiple_of(21) {
            log.undo(None, None).expect("undone");
        }
    }
}

/// Numbers without a pattern.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Starts a writer, kills it after it has said a few times what it wrote, and tells the last that it said.
fn write_and_kill(path: &Path, lines: u64) -> usize {
    let mut child = Command::new(std::env::current_exe().expect("a test binary"))
        .args(["--exact", "child", "--nocapture"])
        .env(PLACE, path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut output = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut written = None;
    let mut left = lines;
    while left > 0 {
        let line = output.next().expect("the child writes on").expect("readable");
        if let Some((_, number)) = line.split_once(WRITTEN) {
            written = number.parse().ok();
            left -= 1;
        }
    }
    child.kill().expect("killed");
    child.wait().expect("ended");
    // What it said in the meantime. The last word may be cut short.
    for line in output.map_while(Result::ok) {
        let number = line.split_once(WRITTEN).and_then(|(_, number)| number.parse().ok());
        written = written.max(number.filter(|number| Some(*number) <= written.map(|last: usize| last + 1)));
    }
    written.expect("the child said something")
}

#[test]
fn a_writer_that_is_killed_loses_at_most_what_it_was_writing() {
    let root = tempfile::tempdir().expect("a folder");
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let mut torn = 0;
    for file in 0..25 {
        let path = {
            let log = Log::create(root.path(), &session(&format!("{file:08}"))).expect("created");
            log.path().to_path_buf()
        };
        // Messages whose record is there, but not what makes it exact: their writer was killed in between.
        let mut inexact = HashSet::new();
        for _ in 0..8 {
            let written = write_and_kill(&path, 1 + numbers.below(12));
            let log = Log::open(&path, &session("parent")).expect("opened");
            torn +=
                usize::from(log.recovered().iter().any(|what| matches!(what, Recovery::TornLineCut { .. })));
            let said = log.replay().messages();
            assert!((written..=written + 1).contains(&said.len()), "{written} written, {} there", said.len());
            for (place, message) in said.iter().enumerate() {
                let meant = numbered(place + 1);
                if place + 1 == said.len() && place + 1 > written && message.parts != meant.parts {
                    inexact.insert(place);
                }
                let is_whole = message.parts == meant.parts || inexact.contains(&place);
                assert!(message.id == meant.id && is_whole, "{place}");
            }
        }
        let mut log = Log::open(&path, &session("parent")).expect("opened");
        while log.replay().rewrites().iter().any(|rewrite| rewrite.state == RewriteState::Active) {
            log.undo(None, None).expect("undone");
        }
        let replayed = Replay::read(fs::File::open(&path).expect("there")).expect("readable");
        assert_eq!(replayed.transcript().messages(), log.replay().messages());
    }
    println!("200 writers killed, {torn} lines torn");
}

#[test]
fn a_second_writer_is_told_and_can_fork() {
    let root = tempfile::tempdir().expect("a folder");
    let mut log = Log::create(root.path(), &session("first")).expect("created");
    log.append_all(&[numbered(1), numbered(2), numbered(3)]).expect("appended");
    let error = Log::open(log.path(), &session("second")).expect_err("in use");
    let LogError::InUse { holder: Some(holder), .. } = &error else { panic!("{error:?}") };
    assert_eq!(holder.process, std::process::id());
    let mut fork =
        Log::fork_of(log.path(), root.path(), &session("second"), Some(&"x2".into())).expect("forked");
    assert_eq!(fork.replay().messages(), &log.replay().messages()[..2]);
    fork.append(&numbered(9)).expect("appended");
    assert_eq!(log.replay().messages().len(), 3);
    let unknown = Log::fork_of(log.path(), root.path(), &session("third"), Some(&"nobody".into()));
    assert!(matches!(unknown, Err(LogError::NoSuchMessage { .. })));
    let path = log.path().to_path_buf();
    drop(log);
    Log::open(&path, &session("second")).expect("released");
    assert!(matches!(Log::create(root.path(), &session("first")), Err(LogError::AlreadyThere { .. })));
    assert!(matches!(Log::create(root.path(), &session("")), Err(LogError::BadId { .. })));
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").permissions().mode() & 0o7777
}

#[test]
fn what_is_written_is_private() {
    let root = tempfile::tempdir().expect("a folder");
    let kind = SessionKind::Subagent { parent: "a/../b".into() };
    let log = Log::create(&root.path().join("chats"), &NewSession { kind, ..session("sub agent") })
        .expect("created");
    assert_eq!(log.path(), root.path().join("chats/a____b/sub_agent.jsonl"));
    assert_eq!(mode(log.path()), 0o600);
    assert_eq!(mode(log.path().parent().expect("a folder")), 0o700);
    assert_eq!(mode(&root.path().join("chats")), 0o700);
}

#[test]
fn a_folder_that_vanishes_is_made_again() {
    let root = tempfile::tempdir().expect("a folder");
    let chats = root.path().join("chats");
    let mut log = Log::create(&chats, &session("first")).expect("created");
    log.append(&numbered(1)).expect("appended");
    fs::remove_dir_all(&chats).expect("removed");
    log.append(&numbered(2)).expect("appended");
    fs::remove_file(log.path()).expect("removed");
    log.append(&numbered(3)).expect("appended");
    let replayed = Replay::read(fs::File::open(log.path()).expect("there")).expect("readable");
    assert_eq!(replayed.messages(), log.replay().messages());
    assert_eq!((replayed.messages().len(), mode(log.path()), mode(&chats)), (3, 0o600, 0o700));
    assert!(matches!(Log::open(log.path(), &session("second")), Err(LogError::InUse { .. })));
}

#[test]
fn what_cannot_be_written_now_is_written_later() {
    let root = tempfile::tempdir().expect("a folder");
    let chats = root.path().join("chats");
    let mut log = Log::create(&chats, &session("first")).expect("created");
    log.append(&numbered(1)).expect("appended");
    let away = root.path().join("away");
    fs::rename(&chats, &away).expect("moved");
    fs::write(&chats, "in the way").expect("written");
    assert!(matches!(log.append(&numbered(2)), Err(LogError::Io { .. } | LogError::Workspace(_))));
    assert!(log.rewind_to(&"x1".into()).is_err());
    assert_eq!(log.replay().messages().len(), 2);
    fs::remove_file(&chats).expect("removed");
    fs::rename(&away, &chats).expect("moved back");
    log.append(&numbered(3)).expect("appended");
    let replayed = Replay::read(fs::File::open(log.path()).expect("there")).expect("readable");
    assert_eq!(replayed.messages(), log.replay().messages());
    assert_eq!(replayed.messages().len(), 3);
}
