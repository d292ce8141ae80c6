//! Drives `longhaul doctor` in homes that are new, sound and broken.

mod sandbox;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Output;
use std::time::SystemTime;

use longhaul_workspace::{Environment, Home, Lock, LockTimeout, Projects};
use sandbox::{Sandbox, check_has, keys, text};
use serde_json::Value;

/// A folder to work in, beside a home that is not there yet.
struct Ward {
    sandbox: Sandbox,
    home: PathBuf,
}

impl Ward {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let home = sandbox.path("home");
        Self { sandbox, home }
    }

    /// The same with a file more in the home.
    fn with(self, name: &str, text: &str) -> Self {
        let path = self.home.join(name);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("made");
        fs::write(path, text).expect("written");
        self.close();
        self
    }

    /// Gives the current folder its id, as a program that stores something does.
    fn identified(self) -> Self {
        let environment = Environment { longhaul_home: Some(self.home.clone()), ..Environment::default() };
        let home = Home::resolve(&environment).expect("absolute");
        Projects::of(&home).identify(&self.sandbox.path(""), LockTimeout::default()).expect("identified");
        self
    }

    #[cfg(unix)]
    fn close(&self) {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&self.home, fs::Permissions::from_mode(0o700)).expect("changed");
    }

    #[cfg(not(unix))]
    fn close(&self) {}

    /// Runs the program, and checks that it leaves everything as it was.
    #[track_caller]
    fn run(&self, more: &[(&str, &str)], arguments: &[&str]) -> Output {
        let variables = [
            ("GEMINI_API_KEY", ""),
            ("GOOGLE_API_KEY", ""),
            ("OPENAI_API_KEY", ""),
            ("ANTHROPIC_API_KEY", ""),
            ("GEMINI_CLI_TRUST_WORKSPACE", ""),
            ("GEMINI_CLI_TRUSTED_FOLDERS_PATH", ""),
            ("LC_ALL", "C.UTF-8"),
            ("TERM", "xterm"),
        ];
        let before = self.files();
        let output =
            self.sandbox.run_with(&[&variables[..], more].concat(), &[&["doctor"], arguments].concat());
        assert_eq!(self.files(), before, "it changes nothing");
        output
    }

    /// Every file and when it was last changed.
    fn files(&self) -> BTreeMap<String, Option<SystemTime>> {
        let names = self.sandbox.names().into_iter();
        names
            .map(|name| {
                (name.clone(), fs::metadata(self.sandbox.path(&name)).and_then(|it| it.modified()).ok())
            })
            .collect()
    }

    /// What it says, which fits on a screen of 80 columns.
    #[track_caller]
    fn told(&self, code: i32) -> String {
        let output = self.run(&[], &[]);
        let told = text(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{told}{}", text(&output.stderr));
        assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
        // Lines are broken at any width, so that what is looked for must not depend on it.
        told.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    fn json(&self, more: &[(&str, &str)], code: i32) -> Value {
        let output = self.run(more, &["--json"]);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stdout));
        serde_json::from_slice(&output.stdout).expect("one object")
    }

    /// What is found in an area, as `state what`.
    #[track_caller]
    fn found(&self, area: &str, more: &[(&str, &str)], code: i32) -> Vec<String> {
        let json = self.json(more, code);
        let checks = json["checks"].as_array().expect("a list").iter();
        let here = checks.filter(|check| check["area"] == area);
        here.map(|check| format!("{} {}", text_of(&check["state"]), text_of(&check["what"]))).collect()
    }
}

fn text_of(value: &Value) -> &str {
    value.as_str().expect("a text")
}

#[track_caller]
fn check_found(found: &[String], words: &[&str]) {
    check_has(&found.join("\n"), words);
}

#[test]
fn an_empty_home_stays_empty_and_nothing_is_broken() {
    let ward = Ward::new();
    let told = ward.told(0);
    check_has(&told, &["set by LONGHAUL_HOME", "not there yet", "none set", "no rule covers it"]);
    check_has(&told, &["UTF-8 (LC_ALL is C.UTF-8)", "none held", "none yet", "No problems"]);
    assert!(!ward.home.exists());
    let user = ward.sandbox.path("user");
    fs::create_dir(&user).expect("made");
    let json = ward.json(&[("LONGHAUL_HOME", ""), ("HOME", user.to_str().expect("text"))], 0);
    assert_eq!(json["home"], user.join(".gemini").to_str().expect("text"));
    assert_eq!(fs::read_dir(&user).expect("there").count(), 0);
}

#[test]
fn the_json_has_its_keys() {
    let json = Ward::new().json(&[], 0);
    assert_eq!(
        keys(&json),
        ["schema", "problems", "notes", "home", "project", "trusted", "unhonoured", "checks"]
    );
    assert_eq!(keys(&json["checks"][0]), ["area", "state", "what", "advice"]);
    assert_eq!((&json["problems"], &json["project"]), (&0.into(), &Value::Null));
}

#[test]
fn a_sound_home_is_told_with_its_project() {
    let fixture = Sandbox::new().read("in.jsonl");
    let whole: String = fixture.lines().take(28).map(|line| format!("{line}\n")).collect();
    let ward = Ward::new().identified().with("settings.json", "{\"model\": {\"name\": \"m\"}}");
    let id = ward.json(&[], 0)["project"].as_str().expect("an id").to_string();
    let ward = ward.with(&format!("tmp/{id}/chats/session-1.jsonl"), &whole);
    // A project without sessions does not count among those with some.
    let ward = ward.with("tmp/other/memory/MEMORY.md", "- tabs");
    check_found(&ward.found("project", &[], 0), &[&format!("ok {id}, stored in "), &format!("tmp/{id}")]);
    check_found(&ward.found("sessions", &[], 0), &["ok 1 session file in 1 project, all readable"]);
    check_found(&ward.found("settings", &[], 0), &["home/settings.json is valid"]);
}

#[test]
fn keys_are_named_and_never_shown() {
    let ward = Ward::new();
    let secret = "sk-0123-very-secret";
    let variables = [("OPENAI_API_KEY", secret), ("GEMINI_API_KEY", " \"quoted-secret\" ")];
    let output = ward.run(&variables, &[]);
    let told = text(&output.stdout);
    check_has(
        &told,
        &["OPENAI_API_KEY is set", "GEMINI_API_KEY contains blanks or quotes", "not set: GOOGLE_API_KEY"],
    );
    assert!(!told.contains(secret) && !told.contains("quoted-secret"), "{told}");
}

#[test]
fn trust_names_what_decides() {
    let ward = Ward::new();
    let folder = ward.sandbox.path("").canonicalize().expect("there");
    let rule = serde_json::json!({folder.to_str().expect("text"): "DO_NOT_TRUST"}).to_string();
    let ward = ward.with("trustedFolders.json", &rule);
    check_found(&ward.found("trust", &[], 0), &["note ", "is not trusted: rule ", "DO_NOT_TRUST"]);
    let overruled = [("GEMINI_CLI_TRUST_WORKSPACE", "true")];
    check_found(&ward.found("trust", &overruled, 0), &["is trusted: set by GEMINI_CLI_TRUST_WORKSPACE"]);
    assert_eq!(ward.json(&overruled, 0)["trusted"], true);
    let unclear = [("GEMINI_CLI_TRUST_WORKSPACE", "yes")];
    check_found(&ward.found("trust", &unclear, 0), &["neither true nor false"]);
    let off = ward.with("settings.json", "{\"security\": {\"folderTrust\": {\"enabled\": false}}}");
    check_found(&off.found("trust", &[], 0), &["ok ", "so every folder is trusted"]);
    // A workspace cannot trust itself.
    let ward = Ward::new();
    let sandbox =
        ward.sandbox.with(".gemini/settings.json", "{\"security\": {\"folderTrust\": {\"enabled\": false}}}");
    let ward = Ward { sandbox, ..ward };
    check_found(&ward.found("trust", &[], 0), &["note ", "no rule covers it"]);
}

#[test]
fn broken_files_are_problems_with_advice() {
    let ward = Ward::new()
        .with("settings.json", "{\n  \"model\": {\"name\": 1}\n}")
        .with("projects.json", "{\"projects\": {\"/a\": \"../up\"}}")
        .with("projects.json.corrupt", "older")
        .with("trustedFolders.json", "{\"/a\": \"TRUST\"}")
        .with("tmp/app/chats/session-1.jsonl", "\u{0}\u{1}\u{2}nothing that anybody wrote")
        .with("tmp/app/chats/session-2.jsonl", "")
        .with("tmp/app/chats/session-3.jsonl", &Sandbox::new().read("in.jsonl"));
    let told = ward.told(1);
    check_has(
        &told,
        &["settings.json: line 2: model.name must be a string", "→ for example \"name\": \"text\""],
    );
    check_has(&told, &["projects.json is partly unreadable", "→ nothing is lost", "broken registry"]);
    check_has(&told, &["\"/a\" is \"TRUST\"; expected one of TRUST_FOLDER", "→ fix the file"]);
    check_has(
        &told,
        &["session-1.jsonl is unreadable", "session-2.jsonl is empty", "the last line is truncated"],
    );
    check_has(&told, &["3 session files in 1 project, 0 of them intact", "4 problems; "]);
    check_has(&text(&ward.run(&[], &[]).stderr), &["error: found 4 problems"]);
}

#[test]
fn unknown_keys_are_notes() {
    let ward = Ward::new().with("settings.json", "{\"modle\": {}}");
    check_found(
        &ward.found("settings", &[], 0),
        &["is valid", "note ", "unknown key modle; did you mean model?"],
    );
}

#[test]
fn what_killed_processes_left_is_named_and_stays() {
    let name = ".longhaul-tmp-0123456789abcdef";
    let ward = Ward::new().identified().with(name, "half").with(&format!("skills/{name}/SKILL.md"), "half");
    let found = ward.found("project", &[], 0);
    let expected = ward.home.join("skills").join(name).display().to_string();
    check_found(&found, &["note ", &expected, "was left behind by a killed process"]);
    assert!(ward.home.join(name).exists());
}

#[test]
fn keys_that_are_not_honoured_are_listed() {
    let settings =
        "{\"useWriteTodos\": true,\n\"ui\": {\"theme\": \"x\"},\n\"tools\": {\"sandbox\": \"docker\"}}";
    let ward = Ward::new().with("settings.json", settings);
    let found = ward.found("settings", &[], 1);
    check_found(
        &found,
        &[
            "note ",
            "settings.json:1: useWriteTodos is not supported",
            "problem ",
            "settings.json:3: tools.sandbox asks for a sandbox",
        ],
    );
    assert!(!found.iter().any(|line| line.contains("is valid") || line.contains("ui")), "{found:?}");
    let json = ward.json(&[], 1);
    let keys = json["unhonoured"].as_array().expect("a list").iter();
    let keys: Vec<_> =
        keys.map(|one| (one["key"].as_str(), one["line"].as_u64(), one["restricts"].as_bool())).collect();
    assert_eq!(
        keys,
        [(Some("useWriteTodos"), Some(1), Some(false)), (Some("tools.sandbox"), Some(3), Some(true))]
    );
}

#[test]
fn a_lock_that_is_held_is_told_with_its_holder() {
    let ward = Ward::new().with("projects.json", "{\"projects\": {}}").with("tmp/app/chats/s.jsonl", "");
    let session =
        Lock::beside(&ward.home.join("tmp/app/chats/s.jsonl"), "writing a session", LockTimeout::Immediate);
    let _session = session.expect("locked");
    let holder = format!("held by process {} (writing a session)", std::process::id());
    #[cfg(unix)]
    check_found(&ward.found("locks", &[], 0), &["note ", "chats/s.jsonl: ", &holder]);
    #[cfg(not(unix))]
    let _ = holder;
}

#[cfg(unix)]
#[test]
fn a_home_that_others_can_read_or_change_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let ward = Ward::new().with("settings.json", "{}");
    let set =
        |path: PathBuf, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("changed");
    set(ward.home.join("settings.json"), 0o666);
    assert_eq!(ward.found("home", &[], 0).len(), 1, "nobody else gets into the home");
    set(ward.home.clone(), 0o755);
    let found = ward.found("home", &[], 1);
    check_found(
        &found,
        &["note other users can read ", "(mode 755)", "problem other users can change ", "(mode 666)"],
    );
}

#[test]
fn a_home_that_cannot_be_one_is_a_problem() {
    let ward = Ward::new();
    check_found(
        &ward.found("home", &[("LONGHAUL_HOME", "relative")], 1),
        &["problem LONGHAUL_HOME is not an absolute path: relative"],
    );
    fs::write(&ward.home, "a file").expect("written");
    check_found(&ward.found("home", &[], 1), &["problem ", "not a folder"]);
}
