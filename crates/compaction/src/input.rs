//! The input of a compaction: everything that decisions are made from, borrowed.

use longhaul_conversation::{Estimate, Message, Ordinal, TokenCount};

use crate::host::HostState;
use crate::numbering::ordinals;
use crate::options::PlanOptions;
use crate::prepare::PreparedMessages;
use crate::tracker::Tracker;

/// Everything that decisions about a conversation are made from.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Knowledge about all that was said; it has observed the messages, or the whole log that they were made from.
    pub tracker: &'a Tracker,
    /// The messages that the model may see now.
    pub prepared: &'a PreparedMessages<'a>,
    /// State of the host that no message tells.
    pub host: &'a HostState,
    /// Window, budget, trigger and estimator.
    pub options: &'a PlanOptions,
    /// The rungs of the ladder that a plan may choose from.
    pub rungs: Rungs,
    /// The first message that an ordinary compaction keeps, where a draft was written for that cut; not followed if no piece
    /// begins there or the tail has become too long.
    pub cut: Option<usize>,
}

/// The rungs of the ladder that a plan may choose from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rungs {
    /// Every rung.
    #[default]
    All,
    /// Every rung but masks, as where the masked outputs could not be saved.
    WithoutMasks,
    /// Shorter tool outputs and nothing else, as where nobody may write a snapshot.
    OutputsOnly,
}

static NO_HOST: HostState =
    HostState { jobs: Vec::new(), skills: Vec::new(), plan: None, memory: Vec::new() };

impl<'a> Input<'a> {
    /// Input without a host, for a plan that may choose any rung.
    pub fn new(tracker: &'a Tracker, prepared: &'a PreparedMessages<'a>, options: &'a PlanOptions) -> Self {
        Self { tracker, prepared, host: &NO_HOST, options, rungs: Rungs::All, cut: None }
    }

    /// The messages that the model may see now.
    pub fn messages(&self) -> &'a [Message] {
        &self.prepared.messages
    }

    /// Ordinals of the messages, as the tracker counts them.
    pub fn ordinals(&self) -> Vec<Ordinal> {
        ordinals(self.messages())
    }

    /// Size of the whole request, by estimate.
    pub fn size(&self) -> TokenCount {
        self.size_with(self.messages())
    }

    /// Size of the request if it had these messages.
    pub(crate) fn size_with(&self, messages: &[Message]) -> TokenCount {
        let sizes = messages.iter().map(|message| self.options.estimator.message(message));
        (Estimate::from(self.options.fixed.total()) + sizes.sum::<Estimate>()).tokens()
    }
}
