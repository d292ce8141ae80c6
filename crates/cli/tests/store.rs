//! Drives the commands that work on a project's sessions, and `longhaul recall`, as a user would.

mod desk;

use desk::{Desk, text};

fn imported(desk: &Desk) -> String {
    let told = desk.json(&["sessions", "import", "in.jsonl", "--json"]);
    // What is known of the files is kept beside them.
    desk.done(&["sessions", "list"]);
    told["id"].as_str().expect("an id").to_string()
}

#[test]
fn an_empty_home_has_no_sessions_and_stays_empty() {
    let desk = Desk::new();
    assert!(desk.done(&["sessions", "list"]).contains("no sessions yet"));
    assert_eq!(desk.json(&["sessions", "list", "--json"])["sessions"].as_array().map(Vec::len), Some(0));
    assert!(desk.done(&["sessions", "prune"]).contains("Nothing is old enough"));
    desk.check_refused(&["recall", "something"], 1, &["has no sessions", "import"]);
    desk.check_refused(&["sessions", "show", "latest"], 1, &["no session called latest", "sessions list"]);
    assert_eq!(desk.names(), ["in.jsonl"]);
}

#[test]
fn a_session_is_imported_listed_shown_and_deleted() {
    let desk = Desk::new();
    let id = imported(&desk);
    let listing = desk.json(&["sessions", "list", "--json"]);
    assert_eq!(listing["sessions"][0]["id"], id.as_str());
    assert_eq!(listing["sessions"][0]["index"], 1);
    let original = desk.json(&["sessions", "show", "in.jsonl", "--json"]);
    for name in ["latest", "1", id.as_str()] {
        let shown = desk.json(&["sessions", "show", name, "--json"]);
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
    assert!(desk.done(&["sessions", "show", "1", "--message", "m1"]).starts_with("m1 user"));
    desk.check_refused(&["sessions", "show", "1", "--message", "m9999"], 1, &["no message m9999"]);
    // A second one gets an id of its own.
    assert_ne!(imported(&desk), id);
    desk.check_refused(&["sessions", "delete", &id], 1, &["not confirmed", "--yes"]);
    assert!(desk.done(&["sessions", "delete", &id, "--yes"]).contains(&id));
    assert_eq!(desk.json(&["sessions", "list", "--json"])["sessions"].as_array().map(Vec::len), Some(1));
    desk.check_refused(&["sessions", "delete", "7"], 1, &["no session is called \"7\""]);
    assert!(desk.done(&["sessions", "delete", "latest", "--yes"]).contains("Deleted"));
    assert!(desk.done(&["sessions", "list"]).contains("no sessions yet"));
}

#[test]
fn an_import_says_how_to_look_at_it_and_a_file_is_shown_by_its_name() {
    let nameless = r#"{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}"#;
    let desk = Desk::new().with("talks/nameless.json", nameless);
    let told = desk.done(&["sessions", "import", "talks/nameless.json"]);
    let command = told.split('`').nth(1).expect("a command");
    let arguments: Vec<&str> = command.split(' ').skip(1).collect();
    assert!(desk.done(&arguments).contains("Hi"), "{told}");
    assert!(desk.done(&["sessions", "show", "talks/nameless.json"]).starts_with("nameless.json\n"));
    let piped = text(&desk.feed(&["sessions", "show", "-"], nameless.as_bytes()).stdout);
    assert!(piped.starts_with("standard input\n"), "{piped}");
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_is_named() {
    use std::os::unix::fs::symlink;

    let desk = Desk::new();
    symlink("two", desk.path("one")).expect("linked");
    symlink("one", desk.path("two")).expect("linked");
    symlink("gone.jsonl", desk.path("dangling.jsonl")).expect("linked");
    for link in ["one", "dangling.jsonl"] {
        for command in [&["inspect", link][..], &["sessions", "show", link], &["compress", link]] {
            let said = text(&desk.run(command).stderr);
            let expected = format!("could not follow the link {link}\n");
            assert!(said.contains(&expected) && said.contains("hint: it leads to itself"), "{said}");
        }
    }
}

#[test]
fn sessions_of_this_folder_can_be_named_wherever_a_file_can() {
    let desk = Desk::new();
    imported(&desk);
    assert!(desk.done(&["inspect", "latest"]).contains("tokens"));
    assert_eq!(desk.json(&["compress", "latest", "--force", "--json"])["schema"], 1);
    let exported = desk.done(&["sessions", "export", "latest", "--format", "neutral", "-o", "out.json"]);
    assert!(exported.contains("out.json"), "{exported}");
    desk.check_refused(&["inspect", "lastest"], 1, &["no file and no session called lastest"]);
}

#[test]
fn recall_finds_what_a_tool_said_and_says_where() {
    let desk = Desk::new();
    let id = imported(&desk);
    let all = desk.json(&["sessions", "show", "1", "--all", "--json"]);
    let messages = all["messages"].as_array().expect("messages");
    let spoken = messages.iter().find_map(|message| {
        let mut words = message["parts"][0]["text"].as_str()?.split_whitespace();
        words.find(|word| word.len() > 7 && word.chars().all(char::is_alphabetic))
    });
    let word = spoken.expect("a long word");
    let found = desk.json(&["recall", word, "--json"]);
    assert_eq!(found["hits"][0]["session"], id.as_str());
    let excerpt = found["hits"][0]["text"].as_str().expect("an excerpt").to_lowercase();
    assert!(excerpt.contains(&word.to_lowercase()), "{excerpt}");
    assert!(desk.done(&["recall", word, "--limit", "1"]).contains("Searched"));
    assert!(desk.done(&["recall", "xyzzyplugh"]).contains("Nothing about xyzzyplugh"));
    desk.check_refused(&["recall", "..."], 1, &["nothing to look for"]);
    let refused = desk.run(&["recall", "x", "--limit", "0"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
}

#[test]
fn undo_says_what_there_is_to_undo() {
    let desk = Desk::new();
    imported(&desk);
    desk.check_refused(
        &["sessions", "undo", "latest"],
        1,
        &["nothing to undo in latest", "nothing was compacted"],
    );
    desk.check_refused(&["sessions", "undo", "1", "--compaction", "no-such"], 1, &["under the name no-such"]);
    desk.check_refused(&["sessions", "undo", "nowhere.jsonl"], 1, &["nowhere.jsonl"]);
    assert_eq!(desk.run(&["sessions", "undo"]).status.code(), Some(2));
}

#[test]
fn what_was_just_imported_is_not_old() {
    let desk = Desk::new();
    imported(&desk);
    assert!(desk.done(&["sessions", "prune"]).contains("Nothing is old enough"));
    assert!(desk.done(&["sessions", "prune", "--max-age", "1h"]).contains("Nothing is old enough"));
    assert!(desk.done(&["sessions", "list"]).contains("just now"));
}

#[test]
fn recall_in_one_session_names_it_so_that_it_can_be_shown() {
    let desk = Desk::new();
    let id = imported(&desk);
    for (given, name) in [("latest", id.as_str()), ("1", &id), ("in.jsonl", "in.jsonl")] {
        let found = desk.json(&["recall", "m1", "--session", given, "--json"]);
        assert_eq!(found["hits"][0]["session"], name);
        desk.done(&["sessions", "show", name, "--message", "m1"]);
    }
    let desk = desk.with("notes.txt", "no session at all");
    desk.check_refused(&["recall", "x", "--session", "notes.txt"], 1, &["could not read", "known are:"]);
    desk.check_refused(&["recall", "x", "--session", "."], 1, &["is a folder", "hint:"]);
}

#[test]
fn prune_keeps_what_it_is_told_to_keep() {
    let desk = Desk::new();
    imported(&desk);
    imported(&desk);
    let planned = desk.json(&["sessions", "prune", "--max-count", "1", "--dry-run", "--json"]);
    assert_eq!(planned["doomed"].as_array().map(Vec::len), Some(1));
    assert_eq!(desk.json(&["sessions", "list", "--json"])["sessions"].as_array().map(Vec::len), Some(2));
    let done = desk.json(&["sessions", "prune", "--max-count", "1", "--json"]);
    assert_eq!(done["sessions"]["deleted"], 1);
    assert_eq!(desk.json(&["sessions", "list", "--json"])["sessions"].as_array().map(Vec::len), Some(1));
    let refused = desk.run(&["sessions", "prune", "--max-age", "soon"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
}
