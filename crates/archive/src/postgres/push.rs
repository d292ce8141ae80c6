//! Pushes sessions of the own archive into the team's, each in one transaction: it is there as a whole or not at all.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::time::Duration;

use tokio_postgres::types::Type;

use super::store::storable;
use super::team::TeamArchive;
use crate::archive::Archive;
use crate::error::ArchiveError;
use crate::redaction::{redact_lines, redact_text};
use crate::source::{ArchivedSession, BlockRef};
use crate::store::{Access, Store};
use crate::writer::{IndexWriter, IndexedSource};

/// The times that a lost connection is made anew for one session, and the pauses before.
const PAUSES: [Duration; 3] = [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(4)];

/// The options of a push.
#[derive(Clone, Debug)]
pub struct PushOptions {
    /// The name by which others see where a session is from.
    pub machine: String,
}

/// The result of a push.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushReport {
    /// The sessions that were looked at.
    pub sessions: usize,
    /// Those with something new.
    pub pushed: usize,
    /// The new bytes before compression.
    pub bytes: u64,
    /// Those that were deleted from the team's archive and stay out.
    pub deleted: usize,
    /// The times that a lost connection was made anew.
    pub reconnected: usize,
}

/// The outcome for a session.
enum Outcome {
    Pushed(u64),
    UpToDate,
    Deleted,
}

impl TeamArchive {
    /// Pushes what is new of sessions, each with the project that it belongs to, once more redacted.
    ///
    /// # Errors
    /// The server fails, or the connection is lost for good. What was pushed is safe, and the next push goes on.
    pub fn push(
        &mut self,
        archive: &Archive,
        sessions: &[(&ArchivedSession, Option<&str>)],
        options: &PushOptions,
    ) -> Result<PushReport, ArchiveError> {
        let mut report = PushReport { sessions: sessions.len(), ..PushReport::default() };
        let origin = archive.origin()?;
        for (session, project) in sessions {
            let job = PushJob { archive, session, project: *project, options, origin: &origin };
            match self.push_patiently(&job, &mut report) {
                Ok(Outcome::Pushed(bytes)) => {
                    report.pushed += 1;
                    report.bytes += bytes;
                }
                Ok(Outcome::UpToDate) => {}
                Ok(Outcome::Deleted) => report.deleted += 1,
                Err(cause) => {
                    return Err(ArchiveError::PushStopped {
                        sessions: report.pushed,
                        cause: Box::new(cause),
                    });
                }
            }
        }
        Ok(report)
    }

    /// Pushes a session; where the connection is lost, once more over a new one.
    fn push_patiently(
        &mut self,
        job: &PushJob<'_>,
        report: &mut PushReport,
    ) -> Result<Outcome, ArchiveError> {
        let mut pauses = PAUSES.iter();
        loop {
            let pushed = self.within(Access::Write, |team| job.run(team));
            // Whatever was said last: a connection that is gone is the cause.
            if pushed.is_ok() || !self.store.connection.is_closed() {
                return pushed;
            }
            let Some(pause) = pauses.next() else { return pushed };
            std::thread::sleep(*pause);
            if self.reconnect().is_ok() {
                report.reconnected += 1;
            }
        }
    }
}

/// One session to push.
struct PushJob<'a> {
    archive: &'a Archive,
    session: &'a ArchivedSession,
    project: Option<&'a str>,
    options: &'a PushOptions,
    origin: &'a str,
}

impl PushJob<'_> {
    /// Pushes within a transaction.
    fn run(&self, team: &mut TeamArchive) -> Result<Outcome, ArchiveError> {
        // An index of another version is not added to.
        team.store.statistics()?;
        let key = [(&self.origin as _, Type::TEXT), (&(self.session.id as i64) as _, Type::INT8)];
        let connection = team.store.connection.clone();
        let deleted = "SELECT 1 FROM longhaul.deleted WHERE origin = $1 AND local = $2";
        if !connection.query(deleted, &key)?.is_empty() {
            return Ok(Outcome::Deleted);
        }
        let known = connection
            .query("SELECT id, pushed FROM longhaul.source WHERE origin = $1 AND local = $2", &key)?;
        let blocks = &self.session.blocks;
        let (id, count) = match known.first() {
            None if blocks.is_empty() => return Ok(Outcome::UpToDate),
            None => (self.begin(team)?, 0),
            Some(row) => {
                let (id, pushed): (i64, String) = (row.get(0), row.get(1));
                let count = pushed.split(':').next().and_then(|count| count.parse().ok()).unwrap_or(0);
                if count <= blocks.len() && pushed == self.mark(count) {
                    if count == blocks.len() {
                        return Ok(Outcome::UpToDate);
                    }
                    (id, count)
                } else {
                    // The copy is another one: a document was written anew.
                    team.remove_copy(id)?;
                    (id, 0)
                }
            }
        };
        let mut bytes = 0;
        for (place, block) in blocks.iter().enumerate().skip(count) {
            let text = self.redacted(block)?;
            bytes += text.len() as u64;
            let hash = blake3::hash(&text).to_hex().to_string();
            let content = lz4_flex::compress_prepend_size(&text);
            connection.execute(
                "INSERT INTO longhaul.block(hash, content) VALUES($1, $2) ON CONFLICT DO NOTHING",
                &[(&hash, Type::TEXT), (&content, Type::BYTEA)],
            )?;
            connection.execute(
                "INSERT INTO longhaul.source_block(source, place, hash, bytes) VALUES($1, $2, $3, $4)",
                &[
                    (&id, Type::INT8),
                    (&(place as i32), Type::INT4),
                    (&hash, Type::TEXT),
                    (&(text.len() as i64), Type::INT8),
                ],
            )?;
        }
        let mut writer = IndexWriter::within(&mut team.store);
        let source = IndexedSource { id, project: self.project, blocks: blocks.len() };
        let text = RedactedText { job: self, rest: blocks.iter(), text: Vec::new(), at: 0 };
        writer.add(source, text)?;
        writer.finish()?;
        connection.execute(
            "UPDATE longhaul.source SET pushed = $2, changed = $3, copied_at = $4, project = coalesce($5, project) \
             WHERE id = $1",
            &[
                (&id, Type::INT8),
                (&self.mark(blocks.len()), Type::TEXT),
                (&self.session.state.changed, Type::INT8),
                (&self.session.copied_at, Type::INT8),
                (&self.project.map(storable), Type::TEXT),
            ],
        )?;
        Ok(Outcome::Pushed(bytes))
    }

    /// Begins a session under a name that no other of the tenant has.
    fn begin(&self, team: &mut TeamArchive) -> Result<i64, ArchiveError> {
        let connection = &team.store.connection;
        let own = storable(&self.session.source.session);
        let taken = connection.query(
            "SELECT session FROM longhaul.source WHERE session = $1 OR starts_with(session, $1 || '~')",
            &[(&own, Type::TEXT)],
        )?;
        let taken: Vec<String> = taken.iter().map(|row| row.get(0)).collect();
        let names = std::iter::once(own.clone()).chain((2..).map(|number| format!("{own}~{number}")));
        let name = { names }.find(|name| !taken.contains(name)).unwrap_or(own);
        let source = &self.session.source;
        let row = connection.one(
            "INSERT INTO longhaul.source(origin, local, machine, agent, session, project, path, changed, copied_at) \
             VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id",
            &[
                (&self.origin, Type::TEXT),
                (&(self.session.id as i64), Type::INT8),
                (&storable(&self.options.machine), Type::TEXT),
                (&storable(&source.agent), Type::TEXT),
                (&name, Type::TEXT),
                (&self.project.map(storable), Type::TEXT),
                (&storable(&source.path.to_string_lossy()), Type::TEXT),
                (&self.session.state.changed, Type::INT8),
                (&self.session.copied_at, Type::INT8),
            ],
        )?;
        Ok(row.get(0))
    }

    /// Marks the first blocks of the copy. The hash has a key, as that of a text which was not redacted would betray it.
    fn mark(&self, count: usize) -> String {
        let key = blake3::derive_key("longhaul archive push", self.origin.as_bytes());
        let mut hasher = blake3::Hasher::new_keyed(&key);
        for block in &self.session.blocks[..count] {
            hasher.update(block.hash.as_bytes());
        }
        format!("{count}:{}", hasher.finalize().to_hex())
    }

    /// The text of a block as others may see it, also where the own copy is exact.
    fn redacted(&self, block: &BlockRef) -> Result<Vec<u8>, ArchiveError> {
        let text = self.archive.blocks.read(block)?;
        let source = &self.session.source;
        let is_lines =
            source.document.is_none() && source.path.extension().is_some_and(|ending| ending == "jsonl");
        let mut counts = BTreeMap::new();
        Ok(if is_lines { redact_lines(&text, &mut counts) } else { redact_text(&text, &mut counts) })
    }
}

/// Reads the redacted text of a session, one block at a time.
struct RedactedText<'a> {
    job: &'a PushJob<'a>,
    rest: std::slice::Iter<'a, BlockRef>,
    text: Vec<u8>,
    at: usize,
}

impl Read for RedactedText<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.text.len() {
            let Some(block) = self.rest.next() else { return Ok(0) };
            self.text = self.job.redacted(block).map_err(io::Error::other)?;
            self.at = 0;
        }
        let count = into.len().min(self.text.len() - self.at);
        into[..count].copy_from_slice(&self.text[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}
