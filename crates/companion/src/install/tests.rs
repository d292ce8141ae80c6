use std::fs;

use proptest::prelude::*;

use super::*;

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

/// Every file below a folder with its content, our notes' locks aside.
fn tree(root: &Path) -> std::collections::BTreeMap<PathBuf, String> {
    let mut found = std::collections::BTreeMap::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => folders.push(entry.path()),
                false if entry.path().extension().is_some_and(|ending| ending == "lock") => {}
                false => {
                    let text = fs::read_to_string(entry.path()).expect("readable");
                    found.insert(entry.path(), text);
                }
            }
        }
    }
    found
}

/// The files of the agent's own that are changed.
fn changed_files(agent: GuardedAgent, scope: InstallScope, places: &AgentPlaces) -> Vec<PathBuf> {
    let files = agent.files(scope, places).into_iter();
    files.filter(|file| file.owner() == FileOwner::Agent).map(|file| file.path).collect()
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, text).expect("written");
}

fn install(agent: GuardedAgent, scope: InstallScope, places: &AgentPlaces) {
    apply_install(&plan_install(agent, scope, places).expect("planned"), places).expect("installed");
}

fn uninstall(agent: GuardedAgent, scope: InstallScope, places: &AgentPlaces) {
    apply_install(&plan_uninstall(agent, scope, places).expect("planned"), places).expect("uninstalled");
}

/// Installs, checks that a second time changes nothing, and uninstalls. `before` stands in each file of the agent's that is JSON.
#[track_caller]
fn check_round(agent: GuardedAgent, scope: InstallScope, before: Option<&str>) {
    let root = tempfile::tempdir().expect("a folder");
    let places = places(root.path());
    for path in changed_files(agent, scope, &places) {
        match (before, path.extension().is_some_and(|ending| ending == "toml")) {
            (Some(_), true) => write(&path, "model = \"x\"\n\n[tui]\ntheme = 1"),
            (Some(text), false) => write(&path, text),
            (None, _) => {}
        }
    }
    let files = tree(root.path());
    assert_eq!(install_state(agent, scope, &places).expect("readable"), InstallState::Absent);
    install(agent, scope, &places);
    assert_eq!(install_state(agent, scope, &places).expect("readable"), InstallState::Current);
    assert_eq!(plan_install(agent, scope, &places).expect("planned").changes, [], "it is idempotent");
    uninstall(agent, scope, &places);
    assert_eq!(tree(root.path()), files, "{agent:?} {scope:?}");
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
fn an_installation_brings_hooks_the_server_and_the_skill() {
    for agent in GuardedAgent::ALL {
        for scope in [InstallScope::User, InstallScope::Project] {
            let root = tempfile::tempdir().expect("a folder");
            install(agent, scope, &places(root.path()));
            let all = tree(root.path()).into_values().collect::<String>();
            let hooks = if agent == GuardedAgent::Opencode { "[\"guard\"]" } else { "longhaul guard" };
            for expected in [hooks, "mcp", "longhaul recall"] {
                assert!(all.contains(expected), "no {expected} for {agent:?} {scope:?}");
            }
        }
    }
}

/// Changes an agent's file between installing and uninstalling; the change stays.
#[track_caller]
fn check_kept(agent: GuardedAgent, scope: InstallScope, file: &str, change: &str, expected: &str) {
    let root = tempfile::tempdir().expect("a folder");
    let places = places(root.path());
    install(agent, scope, &places);
    let path = root.path().join(file);
    let text = fs::read_to_string(&path).expect("readable");
    let changed = match change.strip_prefix('{') {
        Some(entry) => text.replacen('{', &format!("{{{entry}"), 1),
        None => format!("{text}{change}"),
    };
    fs::write(&path, changed).expect("written");
    uninstall(agent, scope, &places);
    let left: String = fs::read_to_string(&path).expect("readable").split_whitespace().collect();
    assert_eq!(left, expected);
}

#[test]
fn changes_made_since_stay() {
    use GuardedAgent::{Claude, Codex, Gemini};
    let (user, project) = (InstallScope::User, InstallScope::Project);
    let model = (r#"{"model":"opus","#, r#"{"model":"opus"}"#);
    check_kept(Claude, user, "claude/settings.json", model.0, model.1);
    check_kept(Claude, project, "project/.claude/settings.json", model.0, model.1);
    check_kept(Claude, project, "project/.mcp.json", model.0, model.1);
    check_kept(Gemini, project, "project/.gemini/settings.json", model.0, model.1);
    check_kept(Codex, user, "codex/config.toml", "\n[tui]\ntheme = 1\n", "[tui]theme=1");
    check_kept(Codex, project, "project/.codex/config.toml", "\n[tui]\ntheme = 1\n", "[tui]theme=1");
}

/// The hooks that the first version put into settings, with one of the user's.
const OLDER: &str = r#"{"hooks":{"SessionStart":[{"matcher":"compact","hooks":[{"type":"command","command":"longhaul guard"},{"type":"command","command":"mine"}]}]}}"#;

#[test]
fn an_older_guard_is_seen_and_replaced() {
    for (agent, file) in [
        (GuardedAgent::Claude, "claude/settings.json"),
        (GuardedAgent::Codex, "codex/hooks.json"),
        (GuardedAgent::Gemini, "gemini/settings.json"),
    ] {
        let root = tempfile::tempdir().expect("a folder");
        let places = places(root.path());
        write(&root.path().join(file), OLDER);
        let state = || install_state(agent, InstallScope::User, &places).expect("readable");
        assert_eq!(state(), InstallState::Outdated);
        install(agent, InstallScope::User, &places);
        assert_eq!(state(), InstallState::Current);
        let after = fs::read_to_string(root.path().join(file)).expect("readable");
        assert!(!after.contains("longhaul guard") && after.contains("mine"), "{after}");
    }
}

#[test]
fn an_older_note_still_restores_the_bytes_of_before() {
    let root = tempfile::tempdir().expect("a folder");
    let places = places(root.path());
    let path = places.claude.join("settings.json");
    let before = "{ \"model\" : \"x\" }";
    let after = r#"{ "model" : "x", "hooks": {"PreCompact": [{"hooks": [{"type": "command", "command": "longhaul guard"}]}]} }"#;
    write(&path, after);
    let note = serde_json::json!({"path": path, "before": before, "after": after});
    write(&places.notes.join("claude-user.json"), &note.to_string());
    install(GuardedAgent::Claude, InstallScope::User, &places);
    uninstall(GuardedAgent::Claude, InstallScope::User, &places);
    assert_eq!(fs::read_to_string(&path).expect("readable"), before);
}

#[track_caller]
fn check_refused(agent: GuardedAgent, file: &str, text: &str, expected: &str) {
    let root = tempfile::tempdir().expect("a folder");
    let places = places(root.path());
    let path = root.path().join(file);
    write(&path, text);
    let error = plan_install(agent, InstallScope::Project, &places).expect_err("refused");
    assert!(error.to_string().contains(expected), "{error}");
    assert_eq!(fs::read_to_string(&path).expect("readable"), text);
}

#[test]
fn what_cannot_be_understood_is_left_alone() {
    let hooks =
        |text, expected| check_refused(GuardedAgent::Codex, "project/.codex/hooks.json", text, expected);
    hooks("{\"hooks\": 7}", "\"hooks\" is no object");
    hooks("{\"hooks\": {\"SessionStart\": {}}}", "\"hooks.SessionStart\" is no list");
    hooks("[]", "is no object");
    hooks("{\"hooks\": ", "could not install in");
    check_refused(
        GuardedAgent::Claude,
        "project/.mcp.json",
        "{\"mcpServers\": []}",
        "\"mcpServers\" is no object",
    );
}

#[test]
fn a_file_that_changed_since_the_plan_is_not_overwritten() {
    let root = tempfile::tempdir().expect("a folder");
    let places = places(root.path());
    let plan = plan_install(GuardedAgent::Codex, InstallScope::Project, &places).expect("planned");
    let path = root.path().join("project/.codex/hooks.json");
    write(&path, "{}");
    assert!(matches!(apply_install(&plan, &places), Err(InstallError::Changed { .. })));
    assert_eq!(fs::read_to_string(&path).expect("readable"), "{}");
}

proptest! {
    // Each writes a dozen files to the disk.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_settings_come_back_to_the_byte(keys in prop::collection::btree_map("[a-z]{1,6}", 0u32..9, 0..6), gap in "[ \n\t]{0,4}") {
        let text = format!("{{{gap}{}{gap}}}", keys.iter().map(|(k, v)| format!("\"{k}\":{gap}{v}")).collect::<Vec<_>>().join(","));
        check_round(GuardedAgent::Gemini, InstallScope::Project, Some(&text));
    }
}
