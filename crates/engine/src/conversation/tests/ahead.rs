//! Compactions with a summary that was written ahead: as good as one made at once, and never used for another conversation.

use longhaul_conversation::{SpendMeter, find_faults};

use super::*;
use crate::trials::model;
use crate::{ByModel, PreparedDraft, SummaryError};

const WINDOW: u64 = 80_000;

/// An answer that says enough even without its tasks, which are told from the record where requests have come or gone.
const SUMMARY: &str = "<state_snapshot><overall_goal>Fix the upload.</overall_goal><key_knowledge>\n- retry_count in src/upload.rs is \
                       unused\n- value_3 comes from parse_config in src/part_3.rs, and value_4 from parse_config in \
                       src/part_4.rs\n</key_knowledge><task_state>\n1. [DONE] read the parts\n2. [TODO] remove retry_count\n\
                       </task_state></state_snapshot>";

/// A session that is close to its threshold, and in which outputs are never masked.
fn session(steps: usize) -> TestSession {
    let mut session = TestSession::new(WINDOW);
    session.options.budget.outputs.worthwhile = TokenCount(u64::MAX);
    session.work(steps);
    session
}

fn answering() -> ScriptedModel {
    ScriptedModel::new([ScriptedReply::text(SUMMARY)])
}

/// A model that must not be asked.
fn silent() -> ScriptedModel {
    ScriptedModel::new([])
}

impl TestSession {
    fn try_draft(&self, model: &ScriptedModel) -> Option<Result<PreparedDraft, SummaryError>> {
        let by = by_model(model);
        let order = self.conversation.draft_order(&self.options, &self.settings, &by)?;
        Some(block_on(order.write(&by, &SpendMeter::default(), &|| Duration::ZERO)))
    }

    fn prepare_draft(&mut self) {
        let draft = self.try_draft(&answering()).expect("it is time").expect("the model answers");
        assert_eq!(draft.spend().calls, 1);
        assert!(self.conversation.keep_draft(draft));
    }

    fn share(&self) -> f64 {
        self.conversation.size().0 as f64 / (WINDOW as f64 / 2.0)
    }
}

#[test]
fn a_draft_is_ordered_close_to_the_threshold_and_not_before() {
    let early = session(60);
    assert!(early.share() < 0.8, "{}", early.share());
    assert!(early.try_draft(&silent()).is_none());
    let close = session(84);
    assert!((0.8..1.0).contains(&close.share()), "{}", close.share());
    assert!(close.try_draft(&answering()).is_some());
    let late = session(110);
    assert!(late.share() > 1.0, "{}", late.share());
    assert!(late.try_draft(&silent()).is_none());
}

#[test]
fn none_is_ordered_where_nobody_would_be_asked() {
    let check = |change: fn(&mut TestSession)| {
        let mut session = session(84);
        change(&mut session);
        assert!(session.try_draft(&silent()).is_none());
    };
    check(|session| session.settings.prepare_at = None);
    check(|session| session.settings.caps.tokens = Some(TokenCount(0)));
    check(|session| session.settings.failure_limit = 0);
    check(|session| session.options.focus = Some("uploads".into()));
    let session = session(84);
    assert!(session.conversation.draft_order(&session.options, &session.settings, &Offline).is_none());
}

#[test]
fn a_prepared_compaction_asks_nobody() {
    let mut session = session(84);
    session.prepare_draft();
    session.work(18);
    let outcome = session.compact_with(Trigger::Automatic, &by_model(&silent()));
    assert_eq!(outcome.result.status, Status::Compressed, "{}", outcome.result.reason);
    assert_eq!(outcome.result.report.summariser, "model");
    assert_eq!(outcome.account.spend.calls, 0);
    assert_eq!(outcome.account.prepared.map(|spend| spend.calls), Some(1));
    let snapshot = outcome.result.snapshot.expect("a snapshot").render();
    assert!(snapshot.contains("retry_count in src/upload.rs is unused"), "{snapshot}");
    assert!(!session.conversation.is_prepared());
}

/// Guarantees of every compaction, whoever wrote the summary and whenever.
#[track_caller]
fn check_guarantees(session: &TestSession, outcome: &PassOutcome, most: TokenCount) {
    assert_eq!(outcome.result.status, Status::Compressed, "{}", outcome.result.reason);
    assert_eq!(outcome.result.report.summariser, "model");
    let shown = session.shown();
    assert!(find_faults(&shown).is_empty());
    let text: String = shown.iter().flat_map(|message| &message.parts).filter_map(Part::as_text).collect();
    RULES.iter().for_each(|rule| assert!(text.contains(rule), "{rule} is gone"));
    assert!(outcome.result.after <= most, "{}", outcome.result.after);
    let snapshot = outcome.result.snapshot.as_ref().expect("a snapshot");
    let size = snapshot.estimate(&session.options.estimator).tokens();
    assert!(size <= session.options.budget.snapshot, "{size}");
}

#[test]
fn a_prepared_compaction_guarantees_what_one_made_at_once_does() {
    for before in [79, 86] {
        for since in [14, 20, 28] {
            let mut prepared = session(before);
            prepared.prepare_draft();
            prepared.work(since);
            let mut at_once = session(before);
            at_once.work(since);
            if prepared.share() < 1.0 {
                continue;
            }
            let outcome = prepared.compact_with(Trigger::Automatic, &by_model(&silent()));
            // What came since stands in the tail, whatever the target.
            check_guarantees(&prepared, &outcome, TokenCount(WINDOW / 2 / 5 * 4));
            let other = at_once.compact_with(Trigger::Automatic, &by_model(&answering()));
            check_guarantees(&at_once, &other, at_once.options.budget.target);
        }
    }
}

#[test]
fn what_the_user_said_since_is_told_from_the_record() {
    let mut session = session(84);
    session.prepare_draft();
    session.say(vec![user("Always sign your commits. Now remove retry_count from src/upload.rs.")]);
    session.say(vec![model("I removed retry_count from src/upload.rs; the tests pass.")]);
    session.work(18);
    let outcome = session.compact_with(Trigger::Automatic, &by_model(&silent()));
    assert_eq!(outcome.account.prepared.map(|spend| spend.calls), Some(1));
    let snapshot = outcome.result.snapshot.expect("a snapshot").render();
    assert!(
        session.conversation.tracker().rules().active().any(|rule| rule.text.contains("sign your commits"))
    );
    let shown: String =
        session.shown().iter().flat_map(|message| &message.parts).filter_map(Part::as_text).collect();
    assert!(shown.contains("sign your commits"), "{shown}");
    // It was open when the summary was written, and is done since.
    assert!(!snapshot.contains("[TODO] remove retry_count"), "{snapshot}");
}

#[track_caller]
fn check_dropped(change: impl FnOnce(&mut TestSession)) {
    let mut session = session(84);
    session.prepare_draft();
    change(&mut session);
    session.work(18);
    let outcome = session.compact_with(Trigger::Automatic, &by_model(&answering()));
    assert!(outcome.result.status.is_change(), "{}", outcome.result.reason);
    assert_eq!((outcome.account.prepared, outcome.account.spend.calls), (None, 1));
}

#[test]
fn a_draft_is_not_used_for_another_conversation() {
    check_dropped(|session| {
        let rule = session.conversation.tracker().rules().active().next().expect("a rule").id;
        let record_id = session.record_id();
        assert!(session.conversation.remove_rule(rule, record_id).expect("recorded"));
    });
    check_dropped(|session| session.settings.verify = Verify::Off);
    check_dropped(|session| {
        let last = session.shown().last().expect("a message").id.clone();
        session.conversation.rewind_to(&last).expect("recorded");
    });
    check_dropped(|session| {
        let ordinal = session.shown()[3].ordinal.expect("a number");
        let record_id = session.record_id();
        assert!(session.conversation.drop_outputs(ordinal, record_id).expect("recorded") > 0);
    });
}

#[test]
fn a_draft_that_was_ordered_before_a_change_is_not_kept() {
    let mut session = session(84);
    let draft = session.try_draft(&answering()).expect("it is time").expect("the model answers");
    let last = session.shown().last().expect("a message").id.clone();
    session.conversation.rewind_to(&last).expect("recorded");
    assert!(!session.conversation.keep_draft(draft));
}

#[test]
fn an_undo_throws_the_draft_away() {
    let mut session = session(84);
    assert!(session.compact(Trigger::Forced).result.status.is_change());
    session.work(70);
    session.prepare_draft();
    session.undo().expect("recorded");
    assert!(!session.conversation.is_prepared());
}

#[test]
fn an_answer_without_use_makes_no_draft() {
    let session = session(84);
    let refusing = ScriptedModel::new(vec![ScriptedReply::text("I cannot help with that."); 3]);
    assert!(session.try_draft(&refusing).expect("it is time").is_err());
}

#[test]
fn preparing_and_stopping_leave_the_bytes_as_they_were() {
    let mut session = session(84);
    let bytes = session.bytes();
    session.prepare_draft();
    assert_eq!(session.bytes(), bytes);
    session.work(18);
    let bytes = session.bytes();
    session.cancel.cancel();
    let outcome = session.compact_with(Trigger::Automatic, &by_model(&silent()));
    assert_eq!(outcome.result.status, Status::Cancelled);
    assert_eq!(session.bytes(), bytes);
    // It still counts for the next attempt.
    assert!(session.conversation.is_prepared());
    session.cancel = CancellationToken::new();
    let outcome = session.compact_with(Trigger::Automatic, &by_model(&silent()));
    assert_eq!(outcome.account.prepared.map(|spend| spend.calls), Some(1));
}

#[test]
fn of_a_draft_that_is_stopped_only_the_cost_is_left() {
    let session = session(84);
    let bytes = session.bytes();
    let meter = SpendMeter::default();
    let trip = Trip::at(usize::MAX, &session.cancel);
    let slow = Slow { model: answering(), trip: &trip };
    let by = ByModel::new(&slow, "slow", TokenCount(100_000));
    let order =
        session.conversation.draft_order(&session.options, &session.settings, &by).expect("it is time");
    {
        let mut writing = Box::pin(order.write(&by, &meter, &|| Duration::ZERO));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(writing.as_mut().poll(&mut context).is_pending());
    }
    assert_eq!(session.bytes(), bytes);
    assert!(!session.conversation.is_prepared());
}
