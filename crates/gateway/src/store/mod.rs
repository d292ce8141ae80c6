//! The gateway's store: anchors, conversations, figures. SQLite; every statement is its own transaction or one of a few
//! rows, so that a kill at any time loses nothing that was sent.

mod schema;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use longhaul_workspace::{WorkspaceError, create_private_folder};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::anchor::Anchor;
use crate::chain::ChainHash;
use crate::plan::Occasion;

/// A store that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Its folder cannot be made.
    #[error("could not make the gateway's folder")]
    Folder(#[from] WorkspaceError),
    /// The database says no.
    #[error("the gateway's database failed")]
    Database(#[from] rusqlite::Error),
}

/// The gateway's database, on one connection.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
}

/// A compaction with what it was made from, for lists, preview and undo.
#[derive(Clone, Debug, PartialEq)]
pub struct AnchorRecord {
    /// The number it is listed by.
    pub id: i64,
    /// When it was made, in milliseconds since 1970.
    pub at: i64,
    /// The reason.
    pub occasion: String,
    /// The number of messages that it stands for.
    pub messages: usize,
    /// Estimated tokens of the request before.
    pub before: u64,
    /// Estimated tokens of the request after.
    pub after: u64,
    /// The text that stands in their place.
    pub snapshot: String,
    /// The session that it belongs to, where that is recorded.
    pub session: Option<String>,
    /// The model of the request that it was made for.
    pub model: String,
}

/// A conversation that went through the gateway, for lists.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationRecord {
    /// The number it is kept by.
    pub id: i64,
    /// The session that it is recorded as.
    pub session: Option<String>,
    /// The client, as it names itself.
    pub client: String,
    /// The model of its first request.
    pub model: String,
    /// The requests that came.
    pub requests: u64,
    /// Tokens that the provider counted in the last request.
    pub tokens: Option<u64>,
    /// The compactions in effect.
    pub compactions: u64,
    /// When the last request came, in milliseconds since 1970.
    pub last: i64,
}

/// A conversation as the gateway knows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TrunkRecord {
    pub(crate) id: i64,
    /// The session that it is recorded as.
    pub(crate) session: Option<String>,
    /// The messages of requests that were recorded, and whether the answer to the last is.
    pub(crate) recorded: usize,
    pub(crate) has_answer: bool,
    pub(crate) requests: u64,
    /// Bytes that were sent last, and the tokens that the provider counted for them.
    pub(crate) sent: Option<(u64, u64)>,
    /// The time of the last request, in milliseconds since 1970.
    pub(crate) last: i64,
    pub(crate) refusals: u32,
}

/// Figures by name, since the database was made.
pub type Figures = BTreeMap<String, i64>;

/// The positions of a conversation that are remembered.
const POSITIONS: i64 = 64;

/// Time that a statement waits for another process.
const PATIENCE: Duration = Duration::from_millis(2_000);

impl Store {
    /// Opens the database in a folder, which is made if needed.
    ///
    /// # Errors
    /// The folder cannot be made, or the file is no database.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        create_private_folder(folder)?;
        let path = folder.join("gateway.db");
        schema::create_private(&path)?;
        let connection = Connection::open(&path)?;
        connection.busy_timeout(PATIENCE)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -2048;",
        )?;
        schema::prepare(&connection)?;
        Ok(Self { connection })
    }

    /// Opens the database in a folder if there is one.
    ///
    /// # Errors
    /// The file is no database.
    pub fn open_existing(folder: &Path) -> Result<Option<Self>, StoreError> {
        folder.join("gateway.db").is_file().then(|| Self::open(folder)).transpose()
    }

    /// The conversations, the one that was used last first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn conversations(&self, most: usize) -> Result<Vec<ConversationRecord>, StoreError> {
        let mut statement = self.connection.prepare(
            "SELECT id, session, client, model, requests, sent_tokens, last,
             (SELECT COUNT(*) FROM anchor WHERE anchor.trunk = trunk.id AND undone = 0)
             FROM trunk ORDER BY last DESC, id DESC LIMIT ?1",
        )?;
        let rows = statement.query_map([most as i64], |row| {
            Ok(ConversationRecord {
                id: row.get(0)?,
                session: row.get(1)?,
                client: row.get(2)?,
                model: row.get(3)?,
                requests: row.get::<_, i64>(4)? as u64,
                tokens: row.get::<_, Option<i64>>(5)?.map(|tokens| tokens as u64),
                last: row.get(6)?,
                compactions: row.get::<_, i64>(7)? as u64,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// A number that changes when another process has written.
    pub(crate) fn data_version(&self) -> Result<i64, StoreError> {
        Ok(self.connection.query_row("PRAGMA data_version", [], |row| row.get(0))?)
    }

    /// All anchors of the conversations that begin with this message.
    pub(crate) fn anchors(&self, root: ChainHash) -> Result<Vec<Anchor>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT chain, root, messages, recipe, snapshot FROM anchor WHERE root = ?1 AND undone = 0",
        )?;
        let rows = statement.query_map([&root.0[..]], read_anchor)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Keeps an anchor unless there is one already; the one that counts. None if it was undone by hand.
    pub(crate) fn keep_anchor(
        &self,
        anchor: &Anchor,
        notes: &AnchorNotes<'_>,
    ) -> Result<Option<Anchor>, StoreError> {
        self.connection
            .prepare_cached(
                "INSERT INTO anchor(chain, root, messages, recipe, snapshot, at, occasion, before, after, trunk, model, undone)
                 VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0) ON CONFLICT(chain) DO NOTHING",
            )?
            .execute(params![
                &anchor.chain.0[..],
                &anchor.root.0[..],
                anchor.count as i64,
                anchor.recipe,
                &*anchor.snapshot,
                notes.at,
                notes.occasion.as_str(),
                notes.before as i64,
                notes.after as i64,
                notes.trunk,
                notes.model,
            ])?;
        let mut statement = self.connection.prepare_cached(
            "SELECT chain, root, messages, recipe, snapshot FROM anchor WHERE chain = ?1 AND undone = 0",
        )?;
        Ok(statement.query_row([&anchor.chain.0[..]], read_anchor).optional()?)
    }

    /// Takes an anchor out of use; no new one is made in its place.
    pub(crate) fn drop_anchor(&self, chain: ChainHash) -> Result<(), StoreError> {
        self.connection.execute("UPDATE anchor SET undone = 1 WHERE chain = ?1", [&chain.0[..]])?;
        Ok(())
    }

    /// The compactions, newest first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn compactions(&self, most: usize) -> Result<Vec<AnchorRecord>, StoreError> {
        let mut statement = self.connection.prepare(
            "SELECT anchor.rowid, at, occasion, messages, before, after, snapshot, session, anchor.model FROM anchor
             LEFT JOIN trunk ON trunk.id = anchor.trunk WHERE undone = 0 ORDER BY anchor.rowid DESC LIMIT ?1",
        )?;
        let rows = statement.query_map([most as i64], |row| {
            Ok(AnchorRecord {
                id: row.get(0)?,
                at: row.get(1)?,
                occasion: row.get(2)?,
                messages: row.get::<_, i64>(3)? as usize,
                before: row.get::<_, i64>(4)? as u64,
                after: row.get::<_, i64>(5)? as u64,
                snapshot: row.get(6)?,
                session: row.get(7)?,
                model: row.get(8)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Undoes a compaction by its number: the messages are sent again. False if there is none.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn undo(&self, id: i64) -> Result<bool, StoreError> {
        let changed =
            self.connection.execute("UPDATE anchor SET undone = 1 WHERE rowid = ?1 AND undone = 0", [id])?;
        Ok(changed > 0)
    }

    /// The conversation that goes on at the deepest of these positions, and the place of that position.
    pub(crate) fn trunk_of(&self, chain: &[ChainHash]) -> Result<Option<(usize, TrunkRecord)>, StoreError> {
        let mut position = self.connection.prepare_cached("SELECT trunk FROM position WHERE chain = ?1")?;
        let newest = chain.iter().enumerate().rev().take(POSITIONS as usize);
        for (place, hash) in newest {
            let found: Option<i64> = position.query_row([&hash.0[..]], |row| row.get(0)).optional()?;
            if let Some(id) = found
                && let Some(trunk) = self.trunk(id)?
            {
                return Ok(Some((place, trunk)));
            }
        }
        Ok(None)
    }

    fn trunk(&self, id: i64) -> Result<Option<TrunkRecord>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, session, recorded, has_answer, requests, sent_bytes, sent_tokens, last, refusals
             FROM trunk WHERE id = ?1",
        )?;
        let read = |row: &Row<'_>| {
            let (bytes, tokens): (Option<i64>, Option<i64>) = (row.get(5)?, row.get(6)?);
            Ok(TrunkRecord {
                id: row.get(0)?,
                session: row.get(1)?,
                recorded: row.get::<_, i64>(2)? as usize,
                has_answer: row.get(3)?,
                requests: row.get::<_, i64>(4)? as u64,
                sent: bytes.zip(tokens).map(|(bytes, tokens)| (bytes as u64, tokens as u64)),
                last: row.get(7)?,
                refusals: row.get(8)?,
            })
        };
        Ok(statement.query_row([id], read).optional()?)
    }

    /// Begins a conversation; its number.
    pub(crate) fn begin_trunk(&self, at: i64, client: &str, model: &str) -> Result<i64, StoreError> {
        self.connection
            .prepare_cached("INSERT INTO trunk(first, last, client, model) VALUES(?1, ?1, ?2, ?3)")?
            .execute(params![at, client, model])?;
        Ok(self.connection.last_insert_rowid())
    }

    /// Keeps what is known about a conversation, which now stands at this position.
    pub(crate) fn keep_trunk(&self, trunk: &TrunkRecord, position: ChainHash) -> Result<(), StoreError> {
        let transaction = self.connection.unchecked_transaction()?;
        let (bytes, tokens) = trunk.sent.unzip();
        transaction
            .prepare_cached(
                "UPDATE trunk SET session = ?2, recorded = ?3, has_answer = ?4, requests = ?5, sent_bytes = ?6,
                 sent_tokens = ?7, last = ?8, refusals = ?9 WHERE id = ?1",
            )?
            .execute(params![
                trunk.id,
                trunk.session,
                trunk.recorded as i64,
                trunk.has_answer,
                trunk.requests as i64,
                bytes.map(|bytes| bytes as i64),
                tokens.map(|tokens| tokens as i64),
                trunk.last,
                trunk.refusals,
            ])?;
        transaction
            .prepare_cached("INSERT INTO position(chain, trunk) VALUES(?1, ?2) ON CONFLICT(chain) DO UPDATE SET trunk = ?2")?
            .execute(params![&position.0[..], trunk.id])?;
        transaction
            .prepare_cached(
                "DELETE FROM position WHERE trunk = ?1 AND rowid NOT IN
                 (SELECT rowid FROM position WHERE trunk = ?1 ORDER BY rowid DESC LIMIT ?2)",
            )?
            .execute(params![trunk.id, POSITIONS])?;
        transaction.commit()?;
        Ok(())
    }

    /// The median number of requests that still came in conversations that had at least so many; none where too few are known.
    pub(crate) fn further_requests(&self, had: u64) -> Result<Option<f64>, StoreError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT requests FROM trunk WHERE requests > ?1 ORDER BY requests")?;
        let rows = statement.query_map([had as i64], |row| row.get::<_, i64>(0))?;
        let longer: Vec<i64> = rows.collect::<Result<_, _>>()?;
        const FEWEST: usize = 8;
        let middle = longer.get(longer.len() / 2).filter(|_| longer.len() >= FEWEST);
        Ok(middle.map(|requests| (*requests as f64 - had as f64).max(0.0)))
    }

    /// Adds to figures.
    pub(crate) fn add(&self, figures: &[(String, i64)]) -> Result<(), StoreError> {
        let transaction = self.connection.unchecked_transaction()?;
        for (name, by) in figures.iter().filter(|(_, by)| *by != 0) {
            transaction
                .prepare_cached(
                    "INSERT INTO figure(name, value) VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE SET value = value + ?2",
                )?
                .execute(params![name, by])?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// All figures.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn figures(&self) -> Result<Figures, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT name, value FROM figure")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Adds to what a route has spent on a day, in millionths of a dollar.
    pub(crate) fn spend(&self, day: &str, route: &str, amount: i64) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "INSERT INTO spend(day, route, amount) VALUES(?1, ?2, ?3)
                 ON CONFLICT(day, route) DO UPDATE SET amount = amount + ?3",
            )?
            .execute(params![day, route, amount])?;
        Ok(())
    }

    /// The spend of a day, in millionths of a dollar.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn spent(&self, day: &str) -> Result<i64, StoreError> {
        let sum = "SELECT COALESCE(SUM(amount), 0) FROM spend WHERE day = ?1";
        Ok(self.connection.query_row(sum, [day], |row| row.get(0))?)
    }
}

/// The note beside an anchor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnchorNotes<'a> {
    pub(crate) at: i64,
    pub(crate) occasion: Occasion,
    pub(crate) before: u64,
    pub(crate) after: u64,
    pub(crate) trunk: Option<i64>,
    pub(crate) model: &'a str,
}

fn read_anchor(row: &Row<'_>) -> rusqlite::Result<Anchor> {
    let hash = |bytes: [u8; 16]| ChainHash(bytes);
    Ok(Anchor {
        chain: hash(row.get(0)?),
        root: hash(row.get(1)?),
        count: row.get::<_, i64>(2)? as usize,
        recipe: row.get(3)?,
        snapshot: row.get::<_, String>(4)?.into(),
    })
}

#[cfg(test)]
mod tests;
