use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::Poll;

use longhaul_compaction::{Threshold, Trigger};
use longhaul_conversation::{
    AnswerLimit, Consumption, FinishReason, Model, ModelError, ModelStream, Request, ResponseEvent,
    ScriptedModel, ScriptedReply, Timestamp, Usage,
};
use longhaul_engine::{CalibrationFile, Folder};

use super::super::session::CompactionRequest;
use super::trial::{AT, Trial, replay, said, settings, texts, words};
use super::*;
use crate::{Overflow, Spending};

#[test]
fn a_turn_records_what_was_said_and_answered() {
    let mut trial = Trial::new(32_000);
    let usage = Usage { input: Some(TokenCount(90)), ..Usage::default() };
    let model = ScriptedModel::new([ScriptedReply::events([
        ResponseEvent::ThoughtDelta("A greeting.".into()),
        ResponseEvent::TextDelta("Good ".into()),
        ResponseEvent::TextDelta("day.".into()),
        ResponseEvent::Usage(usage),
        ResponseEvent::Finished(FinishReason::Stop),
    ])]);
    assert_eq!(trial.run("Hello.", &model), TurnEnd::Finished(FinishReason::Stop));
    assert_eq!(trial.recorded(), ["user: (context)", "user: Hello.", "model: Good day."]);
    // The output was not reported: 20 bytes arrived.
    let consumed = Consumption {
        requests: 1,
        usage: Some(usage),
        estimated_output: TokenCount(5),
        ..Consumption::default()
    };
    let expected = [
        Event::StepBegan { step: 1 },
        Event::ThoughtDelta("A greeting.".into()),
        Event::TextDelta("Good ".into()),
        Event::TextDelta("day.".into()),
        Event::Usage(usage),
        Event::Spent { on: Spending::Answer, consumed },
        Event::Ended(TurnEnd::Finished(FinishReason::Stop)),
    ];
    assert_eq!(trial.events(), expected);
    let [request] = model.requests().try_into().expect("one request");
    assert_eq!((request.model.as_str(), request.system[0].as_text()), ("m", Some("Be brief.")));
    let reply = trial.agent.conversation().transcript().messages().last().cloned().expect("a reply");
    assert_eq!((reply.model.as_deref(), reply.usage.as_deref()), (Some("p/m"), Some(&usage)));
    trial.check_valid();
}

#[test]
fn turns_go_on_with_the_same_beginning() {
    let mut trial = Trial::new(32_000);
    let model = ScriptedModel::new(["One.", "Two.", "Three."].map(ScriptedReply::text));
    trial.run("1", &model);
    trial.agent.session.settings.context.directory = "/elsewhere".into();
    trial.run("2", &model);
    trial.agent.session.settings.system = "Be long.".into();
    trial.run("3", &model);
    let requests = model.requests();
    assert_eq!(texts(&requests[1])[..2], texts(&requests[0])[..]);
    assert_eq!(texts(&requests[2])[1..], ["1", "One.", "2", "Two.", "3"]);
    let fragments = replay(trial.agent.conversation().log().path()).fragments().to_vec();
    let systems: Vec<_> = fragments.iter().map(|fragment| fragment.content.clone()).collect();
    assert_eq!(systems, ["Be brief.", "Be long."].map(|text| FragmentContent::Text(text.into())));
}

#[test]
fn a_session_that_began_elsewhere_learns_where_it_is() {
    let mut trial = Trial::new(32_000);
    let old = Message::new("old", Role::User, vec![Part::user_text("From elsewhere.")]);
    trial.agent.session.conversation.append(&old).expect("recorded");
    let model = ScriptedModel::new(["One.", "Two."].map(ScriptedReply::text));
    trial.run("Go on.", &model);
    trial.run("And on.", &model);
    let last = texts(&model.requests()[1]);
    assert_eq!(last.iter().filter(|text| is_session_context(text)).count(), 1, "{last:?}");
    assert!(is_session_context(&last[1]) && last[2] == "Go on.", "{last:?}");
}

/// Looks at the log when it is asked.
struct Witness<'a> {
    path: &'a Path,
    seen: Mutex<Vec<String>>,
}

impl Model for Witness<'_> {
    fn stream(&self, _: Request) -> ModelStream<'_> {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = said(self.path);
        Box::pin(Pending { text: None })
    }
}

/// An answer that says something, perhaps, and then nothing ever again.
struct Pending {
    text: Option<&'static str>,
}

impl futures_core::Stream for Pending {
    type Item = Result<ResponseEvent, ModelError>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> Poll<Option<Self::Item>> {
        match self.text.take() {
            Some(text) => Poll::Ready(Some(Ok(ResponseEvent::TextDelta(text.into())))),
            None => Poll::Pending,
        }
    }
}

/// Says one word and stalls.
struct Stalling;

impl Model for Stalling {
    fn stream(&self, _: Request) -> ModelStream<'_> {
        Box::pin(Pending { text: Some("Hel") })
    }
}

#[test]
fn what_is_said_is_on_the_disk_before_it_is_sent() {
    let mut trial = Trial::new(32_000);
    let path = trial.agent.conversation().log().path().to_path_buf();
    let model = Witness { path: &path, seen: Mutex::default() };
    let folder = trial.folder.path().to_path_buf();
    let cancel = CancellationToken::new();
    let files = Folder::new(folder);
    let ids = AtomicU32::new(1);
    let (now, new_id) =
        (|| Timestamp::from_millis(AT), || format!("id-{}", ids.fetch_add(1, Ordering::Relaxed)));
    let host = AgentDeps::new(&model, &files, &now, &new_id);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let end = runtime.block_on(async {
        let turn = trial.agent.run_turn("Hello.", &host, &cancel);
        let stop = async {
            tokio::task::yield_now().await;
            cancel.cancel();
        };
        tokio::join!(turn, stop).0.expect("recorded")
    });
    assert_eq!(end, TurnEnd::Cancelled);
    let seen = model.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert_eq!(seen, ["user: (context)", "user: Hello."]);
    trial.check_valid();
}

#[test]
fn cancelling_keeps_what_had_arrived() {
    let mut trial = Trial::new(32_000);
    let end = trial.run_until("Hello.", &Stalling, |event| matches!(event, Event::TextDelta(_)));
    assert_eq!(end, TurnEnd::Cancelled);
    assert_eq!(trial.recorded(), ["user: (context)", "user: Hello.", "model: Hel"]);
    trial.check_valid();
    let model = ScriptedModel::new([ScriptedReply::text("Hello to you.")]);
    assert_eq!(trial.run("Go on.", &model), TurnEnd::Finished(FinishReason::Stop));
    assert_eq!(texts(&model.requests()[0])[1..], ["Hello.", "Hel", "Go on."]);
}

#[test]
fn a_failure_keeps_what_had_arrived_but_no_calls() {
    let mut trial = Trial::new(32_000);
    let cut = ModelError::Interrupted { reason: "cut".into() };
    let call = Part::call(longhaul_conversation::ToolCall::new("c1", "read_file"));
    let broken =
        ScriptedReply::events([ResponseEvent::TextDelta("Let me".into()), ResponseEvent::Part(call)]);
    let model = ScriptedModel::new([broken.then_error(cut.clone())]);
    assert_eq!(trial.run("Hello.", &model), TurnEnd::Failed(cut));
    assert_eq!(trial.recorded().last().map(String::as_str), Some("model: Let me"));
    trial.check_valid();
    let busy = ModelError::Busy { reason: "overloaded".into(), retry_after: None };
    let model = ScriptedModel::new([ScriptedReply::error(busy.clone())]);
    assert_eq!(trial.run("Again.", &model), TurnEnd::Failed(busy));
    assert_eq!(trial.recorded().last().map(String::as_str), Some("user: Again."));
}

#[test]
fn a_message_that_never_fits_ends_the_turn_and_is_taken_back() {
    let mut trial = Trial::new(2_000);
    let model = ScriptedModel::new([ScriptedReply::text("Fine.")]);
    let long = words(2_000);
    let TurnEnd::Overflow(overflow) = trial.run(&long, &model) else { panic!("it cannot fit") };
    assert!(overflow.request > overflow.remaining && overflow.window == TokenCount(2_000), "{overflow:?}");
    assert!(trial.has(|event| *event == Event::Overflow(overflow)));
    assert!(model.requests().is_empty());
    assert!(trial.has(|event| *event == Event::PromptTakenBack));
    assert_eq!(trial.recorded(), ["user: (context)"]);
    let said = trial.agent.conversation().log().replay().said().len();
    assert_eq!(said, 2, "the log keeps it");
    assert_eq!(trial.run("Never mind.", &model), TurnEnd::Finished(FinishReason::Stop));
    let sent = texts(&model.requests()[0]).concat();
    assert!(sent.contains("Never mind.") && !sent.contains(&long), "it is not paid for with the next one");
    trial.check_valid();
}

#[test]
fn a_message_that_the_provider_refuses_is_taken_back() {
    let mut trial = Trial::new(100_000);
    trial.run("Hello.", &ScriptedModel::new([ScriptedReply::text("Yes.")]));
    let before = trial.recorded();
    let too_long = || ScriptedReply::error(ModelError::TooLong);
    let model = ScriptedModel::new([too_long(), too_long(), ScriptedReply::text("Fine.")]);
    assert_eq!(trial.run("Refused words.", &model), TurnEnd::Failed(ModelError::TooLong));
    assert!(trial.has(|event| *event == Event::PromptTakenBack));
    assert_eq!(trial.recorded(), before);
    let next = ScriptedModel::new([ScriptedReply::text("Fine.")]);
    assert_eq!(trial.run("Shorter.", &next), TurnEnd::Finished(FinishReason::Stop));
    assert!(!texts(&next.requests()[0]).concat().contains("Refused words."));
    // What the model has begun to work on stays.
    let call = Part::call(longhaul_conversation::ToolCall::new("c9", "no_such_tool"));
    let works = ScriptedReply::events([ResponseEvent::Part(call)]);
    let model = ScriptedModel::new([works, too_long(), too_long()]);
    assert_eq!(trial.run("Work.", &model), TurnEnd::Failed(ModelError::TooLong));
    assert!(trial.recorded().iter().any(|message| message == "user: Work."), "{:?}", trial.recorded());
    trial.check_valid();
}

#[test]
fn without_a_fallback_the_hint_names_the_ways_out() {
    let mut settings = settings(4_000);
    settings.budget.threshold = Some(Threshold::Off);
    settings.compaction.fallback = longhaul_engine::Fallback::Off;
    let mut trial = Trial::with(settings);
    let refuses: &ScriptedModel = Box::leak(Box::new(ScriptedModel::new(
        (0..9).map(|_| ScriptedReply::error(ModelError::Refused { reason: "no".into() })),
    )));
    trial.aids.summariser =
        Some(Box::new(longhaul_engine::ByModel::new(refuses, "small", TokenCount(100_000))));
    let model = ScriptedModel::new([ScriptedReply::text(words(900)), ScriptedReply::text("never")]);
    trial.run("Recite.", &model);
    let TurnEnd::Overflow(overflow) = trial.run(&words(840), &model) else { panic!("there is no room") };
    assert_eq!(overflow.cause, crate::OverflowCause::NoSummary);
    let remedy = overflow.remedy().expect("a remedy");
    for word in ["longhaul.compaction.fallback", "offline", "larger context window", "new session"] {
        assert!(remedy.contains(word), "{remedy}");
    }
}

#[test]
fn the_guard_compacts_whatever_the_threshold() {
    let mut settings = settings(4_000);
    settings.budget.threshold = Some(Threshold::Off);
    let mut trial = Trial::with(settings);
    let answer = words(900);
    let model = ScriptedModel::new([ScriptedReply::text(answer), ScriptedReply::text("Fine.")]);
    trial.run("Recite.", &model);
    let is_applied = |event: &Event| matches!(event, Event::Compaction(longhaul_engine::Event::Applied { after, .. }) if after.0 < 3_800);
    assert!(!trial.has(is_applied));
    let end = trial.run(&words(840), &model);
    assert_eq!(end, TurnEnd::Finished(FinishReason::Stop), "{:?}", trial.events());
    assert!(trial.has(is_applied) && !trial.has(|event| matches!(event, Event::Overflow(_))));
    trial.check_valid();
}

#[test]
fn conversations_in_a_small_window_go_on_and_on() {
    let mut trial = Trial::new(4_000);
    for turn in 0..20 {
        let model = ScriptedModel::new([ScriptedReply::text(format!("Answer {turn}: {}", words(150)))]);
        let end = trial.run(&format!("Never push to main. UserQuestion {turn}: {}", words(60)), &model);
        assert_eq!(end, TurnEnd::Finished(FinishReason::Stop), "turn {turn}");
        assert!(estimate(&trial) <= TokenCount(4_000));
    }
    assert!(trial.has(|event| matches!(event, Event::Compaction(longhaul_engine::Event::Applied { .. }))));
    let model = ScriptedModel::new([ScriptedReply::text("Yes.")]);
    trial.run("Do you remember?", &model);
    assert!(texts(&model.requests()[0]).iter().any(|text| text.contains("Never push to main.")));
    assert!(is_session_context(&texts(&model.requests()[0])[0]));
    trial.check_valid();
}

#[test]
fn the_answer_has_its_share_of_the_window() {
    let reserve = |reserve: u64| {
        let mut trial = Trial::new(10_000);
        trial.agent.session.settings.model.output_reserve = Some(TokenCount(reserve));
        (trial.agent.input_limit().0, trial.agent.compaction_options(Trigger::Automatic).budget.threshold)
    };
    assert_eq!(reserve(2_000), (8_000, Threshold::Tokens(TokenCount(5_000))));
    assert_eq!(reserve(20_000), (5_000, Threshold::Tokens(TokenCount(5_000))));
}

#[test]
fn a_request_that_was_too_long_is_shortened_and_sent_once_more() {
    let mut trial = Trial::new(100_000);
    let long = ScriptedReply::text(words(3_000));
    trial.run("Recite.", &ScriptedModel::new([long]));
    let too_long = || ScriptedReply::error(ModelError::TooLong);
    let model = ScriptedModel::new([too_long(), ScriptedReply::text("Fine.")]);
    assert_eq!(trial.run("Again.", &model), TurnEnd::Finished(FinishReason::Stop));
    assert!(trial.has(|event| *event == Event::AskedAgain));
    let lengths: Vec<usize> = model.requests().iter().map(|request| texts(request).concat().len()).collect();
    assert!(lengths[1] * 2 < lengths[0], "{lengths:?}");
    let model = ScriptedModel::new([too_long(), too_long(), ScriptedReply::text("never")]);
    assert_eq!(trial.run(&words(50), &model), TurnEnd::Failed(ModelError::TooLong));
    assert!(model.requests().len() <= 2);
    trial.check_valid();
}

#[test]
fn an_answer_over_a_limit_ends_the_turn_and_its_words_stay() {
    let mut trial = Trial::new(32_000);
    let over = ModelError::OverLimit { limit: AnswerLimit::Text(8) };
    let call = ResponseEvent::Part(Part::call(ToolCall::new("c1", "read_file")));
    let cut = ScriptedReply::events([ResponseEvent::TextDelta("12345678".into()), call]);
    let model = ScriptedModel::new([cut.then_error(over.clone()), ScriptedReply::text("never")]);
    assert_eq!(trial.run("Hello.", &model), TurnEnd::Failed(over));
    assert_eq!(trial.recorded(), ["user: (context)", "user: Hello.", "model: 12345678"]);
    assert_eq!(model.requests().len(), 1, "it is not asked for again");
    trial.check_valid();
}

/// A model that fails twice before it answers.
struct Retrying(ScriptedModel);

impl Model for Retrying {
    fn stream(&self, request: Request) -> ModelStream<'_> {
        request.meter.sent();
        request.meter.refused();
        request.meter.sent();
        self.0.stream(request)
    }
}

#[test]
fn every_request_that_was_sent_is_counted() {
    let mut trial = Trial::new(32_000);
    let usage = Usage { input: Some(TokenCount(90)), output: Some(TokenCount(2)), ..Usage::default() };
    let reply = ScriptedReply::events([
        ResponseEvent::TextDelta("Yes.".into()),
        ResponseEvent::Usage(usage),
        ResponseEvent::Finished(FinishReason::Stop),
    ]);
    trial.run("Hello.", &Retrying(ScriptedModel::new([reply])));
    let statistics = trial.agent.statistics().clone();
    assert_eq!((statistics.requests, statistics.output), (3, TokenCount(2)));
    assert!(statistics.estimated > TokenCount::ZERO, "one of them was accepted and said nothing");
    assert_eq!(statistics.input, TokenCount(90) + statistics.estimated);
}

#[test]
fn what_cannot_be_shortened_is_not_sent_again() {
    let mut trial = Trial::new(100_000);
    let model = ScriptedModel::new([ScriptedReply::error(ModelError::TooLong), ScriptedReply::text("never")]);
    assert_eq!(trial.run("Hello.", &model), TurnEnd::Failed(ModelError::TooLong));
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn what_the_provider_counted_counts() {
    let mut trial = Trial::new(10_000);
    let usage = Usage { input: Some(TokenCount(9_900)), ..Usage::default() };
    let counted = ScriptedReply::events([
        ResponseEvent::TextDelta("Yes.".into()),
        ResponseEvent::Usage(usage),
        ResponseEvent::Finished(FinishReason::Stop),
    ]);
    trial.run("Hello.", &ScriptedModel::new([counted]));
    assert_eq!(
        trial.agent.session.counted.as_ref().map(|counted| (counted.tokens.0, counted.messages)),
        Some((9_900, 2))
    );
    let model = ScriptedModel::new([ScriptedReply::text("never")]);
    assert!(
        matches!(trial.run(&words(100), &model), TurnEnd::Overflow(Overflow { remaining, .. }) if remaining.0 <= 100)
    );
}

#[test]
fn a_compaction_never_makes_the_meter_rise_and_what_is_due_happens() {
    // A provider that counts nearly nothing, less than the estimate, about as much, more, and far more than can be true.
    for counted in [20, 1_000, 2_500, 9_000, 15_900] {
        let mut trial = Trial::new(32_000);
        let reply = |input: u64| {
            let usage = Usage { input: Some(TokenCount(input)), ..Usage::default() };
            ScriptedReply::events([
                ResponseEvent::TextDelta(words(900)),
                ResponseEvent::Usage(usage),
                ResponseEvent::Finished(FinishReason::Stop),
            ])
        };
        let model = ScriptedModel::new([reply(counted / 2), reply(counted), reply(counted), reply(counted)]);
        trial.run("Tell me more.", &model);
        trial.run("And more.", &model);
        let shown = trial.agent.used();
        let session = &trial.agent.session;
        let options = RequestWindow::of(session, &trial.agent.turn)
            .compaction_options(TokenCount(32_000), Trigger::Forced);
        let planned = options.fixed.total() + session.conversation.size();
        assert!(planned.0.abs_diff(shown.0) <= shown.0 / 50 + 2, "{planned} is planned, {shown} is shown");
        trial.agent.session.compaction_request = Some(CompactionRequest::default());
        trial.run("Go on.", &ScriptedModel::new([ScriptedReply::text("Yes.")]));
        assert!(trial.has(|event| matches!(event, Event::Compaction(_))), "{counted}");
        assert!(trial.agent.used() <= shown, "{counted}: {} after {shown}", trial.agent.used());
    }
}

#[test]
fn what_is_learned_is_kept() {
    let mut trial = Trial::new(32_000);
    let file = CalibrationFile::at(trial.folder.path().join("calibration.json"));
    let sent = [Message::new("m", Role::User, vec![Part::user_text("x".repeat(300))])];
    let ids = AtomicU32::new(1);
    let model = ScriptedModel::new([]);
    let (now, new_id) =
        (|| Timestamp::from_millis(AT), || format!("id-{}", ids.fetch_add(1, Ordering::Relaxed)));
    let files = Folder::new(trial.folder.path());
    let host = AgentDeps { calibration: Some(&file), ..AgentDeps::new(&model, &files, &now, &new_id) };
    calibrate(
        &trial.agent.settings().model.name,
        longhaul_engine::observe_request(&sent, TokenCount(200), TokenCount::ZERO),
        &host,
    );
    assert!(file.load().expect("it was written").multiplier("m") > 1.0);
    trial.agent.session.settings.model.name = "other".into();
    assert!(!file.load().expect("it is there").knows("other"));
}

#[test]
fn compactions_leave_figures_and_no_words() {
    let mut trial = Trial::new(8_000);
    let replies: Vec<ScriptedReply> = (0..12).map(|_| ScriptedReply::text(words(900))).collect();
    let model = ScriptedModel::new(replies);
    for _ in 0..12 {
        trial.run("Tell me of the secretword again.", &model);
    }
    let text = fs::read_to_string(trial.folder.path().join("telemetry.jsonl")).expect("it was written");
    let records: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect();
    let first = records.first().expect("a compaction");
    assert_eq!(first["event"], "chat_compression");
    assert!(first["tokens_after"].as_u64() < first["tokens_before"].as_u64(), "{first}");
    assert!(!text.contains("secretword"));
}
