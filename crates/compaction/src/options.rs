//! The options of a compaction: window and budget, trigger, estimator, and the size of what stands beside the messages.

use longhaul_conversation::{Estimator, TokenCount, Trigger};

use crate::budget::{Budget, BudgetSettings};
use crate::curate::EmptyMessages;
use crate::cut::CutSettings;
use crate::mask::{CachePrices, MaskWhen};

/// Options that a plan is made with.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// The window and how it is divided.
    pub budget: Budget,
    /// The largest share of the conversation that stays as it is.
    pub keep: f64,
    /// The size of the request beside the messages.
    pub fixed: Fixed,
    /// The cause of the compaction.
    pub trigger: Trigger,
    /// The condition under which masking is worth a rewrite below the threshold.
    pub mask_when: MaskWhen,
    /// A topic that the snapshot keeps more about.
    pub focus: Option<String>,
    /// The name of the folder for texts that are saved.
    pub session: String,
    /// The treatment of the model's empty messages.
    pub empty: EmptyMessages,
    /// The estimator that measures everything, before and after.
    pub estimator: Estimator,
}

/// The size of a request beside its messages. No compaction changes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fixed {
    /// The system instruction.
    pub system: TokenCount,
    /// The declared tools.
    pub tools: TokenCount,
    /// Memory files that are not part of the messages.
    pub memory: TokenCount,
}

impl PlanOptions {
    /// Usual options for a window of this size.
    pub fn new(window: TokenCount) -> Self {
        Self {
            budget: Budget::new(window, &BudgetSettings::default()),
            keep: CutSettings::default().keep,
            fixed: Fixed::default(),
            trigger: Trigger::default(),
            mask_when: MaskWhen::ItPays(CachePrices::default()),
            focus: None,
            session: String::new(),
            empty: EmptyMessages::default(),
            estimator: Estimator::default(),
        }
    }
}

impl Fixed {
    /// Sum of the parts.
    pub fn total(self) -> TokenCount {
        self.system + self.tools + self.memory
    }
}
