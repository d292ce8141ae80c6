use std::path::PathBuf;
use std::time::Duration;

use longhaul_conversation::{
    FinishReason, Model, ModelError, Part, ResponseEvent, ScriptedModel, ScriptedReply, TokenCount,
    ToolStatus, Usage, find_faults,
};
use longhaul_formats::{Format, read_session};
use longhaul_policy::{
    Policy, Reach, RuleTier, SettingVerdict, Situation, default_rules, parse_rules, rule_from_setting,
};
use longhaul_sessions::Log;
use serde_json::{Value, json};

use super::tool_tests::{Ran, attended, call, look, results, trial_with_tools};
use super::trial::{Trial, replay, settings, words};
use super::*;
use crate::subagents::parse_definition;
use crate::{
    Approval, ModelProfile, ModelSource, NamedModel, SubagentDefinition, SubagentModel, SubagentSource,
    Subagents,
};

fn definition(text: &str) -> SubagentDefinition {
    let (definition, problems) = parse_definition(text, SubagentSource::BuiltIn);
    assert_eq!(problems, []);
    definition.expect("a definition")
}

/// A sub-agent that can read and write, and another that can start others, too.
fn subagents() -> Subagents {
    let scout = "---\nname: scout\ndescription: Finds things.\ntools: [read_file, write_file]\nmax_turns: 3\n\
                 max_time_minutes: 2\n---\nYou are a scout.";
    let chief = "---\nname: chief\ndescription: Sends others.\ntools: [invoke_agent]\n---\nYou are a chief.";
    Subagents::new([definition(scout), definition(chief)])
}

/// The rules that come with Longhaul, and those that let sub-agents be started.
fn policy(more: &str) -> Policy {
    let (rules, problems) = parse_rules(more, "more.toml".as_ref(), RuleTier::User);
    assert!(problems.is_empty(), "{problems:?}");
    let start = |name| rule_from_setting(SettingVerdict::SubagentTool, name, "agents").expect("a rule");
    Policy::new(default_rules().into_iter().chain(rules).chain(["scout", "chief"].map(start)).collect())
}

pub(super) fn trial_with(mut settings: Settings) -> (Trial, Ran) {
    settings.permissions.policy = policy("");
    let (mut trial, ran) = trial_with_tools(settings);
    trial.subagents = subagents();
    (trial, ran)
}

pub(super) fn trial() -> (Trial, Ran) {
    trial_with(settings(32_000))
}

fn invoke(id: &str, agent: &str, task: &str) -> Part {
    call(id, "invoke_agent", json!({"agent_name": agent, "task": task}))
}

pub(super) fn complete(id: &str, result: &str) -> Part {
    call(id, "complete_task", json!({"result": result}))
}

pub(super) fn parts(parts: impl IntoIterator<Item = Part>) -> ScriptedReply {
    ScriptedReply::parts(parts)
}

/// What happened in sub-agents.
fn inside(trial: &Trial) -> Vec<Event> {
    let events = trial.events().into_iter().filter_map(|event| match event {
        Event::Subagent { event, .. } => Some(*event),
        _ => None,
    });
    events.collect()
}

/// The recordings of the sub-agents, by name.
pub(super) fn recordings(trial: &Trial) -> Vec<PathBuf> {
    let folder = trial.folder.path().join(trial.agent.session.id());
    let entries = std::fs::read_dir(folder).map(|entries| entries.flatten().map(|entry| entry.path()));
    let mut files: Vec<PathBuf> = entries.into_iter().flatten().collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    files
}

#[track_caller]
pub(super) fn check_recording(file: &Path) {
    let replay = replay(file);
    assert!(replay.warnings().is_empty(), "{:?}", replay.warnings());
    let faults = find_faults(replay.transcript().messages());
    assert!(faults.is_empty(), "{faults:?}");
}

#[test]
fn a_task_is_handed_over_and_its_result_comes_back() {
    let (mut trial, ran) = trial();
    let usage = ResponseEvent::Usage(Usage { input: Some(TokenCount(700)), ..Usage::default() });
    let asks =
        [ResponseEvent::Part(look("s1", "fn main")), usage, ResponseEvent::Finished(FinishReason::ToolCalls)];
    let model = ScriptedModel::new([
        parts([invoke("c1", "scout", "Find the entry point.")]),
        ScriptedReply::events(asks),
        parts([complete("s2", "It is src/main.rs.")]),
        ScriptedReply::text("src/main.rs."),
    ]);
    assert_eq!(trial.run("Where does it begin?", &model), TurnEnd::Finished(FinishReason::Stop));
    assert_eq!(results(&trial), [("c1".into(), ToolStatus::Succeeded, "It is src/main.rs.".to_string())]);
    assert_eq!(ran.lock().unwrap().len(), 1);
    trial.check_valid();

    let requests = model.requests();
    let names =
        |request: usize| requests[request].tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>();
    assert!(names(0).contains(&"invoke_agent") && !names(0).contains(&"complete_task"), "{:?}", names(0));
    assert_eq!(names(1), ["read_file", "write_file", "recall_history", "complete_task"]);
    let system = requests[1].system[0].as_text().expect("a text");
    assert!(
        system.starts_with("You are a scout.") && system.contains("<task>\nFind the entry point.\n</task>")
    );
    assert!(system.contains("3 steps and 2 minutes"), "{system}");
    let told = requests[3].messages.iter().flat_map(|message| &message.parts).filter_map(Part::as_text);
    assert!(!told.collect::<String>().contains("fn main"), "the parent sees the result alone");

    let statistics = trial.agent.statistics();
    assert_eq!(statistics.requests, 4, "those of the sub-agent count, too");
    assert!(statistics.input > TokenCount(700) && statistics.estimated >= statistics.input - TokenCount(700));
    assert_eq!(trial.agent.statistics().tools["read_file"].calls, 1);
    assert_eq!(trial.agent.statistics().tools["invoke_agent"].calls, 1);
    let seen = inside(&trial);
    assert!(
        seen.iter().any(|event| matches!(event, Event::ToolBegan { call, .. } if call.id.as_str() == "s1"))
    );
    assert_eq!(seen.last(), Some(&Event::Ended(TurnEnd::Finished(FinishReason::Stop))));
}

#[test]
fn it_is_recorded_below_the_session_that_started_it() {
    let (mut trial, _) = trial();
    let model = ScriptedModel::new([
        parts([invoke("c1", "scout", "Look.")]),
        parts([look("s1", "a"), complete("s2", "Seen."), look("s3", "never")]),
        ScriptedReply::text("Fine."),
    ]);
    trial.run("Go.", &model);
    let files = recordings(&trial);
    let [file] = files.as_slice() else { panic!("{files:?}") };
    check_recording(file);
    let session = read_session(std::fs::File::open(file).expect("it is there")).expect("a session");
    assert_eq!(session.info.format, Format::GeminiJsonl);
    let id = session.info.session_id.expect("an id");
    assert!(id.starts_with("scout-") && file.ends_with(format!("{id}.jsonl")), "{id}");
    assert_eq!(session.info.project.as_deref(), Some("hash"));
    let text = std::fs::read_to_string(file).expect("text");
    assert!(text.lines().next().is_some_and(|head| head.contains(r#""kind":"subagent""#)), "{text}");
    let results = session.transcript.messages().iter().flat_map(|message| &message.parts);
    let results: Vec<_> =
        results.filter_map(Part::as_result).map(|result| result.readable().into_owned()).collect();
    assert_eq!(results.len(), 3);
    assert!(results[2].contains("the result was handed over before it"), "{results:?}");
    // While it ran, the session that started it named it, and it no longer does.
    let log = std::fs::read_to_string(trial.agent.conversation().log().path()).expect("a log");
    assert!(log.contains(&id) && log.contains("sub-agent scout: Look."), "{log}");
    assert!(trial.agent.conversation().host().jobs.is_empty());
}

#[test]
fn rules_may_be_about_one_sub_agent() {
    let (mut trial, ran) = trial();
    trial.agent.session.settings.permissions.policy = policy(
        "[[rule]]\ntoolName = \"read_file\"\nsubagent = \"scout\"\ndecision = \"deny\"\npriority = 500\n\
         denyMessage = \"Scouts do not read.\"",
    );
    let model = ScriptedModel::new([
        parts([look("c0", "mine"), invoke("c1", "scout", "Read.")]),
        parts([look("s1", "theirs"), call("s2", "run_shell_command", json!({"command": "ls"}))]),
        parts([complete("s3", "I may not.")]),
        ScriptedReply::text("Fine."),
    ]);
    trial.run("Go.", &model);
    assert_eq!(ran.lock().unwrap().len(), 1);
    let ends = inside(&trial).into_iter().filter_map(|event| match event {
        Event::ToolEnded(end) => Some((end.status, end.text)),
        _ => None,
    });
    let ends: Vec<(ToolStatus, String)> = ends.collect();
    assert_eq!(ends[0], (ToolStatus::Cancelled, "Scouts do not read.".to_string()));
    assert!(ends[1].1.contains("There is no tool \"run_shell_command\""), "{ends:?}");
    assert_eq!(results(&trial)[1].2, "I may not.");
}

#[test]
fn without_a_rule_nobody_starts_one_unasked() {
    let (mut trial, _) = trial();
    trial.agent.session.settings.permissions.policy = Policy::new(default_rules());
    let model =
        ScriptedModel::new([parts([invoke("c1", "scout", "Look.")]), ScriptedReply::text("Then not.")]);
    trial.run("Go.", &model);
    assert_eq!(results(&trial)[0].1, ToolStatus::Cancelled);
    assert!(recordings(&trial).is_empty());
}

#[test]
fn whoever_stops_without_a_result_is_asked_for_it_once() {
    let (mut trial, _) = trial();
    let model = ScriptedModel::new([
        parts([invoke("c1", "scout", "Look.")]),
        ScriptedReply::text("I found it."),
        parts([complete("s1", "It is there.")]),
        ScriptedReply::text("Fine."),
    ]);
    trial.run("Go.", &model);
    assert_eq!(results(&trial)[0].2, "It is there.");
    let last = &model.requests()[2];
    assert_eq!(last.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["complete_task"]);
    let asked = super::trial::texts(last).pop().expect("words");
    assert!(
        asked.starts_with("You stopped without handing over a result. Call `complete_task` now"),
        "{asked}"
    );
}

#[test]
fn whoever_has_no_result_even_then_ends_without_one() {
    let (mut trial, _) = trial();
    let model = ScriptedModel::new([
        parts([invoke("c1", "scout", "Look.")]),
        ScriptedReply::text("I found it."),
        ScriptedReply::text("It is in the attic."),
        ScriptedReply::text("Fine."),
    ]);
    assert_eq!(trial.run("Go.", &model), TurnEnd::Finished(FinishReason::Stop));
    let (_, status, text) = results(&trial).remove(0);
    assert_eq!(status, ToolStatus::Failed);
    assert_eq!(
        text,
        "The sub-agent scout ended without a result: it did not hand one over.\n\nThe last it said:\nIt is in the attic."
    );
    recordings(&trial).iter().for_each(|file| check_recording(file));
}

#[test]
fn steps_are_limited() {
    let (mut trial, ran) = trial();
    let looks = (0..3).map(|n| parts([look(&format!("s{n}"), &format!("text {n}"))]));
    let replies = [parts([invoke("c1", "scout", "Look.")])].into_iter().chain(looks);
    let replies = replies.chain([parts([complete("s9", "Half of it.")]), ScriptedReply::text("Fine.")]);
    let model = ScriptedModel::new(replies);
    trial.run("Go.", &model);
    assert_eq!(ran.lock().unwrap().len(), 3);
    assert_eq!(results(&trial)[0].2, "Half of it.");
    let asked = super::trial::texts(&model.requests()[4]).pop().expect("words");
    assert!(asked.starts_with("You have used up your 3 steps."), "{asked}");
}

#[test]
fn time_is_limited() {
    let (mut trial, ran) = trial();
    let model = ScriptedModel::new([
        parts([invoke("c1", "scout", "SubagentWait.")]),
        parts([call("s1", "read_file", json!({"waits": true}))]),
        parts([complete("s2", "Nothing came.")]),
        ScriptedReply::text("Fine."),
    ]);
    assert_eq!(trial.run("Go.", &model), TurnEnd::Finished(FinishReason::Stop));
    assert_eq!(ran.lock().unwrap().len(), 1);
    assert_eq!(results(&trial)[0].2, "Nothing came.");
    let asked = super::trial::texts(&model.requests()[2]).pop().expect("words");
    assert!(asked.starts_with("Your time is up: 2 minutes."), "{asked}");
    recordings(&trial).iter().for_each(|file| check_recording(file));
}

#[test]
fn cancelling_stops_sub_agents_and_leaves_all_sessions_whole() {
    let (mut trial, _) = trial();
    let model = ScriptedModel::new([
        parts([invoke("c1", "scout", "SubagentWait."), invoke("c2", "scout", "SubagentWait, too.")]),
        parts([call("s1", "read_file", json!({"waits": true}))]),
        parts([call("s2", "read_file", json!({"waits": true}))]),
    ]);
    let waits = |event: &Event| match event {
        Event::Subagent { event, .. } => {
            matches!(&**event, Event::ToolBegan { call, .. } if call.id.as_str() == "s2")
        }
        _ => false,
    };
    assert_eq!(trial.run_until("Go.", &model, waits), TurnEnd::Cancelled);
    let results = results(&trial);
    assert!(results.iter().all(|result| result.1 == ToolStatus::Cancelled), "{results:?}");
    assert_eq!(results[0].2, "The sub-agent scout was stopped.");
    assert_eq!(model.requests().len(), 3);
    trial.check_valid();
    assert_eq!(recordings(&trial).len(), 2);
    recordings(&trial).iter().for_each(|file| check_recording(file));
    let model = ScriptedModel::new([ScriptedReply::text("Fine.")]);
    assert_eq!(trial.run("Go on.", &model), TurnEnd::Finished(FinishReason::Stop));
}

#[test]
fn several_run_beside_each_other() {
    let (mut trial, ran) = trial();
    let meets = |id: &str| parts([call(id, "read_file", json!({"meets": true}))]);
    // Each waits for the other: one after the other they would both run out of time.
    let model = ScriptedModel::new([
        parts([invoke("c1", "scout", "Meet."), invoke("c2", "scout", "Meet.")]),
        meets("s1"),
        meets("s2"),
        parts([complete("s3", "Met.")]),
        parts([complete("s4", "Met.")]),
        ScriptedReply::text("Fine."),
    ]);
    trial.run("Go.", &model);
    assert_eq!(ran.lock().unwrap().len(), 2);
    assert!(results(&trial).iter().all(|result| result.2 == "Met."), "{:?}", results(&trial));
    assert_eq!(recordings(&trial).len(), 2);
    trial.check_valid();
}

/// Knows one model.
struct OneModel(ScriptedModel);

impl ModelSource for OneModel {
    fn find(&self, name: &str) -> Result<NamedModel<'_>, String> {
        let profile = ModelProfile {
            name: "small".into(),
            recorded_as: "p/small".into(),
            window: TokenCount(9_000),
            output_reserve: None,
        };
        match name {
            "small" => Ok(NamedModel { model: &self.0, profile }),
            _ => Err(format!("there is no model {name:?}")),
        }
    }
}

fn with_model(trial: &mut Trial, name: &str) {
    let mut scout = trial.subagents.get("scout").expect("a scout").clone();
    scout.model = SubagentModel::Named(name.to_string());
    trial.subagents = Subagents::new([scout]);
    trial.models = Some(Box::new(OneModel(ScriptedModel::new([parts([complete("s1", "Small.")])]))));
}

#[test]
fn a_sub_agent_may_ask_another_model() {
    let (mut trial, _) = trial();
    with_model(&mut trial, "small");
    let model = ScriptedModel::new([parts([invoke("c1", "scout", "Look.")]), ScriptedReply::text("Fine.")]);
    trial.run("Go.", &model);
    assert_eq!(results(&trial)[0].2, "Small.");
    assert_eq!(replay(&recordings(&trial)[0]).info().models, ["p/small"]);
}

#[test]
fn an_unknown_model_gives_way_to_that_of_the_conversation() {
    let (mut trial, _) = trial();
    with_model(&mut trial, "large");
    let model = ScriptedModel::new([
        parts([invoke("c1", "scout", "Look.")]),
        parts([complete("s1", "Own.")]),
        ScriptedReply::text("Fine."),
    ]);
    trial.run("Go.", &model);
    assert_eq!(results(&trial)[0].2, "Own.");
    let warned =
        |event: &Event| matches!(event, Event::Warning(text) if text.contains("there is no model \"large\""));
    assert!(trial.has(warned), "{:?}", trial.events());
}

#[test]
fn a_model_that_fails_ends_the_sub_agent_and_not_the_turn() {
    let (mut trial, _) = trial();
    let model = ScriptedModel::new([
        parts([invoke("c1", "scout", "Look.")]),
        ScriptedReply::error(ModelError::Refused { reason: "no".into() }),
        ScriptedReply::text("Then not."),
    ]);
    assert_eq!(trial.run("Go.", &model), TurnEnd::Finished(FinishReason::Stop));
    assert_eq!(
        results(&trial)[0].2,
        "The sub-agent scout ended without a result: the provider rejected the request: no."
    );
}

#[test]
fn the_user_is_told_who_asks_and_decides_for_all() {
    let (mut trial, ran, asked) = attended([Approval::Always(Reach::Session), Approval::Stop]);
    trial.agent.session.settings.permissions.policy = policy("");
    trial.agent.session.settings.permissions.situation = Situation::default();
    trial.subagents = subagents();
    let run = |id: &str| call(id, "write_file", json!({"file_path": id}));
    let model = ScriptedModel::new([
        parts([invoke("c1", "scout", "Write.")]),
        parts([run("s1")]),
        parts([complete("s2", "Written.")]),
        // What was allowed for good there is allowed here.
        parts([run("c2"), invoke("c3", "scout", "Run.")]),
        parts([call("s3", "compact_now", json!({})), call("s4", "write_file", json!({"file_path": "x"}))]),
        parts([complete("s5", "Done.")]),
        ScriptedReply::text("Fine."),
    ]);
    assert_eq!(trial.run("Go.", &model), TurnEnd::Finished(FinishReason::Stop));
    assert_eq!(ran.lock().unwrap().len(), 3);
    let asked: Vec<Option<String>> =
        asked.lock().unwrap().iter().map(|request| request.reason.clone()).collect();
    assert_eq!(asked, [Some("requested by sub-agent \"scout\"".to_string())]);
}

#[test]
fn who_stops_a_sub_agents_call_stops_the_turn() {
    let (mut trial, ran, _) = attended([Approval::Stop]);
    trial.agent.session.settings.permissions.policy = policy("");
    trial.subagents = subagents();
    let model = ScriptedModel::new([
        parts([invoke("c1", "scout", "Write."), call("c2", "write_file", json!({"file_path": "a"}))]),
        parts([call("s1", "write_file", json!({"file_path": "a"}))]),
    ]);
    assert_eq!(trial.run("Go.", &model), TurnEnd::Cancelled);
    assert!(ran.lock().unwrap().is_empty());
    assert_eq!(model.requests().len(), 2);
    trial.check_valid();
}

/// A user who takes an hour to answer.
struct Slow;

impl crate::Approver for Slow {
    fn approve<'a>(&'a self, _: &'a crate::ApprovalRequest) -> longhaul_tools::BoxFuture<'a, Approval> {
        Box::pin(async {
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            Approval::Once
        })
    }

    fn answer<'a>(&'a self, _: &'a crate::UserQuestion) -> longhaul_tools::BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }
}

#[test]
fn the_time_that_the_user_takes_does_not_count() {
    let (mut trial, ran, _) = attended([]);
    trial.agent.session.settings.permissions.policy = policy("");
    trial.subagents = subagents();
    trial.approver = Box::new(Slow);
    let model = ScriptedModel::new([
        parts([invoke("c1", "scout", "Write.")]),
        parts([call("s1", "write_file", json!({"file_path": "a"}))]),
        parts([complete("s2", "Written.")]),
        ScriptedReply::text("Fine."),
    ]);
    trial.run("Go.", &model);
    assert_eq!((ran.lock().unwrap().len(), results(&trial)[0].2.as_str()), (1, "Written."));
}

#[test]
fn a_sub_agent_starts_others_only_where_it_may_and_not_for_ever() {
    let (mut trial, _) = trial();
    let deeper = |id: &str| parts([invoke(id, "chief", "Delegate.")]);
    let done = |id: &str| parts([complete(id, id)]);
    let model = ScriptedModel::new([
        deeper("c1"),
        deeper("s1"),
        deeper("s2"),
        deeper("s3"),
        done("three"),
        done("two"),
        done("one"),
        ScriptedReply::text("Fine."),
    ]);
    trial.run("Go.", &model);
    assert_eq!(results(&trial)[0].2, "one");
    let offered = model
        .requests()
        .into_iter()
        .map(|request| request.tools.iter().any(|tool| tool.name == "invoke_agent"));
    assert_eq!(offered.collect::<Vec<_>>(), [true, true, true, false, false, true, true, true]);
    let nested = inside(&trial).iter().filter(|event| matches!(event, Event::Subagent { .. })).count();
    assert!(nested > 0);
    // Each stands below the one that started it.
    let id = replay(&recordings(&trial)[0]).info().session_id.clone().expect("an id");
    assert!(trial.folder.path().join(id).is_dir());
}

#[test]
fn a_long_task_is_compacted_by_itself_and_never_forgotten() {
    let mut roomy = subagents().get("scout").expect("a scout").clone();
    roomy.most_turns = 100;
    let (mut trial, _) = trial_with(settings(17_000));
    trial.subagents = Subagents::new([roomy]);
    let read = |n: usize| {
        let args = json!({"file_path": format!("src/f{n}.rs"), "says": words(300)});
        parts([call(&format!("s{n}"), "read_file", args)])
    };
    let replies = [parts([invoke("c1", "scout", "Count the seven hidden doors.")])].into_iter();
    let replies = replies.chain((0..40).map(read)).chain([parts([complete("s99", "Seven.")])]);
    let model = ScriptedModel::new(replies.chain([ScriptedReply::text("Fine.")]));
    assert_eq!(trial.run("Go.", &model), TurnEnd::Finished(FinishReason::Stop));
    assert_eq!(results(&trial)[0].2, "Seven.");
    let applied = |event: &Event| matches!(event, Event::Compaction(longhaul_engine::Event::Applied { .. }));
    assert!(inside(&trial).iter().any(applied) && !trial.has(applied));
    let estimator = trial.agent.session.settings.estimator;
    for request in &model.requests()[1..42] {
        assert!(estimator.messages(&request.messages) < TokenCount(17_000));
        assert!(
            request.system[0]
                .as_text()
                .is_some_and(|system| system.contains("Count the seven hidden doors."))
        );
        assert_eq!(find_faults(&request.messages), []);
    }
}

#[test]
fn a_long_result_is_capped_and_kept_whole() {
    let (mut trial, _) = trial();
    let long = words(6_000);
    let model = ScriptedModel::new([
        parts([invoke("c1", "scout", "Recite.")]),
        parts([complete("s1", &long)]),
        ScriptedReply::text("Long."),
    ]);
    trial.run("Go.", &model);
    assert!(results(&trial)[0].2.len() < long.len() / 2);
    let saved = trial.events().into_iter().find_map(|event| match event {
        Event::ToolEnded(end) => end.saved_as,
        _ => None,
    });
    assert_eq!(std::fs::read_to_string(saved.expect("it was saved")).expect("it is there"), long);
}

/// A model that answers the first request from a script; at the second, everything is over.
struct Dies(ScriptedModel);

impl Model for Dies {
    fn stream(&self, request: longhaul_conversation::Request) -> longhaul_conversation::ModelStream<'_> {
        match self.0.requests().is_empty() {
            true => self.0.stream(request),
            false => panic!("killed"),
        }
    }
}

#[test]
fn a_session_that_was_killed_meanwhile_goes_on() {
    let (mut trial, _) = trial();
    let model = Dies(ScriptedModel::new([parts([invoke("c1", "scout", "Look."), look("c2", "mine")])]));
    let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| trial.run("Go.", &model)));
    assert!(killed.is_err());
    let path = trial.agent.conversation().log().path().to_path_buf();
    let settings = trial.agent.session.settings.clone();
    let (mut next, _) = trial_with(settings.clone());
    // The dead agent lets go of its log.
    std::mem::swap(&mut trial.agent, &mut next.agent);
    drop(next);
    let log = Log::open_existing(&path).expect("it can be opened");
    let mentions: Vec<String> = log.replay().host().iter().map(|host| format!("{host:?}")).collect();
    assert!(mentions.join("").contains("sub-agent scout: Look."), "{mentions:?}");
    trial.agent = Agent::on(log, settings);
    let model = ScriptedModel::new([ScriptedReply::text("I go on.")]);
    assert_eq!(trial.run("Where were we?", &model), TurnEnd::Finished(FinishReason::Stop));
    let request = &model.requests()[0];
    assert_eq!(find_faults(&request.messages), []);
    assert!(trial.agent.conversation().host().jobs.is_empty());
}

#[test]
fn nonsense_is_answered_in_a_sentence() {
    let (mut trial, _) = trial();
    let model = ScriptedModel::new([
        parts([
            invoke("c1", "nobody", "Look."),
            invoke("c2", "scout", " "),
            call("c3", "invoke_agent", Value::Null),
            complete("c4", "I am the main agent."),
        ]),
        ScriptedReply::text("Fine."),
    ]);
    assert_eq!(trial.run("Go.", &model), TurnEnd::Finished(FinishReason::Stop));
    let results = results(&trial);
    assert!(results.iter().all(|result| result.1 == ToolStatus::Failed), "{results:?}");
    assert!(results[0].2.contains("These are there: chief, scout."));
    assert!(results[3].2.contains("There is no tool \"complete_task\""));
    assert!(recordings(&trial).is_empty());
}
