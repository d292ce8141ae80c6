//! Looks at one message after the other and keeps the best.

use std::collections::{HashMap, HashSet};

use longhaul_conversation::{CallId, Message, MessageId, Ordinal, Origin, Role, Timestamp};

use crate::excerpt::Excerpt;
use crate::fields::Field;
use crate::hit::{Hit, SessionRef};
use crate::matcher::Matcher;
use crate::query::{Query, Term};
use crate::rank::{Share, Statistics};
use crate::window::{Window, Windows};

/// So many of the best are kept at least.
const KEPT: usize = 256;

/// What a term that is everywhere counts for the choice of a place in a message.
const COMMON: f32 = 0.3;

/// So many calls are remembered to name the tools that answer them.
const MOST_CALLS: usize = 4096;

/// Of a message that was asked for by its mark, so many bytes are given.
const LONGEST_WHOLE: usize = 32 * 1024;

/// A search for what was said.
#[derive(Debug)]
pub struct Search {
    query: Compiled,
    statistics: Statistics,
    candidates: Vec<Candidate>,
    observed: u64,
    session: Option<SessionRef>,
    /// The tools that the current session called.
    calls: HashMap<CallId, String>,
}

#[derive(Debug)]
enum Compiled {
    Mark(Ordinal),
    Terms { terms: Vec<Term>, weights: Vec<f32>, matcher: Matcher },
    Nothing,
}

/// A message that may become a hit.
#[derive(Clone, Debug)]
struct Candidate {
    session: SessionRef,
    message: MessageId,
    mark: Option<Ordinal>,
    role: Role,
    at: Option<Timestamp>,
    place: Place,
    excerpt: Excerpt,
    shares: Vec<Share>,
    length: usize,
    /// When it was observed.
    sequence: u64,
}

/// Where in a message the best window is.
#[derive(Clone, Debug)]
struct Place {
    origin: Origin,
    tool: Option<String>,
    prior: f32,
    /// The part of what was found in the message that stands together in the window.
    together: f32,
}

impl Search {
    /// A search for these words; see the crate's documentation for what they may be.
    pub fn new(query: &str) -> Self {
        let query = match Query::parse(query) {
            Query::Mark(mark) => Compiled::Mark(mark),
            Query::Terms(terms) => match Matcher::new(&terms) {
                Some(matcher) => {
                    let weights = terms.iter().map(|term| term.weight).collect();
                    Compiled::Terms { terms, weights, matcher }
                }
                None => Compiled::Nothing,
            },
        };
        let count = if let Compiled::Terms { terms, .. } = &query { terms.len() } else { 0 };
        Self {
            query,
            statistics: Statistics::new(count),
            candidates: Vec::new(),
            observed: 0,
            session: None,
            calls: HashMap::new(),
        }
    }

    /// Whether nothing can be found: the query has no words.
    pub fn is_empty(&self) -> bool {
        matches!(self.query, Compiled::Nothing)
    }

    /// How many messages were looked at.
    pub fn observed(&self) -> u64 {
        self.observed
    }

    /// Looks at the next message of a session. A message that is observed again takes the place of the first.
    pub fn observe(&mut self, session: &SessionRef, message: &Message) {
        self.observed += 1;
        if self.session.as_ref() != Some(session) {
            self.session = Some(session.clone());
            self.calls.clear();
        }
        for call in message.calls() {
            if self.calls.len() < MOST_CALLS {
                self.calls.insert(call.id.clone(), call.name.clone());
            }
        }
        let candidate = match &self.query {
            Compiled::Mark(mark) if message.ordinal == Some(*mark) => self.whole(session, message),
            Compiled::Mark(_) | Compiled::Nothing => None,
            Compiled::Terms { .. } => self.look(session, message),
        };
        if let Some(candidate) = candidate {
            self.candidates.push(candidate);
            if self.candidates.len() >= 2 * KEPT {
                self.drop_the_worst();
            }
        }
    }

    /// The best hits, best first; of equals the newest. Of messages with the very same lines the first one stands for
    /// all. There are at most a few hundred.
    pub fn hits(&self, limit: usize) -> Vec<Hit> {
        let is_by_mark = matches!(self.query, Compiled::Mark(_));
        let mut hits: Vec<Hit> = Vec::new();
        let mut by_text: HashMap<&str, usize> = HashMap::new();
        for (score, candidate) in self.ranked() {
            match by_text.get(candidate.excerpt.text.as_str()) {
                Some(place) if !is_by_mark => hits[*place].repeats += 1,
                _ => {
                    by_text.insert(&candidate.excerpt.text, hits.len());
                    hits.push(candidate.to_hit(score));
                }
            }
        }
        hits.truncate(limit);
        hits
    }

    /// The candidates with their scores, best first, each message once, as it was observed last.
    fn ranked(&self) -> Vec<(f32, &Candidate)> {
        let mut last: HashMap<(&SessionRef, &MessageId), u64> = HashMap::new();
        for candidate in &self.candidates {
            last.insert((&candidate.session, &candidate.message), candidate.sequence);
        }
        let is_last = |candidate: &&Candidate| {
            last.get(&(&candidate.session, &candidate.message)) == Some(&candidate.sequence)
        };
        let mut ranked: Vec<(f32, &Candidate)> = self
            .candidates
            .iter()
            .filter(is_last)
            .map(|candidate| (self.score(candidate), candidate))
            .collect();
        ranked.sort_by(|a, b| {
            let newest = |candidate: &Candidate| (candidate.at, candidate.sequence);
            b.0.total_cmp(&a.0).then_with(|| newest(b.1).cmp(&newest(a.1)))
        });
        ranked
    }

    fn score(&self, candidate: &Candidate) -> f32 {
        let Compiled::Terms { weights, .. } = &self.query else { return 1.0 };
        let score = self.statistics.score(weights, candidate.length, &candidate.shares);
        score * candidate.place.prior * (0.7 + 0.3 * candidate.place.together)
    }

    /// Keeps the best. Whatever comes later competes with them.
    fn drop_the_worst(&mut self) {
        let kept: HashSet<u64> =
            self.ranked().iter().take(KEPT).map(|(_, candidate)| candidate.sequence).collect();
        self.candidates.retain(|candidate| kept.contains(&candidate.sequence));
    }

    /// Looks for the terms in a message.
    fn look(&mut self, session: &SessionRef, message: &Message) -> Option<Candidate> {
        let Compiled::Terms { terms, matcher, .. } = &self.query else { return None };
        // Rare terms make a place worth showing, but so does it that all of them stand together.
        let worth = |(place, term): (usize, &Term)| term.weight * (COMMON + self.statistics.rarity(place));
        let worths: Vec<f32> = terms.iter().enumerate().map(worth).collect();
        let mut all = vec![Share { term: 0, count: 0.0, quality: 0.0 }; terms.len()];
        let mut length = 0;
        let mut best: Option<(f32, Window, Field<'_>)> = None;
        for field in message.parts.iter().filter_map(Field::of) {
            length += field.text.len();
            let mut windows = Windows::new(&worths);
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
        let place = Place {
            origin: field.origin,
            tool: self.tool_of(&field),
            prior: field.prior,
            together: if most > 0.0 { (window.weight / most).min(1.0) } else { 1.0 },
        };
        let excerpt = Excerpt::around(&field.text, window.range, matcher);
        Some(Candidate { shares: all, length, ..self.candidate(session, message, place, excerpt) })
    }

    /// The message itself, from its beginning.
    fn whole(&self, session: &SessionRef, message: &Message) -> Option<Candidate> {
        let fields: Vec<Field<'_>> = message.parts.iter().filter_map(Field::of).collect();
        let first = fields.first()?;
        let text = fields.iter().map(|field| field.text.as_ref()).collect::<Vec<_>>().join("\n\n");
        let tool = fields.iter().find_map(|field| self.tool_of(field));
        let place = Place { origin: first.origin, tool, prior: 1.0, together: 1.0 };
        Some(self.candidate(session, message, place, Excerpt::beginning(&text, LONGEST_WHOLE)))
    }

    fn candidate(
        &self,
        session: &SessionRef,
        message: &Message,
        place: Place,
        excerpt: Excerpt,
    ) -> Candidate {
        Candidate {
            session: session.clone(),
            message: message.id.clone(),
            mark: message.ordinal,
            role: message.role,
            at: message.at,
            place,
            excerpt,
            shares: Vec::new(),
            length: 0,
            sequence: self.observed,
        }
    }

    fn tool_of(&self, field: &Field<'_>) -> Option<String> {
        let called = || self.calls.get(field.answers?).cloned();
        field.tool.map(str::to_owned).or_else(called)
    }
}

impl Candidate {
    fn to_hit(&self, score: f32) -> Hit {
        Hit {
            session: self.session.clone(),
            message: self.message.clone(),
            mark: self.mark,
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
