//! What was always allowed: where it counts, what outranks it, and how it is listed and taken back.

use std::fs;

use longhaul_testkit::fake_provider::gemini;
use serde_json::{Value, json};

use crate::support::{Sandbox, Wire, text};
use crate::tools::{answered, shell, trusted};

/// A saved rule as earlier versions wrote it.
const TOUCH: &str = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = [\"touch\"]\ndecision = \"allow\"\npriority = 950\nmodes = [\"default\", \"autoEdit\", \"yolo\"]\n";
const MEMORY: &str = "[[rule]]\ntoolName = \"save_memory\"\ndecision = \"allow\"\npriority = 950\n";

/// The file of what is always allowed in the sandbox's own project.
fn project_file(sandbox: &Sandbox) -> String {
    let file = sandbox.sessions().first().expect("a session").clone();
    let project = file.parent().and_then(|chats| chats.parent()).expect("a project");
    let inside = project.strip_prefix(sandbox.path("")).expect("it is in the home");
    inside.join("auto-saved.toml").display().to_string()
}

#[track_caller]
fn list(sandbox: &Sandbox) -> Value {
    let output = sandbox.run(&["policy", "list", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_str(&text(&output.stdout)).expect("one object")
}

#[test]
fn a_projects_deny_outranks_what_is_always_allowed() {
    let sandbox = trusted(Wire::Gemini, [shell("touch made.txt"), gemini::text("Then not.")]);
    sandbox.write("home/policies/auto-saved.toml", TOUCH);
    sandbox.write(
        "work/.gemini/policies/ours.toml",
        "[[rule]]\ntoolName = 'run_shell_command'\ncommandPrefix = 'touch'\ndecision = 'deny'\npriority = 1\ndenyMessage = 'Nothing is touched here.'\n",
    );
    assert_eq!(sandbox.answer(&["-p", "Do it."]), "Then not.\n");
    assert!(!sandbox.path("work/made.txt").exists());
    assert!(
        answered(&sandbox)[0].to_string().contains("Nothing is touched here."),
        "{:?}",
        answered(&sandbox)
    );
    let said = text(&sandbox.run(&["policy", "check", "run_shell_command", "touch x"]).stdout);
    assert!(said.contains("a deny rule overrides saved approvals"), "{said}");
}

#[test]
fn what_is_always_allowed_in_a_project_counts_there_alone() {
    let replies = [gemini::text("Hi."), shell("touch made.txt"), gemini::text("Done.")];
    let sandbox =
        trusted(Wire::Gemini, replies.into_iter().chain([shell("touch made.txt"), gemini::text("No.")]));
    sandbox.answer(&["-p", "Hello."]);
    sandbox.write(&project_file(&sandbox), TOUCH);
    assert_eq!(sandbox.answer(&["-p", "Do it."]), "Done.\n");
    assert!(sandbox.path("work/made.txt").exists());
    fs::create_dir(sandbox.path("other")).expect("made");
    let output = sandbox
        .command(&["-m", "gemini-2.5-flash", "-p", "Do it."])
        .current_dir(sandbox.path("other"))
        .output();
    assert_eq!(text(&output.expect("it runs").stdout), "No.\n");
    assert!(!sandbox.path("other/made.txt").exists());
}

#[test]
fn saved_rules_are_listed_and_revoked() {
    let sandbox = trusted(Wire::Gemini, [gemini::text("Hi.")]);
    sandbox.answer(&["-p", "Hello."]);
    assert_eq!(list(&sandbox)["saved"], json!([]));
    let file = project_file(&sandbox);
    sandbox.write(&file, TOUCH);
    sandbox.write("home/policies/auto-saved.toml", &format!("# mine\n{TOUCH}\n# facts\n{MEMORY}"));
    sandbox
        .write("home/policies/mine.toml", "[[rule]]\ntoolName = 'glob'\ndecision = 'deny'\npriority = 7\n");
    let listed = list(&sandbox);
    let saved: Vec<Value> = listed["saved"].as_array().expect("a list").clone();
    let facts: Vec<Value> = saved
        .iter()
        .map(|rule| json!([rule["number"], rule["reach"], rule["allows"], rule["line"]]))
        .collect();
    let touch = "commands like `touch …`";
    let memory = "any call to save_memory";
    let expected =
        json!([[1, "project", touch, 1], [2, "everywhere", touch, 2], [3, "everywhere", memory, 10]]);
    assert_eq!(Value::from(facts), expected);
    assert_eq!(saved[0]["file"], json!(sandbox.path(&file)));
    let first = &listed["rules"][0];
    let facts = json!([first["priority"], first["tier"], first["decision"], first["source"], first["about"]]);
    assert_eq!(facts, json!(["4.007", "user", "deny", "file", "any call to glob"]));
    let bare = text(&sandbox.run(&["policy"]).stdout);
    for part in ["2  everywhere  commands like `touch …`", "4.007  deny", "policy revoke NUMBER"] {
        assert!(bare.contains(part), "no {part:?} in {bare}");
    }

    for (given, reason) in
        [("4", "3 are saved"), ("touch", "saved approvals: 1 and 2"), ("cargo", "3 are saved")]
    {
        let output = sandbox.run(&["policy", "revoke", given]);
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains(reason) && said.contains("hint:"), "{said}");
    }
    let output = sandbox.run(&["policy", "revoke", "2", "--json"]);
    let revoked: Value = serde_json::from_str(&text(&output.stdout)).expect("one object");
    assert_eq!(
        (&revoked["revoked"]["number"], &revoked["revoked"]["reach"]),
        (&json!(2), &json!("everywhere"))
    );
    let left = fs::read_to_string(sandbox.path("home/policies/auto-saved.toml")).expect("there");
    assert_eq!(left, format!("# mine\n# facts\n{MEMORY}"));
    let said = text(&sandbox.run(&["policy", "revoke", "any", "call"]).stdout);
    assert!(said.starts_with("No longer always allowed everywhere: any call to save_memory"), "{said}");
    assert_eq!(list(&sandbox)["saved"].as_array().map(Vec::len), Some(1));
}
