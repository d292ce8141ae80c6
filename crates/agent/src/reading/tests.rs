//! Real repositories, and commands that really run.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use longhaul_conversation::CallId;
use longhaul_policy::{Call, Situation};
use longhaul_tools::{Jobs, PermittedEffects, RunShellCommand, ShellSettings, Tool, ToolInvocation};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::Permissions;

/// A repository `work` with files that may be read, and others whose contents are the word [`SECRET`].
struct World {
    folder: tempfile::TempDir,
}

const SECRET: &str = "hush-hush";

impl World {
    fn new() -> Self {
        let world = Self { folder: tempfile::tempdir().expect("a folder") };
        let files = [
            ("work/a.txt", "one\ntwo\nTODO three\n"),
            ("work/src/b.rs", "fn main() {}\n// TODO\n"),
            ("work/.gitignore", "*.log\n"),
            ("work/x.log", SECRET),
            ("work/.env", SECRET),
            ("work/src/.hidden", SECRET),
            ("outside.txt", SECRET),
        ];
        for (name, text) in files {
            let path = world.folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, text).expect("written");
        }
        std::os::unix::fs::symlink("../outside.txt", world.work().join("link")).expect("linked");
        world.git(&["init", "-q"]);
        world.git(&["add", "a.txt", "src/b.rs", ".gitignore"]);
        world.git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"]);
        fs::write(world.work().join("a.txt"), "one\n2\nTODO three\n").expect("written");
        world
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn git(&self, args: &[&str]) {
        let done = Command::new("git").args(args).current_dir(self.work()).output().expect("git runs");
        assert!(done.status.success(), "{args:?}: {done:?}");
    }

    fn scope(&self) -> ReadingScope {
        let ignoring = Ignoring { git: true, gemini: true, custom: Vec::new() };
        let roots = Roots::new(&self.work(), &[]).expect("a folder");
        ReadingScope { roots, ignoring, search_path: std::env::var_os("PATH") }
    }

    /// The reason why a line needs approval, if it does.
    fn refusal(&self, line: &str, args: &Value) -> Option<String> {
        let permissions = Permissions { reading: Some(self.scope()), ..Permissions::default() };
        let mut args = args.clone();
        args["command"] = json!(line);
        let is_allowed =
            permissions.permitted_effects("run_shell_command", &args) == PermittedEffects::ReadingOnly;
        let told = permissions.explain(&Call::new("run_shell_command", &args)).to_string();
        assert_eq!(told.starts_with("allowed\n"), is_allowed, "{told}");
        let reason = told.split("covers commands that only read: ").nth(1);
        assert!(is_allowed != reason.is_some(), "{line}: {told}");
        reason.map(|rest| rest.lines().next().unwrap_or_default().to_owned())
    }

    /// The output of a line that runs as one that only reads.
    fn run(&self, line: &str) -> String {
        let environment = vec![
            ("PATH".into(), std::env::var_os("PATH").expect("a path")),
            ("HOME".into(), self.folder.path().as_os_str().to_owned()),
        ];
        let settings = ShellSettings { environment, ..ShellSettings::default() };
        let shell = RunShellCommand::new(self.scope().roots, settings, Jobs::new());
        let (id, cancel, args) = (CallId::from("1"), CancellationToken::new(), json!({"command": line}));
        let call = ToolInvocation {
            id: &id,
            args: &args,
            progress: &|_| (),
            cancel: &cancel,
            permitted: PermittedEffects::ReadingOnly,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(shell.run(call)).outcome.text().to_owned()
    }

    /// Every file with its contents.
    fn contents(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder") {
                let entry = entry.expect("an entry");
                let kind = entry.file_type().expect("a kind");
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if kind.is_file() {
                    found.push((entry.path(), fs::read(entry.path()).expect("readable")));
                }
            }
        }
        found.sort();
        found
    }
}

#[track_caller]
fn check(world: &World, line: &str, expected: Option<&str>) {
    assert_eq!(world.refusal(line, &json!({})).as_deref(), expected, "{line}");
}

#[test]
fn what_is_inside_and_visible_is_read_without_approval() {
    let world = World::new();
    for line in [
        "ls -la",
        "cat a.txt src/b.rs",
        "cd src && cat b.rs",
        "git status --short && git diff | head -20",
        "git log -3 --stat -- src",
        "git show HEAD:src/b.rs",
        "rg -n TODO src",
        "find . -name '*.rs'",
        "sed -n '1,2p' a.txt",
        "cat missing.txt",
        "ls not/there",
    ] {
        check(&world, line, None);
    }
    let work = world.work();
    check(&world, &format!("cat {}/a.txt", work.display()), None);
    assert_eq!(world.refusal("cat b.rs", &json!({"directory": "src"})), None);
    assert_eq!(world.refusal("cat ../a.txt", &json!({"dir_path": "src"})), None);
}

#[test]
fn what_is_outside_hidden_or_ignored_needs_approval() {
    let world = World::new();
    for (line, reason) in [
        ("cat ../outside.txt", "\"../outside.txt\" is outside the workspace"),
        ("cat /etc/hostname", "\"/etc/hostname\" is outside the workspace"),
        ("cat link", "\"link\" is outside the workspace"),
        ("git diff a.txt ../outside.txt", "\"../outside.txt\" is outside the workspace"),
        ("cd .. && ls", "\"..\" is outside the workspace"),
        ("cd src && cat ../../outside.txt", "\"../../outside.txt\" is outside the workspace"),
        ("cd a.txt && ls", "\"a.txt\" is no folder"),
        ("cat .env", "\".env\" is hidden"),
        ("cat src/../.env", "\"src/../.env\" is hidden"),
        ("git show HEAD:.gitignore", "\".gitignore\" is hidden"),
        ("ls .git", "\".git\" is hidden"),
        ("head x.log", "\"x.log\" is ignored"),
        ("diff src src", "\"src\" is a folder"),
        ("git push", "\"git push\" is not known to only read"),
    ] {
        check(&world, line, Some(reason));
    }
    let elsewhere = world.refusal("ls", &json!({"directory": ".."}));
    assert_eq!(elsewhere.as_deref(), Some("\"..\" is outside the workspace"));
}

#[test]
fn our_own_ignore_files_are_respected_by_asking() {
    let world = World::new();
    fs::write(world.work().join(".geminiignore"), "src/b.rs\n").expect("written");
    let reason = Some("it may show files that .geminiignore or a custom file ignores");
    for line in ["git diff", "git log -p", "rg TODO", "git grep TODO"] {
        check(&world, line, reason);
    }
    check(&world, "cat src/b.rs", Some("\"src/b.rs\" is ignored"));
    check(&world, "git status", None);
    check(&world, "cat a.txt", None);
}

#[test]
fn a_repository_that_names_programs_needs_approval() {
    for (section, what) in [
        ("filter.x.clean", "filter"),
        ("diff.external", "external"),
        ("diff.x.textconv", "textconv"),
        ("include.path", "include"),
        ("core.worktree", "worktree"),
    ] {
        let world = World::new();
        world.git(&["config", section, "touch"]);
        let reason = format!("the configuration of its repository sets {what:?}, which may run programs");
        check(&world, "git diff", Some(&reason));
        check(&world, "ls", None);
    }
    let world = World::new();
    fs::write(world.work().join(".gitmodules"), "").expect("written");
    check(&world, "git status", Some("its repository has submodules, with configuration of their own"));
    let world = World::new();
    fs::rename(world.work().join(".git"), world.folder.path().join(".git")).expect("moved");
    check(&world, "git status", Some("its repository is larger than the workspace"));
    let bare = World::new();
    bare.git(&["init", "-q", "--bare", "src/bare"]);
    let reason = bare.refusal("cd src/bare && git log", &json!({}));
    assert!(reason.is_some_and(|reason| reason.ends_with("may be a repository without a working tree")));
}

#[test]
fn programs_in_the_workspace_need_approval() {
    let world = World::new();
    fs::write(world.work().join("src/ls"), "").expect("written");
    let mut scope = world.scope();
    let refused = |scope: &ReadingScope, line: &str| !scope.verdicts(line, &json!({})).are_all_reading();
    let work = world.work();
    scope.search_path = Some(std::env::join_paths([work.join("src"), "/bin".into()]).expect("a path"));
    assert!(refused(&scope, "ls"));
    assert!(!refused(&scope, "cat a.txt"));
    scope.search_path = Some("./node_modules/.bin:/bin".into());
    assert!(refused(&scope, "cat a.txt"));
}

#[test]
fn only_trusted_folders_have_commands_that_are_not_asked() {
    let world = World::new();
    let situation = Situation { is_trusted: false, ..Situation::default() };
    let permissions = Permissions { reading: Some(world.scope()), situation, ..Permissions::default() };
    let args = json!({"command": "ls"});
    let told = permissions.explain(&Call::new("run_shell_command", &args)).to_string();
    assert!(told.starts_with("needs approval") && told.contains("the folder is not trusted"), "{told}");
}

#[test]
fn configuration_that_starts_programs_is_switched_off() {
    let world = World::new();
    let trap = world.work().join("trap");
    let script = format!("#!/bin/sh\ntouch {}\n", world.folder.path().join("sprung").display());
    fs::write(&trap, script).expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&trap, mode).expect("set");
    let trap = trap.display().to_string();
    for key in ["core.fsmonitor", "core.pager", "pager.log", "core.sshCommand"] {
        world.git(&["config", key, &trap]);
    }
    for hook in ["post-index-change", "fsmonitor-watchman"] {
        fs::copy(&trap, world.work().join(".git/hooks").join(hook)).expect("copied");
    }
    for line in ["git status", "git diff", "git log -p", "git show", "git ls-files -m"] {
        check(&world, line, None);
        world.run(line);
        assert!(!world.folder.path().join("sprung").exists(), "{line}");
    }
}

/// Pieces of command lines, harmless and not.
fn words() -> impl Strategy<Value = Vec<&'static str>> {
    let word = prop::sample::select(vec![
        "-l",
        "-a",
        "-n",
        "-R",
        "-r",
        "-L",
        "-o",
        "-e",
        "-f",
        "-p",
        "-c",
        "-v",
        "-A3",
        "-20",
        "-i",
        "-u",
        "-w",
        "-z",
        "-S",
        "-t",
        "--",
        "-exec",
        "touch",
        "new",
        "{}",
        "';'",
        "-delete",
        "-name",
        "'*'",
        "-print",
        "-type",
        "f",
        "-fprint",
        "--output=new",
        "--stat",
        "--no-index",
        "--ext-diff",
        "--hidden",
        "--no-ignore",
        "-g",
        "--pre",
        "--files",
        "-C",
        "..",
        ".",
        "src",
        "a.txt",
        "x.log",
        ".env",
        "src/.hidden",
        "link",
        "../outside.txt",
        "HEAD",
        "HEAD:a.txt",
        "HEAD~1",
        "main..",
        "5",
        "'1,2p'",
        "'1w new'",
        "TODO",
        "hush",
        "$HOME",
        "*",
        "~",
        "new2",
    ]);
    prop::collection::vec(word, 0..5)
}

fn command() -> impl Strategy<Value = String> {
    let program = prop::sample::select(vec![
        "ls",
        "cat",
        "head",
        "tail",
        "wc",
        "grep",
        "find",
        "sort",
        "uniq",
        "sed",
        "cut -f1",
        "diff",
        "stat",
        "echo",
        "du",
        "git status",
        "git log",
        "git diff",
        "git show",
        "git branch",
        "git tag",
        "git grep",
        "git blame",
        "git ls-files",
        "git stash",
        "cd",
        "tee",
        "git cat-file",
        "nl",
        "file",
        "env",
        "xargs",
    ]);
    (program, words()).prop_map(|(program, words)| format!("{program} {}", words.join(" ")))
}

#[test]
fn no_line_that_runs_without_approval_changes_or_betrays_anything() {
    let world = World::new();
    let before = world.contents();
    let scope = world.scope();
    let operator = prop::sample::select(vec![" | ", " && ", "; ", " || "]);
    let lines = prop::collection::vec((command(), operator), 1..4);
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 4_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let ran = std::cell::Cell::new(0);
    let law = |parts: Vec<(String, &str)>| {
        let count = parts.len();
        let line: String = parts
            .iter()
            .enumerate()
            .map(
                |(index, (command, operator))| {
                    if index + 1 < count { format!("{command}{operator}") } else { command.clone() }
                },
            )
            .collect();
        // Real commands take time: a part of them is enough.
        if scope.verdicts(&line, &json!({})).are_all_reading() && ran.get() < 150 {
            ran.set(ran.get() + 1);
            let output = world.run(&line);
            prop_assert!(!output.contains(SECRET), "{line}: {output}");
            prop_assert_eq!(&world.contents(), &before, "{}", line);
        }
        Ok(())
    };
    runner.run(&lines, law).unwrap_or_else(|error| panic!("{error}"));
    assert!(ran.get() >= 50, "too few lines ran: {}", ran.get());
}
