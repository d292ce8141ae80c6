//! The search: observes messages one after the other, then ranks them and shows the best.

use std::collections::VecDeque;

use hashbrown::{HashMap, HashSet};
use longhaul_conversation::{Message, MessageId, Timestamp};

use crate::excerpt::Excerpt;
use crate::filter::SearchFilter;
use crate::hit::{Hit, SessionRef};
use crate::locate::{by_line, find_matches};
use crate::passage::{FoundPassage, Passage, PassageReader};
use crate::query::Query;
use crate::rank::{
    CorpusStatistics, PassageMatch, RankWeights, RankedPassage, TermQuality, rank_with, term_frequency,
};
use crate::tokens::Tokenizer;
use crate::window::WindowFinder;

/// The neighbours of a match that are remembered on each side.
const NEIGHBOURS: u32 = 2;

/// The base weight of a common term when choosing the lines to show.
const COMMON: f32 = 0.3;

/// The most bytes of a message requested by its number.
const LONGEST_WHOLE: usize = 32 * 1024;

/// The least passages fetched at a time.
const BATCH: usize = 16;

/// A search in messages.
#[derive(Debug)]
pub struct Search {
    query: Query,
    tokenizer: Tokenizer,
    statistics: CorpusStatistics,
    /// The number of passages with each token of the query.
    frequencies: HashMap<String, u64>,
    passages: Vec<PassageMatch>,
    sessions: HashMap<SessionRef, SessionState>,
    observed: u64,
}

/// The state of a session that is observed.
#[derive(Debug, Default)]
struct SessionState {
    reader: PassageReader,
    /// The last passages that no match has kept.
    before: VecDeque<PassageMatch>,
    /// The number of passages that are kept after a match.
    keep: u32,
}

impl Search {
    /// Compiles a query; the crate's documentation describes its form.
    pub fn new(query: &str) -> Self {
        Self::of(Query::parse(query, None))
    }

    /// Compiles a query with time words.
    pub fn asked_at(query: &str, now: Timestamp) -> Self {
        Self::of(Query::parse(query, Some(now)))
    }

    fn of(query: Query) -> Self {
        Self {
            query,
            tokenizer: Tokenizer::default(),
            statistics: CorpusStatistics::default(),
            frequencies: HashMap::new(),
            passages: Vec::new(),
            sessions: HashMap::new(),
            observed: 0,
        }
    }

    /// True if the query has no terms, so that nothing can match.
    pub fn is_empty(&self) -> bool {
        self.query.is_empty()
    }

    /// The query.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// The number of observed messages.
    pub fn observed(&self) -> u64 {
        self.observed
    }

    /// The figures over all observed passages.
    pub fn statistics(&self) -> CorpusStatistics {
        self.statistics
    }

    /// The number of observed passages with a token of the query.
    pub fn token_frequency(&self, token: &str) -> u64 {
        self.frequencies.get(token).copied().unwrap_or_default()
    }

    /// The matches and their neighbours, to be ranked with those of an index.
    pub fn passages(&self) -> &[PassageMatch] {
        &self.passages
    }

    /// Observes the next message of a session.
    pub fn observe(&mut self, session: &SessionRef, message: &Message) {
        self.observed += 1;
        let Self { query, tokenizer, statistics, frequencies, passages, sessions, .. } = self;
        let state = match sessions.get_mut(session) {
            Some(state) => state,
            None => sessions.entry(session.clone()).or_default(),
        };
        let SessionState { reader, before, keep } = state;
        reader.read(message, &mut |passage| {
            let text = passage.text();
            statistics.passages += 1;
            statistics.bytes += text.len() as u64;
            let terms = match query.number() {
                Some(number) if message.ordinal == Some(number) => {
                    passages.push(of_passage(session, message, passage, Vec::new()));
                    return;
                }
                Some(_) => return,
                None => matched_terms(query, tokenizer, frequencies, text),
            };
            let is_match = !terms.is_empty();
            let found = of_passage(session, message, passage, terms);
            if is_match {
                passages.extend(before.drain(..));
                *keep = NEIGHBOURS;
                passages.push(found);
            } else if *keep > 0 {
                *keep -= 1;
                passages.push(found);
            } else {
                before.push_back(found);
                if before.len() > NEIGHBOURS as usize {
                    before.pop_front();
                }
            }
        });
    }

    /// The matching passages, best first.
    pub fn ranking(&self, filter: &SearchFilter) -> Vec<RankedPassage> {
        self.ranking_with(&RankWeights::default(), filter)
    }

    /// Like [`Search::ranking`], with other weights.
    pub fn ranking_with(&self, weights: &RankWeights, filter: &SearchFilter) -> Vec<RankedPassage> {
        let of_token = |token: &str| self.token_frequency(token);
        let frequencies: Vec<u64> =
            self.query.terms().iter().map(|term| term_frequency(term, of_token)).collect();
        rank_with(weights, &self.query, filter, self.statistics, &frequencies, self.passages.clone())
    }

    /// The best hits, for messages of one session that are all in memory.
    pub fn hits_in<'m>(
        &self,
        session: &SessionRef,
        messages: impl IntoIterator<Item = &'m Message>,
        limit: usize,
    ) -> Vec<Hit> {
        let ranked = self.ranking(&SearchFilter::default());
        let messages: Vec<&Message> = messages.into_iter().collect();
        pick_hits(&self.query, &ranked, limit, &mut |wanted| {
            let mut found = find_passages(wanted, session, messages.iter().copied());
            wanted.iter().map(|wanted| found.remove(&wanted.sequence)).collect()
        })
    }
}

/// The passages of a session that are wanted, by their places.
pub fn find_passages<'m>(
    wanted: &[RankedPassage],
    session: &SessionRef,
    messages: impl IntoIterator<Item = &'m Message>,
) -> HashMap<u32, FoundPassage> {
    let mut finder = PassageFinder::new(wanted, session);
    messages.into_iter().for_each(|message| finder.observe(message));
    finder.found
}

/// Collects the passages that are wanted from the messages of one session.
#[derive(Debug)]
pub struct PassageFinder {
    reader: PassageReader,
    wanted: HashSet<u32>,
    /// The passages, by their places.
    pub found: HashMap<u32, FoundPassage>,
}

impl PassageFinder {
    /// Looks for those of one session.
    pub fn new(wanted: &[RankedPassage], session: &SessionRef) -> Self {
        let wanted =
            wanted.iter().filter(|wanted| wanted.session == *session).map(|wanted| wanted.sequence).collect();
        Self { reader: PassageReader::default(), wanted, found: HashMap::new() }
    }

    /// Observes the next message.
    pub fn observe(&mut self, message: &Message) {
        let Self { reader, wanted, found } = self;
        reader.read(message, &mut |passage| {
            if wanted.contains(&passage.sequence) {
                found.insert(passage.sequence, FoundPassage::of(message, passage));
            }
        });
    }

    /// True if nothing is missing.
    pub fn is_done(&self) -> bool {
        self.found.len() == self.wanted.len()
    }
}

/// The best hits of a ranking; `fetch` reads the texts of the passages it is asked for.
///
/// Each message is one hit. Of messages with the same lines, the first one represents all. What lacks a quoted phrase, or
/// cannot be read any more, is passed over.
pub fn pick_hits(
    query: &Query,
    ranked: &[RankedPassage],
    limit: usize,
    fetch: &mut dyn FnMut(&[RankedPassage]) -> Vec<Option<FoundPassage>>,
) -> Vec<Hit> {
    let mut tokenizer = Tokenizer::default();
    let mut hits: Vec<Hit> = Vec::new();
    let mut messages: HashMap<(SessionRef, MessageId), usize> = HashMap::new();
    let mut texts: HashMap<String, usize> = HashMap::new();
    for batch in ranked.chunks(limit.clamp(BATCH, 512)) {
        if hits.len() >= limit {
            break;
        }
        for (ranked, found) in batch.iter().zip(fetch(batch)) {
            let Some(found) = found else { continue };
            let key = (ranked.session.clone(), found.message.clone());
            if let Some(place) = messages.get(&key) {
                if query.number().is_some() && found.range.start == 0 {
                    append_part(&mut hits[*place], &found.whole);
                }
                continue;
            }
            let Some(excerpt) = excerpt_of(query, &mut tokenizer, &found) else { continue };
            if query.number().is_none() {
                if let Some(place) = texts.get(excerpt.text.as_str()) {
                    hits[*place].repeats += 1;
                    messages.insert(key, *place);
                    continue;
                }
                texts.insert(excerpt.text.clone(), hits.len());
            }
            messages.insert(key, hits.len());
            hits.push(Hit {
                session: ranked.session.clone(),
                message: found.message,
                number: found.number,
                role: found.role,
                origin: found.origin,
                tool: found.tool,
                at: found.at,
                score: ranked.score,
                excerpt,
                repeats: 0,
            });
        }
    }
    hits.truncate(limit);
    hits
}

/// The next part of a message that is shown whole.
fn append_part(hit: &mut Hit, text: &str) {
    let room = LONGEST_WHOLE.saturating_sub(hit.excerpt.text.len() + 2);
    let end = text.floor_char_boundary(room);
    if end > 0 {
        hit.excerpt.text.push_str("\n\n");
        hit.excerpt.text.push_str(&text[..end]);
    }
    hit.excerpt.is_cut_after |= end < text.len();
}

/// The lines to show; none if a phrase is missing.
fn excerpt_of(query: &Query, tokenizer: &mut Tokenizer, found: &FoundPassage) -> Option<Excerpt> {
    if query.number().is_some() {
        return Some(Excerpt::beginning(&found.whole, LONGEST_WHOLE));
    }
    let text = &found.whole;
    let mut matches = find_matches(query, tokenizer, text, found.range.clone());
    let mut phrases = Vec::new();
    for phrase in &query.phrases {
        let range = phrase.find_in(&text[found.range.clone()])?;
        phrases.push(found.range.start + range.start..found.range.start + range.end);
    }
    let weights: Vec<f32> = query.terms().iter().map(|term| COMMON + term.weight as f32).collect();
    let mut windows = WindowFinder::new(&weights);
    by_line(text, &matches).into_iter().for_each(|line| windows.push(line));
    let window = match phrases.first() {
        Some(phrase) => phrase.clone(),
        None => windows.found.map_or(found.range.start..found.range.start, |window| window.range),
    };
    for range in phrases {
        matches.retain(|found| found.range.end <= range.start || range.end <= found.range.start);
        matches.push(crate::locate::TermMatch { term: 0, quality: 1.0, range });
    }
    matches.sort_by_key(|found| (found.range.start, found.range.end));
    Some(Excerpt::around(text, window, &matches))
}

fn of_passage(
    session: &SessionRef,
    message: &Message,
    passage: &Passage<'_>,
    terms: Vec<TermQuality>,
) -> PassageMatch {
    PassageMatch {
        session: session.clone(),
        sequence: passage.sequence,
        kind: passage.kind,
        at: message.at,
        length: u32::try_from(passage.range.len()).unwrap_or(u32::MAX),
        is_question: passage.is_question,
        answers: passage.answers,
        terms,
    }
}

/// The terms in a text; each of its tokens is counted once.
fn matched_terms(
    query: &Query,
    tokenizer: &mut Tokenizer,
    frequencies: &mut HashMap<String, u64>,
    text: &str,
) -> Vec<TermQuality> {
    let mut terms: Vec<TermQuality> = Vec::new();
    let mut tokens: Vec<String> = Vec::new();
    tokenizer.each(text, &mut |token, _| {
        let mut is_wanted = false;
        for (term, quality) in query.spellings(token) {
            is_wanted = true;
            let (term, quality) = (term as u16, quality as f32);
            match terms.iter_mut().find(|found| found.term == term) {
                Some(found) => found.quality = found.quality.max(quality),
                None => terms.push(TermQuality { term, quality }),
            }
        }
        if is_wanted && !tokens.iter().any(|known| known == token) {
            tokens.push(token.to_owned());
        }
    });
    terms.sort_by_key(|found| found.term);
    for token in tokens {
        *frequencies.entry(token).or_default() += 1;
    }
    terms
}

#[cfg(test)]
mod tests;
