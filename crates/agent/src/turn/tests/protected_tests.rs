//! Files that grant rights in turns: asked for in every mode, refused without a user, by whoever wants to change them.

use longhaul_conversation::{FinishReason, Part, ScriptedModel, ScriptedReply, ToolStatus};
use longhaul_policy::{ApprovalMode, Situation};
use serde_json::json;

use super::subagent_tests::{complete, parts, trial_with};
use super::tool_tests::{attended, call, results, trial_with_tools};
use super::trial::settings;
use super::*;
use crate::Approval;

const FILES: [&str; 5] = [
    ".gemini/settings.json",
    "GEMINI.md",
    ".git/hooks/pre-commit",
    ".agents/skills/a/SKILL.md",
    ".claude/skills/a/SKILL.md",
];

fn write(id: &str, file: &str) -> Part {
    call(id, "write_file", json!({"file_path": file}))
}

#[track_caller]
fn check_asked(mode: ApprovalMode, part: Part, file: &str) {
    let (mut trial, ran, asked) = attended([Approval::Once]);
    trial.agent.settings_mut().permissions.situation.mode = mode;
    let model = ScriptedModel::new([ScriptedReply::parts([part]), ScriptedReply::text("Done.")]);
    assert_eq!(trial.run("Write.", &model), TurnEnd::Finished(FinishReason::Stop));
    let asked = asked.lock().unwrap();
    let [request] = asked.as_slice() else { panic!("{mode} {file}: {asked:?}") };
    let reason = request.reason.as_deref().unwrap_or_default();
    assert!(reason.contains(file) && reason.contains("a protected file"), "{reason}");
    assert_eq!(request.always, None, "{file}");
    assert_eq!(ran.lock().unwrap().len(), 1);
}

#[test]
fn a_person_is_asked_in_every_mode_and_never_for_good() {
    for mode in [ApprovalMode::Default, ApprovalMode::AutoEdit, ApprovalMode::Yolo] {
        for file in FILES {
            check_asked(mode, write("c1", file), file);
        }
        let command = json!({"command": "echo x > .gemini/settings.json"});
        check_asked(mode, call("c1", "run_shell_command", command), ".gemini/settings.json");
    }
}

#[test]
fn without_a_user_it_is_refused_and_the_model_is_told_which_file() {
    for mode in [ApprovalMode::AutoEdit, ApprovalMode::Yolo] {
        let mut settings = settings(32_000);
        settings.permissions.situation = Situation { mode, is_interactive: false, is_trusted: true };
        let (mut trial, ran) = trial_with_tools(settings);
        let calls = FILES.iter().map(|file| write(file, file)).chain([write("free", "src/main.rs")]);
        let model = ScriptedModel::new([ScriptedReply::parts(calls), ScriptedReply::text("Then not.")]);
        trial.run("Write.", &model);
        assert_eq!(ran.lock().unwrap().len(), 1, "only what is free");
        for ((id, status, text), file) in results(&trial).iter().zip(FILES) {
            assert_eq!((id.as_str(), *status), (file, ToolStatus::Cancelled));
            assert!(text.contains(file) && text.contains("grants rights"), "{text}");
        }
    }
}

#[test]
fn a_sub_agent_gets_no_further() {
    let mut settings = settings(32_000);
    settings.permissions.situation =
        Situation { mode: ApprovalMode::Yolo, is_interactive: false, is_trusted: true };
    let (mut trial, ran) = trial_with(settings);
    let model = ScriptedModel::new([
        parts([call("c1", "invoke_agent", json!({"agent_name": "scout", "task": "Write."}))]),
        parts([write("s1", ".gemini/settings.json")]),
        parts([complete("s2", "It was refused.")]),
        ScriptedReply::text("So it was."),
    ]);
    trial.run("Go.", &model);
    assert!(ran.lock().unwrap().is_empty(), "{:?}", ran.lock().unwrap());
    let refused = model.requests()[2]
        .messages
        .iter()
        .flat_map(|message| message.parts.clone())
        .any(|part| part.as_result().is_some_and(|result| result.readable().contains("grants rights")));
    assert!(refused);
}

#[test]
fn nothing_is_allowed_for_good_where_the_settings_say_so() {
    for offers_always in [true, false] {
        let (mut trial, _, asked) = attended([Approval::Once]);
        trial.agent.settings_mut().permissions.offers_always = offers_always;
        let model =
            ScriptedModel::new([ScriptedReply::parts([write("c1", "a.rs")]), ScriptedReply::text("Done.")]);
        trial.run("Write.", &model);
        assert_eq!(asked.lock().unwrap()[0].always.is_some(), offers_always);
    }
}
