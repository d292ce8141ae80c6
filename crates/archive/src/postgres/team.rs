//! The team's archive: searched, read, deleted from and pruned as the own one.

use std::collections::HashMap;
use std::path::PathBuf;

use longhaul_conversation::Timestamp;
use longhaul_recall::{Hit, RankedPassage, pick_hits};
use tokio_postgres::Config;
use tokio_postgres::types::Type;

use super::connection::Connection;
use super::migrate;
use super::remote_text::RemoteText;
use super::store::PostgresStore;
use crate::archive::find_named;
use crate::error::ArchiveError;
use crate::fetch::{SessionPlace, fetch_passages};
use crate::question::Question;
use crate::rank::{Scope, rank_passages};
use crate::source::{ArchivedSession, BlockRef, Source, SourceState};
use crate::status::Retention;
use crate::store::{Access, Store};
use crate::writer::{IndexWriter, IndexedSource};

/// The place of a team's archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TeamOptions {
    /// The address: `postgres://user@host/database`.
    pub url: String,
    /// The role that owns what is pushed; empty for the user's own.
    pub tenant: String,
}

/// The archive of a team, as one tenant sees it.
#[derive(Debug)]
pub struct TeamArchive {
    config: Config,
    pub(super) store: PostgresStore,
}

/// A session in the team's archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamSession {
    /// The origin of the push.
    pub machine: String,
    /// The session. Its path is that of the machine.
    pub session: ArchivedSession,
}

impl TeamArchive {
    /// Connects, and brings the schema up to date where the user may.
    ///
    /// # Errors
    /// The server cannot be reached, its schema is not the right one, or the user is above row-level security.
    pub fn open(options: &TeamOptions) -> Result<Self, ArchiveError> {
        let config = config(options)?;
        let connection = Connection::open(&config)?;
        let found = migrate::version(&connection)?;
        let known = migrate::newest();
        if found < known {
            let is_refused = |error: &ArchiveError| {
                matches!(error, ArchiveError::Server(error)
                    if error.code() == Some(&tokio_postgres::error::SqlState::INSUFFICIENT_PRIVILEGE))
            };
            match migrate::migrate(&connection) {
                Err(error) if is_refused(&error) => {
                    return Err(ArchiveError::OlderSchema { found, known });
                }
                other => drop(other?),
            }
        }
        let row = connection.one(
            "SELECT rolname::text, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user",
            &[],
        )?;
        if row.get(1) {
            return Err(ArchiveError::AboveSecurity { role: row.get(0) });
        }
        Ok(Self { config, store: PostgresStore::new(connection, &options.tenant) })
    }

    /// Makes the schema or brings it up to date; its versions before and after.
    ///
    /// # Errors
    /// The server cannot be reached, or the user may not change the schema.
    pub fn migrate(options: &TeamOptions) -> Result<(i32, i32), ArchiveError> {
        let connection = Connection::open(&config(options)?)?;
        Ok((migrate::migrate(&connection)?, migrate::newest()))
    }

    /// Connects again, after the connection was lost.
    pub(super) fn reconnect(&mut self) -> Result<(), ArchiveError> {
        self.store.reconnect(Connection::open(&self.config)?);
        Ok(())
    }

    /// Runs something in one transaction.
    pub(super) fn within<T>(
        &mut self,
        access: Access,
        run: impl FnOnce(&mut Self) -> Result<T, ArchiveError>,
    ) -> Result<T, ArchiveError> {
        let done = self.store.begin(access).and_then(|()| run(self));
        match done {
            Ok(value) => self.store.commit().map(|()| value),
            Err(error) => {
                self.store.roll_back();
                Err(error)
            }
        }
    }

    /// The sessions, in the order of arrival.
    ///
    /// # Errors
    /// The server fails.
    pub fn sessions(&mut self) -> Result<Vec<TeamSession>, ArchiveError> {
        self.within(Access::Read, |team| team.sessions_within())
    }

    fn sessions_within(&mut self) -> Result<Vec<TeamSession>, ArchiveError> {
        let rows = self.store.connection.query(
            "SELECT id, machine, agent, session, project, path, changed, copied_at FROM longhaul.source ORDER BY id",
            &[],
        )?;
        let mut blocks = self.blocks(None)?;
        let sessions = rows.into_iter().map(|row| {
            let id: i64 = row.get(0);
            let session = ArchivedSession {
                id: id as u64,
                source: Source {
                    agent: row.get(2),
                    session: row.get(3),
                    project: row.get(4),
                    path: PathBuf::from(row.get::<_, String>(5)),
                    document: None,
                },
                state: SourceState { changed: row.get(6), ..SourceState::default() },
                blocks: blocks.remove(&id).unwrap_or_default(),
                copied_at: row.get(7),
            };
            TeamSession { machine: row.get(1), session }
        });
        Ok(sessions.collect())
    }

    /// The blocks of a session, or of all.
    pub(super) fn blocks(&self, source: Option<i64>) -> Result<HashMap<i64, Vec<BlockRef>>, ArchiveError> {
        let rows = self.store.connection.query(
            "SELECT source, hash, bytes FROM longhaul.source_block WHERE $1 IS NULL OR source = $1 ORDER BY source, place",
            &[(&source, Type::INT8)],
        )?;
        let mut blocks: HashMap<i64, Vec<BlockRef>> = HashMap::new();
        for row in rows {
            let block = BlockRef { hash: row.get(1), bytes: row.get::<_, i64>(2) as u64 };
            blocks.entry(row.get(0)).or_default().push(block);
        }
        Ok(blocks)
    }

    /// The session with a name, or with an unmistakable start of one.
    ///
    /// # Errors
    /// The server fails.
    pub fn find(&mut self, name: &str) -> Result<Option<TeamSession>, ArchiveError> {
        let sessions = self.sessions()?;
        let found = find_named(sessions.iter().map(|session| &session.session), name);
        let id = found.map(|session| session.id);
        Ok(id.and_then(|id| sessions.into_iter().find(|session| session.session.id == id)))
    }

    /// Writes the copy of a session.
    ///
    /// # Errors
    /// The server fails, a block is damaged, or `into` cannot be written.
    pub fn export(
        &mut self,
        session: &ArchivedSession,
        into: &mut dyn std::io::Write,
    ) -> Result<(), ArchiveError> {
        self.within(Access::Read, |team| {
            let mut text = RemoteText::new(team.store.connection.clone(), session.blocks.clone());
            let copied = std::io::copy(&mut text, into);
            copied.map(drop).map_err(|cause| ArchiveError::file("export", &session.source.path, cause))
        })
    }

    /// Searches everything that the tenant has.
    ///
    /// # Errors
    /// The server fails.
    pub fn recall(&mut self, question: &Question, limit: usize) -> Result<Vec<Hit>, ArchiveError> {
        let ranked = self.ranking(question)?;
        self.within(Access::Read, |team| {
            let connection = team.store.connection.clone();
            let mut failed = None;
            let hits = pick_hits(&question.query, &ranked, limit, &mut |wanted| {
                let found: HashMap<String, i64> = match named(&connection, wanted) {
                    Ok(found) => found,
                    Err(error) => {
                        failed = Some(error);
                        HashMap::new()
                    }
                };
                let locate = |name: &str| {
                    let own = name.split('/').next().unwrap_or(name);
                    found.get(own).map(|id| SessionPlace { id: *id as u64, name: own.len() })
                };
                fetch_passages(wanted, &locate, &mut |id, take| {
                    let blocks =
                        team.blocks(Some(id as i64)).ok().and_then(|mut all| all.remove(&(id as i64)));
                    if let Some(blocks) = blocks {
                        take(&mut RemoteText::new(connection.clone(), blocks));
                    }
                })
            });
            failed.map_or(Ok(hits), Err)
        })
    }

    /// The ranking of a question, for comparison with a scan.
    ///
    /// # Errors
    /// The server fails.
    pub fn ranking(&mut self, question: &Question) -> Result<Vec<RankedPassage>, ArchiveError> {
        rank_passages(&mut self.store, question, &Scope::Everything, &|chain| chain.named.clone())
    }

    /// Deletes sessions: their rows, and their blocks unless others have them. They are not pushed again.
    ///
    /// # Errors
    /// The server fails, or a session is not there.
    pub fn delete(&mut self, sessions: &[ArchivedSession]) -> Result<(), ArchiveError> {
        // One after the other, so that no transaction gets long.
        for session in sessions {
            self.within(Access::Write, |team| team.delete_within(session.id as i64))?;
        }
        Ok(())
    }

    fn delete_within(&mut self, source: i64) -> Result<(), ArchiveError> {
        self.remove_copy(source)?;
        self.store.connection.execute(
            "INSERT INTO longhaul.deleted(origin, local) SELECT origin, local FROM longhaul.source WHERE id = $1 \
             ON CONFLICT DO NOTHING",
            &[(&source, Type::INT8)],
        )?;
        self.store
            .connection
            .execute("DELETE FROM longhaul.source WHERE id = $1", &[(&source, Type::INT8)])
            .map(drop)
    }

    /// Removes what is indexed and copied of a session, but not the session.
    pub(super) fn remove_copy(&mut self, source: i64) -> Result<(), ArchiveError> {
        self.store.statistics()?;
        let blocks = self.blocks(Some(source))?.remove(&source).unwrap_or_default();
        let text = RemoteText::new(self.store.connection.clone(), blocks.clone());
        let mut writer = IndexWriter::within(&mut self.store);
        writer.remove(source, text)?;
        writer.finish()?;
        let hashes: Vec<String> = blocks.into_iter().map(|block| block.hash).collect();
        let connection = &self.store.connection;
        connection
            .execute("DELETE FROM longhaul.source_block WHERE source = $1", &[(&source, Type::INT8)])?;
        connection.execute(
            "DELETE FROM longhaul.block WHERE hash = ANY($1) \
             AND NOT EXISTS (SELECT 1 FROM longhaul.source_block AS used WHERE used.hash = block.hash)",
            &[(&hashes, Type::TEXT_ARRAY)],
        )?;
        Ok(())
    }

    /// The sessions that a retention would remove, oldest first.
    ///
    /// # Errors
    /// The server fails.
    pub fn expired(
        &mut self,
        retention: &Retention,
        now: Timestamp,
    ) -> Result<Vec<ArchivedSession>, ArchiveError> {
        let sessions = self.sessions()?;
        Ok(retention.expired(sessions.iter().map(|session| &session.session), now))
    }

    /// Makes the tenant's index anew from the blocks; the number of sessions.
    ///
    /// # Errors
    /// The server fails.
    pub fn rebuild(&mut self) -> Result<usize, ArchiveError> {
        self.within(Access::Write, |team| {
            let sessions = team.sessions_within()?;
            for table in ["passage", "chain", "posting", "frequency", "total"] {
                team.store.connection.execute(&format!("DELETE FROM longhaul.{table}"), &[])?;
            }
            let connection = team.store.connection.clone();
            let mut writer = IndexWriter::within(&mut team.store);
            for TeamSession { session, .. } in &sessions {
                let text = RemoteText::new(connection.clone(), session.blocks.clone());
                let source = IndexedSource {
                    id: session.id as i64,
                    project: session.source.project.as_deref(),
                    blocks: session.blocks.len(),
                };
                writer.add(source, text)?;
            }
            writer.finish()?;
            Ok(sessions.len())
        })
    }
}

/// The numbers of the sessions of passages, by name.
fn named(connection: &Connection, wanted: &[RankedPassage]) -> Result<HashMap<String, i64>, ArchiveError> {
    let own = |passage: &RankedPassage| passage.session.as_str().split('/').next().map(str::to_owned);
    let mut names: Vec<String> = wanted.iter().filter_map(own).collect();
    names.sort_unstable();
    names.dedup();
    let query = "SELECT session, id FROM longhaul.source WHERE session = ANY($1)";
    let rows = connection.query(query, &[(&names, Type::TEXT_ARRAY)])?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

fn config(options: &TeamOptions) -> Result<Config, ArchiveError> {
    options.url.parse().map_err(|cause| ArchiveError::Connect { cause: Box::new(cause) })
}
