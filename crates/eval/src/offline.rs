//! Longhaul's own offline compaction as a method.

use longhaul_compaction::{ComposeOptions, Tracker, compose};
use longhaul_conversation::{Estimator, Weights};
use longhaul_conversation::{Message, Ordinal, Origin, Part, Role, TokenCount};

use crate::method::{Claim, CompactionTask, Compactor, Method};

/// The method under test: the tracker follows the session, and the snapshot is composed from it.
pub fn offline() -> Method {
    Method::new("longhaul", OfflineMethod::default)
}

#[derive(Default)]
struct OfflineMethod {
    tracker: Tracker,
    claim: Option<Claim>,
}

/// The model's answer to a snapshot if the tail continues with the user.
const ACKNOWLEDGED: &str = "Understood; I will go on from this state.";

impl Compactor for OfflineMethod {
    fn observe(&mut self, message: &Message) {
        self.tracker.observe(message);
    }

    fn compact(&mut self, task: &CompactionTask<'_>) -> Vec<Message> {
        let tail = task.tail();
        let first = tail.iter().find_map(|message| message.ordinal);
        let before = first.unwrap_or(Ordinal(self.tracker.last().0 + 1));
        let options = ComposeOptions {
            budget: task.budget - TokenCount(12),
            tail,
            before,
            focus: None,
            // Here tokens are characters / 4, whatever the characters.
            estimator: Estimator {
                weights: Weights { chars_per_token: 4.0, non_ascii: 0.25 },
                ..Estimator::default()
            },
        };
        let composed = compose(&self.tracker, &options);
        let names = composed.coverage.names;
        let by_count = if names.of > 0 { names.kept as f64 / names.of as f64 } else { 1.0 };
        self.claim = Some(Claim { by_weight: composed.coverage.by_weight, by_count });
        let snapshot = Part::text(Origin::Summary, composed.snapshot.render());
        let mut messages = vec![Message::new("snapshot", Role::User, vec![snapshot])];
        if tail.first().is_some_and(|first| first.role == Role::User) {
            messages.push(Message::new("acknowledged", Role::Model, vec![Part::model_text(ACKNOWLEDGED)]));
        }
        messages.extend_from_slice(tail);
        messages
    }

    fn claim(&self) -> Option<Claim> {
        self.claim
    }
}
