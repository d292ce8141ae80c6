//! The guard of a question that grants something: keys that were meant for something else do not answer it.

use std::time::Duration;

use crate::state::{ApprovalStage, Dialog, State};

/// Nothing may be typed for this long before a key answers.
pub(crate) const QUIET: Duration = Duration::from_secs(1);

/// The guard of a question. Keys typed before it was drawn, or before a quiet moment has passed since then, belong to the
/// message that is being typed; so do all keys while a draft stands in the input, until the user turns to the question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Guard {
    stage: GuardStage,
    /// Whether the user has turned to the question although a draft stands in the input.
    is_turned_to: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum GuardStage {
    /// Not drawn yet.
    #[default]
    Unseen,
    /// Drawn; nothing was typed since then.
    Quiet { since: Duration },
    /// Keys answer.
    Armed,
}

impl Guard {
    /// The question is about to be drawn.
    pub(crate) fn see(&mut self, now: Duration) {
        if self.stage == GuardStage::Unseen {
            self.stage = GuardStage::Quiet { since: now };
        }
    }

    /// A key was pressed that answers nothing: another quiet moment has to pass.
    pub(crate) fn restart(&mut self, now: Duration) {
        if self.stage != GuardStage::Unseen {
            self.stage = GuardStage::Quiet { since: now };
        }
    }

    /// The user works on the question: keys count from now on.
    pub(crate) fn arm(&mut self) {
        self.stage = GuardStage::Armed;
    }

    /// Something else is asked from now on, which has to be seen first.
    pub(crate) fn reset(&mut self) {
        self.stage = GuardStage::Unseen;
    }

    /// Whether keys go to the question although there is a draft.
    pub(crate) fn turn_to(&mut self, is_turned_to: bool) {
        self.is_turned_to = is_turned_to;
    }

    pub(crate) fn is_turned_to(self) -> bool {
        self.is_turned_to
    }

    pub(crate) fn is_seen(self) -> bool {
        self.stage != GuardStage::Unseen
    }

    /// When keys answer, if nothing is typed until then; nothing while it is not drawn, or where they do already.
    pub(crate) fn armed_at(self, quiet: Duration) -> Option<Duration> {
        match self.stage {
            GuardStage::Quiet { since } => Some(since + quiet),
            GuardStage::Unseen | GuardStage::Armed => None,
        }
    }

    fn is_armed(self, now: Duration, quiet: Duration) -> bool {
        self.stage == GuardStage::Armed || self.armed_at(quiet).is_some_and(|at| now >= at)
    }
}

impl Dialog {
    /// The guard, where keys could grant something. A reason why not grants nothing.
    pub(crate) fn guard(&self) -> Option<&Guard> {
        match self {
            Self::Approval(approving) if approving.stage == ApprovalStage::Reason => None,
            Self::Approval(approving) => Some(&approving.guard),
            Self::Question(answering) => Some(&answering.guard),
            Self::Review(reviewing) => Some(&reviewing.guard),
            Self::Picker(_) | Self::Search(_) => None,
        }
    }

    pub(crate) fn guard_mut(&mut self) -> Option<&mut Guard> {
        match self {
            Self::Approval(approving) if approving.stage == ApprovalStage::Reason => None,
            Self::Approval(approving) => Some(&mut approving.guard),
            Self::Question(answering) => Some(&mut answering.guard),
            Self::Review(reviewing) => Some(&mut reviewing.guard),
            Self::Picker(_) | Self::Search(_) => None,
        }
    }
}

/// Where keys go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Focus {
    /// To the message that is being typed.
    Draft,
    /// To what is asked, once a quiet moment has passed.
    Soon,
    /// To what is asked.
    Dialog,
}

impl State {
    /// The guard of what is asked first.
    pub(crate) fn guard(&self) -> Option<Guard> {
        self.dialogs.front().and_then(Dialog::guard).copied()
    }

    /// Where keys go now.
    pub(crate) fn focus(&self) -> Focus {
        let guard = match self.dialogs.front().map(Dialog::guard) {
            None => return Focus::Draft,
            Some(None) => return Focus::Dialog,
            Some(Some(guard)) => guard,
        };
        match (self.editor.is_empty() || guard.is_turned_to(), guard.is_armed(self.now, self.quiet)) {
            (false, _) => Focus::Draft,
            (true, false) => Focus::Soon,
            (true, true) => Focus::Dialog,
        }
    }
}
