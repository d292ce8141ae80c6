//! Finds out what a session is about without keeping its messages.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

use longhaul_conversation::Timestamp;
use longhaul_wire::{mend, text_of};
use serde::{Deserialize, Serialize};

use super::narrow::{Fields, Side, Told, is_injected, is_request};

/// The suffix after the id of a model's message in the id of the message that holds the answers to its calls.
const RESPONSE: &str = "_response";

/// So much of a file is read at a time.
const CHUNK: usize = 1 << 16;

/// The metadata of a session file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionMetadata {
    /// The session's own id.
    pub id: String,
    /// The hash of the project's root.
    pub project_hash: String,
    /// Its role: a conversation with a user, or one of a sub-agent.
    #[serde(default)]
    pub kind: SessionRole,
    /// When it began, where the file says so.
    pub started: Option<Timestamp>,
    /// When something was last added, where the file says so.
    pub updated: Option<Timestamp>,
    /// When it was imported, if it was.
    #[serde(default)]
    pub imported: Option<Timestamp>,
    /// One sentence on what it is about.
    pub summary: Option<String>,
    /// The number of messages, including those of the program to its user.
    pub message_count: usize,
    /// The number of user messages.
    pub user_message_count: usize,
    /// The beginning of the user's first request, or of the first message if none is a request.
    pub first_user_message: Option<String>,
    /// True if there is anything to go on with: a request, or an answer of the model.
    pub has_resumable_content: bool,
    /// The state of the notes on the session.
    #[serde(default)]
    pub scratchpad: Scratchpad,
    /// The outcome of the work, in a line of those notes.
    #[serde(default)]
    pub workflow: Option<String>,
}

/// The owner of a session's conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionRole {
    /// One with a user.
    #[default]
    Main,
    /// One that an agent led on behalf of another session.
    Subagent,
}

/// The state of the notes that are kept on a session for extracting memories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scratchpad {
    /// There are none.
    #[default]
    Missing,
    /// Nothing was said or taken back since they were written.
    Fresh,
    /// Something was.
    Stale,
}

/// Reads what a session's file says, short of what was said in it; `None` if it is no session.
///
/// Lines that are broken are passed over. The file may also have the older form, one object with all messages.
///
/// # Errors
/// The error that prevents the file from being read.
pub fn load_metadata(path: &Path) -> io::Result<Option<SessionMetadata>> {
    Scanner::default().load(path)
}

/// Loads metadata, with one buffer for all files.
#[derive(Default)]
pub(super) struct Scanner {
    buffer: Vec<u8>,
}

impl Scanner {
    pub(super) fn load(&mut self, path: &Path) -> io::Result<Option<SessionMetadata>> {
        let mut file = File::open(path)?;
        let mut fold = Fold::default();
        self.each_line(&mut file, |line| fold.line(line))?;
        if let Some(metadata) = fold.finish() {
            return Ok(Some(metadata));
        }
        // Perhaps one object over many lines.
        file.rewind()?;
        let mut fold = Fold::default();
        let mut document = serde_json::Deserializer::from_reader(BufReader::with_capacity(CHUNK, file));
        match Fields::<'static>::deserialize(&mut document) {
            Ok(fields) => fold.record(fields),
            Err(error) if error.is_io() => return Err(error.into()),
            Err(_) => return Ok(None),
        }
        Ok(fold.finish())
    }

    /// Hands over every line that is not blank; the last one need not be closed.
    fn each_line(&mut self, input: &mut impl Read, mut take: impl FnMut(&[u8])) -> io::Result<()> {
        let mut filled = 0;
        loop {
            if self.buffer.len() - filled < CHUNK / 2 {
                self.buffer.resize((filled * 2).max(CHUNK), 0);
            }
            let read = match input.read(&mut self.buffer[filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            let searched = filled;
            filled += read;
            let mut start = 0;
            for end in memchr::memchr_iter(b'\n', &self.buffer[searched..filled]) {
                let end = searched + end;
                take(&self.buffer[start..end]);
                start = end + 1;
            }
            if read == 0 {
                take(&self.buffer[start..filled]);
                return Ok(());
            }
            self.buffer.copy_within(start..filled, 0);
            filled -= start;
        }
    }
}

/// Puts records together, as they stand on the current branch.
#[derive(Default)]
struct Fold {
    head: SessionMetadata,
    messages: Vec<Told>,
    places: HashMap<Box<str>, usize>,
    /// The first request before another program wrote the messages anew: a compaction does not rename a session.
    first_request: Option<Box<str>>,
}

impl Fold {
    fn line(&mut self, line: &[u8]) {
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
        if line.is_empty() {
            return;
        }
        if let Ok(fields) = Fields::parse(line) {
            return self.record(fields);
        }
        let (text, _) = text_of(line);
        if let Ok(fields) = Fields::parse(text.as_bytes()) {
            self.record(fields);
        } else if let Some(mended) = mend(&text)
            && let Ok(fields) = Fields::parse(mended.as_bytes())
        {
            self.record(fields);
        }
    }

    fn record(&mut self, mut fields: Fields<'_>) {
        if let Some(id) = &fields.rewind_to {
            self.rewind_to(id);
        } else if let Some(changes) = fields.set.take() {
            self.merge(*changes);
        } else if fields.is_ours {
            // What Longhaul adds changes what a model sees, not what was said.
        } else if fields.is_head() {
            self.merge(fields);
        } else if let Some(message) = fields.into_message() {
            self.put(message);
            self.outdate();
        }
    }

    fn merge(&mut self, fields: Fields<'_>) {
        let text = |field: Option<Cow<'_, str>>| field.filter(|text| !text.is_empty()).map(Cow::into_owned);
        let time = |field: Option<Cow<'_, str>>| field.as_deref().and_then(Timestamp::parse);
        if let Some(id) = text(fields.session_id) {
            self.head.id = id;
        }
        if let Some(hash) = text(fields.project_hash) {
            self.head.project_hash = hash;
        }
        if let Some(kind) = fields.session_kind {
            self.head.kind = if kind == "subagent" { SessionRole::Subagent } else { SessionRole::Main };
        }
        self.head.started = time(fields.start_time).or(self.head.started);
        self.head.updated = time(fields.last_updated).or(self.head.updated);
        self.head.imported = time(fields.imported_at).or(self.head.imported);
        self.head.summary = text(fields.summary).or(self.head.summary.take());
        if let Some(messages) = fields.messages {
            if self.first_request.is_none() {
                let first: Option<Box<str>> = self.words().find(|words| is_request(words)).map(Into::into);
                self.first_request = first;
            }
            self.messages.clear();
            self.places.clear();
            messages.into_iter().for_each(|message| self.put(message));
            self.outdate();
        }
        if fields.notes.is_filled {
            self.head.scratchpad = Scratchpad::Fresh;
            self.head.workflow = text(fields.notes.workflow);
        }
    }

    fn put(&mut self, (id, message): (Box<str>, Told)) {
        match self.places.entry(id) {
            Entry::Occupied(place) => self.messages[*place.get()] = message,
            Entry::Vacant(place) => {
                place.insert(self.messages.len());
                self.messages.push(message);
            }
        }
    }

    /// Takes back a message and all behind it. What nobody knows cannot be taken back: the readers ignore it, too.
    fn rewind_to(&mut self, id: &str) {
        let known = |id: &str| self.places.get(id).copied();
        let place = known(id).or_else(|| known(id.strip_suffix(RESPONSE)?).map(|place| place + 1));
        if let Some(place) = place {
            self.messages.truncate(place);
            self.places.retain(|_, known| *known < place);
        }
        self.outdate();
    }

    fn outdate(&mut self) {
        if self.head.scratchpad == Scratchpad::Fresh {
            self.head.scratchpad = Scratchpad::Stale;
        }
    }

    /// The words of the user's messages, in order.
    fn words(&self) -> impl Iterator<Item = &str> + Clone {
        let by_user = self.messages.iter().filter(|message| message.side == Side::User);
        by_user.filter_map(|message| message.words.as_deref()).filter(|words| !is_injected(words))
    }

    fn finish(mut self) -> Option<SessionMetadata> {
        let mut metadata = std::mem::take(&mut self.head);
        if metadata.id.is_empty() || metadata.project_hash.is_empty() {
            return None;
        }
        metadata.message_count = self.messages.len();
        metadata.user_message_count =
            self.messages.iter().filter(|message| message.side == Side::User).count();
        let first = self.first_request.as_deref();
        let first = first.or_else(|| self.words().find(|words| is_request(words)));
        metadata.first_user_message = first.or_else(|| self.words().next()).map(str::to_owned);
        metadata.has_resumable_content = self.messages.iter().any(|message| message.is_resumable);
        Some(metadata)
    }
}

/// The id in the first bytes of a file, for one that is too broken to be read whole.
pub(super) fn id_in_head(path: &Path) -> io::Result<Option<String>> {
    const HEAD: u64 = 4096;
    let mut head = Vec::new();
    File::open(path)?.take(HEAD).read_to_end(&mut head)?;
    let first_line = head.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
    if let Some(id) = first_line.and_then(|line| Fields::parse(line).ok()?.session_id) {
        return Ok(Some(id.into_owned()));
    }
    // The first line goes on, or the object is spread over many.
    let text = text_of(&head).0;
    let id = text.split_once("\"sessionId\"").and_then(|(_, rest)| {
        let value = rest.trim_start().strip_prefix(':')?.trim_start();
        serde_json::Deserializer::from_str(value).into_iter::<String>().next()?.ok()
    });
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"sessionId":"s-1","projectHash":"p","startTime":"2026-01-02T03:04:05Z","lastUpdated":"2026-01-02T03:04:06Z","kind":"main"}"#;
    const ASK: &str =
        r#"{"id":"1","timestamp":"2026-01-02T03:05:00Z","type":"user","content":"Fix the build"}"#;
    const CALL: &str = r#"{"id":"2","type":"gemini","content":"","toolCalls":[{"id":"c","name":"ls","args":{},"result":"a"}]}"#;

    fn load(text: impl AsRef<[u8]>) -> Option<SessionMetadata> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("session-a.jsonl");
        std::fs::write(&path, text).expect("written");
        load_metadata(&path).expect("readable")
    }

    fn with(lines: &[&str]) -> SessionMetadata {
        load([&[HEADER], lines].concat().join("\n")).expect("a session")
    }

    /// Messages, those of the user, whether they can be resumed, and the first words.
    #[track_caller]
    fn check(lines: &[&str], expected: (usize, usize, bool, &str)) {
        let found = with(lines);
        let first = found.first_user_message.as_deref().unwrap_or_default();
        let seen = (found.message_count, found.user_message_count, found.has_resumable_content, first);
        assert_eq!(seen, expected, "{lines:?}");
    }

    #[test]
    fn messages_are_counted_and_not_kept() {
        check(&[], (0, 0, false, ""));
        check(&[ASK], (1, 1, true, "Fix the build"));
        check(&[ASK, CALL, r#"{"id":"3","type":"info","content":"x"}"#], (3, 1, true, "Fix the build"));
        check(&[CALL], (1, 0, true, ""));
        check(&[r#"{"id":"3","type":"info","content":"x"}"#], (1, 0, false, ""));
        let response = r#"{"id":"3","type":"user","content":[{"functionResponse":{"id":"c"}}]}"#;
        check(&[ASK, CALL, response], (3, 1, true, "Fix the build"));
    }

    #[test]
    fn a_session_is_not_called_by_the_summary_it_begins_with() {
        let summary = r#"{"id":"0","type":"user","content":"This session is being continued from a previous conversation that ran out of context."}"#;
        check(&[summary, ASK], (2, 2, true, "Fix the build"));
    }

    #[test]
    fn a_compaction_of_another_program_does_not_rename_a_session() {
        let checkpoint = r#"{"$set":{"messages":[{"id":"9","type":"user","content":"What happened so far."},{"id":"10","type":"gemini","content":"Got it. Thanks for the additional context!"}]}}"#;
        check(&[ASK, CALL, checkpoint], (2, 1, true, "Fix the build"));
    }

    #[test]
    fn commands_are_no_requests() {
        let command = r#"{"id":"0","type":"user","content":"/help"}"#;
        check(&[command], (1, 1, false, "/help"));
        check(&[command, ASK], (2, 2, true, "Fix the build"));
    }

    #[test]
    fn what_a_program_wrote_names_no_session() {
        let injected = |id: &str, text: &str| format!(r#"{{"id":"{id}","type":"user","content":"{text}"}}"#);
        let snapshot = injected("8", "<state_snapshot through='m9'>goal</state_snapshot>");
        let context = injected("9", "<session_context>here</session_context>");
        check(&[&snapshot, &context, ASK], (3, 3, true, "Fix the build"));
        check(&[&snapshot, &context], (2, 2, false, ""));
    }

    #[test]
    fn a_message_written_again_counts_once() {
        check(&[ASK, CALL, CALL, ASK], (2, 1, true, "Fix the build"));
        let other = r#"{"id":"1","type":"user","content":"Fix the tests"}"#;
        check(&[ASK, CALL, other], (2, 1, true, "Fix the tests"));
    }

    #[test]
    fn rewinds_take_back() {
        check(&[ASK, CALL, r#"{"$rewindTo":"2"}"#], (1, 1, true, "Fix the build"));
        check(&[ASK, CALL, r#"{"$rewindTo":"1"}"#], (0, 0, false, ""));
        let other = r#"{"id":"5","type":"user","content":"Else"}"#;
        check(&[ASK, CALL, r#"{"$rewindTo":"1"}"#, other], (1, 1, true, "Else"));
        check(&[ASK, CALL, other, r#"{"$rewindTo":"2_response"}"#], (2, 1, true, "Fix the build"));
        check(&[ASK, CALL, r#"{"$rewindTo":"1"}"#, CALL], (1, 0, true, ""));
        check(&[ASK, CALL, r#"{"$rewindTo":"nobody"}"#], (2, 1, true, "Fix the build"));
    }

    #[test]
    fn checkpoints_replace_all_messages() {
        let checkpoint = format!(r#"{{"$set":{{"messages":[{CALL}],"summary":"About"}}}}"#);
        check(&[ASK, ASK, &checkpoint], (1, 0, true, "Fix the build"));
        check(&[ASK, &checkpoint, ASK], (2, 1, true, "Fix the build"));
        assert_eq!(with(&[&checkpoint]).summary.as_deref(), Some("About"));
    }

    #[test]
    fn changes_are_merged_into_the_header() {
        let found = with(&[r#"{"$set":{"lastUpdated":"2026-01-03T00:00:00Z","summary":"About"}}"#]);
        assert_eq!((found.id.as_str(), found.project_hash.as_str()), ("s-1", "p"));
        assert_eq!(found.started, Timestamp::parse("2026-01-02T03:04:05Z"));
        assert_eq!(found.updated, Timestamp::parse("2026-01-03"));
        assert_eq!((found.summary.as_deref(), found.kind), (Some("About"), SessionRole::Main));
        assert_eq!(with(&[r#"{"$set":{"kind":"subagent"}}"#]).kind, SessionRole::Subagent);
    }

    #[test]
    fn our_own_records_are_no_messages() {
        let ours = r#"{"$longhaul":{"v":1,"kind":"exact","message":{"id":"9","type":"user","content":"x"}}}"#;
        check(&[ASK, ours], (1, 1, true, "Fix the build"));
    }

    #[track_caller]
    fn check_scratchpad(lines: &[&str], expected: Scratchpad) {
        assert_eq!(with(lines).scratchpad, expected, "{lines:?}");
    }

    #[test]
    fn notes_are_stale_once_something_follows() {
        let notes = r#"{"$set":{"memoryScratchpad":{"version":1}}}"#;
        let touched = r#"{"$set":{"lastUpdated":"2026-01-03T00:00:00Z"}}"#;
        check_scratchpad(&[ASK], Scratchpad::Missing);
        check_scratchpad(&[ASK, notes], Scratchpad::Fresh);
        check_scratchpad(&[ASK, notes, touched], Scratchpad::Fresh);
        check_scratchpad(&[notes, ASK], Scratchpad::Stale);
        check_scratchpad(&[ASK, notes, r#"{"$rewindTo":"1"}"#], Scratchpad::Stale);
        check_scratchpad(&[notes, ASK, notes], Scratchpad::Fresh);
    }

    #[test]
    fn notes_say_how_the_work_went() {
        let notes = r#"{"$set":{"memoryScratchpad":{"version":1,"workflowSummary":"edit -> test"}}}"#;
        assert_eq!(with(&[ASK, notes]).workflow.as_deref(), Some("edit -> test"));
        assert_eq!(with(&[ASK, &notes.replace("\"edit -> test\"", "[3]")]).workflow, None);
    }

    #[test]
    fn the_older_form_is_read_on_one_line_and_on_many() {
        let text = format!(
            r#"{{"sessionId":"s","projectHash":"p","startTime":"2026-01-02T03:04:05Z","messages":[{ASK},{CALL}]}}"#
        );
        let pretty = text.replace(',', ",\n  ").replace('{', "{\n");
        for text in [text, pretty] {
            let found = load(&text).expect("a session");
            assert_eq!((found.message_count, found.user_message_count), (2, 1));
            assert_eq!(found.first_user_message.as_deref(), Some("Fix the build"));
        }
    }

    #[test]
    fn bad_lines_are_passed_over() {
        check(
            &["{", "nonsense", "", "[]", "\u{0}", ASK, r#"{"id":"2","type":"ge"#],
            (1, 1, true, "Fix the build"),
        );
        check(&[&ASK.replace("Fix", "\\ud83d Fix")], (1, 1, true, "\u{FFFD} Fix the build"));
        let mut text = [HEADER, ASK].join("\r\n").into_bytes();
        text.splice(0..0, *b"\xEF\xBB\xBF");
        text.extend_from_slice(b"\n\xFF\xFE\n");
        assert_eq!(load(text).expect("a session").message_count, 1);
    }

    #[test]
    fn what_names_no_session_is_none() {
        for text in
            ["", "{}", "nonsense", r#"{"sessionId":"s"}"#, r#"{"projectHash":"p"}"#, ASK, "[[[[", "{\n\n"]
        {
            assert_eq!(load(text), None, "{text}");
        }
    }

    #[test]
    fn lines_of_any_length_are_read() {
        let long = format!(r#"{{"id":"9","type":"gemini","content":"{}"}}"#, "x".repeat(5 * CHUNK));
        check(&[ASK, &long, CALL], (3, 1, true, "Fix the build"));
        let many = vec![ASK.replace(r#""1""#, r#""n""#); CHUNK / 50];
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        check(&many, (1, 1, true, "Fix the build"));
    }

    #[track_caller]
    fn check_head(text: &str, expected: Option<&str>) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        std::fs::write(&path, text).expect("written");
        assert_eq!(id_in_head(&path).expect("readable").as_deref(), expected, "{text}");
    }

    #[test]
    fn the_id_is_found_in_the_head() {
        check_head(HEADER, Some("s-1"));
        check_head(&format!("\n\n{HEADER}\n{ASK}"), Some("s-1"));
        check_head("{\n  \"sessionId\" : \"s\\u002d1\",\n  \"messages\": [", Some("s-1"));
        check_head(&format!(r#"{{"sessionId":"s-1","messages":["{}"]}}"#, "x".repeat(9000)), Some("s-1"));
        check_head(&format!(r#"{{"messages":["{}"],"sessionId":"s-1"}}"#, "x".repeat(9000)), None);
        check_head(r#"{"sessionId":7}"#, None);
        check_head("", None);
    }
}
