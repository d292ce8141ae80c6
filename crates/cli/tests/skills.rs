//! Drives `longhaul skills` as a user would.

mod desk;

use std::fs;

use desk::{Desk, check_has, text};
use serde_json::{Value, json};

const TIDES: &str = "---\nname: tides\ndescription: Reads tide tables.\n---\nOpen the table.\n";

/// A trusted desk with a skill of each kind.
fn desk() -> Desk {
    Desk::new()
        .with(".git/HEAD", "")
        .with("home/settings.json", "{\"security\": {\"folderTrust\": {\"enabled\": false}}} // mine\n")
        .with("home/skills/tides/SKILL.md", TIDES)
        .with("home/skills/tides/references/table.txt", "")
        .with("home/skills/broken/SKILL.md", "# No skill\n")
        .with("home/extensions/sea/gemini-extension.json", "{\"name\": \"sea\"}")
        .with("home/extensions/sea/skills/waves/SKILL.md", &skill("waves"))
        .with(".gemini/skills/winds/SKILL.md", &skill("winds"))
        .with(".agents/skills/winds/SKILL.md", &skill("Winds"))
}

fn skill(name: &str) -> String {
    TIDES.replace("tides", name)
}

/// The names and tiers of a listing.
fn listed(desk: &Desk) -> Vec<String> {
    let json = desk.json(&["skills", "list", "--json"]);
    let name = |skill: &Value| {
        let off = if skill["enabled"] == json!(true) { "" } else { " off" };
        format!("{} {}{off}", skill["name"].as_str().unwrap(), skill["tier"].as_str().unwrap())
    };
    let skills = json["skills"].as_array().expect("a list").iter();
    // Whoever runs this may have skills of their own beside the home.
    skills.filter(|skill| skill["tier"] != "user_shared").map(name).collect()
}

#[test]
fn skills_are_listed_with_what_is_wrong() {
    let desk = desk();
    assert_eq!(listed(&desk), ["tides user", "waves extension", "Winds workspace_shared"]);
    let told = desk.done(&["skills"]);
    check_has(
        &told,
        &["tides  one of the user's skills\n  Reads tide tables.\n", "1 file should be a skill and is none"],
    );
    let all = desk.done(&["skills", "list", "--all"]);
    check_has(
        &all,
        &["broken/SKILL.md: it has no front matter", "winds: ", "by one of the workspace's shared skills"],
    );
}

#[test]
fn an_untrusted_folder_has_no_skills() {
    let desk = desk().with("home/settings.json", "{}");
    assert_eq!(listed(&desk), ["tides user", "waves extension"]);
    check_has(&desk.done(&["skills"]), &[".gemini/skills does not count, as its folder is not trusted"]);
    desk.check_refused(
        &["skills", "install", "home/skills/tides", "--scope", "workspace", "--yes"],
        1,
        &["is not trusted"],
    );
}

#[test]
fn a_skill_is_shown_as_a_model_reads_it() {
    let desk = desk();
    let told = desk.done(&["skills", "show", "TIDES"]);
    check_has(&told, &["<instructions>\nOpen the table.\n</instructions>", "  references/\n    table.txt\n"]);
    let json = desk.json(&["skills", "show", "tides", "--json"]);
    assert_eq!(
        (&json["name"], &json["resources"]),
        (&json!("tides"), &json!(["references/", "references/table.txt"]))
    );
    desk.check_refused(&["skills", "show", "nobody"], 1, &["there is no skill \"nobody\"", "hint: "]);
}

#[test]
fn skills_are_switched_off_and_on() {
    let desk = desk().with(".gemini/settings.json", "{\n  // ours\n}\n");
    check_has(
        &desk.done(&["skills", "disable", "Tides"]),
        &["tides is off now: ", ".gemini/settings.json says so"],
    );
    check_has(&desk.read(".gemini/settings.json"), &["\"disabled\": [\"tides\"]", "// ours"]);
    assert_eq!(desk.done(&["skills", "disable", "tides"]), "tides was off already.\n");
    desk.done(&["skills", "disable", "waves", "--scope", "user"]);
    check_has(&desk.read("home/settings.json"), &["\"disabled\": [\"waves\"]", "// mine"]);
    assert_eq!(listed(&desk), ["tides user off", "waves extension off", "Winds workspace_shared"]);
    desk.done(&["skills", "enable", "tides"]);
    let json = desk.json(&["skills", "enable", "WAVES", "--json"]);
    assert_eq!((&json["name"], &json["enabled"]), (&json!("waves"), &json!(true)));
    assert_eq!(listed(&desk), ["tides user", "waves extension", "Winds workspace_shared"]);
    desk.check_refused(&["skills", "disable", "nobody"], 1, &["there is no skill"]);
}

#[test]
fn a_skill_is_installed_linked_and_removed() {
    let desk = desk().with("new/SKILL.md", &skill("currents")).with("new/scripts/run.sh", "echo\n");
    desk.check_refused(&["skills", "install", "new"], 1, &["nobody is there to confirm this", "--yes"]);
    let before = desk.names();
    let told = desk.done(&["skills", "install", "new", "--dry-run"]);
    check_has(&told, &["currents\n  Reads tide tables.\n", "5  scripts/run.sh", "Nothing was installed."]);
    assert_eq!(desk.names(), before);

    check_has(&desk.done(&["skills", "install", "new", "--yes"]), &["1 skill installed.\n"]);
    assert_eq!(desk.read("home/skills/currents/scripts/run.sh"), "echo\n");
    desk.check_refused(&["skills", "install", "new", "--yes"], 1, &["there is already a skill \"currents\""]);
    let json = desk.json(&["skills", "install", "new", "--scope", "workspace", "--json"]);
    assert_eq!((&json["installed"], &json["scope"]), (&json!(true), &json!("workspace")));
    assert!(listed(&desk).contains(&"currents workspace".to_string()));

    desk.done(&["skills", "uninstall", "currents"]);
    assert!(listed(&desk).contains(&"currents user".to_string()));
    desk.done(&["skills", "uninstall", "currents", "--json"]);
    desk.check_refused(&["skills", "uninstall", "currents"], 1, &["there is no skill"]);
    desk.check_refused(&["skills", "uninstall", "waves"], 1, &["part of an extension", "switches it off"]);

    check_has(&desk.done(&["skills", "link", "new"]), &["currents: "]);
    assert!(listed(&desk).contains(&"currents user".to_string()));
    desk.done(&["skills", "uninstall", "currents"]);
    assert!(fs::exists(desk.path("new/SKILL.md")).unwrap());
}

#[test]
fn what_must_not_be_installed_is_refused() {
    let desk = desk().with("x.zip", "").with("bad/SKILL.md", "no").with("good/SKILL.md", &skill("good"));
    desk.check_refused(&["skills", "install", "x.zip", "--yes"], 1, &["it is an archive", "unpack it first"]);
    desk.check_refused(
        &["skills", "install", "bad", "--yes"],
        1,
        &["is no skill", "its first line is not ---"],
    );
    desk.check_refused(&["skills", "install", "none", "--yes"], 1, &["could not find none"]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/etc", desk.path("good/etc")).unwrap();
        desk.check_refused(&["skills", "install", "good", "--yes"], 1, &["leads out of the skill"]);
    }
}

#[test]
fn skills_can_be_switched_off_altogether() {
    let desk = desk().with("home/settings.json", "{\"skills\": {\"enabled\": false}}");
    assert!(listed(&desk).is_empty());
    let output = desk.run(&["skills"]);
    assert_eq!(text(&output.stdout), "Skills are switched off in the settings.\n");
}
