//! The index: our own tokens in SQLite's FTS5, without the texts. It is made from the blocks and may be thrown away.

mod store;

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_workspace::{Lock, LockTimeout};
use rusqlite::Connection;

use crate::error::ArchiveError;

/// The version of the tables, beside that of the tokens.
const TABLES_VERSION: u32 = 2;

const TABLES: &str = "
    CREATE TABLE source(id INTEGER PRIMARY KEY, blocks INTEGER NOT NULL) STRICT;
    CREATE TABLE session(
        id INTEGER PRIMARY KEY, source INTEGER NOT NULL, chain TEXT NOT NULL, project TEXT, title TEXT,
        passages INTEGER NOT NULL, bytes INTEGER NOT NULL,
        messages INTEGER NOT NULL) STRICT;
    CREATE INDEX session_source ON session(source);
    CREATE TABLE passage(
        id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, at INTEGER, length INTEGER NOT NULL,
        is_question INTEGER NOT NULL, answers INTEGER, number INTEGER) STRICT;
    CREATE TABLE frequency(token TEXT PRIMARY KEY, passages INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE total(passages INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;
    INSERT INTO total VALUES(0, 0);
    CREATE VIRTUAL TABLE tokens USING fts5(
        words, content='', contentless_delete=1, detail=none, tokenize=\"ascii tokenchars '=_./-'\");
";

/// The index of an archive.
#[derive(Debug)]
pub(crate) struct Index {
    path: PathBuf,
    connection: Connection,
}

impl Index {
    /// Opens the index; one that is damaged is set aside, one of another version is made anew.
    pub(crate) fn open(path: &Path) -> Result<Self, ArchiveError> {
        match Self::open_existing(path) {
            Err(error) if error.is_corrupt_index() => {
                set_aside(path)?;
                Self::open_existing(path)
            }
            other => other,
        }
    }

    fn open_existing(path: &Path) -> Result<Self, ArchiveError> {
        create_private(path)?;
        // Two that make the tables at once would refuse each other.
        let _lock = Lock::beside(path, "open the index", LockTimeout::default())?;
        let connection = Connection::open(path)?;
        connection.busy_timeout(std::time::Duration::from_secs(10))?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY;",
        )?;
        let version = i64::from(TABLES_VERSION * 1_000 + longhaul_recall::TOKENS_VERSION);
        let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if found != version {
            let transaction = connection.unchecked_transaction()?;
            // Another process may have been faster.
            let found: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            if found != 0 && found != version {
                transaction.execute_batch(
                    "DROP TABLE IF EXISTS source; DROP TABLE IF EXISTS session; DROP TABLE IF EXISTS passage;
                     DROP TABLE IF EXISTS frequency; DROP TABLE IF EXISTS total; DROP TABLE IF EXISTS tokens;",
                )?;
            }
            if found != version {
                transaction.execute_batch(TABLES)?;
                transaction.pragma_update(None, "user_version", version)?;
            }
            transaction.commit()?;
        }
        Ok(Self { path: path.to_path_buf(), connection })
    }

    /// Throws the index away and begins an empty one.
    pub(crate) fn renew(&mut self) -> Result<(), ArchiveError> {
        self.connection = Connection::open_in_memory()?;
        remove(&self.path)?;
        *self = Self::open_existing(&self.path)?;
        Ok(())
    }

    /// Sets a damaged index aside and begins an empty one; the place of the old one.
    pub(crate) fn replace_damaged(&mut self) -> Result<PathBuf, ArchiveError> {
        self.connection = Connection::open_in_memory()?;
        let aside = set_aside(&self.path)?;
        *self = Self::open_existing(&self.path)?;
        Ok(aside)
    }

    /// The number of blocks that are indexed of each session.
    pub(crate) fn indexed(&self) -> Result<std::collections::HashMap<u64, usize>, ArchiveError> {
        let mut statement = self.connection.prepare_cached("SELECT id, blocks FROM source")?;
        let rows = statement
            .query_map([], |row| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as usize)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The folder that each source turned out to be about.
    pub(crate) fn projects(&self) -> Result<std::collections::HashMap<u64, String>, ArchiveError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT source, project FROM session WHERE project IS NOT NULL")?;
        let rows = statement.query_map([], |row| Ok((row.get::<_, i64>(0)? as u64, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Drops what deleted rows have left: in segments of the tokens, in free pages and in the write-ahead log.
    pub(crate) fn erase_deleted(&mut self) -> Result<(), ArchiveError> {
        self.connection.execute("INSERT INTO tokens(tokens) VALUES('optimize')", [])?;
        // The whole index is written anew, which must not happen in memory.
        self.connection.execute_batch("PRAGMA temp_store = FILE; VACUUM; PRAGMA temp_store = MEMORY;")?;
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    }

    /// The size of the index on disk.
    pub(crate) fn room(&self) -> u64 {
        files(&self.path).iter().filter_map(|file| fs::metadata(file).ok()).map(|file| file.len()).sum()
    }
}

fn create_private(path: &Path) -> Result<(), ArchiveError> {
    let mut options = fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop).map_err(|cause| ArchiveError::file("open", path, cause))
}

/// The database and what SQLite puts beside it.
fn files(path: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|ending| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    })
}

fn remove(path: &Path) -> Result<(), ArchiveError> {
    for file in files(path) {
        match fs::remove_file(&file) {
            Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
                return Err(ArchiveError::file("remove", &file, cause));
            }
            _ => {}
        }
    }
    Ok(())
}

fn set_aside(path: &Path) -> Result<PathBuf, ArchiveError> {
    let aside = (1..)
        .map(|number| path.with_extension(format!("damaged-{number}")))
        .find(|aside| !aside.exists())
        .unwrap_or_else(|| path.with_extension("damaged"));
    fs::rename(path, &aside).map_err(|cause| ArchiveError::file("set aside", path, cause))?;
    remove(path)?;
    Ok(aside)
}
