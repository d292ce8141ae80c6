//! Tests with real commands.

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use longhaul_conversation::CallId;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;

/// A workspace with a folder `src`, and the tools for it.
struct ShellWorkspace {
    folder: tempfile::TempDir,
    shell: RunShellCommand,
    jobs: Jobs,
}

fn world_with(max_output: usize) -> ShellWorkspace {
    world_of(ShellSettings { max_output, ..ShellSettings::default() })
}

fn world_of(mut settings: ShellSettings) -> ShellWorkspace {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("work/src")).unwrap();
    let roots = Roots::new(&folder.path().join("work"), &[]).unwrap();
    let jobs = Jobs::new();
    settings.environment = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
    ShellWorkspace { folder, shell: RunShellCommand::new(roots, settings, jobs.clone()), jobs }
}

fn world() -> ShellWorkspace {
    world_with(1 << 20)
}

async fn call(tool: &dyn Tool, args: Value) -> ToolOutcome {
    call_until(tool, args, &CancellationToken::new()).await
}

async fn call_until(tool: &dyn Tool, args: Value, cancel: &CancellationToken) -> ToolOutcome {
    let id = CallId::new("c");
    tool.run(ToolInvocation {
        id: &id,
        args: &args,
        progress: &|_| (),
        cancel,
        permitted: PermittedEffects::Any,
    })
    .await
    .outcome
}

impl ShellWorkspace {
    async fn run(&self, command: &str) -> ToolOutcome {
        call(&self.shell, json!({ "command": command })).await
    }

    fn work(&self) -> &Path {
        self.shell.roots.first()
    }

    async fn read_job(&self, job: &str) -> ToolOutcome {
        call(&ReadJobOutput::new(self.jobs.clone()), json!({ "job": job })).await
    }

    /// The id of a process that wrote it into a file.
    fn pid_in(&self, file: &str) -> u32 {
        fs::read_to_string(self.work().join(file)).unwrap().trim().parse().unwrap()
    }
}

fn succeeded(text: &str) -> ToolOutcome {
    ToolOutcome::Succeeded(text.to_string())
}

fn failed(text: &str) -> ToolOutcome {
    ToolOutcome::Failed(text.to_string())
}

/// True if a process runs; a zombie does not.
fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
    state.is_some_and(|state| state != "Z")
}

/// Waits until a killed process is gone, which takes a moment.
async fn check_gone(pid: u32) {
    for _ in 0..1_000 {
        if !runs(pid) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{pid} still runs");
}

#[tokio::test]
async fn a_command_answers_with_output_and_exit_code() {
    let world = world();
    assert_eq!(world.run("echo a; echo b >&2; echo c").await, succeeded("a\nb\nc\nExit code: 0"));
    assert_eq!(world.run("printf x; exit 3").await, failed("x\nExit code: 3"));
    assert_eq!(world.run("true").await, succeeded("(no output)\nExit code: 0"));
    assert_eq!(world.run("kill -SEGV $$").await, failed("(no output)\nSignal: 11 (SEGV)"));
    assert_eq!(world.run("read line || echo closed").await, succeeded("closed\nExit code: 0"));
    assert_eq!(
        world.run("printf '\\033[31m1%%\\r\\033[32m99%%\\033[0m\\n'").await,
        succeeded("99%\nExit code: 0")
    );
    assert!(
        matches!(world.run("a\0b").await, ToolOutcome::Failed(why) if why.starts_with("The command could not"))
    );
    let ToolOutcome::Failed(text) = world.run("no-such-program-here").await else { panic!() };
    assert!(text.ends_with("command not found\nExit code: 127"), "{text}");
}

#[tokio::test]
async fn a_character_that_arrives_in_two_parts_is_whole() {
    // However they are read, together or apart.
    let world = world();
    let command = r"printf '\342'; sleep 0.05; printf '\202\254'";
    assert_eq!(world.run(command).await, succeeded("€\nExit code: 0"));
}

#[tokio::test]
async fn the_environment_is_what_was_given_and_no_terminal() {
    let world = world();
    let told = world.run("echo $TERM $PAGER $GIT_PAGER $LONGHAUL ${HOME:-none}").await;
    assert_eq!(told, succeeded("dumb cat cat 1 none\nExit code: 0"));
}

#[tokio::test]
async fn commands_run_inside_the_workspace() {
    let world = world();
    let here = |directory: &str| json!({"command": "pwd", "directory": directory});
    let expected = format!("{}\nExit code: 0", world.work().join("src").display());
    assert_eq!(call(&world.shell, here("src")).await, succeeded(&expected));
    assert_eq!(call(&world.shell, json!({"command": "pwd", "dir_path": "src"})).await, succeeded(&expected));
    fs::create_dir(world.folder.path().join("outside")).unwrap();
    std::os::unix::fs::symlink("../outside", world.work().join("link")).unwrap();
    for outside in ["..", "/", "../outside", "link"] {
        let ToolOutcome::Failed(why) = call(&world.shell, here(outside)).await else { panic!("{outside}") };
        assert!(why.contains("outside of the workspace"), "{why}");
        assert_eq!(world.shell.preview(&here(outside)).unwrap_err(), why);
    }
    assert_eq!(call(&world.shell, here("no")).await, failed("\"no\" is not a folder."));
}

#[test]
fn a_call_is_previewed_or_refused() {
    let world = world();
    let preview = |args| world.shell.preview(&args);
    assert_eq!(
        preview(json!({"command": "ls", "directory": "src", "is_background": true, "description": "Lists."})),
        Ok(Preview::Command {
            command: "ls".into(),
            directory: world.work().join("src"),
            is_background: true
        })
    );
    assert_eq!(preview(json!({"command": " "})), Err("The command is empty.".into()));
    assert!(preview(json!({"command": "ls", "timeout_seconds": 0})).unwrap_err().contains("at least 1"));
    assert!(preview(json!({})).unwrap_err().contains("missing field `command`"));
    let properties = world.shell.declaration().parameters["properties"].clone();
    let names: Vec<_> = properties.as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, ["command", "description", "directory", "timeout_seconds", "is_background"]);
}

#[tokio::test]
async fn a_flood_is_kept_at_its_ends() {
    let world = world_with(200_000);
    let ToolOutcome::Succeeded(text) = world.run("echo first; yes | head -c 3000000; echo last").await else {
        panic!()
    };
    assert!(text.len() < 210_000, "{}", text.len());
    assert!(text.starts_with("first\ny\ny\n"));
    assert!(text.contains("\ny\nlast\nExit code: 0"), "{}", &text[text.len() - 100..]);
    let (_, rest) = text.split_once('[').unwrap();
    let (count, _) = rest.split_once(" bytes of output left out]\n").unwrap();
    let id = CallId::new("c");
    let args = json!({"command": "yes | head -c 3000000"});
    let cancel = CancellationToken::new();
    let answer = world
        .shell
        .run(ToolInvocation {
            id: &id,
            args: &args,
            progress: &|_| (),
            cancel: &cancel,
            permitted: PermittedEffects::Any,
        })
        .await;
    assert!(answer.left_out > 2_700_000 && !count.is_empty(), "{} of {count}", answer.left_out);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_run_side_by_side() {
    // Each waits until the other has begun.
    let world = Arc::new(world());
    let command = |own: &str, other: &str| {
        format!("mkfifo {own} {other} 2>/dev/null; (echo {own} > {own} &); cat {other}")
    };
    let (first, second) = (command("a", "b"), command("b", "a"));
    let (first, second) = tokio::join!(world.run(&first), world.run(&second));
    assert!(first.text().starts_with("b\n"), "{first:?}");
    assert!(second.text().starts_with("a\n"), "{second:?}");
}

#[tokio::test(start_paused = true)]
async fn a_command_that_always_writes_has_an_end_too() {
    for (args, limit) in [
        (json!({"command": "while echo up; do sleep 0.01; done"}), "30 s"),
        (json!({"command": "sleep 600", "timeout_seconds": 500}), "30 s"),
        (json!({"command": "sleep 600", "timeout_seconds": 5}), "5 s"),
    ] {
        let total = Some(Duration::from_secs(30));
        let world = world_of(ShellSettings { total, ..ShellSettings::default() });
        let ToolOutcome::Failed(text) = call(&world.shell, args).await else {
            panic!("it does not end by itself")
        };
        assert!(text.contains(&format!("it had not ended after {limit}, its time limit.")), "{text}");
        assert_eq!(world.jobs.running(), []);
    }
}

#[tokio::test(start_paused = true)]
async fn what_takes_too_long_is_stopped_with_all_that_it_started() {
    let world = world();
    let ready = world.work().join("ready");
    assert!(std::process::Command::new("mkfifo").arg(&ready).status().unwrap().success());
    let command = "trap '' TERM
        (trap '' TERM; echo $BASHPID > pid; echo up; echo up > ready; sleep 600; sleep 600) & wait; wait";
    let args = json!({"command": command, "timeout_seconds": 2});
    // Time stands still until all have begun, and then passes at once.
    let begun = tokio::task::spawn_blocking(move || fs::read_to_string(ready));
    let (outcome, begun) = tokio::join!(call(&world.shell, args), begun);
    assert_eq!(begun.unwrap().unwrap(), "up\n");
    let ToolOutcome::Failed(text) = outcome else { panic!("{outcome:?}") };
    assert!(text.starts_with("up\nStopped: it had not ended after 2 s, its time limit."), "{text}");
    assert!(!text.contains("in the background"), "{text}");
    assert!(!runs(world.pid_in("pid")));
    assert_eq!(world.jobs.running(), []);
}

#[tokio::test(start_paused = true)]
async fn what_is_silent_for_too_long_is_stopped() {
    let world = world();
    let outcome = world.run("sleep 6000").await;
    let ToolOutcome::Failed(text) = outcome else { panic!("{outcome:?}") };
    assert!(text.contains("\nStopped: it wrote nothing for 10 min. "), "{text}");
}

#[tokio::test]
async fn cancelling_ends_everybody_and_keeps_what_was_said() {
    let world = world();
    let cancel = CancellationToken::new();
    // It is cancelled by its own first output.
    let command = "sleep 600 & echo $! > child; (sleep 600 & echo $! > grandchild; wait) &
        while [ ! -s grandchild ]; do :; done; echo ready; wait";
    let (args, id) = (json!({ "command": command }), CallId::new("c"));
    let progress = |heard: &str| {
        if heard.contains("ready") {
            cancel.cancel();
        }
    };
    let answer = world
        .shell
        .run(ToolInvocation {
            id: &id,
            args: &args,
            progress: &progress,
            cancel: &cancel,
            permitted: PermittedEffects::Any,
        })
        .await;
    let expected = ToolOutcome::Cancelled("ready\nStopped: the call was cancelled.".into());
    assert_eq!(answer.outcome, expected);
    for file in ["child", "grandchild"] {
        check_gone(world.pid_in(file)).await;
    }
    assert!(matches!(
        call_until(&world.shell, json!({"command": "touch never"}), &cancel).await,
        ToolOutcome::Cancelled(_)
    ));
    assert!(!world.work().join("never").exists());
}

#[tokio::test]
async fn who_drops_a_call_ends_it() {
    let world = world();
    let (id, cancel, told) = (CallId::new("c"), CancellationToken::new(), tokio::sync::Notify::new());
    let args = json!({"command": "sleep 600 & echo $! > child; echo ready; wait"});
    let progress = |_: &str| told.notify_one();
    let run = world.shell.run(ToolInvocation {
        id: &id,
        args: &args,
        progress: &progress,
        cancel: &cancel,
        permitted: PermittedEffects::Any,
    });
    tokio::select! {
        answer = run => panic!("{answer:?}"),
        () = told.notified() => {}
    }
    check_gone(world.pid_in("child")).await;
}

#[tokio::test]
async fn what_a_command_leaves_behind_goes_on_as_a_job() {
    let world = world();
    let outcome = world.run("sleep 600 & echo $! > child; echo done").await;
    let pid = world.pid_in("child");
    let expected = format!("done\nExit code: 0\nBackground PIDs: {pid}\nRunning in the background as job-1.");
    assert_eq!(outcome, succeeded(&expected));
    assert!(runs(pid));
    world.jobs.stop_all().await;
    assert!(!runs(pid));
    assert_eq!(world.jobs.running(), []);
}

#[tokio::test]
async fn who_left_the_group_does_not_hold_up_the_answer() {
    let world = world();
    let command = "setsid sh -c 'echo $$ > pid; exec sleep 600' & while [ ! -s pid ]; do :; done; echo done";
    let outcome = world.run(command).await;
    let pid = world.pid_in("pid");
    assert_eq!(outcome, succeeded("done\nExit code: 0"));
    assert!(runs(pid));
    let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_job_lives_and_is_stopped() {
    let world = world();
    let args = json!({"command": "echo up; sleep 600 & echo $! > child; wait", "is_background": true});
    let outcome = call(&world.shell, args.clone()).await;
    let ToolOutcome::Succeeded(text) = &outcome else { panic!("{outcome:?}") };
    assert!(text.starts_with("Running in the background as job-1 (PID "), "{text}");
    assert!(text.ends_with("). Its output so far:\nup"), "{text}");
    let command = args["command"].as_str().unwrap().to_string();
    assert_eq!(world.jobs.running(), [RunningJob { name: "job-1".into(), command }]);
    let text = world.read_job("job-1").await;
    assert!(text.text().starts_with("Command is running for "), "{text:?}");
    assert!(text.text().ends_with(" (job-1: echo up; sleep 600 & echo $! > child; wait). Output:\nup"));
    let stop = StopJob::new(world.jobs.clone());
    assert_eq!(
        stop.preview(&json!({"job": "job-1"})),
        Ok(Preview::Other(format!("stop job-1: {}", args["command"].as_str().unwrap())))
    );
    let stopped = call(&stop, json!({"job": "job-1"})).await;
    assert!(stopped.text().starts_with("Command was stopped (job-1: echo up;"), "{stopped:?}");
    check_gone(world.pid_in("child")).await;
    assert_eq!(world.jobs.running(), []);
    assert_eq!(world.read_job("job-2").await, failed("There is no job \"job-2\", and none is running."));
}

#[tokio::test]
async fn a_job_that_fails_at_once_says_so() {
    let world = world();
    let outcome = call(&world.shell, json!({"command": "echo no >&2; exit 4", "is_background": true})).await;
    assert_eq!(outcome, failed("no\nExit code: 4"));
    let expected = "Command exited with code 4 (job-1: echo no >&2; exit 4). Output:\nno";
    assert_eq!(world.read_job("job-1").await, succeeded(expected));
}

#[tokio::test(start_paused = true)]
async fn a_job_ends_by_itself() {
    let world = world();
    let release = world.work().join("go");
    let args = json!({"command": "seq 5; mkfifo go; echo ready; read line < go; echo $line; exit 2", "is_background": true});
    let outcome = call(&world.shell, args).await;
    assert!(matches!(outcome, ToolOutcome::Succeeded(_)), "{outcome:?}");
    let mut job = world.jobs.find("job-1").unwrap();
    while !job.output.lock().text().text.contains("ready") {
        tokio::task::yield_now().await;
    }
    tokio::task::spawn_blocking(move || fs::write(release, "bye\n")).await.unwrap().unwrap();
    job.wait().await;
    let tool = ReadJobOutput::new(world.jobs.clone());
    let last = call(&tool, json!({"job": "job-1", "lines": 1})).await;
    assert!(last.text().starts_with("Command exited with code 2 ("), "{last:?}");
    assert!(last.text().ends_with(" Output:\nbye"), "{last:?}");
}

#[tokio::test]
async fn jobs_die_with_the_last_who_knows_them() {
    let world = world();
    let args = json!({"command": "sleep 600 & echo $! > child; wait", "is_background": true});
    call(&world.shell, args).await;
    let pid = world.pid_in("child");
    let ShellWorkspace { folder, shell, jobs } = world;
    drop(jobs);
    assert!(runs(pid));
    drop(shell);
    check_gone(pid).await;
    drop(folder);
}

#[tokio::test]
async fn progress_is_the_end_of_the_output() {
    let world = world();
    let heard = Mutex::new(String::new());
    let (id, cancel) = (CallId::new("c"), CancellationToken::new());
    let args = json!({"command": "seq 100; printf half; sleep 600"});
    let progress = |text: &str| {
        if text.ends_with("half") {
            *heard.lock().unwrap() = text.to_string();
            cancel.cancel();
        }
    };
    world
        .shell
        .run(ToolInvocation {
            id: &id,
            args: &args,
            progress: &progress,
            cancel: &cancel,
            permitted: PermittedEffects::Any,
        })
        .await;
    let heard = heard.into_inner().unwrap();
    assert!(heard.starts_with("82\n83\n") && heard.ends_with("\n100\nhalf"), "{heard}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_sandboxed_command_changes_the_workspace_alone() {
    use longhaul_workspace::NetworkAccess;
    let mut world = world_of(ShellSettings::default());
    let work = world.folder.path().join("work");
    let sandbox = Sandbox { writable: vec![work.clone(), "/dev/null".into()], network: NetworkAccess::None };
    if let Err(error) = sandbox.check() {
        println!("skipped: {error}");
        return;
    }
    let settings = ShellSettings {
        environment: vec![("PATH".into(), std::env::var_os("PATH").unwrap())],
        sandbox: Some(sandbox),
        ..ShellSettings::default()
    };
    world.shell = RunShellCommand::new(Roots::new(&work, &[]).unwrap(), settings, world.jobs.clone());
    let (id, cancel) = (CallId::from("1"), CancellationToken::new());
    let args = json!({"command": "echo in > a; echo gone > /dev/null; (echo out > ../b) 2>&1; cat a"});
    let call = ToolInvocation {
        id: &id,
        args: &args,
        progress: &|_| (),
        cancel: &cancel,
        permitted: PermittedEffects::Any,
    };
    let outcome = world.shell.run(call).await.outcome;
    assert!(outcome.text().contains("Permission denied") && outcome.text().contains("in"), "{outcome:?}");
    assert!(work.join("a").exists() && !world.folder.path().join("b").exists());
}
