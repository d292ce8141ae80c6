//! Tracker of a conversation, kept up message by message: rules, requests, work, words and lines worth quoting.

use longhaul_conversation::{Message, Ordinal};
use longhaul_directives::{UserRequests, UserRules, UserWords};
use longhaul_extract::Pool;
use longhaul_ledger::Ledger;
use serde::{Deserialize, Serialize};

use crate::observer::Observer;

/// Everything a compaction needs to know about what came before, without the messages themselves.
///
/// A plain value: it can be cloned, written down and built again by replay. Observing one message costs one message and
/// never looks back.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tracker {
    version: u32,
    pub(crate) rules: UserRules,
    pub(crate) requests: UserRequests,
    pub(crate) ledger: Ledger,
    pub(crate) pool: Pool,
    pub(crate) words: UserWords,
    last: u32,
}

/// The form in which trackers are written down; others are not read.
const VERSION: u32 = 3;

impl Default for Tracker {
    fn default() -> Self {
        Self {
            version: VERSION,
            rules: UserRules::default(),
            requests: UserRequests::default(),
            ledger: Ledger::default(),
            pool: Pool::default(),
            words: UserWords::default(),
            last: 0,
        }
    }
}

impl Tracker {
    /// A tracker for work in `directory`.
    pub fn in_directory(directory: &str) -> Self {
        let mut tracker = Self { ledger: Ledger::in_directory(directory), ..Self::default() };
        tracker.pool.set_root(directory);
        tracker
    }

    /// Tells late in which folder the work is done: the ledger sees all paths from there, as far as it knew of none.
    pub fn learn_directory(&mut self, directory: &str) {
        self.ledger.learn_root(directory);
    }

    /// Observes one message.
    pub fn observe(&mut self, message: &Message) {
        let Self { rules, requests, ledger, pool, words, last, .. } = self;
        Observer { ledger, rules, requests, words, pool, last }.observe(message);
    }

    /// The standing instructions.
    pub fn rules(&self) -> &UserRules {
        &self.rules
    }

    /// The standing instructions, to be changed by the user's hand.
    pub fn rules_mut(&mut self) -> &mut UserRules {
        &mut self.rules
    }

    /// The user's requests.
    pub fn requests(&self) -> &UserRequests {
        &self.requests
    }

    /// The requests, to be changed by hand.
    pub fn requests_mut(&mut self) -> &mut UserRequests {
        &mut self.requests
    }

    /// The record of work.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The mark of the newest message.
    pub fn last(&self) -> Ordinal {
        Ordinal(self.last)
    }
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::{Estimator, Origin, Part, Role, TokenCount, ToolCall, ToolResult};
    use serde_json::json;

    use super::*;
    use crate::{ComposeOptions, compose};

    fn talk() -> Vec<Message> {
        let call = ToolCall::new("c", "bash").with_args(json!({"command": "cargo test -p upload"}));
        vec![
            Message::new(
                "u",
                Role::User,
                vec![Part::user_text("Fix the upload. Never touch vendor/legacy.")],
            ),
            Message::new(
                "a",
                Role::Model,
                vec![Part::model_text("I run the tests first."), Part::call(call)],
            ),
            Message::new(
                "r",
                Role::User,
                vec![Part::result(ToolResult::text(
                    "c",
                    "error in src/upload.rs: retry_count was never read",
                ))],
            ),
            Message::new(
                "b",
                Role::Model,
                vec![Part::model_text("The retry_count in src/upload.rs is not used.")],
            ),
        ]
    }

    fn snapshot(tracker: &Tracker) -> String {
        let options = ComposeOptions {
            budget: TokenCount(1_000),
            tail: &[],
            before: Ordinal(tracker.last().0 + 1),
            focus: None,
            estimator: Estimator::default(),
        };
        compose(tracker, &options).snapshot.render()
    }

    #[test]
    fn a_tracker_that_was_written_down_goes_on_as_before() {
        let messages = talk();
        let mut tracker = Tracker::in_directory("/home/me/app");
        messages[..2].iter().for_each(|message| tracker.observe(message));
        let text = serde_json::to_string(&tracker).expect("a tracker can be written");
        let mut read: Tracker = serde_json::from_str(&text).expect("a tracker can be read");
        for message in &messages[2..] {
            tracker.observe(message);
            read.observe(message);
        }
        assert_eq!(snapshot(&read), snapshot(&tracker));
    }

    #[test]
    fn what_a_snapshot_says_is_taken_over() {
        let mut tracker = Tracker::default();
        talk().iter().for_each(|message| tracker.observe(message));
        let first = snapshot(&tracker);
        let mut later = Tracker::default();
        later.observe(&Message::new("s", Role::User, vec![Part::text(Origin::Summary, first.as_str())]));
        assert_eq!(later.last(), tracker.last());
        let second = snapshot(&later);
        for kept in
            ["[m1] Never touch vendor/legacy.", "[m1] Fix the upload.", "retry_count", "src/upload.rs"]
        {
            assert!(first.contains(kept) && second.contains(kept), "{kept}\n{first}\n{second}");
        }
    }

    fn user(text: &str) -> Message {
        Message::new("u", Role::User, vec![Part::user_text(text)])
    }

    /// A snapshot as it stands at the beginning of a file: counted as the file's first message.
    fn first_of_a_file(snapshot: &str) -> Message {
        let message = Message::new("s", Role::User, vec![Part::text(Origin::Summary, snapshot)]);
        Message { ordinal: Some(Ordinal(1)), ..message }
    }

    #[test]
    fn asks_and_work_survive_in_files_alone() {
        let edit = ToolCall::new("e", "edit")
            .with_args(json!({"file_path": "src/upload.rs", "old_string": "a", "new_string": "b\nc"}));
        let mut tracker = Tracker::default();
        talk().iter().for_each(|message| tracker.observe(message));
        tracker.observe(&user("Now add a test for the retries."));
        tracker.observe(&Message::new("c", Role::Model, vec![Part::call(edit)]));
        tracker.observe(&Message::new("d", Role::User, vec![Part::result(ToolResult::text("e", "updated"))]));
        tracker.observe(&Message::new("f", Role::Model, vec![Part::model_text("I've added the test.")]));
        tracker.observe(&user("Great. Rename the module to uploads."));
        let first = snapshot(&tracker);
        let mut chained = first.clone();
        for _ in 0..3 {
            let mut later = Tracker::default();
            later.observe(&first_of_a_file(&chained));
            assert_eq!(later.last(), tracker.last());
            chained = snapshot(&later);
        }
        for kept in [
            "<overall_goal>\n[m1] Fix the upload.",
            "[m5] [DONE] Now add a test for the retries.",
            "[m9] [IN PROGRESS] Rename the module to uploads.",
            "[m6] src/upload.rs modified",
        ] {
            assert!(first.contains(kept) && chained.contains(kept), "{kept}\n{first}\n{chained}");
        }
    }

    #[test]
    fn what_was_taken_over_goes_on() {
        let text = "<state_snapshot through=\"m9\">\n<task_state>\n[m9] [TODO] Rename the module.\n</task_state>\n\
                    <artifact_trail>\n[m6] a.rs created (+2)\n</artifact_trail>\n</state_snapshot>";
        let mut tracker = Tracker::default();
        tracker.observe(&first_of_a_file(text));
        tracker.observe(&Message::new("a", Role::Model, vec![Part::model_text("I've renamed the module.")]));
        tracker.observe(&user("Thanks! Delete a.rs now."));
        let delete = ToolCall::new("d", "bash").with_args(json!({"command": "rm a.rs"}));
        tracker.observe(&Message::new("b", Role::Model, vec![Part::call(delete)]));
        tracker.observe(&Message::new("r", Role::User, vec![Part::result(ToolResult::text("d", ""))]));
        let text = snapshot(&tracker);
        for kept in
            ["[m9] [DONE] Rename the module.", "<overall_goal>\n[m11] Delete a.rs now.", "a.rs deleted"]
        {
            assert!(text.contains(kept), "{kept}\n{text}");
        }
        assert!(!text.contains("[TODO] Rename"), "{text}");
    }

    #[test]
    fn a_log_that_has_it_all_takes_nothing_over() {
        let mut tracker = Tracker::default();
        talk().iter().for_each(|message| tracker.observe(message));
        let summary = Part::text(Origin::Summary, snapshot(&tracker));
        let (requests, ledger) = (tracker.requests().all().len(), tracker.ledger().clone());
        tracker.observe(&Message::new("s", Role::User, vec![summary]));
        assert_eq!(tracker.requests().all().len(), requests);
        assert_eq!(tracker.ledger(), &ledger);
    }
}
