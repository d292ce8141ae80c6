//! The tables, and how they are made.

use std::path::Path;

use longhaul_workspace::{WorkspaceError, create_private_atomically};
use rusqlite::Connection;

/// The version of the tables. Later versions add to them; none changes what an anchor's bytes are.
const VERSION: i64 = 1;

const TABLES: &str = "
    CREATE TABLE anchor(
        chain BLOB PRIMARY KEY, root BLOB NOT NULL, messages INTEGER NOT NULL, recipe INTEGER NOT NULL,
        snapshot TEXT NOT NULL, at INTEGER NOT NULL, occasion TEXT NOT NULL, before INTEGER NOT NULL,
        after INTEGER NOT NULL, trunk INTEGER, model TEXT NOT NULL, undone INTEGER NOT NULL) STRICT;
    CREATE INDEX anchor_root ON anchor(root);
    CREATE TABLE trunk(
        id INTEGER PRIMARY KEY, session TEXT, recorded INTEGER NOT NULL DEFAULT 0, has_answer INTEGER NOT NULL DEFAULT 0,
        requests INTEGER NOT NULL DEFAULT 0, sent_bytes INTEGER, sent_tokens INTEGER, first INTEGER NOT NULL,
        last INTEGER NOT NULL, refusals INTEGER NOT NULL DEFAULT 0, client TEXT NOT NULL, model TEXT NOT NULL) STRICT;
    CREATE INDEX trunk_requests ON trunk(requests);
    CREATE TABLE position(chain BLOB PRIMARY KEY, trunk INTEGER NOT NULL) STRICT;
    CREATE INDEX position_trunk ON position(trunk);
    CREATE TABLE figure(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE spend(
        day TEXT NOT NULL, route TEXT NOT NULL, amount INTEGER NOT NULL, PRIMARY KEY(day, route)) STRICT, WITHOUT ROWID;
";

/// Makes the tables where there are none.
pub(super) fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    let version = |connection: &Connection| connection.query_row("PRAGMA user_version", [], |row| row.get(0));
    let known: i64 = version(connection)?;
    if known >= VERSION {
        return Ok(());
    }
    // Two processes may start at once: the second finds the tables of the first.
    let transaction =
        rusqlite::Transaction::new_unchecked(connection, rusqlite::TransactionBehavior::Immediate)?;
    let known: i64 = version(&transaction)?;
    if known == 0 {
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}

/// Makes the file for its owner alone, before SQLite makes it for others.
pub(super) fn create_private(path: &Path) -> Result<(), WorkspaceError> {
    create_private_atomically(path, b"").map(drop)
}
