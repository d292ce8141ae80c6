//! Tests of logs whose disk is full, or whose file changes under them.

use std::fs;

use longhaul_conversation::Part;

use longhaul_formats::{
    Compaction, CompactionReport, FragmentContent, HostRecord, RecordedFragment, RuleChange,
};

use super::super::{NewSession, SessionKind};
use super::*;

fn said(id: &str) -> Message {
    let at = Some(Timestamp::from_millis(1_767_323_045_000));
    Message { at, ..Message::new(id, Role::User, vec![Part::user_text(format!("words of {id}"))]) }
}

fn session(id: &str) -> NewSession {
    NewSession {
        id: id.into(),
        project_hash: "p".into(),
        kind: SessionKind::Main,
        directories: vec!["/work".into()],
        at: Timestamp::from_millis(0),
    }
}

fn new_log() -> (tempfile::TempDir, Log) {
    let root = tempfile::tempdir().expect("a folder");
    let mut log = Log::create(root.path(), &session("a")).expect("created");
    log.append(&said("1")).expect("appended");
    (root, log)
}

fn set_room(log: &mut Log, room: Option<u64>) {
    log.file.as_mut().expect("a file").trial.room = room;
}

fn ids(replay: &Replay) -> String {
    let ids: Vec<&str> = replay.messages().iter().map(|message| message.id.as_str()).collect();
    ids.join(" ")
}

fn on_disk(log: &Log) -> Replay {
    let bytes = fs::read(log.path()).expect("readable");
    assert!(bytes.ends_with(b"\n"), "no line is torn: {}", String::from_utf8_lossy(&bytes));
    let replay = Replay::read(bytes.as_slice()).expect("readable");
    assert!(replay.warnings().is_empty(), "{:?}", replay.warnings());
    replay
}

fn compaction(id: &str, messages: Vec<Message>) -> Entry {
    let kind = EntryKind::Compaction(Compaction { report: CompactionReport::default(), messages });
    Entry { id: id.into(), at: None, kind }
}

#[test]
fn wherever_the_disk_is_full_records_wait_in_order_and_are_written_later() {
    for room in 0..700 {
        let (_root, mut log) = new_log();
        set_room(&mut log, Some(room));
        let mut failed = 0;
        for id in ["2", "3", "4"] {
            let appended = log.append(&said(id));
            failed += u32::from(appended.is_err());
            let disk = on_disk(&log);
            match appended {
                Ok(_) => assert_eq!((ids(&disk), failed), (ids(log.replay()), 0), "{room}"),
                Err(_) => assert!(ids(log.replay()).starts_with(&ids(&disk)), "{room}"),
            }
        }
        assert_eq!(ids(log.replay()), "1 2 3 4");
        if failed == 0 {
            assert!(room > 100);
            return;
        }
        let Recording::Pending(pending) = log.recording() else { panic!("{:?}", log.recording()) };
        assert!(pending.reason().starts_with("could not write ") && pending.count() > 0, "{pending:?}");
        // What is not on the disk is not compacted away, and nothing else counts either.
        let before = log.replay().transcript().into_messages();
        assert!(log.record(&compaction("k", vec![said("4")])).is_err());
        assert!(log.rewind_to(&"2".into()).is_err() && log.flush().is_err() && log.sync().is_err());
        assert_eq!(log.replay().transcript().into_messages(), before);
        // What is only in memory can still be saved elsewhere.
        let other = log.path().with_file_name("other");
        let fork = log.fork(&other, &session("b"), Some(&"3".into())).expect("forked");
        assert_eq!((ids(fork.replay()), ids(&on_disk(&fork))), ("1 2 3".into(), "1 2 3".into()));
        // There is room again.
        set_room(&mut log, None);
        log.flush().expect("written");
        assert_eq!(log.recording(), &Recording::Complete);
        assert_eq!(ids(&on_disk(&log)), "1 2 3 4");
        log.record(&compaction("k", vec![said("4")])).expect("recorded");
        assert_eq!(on_disk(&log).transcript().messages(), log.replay().transcript().messages());
    }
    panic!("there was never enough room");
}

#[test]
fn a_line_broken_off_before_another_program_wrote_is_closed() {
    let (_root, mut log) = new_log();
    set_room(&mut log, Some(20));
    // It cannot even be cut off: somebody wrote behind it at once.
    let file = log.file.as_mut().expect("a file");
    let (written, _) = file.tear(b"{\"id\":\"2\",\"type\":\"user\"");
    assert_eq!(written, 20);
    let other = concat!("\n", r#"{"id":"x","type":"user","content":"theirs"}"#, "\n");
    let mut bytes = fs::read(log.path()).expect("readable");
    bytes.extend(other.as_bytes());
    fs::write(log.path(), bytes).expect("written");
    set_room(&mut log, None);
    log.append(&said("3")).expect("appended");
    let replay = Replay::read(fs::File::open(log.path()).expect("there")).expect("readable");
    assert_eq!((ids(&replay).as_str(), replay.warnings().len()), ("1 x 3", 1));
}

/// A log with everything that a log can hold.
fn rich_log() -> (tempfile::TempDir, Log) {
    let (root, mut log) = new_log();
    let record = |log: &mut Log, id: &str, kind| {
        log.record(&Entry { id: id.into(), at: None, kind }).expect("recorded");
    };
    log.append_all(&[said("2"), said("3")]).expect("appended");
    log.rewind_to(&"2".into()).expect("rewound");
    log.append_all(&[said("4"), said("5"), said("6")]).expect("appended");
    record(&mut log, "p", EntryKind::Rule(RuleChange::Added { text: "Never push.".into() }));
    let content = FragmentContent::Text("Be brief.".into());
    let (origin, place) = (longhaul_conversation::Origin::Hook, longhaul_conversation::FragmentPlace::System);
    record(&mut log, "f", EntryKind::Fragment(RecordedFragment { origin, place, content }));
    record(&mut log, "h", EntryKind::Host(HostRecord::default()));
    record(&mut log, "m", EntryKind::ModelChoice("auto".into()));
    log.record(&compaction("k", vec![said("5"), said("6")])).expect("recorded");
    log.keep_state(&CompactionState { failures: 2, ..CompactionState::default() }, None).expect("kept");
    log.set_summary("About words").expect("set");
    log.append(&said("7")).expect("appended");
    (root, log)
}

/// Something happens to the file of a log, which then goes on, whole, under its own name; `told` is said once, and what was
/// there is kept under the name that ends in `aside`.
#[track_caller]
fn check_damage(harm: impl FnOnce(&std::path::Path), told: &str, aside: Option<(&str, &[u8])>) {
    let (_root, mut log) = rich_log();
    let path = log.path().to_path_buf();
    let before = log.replay().clone();
    harm(&path);
    log.append(&said("8")).expect("appended");
    let warning = log.take_warning().expect("a warning");
    assert!(warning.contains(told) && log.take_warning().is_none(), "{warning}");
    match aside {
        None => {}
        Some((suffix, bytes)) => {
            let mut name = path.clone().into_os_string();
            name.push(suffix);
            assert!(warning.ends_with(&name.display().to_string()), "{warning}");
            assert_eq!(fs::read(name).expect("kept"), bytes);
        }
    }
    assert_eq!(log.path(), path);
    let disk = on_disk(&log);
    for replay in [&disk, log.replay()] {
        assert_eq!(ids(replay), "1 4 5 6 7 8");
        assert_eq!(&replay.messages()[..5], before.messages());
        assert_eq!(replay.said().len(), before.said().len() + 1);
        assert_eq!(replay.said().iter().map(|said| said.ordinal).collect::<Vec<_>>(), {
            (1..=8).map(|mark| Some(Ordinal(mark))).collect::<Vec<_>>()
        });
        assert_eq!(
            (replay.rules(), replay.fragments(), replay.host(), replay.info().chosen_model.as_deref()),
            (before.rules(), before.fragments(), before.host(), Some("auto"))
        );
        assert_eq!((replay.state(), &replay.info().title), (before.state(), &before.info().title));
        assert_eq!(replay.info().directory, before.info().directory);
        let mut visible = before.transcript().into_messages();
        visible.extend(replay.messages().last().cloned());
        assert_eq!(replay.transcript().into_messages(), visible);
    }
    // The lock still holds, nothing temporary is left, and nothing more is said.
    log.append(&said("9")).expect("appended");
    assert_eq!((log.take_warning(), ids(&on_disk(&log)).as_str()), (None, "1 4 5 6 7 8 9"));
    assert!(matches!(Log::open_existing(&path), Err(LogError::InUse { .. })));
    let temporary = |entry: &fs::DirEntry| longhaul_workspace::is_staged_name(&entry.file_name());
    assert!(
        !fs::read_dir(path.parent().expect("a folder")).expect("listed").flatten().any(|e| temporary(&e))
    );
    drop(log);
    Log::open_existing(&path).expect("released");
}

#[test]
fn a_file_that_changes_under_a_log_is_noticed_and_nothing_is_lost() {
    let moved = |path: &std::path::Path| fs::rename(path, path.with_extension("old")).expect("moved");
    check_damage(moved, "was moved or deleted while in use", None);
    check_damage(|path| fs::remove_file(path).expect("removed"), "was moved or deleted while in use", None);
    let replaced = |path: &std::path::Path| {
        let other = path.with_extension("other");
        fs::write(&other, "somebody else's").expect("written");
        fs::rename(other, path).expect("moved");
    };
    check_damage(replaced, "was replaced by another", Some((".replaced", b"somebody else's")));
    let shorten = |length: u64| {
        move |path: &std::path::Path| {
            fs::OpenOptions::new().write(true).open(path).expect("there").set_len(length).expect("cut");
        }
    };
    check_damage(shorten(0), "was truncated or overwritten", None);
    check_damage(shorten(10), "was truncated or overwritten", Some((".truncated", b"{\"sessionI")));
    let overwrite = |path: &std::path::Path| {
        let length = fs::metadata(path).expect("there").len();
        fs::write(path, vec![b'x'; usize::try_from(length).expect("short") + 100]).expect("written");
    };
    check_damage(overwrite, "was truncated or overwritten", None);
}

#[test]
fn what_another_program_writes_behind_is_no_damage() {
    let (_root, mut log) = new_log();
    let mut file = fs::OpenOptions::new().append(true).open(log.path()).expect("there");
    std::io::Write::write_all(&mut file, b"{\"id\":\"x\",\"type\":\"user\",\"content\":\"theirs\"}\n")
        .expect("written");
    log.append(&said("2")).expect("appended");
    assert_eq!((log.take_warning(), ids(&on_disk(&log)).as_str()), (None, "1 x 2"));
}

#[test]
fn damage_is_noticed_without_a_write_and_mended_when_there_is_room() {
    let (root, mut log) = new_log();
    let chats = root.path();
    let away = chats.with_extension("away");
    fs::rename(chats, &away).expect("moved");
    fs::write(chats, "in the way").expect("written");
    assert!(log.flush().is_err());
    assert!(log.append(&said("2")).is_err());
    fs::remove_file(chats).expect("removed");
    log.flush().expect("written again");
    assert!(log.take_warning().is_some_and(|told| told.contains("was moved or deleted")));
    assert_eq!(ids(&on_disk(&log)), "1 2");
    fs::remove_dir_all(&away).expect("removed");
}

#[test]
fn undoing_waits_for_the_disk() {
    let (_root, mut log) = new_log();
    log.record(&compaction("k", vec![said("9")])).expect("recorded");
    let before = log.file.as_ref().expect("a file").trial.syncs;
    log.undo(None, None).expect("undone");
    assert!(log.file.as_ref().expect("a file").trial.syncs > before);
}
