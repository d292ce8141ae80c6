//! Finds the part of a text where most of what is sought stands together.

use std::collections::VecDeque;
use std::ops::Range;

use crate::matcher::Found;

/// Lines further apart than this, in bytes, are not seen together.
const SPAN: usize = 600;

/// Of one line, so many matches are looked at.
const MOST_MATCHES: usize = 32;

/// The best place so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Window {
    pub(crate) range: Range<usize>,
    /// What the terms in it weigh together.
    pub(crate) weight: f32,
}

/// A line with matches.
struct Line {
    range: Range<usize>,
    /// The best quality of each term in it.
    terms: Vec<(usize, f32)>,
}

/// Slides over the lines with matches and remembers the best few that are near each other.
pub(crate) struct Windows<'a> {
    /// What each term weighs.
    weights: &'a [f32],
    lines: VecDeque<Line>,
    best: Vec<f32>,
    pub(crate) found: Option<Window>,
}

impl<'a> Windows<'a> {
    pub(crate) fn new(weights: &'a [f32]) -> Self {
        Self { weights, lines: VecDeque::new(), best: vec![0.0; weights.len()], found: None }
    }

    /// Takes the next line.
    pub(crate) fn push(&mut self, found: &[Found]) {
        let Some(first) = found.first() else { return };
        let start = first.range.start;
        let mut end = start;
        let mut terms: Vec<(usize, f32)> = Vec::with_capacity(found.len().min(MOST_MATCHES));
        // Of one very long piece of text, as much as fits is one line.
        for found in found.iter().take(MOST_MATCHES).take_while(|found| found.range.end - start <= SPAN) {
            end = end.max(found.range.end);
            match terms.iter_mut().find(|(term, _)| *term == found.term) {
                Some((_, quality)) => *quality = quality.max(found.quality),
                None => terms.push((found.term, found.quality)),
            }
        }
        if terms.is_empty() {
            // A phrase with much space in it.
            end = first.range.end;
            terms.push((first.term, first.quality));
        }
        while self.lines.front().is_some_and(|line| end - line.range.start > SPAN) {
            self.lines.pop_front();
        }
        self.lines.push_back(Line { range: start..end, terms });
        let weight = self.weight();
        if self.found.as_ref().is_none_or(|best| weight > best.weight) {
            let start = self.lines.front().map_or(start, |line| line.range.start);
            self.found = Some(Window { range: start..end, weight });
        }
    }

    /// What the terms in the lines weigh. The same in fewer bytes is better, and a second line with it says little.
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
