//! Memory in a session: which files the model reads, where, how often, and what becomes of them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use longhaul_testkit::fake_provider::{Reply, gemini};
use serde_json::{Value, json};

use crate::support::{Sandbox, Wire, lines, text, words};
use crate::tools::{answered, call, calls, trusted};

/// What the tools answered, as text.
#[track_caller]
fn told(sandbox: &Sandbox) -> Vec<String> {
    answered(sandbox).iter().map(ToString::to_string).collect()
}

/// Everything in the latest request.
#[track_caller]
fn request(sandbox: &Sandbox) -> Value {
    sandbox.server.requests().last().expect("a request").body.clone()
}

#[track_caller]
fn count(body: &Value, words: &str) -> usize {
    body.to_string().matches(words).count()
}

/// How often a file with this text is in a request. What a snapshot quotes of it does not count.
#[track_caller]
fn files(body: &Value, text: &str) -> usize {
    count(body, &format!("{text}\\n--- End of Context from: "))
}

#[test]
fn each_tier_has_its_place() {
    let sandbox = trusted(Wire::Gemini, [gemini::text("First."), gemini::text("Second.")]);
    sandbox.write("home/GEMINI.md", "Global rule: be brief.");
    sandbox.write("home/extensions/lint/gemini-extension.json", r#"{"name": "lint", "version": "1.0.0"}"#);
    sandbox.write("home/extensions/lint/GEMINI.md", "Extension rule: lint first.");
    sandbox.write("work/GEMINI.md", "Project rule: use tabs.\n@./style.md");
    sandbox.write("work/style.md", "Style rule: short lines.");
    sandbox.write("work/.gemini/GEMINI.md", "Inner rule: no emoji.");
    sandbox.answer(&["-p", "One."]);
    let body = request(&sandbox);
    let (system, first) = (body["systemInstruction"].to_string(), body["contents"][0].to_string());
    assert!(system.contains("Global rule") && !system.contains("Project rule"), "{system}");
    for tier in ["1. Sub-directory", "2. Project", "3. Private project memory", "4. Extension", "5. Global"] {
        assert!(system.contains(tier), "{tier}: {system}");
    }
    let places = ["Extension rule", "Project rule", "Style rule", "Inner rule"].map(|rule| first.find(rule));
    assert!(places.is_sorted() && places[0].is_some(), "{first}");
    // What is remembered for the project is in the system instruction of the next session.
    assert!(sandbox.run(&["memory", "add", "--scope", "project", "Tests run with pnpm"]).status.success());
    sandbox.answer(&["-p", "Two."]);
    assert!(request(&sandbox)["systemInstruction"].to_string().contains("Tests run with pnpm"));
}

#[test]
fn memory_comes_in_behind_the_results_of_the_five_tools_and_once() {
    let looks = [
        ("read_file", json!({"file_path": "a/x.txt"})),
        ("read_file", json!({"file_path": "a/x.txt"})),
        ("list_directory", json!({"dir_path": "b"})),
        ("read_many_files", json!({"include": ["c/**/*.txt"]})),
        ("grep_search", json!({"pattern": "text"})),
        ("glob", json!({"pattern": "**/*.txt"})),
    ];
    let changes = [
        ("write_file", json!({"file_path": "d/new/deep.txt", "content": "x"})),
        ("replace", json!({"file_path": "e/x.txt", "old_string": "text", "new_string": "words"})),
        ("read_file", json!({"file_path": "link/x.txt"})),
    ];
    let sandbox = trusted(
        Wire::Gemini,
        [calls(Wire::Gemini, &looks), calls(Wire::Gemini, &changes), gemini::text("Done.")],
    );
    for folder in ["a", "b", "c", "c/inner", "d", "e", "f"] {
        sandbox.write(&format!("work/{folder}/GEMINI.md"), &format!("Rule of {folder}."));
        sandbox.write(&format!("work/{folder}/x.txt"), "text");
    }
    symlink("f", sandbox.path("work/link")).expect("linked");
    sandbox.answer(&["-p", "Work.", "--yolo"]);
    assert!(!sandbox.server.requests()[0].body.to_string().contains("Rule of"));
    let told = told(&sandbox);
    let expected: [&[&str]; 9] = [&["a"], &[], &["b"], &["c", "c/inner"], &[], &[], &["d"], &["e"], &["f"]];
    for (text, folders) in told.iter().zip(expected) {
        let found: Vec<&str> = ["a", "b", "c", "c/inner", "d", "e", "f"]
            .into_iter()
            .filter(|folder| text.contains(&format!("Rule of {folder}.")))
            .collect();
        assert_eq!(found, folders, "{text}");
        assert_eq!(text.contains("--- Newly Discovered Project Context ---"), !folders.is_empty());
    }
    assert_eq!(told.len(), 9);
}

#[test]
fn a_link_out_of_the_project_is_never_sent_and_is_named_once() {
    let read = |file: &str| call("read_file", json!({"file_path": file}));
    let sandbox = trusted(
        Wire::Gemini,
        [read("sub/x.txt"), read("sub/y.txt"), gemini::text("Done."), gemini::text("Hm.")],
    );
    sandbox.write("aws/credentials", "aws_access_key = 1");
    sandbox.write("work/.git/HEAD", "");
    sandbox.write("work/CLAUDE.md", "Project rule: use tabs.");
    symlink("CLAUDE.md", sandbox.path("work/AGENTS.md")).expect("linked");
    sandbox.settings(r#"{"context": {"fileName": ["GEMINI.md", "AGENTS.md"]}}"#);
    for file in ["sub/x.txt", "sub/y.txt"] {
        sandbox.write(&format!("work/{file}"), "text");
    }
    for link in ["work/GEMINI.md", "work/sub/GEMINI.md"] {
        symlink(sandbox.path("aws/credentials"), sandbox.path(link)).expect("linked");
    }
    let output = sandbox.say(&["-p", "Read."]);
    let told = text(&output.stderr);
    assert!(output.status.success(), "{told}");
    for request in sandbox.server.requests() {
        assert_eq!((count(&request.body, "aws_access"), count(&request.body, "use tabs")), (0, 1));
    }
    let target = sandbox.path("aws/credentials").canonicalize().expect("there").display().to_string();
    for link in ["GEMINI.md", "sub/GEMINI.md"] {
        let named = format!("warning: {link}: link to {target}, which is outside; not read");
        assert_eq!(told.lines().filter(|line| *line == named).count(), 1, "{told}");
    }
}

#[test]
fn rules_for_certain_paths_come_with_the_first_of_them() {
    let read = |file: &str| call("read_file", json!({"file_path": file}));
    let sandbox = trusted(
        Wire::Gemini,
        [read("src/a.js"), read("src/a.ts"), read("src/b.ts"), gemini::text("Done."), gemini::text("Hm.")],
    );
    sandbox.write("work/CLAUDE.md", "Project rule: use tabs.");
    sandbox.write("work/.claude/rules/all.md", "Rule for all: be kind.");
    sandbox.write("work/.claude/rules/ts.md", "---\npaths: src/**/*.ts\n---\nRule for ts: no any.");
    for file in ["src/a.js", "src/a.ts", "src/b.ts"] {
        sandbox.write(&format!("work/{file}"), "text");
    }
    sandbox.answer(&["-p", "Read."]);
    let told = told(&sandbox);
    let has: Vec<bool> = told.iter().map(|told| told.contains("Rule for ts: no any.")).collect();
    assert_eq!(has, [false, true, false], "{told:?}");
    let first = sandbox.server.requests()[0].body["contents"][0].to_string();
    assert!(
        first.contains("Project rule") && first.contains("Rule for all") && !first.contains("Rule for ts")
    );
    sandbox.answer(&["-p", "And now?", "--resume"]);
    assert_eq!(count(&request(&sandbox), "Rule for ts: no any."), 1);
    assert_eq!(count(&request(&sandbox)["contents"], "<memory_update>"), 0);
}

#[test]
fn notes_of_private_memory_can_be_read_and_nothing_else_there() {
    let notes = ["db.md", ".inbox/private/extraction.patch", "skills/x/SKILL.md", ".hidden.md", "data.txt"];
    let reads: Vec<(&str, Value)> = notes
        .iter()
        .chain(&["link.md", "../../../secret.md", "none.md"])
        .map(|name| ("read_file", json!({"file_path": format!("../home/tmp/work/memory/{name}")})))
        .collect();
    let sandbox = trusted(Wire::Gemini, [calls(Wire::Gemini, &reads), gemini::text("Done.")]);
    sandbox.write("home/secret.md", "not for models");
    assert!(sandbox.run(&["memory", "add", "--scope", "project", "Runs in Docker"]).status.success());
    for name in notes {
        sandbox.write(&format!("home/tmp/work/memory/{name}"), "noted down");
    }
    symlink(sandbox.path("home/secret.md"), sandbox.path("home/tmp/work/memory/link.md")).expect("linked");
    sandbox.answer(&["-p", "Read."]);
    let told = told(&sandbox);
    assert!(told[0].contains("noted down"), "{}", told[0]);
    for answer in &told[1..] {
        assert!(!answer.contains("noted down") && !answer.contains("not for models"), "{answer}");
    }
    assert_eq!(told.len(), 8);
}

#[test]
fn a_later_process_knows_what_the_model_has_read() {
    let read = || call("read_file", json!({"file_path": "sub/x.txt"}));
    let sandbox = trusted(
        Wire::Gemini,
        [
            read(),
            gemini::text("One."),
            read(),
            gemini::text("Two."),
            gemini::text("Three."),
            gemini::text("Four."),
        ],
    );
    sandbox.write("work/GEMINI.md", "Project rule: use tabs.");
    sandbox.write("work/sub/GEMINI.md", "Sub rule: no tests here.");
    sandbox.write("work/sub/x.txt", "text");
    sandbox.answer(&["-p", "Read."]);
    sandbox.answer(&["-p", "Again.", "--resume"]);
    assert_eq!((count(&request(&sandbox), "Sub rule"), count(&request(&sandbox), "Project rule")), (1, 1));

    // Both changed meanwhile: the model is told once.
    sandbox.write("work/GEMINI.md", "Project rule: use spaces.");
    sandbox.write("work/sub/GEMINI.md", "Sub rule: many tests here.");
    let output = sandbox.say(&["-p", "Now?", "--resume", "--output-format", "stream-json"]);
    let news: Vec<Value> =
        lines(&text(&output.stdout)).into_iter().filter(|line| line["type"] == "memory").collect();
    assert_eq!((news.len(), &news[0]["why"]), (1, &json!("changed")), "{news:?}");
    assert_eq!(news[0]["files"].as_array().map(Vec::len), Some(2), "{news:?}");
    let body = request(&sandbox);
    assert_eq!(
        (count(&body, "use spaces"), count(&body, "many tests"), count(&body["contents"], "<memory_update>")),
        (1, 1, 1)
    );

    // One is gone: the model is told, and nothing else again.
    fs::remove_file(sandbox.path("work/sub/GEMINI.md")).expect("removed");
    sandbox.answer(&["-p", "And now?", "--resume"]);
    let body = request(&sandbox);
    assert_eq!(
        (count(&body, "no longer counts"), count(&body["contents"], "<memory_update>")),
        (1, 2),
        "{body}"
    );
    assert_eq!((count(&body, "use spaces"), count(&body, "many tests")), (1, 1));
}

#[test]
fn what_the_agent_changes_in_memory_holds_at_once() {
    let replies = [
        calls(
            Wire::Gemini,
            &[
                ("replace", json!({"file_path": "GEMINI.md", "old_string": "tabs", "new_string": "spaces"})),
                ("write_file", json!({"file_path": "sub/GEMINI.md", "content": "Sub rule: new."})),
                ("write_file", json!({"file_path": "style.md", "content": "Style rule: long lines."})),
                ("read_file", json!({"file_path": "other/GEMINI.md"})),
            ],
        ),
        gemini::text("Done."),
    ];
    let sandbox = trusted(Wire::Gemini, replies);
    sandbox.write("work/GEMINI.md", "Project rule: use tabs.\n@./style.md");
    sandbox.write("work/other/GEMINI.md", "Other rule: old.");
    sandbox.write("work/style.md", "Style rule: short lines.");
    let output = sandbox.say(&["-p", "Change.", "--yolo", "--output-format", "stream-json"]);
    let lines = lines(&text(&output.stdout));
    let news = lines.iter().filter(|line| line["type"] == "memory").map(|line| line["why"].clone());
    assert_eq!(news.collect::<Vec<_>>(), ["changed", "came_in"], "{}", text(&output.stderr));
    let told = told(&sandbox);
    // Nobody is there to let it change a memory file itself.
    for (answer, file) in told.iter().zip(["GEMINI.md", "sub/GEMINI.md"]) {
        assert!(answer.contains(file) && answer.contains("a file that grants rights"), "{answer}");
    }
    assert!(!sandbox.path("work/sub/GEMINI.md").exists());
    assert!(
        told[2].contains("<memory_update>") && told[2].contains("Style rule: long lines."),
        "{}",
        told[2]
    );
    assert!(told[3].contains("Other rule: old."), "{}", told[3]);
}

/// A session in a small window: reads `sub`, then many other files in turn with folders in `again`; then `more` happens.
fn long_session(again: &str, more: impl IntoIterator<Item = Reply>) -> Sandbox {
    let mut replies: Vec<Reply> = vec![call("read_file", json!({"file_path": "sub/x.txt"}))];
    for n in 0..30 {
        replies.push(call("read_file", json!({"file_path": format!("f{n}.txt")})));
        replies.push(call("read_file", json!({"file_path": format!("{again}/d{n}/y.txt")})));
    }
    replies.push(gemini::text("All read."));
    replies.extend(more);
    let sandbox = trusted(Wire::Gemini, replies);
    sandbox.write("work/GEMINI.md", "Project rule: use tabs.");
    sandbox.write("work/sub/GEMINI.md", "Sub rule: no tests here.");
    sandbox.write("work/sub/x.txt", "text");
    for n in 0..30 {
        sandbox.write(&format!("work/f{n}.txt"), &format!("file {n}: {}", words(160)));
        sandbox.write(&format!("work/{again}/d{n}/y.txt"), "");
    }
    sandbox.settings(
        r#"{"longhaul": {"windows": {"gemini-2.5-flash": 12000}, "compaction": {"summariser": "offline"}}}"#,
    );
    sandbox
}

/// What became of the files in each compaction, as a list of states by the folder of the file.
fn states(lines: &[Value], folder: &str) -> Vec<String> {
    let sources = lines.iter().filter(|line| line["type"] == "instructions");
    let sources = sources.flat_map(|line| line["sources"].as_array().expect("sources"));
    let of_folder = sources.filter(|source| source["file"].as_str().expect("a file").ends_with(folder));
    of_folder.map(|source| source["state"].as_str().expect("a state").to_string()).collect()
}

#[test]
fn a_compaction_puts_back_what_the_work_still_needs() {
    let sandbox = long_session("sub", []);
    let answer = sandbox.answer(&["-p", "Read all.", "--output-format", "stream-json"]);
    let lines = lines(&answer);
    let (project, sub) = (states(&lines, "work/GEMINI.md"), states(&lines, "sub/GEMINI.md"));
    assert!(!project.is_empty() && project.iter().all(|state| state == "present"), "{project:?}");
    assert!(sub.iter().any(|state| state == "re-injected"), "{sub:?}");
    assert!(sub.iter().all(|state| state != "lost"), "{sub:?}");
    // Small questions beside the conversation come without tools.
    let requests: Vec<_> =
        sandbox.server.requests().into_iter().filter(|request| !request.body["tools"].is_null()).collect();
    for (place, request) in requests.iter().enumerate().skip(1) {
        assert_eq!(files(&request.body, "Sub rule: no tests here."), 1, "request {place}");
        assert_eq!(files(&request.body, "Project rule: use tabs."), 1, "request {place}");
    }
    // The whole result lists them with each compaction.
    let compactions = lines.last().expect("a result")["compactions"].as_array().expect("compactions").clone();
    assert!(compactions.iter().all(|compaction| compaction["instructions"].is_array()), "{compactions:?}");
}

#[test]
fn what_a_compaction_left_out_comes_in_again_when_it_is_touched() {
    let read = [call("read_file", json!({"file_path": "sub/x.txt"})), gemini::text("Read.")];
    let sandbox = long_session("other", read);
    let output = sandbox.say(&["-p", "Read all.", "--output-format", "stream-json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines = lines(&text(&output.stdout));
    let sub = states(&lines, "sub/GEMINI.md");
    // Once it is lost it is no longer listed, as nothing holds that could be lost again.
    assert_eq!(sub.iter().filter(|state| *state == "lost").count(), 1, "{sub:?}");
    assert_eq!(sub.last().map(String::as_str), Some("lost"), "{sub:?}");
    assert!(text(&output.stderr).contains("instructions lost: "), "{}", text(&output.stderr));
    assert_eq!(files(&request(&sandbox), "Sub rule: no tests here."), 0);
    sandbox.answer(&["-p", "Once more.", "--resume"]);
    assert_eq!(files(&request(&sandbox), "Sub rule: no tests here."), 1);
}

#[test]
fn an_untrusted_folder_has_no_say() {
    let replies = [
        calls(
            Wire::Gemini,
            &[
                ("read_file", json!({"file_path": "sub/x.txt"})),
                ("save_memory", json!({"fact": "Obey the project.", "scope": "project"})),
                ("save_memory", json!({"fact": "Prefers tea."})),
            ],
        ),
        gemini::text("Done."),
    ];
    let sandbox = Sandbox::gemini(replies);
    sandbox.write("home/GEMINI.md", "Global rule: be brief.");
    sandbox.write("work/GEMINI.md", "Project rule: use tabs.");
    sandbox.write("work/sub/GEMINI.md", "Sub rule: no tests here.");
    sandbox.write("work/sub/x.txt", "text");
    sandbox.answer(&["-p", "Read.", "--allowed-tools", "save_memory"]);
    let body = request(&sandbox);
    assert!(body["systemInstruction"].to_string().contains("Global rule"));
    assert_eq!((count(&body, "Project rule"), count(&body, "Sub rule")), (0, 0), "{body}");
    let told = told(&sandbox);
    assert!(told[1].contains("not trusted") && told[2].contains("remembered that"), "{told:?}");
    let global = fs::read_to_string(sandbox.path("home/GEMINI.md")).expect("there");
    assert!(global.contains("Prefers tea.") && !global.contains("Obey"), "{global}");
}

#[test]
fn facts_are_saved_with_what_the_file_has_to_do_with_them() {
    let save = |fact: &str| ("save_memory", json!({"fact": fact, "scope": "global"}));
    let replies = [
        calls(
            Wire::Gemini,
            &[
                save("Never use tabs"),
                save("use  Tabs."),
                save("The key is ghp_Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"),
                ("save_memory", json!({"fact": "Runs in Docker", "scope": "project"})),
                ("save_memory", json!({"fact": "x", "modified_content": "y"})),
            ],
        ),
        gemini::text("Done."),
        gemini::text("Fine."),
    ];
    let sandbox = trusted(Wire::Gemini, replies);
    sandbox.write("home/GEMINI.md", "# Mine\r\n- Use tabs\r\n");
    fs::set_permissions(sandbox.path("home/GEMINI.md"), fs::Permissions::from_mode(0o640)).expect("set");
    sandbox.answer(&["-p", "Remember.", "--allowed-tools", "save_memory"]);
    let told = told(&sandbox);
    assert!(told[0].contains("seems to contradict it") && told[0].contains("Line 2"), "{}", told[0]);
    assert!(told[1].contains("Nothing to save: line 2"), "{}", told[1]);
    assert!(told[2].contains("github") && !told[2].contains("ghp_"), "{}", told[2]);
    assert!(
        told[3].contains("remembered that"),
        "the first session of a folder has a place, too: {}",
        told[3]
    );
    assert!(told[4].contains("no parameter"), "{}", told[4]);
    let global = fs::read_to_string(sandbox.path("home/GEMINI.md")).expect("there");
    assert!(
        global.starts_with("# Mine\r\n- Use tabs\r\n\r\n## Gemini Added Memories\r\n- Never use tabs"),
        "{global:?}"
    );
    assert_eq!(global.matches('\n').count(), global.matches("\r\n").count());
    let mode = fs::metadata(sandbox.path("home/GEMINI.md")).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    // What was saved holds in the next turn, and the guidance to save stands in the prompt.
    sandbox.answer(&["-p", "Go on.", "--resume"]);
    let system = request(&sandbox)["systemInstruction"].to_string();
    assert!(system.contains("Never use tabs") && system.contains("Runs in Docker"), "{system}");
    assert!(system.contains("save_memory"), "{system}");
}

#[test]
fn nobody_is_there_to_allow_a_fact() {
    let sandbox =
        trusted(Wire::Gemini, [call("save_memory", json!({"fact": "Prefers tea."})), gemini::text("No.")]);
    sandbox.answer(&["-p", "Remember."]);
    assert!(told(&sandbox)[0].contains("--allowed-tools"), "{:?}", told(&sandbox));
    assert!(!sandbox.path("home/GEMINI.md").exists());
}

#[test]
fn a_full_scan_puts_everything_into_the_system_instruction() {
    let replies = [call("read_file", json!({"file_path": "sub/x.txt"})), gemini::text("Done.")];
    let sandbox = trusted(Wire::Gemini, replies);
    sandbox.settings(r#"{"experimental": {"jitContext": false}, "context": {"discoveryMaxDirs": 2}}"#);
    sandbox.write("work/GEMINI.md", "Project rule: use tabs.");
    sandbox.write("work/sub/GEMINI.md", "Sub rule: no tests here.");
    sandbox.write("work/sub/x.txt", "text");
    sandbox.write("work/zzz/GEMINI.md", "Far rule.");
    let output = sandbox.say(&["-p", "Read."]);
    assert!(
        text(&output.stderr).contains("stopped at its limit of 2 folders; at least 1 more"),
        "{}",
        text(&output.stderr)
    );
    let body = request(&sandbox);
    let system = body["systemInstruction"].to_string();
    assert!(
        system.contains("Project rule") && system.contains("Sub rule") && !system.contains("Far rule"),
        "{system}"
    );
    assert_eq!((count(&body, "Project rule"), count(&body, "Sub rule")), (1, 1));
}

#[test]
fn a_memory_manager_keeps_memory() {
    let facts = "- Deploys happen on Fridays.\n";
    let replies = [
        call("save_memory", json!({"request": "In this project deploys happen on Fridays."})),
        calls(
            Wire::Gemini,
            &[
                ("write_file", json!({"file_path": "GEMINI.md", "content": facts})),
                ("write_file", json!({"file_path": "src/main.rs", "content": facts})),
                ("read_file", json!({"file_path": "secret.txt"})),
                ("run_shell_command", json!({"command": "cat secret.txt"})),
            ],
        ),
        call("complete_task", json!({"result": "It stands in GEMINI.md."})),
        gemini::text("Saved."),
        gemini::text("On Fridays."),
    ];
    let sandbox = trusted(Wire::Gemini, replies);
    sandbox.settings(r#"{"experimental": {"memoryManager": true}}"#);
    sandbox.write("work/secret.txt", "nobody's business");
    sandbox.write("work/src/lib.rs", "");
    sandbox.answer(&["-p", "Remember when we deploy.", "--allowed-tools", "save_memory"]);
    let requests = sandbox.server.requests();
    let system = |request: usize| requests[request].body["systemInstruction"].to_string();
    assert!(system(0).contains("an agent of its own decides where it belongs"), "{}", system(0));
    assert!(system(1).contains("You keep memory files"), "{}", system(1));
    assert!(
        requests[1].body["contents"]
            .to_string()
            .contains("- Project root: GEMINI.md, which does not exist yet")
    );
    assert!(requests.iter().all(|request| !request.body.to_string().contains("nobody's business")));
    let told = told(&sandbox);
    assert!(told[0].contains("It stands in GEMINI.md.\\n[Changed: GEMINI.md.]"), "{told:?}");
    assert!(told[0].contains("Deploys happen on Fridays."), "the file counts at once: {told:?}");
    assert_eq!(fs::read_to_string(sandbox.path("work/GEMINI.md")).expect("written"), facts);
    assert!(!sandbox.path("work/src/main.rs").exists());
    // Nothing but memory is left in the project, no lock either.
    let mut left: Vec<String> = fs::read_dir(sandbox.path("work"))
        .expect("a folder")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    left.sort();
    assert_eq!(left, ["GEMINI.md", "secret.txt", "src"]);
    sandbox.answer(&["-p", "When do we deploy?"]);
    assert_eq!(files(&request(&sandbox), "- Deploys happen on Fridays."), 1);
}
