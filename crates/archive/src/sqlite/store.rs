//! The rows of an index in SQLite: our own tokens in FTS5, without the texts.

use longhaul_conversation::Timestamp;
use longhaul_recall::{CorpusStatistics, Kind};
use rusqlite::{OptionalExtension, Row, params};

use super::Index;
use crate::error::ArchiveError;
use crate::store::{Access, Among, Extent, NewPassage, SEQUENCE_BITS, Store, StoredChain, StoredPassage};

const CHAIN: &str = "SELECT id, source, chain, project, passages, bytes, messages FROM session";

impl Store for Index {
    fn begin(&mut self, access: Access) -> Result<(), ArchiveError> {
        let begin = match access {
            Access::Read => "BEGIN",
            Access::Write => "BEGIN IMMEDIATE",
        };
        Ok(self.connection.execute_batch(begin)?)
    }

    fn commit(&mut self) -> Result<(), ArchiveError> {
        Ok(self.connection.execute_batch("COMMIT")?)
    }

    fn roll_back(&mut self) {
        // A transaction that failed may have ended itself.
        let _ = self.connection.execute_batch("ROLLBACK");
    }

    fn statistics(&mut self) -> Result<CorpusStatistics, ArchiveError> {
        let read = |row: &Row<'_>| {
            Ok(CorpusStatistics {
                passages: row.get::<_, i64>(0)? as u64,
                bytes: row.get::<_, i64>(1)? as u64,
            })
        };
        Ok(self.connection.query_row("SELECT passages, bytes FROM total", [], read)?)
    }

    fn frequency(&mut self, token: &str) -> Result<u64, ArchiveError> {
        let mut statement =
            self.connection.prepare_cached("SELECT passages FROM frequency WHERE token = ?1")?;
        let found: Option<i64> = statement.query_row([token], |row| row.get(0)).optional()?;
        Ok(found.unwrap_or_default() as u64)
    }

    fn with_token(&mut self, token: &str, among: Option<Among<'_>>) -> Result<Vec<i64>, ArchiveError> {
        let quoted = |token: &str| format!("\"{}\"", token.replace('"', ""));
        let asked = match among {
            Some(among) => {
                let any: Vec<String> = among.tokens.iter().map(|token| quoted(token)).collect();
                format!("{} AND ({})", quoted(token), any.join(" OR "))
            }
            None => quoted(token),
        };
        let mut statement =
            self.connection.prepare_cached("SELECT rowid FROM tokens WHERE tokens MATCH ?1")?;
        let rows = statement.query_map([asked], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn numbered(&mut self, number: u32) -> Result<Vec<i64>, ArchiveError> {
        let mut statement = self.connection.prepare_cached("SELECT id FROM passage WHERE number = ?1")?;
        let rows = statement.query_map([number], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn passages(&mut self, ranges: &[(i64, i64)]) -> Result<Vec<StoredPassage>, ArchiveError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, kind, at, length, is_question, answers FROM passage WHERE id BETWEEN ?1 AND ?2",
        )?;
        let mut passages = Vec::new();
        for (first, last) in ranges {
            let rows = statement.query_map(params![first, last], |row| {
                Ok(StoredPassage {
                    id: row.get(0)?,
                    kind: Kind::from_code(row.get(1)?).unwrap_or(Kind::Host),
                    at: row.get::<_, Option<i64>>(2)?.map(Timestamp::from_millis),
                    length: row.get(3)?,
                    is_question: row.get(4)?,
                    answers: row.get(5)?,
                })
            })?;
            for passage in rows {
                passages.push(passage?);
            }
        }
        Ok(passages)
    }

    fn chains(&mut self, ids: &[i64]) -> Result<Vec<StoredChain>, ArchiveError> {
        let mut statement = self.connection.prepare_cached(&format!("{CHAIN} WHERE id = ?1"))?;
        let mut chains = Vec::with_capacity(ids.len());
        for id in ids {
            chains.extend(statement.query_row([id], chain).optional()?);
        }
        Ok(chains)
    }

    fn chains_of(&mut self, source: i64) -> Result<Vec<StoredChain>, ArchiveError> {
        let mut statement = self.connection.prepare_cached(&format!("{CHAIN} WHERE source = ?1"))?;
        let rows = statement.query_map([source], chain)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn add_chain(&mut self, source: i64, name: &str, project: Option<&str>) -> Result<i64, ArchiveError> {
        self.connection
            .prepare_cached("INSERT INTO session VALUES(NULL, ?1, ?2, ?3, NULL, 0, 0, 0)")?
            .execute(params![source, name, project])?;
        Ok(self.connection.last_insert_rowid())
    }

    fn add_passage(&mut self, passage: &NewPassage<'_>) -> Result<(), ArchiveError> {
        self.connection.prepare_cached("INSERT INTO passage VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)")?.execute(
            params![
                passage.id,
                passage.kind.code(),
                passage.at.map(Timestamp::as_millis),
                passage.length,
                passage.is_question,
                passage.answers,
                passage.number
            ],
        )?;
        self.connection
            .prepare_cached("INSERT INTO tokens(rowid, words) VALUES(?1, ?2)")?
            .execute(params![passage.id, passage.tokens.join(" ")])?;
        Ok(())
    }

    fn set_extent(&mut self, chain: i64, extent: Extent) -> Result<(), ArchiveError> {
        let Extent { passages, bytes, messages } = extent;
        self.connection
            .prepare_cached("UPDATE session SET passages = ?2, bytes = ?3, messages = ?4 WHERE id = ?1")?
            .execute(params![chain, passages, bytes as i64, messages])?;
        Ok(())
    }

    fn describe(
        &mut self,
        source: i64,
        title: Option<&str>,
        project: Option<&str>,
    ) -> Result<(), ArchiveError> {
        self.connection
            .prepare_cached(
                "UPDATE session SET title = coalesce(?2, title), project = coalesce(?3, project) WHERE source = ?1",
            )?
            .execute(params![source, title, project])?;
        Ok(())
    }

    fn set_indexed(&mut self, source: i64, blocks: usize) -> Result<(), ArchiveError> {
        self.connection
            .prepare_cached("INSERT INTO source VALUES(?1, ?2) ON CONFLICT(id) DO UPDATE SET blocks = ?2")?
            .execute(params![source, blocks as i64])?;
        Ok(())
    }

    fn add_counts(
        &mut self,
        tokens: &[(String, i64)],
        passages: i64,
        bytes: i64,
    ) -> Result<(), ArchiveError> {
        let mut add = self.connection.prepare_cached(
            "INSERT INTO frequency VALUES(?1, ?2) ON CONFLICT(token) DO UPDATE SET passages = passages + ?2",
        )?;
        let mut remove =
            self.connection.prepare_cached("DELETE FROM frequency WHERE token = ?1 AND passages <= 0")?;
        for (token, count) in tokens {
            add.execute(params![token, count])?;
            if *count < 0 {
                remove.execute([token])?;
            }
        }
        self.connection.execute(
            "UPDATE total SET passages = passages + ?1, bytes = bytes + ?2",
            params![passages, bytes],
        )?;
        Ok(())
    }

    fn remove_chains(&mut self, source: i64) -> Result<(), ArchiveError> {
        for chain in self.chains_of(source)? {
            let first = chain.id << SEQUENCE_BITS;
            let range = params![first, first + i64::from(chain.passages)];
            let ids = "SELECT id FROM passage WHERE id >= ?1 AND id < ?2";
            self.connection.execute(&format!("DELETE FROM tokens WHERE rowid IN ({ids})"), range)?;
            self.connection.execute("DELETE FROM passage WHERE id >= ?1 AND id < ?2", range)?;
        }
        self.connection.execute("DELETE FROM session WHERE source = ?1", [source])?;
        self.connection.execute("DELETE FROM source WHERE id = ?1", [source])?;
        Ok(())
    }
}

fn chain(row: &Row<'_>) -> rusqlite::Result<StoredChain> {
    Ok(StoredChain {
        id: row.get(0)?,
        source: row.get(1)?,
        name: row.get(2)?,
        project: row.get(3)?,
        passages: row.get(4)?,
        bytes: row.get::<_, i64>(5)? as u64,
        messages: row.get(6)?,
        named: None,
    })
}
