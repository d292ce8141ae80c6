use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use longhaul_conversation::{
    CallId, FinishReason, ModelError, Part, ScriptedModel, ScriptedReply, TokenCount, ToolDeclaration,
    ToolStatus,
};
use longhaul_policy::{
    Policy, PolicyPlaces, Reach, RuleTier, SavedFiles, Situation, default_rules, parse_rules,
};
use longhaul_tools::{BoxFuture, Preview, Replace, Roots, Tool, ToolAnswer, ToolInvocation, WriteFile};
use longhaul_workspace::Ignoring;
use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::trial::{Trial, settings, words};
use super::*;
use crate::{Approval, ApprovalRequest, Approver, ToolEnd, UserQuestion};

/// A tool that does as it is told: `look` shows it a text, `write_file` changes something, `run_shell_command` runs.
pub(super) struct Puppet {
    pub(super) name: &'static str,
    pub(super) ran: Arc<Mutex<Vec<Value>>>,
    /// Where calls that meet others wait for them.
    pub(super) meeting: Arc<Barrier>,
}

impl Tool for Puppet {
    fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: self.name.into(),
            description: "A tool.".into(),
            parameters: json!({"type": "object", "properties": {}}),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        if args.get("bad").is_some() {
            return Err("These arguments are bad.".into());
        }
        Ok(match self.name {
            "write_file" => {
                let name = args["file_path"].as_str().unwrap_or("a");
                Preview::Change { path: Path::new("/app").join(name), diff: "+a".into() }
            }
            "run_shell_command" => Preview::Command {
                command: args["command"].as_str().unwrap_or_default().into(),
                directory: PathBuf::from("/app"),
                is_background: false,
            },
            _ => Preview::Look("something".into()),
        })
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async move {
            self.ran.lock().unwrap_or_else(PoisonError::into_inner).push(call.args.clone());
            if call.args.get("waits").is_some() {
                call.cancel.cancelled().await;
                return ToolAnswer::new(longhaul_tools::ToolOutcome::Cancelled("Stopped halfway.".into()));
            }
            if call.args.get("meets").is_some() {
                self.meeting.wait().await;
            }
            (call.progress)("half");
            let text = call.args.get("says").and_then(Value::as_str).unwrap_or("done");
            match call.args.get("fails") {
                Some(_) => ToolAnswer::failed(text),
                None => ToolAnswer::succeeded(text),
            }
        })
    }
}

/// Answers in a fixed order, and remembers what it was asked.
pub(super) struct Script {
    answers: Mutex<VecDeque<Approval>>,
    asked: Arc<Mutex<Vec<ApprovalRequest>>>,
}

impl Script {
    pub(super) fn new(answers: impl IntoIterator<Item = Approval>, asked: Asked) -> Self {
        Self { answers: Mutex::new(answers.into_iter().collect()), asked }
    }
}

impl Approver for Script {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Approval> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        let answer = self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        Box::pin(async move { answer.unwrap_or(Approval::Stop) })
    }

    fn answer<'a>(&'a self, question: &'a UserQuestion) -> BoxFuture<'a, Option<String>> {
        let answer = question.options.first().cloned();
        Box::pin(async move { answer })
    }
}

pub(super) type Ran = Arc<Mutex<Vec<Value>>>;
pub(super) type Asked = Arc<Mutex<Vec<ApprovalRequest>>>;

pub(super) fn trial_with_tools(settings: Settings) -> (Trial, Ran) {
    let (ran, meeting) = (Ran::default(), Arc::new(Barrier::new(2)));
    let mut trial = Trial::with(settings);
    for name in ["read_file", "write_file", "run_shell_command"] {
        trial.tools.push(Box::new(Puppet { name, ran: ran.clone(), meeting: meeting.clone() }));
    }
    (trial, ran)
}

pub(super) fn trial() -> (Trial, Ran) {
    trial_with_tools(settings(32_000))
}

/// The same with a user who answers these.
pub(super) fn attended(answers: impl IntoIterator<Item = Approval>) -> (Trial, Ran, Asked) {
    let mut settings = settings(32_000);
    settings.permissions.situation = Situation::default();
    let (mut trial, ran) = trial_with_tools(settings);
    let asked = Asked::default();
    trial.approver = Box::new(Script::new(answers, asked.clone()));
    (trial, ran, asked)
}

/// The real tools for files in a folder of their own, and a user who answers these.
fn with_files(answers: impl IntoIterator<Item = Approval>) -> (Trial, Asked) {
    let mut settings = settings(32_000);
    settings.permissions.situation = Situation::default();
    let mut trial = Trial::with(settings);
    let roots = Roots::new(trial.folder.path(), &[]).unwrap();
    trial.tools.push(Box::new(Replace::new(roots.clone(), Ignoring::default())));
    trial.tools.push(Box::new(WriteFile::new(roots)));
    let asked = Asked::default();
    trial.approver = Box::new(Script::new(answers, asked.clone()));
    (trial, asked)
}

pub(super) fn call(id: &str, name: &str, args: Value) -> Part {
    Part::call(ToolCall::new(id, name).with_args(args))
}

pub(super) fn look(id: &str, says: &str) -> Part {
    call(id, "read_file", json!({"file_path": "a.rs", "says": says}))
}

pub(super) fn ends(trial: &Trial) -> Vec<ToolEnd> {
    let ends = trial.events().into_iter().filter_map(|event| match event {
        Event::ToolEnded(end) => Some(end),
        _ => None,
    });
    ends.collect()
}

/// What the tools answered, by call, as the model reads it.
pub(super) fn results(trial: &Trial) -> Vec<(CallId, ToolStatus, String)> {
    let messages = trial.agent.conversation().transcript().messages();
    let results = messages.iter().flat_map(|message| &message.parts).filter_map(Part::as_result);
    results.map(|result| (result.call.clone(), result.status, result.readable().into_owned())).collect()
}

#[test]
fn calls_run_and_the_model_goes_on_until_it_calls_no_more() {
    let (mut trial, ran) = trial();
    let model = ScriptedModel::new([
        ScriptedReply::parts([look("c1", "one"), look("c2", "two")]),
        ScriptedReply::parts([call("c3", "read_file", json!({"says": "no such file", "fails": true}))]),
        ScriptedReply::text("Both are there."),
    ]);
    assert_eq!(trial.run("Look.", &model), TurnEnd::Finished(FinishReason::Stop));
    assert_eq!(ran.lock().unwrap().len(), 3);
    let expected = [
        ("c1".into(), ToolStatus::Succeeded, "one".to_string()),
        ("c2".into(), ToolStatus::Succeeded, "two".to_string()),
        ("c3".into(), ToolStatus::Failed, "no such file".to_string()),
    ];
    assert_eq!(results(&trial), expected);
    assert_eq!(model.requests().len(), 3);
    assert!(model.requests()[0].tools.iter().any(|tool| tool.name == "read_file"));
    assert!(trial.has(|event| matches!(event, Event::ToolProgress { text, .. } if text == "half")));
    assert_eq!(trial.agent.statistics().tools["read_file"].calls, 3);
    assert_eq!(trial.agent.statistics().tools["read_file"].failures, 1);
    trial.check_valid();
}

#[test]
fn what_nobody_allows_does_not_run_and_the_model_is_told() {
    let (mut trial, ran) = trial();
    let model = ScriptedModel::new([
        ScriptedReply::parts([
            call("c1", "write_file", json!({"file_path": "a"})),
            call("c2", "nonsense", json!({})),
            call("c3", "read_file", json!({"bad": true})),
        ]),
        ScriptedReply::text("Then not."),
    ]);
    assert_eq!(trial.run("Write.", &model), TurnEnd::Finished(FinishReason::Stop));
    assert!(ran.lock().unwrap().is_empty());
    let results = results(&trial);
    assert_eq!(results[0].1, ToolStatus::Cancelled);
    assert!(results[0].2.contains("Not approved: running without a terminal"), "{}", results[0].2);
    assert!(results[1].2.contains("no tool \"nonsense\"") && results[1].2.contains("read_file"));
    assert_eq!(results[2].2, "These arguments are bad.");
    trial.check_valid();
}

#[test]
fn the_user_is_asked_and_decides() {
    let edited = json!({"file_path": "b", "says": "edited"});
    let denied = Approval::Denied { reason: Some("Use the other file.".into()) };
    let (mut trial, ran, asked) =
        attended([Approval::Once, denied, Approval::Edited(edited.clone()), Approval::Stop]);
    let write = |id: &str| call(id, "write_file", json!({"file_path": id}));
    let model = ScriptedModel::new([
        ScriptedReply::parts([write("c1"), write("c2")]),
        ScriptedReply::parts([write("c3"), write("c4"), write("c5")]),
    ]);
    assert_eq!(trial.run("Write.", &model), TurnEnd::Cancelled);
    assert_eq!(*ran.lock().unwrap(), [json!({"file_path": "c1"}), edited]);
    let results = results(&trial);
    assert!(results[1].2.contains("Use the other file."));
    assert!(results[2].2.starts_with("edited") && results[2].2.contains("The user changed the arguments"));
    let statuses: Vec<ToolStatus> = results.iter().map(|result| result.1).collect();
    use ToolStatus::{Cancelled, Succeeded};
    assert_eq!(statuses, [Succeeded, Cancelled, Succeeded, Cancelled, Cancelled]);
    assert_eq!(asked.lock().unwrap().len(), 4);
    assert!(matches!(asked.lock().unwrap()[0].preview, Preview::Change { .. }));
    trial.check_valid();
}

#[test]
fn a_file_that_the_user_rewrote_is_what_is_written() {
    let (mut trial, asked) = with_files([
        Approval::Rewritten("one\nTWO\n".into()),
        Approval::Rewritten("one\nTWO\nthree, edited\n".into()),
    ]);
    let file = trial.folder.path().join("a.txt");
    std::fs::write(&file, "one\ntwo\n").unwrap();
    let name = file.display().to_string();
    let model = ScriptedModel::new([
        ScriptedReply::parts([call(
            "c1",
            "replace",
            json!({"file_path": name, "old_string": "two", "new_string": "2"}),
        )]),
        ScriptedReply::parts([call(
            "c2",
            "write_file",
            json!({"file_path": name, "content": "one\nTWO\nthree\n"}),
        )]),
        ScriptedReply::text("Done."),
    ]);
    assert_eq!(trial.run("Write.", &model), TurnEnd::Finished(FinishReason::Stop));
    let proposed: Vec<String> =
        asked.lock().unwrap().iter().map(|request| request.proposal.clone().unwrap().text).collect();
    assert_eq!(proposed, ["one\n2\n", "one\nTWO\nthree\n"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\nTWO\nthree, edited\n");
    let results = results(&trial);
    for (told, line) in [(&results[0].2, "\n-2\n+TWO\n"), (&results[1].2, "\n-three\n+three, edited\n")] {
        assert!(told.contains("The user edited your proposed content") && told.contains(line), "{told}");
    }
    trial.check_valid();
}

/// Files for what is always allowed, in this folder.
fn saved_in(folder: &std::path::Path) -> SavedFiles {
    SavedFiles {
        project: Some(folder.join("tmp/app/auto-saved.toml")),
        everywhere: Some(folder.join("policies/auto-saved.toml")),
    }
}

#[track_caller]
fn check_always(reach: Reach) {
    let (mut trial, ran, asked) = attended([Approval::Always(reach), Approval::Stop, Approval::Stop]);
    let saved = saved_in(trial.folder.path());
    trial.agent.session.settings.permissions.saved = saved.clone();
    let run = |id: &str, command: &str| call(id, "run_shell_command", json!({"command": command}));
    let model = ScriptedModel::new([
        ScriptedReply::parts([run("c1", "git log -1")]),
        ScriptedReply::parts([run("c2", "git log --oneline")]),
        ScriptedReply::parts([run("c3", "git push")]),
        ScriptedReply::parts([run("c4", "git log -2")]),
    ]);
    assert_eq!(trial.run("Look at the log.", &model), TurnEnd::Cancelled);
    assert_eq!((ran.lock().unwrap().len(), asked.lock().unwrap().len()), (2, 2));
    assert_eq!(
        asked.lock().unwrap()[0].always.as_ref().map(|offer| offer.reaches.clone()),
        Some(Reach::ALL.into())
    );
    for other in [Reach::Project, Reach::Everywhere] {
        assert_eq!(saved.of(other).expect("a file").exists(), other == reach, "{other:?} for {reach:?}");
    }
    // Later sessions load it, where it was made for.
    let loaded =
        longhaul_policy::load_policies(&PolicyPlaces { saved: saved.clone(), ..PolicyPlaces::default() });
    let later = Policy::new(loaded.rules);
    let later: Vec<_> = later.saved().iter().map(|rule| rule.reach()).collect();
    assert_eq!(later, if reach == Reach::Session { vec![] } else { vec![Some(reach)] });
    // Who takes it back is asked again, at once.
    let revoked = trial.agent.session.settings.permissions.revoke("git log").expect("revoked");
    assert_eq!((revoked.reach(), revoked.describe().as_str()), (Some(reach), "commands like `git log …`"));
    assert_eq!(trial.run("Once more.", &model), TurnEnd::Cancelled);
    assert_eq!((ran.lock().unwrap().len(), asked.lock().unwrap().len()), (2, 3));
    if let Some(path) = saved.of(reach) {
        assert_eq!(std::fs::read_to_string(path).expect("there"), "");
    }
}

#[test]
fn always_holds_for_calls_alike_as_far_as_it_was_said() {
    Reach::ALL.into_iter().for_each(check_always);
}

#[test]
fn what_cannot_be_saved_holds_in_this_session() {
    let (mut trial, ran, asked) = attended([Approval::Always(Reach::Project)]);
    let mut saved = saved_in(trial.folder.path());
    std::fs::write(trial.folder.path().join("file"), "").expect("written");
    saved.project = Some(trial.folder.path().join("file/auto-saved.toml"));
    trial.agent.session.settings.permissions.saved = saved;
    let write = |id: &str| call(id, "write_file", json!({"file_path": id}));
    let model =
        ScriptedModel::new([ScriptedReply::parts([write("c1"), write("c2")]), ScriptedReply::text("Done.")]);
    trial.run("Write.", &model);
    assert_eq!((ran.lock().unwrap().len(), asked.lock().unwrap().len()), (2, 1));
    let warned =
        |event: &Event| matches!(event, Event::Warning(text) if text.contains("for this session only"));
    assert!(trial.events().iter().any(warned), "{:?}", trial.events());
}

/// How far an "always" about `git log` is offered under a rule that asks.
#[track_caller]
fn check_offer(tier: RuleTier, priority: u16, has_files: bool, expected: &[Reach]) {
    let (mut trial, _, asked) = attended([Approval::Stop]);
    let asks =
        format!("[[rule]]\ntoolName = 'run_shell_command'\ndecision = 'ask_user'\npriority = {priority}\n");
    let (rules, _) = parse_rules(&asks, "asks.toml".as_ref(), tier);
    let permissions = &mut trial.agent.session.settings.permissions;
    permissions.policy = Policy::new(default_rules().into_iter().chain(rules).collect());
    if has_files {
        permissions.saved = saved_in(trial.folder.path());
    }
    let run = call("c1", "run_shell_command", json!({"command": "git log"}));
    trial.run("Look.", &ScriptedModel::new([ScriptedReply::parts([run])]));
    let offered = asked.lock().unwrap()[0].always.as_ref().map(|offer| offer.reaches.clone());
    assert_eq!(offered.unwrap_or_default(), expected);
}

#[test]
fn always_is_offered_as_far_as_it_would_count() {
    check_offer(RuleTier::Default, 1, true, &Reach::ALL);
    check_offer(RuleTier::Default, 1, false, &[Reach::Session]);
    check_offer(RuleTier::User, 1, true, &[Reach::Everywhere]);
    check_offer(RuleTier::User, 960, true, &[]);
    check_offer(RuleTier::Admin, 0, true, &[]);
}

#[test]
fn cancelling_stops_tools_and_answers_every_call() {
    let (mut trial, ran) = trial();
    let waits = call("c1", "read_file", json!({"waits": true}));
    let model = ScriptedModel::new([ScriptedReply::parts([
        waits,
        call("c2", "write_file", json!({"file_path": "a"})),
        look("c3", "never"),
    ])]);
    let end = trial.run_until("Go.", &model, |event| matches!(event, Event::ToolBegan { .. }));
    assert_eq!(end, TurnEnd::Cancelled);
    assert_eq!(ran.lock().unwrap().len(), 1);
    assert_eq!(results(&trial).len(), 3);
    assert_eq!(results(&trial)[0].2, "Stopped halfway.");
    trial.check_valid();
    let model = ScriptedModel::new([ScriptedReply::text("Fine.")]);
    assert_eq!(trial.run("Go on.", &model), TurnEnd::Finished(FinishReason::Stop));
}

#[test]
fn a_long_output_is_shortened_and_kept_whole() {
    let (mut trial, _) = trial();
    let long = words(6_000);
    let model = ScriptedModel::new([ScriptedReply::parts([look("c1", &long)]), ScriptedReply::text("Long.")]);
    trial.run("Look.", &model);
    let end = &ends(&trial)[0];
    let saved = end.saved_as.as_ref().expect("it was saved");
    assert_eq!(std::fs::read_to_string(saved).expect("it is there"), long);
    assert!(end.text.len() < long.len() / 2 && end.text.contains(saved), "{}", end.text.len());
    let telemetry = std::fs::read_to_string(trial.folder.path().join("telemetry.jsonl")).expect("written");
    assert!(telemetry.contains("tool_output_truncated") && !telemetry.contains("word0001"));
}

#[test]
fn a_model_in_a_loop_is_told_once_and_then_stopped() {
    let (mut trial, ran) = trial();
    let model = ScriptedModel::new((0..20).map(|n| ScriptedReply::parts([look(&format!("c{n}"), "same")])));
    let TurnEnd::Looped { detail } = trial.run("Go.", &model) else { panic!("{:?}", trial.events()) };
    assert!(detail.contains("read_file"), "{detail}");
    assert_eq!(ran.lock().unwrap().len(), 8);
    let told = trial.events().iter().filter(|event| matches!(event, Event::Looping { .. })).count();
    assert_eq!(told, 2);
    trial.check_valid();
    let said = trial.recorded().join("\n");
    assert_eq!(said.matches("going round in circles").count(), 1);

    let chant = "I will now check the configuration once more for you. ".repeat(30);
    let model = ScriptedModel::new([ScriptedReply::text(chant.clone()), ScriptedReply::text("Sorry. Done.")]);
    assert_eq!(trial.run("Go.", &model), TurnEnd::Finished(FinishReason::Stop));
    trial.agent.session.settings.watches_loops = false;
    let model = ScriptedModel::new([ScriptedReply::text(chant)]);
    assert_eq!(trial.run("Go.", &model), TurnEnd::Finished(FinishReason::Stop));
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn limits_end_turns_and_sessions() {
    let (mut trial, _) = trial();
    trial.agent.session.settings.limits.turn = 3;
    let replies = |count: u32| {
        ScriptedModel::new(
            (0..count).map(|n| ScriptedReply::parts([look(&format!("c{n}"), &format!("text {n}"))])),
        )
    };
    let end = trial.run("Go.", &replies(9));
    assert_eq!(end, TurnEnd::LimitReached { limit: 3, of: LimitOf::Turn });
    trial.check_valid();
    trial.agent.session.settings.limits.session = Some(4);
    let end = trial.run("Go on.", &replies(9));
    assert_eq!(end, TurnEnd::LimitReached { limit: 4, of: LimitOf::Session });
}

#[test]
fn compaction_comes_in_the_middle_of_a_loop_and_the_rules_stay() {
    let (mut trial, _) = trial_with_tools(settings(8_000));
    let mut replies: Vec<ScriptedReply> = (0..60)
        .map(|n| {
            let part = call(
                &format!("c{n}"),
                "read_file",
                json!({"file_path": format!("src/f{n}.rs"), "says": words(300)}),
            );
            ScriptedReply::parts([part])
        })
        .collect();
    replies.push(ScriptedReply::text("All read."));
    let model = ScriptedModel::new(replies);
    let end = trial.run("Never push to main. Read all files.", &model);
    assert_eq!(end, TurnEnd::Finished(FinishReason::Stop), "{:?}", trial.events().last());
    let passes = trial
        .events()
        .iter()
        .filter(|event| matches!(event, Event::Compaction(longhaul_engine::Event::Applied { .. })))
        .count();
    assert!(passes >= 2, "{passes}");
    let estimator = trial.agent.session.settings.estimator;
    for request in model.requests() {
        assert!(estimator.messages(&request.messages) < TokenCount(8_000));
        let faults = longhaul_conversation::find_faults(&request.messages);
        assert!(faults.is_empty(), "{faults:?}");
    }
    let last = super::trial::texts(model.requests().last().expect("a request")).join("\n");
    assert!(last.contains("Never push to main."));
    trial.check_valid();
}

#[test]
fn reading_again_what_a_compaction_left_out_is_counted() {
    let (mut trial, _) = trial_with_tools(settings(8_000));
    let model = ScriptedModel::new([
        ScriptedReply::parts([look("c1", &words(100))]),
        ScriptedReply::text(words(900)),
        ScriptedReply::text(words(900)),
        ScriptedReply::text(words(900)),
        ScriptedReply::parts([look("c2", &words(100)), look("c3", "changed")]),
        ScriptedReply::text("Done."),
    ]);
    for prompt in ["Read.", "Recite.", "Again.", "Read it again."] {
        trial.run(prompt, &model);
    }
    let statistics = trial.agent.statistics();
    assert_eq!((statistics.reads, statistics.rereads), (3, 1), "{:?}", trial.events());
    assert_eq!(statistics.reread_rate(), Some(1.0 / 3.0));
    assert!(statistics.reread_tokens > TokenCount(50), "{}", statistics.reread_tokens);
    let noted =
        results(&trial).into_iter().filter(|(_, _, text)| text.contains("Unchanged since you read it"));
    assert_eq!(noted.map(|(call, ..)| call.to_string()).collect::<Vec<_>>(), ["c2"]);
}

#[test]
fn what_still_stands_above_is_not_sent_again_unless_the_model_insists() {
    let (mut trial, _) = trial_with_tools(settings(30_000));
    let long = words(300);
    let model = ScriptedModel::new([
        ScriptedReply::parts([look("c1", &long)]),
        ScriptedReply::parts([look("c2", &long)]),
        ScriptedReply::parts([look("c3", &long)]),
        ScriptedReply::parts([look("c4", &long)]),
        ScriptedReply::text("Done."),
    ]);
    assert_eq!(trial.run("Read.", &model), TurnEnd::Finished(FinishReason::Stop));
    let noted =
        results(&trial).into_iter().filter(|(_, _, text)| text.starts_with("[Unchanged since you read it "));
    assert_eq!(noted.map(|(call, ..)| call.to_string()).collect::<Vec<_>>(), ["c2", "c4"]);
    let statistics = trial.agent.statistics();
    assert_eq!((statistics.reads, statistics.rereads, statistics.unchanged_reads), (4, 0, 2));
    assert!(statistics.unchanged_tokens > TokenCount(800), "{}", statistics.unchanged_tokens);
    trial.check_valid();
}

#[test]
fn what_was_compacted_away_can_be_recalled() {
    let (mut trial, _) = trial_with_tools(settings(8_000));
    let recall = |id: &str, query: &str| call(id, "recall_history", json!({"query": query}));
    let model = ScriptedModel::new([
        ScriptedReply::text(format!("The port is 48213. {}", words(900))),
        ScriptedReply::text(words(900)),
        ScriptedReply::text(words(900)),
        ScriptedReply::parts([recall("c1", "port 48213"), recall("c2", "m2"), recall("c3", "zebra")]),
        ScriptedReply::text("48213."),
    ]);
    for prompt in ["Begin.", "Recite.", "Again.", "Which port was it?"] {
        trial.run(prompt, &model);
    }
    let results = results(&trial);
    assert!(results[0].2.contains("48213") && results[0].2.contains("[m3]"), "{}", results[0].2);
    assert_eq!(results[1].2.trim(), "Begin.");
    assert!(results[2].2.contains("Nothing in this session says \"zebra\""));
}

#[test]
fn the_model_may_ask_the_user_and_ask_for_a_compaction() {
    let (mut trial, _, asked) = attended([Approval::Once]);
    let question = json!({"question": "Which branch?", "options": ["main", "next"]});
    let model = ScriptedModel::new([
        ScriptedReply::text(words(2_000)),
        ScriptedReply::parts([
            call("c1", "ask_user", question),
            call("c2", "compact_now", json!({"focus": "branches"})),
        ]),
        ScriptedReply::text("On main, then."),
    ]);
    trial.run("Recite.", &model);
    let before = estimate(&trial);
    assert_eq!(trial.run("Release it.", &model), TurnEnd::Finished(FinishReason::Stop));
    assert!(results(&trial).iter().any(|result| result.2.contains("The user answers: main")));
    assert_eq!(asked.lock().unwrap().len(), 1);
    assert!(estimate(&trial) < before);
    trial.check_valid();
}

#[test]
fn a_failure_in_the_middle_of_a_loop_keeps_what_ran() {
    let (mut trial, _) = trial();
    let cut = ModelError::Interrupted { reason: "cut".into() };
    let model =
        ScriptedModel::new([ScriptedReply::parts([look("c1", "one")]), ScriptedReply::error(cut.clone())]);
    assert_eq!(trial.run("Go.", &model), TurnEnd::Failed(cut));
    assert_eq!(results(&trial).len(), 1);
    trial.check_valid();
}
