use std::fs;

use proptest::prelude::*;

use super::*;

fn places(root: &Path) -> AgentPlaces {
    AgentPlaces {
        claude: root.join("claude"),
        codex: root.join("codex"),
        gemini: root.join("gemini"),
        project: root.join("project"),
        notes: root.join("notes"),
    }
}

/// Installs, checks that a second time changes nothing, and uninstalls.
#[track_caller]
fn check_round(agent: GuardedAgent, scope: InstallScope, before: Option<&str>) {
    let root = tempfile::tempdir().expect("a folder");
    let places = places(root.path());
    let path = agent.file(scope, &places);
    if let Some(text) = before {
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, text).expect("written");
    }
    let plan = plan_install(agent, scope, &places).expect("planned");
    assert_eq!(plan.changes.len(), 1);
    apply_install(&plan, &places).expect("installed");
    assert!(is_installed(agent, scope, &places).expect("readable"));
    assert_eq!(plan_install(agent, scope, &places).expect("planned").changes, [], "it is idempotent");
    let plan = plan_uninstall(agent, scope, &places).expect("planned");
    apply_install(&plan, &places).expect("uninstalled");
    assert_eq!(fs::read_to_string(&path).ok().as_deref(), before);
    assert_eq!(plan_uninstall(agent, scope, &places).expect("planned").changes, []);
}

#[test]
fn uninstalling_restores_every_byte() {
    let settings = [
        None,
        Some("{}"),
        Some(
            "{\n  // mine\n  \"model\": \"x\",\n  \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say\"}]}]},\n}\n",
        ),
        Some(
            "{\"hooks\":{\"SessionStart\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"mine\"}]}],\"BeforeModel\":[]}}",
        ),
        Some("\r\n{\r\n\t\"a\": 1\r\n}"),
    ];
    for agent in GuardedAgent::ALL {
        for scope in [InstallScope::User, InstallScope::Project] {
            settings.iter().for_each(|before| check_round(agent, scope, *before));
        }
    }
}

#[test]
fn changes_made_since_stay() {
    let root = tempfile::tempdir().expect("a folder");
    let places = places(root.path());
    let (agent, scope) = (GuardedAgent::Claude, InstallScope::User);
    apply_install(&plan_install(agent, scope, &places).expect("planned"), &places).expect("installed");
    let path = agent.file(scope, &places);
    let text = fs::read_to_string(&path).expect("readable");
    let changed = JsonChange::add_model(&text);
    fs::write(&path, &changed).expect("written");
    apply_install(&plan_uninstall(agent, scope, &places).expect("planned"), &places).expect("uninstalled");
    let left: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&path).expect("readable")).expect("JSON");
    assert_eq!(left, serde_json::json!({"model": "opus"}));
}

struct JsonChange;

impl JsonChange {
    fn add_model(text: &str) -> String {
        let mut value: serde_json::Value = serde_json::from_str(text).expect("JSON");
        value["model"] = "opus".into();
        value.to_string()
    }
}

#[test]
fn an_older_guard_is_replaced() {
    let root = tempfile::tempdir().expect("a folder");
    let places = places(root.path());
    let path = GuardedAgent::Claude.file(InstallScope::User, &places);
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    let older = r#"{"hooks":{"SessionStart":[{"matcher":"compact","hooks":[{"type":"command","command":"longhaul guard"},{"type":"command","command":"mine"}]}]}}"#;
    fs::write(&path, older).expect("written");
    let plan = plan_install(GuardedAgent::Claude, InstallScope::User, &places).expect("planned");
    let after: serde_json::Value =
        serde_json::from_str(plan.changes[0].after.as_deref().expect("a text")).expect("JSON");
    let starts = after["hooks"]["SessionStart"].as_array().expect("a list");
    assert_eq!(starts[0]["hooks"].as_array().expect("a list").len(), 1, "only the user's own is left there");
    assert_eq!(starts[1]["matcher"], "compact|resume");
}

#[track_caller]
fn check_refused(text: &str, expected: &str) {
    let root = tempfile::tempdir().expect("a folder");
    let places = places(root.path());
    let path = GuardedAgent::Codex.file(InstallScope::User, &places);
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(&path, text).expect("written");
    let error = plan_install(GuardedAgent::Codex, InstallScope::User, &places).expect_err("refused");
    assert!(error.to_string().contains(expected), "{error}");
    assert_eq!(fs::read_to_string(&path).expect("readable"), text);
}

#[test]
fn what_cannot_be_understood_is_left_alone() {
    check_refused("{\"hooks\": 7}", "\"hooks\" is no object");
    check_refused("{\"hooks\": {\"SessionStart\": {}}}", "\"hooks.SessionStart\" is no list");
    check_refused("[]", "is no object");
    check_refused("{\"hooks\": ", "could not add hooks");
}

#[test]
fn a_file_that_changed_since_the_plan_is_not_overwritten() {
    let root = tempfile::tempdir().expect("a folder");
    let places = places(root.path());
    let plan = plan_install(GuardedAgent::Codex, InstallScope::User, &places).expect("planned");
    let path = GuardedAgent::Codex.file(InstallScope::User, &places);
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(&path, "{}").expect("written");
    assert!(matches!(apply_install(&plan, &places), Err(InstallError::Changed { .. })));
    assert_eq!(fs::read_to_string(&path).expect("readable"), "{}");
}

proptest! {
    #[test]
    fn any_settings_come_back_to_the_byte(keys in prop::collection::btree_map("[a-z]{1,6}", 0u32..9, 0..6), gap in "[ \n\t]{0,4}") {
        let text = format!("{{{gap}{}{gap}}}", keys.iter().map(|(k, v)| format!("\"{k}\":{gap}{v}")).collect::<Vec<_>>().join(","));
        check_round(GuardedAgent::Gemini, InstallScope::Project, Some(&text));
    }
}
