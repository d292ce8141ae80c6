//! What was always allowed: where it counts, what outranks it, and how it is listed and taken back.

use std::fs;

use longhaul_testkit::fake_provider::gemini;
use serde_json::{Value, json};

use crate::support::{Desk, Wire, text};
use crate::tools::{answered, shell, trusted};

/// A saved rule as earlier versions wrote it.
const TOUCH: &str = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = [\"touch\"]\ndecision = \"allow\"\npriority = 950\nmodes = [\"default\", \"autoEdit\", \"yolo\"]\n";
const MEMORY: &str = "[[rule]]\ntoolName = \"save_memory\"\ndecision = \"allow\"\npriority = 950\n";

/// The file of what is always allowed in the desk's own project.
fn project_file(desk: &Desk) -> String {
    let file = desk.sessions().first().expect("a session").clone();
    let project = file.parent().and_then(|chats| chats.parent()).expect("a project");
    let inside = project.strip_prefix(desk.path("")).expect("it is in the home");
    inside.join("auto-saved.toml").display().to_string()
}

#[track_caller]
fn list(desk: &Desk) -> Value {
    let output = desk.run(&["policy", "list", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_str(&text(&output.stdout)).expect("one object")
}

#[test]
fn a_projects_deny_outranks_what_is_always_allowed() {
    let desk = trusted(Wire::Gemini, [shell("touch made.txt"), gemini::text("Then not.")]);
    desk.write("home/policies/auto-saved.toml", TOUCH);
    desk.write(
        "work/.gemini/policies/ours.toml",
        "[[rule]]\ntoolName = 'run_shell_command'\ncommandPrefix = 'touch'\ndecision = 'deny'\npriority = 1\ndenyMessage = 'Nothing is touched here.'\n",
    );
    assert_eq!(desk.answer(&["-p", "Do it."]), "Then not.\n");
    assert!(!desk.path("work/made.txt").exists());
    assert!(answered(&desk)[0].to_string().contains("Nothing is touched here."), "{:?}", answered(&desk));
    let said = text(&desk.run(&["policy", "check", "run_shell_command", "touch x"]).stdout);
    assert!(said.contains("a rule that denies outranks what you always allow"), "{said}");
}

#[test]
fn what_is_always_allowed_in_a_project_counts_there_alone() {
    let replies = [gemini::text("Hi."), shell("touch made.txt"), gemini::text("Done.")];
    let desk =
        trusted(Wire::Gemini, replies.into_iter().chain([shell("touch made.txt"), gemini::text("No.")]));
    desk.answer(&["-p", "Hello."]);
    desk.write(&project_file(&desk), TOUCH);
    assert_eq!(desk.answer(&["-p", "Do it."]), "Done.\n");
    assert!(desk.path("work/made.txt").exists());
    fs::create_dir(desk.path("other")).expect("made");
    let output =
        desk.command(&["-m", "gemini-2.5-flash", "-p", "Do it."]).current_dir(desk.path("other")).output();
    assert_eq!(text(&output.expect("it runs").stdout), "No.\n");
    assert!(!desk.path("other/made.txt").exists());
}

#[test]
fn saved_rules_are_listed_and_revoked() {
    let desk = trusted(Wire::Gemini, [gemini::text("Hi.")]);
    desk.answer(&["-p", "Hello."]);
    assert_eq!(list(&desk)["saved"], json!([]));
    let file = project_file(&desk);
    desk.write(&file, TOUCH);
    desk.write("home/policies/auto-saved.toml", &format!("# mine\n{TOUCH}\n# facts\n{MEMORY}"));
    desk.write("home/policies/mine.toml", "[[rule]]\ntoolName = 'glob'\ndecision = 'deny'\npriority = 7\n");
    let listed = list(&desk);
    let saved: Vec<Value> = listed["saved"].as_array().expect("a list").clone();
    let facts: Vec<Value> = saved
        .iter()
        .map(|rule| json!([rule["number"], rule["reach"], rule["allows"], rule["line"]]))
        .collect();
    let touch = "commands like `touch …`";
    let memory = "every call of save_memory";
    let expected =
        json!([[1, "project", touch, 1], [2, "everywhere", touch, 2], [3, "everywhere", memory, 10]]);
    assert_eq!(Value::from(facts), expected);
    assert_eq!(saved[0]["file"], json!(desk.path(&file)));
    let first = &listed["rules"][0];
    let facts = json!([first["priority"], first["tier"], first["decision"], first["source"], first["about"]]);
    assert_eq!(facts, json!(["4.007", "user", "deny", "file", "every call of glob"]));
    let bare = text(&desk.run(&["policy"]).stdout);
    for part in ["2  everywhere  commands like `touch …`", "4.007  deny", "policy revoke NUMBER"] {
        assert!(bare.contains(part), "no {part:?} in {bare}");
    }

    for (given, reason) in [("4", "there are 3"), ("touch", "1 and 2 match"), ("cargo", "there are 3")] {
        let output = desk.run(&["policy", "revoke", given]);
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains(reason) && said.contains("hint:"), "{said}");
    }
    let output = desk.run(&["policy", "revoke", "2", "--json"]);
    let revoked: Value = serde_json::from_str(&text(&output.stdout)).expect("one object");
    assert_eq!(
        (&revoked["revoked"]["number"], &revoked["revoked"]["reach"]),
        (&json!(2), &json!("everywhere"))
    );
    let left = fs::read_to_string(desk.path("home/policies/auto-saved.toml")).expect("there");
    assert_eq!(left, format!("# mine\n# facts\n{MEMORY}"));
    let said = text(&desk.run(&["policy", "revoke", "every", "call"]).stdout);
    assert!(said.starts_with("No longer always allowed everywhere: every call of save_memory"), "{said}");
    assert_eq!(list(&desk)["saved"].as_array().map(Vec::len), Some(1));
}
