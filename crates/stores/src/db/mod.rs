//! Sessions that agents keep in SQLite databases, each as the document that the agent itself exports, or one like it.
//!
//! A database is opened read-only and is never locked for long: each reading is one transaction, and one that another program
//! holds is told after a short wait.

mod cursor;
mod goose;
mod opencode;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use longhaul_conversation::Timestamp;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use crate::agent::Agent;
use crate::error::StoreReadError;
use crate::head::Head;

/// So long another program may hold a database before it is left out.
const WAIT: Duration = Duration::from_millis(250);

/// Divides a database's path from the id of a session in it.
const DIVIDER: char = '#';

/// The sessions of a database.
pub(crate) fn list(agent: Agent, path: &Path) -> Result<Vec<Head>, StoreReadError> {
    let database = open(path)?;
    match agent {
        Agent::Opencode => opencode::list(&database),
        Agent::Goose => goose::list(&database),
        Agent::Cursor => cursor::list(&database),
        _ => Err(foreign("no databases of this agent are known")),
    }
}

/// The path that stands for one session of a database: the database's, `#`, and the session's id.
pub(crate) fn path_of_session(database: &Path, id: &str) -> PathBuf {
    crate::walk::with_suffix(database, &format!("{DIVIDER}{id}"))
}

/// Splits a path that stands for one session of a database; `None` if it is an ordinary one.
pub fn split_session_path(path: &Path) -> Option<(PathBuf, String)> {
    if path.exists() {
        return None;
    }
    let (database, id) = path.to_str()?.rsplit_once(DIVIDER)?;
    let database = PathBuf::from(database);
    (!id.is_empty() && database.is_file()).then(|| (database, id.to_string()))
}

/// One session of a database as a document that `longhaul-formats` reads. The agent is found out by the tables.
///
/// # Errors
/// If the database cannot be read, is no agent's, or has no such session.
pub fn read_session_document(database: &Path, id: &str) -> Result<Vec<u8>, StoreReadError> {
    let connection = open(database)?;
    let document = match agent_of(&connection)? {
        Agent::Opencode => opencode::document(&connection, id)?,
        Agent::Goose => goose::document(&connection, id)?,
        _ => cursor::document(&connection, id)?,
    };
    Ok(document.to_string().into_bytes())
}

/// The ids of a database's sessions, newest first.
///
/// # Errors
/// If the database cannot be read or is no agent's.
pub fn list_database(database: &Path) -> Result<Vec<String>, StoreReadError> {
    let connection = open(database)?;
    let agent = agent_of(&connection)?;
    drop(connection);
    let mut heads = list(agent, database)?;
    heads.sort_by_key(|head| std::cmp::Reverse(head.updated));
    Ok(heads.into_iter().map(|head| head.id).collect())
}

fn agent_of(connection: &Connection) -> Result<Agent, StoreReadError> {
    let has = |table: &str| has_table(connection, table);
    if has("cursorDiskKV")? {
        Ok(Agent::Cursor)
    } else if has("session")? && has("part")? {
        Ok(Agent::Opencode)
    } else if has("sessions")? && has("messages")? {
        Ok(Agent::Goose)
    } else {
        Err(foreign("it has no tables of opencode, goose or Cursor"))
    }
}

fn open(path: &Path) -> Result<Connection, StoreReadError> {
    // A missing file must not become an empty database, and one that is there must not change.
    let mut file = File::open(path)?;
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(address(path, &mut file)?, flags)?;
    connection.busy_timeout(WAIT)?;
    connection.pragma_update(None, "query_only", true)?;
    // One view of everything, however often it is asked; it ends with the connection.
    connection.execute_batch("BEGIN DEFERRED")?;
    Ok(connection)
}

/// The database's address for SQLite.
///
/// Where a database with a write-ahead log has none beside it, nobody writes it now, and it is declared unchangeable: else
/// SQLite would make files beside it even for reading.
fn address(path: &Path, file: &mut File) -> io::Result<String> {
    let mut address = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                address.push(char::from(*byte));
            }
            byte => address.push_str(&format!("%{byte:02X}")),
        }
    }
    let mut header = Vec::new();
    file.take(20).read_to_end(&mut header)?;
    let writes_ahead = header.get(19) == Some(&2);
    let log = std::fs::metadata(crate::walk::with_suffix(path, "-wal"));
    let is_at_rest = writes_ahead && !log.is_ok_and(|log| log.len() > 0);
    address.push_str(if is_at_rest { "?mode=ro&immutable=1" } else { "?mode=ro" });
    Ok(address)
}

fn foreign(reason: &str) -> StoreReadError {
    StoreReadError::Foreign { reason: reason.to_string() }
}

fn has_table(connection: &Connection, table: &str) -> Result<bool, StoreReadError> {
    let mut statement =
        connection.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1")?;
    Ok(statement.exists([table])?)
}

/// The columns of a table, which differ by version.
fn columns(connection: &Connection, table: &str) -> Result<Vec<String>, StoreReadError> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let names = statement.query_map([table], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(names)
}

/// A number for what a query says of a session's state (FNV-1a): equal states have equal numbers.
pub(crate) fn version_of(state: &str) -> u64 {
    state
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A JSON value in a column; what is broken is nothing.
fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

fn millis(number: Option<i64>) -> Option<Timestamp> {
    number.map(Timestamp::from_millis)
}
