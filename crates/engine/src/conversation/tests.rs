mod ahead;

use std::fs;
use std::sync::Mutex;
use std::time::Duration;

use longhaul_compaction::Status;
use longhaul_conversation::{
    Body, FinishReason, ModelError, Origin, Part, ResponseEvent, Role, ScriptedModel, ScriptedReply,
    TokenCount,
};
use longhaul_formats::{Replay, response_id};
use longhaul_sessions::SessionKind;
use proptest::prelude::*;

use super::*;
use crate::summarise::{Offline, Summariser};
use crate::trials::{ANSWER, MemoryFiles, RULES, Slow, Trip, block_on, by_model, user, work};
use crate::{Counting, Latch, Verify, Wait};

/// A session in a folder of its own.
struct TestSession {
    _folder: tempfile::TempDir,
    conversation: Conversation,
    options: PlanOptions,
    settings: Settings,
    files: MemoryFiles,
    events: Mutex<Vec<Event>>,
    cancel: CancellationToken,
    records: u32,
    said: usize,
}

fn new_session() -> NewSession {
    NewSession {
        id: "01234567-session".into(),
        project_hash: "hash".into(),
        kind: SessionKind::Main,
        directories: vec!["/home/me/app".into()],
        at: Timestamp::from_millis(1_000),
    }
}

impl TestSession {
    fn new(window: u64) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let conversation =
            Conversation::create(folder.path(), &new_session(), Estimator::default()).expect("a session");
        Self {
            _folder: folder,
            conversation,
            options: PlanOptions { session: "s".into(), ..PlanOptions::new(TokenCount(window)) },
            settings: Settings::default(),
            files: MemoryFiles::default(),
            events: Mutex::default(),
            cancel: CancellationToken::new(),
            records: 0,
            said: 0,
        }
    }

    fn record_id(&mut self) -> RecordId {
        self.records += 1;
        RecordId { id: format!("record-{}", self.records), at: Timestamp::from_millis(2_000) }
    }

    fn say(&mut self, messages: Vec<Message>) {
        for message in messages {
            self.said += 1;
            let own = MessageId::from(format!("said-{}", self.said));
            // Most results stand in the record of the message that asked for them.
            let is_answer = message.results().next().is_some() && !self.said.is_multiple_of(5);
            let asking = self.conversation.transcript().messages().last().filter(|_| is_answer);
            let id = asking.map_or(own, |asking| response_id(&asking.id));
            let message = Message { id, ordinal: None, ..message };
            self.conversation.append(&message).expect("it can be recorded");
        }
    }

    fn work(&mut self, steps: usize) {
        let from = self.said;
        let mut messages = work(steps, 1_500);
        // Calls need names of their own.
        for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
            match &mut part.body {
                Body::Call(call) => call.id = format!("{}-{from}", call.id).into(),
                Body::Result(result) => {
                    result.call = format!("{}-{from}", result.call).into();
                }
                _ => {}
            }
        }
        self.say(messages);
    }

    fn compact_with(&mut self, trigger: Trigger, summariser: &dyn Summariser) -> PassOutcome {
        let record_id = self.record_id();
        let deps = CompactionDeps {
            summariser,
            files: &self.files,
            counter: None,
            pre_compress: None,
            events: &|event| self.events.lock().expect("nobody panicked").push(event),
            clock: &|| Duration::ZERO,
        };
        let options = PlanOptions { trigger, ..self.options.clone() };
        let pass = self.conversation.compact(&options, &self.settings, &deps, record_id, &self.cancel);
        block_on(pass).expect("it can be recorded")
    }

    fn compact(&mut self, trigger: Trigger) -> PassOutcome {
        self.compact_with(trigger, &Offline)
    }

    fn undo(&mut self) -> Result<String, EngineError> {
        let events = |event| self.events.lock().expect("nobody panicked").push(event);
        self.conversation.undo(None, Timestamp::from_millis(3_000), &events)
    }

    /// Another process goes on with the session.
    fn reopen(&mut self) {
        let path = self.conversation.log().path().to_path_buf();
        let elsewhere = self._folder.path().join("elsewhere");
        let other = NewSession { id: "other".into(), ..new_session() };
        let other = Conversation::create(&elsewhere, &other, Estimator::default());
        // The log is closed before it is opened again.
        drop(std::mem::replace(&mut self.conversation, other.expect("a session")));
        let opened = Conversation::open(&path, &new_session(), Estimator::default());
        self.conversation = opened.expect("it opens");
        fs::remove_dir_all(elsewhere).expect("it is there");
    }

    fn shown(&self) -> Vec<Message> {
        self.conversation.transcript().messages().to_vec()
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.conversation.log().path()).expect("the log is there")
    }

    /// The disk holds what is in memory.
    #[track_caller]
    fn check_same(&self) {
        let replay = Replay::read(self.bytes().as_slice()).expect("it can be read");
        assert_eq!(replay.transcript().messages(), self.shown());
        assert_eq!(State::recorded_in(&replay), *self.conversation.state());
        let sizes = self.shown().iter().map(|message| self.conversation.estimator.message(message)).sum();
        assert_eq!(self.conversation.gauge.tokens(), longhaul_conversation::Estimate::tokens(sizes));
    }

    #[track_caller]
    fn check_rules(&self) {
        let texts: String = self.shown().iter().flat_map(|m| &m.parts).filter_map(Part::as_text).collect();
        assert!(RULES.iter().all(|rule| texts.contains(rule)), "{texts}");
    }
}

#[test]
fn a_compaction_is_recorded_and_undone() {
    let mut session = TestSession::new(12_000);
    session.work(16);
    let before = session.shown();
    let outcome = session.compact(Trigger::Forced);
    assert_eq!(outcome.result.status, Status::Compressed, "{}", outcome.result.reason);
    let messages = outcome.messages().expect("new ones");
    assert_eq!(session.shown().len(), messages.len());
    assert_eq!(
        session.shown().iter().map(|m| &m.parts).collect::<Vec<_>>(),
        messages.iter().map(|m| &m.parts).collect::<Vec<_>>()
    );
    session.check_same();
    session.check_rules();
    session.say(vec![user("Go on with retry_count.")]);
    let later = session.shown().last().cloned();
    assert_eq!(session.undo().expect("there is one"), "record-1");
    session.check_same();
    assert_eq!(session.shown(), before.into_iter().chain(later).collect::<Vec<_>>());
    assert_eq!(session.conversation.state().wait, Wait::Overflow);
    assert!(matches!(session.events.lock().expect("fine").last(), Some(Event::Undone { .. })));
    assert!(session.undo().is_err(), "there is nothing more to undo");
}

#[test]
fn masks_are_recorded_and_undone() {
    let mut session = TestSession::new(12_000);
    session.work(16);
    session.say(vec![user("And now?")]);
    let before = session.shown();
    let outcome = session.compact(Trigger::Automatic);
    assert_eq!(outcome.result.status, Status::Masked, "{}", outcome.result.reason);
    assert_eq!(Some(session.shown()), outcome.result.messages);
    session.check_same();
    session.undo().expect("there is one");
    assert_eq!(session.shown(), before);
    session.check_same();
}

#[test]
fn a_session_goes_on_where_it_was() {
    let mut session = TestSession::new(12_000);
    session.work(16);
    let record_id = session.record_id();
    let host = HostState { plan: Some("plan.md".into()), ..HostState::default() };
    session.conversation.set_host(host.clone(), record_id).expect("it can be recorded");
    let record_id = session.record_id();
    let rule = session
        .conversation
        .add_rule("Prefer tabs to spaces.", record_id)
        .expect("recorded")
        .expect("a rule");
    session.compact(Trigger::Forced);
    let record_id = session.record_id();
    assert!(session.conversation.remove_rule(rule, record_id).expect("recorded"));
    session.undo().expect("there is one");
    let shown = session.shown();
    let path = session.conversation.log().path().to_path_buf();
    let rules = |conversation: &Conversation| format!("{:?}", conversation.tracker().rules());
    let known = rules(&session.conversation);
    let TestSession { _folder: folder, conversation, .. } = session;
    drop(conversation);
    let opened = Conversation::open(&path, &new_session(), Estimator::default()).expect("it opens");
    assert_eq!(opened.transcript().messages(), shown);
    assert_eq!((opened.host(), opened.state().wait), (&host, Wait::Overflow));
    assert_eq!(rules(&opened), known);
    drop(folder);
}

#[test]
fn a_session_that_goes_on_waits_for_what_it_waited_for() {
    let mut session = TestSession::new(12_000);
    session.work(16);
    session.compact(Trigger::Forced);
    let wait = session.conversation.state().wait;
    assert!(matches!(wait, Wait::Growth { since } if since > TokenCount::ZERO), "{wait:?}");
    let path = session.conversation.log().path().to_path_buf();
    let TestSession { _folder: folder, conversation, .. } = session;
    drop(conversation);
    let opened = Conversation::open(&path, &new_session(), Estimator::default()).expect("it opens");
    assert_eq!(opened.state().wait, wait);
    drop(folder);
}

#[test]
fn failures_and_what_was_spent_outlast_the_process() {
    let mut session = TestSession::new(12_000);
    let scripted = ScriptedModel::new((0..9).map(|_| ScriptedReply::text("")));
    for failures in 1..=3 {
        session.work(16);
        session.compact_with(Trigger::Forced, &by_model(&scripted));
        assert_eq!(session.conversation.state().failures, failures);
        session.check_same();
        session.reopen();
    }
    let asked = scripted.requests().len();
    let state = session.conversation.state().clone();
    assert!(state.is_broken(&session.settings) && state.spend.calls as usize == asked, "{state:?}");
    session.work(16);
    let outcome = session.compact_with(Trigger::Forced, &by_model(&scripted));
    assert_eq!((outcome.account.spend.calls, scripted.requests().len()), (0, asked));
    session.conversation.reset(Timestamp::from_millis(4_000)).expect("recorded");
    session.check_same();
    session.reopen();
    let State { latch, failures, spend, wait, .. } = *session.conversation.state();
    assert_eq!((latch, failures, wait, spend), (Latch::Clear, 0, Wait::Nothing, state.spend));
    session.work(16);
    session.compact_with(Trigger::Forced, &by_model(&scripted));
    assert!(scripted.requests().len() > asked);
}

#[test]
fn what_was_spent_elsewhere_counts_and_is_kept() {
    let mut session = TestSession::new(12_000);
    let spend = Spend { calls: 3, tokens: TokenCount(700), estimated: TokenCount(300), money: 0.5 };
    let at = session.record_id().at;
    session.conversation.add_spend(spend, at).expect("recorded");
    session.conversation.add_spend(Spend::default(), at).expect("nothing to record");
    assert_eq!(session.conversation.state().spend, spend);
    assert_eq!(State::recorded_in(session.conversation.log().replay()).spend, spend);
    session.check_same();
}

#[test]
fn another_programs_checkpoint_and_a_fork_leave_failures_and_spend() {
    let mut session = TestSession::new(12_000);
    session.work(16);
    let scripted = ScriptedModel::new((0..4).map(|_| ScriptedReply::text("")));
    session.compact_with(Trigger::Forced, &by_model(&scripted));
    let state = session.conversation.state().clone();
    assert!(state.failures == 1 && state.spend.calls > 0, "{state:?}");
    let folder = session._folder.path().join("forks");
    let new = NewSession { id: "fork".into(), ..new_session() };
    let fork = session.conversation.log().fork(&folder, &new, None).expect("forked");
    assert_eq!(State::recorded_in(fork.replay()), state);
    let mut bytes = session.bytes();
    bytes.extend(b"{\"$set\":{\"messages\":[{\"id\":\"1\",\"type\":\"user\",\"content\":\"Hi\"}]}}\n");
    let replay = Replay::read(bytes.as_slice()).expect("it can be read");
    assert_eq!(State::recorded_in(&replay), State { wait: Wait::Nothing, ..state });
}

#[test]
fn what_a_model_recognised_as_a_rule_is_one_from_then_on() {
    let mut session = TestSession::new(12_000);
    session.work(16);
    let answer = ANSWER.replace(
        "<key_knowledge>",
        "<active_constraints>\n- \"I like short names\"\n- Use spaces.\n</active_constraints><key_knowledge>",
    );
    let scripted = ScriptedModel::new([ScriptedReply::text(answer)]);
    let outcome = session.compact_with(Trigger::Forced, &by_model(&scripted));
    assert_eq!(
        (outcome.account.model.as_deref(), outcome.result.report.summariser),
        (Some("scripted"), "model")
    );
    let texts = |conversation: &Conversation| -> Vec<String> {
        conversation.tracker().rules().active().map(|rule| rule.text.clone()).collect()
    };
    let rules = texts(&session.conversation);
    assert!(rules.contains(&"I like short names in here.".to_string()), "{rules:?}");
    assert!(!rules.iter().any(|rule| rule.contains("spaces")), "{rules:?}");
    session.conversation.rebuild_tracker();
    let mut again = texts(&session.conversation);
    again.sort();
    let mut rules = rules;
    rules.sort();
    assert_eq!(again, rules, "replay knows the same rules");
    session.check_same();
}

#[test]
fn nothing_is_done_while_nothing_is_due() {
    let mut session = TestSession::new(100_000);
    session.work(2);
    let record_id = session.record_id();
    let bytes = session.bytes();
    let deps = CompactionDeps {
        summariser: &Offline,
        files: &session.files,
        counter: None,
        pre_compress: None,
        events: &|event| panic!("{event:?}"),
        clock: &|| Duration::ZERO,
    };
    let pass =
        session.conversation.prepare(&session.options, &session.settings, &deps, record_id, &session.cancel);
    assert!(block_on(pass).expect("nothing to record").is_none());
    assert_eq!(session.bytes(), bytes);
}

#[test]
fn cancelling_at_any_moment_records_nothing_but_what_was_spent() {
    let mut session = TestSession::new(12_000);
    session.work(16);
    session.settings = Settings { counting: Counting::Exact, verify: Verify::Both, ..Settings::default() };
    let (bytes, shown) = (session.bytes(), session.shown());
    let (mut moments, mut sent) = (0, 0);
    loop {
        let record_id = session.record_id();
        session.cancel = CancellationToken::new();
        let trip = Trip::at(moments, &session.cancel);
        let scripted = ScriptedModel::new([ScriptedReply::text(ANSWER), ScriptedReply::text("")]);
        let slow = Slow { model: scripted, trip: &trip };
        let deps = CompactionDeps {
            summariser: &by_model(&slow),
            files: &session.files,
            counter: Some(&trip),
            pre_compress: Some(&trip),
            events: &|_| {},
            clock: &|| Duration::ZERO,
        };
        let options = PlanOptions { trigger: Trigger::Forced, ..session.options.clone() };
        let pass =
            session.conversation.compact(&options, &session.settings, &deps, record_id, &session.cancel);
        let outcome = block_on(pass).expect("it can be recorded");
        if outcome.result.status != Status::Cancelled {
            assert_eq!(outcome.result.status, Status::Compressed, "{}", outcome.result.reason);
            break;
        }
        sent += slow.model.requests().len();
        assert!(session.bytes().starts_with(&bytes) && session.shown() == shown);
        assert_eq!(session.bytes() == bytes, sent == 0);
        let spend = session.conversation.state().spend;
        assert_eq!(spend.calls as usize, sent, "what was sent is spent");
        let state = State { spend, ..State::default() };
        assert_eq!((session.conversation.state(), session.files.names()), (&state, Vec::new()));
        moments += 1;
    }
    assert!(moments > 6, "{moments}");
    assert_ne!(session.bytes(), bytes);
    session.check_same();
}

#[test]
fn a_pass_may_run_on_any_thread() {
    fn check<T: Send>(_: T) {}
    let mut session = TestSession::new(12_000);
    let record_id = session.record_id();
    let deps = CompactionDeps {
        summariser: &Offline,
        files: &session.files,
        counter: None,
        pre_compress: None,
        events: &|_| {},
        clock: &|| Duration::ZERO,
    };
    check(session.conversation.compact(
        &session.options,
        &session.settings,
        &deps,
        record_id,
        &session.cancel,
    ));
}

#[test]
fn a_pass_that_is_dropped_never_happened() {
    let mut session = TestSession::new(12_000);
    session.work(16);
    let (bytes, shown) = (session.bytes(), session.shown());
    let record_id = session.record_id();
    let trip = Trip::at(usize::MAX, &session.cancel);
    let slow = Slow { model: ScriptedModel::new([ScriptedReply::text(ANSWER)]), trip: &trip };
    let deps = CompactionDeps {
        summariser: &by_model(&slow),
        files: &session.files,
        counter: None,
        pre_compress: None,
        events: &|_| {},
        clock: &|| Duration::ZERO,
    };
    let options = PlanOptions { trigger: Trigger::Forced, ..session.options.clone() };
    {
        let pass =
            session.conversation.compact(&options, &session.settings, &deps, record_id, &session.cancel);
        let mut pass = std::pin::pin!(pass);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(pass.as_mut().poll(&mut context).is_pending());
    }
    assert_eq!((session.bytes(), session.shown(), session.files.names()), (bytes, shown, Vec::new()));
}

#[test]
fn twenty_compactions_keep_every_pin_in_bounded_room() {
    let mut session = TestSession::new(12_000);
    let mut rules: Vec<String> = RULES.iter().map(|rule| rule.to_string()).collect();
    let mut sizes = Vec::new();
    for round in 0..20 {
        session.work(16);
        if round % 4 == 0 {
            let rule = format!("Never change the file named frozen_{round}.toml.");
            session.say(vec![user(&rule)]);
            rules.push(rule);
        }
        let outcome = session.compact(Trigger::Forced);
        assert_eq!(outcome.result.status, Status::Compressed, "{}", outcome.result.reason);
        let budget = session.options.budget.snapshot;
        assert!(outcome.result.added <= budget + TokenCount(1), "{} of {budget}", outcome.result.added);
        let texts: String = session.shown().iter().flat_map(|m| &m.parts).filter_map(Part::as_text).collect();
        assert!(rules.iter().all(|rule| texts.contains(rule.as_str())), "round {round}: {texts}");
        session.check_same();
        sizes.push(serde_json::to_string(session.conversation.tracker()).expect("it can be written").len());
    }
    let (_, size) = (sizes[0], *sizes.last().expect("twenty"));
    // The pool holds a bounded number of characters; each comes with what is known about its anchors.
    assert!(size < 20_000_000, "{size}");
    assert!(session.shown().len() < 60, "{}", session.shown().len());
}

/// Answers of a summariser.
fn any_reply() -> impl Strategy<Value = ScriptedReply> {
    let finished = |text: String, reason: FinishReason| {
        ScriptedReply::events([ResponseEvent::TextDelta(text), ResponseEvent::Finished(reason)])
    };
    let tags = "(<(/)?(state_snapshot|overall_goal|active_constraints|key_knowledge|history|scratchpad)>|User: |\\[m[0-9]{1,3}\\]|[a-z_]{1,9}[ .\n]){0,40}";
    prop_oneof![
        Just(ScriptedReply::text(ANSWER)),
        Just(ScriptedReply::text("")),
        "\\PC{0,200}".prop_map(ScriptedReply::text),
        tags.prop_map(ScriptedReply::text),
        (1usize..9_000).prop_map(|times| ScriptedReply::text("retry_count in src/upload.rs\n".repeat(times))),
        Just(ScriptedReply::text("y".repeat(200_000))),
        tags.prop_map(move |text| finished(text, FinishReason::Length)),
        tags.prop_map(move |text| finished(text, FinishReason::Other("MYSTERY".into()))),
        tags.prop_map(|text| ScriptedReply::events([ResponseEvent::TextDelta(text)])),
        Just(ScriptedReply::error(ModelError::TooLong)),
        Just(ScriptedReply::error(ModelError::Busy { retry_after: None, reason: "overloaded".into() })),
        tags.prop_map(
            |text| ScriptedReply::text(text).then_error(ModelError::Interrupted { reason: "cut".into() })
        ),
    ]
}

#[derive(Clone, Debug)]
enum Step {
    Say(u8),
    Compact(bool),
    Undo,
    Rewind(u8),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (1u8..9).prop_map(Step::Say),
        3 => any::<bool>().prop_map(Step::Compact),
        1 => Just(Step::Undo),
        1 => (1u8..5).prop_map(Step::Rewind),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn whatever_a_summariser_answers_calls_are_bounded_and_rules_kept(
        replies in prop::collection::vec(any_reply(), 1..12),
        verify in prop::sample::select(&Verify::ALL[..]),
    ) {
        let mut session = TestSession::new(9_000);
        session.settings.verify = verify;
        let scripted = ScriptedModel::new(replies.iter().cycle().take(200).cloned());
        let mut in_vain = 0;
        for _ in 0..7 {
            session.work(10);
            let asked = scripted.requests().len();
            let was_broken = session.conversation.state().is_broken(&session.settings);
            let outcome = session.compact_with(Trigger::Forced, &by_model(&scripted));
            let calls = scripted.requests().len() - asked;
            prop_assert!(outcome.result.status.is_change(), "{}", outcome.result.reason);
            prop_assert!(outcome.result.after <= session.options.budget.window);
            prop_assert_eq!(outcome.result.report.rules_kept, outcome.result.report.rules);
            // A call, its blocks where it was too long, their merge and a review, each at most twice.
            prop_assert!(calls <= 11, "{}", calls);
            prop_assert!(!was_broken || calls == 0);
            in_vain = if outcome.account.model.is_some() { 0 } else { in_vain + usize::from(calls > 0) };
            prop_assert!(in_vain <= 3);
            prop_assert_eq!(outcome.account.spend.calls as usize, calls);
            session.check_same();
            session.check_rules();
        }
    }

    #[test]
    fn memory_and_log_agree_whatever_happens(steps in prop::collection::vec(any_step(), 1..14)) {
        let mut session = TestSession::new(9_000);
        session.work(6);
        for step in steps {
            match step {
                Step::Say(steps) => session.work(usize::from(steps)),
                Step::Compact(forced) => {
                    let trigger = if forced { Trigger::Forced } else { Trigger::Automatic };
                    let before = session.shown();
                    let outcome = session.compact(trigger);
                    if outcome.messages().is_some() {
                        // Undone at once, it never happened; then it happens again.
                        session.undo().expect("it was just made");
                        prop_assert_eq!(session.shown(), before);
                        session.check_same();
                        session.compact(trigger);
                    }
                }
                Step::Undo => drop(session.undo()),
                Step::Rewind(back) => {
                    let messages = session.conversation.log().replay().messages();
                    let place = messages.len().saturating_sub(usize::from(back)).max(1);
                    if let Some(id) = messages.get(place).map(|message| message.id.clone()) {
                        session.conversation.rewind_to(&id).expect("it is there");
                    }
                }
            }
            session.check_same();
        }
    }
}

#[test]
fn outputs_are_dropped_by_hand_and_undone() {
    let mut session = TestSession::new(200_000);
    session.work(4);
    let before = session.shown();
    let holder = before.iter().find(|message| message.results().next().is_some()).expect("an output").clone();
    let ordinal = holder.ordinal.expect("a number");
    let size = session.conversation.size();
    let record_id = session.record_id();
    assert_eq!(
        session.conversation.drop_outputs(ordinal, record_id).expect("recorded"),
        holder.results().count()
    );
    session.check_same();
    let shown = session.shown();
    let dropped = shown.iter().find(|message| message.id == holder.id).expect("it is still there");
    assert!(dropped.results().all(|result| result.readable().starts_with("[Dropped by the user: ")));
    assert!(session.conversation.size() < size);
    assert_eq!(shown.iter().filter(|message| !before.contains(message)).count(), 1, "nothing else changed");
    let record_id = session.record_id();
    assert_eq!(session.conversation.drop_outputs(ordinal, record_id).expect("fine"), 0, "once is enough");
    let record_id = session.record_id();
    assert_eq!(session.conversation.drop_outputs(Ordinal(9_999), record_id).expect("fine"), 0);
    session.reopen();
    assert_eq!(session.shown(), shown);
    session.undo().expect("there is one");
    session.check_same();
    assert_eq!(session.shown(), before);
}

#[test]
fn a_typed_message_stands_for_its_turn() {
    let mut session = TestSession::new(200_000);
    session.work(3);
    let shown = session.shown();
    let typed: Vec<_> = shown
        .iter()
        .filter(|message| {
            message.role == Role::User && message.parts.iter().any(|part| part.origin == Origin::User)
        })
        .filter_map(|message| message.ordinal)
        .collect();
    let outputs: usize = shown.iter().map(|message| message.results().count()).sum();
    let mut dropped = 0;
    for ordinal in typed {
        let record_id = session.record_id();
        dropped += session.conversation.drop_outputs(ordinal, record_id).expect("recorded");
    }
    assert_eq!(dropped, outputs);
    session.check_same();
}
