//! The ledger as a whole: calls and results in, entries out.

use longhaul_conversation::{
    Message, Ordinal, Output, Part, Role, TokenCount, ToolCall, ToolResult, ToolStatus,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{WorkOutcome, data, errors, fields, results, shell, symbols, tools};

/// A ledger that has seen these calls, each with its answer; a text that starts with `!` is a failure.
fn ledger_of(steps: &[(&str, Value, &str)]) -> Ledger {
    let mut ledger = Ledger::default();
    for (place, (tool, args, answer)) in steps.iter().enumerate() {
        let id = format!("c{place}");
        let call = ToolCall::new(id.as_str(), *tool).with_args(args.clone());
        ledger.observe(&Message::new(format!("a{place}"), Role::Model, vec![Part::call(call)]));
        let (status, text) = match answer.strip_prefix('!') {
            Some(text) => (ToolStatus::Failed, text),
            None => (ToolStatus::Unstated, *answer),
        };
        let result = ToolResult::text(id.as_str(), text).with_status(status);
        ledger.observe(&Message::new(format!("r{place}"), Role::User, vec![Part::result(result)]));
    }
    ledger
}

fn lines_of(ledger: &Ledger) -> String {
    let lines = ledger.render_lines(TokenCount(10_000)).into_iter().chain(ledger.plan_lines());
    lines.map(|line| line.text).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn check(steps: &[(&str, Value, &str)], expected: &str) {
    assert_eq!(lines_of(&ledger_of(steps)), expected);
}

#[track_caller]
fn check_one(tool: &str, args: Value, answer: &str, expected: &str) {
    check(&[(tool, args, answer)], expected);
}

/// Checks that a data file is read to its end; the error names the file and the line.
#[track_caller]
fn check_data<T>(parsed: Result<T, data::DataError>) {
    if let Err(error) = parsed {
        panic!("{error}");
    }
}

#[test]
fn every_line_of_every_data_file_is_read() {
    check_data(shell::runners::parse(&shell::runners::FILE, &shell::runners::TASK_NAMES_FILE));
    check_data(shell::programs::parse(&shell::programs::FILE));
    check_data(tools::parse(&tools::FILE));
    check_data(fields::parse(&fields::FILE));
    check_data(symbols::parse(&symbols::FILE));
    check_data(errors::parse(&errors::FILE));
    check_data(outcome::parse(&outcome::FILE));
    check_data(results::rules::parse(&results::rules::FILE));
    let known = [
        shell::runners::FILE,
        shell::runners::TASK_NAMES_FILE,
        shell::programs::FILE,
        tools::FILE,
        fields::FILE,
        symbols::FILE,
        errors::FILE,
        outcome::FILE,
        results::rules::FILE,
    ];
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/data")).expect("the folder is there")
    {
        let name = entry.expect("it can be listed").file_name();
        assert!(known.iter().any(|file| name == file.name), "{name:?} is read by nothing");
    }
}

#[test]
fn errors_in_data_files_name_file_and_line() {
    let wrong = |text| data::DataFile { name: "x.txt", text };
    let error = |parsed: Option<data::DataError>| parsed.expect("it is wrong").to_string();
    let runners = error(
        shell::runners::parse(&wrong("# top\ntset cargo test\n"), &shell::runners::TASK_NAMES_FILE).err(),
    );
    assert!(runners.starts_with("crates/ledger/data/x.txt:2: unknown key `tset`"), "{runners}");
    let summaries = error(results::rules::parse(&wrong("runner x\nstarts y\nverdict passed\n")).err());
    assert_eq!(summaries, "crates/ledger/data/x.txt:1: the entry has no `example`");
    let tools = error(tools::parse(&wrong("read readfile\nedit readfile\n")).err());
    assert_eq!(tools, "crates/ledger/data/x.txt:2: `readfile` already has an action");
}

#[test]
fn gemini_cli() {
    check_one("read_file", json!({"absolute_path": "/w/a.ts"}), "text", "/w/a.ts read");
    check_one(
        "read_file",
        json!({"file_path": "a.ts", "start_line": 5, "end_line": 9}),
        "text",
        "a.ts read lines 5-9",
    );
    check_one(
        "read_many_files",
        json!({"include": ["a.ts", "src/*.ts", "b.ts"]}),
        "text",
        "a.ts read\nb.ts read",
    );
    check_one(
        "write_file",
        json!({"file_path": "a.ts", "content": "x\ny"}),
        "Successfully created and wrote to new file: a.ts.",
        "a.ts created (+2)",
    );
    check_one(
        "write_file",
        json!({"file_path": "a.ts", "content": "x"}),
        "Successfully overwrote file: a.ts.",
        "a.ts modified (+1)",
    );
    check_one(
        "replace",
        json!({"file_path": "a.ts", "old_string": "a", "new_string": "function go() {"}),
        "Successfully modified file: a.ts (1 replacements).",
        "a.ts modified (+1 -1; go)",
    );
    check_one(
        "replace",
        json!({"file_path": "a.ts", "old_string": "a", "new_string": "b"}),
        "!Failed to edit, 0 occurrences found",
        "error in a.ts: (tool) Failed to edit, 0 occurrences found",
    );
    check_one("list_directory", json!({"dir_path": "src"}), "a\nb", "");
    check_one(
        "run_shell_command",
        json!({"command": "npm run build", "directory": "web"}),
        "Output: x\nExit Code: 2",
        "`npm run build` → failed",
    );
    check_one(
        "run_shell_command",
        json!({"command": "npm run dev", "is_background": true}),
        "Output: (empty)\nBackground PIDs: 71",
        "background command running (71): npm run dev",
    );
    check_one(
        "write_todos",
        json!({"todos": [{"description": "do it", "status": "in_progress"}]}),
        "ok",
        "[IN PROGRESS] do it",
    );
}

#[test]
fn a_file_in_work_says_which_lines_were_read() {
    let read = |first: u32, last: u32| {
        ("read_file", json!({"file_path": "a.ts", "start_line": first, "end_line": last}), "text")
    };
    let edit = ("replace", json!({"file_path": "a.ts", "old_string": "x", "new_string": "y"}), "ok");
    check(&[read(5, 9), edit.clone()], "a.ts modified (+1 -1), read lines 5-9");
    let many = [read(1, 2), read(11, 12), read(21, 22), read(31, 32), edit.clone()];
    check(&many, "a.ts modified (+1 -1), read lines 11-12, 21-22, 31-32");
    let whole = ("read_file", json!({"file_path": "a.ts"}), "text");
    check(&[whole, edit], "a.ts modified (+1 -1)");
}

#[test]
fn claude_code() {
    check_one(
        "Read",
        json!({"file_path": "/w/a.rs", "offset": 10, "limit": 5}),
        "10→x",
        "/w/a.rs read lines 10-14",
    );
    check_one(
        "Write",
        json!({"file_path": "/w/a.rs", "content": "x"}),
        "File created successfully at: /w/a.rs",
        "/w/a.rs created (+1)",
    );
    check_one(
        "MultiEdit",
        json!({"file_path": "a", "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": ""}]}),
        "ok",
        "a modified (2 edits, +1 -2)",
    );
    check_one(
        "NotebookEdit",
        json!({"notebook_path": "n.ipynb", "new_source": "x"}),
        "ok",
        "n.ipynb modified (+1)",
    );
    check_one(
        "Edit",
        json!({"file_path": "a", "old_string": "a", "new_string": "b"}),
        "!The user doesn't want to proceed with this tool use.",
        "",
    );
    check_one(
        "Bash",
        json!({"command": "cargo test"}),
        "!Exit code 101\ntest a::b ... FAILED\ntest result: FAILED. 1 passed; 1 failed; 0 ignored",
        "`cargo test` → 1 failed, 1 passed; failing: a::b",
    );
    check_one("Task", json!({"description": "Look around", "prompt": "…"}), "found it", "");
    check_one("TodoWrite", json!({"todos": [{"content": "a", "status": "completed"}]}), "ok", "[DONE] a");
    check(
        &[
            (
                "Bash",
                json!({"command": "npm run dev", "run_in_background": true}),
                "Command running in background with ID: b1. Output is …",
            ),
            (
                "Bash",
                json!({"command": "serve", "run_in_background": true}),
                "Command running in background with ID: b2.",
            ),
            ("BashOutput", json!({"bash_id": "b1"}), "<status>completed</status>\n<exit_code>0</exit_code>"),
            ("KillShell", json!({"shell_id": "b9"}), "ok"),
        ],
        "background command running (b2): serve",
    );
    check(
        &[
            ("TaskCreate", json!({"subject": "a"}), "Task #1 created"),
            ("TaskUpdate", json!({"taskId": "1", "status": "in_progress"}), "ok"),
        ],
        "[IN PROGRESS] a",
    );
}

#[test]
fn jobs_of_our_own_shell() {
    let start = |command: &str| json!({"command": command, "is_background": true});
    let job = |name: &str| json!({ "job": name });
    check(
        &[
            (
                "run_shell_command",
                start("npm run dev"),
                "Running in the background as job-1 (PID 7). Its output so far:\nup",
            ),
            ("run_shell_command", start("a"), "Running in the background as job-2 (PID 8)."),
            ("run_shell_command", start("b"), "Running in the background as job-3 (PID 9)."),
            (
                "run_shell_command",
                json!({"command": "c &"}),
                "x\nExit code: 0\nBackground PIDs: 10\nRunning in the background as job-4.",
            ),
            ("read_job_output", job("job-1"), "Command is running for 5 s (job-1: npm run dev). Output:\nup"),
            ("read_job_output", job("job-2"), "Command exited with code 1 (job-2: a). No output."),
            ("read_job_output", job("job-3"), "Command was ended by signal 9 (KILL) (job-3: b). No output."),
            ("stop_job", job("job-4"), "Command was stopped (job-4: c &). No output."),
        ],
        "background command running (job-1): npm run dev",
    );
}

#[test]
fn codex() {
    let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n-x\n+y\n*** End Patch";
    check_one("apply_patch", json!({"input": patch}), "Success", "a.rs modified (+1 -1)");
    check_one(
        "shell",
        json!({"command": ["apply_patch", patch]}),
        "{\"output\":\"Success\",\"metadata\":{\"exit_code\":0}}",
        "a.rs modified (+1 -1)",
    );
    check_one(
        "shell",
        json!({"command": ["bash", "-lc", format!("cd sub && apply_patch <<'E'\n{patch}\nE")]}),
        "",
        "sub/a.rs modified (+1 -1)",
    );
    check_one(
        "shell",
        json!({"command": ["bash", "-lc", "sed -n '1,20p' a.rs"], "workdir": "core"}),
        "x",
        "core/a.rs read lines 1-20",
    );
    check_one(
        "exec_command",
        json!({"cmd": "cargo build"}),
        "Exit code: 0\nWall time: 2 seconds\nOutput:\n",
        "`cargo build` → ok",
    );
    check_one(
        "update_plan",
        json!({"plan": [{"step": "a", "status": "pending"}]}),
        "Plan updated",
        "[TODO] a",
    );
}

#[test]
fn openhands_and_swe_agent() {
    check_one(
        "str_replace_editor",
        json!({"command": "view", "path": "/w/a.py", "view_range": [5, 9]}),
        "x",
        "/w/a.py read lines 5-9",
    );
    check_one(
        "str_replace_editor",
        json!({"command": "view", "path": "/w"}),
        "Here's the files and directories up to 2 levels deep in /w:",
        "",
    );
    check_one(
        "str_replace_editor",
        json!({"command": "create", "path": "/w/a.py", "file_text": "x"}),
        "File created successfully at: /w/a.py",
        "/w/a.py created (+1)",
    );
    check_one(
        "str_replace_editor",
        json!({"path": "/w/a.py"}),
        "--- /w/a.py\n+++ /w/a.py\n@@ -0,0 +1 @@\n+x",
        "/w/a.py created (+1)",
    );
    check_one(
        "str_replace_editor",
        json!({"command": "str_replace", "path": "/w/a.py", "old_str": "a", "new_str": "b"}),
        "ERROR:\nNo replacement was performed, as a is not there",
        "error in /w/a.py: (tool) No replacement was performed, as a is not there",
    );
    check_one(
        "execute_bash",
        json!({"command": "cd sub && rm a.py"}),
        "\n[Current working directory: /w/sub]\n[Command finished with exit code 0]",
        "CWD: /w, shell in sub\nsub/a.py deleted",
    );
    check_one(
        "task_tracker",
        json!({"command": "plan", "task_list": [{"title": "a", "status": "todo"}]}),
        "ok",
        "[TODO] a",
    );
    check(
        &[
            (
                "bash",
                json!({"command": "open src/a.py 12"}),
                "[File: /w/src/a.py (90 lines total)]\n(2 more lines above)\n3:x\n4:y\n(Open file: /w/src/a.py)\n(Current directory: /w)\nbash-$",
            ),
            ("edit", json!({"search": "x", "replace": "y"}), "Text replaced."),
            ("bash", json!({"command": "edit 3:4\nnew\nend_of_edit"}), "File updated."),
        ],
        "CWD: /w\nsrc/a.py modified (2 edits, +2 -3)",
    );
}

#[test]
fn cline_pi_and_mini_swe() {
    check_one(
        "read_files",
        json!({"files": [{"path": "/w/a.ts", "start_line": 4, "end_line": 8}]}),
        "x",
        "/w/a.ts read lines 4-8",
    );
    check_one("write_to_file", json!({"path": "a.ts", "content": "x"}), "ok", "a.ts created (+1)");
    check_one(
        "replace_in_file",
        json!({"path": "a.ts", "diff": "------- SEARCH\na\n=======\nb\nc\n+++++++ REPLACE"}),
        "ok",
        "a.ts modified (+2 -1)",
    );
    check_one(
        "editor",
        json!({"path": "a.ts", "old_text": "a", "new_text": "b"}),
        "{\"query\":\"edit:a.ts\",\"result\":\"Edited\",\"success\":true}",
        "a.ts modified (+1 -1)",
    );
    check_one(
        "execute_command",
        json!({"command": "go vet ./...", "task_progress": "- [x] one\n- [ ] two"}),
        "",
        "`go vet ./...` → ended, result not shown\n[DONE] one\n[TODO] two",
    );
    check_one(
        "edit",
        json!({"path": "a.ts", "oldText": "a", "newText": "b"}),
        "Successfully replaced text in a.ts.",
        "a.ts modified (+1 -1)",
    );
    check_one(
        "bash",
        json!({"command": "pytest -q"}),
        "!1 failed, 2 passed in 0.1s\n\n\nCommand exited with code 1",
        "`pytest -q` → 1 failed, 2 passed",
    );
    check_one(
        "bash",
        json!({"command": "cat nope.py"}),
        "<returncode>1</returncode>\n<output>\ncat: nope.py: No such file or directory\n</output>",
        "",
    );
}

#[test]
fn unknown_tools_are_read_by_their_arguments() {
    check_one("mcp__fs__put", json!({"path": "a", "content": "x"}), "ok", "a created (+1)");
    check_one("my_viewer", json!({"file_path": "a"}), "x", "a read");
    check_one("remove_it", json!({"path": "a"}), "ok", "a deleted");
    check_one("run_script", json!({"command": "rm a"}), "ok", "a deleted");
    check_one("mcp__linear__create_comment", json!({"issueId": "1", "body": "x"}), "ok", "");
}

#[test]
fn the_last_action_decides_about_a_file() {
    let write = |content: &str| ("write", json!({"path": "a", "content": content}), "ok");
    let rm = ("bash", json!({"command": "rm a"}), "");
    let read = ("read", json!({"path": "a"}), "x");
    check(&[write("x"), rm.clone()], "a deleted");
    check(&[write("x"), rm.clone(), write("y")], "a created (2 edits, +2)");
    check(&[read.clone(), write("x")], "a modified (+1)");
    check(&[write("x"), read.clone()], "a created (+1)");
    check(&[read.clone(), ("bash", json!({"command": "mv a b/c"}), "")], "a moved to b/c\nb/c modified");
    check(&[read, write("x"), ("bash", json!({"command": "git checkout -- a"}), "")], "a restored");
    check(
        &[("read", json!({"path": "d/x"}), "1"), ("bash", json!({"command": "rm -rf d"}), "")],
        "d/x deleted",
    );
}

#[test]
fn spellings_of_one_file_are_one_entry() {
    let mut ledger = Ledger::in_directory("/w/app");
    for (place, path) in ["/w/app/src/a.rs", "src/a.rs", "./src/a.rs"].into_iter().enumerate() {
        let id = format!("c{place}");
        let call = ToolCall::new(id.as_str(), "Read").with_args(json!({"file_path": path}));
        let result = ToolResult::text(id.as_str(), "same");
        ledger.observe(&Message::new(id, Role::Model, vec![Part::call(call), Part::result(result)]));
    }
    assert_eq!(
        ledger
            .files()
            .map(|(path, file)| (path, file.read.as_ref().map(|read| read.times)))
            .collect::<Vec<_>>(),
        [("src/a.rs", Some(3))]
    );
    assert_eq!(ledger.file("/w/app/src/a.rs").map(|file| file.path.as_str()), Some("/w/app/src/a.rs"));
}

#[test]
fn a_project_that_is_learnt_late_joins_what_was_apart() {
    let ledger = ledger_of(&[
        ("read", json!({"path": "/w/app/a.rs"}), "x"),
        ("edit", json!({"path": "a.rs", "oldText": "a", "newText": "b"}), "ok"),
        ("bash", json!({"command": "pwd"}), "/w/app\n"),
    ]);
    assert_eq!(lines_of(&ledger), "CWD: /w/app\na.rs modified (+1 -1)");
    assert!(ledger.file("a.rs").is_some_and(|file| file.read.is_some() && file.existed));
}

#[test]
fn a_later_run_settles_errors() {
    let failing = (
        "Bash",
        json!({"command": "cargo test -p x"}),
        "!Exit code 101\nerror[E0308]: mismatched types\n --> src/a.rs:1:1",
    );
    let ledger = ledger_of(&[
        failing.clone(),
        ("Bash", json!({"command": "cargo test"}), "test result: ok. 3 passed; 0 failed; 0 ignored"),
    ]);
    assert_eq!(ledger.errors()[0].fixed, Some(Ordinal(3)));
    assert_eq!(ledger.errors()[0].file.as_deref(), Some("src/a.rs"));
    assert_eq!(ledger.commands()[0].fixed, Some(Ordinal(3)));
    let narrower = ledger_of(&[
        failing,
        ("Bash", json!({"command": "cargo test -p y"}), "test result: ok. 3 passed; 0 failed; 0 ignored"),
    ]);
    assert_eq!(narrower.errors()[0].fixed, None);
}

#[test]
fn silence_of_a_checker_is_a_pass_unless_something_filters_it() {
    let outcome = |command: &str| ledger_of(&[("Bash", json!({"command": command}), "")]).runs()[0].outcome;
    assert_eq!(outcome("npx tsc --noEmit 2>&1 | head -5"), WorkOutcome::Passed);
    assert_eq!(outcome("npx tsc --noEmit 2>&1 | grep 'error TS'"), WorkOutcome::Passed);
    assert_eq!(outcome("npx tsc --noEmit 2>&1 | grep markdown"), WorkOutcome::Unclear);
    assert_eq!(outcome("npm test 2>&1 | tail -5"), WorkOutcome::Unclear);
}

#[test]
fn commits_have_message_and_hash() {
    let ledger = ledger_of(&[
        ("Bash", json!({"command": "git commit -m 'fix: it'"}), "[main 1a2b3c4] fix: it\n 1 file changed"),
        ("Bash", json!({"command": "git commit -m 'never'"}), "!Exit code 1\nhook failed"),
    ]);
    let commits: Vec<_> =
        ledger.commits().iter().map(|commit| (commit.hash.as_deref(), commit.message.as_str())).collect();
    assert_eq!(commits, [(Some("1a2b3c4"), "fix: it")]);
}

#[test]
fn exit_codes_and_times_are_kept() {
    let mut ledger = Ledger::default();
    let mut call = Message::new(
        "a",
        Role::Model,
        vec![Part::call(ToolCall::new("c", "shell").with_args(json!({"command": "make"})))],
    );
    call.at = Some(Timestamp::from_millis(1000));
    let output = Output::Structured(json!({"output": "x", "metadata": {"exit_code": 2}}));
    let mut result =
        Message::new("b", Role::User, vec![Part::result(ToolResult { output, ..ToolResult::text("c", "") })]);
    result.at = Some(Timestamp::from_millis(3500));
    ledger.observe(&call);
    ledger.observe(&result);
    let command = &ledger.commands()[0];
    assert_eq!(
        (command.outcome, command.exit_code, command.millis),
        (WorkOutcome::Failed, Some(2), Some(2500))
    );
}

#[test]
fn unanswered_calls_are_told_as_running_and_given_up_in_time() {
    let mut ledger = Ledger::default();
    for place in 0..2 * MAX_PENDING_CALLS {
        let call = ToolCall::new(format!("c{place}"), "Task").with_args(json!({"description": "look"}));
        ledger.observe(&Message::new(format!("m{place}"), Role::Model, vec![Part::call(call)]));
    }
    assert_eq!(ledger.open.len(), MAX_PENDING_CALLS);
    assert!(ledger.jobs().iter().all(|job| job.outcome == WorkOutcome::Running));
}

#[test]
fn many_files_fold_into_folders() {
    let steps: Vec<_> =
        (0..40).map(|n| ("read", json!({"path": format!("src/api/file{n}.rs")}), "x")).collect();
    let ledger = ledger_of(&steps);
    let lines = ledger.render_lines(TokenCount(60));
    assert_eq!(lines.last().map(|line| line.text.as_str()), Some("34 files under src/api read"));
    assert_eq!(lines[0].text, "src/api/file34.rs read");
    assert_eq!(lines[0].marks, [Ordinal(69)]);
}

#[test]
fn what_later_messages_tell_themselves_is_left_out() {
    let ledger = ledger_of(&[
        ("write", json!({"path": "src/old.rs", "content": "x"}), "ok"),
        ("read", json!({"path": "src/seen.rs"}), "x"),
        ("Bash", json!({"command": "cargo test"}), "!exit code 1"),
        ("write", json!({"path": "src/new.rs", "content": "x"}), "ok"),
    ]);
    let told = |before: u32| {
        let lines = ledger.render_lines_before(Ordinal(before), TokenCount(1_000));
        lines.into_iter().map(|line| line.text).collect::<Vec<_>>()
    };
    assert_eq!(told(5), ["src/old.rs created (+1)", "src/seen.rs read"]);
    assert_eq!(told(1), Vec::<String>::new());
    assert_eq!(told(u32::MAX).len(), 4, "{:?}", told(u32::MAX));
}

#[test]
fn a_file_is_told_as_it_was_where_the_snapshot_ends() {
    let edit = |old: &str, new: &str| json!({"file_path": "src/a.rs", "old_string": old, "new_string": new});
    let ledger = ledger_of(&[
        ("Edit", edit("x", "fn one() {}\nfn two() {}"), "ok"),
        ("Bash", json!({"command": "cargo test"}), "!test result: FAILED. 1 passed; 1 failed; 0 ignored"),
        ("Edit", edit("y", "fn three() {}"), "ok"),
        ("Bash", json!({"command": "cargo test"}), "test result: ok. 2 passed; 0 failed; 0 ignored"),
        ("Bash", json!({"command": "rm src/a.rs"}), ""),
    ]);
    let told = |before: u32| {
        let lines = ledger.render_lines_before(Ordinal(before), TokenCount(1_000));
        lines.into_iter().map(|line| format!("{:?} {}", line.marks[0].0, line.text)).collect::<Vec<_>>()
    };
    assert_eq!(told(5), ["1 src/a.rs modified (+2 -1; one, two)", "3 `cargo test` → 1 failed, 1 passed"]);
    assert_eq!(
        told(9),
        ["5 src/a.rs modified (2 edits, +3 -2; one, two, three)", "7 `cargo test` → 2 passed"]
    );
    assert_eq!(told(11), ["9 src/a.rs deleted", "7 `cargo test` → 2 passed"]);
}

#[test]
fn every_changed_file_is_named_before_any_is_counted() {
    let steps: Vec<_> = (0..40)
        .map(|n| {
            ("write", json!({"path": format!("src/d{}/file{n}.rs", n % 2), "content": "fn go() {}"}), "ok")
        })
        .collect();
    let lines = ledger_of(&steps).render_lines(TokenCount(220));
    let text = lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n");
    assert!((0..40).all(|n| text.contains(&format!("file{n}.rs"))), "{text}");
    assert!(
        text.contains("src/d1/file39.rs created (+1; go)") && text.contains("created in src/d0: "),
        "{text}"
    );
    let few = ledger_of(&steps).render_lines(TokenCount(60));
    assert!(few.iter().any(|line| line.text.contains("files under src/d")), "{few:?}");
}

#[test]
fn the_summary_prints_as_json() {
    let ledger = ledger_of(&[("Bash", json!({"command": "mv a b"}), "")]);
    let value = serde_json::to_value(ledger.summary()).expect("a summary has only string keys");
    assert_eq!(value["files"][0]["state"], "moved");
    assert_eq!(value["files"][0]["moved_to"], "b");
    assert_eq!(value["commands"][0]["outcome"], "unclear");
    for key in ["files", "commands", "tests", "errors", "jobs"] {
        assert!(value[key].is_array(), "{key}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "(?s).{0,40}".prop_map(Value::from),
        "[a-z/.*'\"$&|;<> \n-]{0,40}".prop_map(Value::from),
    ];
    let key = "(file_path|path|command|commands|content|old_string|new_str|edits|files|todos|plan|status|view_range|offset|limit|diff|input|task_id|[a-z]{1,4})";
    leaf.prop_recursive(3, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn any_tool() -> impl Strategy<Value = String> {
    "(Read|read_many_files|write_file|Edit|MultiEdit|apply_patch|str_replace_editor|bash|Bash|shell|execute_bash|TodoWrite|TaskCreate|TaskUpdate|Task|BashOutput|KillShell|create|open|move_file|[a-z_]{0,12})"
}

proptest! {
    #[test]
    fn any_calls_and_answers_are_taken_in(
        steps in prop::collection::vec((any_tool(), any_json(), any_json(), "(?s).{0,120}"), 1..6),
    ) {
        let mut ledger = Ledger::default();
        let mut again = Ledger::default();
        for (place, (tool, args, answer, text)) in steps.into_iter().enumerate() {
            let id = format!("c{}", place / 2);
            let call = Part::call(ToolCall::new(id.as_str(), tool).with_args(args));
            let structured = ToolResult { output: Output::Structured(answer), ..ToolResult::text(id.as_str(), "") };
            let parts = vec![call.clone(), Part::result(ToolResult::text(id.as_str(), text)), call, Part::result(structured)];
            let message = Message::new(format!("m{place}"), Role::Model, parts);
            ledger.observe(&message);
            again.observe(&message);
            // What is written down and read back goes on as if nothing had happened.
            let kept = serde_json::to_string(&again).expect("a ledger has only string keys");
            again = serde_json::from_str(&kept).expect("a ledger is read as it was written");
        }
        prop_assert_eq!(&ledger, &again);
        ledger.summary();
    }

    #[test]
    fn rendered_lines_fit(budget in 0u64..400, files in 0usize..60) {
        let steps: Vec<_> = (0..files)
            .map(|n| (if n % 3 == 0 { "write" } else { "read" }, json!({"path": format!("src/d{}/f{n}.rs", n % 7), "content": "fn go() {}"}), "x"))
            .collect();
        let lines = ledger_of(&steps).render_lines(TokenCount(budget));
        let characters: usize = lines.iter().map(|line| line.text.chars().count() + 1).sum();
        prop_assert!(characters as u64 <= budget * 4);
        prop_assert!(lines.is_sorted_by_key(|line| line.section));
    }
}
