//! Finds the passages that the ranking needs, in any store.

use std::collections::{BTreeSet, HashMap, HashSet};

use longhaul_recall::{
    CorpusStatistics, PassageMatch, RankedPassage, Search, SessionRef, TermQuality, choose_terms, rank,
    term_frequency,
};

use crate::error::ArchiveError;
use crate::question::Question;
use crate::store::{Access, Among, Candidates, SEQUENCE_BITS, SourceName, Store, StoredChain};

/// The neighbours of a match on each side.
const NEIGHBOURS: i64 = 2;

/// Names the source of a chain; none if it was deleted a moment ago.
pub(crate) type Names<'a> = &'a dyn Fn(&StoredChain) -> Option<SourceName>;

/// The scope of the search.
pub(crate) enum Scope<'a> {
    /// Everything in the index.
    Everything,
    /// Some of its sources, by number, and beside them what was scanned.
    Some { sources: &'a [i64], scanned: Option<&'a Search> },
}

/// The matching passages, best first: the order of a scan of everything that is searched.
pub(crate) fn rank_passages(
    store: &mut dyn Store,
    question: &Question,
    scope: &Scope<'_>,
    names: Names<'_>,
) -> Result<Vec<RankedPassage>, ArchiveError> {
    // One state of the index for all that is read.
    store.begin(Access::Read)?;
    let ranked = rank_within(store, question, scope, names);
    match ranked.is_ok() {
        true => store.commit()?,
        false => store.roll_back(),
    }
    ranked
}

fn rank_within(
    store: &mut dyn Store,
    question: &Question,
    scope: &Scope<'_>,
    names: Names<'_>,
) -> Result<Vec<RankedPassage>, ArchiveError> {
    let query = &question.query;
    let mut postings = Postings { store, known: HashMap::new(), chains: None };
    let mut statistics = match scope {
        Scope::Everything => postings.store.statistics()?,
        Scope::Some { sources, .. } => postings.restrict(sources)?,
    };
    let scanned = match scope {
        Scope::Some { scanned, .. } => *scanned,
        Scope::Everything => None,
    };
    if let Some(scanned) = scanned {
        statistics.passages += scanned.statistics().passages;
        statistics.bytes += scanned.statistics().bytes;
    }
    let mut frequencies = Vec::new();
    for term in query.terms() {
        let mut counts: HashMap<&str, u64> = HashMap::new();
        for (token, _) in term.spellings.iter().filter(|(token, _)| !token.starts_with('=')) {
            let scanned = scanned.map_or(0, |scanned| scanned.token_frequency(token));
            counts.insert(token, postings.frequency(token)? + scanned);
        }
        frequencies.push(term_frequency(term, |token| counts.get(token).copied().unwrap_or_default()));
    }
    let found = match query.number() {
        Some(number) => postings.numbered(number.0)?,
        None => candidates(&mut postings, question, &frequencies)?,
    };
    let reach = if query.number().is_some() { 0 } else { NEIGHBOURS };
    let ranges = ranges_around(found.keys().copied(), reach);
    let rows = store.passages(&ranges)?;
    let ids: BTreeSet<i64> = rows.iter().map(|row| row.id >> SEQUENCE_BITS).collect();
    let ids: Vec<i64> = ids.into_iter().collect();
    let mut sessions: HashMap<i64, SessionRef> = HashMap::new();
    let mut asked: HashSet<SessionRef> = HashSet::new();
    for chain in store.chains(&ids)? {
        let Some(source) = names(&chain) else { continue };
        let own = source.session;
        let name = SessionRef::new(match chain.name.is_empty() {
            true => own,
            false => format!("{own}/{}", chain.name),
        });
        let is_agent = question.agent.as_ref().is_none_or(|asked| *asked == source.agent);
        let is_project = question.project.as_ref().is_none_or(|asked| {
            chain.project.as_ref().is_some_and(|project| std::path::Path::new(project).starts_with(asked))
        });
        if is_agent && is_project {
            asked.insert(name.clone());
        }
        sessions.insert(chain.id, name);
    }
    let mut passages: Vec<PassageMatch> = Vec::new();
    for row in rows {
        let Some(session) = sessions.get(&(row.id >> SEQUENCE_BITS)) else { continue };
        passages.push(PassageMatch {
            session: session.clone(),
            sequence: (row.id & ((1 << SEQUENCE_BITS) - 1)) as u32,
            kind: row.kind,
            at: row.at,
            length: row.length,
            is_question: row.is_question,
            answers: row.answers,
            terms: found.get(&row.id).cloned().unwrap_or_default(),
        });
    }
    if let Some(scanned) = scanned {
        asked.extend(scanned.passages().iter().map(|passage| passage.session.clone()));
        passages.extend_from_slice(scanned.passages());
    }
    let mut ranked = rank(query, &question.filter, statistics, &frequencies, passages);
    ranked.retain(|passage| asked.contains(&passage.session));
    Ok(ranked)
}

/// The passages with a chosen term, each with all terms in it.
fn candidates(
    postings: &mut Postings<'_>,
    question: &Question,
    frequencies: &[u64],
) -> Result<Candidates, ArchiveError> {
    let terms = question.query.terms();
    let chosen = choose_terms(frequencies);
    let mut found = Candidates::new();
    let take = |found: &mut Candidates, place: usize, quality: f64, ids: Vec<i64>| {
        for id in ids {
            let quality = quality as f32;
            let terms = found.entry(id).or_default();
            match terms.iter_mut().find(|found| usize::from(found.term) == place) {
                Some(found) => found.quality = found.quality.max(quality),
                None => terms.push(TermQuality { term: place as u16, quality }),
            }
        }
    };
    for place in &chosen {
        for (token, quality) in &terms[*place].spellings {
            let ids = postings.with_token(token, None)?;
            take(&mut found, *place, *quality, ids);
        }
    }
    let tokens: Vec<&str> = chosen
        .iter()
        .flat_map(|term| &terms[*term].spellings)
        .filter(|(token, _)| !token.starts_with('='))
        .map(|(token, _)| token.as_str())
        .collect();
    let others = (0..terms.len()).filter(|place| frequencies[*place] > 0 && !chosen.contains(place));
    let mut common: Vec<(usize, f64, Vec<i64>)> = Vec::new();
    for place in others {
        for (token, quality) in &terms[place].spellings {
            let mut ids = postings.with_token(token, Some(Among { tokens: &tokens, passages: &found }))?;
            ids.retain(|id| found.contains_key(id));
            common.push((place, *quality, ids));
        }
    }
    common.into_iter().for_each(|(place, quality, ids)| take(&mut found, place, quality, ids));
    found.values_mut().for_each(|terms| terms.sort_by_key(|found| found.term));
    Ok(found)
}

/// The passages of tokens, in everything or in some chains.
struct Postings<'a> {
    store: &'a mut dyn Store,
    /// Those that were counted, where only some chains are searched.
    known: HashMap<String, Vec<i64>>,
    chains: Option<HashSet<i64>>,
}

impl Postings<'_> {
    /// Searches only these sources; the figures over them.
    fn restrict(&mut self, sources: &[i64]) -> Result<CorpusStatistics, ArchiveError> {
        let mut statistics = CorpusStatistics::default();
        let mut chains = HashSet::new();
        for source in sources {
            for chain in self.store.chains_of(*source)? {
                statistics.passages += u64::from(chain.passages);
                statistics.bytes += chain.bytes;
                chains.insert(chain.id);
            }
        }
        self.chains = Some(chains);
        Ok(statistics)
    }

    fn frequency(&mut self, token: &str) -> Result<u64, ArchiveError> {
        match self.chains.is_some() {
            false => self.store.frequency(token),
            true => Ok(self.with_token(token, None)?.len() as u64),
        }
    }

    fn with_token(&mut self, token: &str, among: Option<Among<'_>>) -> Result<Vec<i64>, ArchiveError> {
        let Some(chains) = &self.chains else { return self.store.with_token(token, among) };
        if let Some(known) = self.known.get(token) {
            return Ok(known.clone());
        }
        let mut found = self.store.with_token(token, among)?;
        found.retain(|id| chains.contains(&(id >> SEQUENCE_BITS)));
        if among.is_none() {
            self.known.insert(token.to_owned(), found.clone());
        }
        Ok(found)
    }

    fn numbered(&mut self, number: u32) -> Result<Candidates, ArchiveError> {
        let mut found = self.store.numbered(number)?;
        if let Some(chains) = &self.chains {
            found.retain(|id| chains.contains(&(id >> SEQUENCE_BITS)));
        }
        Ok(found.into_iter().map(|id| (id, Vec::new())).collect())
    }
}

/// The ids around others, as ranges without gaps.
fn ranges_around(ids: impl Iterator<Item = i64>, reach: i64) -> Vec<(i64, i64)> {
    let mut ids: Vec<i64> = ids.collect();
    ids.sort_unstable();
    let mut ranges: Vec<(i64, i64)> = Vec::new();
    for id in ids {
        match ranges.last_mut() {
            Some((_, last)) if id - reach <= *last + 1 => *last = id + reach,
            _ => ranges.push((id - reach, id + reach)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_read_in_one_go() {
        assert_eq!(ranges_around([].into_iter(), 2), []);
        assert_eq!(ranges_around([20, 7, 11, 10].into_iter(), 2), [(5, 13), (18, 22)]);
        assert_eq!(ranges_around([5, 6].into_iter(), 0), [(5, 6)]);
    }
}
