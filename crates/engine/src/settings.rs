//! Settings of compactions.

use longhaul_compaction::Repairing;

use crate::SpendCaps;

/// Settings of compactions, whatever the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The caller of compactions.
    pub caller: Caller,
    /// Fallback where a model's summary is of no use.
    pub fallback: Fallback,
    /// Verification of a model's summary.
    pub verify: Verify,
    /// Measure of sizes.
    pub counting: Counting,
    /// Caps on what a session may spend on compactions.
    pub caps: SpendCaps,
    /// After so many failures in a row no model is asked any more.
    pub failure_limit: u32,
    /// After a pass, the next automatic one waits until the request has grown by this share of the window.
    pub growth: f64,
    /// Occasion of the hook before a compaction.
    pub pre_compress: PreCompressWhen,
    /// The share of the threshold from which on a model's summary is written ahead, beside the turn; never, if not set.
    pub prepare_at: Option<f64>,
}

/// The caller of compactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Caller {
    /// The main conversation, in front of a person or headless.
    #[default]
    Interactive,
    /// A sub-agent, which never forces a compaction.
    Agent,
}

/// Fallback where a model's summary fails, says nothing or makes the request larger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Fallback {
    /// The offline summariser finishes the pass.
    #[default]
    Offline,
    /// The conversation stays as it is, and the status says why.
    Off,
}

/// Verification of a model's summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Verify {
    /// Not at all.
    Off,
    /// Coverage is measured, and what is certain and missing is added.
    #[default]
    Coverage,
    /// The model is asked to review it.
    Model,
    /// First by the model, then by coverage.
    Both,
}

/// Measure of sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Counting {
    /// The estimator that plans are made with.
    #[default]
    Estimated,
    /// The provider's counter; where it fails, nothing is changed.
    Exact,
}

/// Occasion of the hook before a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PreCompressWhen {
    /// On every turn, before it is known whether anything is due.
    #[default]
    EveryTurn,
    /// Only when the conversation is about to be shortened.
    WhenNeeded,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            caller: Caller::default(),
            fallback: Fallback::default(),
            verify: Verify::default(),
            counting: Counting::default(),
            caps: SpendCaps::default(),
            failure_limit: 3,
            growth: 0.1,
            pre_compress: PreCompressWhen::default(),
            prepare_at: Some(0.8),
        }
    }
}

impl Verify {
    /// Every way to verify.
    pub const ALL: [Self; 4] = [Self::Off, Self::Coverage, Self::Model, Self::Both];

    /// The word used in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Coverage => "coverage",
            Self::Model => "model",
            Self::Both => "both",
        }
    }

    /// The way with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verify| verify.as_str() == word)
    }

    /// True if the model reviews its summary.
    pub(crate) fn asks_model(self) -> bool {
        matches!(self, Self::Model | Self::Both)
    }

    /// Completion with values that the summary misses.
    pub(crate) fn repairing(self) -> Repairing {
        match self {
            Self::Coverage | Self::Both => Repairing::Missing,
            Self::Off | Self::Model => Repairing::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for verify in Verify::ALL {
            assert_eq!(Verify::from_word(verify.as_str()), Some(verify));
        }
        assert_eq!(Verify::from_word("sometimes"), None);
    }

    #[track_caller]
    fn check(verify: Verify, asks_model: bool, repairing: Repairing) {
        assert_eq!((verify.asks_model(), verify.repairing()), (asks_model, repairing));
    }

    #[test]
    fn each_way_to_verify_does_its_part() {
        check(Verify::Off, false, Repairing::Nothing);
        check(Verify::Coverage, false, Repairing::Missing);
        check(Verify::Model, true, Repairing::Nothing);
        check(Verify::Both, true, Repairing::Missing);
    }
}
