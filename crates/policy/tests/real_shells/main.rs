//! Runs what the policy allows in real shells: nothing but the allowed programs runs and nothing is written, and a program
//! that is denied never runs.
//!
//! `LONGHAUL_SHELL_CASES` sets how many lines are run, `LONGHAUL_SHELL_SEED` which.
#![cfg(unix)]

mod generate;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use generate::Random;
use longhaul_policy::{
    ApprovalMode, Call, Decision, Policy, SettingVerdict, Situation, default_rules, rule_from_setting,
};
use serde_json::json;

/// The number of allowed lines that are run unless the environment says otherwise.
const CASES: usize = 500;

/// The number of lines that may be made for one that the policy allows.
const TRIES: usize = 60;

/// The policy of `--allowed-tools "run_shell_command(echo),run_shell_command(cat)"`.
fn policy() -> Policy {
    ["echo", "cat"].into_iter().fold(Policy::new(default_rules()), |policy, program| {
        let name = format!("run_shell_command({program})");
        policy.with(rule_from_setting(SettingVerdict::AllowedTool, &name, "--allowed-tools").expect("a rule"))
    })
}

fn is_allowed(policy: &Policy, line: &str, mode: ApprovalMode) -> bool {
    let args = json!({ "command": line });
    let situation = Situation { mode, is_interactive: false, is_trusted: true };
    policy.decide(&Call::new("run_shell_command", &args), situation).decision == Decision::Allow
}

/// A policy that allows everything but `CMD`.
fn denying_policy() -> Policy {
    let rule = rule_from_setting(SettingVerdict::ExcludedTool, "run_shell_command(CMD)", "tools.exclude");
    Policy::new(default_rules()).with(rule.expect("a rule"))
}

/// Programs that run others, or give them their input.
const WRAPPERS: &[&str] =
    &["awk", "bash", "env", "find", "ls", "nice", "nohup", "sed", "sh", "tee", "timeout", "xargs"];

/// A folder with the only programs that there are: those that are allowed, and `CMD`, which leaves a file behind.
struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).expect("a folder");
        fs::create_dir(folder.path().join("empty")).expect("a folder");
        let program = |name: &str, text: &str| {
            let path = bin.join(name);
            fs::write(&path, text).expect("a program");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
        };
        program("CMD", &format!("#!/bin/sh\n: > '{}'\n", folder.path().join("ran").display()));
        program("cat", "#!/bin/sh\nexec /bin/cat \"$@\"\n");
        Self { folder }
    }

    fn with_wrappers(self) -> Self {
        for name in WRAPPERS {
            let places = ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(name));
            if let Some(place) = places.iter().find(|place| place.exists()) {
                std::os::unix::fs::symlink(place, self.folder.path().join("bin").join(name)).expect("a link");
            }
        }
        self
    }

    /// Runs a line and tells what it did that no rule allowed.
    fn run(&self, shell: &str, line: &str) -> Option<String> {
        let empty = self.folder.path().join("empty");
        // Reading its output to the end waits for what runs in the background, too. Endless loops end by the limit.
        Command::new("/bin/sh")
            .args(["-c", "ulimit -t 1; exec \"$0\" -c \"$1\"", shell, line])
            .current_dir(&empty)
            .env_clear()
            .env("PATH", self.folder.path().join("bin"))
            .env("BIN", self.folder.path().join("bin"))
            .env("x", "CMD")
            .stdin(Stdio::null())
            .output()
            .expect("a shell");
        let ran = self.folder.path().join("ran");
        if ran.exists() {
            fs::remove_file(&ran).expect("it can be removed");
            return Some("CMD ran".to_owned());
        }
        let written: Vec<_> =
            fs::read_dir(&empty).expect("a folder").flatten().map(|entry| entry.path()).collect();
        for path in &written {
            let _ = fs::remove_file(path);
        }
        (!written.is_empty()).then(|| format!("{written:?} was written"))
    }
}

fn shells() -> Vec<&'static str> {
    let (found, missing): (Vec<_>, Vec<_>) = [["/bin/bash", "/usr/bin/bash"], ["/bin/sh", "/usr/bin/sh"]]
        .into_iter()
        .map(|places| places.into_iter().find(|place| Path::new(place).exists()).ok_or(places[0]))
        .partition(Result::is_ok);
    for place in missing.into_iter().filter_map(Result::err) {
        // Past what tests catch of their output.
        let _ = writeln!(std::io::stderr(), "\nskipped: no {place}; what is allowed is not run by it");
    }
    found.into_iter().flatten().collect()
}

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

#[test]
fn the_marker_is_seen() {
    let world = World::new();
    for shell in shells() {
        assert_eq!(world.run(shell, "echo; CMD").as_deref(), Some("CMD ran"), "{shell}");
        assert_eq!(world.run(shell, "CMD & echo").as_deref(), Some("CMD ran"), "{shell}");
        assert!(world.run(shell, "echo > x").is_some_and(|written| written.contains("x\"")), "{shell}");
        assert_eq!(world.run(shell, "echo CMD; cat < /dev/null"), None, "{shell}");
    }
}

/// Runs what is allowed of the lines that `make` makes, and tells of faults.
fn check(
    world: &World,
    make: impl Fn(&mut Random) -> String,
    is_allowed: impl Fn(&str) -> bool,
    is_fault: impl Fn(&str) -> bool,
) {
    let (cases, seed) = (number("LONGHAUL_SHELL_CASES", CASES), number("LONGHAUL_SHELL_SEED", 1));
    let (mut random, shells) = (Random::new(seed as u64), shells());
    let (mut made, mut run, mut faults) = (0_usize, 0_usize, Vec::new());
    while run < cases && made < cases * TRIES {
        let line = make(&mut random);
        made += 1;
        if !is_allowed(&line) {
            continue;
        }
        run += 1;
        for shell in &shells {
            let fault = world.run(shell, &line).filter(|fault| is_fault(fault));
            faults.extend(fault.map(|fault| format!("{shell}: {fault}: {line:?}")));
        }
    }
    println!("{run} of {made} lines were allowed and run");
    assert!(run >= cases / 2, "only {run} of {made} lines were allowed");
    assert!(faults.is_empty(), "{} of {run}:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn only_allowed_programs_run() {
    let policy = policy();
    let is_allowed = |line: &str| is_allowed(&policy, line, ApprovalMode::Default);
    check(&World::new(), generate::line, is_allowed, |_| true);
}

#[test]
fn a_denied_program_never_runs() {
    let policy = denying_policy();
    // Files may be written here, but only into the empty folder.
    let is_allowed = |line: &str| !line.contains('>') && is_allowed(&policy, line, ApprovalMode::Yolo);
    check(&World::new().with_wrappers(), generate::indirect, is_allowed, |fault| fault == "CMD ran");
}
