//! Writes sessions into the index, and takes them out.

use std::collections::HashMap;

use longhaul_conversation::Message;
use longhaul_formats::{Event, SeenParts, read};
use longhaul_recall::{Passage, PassageReader, Tokenizer};
use rusqlite::{Connection, OptionalExtension, params};

use super::{Index, SEQUENCE_BITS, Text};
use crate::error::ArchiveError;
use crate::source::ArchivedSession;

/// The most different tokens that are counted before their counts are written.
const MAX_COUNTS: usize = 300_000;

/// Writes to the index in one transaction.
pub(crate) struct IndexWriter<'a> {
    connection: &'a Connection,
    tokenizer: Tokenizer,
    counts: HashMap<String, i64>,
    passages: i64,
    bytes: i64,
    is_done: bool,
}

/// A chain of messages of a source: the session itself, or a sub-agent of it.
struct Chain {
    reader: PassageReader,
    id: i64,
    /// The passages that are in the index.
    known: u32,
    passages: u32,
}

impl Index {
    /// Begins to write.
    pub(crate) fn writer(&mut self) -> Result<IndexWriter<'_>, ArchiveError> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        Ok(IndexWriter {
            connection: &self.connection,
            tokenizer: Tokenizer::default(),
            counts: HashMap::new(),
            passages: 0,
            bytes: 0,
            is_done: false,
        })
    }
}

impl IndexWriter<'_> {
    /// Adds what is new of a session. What cannot be read as a session is only kept as a copy.
    pub(crate) fn add(&mut self, session: &ArchivedSession, text: Text<'_>) -> Result<(), ArchiveError> {
        let mut chains: HashMap<String, Chain> = HashMap::new();
        let mut failed = None;
        let read = each_message(text, &mut |chain, message| {
            if failed.is_none()
                && let Err(error) = self.add_message(session, &mut chains, chain, message)
            {
                failed = Some(error);
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        for chain in chains.values().filter(|chain| chain.passages > chain.known) {
            self.connection
                .prepare_cached("UPDATE session SET passages = ?2 WHERE id = ?1")?
                .execute(params![chain.id, chain.passages])?;
        }
        if let Ok(info) = &read {
            let title = info.title.as_deref();
            self.connection
                .prepare_cached(
                    "UPDATE session SET title = coalesce(?2, title), project = coalesce(?3, project) WHERE source = ?1",
                )?
                .execute(params![session.id as i64, title, info.directory])?;
        }
        self.connection
            .prepare_cached("INSERT INTO source VALUES(?1, ?2) ON CONFLICT(id) DO UPDATE SET blocks = ?2")?
            .execute(params![session.id as i64, session.blocks.len() as i64])?;
        Ok(())
    }

    fn add_message(
        &mut self,
        session: &ArchivedSession,
        chains: &mut HashMap<String, Chain>,
        name: &str,
        message: &Message,
    ) -> Result<(), ArchiveError> {
        if !chains.contains_key(name) {
            let chain = self.chain(session, name)?;
            chains.insert(name.to_owned(), chain);
        }
        let Some(chain) = chains.get_mut(name) else { return Ok(()) };
        let Chain { reader, id, known, passages } = chain;
        let mut failed = None;
        reader.read(message, &mut |passage| {
            if passage.sequence >= 1 << SEQUENCE_BITS || failed.is_some() {
                return;
            }
            *passages = passage.sequence + 1;
            if passage.sequence >= *known {
                failed = self.add_passage(*id, message, passage).err();
            }
        });
        if self.counts.len() >= MAX_COUNTS {
            self.write_counts()?;
        }
        failed.map_or(Ok(()), Err)
    }

    fn chain(&mut self, session: &ArchivedSession, name: &str) -> Result<Chain, ArchiveError> {
        let source = session.id as i64;
        let known = self
            .connection
            .prepare_cached("SELECT id, passages FROM session WHERE source = ?1 AND chain = ?2")?
            .query_row(params![source, name], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let (id, known) = match known {
            Some(known) => known,
            None => {
                self.connection
                    .prepare_cached("INSERT INTO session VALUES(NULL, ?1, ?2, ?3, NULL, 0)")?
                    .execute(params![source, name, session.source.project])?;
                (self.connection.last_insert_rowid(), 0)
            }
        };
        Ok(Chain { reader: PassageReader::default(), id, known, passages: known })
    }

    fn add_passage(
        &mut self,
        session: i64,
        message: &Message,
        passage: &Passage<'_>,
    ) -> Result<(), ArchiveError> {
        let id = (session << SEQUENCE_BITS) | i64::from(passage.sequence);
        let length = passage.range.len() as i64;
        let tokens = self.tokenizer.distinct(passage.text());
        self.connection.prepare_cached("INSERT INTO passage VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)")?.execute(
            params![
                id,
                passage.kind.code(),
                message.at.map(|at| at.as_millis()),
                length,
                passage.is_question,
                passage.answers,
                message.ordinal.map(|number| number.0)
            ],
        )?;
        self.connection
            .prepare_cached("INSERT INTO tokens(rowid, words) VALUES(?1, ?2)")?
            .execute(params![id, tokens.join(" ")])?;
        self.count(tokens, length, 1);
        Ok(())
    }

    fn count(&mut self, tokens: Vec<String>, length: i64, sign: i64) {
        self.passages += sign;
        self.bytes += sign * length;
        for token in tokens {
            *self.counts.entry(token).or_default() += sign;
        }
    }

    /// Takes a session out; its blocks must still be there.
    pub(crate) fn remove(&mut self, session: &ArchivedSession, text: Text<'_>) -> Result<(), ArchiveError> {
        let source = session.id as i64;
        let mut known: HashMap<String, (i64, u32)> = HashMap::new();
        let mut statement =
            self.connection.prepare_cached("SELECT chain, id, passages FROM session WHERE source = ?1")?;
        let rows = statement.query_map([source], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
        for row in rows {
            let (chain, session) = row?;
            known.insert(chain, session);
        }
        drop(statement);
        let mut readers: HashMap<String, PassageReader> = HashMap::new();
        let _ = each_message(text, &mut |chain, message| {
            let Some((_, count)) = known.get(chain) else { return };
            readers.entry(chain.to_owned()).or_default().read(message, &mut |passage| {
                if passage.sequence < *count {
                    let tokens = self.tokenizer.distinct(passage.text());
                    self.count(tokens, passage.range.len() as i64, -1);
                }
            });
        });
        for (id, count) in known.values() {
            let first = id << SEQUENCE_BITS;
            let range = params![first, first + i64::from(*count)];
            let ids = "SELECT id FROM passage WHERE id >= ?1 AND id < ?2";
            self.connection.execute(&format!("DELETE FROM tokens WHERE rowid IN ({ids})"), range)?;
            self.connection.execute("DELETE FROM passage WHERE id >= ?1 AND id < ?2", range)?;
        }
        self.connection.execute("DELETE FROM session WHERE source = ?1", [source])?;
        self.connection.execute("DELETE FROM source WHERE id = ?1", [source])?;
        Ok(())
    }

    fn write_counts(&mut self) -> Result<(), ArchiveError> {
        let mut counts: Vec<(String, i64)> = self.counts.drain().filter(|(_, count)| *count != 0).collect();
        // In the order of the table, so that its pages are written one after the other.
        counts.sort_unstable();
        let mut statement = self.connection.prepare_cached(
            "INSERT INTO frequency VALUES(?1, ?2) ON CONFLICT(token) DO UPDATE SET passages = passages + ?2",
        )?;
        for (token, count) in counts {
            statement.execute(params![token, count])?;
        }
        self.connection.execute(
            "UPDATE total SET passages = passages + ?1, bytes = bytes + ?2",
            params![std::mem::take(&mut self.passages), std::mem::take(&mut self.bytes)],
        )?;
        Ok(())
    }

    /// Ends the transaction.
    pub(crate) fn commit(mut self) -> Result<(), ArchiveError> {
        self.write_counts()?;
        self.connection.execute("DELETE FROM frequency WHERE passages <= 0", []).map(drop)?;
        self.connection.execute_batch("COMMIT")?;
        self.is_done = true;
        Ok(())
    }
}

impl Drop for IndexWriter<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            // Nothing was written that the next sync would miss.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }
}

/// Passes everything that was said to `take`, each thing once, with the sub-agent's name or none.
pub(crate) fn each_message(
    text: Text<'_>,
    take: &mut dyn FnMut(&str, &Message),
) -> Result<longhaul_formats::SessionInfo, longhaul_formats::ReadError> {
    let mut seen = SeenParts::default();
    read(text, &mut |event| match event {
        Event::Change(change) => {
            if let Some(message) = seen.new_parts(&change) {
                take("", &message);
            }
        }
        Event::Side { chain, message } => take(&chain, &message),
        Event::Warning(_) | Event::Call(_) | Event::CompactionStart | Event::CompactionEnd => {}
    })
}
