//! A context over time: samples of what it was made of, and the compactions as cuts.

use longhaul_compaction::Kind;
use longhaul_companion::AgentCompaction;
use longhaul_conversation::{Ordinal, TokenCount};

/// The number of kinds.
pub(crate) const KINDS: usize = Kind::ALL.len();

/// Tokens of each kind, in the order of [`Kind::ALL`].
pub(crate) type KindCounts = [u64; KINDS];

/// The make-up of the context behind a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContextSample {
    /// The newest message.
    pub(crate) number: Option<Ordinal>,
    /// The place of the newest message.
    pub(crate) place: usize,
    pub(crate) kinds: KindCounts,
}

/// A compaction as it shows in what the model saw.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    /// The number of messages before it.
    pub(crate) place: usize,
    pub(crate) before: KindCounts,
    pub(crate) after: KindCounts,
    /// The places of the messages that stayed.
    pub(crate) kept: Vec<usize>,
    /// The places of the messages that it brought, such as a summary.
    pub(crate) brought: Vec<usize>,
    /// The rule that held before it, and the words that stayed.
    pub(crate) held: AgentCompaction,
}

impl Cut {
    pub(crate) fn size_before(&self) -> u64 {
        self.before.iter().sum()
    }

    pub(crate) fn size_after(&self) -> u64 {
        self.after.iter().sum()
    }
}

/// Samples, fewer the longer a session is.
#[derive(Clone, Debug)]
pub(crate) struct Samples {
    samples: Vec<ContextSample>,
    every: usize,
    steps: usize,
}

impl Default for Samples {
    fn default() -> Self {
        Self { samples: Vec::new(), every: 1, steps: 0 }
    }
}

impl Samples {
    const MOST: usize = 480;

    pub(crate) fn push(&mut self, sample: ContextSample) {
        if self.steps.is_multiple_of(self.every) {
            self.samples.push(sample);
        }
        self.steps += 1;
        if self.samples.len() == Self::MOST {
            let mut keep = false;
            self.samples.retain(|_| {
                keep = !keep;
                keep
            });
            self.every *= 2;
        }
    }

    /// The samples, with the sizes right before and after each cut, which are the ones that matter.
    pub(crate) fn with_cuts(&self, cuts: &[Cut], last: Option<ContextSample>) -> Vec<ContextSample> {
        let mut samples = self.samples.clone();
        for cut in cuts {
            let sample = |kinds| ContextSample { number: cut.held.at, place: cut.place, kinds };
            let at = samples.partition_point(|sample| sample.place <= cut.place);
            samples.splice(at..at, [sample(cut.before), sample(cut.after)]);
        }
        samples.extend(last.filter(|last| samples.last() != Some(last)));
        samples
    }
}

/// Counts as plain numbers.
pub(crate) fn counts(kinds: [TokenCount; KINDS]) -> KindCounts {
    kinds.map(|tokens| tokens.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(place: usize, size: u64) -> ContextSample {
        let mut kinds = [0; KINDS];
        kinds[Kind::User as usize] = size;
        ContextSample { number: None, place, kinds }
    }

    #[test]
    fn a_long_session_has_as_many_samples_as_a_picture_has_columns() {
        let mut samples = Samples::default();
        (0..100_000).for_each(|place| samples.push(sample(place, place as u64)));
        assert!(samples.samples.len() < Samples::MOST && samples.samples.len() > Samples::MOST / 4);
        assert!(samples.samples.is_sorted_by_key(|sample| sample.place));
    }

    #[test]
    fn cuts_stand_between_the_samples() {
        let mut samples = Samples::default();
        [sample(1, 5), sample(3, 9), sample(8, 4)].into_iter().for_each(|sample| samples.push(sample));
        let cut = Cut {
            place: 5,
            before: sample(5, 11).kinds,
            after: sample(5, 2).kinds,
            kept: Vec::new(),
            brought: Vec::new(),
            held: AgentCompaction::default(),
        };
        let sizes: Vec<u64> = samples
            .with_cuts(&[cut], Some(sample(9, 6)))
            .iter()
            .map(|sample| sample.kinds.iter().sum())
            .collect();
        assert_eq!(sizes, [5, 9, 11, 2, 4, 6]);
    }
}
