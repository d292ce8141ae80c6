//! Hooks as users write them: small shell scripts in a temporary project.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use longhaul_conversation::Timestamp;
use longhaul_hooks::{
    Hook, HookContext, HookEnvironment, HookEvent, HookExit, HookOutcome, HookScope, HookSettings, Hooks,
    ToolUse, parse_hooks, run_hooks,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// A project with hooks.
struct Project {
    root: tempfile::TempDir,
    is_trusted: bool,
    cancel: CancellationToken,
}

impl Project {
    fn new() -> Self {
        let root = tempfile::Builder::new().prefix("my app ").tempdir().expect("a folder");
        Self { root, is_trusted: true, cancel: CancellationToken::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn pipe(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        assert!(Command::new("mkfifo").arg(&path).status().expect("started").success());
        path
    }

    fn context(&self) -> HookContext {
        HookContext {
            session_id: "s1".into(),
            transcript_path: self.path("session.jsonl"),
            cwd: self.root.path().into(),
            timestamp: Timestamp::from_millis(0),
        }
    }

    fn environment(&self) -> HookEnvironment {
        HookEnvironment {
            variables: vec![
                ("PATH".into(), std::env::var_os("PATH").expect("a path")),
                ("INHERITED".into(), "yes".into()),
            ],
            project: self.root.path().into(),
            is_trusted: self.is_trusted,
            plans: Some(self.path("plans")),
        }
    }

    async fn run(&self, hooks: &Value, event: &HookEvent) -> HookOutcome {
        self.run_hooks(read_hooks(hooks, HookScope::Project), event).await
    }

    async fn run_hooks(&self, hooks: Vec<Hook>, event: &HookEvent) -> HookOutcome {
        let hooks = Hooks::new(hooks, &HookSettings::default(), true);
        run_hooks(&hooks, event, &self.context(), &self.environment(), &self.cancel).await
    }

    /// Runs a single command at an event that can be blocked.
    async fn run_command(&self, command: &str) -> HookOutcome {
        self.run(&at("BeforeAgent", &[command]), &prompt("hello")).await
    }
}

fn read_hooks(hooks: &Value, scope: HookScope) -> Vec<Hook> {
    let (hooks, warnings) = parse_hooks(hooks, scope);
    assert!(warnings.is_empty(), "{warnings:?}");
    hooks
}

fn at(event: &str, commands: &[&str]) -> Value {
    let hooks: Vec<_> =
        commands.iter().map(|command| json!({"type": "command", "command": command})).collect();
    json!({event: [{"hooks": hooks}]})
}

fn in_turn(event: &str, commands: &[&str]) -> Value {
    let mut hooks = at(event, commands);
    hooks[event][0]["sequential"] = json!(true);
    hooks
}

fn prompt(prompt: &str) -> HookEvent {
    HookEvent::BeforeAgent { prompt: prompt.into() }
}

#[tokio::test]
async fn a_hook_reads_its_event() {
    let project = Project::new();
    let outcome = project.run_command("cat > input.json").await;
    assert_eq!(outcome.runs[0].exit, HookExit::Code(0));
    let input: Value = serde_json::from_str(&project.read("input.json")).expect("JSON");
    assert_eq!(input, prompt("hello").encode_input(&project.context()));
}

#[tokio::test]
async fn a_hook_finds_its_way() {
    let project = Project::new();
    fs::write(project.path("hook.sh"), "pwd -P > where; env > env").expect("written");
    let mut hooks = at("BeforeAgent", &["sh $GEMINI_PROJECT_DIR/hook.sh"]);
    hooks["BeforeAgent"][0]["hooks"][0]["env"] = json!({"OWN": "mine", "GEMINI_SESSION_ID": "other"});
    let outcome = project.run(&hooks, &prompt("")).await;
    assert_eq!(outcome.failures().next(), None);
    let root = fs::canonicalize(project.root.path()).expect("there");
    assert_eq!(Path::new(project.read("where").trim_end()), root);
    let environment = project.read("env");
    let root = project.root.path().display();
    for line in [
        format!("GEMINI_PROJECT_DIR={root}"),
        format!("CLAUDE_PROJECT_DIR={root}"),
        format!("GEMINI_CWD={root}"),
        format!("GEMINI_PLANS_DIR={root}/plans"),
        "GEMINI_SESSION_ID=other".into(),
        "INHERITED=yes".into(),
        "OWN=mine".into(),
    ] {
        assert!(environment.lines().any(|found| found == line), "{line} in {environment}");
    }
    assert!(!environment.contains("CARGO"), "only what was passed in is inherited: {environment}");
}

#[tokio::test]
async fn exit_codes_mean_what_the_protocol_says() {
    let project = Project::new();
    let check = async |command: &str, block: Option<&str>, message: Option<&str>| {
        let outcome = project.run_command(command).await;
        assert_eq!((outcome.block(), outcome.system_message()), (block, message), "{command}");
    };
    check("echo fine", None, Some("fine")).await;
    check("echo no >&2; exit 2", Some("no"), None).await;
    check("exit 2", Some("hook \"exit 2\" gave no reason"), None).await;
    check("echo odd; exit 1", None, Some("Warning: odd")).await;
    check("echo odd; exit 3", None, Some("Warning: odd")).await;
    check(r#"echo '{"decision": "deny", "reason": "json"}'; exit 1"#, Some("json"), None).await;
    check("true", None, None).await;
    check("no-such-command-anywhere 2>/dev/null", None, None).await;
}

#[tokio::test]
async fn failures_are_told() {
    let project = Project::new();
    let check = async |command: &str, expected: Option<&str>| {
        let outcome = project.run_command(command).await;
        assert_eq!(outcome.failures().next().as_deref(), expected);
    };
    check("exit 0", None).await;
    check("exit 2", None).await;
    check("exit 7", Some("hook \"exit 7\" failed with exit code 7")).await;
    check("kill -9 $$", Some("hook \"kill -9 $$\" was killed by signal 9")).await;
}

#[tokio::test]
async fn a_hook_that_cannot_start_says_so() {
    let project = Project::new();
    let hooks = Hooks::new(
        read_hooks(&at("BeforeAgent", &["true"]), HookScope::User),
        &HookSettings::default(),
        true,
    );
    let nowhere = project.path("nowhere");
    let context = HookContext { cwd: nowhere.clone(), ..project.context() };
    let environment = HookEnvironment { project: nowhere, ..project.environment() };
    let outcome = run_hooks(&hooks, &prompt(""), &context, &environment, &project.cancel).await;
    assert!(matches!(outcome.runs[0].exit, HookExit::NotStarted(_)), "{outcome:?}");
    assert_eq!(outcome.block(), None);
    // A deleted working folder does not prevent hooks from running.
    let outcome = run_hooks(&hooks, &prompt(""), &context, &project.environment(), &project.cancel).await;
    assert_eq!(outcome.runs[0].exit, HookExit::Code(0));
}

#[tokio::test]
async fn more_than_a_pipe_holds_goes_in_and_out() {
    let project = Project::new();
    let long = prompt(&"x".repeat(1_000_000));
    let outcome = project.run(&at("BeforeAgent", &["cat", "true # reads nothing"]), &long).await;
    let lengths: Vec<_> =
        outcome.runs.iter().map(|run| (run.stdout.len() > 1_000_000, run.exit.clone())).collect();
    assert_eq!(lengths, [(true, HookExit::Code(0)), (false, HookExit::Code(0))]);
}

#[tokio::test]
async fn a_flood_is_cut_and_the_hook_still_ends() {
    let project = Project::new();
    let outcome = project.run_command("head -c 6000000 /dev/zero | tr '\\0' x").await;
    assert_eq!((outcome.runs[0].stdout.len(), &outcome.runs[0].exit), (4 << 20, &HookExit::Code(0)));
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_takes_too_long_is_killed_and_blocks_nothing() {
    let project = Project::new();
    project.pipe("block");
    let outcome = project.run_command("cat block; echo '{\"decision\": \"deny\"}'").await;
    assert_eq!(outcome.runs[0].exit, HookExit::TimedOut);
    assert_eq!(outcome.block(), None);
    let failure = outcome.failures().next().expect("a failure");
    assert!(failure.contains("timed out after 6"), "{failure}");
}

/// Observes a script through a pipe: that it runs, and when all its processes have ended.
struct Witness {
    lines: BufReader<fs::File>,
}

impl Witness {
    /// Waits until someone opens the pipe and writes a line.
    async fn of(pipe: PathBuf) -> Self {
        let open = move || {
            let mut lines = BufReader::new(fs::File::open(pipe).expect("opened"));
            lines.read_line(&mut String::new()).expect("a line");
            Self { lines }
        };
        tokio::task::spawn_blocking(open).await.expect("no panic")
    }

    /// Waits until no writer is left.
    async fn all_ended(mut self) {
        let read = move || self.lines.read_to_string(&mut String::new()).map(drop);
        tokio::task::spawn_blocking(read).await.expect("no panic").expect("read");
    }
}

/// A script whose child holds the pipe `alive` open and ignores TERM.
const STUBBORN_CHILD: &str = "( trap '' TERM; exec 9>alive; echo started >&9; read line <block ) & wait";

/// A script that does the same itself.
const STUBBORN: &str = "trap '' TERM; exec 9>alive; echo started >&9; while :; do read line <block; done";

#[tokio::test(start_paused = true)]
async fn cancelling_ends_a_hook_and_all_it_started() {
    for script in [STUBBORN_CHILD, STUBBORN] {
        let project = Project::new();
        project.pipe("block");
        let pipe = project.pipe("alive");
        let watch = async {
            let witness = Witness::of(pipe).await;
            project.cancel.cancel();
            witness
        };
        let (outcome, witness) = tokio::join!(project.run_command(script), watch);
        witness.all_ended().await;
        assert_eq!(outcome.runs[0].exit, HookExit::Cancelled);
        assert_eq!(outcome.failures().next(), None);
    }
}

#[tokio::test]
async fn what_is_dropped_is_killed() {
    for sequential in [false, true] {
        let project = Arc::new(Project::new());
        project.pipe("block");
        let pipe = project.pipe("alive");
        let hooks =
            if sequential { in_turn("BeforeAgent", &[STUBBORN]) } else { at("BeforeAgent", &[STUBBORN]) };
        let running = tokio::spawn({
            let project = Arc::clone(&project);
            async move { project.run(&hooks, &prompt("")).await }
        });
        let witness = Witness::of(pipe).await;
        running.abort();
        assert!(running.await.expect_err("aborted").is_cancelled());
        witness.all_ended().await;
    }
}

#[tokio::test]
async fn nothing_runs_once_it_is_cancelled() {
    let project = Project::new();
    project.cancel.cancel();
    let outcome = project.run_command("touch ran").await;
    assert_eq!(outcome.runs[0].exit, HookExit::Cancelled);
    assert!(!project.path("ran").exists());
}

#[tokio::test]
async fn what_a_hook_leaves_running_keeps_nobody_waiting() {
    let project = Project::new();
    let pipe = project.pipe("block");
    let outcome = project.run_command("cat block & echo done").await;
    assert_eq!((&outcome.runs[0].exit, outcome.runs[0].stdout.as_str()), (&HookExit::Code(0), "done\n"));
    // It still reads: the hook's end has not killed it.
    tokio::task::spawn_blocking(|| fs::write(pipe, "released")).await.expect("no panic").expect("written");
}

#[tokio::test]
async fn hooks_run_at_the_same_time() {
    let project = Project::new();
    project.pipe("talk");
    // Each waits for the other: in sequence they would never end.
    let outcome = project.run(&at("BeforeAgent", &["echo heard > talk", "cat talk"]), &prompt("")).await;
    assert_eq!(outcome.runs[1].stdout, "heard\n");
    assert_eq!(outcome.system_message(), Some("heard"));
}

#[tokio::test]
async fn hooks_in_turn_see_what_was_changed() {
    let project = Project::new();
    let add = r#"echo '{"hookSpecificOutput": {"additionalContext": "more"}}'"#;
    let fail = r#"echo '{"hookSpecificOutput": {"additionalContext": "lost"}}'; exit 1"#;
    let outcome =
        project.run(&in_turn("BeforeAgent", &[add, fail, "cat > last.json"]), &prompt("first")).await;
    let input: Value = serde_json::from_str(&project.read("last.json")).expect("JSON");
    assert_eq!(input["prompt"], "first\n\nmore");
    assert_eq!(outcome.context().as_deref(), Some("<hook_context>more\nlost</hook_context>"));

    let change = r#"echo '{"hookSpecificOutput": {"tool_input": {"file_path": "b"}}}'"#;
    let tool_input = json!({"file_path": "a", "limit": 1}).as_object().expect("an object").clone();
    let call = ToolUse { tool_name: "read_file".into(), tool_input, ..ToolUse::default() };
    let outcome = project
        .run(&in_turn("BeforeTool", &[change, "cat > tool.json"]), &HookEvent::BeforeTool { call })
        .await;
    let input: Value = serde_json::from_str(&project.read("tool.json")).expect("JSON");
    assert_eq!(input["tool_input"], json!({"file_path": "b", "limit": 1}));
    assert_eq!(outcome.tool_input(), json!({"file_path": "b"}).as_object());
}

#[tokio::test]
async fn hooks_in_turn_keep_their_order() {
    let project = Project::new();
    let commands = ["echo 1 >> order", "echo 2 >> order", "echo 3 >> order"];
    let outcome = project.run(&in_turn("BeforeAgent", &commands), &prompt("")).await;
    assert_eq!(project.read("order"), "1\n2\n3\n");
    assert_eq!(outcome.runs.iter().map(|run| run.label.as_str()).collect::<Vec<_>>(), commands);
}

#[tokio::test]
async fn one_block_is_enough() {
    let project = Project::new();
    let outcome = project.run(&at("BeforeAgent", &["true", "exit 2", "echo fine"]), &prompt("")).await;
    assert!(outcome.block().is_some());
    assert_eq!(outcome.runs.len(), 3);
}

#[tokio::test]
async fn an_untrusted_folder_runs_no_hook_of_its_own() {
    let project = Project { is_trusted: false, ..Project::new() };
    let mut hooks = read_hooks(&at("BeforeAgent", &["touch project"]), HookScope::Project);
    hooks.extend(read_hooks(&at("BeforeAgent", &["touch user"]), HookScope::User));
    hooks.extend(read_hooks(&at("BeforeAgent", &["touch extension"]), HookScope::Extension));
    let outcome = project.run_hooks(hooks, &prompt("")).await;
    assert_eq!(outcome.runs.len(), 2);
    assert!(!project.path("project").exists());
    assert!(project.path("user").exists() && project.path("extension").exists());
}

#[tokio::test]
async fn matchers_choose() {
    let project = Project::new();
    let hooks = json!({"BeforeTool": [
        {"matcher": "write_.*", "hooks": [{"type": "command", "command": "echo writes"}]},
        {"matcher": "read_.*", "hooks": [{"type": "command", "command": "echo reads"}]},
        {"hooks": [{"type": "command", "command": "echo all"}]}
    ]});
    let call = ToolUse { tool_name: "write_file".into(), ..ToolUse::default() };
    let outcome = project.run(&hooks, &HookEvent::BeforeTool { call }).await;
    assert_eq!(outcome.system_message(), Some("writes\nall"));
}

/// The code blocks of a language in the documentation, in order.
fn blocks(language: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hooks.md");
    let text = fs::read_to_string(path).expect("the documentation");
    let opening = format!("```{language}\n");
    let parts = text.split(&opening).skip(1);
    parts.map(|part| part.split("```").next().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn the_recipe_in_the_documentation_works() {
    let project = Project::new();
    let settings = blocks("json").into_iter().find(|block| block.contains("PreCompress")).expect("a recipe");
    let recipe: Value = serde_json::from_str(&settings).expect("JSON");
    let scripts = blocks("sh");
    let [save, show] = scripts.as_slice() else { panic!("{scripts:?}") };
    fs::create_dir_all(project.path(".gemini/hooks")).expect("made");
    fs::write(project.path(".gemini/hooks/save-facts.sh"), save).expect("written");
    fs::write(project.path(".gemini/hooks/show-facts.sh"), show).expect("written");

    let (prompt, compaction) =
        (prompt("go on"), HookEvent::PreCompress { trigger: longhaul_conversation::Trigger::Automatic });
    let submit = || project.run(&recipe["hooks"], &prompt);
    let compress = || project.run(&recipe["hooks"], &compaction);
    assert_eq!(submit().await.context(), None);

    let say = |text: &str| fs::write(project.path("session.jsonl"), json!({ "content": text }).to_string());
    say("FACT: the port is 8080\nand more").expect("written");
    assert_eq!(compress().await.failures().next(), None);
    say("FACT: staging is down\nFACT: the port is 8080\n").expect("written");
    assert_eq!(compress().await.failures().next(), None);
    let outcome = submit().await;
    assert_eq!(outcome.failures().next(), None);
    assert_eq!(
        outcome.context().as_deref(),
        Some("<hook_context>FACT: staging is down\nFACT: the port is 8080\n</hook_context>")
    );
    assert_eq!(outcome.system_message(), None);
}
