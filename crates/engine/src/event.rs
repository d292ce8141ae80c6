//! Events of a compaction, as they happen.

use std::time::Duration;

use longhaul_compaction::{NameCount, Report, Status, Trigger};
use longhaul_conversation::TokenCount;

use crate::{Spend, SummariserKind};

/// One thing that happened during a compaction.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The conversation is about to be shortened.
    Started {
        /// The cause.
        trigger: Trigger,
        /// Size of the request.
        before: TokenCount,
        /// Number of messages.
        messages: usize,
    },
    /// It was decided how.
    Planned {
        /// The rung of the ladder.
        rung: &'static str,
        /// The reason.
        reason: String,
        /// Number of texts that are to be moved to files.
        files: usize,
    },
    /// Somebody begins to write the snapshot.
    Summarising {
        /// The summariser.
        by: SummariserKind,
    },
    /// The model looked at its summary once more.
    Reviewed {
        /// True if the second one is used.
        is_improved: bool,
    },
    /// The snapshot is written.
    Summarised {
        /// By whom.
        by: SummariserKind,
        /// Size of the snapshot.
        tokens: TokenCount,
        /// Duration.
        duration: Duration,
        /// Cost.
        spend: Spend,
    },
    /// The snapshot was measured.
    Verified {
        /// The names that mattered and are still there.
        names: NameCount,
        /// Lines of a model that no message supports.
        unsupported: usize,
        /// Lines of a model that were too many.
        cut: usize,
    },
    /// The given summariser did not do, and the offline one takes over.
    FellBack {
        /// The reason.
        reason: String,
        /// Spend until then.
        spend: Spend,
    },
    /// A text could not be moved to a file and stays where it is.
    NotSaved {
        /// The file.
        file: String,
        /// The reason.
        reason: String,
    },
    /// Old outputs gave way to previews.
    Masked {
        /// Number of outputs.
        outputs: usize,
        /// Size of the request before.
        before: TokenCount,
        /// Size of the request now.
        after: TokenCount,
        /// Duration.
        duration: Duration,
    },
    /// The conversation is shorter.
    Applied {
        /// Status.
        status: Status,
        /// Size of the request before.
        before: TokenCount,
        /// Size of the request now.
        after: TokenCount,
        /// Number of messages now.
        messages: usize,
        /// Duration.
        duration: Duration,
        /// Cost.
        spend: Spend,
        /// The report.
        report: Box<Report>,
    },
    /// The conversation stays as it is although it should have been shortened.
    Refused {
        /// Status.
        status: Status,
        /// The reason.
        reason: String,
        /// Duration.
        duration: Duration,
        /// Cost.
        spend: Spend,
    },
    /// Somebody stopped it; everything is as it was, but for what was spent.
    Cancelled {
        /// Duration.
        duration: Duration,
        /// Cost until then.
        spend: Spend,
    },
    /// A summary was written ahead, for the next compaction.
    DraftWritten {
        /// Number of messages that it stands for.
        messages: usize,
        /// Duration.
        duration: Duration,
        /// Cost.
        spend: Spend,
    },
    /// A summary that was to be written ahead is not used.
    DraftDropped {
        /// The reason.
        reason: String,
        /// Cost until then.
        spend: Spend,
    },
    /// A compaction was undone.
    Undone {
        /// Its id.
        compaction: String,
        /// Number of messages after it.
        messages: usize,
    },
}
