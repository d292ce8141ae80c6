//! Every real session becomes a log that is read back with nothing lost or doubled.

use std::fs::{self, File};

use longhaul_conversation::{Message, Timestamp};
use longhaul_formats::{Entry, EntryKind, Replay, Setup, read_session};
use longhaul_sessions::{Log, NewSession, SessionKind};
use serde_json::Value;

fn without_marks(messages: &[Message]) -> Vec<Message> {
    messages.iter().map(|message| Message { ordinal: None, ..message.clone() }).collect()
}

/// The ids of all messages that a program finds which knows Gemini CLI's records and none of ours: a record replaces the one
/// of its id, and results in it are a message behind it.
fn ids_for_others(log: &str) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for line in log.lines() {
        let record: Value = serde_json::from_str(line).expect("JSON");
        let Some(id) = record["id"].as_str() else { continue };
        let has_results = record["toolCalls"].as_array().is_some_and(|calls| {
            calls.iter().any(|call| call.get("result").is_some_and(|result| !result.is_null()))
        });
        let response = has_results.then(|| format!("{id}_response"));
        for id in [id.to_string()].into_iter().chain(response) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
    }
    ids
}

#[test]
fn every_session_can_be_kept_as_a_log() {
    let Some(corpus) = longhaul_testkit::corpus() else { return };
    let root = tempfile::tempdir().expect("a folder");
    let (mut count, mut said, mut whole, mut exact) = (0, 0, 0, 0);
    for path in longhaul_testkit::files_below(&corpus.join("sessions/original")) {
        let session = read_session(File::open(&path).expect("there")).expect("a session");
        let new = NewSession {
            id: format!("{count:08}"),
            project_hash: "p".into(),
            kind: SessionKind::Main,
            directories: Vec::new(),
            at: Timestamp::from_millis(0),
        };
        let mut log = Log::create(root.path(), &new).expect("created");
        let setup =
            Setup { system: session.transcript.system.clone(), tools: session.transcript.tools.clone() };
        log.record(&Entry { id: "setup".into(), at: None, kind: EntryKind::Setup(setup) }).expect("recorded");
        let messages = without_marks(session.transcript.messages());
        let (first, second) = messages.split_at(messages.len() / 2);
        log.append_all(first).expect("appended");
        for message in second {
            log.append(message).expect("appended");
        }
        let bytes = fs::read(log.path()).expect("readable");
        let replayed = Replay::read(bytes.as_slice()).expect("readable");
        assert_eq!(without_marks(replayed.messages()), messages, "{}", path.display());
        let read = read_session(bytes.as_slice()).expect("a session");
        assert_eq!(without_marks(read.transcript.messages()), messages, "{}", path.display());
        assert_eq!(read.transcript.system, session.transcript.system);
        assert_eq!(read.transcript.tools, session.transcript.tools);
        let ids: Vec<&str> = messages.iter().map(|message| message.id.as_str()).collect();
        let text = String::from_utf8(bytes).expect("text");
        assert_eq!(ids_for_others(&text), ids, "{}", path.display());
        count += 1;
        said += messages.len();
        whole += text.len();
        exact += text.lines().filter(|line| line.starts_with(r#"{"$longhaul""#)).map(str::len).sum::<usize>();
    }
    println!("{count} sessions, {said} messages, {whole} bytes, {exact} of them in records of our own");
}
