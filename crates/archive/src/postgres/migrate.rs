//! The schema and its versions. Migrations only go forward.

use tokio_postgres::types::Type;

use super::connection::Connection;
use crate::error::ArchiveError;

/// The migrations, in order; the first one leads to version 1.
const MIGRATIONS: &[&str] = &[include_str!("schema-1.sql")];

/// The lock under which only one migrates.
const LOCK: i64 = 0x6c6f_6e67_6861_756c;

/// The version that this program works with.
pub(crate) fn newest() -> i32 {
    MIGRATIONS.len() as i32
}

/// Brings the schema up to date; the version before. A newer one is refused.
pub(crate) fn migrate(connection: &Connection) -> Result<i32, ArchiveError> {
    connection.run("BEGIN")?;
    let migrated = migrate_within(connection);
    match &migrated {
        Ok(_) => connection.run("COMMIT")?,
        Err(_) => drop(connection.run("ROLLBACK")),
    }
    migrated
}

fn migrate_within(connection: &Connection) -> Result<i32, ArchiveError> {
    connection.query("SELECT pg_advisory_xact_lock($1)", &[(&LOCK, Type::INT8)])?;
    let before = version(connection)?;
    let pending = MIGRATIONS.iter().zip(1..).filter(|(_, version)| *version > before);
    if before == 0 {
        connection.run("CREATE SCHEMA IF NOT EXISTS longhaul")?;
    }
    for (statements, version) in pending {
        let version: i32 = version;
        connection.run(statements)?;
        connection
            .execute("INSERT INTO longhaul.migration(version) VALUES($1)", &[(&version, Type::INT4)])?;
    }
    Ok(before)
}

/// The version of the schema; 0 if there is none.
pub(crate) fn version(connection: &Connection) -> Result<i32, ArchiveError> {
    let row = connection.one("SELECT to_regclass('longhaul.migration') IS NOT NULL", &[])?;
    if !row.get::<_, bool>(0) {
        return Ok(0);
    }
    let row = connection.one("SELECT coalesce(max(version), 0) FROM longhaul.migration", &[])?;
    let version: i32 = row.get(0);
    if version > newest() {
        return Err(ArchiveError::NewerSchema { found: version, known: newest() });
    }
    Ok(version)
}
