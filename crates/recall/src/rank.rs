//! Ranking: one for scans and indexes, from what an index can hold of a passage.
//!
//! Each term that a passage contains counts by its rarity, as in BM25, but once: what an index without positions knows is
//! that a token is there. The share of the query that is covered multiplies the sum. Then a passage takes over a part of
//! what its neighbours scored, so that the answer is found where only the question has the words.

use hashbrown::HashMap;
use longhaul_conversation::Timestamp;

use crate::SessionRef;
use crate::filter::{Kind, SearchFilter};
use crate::query::{Query, Term};

/// The most passages with a score of their own, unless one term alone has more.
const MAX_CANDIDATES: u64 = 2_000;

// Fitted by `examples/locomo.rs -- --fit`, each conversation of the corpus with settings chosen on the others.

/// The BM25 saturation of terms and the normalisation by length.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.7;

/// The weights of a ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankWeights {
    /// The share of the score of the passage before, and of the one before that.
    pub before: [f64; 2],
    /// The share of the score of the passages after.
    pub after: [f64; 2],
    /// The share of the score of a question right before, beside that.
    pub question: f64,
    /// The factor for a passage that asks itself.
    pub asking: f64,
    /// The share of the score of the call that a result answers, if it does not stand right before.
    pub call: f64,
    /// The factor for what was said in the time that the query names.
    pub time: f64,
}

impl Default for RankWeights {
    fn default() -> Self {
        Self { before: [0.35, 0.2], after: [0.3, 0.1], question: 0.3, asking: 0.7, call: 0.4, time: 1.5 }
    }
}

/// Figures over all passages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CorpusStatistics {
    /// Their number.
    pub passages: u64,
    /// The sum of their lengths.
    pub bytes: u64,
}

/// A term in a passage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TermQuality {
    /// The place of the term in the query.
    pub term: u16,
    /// The quality of the best match.
    pub quality: f32,
}

/// What the ranking knows about a passage.
#[derive(Clone, Debug, PartialEq)]
pub struct PassageMatch {
    /// Its session.
    pub session: SessionRef,
    /// Its place in the session.
    pub sequence: u32,
    /// Its kind.
    pub kind: Kind,
    /// Its time.
    pub at: Option<Timestamp>,
    /// Its length in bytes.
    pub length: u32,
    /// True if it asks something.
    pub is_question: bool,
    /// The passage of the call that it answers.
    pub answers: Option<u32>,
    /// The terms in it; empty for one that only stands beside others.
    pub terms: Vec<TermQuality>,
}

/// A passage in its rank.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedPassage {
    /// Its session.
    pub session: SessionRef,
    /// Its place in the session.
    pub sequence: u32,
    /// Its score; only comparable within one search.
    pub score: f64,
}

/// The number of passages with a term, from those with each token. Where two tokens of a term stand together, both count.
pub fn term_frequency(term: &Term, mut of_token: impl FnMut(&str) -> u64) -> u64 {
    let tokens = term.spellings.iter().map(|(token, _)| token.as_str());
    // The word itself never stands without its stem.
    tokens.filter(|token| !token.starts_with('=')).map(&mut of_token).sum()
}

/// The terms that make a passage a candidate: the rarest, as many as there is room for.
///
/// The frequencies are those of the terms; the places come in ascending order.
pub fn choose_terms(frequencies: &[u64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..frequencies.len()).filter(|place| frequencies[*place] > 0).collect();
    places.sort_by_key(|place| (frequencies[*place], *place));
    let mut room = MAX_CANDIDATES;
    let mut chosen: Vec<usize> = Vec::new();
    for place in places {
        if !chosen.is_empty() && frequencies[place] > room {
            break;
        }
        room = room.saturating_sub(frequencies[place]);
        chosen.push(place);
    }
    chosen.sort_unstable();
    chosen
}

/// Ranks passages, best first; of equals the newest.
///
/// `passages` are those with a term that [`choose_terms`] chooses, and two neighbours on each side; others do no harm.
pub fn rank(
    query: &Query,
    filter: &SearchFilter,
    statistics: CorpusStatistics,
    frequencies: &[u64],
    passages: Vec<PassageMatch>,
) -> Vec<RankedPassage> {
    rank_with(&RankWeights::default(), query, filter, statistics, frequencies, passages)
}

/// Like [`rank`], with other weights.
pub fn rank_with(
    weights: &RankWeights,
    query: &Query,
    filter: &SearchFilter,
    statistics: CorpusStatistics,
    frequencies: &[u64],
    mut passages: Vec<PassageMatch>,
) -> Vec<RankedPassage> {
    passages.sort_by(|a, b| (&a.session, a.sequence).cmp(&(&b.session, b.sequence)));
    let scorer = Scorer::new(query, statistics, frequencies);
    let own: Vec<f64> = passages.iter().map(|passage| scorer.own(passage)).collect();
    let places: HashMap<(&SessionRef, u32), usize> = passages
        .iter()
        .enumerate()
        .map(|(place, passage)| ((&passage.session, passage.sequence), place))
        .collect();
    let has_required = query.terms().iter().any(|term| term.is_required);
    let mut ranked: Vec<(f64, usize)> = Vec::new();
    for (place, passage) in passages.iter().enumerate() {
        if !filter.admits(passage.kind, passage.at) || has_required && own[place] <= 0.0 {
            continue;
        }
        let beside = |distance: i64| {
            let sequence = u32::try_from(i64::from(passage.sequence) + distance).ok()?;
            places.get(&(&passage.session, sequence)).copied()
        };
        let score_of = |place: Option<usize>| place.map_or(0.0, |place| own[place]);
        let mut score = own[place];
        for (distance, (before, after)) in (1..).zip(weights.before.iter().zip(&weights.after)) {
            score += before * score_of(beside(-distance)) + after * score_of(beside(distance));
        }
        if let Some(question) = beside(-1).filter(|place| passages[*place].is_question) {
            score += weights.question * own[question];
        }
        // A result far from its call must match itself: an index does not look for others.
        if let Some(call) = passage.answers.filter(|call| call + 1 != passage.sequence && own[place] > 0.0) {
            score += weights.call * score_of(places.get(&(&passage.session, call)).copied());
        }
        if passage.is_question {
            score *= weights.asking;
        }
        if let (Some(time), Some(at)) = (query.time(), passage.at)
            && time.contains(at)
        {
            score *= weights.time;
        }
        // What only stands beside a match, and is a listing or a summary, is not an answer.
        score *= passage.kind.prior();
        if score > 0.0 {
            ranked.push((score, place));
        }
    }
    ranked.sort_by(|a, b| {
        let newest = |place: usize| passages[place].at;
        b.0.total_cmp(&a.0).then_with(|| newest(b.1).cmp(&newest(a.1))).then_with(|| b.1.cmp(&a.1))
    });
    ranked
        .into_iter()
        .map(|(score, place)| RankedPassage {
            session: passages[place].session.clone(),
            sequence: passages[place].sequence,
            score,
        })
        .collect()
}

struct Scorer<'a> {
    query: &'a Query,
    /// The weight of each term by its rarity.
    rarities: Vec<f64>,
    all: f64,
    usual_length: f64,
    is_chosen: Vec<bool>,
}

impl<'a> Scorer<'a> {
    fn new(query: &'a Query, statistics: CorpusStatistics, frequencies: &[u64]) -> Self {
        let passages = statistics.passages.max(1) as f64;
        let rarity = |(term, frequency): (&Term, &u64)| {
            let found = (*frequency as f64).min(passages);
            term.weight * (1.0 + (passages - found + 0.5) / (found + 0.5)).ln()
        };
        let rarities: Vec<f64> = query.terms().iter().zip(frequencies).map(rarity).collect();
        let mut is_chosen = vec![false; rarities.len()];
        choose_terms(frequencies).into_iter().for_each(|place| is_chosen[place] = true);
        let all = rarities.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        Self { query, rarities, all, usual_length: (statistics.bytes as f64 / passages).max(1.0), is_chosen }
    }

    /// The score of a passage by itself.
    fn own(&self, passage: &PassageMatch) -> f64 {
        if self.query.number().is_some() {
            return 1.0;
        }
        if !passage.terms.iter().any(|found| self.is_chosen[usize::from(found.term)]) {
            return 0.0;
        }
        let length = f64::from(passage.length) / self.usual_length;
        let norm = SATURATION * (1.0 - LENGTH + LENGTH * length);
        let mut covered = 0.0;
        let mut required = 0;
        for found in &passage.terms {
            let term = usize::from(found.term);
            covered += self.rarities[term] * f64::from(found.quality);
            required += usize::from(self.query.terms()[term].is_required);
        }
        if required < self.query.terms().iter().filter(|term| term.is_required).count() {
            return 0.0;
        }
        covered * (SATURATION + 1.0) / (1.0 + norm) * (covered / self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_chosen(frequencies: &[u64], expected: &[usize]) {
        assert_eq!(choose_terms(frequencies), expected, "{frequencies:?}");
    }

    #[test]
    fn the_rarest_terms_make_candidates() {
        check_chosen(&[], &[]);
        check_chosen(&[0, 0], &[]);
        check_chosen(&[10, 0, 1_500], &[0, 2]);
        check_chosen(&[1_500, 10, 1_500], &[0, 1]);
        check_chosen(&[9_000_000], &[0]);
        check_chosen(&[9_000_000, 9_000_000], &[0]);
    }

    fn passage(sequence: u32, terms: &[u16]) -> PassageMatch {
        PassageMatch {
            session: SessionRef::new("s"),
            sequence,
            kind: Kind::Model,
            at: None,
            length: 100,
            is_question: false,
            answers: None,
            terms: terms.iter().map(|term| TermQuality { term: *term, quality: 1.0 }).collect(),
        }
    }

    fn order(query: &str, passages: Vec<PassageMatch>) -> Vec<u32> {
        let query = Query::parse(query, None);
        let statistics = CorpusStatistics { passages: 50, bytes: 5_000 };
        let ranked = rank(&query, &SearchFilter::default(), statistics, &[3, 3], passages);
        ranked.iter().map(|passage| passage.sequence).collect()
    }

    #[test]
    fn a_match_lifts_what_stands_beside_it() {
        let order_of = |passages| order("ring buffer", passages);
        assert_eq!(order_of(vec![passage(4, &[0, 1]), passage(9, &[0])]), [4, 9]);
        // The answer takes its part of the question.
        let question = PassageMatch { is_question: true, ..passage(4, &[0, 1]) };
        assert_eq!(order_of(vec![question.clone(), passage(5, &[0]), passage(9, &[0])]), [5, 4, 9]);
        assert_eq!(order_of(vec![question, passage(5, &[]), passage(7, &[])]), [4, 5]);
        // A call far before it lifts its result.
        let result = PassageMatch { answers: Some(1), ..passage(6, &[0]) };
        assert_eq!(order_of(vec![passage(1, &[0, 1]), result, passage(9, &[0])]), [1, 6, 9]);
        assert_eq!(order_of(vec![passage(1, &[0, 1]), passage(6, &[0]), passage(9, &[0])]), [1, 9, 6]);
    }

    #[test]
    fn filters_hide_but_do_not_forget() {
        let query = Query::parse("ring buffer", None);
        let statistics = CorpusStatistics { passages: 50, bytes: 5_000 };
        let filter = SearchFilter { kinds: vec![Kind::Output], since: None };
        let call = PassageMatch { kind: Kind::Call, ..passage(1, &[0, 1]) };
        let output = PassageMatch { kind: Kind::Output, ..passage(2, &[]) };
        let ranked = rank(&query, &filter, statistics, &[3, 3], vec![call, output]);
        assert_eq!(ranked.len(), 1);
        assert_eq!(ranked[0].sequence, 2);
    }
}
