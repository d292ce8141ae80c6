//! Databases of opencode, goose and Cursor as those programs make them, read without a trace.

use std::path::{Path, PathBuf};

use longhaul_formats::{Format, Session, read_session};
use longhaul_stores::{
    Agent, FoundSessions, Places, Platform, StoreReadError, find_sessions, list_database,
    read_session_document, split_session_path,
};
use rusqlite::Connection;

const OPENCODE: &str = "
    CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL,
        directory text NOT NULL, title text NOT NULL, version text NOT NULL, revert text, model text,
        time_created integer NOT NULL, time_updated integer NOT NULL);
    CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
        time_updated integer NOT NULL, data text NOT NULL);
    CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
        time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
    INSERT INTO session VALUES ('ses_1', 'global', NULL, 'calm-otter', '/home/dev/shop', 'List the tests', '1.18.33', NULL,
        '{\"id\":\"kimi-k2\",\"providerID\":\"moonshot\"}', 1795032572311, 1795032584015);
    INSERT INTO session VALUES ('ses_2', 'global', 'ses_1', 'brave-fox', '/home/dev/shop', 'A task', '1.18.33', NULL, NULL,
        1795032572400, 1795032572500);
    INSERT INTO message VALUES ('msg_1', 'ses_1', 1795032572619, 0, '{\"role\":\"user\",\"time\":{\"created\":1795032572619}}');
    INSERT INTO message VALUES ('msg_2', 'ses_1', 1795032577162, 0, '{\"role\":\"assistant\",\"modelID\":\"kimi-k2\",
        \"tokens\":{\"input\":216,\"output\":25,\"reasoning\":0,\"cache\":{\"read\":7552,\"write\":0}}}');
    INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', 0, 0, '{\"type\":\"text\",\"text\":\"List the tests\"}');
    INSERT INTO part VALUES ('prt_2', 'msg_2', 'ses_1', 0, 0, '{\"type\":\"tool\",\"tool\":\"bash\",\"callID\":\"c1\",
        \"state\":{\"status\":\"completed\",\"input\":{\"command\":\"ls\"},\"output\":\"cart.rs\"}}');
    INSERT INTO part VALUES ('prt_3', 'msg_2', 'ses_1', 0, 0, 'half of {');";

const GOOSE: &str = "
    CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '',
        working_dir TEXT NOT NULL, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP, input_tokens INTEGER,
        output_tokens INTEGER, total_tokens INTEGER, accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER,
        model_config_json TEXT);
    CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL, role TEXT NOT NULL,
        content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL, metadata_json TEXT);
    INSERT INTO sessions VALUES ('20260101_1', 'List the tests', '', '/home/dev/shop', '2026-01-01 10:00:00',
        '2026-01-01 10:01:00', 900, 9, 909, 5000, 50, '{\"model_name\":\"gpt-5\"}');
    INSERT INTO messages VALUES (1, 'm1', '20260101_1', 'user', '[{\"type\":\"text\",\"text\":\"List the tests\"}]', 1767261600,
        '{\"userVisible\":true,\"agentVisible\":true}');
    INSERT INTO messages VALUES (2, 'm2', '20260101_1', 'assistant', '[{\"type\":\"text\",\"text\":\"cart.rs\"}]', 1767261601, NULL);";

const CURSOR: &str = "
    CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
    INSERT INTO cursorDiskKV VALUES ('composerData:c-1', '{\"composerId\":\"c-1\",\"name\":\"List the tests\",
        \"createdAt\":1795032572311,\"lastUpdatedAt\":1795032584015,
        \"fullConversationHeadersOnly\":[{\"bubbleId\":\"b1\",\"type\":1},{\"bubbleId\":\"b2\",\"type\":2},{\"bubbleId\":\"gone\"}]}');
    INSERT INTO cursorDiskKV VALUES ('composerData:empty', '{\"composerId\":\"empty\",\"fullConversationHeadersOnly\":[]}');
    INSERT INTO cursorDiskKV VALUES ('composerData:broken', '{');
    INSERT INTO cursorDiskKV VALUES ('bubbleId:c-1:b1', '{\"bubbleId\":\"b1\",\"type\":1,\"text\":\"List the tests\"}');
    INSERT INTO cursorDiskKV VALUES ('bubbleId:c-1:b2', CAST('{\"bubbleId\":\"b2\",\"type\":2,\"text\":\"cart.rs\"}' AS BLOB));";

struct HomeFolder(tempfile::TempDir);

impl HomeFolder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn make(&self, path: &str, sql: &str) -> (PathBuf, Connection) {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        let connection = Connection::open(&path).expect("made");
        connection.execute_batch(sql).expect("filled");
        (path, connection)
    }

    fn find(&self) -> FoundSessions {
        find_sessions(&Places::new(Platform::Linux, Some(self.0.path()), |_| None), None)
    }

    /// Every file with its bytes.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        fn below(folder: &Path, into: &mut Vec<(PathBuf, Vec<u8>)>) {
            for entry in std::fs::read_dir(folder).expect("listed").flatten() {
                let path = entry.path();
                if path.is_dir() {
                    below(&path, into);
                } else {
                    into.push((path.clone(), std::fs::read(&path).expect("read")));
                }
            }
        }
        let mut files = Vec::new();
        below(self.0.path(), &mut files);
        files.sort();
        files
    }
}

const OPENCODE_PATH: &str = ".local/share/opencode/opencode.db";
const GOOSE_PATH: &str = ".local/share/goose/sessions/sessions.db";
const CURSOR_PATH: &str = ".config/Cursor/User/globalStorage/state.vscdb";

#[track_caller]
fn check(path: &str, sql: &str, agent: Agent, format: Format) -> Session {
    let home = HomeFolder::new();
    let (database, connection) = home.make(path, sql);
    drop(connection);
    let before = home.files();
    let found = home.find();
    assert!(found.notices.is_empty(), "{:?}", found.notices);
    let [session] = &found.sessions[..] else { panic!("{found:?}") };
    assert_eq!((session.agent, session.head.title.as_deref()), (agent, Some("List the tests")));
    let (split, id) = split_session_path(&session.path).expect("it stands for a session");
    assert_eq!((&split, &id), (&database, &session.head.id));
    assert!(list_database(&database).expect("read").contains(&id));
    let document = read_session_document(&database, &id).expect("read");
    assert!(matches!(
        read_session_document(&database, "nobody"),
        Err(StoreReadError::NoSession { id }) if id == "nobody"
    ));
    assert_eq!(home.files(), before, "something was written");
    let read = read_session(&document[..]).expect("it is a session");
    assert_eq!(read.info.format, format);
    assert_eq!(read.info.title.as_deref(), Some("List the tests"));
    read
}

#[test]
fn opencode() {
    let read = check(OPENCODE_PATH, OPENCODE, Agent::Opencode, Format::OpenCode);
    assert_eq!(read.transcript.messages().len(), 3);
    assert_eq!(read.info.directory.as_deref(), Some("/home/dev/shop"));
    assert_eq!(read.info.last_usage.and_then(|usage| usage.input).map(|input| input.0), Some(7768));
}

#[test]
fn goose() {
    let read = check(GOOSE_PATH, GOOSE, Agent::Goose, Format::Goose);
    assert_eq!(read.transcript.messages().len(), 2);
    assert_eq!(read.info.model(), Some("gpt-5"));
}

#[test]
fn cursor() {
    let read = check(CURSOR_PATH, CURSOR, Agent::Cursor, Format::Cursor);
    assert_eq!(read.transcript.messages().len(), 2);
}

#[test]
fn sub_agents_of_opencode_belong_to_the_session_that_started_them() {
    let home = HomeFolder::new();
    let (database, _connection) = home.make(OPENCODE_PATH, OPENCODE);
    let found = home.find();
    assert_eq!(found.sessions.len(), 1);
    let (path, id) = split_session_path(&found.sessions[0].children[0]).expect("a session");
    assert_eq!((path, id.as_str()), (database, "ses_2"));
}

#[test]
fn a_database_in_use_is_read_with_what_was_written_last() {
    let home = HomeFolder::new();
    let (_, connection) = home.make(OPENCODE_PATH, &format!("PRAGMA journal_mode = wal; {OPENCODE}"));
    connection.execute_batch("UPDATE session SET title = 'Renamed' WHERE id = 'ses_1'").expect("written");
    let before: Vec<PathBuf> = home.files().into_iter().map(|(path, _)| path).collect();
    let titles = home.find().sessions.into_iter().map(|session| session.head.title);
    assert_eq!(titles.collect::<Vec<_>>(), [Some("Renamed".to_string())]);
    let after: Vec<PathBuf> = home.files().into_iter().map(|(path, _)| path).collect();
    assert_eq!(after, before);
    // The writer goes on undisturbed.
    connection.execute_batch("DELETE FROM session").expect("written");
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_found() {
    let home = HomeFolder::new();
    home.make(GOOSE_PATH, GOOSE);
    let (_, locked) = home.make(OPENCODE_PATH, OPENCODE);
    locked.execute_batch("PRAGMA journal_mode = delete; BEGIN EXCLUSIVE").expect("locked");
    let (foreign, _) = home.make(CURSOR_PATH, "CREATE TABLE ItemTable (key TEXT, value BLOB)");
    std::fs::create_dir_all(home.0.path().join(".claude/projects/-w")).expect("made");
    std::fs::write(home.0.path().join(".claude/projects/-w/a.jsonl"), "PK\u{3}\u{4} not a session")
        .expect("written");
    let found = home.find();
    assert_eq!(found.sessions.iter().map(|session| session.agent).collect::<Vec<_>>(), [Agent::Goose]);
    let told = |agent: Agent| {
        let notice = found.notices.iter().find(|notice| notice.agent == agent);
        notice.map(|notice| (notice.path.clone(), notice.error.to_string()))
    };
    assert_eq!(told(Agent::Cursor).map(|(path, _)| path), Some(foreign));
    assert!(told(Agent::Opencode).is_some_and(|(_, error)| error.contains("locked by another program")));
    assert!(told(Agent::Claude).is_some_and(|(_, error)| error.contains("binary data (zip)")));
    let garbage = home.0.path().join("garbage.db");
    std::fs::write(&garbage, "nothing of SQLite's").expect("written");
    assert!(matches!(list_database(&garbage), Err(StoreReadError::Foreign { .. })));
    assert!(matches!(list_database(&home.0.path().join("none.db")), Err(StoreReadError::Io(_))));
}
