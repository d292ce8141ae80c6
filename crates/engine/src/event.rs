//! What happens during a compaction, told as it happens.

use std::time::Duration;

use longhaul_compaction::{Report, Status, Trigger};
use longhaul_conversation::TokenCount;

use crate::{Spend, SummariserKind};

/// One thing that happened during a compaction.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The conversation is about to be shortened.
    Started {
        /// Who wants it.
        trigger: Trigger,
        /// What the request takes.
        before: TokenCount,
        /// How many messages it has.
        messages: usize,
    },
    /// It was decided how.
    Planned {
        /// The rung of the ladder.
        rung: &'static str,
        /// Why.
        reason: String,
        /// How many texts are to be moved to files.
        files: usize,
    },
    /// Somebody begins to write the snapshot.
    Summarising {
        /// Who.
        by: SummariserKind,
    },
    /// The model looked at its summary once more.
    Reviewed {
        /// Whether the second one is used.
        is_improved: bool,
    },
    /// The snapshot is written.
    Summarised {
        /// By whom.
        by: SummariserKind,
        /// What it takes.
        tokens: TokenCount,
        /// How long it took.
        duration: Duration,
        /// What it cost.
        spend: Spend,
    },
    /// What the snapshot covers was measured.
    Verified {
        /// The weighted share of what later work may need that is still there.
        coverage: f64,
        /// Lines of a model that no message is known to have said.
        unsourced: usize,
        /// Lines of a model that were too many.
        cut: usize,
    },
    /// The given summariser did not do, and the offline one takes over.
    FellBack {
        /// Why.
        reason: String,
        /// What was spent until then.
        spend: Spend,
    },
    /// A text could not be moved to a file and stays where it is.
    NotSaved {
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
    /// Old outputs gave way to previews.
    Masked {
        /// How many.
        outputs: usize,
        /// What the request took.
        before: TokenCount,
        /// What it takes now.
        after: TokenCount,
        /// How long it took.
        duration: Duration,
    },
    /// The conversation is shorter.
    Applied {
        /// How it ended.
        status: Status,
        /// What the request took.
        before: TokenCount,
        /// What it takes now.
        after: TokenCount,
        /// How many messages it has now.
        messages: usize,
        /// How long it took.
        duration: Duration,
        /// What it cost.
        spend: Spend,
        /// What it kept.
        report: Box<Report>,
    },
    /// The conversation stays as it is although it should have been shortened.
    Refused {
        /// How it ended.
        status: Status,
        /// Why.
        reason: String,
        /// How long it took.
        duration: Duration,
        /// What it cost.
        spend: Spend,
    },
    /// Somebody stopped it; everything is as it was, but for what was spent.
    Cancelled {
        /// How long it took.
        duration: Duration,
        /// What it cost until then.
        spend: Spend,
    },
    /// A compaction was undone.
    Undone {
        /// Its id.
        compaction: String,
        /// How many messages there are again.
        messages: usize,
    },
}
