use std::fs;
use std::sync::Mutex;
use std::time::Duration;

use longhaul_compaction::Status;
use longhaul_conversation::{
    Body, FinishReason, ModelError, Part, ResponseEvent, ScriptedModel, ScriptedReply, TokenCount,
};
use longhaul_session::{Replay, SessionKind, response_id};
use proptest::prelude::*;

use super::*;
use crate::summarise::{Offline, Summariser};
use crate::trials::{ANSWER, MemoryFiles, RULES, Slow, Trip, block_on, by_model, user, work};
use crate::{Counting, Latch, Verify, Wait};

/// A session in a folder of its own.
struct Desk {
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

impl Desk {
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

    /// What is on the disk is what is in memory.
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
    let mut desk = Desk::new(12_000);
    desk.work(16);
    let before = desk.shown();
    let outcome = desk.compact(Trigger::Forced);
    assert_eq!(outcome.result.status, Status::Compressed, "{}", outcome.result.reason);
    let messages = outcome.messages().expect("new ones");
    assert_eq!(desk.shown().len(), messages.len());
    assert_eq!(
        desk.shown().iter().map(|m| &m.parts).collect::<Vec<_>>(),
        messages.iter().map(|m| &m.parts).collect::<Vec<_>>()
    );
    desk.check_same();
    desk.check_rules();
    desk.say(vec![user("Go on with retry_count.")]);
    let later = desk.shown().last().cloned();
    assert_eq!(desk.undo().expect("there is one"), "record-1");
    desk.check_same();
    assert_eq!(desk.shown(), before.into_iter().chain(later).collect::<Vec<_>>());
    assert_eq!(desk.conversation.state().wait, Wait::Overflow);
    assert!(matches!(desk.events.lock().expect("fine").last(), Some(Event::Undone { .. })));
    assert!(desk.undo().is_err(), "there is nothing more to undo");
}

#[test]
fn masks_are_recorded_and_undone() {
    let mut desk = Desk::new(12_000);
    desk.work(16);
    desk.say(vec![user("And now?")]);
    let before = desk.shown();
    let outcome = desk.compact(Trigger::Automatic);
    assert_eq!(outcome.result.status, Status::Masked, "{}", outcome.result.reason);
    assert_eq!(Some(desk.shown()), outcome.result.messages);
    desk.check_same();
    desk.undo().expect("there is one");
    assert_eq!(desk.shown(), before);
    desk.check_same();
}

#[test]
fn a_session_goes_on_where_it_was() {
    let mut desk = Desk::new(12_000);
    desk.work(16);
    let record_id = desk.record_id();
    let host = HostState { plan: Some("plan.md".into()), ..HostState::default() };
    desk.conversation.set_host(host.clone(), record_id).expect("it can be recorded");
    let record_id = desk.record_id();
    let pin = desk.conversation.pin("Prefer tabs to spaces.", record_id).expect("recorded").expect("a pin");
    desk.compact(Trigger::Forced);
    let record_id = desk.record_id();
    assert!(desk.conversation.unpin(pin, record_id).expect("recorded"));
    desk.undo().expect("there is one");
    let shown = desk.shown();
    let path = desk.conversation.log().path().to_path_buf();
    let pins = |conversation: &Conversation| format!("{:?}", conversation.tracker().pins());
    let known = pins(&desk.conversation);
    let Desk { _folder: folder, conversation, .. } = desk;
    drop(conversation);
    let opened = Conversation::open(&path, &new_session(), Estimator::default()).expect("it opens");
    assert_eq!(opened.transcript().messages(), shown);
    assert_eq!((opened.host(), opened.state().wait), (&host, Wait::Overflow));
    assert_eq!(pins(&opened), known);
    drop(folder);
}

#[test]
fn a_session_that_goes_on_waits_for_what_it_waited_for() {
    let mut desk = Desk::new(12_000);
    desk.work(16);
    desk.compact(Trigger::Forced);
    let wait = desk.conversation.state().wait;
    assert!(matches!(wait, Wait::Growth { since } if since > TokenCount::ZERO), "{wait:?}");
    let path = desk.conversation.log().path().to_path_buf();
    let Desk { _folder: folder, conversation, .. } = desk;
    drop(conversation);
    let opened = Conversation::open(&path, &new_session(), Estimator::default()).expect("it opens");
    assert_eq!(opened.state().wait, wait);
    drop(folder);
}

#[test]
fn failures_and_what_was_spent_outlast_the_process() {
    let mut desk = Desk::new(12_000);
    let scripted = ScriptedModel::new((0..9).map(|_| ScriptedReply::text("")));
    for failures in 1..=3 {
        desk.work(16);
        desk.compact_with(Trigger::Forced, &by_model(&scripted));
        assert_eq!(desk.conversation.state().failures, failures);
        desk.check_same();
        desk.reopen();
    }
    let asked = scripted.requests().len();
    let state = desk.conversation.state().clone();
    assert!(state.is_broken(&desk.settings) && state.spend.calls as usize == asked, "{state:?}");
    desk.work(16);
    let outcome = desk.compact_with(Trigger::Forced, &by_model(&scripted));
    assert_eq!((outcome.account.spend.calls, scripted.requests().len()), (0, asked));
    desk.conversation.reset(Timestamp::from_millis(4_000)).expect("recorded");
    desk.check_same();
    desk.reopen();
    let State { latch, failures, spend, wait, .. } = *desk.conversation.state();
    assert_eq!((latch, failures, wait, spend), (Latch::Clear, 0, Wait::Nothing, state.spend));
    desk.work(16);
    desk.compact_with(Trigger::Forced, &by_model(&scripted));
    assert!(scripted.requests().len() > asked);
}

#[test]
fn what_was_spent_elsewhere_counts_and_is_kept() {
    let mut desk = Desk::new(12_000);
    let spend = Spend { calls: 3, tokens: TokenCount(700), estimated: TokenCount(300), money: 0.5 };
    let at = desk.record_id().at;
    desk.conversation.add_spend(spend, at).expect("recorded");
    desk.conversation.add_spend(Spend::default(), at).expect("nothing to record");
    assert_eq!(desk.conversation.state().spend, spend);
    assert_eq!(State::recorded_in(desk.conversation.log().replay()).spend, spend);
    desk.check_same();
}

#[test]
fn another_programs_checkpoint_and_a_fork_leave_failures_and_spend() {
    let mut desk = Desk::new(12_000);
    desk.work(16);
    let scripted = ScriptedModel::new((0..4).map(|_| ScriptedReply::text("")));
    desk.compact_with(Trigger::Forced, &by_model(&scripted));
    let state = desk.conversation.state().clone();
    assert!(state.failures == 1 && state.spend.calls > 0, "{state:?}");
    let folder = desk._folder.path().join("forks");
    let new = NewSession { id: "fork".into(), ..new_session() };
    let fork = desk.conversation.log().fork(&folder, &new, None).expect("forked");
    assert_eq!(State::recorded_in(fork.replay()), state);
    let mut bytes = desk.bytes();
    bytes.extend(b"{\"$set\":{\"messages\":[{\"id\":\"1\",\"type\":\"user\",\"content\":\"Hi\"}]}}\n");
    let replay = Replay::read(bytes.as_slice()).expect("it can be read");
    assert_eq!(State::recorded_in(&replay), State { wait: Wait::Nothing, ..state });
}

#[test]
fn what_a_model_recognised_as_a_rule_is_one_from_then_on() {
    let mut desk = Desk::new(12_000);
    desk.work(16);
    let answer = ANSWER.replace(
        "<key_knowledge>",
        "<active_constraints>\n- \"I like short names\"\n- Use spaces.\n</active_constraints><key_knowledge>",
    );
    let scripted = ScriptedModel::new([ScriptedReply::text(answer)]);
    let outcome = desk.compact_with(Trigger::Forced, &by_model(&scripted));
    assert_eq!(
        (outcome.account.model.as_deref(), outcome.result.report.summariser),
        (Some("scripted"), "model")
    );
    let texts = |conversation: &Conversation| -> Vec<String> {
        conversation.tracker().pins().active().map(|pin| pin.text.clone()).collect()
    };
    let pins = texts(&desk.conversation);
    assert!(pins.contains(&"I like short names in here.".to_string()), "{pins:?}");
    assert!(!pins.iter().any(|pin| pin.contains("spaces")), "{pins:?}");
    desk.conversation.learn_again();
    let mut again = texts(&desk.conversation);
    again.sort();
    let mut pins = pins;
    pins.sort();
    assert_eq!(again, pins, "replay knows the same rules");
    desk.check_same();
}

#[test]
fn nothing_is_done_while_nothing_is_due() {
    let mut desk = Desk::new(100_000);
    desk.work(2);
    let record_id = desk.record_id();
    let bytes = desk.bytes();
    let deps = CompactionDeps {
        summariser: &Offline,
        files: &desk.files,
        counter: None,
        pre_compress: None,
        events: &|event| panic!("{event:?}"),
        clock: &|| Duration::ZERO,
    };
    let pass = desk.conversation.prepare(&desk.options, &desk.settings, &deps, record_id, &desk.cancel);
    assert!(block_on(pass).expect("nothing to record").is_none());
    assert_eq!(desk.bytes(), bytes);
}

#[test]
fn cancelling_at_any_moment_records_nothing_but_what_was_spent() {
    let mut desk = Desk::new(12_000);
    desk.work(16);
    desk.settings = Settings { counting: Counting::Exact, verify: Verify::Both, ..Settings::default() };
    let (bytes, shown) = (desk.bytes(), desk.shown());
    let (mut moments, mut sent) = (0, 0);
    loop {
        let record_id = desk.record_id();
        desk.cancel = CancellationToken::new();
        let trip = Trip::at(moments, &desk.cancel);
        let scripted = ScriptedModel::new([ScriptedReply::text(ANSWER), ScriptedReply::text("")]);
        let slow = Slow { model: scripted, trip: &trip };
        let deps = CompactionDeps {
            summariser: &by_model(&slow),
            files: &desk.files,
            counter: Some(&trip),
            pre_compress: Some(&trip),
            events: &|_| {},
            clock: &|| Duration::ZERO,
        };
        let options = PlanOptions { trigger: Trigger::Forced, ..desk.options.clone() };
        let pass = desk.conversation.compact(&options, &desk.settings, &deps, record_id, &desk.cancel);
        let outcome = block_on(pass).expect("it can be recorded");
        if outcome.result.status != Status::Cancelled {
            assert_eq!(outcome.result.status, Status::Compressed, "{}", outcome.result.reason);
            break;
        }
        sent += slow.model.requests().len();
        assert!(desk.bytes().starts_with(&bytes) && desk.shown() == shown);
        assert_eq!(desk.bytes() == bytes, sent == 0);
        let spend = desk.conversation.state().spend;
        assert_eq!(spend.calls as usize, sent, "what was sent is spent");
        let state = State { spend, ..State::default() };
        assert_eq!((desk.conversation.state(), desk.files.names()), (&state, Vec::new()));
        moments += 1;
    }
    assert!(moments > 6, "{moments}");
    assert_ne!(desk.bytes(), bytes);
    desk.check_same();
}

#[test]
fn a_pass_may_run_on_any_thread() {
    fn check<T: Send>(_: T) {}
    let mut desk = Desk::new(12_000);
    let record_id = desk.record_id();
    let deps = CompactionDeps {
        summariser: &Offline,
        files: &desk.files,
        counter: None,
        pre_compress: None,
        events: &|_| {},
        clock: &|| Duration::ZERO,
    };
    check(desk.conversation.compact(&desk.options, &desk.settings, &deps, record_id, &desk.cancel));
}

#[test]
fn a_pass_that_is_dropped_never_happened() {
    let mut desk = Desk::new(12_000);
    desk.work(16);
    let (bytes, shown) = (desk.bytes(), desk.shown());
    let record_id = desk.record_id();
    let trip = Trip::at(usize::MAX, &desk.cancel);
    let slow = Slow { model: ScriptedModel::new([ScriptedReply::text(ANSWER)]), trip: &trip };
    let deps = CompactionDeps {
        summariser: &by_model(&slow),
        files: &desk.files,
        counter: None,
        pre_compress: None,
        events: &|_| {},
        clock: &|| Duration::ZERO,
    };
    let options = PlanOptions { trigger: Trigger::Forced, ..desk.options.clone() };
    {
        let pass = desk.conversation.compact(&options, &desk.settings, &deps, record_id, &desk.cancel);
        let mut pass = std::pin::pin!(pass);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(pass.as_mut().poll(&mut context).is_pending());
    }
    assert_eq!((desk.bytes(), desk.shown(), desk.files.names()), (bytes, shown, Vec::new()));
}

#[test]
fn twenty_compactions_keep_every_pin_in_bounded_room() {
    let mut desk = Desk::new(12_000);
    let mut rules: Vec<String> = RULES.iter().map(|rule| rule.to_string()).collect();
    let mut sizes = Vec::new();
    for round in 0..20 {
        desk.work(16);
        if round % 4 == 0 {
            let rule = format!("Never change the file named frozen_{round}.toml.");
            desk.say(vec![user(&rule)]);
            rules.push(rule);
        }
        let outcome = desk.compact(Trigger::Forced);
        assert_eq!(outcome.result.status, Status::Compressed, "{}", outcome.result.reason);
        let budget = desk.options.budget.snapshot;
        assert!(outcome.result.added <= budget + TokenCount(1), "{} of {budget}", outcome.result.added);
        let texts: String = desk.shown().iter().flat_map(|m| &m.parts).filter_map(Part::as_text).collect();
        assert!(rules.iter().all(|rule| texts.contains(rule.as_str())), "round {round}: {texts}");
        desk.check_same();
        sizes.push(serde_json::to_string(desk.conversation.tracker()).expect("it can be written").len());
    }
    let (_, size) = (sizes[0], *sizes.last().expect("twenty"));
    // The pool holds a bounded number of characters; each comes with what is known about its anchors.
    assert!(size < 20_000_000, "{size}");
    assert!(desk.shown().len() < 60, "{}", desk.shown().len());
}

/// What a summariser may answer.
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
        let mut desk = Desk::new(9_000);
        desk.settings.verify = verify;
        let scripted = ScriptedModel::new(replies.iter().cycle().take(200).cloned());
        let mut in_vain = 0;
        for _ in 0..7 {
            desk.work(10);
            let asked = scripted.requests().len();
            let was_broken = desk.conversation.state().is_broken(&desk.settings);
            let outcome = desk.compact_with(Trigger::Forced, &by_model(&scripted));
            let calls = scripted.requests().len() - asked;
            prop_assert!(outcome.result.status.is_change(), "{}", outcome.result.reason);
            prop_assert!(outcome.result.after <= desk.options.budget.window);
            prop_assert_eq!(outcome.result.report.pins_kept, outcome.result.report.pins);
            // A call, its blocks where it was too long, their merge and a review, each at most twice.
            prop_assert!(calls <= 11, "{}", calls);
            prop_assert!(!was_broken || calls == 0);
            in_vain = if outcome.account.model.is_some() { 0 } else { in_vain + usize::from(calls > 0) };
            prop_assert!(in_vain <= 3);
            prop_assert_eq!(outcome.account.spend.calls as usize, calls);
            desk.check_same();
            desk.check_rules();
        }
    }

    #[test]
    fn memory_and_log_agree_whatever_happens(steps in prop::collection::vec(any_step(), 1..14)) {
        let mut desk = Desk::new(9_000);
        desk.work(6);
        for step in steps {
            match step {
                Step::Say(steps) => desk.work(usize::from(steps)),
                Step::Compact(forced) => {
                    let trigger = if forced { Trigger::Forced } else { Trigger::Automatic };
                    let before = desk.shown();
                    let outcome = desk.compact(trigger);
                    if outcome.messages().is_some() {
                        // Undone at once, it never happened; then it happens again.
                        desk.undo().expect("it was just made");
                        prop_assert_eq!(desk.shown(), before);
                        desk.check_same();
                        desk.compact(trigger);
                    }
                }
                Step::Undo => drop(desk.undo()),
                Step::Rewind(back) => {
                    let messages = desk.conversation.log().replay().messages();
                    let place = messages.len().saturating_sub(usize::from(back)).max(1);
                    if let Some(id) = messages.get(place).map(|message| message.id.clone()) {
                        desk.conversation.rewind_to(&id).expect("it is there");
                    }
                }
            }
            desk.check_same();
        }
    }
}
