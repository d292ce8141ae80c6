//! The rows of an index in PostgreSQL. Every transaction belongs to one tenant; row-level security hides all other rows.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use longhaul_conversation::Timestamp;
use longhaul_recall::{CorpusStatistics, Kind, TOKENS_VERSION};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::connection::{Connection, Parameter};
use crate::error::ArchiveError;
use crate::store::{
    Access, Among, Extent, NewPassage, SEQUENCE_BITS, SourceName, Store, StoredChain, StoredPassage,
};

/// The postings that are gathered before they are written.
const MAX_POSTINGS: usize = 100_000;

const CHAIN: &str = "SELECT chain.id, chain.source, chain.name, chain.project, chain.passages, chain.bytes, \
     chain.messages, source.session, source.agent \
     FROM longhaul.chain JOIN longhaul.source ON source.id = chain.source";

/// An index on a server, as one tenant sees it.
#[derive(Debug)]
pub(crate) struct PostgresStore {
    pub(crate) connection: Arc<Connection>,
    tenant: String,
    rows: PassageRows,
    /// The places of tokens, by token and chain.
    postings: HashMap<(String, i64), Vec<i32>>,
    gathered: usize,
}

/// Passages that wait to be written, a vector for each column.
#[derive(Debug, Default)]
struct PassageRows {
    ids: Vec<i64>,
    kinds: Vec<i16>,
    times: Vec<Option<i64>>,
    lengths: Vec<i32>,
    are_questions: Vec<bool>,
    answers: Vec<Option<i32>>,
    numbers: Vec<Option<i32>>,
}

impl PostgresStore {
    /// An index of a tenant: a role that the user is or is a member of; empty for the user's own.
    pub(crate) fn new(connection: Connection, tenant: &str) -> Self {
        let (connection, postings) = (Arc::new(connection), HashMap::new());
        Self { connection, tenant: tenant.to_owned(), rows: PassageRows::default(), postings, gathered: 0 }
    }

    /// Goes on with a new connection, after the old one was lost.
    pub(crate) fn reconnect(&mut self, connection: Connection) {
        self.forget();
        self.connection = Arc::new(connection);
    }

    fn forget(&mut self) {
        self.rows = PassageRows::default();
        self.postings.clear();
        self.gathered = 0;
    }

    /// Writes what was gathered.
    fn flush(&mut self) -> Result<(), ArchiveError> {
        let rows = std::mem::take(&mut self.rows);
        if !rows.ids.is_empty() {
            self.connection.execute(
                "INSERT INTO longhaul.passage(tenant, id, kind, at, length, is_question, answers, number) \
                 SELECT (SELECT longhaul.tenant()), * FROM unnest($1, $2, $3, $4, $5, $6, $7)",
                &[
                    (&rows.ids, Type::INT8_ARRAY),
                    (&rows.kinds, Type::INT2_ARRAY),
                    (&rows.times, Type::INT8_ARRAY),
                    (&rows.lengths, Type::INT4_ARRAY),
                    (&rows.are_questions, Type::BOOL_ARRAY),
                    (&rows.answers, Type::INT4_ARRAY),
                    (&rows.numbers, Type::INT4_ARRAY),
                ],
            )?;
        }
        if !self.postings.is_empty() {
            let mut postings: Vec<((String, i64), Vec<i32>)> = self.postings.drain().collect();
            postings.sort_unstable();
            let (mut tokens, mut chains, mut places) = (Vec::new(), Vec::new(), Vec::new());
            for ((token, chain), found) in postings {
                tokens.push(token);
                chains.push(chain);
                // An array of arrays would have to be a rectangle.
                let found: Vec<String> = found.iter().map(i32::to_string).collect();
                places.push(format!("{{{}}}", found.join(",")));
            }
            self.connection.execute(
                "INSERT INTO longhaul.posting AS known(tenant, token, chain, places) \
                 SELECT (SELECT longhaul.tenant()), token, chain, places::integer[] FROM unnest($1, $2, $3) AS new(token, chain, places) \
                 ON CONFLICT (tenant, token, chain) DO UPDATE SET places = known.places || excluded.places",
                &[(&tokens, Type::TEXT_ARRAY), (&chains, Type::INT8_ARRAY), (&places, Type::TEXT_ARRAY)],
            )?;
        }
        self.gathered = 0;
        Ok(())
    }
}

impl Store for PostgresStore {
    fn begin(&mut self, access: Access) -> Result<(), ArchiveError> {
        self.forget();
        self.connection.run(match access {
            Access::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Access::Write => "BEGIN",
        })?;
        // The setting ends with the transaction.
        self.connection
            .query("SELECT set_config('longhaul.tenant', $1, true)", &[(&self.tenant, Type::TEXT)])?;
        let row = self.connection.one("SELECT longhaul.tenant()", &[])?;
        let tenant: Option<String> = row.get(0);
        if tenant.is_none() {
            return Err(ArchiveError::NoTenant { tenant: self.tenant.clone() });
        }
        if access == Access::Write {
            // Writers of a tenant take turns: they change the same frequencies. It ends with the transaction.
            self.connection.query(
                "SELECT pg_advisory_xact_lock(hashtextextended('longhaul ' || longhaul.tenant(), 0))",
                &[],
            )?;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), ArchiveError> {
        self.flush()?;
        self.connection.run("COMMIT")
    }

    fn roll_back(&mut self) {
        self.forget();
        // A lost connection has ended its transaction.
        let _ = self.connection.run("ROLLBACK");
    }

    fn statistics(&mut self) -> Result<CorpusStatistics, ArchiveError> {
        let rows = self.connection.query("SELECT passages, bytes, tokens FROM longhaul.total", &[])?;
        // An index with other tokens would find something else.
        if rows.first().is_some_and(|row| row.get::<_, i32>(2) as u32 != TOKENS_VERSION) {
            return Err(ArchiveError::OtherTokens);
        }
        let read = |row: &Row| CorpusStatistics {
            passages: row.get::<_, i64>(0) as u64,
            bytes: row.get::<_, i64>(1) as u64,
        };
        Ok(rows.first().map(read).unwrap_or_default())
    }

    fn frequency(&mut self, token: &str) -> Result<u64, ArchiveError> {
        let rows = self
            .connection
            .query("SELECT passages FROM longhaul.frequency WHERE token = $1", &[(&token, Type::TEXT)])?;
        Ok(rows.first().map_or(0, |row| row.get::<_, i64>(0) as u64))
    }

    fn with_token(&mut self, token: &str, among: Option<Among<'_>>) -> Result<Vec<i64>, ArchiveError> {
        let rows = match among {
            None => self.connection.query(
                "SELECT chain, places FROM longhaul.posting WHERE token = $1",
                &[(&token, Type::TEXT)],
            )?,
            Some(among) => {
                let chains: BTreeSet<i64> = among.passages.keys().map(|id| id >> SEQUENCE_BITS).collect();
                let chains: Vec<i64> = chains.into_iter().collect();
                self.connection.query(
                    "SELECT chain, places FROM longhaul.posting WHERE token = $1 AND chain = ANY($2)",
                    &[(&token, Type::TEXT), (&chains, Type::INT8_ARRAY)],
                )?
            }
        };
        let mut ids = Vec::new();
        for row in rows {
            let (chain, places): (i64, Vec<i32>) = (row.get(0), row.get(1));
            ids.extend(places.into_iter().map(|place| (chain << SEQUENCE_BITS) | i64::from(place)));
        }
        Ok(ids)
    }

    fn numbered(&mut self, number: u32) -> Result<Vec<i64>, ArchiveError> {
        let Ok(number) = i32::try_from(number) else { return Ok(Vec::new()) };
        let query = "SELECT id FROM longhaul.passage WHERE number = $1";
        let rows = self.connection.query(query, &[(&number, Type::INT4)])?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    fn passages(&mut self, ranges: &[(i64, i64)]) -> Result<Vec<StoredPassage>, ArchiveError> {
        let (first, last): (Vec<i64>, Vec<i64>) = ranges.iter().copied().unzip();
        let rows = self.connection.query(
            "SELECT id, kind, at, length, is_question, answers FROM unnest($1, $2) AS range(first, last) \
             JOIN longhaul.passage ON id BETWEEN range.first AND range.last",
            &[(&first, Type::INT8_ARRAY), (&last, Type::INT8_ARRAY)],
        )?;
        let read = |row: &Row| StoredPassage {
            id: row.get(0),
            kind: u8::try_from(row.get::<_, i16>(1)).ok().and_then(Kind::from_code).unwrap_or(Kind::Host),
            at: row.get::<_, Option<i64>>(2).map(Timestamp::from_millis),
            length: row.get::<_, i32>(3) as u32,
            is_question: row.get(4),
            answers: row.get::<_, Option<i32>>(5).map(|answers| answers as u32),
        };
        Ok(rows.iter().map(read).collect())
    }

    fn chains(&mut self, ids: &[i64]) -> Result<Vec<StoredChain>, ArchiveError> {
        let query = format!("{CHAIN} WHERE chain.id = ANY($1)");
        let rows = self.connection.query(&query, &[(&ids, Type::INT8_ARRAY)])?;
        Ok(rows.iter().map(chain).collect())
    }

    fn chains_of(&mut self, source: i64) -> Result<Vec<StoredChain>, ArchiveError> {
        let query = format!("{CHAIN} WHERE chain.source = $1");
        let rows = self.connection.query(&query, &[(&source, Type::INT8)])?;
        Ok(rows.iter().map(chain).collect())
    }

    fn add_chain(&mut self, source: i64, name: &str, project: Option<&str>) -> Result<i64, ArchiveError> {
        let row = self.connection.one(
            "INSERT INTO longhaul.chain(source, name, project) VALUES($1, $2, $3) RETURNING id",
            &[(&source, Type::INT8), (&storable(name), Type::TEXT), (&project.map(storable), Type::TEXT)],
        )?;
        Ok(row.get(0))
    }

    fn add_passage(&mut self, passage: &NewPassage<'_>) -> Result<(), ArchiveError> {
        let chain = passage.id >> SEQUENCE_BITS;
        let place = (passage.id & ((1 << SEQUENCE_BITS) - 1)) as i32;
        let rows = &mut self.rows;
        rows.ids.push(passage.id);
        rows.kinds.push(i16::from(passage.kind.code()));
        rows.times.push(passage.at.map(Timestamp::as_millis));
        rows.lengths.push(i32::try_from(passage.length).unwrap_or(i32::MAX));
        rows.are_questions.push(passage.is_question);
        rows.answers.push(passage.answers.and_then(|answers| i32::try_from(answers).ok()));
        rows.numbers.push(passage.number.and_then(|number| i32::try_from(number).ok()));
        for token in passage.tokens {
            self.postings.entry((token.clone(), chain)).or_default().push(place);
        }
        self.gathered += passage.tokens.len();
        if self.gathered >= MAX_POSTINGS { self.flush() } else { Ok(()) }
    }

    fn set_extent(&mut self, chain: i64, extent: Extent) -> Result<(), ArchiveError> {
        let (passages, messages) = (extent.passages as i32, extent.messages as i32);
        self.connection.execute(
            "UPDATE longhaul.chain SET passages = $2, bytes = $3, messages = $4 WHERE id = $1",
            &[
                (&chain, Type::INT8),
                (&passages, Type::INT4),
                (&(extent.bytes as i64), Type::INT8),
                (&messages, Type::INT4),
            ],
        )?;
        Ok(())
    }

    fn describe(
        &mut self,
        source: i64,
        title: Option<&str>,
        project: Option<&str>,
    ) -> Result<(), ArchiveError> {
        self.connection.execute(
            "UPDATE longhaul.chain SET title = coalesce($2, title), project = coalesce($3, project) WHERE source = $1",
            &[
                (&source, Type::INT8),
                (&title.map(storable), Type::TEXT),
                (&project.map(storable), Type::TEXT),
            ],
        )?;
        Ok(())
    }

    fn set_indexed(&mut self, source: i64, blocks: usize) -> Result<(), ArchiveError> {
        let blocks = i32::try_from(blocks).unwrap_or(i32::MAX);
        self.connection.execute(
            "UPDATE longhaul.source SET indexed = $2 WHERE id = $1",
            &[(&source, Type::INT8), (&blocks, Type::INT4)],
        )?;
        Ok(())
    }

    fn add_counts(
        &mut self,
        tokens: &[(String, i64)],
        passages: i64,
        bytes: i64,
    ) -> Result<(), ArchiveError> {
        for part in tokens.chunks(MAX_POSTINGS) {
            let (names, counts): (Vec<&str>, Vec<i64>) =
                part.iter().map(|(token, count)| (token.as_str(), *count)).unzip();
            let parameters: [Parameter<'_>; 2] = [(&names, Type::TEXT_ARRAY), (&counts, Type::INT8_ARRAY)];
            self.connection.execute(
                "INSERT INTO longhaul.frequency AS known(tenant, token, passages) \
                 SELECT (SELECT longhaul.tenant()), * FROM unnest($1, $2) \
                 ON CONFLICT (tenant, token) DO UPDATE SET passages = known.passages + excluded.passages",
                &parameters,
            )?;
            if counts.iter().any(|count| *count < 0) {
                self.connection.execute(
                    "DELETE FROM longhaul.frequency WHERE token = ANY($1) AND passages <= 0",
                    &parameters[..1],
                )?;
            }
        }
        let version = TOKENS_VERSION as i32;
        self.connection.execute(
            "INSERT INTO longhaul.total AS known(passages, bytes, tokens) VALUES($1, $2, $3) \
             ON CONFLICT (tenant) DO UPDATE SET passages = known.passages + $1, bytes = known.bytes + $2",
            &[(&passages, Type::INT8), (&bytes, Type::INT8), (&version, Type::INT4)],
        )?;
        Ok(())
    }

    fn remove_chains(&mut self, source: i64) -> Result<(), ArchiveError> {
        for chain in self.chains_of(source)? {
            let first = chain.id << SEQUENCE_BITS;
            let last = first + i64::from(chain.passages);
            self.connection.execute(
                "DELETE FROM longhaul.passage WHERE id >= $1 AND id < $2",
                &[(&first, Type::INT8), (&last, Type::INT8)],
            )?;
        }
        // Postings go with their chains.
        self.connection.execute("DELETE FROM longhaul.chain WHERE source = $1", &[(&source, Type::INT8)])?;
        self.set_indexed(source, 0)
    }
}

/// A text without the one character that the server cannot keep.
pub(crate) fn storable(text: &str) -> String {
    text.replace('\0', "")
}

fn chain(row: &Row) -> StoredChain {
    StoredChain {
        id: row.get(0),
        source: row.get(1),
        name: row.get(2),
        project: row.get(3),
        passages: row.get::<_, i32>(4) as u32,
        bytes: row.get::<_, i64>(5) as u64,
        messages: row.get::<_, i32>(6) as u32,
        named: Some(SourceName { session: row.get(7), agent: row.get(8) }),
    }
}
