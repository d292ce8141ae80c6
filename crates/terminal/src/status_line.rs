//! The content of the status line, with the context meter.

use longhaul_conversation::{Estimator, TokenCount};
use longhaul_policy::ApprovalMode;

/// The content of the status line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StatusLine {
    pub(crate) model: String,
    pub(crate) folder: String,
    pub(crate) branch: Option<String>,
    pub(crate) mode: ApprovalMode,
    pub(crate) is_trusted: bool,
    pub(crate) memory_files: usize,
    pub(crate) rules: usize,
    pub(crate) changed_files: usize,
    /// The cost so far, in dollars; none while prices are unknown.
    pub(crate) cost: Option<f64>,
    pub(crate) meter: ContextMeter,
}

/// The usage of the context window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ContextMeter {
    /// The size of the next request.
    pub(crate) used: TokenCount,
    /// The largest request that fits.
    pub(crate) room: TokenCount,
    /// The size at which a compaction is due; none if never.
    pub(crate) threshold: Option<TokenCount>,
    /// True if the provider counted `used`, false if it is an estimate.
    pub(crate) is_counted: bool,
    /// The usage by segment.
    pub(crate) parts: Vec<(Segment, TokenCount)>,
}

impl ContextMeter {
    /// Adds the estimate of a text that the provider has not counted yet.
    pub(crate) fn grow(&mut self, segment: Segment, text: &str) {
        let tokens = Estimator::default().text(text).tokens();
        match self.parts.iter_mut().find(|(known, _)| *known == segment) {
            Some((_, part)) => *part += tokens,
            None => self.parts.push((segment, tokens)),
        }
        self.used += tokens;
        self.is_counted = false;
    }

    /// Takes over the provider's count; the segments keep their shares.
    pub(crate) fn count(&mut self, used: TokenCount) {
        self.scale(used);
        self.is_counted = true;
    }

    /// Subtracts a compaction's gain from the segments that grow, until the next count.
    pub(crate) fn shrink(&mut self, before: TokenCount, after: TokenCount) {
        let mut gone = before - after;
        for segment in [Segment::Tools, Segment::History] {
            for (_, part) in self.parts.iter_mut().filter(|(known, _)| *known == segment) {
                let taken = gone.min(*part);
                (*part, gone) = (*part - taken, gone - taken);
            }
        }
        self.used = self.used - (before - after);
        self.is_counted = false;
    }

    fn scale(&mut self, used: TokenCount) {
        let sum: u64 = self.parts.iter().map(|(_, tokens)| tokens.0).sum();
        for (_, tokens) in &mut self.parts {
            *tokens = TokenCount((tokens.0 as f64 / sum.max(1) as f64 * used.0 as f64).round() as u64);
        }
        self.used = used;
    }
}

/// A segment of the context window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Segment {
    /// The system prompt and the tool declarations.
    System,
    /// Memory files.
    Memory,
    /// The snapshot that replaced compacted messages.
    Snapshot,
    /// Messages of the user and the model.
    History,
    /// Tool output.
    Tools,
}

impl Segment {
    /// All segments, in display order.
    pub(crate) const ALL: [Self; 5] =
        [Self::System, Self::Memory, Self::Snapshot, Self::History, Self::Tools];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::System => "system and tools",
            Self::Memory => "memory",
            Self::Snapshot => "snapshot",
            Self::History => "history",
            Self::Tools => "tool output",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter() -> ContextMeter {
        let parts = [(Segment::System, 100), (Segment::History, 100), (Segment::Tools, 200)];
        let parts = parts.map(|(segment, tokens)| (segment, TokenCount(tokens)));
        ContextMeter {
            used: TokenCount(400),
            is_counted: true,
            parts: parts.into(),
            ..ContextMeter::default()
        }
    }

    #[track_caller]
    fn check(meter: &ContextMeter, used: u64, parts: &[u64], is_counted: bool) {
        let found: Vec<u64> = meter.parts.iter().map(|(_, tokens)| tokens.0).collect();
        assert_eq!((meter.used.0, found.as_slice(), meter.is_counted), (used, parts, is_counted));
    }

    #[test]
    fn the_meter_follows_a_turn() {
        let mut meter = meter();
        meter.grow(Segment::Tools, &"abcd".repeat(100));
        check(&meter, 500, &[100, 100, 300], false);
        meter.count(TokenCount(1_000));
        check(&meter, 1_000, &[200, 200, 600], true);
        meter.shrink(TokenCount(900), TokenCount(250));
        check(&meter, 350, &[200, 150, 0], false);
    }

    #[test]
    fn an_empty_meter_can_be_counted() {
        let mut meter = ContextMeter::default();
        meter.count(TokenCount(7));
        meter.shrink(TokenCount(70), TokenCount(7));
        check(&meter, 0, &[], false);
        meter.grow(Segment::History, "four");
        check(&meter, 1, &[1], false);
    }
}
