//! Files that a prompt names after an `@`, outputs that were saved, and what a killed process left in the project.

use std::fs;

use longhaul_testkit::fake_provider::gemini;
use serde_json::json;

use crate::support::{Sandbox, Wire, text};
use crate::tools::{answered, call, shell, trusted};

#[test]
fn files_and_folders_in_a_prompt_are_attached() {
    let sandbox = Sandbox::gemini([gemini::text("Seen.")]);
    sandbox.write("work/notes.md", "Ports: 5432.\n");
    sandbox.write("work/src/a.rs", "fn a() {}\n");
    let output = sandbox.say(&["-p", "Compare @notes.md with @src/ and @gone.md, please."]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = sandbox.last_said();
    assert_eq!(said[0], "Compare @notes.md with @src/ and @gone.md, please.");
    assert!(said[1].starts_with("<attached_file path=\"notes.md\">\nPorts: 5432."), "{}", said[1]);
    assert!(
        said[2].contains("<attached_folder path=\"src/\">") && said[2].contains("fn a() {}"),
        "{}",
        said[2]
    );
    let told = text(&output.stderr);
    assert!(told.contains("warning: Not attached, no such file: @gone.md\n"), "{told}");
}

#[test]
fn what_is_piped_is_data_and_attaches_nothing() {
    let sandbox = Sandbox::gemini([gemini::text("Seen.")]);
    sandbox.write("work/notes.md", "Ports: 5432.\n");
    let output = sandbox.feed(&["-m", sandbox.wire.model(), "-p", "What is this?"], "look at @notes.md\n");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(!sandbox.last_said().concat().contains("5432"));
}

#[test]
fn a_saved_output_can_be_listed_and_searched() {
    // Relative to the workspace, so that it is known before there is a home.
    let saved = "../home/tmp/work/tool-outputs";
    let replies = [
        shell("seq 1 60000 | sed 's/^31337$/the needle/'"),
        call("list_directory", json!({"dir_path": saved})),
        call("grep_search", json!({"pattern": "needle", "dir_path": saved})),
        call("grep_search", json!({"pattern": "needle", "dir_path": "../home/tmp/work"})),
        gemini::text("Found."),
    ];
    let sandbox = trusted(Wire::Gemini, replies);
    sandbox.answer(&["-p", "Look.", "--yolo"]);
    let [shortened, listed, found, refused] = answered(&sandbox).try_into().expect("four answers");
    assert!(!shortened.to_string().contains("needle"), "it is in the middle: {shortened}");
    assert!(listed.to_string().contains("session-"), "{listed}");
    assert!(found.to_string().contains("the needle"), "{found}");
    assert!(refused.to_string().contains("outside of the workspace"), "{refused}");
}

#[test]
fn what_a_killed_process_left_in_the_project_is_removed_by_the_next_run() {
    let write = json!({"file_path": "src/deep/a.txt", "content": "x"});
    let sandbox =
        trusted(Wire::Gemini, [call("write_file", write), gemini::text("Done."), gemini::text("Yes.")]);
    sandbox.answer(&["-p", "Write.", "--yolo"]);
    let left = sandbox.path("work/src/deep/.longhaul-tmp-0123456789abcdef");
    let users = sandbox.path("work/src/deep/.longhaul-tmp-notes");
    for file in [&left, &users] {
        fs::write(file, "half").expect("written");
    }
    let told = text(&sandbox.run(&["doctor"]).stdout);
    assert!(told.contains("0123456789abcdef was left"), "{told}");
    assert!(left.exists(), "doctor changes nothing");
    sandbox.answer(&["-p", "hi"]);
    assert!(!left.exists() && users.exists());
    assert_eq!(fs::read_to_string(sandbox.path("work/src/deep/a.txt")).expect("it stays"), "x");
}

#[test]
fn custom_commands_are_filled_in() {
    let sandbox = Sandbox::gemini([gemini::text("Seen.")]);
    sandbox.write("work/notes.md", "Ports: 5432.\n");
    sandbox.write("home/commands/ports.toml", "prompt = \"Which of {{args}} is in @{notes.md}?\"\n");
    let output = sandbox.say(&["-p", "/ports 5432 and 80"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = sandbox.last_said();
    assert_eq!(said[0], "/ports 5432 and 80");
    let begins =
        "<custom_command name=\"ports\">\nWhich of 5432 and 80 is in <attached_file path=\"notes.md\">";
    assert!(said[1].starts_with(begins), "{}", said[1]);
}

#[test]
fn a_custom_command_runs_nothing_that_nobody_allows() {
    let sandbox = Sandbox::gemini([]);
    sandbox.write("home/commands/mend.toml", "prompt = \"!{touch made}\"\n");
    sandbox.write("home/commands/broken.toml", "prompt\n");
    let output = sandbox.say(&["-p", "/mend"]);
    let told = text(&output.stderr);
    assert!(told.contains("error: /mend was not sent: `touch made` did not run: Not approved"), "{told}");
    assert!(!sandbox.path("work/made").exists() && !output.status.success());
    let told = text(&sandbox.say(&["-p", "/broken"]).stderr);
    assert!(told.contains("broken.toml is not a valid command: line 1: "), "{told}");
}
