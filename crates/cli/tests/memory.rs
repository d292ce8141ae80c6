//! Drives `longhaul memory` and `longhaul trust` as a user would.

mod sandbox;

use std::fs;

use sandbox::{Sandbox, check_has, keys, text};
use serde_json::{Value, json};

const TRUST: (&str, &str) = ("GEMINI_CLI_TRUST_WORKSPACE", "");

/// A trusted sandbox with a project in it.
fn sandbox() -> Sandbox {
    Sandbox::new()
        .with(".git/HEAD", "")
        .with("home/settings.json", "{\"security\": {\"folderTrust\": {\"enabled\": false}}}")
        .with("home/GEMINI.md", "Be brief.\n")
        .with("GEMINI.md", "Use tabs.\n\n@./docs/style.md\n@./docs/none.md and @types/node\n")
        .with("docs/style.md", "Lines are short.\n")
        .with("app/GEMINI.md", "The app is in Rust.\n")
}

/// The names of files below the sandbox in a list of objects.
#[track_caller]
fn paths(sandbox: &Sandbox, list: &Value) -> Vec<String> {
    let root = sandbox.path("").canonicalize().expect("there");
    let name = |object: &Value| {
        let path = std::path::PathBuf::from(object["path"].as_str().expect("a path"));
        let path = path.canonicalize().unwrap_or(path);
        path.strip_prefix(&root).unwrap_or(&path).display().to_string()
    };
    list.as_array().expect("a list").iter().map(name).collect()
}

#[test]
fn show_tells_what_a_session_begins_with() {
    let sandbox = sandbox();
    let told = sandbox.done(&["memory", "show"]);
    check_has(
        &told,
        &[
            "Current memory content from 2 file(s):\n\n---\n--- Global ---\n--- Context from: ",
            "Be brief.",
            "--- Project ---",
            "<!-- Imported from: ./docs/style.md -->\nLines are short.",
            "<!-- Import failed: ./docs/none.md - no such file --> and @types/node",
        ],
    );
    assert_eq!(sandbox.done(&["memory"]), told);
    assert_eq!(sandbox.done(&["memory", "--json"]), sandbox.done(&["memory", "show", "--json"]));
    let prompt = sandbox.done(&["memory", "show", "--prompt"]);
    check_has(
        &prompt,
        &["1. Sub-directory", "5. Global", "<global_context>", "</project_context>\n</loaded_context>"],
    );
    let json = sandbox.json(&["memory", "show", "--json"]);
    let expected = [
        "schema",
        "folder",
        "trusted",
        "files",
        "skipped",
        "notices",
        "text",
        "system_instruction",
        "first_message",
        "left_out",
    ];
    assert_eq!(keys(&json), expected);
    assert_eq!(paths(&sandbox, &json["files"]), ["home/GEMINI.md", "GEMINI.md"]);
    assert_eq!(json["files"][1]["imports"][0]["state"], "included");
    assert_eq!(json["files"][1]["imports"][1]["state"], "failed");
    let empty = Sandbox::new();
    assert!(empty.done(&["memory", "show"]).starts_with("Memory is currently empty.\n"));
}

#[test]
fn list_and_reload_count_files() {
    let sandbox = sandbox();
    check_has(&sandbox.done(&["memory", "list"]), &["2 memory files in use:", "global", "project", "tokens"]);
    check_has(
        &sandbox.done(&["memory", "reload"]),
        &["Memory reloaded successfully. Loaded ", " characters from 2 file(s)"],
    );
    assert_eq!(sandbox.json(&["memory", "refresh", "--json"])["files"].as_array().map(Vec::len), Some(2));
    let empty = Sandbox::new();
    check_has(
        &empty.done(&["memory", "list"]),
        &["No memory files in use (GEMINI.md, AGENTS.md, CLAUDE.md)."],
    );
    check_has(&empty.done(&["memory", "reload"]), &["Memory reloaded successfully. No memory content found"]);
}

#[test]
fn why_answers_for_a_path() {
    let sandbox = sandbox()
        .with(".geminiignore", "vendor/\n")
        .with("vendor/x/GEMINI.md", "Obey me.")
        .with("app/QWEN.md", "x");
    let told = sandbox.done(&["memory", "why", "app/src/new.rs"]);
    check_has(&told, &["sub-directory", "when touched", "at start", "(imported by ", "no such file"]);
    let json = sandbox.json(&["memory", "why", "app/src/new.rs", "--json"]);
    assert_eq!(
        paths(&sandbox, &json["applies"]),
        ["home/GEMINI.md", "GEMINI.md", "docs/style.md", "app/GEMINI.md"]
    );
    assert_eq!(json["applies"][2]["through"].as_array().map(Vec::len), Some(1));
    assert_eq!(json["applies"][3]["when"], "touch");
    assert_eq!(json["not_imported"][0]["written"], "./docs/none.md");
    assert_eq!(
        (paths(&sandbox, &json["skipped"]), &json["skipped"][0]["reason"]),
        (vec!["app/QWEN.md".into()], &json!("other-name"))
    );
    let ignored = sandbox.json(&["memory", "why", "vendor/x/lib.rs", "--json"]);
    assert_eq!(paths(&sandbox, &ignored["skipped"]), ["vendor/x/GEMINI.md"]);
    assert_eq!(ignored["skipped"][0]["reason"], "ignored");
}

#[test]
fn an_untrusted_folder_says_nothing() {
    let sandbox = sandbox().with("home/settings.json", "{}");
    let told = text(&sandbox.run_with(&[TRUST], &["memory", "show"]).stdout);
    check_has(&told, &["from 1 file(s)", "Be brief.", "is not trusted", "longhaul trust add"]);
    assert!(!told.contains("Use tabs."));
    let why = text(&sandbox.run_with(&[TRUST], &["memory", "why", "app/x", "--json"]).stdout);
    let why: Value = serde_json::from_str(&why).expect("one object");
    assert_eq!(paths(&sandbox, &why["skipped"]), ["GEMINI.md", "app/GEMINI.md"]);
    assert_eq!(why["skipped"][1]["reason"], "untrusted");
}

#[test]
fn the_settings_choose_names_and_the_way_of_discovery() {
    let settings = |memory: &str| {
        format!(
            "{{\"security\": {{\"folderTrust\": {{\"enabled\": false}}}}, \"context\": {{\"fileName\": \"AGENTS.md\", \"discoveryMaxDirs\": 3}}, {memory}}}"
        )
    };
    let full = settings("\"longhaul\": {\"memory\": {\"discovery\": \"full\"}}");
    let sandbox = sandbox()
        .with("AGENTS.md", "Agents.")
        .with("home/settings.json", &full)
        .with("app/AGENTS.md", "App.")
        .with("b/c/AGENTS.md", "Deep.");
    let json = sandbox.json(&["memory", "list", "--json"]);
    assert_eq!(paths(&sandbox, &json["files"]), ["AGENTS.md", "app/AGENTS.md"]);
    // What is there under other names is told.
    assert_eq!(paths(&sandbox, &json["skipped"]), ["home/GEMINI.md", "GEMINI.md"]);
    let deep = sandbox.json(&["memory", "why", "b/c/x", "--json"]);
    assert_eq!(paths(&sandbox, &deep["skipped"]), ["home/GEMINI.md", "GEMINI.md", "b/c/AGENTS.md"]);
    assert_eq!(deep["skipped"][2]["reason"], "limit");
    let told = sandbox.done(&["memory", "list"]);
    check_has(
        &told,
        &[
            "its name is not one of AGENTS.md (context.fileName)",
            "stopped at its limit of 3 folders; at least ",
            "more were not searched",
        ],
    );
}

#[test]
fn imports_show_both_layouts() {
    let sandbox = sandbox();
    check_has(
        &sandbox.done(&["memory", "imports", "GEMINI.md"]),
        &["<!-- Imported from: ./docs/style.md -->", "failed: no such file"],
    );
    let flat = sandbox.json(&["memory", "imports", "GEMINI.md", "--format", "flat", "--json"]);
    assert_eq!(keys(&flat), ["schema", "file", "format", "tokens", "files", "imports", "text"]);
    assert_eq!((flat["format"].as_str(), flat["files"].as_array().map(Vec::len)), (Some("flat"), Some(2)));
    sandbox.check_refused(&["memory", "imports", "none.md"], 1, &["could not read none.md"]);
}

#[test]
fn facts_are_added_once() {
    let sandbox = sandbox();
    let told = sandbox.done(&["memory", "add", "I prefer", "pnpm"]);
    check_has(&told, &["Okay, I've remembered that: \"I prefer pnpm\"", "GEMINI.md:4"]);
    check_has(
        &sandbox.read("home/GEMINI.md"),
        &["Be brief.\n\n## Gemini Added Memories\n- I prefer pnpm <!-- saved 20"],
    );
    let again = sandbox.json(&["memory", "add", "The user prefers pnpm.", "--json"]);
    assert_eq!((again["status"].as_str(), again["line"].as_u64()), (Some("already_there"), Some(4)));
    let opposite = sandbox.json(&["memory", "add", "I do not prefer pnpm", "--json"]);
    assert_eq!(
        (opposite["status"].as_str(), opposite["contradicts"]["line"].as_u64()),
        (Some("added"), Some(4))
    );
    sandbox.done(&["memory", "add", "--scope", "project", "Only here."]);
    let json = sandbox.json(&["memory", "list", "--json"]);
    assert_eq!(json["files"][1]["tier"], "private");
    assert!(json["files"][1]["path"].as_str().is_some_and(|path| path.ends_with("/memory/GEMINI.md")));
    sandbox.check_refused(&["memory", "add", "--", " - "], 1, &["nothing to remember"]);
    let token = ["ghp_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat();
    sandbox.check_refused(&["memory", "add", &token], 1, &["holds a secret (github)"]);
}

#[test]
fn the_words_of_a_fact_say_where_it_holds() {
    let sandbox = sandbox();
    let add = |text: &str, more: &[&str]| {
        let args: Vec<&str> = ["memory", "add", text, "--json"].iter().chain(more).copied().collect();
        let json = sandbox.json(&args);
        let path = json["path"].as_str().expect("a path").to_string();
        (json["scope"].clone(), json["decided_by"].clone(), path)
    };
    let check = |text: &str, more: &[&str], scope: &str, by: &str, end: &str| {
        let found = add(text, more);
        assert_eq!((&found.0, &found.1), (&json!(scope), &json!(by)), "{text}");
        assert!(found.2.ends_with(end), "{text}: {}", found.2);
    };
    check("I like tabs", &[], "global", "words", "home/GEMINI.md");
    check("In this project we deploy on Fridays", &[], "project", "words", "/memory/GEMINI.md");
    check("The port is 8080", &[], "project", "nobody", "/memory/GEMINI.md");
    check("In docs/ headings are short", &[], "folder", "words", "docs/GEMINI.md");
    check("Everybody reads this", &["--folder", "."], "folder", "user", "GEMINI.md");
    check("Only I read this in docs/", &["--scope", "project"], "project", "user", "/memory/GEMINI.md");
    check_has(&sandbox.read("docs/GEMINI.md"), &["- In docs/ headings are short <!-- saved 20"]);
    let told = sandbox.done(&["memory", "add", "The other port is 9090"]);
    check_has(
        &told,
        &[
            "It applies in this project, for you only, as its wording leaves the scope open; use --scope or --folder to choose.",
        ],
    );
    sandbox.check_refused(&["memory", "add", "x", "--folder", ".."], 1, &["outside the workspace"]);
    sandbox.check_refused(&["memory", "add", "x", "--folder", "none"], 1, &["no such folder"]);
    sandbox.check_refused(
        &["memory", "add", "x", "--folder", ".", "--scope", "global"],
        2,
        &["cannot be used with"],
    );
}

#[test]
fn facts_are_listed_edited_and_removed() {
    let sandbox = sandbox().with("GEMINI.md", "- Docs are built with make\n");
    sandbox.done(&["memory", "add", "I prefer tabs"]);
    sandbox.done(&["memory", "add", "Tests run with pnpm"]);
    let told = sandbox.done(&["memory", "list"]);
    check_has(
        &told,
        &["Facts, to edit or remove", "  1  global   I prefer tabs", "  2  private  Tests run with pnpm"],
    );
    let list = sandbox.json(&["memory", "list", "--json"]);
    assert_eq!(list["facts"][1]["text"], "Tests run with pnpm");
    // A contradiction is named, in whatever file it stands.
    let told = sandbox.done(&["memory", "add", "--scope", "global", "Tests run with npm"]);
    check_has(
        &told,
        &["remembered that", "seems to contradict it: \"Tests run with pnpm\".", "Both are kept"],
    );
    sandbox.check_refused(
        &["memory", "remove", "tests run"],
        1,
        &[
            "\"tests run\" matches 2 facts: ",
            "2 \"Tests run with npm\", 3 \"Tests run with pnpm\"",
            "use the number of one",
        ],
    );
    sandbox.check_refused(
        &["memory", "remove", "yarn"],
        1,
        &["no fact matches \"yarn\"", "longhaul memory list"],
    );
    check_has(
        &sandbox.done(&["memory", "remove", "2"]),
        &["Removed from global memory: \"Tests run with npm\""],
    );
    assert!(!sandbox.read("home/GEMINI.md").contains("npm"));
    let edited = sandbox.json(&["memory", "edit", "pnpm", "--text", "Tests run with yarn", "--json"]);
    assert_eq!(
        (edited["status"].as_str(), edited["before"].as_str()),
        (Some("edited"), Some("Tests run with pnpm"))
    );
    check_has(&sandbox.read_private(), &["- Tests run with yarn <!-- saved 20"]);
    // What somebody wrote by hand is found by its words.
    sandbox.done(&["memory", "edit", "docs are built", "--text", "Docs are built with just"]);
    check_has(&sandbox.read("GEMINI.md"), &["- Docs are built with just <!-- saved 20"]);
    let token = ["ghp_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat();
    sandbox.check_refused(&["memory", "edit", "1", "--text", &token], 1, &["holds a secret (github)"]);
    assert_eq!(
        sandbox.json(&["memory", "edit", "1", "--text", "I prefer tabs", "--json"])["status"],
        "unchanged"
    );
    let with_editor = |editor: &str| {
        let output = sandbox.run_with(&[("EDITOR", editor), ("VISUAL", "")], &["memory", "edit", "yarn"]);
        text(&output.stdout) + &text(&output.stderr)
    };
    check_has(&with_editor(""), &["no editor is set", "--text"]);
    check_has(
        &with_editor("sed -i s/yarn/bun/"),
        &["Changed \"Tests run with yarn\" to \"Tests run with bun\""],
    );
}

#[test]
fn both_files_of_private_memory_are_one() {
    let sandbox = sandbox();
    sandbox.done(&["memory", "add", "--scope", "project", "Tests run with pnpm"]);
    let folder = sandbox.private();
    fs::write(folder.join("MEMORY.md"), "# Memory\n\n- Learned: the port is 8080\n- More: notes.md\n")
        .expect("written");
    fs::write(folder.join("notes.md"), "A note.").expect("written");
    let shown = sandbox.done(&["memory", "show"]);
    check_has(&shown, &["the port is 8080", "Tests run with pnpm"]);
    let again = sandbox.json(&["memory", "add", "--scope", "project", "tests run with pnpm", "--json"]);
    assert_eq!(again["status"], "already_there");
    let new = sandbox.json(&["memory", "add", "--scope", "project", "Only here.", "--json"]);
    assert!(new["path"].as_str().is_some_and(|path| path.ends_with("/memory/MEMORY.md")), "{new}");
    check_has(&sandbox.done(&["memory", "list"]), &["notes.md: a note: the agent reads it when needed"]);
}

#[test]
fn every_file_that_is_not_used_is_named_by_the_doctor() {
    let sandbox = sandbox()
        .with("AGENTS.md", "Be kind.\n")
        .with("CLAUDE.md", "@AGENTS.md\n")
        .with("claude.md", "x")
        .with(".claude/rules/web.md", "---\npaths: web/**\n---\nNo ids.\n");
    for arguments in [&["doctor"][..], &["memory", "list"], &["memory", "why", "x"]] {
        let told = text(&sandbox.run(arguments).stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        check_has(
            &told,
            &[
                "CLAUDE.md: its text is already in ",
                "claude.md: its name is not one of GEMINI.md, AGENTS.md, CLAUDE.md (context.fileName)",
                "loaded when a file is touched that matches web/**",
            ],
        );
    }
    let matching = sandbox.json(&["memory", "why", "web/a/b.css", "--json"]);
    let applied = paths(&sandbox, &matching["applies"]);
    assert_eq!(applied.last().map(String::as_str), Some(".claude/rules/web.md"), "{matching}");
}

#[test]
fn why_tells_what_a_hidden_folder_gets() {
    let sandbox =
        sandbox().with(".gitignore", "build/\n").with("build/GEMINI.md", "Generated.").with("build/x.rs", "");
    let told = sandbox.done(&["memory", "why", "build/x.rs"]);
    check_has(
        &told,
        &["when written", "build/x.rs is hidden from tools that read by \"build/\" in .gitignore: "],
    );
    let json = sandbox.json(&["memory", "why", "build/x.rs", "--json"]);
    assert_eq!(json["applies"][3]["when"], "write");
    assert_eq!(sandbox.json(&["memory", "why", "app/x.rs", "--json"])["applies"][3]["when"], "touch");
}

#[test]
fn trust_is_added_listed_and_removed() {
    let sandbox = sandbox()
        .with("home/settings.json", "{}")
        .with(
            ".gemini/settings.json",
            "{\"hooks\": {\"PreCompress\": []}, \"tools\": {\"sandbox\": false, \"allowed\": [\"x\"]},}",
        )
        .with(".gemini/commands/fix.toml", "")
        .with(".gemini/skills/notes/SKILL.md", "");
    let run = |arguments: &[&str]| {
        let output = sandbox.run_with(&[TRUST], arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    check_has(&run(&["trust", "list"]), &["No rules in ", "is not trusted: no rule covers it."]);
    let shown = run(&["trust", "add", "--dry-run"]);
    check_has(
        &shown,
        &[
            "activates:",
            "hooks",
            "PreCompress",
            "fix",
            "notes",
            "GEMINI.md",
            "sandbox off",
            "run without asking",
            "Nothing was changed.",
        ],
    );
    check_has(&run(&["trust", "add", "--yes"]), &["is now trusted."]);
    check_has(&run(&["memory", "show"]), &["Use tabs."]);
    let listed: Value = serde_json::from_str(&run(&["trust", "list", "--json"])).expect("one object");
    assert_eq!(keys(&listed), ["schema", "file", "rules", "folder", "trusted", "reason"]);
    assert_eq!(
        (listed["rules"][0]["level"].as_str(), listed["trusted"].as_bool()),
        (Some("TRUST_FOLDER"), Some(true))
    );
    let never: Value =
        serde_json::from_str(&run(&["trust", "add", "app", "--never", "--json"])).expect("one object");
    assert_eq!((never["level"].as_str(), never["saved"].as_bool()), (Some("DO_NOT_TRUST"), Some(true)));
    let removed: Value =
        serde_json::from_str(&run(&["trust", "remove", "app", "--json"])).expect("one object");
    assert_eq!(removed["removed"], true);
    check_has(&run(&["trust", "remove"]), &["Removed the rule for "]);
    check_has(&run(&["trust", "remove"]), &["No rule for "]);
    sandbox.check_refused(&["trust", "add", "nowhere"], 1, &["is not a folder"]);
    // A file with mistakes is named, and left as it is.
    fs::write(sandbox.path("home/trustedFolders.json"), "{\"/a\": \"YES\"}").expect("written");
    sandbox.check_refused(&["trust", "list"], 1, &["invalid file", "TRUST_FOLDER"]);
}

#[test]
fn names_that_act_on_terminals_are_made_visible() {
    let sandbox = sandbox().with("GEMINI.md", "\u{1b}[31mred\u{7}");
    for arguments in
        [&["memory", "show"][..], &["memory", "show", "--json"], &["memory", "imports", "GEMINI.md"]]
    {
        assert!(!sandbox.done(arguments).contains(['\u{1b}', '\u{7}']), "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_unicode_do_no_harm() {
    use std::os::unix::ffi::OsStrExt;
    let sandbox = sandbox();
    let folder = sandbox.path("").join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&folder).expect("made");
    fs::write(folder.join("GEMINI.md"), "Odd.").expect("written");
    let full = "{\"security\": {\"folderTrust\": {\"enabled\": false}}, \"longhaul\": {\"memory\": {\"discovery\": \"full\"}}}";
    let sandbox = sandbox.with("home/settings.json", full);
    let json = sandbox.json(&["memory", "list", "--json"]);
    assert!(json["files"].to_string().contains("caf\u{fffd}/GEMINI.md"), "{json}");
    check_has(&sandbox.done(&["memory", "show"]), &["Odd."]);
}
