//! The draft of a snapshot: written offline, or a model's summary that is still to be checked.

use std::error::Error;
use std::fmt;

use longhaul_conversation::{Message, TokenCount};
use longhaul_snapshot::Snapshot;

use crate::adopt::{SummaryNotes, adopt_summary, write_offline};
use crate::analysis::Analysis;
use crate::compose::{Composed, Repairing};
use crate::input::Input;
use crate::plan::{Compaction, Plan};
use crate::rebuild::rebuild;
use crate::status::Status;

/// The draft of a snapshot.
#[derive(Clone, Debug)]
pub enum Draft {
    /// None, for a plan that needs no snapshot. A plan to compact has one written offline.
    NotNeeded,
    /// A snapshot that was written offline.
    Offline(Composed),
    /// A model's summary as it answered. Marks, rules, length and coverage are brought in order when it is applied.
    FromModel {
        /// The summary.
        summary: Snapshot,
        /// Completion with values that it misses.
        repairing: Repairing,
    },
}

/// The reason why a model's summary is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DraftRefusal {
    /// Nothing of it can be kept.
    NoSnapshot,
    /// It says hardly anything about this conversation.
    NoSubstance,
    /// The request would be larger than before.
    Inflated {
        /// Its size before.
        before: TokenCount,
        /// Its size with the summary.
        after: TokenCount,
    },
}

/// The result of a plan and a draft before it is decided whether it counts.
#[derive(Clone, Debug)]
pub struct Preview {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// The messages of the request.
    pub messages: Vec<Message>,
}

/// Writes the draft for a plan without a model: deterministic, and never at a loss.
///
/// The snapshot keeps to the plan's budget, but for the user's standing instructions: those that the tail does not say
/// stand in it whatever they take.
pub fn summarise(input: &Input<'_>, plan: &Plan) -> Draft {
    match plan.compaction() {
        Some(compaction) => Draft::Offline(write_offline(&Analysis::of(input), compaction)),
        None => Draft::NotNeeded,
    }
}

/// Rebuilds the conversation for a provider that counts exactly, before [`crate::apply`] decides by that count.
///
/// # Errors
/// [`DraftRefusal::NoSnapshot`].
pub fn preview(input: &Input<'_>, plan: &Plan, draft: &Draft) -> Result<Preview, DraftRefusal> {
    let snapshot = match plan.compaction() {
        Some(compaction) => Written::of(&Analysis::of(input), compaction, draft)?.composed.snapshot,
        None => Snapshot::default(),
    };
    let messages = rebuild(input.messages(), plan, &snapshot).messages;
    Ok(Preview { snapshot, messages })
}

/// A draft that was made a snapshot.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) composed: Composed,
    /// Account of the summary's lines, if it is a model's.
    pub(crate) notes: Option<SummaryNotes>,
}

impl Written {
    /// Makes a draft the snapshot of a compaction.
    pub(crate) fn of(
        analysis: &Analysis<'_>,
        compaction: &Compaction,
        draft: &Draft,
    ) -> Result<Self, DraftRefusal> {
        match draft {
            Draft::NotNeeded => Ok(Self::offline(analysis, compaction)),
            Draft::Offline(composed) => Ok(Self { composed: composed.clone(), notes: None }),
            Draft::FromModel { summary, repairing } => {
                let (composed, notes) = adopt_summary(analysis, compaction, summary, *repairing);
                if notes.kept == 0 {
                    return Err(DraftRefusal::NoSnapshot);
                }
                if !notes.has_substance {
                    return Err(DraftRefusal::NoSubstance);
                }
                Ok(Self { composed, notes: Some(notes) })
            }
        }
    }

    pub(crate) fn offline(analysis: &Analysis<'_>, compaction: &Compaction) -> Self {
        Self { composed: write_offline(analysis, compaction), notes: None }
    }

    /// The word for the summariser in reports.
    pub(crate) fn summariser(&self) -> &'static str {
        if self.notes.is_some() { "model" } else { OFFLINE }
    }
}

/// The word for the summariser that needs no model.
pub(crate) const OFFLINE: &str = "offline";

impl DraftRefusal {
    /// The status of a pass that ends with this refusal.
    pub(crate) fn status(self) -> Status {
        match self {
            Self::NoSnapshot | Self::NoSubstance => Status::FailedEmptySummary,
            Self::Inflated { .. } => Status::FailedInflated,
        }
    }
}

impl fmt::Display for DraftRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSnapshot => f.write_str("the model's response contains no snapshot"),
            Self::NoSubstance => {
                f.write_str("the model's summary says hardly anything about this conversation")
            }
            Self::Inflated { before, after } => {
                write!(f, "the model's summary would make the request larger: {before} → {after} tokens")
            }
        }
    }
}

impl Error for DraftRefusal {}
