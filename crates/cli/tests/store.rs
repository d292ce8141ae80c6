//! Drives the commands that work on a project's sessions, and `longhaul recall`, as a user would.

mod sandbox;

use sandbox::{Sandbox, text};
use serde_json::{Value, json};

fn imported(sandbox: &Sandbox) -> String {
    let told = sandbox.json(&["sessions", "import", "in.jsonl", "--again", "--json"]);
    // What is known of the files is kept beside them.
    sandbox.done(&["sessions", "list"]);
    told["id"].as_str().expect("an id").to_string()
}

#[test]
fn an_empty_home_has_no_sessions_and_stays_empty() {
    let sandbox = Sandbox::new();
    assert!(sandbox.done(&["sessions", "list"]).contains("No sessions yet"));
    assert_eq!(sandbox.json(&["sessions", "list", "--json"])["sessions"].as_array().map(Vec::len), Some(0));
    assert!(sandbox.done(&["sessions", "prune"]).contains("Nothing to delete"));
    sandbox.check_refused(&["recall", "something"], 1, &["has no sessions", "import"]);
    sandbox.check_refused(
        &["sessions", "show", "latest"],
        1,
        &["no file or session named latest", "sessions list"],
    );
    assert_eq!(sandbox.names(), ["in.jsonl"]);
}

#[test]
fn a_session_is_imported_listed_shown_and_deleted() {
    let sandbox = Sandbox::new();
    let id = imported(&sandbox);
    let listing = sandbox.json(&["sessions", "list", "--json"]);
    assert_eq!(listing["sessions"][0]["id"], id.as_str());
    assert_eq!(listing["sessions"][0]["index"], 1);
    let original = sandbox.json(&["sessions", "show", "in.jsonl", "--json"]);
    for name in ["latest", "1", id.as_str()] {
        let shown = sandbox.json(&["sessions", "show", name, "--json"]);
        assert_eq!(shown["messages"].as_array().map(Vec::len), original["messages"].as_array().map(Vec::len));
        for (shown, original) in shown["messages"]
            .as_array()
            .into_iter()
            .flatten()
            .zip(original["messages"].as_array().expect("messages"))
        {
            assert_eq!(shown["parts"], original["parts"]);
        }
    }
    assert!(sandbox.done(&["sessions", "show", "1", "--message", "m1"]).starts_with("m1 user"));
    assert!(sandbox.done(&["sessions", "show", "1", "--message", "1"]).starts_with("m1 user"));
    sandbox.check_refused(&["sessions", "show", "1", "--message", "m9999"], 1, &["no message m9999"]);
    // A second one gets an id of its own.
    assert_ne!(imported(&sandbox), id);
    sandbox.check_refused(&["sessions", "delete", &id], 1, &["not confirmed", "--yes"]);
    assert!(sandbox.done(&["sessions", "delete", &id, "--yes"]).contains(&id));
    assert_eq!(sandbox.json(&["sessions", "list", "--json"])["sessions"].as_array().map(Vec::len), Some(1));
    sandbox.check_refused(&["sessions", "delete", "7"], 1, &["unknown session \"7\""]);
    assert!(sandbox.done(&["sessions", "delete", "latest", "--yes"]).contains("Deleted"));
    assert!(sandbox.done(&["sessions", "list"]).contains("No sessions yet"));
}

/// A session of Claude Code that it compacted once, after which one request followed.
fn compacted_elsewhere() -> String {
    let at = |minute: u32| format!("2026-01-02T03:{minute:02}:00.000Z");
    let said = |id: &str, minute: u32, kind: &str, content: Value| {
        json!({"type": kind, "uuid": id, "sessionId": "7d5a2b3c-0000-4000-8000-000000000001", "cwd": "/w", "timestamp": at(minute),
            "message": {"role": kind, "content": content}})
    };
    let call = json!([{"type": "tool_use", "id": "c1", "name": "Write",
        "input": {"file_path": "/w/notes.md", "content": format!("first line\nsecond line {}", "x".repeat(200))}}]);
    let result =
        json!([{"type": "tool_result", "tool_use_id": "c1", "content": "written to the zebra file"}]);
    let mut summary = said(
        "s",
        10,
        "user",
        json!(
            "This session is being continued from a previous conversation that ran out of context. We write notes."
        ),
    );
    summary["isCompactSummary"] = true.into();
    let lines = [
        said("a", 1, "user", json!("Please write the release notes. Never push to main.")),
        said("b", 2, "assistant", call),
        said("c", 3, "user", result),
        said("d", 4, "assistant", json!("Done.")),
        json!({"type": "system", "subtype": "compact_boundary", "sessionId": "7d5a2b3c-0000-4000-8000-000000000001", "timestamp": at(10)}),
        summary,
        said("e", 11, "user", json!("Now the changelog")),
        said("f", 12, "assistant", json!("Changed.")),
    ];
    lines.map(|line| format!("{line}\n")).concat()
}

#[test]
fn the_session_used_last_is_listed_first() {
    let sandbox = Sandbox::new().with("older.jsonl", &compacted_elsewhere());
    imported(&sandbox);
    sandbox.done(&["sessions", "import", "older.jsonl"]);
    let listed = sandbox.done(&["sessions", "list"]);
    let numbers: Vec<&str> =
        listed.lines().take(2).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(numbers, ["2", "1"], "{listed}");
}

#[test]
fn an_import_keeps_what_was_compacted_away() {
    let sandbox = Sandbox::new().with("claude.jsonl", &compacted_elsewhere());
    let told = sandbox.json(&["sessions", "import", "claude.jsonl", "--json"]);
    let counts = ["messages", "in_context", "compactions"].map(|key| told[key].as_u64().expect("a count"));
    assert_eq!(counts, [6, 3, 1]);
    let id = told["id"].as_str().expect("an id");
    let listed = &sandbox.json(&["sessions", "list", "--json"])["sessions"][0];
    assert_eq!(listed["name"], "Please write the release notes. Never push to main.");
    assert_eq!(
        (listed["started"].as_str(), listed["updated"].as_str()),
        (Some("2026-01-02T03:01:00.000Z"), Some("2026-01-02T03:12:00.000Z"))
    );
    let texts = |arguments: &[&str]| -> String {
        let shown = sandbox.json(&[&["sessions", "show", id, "--json"], arguments].concat());
        let parts = shown["messages"].as_array().into_iter().flatten();
        parts
            .map(|message| message["parts"][0]["text"].as_str().unwrap_or_default().to_string() + "|")
            .collect()
    };
    assert!(texts(&[]).starts_with("This session is being continued"), "the model sees what it saw");
    let all = "Please write the release notes. Never push to main.||written to the zebra file|Done.|Now the changelog|Changed.|";
    assert_eq!(texts(&["--all"]), all);
    assert!(sandbox.done(&["recall", "zebra"]).contains("m3"));
    sandbox.done(&["sessions", "undo", id]);
    assert_eq!(texts(&[]), all);
    // It is as old as it is, but new here.
    assert!(sandbox.done(&["sessions", "prune"]).contains("Nothing to delete"));
    let whole = sandbox.done(&["sessions", "show", id, "--message", "m2"]);
    assert!(whole.contains("  file_path: /w/notes.md\n") && whole.contains("    first line\n"), "{whole}");
    assert!(whole.contains(&"x".repeat(200)), "{whole}");
}

#[test]
fn real_sessions_are_imported_with_all_that_was_compacted_away() {
    let Some(corpus) = longhaul_testkit::corpus() else { return };
    let sandbox = Sandbox::new();
    for name in ["cc-packmind-01", "cc-entire-01", "cc-cipherbox-01", "cc-entire-07", "codex-agentv-01"] {
        let file = corpus.join(format!("sessions/original/{name}.jsonl"));
        let Some(file) = file.to_str().filter(|file| std::fs::exists(file).is_ok_and(|exists| exists)) else {
            continue;
        };
        let told = sandbox.json(&["sessions", "import", file, "--json"]);
        assert!(told["messages"].as_u64() > told["in_context"].as_u64(), "{name}: {told}");
        let id = told["id"].as_str().expect("an id");
        // Roles, times and texts of what the model sees.
        let seen = |session: &str| -> Vec<Value> {
            let shown = sandbox.json(&["sessions", "show", session, "--json"]);
            let messages = shown["messages"].as_array().expect("messages").iter();
            messages.map(|message| json!([message["role"], message["at"], message["parts"]])).collect()
        };
        assert_eq!(seen(id), seen(file), "{name}");
        let compactions = told["compactions"].as_u64().expect("a count");
        for _ in 0..compactions {
            sandbox.done(&["sessions", "undo", id]);
        }
        assert_eq!(Some(seen(id).len() as u64), told["messages"].as_u64(), "{name}");
        let listed = sandbox.json(&["sessions", "list", "--json"]);
        let listed = listed["sessions"].as_array().into_iter().flatten().find(|listed| listed["id"] == id);
        let title = listed.expect("it is listed")["name"].as_str().unwrap_or_default().to_string();
        assert!(!title.starts_with("This session is being continued"), "{name}: {title}");
    }
}

#[test]
fn a_log_is_imported_with_its_compactions() {
    let sandbox = Sandbox::new().with("claude.jsonl", &compacted_elsewhere());
    let first = sandbox.json(&["sessions", "import", "claude.jsonl", "--json"]);
    let log = std::fs::read_to_string(first["file"].as_str().expect("a file")).expect("readable");
    let told = text(&sandbox.feed(&["sessions", "import", "-", "--again", "--json"], log.as_bytes()).stdout);
    let again: Value = serde_json::from_str(&told).expect("JSON");
    assert_ne!(first["id"], again["id"]);
    for key in ["messages", "in_context", "compactions"] {
        assert_eq!(first[key], again[key], "{key}");
    }
    sandbox.done(&["sessions", "undo", again["id"].as_str().expect("an id")]);
}

#[test]
fn an_import_says_how_to_look_at_it_and_a_file_is_shown_by_its_name() {
    let nameless = r#"{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}"#;
    let sandbox = Sandbox::new().with("talks/nameless.json", nameless);
    let told = sandbox.done(&["sessions", "import", "talks/nameless.json"]);
    let command = told.split('`').nth(1).expect("a command");
    let arguments: Vec<&str> = command.split(' ').skip(1).collect();
    assert!(sandbox.done(&arguments).contains("Hi"), "{told}");
    assert!(sandbox.done(&["sessions", "show", "talks/nameless.json"]).starts_with("nameless.json\n"));
    let piped = text(&sandbox.feed(&["sessions", "show", "-"], nameless.as_bytes()).stdout);
    assert!(piped.starts_with("standard input\n"), "{piped}");
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_is_named() {
    use std::os::unix::fs::symlink;

    let sandbox = Sandbox::new();
    symlink("two", sandbox.path("one")).expect("linked");
    symlink("one", sandbox.path("two")).expect("linked");
    symlink("gone.jsonl", sandbox.path("dangling.jsonl")).expect("linked");
    for link in ["one", "dangling.jsonl"] {
        for command in [&["inspect", link][..], &["sessions", "show", link], &["compress", link]] {
            let said = text(&sandbox.run(command).stderr);
            let expected = format!("could not follow the link {link}\n");
            assert!(said.contains(&expected) && said.contains("hint: it points to itself"), "{said}");
        }
    }
}

#[test]
fn sessions_of_this_folder_can_be_named_wherever_a_file_can() {
    let sandbox = Sandbox::new();
    imported(&sandbox);
    assert!(sandbox.done(&["inspect", "latest"]).contains("tokens"));
    assert_eq!(sandbox.json(&["compress", "latest", "--force", "--json"])["schema"], 2);
    let exported = sandbox.done(&["sessions", "export", "latest", "--format", "neutral", "-o", "out.json"]);
    assert!(exported.contains("out.json"), "{exported}");
    sandbox.check_refused(&["inspect", "lastest"], 1, &["no file or session named lastest"]);
}

#[test]
fn recall_finds_what_a_tool_said_and_says_where() {
    let sandbox = Sandbox::new();
    let id = imported(&sandbox);
    let all = sandbox.json(&["sessions", "show", "1", "--all", "--json"]);
    let messages = all["messages"].as_array().expect("messages");
    let spoken = messages.iter().find_map(|message| {
        let mut words = message["parts"][0]["text"].as_str()?.split_whitespace();
        words.find(|word| word.len() > 7 && word.chars().all(char::is_alphabetic))
    });
    let word = spoken.expect("a long word");
    let found = sandbox.json(&["recall", word, "--json"]);
    assert_eq!(found["hits"][0]["session"], id.as_str());
    let excerpt = found["hits"][0]["text"].as_str().expect("an excerpt").to_lowercase();
    assert!(excerpt.contains(&word.to_lowercase()), "{excerpt}");
    assert!(sandbox.done(&["recall", word, "--limit", "1"]).contains("Searched"));
    assert!(sandbox.done(&["recall", "xyzzyplugh"]).contains("No matches for xyzzyplugh"));
    sandbox.check_refused(&["recall", "..."], 1, &["nothing to search for"]);
    let refused = sandbox.run(&["recall", "x", "--limit", "0"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
}

#[test]
fn undo_says_what_there_is_to_undo() {
    let sandbox = Sandbox::new();
    imported(&sandbox);
    sandbox.check_refused(
        &["sessions", "undo", "latest"],
        1,
        &["nothing to undo in latest", "nothing was compacted"],
    );
    sandbox.check_refused(&["sessions", "undo", "1", "--compaction", "no-such"], 1, &["with the id no-such"]);
    sandbox.check_refused(&["sessions", "undo", "nowhere.jsonl"], 1, &["nowhere.jsonl"]);
    assert_eq!(sandbox.run(&["sessions", "undo"]).status.code(), Some(2));
}

#[test]
fn what_was_just_imported_is_not_old() {
    let sandbox = Sandbox::new();
    imported(&sandbox);
    assert!(sandbox.done(&["sessions", "prune"]).contains("Nothing to delete"));
    assert!(sandbox.done(&["sessions", "prune", "--max-age", "1h"]).contains("Nothing to delete"));
    assert!(!sandbox.done(&["sessions", "list"]).contains("just now"), "its times are its own");
}

#[test]
fn recall_in_one_session_names_it_so_that_it_can_be_shown() {
    let sandbox = Sandbox::new();
    let id = imported(&sandbox);
    for (given, name) in [("latest", id.as_str()), ("1", &id), ("in.jsonl", "in.jsonl")] {
        let found = sandbox.json(&["recall", "m1", "--session", given, "--json"]);
        assert_eq!(found["hits"][0]["session"], name);
        sandbox.done(&["sessions", "show", name, "--message", "m1"]);
    }
    let sandbox = sandbox.with("notes.txt", "no session at all");
    sandbox.check_refused(
        &["recall", "x", "--session", "notes.txt"],
        1,
        &["could not read", "supported formats:"],
    );
    sandbox.check_refused(&["recall", "x", "--session", "."], 1, &["is a folder", "hint:"]);
}

#[test]
fn prune_keeps_what_it_is_told_to_keep() {
    let sandbox = Sandbox::new();
    imported(&sandbox);
    imported(&sandbox);
    let planned = sandbox.json(&["sessions", "prune", "--max-count", "1", "--dry-run", "--json"]);
    assert_eq!(planned["doomed"].as_array().map(Vec::len), Some(1));
    assert_eq!(sandbox.json(&["sessions", "list", "--json"])["sessions"].as_array().map(Vec::len), Some(2));
    let done = sandbox.json(&["sessions", "prune", "--max-count", "1", "--json"]);
    assert_eq!(done["sessions"]["deleted"], 1);
    assert_eq!(sandbox.json(&["sessions", "list", "--json"])["sessions"].as_array().map(Vec::len), Some(1));
    let refused = sandbox.run(&["sessions", "prune", "--max-age", "soon"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
}
