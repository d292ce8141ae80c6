//! Hooks that take part in asking the model, as real commands.

use std::fs;

use longhaul_conversation::{FinishReason, ScriptedModel, ScriptedReply, ToolChoice, ToolStatus};
use longhaul_hooks::{HookEnvironment, HookScope, HookSettings, Hooks, parse_hooks};
use serde_json::{Value, json};

use super::tool_tests::{look, results, trial};
use super::trial::{Trial, texts};
use super::*;

/// A session with a hook at this event that keeps what it reads in `heard.json` and writes this answer.
fn with_hook(event: &str, answer: &Value) -> Trial {
    let (mut trial, _) = trial();
    add_hook(&mut trial, event, answer);
    trial
}

pub(super) fn add_hook(trial: &mut Trial, event: &str, answer: &Value) {
    let folder = trial.folder.path().to_path_buf();
    fs::write(folder.join("answer.json"), answer.to_string()).expect("written");
    let command = format!("cat > {0}/heard.json; cat {0}/answer.json", folder.display());
    add_commands(trial, &[(event, &command)]);
}

/// Adds a command for each of these events.
fn add_commands(trial: &mut Trial, commands: &[(&str, &str)]) {
    let folder = trial.folder.path().to_path_buf();
    let config: Value = commands
        .iter()
        .map(|(event, command)| {
            (event.to_string(), json!([{"hooks": [{"type": "command", "command": command}]}]))
        })
        .collect::<serde_json::Map<String, Value>>()
        .into();
    let (hooks, warnings) = parse_hooks(&config, HookScope::User);
    assert!(warnings.is_empty(), "{warnings:?}");
    let environment = HookEnvironment {
        variables: vec![("PATH".into(), "/usr/bin:/bin".into())],
        project: folder.clone(),
        is_trusted: true,
        plans: None,
    };
    trial.agent.session.settings.context.directory = folder;
    trial.aids.hooks = Some((Hooks::new(hooks, &HookSettings::default(), true), environment));
}

fn heard(trial: &Trial) -> Value {
    let text = fs::read_to_string(trial.folder.path().join("heard.json")).expect("the hook ran");
    serde_json::from_str(&text).expect("JSON")
}

fn specific(field: &str, value: &Value) -> Value {
    json!({"hookSpecificOutput": {field: value}})
}

fn finished() -> TurnEnd {
    TurnEnd::Finished(FinishReason::Stop)
}

fn warnings(trial: &Trial) -> Vec<String> {
    let warning = |event| if let Event::Warning(text) = event { Some(text) } else { None };
    trial.events().into_iter().filter_map(warning).collect()
}

#[test]
fn a_hook_replaces_fields_of_the_request() {
    let over = json!({"model": "m-large", "config": {"temperature": 0.1}});
    let mut trial = with_hook("BeforeModel", &specific("llm_request", &over));
    let model = ScriptedModel::new([ScriptedReply::text("Hello.")]);
    assert_eq!(trial.run("Good day.", &model), finished());
    let request = &model.requests()[0];
    assert_eq!((request.model.as_str(), request.sampling.temperature), ("m-large", Some(0.1)));
    let reply = trial.agent.conversation().transcript().messages().last().cloned().expect("a reply");
    assert_eq!(reply.model.as_deref(), Some("p/m-large"));
    let heard = heard(&trial);
    assert_eq!(
        (&heard["hook_event_name"], &heard["llm_request"]["model"]),
        (&json!("BeforeModel"), &json!("m"))
    );
    let said = heard["llm_request"]["messages"].as_array().expect("messages");
    assert_eq!(said.last(), Some(&json!({"role": "user", "content": "Good day."})));
    assert_eq!(warnings(&trial), Vec::<String>::new());
}

#[test]
fn a_hook_rewrites_what_is_sent_but_not_what_is_recorded() {
    let messages = json!([{"role": "user", "content": "Bonjour."}]);
    let mut trial = with_hook("BeforeModel", &specific("llm_request", &json!({"messages": messages})));
    let model = ScriptedModel::new([ScriptedReply::text("Salut.")]);
    trial.run("Good day.", &model);
    assert_eq!(texts(&model.requests()[0]), ["Bonjour."]);
    assert!(trial.recorded().contains(&"user: Good day.".to_string()));
    trial.check_valid();
}

#[test]
fn a_request_that_a_hook_would_break_is_sent_as_it_was() {
    for over in [json!({"messages": []}), json!({"messages": [{"role": "user"}]}), json!({"model": ""})] {
        let mut trial = with_hook("BeforeModel", &specific("llm_request", &over));
        let model = ScriptedModel::new([ScriptedReply::text("Hello.")]);
        assert_eq!(trial.run("Good day.", &model), finished());
        assert_eq!(texts(&model.requests()[0]).last().map(String::as_str), Some("Good day."));
        assert!(
            warnings(&trial)[0].contains("ignored a hook's change to the request"),
            "{:?}",
            warnings(&trial)
        );
    }
    let long = json!({"messages": [{"role": "user", "content": "word ".repeat(60_000)}]});
    let mut trial = with_hook("BeforeModel", &specific("llm_request", &long));
    trial.run("Good day.", &ScriptedModel::new([ScriptedReply::text("Hello.")]));
    assert!(warnings(&trial)[0].contains("would not fit"), "{:?}", warnings(&trial));
}

#[test]
fn a_hook_answers_in_the_models_place() {
    let candidates =
        json!([{"content": {"role": "model", "parts": ["From the cache."]}, "finishReason": "STOP"}]);
    let mut trial = with_hook("BeforeModel", &specific("llm_response", &json!({"candidates": candidates})));
    let model = ScriptedModel::default();
    assert_eq!(trial.run("Good day.", &model), finished());
    assert!(model.requests().is_empty());
    assert_eq!(trial.recorded().last().map(String::as_str), Some("model: From the cache."));
    assert!(trial.has(|event| *event == Event::TextDelta("From the cache.".into())));
    trial.check_valid();
}

#[test]
fn a_hook_stops_or_blocks_a_request() {
    for answer in [
        json!({"continue": false, "stopReason": "Not now."}),
        json!({"decision": "deny", "reason": "Not now."}),
    ] {
        let mut trial = with_hook("BeforeModel", &answer);
        let model = ScriptedModel::default();
        assert_eq!(trial.run("Good day.", &model), TurnEnd::Stopped { reason: "Not now.".into() });
        assert!(model.requests().is_empty());
        trial.check_valid();
    }
}

#[test]
fn a_hook_changes_an_answer_before_anybody_sees_it() {
    let mut trial =
        with_hook("AfterModel", &specific("llm_response", &json!({"text": "The code is [hidden]."})));
    let model = ScriptedModel::new([
        ScriptedReply::parts([Part::model_text("The code is 4711."), look("c1", "one")]),
        ScriptedReply::text("The code is 4711."),
    ]);
    assert_eq!(trial.run("Look.", &model), finished());
    // The call ran all the same.
    assert_eq!(results(&trial).len(), 1);
    assert_eq!(trial.recorded().last().map(String::as_str), Some("model: The code is [hidden]."));
    assert!(!trial.has(|event| matches!(event, Event::TextDelta(text) if text.contains("4711"))));
    assert!(trial.has(|event| *event == Event::TextDelta("The code is [hidden].".into())));
    let heard = heard(&trial);
    let told = &heard["llm_response"]["candidates"][0];
    assert_eq!(told["content"]["parts"], json!(["The code is 4711."]));
    assert_eq!((&told["finishReason"], &heard["llm_request"]["model"]), (&json!("STOP"), &json!("m")));
    trial.check_valid();
}

#[test]
fn a_hook_ends_the_turn_after_an_answer() {
    let mut trial = with_hook("AfterModel", &json!({"continue": false, "stopReason": "Enough."}));
    let calls = || [ScriptedReply::parts([Part::model_text("Looking."), look("c1", "one")])];
    let stopped = TurnEnd::Stopped { reason: "Enough.".into() };
    assert_eq!(trial.run("Look.", &ScriptedModel::new(calls())), stopped);
    assert_eq!(trial.recorded().last().map(String::as_str), Some("model: Looking."));
    trial.check_valid();

    let mut trial = with_hook("AfterModel", &json!({"decision": "block", "reason": "Enough."}));
    assert_eq!(trial.run("Look.", &ScriptedModel::new(calls())), stopped);
    assert_eq!(trial.recorded().last().map(String::as_str), Some("user: Look."));
    assert!(!trial.has(|event| matches!(event, Event::TextDelta(_))));
    trial.check_valid();
}

#[test]
fn a_hook_chooses_tools() {
    let config = json!({"mode": "ANY", "allowedFunctionNames": ["write_file"]});
    let mut trial = with_hook("BeforeToolSelection", &specific("toolConfig", &config));
    let model =
        ScriptedModel::new([ScriptedReply::parts([look("c1", "one")]), ScriptedReply::text("Then not.")]);
    assert_eq!(trial.run("Look.", &model), finished());
    let request = &model.requests()[0];
    let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!((names, request.tool_choice), (vec!["write_file"], ToolChoice::Required));
    // What was not offered does not run.
    let result = results(&trial).remove(0);
    assert!(
        result.1 == ToolStatus::Failed && result.2.contains("These are there: write_file."),
        "{result:?}"
    );
    trial.check_valid();
}

#[test]
fn a_hook_forbids_all_tools() {
    let mut trial = with_hook("BeforeToolSelection", &specific("toolConfig", &json!({"mode": "NONE"})));
    let model =
        ScriptedModel::new([ScriptedReply::parts([look("c1", "one")]), ScriptedReply::text("Then not.")]);
    assert_eq!(trial.run("Look.", &model), finished());
    let request = &model.requests()[0];
    assert!(request.tool_choice == ToolChoice::Forbidden && request.tools.len() > 2);
    assert_eq!(results(&trial)[0].1, ToolStatus::Failed);
    // The next turn begins afresh.
    trial.aids.hooks = None;
    let model = ScriptedModel::new([ScriptedReply::parts([look("c2", "two")]), ScriptedReply::text("Now.")]);
    trial.run("Look.", &model);
    assert_eq!(results(&trial)[1].1, ToolStatus::Succeeded);
}

/// Objects to the first answer of a turn only.
const OBJECTS_ONCE: &str = r#"case "$(cat)" in *'"stop_hook_active":true'*) echo '{}' ;; *) echo '{"decision": "block", "reason": "Run the tests."}' ;; esac"#;

#[test]
fn a_prompt_of_a_hook_passes_the_hooks_on_prompts_like_the_users_own() {
    let (mut trial, _) = trial();
    let heard = trial.folder.path().join("prompts.jsonl");
    let before = format!(
        r#"cat >> {0}; echo >> {0}; echo '{{"hookSpecificOutput": {{"additionalContext": "It is Monday."}}}}'"#,
        heard.display()
    );
    add_commands(&mut trial, &[("BeforeAgent", &before), ("AfterAgent", OBJECTS_ONCE)]);
    let model = ScriptedModel::new([ScriptedReply::text("Done."), ScriptedReply::text("They pass.")]);
    assert_eq!(trial.run("Fix it.", &model), finished());
    let heard = fs::read_to_string(heard).expect("the hook ran");
    let prompts: Vec<Value> = heard
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["prompt"].clone())
        .collect();
    assert_eq!(prompts, ["Fix it.", "Run the tests."]);
    let said = texts(&model.requests()[1]);
    let [.., reason, context] = &said[..] else { panic!("{said:?}") };
    assert!(reason == "Run the tests." && context.contains("It is Monday."), "{said:?}");
}

#[test]
fn a_hook_on_prompts_ends_a_turn_that_another_would_continue() {
    for decision in
        [r#""decision": "block", "reason": "Enough.""#, r#""continue": false, "stopReason": "Enough.""#]
    {
        let (mut trial, _) = trial();
        let before = format!(
            r#"case "$(cat)" in *'Run the tests.'*) echo '{{{decision}}}' ;; *) echo '{{}}' ;; esac"#
        );
        add_commands(&mut trial, &[("BeforeAgent", &before), ("AfterAgent", OBJECTS_ONCE)]);
        let model = ScriptedModel::new([ScriptedReply::text("Done.")]);
        assert_eq!(trial.run("Fix it.", &model), TurnEnd::Stopped { reason: "Enough.".into() });
        assert_eq!(model.requests().len(), 1);
    }
}
