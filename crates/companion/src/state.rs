//! The guard's state beside a session: the record up to the newest turn, so that a call reads only what was said since.
//!
//! It is made again whenever the file is another one or its bytes are not those of before, and may be deleted at any time.

use std::fs::{self, File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use longhaul_conversation::Ordinal;
use longhaul_directives::{QuotedRule, UserRequests, UserRules};
use longhaul_ledger::Ledger;
use longhaul_text::hash_text;
use longhaul_workspace::write_private_cache;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::record::{Directive, GuardError, SessionRecord};

/// The form of the file; one of another form is not read.
const FORM: u32 = 1;
/// A smaller session is read whole: that is as fast.
const WORTH_A_STATE: u64 = 512 << 10;
/// The bytes at the beginning and before the end that tell whether they are the same.
const PROBE: u64 = 4_096;

#[derive(Serialize, Deserialize)]
struct GuardState {
    form: u32,
    version: String,
    device: u64,
    inode: u64,
    /// The length of what the record is of: a turn begins here.
    offset: u64,
    head: u64,
    tail: u64,
    kept: u64,
    /// The id of the last record, which the next one must follow; none where records have no ids.
    last_id: Option<String>,
    last: Option<u32>,
    compactions: usize,
    is_guarded: bool,
    rules: UserRules,
    requests: UserRequests,
    ledger: Ledger,
}

/// The record of the session in a file, from the state in `folder` and what was said since. With [`Keep::State`], the state is
/// brought up to date.
pub(crate) fn read_record(
    path: &Path,
    folder: &Path,
    kept: &[QuotedRule],
    keep: Keep,
) -> Result<SessionRecord, GuardError> {
    let mut file = File::open(path).map_err(GuardError::Open)?;
    let meta = file.metadata().map_err(GuardError::Open)?;
    let place = state_file(folder, path);
    let state = load(&place).filter(|_| meta.len() >= WORTH_A_STATE);
    let state = state.filter(|state| state.is_of(&meta, kept) && state.has_same_bytes(&mut file));
    let start = state.as_ref().map_or(0, |state| state.offset);
    let mut bytes =
        Vec::with_capacity(usize::try_from(meta.len() - start.min(meta.len())).unwrap_or_default());
    file.seek(SeekFrom::Start(start)).and_then(|_| file.read_to_end(&mut bytes)).map_err(GuardError::Open)?;
    let Some(state) = state else { return read_whole(&bytes, &meta, &place, kept, keep) };
    if bytes.is_empty() {
        return Ok(state.into_record());
    }
    if !goes_on(&bytes, state.last_id.as_deref()) {
        // Something was taken back, or the session goes on from an earlier place.
        file.seek(SeekFrom::Start(0)).map_err(GuardError::Open)?;
        let mut whole = Vec::new();
        file.read_to_end(&mut whole).map_err(GuardError::Open)?;
        return read_whole(&whole, &meta, &place, kept, keep);
    }
    let turn = turn_start(&bytes).filter(|turn| *turn > 0 && keep == Keep::State);
    let Some(turn) = turn else { return state.into_record().goes_on_with(&bytes) };
    let (last_id, offset) = (last_id(&bytes[..turn]).or(state.last_id.clone()), start + turn as u64);
    let record = state.into_record().goes_on_with(&bytes[..turn])?;
    save(&place, &meta, &mut file, offset, last_id, kept, &record);
    record.goes_on_with(&bytes[turn..])
}

/// Permission of a call to take the time to write the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// It is written where a turn has ended since.
    State,
    /// It stays as it is.
    Nothing,
}

fn read_whole(
    bytes: &[u8],
    meta: &Metadata,
    place: &Path,
    kept: &[QuotedRule],
    keep: Keep,
) -> Result<SessionRecord, GuardError> {
    let turn = turn_start(bytes).filter(|_| keep == Keep::State && meta.len() >= WORTH_A_STATE);
    let Some(turn) = turn.filter(|turn| *turn > 0) else { return SessionRecord::read_with(bytes, kept) };
    let record = SessionRecord::read_with(&bytes[..turn], kept)?;
    save(place, meta, &mut std::io::Cursor::new(bytes), turn as u64, last_id(&bytes[..turn]), kept, &record);
    record.goes_on_with(&bytes[turn..])
}

impl GuardState {
    fn is_of(&self, meta: &Metadata, kept: &[QuotedRule]) -> bool {
        self.form == FORM
            && self.version == env!("CARGO_PKG_VERSION")
            && (self.device, self.inode) == identity(meta)
            && meta.len() >= self.offset
            && self.kept == hash_of_kept(kept)
    }

    fn has_same_bytes(&self, file: &mut File) -> bool {
        probes(file, self.offset).is_some_and(|probes| probes == (self.head, self.tail))
    }

    fn into_record(self) -> SessionRecord {
        SessionRecord {
            rules: self.rules,
            requests: self.requests,
            ledger: self.ledger,
            last: self.last.map(Ordinal),
            // A turn begins behind it: no prompt is being worked on.
            prompt: None::<Directive>,
            compactions: vec![crate::record::AgentCompaction::default(); self.compactions],
            is_guarded: self.is_guarded,
        }
    }
}

fn save(
    place: &Path,
    meta: &Metadata,
    file: &mut (impl Read + Seek),
    offset: u64,
    last_id: Option<String>,
    kept: &[QuotedRule],
    record: &SessionRecord,
) {
    let Some((head, tail)) = probes(file, offset) else { return };
    let (device, inode) = identity(meta);
    let state = GuardState {
        form: FORM,
        version: env!("CARGO_PKG_VERSION").into(),
        device,
        inode,
        offset,
        head,
        tail,
        kept: hash_of_kept(kept),
        last_id,
        last: record.last.map(|last| last.0),
        compactions: record.compactions.len(),
        is_guarded: record.is_guarded,
        rules: record.rules.clone(),
        requests: record.requests.clone(),
        ledger: record.ledger.clone(),
    };
    if let Ok(text) = serde_json::to_vec(&state) {
        // Without it the next call reads the session whole.
        let _ = write_private_cache(place, &text);
    }
}

fn load(place: &Path) -> Option<GuardState> {
    serde_json::from_slice(&fs::read(place).ok()?).ok()
}

fn state_file(folder: &Path, path: &Path) -> PathBuf {
    folder.join(format!("{:016x}.state.json", hash_text(&path.to_string_lossy())))
}

fn hash_of_kept(kept: &[QuotedRule]) -> u64 {
    kept.iter().fold(kept.len() as u64, |hash, rule| hash.rotate_left(7) ^ hash_text(&rule.text))
}

/// The hashes of the beginning and of what stands before this place.
fn probes(file: &mut (impl Read + Seek), offset: u64) -> Option<(u64, u64)> {
    let size = PROBE.min(offset);
    let mut hash_at = |start: u64| {
        let mut bytes = vec![0; usize::try_from(size).ok()?];
        file.seek(SeekFrom::Start(start)).ok()?;
        file.read_exact(&mut bytes).ok()?;
        Some(hash_text(&String::from_utf8_lossy(&bytes)))
    };
    Some((hash_at(0)?, hash_at(offset - size)?))
}

#[cfg(unix)]
fn identity(meta: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (meta.dev(), meta.ino())
}

#[cfg(not(unix))]
fn identity(_meta: &Metadata) -> (u64, u64) {
    (0, 0)
}

/// The start of the newest turn in a session of Claude Code or Codex: the line with the user's prompt, or the one that says that a
/// turn starts. Everything before is complete. None for other formats.
fn turn_start(bytes: &[u8]) -> Option<usize> {
    let mut end = bytes.len();
    while end > 0 {
        let start = memchr::memrchr(b'\n', &bytes[..end.saturating_sub(1)]).map_or(0, |place| place + 1);
        let line = &bytes[start..end];
        if begins_turn(line) {
            return Some(start);
        }
        end = start;
    }
    None
}

fn begins_turn(line: &[u8]) -> bool {
    let has = |words: &[u8]| memchr::memmem::find(line, words).is_some();
    if has(b"\"task_started\"") && has(b"\"event_msg\"") {
        return true;
    }
    // Most lines are none, and need not be parsed.
    if !has(b"\"promptId\"") && !has(b"\"permissionMode\"")
        || has(b"\"tool_result\"")
        || has(b"\"isMeta\":true")
    {
        return false;
    }
    let Ok(record) = serde_json::from_slice::<Value>(line) else { return false };
    let is_set = |key: &str| record.get(key).and_then(Value::as_bool) == Some(true);
    record.get("type").and_then(Value::as_str) == Some("user")
        && !is_set("isSidechain")
        && !is_set("isMeta")
        && !is_set("isCompactSummary")
        && record.get("toolUseResult").is_none()
}

/// The id of the last record that has one, of those on the main chain.
fn last_id(bytes: &[u8]) -> Option<String> {
    let mut end = bytes.len();
    while end > 0 {
        let start = memchr::memrchr(b'\n', &bytes[..end.saturating_sub(1)]).map_or(0, |place| place + 1);
        let line = &bytes[start..end];
        if memchr::memmem::find(line, b"\"uuid\"").is_some()
            && let Ok(record) = serde_json::from_slice::<Value>(line)
            && record.get("isSidechain").and_then(Value::as_bool) != Some(true)
            && let Some(id) = record.get("uuid").and_then(Value::as_str)
        {
            return Some(id.to_string());
        }
        end = start;
    }
    None
}

/// True if these lines follow what was read before: each record's parent is the last one of then, or stands among them.
fn goes_on(bytes: &[u8], last: Option<&str>) -> bool {
    if memchr::memmem::find(bytes, b"\"thread_rolled_back\"").is_some() {
        return false;
    }
    let Some(last) = last else { return memchr::memmem::find(bytes, b"\"parentUuid\"").is_none() };
    let Some(first) = bytes.split(|byte| *byte == b'\n').next() else { return true };
    let Ok(record) = serde_json::from_slice::<Value>(first) else { return false };
    if record.get("parentUuid").and_then(Value::as_str) != Some(last) {
        return false;
    }
    let mut known = std::collections::HashSet::from([last.to_string()]);
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let Ok(links) = serde_json::from_slice::<Links<'_>>(line) else { continue };
        if links.parent.as_deref().is_some_and(|parent| !known.contains(parent)) && !links.is_aside {
            return false;
        }
        known.extend(links.id.map(std::borrow::Cow::into_owned));
    }
    true
}

/// The ids in a record of Claude Code.
#[derive(Deserialize)]
struct Links<'a> {
    #[serde(borrow, rename = "uuid", default)]
    id: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, rename = "parentUuid", default)]
    parent: Option<std::borrow::Cow<'a, str>>,
    #[serde(rename = "isSidechain", default)]
    is_aside: bool,
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// A long session of Claude Code: turns with a prompt, a call, its result and an answer; `c` compacts.
    fn session(turns: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let mut parent = Value::Null;
        let add = |mut record: Value, lines: &mut Vec<String>, parent: &mut Value| {
            let id = format!("00000000-0000-4000-8000-{:012}", lines.len());
            record["uuid"] = id.clone().into();
            record["parentUuid"] = parent.clone();
            record["sessionId"] = "s".into();
            record["cwd"] = "/app".into();
            record["timestamp"] = "2026-01-02T03:04:05Z".into();
            *parent = id.into();
            lines.push(record.to_string());
        };
        for turn in 0..turns {
            let prompt = format!("Never touch table{turn}. Rename the flag in file{turn}.");
            let call = serde_json::json!([{"type": "tool_use", "id": format!("t{turn}"), "name": "Write",
                "input": {"file_path": format!("/app/file{turn}"), "content": "x".repeat(9_000)}}]);
            let result = serde_json::json!([{"type": "tool_result", "tool_use_id": format!("t{turn}"), "content": "File created successfully"}]);
            let answer = serde_json::json!([{"type": "text", "text": "Renamed it."}]);
            let said = |role: &str, content: Value| serde_json::json!({"type": role, "message": {"role": role, "id": format!("{role}{turn}"), "content": content}});
            let mut typed = said("user", prompt.into());
            typed["promptId"] = "p".into();
            add(typed, &mut lines, &mut parent);
            let mut called = said("assistant", call);
            called["message"]["id"] = format!("call{turn}").into();
            add(called, &mut lines, &mut parent);
            add(said("user", result), &mut lines, &mut parent);
            add(said("assistant", answer), &mut lines, &mut parent);
        }
        lines
    }

    fn shown(record: &SessionRecord) -> Vec<String> {
        crate::guard_texts(record, "s.jsonl", crate::GuardRoom::CLAUDE)
    }

    #[test]
    fn a_state_and_what_was_said_since_are_the_whole_record() {
        let root = tempfile::tempdir().expect("a folder");
        let (path, folder) = (root.path().join("s.jsonl"), root.path().join("states"));
        let lines = session(90);
        let whole = lines.join("\n") + "\n";
        assert!(whole.len() as u64 > WORTH_A_STATE);
        for cut in [240, 241, 242, 243, 244, 300, 360] {
            let text = lines[..cut].join("\n") + "\n";
            if !path.exists() {
                fs::write(&path, &text).expect("written");
            } else {
                let known = fs::metadata(&path).expect("there").len();
                let mut file = fs::OpenOptions::new().append(true).open(&path).expect("open");
                file.write_all(&text.as_bytes()[usize::try_from(known).expect("small")..]).expect("appended");
            }
            let read = read_record(&path, &folder, &[], Keep::State).expect("readable");
            let expected = SessionRecord::read(text.as_bytes()).expect("readable");
            assert_eq!(shown(&read), shown(&expected), "{cut}");
            assert_eq!((read.last, &read.ledger), (expected.last, &expected.ledger), "{cut}");
            let again = read_record(&path, &folder, &[], Keep::Nothing).expect("readable");
            assert_eq!(shown(&again), shown(&expected), "{cut}");
        }
        assert_eq!(fs::read_dir(&folder).expect("there").count(), 1);
    }

    #[test]
    fn a_session_that_was_taken_back_or_replaced_is_read_whole() {
        let root = tempfile::tempdir().expect("a folder");
        let (path, folder) = (root.path().join("s.jsonl"), root.path().join("states"));
        let lines = session(90);
        fs::write(&path, lines.join("\n") + "\n").expect("written");
        read_record(&path, &folder, &[], Keep::State).expect("readable");
        // The user goes on from an earlier place.
        let mut branch: Value = serde_json::from_str(&lines[4]).expect("JSON");
        branch["uuid"] = "00000000-0000-4000-8000-999999999999".into();
        branch["message"]["content"] = "Use spaces from now on.".into();
        let branched = format!("{}\n{branch}\n", lines.join("\n"));
        fs::write(&path, &branched).expect("written");
        let read = read_record(&path, &folder, &[], Keep::State).expect("readable");
        assert_eq!(shown(&read), shown(&SessionRecord::read(branched.as_bytes()).expect("readable")));
        // Other bytes of the same length.
        let other = (lines.join("\n") + "\n").replace("table0", "tableX");
        fs::write(&path, &other).expect("written");
        let read = read_record(&path, &folder, &[], Keep::Nothing).expect("readable");
        assert_eq!(shown(&read), shown(&SessionRecord::read(other.as_bytes()).expect("readable")));
        assert!(fs::write(folder.join("x"), "").is_ok());
        for entry in fs::read_dir(&folder).expect("there").flatten() {
            fs::write(entry.path(), "{broken").expect("written");
        }
        assert!(read_record(&path, &folder, &[], Keep::Nothing).is_ok());
    }
}
