//! Tasks are handed to sub-agents: defined by files, under the user's rules, recorded below the session.

use std::fs;

use longhaul_testkit::fake_provider::gemini;
use serde_json::{Value, json};

use crate::support::{Sandbox, Wire, lines, text};
use crate::tools::{answered, call, trusted};

const SCOUT: &str = "---\ndescription: Finds things.\ntools: [read_file, write_file]\n---\nYou are a scout.";

/// A trusted folder with a scout, a file to find, and a script for both agents.
fn sandbox() -> Sandbox {
    let sandbox = trusted(
        Wire::Gemini,
        [
            call("invoke_agent", json!({"agent_name": "scout", "task": "Find the port."})),
            call("read_file", json!({"file_path": "port.txt"})),
            call("write_file", json!({"file_path": "other.txt", "content": "x"})),
            call("complete_task", json!({"result": "The port is 48213."})),
            gemini::text("48213."),
        ],
    );
    sandbox.write("work/.gemini/agents/scout.md", SCOUT);
    sandbox.write("work/port.txt", "listen on 48213, loopback only\n");
    sandbox
}

#[test]
fn a_task_is_done_elsewhere_and_only_its_result_is_read() {
    let sandbox = sandbox();
    let output = sandbox.say(&["-p", "Which port is it?", "--output-format", "stream-json"]);
    let (lines, said) = (lines(&text(&output.stdout)), text(&output.stderr));
    assert!(output.status.success(), "{said}");
    assert_eq!(answered(&sandbox)[0]["output"], "The port is 48213.");
    assert!(said.contains("note: scout: read_file: "), "{said}");
    assert!(
        said.contains("note: scout: write_file was not run: Not approved: running without a terminal."),
        "{said}"
    );
    assert!(!sandbox.path("work/other.txt").exists());

    let inside: Vec<&Value> = lines.iter().filter(|line| line["type"] == "subagent").collect();
    assert!(inside.iter().all(|line| line["name"] == "scout"), "{inside:?}");
    assert!(inside.iter().any(|line| line["event"]["type"] == "tool_result"), "{inside:?}");
    let result = lines.last().expect("a result");
    assert_eq!((&result["text"], &result["usage"]["input"]), (&json!("48213."), &json!(500)));
    assert!(result["cost"]["answer"].as_f64().is_some_and(|cost| cost > 0.0), "{result}");

    let requests = sandbox.server.requests();
    let system = |request: usize| requests[request].body["systemInstruction"].to_string();
    assert!(system(0).contains("- scout: Finds things.") && system(0).contains("- explorer: "));
    assert!(system(1).contains("You are a scout.") && system(1).contains("Find the port."));
    assert!(requests[2].body.to_string().contains("loopback only"));
    assert!(!requests[4].body.to_string().contains("loopback only"), "what it read stays with it");

    let id = result["session_id"].as_str().expect("an id");
    let files = sandbox.sessions();
    let [scout] =
        files.iter().filter(|file| file.parent().is_some_and(|up| up.ends_with(id))).collect::<Vec<_>>()[..]
    else {
        panic!("{files:?}")
    };
    let recorded = fs::read_to_string(scout).expect("it is text");
    assert!(recorded.contains("port.txt") && recorded.contains(r#""kind":"subagent""#), "{recorded}");
    let listed = text(&sandbox.run(&["sessions", "list", "--json"]).stdout);
    let listed: Value = serde_json::from_str(&listed).expect("one object");
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(1), "{listed}");
    assert!(sandbox.run(&["inspect", &scout.display().to_string()]).status.success());
    let deleted = sandbox.run(&["sessions", "delete", id, "--yes"]);
    assert!(!scout.exists(), "{}{}", text(&deleted.stdout), text(&deleted.stderr));
}

#[test]
fn rules_may_forbid_to_start_one_or_what_it_does() {
    let sandbox = sandbox();
    sandbox.write(
        "home/policies/mine.toml",
        "[[rule]]\ntoolName = \"scout\"\ndecision = \"deny\"\npriority = 100\ndenyMessage = \"No scouts.\"\n",
    );
    sandbox.say(&["-p", "Which port is it?"]);
    let requests = sandbox.server.requests();
    assert!(requests[1].body.to_string().contains("No scouts."), "{}", requests[1].body);

    let check = |arguments: &[&str]| text(&sandbox.run(&[&["policy", "check"], arguments].concat()).stdout);
    let start = |name: &str| {
        check(&["invoke_agent", &json!({"agent_name": name, "task": "x"}).to_string(), "--headless"])
    };
    assert!(start("scout").starts_with("denied"), "{}", start("scout"));
    assert!(start("explorer").starts_with("allowed"), "{}", start("explorer"));
    assert!(start("nobody").starts_with("denied"), "{}", start("nobody"));
}

#[test]
fn definitions_are_listed_with_what_is_wrong() {
    let mut sandbox = Sandbox::gemini([gemini::text("Hello.")]);
    sandbox.write("work/.gemini/agents/scout.md", SCOUT);
    sandbox.write(
        "home/agents/explorer.md",
        "---\ndescription: Mine.\nmodel: no-such-model\ntools: [telepathy]\n---\nx",
    );
    sandbox.write("home/agents/broken.md", "---\ndescription: x\nmax_turns: none\n");
    let list = |sandbox: &Sandbox| -> Value {
        serde_json::from_slice(&sandbox.run(&["agents", "list", "--json"]).stdout).expect("one object")
    };
    let names = |listed: &Value| -> Vec<String> {
        let agents = listed["agents"].as_array().expect("agents");
        agents.iter().map(|agent| format!("{} {}", agent["name"], agent["source"]).replace('"', "")).collect()
    };
    sandbox.set("GEMINI_CLI_TRUST_WORKSPACE", "false");
    sandbox.settings(r#"{"security": {"folderTrust": {"enabled": true}}}"#);
    assert_eq!(names(&list(&sandbox)), ["explorer user", "generalist built_in"]);
    sandbox.set("GEMINI_CLI_TRUST_WORKSPACE", "true");
    let listed = list(&sandbox);
    assert_eq!(names(&listed), ["explorer user", "generalist built_in", "scout project"]);
    assert_eq!(listed["notes"].as_array().map(Vec::len), Some(1), "{listed}");
    let told = text(&sandbox.run(&["agents", "list"]).stdout);
    assert!(told.contains("broken.md:1: the front matter has no closing"), "{told}");
    assert!(told.contains("no-such-model") && told.contains("30 steps, 10 minutes"), "{told}");

    let said = text(&sandbox.say(&["-p", "hi"]).stderr);
    assert!(
        said.contains("broken.md:1: ") && said.contains("lists an unknown tool: \"telepathy\""),
        "{said}"
    );
}
