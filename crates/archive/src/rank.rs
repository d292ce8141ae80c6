//! Ranking in the manner of BM25.

/// The BM25 saturation of repeated terms.
const SATURATION: f32 = 1.2;

/// The BM25 length normalisation. Lengths count by their logarithm, because only an excerpt is shown.
const LENGTH: f32 = 0.7;

/// Statistics over all observed messages.
#[derive(Clone, Debug)]
pub(crate) struct TermStatistics {
    pub(crate) messages: u64,
    /// The sum of the logarithms of their lengths.
    lengths: f64,
    /// The number of messages with each term, weighted by quality.
    frequencies: Vec<f64>,
}

/// The matches of a term in a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TermMatches {
    pub(crate) term: usize,
    /// The sum of the qualities.
    pub(crate) count: f32,
    /// The best quality.
    pub(crate) quality: f32,
}

impl TermStatistics {
    pub(crate) fn new(terms: usize) -> Self {
        Self { messages: 0, lengths: 0.0, frequencies: vec![0.0; terms] }
    }

    pub(crate) fn add(&mut self, length: usize, shares: &[TermMatches]) {
        self.messages += 1;
        self.lengths += f64::from(log_length(length));
        for share in shares {
            self.frequencies[share.term] += f64::from(share.quality);
        }
    }

    /// The weight of a term: the rarer, the higher.
    pub(crate) fn rarity(&self, term: usize) -> f32 {
        let found = self.frequencies[term];
        let others = (self.messages as f64 - found).max(0.0);
        (1.0 + (others + 0.5) / (found + 0.5)).ln() as f32
    }

    /// The score of a message with these matches.
    pub(crate) fn score(&self, weights: &[f32], length: usize, shares: &[TermMatches]) -> f32 {
        let usual = (self.lengths / self.messages.max(1) as f64).max(1.0) as f32;
        let norm = SATURATION * (1.0 - LENGTH + LENGTH * log_length(length) / usual);
        let mut score = 0.0;
        let mut covered = 0.0;
        for share in shares {
            let weight = weights[share.term] * self.rarity(share.term) * share.quality;
            score += weight * share.count * (SATURATION + 1.0) / (share.count + norm);
            covered += weight;
        }
        let all: f32 = weights.iter().enumerate().map(|(term, weight)| weight * self.rarity(term)).sum();
        score * (0.2 + 0.8 * covered / all.max(f32::MIN_POSITIVE))
    }
}

fn log_length(length: usize) -> f32 {
    (length as f32 + 64.0).ln()
}
