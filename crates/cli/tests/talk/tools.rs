//! A model that calls tools: they run under the user's rules, and whatever happens the session stays whole.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Command;

use longhaul_testkit::fake_provider::{FakeProvider, Reply, Step, anthropic, gemini, openai};
use serde_json::{Value, json};

use crate::support::{Sandbox, Wire, lines, text, words};

/// An answer of calls.
pub(crate) fn calls(wire: Wire, calls: &[(&str, Value)]) -> Reply {
    match wire {
        Wire::Gemini => {
            let parts: Vec<Value> = calls
                .iter()
                .map(|(name, args)| json!({"functionCall": {"name": name, "args": args}}))
                .collect();
            gemini::parts(&parts)
        }
        Wire::OpenAi => {
            let deltas: Vec<Value> = calls
                .iter()
                .enumerate()
                .map(|(index, (name, args))| {
                    let function = json!({"name": name, "arguments": args.to_string()});
                    json!({"tool_calls": [{"index": index, "id": format!("call_{index}_{name}"), "type": "function", "function": function}]})
                })
                .collect();
            openai::deltas(&deltas, "tool_calls")
        }
        Wire::Anthropic => {
            let blocks: Vec<Vec<String>> = calls
                .iter()
                .enumerate()
                .map(|(index, (name, args))| {
                    let block = json!({"type": "tool_use", "id": format!("toolu_{index}_{name}"), "name": name, "input": {}});
                    let delta = json!({"type": "input_json_delta", "partial_json": args.to_string()});
                    anthropic::block(index, &block, &[delta])
                })
                .collect();
            anthropic::blocks(&blocks, "tool_use")
        }
    }
}

pub(crate) fn call(name: &str, args: Value) -> Reply {
    calls(Wire::Gemini, &[(name, args)])
}

pub(crate) fn shell(command: &str) -> Reply {
    call("run_shell_command", json!({"command": command}))
}

/// A sandbox whose folder is trusted.
pub(crate) fn trusted(wire: Wire, replies: impl IntoIterator<Item = Reply>) -> Sandbox {
    let mut sandbox = Sandbox::new(wire, replies);
    sandbox.set("GEMINI_CLI_TRUST_WORKSPACE", "true");
    sandbox
}

/// What the tools answered in the latest request of Gemini's kind.
#[track_caller]
pub(crate) fn answered(sandbox: &Sandbox) -> Vec<Value> {
    let body = sandbox.server.requests().last().expect("a request").body.clone();
    let contents = body["contents"].as_array().expect("contents").clone();
    let parts = contents.iter().flat_map(|content| content["parts"].as_array().expect("parts").clone());
    parts
        .filter(|part| !part["functionResponse"].is_null())
        .map(|part| part["functionResponse"]["response"].clone())
        .collect()
}

#[test]
fn every_provider_reads_edits_and_runs() {
    for wire in Wire::ALL {
        let replies = [
            calls(
                wire,
                &[
                    ("read_file", json!({"file_path": "sum.sh"})),
                    ("list_directory", json!({"dir_path": "."})),
                ],
            ),
            calls(
                wire,
                &[("replace", json!({"file_path": "sum.sh", "old_string": "1 + 1", "new_string": "1 + 2"}))],
            ),
            calls(wire, &[("run_shell_command", json!({"command": "sh sum.sh"}))]),
            wire.texts(&["It is ", "three."]),
        ];
        let sandbox = trusted(wire, replies);
        sandbox.write("work/sum.sh", "echo $((1 + 1))\n");
        let answer = sandbox.answer(&["-p", "Make it three.", "--yolo", "--output-format", "json"]);
        let result: Value = serde_json::from_str(&answer).expect("one object");
        assert_eq!(
            (&result["status"], &result["text"]),
            (&json!("finished"), &json!("It is three.")),
            "{wire:?}"
        );
        assert_eq!(result["steps"], 4);
        let done: Vec<(&str, &str)> = result["tool_calls"]
            .as_array()
            .expect("calls")
            .iter()
            .map(|call| (call["name"].as_str().expect("a name"), call["status"].as_str().expect("a status")))
            .collect();
        let expected = ["read_file", "list_directory", "replace", "run_shell_command"];
        assert_eq!(done, expected.map(|name| (name, "succeeded")), "{wire:?} {answer}");
        assert_eq!(
            fs::read_to_string(sandbox.path("work/sum.sh")).expect("it is there"),
            "echo $((1 + 2))\n"
        );
        assert!(result["tool_calls"][3]["output"].as_str().expect("an output").starts_with('3'), "{answer}");
        // Everything that was declared has a schema, and every call has its answer.
        let body = &sandbox.server.requests()[3].body;
        assert!(!body["tools"].as_array().expect("tools").is_empty());
    }
}

#[test]
fn nothing_changes_without_permission() {
    let replies = [
        calls(
            Wire::Gemini,
            &[
                ("write_file", json!({"file_path": "new.txt", "content": "x"})),
                ("run_shell_command", json!({"command": "touch made"})),
            ],
        ),
        gemini::text("I may not."),
    ];
    let sandbox = trusted(Wire::Gemini, replies);
    let output = sandbox.say(&["-p", "Write."]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(!sandbox.path("work/new.txt").exists() && !sandbox.path("work/made").exists());
    let answered = answered(&sandbox);
    assert!(answered[0].to_string().contains("--allowed-tools"), "{answered:?}");
    assert!(text(&output.stderr).contains("write_file was not run"), "{}", text(&output.stderr));
}

#[test]
fn what_is_allowed_is_allowed_and_no_more() {
    let replies = [shell("echo yes > made; echo one"), shell("echo one"), gemini::text("Done.")];
    let sandbox = trusted(Wire::Gemini, replies);
    sandbox.answer(&["-p", "Run.", "--allowed-tools", "run_shell_command(echo)"]);
    let answered = answered(&sandbox);
    assert!(answered[0].to_string().contains("writes to a file"), "{answered:?}");
    assert!(answered[1].to_string().contains("one"), "{answered:?}");
    assert!(!sandbox.path("work/made").exists());
}

#[test]
fn an_untrusted_folder_gets_no_free_hand() {
    let sandbox = Sandbox::gemini([]);
    sandbox.check_fails(&["-p", "hi", "--yolo"], &["trust"]);
    assert!(sandbox.server.requests().is_empty() && sandbox.sessions().is_empty());
}

#[test]
fn nothing_outside_is_read_or_written() {
    let replies = [
        calls(
            Wire::Gemini,
            &[
                ("read_file", json!({"file_path": "../home/settings.json"})),
                ("read_file", json!({"file_path": "link/secret"})),
                ("write_file", json!({"file_path": "link/new", "content": "x"})),
                ("grep_search", json!({"pattern": "hidden", "dir_path": ".."})),
            ],
        ),
        gemini::text("No."),
    ];
    let sandbox = trusted(Wire::Gemini, replies);
    sandbox.settings("{}");
    sandbox.write("outside/secret", "hidden words");
    std::os::unix::fs::symlink(sandbox.path("outside"), sandbox.path("work/link")).expect("linked");
    sandbox.answer(&["-p", "Look.", "--yolo"]);
    for answer in answered(&sandbox) {
        assert!(answer.to_string().contains("outside of the workspace"), "{answer}");
    }
    assert!(!sandbox.path("outside/new").exists());
}

#[test]
fn a_file_that_lacks_some_of_a_flood_is_not_said_to_have_all_of_it() {
    for (megabytes, is_whole) in [(7, true), (12, false)] {
        let flood = shell(&format!("yes | head -c {megabytes}000000"));
        let sandbox = trusted(Wire::Gemini, [flood, gemini::text("Much.")]);
        let output = sandbox.say(&["-p", "Shout.", "--yolo", "--output-format", "stream-json"]);
        let told = lines(&text(&output.stdout));
        let call = told.iter().find(|line| line["type"] == "tool_result").expect("a result");
        let saved = call["saved_as"].as_str().expect("it was saved");
        let size = fs::metadata(saved).expect("it is there").len();
        let left_out = call["left_out_bytes"].as_u64().expect("a number");
        let shown = call["output"].as_str().expect("an output");
        assert_eq!((left_out == 0, shown.contains("Full output: ")), (is_whole, is_whole), "{megabytes}");
        assert_eq!(shown.contains(&format!("bytes of the output: {saved}")), !is_whole, "{megabytes}");
        // Beside it stands how the command ended, and what took the place of what is missing.
        let missing = (megabytes * 1_000_000_u64).abs_diff(size + left_out);
        assert!(missing < 100, "{megabytes}: {size} + {left_out}");
    }
}

#[test]
fn a_flood_is_cut_short_for_the_model_and_kept_on_the_disk() {
    let mut sandbox = trusted(Wire::Gemini, [shell("seq 1 200000"), gemini::text("Many.")]);
    let answer = sandbox.answer(&["-p", "Count.", "--yolo", "--output-format", "json"]);
    let result: Value = serde_json::from_str(&answer).expect("one object");
    let call = &result["tool_calls"][0];
    let saved = call["saved_as"].as_str().expect("it was saved");
    assert!(fs::read_to_string(saved).expect("it is there").contains("\n123456\n"));
    let shown = call["output"].as_str().expect("an output");
    assert!(shown.len() < 60_000 && shown.contains("200000") && shown.contains(saved), "{}", shown.len());
    // The model can read on where it was told that everything is.
    let read = super::tools::call(
        "read_file",
        json!({"file_path": saved, "start_line": 123_456, "end_line": 123_456}),
    );
    sandbox.server = FakeProvider::start([read, gemini::text("That one.")]);
    let url = sandbox.server.url();
    sandbox.set("GOOGLE_GEMINI_BASE_URL", &url);
    sandbox.answer(&["-p", "Read on.", "--resume"]);
    let answers = answered(&sandbox);
    assert!(answers.last().is_some_and(|answer| answer.to_string().contains("123456")), "{answers:?}");
}

#[test]
fn a_tool_that_is_excluded_or_not_chosen_is_not_even_declared() {
    let sandbox = Sandbox::gemini([gemini::text("Yes."), gemini::text("Yes.")]);
    let declared = |settings: &str| {
        sandbox.settings(settings);
        sandbox.answer(&["-p", "Hello."]);
        let requests = sandbox.server.requests();
        let body = requests.last().expect("a request").body.to_string();
        move |tool: &str| body.contains(&format!("\"name\":\"{tool}\""))
    };
    let declares = declared(
        r#"{"tools": {"exclude": ["write_todos", "run_shell_command(rm)", "search_file_content"]}}"#,
    );
    assert!(!declares("write_todos") && !declares("grep_search"));
    assert!(declares("run_shell_command") && declares("read_file"));
    let declares = declared(r#"{"tools": {"core": ["read_file", "run_shell_command(git status)"]}}"#);
    assert!(declares("read_file") && declares("run_shell_command") && declares("recall_history"));
    assert!(!declares("write_file") && !declares("glob"));
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let sandbox = Sandbox::gemini([gemini::text("Yes.")]);
    sandbox.check_fails(&["-p", "Hello.", "--include-directories", "nowhere"], &["no such folder: nowhere"]);
    sandbox.settings(r#"{"context": {"includeDirectories": ["gone"]}}"#);
    let output = sandbox.say(&["-p", "Hello."]);
    let said = text(&output.stderr);
    assert!(
        output.status.success() && said.contains("gone in context.includeDirectories is ignored"),
        "{said}"
    );
}

#[test]
fn what_is_full_before_anything_is_said_is_not_sent() {
    let sandbox = Sandbox::gemini([gemini::text("Never.")]);
    sandbox.settings(r#"{"longhaul": {"windows": {"gemini-2.5-flash": 700}}}"#);
    sandbox.check_fails(&["-p", "Go."], &["does not fit", "the tools take most of this one"]);
    assert!(sandbox.server.requests().is_empty());
}

#[test]
fn hooks_block_change_and_add() {
    let replies = [
        calls(
            Wire::Gemini,
            &[("read_file", json!({"file_path": "a.txt"})), ("read_file", json!({"file_path": "b.txt"}))],
        ),
        gemini::text("Done."),
    ];
    let sandbox = trusted(Wire::Gemini, replies);
    sandbox.write("work/a.txt", "text of a");
    sandbox.write("work/c.txt", "text of c");
    sandbox.write(
        "work/hook.sh",
        r#"input=$(cat)
case "$input" in
  *'"a.txt"'*) echo '{"decision": "deny", "reason": "a is private"}' ;;
  *) echo '{"hookSpecificOutput": {"tool_input": {"file_path": "c.txt"}}}' ;;
esac
"#,
    );
    sandbox.write("work/.gemini/settings.json", r#"{"hooks": {
        "BeforeTool": [{"matcher": "read_file", "hooks": [{"type": "command", "command": "sh $GEMINI_PROJECT_DIR/hook.sh"}]}],
        "BeforeAgent": [{"hooks": [{"type": "command", "command": "echo '{\"hookSpecificOutput\": {\"additionalContext\": \"Remember the milk.\"}}'"}]}]
    }}"#);
    let output = sandbox.say(&["-p", "Read both."]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let answered = answered(&sandbox);
    assert!(answered[0].to_string().contains("a is private"), "{answered:?}");
    assert!(answered[1].to_string().contains("text of c") && answered[1].to_string().contains("file_path"));
    assert!(sandbox.last_said().concat().contains("<hook_context>Remember the milk.</hook_context>"));
    assert!(text(&output.stderr).contains("this project adds the hook"), "{}", text(&output.stderr));

    sandbox.settings(r#"{"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "command": "echo not today >&2; exit 2"}]}]}}"#);
    sandbox.check_fails(&["-p", "hi"], &["a hook blocked the prompt", "not today"]);
}

/// Whether a process runs; one that has ended and that nobody asked after does not.
fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

#[test]
fn a_hanging_command_ends_with_the_turn_and_all_it_started() {
    let sandbox = trusted(
        Wire::Gemini,
        [shell("echo begun; sleep 1000 & echo $! > child; wait"), gemini::text("Fine.")],
    );
    let mut child = sandbox.start(&["-p", "Wait.", "--yolo", "--output-format", "stream-json"]);
    let stdout = BufReader::new(child.stdout.take().expect("piped"));
    let mut printed = Vec::new();
    for line in stdout.lines() {
        let line = line.expect("text");
        let is_call = line.contains("\"tool_call\"");
        printed.push(line);
        if is_call {
            // The command has begun once it has said which process it waits for.
            while fs::read_to_string(sandbox.path("work/child")).map_or(true, |pid| !pid.ends_with('\n')) {
                std::thread::yield_now();
            }
            let done =
                Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
            assert!(done.success());
        }
    }
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let pid = fs::read_to_string(sandbox.path("work/child")).expect("it was written");
    assert!(!runs(pid.trim()), "{pid} still runs");
    let result: Value = serde_json::from_str(printed.last().expect("a result")).expect("JSON");
    assert_eq!(result["status"], "cancelled");
    assert_eq!(sandbox.answer(&["--resume", "-p", "Go on."]), "Fine.\n");
    assert!(answered(&sandbox)[0].to_string().contains("begun"), "{:?}", answered(&sandbox));
}

#[test]
fn a_sudden_end_while_a_tool_runs_loses_nothing_else() {
    let replies = [
        call("read_file", json!({"file_path": "a.txt"})),
        shell("echo $$ > pid; sleep 1000"),
        gemini::text("Back."),
    ];
    let sandbox = trusted(Wire::Gemini, replies);
    sandbox.write("work/a.txt", "text of a");
    let mut child = sandbox.start(&["-p", "Work.", "--yolo"]);
    while fs::read_to_string(sandbox.path("work/pid")).map_or(true, |pid| !pid.ends_with('\n')) {
        std::thread::yield_now();
    }
    child.kill().expect("killed");
    child.wait().expect("it ends");
    let pid = fs::read_to_string(sandbox.path("work/pid")).expect("written");
    let _ = Command::new("kill").args(["-9", pid.trim()]).status();
    let mut said = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
    assert_eq!(sandbox.answer(&["--resume", "-p", "Go on."]), "Back.\n");
    let answered = answered(&sandbox);
    assert!(answered[0].to_string().contains("text of a"), "{answered:?}");
    // The call that never ended is answered, so that no provider finds it alone.
    assert_eq!(answered.len(), 2, "{answered:?}");
}

#[test]
fn compaction_in_a_loop_of_tools_keeps_the_rules_and_the_window() {
    let mut replies: Vec<Reply> =
        (0..40).map(|n| call("read_file", json!({"file_path": format!("f{n}.txt")}))).collect();
    replies.push(gemini::text("All read."));
    let sandbox = trusted(Wire::Gemini, replies);
    for n in 0..40 {
        sandbox.write(&format!("work/f{n}.txt"), &format!("file {n}: {}", words(120)));
    }
    sandbox.settings(
        r#"{"longhaul": {"windows": {"gemini-2.5-flash": 12000}, "compaction": {"summariser": "offline"}}}"#,
    );
    let answer = sandbox.answer(&["-p", "Never push to main. Read all.", "--output-format", "stream-json"]);
    let lines = lines(&answer);
    let applied =
        lines.iter().filter(|line| line["type"] == "compaction" && line["phase"] == "applied").count();
    assert!(applied > 0, "{applied}");
    for request in sandbox.server.requests() {
        assert!(request.body.to_string().contains("Never push to main."));
        assert!(request.body["contents"].to_string().len() / 4 < 12_000);
    }
    assert_eq!(lines.last().expect("a result")["status"], "finished");
}

#[test]
fn a_limit_of_steps_ends_the_turn_and_says_how_to_go_on() {
    let replies = (0..5).map(|n| call("read_file", json!({"file_path": format!("f{n}.txt")})));
    let sandbox = trusted(Wire::Gemini, replies);
    sandbox.check_fails(
        &["-p", "Read.", "--max-turns", "2"],
        &["the limit of 2 model calls in this turn", "--max-turns", "--resume"],
    );
    assert_eq!(sandbox.server.requests().len(), 2);
}

#[test]
fn policy_check_says_which_rule_decides() {
    let sandbox = trusted(Wire::Gemini, []);
    sandbox.write("home/policies/mine.toml", "[[rule]]\nname = \"my logs\"\ntoolName = \"run_shell_command\"\ncommandPrefix = \"git log\"\ndecision = \"allow\"\npriority = 100\n");
    let said = text(&sandbox.run(&["policy", "check", "run_shell_command", "git log -1"]).stdout);
    assert!(said.contains("my logs"), "{said}");
    let json = text(
        &sandbox.run(&["policy", "check", "run_shell_command", "git log && rm -r src", "--json"]).stdout,
    );
    let told: Value = serde_json::from_str(&json).expect("one object");
    assert_eq!((&told["decision"], told["parts"].as_array().map(Vec::len)), (&json!("ask_user"), Some(2)));
    let headless =
        text(&sandbox.run(&["policy", "check", "write_file", "{}", "--headless", "--json"]).stdout);
    assert!(headless.contains("\"deny\""), "{headless}");
    let output = sandbox.run(&["policy", "check", "write_file", "nonsense"]);
    assert_eq!(output.status.code(), Some(1));
    sandbox.write("home/policies/bad.toml", "[[rule]]\ntoolName = 3\n");
    let output = sandbox.run(&["policy", "check", "glob"]);
    assert!(output.status.success() && text(&output.stderr).contains("bad.toml"), "{}", text(&output.stderr));
}

#[test]
fn two_programs_in_one_folder_do_not_mix() {
    let slow = shell("while [ ! -e go ]; do sleep 0.01; done; echo went");
    let sandbox = trusted(Wire::Gemini, [slow, gemini::text("Second."), gemini::text("First.")]);
    let mut first = sandbox.start(&["-p", "One.", "--yolo"]);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(sandbox.server.request_arrived());
    assert_eq!(sandbox.answer(&["-p", "Two."]), "Second.\n");
    sandbox.write("work/go", "");
    let mut said = String::new();
    first.stdout.take().expect("piped").read_to_string(&mut said).expect("text");
    assert!(first.wait().expect("it ends").success());
    assert_eq!((said.as_str(), sandbox.sessions().len()), ("First.\n", 2));
}

#[test]
fn a_stalled_model_between_tools_can_be_stopped() {
    let stalls = gemini::text("").only(0, Step::Stall);
    let sandbox = trusted(
        Wire::Gemini,
        [call("list_directory", json!({"dir_path": "."})), stalls, gemini::text("Yes.")],
    );
    let child = sandbox.start(&["-p", "List."]);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(sandbox.server.request_arrived());
    runtime.block_on(sandbox.server.request_arrived());
    let done = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(done.success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert_eq!(sandbox.answer(&["--resume", "-p", "Still there?"]), "Yes.\n");
}

/// A number from a small generator: the same test kills at the same moments.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// So many kills, or as many as `LONGHAUL_KILLS` says.
const KILLS: u64 = 12;

#[test]
fn a_session_goes_on_after_any_sudden_end() {
    let kills = std::env::var("LONGHAUL_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(KILLS);
    let mut state = 20_260_304;
    for kill in 0..kills {
        let work = (0..12).map(|n| match n % 3 {
            0 => call("read_file", json!({"file_path": "a.txt", "start_line": n + 1})),
            1 => shell(&format!("echo step {n}; seq 1 {}", 50 * n)),
            _ => call("write_file", json!({"file_path": format!("out{n}.txt"), "content": words(40)})),
        });
        let sandbox = trusted(Wire::Gemini, work.chain((0..12).map(|_| gemini::text("Back."))));
        sandbox.write("work/a.txt", &"line\n".repeat(200));
        sandbox.settings(r#"{"longhaul": {"windows": {"gemini-2.5-flash": 9000}, "compaction": {"summariser": "offline"}}}"#);
        let mut child =
            sandbox.start(&["-p", "Never push to main. Work.", "--yolo", "--output-format", "stream-json"]);
        // The end comes behind some line of what it prints, wherever that is in its work.
        let lines = next(&mut state) % 30;
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        for _ in 0..lines {
            line.clear();
            if stdout.read_line(&mut line).expect("text") == 0 {
                break;
            }
        }
        child.kill().expect("killed");
        child.wait().expect("it ends");
        drop(stdout);
        if sandbox.sessions().is_empty() {
            continue;
        }
        let output =
            sandbox.say(&["--resume", "-p", "Go on with the report.", "--yolo", "--max-turns", "30"]);
        assert!(output.status.success(), "kill {kill} behind {lines} lines: {}", text(&output.stderr));
        let last = sandbox.server.requests().last().expect("a request").body.to_string();
        assert!(
            last.contains("Never push to main.") && last.contains("Go on with the report."),
            "kill {kill}"
        );
    }
}

#[test]
fn a_skill_is_offered_activated_and_kept_in_mind() {
    let replies = [
        call("activate_skill", json!({"name": "Tides"})),
        call("activate_skill", json!({"name": "waves"})),
        Wire::Gemini.texts(&["Done."]),
    ];
    let sandbox = trusted(Wire::Gemini, replies);
    let skill = "---\nname: tides\ndescription: Reads tide tables.\n---\nRead references/table.txt.\n";
    sandbox.write("home/skills/tides/SKILL.md", skill);
    sandbox.write("home/skills/tides/references/table.txt", "low at six");
    sandbox.answer(&["-p", "When is low tide?", "--allowed-tools", "activate_skill"]);
    let first = sandbox.server.requests()[0].body.clone();
    let system = first["systemInstruction"].to_string();
    assert!(system.contains("<name>tides</name>") && system.contains("Reads tide tables."), "{system}");
    let answers = answered(&sandbox);
    assert!(answers[0].to_string().contains("Read references/table.txt."), "{answers:?}");
    assert!(
        answers[1].to_string().contains("There is no skill \\\"waves\\\". There are: skill-creator, tides."),
        "{answers:?}"
    );
    let recorded = sandbox.session();
    assert!(recorded.contains("\"skills\":[\"tides\"]"), "{recorded}");
}
