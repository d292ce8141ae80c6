//! Drives the program with settings files of a temporary home and workspace.

mod sandbox;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sandbox::{Sandbox, check_has, text};
use tempfile::TempDir;

/// A user's folder, a home in another place, and a repository to work in.
struct World {
    root: TempDir,
}

/// What the program said.
struct Said {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl World {
    fn new() -> Self {
        let world = Self { root: tempfile::tempdir().unwrap() };
        fs::create_dir_all(world.path("user")).unwrap();
        fs::create_dir_all(world.path("work/deep")).unwrap();
        fs::create_dir_all(world.path("work/.git")).unwrap();
        let session = r#"{"model": "my-model", "messages": [{"role": "user", "content": "あいうえおかきくけこ"}, {"role": "assistant", "content": "Hi."}]}"#;
        fs::write(world.path("work/session.json"), session).unwrap();
        world
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn write(self, file: &str, text: &str) -> Self {
        let file = self.path(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        self
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longhaul"));
        command
            .current_dir(self.path("work/deep"))
            .env("HOME", self.path("user"))
            .env("USERPROFILE", self.path("user"))
            .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
            .env_remove("LONGHAUL_HOME")
            .env_remove("GEMINI_CLI_HOME");
        command
    }

    fn run(&self, args: &[&str]) -> Said {
        said(&self.command().args(args).output().unwrap())
    }

    /// The inspection of the session as JSON.
    #[track_caller]
    fn inspect(&self, args: &[&str]) -> serde_json::Value {
        let said = self.run(&[&["inspect", "--json", "../session.json"], args].concat());
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
        serde_json::from_str(&said.stdout).unwrap()
    }

    #[track_caller]
    fn check_window(&self, args: &[&str], expected: u64) {
        let inspection = self.inspect(args);
        assert_eq!(inspection["tokens"]["window"], expected);
    }
}

fn said(output: &Output) -> Said {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Said { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

const USER: &str = "user/.gemini/settings.json";
const WORKSPACE: &str = "work/.gemini/settings.json";

fn window(tokens: u64) -> String {
    format!("{{ // ours\n  \"longhaul\": {{\"windows\": {{\"my-model\": {tokens},}}}},\n}}")
}

#[test]
fn the_window_comes_from_the_strongest_layer() {
    World::new().check_window(&[], 32_000);
    let world = World::new().write(USER, &window(8_000));
    world.check_window(&[], 8_000);
    let world = world.write(WORKSPACE, &window(9_000));
    world.check_window(&[], 9_000);
    world.check_window(&["--window", "10k"], 10_000);
    // The file of the folder itself is nearer than that of the repository.
    world.write("work/deep/.gemini/settings.json", &window(7_000)).check_window(&[], 7_000);
}

#[test]
fn an_administrator_has_the_first_and_the_last_word() {
    let world = World::new().write("etc/system-defaults.json", &window(1_000));
    let inspect = |world: &World, set: &[(&str, &Path)]| {
        let mut command = world.command();
        command.args(["inspect", "--json", "../session.json"]).envs(set.iter().copied());
        let said = said(&command.output().unwrap());
        let inspection: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
        inspection["tokens"]["window"].as_u64()
    };
    // The defaults are beside the settings, which need not exist, or wherever a variable says.
    let (system, defaults) = (world.path("etc/settings.json"), world.path("other.json"));
    let named = [("GEMINI_CLI_SYSTEM_SETTINGS_PATH", system.as_path())];
    assert_eq!(inspect(&world, &named), Some(1_000));
    let both = [named[0], ("GEMINI_CLI_SYSTEM_DEFAULTS_PATH", defaults.as_path())];
    let world = world.write("other.json", &window(1_500));
    assert_eq!(inspect(&world, &both), Some(1_500));
    let world = world.write(USER, &window(2_000));
    assert_eq!(inspect(&world, &named), Some(2_000));
    let world = world.write(WORKSPACE, &window(3_000));
    assert_eq!(inspect(&world, &named), Some(3_000));
    let world = world.write("etc/settings.json", &window(4_000));
    assert_eq!(inspect(&world, &named), Some(4_000));
}

#[test]
fn values_refer_to_variables() {
    let text = r#"{"longhaul": {"windows": {"my-model": "${LH_WINDOW:-5k}"}}}"#;
    let world = World::new().write(USER, text);
    world.check_window(&[], 5_000);
    world.write("user/.gemini/.env", "LH_WINDOW=6k").check_window(&[], 6_000);
    let wrong =
        World::new().write(USER, text).write("user/.gemini/.env", "LH_WINDOW=sk-proj-0123456789abcdefghij");
    let said = wrong.run(&["inspect", "../session.json"]);
    check_has(&said.stderr, &["longhaul.windows.my-model must be", "not the value of its variable"]);
    assert!(!said.stderr.contains("0123456789"), "{}", said.stderr);
}

#[test]
fn the_home_can_be_elsewhere() {
    let world = World::new()
        .write(USER, &window(1_000))
        .write("gemini/.gemini/settings.json", &window(2_000))
        .write("ours/settings.json", &window(3_000));
    let inspect = |set: &[(&str, &Path)]| {
        let mut command = world.command();
        command.args(["inspect", "--json", "../session.json"]).envs(set.iter().copied());
        let said = said(&command.output().unwrap());
        let inspection: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
        inspection["tokens"]["window"].as_u64()
    };
    let (gemini, ours) = (world.path("gemini"), world.path("ours"));
    assert_eq!(inspect(&[]), Some(1_000));
    assert_eq!(inspect(&[("GEMINI_CLI_HOME", &gemini)]), Some(2_000));
    assert_eq!(inspect(&[("GEMINI_CLI_HOME", &gemini), ("LONGHAUL_HOME", &ours)]), Some(3_000));
    assert_eq!(inspect(&[("LONGHAUL_HOME", Path::new(""))]), Some(1_000));
}

#[test]
fn the_estimate_follows_the_settings() {
    let total = |world: &World| world.inspect(&[])["tokens"]["total"].as_u64().unwrap();
    // Ten characters of Japanese, and three of ASCII.
    assert_eq!(total(&World::new()), 13);
    let heavy = World::new().write(USER, r#"{"longhaul": {"estimate": {"nonAscii": 2}}}"#);
    assert_eq!(total(&heavy), 20);
}

#[test]
fn unknown_keys_are_warned_about_and_nothing_else_changes() {
    let world = World::new().write(USER, "{\n  \"longhaul\": {\"compaction\": {\"treshold\": 0.5}}\n}");
    let said = world.run(&["inspect", "../session.json"]);
    let file = world.path(USER);
    let expected = format!(
        "warning: {}:2: unknown key longhaul.compaction.treshold; did you mean longhaul.compaction.threshold?\n",
        file.display()
    );
    assert_eq!((said.code, said.stderr), (Some(0), expected));
    assert!(said.stdout.contains("32,000-token window"), "{}", said.stdout);
}

#[test]
fn many_warnings_are_counted() {
    let keys: Vec<String> = (0..2_030).map(|at| format!("\"key{at}\": 1")).collect();
    let world = World::new().write(USER, &format!("{{{}}}", keys.join(",\n")));
    let said = world.run(&["inspect", "../session.json"]);
    let lines: Vec<&str> = said.stderr.lines().collect();
    assert_eq!((said.code, lines.len()), (Some(0), 21));
    assert!(lines[19].ends_with("settings.json:20: unknown key key19"), "{}", lines[19]);
    assert_eq!(lines[20], "warning: 2,010 more warnings about settings");
}

#[test]
fn control_characters_in_keys_do_not_reach_the_terminal() {
    let world = World::new().write(USER, r#"{"\u001b[31mred": 1}"#);
    let said = world.run(&["inspect", "../session.json"]);
    assert_eq!(said.code, Some(0));
    assert!(said.stderr.starts_with("warning: ") && !said.stderr.contains('\u{1b}'), "{}", said.stderr);
}

#[track_caller]
fn check_error(settings: &str, cause: &str, hint: &str) {
    let world = World::new().write(WORKSPACE, settings);
    let said = world.run(&["inspect", "../session.json"]);
    let file = world.path(WORKSPACE);
    let expected = format!(
        "error: could not load the settings in {}\ncaused by: {cause}\nhint: {hint}\n",
        file.display()
    );
    assert_eq!((said.code, said.stderr.as_str(), said.stdout.as_str()), (Some(1), expected.as_str(), ""));
}

#[test]
fn wrong_values_and_broken_files_are_errors() {
    check_error(
        "{\"longhaul\": {\n\"compaction\": {\"keep\": true}}}",
        "line 2: longhaul.compaction.keep must be a share from 0 to 1 (0.3 or \"30%\"), not true",
        "for example \"keep\": 0.3",
    );
    check_error(
        "{\n  \"model\": {\n    name: 1\n  }\n}",
        "line 3, column 5: key must be a string",
        "use double quotes for the key",
    );
}

#[test]
fn help_version_and_completions_never_load_settings() {
    let world = World::new().write(USER, "{ broken").write(WORKSPACE, "{ broken");
    for args in [&["--help"][..], &["--version"], &["completions", "bash"], &["inspect", "--help"]] {
        let said = world.run(args);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{args:?}");
        assert!(!said.stdout.is_empty(), "{args:?}");
    }
    assert_eq!(world.run(&["inspect", "../session.json"]).code, Some(1));
}

#[test]
fn a_home_that_would_move_with_the_folder_is_refused() {
    let sandbox = Sandbox::new();
    let output = sandbox.run_with(&[("LONGHAUL_HOME", "home")], &["inspect", "in.jsonl"]);
    assert_eq!(output.status.code(), Some(1));
    check_has(&text(&output.stderr), &["error: LONGHAUL_HOME is not an absolute path: home", "hint: "]);
}

#[test]
fn settings_of_strangers_do_not_count() {
    let world = World::new().write(WORKSPACE, &window(6_000)).write(USER, &window(3_000));
    let run = |trust: &str| {
        let mut command = world.command();
        command.env("GEMINI_CLI_TRUST_WORKSPACE", trust).args(["inspect", "../session.json", "--json"]);
        said(&command.output().unwrap())
    };
    for untrusted in ["false", "", "perhaps"] {
        let said = run(untrusted);
        check_has(&said.stdout, &["\"window\": 3000"]);
        check_has(
            &said.stderr,
            &["warning: ", "is ignored: its folder is not trusted", "longhaul trust add"],
        );
    }
    assert_eq!(run("true").stderr, "");
    // A workspace cannot trust itself, and a rule of the user's can.
    let off = "{\"security\": {\"folderTrust\": {\"enabled\": false}}}";
    let world = world.write(WORKSPACE, off);
    let rules = format!("{{{:?}: \"TRUST_FOLDER\"}}", world.path("work"));
    let mut command = world.command();
    command.env_remove("GEMINI_CLI_TRUST_WORKSPACE").args(["inspect", "../session.json"]);
    check_has(&said(&command.output().unwrap()).stderr, &["is not trusted"]);
    let _world = world.write("user/.gemini/trustedFolders.json", &rules);
    assert_eq!(said(&command.output().unwrap()).stderr, "");
}
