use std::fs;
use std::path::Path;

use longhaul_conversation::{Origin, Part};
use longhaul_formats::read_session;
use serde_json::Value;

use super::*;
use crate::install::AgentPlaces;

const AGENTS: [GuardedAgent; 4] = GuardedAgent::ALL;

fn places(root: &Path) -> AgentPlaces {
    AgentPlaces {
        claude: root.join("claude"),
        codex: root.join("codex"),
        gemini: root.join("gemini"),
        opencode: root.join("opencode"),
        project: root.join("project"),
        notes: root.join("notes"),
    }
}

/// A compacted session, as it would be written for this agent before.
fn session(agent: GuardedAgent) -> Session {
    let text = |origin, text: &str| vec![Part::text(origin, text)];
    let messages = vec![
        Message::new(
            "s",
            longhaul_conversation::Role::User,
            text(
                Origin::Summary,
                "<state_snapshot through=\"m9\">\n<active_constraints>\n- [m1] Never push to main.\n</active_constraints>\n</state_snapshot>",
            ),
        ),
        Message::new("a", longhaul_conversation::Role::Model, text(Origin::Model, "Understood.")),
        Message::new("u", longhaul_conversation::Role::User, text(Origin::User, "Go on.")),
    ];
    let file = r#"{"contents": [{"role": "user", "parts": [{"text": "x"}]}]}"#;
    let mut session = read_session(file.as_bytes()).expect("a session");
    session.transcript = longhaul_conversation::Transcript::from_messages(messages);
    let written = write_session(agent.session_format(), &mut session);
    read_session(written.text.as_bytes()).expect("a session")
}

fn ids() -> impl FnMut() -> String {
    let mut count = 0;
    move || {
        count += 1;
        format!("00000000-0000-4000-8000-{count:012}")
    }
}

fn target(agent: GuardedAgent) -> HandoffTarget {
    let id = match agent {
        GuardedAgent::Opencode => "ses_0123456789ab0123456789abcd",
        _ => "0199a213-81c0-7800-8aa1-bbab2a035a53",
    };
    HandoffTarget {
        agent,
        id: id.into(),
        directory: "/work".into(),
        at: Timestamp::from_millis(1_795_122_547_269),
        version: Some("2.1.326".into()),
        model: None,
    }
}

fn rules(bytes: &[u8]) -> String {
    let session = read_session(bytes).expect("a session");
    session
        .transcript
        .messages()
        .iter()
        .flat_map(|message| &message.parts)
        .filter_map(Part::as_text)
        .collect()
}

#[test]
fn any_agent_goes_to_any_other_and_back() {
    for source in AGENTS {
        for agent in AGENTS {
            let root = tempfile::tempdir().expect("a folder");
            let places = places(root.path());
            let target = target(agent);
            let path = session_place(
                agent,
                &places,
                &root.path().join("chats"),
                Path::new("/work"),
                &target.id,
                target.at,
            );
            let handoff = plan_handoff(&mut session(source), &target, path.clone(), ids());
            assert_eq!(handoff.id, target.id);
            apply_handoff(&handoff, &places, 3).expect("written");
            let bytes = fs::read(&path).expect("there");
            let back = read_session(bytes.as_slice()).expect("a session");
            assert_eq!(back.info.format, agent.session_format());
            assert_eq!(back.info.session_id.as_deref(), Some(target.id.as_str()), "{source:?} to {agent:?}");
            assert_eq!(back.info.directory.as_deref().unwrap_or("/work"), "/work");
            assert!(rules(&bytes).contains("- [m1] Never push to main."), "{source:?} to {agent:?}");
            let undone = undo_handoff(agent, None, &places).expect("taken back");
            assert!(undone.is_removed && !path.exists());
            assert!(!path.parent().is_some_and(Path::exists), "the folders made for it are gone, too");
            assert!(matches!(undo_handoff(agent, None, &places), Err(HandoffError::NothingToUndo { .. })));
        }
    }
}

#[test]
fn claude_code_gets_a_chain_of_uuids_and_its_own_version() {
    let target = target(GuardedAgent::Claude);
    let handoff = plan_handoff(&mut session(GuardedAgent::Gemini), &target, "/x".into(), ids());
    let HandoffChange::Create { text, .. } = &handoff.change else { panic!("{handoff:?}") };
    let mut parent = Value::Null;
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(line["parentUuid"], parent);
        assert_eq!(line["version"], "2.1.326");
        assert_eq!(line["sessionId"], target.id);
        let id = line["uuid"].as_str().expect("an id");
        assert_eq!(id.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12], "{id}");
        parent = line["uuid"].clone();
    }
}

/// Appends to an agent's own session, takes it back, and refuses where the session went on.
#[track_caller]
fn check_append(agent: GuardedAgent, went_on: &str) {
    let root = tempfile::tempdir().expect("a folder");
    let places = places(root.path());
    let path = root.path().join("session.jsonl");
    let before = write_session(agent.session_format(), &mut session(agent)).text;
    fs::write(&path, &before).expect("written");
    let plan = |bytes: &[u8]| plan_append(&mut session(agent), &target(agent), path.clone(), bytes, ids());
    let handoff = plan(before.as_bytes()).expect("planned");
    apply_handoff(&handoff, &places, 3).expect("appended");
    let bytes = fs::read(&path).expect("there");
    assert!(bytes.starts_with(before.as_bytes()) && bytes.len() > before.len());
    assert!(rules(&bytes).contains("Never push to main."));
    assert!(
        matches!(apply_handoff(&handoff, &places, 3), Err(HandoffError::Changed { .. })),
        "it grew meanwhile"
    );
    undo_handoff(agent, None, &places).expect("taken back");
    assert_eq!(fs::read_to_string(&path).expect("there"), before);

    apply_handoff(&plan(before.as_bytes()).expect("planned"), &places, 3).expect("appended");
    let grown = format!("{}{went_on}\n", fs::read_to_string(&path).expect("there"));
    fs::write(&path, &grown).expect("written");
    let refused = undo_handoff(agent, None, &places);
    let Err(HandoffError::Grown { turns, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(turns, ["Now the docs."]);
    assert_eq!(fs::read_to_string(&path).expect("there"), grown, "nothing was changed");
    assert!(matches!(plan(b"{\"torn"), Err(HandoffError::Torn { .. })));
}

#[test]
fn what_is_appended_is_taken_back_to_the_byte() {
    check_append(
        GuardedAgent::Claude,
        r#"{"type":"user","uuid":"n1","parentUuid":"00000000-0000-4000-8000-000000000003","sessionId":"s","timestamp":"2026-12-02T03:04:05Z","message":{"role":"user","content":"Now the docs."}}"#,
    );
    check_append(
        GuardedAgent::Codex,
        r#"{"timestamp":"2026-12-02T03:04:05Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Now the docs."}]}}"#,
    );
}

#[test]
fn only_own_files_of_lines_are_appended_to() {
    let plan = |agent, source| plan_append(&mut session(source), &target(agent), "/x".into(), b"{}\n", ids());
    let own = GuardedAgent::Gemini;
    assert!(matches!(plan(own, own), Err(HandoffError::NotAppendable { .. })));
    assert!(matches!(plan(GuardedAgent::Codex, GuardedAgent::Claude), Err(HandoffError::OtherAgent { .. })));
}

#[test]
fn a_numbered_rollout_goes_on_with_the_next_number() {
    let bytes = b"{\"ordinal\":0,\"type\":\"session_meta\",\"payload\":{}}\n{\"ordinal\":41,\"type\":\"event_msg\",\"payload\":{}}\n";
    let mut codex = session(GuardedAgent::Codex);
    let handoff =
        plan_append(&mut codex, &target(GuardedAgent::Codex), "/x".into(), bytes, ids()).expect("planned");
    let HandoffChange::Append { text, before, .. } = &handoff.change else { panic!("{handoff:?}") };
    let record: Value = serde_json::from_str(text).expect("one line");
    assert_eq!((record["ordinal"].as_u64(), *before), (Some(42), bytes.len() as u64));
    assert_eq!(record["type"], "compacted");
}
