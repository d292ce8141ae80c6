//! Answers a hook's call: what the agent's next request should hold besides.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use longhaul_directives::QuotedRule;
use longhaul_text::hash_text;
use longhaul_workspace::write_private_cache;
use serde_json::{Value, json};

use crate::hook::{HookCall, HookDialect, HookMoment};
use crate::record::{GuardError, SessionRecord};
use crate::state::{Keep, read_record};
use crate::text::{GUARD_TAG, GuardRoom, guard_texts};

/// The folder in which the guard remembers what it added to the requests of a session, so that each later request gets the
/// same bytes.
#[derive(Clone, Debug)]
pub struct GuardMemory {
    folder: PathBuf,
}

impl GuardMemory {
    /// The memory in this folder, which is made when it is needed.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    fn file(&self, transcript: &Path, summary: &str) -> PathBuf {
        let session = hash_text(&transcript.to_string_lossy());
        self.folder.join(format!("{session:016x}-{:016x}.txt", hash_text(summary)))
    }
}

/// The answer to a call, for the handler with this number (from 1); none if the guard has nothing to say. `kept` are sentences
/// that were kept as rules of the session; `open` opens a session, be it in a file or in a database.
///
/// # Errors
/// If the session cannot be read.
pub fn answer(
    call: &HookCall,
    handler: usize,
    memory: &GuardMemory,
    kept: &[QuotedRule],
    open: &dyn Fn(&Path) -> io::Result<Box<dyn Read>>,
) -> Result<Option<String>, GuardError> {
    let Some(transcript) = call.transcript.as_deref() else { return Ok(None) };
    // The handlers of one event run beside each other: one of them keeps what was read.
    let keep = if handler == 1 { Keep::State } else { Keep::Nothing };
    let record = || read_record(transcript, &memory.folder, kept, keep);
    match &call.moment {
        HookMoment::Compacted => Ok(added(call, transcript, &record()?, handler)),
        HookMoment::Resumed | HookMoment::Prompted => {
            if !may_be_unguarded(transcript) {
                return Ok(None);
            }
            let record = record()?;
            let is_due = !record.compactions.is_empty() && !record.is_guarded;
            Ok(if is_due { added(call, transcript, &record, handler) } else { None })
        }
        HookMoment::BeforeCompaction if handler == 1 => match call.dialect {
            HookDialect::Claude => Ok(focus(&record()?)),
            HookDialect::Opencode => {
                let record = SessionRecord::read_with(open(transcript).map_err(GuardError::Open)?, kept)?;
                Ok(focus(&record).map(|text| json!({"text": text}).to_string()))
            }
            HookDialect::Codex | HookDialect::Gemini => Ok(None),
        },
        HookMoment::BeforeRequest(request) if handler == 1 => {
            let source = Source { transcript, memory, kept, open };
            rewritten(request, &source)
        }
        HookMoment::BehindCompaction(compaction) => {
            let source = Source { transcript, memory, kept, open };
            let text = source.guard_text(compaction)?;
            Ok((!text.is_empty()).then(|| json!({"text": text}).to_string()))
        }
        _ => Ok(None),
    }
}

/// Brings the state beside a session up to date, so that the next call need not read all of it.
///
/// # Errors
/// If the session cannot be read.
pub fn take_note(
    transcript: &Path,
    memory: &GuardMemory,
    kept: &[QuotedRule],
) -> Result<SessionRecord, GuardError> {
    read_record(transcript, &memory.folder, kept, Keep::State)
}

/// A session and what is known about it.
struct Source<'a> {
    transcript: &'a Path,
    memory: &'a GuardMemory,
    kept: &'a [QuotedRule],
    open: &'a dyn Fn(&Path) -> io::Result<Box<dyn Read>>,
}

impl Source<'_> {
    /// The guard's text behind a compaction: the same bytes each time.
    fn guard_text(&self, compaction: &str) -> Result<String, GuardError> {
        let known = self.memory.file(self.transcript, compaction);
        if let Ok(text) = std::fs::read_to_string(&known) {
            return Ok(text);
        }
        let input = (self.open)(self.transcript).map_err(GuardError::Open)?;
        let record = SessionRecord::read_to_last_compaction(input, self.kept)?;
        let session = self.transcript.to_string_lossy();
        let text = guard_texts(&record, &session, GuardRoom::REQUEST).into_iter().next().unwrap_or_default();
        // Without it, the text is made again from the same record, and is the same.
        let _ = write_private_cache(&known, text.as_bytes());
        Ok(text)
    }
}

/// The text for one handler, in the form of hooks that add context.
fn added(call: &HookCall, transcript: &Path, record: &SessionRecord, handler: usize) -> Option<String> {
    let room = if call.dialect == HookDialect::Codex { GuardRoom::CODEX } else { GuardRoom::CLAUDE };
    let event = if call.moment == HookMoment::Prompted { "UserPromptSubmit" } else { "SessionStart" };
    let text =
        guard_texts(record, &transcript.to_string_lossy(), room).into_iter().nth(handler.checked_sub(1)?)?;
    Some(json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}).to_string())
}

/// One line for the agent's summary, so that it is spent on what the guard does not bring back.
fn focus(record: &SessionRecord) -> Option<String> {
    let (rules, open) = (record.active_rules().len(), record.open_requests().len());
    let files = record.ledger.files().filter(|(_, file)| file.state.is_change()).count();
    if rules + open + files == 0 {
        return None;
    }
    let counted = |count: usize, noun: &str| match count {
        1 => format!("1 {noun}"),
        many => format!("{many} {noun}s"),
    };
    let kept: Vec<String> = [(rules, "rule"), (open, "open request"), (files, "changed file")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, noun)| counted(count, noun))
        .collect();
    Some(format!(
        "Longhaul restores {} after this compaction; use the summary for findings, decisions with their reasons, failed attempts and exact values.",
        kept.join(", ")
    ))
}

/// Marks of a compaction in the files of the agents that are guarded.
const COMPACTIONS: [&[u8]; 4] = [
    b"\"compact_boundary\"",
    b"\"isCompactSummary\":true",
    b"\"type\":\"compacted\"",
    b"\"context_compacted\"",
];

/// A quick look at the bytes: false if the session was never compacted, or the guard spoke after the last compaction.
fn may_be_unguarded(transcript: &Path) -> bool {
    let Ok(bytes) = std::fs::read(transcript) else { return false };
    let last = COMPACTIONS.iter().filter_map(|mark| memchr::memmem::rfind(&bytes, mark)).max();
    last.is_some_and(|last| memchr::memmem::find(&bytes[last..], GUARD_TAG.as_bytes()).is_none())
}

/// The request with the guard's text behind the agent's summary: the same bytes in each request after that compaction.
fn rewritten(request: &Value, source: &Source<'_>) -> Result<Option<String>, GuardError> {
    let Some(messages) = request.get("messages").and_then(Value::as_array) else { return Ok(None) };
    let Some((index, text)) = find_summary(messages) else { return Ok(None) };
    let guard = source.guard_text(text)?;
    if guard.is_empty() {
        return Ok(None);
    }
    let mut messages = messages.clone();
    messages[index]["content"] = Value::String(format!("{text}\n\n{guard}"));
    Ok(Some(
        json!({"hookSpecificOutput": {"hookEventName": "BeforeModel", "llm_request": {"messages": messages}}}).to_string(),
    ))
}

/// The answer with which Gemini CLI lets its model accept a summary.
const ACKNOWLEDGEMENT: &str = "Got it. Thanks for the additional context!";

/// The agent's summary among the messages of a request: by its tag, or by the answer that follows it where the model wrote none.
/// A snapshot of our own agent is none: its rules are in it, and its tag says through which message it goes.
fn find_summary(messages: &[Value]) -> Option<(usize, &str)> {
    let says = |message: &Value, words: &str| {
        message.get("content").and_then(Value::as_str).is_some_and(|it| it.trim() == words)
    };
    let is_accepted = |index: usize| messages.get(index + 1).is_some_and(|next| says(next, ACKNOWLEDGEMENT));
    messages.iter().enumerate().find_map(|(index, message)| {
        let text = message.get("content").and_then(Value::as_str)?;
        let is_user = message.get("role").and_then(Value::as_str) == Some("user");
        let is_summary = text.contains("<state_snapshot>") || is_accepted(index);
        (is_user && is_summary && !text.contains("<state_snapshot through=") && !text.contains(GUARD_TAG))
            .then_some((index, text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &Path) -> io::Result<Box<dyn Read>> {
        Ok(Box::new(std::fs::File::open(path)?))
    }

    #[track_caller]
    fn check(messages: &Value, expected: Option<usize>) {
        let found = find_summary(messages.as_array().expect("a list")).map(|(index, _)| index);
        assert_eq!(found, expected, "{messages}");
    }

    #[test]
    fn a_summary_is_found_by_its_tag_or_its_answer() {
        let user = |text: &str| json!({"role": "user", "content": text});
        let model = |text: &str| json!({"role": "model", "content": text});
        check(&json!([user("hi"), model("hello")]), None);
        check(&json!([user("context"), user("<state_snapshot>\n</state_snapshot>"), model("x")]), Some(1));
        check(&json!([user("A summary without a tag."), model(ACKNOWLEDGEMENT)]), Some(0));
        check(&json!([user("<state_snapshot through=\"m9\">"), model(ACKNOWLEDGEMENT)]), None);
        check(&json!([model("<state_snapshot>")]), None);
        check(&json!([{"role": "user"}, 7, null]), None);
    }

    #[test]
    fn each_later_request_gets_the_same_bytes() {
        let root = tempfile::tempdir().expect("a folder");
        let transcript = root.path().join("session.jsonl");
        let lines = [
            r#"{"sessionId":"s","projectHash":"p","startTime":"2026-01-02T03:04:05Z","kind":"main"}"#,
            r#"{"id":"1","type":"user","content":[{"text":"Never touch prod.db. Rename the flag."}]}"#,
            r#"{"id":"2","type":"gemini","content":"Renamed."}"#,
            r#"{"$set":{"messages":[{"id":"3","type":"user","content":"<state_snapshot>s</state_snapshot>"},{"id":"4","type":"gemini","content":"Got it. Thanks for the additional context!"}]}}"#,
        ];
        std::fs::write(&transcript, lines.join("\n") + "\n").expect("written");
        let memory = GuardMemory::at(root.path().join("guard"));
        let request = json!({"messages": [
            {"role": "user", "content": "<state_snapshot>s</state_snapshot>"}, {"role": "model", "content": ACKNOWLEDGEMENT},
            {"role": "user", "content": "Now the docs."},
        ]});
        let added = |memory: &GuardMemory| {
            let call = HookCall {
                dialect: HookDialect::Gemini,
                moment: HookMoment::BeforeRequest(request.clone()),
                transcript: Some(transcript.clone()),
                session: None,
                directory: None,
            };
            let said = answer(&call, 1, memory, &[], &open).expect("readable").expect("an answer");
            let said: Value = serde_json::from_str(&said).expect("JSON");
            said["hookSpecificOutput"]["llm_request"]["messages"].clone()
        };
        let first = added(&memory);
        assert!(
            first[0]["content"].as_str().is_some_and(|text| text.contains("- [m1] Never touch prod.db.")),
            "{first}"
        );
        assert_eq!(first[2], request["messages"][2]);
        let mut longer = lines.join("\n") + "\n";
        longer.push_str(
            "{\"id\":\"5\",\"type\":\"user\",\"content\":[{\"text\":\"Now the docs. Never use tabs.\"}]}\n",
        );
        std::fs::write(&transcript, longer).expect("written");
        assert_eq!(added(&memory), first, "from what was kept");
        assert_eq!(added(&GuardMemory::at(root.path().join("other"))), first, "and made again");
    }

    #[test]
    fn a_session_that_is_gone_is_an_error_and_nothing_to_say_is_nothing() {
        let memory = GuardMemory::at("/nowhere");
        let call = |moment| HookCall {
            dialect: HookDialect::Claude,
            moment,
            transcript: Some("/nowhere/s.jsonl".into()),
            session: None,
            directory: None,
        };
        assert!(answer(&call(HookMoment::Compacted), 1, &memory, &[], &open).is_err());
        assert_eq!(answer(&call(HookMoment::Prompted), 1, &memory, &[], &open).expect("quiet"), None);
        assert_eq!(answer(&call(HookMoment::Other), 1, &memory, &[], &open).expect("quiet"), None);
    }
}
