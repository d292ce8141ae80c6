//! Finds the part of a text with most matches close together.

use std::collections::VecDeque;
use std::ops::Range;

use crate::locate::TermMatch;

/// The largest distance of lines in one window, in bytes.
const SPAN: usize = 600;

/// The most matches of one line that count.
const MAX_MATCHES: usize = 32;

/// The best window so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MatchWindow {
    pub(crate) range: Range<usize>,
    /// The total weight of its terms.
    pub(crate) weight: f32,
}

/// A line with matches.
struct MatchedLine {
    range: Range<usize>,
    /// The best quality of each term in it.
    terms: Vec<(usize, f32)>,
}

/// Slides over the matching lines and remembers the best window.
pub(crate) struct WindowFinder<'a> {
    /// The weight of each term.
    weights: &'a [f32],
    lines: VecDeque<MatchedLine>,
    best: Vec<f32>,
    pub(crate) found: Option<MatchWindow>,
}

impl<'a> WindowFinder<'a> {
    pub(crate) fn new(weights: &'a [f32]) -> Self {
        Self { weights, lines: VecDeque::new(), best: vec![0.0; weights.len()], found: None }
    }

    /// Adds the next line.
    pub(crate) fn push(&mut self, found: &[TermMatch]) {
        let Some(first) = found.first() else { return };
        let start = first.range.start;
        let mut end = start;
        let mut terms: Vec<(usize, f32)> = Vec::with_capacity(found.len().min(MAX_MATCHES));
        // A very long line counts as far as it fits.
        for found in found.iter().take(MAX_MATCHES).take_while(|found| found.range.end - start <= SPAN) {
            end = end.max(found.range.end);
            match terms.iter_mut().find(|(term, _)| *term == found.term) {
                Some((_, quality)) => *quality = quality.max(found.quality),
                None => terms.push((found.term, found.quality)),
            }
        }
        if terms.is_empty() {
            // A phrase with much white space in it.
            end = first.range.end;
            terms.push((first.term, first.quality));
        }
        while self.lines.front().is_some_and(|line| end - line.range.start > SPAN) {
            self.lines.pop_front();
        }
        self.lines.push_back(MatchedLine { range: start..end, terms });
        let weight = self.weight();
        if self.found.as_ref().is_none_or(|best| weight > best.weight) {
            let start = self.lines.front().map_or(start, |line| line.range.start);
            self.found = Some(MatchWindow { range: start..end, weight });
        }
    }

    /// The weight of the terms in the lines. A shorter window is better, and a repeated term adds little.
    fn weight(&mut self) -> f32 {
        self.best.fill(0.0);
        for (term, quality) in self.lines.iter().flat_map(|line| &line.terms) {
            self.best[*term] = self.best[*term].max(*quality);
        }
        let weight: f32 = self.best.iter().zip(self.weights).map(|(quality, weight)| quality * weight).sum();
        let span = match (self.lines.front(), self.lines.back()) {
            (Some(first), Some(last)) => last.range.end - first.range.start,
            _ => 0,
        };
        weight * (1.0 - 0.1 * (span as f32 / SPAN as f32).min(1.0))
    }
}
