//! The guard of a prompt that grants something: keys meant for the message being typed do not answer it.

use std::time::Duration;

/// The quiet period before a key may answer.
pub(crate) const QUIET_PERIOD: Duration = Duration::from_secs(1);

/// The guard of a prompt. Keys pressed before the prompt was drawn, or within the quiet period after that, go to the
/// draft; so do all keys while the input holds a draft, until the user switches to the prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Guard {
    stage: GuardStage,
    /// True once the user has switched to the prompt while the input holds a draft.
    is_focused: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum GuardStage {
    /// Not drawn yet.
    #[default]
    Undrawn,
    /// Drawn, and no key pressed since then.
    Quiet { since: Duration },
    /// Keys answer the prompt.
    Armed,
}

impl Guard {
    /// Marks the prompt as drawn, which starts the quiet period.
    pub(crate) fn mark_drawn(&mut self, now: Duration) {
        if self.stage == GuardStage::Undrawn {
            self.stage = GuardStage::Quiet { since: now };
        }
    }

    /// Restarts the quiet period after a key that answered nothing.
    pub(crate) fn restart(&mut self, now: Duration) {
        if self.stage != GuardStage::Undrawn {
            self.stage = GuardStage::Quiet { since: now };
        }
    }

    /// Arms the prompt at once, because the user is working on it.
    pub(crate) fn arm(&mut self) {
        self.stage = GuardStage::Armed;
    }

    /// Resets the guard for a prompt that has not been drawn yet.
    pub(crate) fn reset(&mut self) {
        self.stage = GuardStage::Undrawn;
    }

    /// Sends keys to the prompt, or back to the draft.
    pub(crate) fn set_focused(&mut self, is_focused: bool) {
        self.is_focused = is_focused;
    }

    pub(crate) fn is_focused(self) -> bool {
        self.is_focused
    }

    pub(crate) fn is_drawn(self) -> bool {
        self.stage != GuardStage::Undrawn
    }

    /// The time at which the prompt is armed if no key is pressed until then; none while it is not drawn or already
    /// armed.
    pub(crate) fn armed_at(self, quiet: Duration) -> Option<Duration> {
        match self.stage {
            GuardStage::Quiet { since } => Some(since + quiet),
            GuardStage::Undrawn | GuardStage::Armed => None,
        }
    }

    pub(crate) fn is_armed(self, now: Duration, quiet: Duration) -> bool {
        self.stage == GuardStage::Armed || self.armed_at(quiet).is_some_and(|at| now >= at)
    }
}
