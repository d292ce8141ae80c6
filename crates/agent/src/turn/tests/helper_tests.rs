//! What helps a turn along: judges, a choice of models, an editor, summaries of outputs.

use std::fs;

use longhaul_conversation::{
    FinishReason, ModelError, ResponseEvent, ScriptedModel, ScriptedReply, Timestamp, TokenCount,
};
use longhaul_policy::ApprovalMode;
use serde_json::json;

use super::tool_tests::{call, look, results, trial, trial_with_tools};
use super::trial::{Routing, Trial, settings, texts, words};
use super::*;
use crate::{Activity, ModelProfile};

/// A model that reads so many different files and then is done.
fn reader(steps: usize) -> ScriptedModel {
    let read = |step: usize| {
        let args = json!({"file_path": format!("{step}.rs"), "says": format!("step {step}")});
        ScriptedReply::parts([call(&format!("c{step}"), "read_file", args)])
    };
    ScriptedModel::new((1..=steps).map(read).chain([ScriptedReply::text("Done.")]))
}

fn verdict(confidence: f64) -> ScriptedReply {
    ScriptedReply::text(json!({"analysis": "It reads and reads.", "confidence": confidence}).to_string())
}

fn advice(trial: &Trial) -> usize {
    let messages = trial.agent.conversation().transcript().messages();
    let texts = messages.iter().flat_map(|message| &message.parts).filter_map(Part::as_text);
    texts.filter(|text| text.contains("You are going round in circles: It reads and reads.")).count()
}

#[test]
fn a_judge_is_asked_in_the_thirtieth_step() {
    let (mut trial, _) = trial();
    trial.aids.judge = Some(ScriptedModel::new([verdict(0.0)]));
    assert_eq!(trial.run("Read all.", &reader(28)), TurnEnd::Finished(FinishReason::Stop));
    let asked = |trial: &Trial| trial.aids.judge.as_ref().map(|judge| judge.requests().len());
    assert_eq!(asked(&trial), Some(0));
    assert_eq!(trial.run("Read all.", &reader(43)), TurnEnd::Finished(FinishReason::Stop));
    assert_eq!(asked(&trial), Some(1));
    assert_eq!(trial.agent.statistics().side_calls.requests(), 1);
    let request = &trial.aids.judge.as_ref().expect("a judge").requests()[0];
    assert!(texts(request)[0].contains("<request>\nRead all.\n</request>"), "{request:?}");
    assert_eq!(advice(&trial), 0);
}

#[test]
fn a_judge_who_is_sure_twice_ends_the_turn() {
    let (mut trial, _) = trial();
    trial.aids.judge = Some(ScriptedModel::new([verdict(0.9), verdict(0.95)]));
    let end = trial.run("Read all.", &reader(60));
    assert_eq!(end, TurnEnd::Looped { detail: "It reads and reads".into() });
    assert_eq!((advice(&trial), results(&trial).len()), (1, 39));
    trial.check_valid();
}

#[test]
fn a_second_judge_has_the_last_word() {
    let (mut trial, _) = trial();
    trial.aids.judge = Some(ScriptedModel::new([verdict(0.9), verdict(0.2)]));
    trial.aids.second_judge = Some(ScriptedModel::new([verdict(0.89)]));
    // The next check comes six steps later.
    assert_eq!(trial.run("Read all.", &reader(35)), TurnEnd::Finished(FinishReason::Stop));
    let asked = |judge: &Option<ScriptedModel>| judge.as_ref().map(|judge| judge.requests().len());
    assert_eq!((asked(&trial.aids.judge), asked(&trial.aids.second_judge)), (Some(2), Some(1)));
    assert_eq!(advice(&trial), 0);
}

#[test]
fn a_judge_who_cannot_be_understood_is_asked_twice_and_forgotten() {
    let (mut trial, _) = trial();
    let busy = ModelError::Busy { reason: "later".into(), retry_after: None };
    trial.aids.judge =
        Some(ScriptedModel::new([ScriptedReply::text("Perhaps."), ScriptedReply::error(busy)]));
    assert_eq!(trial.run("Read all.", &reader(38)), TurnEnd::Finished(FinishReason::Stop));
    assert_eq!(trial.aids.judge.as_ref().map(|judge| judge.requests().len()), Some(2));
}

#[test]
fn nobody_judges_where_nobody_watches() {
    let mut settings = settings(32_000);
    settings.watches_loops = false;
    let (mut trial, _) = trial_with_tools(settings);
    trial.aids.judge = Some(ScriptedModel::new([verdict(1.0)]));
    assert_eq!(trial.run("Read all.", &reader(40)), TurnEnd::Finished(FinishReason::Stop));
    assert_eq!(trial.aids.judge.as_ref().map(|judge| judge.requests().len()), Some(0));
}

fn profile(name: &str, window: u64) -> ModelProfile {
    ModelProfile {
        name: name.into(),
        recorded_as: format!("p/{name}"),
        window: TokenCount(window),
        output_reserve: None,
    }
}

fn routing(answers: impl IntoIterator<Item = ScriptedReply>) -> Routing {
    let model = |name: &str| ScriptedModel::new((0..4).map(|_| ScriptedReply::text(format!("{name} here."))));
    Routing {
        classifier: ScriptedModel::new(answers),
        pro_from: None,
        flash: (model("flash"), profile("flash", 16_000)),
        pro: (model("pro"), profile("pro", 64_000)),
    }
}

fn choice(model: &str) -> ScriptedReply {
    ScriptedReply::text(json!({"reasoning": "So it is.", "model_choice": model}).to_string())
}

#[test]
fn each_prompt_finds_its_model() {
    let mut trial = Trial::new(32_000);
    trial.aids.routing = Some(routing([choice("flash"), choice("pro"), ScriptedReply::text("Hm.")]));
    let usual = ScriptedModel::new([ScriptedReply::text("The usual one.")]);
    for prompt in ["Say hello.", "Design it.", "And now?"] {
        assert_eq!(trial.run(prompt, &usual), TurnEnd::Finished(FinishReason::Stop));
    }
    let messages = trial.agent.conversation().transcript().messages();
    let models: Vec<_> = messages.iter().filter_map(|message| message.model.as_deref()).collect();
    assert_eq!(models, ["p/flash", "p/pro", "p/m"]);
    assert_eq!(trial.agent.input_limit(), TokenCount(32_000));
    let chosen: Vec<Event> =
        trial.events().into_iter().filter(|event| matches!(event, Event::Routed { .. })).collect();
    let expected = |model: &str| Event::Routed { model: model.into(), reason: "So it is.".into() };
    assert_eq!(chosen, [expected("p/flash"), expected("p/pro")]);
    let asked = trial.aids.routing.as_ref().expect("routing").pro.0.requests();
    assert_eq!(asked[0].model, "pro");
    trial.check_valid();
}

#[test]
fn a_choice_holds_for_the_whole_turn() {
    let (mut trial, _) = trial();
    let mut routing = routing([choice("pro"), choice("flash")]);
    routing.pro.0 =
        ScriptedModel::new([ScriptedReply::parts([look("c1", "one")]), ScriptedReply::text("Read.")]);
    trial.aids.routing = Some(routing);
    assert_eq!(trial.run("Read.", &ScriptedModel::default()), TurnEnd::Finished(FinishReason::Stop));
    assert_eq!(trial.aids.routing.as_ref().expect("routing").classifier.requests().len(), 1);
    assert_eq!(trial.agent.input_limit(), TokenCount(64_000));
}

#[test]
fn a_score_chooses_where_it_is_to() {
    let mut trial = Trial::new(32_000);
    let score = |score: u8| ScriptedReply::text(json!({"reasoning": "Hm.", "score": score}).to_string());
    let answers = [score(90), score(40), choice("pro")];
    trial.aids.routing = Some(Routing { pro_from: Some(90), ..routing(answers) });
    let usual = ScriptedModel::new([ScriptedReply::text("The usual one.")]);
    for prompt in ["Design it.", "Say hello.", "And now?"] {
        trial.run(prompt, &usual);
    }
    let messages = trial.agent.conversation().transcript().messages();
    let models: Vec<_> = messages.iter().filter_map(|message| message.model.as_deref()).collect();
    assert_eq!(models, ["p/pro", "p/flash", "p/m"]);
}

#[test]
fn where_the_chosen_model_fails_the_usual_one_answers_once() {
    let broken = || ModelError::Refused { reason: "no such model".into() };
    let mut trial = Trial::new(32_000);
    let mut routing = routing([choice("pro"), choice("pro")]);
    routing.pro.0 = ScriptedModel::new([ScriptedReply::error(broken()), ScriptedReply::error(broken())]);
    trial.aids.routing = Some(routing);
    let usual = ScriptedModel::new([ScriptedReply::text("Here I am."), ScriptedReply::error(broken())]);
    assert_eq!(trial.run("Design it.", &usual), TurnEnd::Finished(FinishReason::Stop));
    let told = |event: &Event| matches!(event, Event::Routed { model, reason } if model == "p/m" && reason.contains("p/pro failed"));
    assert!(trial.has(told));
    let messages = trial.agent.conversation().transcript().messages();
    assert_eq!(messages.last().and_then(|message| message.model.as_deref()), Some("p/m"));
    assert_eq!(trial.run("Again.", &usual), TurnEnd::Failed(broken()));
    assert_eq!(usual.requests().len(), 2);
    trial.check_valid();
}

#[test]
fn what_was_said_already_is_not_said_again_by_another_model() {
    let mut trial = Trial::new(32_000);
    let mut routing = routing([choice("pro")]);
    let cut = ModelError::Refused { reason: "cut".into() };
    let half = ScriptedReply::events([ResponseEvent::TextDelta("Half".into())]).then_error(cut.clone());
    routing.pro.0 = ScriptedModel::new([half]);
    trial.aids.routing = Some(routing);
    let usual = ScriptedModel::default();
    assert_eq!(trial.run("Design it.", &usual), TurnEnd::Failed(cut));
    assert!(usual.requests().is_empty());
}

#[test]
fn nobody_chooses_for_a_prompt_that_does_not_fit() {
    let mut trial = Trial::new(4_000);
    trial.aids.routing = Some(routing([choice("pro")]));
    let end = trial.run(&words(4_000), &ScriptedModel::default());
    assert!(matches!(end, TurnEnd::Overflow(_)), "{end:?}");
    assert!(trial.aids.routing.as_ref().expect("routing").classifier.requests().is_empty());
}

#[test]
fn a_chosen_model_gets_no_more_than_it_can_take() {
    let mut trial = Trial::new(64_000);
    let usual = ScriptedModel::new((0..3).map(|_| ScriptedReply::text(words(3_000))));
    for prompt in ["One.", "Two.", "Three."] {
        trial.run(prompt, &usual);
    }
    assert!(!trial.has(|event| matches!(event, Event::Compaction(_))));
    trial.aids.routing = Some(routing([choice("flash")]));
    assert_eq!(trial.run("Four.", &usual), TurnEnd::Finished(FinishReason::Stop));
    let sent = trial.aids.routing.as_ref().expect("routing").flash.0.requests();
    let tokens = trial.agent.session.settings.estimator.messages(&sent[0].messages);
    assert!(tokens < TokenCount(16_000), "{tokens:?}");
}

#[test]
fn plans_are_made_by_the_better_model() {
    let mut trial = Trial::new(32_000);
    trial.agent.session.settings.permissions.situation.mode = ApprovalMode::Plan;
    trial.aids.routing = Some(routing([]));
    trial.run("Plan it.", &ScriptedModel::default());
    assert!(trial.has(|event| matches!(event, Event::Routed { model, .. } if model == "p/pro")));
    assert!(trial.aids.routing.as_ref().expect("routing").classifier.requests().is_empty());
}

fn write_editor(trial: &Trial, line: u64) {
    let file = json!({"path": "/app/a.rs", "timestamp": 1, "isActive": true, "cursor": {"line": line, "character": 1}});
    let state = json!({"workspaceState": {"openFiles": [file]}}).to_string();
    fs::write(trial.folder.path().join("ide.json"), state).expect("written");
}

/// What the newest prompt says about the editor.
fn editor_news(trial: &Trial) -> Option<String> {
    let messages = trial.agent.conversation().transcript().messages();
    let prompt = messages.iter().rfind(|message| {
        message.parts.iter().any(|part| part.origin == Origin::User && part.as_text().is_some())
    })?;
    let told = prompt.parts.iter().filter(|part| part.origin == Origin::Hook).filter_map(Part::as_text);
    told.filter(|text| text.contains("editor")).map(str::to_string).next()
}

#[test]
fn the_editor_is_described_once_and_then_what_changed() {
    let mut trial = Trial::new(32_000);
    trial.aids.editor = Some(trial.folder.path().join("ide.json"));
    let model = ScriptedModel::new((0..9).map(|_| ScriptedReply::text("Yes.")));
    trial.run("No editor yet.", &model);
    assert_eq!(editor_news(&trial), None);
    write_editor(&trial, 1);
    trial.run("Look.", &model);
    assert!(editor_news(&trial).is_some_and(|text| text.contains("activeFile\"")));
    trial.run("Look again.", &model);
    assert_eq!(editor_news(&trial), None);
    write_editor(&trial, 2);
    trial.run("And again.", &model);
    assert!(editor_news(&trial).is_some_and(|text| text.contains("cursorMoved")));
    let files = longhaul_engine::Folder::new(trial.folder.path());
    let (now, new_id) = (|| Timestamp::from_millis(0), || "cleared".to_string());
    trial.agent.clear(&AgentDeps::new(&model, &files, &now, &new_id)).expect("cleared");
    trial.run("Begin anew.", &model);
    assert!(editor_news(&trial).is_some_and(|text| text.contains("activeFile\"")));
    trial.check_valid();
}

#[test]
fn after_a_compaction_everything_is_told_again() {
    let mut trial = Trial::new(8_000);
    trial.aids.editor = Some(trial.folder.path().join("ide.json"));
    write_editor(&trial, 1);
    let model = ScriptedModel::new((0..8).map(|_| ScriptedReply::text(words(500))));
    let mut told = 0;
    for turn in 0..7 {
        trial.run(&format!("Recite {turn}."), &model);
        told += u32::from(editor_news(&trial).is_some());
    }
    assert!(trial.has(|event| matches!(event, Event::Compaction(_))));
    assert!(told > 1, "{told}");
    trial.check_valid();
}

#[test]
fn while_a_call_waits_for_its_answer_the_editor_waits_too() {
    let mut trial = Trial::new(32_000);
    trial.aids.editor = Some(trial.folder.path().join("ide.json"));
    let model = ScriptedModel::new((0..3).map(|_| ScriptedReply::text("Yes.")));
    write_editor(&trial, 1);
    trial.run("Look.", &model);
    write_editor(&trial, 2);
    // A process that was killed leaves such a call behind.
    let waiting = Message::new("killed", Role::Model, vec![look("c1", "one")]);
    trial.agent.session.conversation.append(&waiting).expect("recorded");
    trial.run("Go on.", &model);
    assert_eq!(editor_news(&trial), None);
    write_editor(&trial, 3);
    trial.run("And on.", &model);
    let news = editor_news(&trial).expect("what changed");
    assert!(news.contains("cursorMoved") && news.contains("\"line\": 3"), "{news}");
}

#[test]
fn a_broken_editor_file_is_told_once() {
    let mut trial = Trial::new(32_000);
    let path = trial.folder.path().join("ide.json");
    trial.aids.editor = Some(path.clone());
    fs::write(&path, "{").expect("written");
    let model = ScriptedModel::new((0..3).map(|_| ScriptedReply::text("Yes.")));
    for prompt in ["One.", "Two.", "Three."] {
        assert_eq!(trial.run(prompt, &model), TurnEnd::Finished(FinishReason::Stop));
    }
    let warnings: Vec<Event> =
        trial.events().into_iter().filter(|event| matches!(event, Event::Warning(_))).collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}

/// Runs a command that writes this and tells what the model reads of it.
fn condensed(budget: Option<u64>, output: &str, answers: Vec<ScriptedReply>) -> (Trial, String) {
    let mut settings = settings(32_000);
    settings.permissions.situation.mode = ApprovalMode::Yolo;
    settings.shell_summary = budget.map(TokenCount);
    let (mut trial, _) = trial_with_tools(settings);
    trial.aids.side_model = Some(ScriptedModel::new(answers));
    let run = call("c1", "run_shell_command", json!({"command": "make", "says": output}));
    let model = ScriptedModel::new([ScriptedReply::parts([run]), ScriptedReply::text("Seen.")]);
    assert_eq!(trial.run("Build it.", &model), TurnEnd::Finished(FinishReason::Stop));
    let text = results(&trial)[0].2.clone();
    (trial, text)
}

#[test]
fn long_outputs_of_commands_are_summarised_if_the_user_wants_that() {
    let output = format!("{}\nExit code: 2", words(800));
    let summary = || vec![ScriptedReply::text("It failed.\n<error>boom at a.rs:3</error>")];
    let (trial, text) = condensed(Some(200), &output, summary());
    assert!(text.contains("It failed.\n<error>boom at a.rs:3</error>\nExit code: 2"), "{text}");
    assert!(text.contains("tool-outputs/") && !text.contains("word0400"), "{text}");
    let saved = super::tool_tests::ends(&trial)[0].saved_as.clone().expect("it is saved");
    let path = if fs::exists(&saved).is_ok_and(|there| there) {
        saved.into()
    } else {
        trial.folder.path().join(saved)
    };
    assert_eq!(fs::read_to_string(path).expect("the whole"), output);
    assert_eq!(trial.aids.side_model.as_ref().map(|helper| helper.requests().len()), Some(1));

    let as_it_was = |budget, answers| assert_eq!(condensed(budget, &output, answers).1, output);
    as_it_was(None, summary());
    as_it_was(Some(20_000), summary());
    as_it_was(Some(200), vec![ScriptedReply::text(" ")]);
    as_it_was(Some(200), vec![ScriptedReply::error(ModelError::TooLong)]);
}

#[test]
fn what_happened_lately_is_remembered() {
    let (mut trial, _) = trial();
    let model = ScriptedModel::new([
        ScriptedReply::parts([look("c1", "one"), look("c2", "two")]),
        ScriptedReply::text("Done."),
    ]);
    trial.run("Look.", &model);
    let activity = &trial.agent.statistics().activity;
    let counts = activity.statistics().counts;
    let expected = [
        (Activity::Started, 1),
        (Activity::UserInput, 1),
        // Where it takes place, the prompt, the calls, their answers, the reply.
        (Activity::MessageAdded, 5),
        (Activity::ToolScheduled, 2),
        (Activity::ToolCompleted, 2),
        (Activity::StreamStarted, 2),
    ];
    assert_eq!(counts, expected.into());
    assert_eq!(activity.memory().peak, Some(1 << 20));
    trial.agent.session.settings.records_activity = false;
    trial.run("Look.", &ScriptedModel::new([ScriptedReply::text("Done.")]));
    assert!(trial.agent.statistics().activity.recent(0).next().is_none());
}
