use longhaul_compaction::{Status, Threshold, compact_offline, prepare};
use longhaul_conversation::Estimator;
use longhaul_conversation::{
    CallLimits, FinishReason, ModelError, Part, Request, ResponseEvent, Role, ScriptedModel, ScriptedReply,
    ToolCall, ToolResult, find_faults,
};
use longhaul_snapshot::Section;

use super::*;
use crate::trials::{
    ANSWER, Counting as Count, RULES, RecordingHook, Slow, Trial, Trip, always, by_model, number, user, work,
};
use crate::{Latch, Prices, SpendCaps, Verify, Wait};

fn refused() -> ScriptedReply {
    ScriptedReply::error(ModelError::Refused { reason: "no".into() })
}

fn finished(text: &str, reason: FinishReason) -> ScriptedReply {
    ScriptedReply::events([ResponseEvent::TextDelta(text.into()), ResponseEvent::Finished(reason)])
}

/// All texts of a request.
fn texts(request: &Request) -> String {
    let parts = request.system.iter().chain(request.messages.iter().flat_map(|message| &message.parts));
    parts.filter_map(Part::as_text).collect::<Vec<_>>().join("\n")
}

/// The conversation is sound, fits, and says every rule.
#[track_caller]
fn check_sound(trial: &Trial, outcome: &PassOutcome) {
    let messages = outcome.messages().expect("there are new messages");
    assert!(find_faults(messages).is_empty());
    assert!(outcome.result.after <= trial.options.budget.window, "{}", outcome.result.after);
    assert_eq!(outcome.result.report.rules_kept, outcome.result.report.rules);
    let text: String = messages.iter().flat_map(|m| &m.parts).filter_map(Part::as_text).collect();
    assert!(RULES.iter().all(|rule| text.contains(rule)), "{text}");
}

#[test]
fn offline_it_is_the_same_as_without_an_engine() {
    let trial = Trial::new(work(12, 3_000), 16_000);
    let outcome = trial.run_offline();
    assert_eq!(outcome.result.status, Status::Compressed, "{}", outcome.result.reason);
    check_sound(&trial, &outcome);
    let (tracker, prepared) = (trial.tracker(), prepare(&trial.messages, trial.options.empty));
    let plain = compact_offline(&Input::new(&tracker, &prepared, &trial.options));
    assert_eq!(outcome.result.messages, plain.messages);
    assert_eq!(outcome.result.report.summariser, "offline");
    assert_eq!(trial.event_names(), "Started Planned Summarising Summarised Verified Applied");
    assert_eq!(outcome.state.wait, Wait::Growth { since: outcome.result.after });
    assert_eq!((outcome.state.attempts, outcome.state.failures), (1, 0));
}

#[test]
fn below_the_threshold_nothing_happens_and_nothing_is_told() {
    let trial = Trial::new(work(1, 100), 16_000);
    let outcome = trial.run_offline();
    assert_eq!((outcome.result.status, outcome.messages()), (Status::Noop, None));
    assert_eq!((trial.event_names().as_str(), &outcome.state), ("", &trial.state));
}

#[test]
fn old_outputs_are_masked_first() {
    let mut messages = work(14, 3_000);
    let tail = (0..12).map(|nth| user(&format!("And then {nth}.")));
    messages.extend(tail);
    let trial = Trial::masking(number(messages), 20_000);
    let outcome = trial.run_offline();
    assert_eq!(outcome.result.status, Status::Masked, "{}", outcome.result.reason);
    assert_eq!(trial.event_names(), "Started Planned Masked");
    assert_eq!(trial.files.names().len(), outcome.account.shortened.len());
    assert!(outcome.account.shortened.iter().all(|output| output.tool.as_deref() == Some("read_file")));
    // Without a disk, the outputs stay and the ladder goes on.
    let mut trial = Trial::masking(trial.messages, 20_000);
    trial.files.broken = Some("call");
    let outcome = trial.run_offline();
    assert_eq!(outcome.result.status, Status::Compressed, "{}", outcome.result.reason);
    check_sound(&trial, &outcome);
    assert!(!outcome.account.not_saved.is_empty() && trial.files.names().is_empty());
    assert!(
        trial.event_names().contains("NotSaved") && trial.event_names().ends_with("Applied"),
        "{}",
        trial.event_names()
    );
    assert!(outcome.result.warnings.iter().any(|warning| warning.contains("on fire")));
}

#[test]
fn a_model_writes_the_summary() {
    let trial = Trial::new(work(12, 3_000), 16_000);
    let scripted = always(&ScriptedReply::text(ANSWER));
    let outcome = trial.run(&by_model(&scripted));
    assert_eq!(outcome.result.status, Status::Compressed, "{}", outcome.result.reason);
    check_sound(&trial, &outcome);
    let snapshot = outcome.result.snapshot.as_ref().expect("a snapshot").render();
    assert!(
        snapshot.contains("[TODO] remove retry_count") && !snapshot.contains("hidden thoughts"),
        "{snapshot}"
    );
    assert!(
        !snapshot.contains("let value_") && !snapshot.contains("stays unused"),
        "nothing is quoted: {snapshot}"
    );
    assert_eq!(outcome.result.report.summariser, "model");
    assert_eq!((outcome.state.spend.calls, outcome.account.spend.calls), (1, 1));
    assert!(outcome.result.notes.as_ref().is_some_and(|notes| notes.kept == 4 && notes.cut == 0));
    let requests = scripted.requests();
    assert_eq!(requests.len(), 1, "one call by default");
    let text = texts(&requests[0]);
    let plan = &outcome.result.plan;
    let asked = plan.compaction().expect("it was one").asked_of_model();
    assert!(text.contains(&format!("at most {asked} tokens")), "it is asked for its share");
    assert!(text.contains("write the first one") && text.contains("let value_0 = parse_config(0)"));
    assert!(!text.contains("All parts are read."), "the tail stays where it is");
    assert_eq!(trial.event_names(), "Started Planned Summarising Summarised Verified Applied");
}

#[test]
fn what_the_host_knows_is_told_to_both() {
    let mut trial = Trial::new(work(12, 3_000), 16_000);
    trial.host.plan = Some("plans/upload.md".into());
    trial.host.skills = vec!["release".into()];
    let scripted = always(&ScriptedReply::text(ANSWER));
    for summariser in [&by_model(&scripted) as &dyn Summariser, &Offline] {
        let snapshot = trial.run(summariser).result.snapshot.expect("a snapshot").render();
        assert!(
            snapshot.contains("Plan file: plans/upload.md") && snapshot.contains("Active skills: release")
        );
    }
    assert!(texts(&scripted.requests()[0]).contains("in the file plans/upload.md"));
}

#[track_caller]
fn check_fallback(reply: &ScriptedReply, reason: &str) {
    let trial = Trial::new(work(12, 3_000), 16_000);
    let outcome = trial.run(&by_model(&always(reply)));
    assert_eq!(outcome.result.status, Status::Compressed, "{}", outcome.result.reason);
    check_sound(&trial, &outcome);
    assert_eq!(outcome.result.report.summariser, "offline_fallback");
    let fell_back = outcome.account.fell_back.as_deref().unwrap_or_default();
    assert!(fell_back.contains(reason), "{fell_back}");
    assert_eq!((outcome.state.latch, outcome.state.failures), (Latch::Set, 1));
    assert_eq!(
        trial.event_names(),
        "Started Planned Summarising FellBack Summarising Summarised Verified Applied"
    );
    // Where no other summariser is wanted, the conversation stays.
    let trial = trial.with(Settings { fallback: Fallback::Off, ..Settings::default() });
    let outcome = trial.run(&by_model(&always(reply)));
    assert_eq!((outcome.result.status, outcome.messages()), (Status::FailedEmptySummary, None));
    assert!(outcome.result.reason.contains(reason), "{}", outcome.result.reason);
    assert_eq!((outcome.state.latch, outcome.state.failures), (Latch::Set, 1));
    assert!(trial.event_names().ends_with("Refused"));
}

#[test]
fn whatever_a_model_does_the_pass_is_finished() {
    check_fallback(&refused(), "rejected the request");
    check_fallback(&ScriptedReply::text(" \n"), "empty");
    check_fallback(&ScriptedReply::text("<scratchpad>hm"), "no snapshot");
    check_fallback(
        &ScriptedReply::text("I'm sorry, but I can't help with that."),
        "refused to write a summary: I'm",
    );
    let apology =
        "<state_snapshot><key_knowledge>I cannot assist with that request.</key_knowledge></state_snapshot>";
    check_fallback(&ScriptedReply::text(apology), "refused to write a summary: I cannot assist");
    check_fallback(
        &ScriptedReply::text("All went well and everything is fine now."),
        "hardly anything about this",
    );
    check_fallback(
        &ScriptedReply::text("Could you share what you would like me to do next?"),
        "hardly anything",
    );
    check_fallback(&finished(ANSWER, FinishReason::Length), "output limit");
    check_fallback(&finished(ANSWER, FinishReason::Filtered), "withheld");
    check_fallback(&finished(ANSWER, FinishReason::Other("RECITATION".into())), "RECITATION");
    check_fallback(&ScriptedReply::events([ResponseEvent::TextDelta(ANSWER.into())]), "interrupted");
    check_fallback(&ScriptedReply::text("x".repeat(600_000)), "output limit");
}

#[test]
fn a_cut_off_answer_is_asked_for_again() {
    let trial = Trial::new(work(12, 3_000), 16_000);
    let scripted =
        ScriptedModel::new([finished("half of", FinishReason::Length), ScriptedReply::text(ANSWER)]);
    let outcome = trial.run(&by_model(&scripted));
    assert_eq!(outcome.result.report.summariser, "model");
    assert_eq!(outcome.state.spend.calls, 2);
    assert!(texts(&scripted.requests()[1]).contains("cut off"));
    assert!(!outcome.result.snapshot.expect("a snapshot").render().contains("half of"));
}

fn count(before: u64, after: u64) -> impl Fn(&[Message]) -> Result<TokenCount, ModelError> + Send + Sync {
    move |messages| {
        let is_new = messages.iter().any(|message| message.id.as_str().starts_with("lh-snapshot"));
        Ok(TokenCount(if is_new { after } else { before }))
    }
}

#[test]
fn sizes_are_counted_exactly_where_that_is_required() {
    let settings = Settings { counting: Counting::Exact, ..Settings::default() };
    let trial = Trial::new(work(12, 3_000), 16_000).with(settings.clone());
    let outcome = trial.run_with(&Offline, Some(&Count(count(9_000, 2_000))), None);
    assert_eq!(outcome.result.status, Status::Compressed);
    assert_eq!((outcome.result.before, outcome.result.after), (TokenCount(9_000), TokenCount(2_000)));
    assert!(outcome.account.is_exact);
    // An inflated summary is a model's failure; then the offline one fails as well, and nothing is changed.
    let scripted = always(&ScriptedReply::text(ANSWER));
    let outcome = trial.run_with(&by_model(&scripted), Some(&Count(count(9_000, 9_001))), None);
    assert_eq!((outcome.result.status, outcome.state.latch), (Status::Noop, Latch::Set));
    let off = Trial::new(work(12, 3_000), 16_000).with(Settings { fallback: Fallback::Off, ..settings });
    let outcome = off.run_with(&by_model(&scripted), Some(&Count(count(9_000, 9_001))), None);
    assert_eq!((outcome.result.status, outcome.messages()), (Status::FailedInflated, None));
    assert_eq!(outcome.state.latch, Latch::Set);
}

#[test]
fn what_cannot_be_counted_changes_nothing_and_costs_nothing() {
    let settings = Settings { counting: Counting::Exact, ..Settings::default() };
    let trial = Trial::new(work(12, 3_000), 16_000).with(settings);
    let scripted = always(&ScriptedReply::text(ANSWER));
    let fails = |_: &[Message]| Err(ModelError::Busy { retry_after: None, reason: "overloaded".into() });
    for counter in [None, Some(&Count(fails) as &dyn crate::Counter)] {
        let outcome = trial.run_with(&by_model(&scripted), counter, None);
        assert_eq!((outcome.result.status, outcome.messages()), (Status::FailedTokenCount, None));
        assert_eq!(outcome.state.latch, Latch::Clear);
    }
    assert!(scripted.requests().is_empty());
    // Where only the result cannot be counted, the summary was paid for: that is a failure.
    let half = |messages: &[Message]| match messages.len() {
        0..20 => Err(ModelError::Busy { retry_after: None, reason: "overloaded".into() }),
        _ => Ok(TokenCount(9_000)),
    };
    let outcome = trial.run_with(&by_model(&scripted), Some(&Count(half)), None);
    assert_eq!((outcome.result.status, outcome.state.failures), (Status::FailedTokenCount, 1));
}

#[test]
fn only_what_a_model_worked_on_is_paid_for() {
    let spend = |reply: &ScriptedReply| {
        Trial::new(work(12, 3_000), 16_000).run(&by_model(&always(reply))).state.spend
    };
    let refused = spend(&refused());
    assert_eq!((refused.calls, refused.tokens, refused.money), (1, TokenCount::ZERO, 0.0));
    let cut = ModelError::Interrupted { reason: "cut".into() };
    assert!(spend(&ScriptedReply::error(cut.clone())).tokens > TokenCount::ZERO);
    assert!(spend(&ScriptedReply::text(ANSWER).then_error(cut)).tokens > TokenCount::ZERO);
}

#[test]
fn a_model_that_says_nothing_is_asked_once_more_only() {
    let calls = |reply: &ScriptedReply| {
        let scripted = always(reply);
        let outcome = Trial::new(work(12, 3_000), 16_000).run(&by_model(&scripted));
        assert_eq!(outcome.result.report.summariser, "offline_fallback");
        assert_eq!(outcome.account.spend.calls as usize, scripted.requests().len());
        scripted.requests().len()
    };
    assert_eq!(calls(&ScriptedReply::text(" ")), 2);
    let thought = ResponseEvent::ThoughtDelta("hm".into());
    assert_eq!(calls(&ScriptedReply::events([thought, ResponseEvent::Finished(FinishReason::Stop)])), 2);
    // Whoever sends requests has tried again already where nothing arrived at all.
    let empty = ModelError::Interrupted { reason: "it was empty".into() };
    assert_eq!(calls(&ScriptedReply::error(empty.clone())), 1);
    let usage = ResponseEvent::Usage(longhaul_conversation::Usage::default());
    assert_eq!(calls(&ScriptedReply::events([usage]).then_error(empty.clone())), 1);
    assert_eq!(calls(&ScriptedReply::text("half").then_error(empty)), 2);
}

#[test]
fn a_model_that_says_nothing_of_many_blocks_is_asked_once_more_only() {
    let mut trial = Trial::new(work(12, 6_000), 40_000).forced();
    trial.options.budget.threshold = Threshold::Off;
    trial.options.budget.outputs.protected = TokenCount(4_000);
    let scripted = always(&ScriptedReply::text(" "));
    let outcome = trial.run(&crate::ByModel::new(&scripted, "scripted", TokenCount(9_500)));
    assert!(texts(&scripted.requests()[0]).contains("part 1 of "));
    assert_eq!((scripted.requests().len(), outcome.account.spend.calls), (2, 2));
    assert_eq!(outcome.result.report.summariser, "offline_fallback");
}

#[test]
fn who_waited_for_a_silence_does_not_wait_for_another() {
    let calls = |clock: fn(u32) -> Duration| {
        let stalled = ModelError::Interrupted { reason: "no data for 60 s".into() };
        let scripted = always(&ScriptedReply::text("half").then_error(stalled));
        let mut trial = Trial::new(work(12, 3_000), 16_000);
        trial.clock = clock;
        let outcome = trial.run(&by_model(&scripted));
        assert_eq!(outcome.result.report.summariser, "offline_fallback");
        scripted.requests().len()
    };
    assert_eq!(calls(|_| Duration::ZERO), 2);
    assert_eq!(calls(|asked| Duration::from_secs(60 * u64::from(asked))), 1);
}

#[test]
fn where_nothing_is_to_gain_no_model_is_asked_and_none_has_failed() {
    let scripted = always(&ScriptedReply::text(ANSWER));
    let tiny =
        Trial::new(number(vec![user("hello"), crate::trials::model("hi"), user("bye")]), 60_000).forced();
    // One message that stays is nearly all there is.
    let mut messages = vec![user("Fix the upload."), crate::trials::model("I will look.")];
    messages.push(user(&"All of it is in this long text. ".repeat(400)));
    let large = Trial::new(number(messages), 60_000).forced();
    for trial in [tiny, large] {
        let outcome = trial.run(&by_model(&scripted));
        assert_eq!((outcome.result.status, outcome.messages()), (Status::Noop, None));
        assert!(outcome.result.reason.contains("nothing to gain"), "{}", outcome.result.reason);
        assert_eq!((outcome.state.failures, outcome.state.latch), (0, Latch::Clear));
        assert_eq!((outcome.account.spend.calls, outcome.account.fell_back), (0, None));
    }
    assert!(scripted.requests().is_empty());
}

#[test]
fn for_a_few_tokens_no_model_is_asked() {
    for budget in [2, 100, 300] {
        let scripted = always(&ScriptedReply::text(ANSWER));
        let mut trial = Trial::new(work(12, 3_000), 16_000).forced();
        trial.options.budget.snapshot = TokenCount(budget);
        let outcome = trial.run(&by_model(&scripted));
        assert!(scripted.requests().is_empty(), "{budget}");
        assert_eq!(outcome.result.status, Status::Compressed, "{}", outcome.result.reason);
        assert_eq!((outcome.state.failures, outcome.state.latch), (0, Latch::Clear));
        let why = outcome.account.fell_back.unwrap_or_default();
        assert!(why.contains("room for only"), "{why}");
    }
}

#[test]
fn a_summary_is_not_waited_for_without_end() {
    let scripted = always(&finished("cut", FinishReason::Length));
    let by = by_model(&scripted);
    let (idle, time) = (Some(Duration::from_secs(60)), Some(Duration::from_secs(300)));
    let mut trial = Trial::new(work(12, 3_000), 16_000);
    trial.clock = |asked| Duration::from_secs(200 * u64::from(asked));
    let outcome = trial.run(&by);
    let limits: Vec<_> = scripted.requests().iter().map(|request| request.limits).collect();
    let left = Some(Duration::from_secs(200));
    assert_eq!(limits, [CallLimits { idle, time }, CallLimits { idle, time: left }]);
    assert_eq!(outcome.result.report.summariser, "offline_fallback");
    trial.clock = |asked| Duration::from_secs(700 * u64::from(asked));
    let outcome = trial.run(&by);
    assert_eq!(scripted.requests().len(), 2);
    let why = outcome.account.fell_back.unwrap_or_default();
    assert!(why.contains("longer than 600 s"), "{why}");
}

#[test]
fn three_failures_open_the_breaker_and_a_reset_closes_it() {
    let scripted = always(&refused());
    let mut trial = Trial::new(work(12, 3_000), 16_000).forced();
    for nth in 1..=5 {
        let outcome = trial.advance(&by_model(&scripted));
        assert_eq!(outcome.result.status, Status::Compressed);
        assert_eq!(scripted.requests().len(), nth.min(3), "no model is asked any more");
    }
    assert!(trial.state.is_broken(&trial.settings));
    // With no other summariser wanted, a forced pass says why it does nothing.
    trial.settings.fallback = Fallback::Off;
    let outcome = trial.run(&by_model(&scripted));
    assert_eq!(outcome.result.status, Status::Noop);
    assert!(outcome.result.reason.contains("3 compactions failed"), "{}", outcome.result.reason);
    assert!(outcome.result.reason.contains("`longhaul sessions reset`"), "{}", outcome.result.reason);
    trial.state.reset();
    trial.advance(&by_model(&scripted));
    assert_eq!(scripted.requests().len(), 4);
}

#[test]
fn latched_it_only_shortens_outputs_where_no_other_summariser_is_wanted() {
    let settings = Settings { fallback: Fallback::Off, ..Settings::default() };
    let scripted = always(&ScriptedReply::text(ANSWER));
    let mut trial = Trial::new(work(6, 9_000), 16_000).with(settings);
    trial.state.latch = Latch::Set;
    let outcome = trial.run(&by_model(&scripted));
    assert_eq!(outcome.result.status, Status::ContentTruncated, "{}", outcome.result.reason);
    assert!(outcome.result.after < outcome.result.before);
    assert_eq!((outcome.state.latch, scripted.requests().len()), (Latch::Set, 0));
    assert_eq!(trial.files.names().len(), outcome.account.shortened.len());
    // Where that gains nothing, nothing is done.
    let mut trial = Trial::new(work(40, 500), 16_000).with(trial.settings);
    trial.options.budget.outputs.protected = TokenCount(1_000_000);
    trial.state.latch = Latch::Set;
    let outcome = trial.run(&by_model(&scripted));
    assert_eq!(
        (outcome.result.status, outcome.messages()),
        (Status::Noop, None),
        "{}",
        outcome.result.reason
    );
    // A user who asks for it gets a summary, and success frees the latch.
    let trial =
        Trial { state: trial.state, ..Trial::new(work(12, 3_000), 16_000).forced().with(trial.settings) };
    let outcome = trial.run(&by_model(&scripted));
    assert_eq!((outcome.result.status, outcome.state.latch), (Status::Compressed, Latch::Clear));
    // With the other summariser at hand, it finishes latched passes and frees the latch.
    let trial = Trial { state: trial.state, ..Trial::new(work(12, 3_000), 16_000) };
    let outcome = trial.run(&by_model(&scripted));
    assert_eq!(outcome.result.report.summariser, "offline_fallback");
    assert_eq!((outcome.result.status, outcome.state.latch), (Status::Compressed, Latch::Clear));
}

#[test]
fn caps_end_the_spending() {
    let settings = |tokens: Option<u64>, money: Option<f64>| Settings {
        caps: SpendCaps { tokens: tokens.map(TokenCount), money },
        ..Settings::default()
    };
    let prices = Some(Prices { input: 1.0, cached: 0.1, written: 1.0, output: 4.0 });
    let check = |settings: Settings, spent: f64, calls: usize| {
        let scripted = always(&ScriptedReply::text(ANSWER));
        let mut trial = Trial::new(work(12, 3_000), 16_000).with(settings).forced();
        trial.state.spend.money = spent;
        let outcome = trial.run(&crate::ByModel { prices, ..by_model(&scripted) });
        assert_eq!(outcome.result.status, Status::Compressed);
        assert_eq!(scripted.requests().len(), calls);
        assert_eq!(outcome.state.failures, 0, "poverty is no failure");
        assert_eq!(outcome.account.fell_back.is_some(), calls == 0);
    };
    check(settings(None, None), 0.0, 1);
    check(settings(Some(100_000), None), 0.0, 1);
    check(settings(Some(2_000), None), 0.0, 0);
    check(settings(None, Some(1.0)), 0.0, 1);
    check(settings(None, Some(1.0)), 1.0, 0);
    check(settings(None, Some(1.0)), 0.999, 0);
}

#[test]
fn a_pass_that_gains_little_is_a_failure_and_applied_only_if_it_must_be() {
    let settings = Settings { counting: Counting::Exact, ..Settings::default() };
    let trial = Trial::new(work(12, 3_000), 16_000).with(settings);
    let little = Count(count(9_000, 8_500));
    let outcome = trial.run_with(&Offline, Some(&little), None);
    assert_eq!((outcome.result.status, outcome.messages()), (Status::Noop, None));
    // What changes nothing is no failure.
    assert_eq!((outcome.state.failures, outcome.state.wait), (0, Wait::Growth { since: TokenCount(9_000) }));
    assert!(trial.files.names().is_empty(), "what is not applied leaves no file");
    let trial = trial.forced();
    let outcome = trial.run_with(&Offline, Some(&little), None);
    assert_eq!((outcome.result.status, outcome.state.failures), (Status::Compressed, 1));
    let outcome = trial.run_with(&Offline, Some(&Count(count(17_000, 15_900))), None);
    assert_eq!((outcome.result.status, outcome.state.failures), (Status::Compressed, 1));
    let tiny =
        Trial::new(number(vec![user("hello"), crate::trials::model("hi"), user("bye")]), 16_000).forced();
    let outcome = tiny.run_offline();
    assert_eq!(outcome.result.status, Status::Noop, "{}", outcome.result.reason);
    assert!(outcome.result.reason.contains("nothing to gain"), "{}", outcome.result.reason);
}

#[test]
fn the_next_pass_waits_for_growth_and_after_undo_for_need() {
    let mut trial = Trial::new(work(12, 3_000), 16_000);
    let before = trial.run_offline().result.before;
    trial.state.wait = Wait::Growth { since: before - TokenCount(1_599) };
    assert_eq!(trial.run_offline().result.status, Status::Noop);
    trial.state.wait = Wait::Growth { since: before - TokenCount(1_600) };
    assert_eq!(trial.run_offline().result.status, Status::Compressed);
    trial.state = trial.state.after_undo();
    let outcome = trial.run_offline();
    assert_eq!((outcome.result.status, outcome.state.wait), (Status::Noop, Wait::Overflow));
    assert!(outcome.result.reason.contains("undone"), "{}", outcome.result.reason);
    let small = Trial { state: trial.state.clone(), ..Trial::new(work(12, 3_000), 8_000) };
    let outcome = small.run_offline();
    check_sound(&small, &outcome);
    assert!(matches!(outcome.state.wait, Wait::Growth { .. }));
    let forced = Trial { state: trial.state, ..Trial::new(work(12, 3_000), 16_000).forced() };
    assert_eq!(forced.run_offline().result.status, Status::Compressed);
}

#[test]
fn the_hook_runs_before_the_threshold_is_looked_at_unless_set_otherwise() {
    let check = |messages: Vec<Message>, when: PreCompressWhen, forced: bool, expected: &[Trigger]| {
        let settings = Settings { pre_compress: when, ..Settings::default() };
        let trial = Trial::new(messages, 16_000).with(settings);
        let trial = if forced { trial.forced() } else { trial };
        let hook = RecordingHook::default();
        trial.run_with(&Offline, None, Some(&hook));
        assert_eq!(*hook.0.lock().expect("nobody panicked"), expected);
    };
    use PreCompressWhen::{EveryTurn, WhenNeeded};
    use Trigger::{Automatic, Forced};
    let (small, large) = (work(1, 100), work(12, 3_000));
    check(Vec::new(), EveryTurn, true, &[]);
    check(small.clone(), EveryTurn, false, &[Automatic]);
    check(small.clone(), EveryTurn, true, &[Forced]);
    check(small, WhenNeeded, false, &[]);
    check(large.clone(), WhenNeeded, false, &[Automatic]);
    check(large, EveryTurn, false, &[Automatic]);
}

#[test]
fn what_cannot_be_saved_stays_and_counts() {
    let tail_heavy = || {
        let mut messages = work(8, 3_000);
        let call = Part::call(ToolCall::new("last", "read_file"));
        messages.push(Message::new("", Role::Model, vec![call]));
        let result = ToolResult::text("last", "a line of src/last.rs\n".repeat(600));
        messages.push(Message::new("", Role::User, vec![Part::result(result)]));
        number(messages)
    };
    let trial = |window: u64, broken: Option<&'static str>| {
        let mut trial = Trial::new(tail_heavy(), window).forced();
        trial.options.budget.outputs.protected = TokenCount(500);
        trial.files.broken = broken;
        trial
    };
    let whole = trial(16_000, None);
    let saved = whole.run_offline();
    assert!(!whole.files.names().is_empty(), "an output of the tail is shortened");
    let broken = trial(16_000, Some(""));
    let kept = broken.run_offline();
    assert_eq!(kept.result.status, Status::Compressed, "{}", kept.result.reason);
    check_sound(&broken, &kept);
    assert!(kept.result.after > saved.result.after, "what stays counts");
    assert!(kept.result.files.is_empty() && !kept.account.not_saved.is_empty());
    // A window that is too small for what stays: more is given up, and in the end without a file.
    let broken = trial(3_000, Some(""));
    let last = broken.run_offline();
    assert_eq!(last.result.status, Status::LastResort, "{}", last.result.reason);
    check_sound(&broken, &last);
    let text = format!("{:?}", last.messages());
    assert!(text.contains("not saved") && !text.contains("tool-outputs/"), "no pointer leads nowhere");
    assert_eq!((last.result.files.len(), last.result.report.files_saved), (0, 0));
}

#[test]
fn the_model_reviews_its_summary_if_asked_to() {
    let second = ANSWER.replace("Fix the upload.", "Fix the upload at last.");
    let check = |reply: ScriptedReply, expected: &str, calls: usize| {
        let settings = Settings { verify: Verify::Both, ..Settings::default() };
        let trial = Trial::new(work(12, 3_000), 16_000).with(settings);
        let retry = reply.clone();
        let scripted = ScriptedModel::new([ScriptedReply::text(ANSWER), reply, retry]);
        let outcome = trial.run(&by_model(&scripted));
        assert_eq!((outcome.result.report.summariser, outcome.state.failures), ("model", 0));
        let snapshot = outcome.result.snapshot.expect("a snapshot");
        assert_eq!(snapshot.entries(Section::OverallGoal)[0].lines(), [expected]);
        let requests = scripted.requests();
        assert_eq!(requests.len(), calls);
        assert_eq!(requests[1].messages.len(), 3, "the record, the answer, the review");
        assert!(texts(&requests[1]).contains("critically"));
        assert!(trial.event_names().contains("Reviewed"));
    };
    check(ScriptedReply::text(second), "Fix the upload at last.", 2);
    check(ScriptedReply::text("  "), "Fix the upload.", 3);
    check(refused(), "Fix the upload.", 2);
    check(finished("cut", FinishReason::Length), "Fix the upload.", 3);
}

#[test]
fn a_model_sees_the_original_if_it_fits_and_else_a_shorter_form_or_blocks() {
    let mut trial = Trial::new(work(12, 6_000), 40_000).forced();
    trial.options.budget.threshold = Threshold::Off;
    trial.options.budget.outputs.protected = TokenCount(4_000);
    let check = |window: u64, calls: std::ops::RangeInclusive<usize>, is_whole: bool| {
        let scripted = always(&ScriptedReply::text(ANSWER));
        let by = crate::ByModel::new(&scripted, "scripted", TokenCount(window));
        let outcome = trial.run(&by);
        let requests = scripted.requests();
        assert!(calls.contains(&requests.len()), "{} calls in {window}", requests.len());
        let text = requests.first().map(texts).unwrap_or_default();
        assert_eq!(
            text.matches("Output too large").count() + text.matches("Output left out").count() == 0,
            is_whole
        );
        for request in &requests {
            let tokens = Estimator::default().text(&texts(request)).tokens();
            assert!(tokens <= TokenCount(window), "{tokens} of {window}");
        }
        (outcome.result.report.summariser, requests)
    };
    assert_eq!(check(60_000, 1..=1, true).0, "model");
    assert_eq!(check(17_000, 1..=1, false).0, "model");
    let (summariser, requests) = check(9_500, 3..=24, false);
    assert_eq!(summariser, "model");
    assert!(texts(&requests[0]).contains("part 1 of "));
    let last = texts(requests.last().expect("the merge"));
    assert!(last.contains("successive parts") && last.contains("remove retry_count"), "{last}");
    assert_eq!(check(2_000, 0..=0, true).0, "offline_fallback", "too long even in blocks");
}

#[test]
fn a_model_that_finds_the_record_too_long_gets_it_in_blocks() {
    let trial = Trial::new(work(12, 3_000), 16_000);
    let too_long = ScriptedReply::error(ModelError::TooLong);
    let answers = std::iter::repeat_n(ScriptedReply::text(ANSWER), 9);
    let scripted = ScriptedModel::new(std::iter::once(too_long).chain(answers));
    let outcome = trial.run(&by_model(&scripted));
    assert_eq!((outcome.result.status, outcome.result.report.summariser), (Status::Compressed, "model"));
    let requests = scripted.requests();
    assert!(requests.len() > 3 && texts(&requests[1]).contains("part 1 of "), "{}", requests.len());
}

#[test]
fn an_earlier_snapshot_is_carried_over() {
    let first = Trial::new(work(12, 3_000), 16_000);
    let mut messages = first.run_offline().result.messages.expect("shorter");
    let from = first.messages.len() as u32;
    messages.extend(work(9, 3_000).into_iter().skip(2).enumerate().map(|(nth, mut message)| {
        message.id = format!("later-{nth}").into();
        message.ordinal = Some(longhaul_conversation::Ordinal(from + nth as u32 + 1));
        message
    }));
    let trial = Trial::new(messages, 16_000).forced();
    let scripted = always(&ScriptedReply::text(ANSWER));
    let outcome = trial.run(&by_model(&scripted));
    check_sound(&trial, &outcome);
    assert!(texts(&scripted.requests()[0]).contains("begins with a snapshot"));
}

#[test]
fn cancelling_at_any_moment_changes_nothing_but_what_was_spent() {
    let mut moments = 0;
    loop {
        let settings = Settings { counting: Counting::Exact, verify: Verify::Both, ..Settings::default() };
        let mut trial = Trial::new(work(10, 3_600), 16_000).with(settings);
        trial.options.budget.outputs.characters = 200;
        trial.options.budget.outputs.protected = TokenCount(50);
        trial.state.failures = 1;
        let trip = Trip::at(moments, &trial.cancel);
        let scripted = ScriptedModel::new([
            finished("cut", FinishReason::Length),
            ScriptedReply::text(ANSWER),
            refused(),
        ]);
        let slow = Slow { model: scripted, trip: &trip };
        let outcome = trial.run_with(&by_model(&slow), Some(&trip), Some(&trip));
        if outcome.result.status != Status::Cancelled {
            assert_eq!(outcome.result.status, Status::Compressed, "{}", outcome.result.reason);
            assert!(!trial.files.names().is_empty(), "the pass writes files when it is left alone");
            break;
        }
        let spend = outcome.state.spend;
        assert_eq!((outcome.messages(), &outcome.state), (None, &State { spend, ..trial.state.clone() }));
        assert_eq!(spend.calls as usize, slow.model.requests().len(), "what was sent is spent");
        assert!(trial.files.names().is_empty());
        assert!(trial.event_names().ends_with("Cancelled"), "{}", trial.event_names());
        moments += 1;
    }
    assert!(moments > 8, "hook, counts, three answers of several events: {moments}");
}

#[test]
fn telemetry_has_figures_and_no_words() {
    let at = longhaul_conversation::Timestamp::from_millis(0);
    let trial = Trial::new(work(12, 3_000), 16_000);
    let scripted = always(&ScriptedReply::text(ANSWER));
    let records = crate::telemetry_records(&trial.run(&by_model(&scripted)), at);
    assert_eq!(records[0]["event"], "chat_compression");
    assert!(records[0]["tokens_before"].as_u64() > records[0]["tokens_after"].as_u64());
    assert!(!format!("{records:?}").contains("retry_count"));
    let nothing = Trial::new(work(1, 100), 16_000).run_offline();
    assert!(crate::telemetry_records(&nothing, at).is_empty());
    let empty = trial.with(Settings { fallback: Fallback::Off, ..Settings::default() });
    let failed = empty.run(&by_model(&always(&ScriptedReply::text(""))));
    assert_eq!(crate::telemetry_records(&failed, at)[0]["status"], "failed_empty_summary");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("logs/telemetry.jsonl");
    for _ in 0..2 {
        crate::append_telemetry(&path, &records).expect("it can be written");
    }
    let lines = std::fs::read_to_string(&path).expect("it is there");
    assert_eq!(lines.lines().count(), 2 * records.len());
}
