//! The log of a session: what is appended, rewound, compacted and undone is what is read back.

use std::fs;
use std::path::Path;

use longhaul_conversation::{
    Body, Message, Ordinal, Origin, Output, Part, Role, Timestamp, ToolCall, ToolResult, ToolStatus,
    Transcript,
};
use longhaul_formats::{
    Compaction, CompactionReport, Entry, EntryKind, Event, HostRecord, Mask, Masking, Replay, RewriteState,
    RuleChange, Setup, read_session, response_id,
};
use longhaul_sessions::{Log, LogError, NewSession, Recording, Recovery, SessionKind};
use serde_json::json;
use tempfile::TempDir;

fn at(second: i64) -> Timestamp {
    Timestamp::from_millis(1_767_323_045_000 + second * 1000)
}

fn session(id: &str) -> NewSession {
    NewSession {
        id: id.into(),
        project_hash: "abc".into(),
        kind: SessionKind::Main,
        directories: vec!["/home/dev/app".into()],
        at: at(0),
    }
}

/// A log in a folder that goes with it.
fn new_log() -> (TempDir, Log) {
    let root = tempfile::tempdir().expect("a folder");
    let log = Log::create(&root.path().join("chats"), &session("0123456789ab")).expect("created");
    (root, log)
}

/// A text by the user or the model, as the first letter of the id says.
fn said(id: &str) -> Message {
    let (role, part) = match id.starts_with('u') {
        true => (Role::User, Part::user_text(format!("text of {id}"))),
        false => (Role::Model, Part::model_text(format!("text of {id}"))),
    };
    Message { at: Some(at(1)), ..Message::new(id, role, vec![part]) }
}

fn calling(id: &str, calls: &[&str]) -> Message {
    let call = |call: &&str| Part::call(ToolCall::new(*call, "ls").with_args(json!({"path": "."})));
    Message { at: Some(at(1)), ..Message::new(id, Role::Model, calls.iter().map(call).collect()) }
}

fn result(call: &str, text: &str) -> Part {
    Part::result(ToolResult::text(call, text).with_name("ls").with_status(ToolStatus::Succeeded))
}

fn answering(id: &str, results: Vec<Part>) -> Message {
    Message { at: Some(at(2)), ..Message::new(id, Role::User, results) }
}

fn ids(messages: &[Message]) -> String {
    messages.iter().map(|message| message.id.as_str()).collect::<Vec<_>>().join(" ")
}

fn appended(log: &mut Log, list: &str) {
    let messages: Vec<Message> = list.split_whitespace().map(said).collect();
    log.append_all(&messages).expect("appended");
}

fn snapshot() -> Message {
    let part = Part::text(Origin::Summary, "<state_snapshot>s</state_snapshot>");
    Message { at: Some(at(9)), ..Message::new("s", Role::User, vec![part]) }
}

fn entry(id: &str, kind: EntryKind) -> Entry {
    Entry { id: id.into(), at: Some(at(9)), kind }
}

/// Compacts to a snapshot, an acknowledgement and the messages of these ids.
fn compact(log: &mut Log, id: &str, kept: &str) {
    let kept = kept.split_whitespace().map(|id| log.replay().message(&id.into()).expect("there").clone());
    let messages = [snapshot(), said("ack")].into_iter().chain(kept).collect();
    let report = CompactionReport { status: "compressed".into(), ..CompactionReport::default() };
    log.record(&entry(id, EntryKind::Compaction(Compaction { report, messages }))).expect("recorded");
}

fn same(one: &Transcript, other: &Transcript) -> bool {
    (one.messages(), &one.system, &one.tools) == (other.messages(), &other.system, &other.tools)
}

/// The ids that are visible, also after the file was read again by either reader.
#[track_caller]
fn check(log: &Log, visible: &str) {
    let transcript = log.replay().transcript();
    assert_eq!(ids(transcript.messages()), visible);
    let bytes = fs::read(log.path()).expect("readable");
    let replayed = Replay::read(bytes.as_slice()).expect("readable");
    assert!(replayed.warnings().is_empty(), "{:?}", replayed.warnings());
    assert!(same(&replayed.transcript(), &transcript));
    assert_eq!(replayed.messages(), log.replay().messages());
    assert_eq!(replayed.said(), log.replay().said());
    let read = read_session(bytes.as_slice()).expect("a session");
    assert!(same(&read.transcript, &transcript), "{:#?}\n{transcript:#?}", read.transcript);
    assert_eq!(read.warnings, []);
}

fn lines(log: &Log) -> Vec<String> {
    fs::read_to_string(log.path()).expect("readable").lines().map(str::to_string).collect()
}

#[test]
fn a_session_begins_with_a_header_and_a_name_of_its_own() {
    let (_root, log) = new_log();
    assert!(log.path().ends_with("chats/session-2026-01-02T03-04-01234567.jsonl"), "{:?}", log.path());
    let header = r#"{"sessionId":"0123456789ab","projectHash":"abc","startTime":"2026-01-02T03:04:05.000Z","lastUpdated":"2026-01-02T03:04:05.000Z","kind":"main","directories":["/home/dev/app"]}"#;
    assert_eq!(lines(&log), [header]);
    check(&log, "");
}

#[test]
fn messages_are_marked_in_order() {
    let (_root, mut log) = new_log();
    assert_eq!(log.append(&said("u1")).expect("appended"), Ordinal(1));
    assert_eq!(log.append(&said("m1")).expect("appended"), Ordinal(2));
    assert_eq!(log.append(&said("u1")).expect("replaced"), Ordinal(1));
    log.rewind_to(&"m1".into()).expect("rewound");
    assert_eq!(log.append(&said("u2")).expect("appended"), Ordinal(3));
    check(&log, "u1 u2");
    assert_eq!(log.replay().said().len(), 3);
}

#[test]
fn results_are_written_into_the_record_of_their_calls() {
    let (_root, mut log) = new_log();
    appended(&mut log, "u1");
    let model = calling("m1", &["c1", "c2"]);
    log.append(&model).expect("appended");
    let response = answering(response_id(&model.id).as_str(), vec![result("c1", "one"), result("c2", "two")]);
    log.append(&response).expect("appended");
    check(&log, "u1 m1 m1_response");
    let records = lines(&log);
    assert!(records.iter().all(|record| !record.contains("$longhaul")), "{records:#?}");
    let record: serde_json::Value = serde_json::from_str(&records[records.len() - 2]).expect("JSON");
    assert_eq!((&record["id"], &record["toolCalls"][1]["result"]), (&json!("m1"), &json!("two")));
}

#[test]
fn results_of_another_name_or_order_stand_alone() {
    let (_root, mut log) = new_log();
    log.append(&calling("m1", &["c1", "c2"])).expect("appended");
    log.append(&answering("m1_response", vec![result("c2", "two"), result("c1", "one")])).expect("appended");
    log.append(&calling("m2", &["c1", "c3"])).expect("appended");
    log.append(&answering("u2", vec![result("c3", "three")])).expect("appended");
    log.append(&answering("u3", vec![result("c1", "again")])).expect("appended");
    check(&log, "m1 m1_response m2 u2 u3");
}

#[test]
fn a_result_stands_in_the_log_once() {
    let (_root, mut log) = new_log();
    appended(&mut log, "u1");
    let call = Part::call(ToolCall::new("c1", "write").with_args(json!({"content": "the argument"})));
    log.append(&Message { at: Some(at(1)), ..Message::new("m1", Role::Model, vec![call]) })
        .expect("appended");
    let failed = ToolResult::text("c1", "the output").with_name("write").with_status(ToolStatus::Failed);
    log.append(&answering("r1", vec![Part::result(failed)])).expect("appended");
    check(&log, "u1 m1 r1");
    let text = lines(&log).join("\n");
    assert!(text.contains(r#""kind":"exact""#), "{text}");
    assert_eq!((text.matches("the output").count(), text.matches("the argument").count()), (1, 1), "{text}");
}

#[test]
fn a_log_whose_exact_records_repeat_everything_opens() {
    let (root, log) = new_log();
    let path = root.path().join("old.jsonl");
    let result = r#"{"$longhaul":{"v":1,"kind":"exact","message":{"id":"r1","role":"user","at":1767323045000,"parts":[{"origin":"tool","result":{"call":"c1","name":"ls","status":"success","text":"listed"}}]}}}"#;
    let records = [
        r#"{"id":"m1","type":"gemini","content":[],"toolCalls":[{"id":"c1","name":"ls","args":{}}]}"#,
        r#"{"id":"r1","type":"user","content":[{"functionResponse":{"id":"c1","name":"ls","response":{"output":"listed"}}}]}"#,
        result,
    ];
    fs::write(&path, format!("{}\n{}\n", lines(&log)[0], records.join("\n"))).expect("written");
    let old = Log::open_existing(&path).expect("opened");
    let expected = ToolResult::text("c1", "listed").with_name("ls").with_status(ToolStatus::Succeeded);
    assert_eq!(old.replay().messages()[1].results().next(), Some(&expected));
    check(&old, "m1 r1");
}

#[test]
fn what_a_record_has_no_place_for_is_recorded_exactly() {
    let (_root, mut log) = new_log();
    let odd = Message::new("u1", Role::User, vec![Part::text(Origin::Memory, "typed by nobody")]);
    log.append(&odd).expect("appended");
    check(&log, "u1");
    assert_eq!(log.replay().messages()[0].parts, odd.parts);
    assert!(lines(&log)[2].starts_with(r#"{"$longhaul":{"v":1,"kind":"exact""#));
}

#[test]
fn a_compaction_and_its_undoing() {
    let (_root, mut log) = new_log();
    appended(&mut log, "u1 m1 u2 m2");
    compact(&mut log, "k1", "u2 m2");
    check(&log, "s ack u2 m2");
    appended(&mut log, "u3");
    check(&log, "s ack u2 m2 u3");
    compact(&mut log, "k2", "u3");
    check(&log, "s ack u3");
    assert_eq!(log.undo(Some("k1"), None).expect("undone"), "k1");
    check(&log, "s ack u3");
    appended(&mut log, "m3");
    assert_eq!(log.undo(None, Some(at(5))).expect("undone"), "k2");
    check(&log, "u1 m1 u2 m2 u3 m3");
    assert!(matches!(log.undo(None, None), Err(LogError::NothingToUndo { id: None })));
    assert_eq!(log.replay().messages().len(), 6);
}

#[test]
fn a_rewind_voids_or_clips_a_compaction() {
    let rewound = |to: &str| {
        let (root, mut log) = new_log();
        appended(&mut log, "u1 m1 u2 m2");
        compact(&mut log, "k", "u2 m2");
        appended(&mut log, "u3");
        log.rewind_to(&to.into()).expect("rewound");
        (root, log)
    };
    check(&rewound("u3").1, "s ack u2 m2");
    check(&rewound("m2").1, "s ack u2");
    check(&rewound("m1").1, "u1");
    let (_root, mut log) = rewound("m1");
    assert_eq!(log.replay().rewrites()[0].state, RewriteState::Inert);
    assert!(matches!(log.undo(Some("k"), None), Err(LogError::NothingToUndo { .. })));
    assert!(matches!(log.rewind_to(&"nobody".into()), Err(LogError::NoSuchMessage { .. })));
    // What comes after, also under an old name, is later than the compaction.
    let (_root, mut log) = rewound("u2");
    appended(&mut log, "u4 m2");
    check(&log, "s ack u4 m2");
}

#[test]
fn another_programs_checkpoint_makes_our_compactions_inert() {
    let (_root, mut log) = new_log();
    appended(&mut log, "u1 m1 u2");
    compact(&mut log, "k", "u2");
    let (path, checkpoint) =
        (log.path().to_path_buf(), r#"{"$set":{"messages":[{"id":"x","type":"user","content":"short"}]}}"#);
    drop(log);
    let mut text = fs::read_to_string(&path).expect("readable");
    text.push_str(checkpoint);
    fs::write(&path, text).expect("written");
    let mut log = Log::open(&path, &session("other")).expect("opened");
    assert_eq!(log.recovered(), [Recovery::LineClosed]);
    check(&log, "x");
    assert_eq!(log.replay().rewrites()[0].state, RewriteState::Inert);
    assert_eq!(log.append(&said("m5")).expect("appended"), Ordinal(5));
    assert_eq!(log.replay().said().len(), 5);
}

#[test]
fn masks_are_recorded_by_their_previews() {
    let (_root, mut log) = new_log();
    log.append(&calling("m1", &["c1"])).expect("appended");
    log.append(&answering("m1_response", vec![result("c1", "long")])).expect("appended");
    let mut masked = log.replay().message(&"m1_response".into()).expect("there").clone();
    if let Body::Result(result) = &mut masked.parts[0].body {
        result.output = Output::Text("short".into());
    }
    let mask = Mask {
        message: "m1_response".into(),
        call: "c1".into(),
        file: Some("out.txt".into()),
        preview: "short".into(),
    };
    let masking = Masking { masks: vec![mask], changed: vec![masked.clone()] };
    log.record(&entry("k", EntryKind::Mask(masking))).expect("recorded");
    assert!(lines(&log).last().expect("a line").contains(r#""messages":[]"#));
    check(&log, "m1 m1_response");
    assert_eq!(log.replay().transcript().messages()[1], masked);
    appended(&mut log, "u9");
    log.undo(None, None).expect("undone");
    check(&log, "m1 m1_response u9");
    assert_eq!(log.replay().transcript().messages()[1].results().next().expect("there").readable(), "long");
}

#[test]
fn a_program_that_passes_our_records_over_sees_everything_uncompacted() {
    let (_root, mut log) = new_log();
    appended(&mut log, "u1 m1");
    log.append(&calling("m2", &["c1", "c2"])).expect("appended");
    log.append(&answering("m2_response", vec![result("c1", "one"), result("c2", "two")])).expect("appended");
    compact(&mut log, "k1", "m2 m2_response");
    appended(&mut log, "u3 m3");
    compact(&mut log, "k2", "m3");
    check(&log, "s ack m3");
    let text: String = lines(&log)
        .into_iter()
        .filter(|line| !line.starts_with(r#"{"$longhaul""#))
        .flat_map(|line| [line, "\n".into()])
        .collect();
    let seen = read_session(text.as_bytes()).expect("a session");
    assert_eq!(seen.transcript.messages(), log.replay().messages());
    assert_eq!(seen.info.compactions, 0);
}

#[test]
fn notes_beside_the_conversation_come_back() {
    let (_root, mut log) = new_log();
    let setup = Setup { system: vec![Part::text(Origin::Hook, "Be brief.")], tools: Vec::new() };
    log.record(&entry("1", EntryKind::Setup(setup))).expect("recorded");
    let rule = RuleChange::Added { text: "never push".into() };
    log.record(&entry("2", EntryKind::Rule(rule.clone()))).expect("recorded");
    let host = HostRecord { skills: vec!["pdf".into()], plan: None, jobs: vec!["server".into()] };
    log.record(&entry("3", EntryKind::Host(host.clone()))).expect("recorded");
    let replayed = Replay::read(fs::File::open(log.path()).expect("there")).expect("readable");
    assert_eq!((replayed.rules(), replayed.host()), (&[rule][..], Some(&host)));
    for model in ["opus", "auto"] {
        log.record(&entry(model, EntryKind::ModelChoice(model.into()))).expect("recorded");
    }
    let replayed = Replay::read(fs::File::open(log.path()).expect("there")).expect("readable");
    assert_eq!(replayed.info().chosen_model.as_deref(), Some("auto"));
    check(&log, "");
    assert_eq!(log.replay().transcript().system[0].as_text(), Some("Be brief."));
}

#[track_caller]
fn check_recovery(torn: &str, recovered: &[Recovery], visible: &str) {
    let (_root, mut log) = new_log();
    appended(&mut log, "u1");
    let path = log.path().to_path_buf();
    drop(log);
    let text = fs::read_to_string(&path).expect("readable") + torn;
    fs::write(&path, text).expect("written");
    let mut log = Log::open(&path, &session("other")).expect("opened");
    assert_eq!(log.recovered(), recovered);
    appended(&mut log, "m9");
    assert_eq!(ids(log.replay().messages()), visible);
    let replayed = Replay::read(fs::File::open(&path).expect("there")).expect("readable");
    assert_eq!((replayed.messages(), replayed.warnings()), (log.replay().messages(), &[][..]));
}

#[test]
fn a_torn_last_line_is_mended() {
    check_recovery("", &[], "u1 m9");
    check_recovery(r#"{"id":"m2","ty"#, &[Recovery::TornLineCut { bytes: 14 }], "u1 m9");
    check_recovery("\0\0\0", &[Recovery::TornLineCut { bytes: 3 }], "u1 m9");
    check_recovery(r#"{"id":"m2","type":"gemini","content":"x"}"#, &[Recovery::LineClosed], "u1 m2 m9");
    let long = format!(r#"{{"id":"m2","type":"gemini","content":"{}"#, "x".repeat(200_000));
    check_recovery(&long, &[Recovery::TornLineCut { bytes: long.len() as u64 }], "u1 m9");
}

#[test]
fn a_log_can_be_handed_to_another_thread() {
    fn check_send<T: Send + Sync>(_: &T) {}
    let (_root, log) = new_log();
    check_send(&log);
}

#[test]
fn what_is_not_there_is_not_made_by_opening_it() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("chats/session-x.jsonl");
    assert!(matches!(Log::open(&path, &session("fresh")), Err(LogError::Io { act: "open", .. })));
    check_path(&root.path().join("chats"), false);
}

#[track_caller]
fn check_path(path: &Path, exists: bool) {
    assert_eq!(path.exists(), exists, "{}", path.display());
}

#[test]
fn a_file_that_is_no_session_is_put_aside() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("session-x.jsonl");
    for (number, aside) in ["", "-2"].iter().enumerate() {
        fs::write(&path, format!("nothing of the kind {number}")).expect("written");
        let mut log = Log::open(&path, &session("fresh")).expect("opened");
        let renamed = root.path().join(format!("session-x.jsonl.unreadable-{}{aside}", at(0).as_millis()));
        check_path(&renamed, true);
        assert_eq!(log.recovered(), [Recovery::Unreadable { renamed }]);
        appended(&mut log, "u1");
        check(&log, "u1");
    }
    fs::write(&path, "").expect("written");
    assert_eq!(Log::open(&path, &session("fresh")).expect("opened").recovered(), [Recovery::EmptyFile]);
    fs::write(&path, r#"[{"role":"user","content":"hi"}]"#).expect("written");
    assert!(matches!(Log::open(&path, &session("fresh")), Err(LogError::OtherFormat { .. })));
}

#[test]
fn a_session_of_another_agent_is_left_alone_however_it_is_named() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("claude.jsonl");
    let record = json!({"type": "user", "uuid": "u1", "sessionId": "s1", "timestamp": "2026-01-02T03:04:05Z",
        "message": {"role": "user", "content": "Hello"}});
    let text = format!("{record}\n");
    fs::write(&path, &text).expect("written");
    assert!(matches!(Log::open(&path, &session("fresh")), Err(LogError::OtherFormat { .. })));
    assert!(matches!(Log::open_existing(&path), Err(LogError::OtherFormat { .. })));
    assert_eq!(fs::read_to_string(&path).expect("it is there"), text);
    assert_eq!(fs::read_dir(root.path()).expect("a folder").count(), 1, "not even a lock is left beside it");
}

/// What the pieces of a log give when they are folded as they come, and how many warnings there are.
fn fold(log: &Log) -> (Transcript, usize) {
    let (mut transcript, mut warnings) = (Transcript::default(), 0);
    let file = fs::File::open(log.path()).expect("a file");
    longhaul_formats::read(file, &mut |event| match event {
        Event::Change(change) => transcript.apply(change),
        Event::Warning(_) => warnings += 1,
        Event::Side { .. } | Event::Call(_) | Event::CompactionStart | Event::CompactionEnd => {}
    })
    .expect("readable");
    (transcript, warnings)
}

#[test]
fn reading_piece_by_piece_needs_no_more_than_the_newest_messages() {
    let (_root, mut log) = new_log();
    for round in 0..300 {
        let part = Part::user_text(format!("round {round} ").repeat(10_000));
        let long = Message::new(format!("long{round}"), Role::User, vec![part]);
        log.append(&long).expect("appended");
    }
    appended(&mut log, "u1 a1 u2");
    compact(&mut log, "k", "u1 a1 u2");
    // Folded as they come, the pieces give what the whole session is.
    let (folded, warnings) = fold(&log);
    assert!(same(&folded, &log.replay().transcript()));
    assert_eq!(warnings, 0);
    // What was forgotten is not shown again, and that is said; a whole reading has it all.
    log.undo(None, None).expect("undone");
    let (folded, warnings) = fold(&log);
    let count = folded.messages().len();
    assert!(count < 303 && warnings == 1, "{count} {warnings}");
    let whole = read_session(fs::File::open(log.path()).expect("a file")).expect("readable");
    assert!(same(&whole.transcript, &log.replay().transcript()));
    assert_eq!(whole.transcript.messages().len(), 303);
}

#[test]
fn a_session_can_be_kept_in_memory_alone() {
    let mut log = Log::in_memory(&session("new")).expect("begun");
    appended(&mut log, "1 2");
    assert_eq!((ids(log.replay().messages()).as_str(), log.recording()), ("1 2", &Recording::Off));
    assert_eq!(log.replay().info().session_id.as_deref(), Some("new"));
    log.sync().expect("there is nothing to wait for");
    assert!(log.take_warning().is_none() && !log.path().exists());
}

#[test]
fn a_fork_has_an_id_of_its_own_where_another_program_set_that_of_the_session() {
    let (root, mut log) = new_log();
    log.append_all(&[said("u1"), said("m1")]).expect("appended");
    let resumed = concat!(
        r#"{"$set":{"sessionId":"0123456789ab"}}"#,
        "\n",
        r#"{"$set":{"sessionId":"0123456789ab","summary":"A title"}}"#,
        "\n"
    );
    let path = log.path().to_path_buf();
    drop(log);
    let text = fs::read_to_string(&path).expect("there") + resumed;
    fs::write(&path, text).expect("written");
    let fork = Log::fork_of(&path, &root.path().join("chats"), &session("fork"), None).expect("forked");
    let info = fork.replay().info();
    assert_eq!((info.session_id.as_deref(), info.title.as_deref()), (Some("fork"), Some("A title")));
    let known = longhaul_sessions::load_metadata(fork.path()).expect("readable").expect("a session");
    assert_eq!((known.id.as_str(), known.message_count), ("fork", 2));
}
