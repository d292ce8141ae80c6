//! The measures of a chain of compactions.

use crate::figures::Measure;

/// The memory of a compactor in a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChainMemory {
    /// The session's log: all messages ever.
    Log,
    /// Only the result of the compaction before.
    Files,
}

/// The measures of a chain.
pub(crate) struct ChainMeasures {
    pub(crate) recall: Measure,
    pub(crate) grounded: Measure,
    pub(crate) sentences: Measure,
    pub(crate) rules: Measure,
    pub(crate) planted: Measure,
    pub(crate) kept: Measure,
    pub(crate) kept_needed: Measure,
}

impl ChainMeasures {
    pub(crate) fn of(memory: ChainMemory) -> Self {
        match memory {
            ChainMemory::Log => Self {
                recall: Measure::LogRecall,
                grounded: Measure::LogGrounded,
                sentences: Measure::LogSentences,
                rules: Measure::LogRules,
                planted: Measure::LogPlanted,
                kept: Measure::LogKept,
                kept_needed: Measure::LogKeptNeeded,
            },
            ChainMemory::Files => Self {
                recall: Measure::FilesRecall,
                grounded: Measure::FilesGrounded,
                sentences: Measure::FilesSentences,
                rules: Measure::FilesRules,
                planted: Measure::FilesPlanted,
                kept: Measure::FilesKept,
                kept_needed: Measure::FilesKeptNeeded,
            },
        }
    }
}
