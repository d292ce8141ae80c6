//! The search: observes messages one after the other and keeps the best.

use std::collections::{HashMap, HashSet};

use longhaul_conversation::{CallId, Message, MessageId, Ordinal, Origin, Role, Timestamp};

use crate::excerpt::Excerpt;
use crate::fields::SearchField;
use crate::hit::{Hit, SessionRef};
use crate::matcher::Matcher;
use crate::query::{Query, Term};
use crate::rank::{TermMatches, TermStatistics};
use crate::window::{MatchWindow, WindowFinder};

/// The fewest candidates kept.
const KEPT: usize = 256;

/// The base weight of a common term when choosing a window.
const COMMON: f32 = 0.3;

/// The most calls remembered to name the tools that answer them.
const MAX_CALLS: usize = 4096;

/// The most bytes of a message requested by its number.
const LONGEST_WHOLE: usize = 32 * 1024;

/// A search in messages.
#[derive(Debug)]
pub struct Search {
    query: CompiledQuery,
    statistics: TermStatistics,
    candidates: Vec<HitCandidate>,
    observed: u64,
    session: Option<SessionRef>,
    /// The calls of the current session with their tools.
    calls: HashMap<CallId, String>,
}

#[derive(Debug)]
enum CompiledQuery {
    MessageNumber(Ordinal),
    Terms { terms: Vec<Term>, weights: Vec<f32>, matcher: Matcher },
    Nothing,
}

/// A message that may become a hit.
#[derive(Clone, Debug)]
struct HitCandidate {
    session: SessionRef,
    message: MessageId,
    number: Option<Ordinal>,
    role: Role,
    at: Option<Timestamp>,
    place: BestWindow,
    excerpt: Excerpt,
    shares: Vec<TermMatches>,
    length: usize,
    /// The number of the observation.
    sequence: u64,
}

/// The best window of a message.
#[derive(Clone, Debug)]
struct BestWindow {
    origin: Origin,
    tool: Option<String>,
    prior: f32,
    /// The share of the message's matches that are in the window.
    together: f32,
}

impl Search {
    /// Compiles a query; the crate's documentation describes its form.
    pub fn new(query: &str) -> Self {
        let query = match Query::parse(query) {
            Query::MessageNumber(number) => CompiledQuery::MessageNumber(number),
            Query::Terms(terms) => match Matcher::new(&terms) {
                Some(matcher) => {
                    let weights = terms.iter().map(|term| term.weight).collect();
                    CompiledQuery::Terms { terms, weights, matcher }
                }
                None => CompiledQuery::Nothing,
            },
        };
        let count = if let CompiledQuery::Terms { terms, .. } = &query { terms.len() } else { 0 };
        Self {
            query,
            statistics: TermStatistics::new(count),
            candidates: Vec::new(),
            observed: 0,
            session: None,
            calls: HashMap::new(),
        }
    }

    /// True if the query has no terms, so that nothing can match.
    pub fn is_empty(&self) -> bool {
        matches!(self.query, CompiledQuery::Nothing)
    }

    /// The number of observed messages.
    pub fn observed(&self) -> u64 {
        self.observed
    }

    /// Observes the next message of a session. A message observed again replaces the first.
    pub fn observe(&mut self, session: &SessionRef, message: &Message) {
        self.observed += 1;
        if self.session.as_ref() != Some(session) {
            self.session = Some(session.clone());
            self.calls.clear();
        }
        for call in message.calls() {
            if self.calls.len() < MAX_CALLS {
                self.calls.insert(call.id.clone(), call.name.clone());
            }
        }
        let candidate = match &self.query {
            CompiledQuery::MessageNumber(number) if message.ordinal == Some(*number) => {
                self.whole_message(session, message)
            }
            CompiledQuery::MessageNumber(_) | CompiledQuery::Nothing => None,
            CompiledQuery::Terms { .. } => self.search_message(session, message),
        };
        if let Some(candidate) = candidate {
            self.candidates.push(candidate);
            if self.candidates.len() >= 2 * KEPT {
                self.evict_worst();
            }
        }
    }

    /// The best hits, best first; of equals the newest. Of messages with the same lines, the first one represents all.
    /// There are at most a few hundred.
    pub fn hits(&self, limit: usize) -> Vec<Hit> {
        let is_by_number = matches!(self.query, CompiledQuery::MessageNumber(_));
        let mut hits: Vec<Hit> = Vec::new();
        let mut by_text: HashMap<&str, usize> = HashMap::new();
        for (score, candidate) in self.ranked() {
            match by_text.get(candidate.excerpt.text.as_str()) {
                Some(place) if !is_by_number => hits[*place].repeats += 1,
                _ => {
                    by_text.insert(&candidate.excerpt.text, hits.len());
                    hits.push(candidate.to_hit(score));
                }
            }
        }
        hits.truncate(limit);
        hits
    }

    /// The candidates with their scores, best first, each message once, as last observed.
    fn ranked(&self) -> Vec<(f32, &HitCandidate)> {
        let mut last: HashMap<(&SessionRef, &MessageId), u64> = HashMap::new();
        for candidate in &self.candidates {
            last.insert((&candidate.session, &candidate.message), candidate.sequence);
        }
        let is_last = |candidate: &&HitCandidate| {
            last.get(&(&candidate.session, &candidate.message)) == Some(&candidate.sequence)
        };
        let mut ranked: Vec<(f32, &HitCandidate)> = self
            .candidates
            .iter()
            .filter(is_last)
            .map(|candidate| (self.score(candidate), candidate))
            .collect();
        ranked.sort_by(|a, b| {
            let newest = |candidate: &HitCandidate| (candidate.at, candidate.sequence);
            b.0.total_cmp(&a.0).then_with(|| newest(b.1).cmp(&newest(a.1)))
        });
        ranked
    }

    fn score(&self, candidate: &HitCandidate) -> f32 {
        let CompiledQuery::Terms { weights, .. } = &self.query else { return 1.0 };
        let score = self.statistics.score(weights, candidate.length, &candidate.shares);
        score * candidate.place.prior * (0.7 + 0.3 * candidate.place.together)
    }

    /// Evicts all but the best candidates, with which later ones compete.
    fn evict_worst(&mut self) {
        let kept: HashSet<u64> =
            self.ranked().iter().take(KEPT).map(|(_, candidate)| candidate.sequence).collect();
        self.candidates.retain(|candidate| kept.contains(&candidate.sequence));
    }

    /// Searches a message for the terms.
    fn search_message(&mut self, session: &SessionRef, message: &Message) -> Option<HitCandidate> {
        let CompiledQuery::Terms { terms, matcher, .. } = &self.query else { return None };
        // Rare terms make a window worth showing, but so does having all of them together.
        let worth = |(place, term): (usize, &Term)| term.weight * (COMMON + self.statistics.rarity(place));
        let worths: Vec<f32> = terms.iter().enumerate().map(worth).collect();
        let mut all = vec![TermMatches { term: 0, count: 0.0, quality: 0.0 }; terms.len()];
        let mut length = 0;
        let mut best: Option<(f32, MatchWindow, SearchField<'_>)> = None;
        for field in message.parts.iter().filter_map(SearchField::of) {
            length += field.text.len();
            let mut windows = WindowFinder::new(&worths);
            matcher.scan(&field.text, |_, found| {
                for found in found {
                    let share = &mut all[found.term];
                    share.count += found.quality;
                    share.quality = share.quality.max(found.quality);
                }
                windows.push(found);
            });
            if let Some(window) = windows.found {
                let weight = window.weight * field.prior;
                if best.as_ref().is_none_or(|(most, ..)| weight > *most) {
                    best = Some((weight, window, field));
                }
            }
        }
        all.iter_mut().enumerate().for_each(|(term, share)| share.term = term);
        let is_complete = terms.iter().zip(&all).all(|(term, share)| !term.is_required || share.count > 0.0);
        all.retain(|share| share.count > 0.0);
        self.statistics.add(length, &all);
        let (_, window, field) = best.filter(|_| is_complete)?;
        let most: f32 = all.iter().map(|share| worths[share.term] * share.quality).sum();
        let place = BestWindow {
            origin: field.origin,
            tool: self.tool_of(&field),
            prior: field.prior,
            together: if most > 0.0 { (window.weight / most).min(1.0) } else { 1.0 },
        };
        let excerpt = Excerpt::around(&field.text, window.range, matcher);
        Some(HitCandidate { shares: all, length, ..self.candidate(session, message, place, excerpt) })
    }

    /// The message itself, from its start.
    fn whole_message(&self, session: &SessionRef, message: &Message) -> Option<HitCandidate> {
        let fields: Vec<SearchField<'_>> = message.parts.iter().filter_map(SearchField::of).collect();
        let first = fields.first()?;
        let text = fields.iter().map(|field| field.text.as_ref()).collect::<Vec<_>>().join("\n\n");
        let tool = fields.iter().find_map(|field| self.tool_of(field));
        let place = BestWindow { origin: first.origin, tool, prior: 1.0, together: 1.0 };
        Some(self.candidate(session, message, place, Excerpt::beginning(&text, LONGEST_WHOLE)))
    }

    fn candidate(
        &self,
        session: &SessionRef,
        message: &Message,
        place: BestWindow,
        excerpt: Excerpt,
    ) -> HitCandidate {
        HitCandidate {
            session: session.clone(),
            message: message.id.clone(),
            number: message.ordinal,
            role: message.role,
            at: message.at,
            place,
            excerpt,
            shares: Vec::new(),
            length: 0,
            sequence: self.observed,
        }
    }

    fn tool_of(&self, field: &SearchField<'_>) -> Option<String> {
        let called = || self.calls.get(field.answers?).cloned();
        field.tool.map(str::to_owned).or_else(called)
    }
}

impl HitCandidate {
    fn to_hit(&self, score: f32) -> Hit {
        Hit {
            session: self.session.clone(),
            message: self.message.clone(),
            number: self.number,
            role: self.role,
            origin: self.place.origin,
            tool: self.place.tool.clone(),
            at: self.at,
            score: f64::from(score),
            excerpt: self.excerpt.clone(),
            repeats: 0,
        }
    }
}

#[cfg(test)]
mod tests;
