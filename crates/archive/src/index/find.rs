//! Finds the passages that the ranking needs.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

use longhaul_conversation::Timestamp;
use longhaul_recall::{
    CorpusStatistics, Kind, PassageMatch, RankedPassage, SessionRef, TermQuality, choose_terms, rank,
    term_frequency,
};
use rusqlite::{OptionalExtension, Row, params};

use super::{Index, SEQUENCE_BITS};
use crate::error::ArchiveError;
use crate::question::Question;
use crate::source_log::SourceLog;

/// The neighbours of a match on each side.
const NEIGHBOURS: i64 = 2;

/// A session in the index.
#[derive(Clone, Debug)]
struct IndexedSession {
    name: SessionRef,
    is_asked: bool,
}

impl Index {
    /// The matching passages, best first: the order of a scan of everything that is in the archive.
    pub(crate) fn rank(
        &self,
        log: &SourceLog,
        question: &Question,
    ) -> Result<Vec<RankedPassage>, ArchiveError> {
        // One state of the index for all that is read.
        let _reading = self.connection.unchecked_transaction()?;
        let statistics = self.connection.query_row("SELECT passages, bytes FROM total", [], |row| {
            Ok(CorpusStatistics {
                passages: row.get::<_, i64>(0)? as u64,
                bytes: row.get::<_, i64>(1)? as u64,
            })
        })?;
        let query = &question.query;
        let mut frequencies = Vec::new();
        for term in query.terms() {
            let mut failed = None;
            frequencies.push(term_frequency(term, |token| {
                self.frequency(token).unwrap_or_else(|error| {
                    failed = Some(error);
                    0
                })
            }));
            if let Some(error) = failed {
                return Err(error);
            }
        }
        let found = match query.number() {
            Some(number) => self.numbered(number.0)?,
            None => self.candidates(question, &frequencies)?,
        };
        let mut sessions: HashMap<i64, IndexedSession> = HashMap::new();
        let mut passages: Vec<PassageMatch> = Vec::new();
        let mut ids: BTreeSet<i64> = BTreeSet::new();
        let reach = if query.number().is_some() { 0 } else { NEIGHBOURS };
        for id in found.keys() {
            ids.extend(id - reach..=id + reach);
        }
        let mut done: Option<i64> = None;
        let mut statement = self.connection.prepare_cached(
            "SELECT id, kind, at, length, is_question, answers FROM passage WHERE id BETWEEN ?1 AND ?2",
        )?;
        for id in &ids {
            if done.is_some_and(|done| *id <= done) {
                continue;
            }
            // The ids that follow without a gap are read at once.
            let mut last = *id;
            while ids.contains(&(last + 1)) {
                last += 1;
            }
            done = Some(last);
            let mut rows = statement.query(params![id, last])?;
            while let Some(row) = rows.next()? {
                let id: i64 = row.get(0)?;
                let session = id >> SEQUENCE_BITS;
                let name = match sessions.entry(session) {
                    Entry::Occupied(known) => known.get().name.clone(),
                    Entry::Vacant(place) => {
                        let Some(named) = self.session(log, session, question)? else { continue };
                        place.insert(named).name.clone()
                    }
                };
                let terms = found.get(&id).cloned().unwrap_or_default();
                passages.push(passage_of(row, name, terms)?);
            }
        }
        let asked: std::collections::HashSet<&SessionRef> =
            sessions.values().filter(|session| session.is_asked).map(|session| &session.name).collect();
        let mut ranked = rank(query, &question.filter, statistics, &frequencies, passages);
        ranked.retain(|passage| asked.contains(&passage.session));
        Ok(ranked)
    }

    fn frequency(&self, token: &str) -> Result<u64, ArchiveError> {
        let mut statement =
            self.connection.prepare_cached("SELECT passages FROM frequency WHERE token = ?1")?;
        let found: Option<i64> = statement.query_row([token], |row| row.get(0)).optional()?;
        Ok(found.unwrap_or_default() as u64)
    }

    /// The passages of messages with a number.
    fn numbered(&self, number: u32) -> Result<HashMap<i64, Vec<TermQuality>>, ArchiveError> {
        let mut statement = self.connection.prepare_cached("SELECT id FROM passage WHERE number = ?1")?;
        let rows = statement.query_map([number], |row| Ok((row.get(0)?, Vec::new())))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The passages with a chosen term, each with all terms in it.
    fn candidates(
        &self,
        question: &Question,
        frequencies: &[u64],
    ) -> Result<HashMap<i64, Vec<TermQuality>>, ArchiveError> {
        let terms = question.query.terms();
        let chosen = choose_terms(frequencies);
        let mut found: HashMap<i64, Vec<TermQuality>> = HashMap::new();
        if chosen.is_empty() {
            return Ok(found);
        }
        let quoted = |token: &str| format!("\"{}\"", token.replace('"', ""));
        let mut statement =
            self.connection.prepare_cached("SELECT rowid FROM tokens WHERE tokens MATCH ?1")?;
        let any: Vec<String> = chosen
            .iter()
            .flat_map(|term| &terms[*term].spellings)
            .filter(|(token, _)| !token.starts_with('='))
            .map(|(token, _)| quoted(token))
            .collect();
        let any = any.join(" OR ");
        for (place, term) in terms.iter().enumerate().filter(|(place, _)| frequencies[*place] > 0) {
            for (token, quality) in &term.spellings {
                let token = quoted(token);
                let asked = if chosen.contains(&place) { token } else { format!("{token} AND ({any})") };
                let mut rows = statement.query([asked])?;
                while let Some(row) = rows.next()? {
                    let quality = *quality as f32;
                    let terms = found.entry(row.get(0)?).or_default();
                    match terms.iter_mut().find(|found| usize::from(found.term) == place) {
                        Some(found) => found.quality = found.quality.max(quality),
                        None => terms.push(TermQuality { term: place as u16, quality }),
                    }
                }
            }
        }
        found.values_mut().for_each(|terms| terms.sort_by_key(|found| found.term));
        Ok(found)
    }

    /// A session of the index; none if it was deleted a moment ago. Names come from the log, which may change them.
    fn session(
        &self,
        log: &SourceLog,
        id: i64,
        question: &Question,
    ) -> Result<Option<IndexedSession>, ArchiveError> {
        let mut statement =
            self.connection.prepare_cached("SELECT source, chain, project FROM session WHERE id = ?1")?;
        let found = statement.query_row([id], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, Option<String>>(2)?))
        });
        let Some((source, chain, project)) = found.optional()? else { return Ok(None) };
        let Some(session) = log.session(source as u64) else { return Ok(None) };
        let own = &session.source.session;
        let name = if chain.is_empty() { own.clone() } else { format!("{own}/{chain}") };
        let is_agent = question.agent.as_ref().is_none_or(|asked| *asked == session.source.agent);
        let is_project = question.project.as_ref().is_none_or(|asked| {
            project.is_some_and(|project| std::path::Path::new(&project).starts_with(asked))
        });
        Ok(Some(IndexedSession { name: SessionRef::new(name), is_asked: is_agent && is_project }))
    }
}

fn passage_of(row: &Row<'_>, session: SessionRef, terms: Vec<TermQuality>) -> rusqlite::Result<PassageMatch> {
    let id: i64 = row.get(0)?;
    Ok(PassageMatch {
        session,
        sequence: (id & ((1 << SEQUENCE_BITS) - 1)) as u32,
        kind: Kind::from_code(row.get(1)?).unwrap_or(Kind::Host),
        at: row.get::<_, Option<i64>>(2)?.map(Timestamp::from_millis),
        length: row.get(3)?,
        is_question: row.get(4)?,
        answers: row.get(5)?,
        terms,
    })
}
